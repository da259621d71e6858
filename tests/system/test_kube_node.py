"""mete kube node: device plugins for a kubelet, played by the official gRPC library (fake_kubelet.py)."""

import contextlib
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import urllib.request

from harness import BUILD, METE, ROOT, check, equal, execute, patience, wait
from mps_kit import ask, daemons

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"  # Debian's, which has python3-grpcio
PROTO = os.path.join(ROOT, "src", "kubelet", "proto", "deviceplugin.proto")

REPLICAS = """
version: v1
flags:
  plugin: {deviceListStrategy: [envvar, volume-mounts, cdi-annotations], deviceIDStrategy: index}
sharing:
  timeSlicing:
    renameByDefault: true
    failRequestsGreaterThanOne: %s
    resources: [{name: nvidia.com/gpu, replicas: 4, devices: [0, 1]}]
"""


MPS = """
version: v1
sharing: {mps: {renameByDefault: %s, resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""
TIME_SLICES = MPS.replace("mps", "timeSlicing")


class Kubelet:
    """A process fake_kubelet.py in the directory of a Node."""

    def __init__(self, directory):
        self.process = subprocess.Popen([PYTHON, os.path.join(HERE, "fake_kubelet.py"), directory, PROTO], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines = queue.Queue()
        self.seen = []
        threading.Thread(target=self.read, args=(self.process.stdout,), daemon=True).start()

    def read(self, stream):
        for line in stream:
            self.lines.put(json.loads(line))

    def find(self, fits, what):
        """The first line that fits, of those that were not found yet."""
        def look():
            while not self.lines.empty():
                self.seen.append(self.lines.get())
            return next((line for line in self.seen if fits(line)), None)
        line = wait(look, what)
        self.seen.remove(line)
        return line

    def registered(self, resource):
        return self.find(lambda line: line.get("registered") == resource, f"a registration of {resource}")

    def devices(self, resource, fits=lambda devices: True):
        return self.find(lambda line: line.get("resource") == resource and line["devices"] is not None and fits(line["devices"]),
                         f"a list of devices of {resource}")["devices"]

    def call(self, method, resource, request=None):
        self.process.stdin.write(json.dumps({"call": method, "resource": resource, "request": request or {}}) + "\n")
        self.process.stdin.flush()
        return self.find(lambda line: "answer" in line or "error" in line, f"an answer of {method}")

    def tell_pods(self, *pods):
        """What the kubelet says of running pods: [(namespace, pod, container, resource, ids)]."""
        self.process.stdin.write(json.dumps({"pods": [
            {"namespace": ns, "name": pod, "containers": [{"name": container, "devices": [{"resource_name": resource, "device_ids": ids}]}]}
            for ns, pod, container, resource, ids in pods]}) + "\n")
        self.process.stdin.flush()

    def allocate(self, resource, *ids):
        return self.call("Allocate", resource, {"container_requests": [{"devices_ids": ids}]})

    def prefer(self, resource, available, size, must=()):
        answer = self.call("GetPreferredAllocation", resource, {"container_requests": [
            {"available_deviceIDs": available, "must_include_deviceIDs": must, "allocation_size": size}]})
        return answer["answer"]["container_responses"][0].get("deviceIDs", [])

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()


class Node:
    """mete kube node, with directories of its own."""

    def __init__(self, gpus="emulated:8xH100", config=None, has_machine_below=False):
        self.dir = tempfile.mkdtemp(prefix="mete-test-")
        self.plugins = os.path.join(self.dir, "kubelet", "device-plugins")
        os.makedirs(self.plugins)
        self.argv = [METE, "kube", "node", "--kubelet-dir", os.path.join(self.dir, "kubelet"), "--cdi-dir", os.path.join(self.dir, "cdi"),
                     "--data", self.dir, "--gpus", gpus]
        if config:
            self.configure(config)
            self.argv += ["--config", os.path.join(self.dir, "config.yaml")]
        if has_machine_below:
            self.argv += ["--machine-root", self.dir]
        self.process = None

    def configure(self, config):
        with open(os.path.join(self.dir, "config.yaml"), "w", encoding="utf-8") as f:
            f.write(config)

    def start(self):
        self.process = subprocess.Popen(self.argv, stdout=subprocess.DEVNULL, stderr=open(os.path.join(self.dir, "log"), "a"))

    def stop(self):
        self.process.terminate()
        equal(self.process.wait(timeout=60 * patience()), 0)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, error, trace):
        if error:
            print(open(os.path.join(self.dir, "log"), encoding="utf-8").read())
        if self.process.poll() is None:
            self.kill()
        for pid in daemons(self.dir).values():
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.dir)

    def cdi(self):
        with open(os.path.join(self.dir, "cdi", "mete.dev-gpu.json"), encoding="utf-8") as f:
            return json.load(f)

    def cdi_mounts(self):
        return [mount["hostPath"] for mount in self.cdi()["containerEdits"]["mounts"]]

    def set_gpu(self, index, *faults):
        machine = os.path.join(self.dir, "gpusim", "machine.bin")
        r = execute([os.path.join(BUILD, "gpusim", "gpusim"), "set", machine, str(index), *faults])
        equal(r.code, 0, r)


@contextlib.contextmanager
def kubelet(node):
    k = Kubelet(node.plugins)
    try:
        yield k
    finally:
        k.kill()


def test_kube_node_serves_gpus_to_a_kubelet():
    with Node() as n, kubelet(n) as k:
        told = k.registered("nvidia.com/gpu")
        equal((told["version"], told["options"]), ("v1beta1", {"get_preferred_allocation_available": True}))
        devices = k.devices("nvidia.com/gpu")
        equal([d["health"] for d in devices], ["Healthy"] * 8)
        check(all(d["id"].startswith("GPU-") for d in devices), devices)
        equal({tuple(d["numa"]) for d in devices}, {(0,), (1,)})
        ids = [d["id"] for d in devices]
        answer = k.allocate("nvidia.com/gpu", ids[2], ids[5])["answer"]["container_responses"]
        equal(answer, [{"cdi_devices": [{"name": f"mete.dev/gpu={ids[i]}"} for i in (2, 5)]}])
        known = {d["name"] for d in n.cdi()["devices"]}
        equal((n.cdi()["kind"], set(ids) - known), ("mete.dev/gpu", set()))
        equal(k.allocate("nvidia.com/gpu", "GPU-of-another-machine"),
              {"error": 'nvidia.com/gpu has no device "GPU-of-another-machine"', "code": "INVALID_ARGUMENT"})
        equal(k.call("Unknown", "nvidia.com/gpu"), {"error": "unknown method /v1beta1.DevicePlugin/Unknown", "code": "UNIMPLEMENTED"})


def test_kube_node_tells_of_sick_gpus_and_of_their_recovery():
    with Node("emulated:2xH100") as n, kubelet(n) as k:
        ids = [d["id"] for d in k.devices("nvidia.com/gpu")]
        check(all(os.path.exists(path) for path in n.cdi_mounts()), n.cdi_mounts())
        n.set_gpu(1, "lost=1")
        k.devices("nvidia.com/gpu", lambda list: [d["health"] for d in list] == ["Healthy", "Unhealthy"])
        equal(k.allocate("nvidia.com/gpu", ids[1]), {"error": f"device {ids[1]} of nvidia.com/gpu is not healthy", "code": "UNAVAILABLE"})
        check("answer" in k.allocate("nvidia.com/gpu", ids[0]))
        n.set_gpu(1, "lost=0")
        k.devices("nvidia.com/gpu", lambda list: [d["health"] for d in list] == ["Healthy"] * 2)


def test_kube_node_takes_gpus_out_of_service_after_errors_of_the_driver():
    with Node("emulated:3xH100") as n, kubelet(n) as k:
        ids = [d["id"] for d in k.devices("nvidia.com/gpu")]
        n.set_gpu(0, "kernel-xid=13")  # of an application
        n.set_gpu(1, "kernel-xid=48")
        sick = ["Healthy", "Unhealthy", "Healthy"]
        k.devices("nvidia.com/gpu", lambda list: [d["health"] for d in list] == sick)
        check(k.allocate("nvidia.com/gpu", ids[1])["code"] == "UNAVAILABLE")
        n.process.send_signal(signal.SIGKILL)
        n.process.wait()
        n.start()
        k.registered("nvidia.com/gpu")
        k.devices("nvidia.com/gpu", lambda list: [d["health"] for d in list] == sick)


def test_kube_node_in_a_container_names_the_machines_files():
    with Node("emulated:2xH100", has_machine_below=True) as n, kubelet(n) as k:
        k.devices("nvidia.com/gpu")
        check(n.cdi_mounts() and all(os.path.exists(n.dir + path) for path in n.cdi_mounts()), n.cdi_mounts())
    for wrong in ("host", "/host/"):
        r = execute([METE, "kube", "node", "--machine-root", wrong])
        check(r.code == 2 and "--machine-root wants an absolute path" in r.err, r)


def test_kube_node_registers_again_with_each_new_kubelet():
    with Node("emulated:2xH100") as n:
        with kubelet(n) as k:
            before = k.devices("nvidia.com/gpu")
        with kubelet(n) as k:  # it removed the plugin's socket
            k.registered("nvidia.com/gpu")
            equal(k.devices("nvidia.com/gpu"), before)
            n.process.send_signal(signal.SIGKILL)
            n.process.wait()
            k.find(lambda line: line.get("resource") and line["devices"] is None, "the end of the stream")
            n.start()
            k.registered("nvidia.com/gpu")
            equal(k.devices("nvidia.com/gpu"), before, "ids stay over restarts")
            os.remove(os.path.join(n.plugins, "mete-nvidia.com-gpu"))
            k.registered("nvidia.com/gpu")
            equal(k.devices("nvidia.com/gpu"), before)
        n.stop()
        equal(os.listdir(n.plugins), ["kubelet.sock"], "the plugin's socket is gone")


def test_kube_node_shares_gpus_as_nvidias_configuration_says():
    with Node("emulated:4xH100", REPLICAS % "false") as n, kubelet(n) as k:
        whole = [d["id"] for d in k.devices("nvidia.com/gpu")]
        shared = [d["id"] for d in k.devices("nvidia.com/gpu.shared")]
        equal((len(whole), len(shared)), (2, 8))
        uuids = [shared[0].split("::")[0], shared[4].split("::")[0]]
        equal(shared, [f"{u}::{i}" for u in uuids for i in range(4)])
        answer = k.allocate("nvidia.com/gpu.shared", shared[1], shared[2], shared[4])["answer"]["container_responses"][0]
        equal(answer["envs"], [{"key": "NVIDIA_VISIBLE_DEVICES", "value": "/var/run/nvidia-container-devices"}])
        equal([m["container_path"] for m in answer["mounts"]], [f"/var/run/nvidia-container-devices/{i}" for i in range(2)])
        equal([a["value"] for a in answer["annotations"]], [f"mete.dev/gpu={uuids[0]},mete.dev/gpu={uuids[1]}"])
        # Of the second gpu fewer replicas are given.
        equal(k.prefer("nvidia.com/gpu.shared", shared[2:], 1), [shared[4]])
        equal(sorted(k.prefer("nvidia.com/gpu.shared", shared[3:], 2)), shared[4:6])
    with Node("emulated:4xH100", REPLICAS % "true") as n, kubelet(n) as k:
        shared = [d["id"] for d in k.devices("nvidia.com/gpu.shared")]
        refused = k.allocate("nvidia.com/gpu.shared", *shared[:2])
        equal((refused["code"], "failRequestsGreaterThanOne" in refused["error"]), ("UNAVAILABLE", True), refused)
        check("answer" in k.allocate("nvidia.com/gpu.shared", shared[0]))


def are_healthy(n):
    return lambda devices: len(devices) == n and all(d["health"] == "Healthy" for d in devices)


def test_kube_node_shares_gpus_by_mps():
    with Node("emulated:2xH100", MPS % "true") as n, kubelet(n) as k:
        ids = [d["id"] for d in k.devices("nvidia.com/gpu.shared", are_healthy(8))]
        found = daemons(n.dir)
        equal(len(found), 2, "a daemon for each gpu")
        answer = k.allocate("nvidia.com/gpu.shared", ids[5])["answer"]["container_responses"]
        uuid = ids[5].split("::")[0]
        equal(answer, [{"cdi_devices": [{"name": f"mete.dev/gpu={uuid}"}]}])
        edits = next(d["containerEdits"] for d in n.cdi()["devices"] if d["name"] == uuid)
        equal(edits["env"], ["CUDA_MPS_PIPE_DIRECTORY=/run/mete/mps", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=20389M", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25"])
        mounts = {m["containerPath"]: m["hostPath"] for m in edits["mounts"]}
        equal(set(mounts), {"/run/mete/mps", "/dev/shm"})
        folder = os.path.dirname(mounts["/run/mete/mps"])
        check(folder in found and os.path.isdir(mounts["/dev/shm"]), mounts, found)
        program = os.path.join(n.dir, "gpusim", "root", "usr", "bin", "nvidia-cuda-mps-control")
        equal([ask(program, folder, f"get_default_{what}") for what in ("device_pinned_mem_limit 0", "active_thread_percentage")], ["20389M", "25.0"])
        refused = k.allocate("nvidia.com/gpu.shared", *ids[:2])
        equal((refused["code"], "failRequestsGreaterThanOne" in refused["error"]), ("UNAVAILABLE", True), "without being asked for", refused)
        n.stop()
        equal((daemons(n.dir), os.listdir(os.path.join(n.dir, "mps"))), ({}, []), "daemons end with the plugin")


def test_kube_node_gives_no_replicas_of_an_mps_daemon_that_died():
    with Node("emulated:2xH100", MPS % "false") as n, kubelet(n) as k:
        ids = [d["id"] for d in k.devices("nvidia.com/gpu", are_healthy(8))]
        folder, pid = sorted(daemons(n.dir).items())[0]
        os.kill(pid, signal.SIGKILL)
        sick = k.devices("nvidia.com/gpu", lambda list: [d["health"] for d in list].count("Unhealthy") == 4)
        lost = [d["id"] for d in sick if d["health"] == "Unhealthy"]
        check(lost in (ids[:4], ids[4:]), "the replicas of one gpu", lost)
        k.devices("nvidia.com/gpu", are_healthy(8))
        check(daemons(n.dir).get(folder) not in (None, pid), "another daemon")


def test_kube_node_finds_the_mps_daemons_of_a_killed_one():
    with Node("emulated:2xH100", MPS % "false") as n, kubelet(n) as k:
        k.devices("nvidia.com/gpu", are_healthy(8))
        before = daemons(n.dir)
        n.kill()
        equal(daemons(n.dir), before)
        k.seen.clear()
        n.start()
        k.registered("nvidia.com/gpu")
        k.devices("nvidia.com/gpu", are_healthy(8))
        equal(daemons(n.dir), before, "no second daemon of a gpu")
        n.kill()
        n.configure(TIME_SLICES % "true")
        n.start()
        k.devices("nvidia.com/gpu.shared", are_healthy(8))
        wait(lambda: not daemons(n.dir) and not os.listdir(os.path.join(n.dir, "mps")), "daemons that nobody wants end")
        check(all("mounts" not in d["containerEdits"] for d in n.cdi()["devices"]), "clients of no daemon", n.cdi())


def test_kube_node_in_a_container_names_the_machines_folders_of_mps():
    with Node("emulated:2xH100", MPS % "false", has_machine_below=True) as n, kubelet(n) as k:
        k.devices("nvidia.com/gpu", are_healthy(8))
        edits = n.cdi()["devices"][0]["containerEdits"]
        check(all(os.path.isdir(n.dir + m["hostPath"]) for m in edits["mounts"]), edits)


def test_an_mps_daemon_runs_below_the_machines_root_that_is_mounted_read_only():
    directory = tempfile.mkdtemp(prefix="mete-mps-")
    root, folder = os.path.join(directory, "host"), os.path.join(directory, "mps")
    program = os.path.join(BUILD, "gpusim", "nvidia-cuda-mps-control")
    for name in ("host", "mps/pipe", "mps/log", "mps/shm"):
        os.makedirs(os.path.join(directory, name))
    helper = f'mount --rbind / {root} && mount -o remount,bind,ro {root} && exec {METE} gpu-helper mps {program} {folder} {root}'
    env = {**os.environ, "CUDA_MPS_PIPE_DIRECTORY": os.path.join(folder, "pipe")}
    daemon = subprocess.Popen(["unshare", "-m", "sh", "-c", helper + " -f"], env=env)
    try:
        wait(lambda: os.path.exists(os.path.join(folder, "pipe", "control")), "the daemon's socket")
        equal(open(os.path.join(folder, "daemon"), encoding="utf-8").read().split()[0], str(daemon.pid), "it notes itself")
        equal(os.readlink(f"/proc/{daemon.pid}/root"), root)
        r = execute(["unshare", "-m", "sh", "-c", helper], env=env, stdin="set_default_active_thread_percentage 50\n")
        equal(r.code, 0, r)
        equal(ask(program, folder, "get_default_active_thread_percentage"), "50.0")
    finally:
        daemon.kill()
        daemon.wait()
        shutil.rmtree(directory)


def test_kube_node_prefers_gpus_that_are_linked():
    profile = os.path.join(tempfile.gettempdir(), f"mete-pairs-{os.getpid()}.yaml")
    with open(profile, "w", encoding="utf-8") as f:
        f.write("gpus:\n- {count: 4, model: H100, links: pairs}\n")
    try:
        with Node(f"emulated:{profile}") as n, kubelet(n) as k:
            ids = [d["id"] for d in k.devices("nvidia.com/gpu")]
            equal(k.prefer("nvidia.com/gpu", ids, 2), ids[:2])
            equal(k.prefer("nvidia.com/gpu", ids[1:], 2), ids[2:], "a pair, not two halves")
            equal(k.prefer("nvidia.com/gpu", ids[1:], 1), [ids[1]], "the pair stays whole for others")
            equal(sorted(k.prefer("nvidia.com/gpu", ids, 2, [ids[3]])), sorted(ids[2:]))
    finally:
        os.remove(profile)


def test_kube_node_shows_metrics_with_the_pods_of_gpus():
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]

    def page():
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            return answer.read().decode().splitlines()
        return []
    n = Node("emulated:2xH100")
    n.argv += ["--metrics", f"127.0.0.1:{port}", "--node-name", "n1"]
    with n, kubelet(n) as k:
        ids = [d["id"] for d in k.devices("nvidia.com/gpu")]
        k.tell_pods(("team", "train-0", "main", "nvidia.com/gpu", [ids[1]]), ("team", "web", "main", "example.com/nic", ["nic-0"]))

        def power(**labels):
            return [line for line in page() if line.startswith("DCGM_FI_DEV_POWER_USAGE{") and all(f'{k}="{v}"' in line for k, v in labels.items())]
        wait(lambda: power(namespace="team", pod="train-0", container="main", UUID=ids[1], Hostname="n1", gpu="1"), "the pod of the gpu", 60)
        equal(len(power(UUID=ids[0])), 1)
        check('pod="' not in power(UUID=ids[0])[0], "a gpu that no pod has")
        wait(lambda: any(line.startswith("mete_gpus{") and 'state="held"' in line and line.endswith(" 1") for line in page()), "one is held")


def test_kube_node_leaves_gpus_to_nvidias_plugin():
    n = Node("emulated:2xH100")
    other = os.path.join(n.plugins, "nvidia-gpu.sock")
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(other)
            s.listen()
            r = execute(n.argv)
            check(r.code != 0 and f"{other}: NVIDIA's device plugin serves this kubelet: remove it first" in r.err, r)
        with n, kubelet(n) as k:  # its socket is left, but nobody listens
            k.devices("nvidia.com/gpu")
    finally:
        shutil.rmtree(n.dir, ignore_errors=True)


def test_kube_node_refuses_what_it_cannot_do():
    for gpus, config, said in (
            ("emulated:2xH100", MPS % "false" + "flags: {plugin: {deviceListStrategy: envvar}}", "want cdi-cri or cdi-annotations"),
            ("emulated:2xH100", (MPS % "false").replace("/gpu", "/mig-1g.10gb"), "replicas of other resources are not supported by mete"),
            ("emulated:2xH100", "version: v1\nflags: {plugin: {deviceListStrategy: magic}}", 'deviceListStrategy: "magic": want envvar'),
            ("emulated:2xH100", "version: v2", 'version: "v2": want v1'), ("none", None, "--gpus wants auto or emulated:PROFILE")):
        n = Node(gpus, config)
        r = execute(n.argv)
        shutil.rmtree(n.dir)
        check(r.code != 0 and said in r.err, said, r)
    n = Node("emulated:2xH100", MPS % "false")
    r = execute([*n.argv, "--offer", "claims"])
    shutil.rmtree(n.dir)
    check(r.code != 0 and "sharing.mps: claims get no MPS daemons yet" in r.err, r)
