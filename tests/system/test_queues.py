"""Queues on the real server: shares by weight, borrowing, quotas, holds, moves, and the commands' output about them."""

import json
import os
import re

from harness import Mete, check, equal, pod, wait

GPU = "nvidia.com/gpu"


def queue(name, **spec):
    return json.dumps({"apiVersion": "mete.dev/v1", "kind": "Queue", "metadata": {"name": name}, "spec": spec})


def put(m, name, **spec):
    m.ok("apply", "-f", "-", stdin=queue(name, **spec))


class Jobs:
    """Pods of one gpu that run until they are told to end."""

    def __init__(self, m):
        self.m = m
        self.dir = os.path.join(m.dir, "ends")
        os.mkdir(self.dir)
        os.chmod(self.dir, 0o755)

    def submit(self, ns, name, gpus=1, metadata=None, **spec):
        body = json.loads(pod(name, f"until [ -e {self.dir}/{ns}.{name} ]; do sleep 0.1; done", gpus=gpus, ns=ns,
                              terminationGracePeriodSeconds=1, **spec))
        body["metadata"].update(metadata or {})
        self.m.ok("create", "-f", "-", stdin=json.dumps(body))

    def end(self, ns, name):
        with open(os.path.join(self.dir, f"{ns}.{name}"), "w"):
            pass
        self.m.wait_phase(name, "Succeeded", ns=ns)

    def placed(self, ns):
        items = self.m.object("pods", "-n", ns, "--field-selector", "status.phase!=Succeeded,status.phase!=Failed")["items"]
        return [p["metadata"]["name"] for p in items if p["spec"].get("nodeName")]


def status(m, name):
    return m.object("queue", name).get("status", {})


def namespace(m, name, **annotations):
    m.ok("create", "namespace", name)
    for key, value in annotations.items():
        m.ok("annotate", "namespace", name, f"mete.dev/{key}={value}")


def why(m, job, ns="default"):
    r = m.mete("why", job, "-n", ns, "-o", "json")
    check(r.code == 0, r)
    return json.loads(r.out)["status"]["reason"]


def wait_reason(m, job, code, ns="default"):
    return wait(lambda: (r := why(m, job, ns)) and r["code"] == code and r, f"{job} waits as {code}")


def test_two_namespaces_share_by_weight():
    with Mete("emulated:8xH100") as m:
        jobs = Jobs(m)
        for ns, weight in (("team-a", 3), ("team-b", 1)):
            put(m, ns, weight=weight, stopped=True)
            namespace(m, ns, queue=ns)
        for ns in ("team-a", "team-b"):
            for i in range(14):
                jobs.submit(ns, f"p{i}")
        wait(lambda: status(m, "team-a").get("waiting") == 14 and status(m, "team-b").get("waiting") == 14, "all wait")
        check("queue team-a is stopped" in m.mete("why", "p0", "-n", "team-a").out)
        for ns, weight in (("team-a", 3), ("team-b", 1)):
            put(m, ns, weight=weight, stopped=False)
        wait(lambda: len(jobs.placed("team-a")) + len(jobs.placed("team-b")) == 8, "all gpus are held")
        # A queue that started alone for a moment gives its surplus back as jobs end.
        ended = 0
        while (len(jobs.placed("team-a")), len(jobs.placed("team-b"))) != (6, 2):
            over = "team-a" if len(jobs.placed("team-a")) > 6 else "team-b"
            jobs.end(over, jobs.placed(over)[0])
            ended += 1
            check(ended < 9, "no share of 6 to 2", jobs.placed("team-a"), jobs.placed("team-b"))
            wait(lambda: len(jobs.placed("team-a")) + len(jobs.placed("team-b")) == 8, "all gpus are held")
        for _ in range(3):  # and the shares stay, whichever job ends
            for ns in ("team-a", "team-b"):
                jobs.end(ns, jobs.placed(ns)[0])
                wait(lambda: (len(jobs.placed("team-a")), len(jobs.placed("team-b"))) == (6, 2), "6 to 2")
        wait(lambda: status(m, "team-a")["sharePpm"] == 750000 and status(m, "team-b")["sharePpm"] == 250000, "shares")
        table = m.mete("queues").out
        check(re.search(r"^team-a +3 +- +6 +- +75\.0% +\d+ +6 ", table, re.M), table)
        put(m, "team-a", weight=1, stopped=False)
        for _ in range(2):
            jobs.end("team-a", jobs.placed("team-a")[0])
            wait(lambda: len(jobs.placed("team-a")) + len(jobs.placed("team-b")) == 8, "all gpus are held")
        equal((len(jobs.placed("team-a")), len(jobs.placed("team-b"))), (4, 4), "by the new weights")


