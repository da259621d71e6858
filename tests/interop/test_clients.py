"""Independent clients, unchanged: the Kubernetes Python client and nvidia-ml-py."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

from harness import BUILD, ROOT, Mete, check, equal, execute, own_python  # noqa: E402

KUBERNETES = r"""
import sys, threading
from kubernetes import client, config, watch
config.load_kube_config(sys.argv[1])
v1 = client.CoreV1Api()
assert [n.metadata.name for n in v1.list_node().items]
seen = []
first = v1.list_namespaced_pod("default").metadata.resource_version
body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "py"},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "host", "command": ["sh", "-c", "echo hi"]}]}}
made = v1.create_namespaced_pod("default", body)
assert made.metadata.uid and made.status.phase == "Pending", made
for event in watch.Watch().stream(v1.list_namespaced_pod, "default", resource_version=first, timeout_seconds=60):
    seen.append((event["type"], event["object"].status.phase))
    if event["object"].status.phase == "Succeeded":
        break
assert seen[0] == ("ADDED", "Pending"), seen
assert seen[-1][1] == "Succeeded", seen
assert v1.read_namespaced_pod_log("py", "default") == "hi\n"
patched = v1.patch_namespaced_pod("py", "default", {"metadata": {"labels": {"a": "b"}}})
assert patched.metadata.labels["a"] == "b"
assert [p.metadata.name for p in v1.list_namespaced_pod("default", label_selector="a=b").items] == ["py"]
assert v1.list_namespaced_pod("default", label_selector="a=c").items == []
v1.delete_namespaced_pod("py", "default")
try:
    v1.read_namespaced_pod("py", "default")
    raise SystemExit("still there")
except client.exceptions.ApiException as e:
    assert e.status == 404, e
try:
    v1.create_namespaced_pod("default", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": []}})
    raise SystemExit("accepted")
except client.exceptions.ApiException as e:
    assert e.status == 422 and "spec.containers" in e.body, e
page = v1.list_namespace(limit=1)
assert len(page.items) == 1 and page.metadata._continue
rest = v1.list_namespace(limit=100, _continue=page.metadata._continue)
assert page.items[0].metadata.name not in [n.metadata.name for n in rest.items]
print("fine")
"""

NVML = r"""
import json, pynvml as n
n.nvmlInit()
out = {"driver": n.nvmlSystemGetDriverVersion(), "gpus": []}
for i in range(n.nvmlDeviceGetCount()):
    h = n.nvmlDeviceGetHandleByIndex(i)
    assert n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByUUID(n.nvmlDeviceGetUUID(h))) == i
    assert n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByPciBusId(n.nvmlDeviceGetPciInfo(h).busId)) == i
    links = 0
    for link in range(18):
        links += n.nvmlDeviceGetNvLinkState(h, link)
    m = n.nvmlDeviceGetMemoryInfo(h)
    m2 = n.nvmlDeviceGetMemoryInfo(h, version=n.nvmlMemory_v2)
    assert m.total == m.free + m.used and m2.total == m2.free + m2.used + m2.reserved
    out["gpus"].append({"name": n.nvmlDeviceGetName(h), "uuid": n.nvmlDeviceGetUUID(h), "total": m.total,
                        "pci": n.nvmlDeviceGetPciInfo(h).busId, "links": links, "minor": n.nvmlDeviceGetMinorNumber(h),
                        "cc": n.nvmlDeviceGetCudaComputeCapability(h), "temp": n.nvmlDeviceGetTemperature(h, 0),
                        "util": n.nvmlDeviceGetUtilizationRates(h).gpu, "power": n.nvmlDeviceGetPowerUsage(h),
                        "procs": [(p.pid, p.usedGpuMemory) for p in n.nvmlDeviceGetComputeRunningProcesses(h)]})
try:
    n.nvmlDeviceGetHandleByIndex(99)
except n.NVMLError_InvalidArgument:
    out["refused"] = True
n.nvmlShutdown()
print(json.dumps(out))
"""


def python(code, *arguments, env=None):
    return execute([own_python(), "-c", code, *arguments], env={**os.environ, **(env or {})})


def test_the_python_client_lists_watches_creates_patches_and_deletes():
    with Mete() as m:
        r = python(KUBERNETES, os.path.join(m.data, "kubeconfig"))
        equal(r.out, "fine\n", r)


def test_the_python_client_runs_jobs_programs_and_manifests():
    with Mete() as m:
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_client.py")
        r = execute([own_python(), script, m.env["KUBECONFIG"]], env=m.env, deadline_s=120)
        check(r.code == 0 and r.out.endswith("\nfine\n"), r)


def test_nvidia_ml_py_reads_the_emulated_driver():
    directory = os.path.join(BUILD, "gpusim")
    machine = os.path.join(BUILD, "gpusim", f"machine-{os.getpid()}.bin")
    tool = os.path.join(directory, "gpusim")
    r = execute([tool, "compile", os.path.join(ROOT, "gpusim", "profiles", "8xH100.yaml"), machine])
    check(r.code == 0, r)
    try:
        r = execute([tool, "set", machine, "3", "process=4242:1024", "utilization=63", "temperature=71"])
        check(r.code == 0, r)
        r = python(NVML, env={"LD_LIBRARY_PATH": directory, "METE_GPUSIM_MACHINE": machine, "METE_GPUSIM_ALL": "1"})
        check(r.code == 0, r)
    finally:
        os.unlink(machine)
    out = json.loads(r.out)
    gpus = out["gpus"]
    equal(len(gpus), 8)
    equal({g["name"] for g in gpus}, {"NVIDIA H100 80GB HBM3"})
    equal(len({g["uuid"] for g in gpus}), 8)
    equal(len({g["pci"] for g in gpus}), 8)
    equal([g["minor"] for g in gpus], list(range(8)))
    equal(gpus[0]["total"], 81559 << 20)
    equal(gpus[0]["links"], 18)
    equal(gpus[0]["cc"], [9, 0])
    equal(gpus[3]["procs"], [[4242, 1024 << 20]])
    equal((gpus[3]["util"], gpus[3]["temp"]), (63, 71))
    check(out["refused"])
