"""Quotas, limit ranges and priority classes with kubectl, `mete` and raw requests."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import signal

from door import PODS, Door
from harness import METE, Mete, check, equal, execute, execute_as, own_python, pod, wait

GPU = "nvidia.com/gpu"


def used(m, ns, quota, resource):
    return json.loads(m.ok("get", "quota", quota, "-n", ns, "-o", "json"))["status"]["used"][resource]


def quota(name, **hard):
    return json.dumps({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name},
                       "spec": {"hard": {k.replace("__", "."): str(v) for k, v in hard.items()}}})


def refused(r, message):
    check(r.code != 0, "it was accepted", r)
    check(message in r.err, f"want {message!r}", r)


def test_ten_gpus_are_not_eleven():
    with Mete("emulated:16xH100") as m:
        m.ok("create", "quota", "gpus", f"--hard=requests.{GPU}=10")
        m.ok("create", "-f", "-", stdin=pod("four", "sleep 600", gpus=4))
        equal(used(m, "default", "gpus", f"requests.{GPU}"), "4")
        refused(m.kubectl("create", "-f", "-", stdin=pod("seven", "true", gpus=7)),
                'Error from server (Forbidden): error when creating "STDIN": pods "seven" is forbidden: exceeded '
                f"quota: gpus, requested: requests.{GPU}=7, used: requests.{GPU}=4, limited: requests.{GPU}=10")
        m.ok("create", "-f", "-", stdin=pod("six", "exit 3", gpus=6))
        m.wait_phase("six", "Failed")
        equal(used(m, "default", "gpus", f"requests.{GPU}"), "4", "what ended gives back")
        m.ok("create", "-f", "-", stdin=pod("six-more", "sleep 600", gpus=6))
        m.wait_phase("six-more", "Running")
        equal(m.ok("get", "quota", "--no-headers").split()[:3], ["gpus", f"requests.{GPU}:", "10/10"])
        check("requests.nvidia.com/gpu  10    10" in m.ok("describe", "quota", "gpus"))
        m.ok("delete", "pod", "four", "--grace-period=1")
        equal(used(m, "default", "gpus", f"requests.{GPU}"), "6", "what is gone gives back")


def test_each_namespace_has_its_own():
    with Mete("emulated:16xH100") as m:
        for ns, n in (("team-a", 2), ("team-b", 6)):
            m.ok("create", "namespace", ns)
            m.ok("create", "-n", ns, "-f", "-", stdin=quota("q", **{"requests__" + GPU: n, "count/configmaps": 3}))
        refused(m.kubectl("create", "-n", "team-a", "-f", "-", stdin=pod("p", "sleep 600", gpus=3)), "exceeded quota: q")
        m.ok("create", "-n", "team-b", "-f", "-", stdin=pod("p", "sleep 600", gpus=3))
        m.ok("create", "-f", "-", stdin=pod("free", "sleep 600", gpus=3))  # no quota here
        for i in range(2):  # beside kube-root-ca.crt, which every namespace has
            m.ok("create", "configmap", f"c{i}", "-n", "team-a", "--from-literal=k=v")
        refused(m.kubectl("create", "configmap", "c2", "-n", "team-a", "--from-literal=k=v"),
                'configmaps "c2" is forbidden: exceeded quota: q, requested: count/configmaps=1, used: '
                "count/configmaps=3, limited: count/configmaps=3")
        m.ok("patch", "quota", "q", "-n", "team-a", "-p", '{"spec":{"hard":{"count/configmaps":"1"}}}')
        equal(used(m, "team-a", "q", "count/configmaps"), "3", "lowered below what is used")
        rows = [line.split() for line in m.mete("quota", "-A").out.splitlines()]
        equal(rows[0], ["NAMESPACE", "QUOTA", "RESOURCE", "USED", "HARD", "FREE"])
        equal(sorted(rows[1:]), [["team-a", "q", "count/configmaps", "3", "1", "0"],
                                 ["team-a", "q", f"requests.{GPU}", "0", "2", "2"],
                                 ["team-b", "q", "count/configmaps", "1", "3", "2"],
                                 ["team-b", "q", f"requests.{GPU}", "3", "6", "3"]])
        items = json.loads(m.mete("quota", "-n", "team-b", "-o", "json").out)
        equal((items["apiVersion"], items["kind"]), ("mete.dev/v1", "QuotaUseList"))
        equal([(i["resource"], i["used"], i["hard"], i["free"]) for i in items["items"]],
              [("count/configmaps", "1", "3", "2"), (f"requests.{GPU}", "3", "6", "3")])
        m.ok("delete", "namespace", "team-b", "--timeout=600s")


def test_a_refused_submit_is_told_in_numbers():
    with Mete("emulated:16xH100") as m:
        m.ok("create", "quota", "research", f"--hard=requests.{GPU}=10")
        m.ok("create", "-f", "-", stdin=pod("four", "sleep 600", gpus=4))
        r = m.mete("run", "--gpus", "7", "--", "true")
        equal(r.code, 125, r)
        equal(r.err.splitlines(), ['mete: quota "research" has no room for 7 GPUs', "  used 4 of 10, asked 7, short by 1",
                                   "  try: mete run --gpus 6 ...   or wait: mete quota -n default"])
        path = os.path.join(m.home, "pod.json")
        with open(path, "w") as f:
            f.write(pod("seven", "true", gpus=7))
        r = m.mete("apply", "-f", path)
        equal(r.code, 5, r)
        check("short by 1" in r.err and "mete quota -n default" in r.err, r)
        equal(m.mete("quota", "nothing").code, 3)


def test_a_limit_range_bounds_containers():
    limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "gpus"},
              "spec": {"limits": [{"type": "Container", "min": {GPU: 1}, "max": {GPU: 2}}]}}
    with Mete("emulated:16xH100") as m:
        m.ok("create", "-f", "-", stdin=json.dumps(limits))
        spec = json.loads(m.ok("get", "limits", "gpus", "-o", "json"))["spec"]["limits"][0]
        equal((spec["default"], spec["defaultRequest"]), ({GPU: "2"}, {GPU: "2"}), "as Kubernetes fills it in")
        check(f"Container   {GPU}  1    2    2                2" in m.ok("describe", "limits", "gpus"))
        refused(m.kubectl("create", "-f", "-", stdin=pod("three", "true", gpus=3)),
                f'pods "three" is forbidden: maximum {GPU} usage per Container is 2, but limit is 3')
        zero = json.loads(pod("zero", "true"))
        zero["spec"]["containers"][0]["resources"] = {"limits": {GPU: 0}}
        refused(m.kubectl("create", "-f", "-", stdin=json.dumps(zero)),
                f'pods "zero" is forbidden: minimum {GPU} usage per Container is 1, but request is 0')
        m.ok("create", "-f", "-", stdin=pod("one", "nvidia-smi -L | wc -l", gpus=1))
        m.ok("create", "-f", "-", stdin=pod("two", "nvidia-smi -L | wc -l"))  # by the range's default
        for name, n in (("one", "1"), ("two", "2")):
            m.wait_phase(name, "Succeeded")
            equal(m.ok("logs", name).strip(), n)


def test_requests_and_limits_of_gpus_are_one():
    with Mete("emulated:16xH100") as m:
        def body(name, **resources):
            p = json.loads(pod(name, "nvidia-smi -L | wc -l"))
            p["spec"]["containers"][0]["resources"] = resources
            return json.dumps(p)

        m.ok("create", "-f", "-", stdin=body("asks", requests={GPU: 2}))
        equal(m.object("pod", "asks")["spec"]["containers"][0]["resources"],
              {"requests": {GPU: "2"}, "limits": {GPU: "2"}})
        m.wait_phase("asks", "Succeeded")
        equal(m.ok("logs", "asks").strip(), "2")
        refused(m.kubectl("create", "-f", "-", stdin=body("two-minds", requests={GPU: 1}, limits={GPU: 2})),
                f'spec.containers[0].resources.requests: Invalid value: "1": must be equal to {GPU} limit of 2')


def test_a_higher_class_goes_first():
    with Mete("emulated:1xH100") as m:
        m.ok("create", "priorityclass", "gold", "--value=1000", "--description=first")
        m.ok("create", "priorityclass", "iron", "--value=-5", "--preemption-policy=Never")
        rows = [line.split() for line in m.ok("get", "pc", "--no-headers").splitlines()]
        equal([(r[0], r[1], r[2], r[4]) for r in rows],
              [("gold", "1000", "false", "PreemptLowerPriority"), ("iron", "-5", "false", "Never"),
               ("system-cluster-critical", "2000000000", "false", "PreemptLowerPriority"),
               ("system-node-critical", "2000001000", "false", "PreemptLowerPriority")])
        refused(m.kubectl("create", "-f", "-", stdin=pod("x", "true", priorityClassName="silver")),
                'pods "x" is forbidden: no PriorityClass with name silver was found')
        refused(m.kubectl("delete", "pc", "system-node-critical"), "is a system priority class and cannot be deleted")
        m.ok("create", "-f", "-", stdin=pod("holder", "sleep 600", gpus=1))
        m.wait_phase("holder", "Running")
        m.ok("create", "-f", "-", stdin=pod("low", "date +%s%N", gpus=1, priorityClassName="iron"))
        m.ok("create", "-f", "-", stdin=pod("none", "date +%s%N", gpus=1))
        m.ok("create", "-f", "-", stdin=pod("high", "date +%s%N", gpus=1, priorityClassName="gold"))
        spec = m.object("pod", "low")["spec"]
        equal((spec["priority"], spec["preemptionPolicy"]), (-5, "Never"))
        m.ok("delete", "pod", "holder", "--grace-period=1")
        for name in ("high", "none", "low"):
            m.wait_phase(name, "Succeeded")
        starts = [int(m.ok("logs", name)) for name in ("high", "none", "low")]
        equal(starts, sorted(starts), "by priority, not by time of submission")


def test_users_read_their_limits_and_administrators_set_them():
    with Mete("emulated:16xH100") as m:
        def somebody(*words, stdin=None):
            """uid 5 of Debian's passwd: the role edit in the namespace default."""
            return execute_as(5, 60, [METE, *words], stdin=stdin, env=m.env)

        m.ok("create", "namespace", "team")
        m.ok("create", "quota", "q", "--hard=pods=1")
        m.ok("create", "quota", "q", "-n", "team", "--hard=pods=1")
        equal(somebody("quota", "--no-headers").out.split(), ["default", "q", "pods", "0", "1", "1"])
        equal(somebody("get", "limits").code, 0)
        equal(somebody("get", "priorityclasses", "-o", "name").out.split(),
              ["priorityclass/system-cluster-critical", "priorityclass/system-node-critical"])
        for words in (("quota", "-n", "team"), ("quota", "-A"), ("get", "limits", "-n", "team"),
                      ("delete", "quota", "q", "-y"), ("delete", "priorityclasses", "system-node-critical", "-y")):
            equal(somebody(*words).code, 4, words, somebody(*words))
        for body in (quota("q", pods=100), quota("mine", pods=100)):
            equal(somebody("apply", "-f", "-", stdin=body).code, 4)
        equal(somebody("apply", "-f", "-", stdin=pod("one", "sleep 600")).code, 0)
        equal(somebody("apply", "-f", "-", stdin=pod("two", "sleep 600")).code, 5)


