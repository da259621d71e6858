"""The scheduler on the real server: gangs start whole, high priorities preempt low ones with grace, backfill."""

import json
import os
import signal
import time

from harness import METE, Mete, check, equal, pod, wait

LABEL = "scheduling.x-k8s.io/pod-group"
VOLCANO = "scheduling.k8s.io/group-name"


class Jobs:
    """Pods that run until they are told to end; what they do is written to files."""

    def __init__(self, m):
        self.m = m
        self.dir = os.path.join(m.dir, "jobs")
        os.mkdir(self.dir)
        os.chmod(self.dir, 0o777)

    def path(self, name, what):
        return os.path.join(self.dir, f"{name}.{what}")

    def submit(self, name, gpus, labels=None, annotations=None, command=None, **spec):
        body = json.loads(pod(name, command or f"until [ -e {self.path(name, 'end')} ]; do sleep 0.05; done",
                              gpus=gpus, **{"terminationGracePeriodSeconds": 1, **spec}))
        body["metadata"].update(labels=labels or {}, annotations=annotations or {})
        self.m.ok("create", "-f", "-", stdin=json.dumps(body))

    def end(self, name):
        with open(self.path(name, "end"), "w"):
            pass
        self.m.wait_phase(name, "Succeeded")

    def uid(self, name):
        r = self.m.kubectl("get", "pod", name, "-o", "jsonpath={.metadata.uid}")
        return r.out if r.code == 0 else None

    def is_placed(self, name):
        r = self.m.kubectl("get", "pod", name, "-o", "jsonpath={.spec.nodeName}")
        return r.code == 0 and r.out != ""


def group(m, name, members, api="scheduling.x-k8s.io/v1alpha1"):
    spec = {"minMember": members}
    if api.startswith("scheduling.k8s.io/") and not api.endswith("/v1alpha1"):
        spec = {"schedulingPolicy": {"gang": {"minCount": members}}}
    m.ok("create", "-f", "-", stdin=json.dumps({"apiVersion": api, "kind": "PodGroup", "metadata": {"name": name},
                                                "spec": spec}))


def priority_class(m, name, value, **more):
    m.ok("create", "-f", "-", stdin=json.dumps({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                                                "metadata": {"name": name}, "value": value, **more}))


def why(m, job):
    r = m.mete("why", job, "-o", "json")
    check(r.code == 0, r)
    return json.loads(r.out)["status"]["reason"]


def test_a_gang_starts_whole_or_not_at_all():
    with Mete("emulated:8xH100") as m:
        jobs = Jobs(m)
        jobs.submit("first", 2)
        m.wait_phase("first", "Running")
        group(m, "train", 4)
        names = [f"train-{i}" for i in range(4)]
        for name in names[:3]:
            jobs.submit(name, 2, labels={LABEL: "train"})
        r = wait(lambda: (r := why(m, "train-0")) and r["code"] == "WaitingForGang" and "3 are" in r["message"] and r,
                 "it waits for the fourth")
        equal(r["message"], "waits for 4 pods of its group; 3 are there")
        check(not any(jobs.is_placed(n) for n in names[:3]))
        jobs.submit(names[3], 2, labels={LABEL: "train"})
        wait(lambda: why(m, "train-0")["code"] == "NoNodeFits", "it is in the queue as a whole")
        check(not any(jobs.is_placed(n) for n in names), "three would fit")
        jobs.end("first")
        for name in names:
            m.wait_phase(name, "Running")
        equal(len({g for n in names for g in json.loads(m.object("pod", n)["metadata"]["annotations"][
            "mete.dev/devices"])["containers"]["main"]}), 8, "each its own gpus")
        wait(lambda: m.object("podgroups.scheduling.x-k8s.io", "train")["status"].get("phase") == "Running", "status")
        table = m.ok("get", "podgroups.scheduling.x-k8s.io")
        equal(table.split("\n")[0].split(), ["NAME", "PHASE", "MINMEMBER", "RUNNING", "SUCCEEDED", "FAILED", "AGE"])
        m.up.send_signal(signal.SIGKILL)
        m.up.wait()
        m.up.stdout.close()
        m.start()
        for name in names:
            jobs.end(name)


