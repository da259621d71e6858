"""Gpus are given whole, in replicas or in slices, as files, ConfigMaps and `mete gpus set` say."""

import json
import os
import re
import signal
import tempfile

from harness import BUILD, Mete, check, equal, execute, pod, wait

REPLICAS = """version: v1
sharing:
  timeSlicing:
    renameByDefault: {renamed}
    resources:
    - name: nvidia.com/gpu
      replicas: 4
"""


def node(m):
    return m.object("nodes")["items"][0]


def offered(m, resource):
    return node(m)["status"]["allocatable"].get(resource)


def wait_offered(m, resource, amount):
    wait(lambda: offered(m, resource) == amount, f"the node offers {amount} {resource}")


def gpus(m):
    return [g["spec"] for g in json.loads(m.mete("gpus", "-o", "json").out)["items"]]


def name_of(m):
    return node(m)["metadata"]["name"]


def label(m, key):
    return node(m)["metadata"]["labels"].get(key)


def config_file(text):
    f = tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False)
    f.write(text)
    f.close()
    return f.name


def test_a_file_of_the_device_plugin_makes_replicas():
    path = config_file(REPLICAS.format(renamed="false"))
    try:
        with Mete(gpus="emulated:2xT4", arguments=("--gpu-config", path)) as m:
            wait_offered(m, "nvidia.com/gpu", "8")
            equal(label(m, "nvidia.com/gpu.product"), "Tesla-T4-SHARED")
            equal(label(m, "nvidia.com/gpu.replicas"), "4")
            equal(label(m, "nvidia.com/gpu.sharing-strategy"), "time-slicing")
            equal([(g["mode"], g["replicas"], g["renamed"]) for g in gpus(m)], [("replicas", 4, False)] * 2)
    finally:
        os.unlink(path)


def test_the_inventory_is_the_drivers():
    with Mete(gpus="emulated:2xH100") as m:
        g = gpus(m)[0]
        equal((g["product"], g["computeMajor"], g["architecture"]), ("NVIDIA H100 80GB HBM3", 9, 9), g)
        equal(g["memoryBytes"] >> 20, 81559)
        check(g["memoryReservedBytes"] > 0 and g["powerLimitMilliwatts"] == 700000 and g["links"] == 18, g)
        equal((g["smClockMaxMhz"], g["memoryClockMaxMhz"]), (1980, 2619))
        equal((g["powerLimitMinMilliwatts"], g["powerLimitDefaultMilliwatts"], g["powerLimitMaxMilliwatts"]), (200000, 700000, 700000))
        equal((g["eccMode"], g["eccPending"], g["migMode"], g["numaNode"], g["cpus"]), (1, 1, 0, 0, "0-31"))
        r = m.mete("gpus", "-o", "json")
        spec = json.loads(r.out)["items"][0]["spec"]
        equal([spec[key] for key in ("family", "computeCapability", "driverVersion", "cudaVersion")], ["hopper", "9.0", "570.124.06", "12.8"])
        equal(spec["memoryUsableBytes"], spec["memoryBytes"] - spec["memoryReservedBytes"])
        wide = wait(lambda: (r := m.mete("gpus", "-o", "wide").out) and "/1980MHz" in r and "-/" not in r and r, "the clocks are there")
        check(all(word in wide for word in ("hopper", "9.0", "570.124.06", "12.8", "0-31", "79.1Gi", "396/1980MHz", "700W")), wide)
        first = json.loads(m.mete("topo", "-o", "json").out)["items"][0]["status"]["devices"][0]
        equal((first["links"], first["pci"]), (18, g["pci"]))
        check("NUMA" in m.mete("gpus", "-o", "wide").out)