def test_quotas_are_told_with_their_numbers():
    with Mete("emulated:8xH100") as m:
        jobs = Jobs(m)
        put(m, "labs")
        put(m, "research", parent="labs", quotas=[{"resource": "gpu", "nominal": 2, "borrowLimit": 1}],
            userLimits={"running": 5})
        label = {"labels": {"kueue.x-k8s.io/queue-name": "research"}}
        for i in range(4):
            jobs.submit("default", f"p{i}", metadata=label)
        wait(lambda: len(jobs.placed("default")) == 3, "nominal and what it may borrow")
        r = wait_reason(m, "p3", "QuotaExceeded")
        equal(r["message"], "needs 1 gpu; queue research holds 3 of 3")
        equal(r["class"], "quota")
        check("queue research may hold 4 gpus, not 3" in r["wouldStartIf"], r)
        jobs.submit("default", "big", gpus=4, metadata=label)
        r = wait_reason(m, "big", "OverMaxQuota")
        equal(r["message"], "needs 4 gpus; queue research may hold 3 at most")
        text = m.mete("why", "p3").out
        check("queue research, place 1 of 2" in text, text)
        wait(lambda: status(m, "labs").get("waiting") == 2, "both are counted")
        equal(status(m, "research")["quotas"], [{"resource": "gpu", "nominal": "2", "held": "3", "borrowed": "1"}])
        tree = m.mete("queues", "labs").out.splitlines()
        check(re.match(r"labs +1 +- +3 ", tree[1]), tree)
        check(re.match(r"  research +1 +2 +3 +1 +37\.5% +2 +3 +\S+ +active", tree[2]), tree)
        refused = m.kubectl("apply", "-f", "-", stdin=queue("labs", parent="research"))
        check(refused.code != 0 and "the parent is below this queue" in refused.err, refused)
        jobs.end("default", "p0")
        wait(lambda: "p3" in jobs.placed("default"), "p3 starts once there is room")


def test_a_missing_queue_and_one_that_lets_nobody_in():
    with Mete("emulated:2xH100") as m:
        jobs = Jobs(m)
        jobs.submit("default", "lost", metadata={"labels": {"mete.dev/queue": "nowhere"}})
        r = wait_reason(m, "lost", "NoSuchQueue")
        equal((r["class"], r["message"]), ("yours", "there is no queue nowhere"))
        put(m, "closed", namespaces=["kube-system"])
        jobs.submit("default", "out", metadata={"labels": {"mete.dev/queue": "closed"}})
        r = wait_reason(m, "out", "NotAllowed")
        equal((r["class"], r["message"]), ("yours", "namespace default may not use queue closed"))
        r = m.mete("run", "--queue", "nowhere", "-d", "--", "true")
        check(r.code == 125 and 'there is no queue "nowhere"' in r.err and "try: mete queues" in r.err, r)
        put(m, "nowhere")
        wait(lambda: "lost" in jobs.placed("default"), "it starts when its queue is there")
        put(m, "closed", namespaces=["default"])
        wait(lambda: "out" in jobs.placed("default"), "and when it is let in")


