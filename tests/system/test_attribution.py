"""What a container uses of a gpu, a share or a slice is its own, and the parts add up to what the device shows."""

import datetime
import json
import os
import shutil
import signal
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
    """Whether the containers are those of `what`: (MiB allocated, compute in 1/1000 within 3 points) by pod, a process each;
    and whether their sums are what the device shows."""
    found = parts(m, device)
    want = {name: (mib + CONTEXT // MIB, milli, 1) for name, (mib, milli) in what.items()}
    sample = device["sample"]
    if set(found) != set(want) or any(found[p][::2] != want[p][::2] or abs(found[p][1] - want[p][1]) > 30 for p in want):
        return False
    busy = sample["utilizationPct"] * 10 if sample["utilizationPct"] is not None else sample["smActiveMilli"]
    return (abs(sum(f[1] for f in found.values()) - busy) <= 30
            and sum(f[0] for f in found.values()) * MIB == sample["memoryUsedBytes"]
            and sum(f[2] for f in found.values()) == sample["processes"])


def seconds(at):
    return datetime.datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp()


def test_replicas_and_foreign_programs_of_one_gpu():
    with Loaded() as m, m.unharmed():
        equal(m.mete("gpus", "set", f"{node_name(m)}/0", "--mode", "replicas=4").code, 0)
        wait(lambda: m.object("nodes")["items"][0]["status"]["allocatable"].get("nvidia.com/gpu") == "4", "replicas")
        limits = {"nvidia.com/gpu.shared": 1}
        m.put("busy", limits, "busy 1000")
        wait(lambda: adds_up(m, m.status(), {"busy": (1000, 1000)}), "the only load")

        def is_working(s):
            return s["powerMilliwatts"] > 500000 and s["temperatureC"] > 60 and s["smClockMhz"] == 1980

        first = wait(lambda: is_working(s := m.status()["sample"]) and s, "work takes power, heats and raises the clock")
        m.put("half", limits, "busy 2000")
        m.put("idle", limits, "hold 3000")
        three = {"busy": (1000, 500), "half": (2000, 500), "idle": (3000, 0)}
        wait(lambda: adds_up(m, m.status(), three), "two loads and a holder")
        # a program that nobody submitted
        env = dict(os.environ, METE_GPUSIM_MACHINE=os.path.join(m.data, "node", "gpusim", "machine.bin"), METE_GPUSIM_ALL="1",
                   LD_LIBRARY_PATH=os.path.join(BUILD, "gpusim"))
        with subprocess.Popen([m.smoke, "hold", "4000"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as foreign:
            try:
                equal(foreign.stdout.readline(), b"holding\n")
                wait(lambda: adds_up(m, m.status(), {**three, None: (4000, 0)}), "a stranger")
            finally:
                foreign.kill()
        # The gpu was busy nearly all the time: its energy is about its power times the time between two samples.
        last = m.status()["sample"]
        used_mw = (last["energyMillijoules"] - first["energyMillijoules"]) / (seconds(last["at"]) - seconds(first["at"]))
        check(0.3 < used_mw / first["powerMilliwatts"] < 1.5, used_mw, first, last)
        m.ok("delete", "pod", "half", "--grace-period=0", "--force")
        wait(lambda: adds_up(m, m.status(), {"busy": (1000, 1000), "idle": (3000, 0)}), "the load that is left")


def test_capped_shares_of_one_gpu():
    with Loaded() as m:
        for name, what in (("one", "hold 1000"), ("two", "busy 2000")):
            m.put(name, {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 20000, "nvidia.com/gpucores": 50}, what)

        def settled():
            found = parts(m, m.status())
            return (set(found) == {"one", "two"} and found["one"] == (1000 + CONTEXT // MIB, 0, 1)
                    and found["two"][::2] == (2000 + CONTEXT // MIB, 1) and 350 < found["two"][1] < 650)

        wait(settled, "a share that works and a share that waits")


def test_clients_of_an_mps_daemon():
    with mps.Mps() as m:
        m.names = {}
        for name, what in (("one", "hold 1000"), ("two", "busy 2000")):
            m.create(name, f"sleep 1000 | {m.smoke} {what}")
            m.names[m.object("pod", name)["metadata"]["uid"]] = name
        wait(lambda: adds_up(m, mps.gpu(m)["status"], {"one": (1000, 0), "two": (2000, 1000)}), "each client's own load")


def test_slices_of_one_gpu():
    with Loaded() as m:
        equal(m.mete("gpus", "set", f"{node_name(m)}/0", "--mode", "slices=1g.10gb:1,3g.40gb:1").code, 0)
        wait(lambda: m.object("nodes")["items"][0]["status"]["allocatable"].get("nvidia.com/mig-3g.40gb") == "1", "slices")
        m.put("small", {"nvidia.com/mig-1g.10gb": 1}, "hold 1000")
        m.put("large", {"nvidia.com/mig-3g.40gb": 1}, "busy 2000")

        def settled():
            slices = {s["profile"]: s for s in m.status()["slices"]}
            return (all(s["sample"] for s in slices.values())
                    and adds_up(m, slices["1g.10gb"], {"small": (1000, 0)})
                    and adds_up(m, slices["3g.40gb"], {"large": (2000, 1000)}))

        wait(settled, "each slice shows its pod")
        status = m.status()
        equal(status["containers"], [], "nobody is on the gpu itself")
        equal(status["sample"]["processes"], 2)
        equal(status["sample"]["memoryUsedBytes"], 3000 * MIB + 2 * CONTEXT)
        wait(lambda: abs(m.status()["sample"]["smActiveMilli"] - 3000 // 7) <= 30, "three of seven compute slices work")


NS = 10**9


def ns_of(amount):
    return amount["seconds"] * NS + amount["nanos"] if amount else None


def rows(m):
    """The attempts by pod: (held, busy, idle, energy, peak of memory)."""
    found = {}
    for r in json.loads(m.mete("usage", "--rows", "-o", "json").out)["items"]:
        times = [ns_of(r[k]) for k in ("gpuTime", "gpuBusyTime", "gpuIdleTime", "gpuUnknownTime")]
        equal(times[0], (times[1] or 0) + (times[2] or 0) + times[3], r)
        found[r["pod"]] = (times[0], times[1], times[2], r["gpuEnergyMillijoules"], r["gpuMemoryPeakBytes"])
    return found


def advise(m, *words):
    return json.loads(m.mete("advise", "--least", "1s", "-o", "json", *words).out)["items"]


def test_busy_and_idle_time_is_accounted_and_outlives_the_node():
    with Loaded("emulated:2xH100") as m:
        with open(os.path.join(m.data, "prices.yaml"), "w") as f:
            f.write("currency: EUR\ngpuHour: {default: 3600}\n")
        m.put("lazy", {"nvidia.com/gpu": 1}, "hold 3000")
        m.put("works", {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 20000, "nvidia.com/gpucores": 50}, "busy 2000")

        greedy = {"name": "main", "image": "host", "command": ["sleep", "2"], "resources": {"requests": {"cpu": "2", "memory": "3Gi"}}}
        m.ok("create", "-f", "-", stdin=pod("greedy", "", containers=[greedy]))

        def known(least):
            """The attempts, once both have been idle or busy for so long."""
            r = rows(m)
            return (r["lazy"][2] or 0) > least[0] and (r["works"][1] or 0) > least[1] and r

        before = wait(lambda: known((0, 0)), "busy and idle time of running attempts")
        node = m.child("node")
        os.kill(node, signal.SIGKILL)
        wait(lambda: m.child("node") not in (None, node), "the node runs again")
        wait(lambda: (r := known((before["lazy"][2], before["works"][1]))) and r["lazy"][2] > 0.6 * r["lazy"][0], "the times go on")
        idle = json.loads(m.mete("usage", "--idle", "-o", "json").out)["items"]
        equal(idle[0]["jobName"], "default/lazy")
        check(idle[0]["running"] == 1 and idle[0]["idleCostMicro"] > 0, idle)
        check("default/lazy" in m.mete("usage", "--idle").out)
        advice = [a for a in advise(m) if a["jobName"] == "default/lazy"]
        equal([(a["kind"], a["suggestion"], a["heldMilli"]) for a in advice], [("idle", f"mete cancel {idle[0]['job']}", 1000)])
        check(advice[0]["savedCostMicro"] > 0, advice)
        equal(sorted(a["suggestion"] for a in advise(m) if a["jobName"] == "default/greedy"), ["--cpu 1", "--memory 1Gi"])
        m.ok("delete", "pod", "lazy", "works", "--grace-period=1")
        wait(lambda: all(r["cause"] for r in json.loads(m.mete("usage", "--rows", "-o", "json").out)["items"]), "the rows")
        last = rows(m)
        for name, mib in (("lazy", 3000), ("works", 2000)):
            held, busy, idle, energy, peak = last[name]
            check(busy + idle <= held and energy > 0, name, last)
            equal(peak, mib * MIB + CONTEXT, name)
            check(busy >= before[name][1] and idle >= before[name][2] and energy >= before[name][3], name, before, last)
        equal(last["lazy"][1], 0)
        advice = [a for a in advise(m, "--user", "admin") if a["jobName"] == "default/lazy"]
        # 3000 MiB and the context of 520 MiB, and a tenth more
        equal([(a["kind"], a["suggestion"], a["usedMilli"]) for a in advice], [("share", "--gpus 4Gi", 0)])
        check(advice[0]["savedCostMicro"] > 0 and ns_of(advice[0]["savedGpuTime"]) > 0.9 * last["lazy"][0] - NS, advice)
        check("--gpus 4Gi" in m.mete("advise", "--least", "1s").out)
        equal(advise(m, "--queue", "another"), [])
