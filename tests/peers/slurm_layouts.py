"""The tasks of steps over three nodes, by block, cyclic, plane and arbitrary distribution: the ranks of each node, as the tasks see them, of
Mete and of Debian's Slurm 22.05, which has three slurmd on this machine. SEED and CASES choose the requests."""

import os
import random
import re

from harness import Mete, check, wait
from slurm_fields import Ours, Real, Theirs
from test_nodes import Node, is_ready, port_of, token

SEED = int(os.environ.get("SEED", "1"))
CASES = int(os.environ.get("CASES", "80"))
CPUS = 4
OTHERS = ("second", "third")
TASK = "echo $SLURM_PROCID $SLURM_NODEID $SLURM_LOCALID $SLURMD_NODENAME $SLURM_STEP_NUM_TASKS $SLURM_STEP_NUM_NODES $SLURM_STEP_TASKS_PER_NODE"


class Three(Real):
    """The real one with three nodes, in the order of their names."""

    def conf_of_nodes(self, names, ports):
        lines = [line for line in self.conf.splitlines() if not line.startswith("NodeName")]
        lines = [re.sub(r"^(SlurmdSpoolDir|SlurmdPidFile|SlurmdLogFile)=(.*)", r"\1=\2.%n", line) for line in lines]
        lines += [f"NodeName={name} NodeHostname={self.host} NodeAddr=127.0.0.1 Port={port} CPUs={CPUS} RealMemory=1000 State=UNKNOWN"
                  for name, port in sorted(zip(names, ports))]
        return "\n".join(sorted(lines, key=lambda line: line.startswith("PartitionName"))) + "\n"


def make_case(rng, names):
    words = ["-n", str(rng.randrange(1, 13))]
    if rng.random() < 0.4:
        words += ["-N", rng.choice(["1", "2", "3", "1-2", "2-3"])]
    if rng.random() < 0.3:
        words += ["-c", rng.choice(["1", "2", "3", "4"])]
    if rng.random() < 0.3:
        words += [f"--ntasks-per-node={rng.randrange(1, 5)}"]
    if rng.random() < 0.2:
        words += ["-O"]
    way = rng.choice(["", "block", "cyclic", "plane=1", "plane=2", "plane=3", "arbitrary", "block:cyclic", "cyclic:block", "*"])
    if way == "arbitrary":
        n = rng.randrange(1, 8)
        words = ["-n", str(n), "-w", ",".join(rng.choice(names) for _ in range(n))]
    elif rng.random() < 0.15:
        words += [rng.choice(["-w", "-x"]), rng.choice(names)]
    elif rng.random() < 0.1:
        words += ["-r", rng.choice(["1", "2"])]
    return words + (["-m", way] if way else [])


def begin(side):
    side.submit("all", "-N3", "--exclusive", "--wrap=exec sleep 100000")
    side.wait_state("all", "RUNNING")


def layout(side, words):
    r = side.call("srun", f"--jobid={side.ids['all']}", "--overlap", *words, "sh", "-c", TASK)
    error = re.sub(r"\d{2,}", "ID", r.err.splitlines()[-1]) if r.code else ""
    return r.code, sorted(r.out.splitlines(), key=lambda line: [int(w) for w in line.split()[:1]]), error


def main():
    m = Mete("emulated:1xH100", ["--cpus", str(CPUS)])
    with m:
        ours = Ours("ours", m.dir, {**m.env, "PATH": os.environ["PATH"]})
        nodes = [Node(m, port_of(m), name=name, gpus="emulated:1xH100", arguments=["--cpus", str(CPUS)]) for name in OTHERS]
        try:
            for node in nodes:
                node.start(token(m))
                wait(lambda n=node: is_ready(m, n.name), f"{node.name} is ready")
            real = Three("CPUs=4")
            names = [real.host, *OTHERS]
            real.nodes = names
            with real:
                compare((ours, Theirs("real", real.dir, real.env)), names)
        finally:
            for node in nodes:
                node.__exit__(None, None, None)


def compare(sides, names):
    for side in sides:
        begin(side)
    rng = random.Random(SEED)
    bad = []
    for words in sorted(make_case(rng, names) for _ in range(CASES)):
        ours, real = [layout(side, words) for side in sides]
        if ours[:2] != real[:2]:
            bad.append(f"{' '.join(words)}: ours {ours}, real {real}")
    print(f"layouts: {CASES} requests, {CASES - len(bad)} the same, {len(bad)} wrong", flush=True)
    check(not bad, *bad)
