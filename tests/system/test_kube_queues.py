"""mete kube scheduler: the queue objects of other schedulers, which it reads as they are."""

import json

from harness import Mete, equal, pod, wait
from kube_objects import queue
from queue_objects import VOLCANO, gpu_quota, install_kueue, install_queues, is_foreign, kai_queue, kueue, volcano_queue
from test_kube_scheduler import NAME, Recorder, apply, nodes_of, ours, rights, scheduler

QUEUE_NAME = "kueue.x-k8s.io/queue-name"


def queued(name, local_queue, gpus, command="sleep 1000"):
    o = json.loads(ours(name, command, gpus))
    o["metadata"]["labels"] = {QUEUE_NAME: local_queue}
    return json.dumps(o)


def job(name, local_queue, pods):
    """A Job of pods with one GPU each. The label is on the Job alone."""
    spec = json.loads(pod("x", "sleep 1000", 1, schedulerName=NAME))["spec"]
    return json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": {QUEUE_NAME: local_queue}},
                       "spec": {"parallelism": pods, "completions": pods, "backoffLimit": 1000, "template": {"spec": spec}}})


def reason(m, name):
    return "".join(c["message"] for c in m.object("pod", name)["status"].get("conditions", []) if c["type"] == "PodScheduled")


def placed(m, selector):
    return sum(1 for p in m.object("pods", "-l", selector)["items"] if p["spec"].get("nodeName") and "deletionTimestamp" not in p["metadata"])


def test_queues_of_kueue_share_and_reclaim():
    with Mete("emulated:4xH100") as m:
        install_kueue(m)
        team = {"cohortName": "all", "namespaceSelector": {}, "resourceGroups": gpu_quota("here", 2),
                "preemption": {"reclaimWithinCohort": "Any"}}
        node = m.object("nodes")["items"][0]["metadata"]["name"]
        m.ok("label", "node", node, "pool=gpus")
        apply(m, kueue("ResourceFlavor", "here", nodeLabels={"pool": "gpus"}), kueue("ResourceFlavor", "nowhere", nodeLabels={"pool": "none"}),
              kueue("ClusterQueue", "team-a", **team), kueue("ClusterQueue", "team-b", **team),
              kueue("ClusterQueue", "small", namespaceSelector={}, resourceGroups=gpu_quota("here", 1)),
              kueue("ClusterQueue", "far", namespaceSelector={}, resourceGroups=gpu_quota("nowhere", 1)),
              kueue("ClusterQueue", "checked", namespaceSelector={}, admissionChecksStrategy={"admissionChecks": [{"name": "quota-check"}]}),
              *(kueue("LocalQueue", name + "-local", clusterQueue=name) for name in ("team-a", "team-b", "small", "far", "checked")))
        with scheduler(m):
            apply(m, queued("over", "small-local", 2), queued("elsewhere", "far-local", 1), queued("unknown", "team-a", 1), job("borrows", "team-a-local", 4))
            wait(lambda: placed(m, "job-name=borrows") == 4, "team-a borrows what team-b leaves")
            for name, said in (("over", "small"), ("elsewhere", "pool=none"), ("unknown", "default/team-a")):
                wait(lambda: said in reason(m, name), f"{name} waits, and its reason names {said}")
            equal(nodes_of(m, "over", "elsewhere", "unknown"), [None] * 3)
            wait(lambda: "AdmissionCheck quota-check" in m.ok("get", "events", "--field-selector", "reason=QueueRefused"), "the event of the refusal")
            apply(m, queued("reclaims", "team-b-local", 2))
            wait(lambda: nodes_of(m, "reclaims") != [None], "team-b takes back what it had lent")
            equal(placed(m, "job-name=borrows"), 2)
            # a Queue of Mete replaces the ClusterQueue of its name
            apply(m, json.dumps(queue("far", quotas=[{"resource": "gpu", "nominal": 0, "borrowLimit": 0}])))
            wait(lambda: "far" in reason(m, "elsewhere") and "pool=none" not in reason(m, "elsewhere"), "the quota of Mete's Queue")


def named(name, gpus, labels=None, annotations=None):
    o = json.loads(ours(name, "sleep 1000", gpus))
    o["metadata"] |= {"labels": labels or {}, "annotations": annotations or {}}
    return json.dumps(o)


def test_queues_of_volcano_and_kai_limit_their_pods():
    with Mete("emulated:4xH100") as m:
        install_queues(m)
        apply(m, volcano_queue("fire", capability={"nvidia.com/gpu": 1}), volcano_queue("default", weight=1),
              kai_queue("department", quota=2, limit=2), kai_queue("team", "department", quota=1, limit=-1))
        group = {"apiVersion": f"{VOLCANO}/v1beta1", "kind": "PodGroup", "metadata": {"name": "pair"}, "spec": {"minMember": 2, "queue": "fire"}}
        member = {"scheduling.k8s.io/group-name": "pair"}
        with scheduler(m):
            # the pods of a group come before it
            apply(m, named("pair-0", 1, annotations=member), named("pair-1", 1, annotations=member), json.dumps(group))
            apply(m, named("over", 3, {"kai.scheduler/queue": "team"}), named("in", 2, {"runai/queue": "team"}),
                  named("one", 1, annotations={f"{VOLCANO}/queue-name": "fire"}), named("default", 1, annotations={f"{VOLCANO}/queue-name": "default"}))
            wait(lambda: None not in nodes_of(m, "in", "one", "default"), "the pods within their limits")
            for name, said in (("over", "department"), ("pair-0", "fire")):
                wait(lambda: said in reason(m, name), f"{name} waits, and its reason names {said}")
            equal(nodes_of(m, "over", "pair-0", "pair-1"), [None] * 3)


def test_beside_a_controller_of_kueue_its_label_chooses_no_queue():
    with Mete("emulated:1xH100") as m:
        install_kueue(m, "v1beta1")
        apply(m, kueue("ClusterQueue", "none", "v1beta1"), kueue("LocalQueue", "none-local", "v1beta1", clusterQueue="none"))
        apply(m, queued("admitted", "none-local", 1, "true"))
        with scheduler(m):
            wait(lambda: "none" in reason(m, "admitted"), "the ClusterQueue of the older version admits no namespace")
            equal(nodes_of(m, "admitted"), [None])
        with scheduler(m, "--foreign-queues", "ignore"):
            m.wait_phase("admitted", "Succeeded")


def test_queues_of_others_are_read_with_the_rights_of_the_role():
    with Mete("emulated:1xH100") as m:
        install_kueue(m)
        install_queues(m)
        apply(m, kueue("ClusterQueue", "any", namespaceSelector={}))
        recorder = Recorder(m)
        with scheduler(m, "--kubeconfig", recorder.kubeconfig, env={"METE_DATA": ""}):
            wanted = {r for r in rights(m) if is_foreign(r)}
            equal(len(wanted), 12)
            wait(lambda: wanted <= recorder.calls, "all that the role allows")
            equal({r for r in recorder.calls if is_foreign(r)}, wanted)