def test_every_door_makes_gangs():
    with Mete("emulated:8xH100") as m:
        jobs = Jobs(m)
        group(m, "v", 2, "scheduling.volcano.sh/v1beta1")
        wait(lambda: m.object("podgroups.scheduling.volcano.sh", "v").get("status", {}).get("phase") == "Inqueue",
             "Volcano's controllers may make its pods")
        group(m, "n", 2, "scheduling.k8s.io/v1beta1")
        group(m, "o", 2, "scheduling.k8s.io/v1alpha1")
        equal(m.object("podgroups.v1alpha1.scheduling.k8s.io", "o")["spec"], {"minMember": 2})
        m.ok("create", "-f", "-", stdin=json.dumps({
            "apiVersion": "scheduling.k8s.io/v1alpha1", "kind": "Workload", "metadata": {"name": "w"},
            "spec": {"podGroups": [{"name": "workers", "policy": {"gang": {"minCount": 2}}}]}}))
        equal(m.object("workloads.v1alpha1.scheduling.k8s.io", "w")["spec"]["podGroups"][0]["name"], "workers")
        equal(m.object("workloads.v1beta1.scheduling.k8s.io", "w")["spec"]["podGroupTemplates"][0]["name"], "workers")
        equal(m.object("podgroups.v1alpha2.scheduling.k8s.io", "n")["apiVersion"], "scheduling.k8s.io/v1alpha2")
        doors = {"v": {"annotations": {VOLCANO: "v"}, "schedulerName": "volcano"},
                 "n": {"schedulingGroup": {"podGroupName": "n"}},
                 "o": {"labels": {"pod-group.scheduling.sigs.k8s.io": "o"}},
                 "w": {"workloadRef": {"name": "w", "podGroup": "workers"}}}
        for door, fields in doors.items():
            jobs.submit(f"{door}-0", 1, **fields)
            wait(lambda: (r := why(m, f"{door}-0")) and r["code"] == "WaitingForGang", f"{door} waits")
            jobs.submit(f"{door}-1", 1, **fields)
            for i in range(2):
                jobs.end(f"{door}-{i}")
        wait(lambda: m.object("podgroups.scheduling.volcano.sh", "v").get("status", {}).get("phase") == "Completed",
             "Volcano's phase")
        for name in ("n", "o"):
            wait(lambda: {c["type"]: c["status"]
                          for c in m.object("podgroups.scheduling.k8s.io", name).get("status", {}).get("conditions", [])}
                 == {"PodGroupInitiallyScheduled": "True", "PodGroupScheduled": "True"}, f"the conditions of {name}")
        refused = m.kubectl("create", "-f", "-", stdin=json.dumps({
            **json.loads(pod("mixed", "true", schedulingGroup={"podGroupName": "n"})),
            "metadata": {"name": "mixed", "labels": {LABEL: "v"}}}))
        check(refused.code != 0 and "a pod can be in one group only" in refused.err, refused)


def test_a_pod_of_another_scheduler_says_so_and_is_bound_by_it():
    with Mete("emulated:8xH100") as m:
        node = m.object("nodes")["items"][0]["metadata"]["name"]
        m.ok("create", "-f", "-", stdin=pod("theirs", "sleep 1000", gpus=2, schedulerName="mine", terminationGracePeriodSeconds=1))
        r = wait(lambda: (r := why(m, "theirs")) and r["code"] == "OtherScheduler" and r, "it says for whom it waits")
        check(r["message"].startswith("waits for the scheduler 'mine', which its schedulerName names; Mete places pods of default-scheduler"), r)
        wait(lambda: m.object("pod", "theirs")["status"]["conditions"][0]["message"] == r["message"], "the pod's condition")
        wait(lambda: r["message"] in m.ok("get", "events", "--field-selector", "involvedObject.name=theirs"), "the event")
        m.ok("create", "--raw", "/api/v1/namespaces/default/pods/theirs/binding", "-f", "-", stdin=json.dumps({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "theirs"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node}}))
        m.wait_phase("theirs", "Running")
        m.ok("create", "-f", "-", stdin=pod("kai", "true", gpus=6, schedulerName="kai-scheduler"))
        m.wait_phase("kai", "Succeeded")