def test_a_job_waits_for_its_quota():
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"},
           "spec": {"parallelism": 2, "completions": 2, "template": {"spec": {"restartPolicy": "Never", "containers": [
               {"name": "c", "image": "host", "command": ["true"]}]}}}}
    with Mete() as m:
        m.ok("create", "quota", "q", "--hard=pods=1,count/jobs.batch=1")
        m.ok("create", "-f", "-", stdin=json.dumps(job))
        refused(m.kubectl("create", "-f", "-", stdin=json.dumps({**job, "metadata": {"name": "k"}})),
                'jobs.batch "k" is forbidden: exceeded quota: q, requested: count/jobs.batch=1, used: '
                "count/jobs.batch=1, limited: count/jobs.batch=1")
        wait(lambda: "exceeded quota: q, requested: pods=1" in m.ok("get", "events"), "the Job says what it waits for")
        wait(lambda: m.object("job", "j")["status"].get("succeeded") == 2, "both of its pods ran, one after the other")
        equal(used(m, "default", "q", "pods"), "0")


PYTHON_CLIENT = r"""
import sys
from kubernetes import client, config
config.load_kube_config(sys.argv[1])
core, scheduling = client.CoreV1Api(), client.SchedulingV1Api()
gpu = "nvidia.com/gpu"
core.create_namespaced_resource_quota("default", client.V1ResourceQuota(
    metadata=client.V1ObjectMeta(name="gpus"), spec=client.V1ResourceQuotaSpec(hard={"requests." + gpu: "10"})))
core.create_namespaced_limit_range("default", client.V1LimitRange(
    metadata=client.V1ObjectMeta(name="l"), spec=client.V1LimitRangeSpec(limits=[client.V1LimitRangeItem(
        type="Container", max={gpu: "8"}, default={gpu: "1"}, default_request={gpu: "1"})])))
scheduling.create_priority_class(client.V1PriorityClass(
    metadata=client.V1ObjectMeta(name="gold"), value=7, preemption_policy="Never"))
def pod(name, gpus=None):
    return client.V1Pod(metadata=client.V1ObjectMeta(name=name), spec=client.V1PodSpec(
        restart_policy="Never", priority_class_name="gold", containers=[client.V1Container(
            name="c", image="host", command=["sleep", "600"],
            resources=client.V1ResourceRequirements(limits={gpu: str(gpus)} if gpus else None))]))
four = core.create_namespaced_pod("default", pod("four", 4))
assert (four.spec.priority, four.spec.preemption_policy) == (7, "Never"), four.spec
def refused(name, gpus, text):
    try:
        core.create_namespaced_pod("default", pod(name, gpus))
    except client.exceptions.ApiException as e:
        assert e.status == 403 and text in e.body, e
    else:
        raise SystemExit("accepted")
refused("seven", 7, "exceeded quota: gpus, requested: requests.nvidia.com/gpu=7, used: requests.nvidia.com/gpu=4")
refused("nine", 9, "maximum nvidia.com/gpu usage per Container is 8, but limit is 9")
assert core.create_namespaced_pod("default", pod("bare")).spec.containers[0].resources.requests == {gpu: "1"}
quota = core.read_namespaced_resource_quota("gpus", "default")
assert quota.status.used == {"requests." + gpu: "5"} and quota.status.hard == quota.spec.hard, quota.status
core.patch_namespaced_resource_quota("gpus", "default", {"spec": {"hard": {"pods": "2"}}})
assert core.read_namespaced_resource_quota("gpus", "default").status.used == {"requests." + gpu: "5", "pods": "2"}
print("fine")
"""