def test_hold_release_and_move():
    with Mete("emulated:2xH100") as m:
        jobs = Jobs(m)
        jobs.submit("default", "first", gpus=2)
        m.wait_phase("first", "Running")
        for name in ("a", "b"):
            jobs.submit("default", name, gpus=2)
        r = m.mete("hold", "a")
        check(r.code == 0 and re.search(r"job \d+ a is on hold", r.err), r)
        r = wait_reason(m, "a", "HeldByYou")
        equal((r["class"], r["position"]), ("held", 1))
        r = m.mete("hold", "first")
        check(r.code == 5 and "is not waiting" in r.err, r)
        jobs.end("default", "first")
        wait(lambda: jobs.placed("default") == ["b"], "the next one starts")
        m.stop()
        m.start()
        wait_reason(m, "a", "HeldByYou")
        equal(m.mete("release", "a").code, 0)
        jobs.end("default", "b")
        wait(lambda: jobs.placed("default") == ["a"], "it starts once it is released")
        put(m, "stopped", stopped=True)
        r = m.mete("run", "-d", "--name", "moved", "--queue", "stopped", "--", "true")
        equal(r.code, 0, r)
        wait_reason(m, "moved", "QueueStopped")
        r = m.mete("move", "moved", "nowhere")
        check(r.code == 3 and 'there is no queue "nowhere"' in r.err, r)
        r = m.mete("move", "moved", "default")
        check(r.code == 0 and "is moved to queue default" in r.err, r)
        m.wait_phase("moved", "Succeeded")
        r = m.mete("move", "a", "stopped")
        check(r.code == 5 and "is not waiting" in r.err, r)


def test_free_tells_what_could_start():
    with Mete("emulated:8xH100") as m:
        jobs = Jobs(m)
        put(m, "small", quotas=[{"resource": "gpu", "nominal": 5, "borrowLimit": 0}])
        namespace(m, "team", queue="small")
        jobs.submit("team", "a", gpus=2)
        wait(lambda: jobs.placed("team") == ["a"], "it starts")

        def row(*words):
            r = m.mete("free", *words)
            check(r.code == 0, r)
            return r.out.splitlines()[1].split()

        equal(row(), ["h100", "6", "of", "8", "6", "6", "3", "1", "0"])
        equal(row("-n", "team"), ["h100", "6", "of", "8", "3", "3", "1", "0", "0"], "within the quota of its queue")
        equal(row("--queue", "small", "--gpus", "h100:3"), ["h100", "6", "of", "8", "3", "1"])
        r = m.mete("free", "--gpus", "8")
        check("a job of 8 GPUs in queue default would wait" in r.err, r)
        models = json.loads(m.mete("free", "-o", "json").out)["items"]
        equal((models[0]["largest"], models[0]["starts"][1]), (6, {"gpus": 2, "devices": "2", "jobs": 3, "orMore": False}))
        wait(lambda: re.search(r"^team +queue small +gpu +2 +5 +3$", m.mete("quota", "-n", "team").out, re.M), "mete quota")
        r = m.mete("free", "--queue", "nowhere")
        check(r.code == 3 and 'there is no queue "nowhere"' in r.err, r)
        jobs.submit("default", "short", activeDeadlineSeconds=3600)
        m.wait_phase("short", "Running")
        jobs.submit("default", "all", gpus=8)  # it waits until both have ended
        wait_reason(m, "all", "NoNodeFits")
        jobs.end("team", "a")
        wait(lambda: row()[1:] == ["7", "of", "8", "0", "0", "0", "0", "0"], "room is kept for it")
        equal(row("--time", "30m")[4:], ["7", "7", "3", "1", "0"], "what ends before it may start fits")
        usage = json.loads(m.mete("usage", "--by", "queue", "-o", "json").out)
        check("small" in json.dumps(usage), usage)


def test_a_reservation_keeps_room():
    with Mete("emulated:4xH100") as m:
        jobs = Jobs(m)
        put(m, "lab")
        r = m.mete("reserve", "demo", "--gpus", "h100:3", "--start", "+1h", "--duration", "1h", "--queue", "lab")
        check(r.code == 0 and "reservation demo: 2" in r.err, r)
        jobs.submit("default", "open", gpus=2)
        r = wait_reason(m, "open", "Reserved")
        check("is reserved from" in r["message"] and "(demo)" in r["message"], r)
        jobs.submit("default", "short", gpus=2, activeDeadlineSeconds=600)
        wait(lambda: jobs.placed("default") == ["short"], "what ends before it may start there")
        wait(lambda: re.search(r"^demo +pending .* h100:3 +queue lab +3 +", m.mete("reserve", "ls").out, re.M), "it is shown")
        m.stop()
        m.start()
        wait_reason(m, "open", "Reserved")
        jobs.submit("default", "theirs", metadata={"labels": {"mete.dev/queue": "lab"}})
        wait(lambda: "theirs" in jobs.placed("default"), "those it is for may use it at any time")
        r = m.mete("reserve", "early", "--nodes", "vm", "--start", "+90m", "--duration", "1h", "--user", "ann")
        equal(r.code, 0, r)
        name = m.object("nodes")["items"][0]["metadata"]["name"]
        r = m.mete("reserve", "clash", "--nodes", name, "--start", "+90m", "--duration", "1h", "--user", "ann")
        wait(lambda: "refused" in m.mete("reserve", "ls").out, "two at once are refused")
        equal(m.mete("reserve", "rm", "demo", "clash", "early").code, 0)
        jobs.end("default", "short")
        wait(lambda: "open" in jobs.placed("default"), "it starts once nothing is kept")
        for words, says in ((["x"], "--nodes A,B or --gpus N"), (["x", "--gpus", "2"], "needs --queue Q"),
                            (["x", "--gpus", "2", "--user", "a"], "needs --duration"),
                            (["x", "--gpus", "2", "--user", "a", "--duration", "1h", "--start", "2001-01-01T10:00"], "end in the past"),
                            (["rm"], "rm needs NAME")):
            r = m.mete("reserve", *words)
            check(r.code == 2 and says in r.err, words, r)
        r = m.mete("reserve", "rm", "nothing")
        check(r.code == 3 and 'there is no reservation "nothing"' in r.err, r)