def test_a_taint_ends_the_pods_that_do_not_tolerate_it():
    with Mete("emulated:8xH100") as m:
        jobs = Jobs(m)
        node = m.object("nodes")["items"][0]["metadata"]["name"]
        stays = [{"key": "mend", "operator": "Exists", "effect": "NoExecute"}]
        jobs.submit("goes", 2)
        jobs.submit("stays", 2, tolerations=stays)
        jobs.submit("waits", 2, tolerations=[{**stays[0], "tolerationSeconds": 100000}])
        for name in ("goes", "stays", "waits"):
            m.wait_phase(name, "Running")
        uid = jobs.uid("goes")
        m.ok("taint", "nodes", node, "mend=now:NoExecute")
        taint = next(t for t in m.object("node", node)["spec"]["taints"] if t["key"] == "mend")
        check(taint["timeAdded"], taint)
        wait(lambda: jobs.uid("goes") not in (None, uid), "it ended, and is in the queue again")
        check(not jobs.is_placed("goes"), "it has no node to go to")
        check("Marking for deletion Pod default/goes" in m.ok("get", "events"), "its event")
        for name in ("stays", "waits"):
            check(m.object("pod", name)["metadata"].get("deletionTimestamp") is None, name)
        m.ok("taint", "nodes", node, "mend-")
        m.wait_phase("goes", "Running")
        for name in ("goes", "stays", "waits"):
            jobs.end(name)


def test_a_group_grows_as_room_comes_and_gives_back_first():
    with Mete("emulated:8xH100") as m:
        jobs = Jobs(m)
        for door, api, fields in (
                ("v", "scheduling.volcano.sh/v1beta1", {"annotations": {VOLCANO: "v"}, "schedulerName": "volcano"}),
                ("n", "scheduling.k8s.io/v1beta1", {"schedulingGroup": {"podGroupName": "n"}}),
                ("c", "scheduling.x-k8s.io/v1alpha1", {"labels": {LABEL: "c"}})):
            jobs.submit(f"{door}-first", 4)
            m.wait_phase(f"{door}-first", "Running")
            group(m, door, 2, api)
            names = [f"{door}-{i}" for i in range(4)]
            for name in names:
                jobs.submit(name, 2, **fields)
            for name in names[:2]:
                m.wait_phase(name, "Running")
            r = wait(lambda: (r := why(m, names[3])) and r["code"] != "WaitingForGang" and r, "it waits for room")
            check(r["message"].startswith("beyond the minimum of its group; needs 2 "), r)
            jobs.end(f"{door}-first")
            for name in names:
                m.wait_phase(name, "Running")
            uids = {name: jobs.uid(name) for name in names}
            jobs.submit(f"{door}-second", 2)
            m.wait_phase(f"{door}-second", "Running")
            gone = wait(lambda: [n for n in names if jobs.uid(n) not in (None, uids[n])], "one was given back")
            check(len(gone) == 1 and gone[0] in names[2:], gone)
            wait(lambda: "beyond the minimum" in why(m, gone[0])["message"], "it waits again")
            events = m.object("events")["items"]
            check(any(e["reason"] == "Preempted" and e["involvedObject"]["name"] == gone[0] and
                      "its group goes on without it" in e["message"] for e in events), events)
            m.up.send_signal(signal.SIGKILL)
            m.up.wait()
            m.up.stdout.close()
            m.start()
            jobs.submit(f"{door}-third", 2)
            m.wait_phase(f"{door}-third", "Running")
            equal({n: jobs.uid(n) for n in names[:2]}, {n: uids[n] for n in names[:2]}, "what it needs stays")
            for name in (f"{door}-second", f"{door}-third"):
                jobs.end(name)
            for name in names:
                m.wait_phase(name, "Running")
            for name in names:
                jobs.end(name)


def test_copies_of_a_group_are_gangs_of_their_own():
    with Mete("emulated:8xH100") as m:
        jobs = Jobs(m)
        m.ok("create", "-f", "-", stdin=json.dumps({
            "apiVersion": "scheduling.k8s.io/v1alpha1", "kind": "Workload", "metadata": {"name": "w"},
            "spec": {"podGroups": [{"name": "workers", "policy": {"gang": {"minCount": 2}}}]}}))

        def submit(name, copy):
            jobs.submit(name, 1, workloadRef={"name": "w", "podGroup": "workers", "podGroupReplicaKey": copy})

        submit("a-0", "a")
        submit("b-0", "b")
        for name in ("a-0", "b-0"):
            wait(lambda: (r := why(m, name)) and r["code"] == "WaitingForGang", f"{name} waits for its own")
        submit("b-1", "b")
        for name in ("b-0", "b-1"):
            m.wait_phase(name, "Running")
        equal(why(m, "a-0")["code"], "WaitingForGang")
        for name in ("b-0", "b-1"):
            jobs.end(name)