def test_a_file_with_an_error_is_named_before_anything_starts():
    path = config_file("version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 1}]}}\n")
    m = Mete(arguments=("--gpu-config", path))
    try:
        r = m.mete("up", "--data", m.data, "--gpu-config", path, "--listen", "127.0.0.1:0")
        equal(r.code, 2, r)
        check("sharing.timeSlicing.resources[0].replicas: 1: want a number from 2 to 256" in r.err, r)
    finally:
        os.unlink(path)
        m.remove()


def test_an_administrator_sets_modes_and_takes_them_back():
    with Mete(gpus="emulated:4xT4") as m:
        name = name_of(m)
        r = m.mete("gpus", "set", f"{name}/1", "--mode", "replicas=4,renamed")
        equal(r.code, 0, r)
        wait_offered(m, "nvidia.com/gpu.shared", "4")
        wait_offered(m, "nvidia.com/gpu", "3")
        check("4 replicas" in m.mete("gpus").out)
        equal(m.mete("gpus", "set", f"{name}/1", f"{name}/2", "--mode", "replicas=2").code, 0)
        wait_offered(m, "nvidia.com/gpu", "6")
        equal(m.mete("gpus", "set", name, "--mode", "default").code, 0)
        wait_offered(m, "nvidia.com/gpu", "4")
        check(offered(m, "nvidia.com/gpu.shared") in (None, "0"))
        for target, mode, code, said in ((f"{name}/9", "whole", 3, "has no gpu 9"), (name, "half", 2, "want whole"),
                                         (f"{name}/0", "slices=1g.10gb:2", 1, "has no MIG")):
            r = m.mete("gpus", "set", target, "--mode", mode)
            equal(r.code, code, r)
            check(said in r.err, r)


def test_holders_keep_the_mode_until_they_end():
    with Mete(gpus="emulated:2xT4") as m:
        name = name_of(m)
        m.ok("apply", "-f", "-", stdin=pod("holder", "sleep 1000", gpus=1))
        m.wait_phase("holder", "Running")
        equal(m.mete("gpus", "set", name, "--mode", "replicas=4,renamed").code, 0)
        wait_offered(m, "nvidia.com/gpu.shared", "4")
        equal(offered(m, "nvidia.com/gpu"), "1")
        waiting = [g for g in gpus(m) if g.get("modeProblem")]
        equal([g["modeProblem"] for g in waiting], ["replicas=4,renamed waits for the end of default/holder"])
        check("waits for the end of default/holder" in m.mete("gpus", "-o", "wide").out)
        m.stop()
        m.start()
        wait(lambda: [g.get("modeProblem") for g in gpus(m)].count(None) == 1, "the holder still counts")
        m.ok("delete", "pod", "holder", "--grace-period=0", "--force")
        wait_offered(m, "nvidia.com/gpu.shared", "8")
        check(offered(m, "nvidia.com/gpu") in (None, "0"))
        check(not any(g.get("modeProblem") for g in gpus(m)))


POLICY = """apiVersion: v1
kind: Namespace
metadata: {name: gpu-operator}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: time-slicing, namespace: gpu-operator}
data:
  any: |
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}
  many: |
    version: v1
    sharing: {timeSlicing: {renameByDefault: true, resources: [{name: nvidia.com/gpu, replicas: 8}]}}
---
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec:
  devicePlugin: {config: {name: time-slicing, default: any}}
  mig: {strategy: mixed}
"""

