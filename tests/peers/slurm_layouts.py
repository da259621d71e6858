"""Where the tasks of steps run, on three nodes of Mete and of Debian's Slurm 22.05: the SLURM_* variables of each task of `srun` in
allocations, by distributions, tasks and cpus for each node; and the code where srun refuses.

Needs root. What differs and is not in EXCEPTIONS fails."""

import contextlib
import fnmatch
import os
import re

import slurm
from harness import Mete, check, wait
from test_nodes import Node, is_ready, port_of, token
from test_slurm_commands import Slurm

CPUS = 4
NODES = 3
VARIABLES = """SLURM_PROCID SLURM_NODEID SLURM_LOCALID SLURM_GTIDS SLURM_NTASKS SLURM_NPROCS SLURM_NNODES SLURM_JOB_NUM_NODES SLURM_TASKS_PER_NODE
SLURM_JOB_CPUS_PER_NODE SLURM_CPUS_ON_NODE SLURM_CPUS_PER_TASK SLURM_NTASKS_PER_NODE SLURM_STEP_NUM_NODES SLURM_STEP_NUM_TASKS
SLURM_STEP_TASKS_PER_NODE SLURM_STEP_NODELIST SLURM_JOB_NODELIST SLURM_NODELIST SLURM_DISTRIBUTION SLURM_DIST_PLANESIZE SLURMD_NODENAME
SLURM_STEP_ID SLURM_STEPID""".split()

# Words of srun that begin with those of salloc, in whose allocation srun runs. Debian's slurmctld 22.05 ends at --distribution=arbitrary with
# a node twice, so that its layouts are not compared.
WHOLE = "-N3 --ntasks-per-node=4"
INSIDE = """
-n1
-n3
-n4
-n5
-n7
-n12
-N1
-N2
-N3
-N2 -n4
-N2 -n5
-N2 -n3 -m block
-n6 -m block
-n6 -m cyclic
-n7 -m cyclic
-n12 -m cyclic
-N2 -n6 -m cyclic
-N2 -n7 -m cyclic
-n6 -m block:cyclic
-n6 -m cyclic:block
-n6 -m cyclic:cyclic
-n6 --distribution=block:block
-n6 -m plane=2
-n7 -m plane=2
-n9 -m plane=2
-n7 -m plane=3
-n8 -m plane=4
-n8 -m plane=1
-n2 -m plane=2
-n4 -m plane=3
-N2 -n6 -m plane=2
-N1 -n2 -w {2}
-N2 -n4 -w {1},{2}
-N2 -n4 -w {2},{1}
-N2 -n3 -x {0}
-N1 -n2 -r1
-N2 -n3 -r1
-N1 -r2
--ntasks-per-node=2
--ntasks-per-node=2 -N2
--ntasks-per-node=3 -m cyclic
-n5 --ntasks-per-node=2
-n4 --ntasks-per-node=3 -m plane=2
-n2 -c2
-n4 -c2
-n6 -c2 -m cyclic
-n3 -c3
-n3 -c4
-N2 -n4 -c2
-n20
-n20 -O
-n14 -O -m cyclic
-N1 -n6 -O
-N4
-n3 -m nope
-n3 -m plane
-N2 -n5 -w {0}
-N1 -n5
-r3
-N2 -r2
""".split("\n")
CASES = [f"{WHOLE} : {line}".strip() for line in INSIDE if line] + [line for line in """
-N3 --ntasks-per-node=2 :
-N3 --ntasks-per-node=2 : -n4
-N3 --ntasks-per-node=2 : -N2 -n2
-N3 --ntasks-per-node=4 -m cyclic :
-N3 --ntasks-per-node=4 -m cyclic : -n7 -m block
-N3 --ntasks-per-node=4 -m plane=2 :
-N3 --ntasks-per-node=4 -m plane=2 : -n7
-N2 -n4 -c2 :
-N2 -n4 -c2 : -c2
-N2 -n4 -c2 : -n2
-N2 -n4 -c2 : -n2 -c1
-N3 -n3 :
-N3 -n6 :
-N3 -n6 : -m cyclic
-N1 -n3 :
-N2 -n8 -m cyclic :
-N2 -n2 -c4 : -c4
-n12 :
-n12 : -n5 -m cyclic
-N3 -n7 :
-N3 -n7 : -m cyclic
-N2 -n5 :
""".splitlines() if line]

SAME = "every node of a job has as many cpus, and its tasks are spread evenly; 22.05 fills the first node"
# (pattern of the words, pattern of the variable): the reason.
EXCEPTIONS = {
    (f"{WHOLE} : -N2 -n5 -w [{{]0[}}]", "(code)"): "a node list of a step has all of its nodes; 22.05 adds others",
    ("-N3 -n7 : *", "*"): SAME,
    ("-N3 -n7 :", "*"): SAME,
    ("-N2 -n5 :", "*"): SAME,
    ("-N3 -n6 :*", "*"): SAME,
}