def test_a_high_gang_takes_the_place_of_a_low_one_which_finishes_later():
    with Mete("emulated:8xH100") as m:
        jobs = Jobs(m)
        priority_class(m, "urgent", 1000)
        group(m, "low", 2)
        group(m, "high", 2)
        low, high = ["low-0", "low-1"], ["high-0", "high-1"]
        for name in low:  # the job saves its work on SIGTERM, and logs it
            jobs.submit(name, 4, labels={LABEL: "low"}, terminationGracePeriodSeconds=30, command=f"""
                trap 'echo saved >>{jobs.path(name, "saved")}; sleep 0.5; exit 0' TERM
                echo started >>{jobs.path(name, "started")}
                until [ -e {jobs.path(name, "end")} ]; do sleep 0.05; done""")
        for name in low:
            wait(lambda: os.path.exists(jobs.path(name, "started")), f"{name} has started")
        uids = {name: jobs.uid(name) for name in low}
        numbers = {name: m.object("pod", name)["metadata"]["labels"]["mete.dev/job-id"] for name in low}
        for name in high:
            jobs.submit(name, 4, labels={LABEL: "high"}, priorityClassName="urgent")
        for name in high:
            m.wait_phase(name, "Running")
        for name in low:
            check(os.path.exists(jobs.path(name, "saved")), "SIGTERM came first")
            p = wait(lambda: jobs.uid(name) not in (None, uids[name]) and m.object("pod", name), "it is queued again")
            equal(p["metadata"]["labels"]["mete.dev/job-id"], numbers[name])
            equal(p["metadata"]["annotations"]["mete.dev/requeues"], "1")
            check("nodeName" not in p["spec"], p["spec"])
        events = m.object("events")["items"]
        check(any(e["reason"] == "Preempted" and e["involvedObject"]["name"] == "low-0" and
                  "which has a higher priority" in e["message"] for e in events), events)
        for name in high:
            jobs.end(name)
        for name in low:
            m.wait_phase(name, "Running")
            jobs.end(name)
            with open(jobs.path(name, "started")) as f:
                equal(f.read(), "started\nstarted\n", "twice, and no more")


def test_a_kill_in_the_middle_of_a_preemption():
    with Mete("emulated:8xH100") as m:
        jobs = Jobs(m)
        priority_class(m, "urgent", 1000)
        ended = jobs.path("low", "may-end")
        jobs.submit("low", 8, terminationGracePeriodSeconds=60, command=f"""
            trap 'until [ -e {ended} ]; do sleep 0.05; done; exit 0' TERM
            echo started >>{jobs.path("low", "started")}
            until [ -e {jobs.path("low", "end")} ]; do sleep 0.05; done""")
        wait(lambda: os.path.exists(jobs.path("low", "started")), "it runs")
        jobs.submit("high", 8, priorityClassName="urgent")
        wait(lambda: m.object("pod", "low")["metadata"].get("deletionTimestamp"), "it is told to end")
        m.up.send_signal(signal.SIGKILL)
        m.up.wait()
        m.up.stdout.close()
        m.start()
        r = wait(lambda: (r := why(m, "high")) and r["code"] == "WaitingForPreempted" and r, "it waits for that one")
        check("was evicted for it" in r["message"], r)
        with open(ended, "w"):
            pass
        m.wait_phase("high", "Running")
        wait(lambda: m.phase("low") == "Pending", "the low one waits again")
        jobs.end("high")
        jobs.end("low")


