"""mete kube node --labels: GPU Feature Discovery's labels and the conditions of GPUs on a Node that a kubelet owns."""

import contextlib
import os

from fake_api_server import FakeApiServer
from harness import check, equal, execute, wait
from test_kube_node import Node, kubelet

NODE = "/api/v1/nodes/n1"


@contextlib.contextmanager
def labelled(where, gpus="emulated:2xH100", config=None, files=(), arguments=(), more=()):
    """The role at a server with one Node, which has `more` labels, too; with files {name: text} in its directory, "{}" in arguments."""
    api = FakeApiServer()
    api.put(NODE, {"metadata": {"name": "n1", "labels": {"team": "a", "nvidia.com/mig.config": "none", "nvidia.com/gpu.count": "17",
                                                         "nvidia.com/mig-1g.10gb.count": "7", **dict(more)}},
                   "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    n = Node(gpus, config)
    for name, text in dict(files).items():
        os.makedirs(os.path.dirname(os.path.join(n.dir, name)), exist_ok=True)
        with open(os.path.join(n.dir, name), "w", encoding="utf-8") as f:
            f.write(text)
    n.argv += [a.format(n.dir) for a in arguments]
    n.argv += ["--labels", where.format(n.dir), "--node-name", "n1", "--kubeconfig", api.kubeconfig(os.path.join(n.dir, "kubeconfig"))]
    try:
        with n:
            yield api, n
    finally:
        api.stop()


def labels(api):
    return api.objects[NODE]["metadata"]["labels"]


def conditions(api):
    return {c["type"]: (c["status"], c.get("reason")) for c in api.objects[NODE]["status"]["conditions"]}


def test_kube_node_labels_its_node_as_feature_discovery():
    with labelled("node") as (api, n):
        wait(lambda: labels(api).get("nvidia.com/gpu.count") == "2", "the labels")
        found = labels(api)
        equal({k: found.get(f"nvidia.com/{k}") for k in ("gpu.product", "gpu.memory", "gpu.replicas", "gpu.sharing-strategy", "gpu.family",
                                                         "gpu.compute.major", "mig.capable", "mig.strategy", "gpu.present")},
              {"gpu.product": "NVIDIA-H100-80GB-HBM3", "gpu.memory": "81559", "gpu.replicas": "1", "gpu.sharing-strategy": "none",
               "gpu.family": "hopper", "gpu.compute.major": "9", "mig.capable": "true", "mig.strategy": "mixed", "gpu.present": "true"})
        equal((found["team"], found["nvidia.com/mig.config"]), ("a", "none"), "labels of users stay")
        check("nvidia.com/mig-1g.10gb.count" not in found, "what no longer holds goes")
        want = {"Ready": ("True", None), "GPUProblem": ("False", "NoProblem"), "GPUDriverProblem": ("False", "NoProblem")}
        wait(lambda: conditions(api) == want, "the conditions")
        o = api.objects[NODE]
        del o["metadata"]["labels"]["nvidia.com/gpu.product"]
        api.put(NODE, o)
        wait(lambda: "nvidia.com/gpu.product" in labels(api), "a label that somebody removed")
        n.set_gpu(1, "lost=1")
        wait(lambda: conditions(api)["GPUProblem"] == ("True", "GpuLost"), "the condition of a lost gpu")
        n.set_gpu(1, "lost=0")
        wait(lambda: conditions(api) == want, "its recovery")


def taints(api):
    return api.objects[NODE].get("spec", {}).get("taints") or []


def test_kube_node_taints_its_node_while_a_gpu_is_sick():
    theirs, ours = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}, {"key": "example.com/sick", "effect": "NoExecute"}
    with labelled("off", arguments=["--taint", "example.com/sick:NoExecute"]) as (api, n):
        api.put(NODE, api.objects[NODE] | {"spec": {"taints": [theirs, ours]}})  # as a role that was killed left it
        wait(lambda: taints(api) == [theirs], "no taint of a well gpu")
        n.set_gpu(1, "lost=1")
        wait(lambda: taints(api) == [theirs, ours], "the taint of a lost gpu")
        api.put(NODE, api.objects[NODE] | {"spec": {"taints": []}})
        wait(lambda: taints(api) == [ours], "the taint that somebody removed")
        n.set_gpu(1, "lost=0")
        wait(lambda: taints(api) == [], "its recovery")
        equal(labels(api)["nvidia.com/gpu.count"], "17", "--labels off")
    for wrong, said in (("sick", "want NAME:NoSchedule"), ("a b:NoSchedule", "a b"), ("x:Never", "want NAME:NoSchedule")):
        r = execute([*n.argv, "--taint", wrong])
        check(r.code != 0 and said in r.err and "--taint" in r.err, r)


def test_kube_node_labels_replicas():
    config = "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n"
    with labelled("node", config=config) as (api, _):
        wait(lambda: labels(api).get("nvidia.com/gpu.replicas") == "4", "the labels")
        equal((labels(api)["nvidia.com/gpu.product"], labels(api)["nvidia.com/gpu.sharing-strategy"]),
              ("NVIDIA-H100-80GB-HBM3-SHARED", "time-slicing"))


def test_kube_node_writes_a_file_for_node_feature_discovery():
    with labelled("{}/mete-gpus") as (api, n):
        path = os.path.join(n.dir, "mete-gpus")
        wait(lambda: os.path.exists(path), "the file")
        lines = dict(line.split("=", 1) for line in open(path, encoding="utf-8").read().splitlines())
        equal((lines["nvidia.com/gpu.count"], lines["nvidia.com/gpu.product"]), ("2", "NVIDIA-H100-80GB-HBM3"))
        wait(lambda: "GPUProblem" in conditions(api), "the conditions")
        equal(labels(api)["nvidia.com/gpu.count"], "17", "the Node's labels are left to Node Feature Discovery")
    r = execute([*n.argv, "--labels", "there"])
    check(r.code == 2 and "--labels wants off, node or an absolute path" in r.err, r)


MIG_PARTED = """
version: v1
mig-configs:
  all-disabled: [{devices: all, mig-enabled: false}]
  half:
  - {devices: [0], mig-enabled: true, mig-devices: {1g.10gb: 2, 3g.40gb: 1}}
  - {devices: [1], mig-enabled: false}
"""
SHARED = "version: v1\nsharing: {timeSlicing: {renameByDefault: true, resources: [{name: nvidia.com/gpu, replicas: %d}]}}\n"


def set_label(api, key, value):
    with api.lock:
        o = api.objects[NODE]
        o["metadata"]["labels"][key] = value
        api.put(NODE, o)


def test_kube_node_divides_gpus_as_its_nodes_label_says():
    with labelled("node", files={"mig.yaml": MIG_PARTED}, arguments=["--mig-config", "{}/mig.yaml"]) as (api, n), kubelet(n) as k:
        state = "nvidia.com/mig.config.state"
        wait(lambda: labels(api).get(state) == "failed", "a configuration that the file does not have")
        ids = [d["id"] for d in k.devices("nvidia.com/gpu", lambda d: len(d) == 2)]
        k.tell_pods(("team", "a", "main", "nvidia.com/gpu", [ids[0]]))
        set_label(api, "nvidia.com/mig.config", "half")
        wait(lambda: labels(api).get(state) == "pending", "the pod keeps its gpu")
        k.tell_pods()
        wait(lambda: labels(api).get(state) == "success", "the instances", 60)
        large = k.devices("nvidia.com/mig-3g.40gb", lambda d: len(d) == 1)
        equal(len(k.devices("nvidia.com/mig-1g.10gb", lambda d: len(d) == 2)), 2)
        equal([d["id"] for d in k.devices("nvidia.com/gpu", lambda d: len(d) == 1)], ids[1:])
        answer = k.allocate("nvidia.com/mig-3g.40gb", large[0]["id"])["answer"]["container_responses"][0]
        equal(answer, {"cdi_devices": [{"name": f"mete.dev/gpu={large[0]['id']}"}]})
        equal(labels(api)["nvidia.com/mig-3g.40gb.count"], "1")
        set_label(api, "nvidia.com/mig.config", "all-disabled")
        k.devices("nvidia.com/gpu", lambda d: len(d) == 2)
        wait(lambda: labels(api).get(state) == "success" and "nvidia.com/mig-3g.40gb.count" not in labels(api), "no instances", 60)


def test_kube_node_takes_the_configuration_that_its_nodes_label_names():
    files = {"configs/two": SHARED % 2, "configs/four": SHARED % 4}
    with labelled("off", files=files, arguments=["--config-dir", "{}/configs", "--default-config", "two"]) as (api, n), kubelet(n) as k:
        k.devices("nvidia.com/gpu.shared", lambda d: len(d) == 4)
        set_label(api, "nvidia.com/device-plugin.config", "four")
        k.devices("nvidia.com/gpu.shared", lambda d: len(d) == 8)
        set_label(api, "nvidia.com/device-plugin.config", "none")
        wait(lambda: "configs/none" in open(os.path.join(n.dir, "log"), encoding="utf-8").read(), "the missing configuration is told")
