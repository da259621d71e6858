"""Replicas by MPS: a daemon for each gpu and namespace, its limits in containers, its faults and its end."""

import glob
import json
import os
import shutil
import signal

from harness import BUILD, Mete, check, equal, pod, wait
from mps_kit import daemons

SMOKE = os.path.join(BUILD, "tests", "gpu", "cuda_smoke")
CONFIG = """version: v1
sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
"""


def gpu(m):
    return json.loads(m.mete("gpus", "-o", "json").out)["items"][0]


class Mps(Mete):
    """One machine with one gpu of 81559 MiB, which four pods share by MPS."""

    def __init__(self):
        super().__init__(gpus="emulated:1xH100")
        self.config = os.path.join(self.dir, "gpus.yaml")
        self.smoke = os.path.join(self.dir, "cuda_smoke")
        shutil.copy(SMOKE, self.smoke)
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(CONFIG)
        self.arguments = ["--gpu-config", self.config]

    def create(self, name, script, ns=None):
        self.ok("create", "-f", "-", stdin=pod(name, script, gpus=1, ns=ns))

    def lines(self, name, ns="default"):
        return self.kubectl("logs", name, "-n", ns).out.splitlines()


def test_a_client_gets_its_part_of_the_memory():
    with Mps() as m, m.unharmed():
        node = m.object("nodes")["items"][0]
        wait(lambda: m.object("nodes")["items"][0]["status"]["allocatable"].get("nvidia.com/gpu") == "4", "four replicas")
        equal(m.object("nodes")["items"][0]["metadata"]["labels"]["nvidia.com/gpu.sharing-strategy"], "mps", node)
        m.create("one", f"env | grep ^CUDA_MPS | sort; {m.smoke} fill 1024; sleep 1000")
        wait(lambda: len(m.lines("one")) == 4, "the first client ran")
        # A quarter of the memory, less the context.
        equal(m.lines("one"), ["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=20389M",
                               "CUDA_MPS_PIPE_DIRECTORY=/run/mete/mps", "19"])
        m.create("two", f"env -u CUDA_MPS_PINNED_DEVICE_MEM_LIMIT {m.smoke} fill 1024; sleep 1000")
        wait(lambda: m.lines("two") == ["19"], "the daemon's own limit holds, too")
        equal(len(daemons(m.data)), 1, "the pods of a namespace have one daemon")
        found = gpu(m)
        equal((found["spec"]["mode"], found["spec"]["replicas"], found["spec"]["mps"]), ("replicas", 4, True))
        equal([h["isolation"] for h in found["status"]["holders"]], ["memory", "memory"])
        check("4 MPS clients" in m.mete("gpus").out)
        m.ok("delete", "pod", "one", "--grace-period=0")
        equal(len(daemons(m.data)), 1)
        m.ok("delete", "pod", "two", "--grace-period=0")
        wait(lambda: not daemons(m.data), "the daemon ends with its last client")
        wait(lambda: not glob.glob(os.path.join(m.data, "node", "mps", "*")), "its folder is gone")


def test_a_daemon_that_dies_is_started_again_and_its_clients_are_told():
    with Mps() as m:
        m.create("one", "sleep 1000")
        m.wait_phase("one", "Running")
        (at, pid), = daemons(m.data).items()
        os.kill(pid, signal.SIGKILL)
        wait(lambda: daemons(m.data).get(at) not in (None, pid), "another daemon")
        wait(lambda: "MpsDaemonEnded" in m.ok("get", "events"), "an event tells of it")
        m.create("two", f"{m.smoke} fill 1024")
        m.wait_phase("two", ("Succeeded", "Failed"))
        equal(m.lines("two"), ["19"], "the new daemon has the limits")


def test_a_daemon_outlives_the_node_and_is_found_again():
    with Mps() as m:
        m.create("one", "sleep 1000")
        m.wait_phase("one", "Running")
        before = daemons(m.data)
        equal(len(before), 1)
        m.stop()
        equal(daemons(m.data), before)
        m.start()
        m.create("two", f"{m.smoke} fill 1024")
        m.wait_phase("two", ("Succeeded", "Failed"))
        equal(m.lines("two"), ["19"])
        equal(daemons(m.data), before)
        m.ok("delete", "pod", "one", "--grace-period=0")
        wait(lambda: not daemons(m.data), "the daemon that was found again ends, too")


def test_time_slicing_needs_no_daemon():
    with Mps() as m:
        name = m.object("nodes")["items"][0]["metadata"]["name"]
        r = m.mete("gpus", "set", f"{name}/0", "--mode", "replicas=4")
        equal(r.code, 0, r)
        wait(lambda: not gpu(m)["spec"].get("mps"), "time-slicing")
        m.create("one", f"env | grep -c CUDA_MPS; {m.smoke} fill 4096")
        m.wait_phase("one", ("Succeeded", "Failed"))
        equal(m.lines("one"), ["0", "19"])
        equal(gpu(m)["spec"]["replicas"], 4)
        equal(daemons(m.data), {})