def test_a_preempted_pod_of_a_job_is_made_again_and_ignored():
    with Mete("emulated:8xH100") as m:
        jobs = Jobs(m)
        priority_class(m, "urgent", 1000)
        m.ok("create", "-f", "-", stdin=json.dumps({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sweep"},
            "spec": {"backoffLimit": 0,
                     "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [
                         {"type": "DisruptionTarget", "status": "True"}]}]},
                     "template": {"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [
                         {"name": "main", "image": "host", "resources": {"limits": {"nvidia.com/gpu": 8}},
                          "command": ["sh", "-c", f"until [ -e {jobs.path('sweep', 'end')} ]; do sleep 0.05; done"]}]}}}}))
        wait(lambda: [p for p in m.object("pods")["items"] if p["status"].get("phase") == "Running"], "it runs")
        jobs.submit("high", 8, priorityClassName="urgent")
        m.wait_phase("high", "Running")
        jobs.end("high")
        wait(lambda: [p for p in m.object("pods", "-l", "job-name=sweep")["items"]
                      if p["status"].get("phase") == "Running"], "another pod of the job runs")
        with open(jobs.path("sweep", "end"), "w"):
            pass
        wait(lambda: m.object("job", "sweep")["status"].get("succeeded") == 1, "the job is complete")
        equal(m.object("job", "sweep")["status"].get("failed", 0), 0)


def test_a_short_job_backfills_before_a_large_one_without_delaying_it():
    with Mete("emulated:8xH100") as m:
        jobs = Jobs(m)
        jobs.submit("first", 4, activeDeadlineSeconds=900)
        m.wait_phase("first", "Running")
        jobs.submit("large", 8)
        wait(lambda: why(m, "large")["code"] == "NoNodeFits", "the large one waits, and room is kept for it")
        jobs.submit("endless", 2)
        wait(lambda: why(m, "endless")["code"] == "Reserved", "one without a limit would delay it")
        jobs.submit("hour", 2, activeDeadlineSeconds=3600)
        wait(lambda: why(m, "hour")["code"] == "Reserved", "so would one that is too long")
        jobs.submit("short", 4, activeDeadlineSeconds=600)
        m.wait_phase("short", "Running")
        jobs.end("short")
        jobs.submit("short-2", 4, activeDeadlineSeconds=600)
        m.wait_phase("short-2", "Running")
        check(not jobs.is_placed("large") and not jobs.is_placed("endless"))
        jobs.end("first")
        began = time.monotonic()
        jobs.end("short-2")
        m.wait_phase("large", "Running")
        check(time.monotonic() - began < 30, "as soon as both have ended")
        check(not jobs.is_placed("endless") and not jobs.is_placed("hour"))
        jobs.end("large")
        m.wait_phase("endless", "Running")
        m.wait_phase("hour", "Running")


def test_requeue_by_hand_and_who_opts_out():
    with Mete("emulated:8xH100") as m:
        jobs = Jobs(m)
        priority_class(m, "urgent", 1000)
        run = m.spawn([METE, "run", "--gpus", "8", "--name", "train", "--", "sh", "-c",
                       f"echo started; until [ -e {jobs.path('train', 'end')} ]; do sleep 0.05; done; exit 7"])
        m.wait_phase("train", "Running")
        r = m.mete("requeue", "train", "--grace", "1")
        check(r.code == 0 and "ends and is requeued" in r.err, r)
        wait(lambda: m.object("pod", "train")["metadata"]["annotations"].get("mete.dev/requeues") == "1",
                     "it is made again")
        m.wait_phase("train", "Running")
        with open(jobs.path("train", "end"), "w"):
            pass
        said, talk = run.communicate(timeout=600)
        equal(run.returncode, 7, "mete run stays with the job", talk)
        equal(said.count("started\n"), 2, said, talk)
        check("Requeued by root: the job is requeued when it has ended" in talk, talk)
        r = m.mete("run", "-d", "--no-requeue", "--gpus", "8", "--name", "once", "--", "sleep", "1000")
        check(r.code == 0, r)
        m.wait_phase("once", "Running")
        r = m.mete("requeue", "once")
        check(r.code == 5 and "its annotation mete.dev/requeue says never" in r.err, r)
        jobs.submit("high", 8, priorityClassName="urgent")
        m.wait_phase("high", "Running")
        check(m.phase("once") is None, "it does not come back")
        jobs.end("high")
        r = m.mete("requeue", "high")
        check(r.code == 5 and "it has ended" in r.err, r)