# The members that NVIDIA's Helm chart writes, with its usual values.
CHART = {
    "hostPaths": {"rootFS": "/", "driverInstallDir": "/run/nvidia/driver", "kubeletRootDir": "/var/lib/kubelet"},
    "operator": {"runtimeClass": "nvidia", "metrics": {"serviceMonitor": {"enabled": True}}},
    "daemonsets": {"updateStrategy": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "1"}},
    "validator": {"repository": "r", "image": "i", "plugin": {"env": []}},
    "psa": {"enabled": False}, "cdi": {"enabled": True},
    "driver": {"enabled": True, "useNvidiaDriverCRD": False, "kernelModuleType": "auto", "version": "580.95.05"},
    "vgpuManager": {"enabled": False, "driverManager": {"image": "i"}}, "kataManager": {"enabled": False},
    "vfioManager": {"enabled": True}, "vgpuDeviceManager": {"enabled": False}, "ccManager": {"enabled": False},
    "toolkit": {"enabled": True, "installDir": "/usr/local/nvidia"},
    "devicePlugin": {"enabled": True, "repository": "r", "hostNetwork": False, "mps": {"root": "/run/nvidia/mps"}},
    "dcgm": {"enabled": False}, "dcgmExporter": {"enabled": True}, "gfd": {"enabled": True},
    "migManager": {"enabled": True, "config": {"default": "all-disabled"}, "gpuClientsConfig": {"name": ""}},
    "nodeStatusExporter": {"enabled": False}, "gds": {"enabled": False}, "gdrcopy": {"enabled": False},
    "sandboxWorkloads": {"enabled": False, "defaultWorkload": "container"}, "sandboxDevicePlugin": {"enabled": True},
    "kataSandboxDevicePlugin": {"enabled": False},
}
WARNED = {"daemonsets", "dcgmExporter", "devicePlugin.mps.root", "devicePlugin.repository", "driver", "gfd", "operator",
          "sandboxDevicePlugin", "toolkit", "validator", "vfioManager"}


def policy_state_of(m, name):
    return m.object("clusterpolicies.nvidia.com", name)["status"]["state"]


def policy_state(m):
    return policy_state_of(m, "cluster-policy")


def test_the_policys_mig_config_divides_a_gpu():
    with Mete(gpus="emulated:1xH100") as m:
        parted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "parted", "namespace": "kube-system"},
                  "data": {"config.yaml": PARTED}}
        policy = {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "p"},
                  "spec": {"migManager": {"config": {"name": "parted"}}}}
        for thing in (parted, policy):
            m.ok("apply", "-f", "-", stdin=json.dumps(thing))
        m.ok("label", "node", name_of(m), "nvidia.com/mig.config=sevenths")
        wait_offered(m, "nvidia.com/mig-1g.10gb", "7")
        wait(lambda: label(m, MIG_STATE) == "success", "the label says success")
        m.ok("label", "--overwrite", "node", name_of(m), "nvidia.com/mig.config=unknown")
        wait(lambda: label(m, MIG_STATE) == "failed", "the label says failed")
        equal(policy_state_of(m, "p"), "notReady")
        m.ok("label", "node", name_of(m), "nvidia.com/mig.config-")
        wait(lambda: label(m, MIG_STATE) is None, "without a mig-config there is no state")
        equal(offered(m, "nvidia.com/mig-1g.10gb"), "7", "the instances stay")


def test_the_objects_of_the_gpu_operator_make_replicas():
    with Mete(gpus="emulated:2xT4") as m:
        name = name_of(m)
        r = m.kubectl("apply", "-f", "-", stdin=POLICY)
        equal(r.code, 0, r)
        chart = {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}, "spec": CHART}
        r = m.kubectl("apply", "-f", "-", stdin=json.dumps(chart))
        equal(r.code, 0, r)
        warned = re.findall(r"Warning: spec\.([A-Za-z.]+): (.*); ignored", r.err)
        equal({name for name, _ in warned}, WARNED, "members without effect are named")
        check("uses the one in / or in /run/nvidia/driver" in dict(warned)["driver"], r)
        wait_offered(m, "nvidia.com/gpu", "2")
        wait(lambda: policy_state(m) == "ready", "the chart's policy is ready")
        equal(m.kubectl("apply", "-f", "-", stdin=POLICY).code, 0)
        wait_offered(m, "nvidia.com/gpu", "4")
        equal(policy_state(m), "ready")
        m.ok("label", "node", name, "nvidia.com/device-plugin.config=many")
        wait_offered(m, "nvidia.com/gpu.shared", "16")
        equal(label(m, "nvidia.com/gpu.product"), "Tesla-T4")
        m.ok("label", "--overwrite", "node", name, "nvidia.com/device-plugin.config=missing")
        wait(lambda: policy_state(m) == "notReady", "the policy is not ready")
        equal(offered(m, "nvidia.com/gpu.shared"), "16")
        wait(lambda: 'has no key "missing"' in (gpus(m)[0].get("modeProblem") or ""), "the gpu names the problem")
        m.ok("label", "node", name, "nvidia.com/device-plugin.config-")
        wait_offered(m, "nvidia.com/gpu", "4")
        wait(lambda: policy_state(m) == "ready", "the policy is ready again")