def test_the_python_client_sets_quotas_limits_and_classes():
    with Mete("emulated:16xH100") as m:
        r = execute([own_python(), "-c", PYTHON_CLIENT, os.path.join(m.data, "kubeconfig")])
        equal(r.out, "fine\n", r)


def total(pods, what):
    """What a count of the pods gives, by a third implementation."""
    alive = [p for p in pods if p["status"].get("phase") not in ("Succeeded", "Failed")]
    if what == "count/pods":
        return len(pods)
    if what == "pods":
        return len(alive)
    return sum(int(c.get("resources", {}).get("requests", {}).get(GPU, "0")) for p in alive for c in p["spec"]["containers"])


def create_some(m, name, statuses):
    """Pods for no node, some of them deleted again; what the server's death cut off stays unknown."""
    door = Door(m)
    for i in range(40):
        body = json.loads(pod(f"{name}-{i}", "true", gpus=i % 4, nodeSelector={"no": "where"}))
        with contextlib.suppress(OSError, http.client.HTTPException):
            status, _ = door.ask("POST", PODS, body)
            statuses.append(status)
            if status == 201 and i % 3 == 0:
                door.ask("DELETE", f"{PODS}/{name}-{i}")


def test_a_killed_server_has_charged_what_is_there():
    """Clients create past the quota from all sides and the server dies: used is what a count gives, and not over it."""
    hard = {"count/pods": 4000, "pods": 60, "requests." + GPU: 100}
    statuses = []
    with Mete("emulated:16xH100") as m:
        m.ok("create", "-f", "-", stdin=quota("q", **hard))

        def what_is_used():
            return {k: int(v) for k, v in m.object("quota", "q")["status"]["used"].items()}

        for turn in range(3):
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                jobs = [pool.submit(create_some, m, f"p{turn}-{k}", statuses) for k in range(8)]
                begun = len(statuses)
                wait(lambda: len(statuses) >= begun + 20 * (turn + 1), "creates go on")
                os.kill(m.child("server"), signal.SIGKILL)
                for job in jobs:
                    job.result()
            pods = wait(lambda: (r := m.kubectl("get", "pods", "-o", "json")).code == 0 and json.loads(r.out)["items"],
                        "the server is back")
            now = what_is_used()
            equal(now, {k: total(pods, k) for k in hard})
            check(all(now[k] <= hard[k] for k in hard), now)
            equal(m.mete("delete", "pods", "--all", "-y").code, 0)
            equal(what_is_used(), {k: 0 for k in hard})
    check(201 in statuses and 403 in statuses, "accepted and refused both", statuses)