def test_what_was_borrowed_is_given_back():
    with Mete("emulated:8xH100") as m:
        jobs = Jobs(m)
        put(m, "a", quotas=[{"resource": "gpu", "nominal": 4}], preemption={"reclaim": "Any"})
        put(m, "b", quotas=[{"resource": "gpu", "nominal": 4}], preemption={"reclaim": "Any"}, minRunTime="1s")
        for ns in ("a", "b"):
            namespace(m, ns, queue=ns)
        for i in range(8):
            jobs.submit("b", f"b{i}")
        wait(lambda: len(jobs.placed("b")) == 8, "b borrows what a does not use")
        wait(lambda: status(m, "b").get("quotas") == [{"resource": "gpu", "nominal": "4", "held": "8", "borrowed": "4"}],
             "four of them borrowed")
        for name in jobs.placed("b"):
            m.wait_phase(name, "Running", ns="b")
        jobs.submit("a", "big", gpus=4)
        m.wait_phase("big", "Running", ns="a")
        wait(lambda: len(jobs.placed("b")) == 4, "b keeps its nominal quota")
        wait(lambda: status(m, "b").get("waiting") == 4, "who had to go waits again")
        equal(status(m, "b")["quotas"][0]["borrowed"], "0")
        jobs.submit("a", "more", gpus=1)
        wait_reason(m, "more", "NoNodeFits", ns="a")
        jobs.end("a", "big")
        m.wait_phase("more", "Running", ns="a")
        wait(lambda: len(jobs.placed("b")) == 7, "what is left is borrowed again")


def test_what_if_tells_who_would_start():
    with Mete("emulated:8xH100") as m:
        jobs = Jobs(m)
        jobs.submit("default", "large", gpus=6)
        m.wait_phase("large", "Running")
        jobs.submit("default", "four", gpus=4)
        jobs.submit("default", "eight", gpus=8)
        wait(lambda: why(m, "eight")["position"] == 2, "both to wait")

        r = m.mete("why", "four", "--if", "end:large")
        check(r.code == 0 and re.search(r"default +four +started", r.out) and "eight" not in r.out, r)
        check("would start" in r.err, r)
        node = m.object("nodes")["items"][0]["metadata"]["name"]
        r = m.mete("why", "--if", f"add:2:{node}", "-o", "json")
        equal([(i["name"], i["becomes"]) for i in json.loads(r.out)["items"]], [("four", "started"), ("eight", "started")])
        r = m.mete("why", "--if", f"drain:{node}")
        check(re.search(r"default +large +waiting", r.out), r)
        r = m.mete("why", "eight", "--if", "resume:" + node)
        check("no job would start" in r.err and "would not start" in r.err, r)
        equal(jobs.placed("default"), ["large"])

        for change, said in (("end:nobody", "nobody"), ("add:0:" + node, "number"), ("add:1:nowhere", "nowhere"),
                             ("explode", "end:NS/POD"), ("drain:nowhere", "nowhere")):
            r = m.mete("why", "--if", change)
            check(r.code != 0 and said in r.err, change, r)


