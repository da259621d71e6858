"""What a container uses of a gpu, a share or a slice is its own, and the parts add up to what the device shows."""

import datetime
import json
import os
import shutil
import subprocess

import test_mps as mps
from harness import BUILD, Mete, check, equal, pod, wait

SMOKE = os.path.join(BUILD, "tests", "gpu", "cuda_smoke")
MIB = 1 << 20
CONTEXT = 520 * MIB  # of a process on an emulated board of this size


def node_name(m):
    return m.object("nodes")["items"][0]["metadata"]["name"]


class Loaded(Mete):
    """A machine whose pods run the test program."""

    def __init__(self, gpus="emulated:1xH100"):
        super().__init__(gpus=gpus)
        self.smoke = os.path.join(self.dir, "cuda_smoke")
        shutil.copy(SMOKE, self.smoke)
        self.names = {}  # of pods by their uids

    def put(self, name, limits, what):
        c = {"name": "main", "image": "host", "command": ["sh", "-c", f"{self.smoke} {what}"], "stdin": True,
             "resources": {"limits": limits}}
        manifest = pod(name, "", containers=[c], terminationGracePeriodSeconds=1)
        self.names[self.ok("create", "-f", "-", "-o", "jsonpath={.metadata.uid}", stdin=manifest)] = name

    def status(self):
        return json.loads(self.mete("gpus", "-o", "json").out)["items"][0]["status"]


def parts(m, device):
    """(memory in MiB, compute in 1/1000, processes) by pod, of those whose compute is known; None: foreign processes."""
    return {m.names.get(c.get("podUid")): (c["memoryUsedBytes"] // MIB, c["smActiveMilli"], c["processes"])
            for c in device["containers"] if c["smActiveMilli"] is not None}


def adds_up(m, device, what):
    """The sums of the containers, once a sample has all of `what`: pods, and their compute within 3 points."""
    found = parts(m, device)
    if set(found) != set(what) or any(abs(found[p][1] - milli) > 30 for p, milli in what.items()):
        return None
    sample = device["sample"]
    busy = sample["utilizationPct"] * 10 if sample["utilizationPct"] is not None else sample["smActiveMilli"]
    if abs(sum(f[1] for f in found.values()) - busy) > 30:
        return None
    equal(sum(f[0] for f in found.values()) * MIB, sample["memoryUsedBytes"], device)
    equal(sum(f[2] for f in found.values()), sample["processes"], device)
    return found


def seconds(at):
    return datetime.datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp()


def test_replicas_and_foreign_programs_of_one_gpu():
    with Loaded() as m, m.unharmed():
        equal(m.mete("gpus", "set", f"{node_name(m)}/0", "--mode", "replicas=4").code, 0)
        wait(lambda: m.object("nodes")["items"][0]["status"]["allocatable"].get("nvidia.com/gpu") == "4", "replicas")
        limits = {"nvidia.com/gpu.shared": 1}
        m.put("busy", limits, "busy 1000")
        found = wait(lambda: adds_up(m, m.status(), {"busy": 1000}), "the only load")
        equal(found["busy"], (1000 + CONTEXT // MIB, found["busy"][1], 1))
        first = m.status()["sample"]
        check(first["powerMilliwatts"] > 500000 and first["temperatureC"] > 60 and first["smClockMhz"] == 1980, first)
        m.put("half", limits, "busy 2000")
        m.put("idle", limits, "hold 3000")
        found = wait(lambda: adds_up(m, m.status(), {"busy": 500, "half": 500, "idle": 0}), "two loads and a holder")
        equal([found[p][0] - CONTEXT // MIB for p in ("busy", "half", "idle")], [1000, 2000, 3000])
        # a program that nobody submitted
        env = dict(os.environ, METE_GPUSIM_MACHINE=os.path.join(m.data, "node", "gpusim", "machine.bin"), METE_GPUSIM_ALL="1",
                   LD_LIBRARY_PATH=os.path.join(BUILD, "gpusim"))
        with subprocess.Popen([m.smoke, "hold", "4000"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as foreign:
            try:
                equal(foreign.stdout.readline(), b"holding\n")
                found = wait(lambda: adds_up(m, m.status(), {"busy": 500, "half": 500, "idle": 0, None: 0}), "a stranger")
                equal(found[None], (4000 + CONTEXT // MIB, 0, 1))
            finally:
                foreign.kill()
        # The gpu was busy all the time: its energy is its power times the time between two samples.
        last = m.status()["sample"]
        used_mw = (last["energyMillijoules"] - first["energyMillijoules"]) / (seconds(last["at"]) - seconds(first["at"]))
        check(0.6 < used_mw / first["powerMilliwatts"] < 1.4, used_mw, first, last)
        m.ok("delete", "pod", "half", "--grace-period=0", "--force")
        wait(lambda: adds_up(m, m.status(), {"busy": 1000, "idle": 0}), "the load that is left")


def test_capped_shares_of_one_gpu():
    with Loaded() as m:
        for name, what in (("one", "hold 1000"), ("two", "busy 2000")):
            m.put(name, {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 20000, "nvidia.com/gpucores": 50}, what)

        def settled():
            found = parts(m, m.status())
            return set(found) == {"one", "two"} and 350 < found["two"][1] < 650 and found

        found = wait(settled, "a share that works and a share that waits")
        equal(found["one"], (1000 + CONTEXT // MIB, 0, 1))
        equal((found["two"][0], found["two"][2]), (2000 + CONTEXT // MIB, 1))


def test_clients_of_an_mps_daemon():
    with mps.Mps() as m:
        m.names = {}
        for name, what in (("one", "hold 1000"), ("two", "busy 2000")):
            m.create(name, f"sleep 1000 | {m.smoke} {what}")
            m.names[m.object("pod", name)["metadata"]["uid"]] = name
        found = wait(lambda: adds_up(m, mps.gpu(m)["status"], {"one": 0, "two": 1000}), "each client's own load")
        equal([found[p][0] - CONTEXT // MIB for p in ("one", "two")], [1000, 2000])


def test_slices_of_one_gpu():
    with Loaded() as m:
        equal(m.mete("gpus", "set", f"{node_name(m)}/0", "--mode", "slices=1g.10gb:1,3g.40gb:1").code, 0)
        wait(lambda: m.object("nodes")["items"][0]["status"]["allocatable"].get("nvidia.com/mig-3g.40gb") == "1", "slices")
        m.put("small", {"nvidia.com/mig-1g.10gb": 1}, "hold 1000")
        m.put("large", {"nvidia.com/mig-3g.40gb": 1}, "busy 2000")

        def settled():
            slices = {s["profile"]: s for s in m.status()["slices"]}
            if any(not s["sample"] for s in slices.values()):
                return None
            small = adds_up(m, slices["1g.10gb"], {"small": 0})
            large = adds_up(m, slices["3g.40gb"], {"large": 1000})
            return small and large and (small["small"], large["large"])

        small, large = wait(settled, "each slice shows its pod")
        equal((small[0], large[0]), (1000 + CONTEXT // MIB, 2000 + CONTEXT // MIB))
        status = m.status()
        equal(status["containers"], [], "nobody is on the gpu itself")
        equal(status["sample"]["processes"], 2)
        equal(status["sample"]["memoryUsedBytes"] // MIB, small[0] + large[0])
        check(abs(status["sample"]["smActiveMilli"] - 3000 // 7) <= 30, "three of seven compute slices work", status)