PARTED = """version: v1
mig-configs:
  all-disabled:
  - {devices: all, mig-enabled: false}
  halves:
  - devices: [0]
    mig-enabled: true
    mig-devices: {1g.10gb: 2, 3g.40gb: 1}
  sevenths:
  - devices: [0]
    mig-enabled: true
    mig-devices: {1g.10gb: 7}
  too-much:
  - devices: [0]
    mig-enabled: true
    mig-devices: {3g.40gb: 3}
"""

MIG_STATE = "nvidia.com/mig.config.state"


SEEN = "nvidia-smi -L | grep -o 'MIG-[0-9a-f-]*'; sleep 1000"


def slice_pod(name, profile, command=SEEN):
    return pod(name, "", containers=[{"name": "main", "image": "host", "command": ["sh", "-c", command],
                                      "resources": {"limits": {f"nvidia.com/mig-{profile}": 1}}}])


def test_the_usual_mig_configs_need_no_file():
    with Mete(gpus="emulated:1xH100") as m:
        for config, profile, amount in (("all-balanced", "2g.20gb", "1"), ("all-1g.10gb", "1g.10gb", "7")):
            m.ok("label", "--overwrite", "node", name_of(m), f"nvidia.com/mig.config={config}")
            wait_offered(m, f"nvidia.com/mig-{profile}", amount)
            wait(lambda: label(m, MIG_STATE) == "success", "the label says success")
        m.ok("label", "--overwrite", "node", name_of(m), "nvidia.com/mig.config=halves")
        wait(lambda: label(m, MIG_STATE) == "failed", "no file has it")
        m.ok("label", "--overwrite", "node", name_of(m), "nvidia.com/mig.config=all-disabled")
        wait_offered(m, "nvidia.com/gpu", "1")


def test_a_mig_config_divides_a_gpu_and_held_instances_stay():
    path = config_file(PARTED)
    try:
        with Mete(gpus="emulated:2xH100", arguments=("--mig-config", path)) as m:
            name = name_of(m)
            equal(label(m, "nvidia.com/mig.capable"), "true")
            m.ok("label", "node", name, "nvidia.com/mig.config=halves")
            wait_offered(m, "nvidia.com/mig-1g.10gb", "2")
            wait_offered(m, "nvidia.com/mig-3g.40gb", "1")
            wait_offered(m, "nvidia.com/gpu", "1")
            wait(lambda: label(m, MIG_STATE) == "success", "the label says success")
            equal(label(m, "nvidia.com/mig-1g.10gb.count"), "2")
            m.ok("apply", "-f", "-", stdin=slice_pod("holder", "1g.10gb"))
            m.wait_phase("holder", "Running")
            before = {s["uuid"] for s in gpus(m)[0]["slices"] if s["profile"] == "1g.10gb"}
            equal(len(before), 2)
            wait(lambda: m.ok("logs", "holder").strip() in before, "the container has its instance")
            m.ok("label", "--overwrite", "node", name, "nvidia.com/mig.config=too-much")
            wait(lambda: label(m, MIG_STATE) == "failed", "what does not fit fails")
            check("3g.40gb:3 do not fit" in gpus(m)[0]["modeProblem"])
            check(before < {s["uuid"] for s in gpus(m)[0]["slices"]})
            m.ok("label", "--overwrite", "node", name, "nvidia.com/mig.config=sevenths")
            wait_offered(m, "nvidia.com/mig-1g.10gb", "7")
            check(offered(m, "nvidia.com/mig-3g.40gb") in (None, "0"))
            equal(len(before & {s["uuid"] for s in gpus(m)[0]["slices"]}), 2, "wanted instances stay")
            equal(m.phase("holder"), "Running")
            m.ok("label", "--overwrite", "node", name, "nvidia.com/mig.config=all-disabled")
            wait(lambda: "waits for the end of default/holder" in (gpus(m)[0].get("modeProblem") or ""),
                 "the holder is named")
            equal(label(m, MIG_STATE), "pending")
            m.ok("delete", "pod", "holder", "--grace-period=0", "--force")
            wait_offered(m, "nvidia.com/gpu", "2")
            wait(lambda: label(m, MIG_STATE) == "success", "MIG is off again")
    finally:
        os.unlink(path)