def job(name, queue, label="mete.dev/queue", **spec):
    return json.dumps({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": {label: queue}},
        "spec": {"completions": 2, "parallelism": 2, **spec, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "main", "image": "host", "command": ["true"]}]}}}})


def test_jobs_and_their_pods():
    with Mete("emulated:2xH100") as m:
        put(m, "q")
        m.ok("create", "-f", "-", stdin=job("kueue", "q", "kueue.x-k8s.io/queue-name", suspend=True))
        m.ok("wait", "--for=condition=Complete", "job/kueue", "--timeout=600s")
        labels = m.ok("get", "pods", "-l", "job-name=kueue", "-o", r"jsonpath={.items[*].metadata.labels.mete\.dev/queue}")
        equal(labels.split(), ["q", "q"])
        put(m, "stopped", stopped=True)
        m.ok("create", "-f", "-", stdin=job("held", "stopped"))
        wait(lambda: status(m, "stopped").get("waiting") == 2, "its pods wait")
        r = m.mete("hold", "job/held")
        check(r.code == 0 and re.search(r"job \d+ held is on hold", r.err), r)
        wait(lambda: status(m, "stopped").get("onHold") == 2, "both are held")
        r = m.mete("move", "job/held", "q")
        equal(r.code, 0, r)
        wait(lambda: status(m, "q").get("onHold") == 2 and status(m, "stopped").get("waiting") == 0, "both are moved")
        check(re.search(r"^ *\d+ +held +\S+ +q ", m.mete("ps", "-o", "wide").out, re.M), m.mete("ps", "-o", "wide"))
        equal(m.mete("release", "job/held").code, 0)
        m.ok("wait", "--for=condition=Complete", "job/held", "--timeout=600s")


def test_gates_and_times():
    with Mete("emulated:1xH100") as m:
        jobs = Jobs(m)
        jobs.submit("default", "gated", schedulingGates=[{"name": "example.com/check"}])
        r = wait_reason(m, "gated", "SchedulingGated")
        equal(r["message"], "waits until its scheduling gates go: example.com/check")
        wait(lambda: m.ok("get", "pod", "gated", "--no-headers").split()[2] == "SchedulingGated", "kubectl shows it")
        jobs.submit("default", "late", metadata={"annotations": {"mete.dev/not-before": "2199-01-01T00:00:00Z"}})
        r = wait_reason(m, "late", "NotBefore")
        equal(r["message"], "does not start before 2199-01-01T00:00:00Z")
        m.ok("patch", "pod", "gated", "--type=json", "-p", '[{"op": "remove", "path": "/spec/schedulingGates"}]')
        m.wait_phase("gated", "Running")
        m.ok("annotate", "pod", "late", "mete.dev/not-before=2001-01-01T00:00:00Z", "--overwrite")
        jobs.end("default", "gated")
        m.wait_phase("late", "Running")


def test_small_jobs_go_first_where_the_order_is_by_size():
    with Mete("emulated:1xH100") as m:
        jobs = Jobs(m)
        put(m, "root", fairness={"bySize": True})
        jobs.submit("default", "first")
        m.wait_phase("first", "Running")
        for name, expected in (("long-1", "10h"), ("long-2", "10h"), ("short", "5m")):
            jobs.submit("default", name, metadata={"annotations": {"mete.dev/expected-run-time": expected}})
        wait(lambda: why(m, "short")["position"] == 1, "the short one is next")
        equal(why(m, "long-1")["position"], 2)
        jobs.end("default", "first")
        m.wait_phase("short", "Running")


def test_a_time_limit_can_be_an_annotation_or_a_label():
    with Mete("emulated:1xH100") as m:
        jobs = Jobs(m)
        jobs.submit("default", "a", metadata={"annotations": {"mete.dev/time-limit": "90m"}})
        jobs.submit("default", "b", metadata={"labels": {"kueue.x-k8s.io/max-exec-time-seconds": "120"}})
        jobs.submit("default", "c", metadata={"annotations": {"mete.dev/time-limit": "90m"}}, activeDeadlineSeconds=60)
        equal([m.object("pod", name)["spec"]["activeDeadlineSeconds"] for name in "abc"], [5400, 120, 60])
        r = m.kubectl("annotate", "pod", "a", "mete.dev/expected-run-time=soon")
        check(r.code != 0 and "mete.dev/expected-run-time" in r.err, r)