class Ours:
    def __init__(self, m):
        self.s = Slurm(m)
        self.nodes = []

    def call(self, *words):
        return self.s.call(*words)


class Theirs(slurm.Real):
    """With three nodes, each a slurmd of this machine."""

    def __init__(self):
        super().__init__()
        self.nodes = [f"n{i}" for i in range(NODES)]
        self.node = "n0"
        names = "".join(f"NodeName={n} NodeHostname={{host}} NodeAddr=127.0.0.1 Port={{ports[{i + 1}]}} CPUs={CPUS} RealMemory=1000 State=UNKNOWN\n"
                        for i, n in enumerate(self.nodes))
        lines = [line for line in slurm.CONF.splitlines() if not line.startswith(("NodeName", "PartitionName"))]
        self.text = "\n".join(lines) + "\n" + names + "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"


def run(side, case):
    """The code, and the variables of each task by its rank."""
    words = [w.format(*side.nodes) for w in case.split()]
    at = words.index(":")
    out = f"{side.place}/task-%t"
    for name in os.listdir(side.place):
        os.unlink(f"{side.place}/{name}")
    program = ["-o", out, "printenv"]
    r = side.call("salloc", *words[:at], side.srun, *words[at + 1:], *program)
    tasks = {}
    for name in os.listdir(side.place):
        with open(f"{side.place}/{name}") as f:
            env = dict(line.rstrip("\n").split("=", 1) for line in f if "=" in line)
        tasks[int(env.get("SLURM_PROCID", -1))] = env
    return r, tasks


def plain(side, value):
    """Names of nodes as <0>, <1>, <2>, lists of them expanded."""
    if value is None:
        return None
    if any(n in value for n in side.nodes) or re.fullmatch(r"n\[[\d,-]+\]", value):
        value = " ".join(side.call("scontrol", "show", "hostnames", value).out.split())
    for i, n in sorted(enumerate(side.nodes), key=lambda item: -len(item[1])):
        value = re.sub(rf"(?<!\S){re.escape(n)}(?!\S)", f"<{i}>", value)
    return value


def reason_of(case, variable):
    return next((why for (words, name), why in EXCEPTIONS.items()
                 if fnmatch.fnmatchcase(case, words) and fnmatch.fnmatchcase(variable, name)), None)


def compare(sides, case):
    """(variable, line) of what differs."""
    (mine, ours), (theirs, real) = [run(side, case) for side in sides]
    check(not re.search("slurm controller|Zero Bytes", theirs.err), "the real slurmctld has ended", case)
    if (mine.code == 0) != (theirs.code == 0):
        return [("(code)", f"{case}: (code): ours {mine.code} {mine.err.strip()!r} real {theirs.code} {theirs.err.strip()!r}")]
    if mine.code != 0:
        return []
    bad = [] if sorted(ours) == sorted(real) else [("(tasks)", f"{case}: (tasks): ours {sorted(ours)} real {sorted(real)}")]
    for name in VARIABLES:
        values = [[plain(side, tasks[rank].get(name)) for rank in sorted(tasks)] for side, tasks in zip(sides, (ours, real))]
        if values[0] != values[1]:
            bad.append((name, f"{case}: {name}: ours {values[0]} real {values[1]}"))
    return bad


def main():
    slurm.unpack()
    with contextlib.ExitStack() as stack:
        m = stack.enter_context(Mete("none", ["--cpus", str(CPUS)]))
        ours = Ours(m)
        first = m.object("nodes")["items"][0]["metadata"]["name"]
        others = [f"zz-{i}-{first}"[:40].rstrip("-.") for i in range(1, NODES)]
        for name in others:
            stack.enter_context(Node(m, port_of(m), name, "none", arguments=["--cpus", str(CPUS)])).start(token(m))
            wait(lambda: is_ready(m, name), f"node {name} is ready")
        ours.nodes = [first, *others]
        real = stack.enter_context(Theirs())
        wait(lambda: real.call("sinfo", "-h", "-o", "%D %T").out.split() == [str(NODES), "idle"], "all real nodes are idle", 60)
        bad = []
        ours.srun, real.srun = os.path.join(ours.s.links, "srun"), os.path.join(slurm.PLACE, "usr", "bin", "srun")
        for side, place in ((ours, m.dir), (real, real.dir)):
            side.place = os.path.join(place, "tasks")
            os.mkdir(side.place)
        for case in CASES:
            for variable, line in compare((ours, real), case):
                if not reason_of(case, variable):
                    bad.append(line)
                    print(line, flush=True)
        print(f"{len(CASES)} layouts, {len(VARIABLES)} variables of each task: {len(bad)} differ")
        check(not bad, *bad)