def test_pods_share_the_replicas_of_a_gpu():
    with Mete(gpus="emulated:1xT4") as m:
        equal(m.mete("gpus", "set", name_of(m), "--mode", "replicas=2").code, 0)
        wait_offered(m, "nvidia.com/gpu", "2")
        for name in ("a", "b", "c"):
            m.ok("apply", "-f", "-", stdin=pod(name, "echo has $NVIDIA_VISIBLE_DEVICES; sleep 1000", gpus=1))
        m.wait_phase("a", "Running")
        m.wait_phase("b", "Running")
        equal(m.phase("c"), "Pending")
        uuid = gpus(m)[0]["uuid"]
        for name in ("a", "b"):
            wait(lambda: m.ok("logs", name).strip() == f"has {uuid}", "each has the gpu")
        m.ok("delete", "pod", "a", "--grace-period=0", "--force")
        m.wait_phase("c", "Running")


def test_what_can_never_fit_is_refused_at_the_command():
    with Mete(gpus="emulated:1xH100") as m:
        target = f"{name_of(m)}/0"
        for mode, said in (("slices=3g.40gb:3", "do not fit on the gpu"), ("slices=1g.5gb:1", "it has 1g.10gb")):
            r = m.mete("gpus", "set", target, "--mode", mode)
            equal(r.code, 1, r)
            check(said in r.err, r)
        equal(m.mete("gpus", "set", target, "--mode", "slices=1g.10gb:2,3g.40gb").code, 0)
        wait_offered(m, "nvidia.com/mig-3g.40gb", "1")
        check("3 slices" in m.mete("gpus").out)


def test_slices_of_a_flexible_gpu_come_with_their_pods():
    with Mete(gpus="emulated:1xH100") as m:
        equal(m.mete("gpus", "set", f"{name_of(m)}/0", "--mode", "flexible").code, 0)
        wait(lambda: gpus(m)[0].get("flexible"), "the gpu is flexible")
        m.ok("apply", "-f", "-", stdin=slice_pod("large", "3g.40gb"))
        m.wait_phase("large", "Running")
        equal([s["profile"] for s in gpus(m)[0]["slices"]], ["3g.40gb"])
        wait(lambda: m.ok("logs", "large").strip() == gpus(m)[0]["slices"][0]["uuid"], "the container has its instance")
        m.ok("delete", "pod", "large", "--grace-period=0", "--force")
        m.ok("apply", "-f", "-", stdin=pod("whole", "nvidia-smi -L; sleep 1000", gpus=1))
        m.wait_phase("whole", "Running")
        equal(gpus(m)[0].get("slices", []), [])


def gpu_reset(m, index):
    machine = os.path.join(m.data, "node", "gpusim", "machine.bin")
    r = execute([os.path.join(BUILD, "gpusim", "gpusim"), "set", machine, str(index), "reset=1"])
    equal(r.code, 0, r)


def test_a_flexible_gpu_offers_slices_when_mig_is_on():
    with Mete(gpus="emulated:1xA100") as m:
        equal(m.mete("gpus", "set", f"{name_of(m)}/0", "--mode", "flexible").code, 0)
        wait(lambda: "needs a reset: nvidia-smi --gpu-reset -i 0" in (gpus(m)[0].get("modeProblem") or ""), "the way to MIG")
        m.ok("apply", "-f", "-", stdin=slice_pod("small", "2g.20gb"))
        why = wait(lambda: (r := m.mete("why", "small")) and "NeverFits" in r.out and r, "no gpu has slices")
        check(f"GPU {name_of(m)}/0 is not in the wanted mode: " in why.out and "--gpu-reset -i 0" in why.out, why)
        equal(m.phase("small"), "Pending")
        gpu_reset(m, 0)
        m.wait_phase("small", "Running")
        wait(lambda: m.ok("logs", "small").strip() == gpus(m)[0]["slices"][0]["uuid"], "the container has its instance")
        m.ok("delete", "pod", "small", "--grace-period=0", "--force")
        m.ok("apply", "-f", "-", stdin=pod("whole", "true", gpus=1))  # MIG off needs a reset, too
        wait(lambda: "NeverFits" in m.mete("why", "whole").out, "MIG stays on")


def test_the_strategy_single_gives_slices_as_gpus():
    parted = config_file(PARTED)
    plugin = config_file("version: v1\nflags: {migStrategy: single}\n")
    try:
        with Mete(gpus="emulated:1xH100", arguments=("--mig-config", parted, "--gpu-config", plugin)) as m:
            m.ok("label", "node", name_of(m), "nvidia.com/mig.config=sevenths")
            wait_offered(m, "nvidia.com/gpu", "7")
            m.ok("apply", "-f", "-", stdin=pod("one", SEEN, gpus=1))
            m.wait_phase("one", "Running")
            uuids = [g["uuid"] for g in gpus(m) if g["uuid"].startswith("MIG-")]
            equal(len(uuids), 7)
            wait(lambda: m.ok("logs", "one").strip() in uuids, "the container has one instance")
    finally:
        os.unlink(parted)
        os.unlink(plugin)


def test_a_change_survives_the_death_of_the_node():
    path = config_file(PARTED)
    try:
        with Mete(gpus="emulated:1xH100", arguments=("--mig-config", path)) as m:
            name = name_of(m)
            for config, profile, amount in (("sevenths", "1g.10gb", "7"), ("halves", "3g.40gb", "1"), ("sevenths", "1g.10gb", "7")):
                m.ok("label", "--overwrite", "node", name, f"nvidia.com/mig.config={config}")
                os.kill(m.child("node"), signal.SIGKILL)
                wait_offered(m, f"nvidia.com/mig-{profile}", amount)
                wait(lambda: label(m, MIG_STATE) == "success", f"{config} is there")
                equal(os.listdir(os.path.join(m.data, "node", "partitions")), [])
    finally:
        os.unlink(path)


def set_driver(m, state):
    machine = os.path.join(m.data, "node", "gpusim", "machine.bin")
    r = execute([os.path.join(BUILD, "gpusim", "gpusim"), "set", machine, "machine", f"driver={state}"])
    equal(r.code, 0, r)


def test_a_driver_that_goes_and_comes_is_noticed():
    with Mete(gpus="emulated:2xT4") as m:
        for state in ("unloaded", "mismatched"):
            set_driver(m, state)
            wait_offered(m, "nvidia.com/gpu", "0")
            found = json.loads(m.mete("gpus", "-o", "json").out)["items"]
            equal([g["status"]["health"] for g in found], ["not answering", "not answering"])
            check("nvml:" in found[0]["status"]["healthReason"], found)
            set_driver(m, "loaded")
            wait_offered(m, "nvidia.com/gpu", "2")
