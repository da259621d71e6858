"""Cpus of a node between jobs. PreemptMode=SUSPEND,GANG: jobs of a higher partition suspend others, use their cpus, and let them go on; also over the death of the server."""

import os
import signal

from harness import METE, Mete, check, equal, wait
from test_slurm_partitions import Site

CONF = """ClusterName=site
PreemptType=preempt/partition_prio
PreemptMode=SUSPEND,GANG
NodeName={node} CPUs=2
PartitionName=low Nodes=ALL Default=YES
PartitionName=mid Nodes=ALL PriorityTier=5
PartitionName=part Nodes=ALL MaxCPUsPerNode=1
PartitionName=high Nodes=ALL PriorityTier=10 PreemptMode=OFF
"""
# Counts in the file $1.out until the file $1.end is there: each line once, in order, whatever stops it.
SCRIPT = """i=0; while [ ! -e {base}.end ]; do i=$((i+1)); echo $i >>{base}.out; sleep 0.05; done; echo end >>{base}.out"""


class Gang(Site):
    def base(self, name):
        return os.path.join(self.m.dir, name)

    def start(self, name, *words):
        return self.ok("sbatch", "--parsable", *words, "--wrap", SCRIPT.format(base=self.base(name))).strip()

    def lines(self, name):
        try:
            with open(self.base(name) + ".out") as f:
                return f.read().splitlines()
        except FileNotFoundError:
            return []

    def end(self, name):
        with open(self.base(name) + ".end", "w"):
            pass

    def state(self, job):
        r = self.call("squeue", "-h", "-t", "all", "-j", job, "-o", "%t")
        return r.out.strip() if r.code == 0 else None  # the server may be down

    def wait_states(self, *pairs):
        wait(lambda: all(self.state(job) == state for job, state in pairs), f"jobs are {pairs}", 120)

    def kill_server(self):
        pid = self.m.child("server")
        os.kill(pid, signal.SIGKILL)
        wait(lambda: self.m.child("server") not in (None, pid), "the server is started again", 60)


def test_a_higher_partition_suspends_a_lower_one():
    m = Mete("emulated:1xH100")
    node = os.uname().nodename.split(".")[0].lower()
    conf = os.path.join(m.dir, "slurm.conf")
    for name, line in (("a", "PreemptMode=SUSPEND"), ("c", "PreemptMode=CANCEL,WITHIN")):
        bad = os.path.join(m.dir, f"{name}.conf")
        with open(bad, "w") as f:
            f.write(f"ClusterName=x\n{line}\n")
        r = m.mete("up", "--data", os.path.join(m.dir, "other"), "--slurm-conf", bad)
        check(r.code == 2 and f"{bad}:2: " in r.err and line.split()[-1] in r.err, r)
    with open(conf, "w") as f:
        f.write(CONF.format(node=node))
    m.arguments = ["--slurm-conf", conf]
    with m:
        s = Gang(m, conf)
        wait(lambda: m.object("node", node)["status"]["allocatable"]["cpu"] == "2", "the node offers the cpus of its line")
        suspends_and_goes_on(s)
        survives_the_server(s)
        keeps_gpus(s)
        suspends_in_tiers(s)
        gives_whole_nodes(s)
        gives_a_partition_some_cpus(s)


def suspends_and_goes_on(s):
    low = s.start("low", "-c2", "-t", "10")
    wait(lambda: s.lines("low"), "the low job counts")
    high = s.start("high", "-p", "high", "-c2")
    s.wait_states((low, "S"), (high, "R"))
    equal(sorted(s.ok("squeue", "-h", "-o", "%i %t").splitlines()), sorted([f"{low} S", f"{high} R"]))
    wait(lambda: s.lines("high"), "the high job counts")
    before = len(s.lines("low"))
    other = s.ok("sbatch", "--parsable", "-c1", "--wrap=true").strip()  # of the low partition: it gets none of the lent cpus
    shown = s.ok("scontrol", "show", "job", low)
    check("JobState=SUSPENDED" in shown and "SuspendTime=20" in shown, shown)
    count = len(s.lines("high"))
    wait(lambda: len(s.lines("high")) > count + 20, "the high job goes on")
    equal((len(s.lines("low")), s.state(other)), (before, "PD"))
    pod = next(p["metadata"]["name"] for p in s.m.object("pods")["items"] if "mete.dev/slurm-lent" in p["metadata"]["annotations"])
    r = s.m.kubectl("annotate", "pod", pod, "mete.dev/slurm-lent-")
    check(r.code != 0 and "are set by the system only" in r.err, r)
    s.end("high")
    s.wait_states((high, "CD"), (low, "R"))
    s.end("low")
    s.wait_states((low, "CD"), (other, "CD"))
    counted_once(s, "low")
    events = s.m.mete("events").out
    check(f"Suspended for job {high}, whose QOS or partition may preempt this one" in events and "Resumed" in events, events)


def counted_once(s, name):
    lines = s.lines(name)
    equal(lines, [str(i) for i in range(1, len(lines))] + ["end"])


def survives_the_server(s):
    """The server dies when it has decided, when both jobs have their states, and when the preemptor ends."""
    low = s.start("low2", "-c2")
    wait(lambda: s.lines("low2"), "the low job counts")
    high = s.start("high2", "-p", "high", "-c2")
    s.kill_server()
    s.wait_states((low, "S"), (high, "R"))
    wait(lambda: s.lines("high2"), "the high job counts")
    before = len(s.lines("low2"))
    s.kill_server()
    s.wait_states((low, "S"), (high, "R"))
    count = len(s.lines("high2"))
    wait(lambda: len(s.lines("high2")) > count + 20, "the high job goes on")
    equal(len(s.lines("low2")), before)
    s.end("high2")
    s.kill_server()
    s.wait_states((low, "R"), (high, "CD"))
    wait(lambda: len(s.lines("low2")) > before, "the low job goes on")
    s.end("low2")
    s.wait_states((low, "CD"))
    for name in ("low2", "high2"):
        counted_once(s, name)
    equal(s.ok("sacct", "-X", "-n", "-P", "-D", "-j", f"{low},{high}", "-o", "state").split(), ["COMPLETED"] * 2)


def keeps_gpus(s):
    low = s.start("low3", "-c1", "--gres=gpu:1")
    wait(lambda: s.lines("low3"), "the low job counts")
    high = s.start("high3", "-p", "high", "-c1", "--gres=gpu:1")
    wait(lambda: s.ok("squeue", "-h", "-j", high, "-o", "%t %r").strip() == "PD Resources", "the high job waits for the GPU")
    equal(s.state(low), "R")
    s.ok("scancel", high)
    s.end("low3")
    s.wait_states((low, "CD"))


def suspends_in_tiers(s):
    low = s.start("low4", "-c2")
    wait(lambda: s.lines("low4"), "the low job counts")
    mid = s.start("mid4", "-p", "mid", "-c1")
    s.wait_states((low, "S"), (mid, "R"))
    second = s.start("second4", "-p", "mid", "-c1")  # the rest of what the low job lends
    s.wait_states((low, "S"), (mid, "R"), (second, "R"))
    high = s.start("high4", "-p", "high", "-c2")
    s.wait_states((low, "S"), (mid, "S"), (second, "S"), (high, "R"))
    s.ok("scancel", mid)  # a suspended job ends as any other
    s.wait_states((mid, "CA"))
    s.end("high4")
    s.wait_states((high, "CD"), (second, "R"), (low, "S"))
    s.end("second4")
    s.wait_states((second, "CD"), (low, "R"))
    s.end("low4")
    s.wait_states((low, "CD"))
    for name in ("low4", "second4", "high4"):
        counted_once(s, name)


def gives_whole_nodes(s):
    """A job with --exclusive has all cpus of its node, also for its steps; its request stays what it was."""
    out = s.base("whole")
    script = f"echo $SLURM_CPUS_ON_NODE $SLURM_JOB_CPUS_PER_NODE; {METE} srun -n2 -c1 echo step; while [ ! -e {out}.end ]; do sleep 0.05; done"
    job = s.ok("sbatch", "--parsable", "--exclusive", "-o", out, "--wrap", script).strip()
    wait(lambda: s.state(job) == "R" and s.ok("squeue", "-h", "-j", job, "-o", "%C") == "2\n", "the job has both cpus")
    shown = s.ok("scontrol", "show", "job", job)
    check("NumCPUs=2 NumTasks=1 " in shown and "ReqTRES=cpu=1," in shown and "AllocTRES=cpu=2," in shown, shown)
    other = s.ok("sbatch", "--parsable", "-c1", "--wrap=true").strip()
    s.end("whole")
    s.wait_states((job, "CD"), (other, "CD"))
    with open(out) as f:
        equal(f.read(), "2 2\nstep\nstep\n")
    wait(lambda: s.ok("sacct", "-X", "-n", "-P", "-j", job, "-o", "reqcpus,alloccpus,reqtres,alloctres") ==
         "1|2|billing=1,cpu=1,node=1|billing=2,cpu=2,node=1\n", "accounting has what the job got")


def gives_a_partition_some_cpus(s):
    """MaxCPUsPerNode: jobs of the partition have one cpu of the node, together."""
    shown = s.ok("scontrol", "-o", "show", "partition", "part")
    check(" MaxCPUsPerNode=1 " in shown, shown)
    equal(s.ok("sinfo", "-h", "-o", "%R %B", "-p", "part,mid").split(), ["mid", "UNLIMITED", "part", "1"])
    r = s.call("sbatch", "-p", "part", "-c2", "--wrap=true")
    equal((r.code, r.err), (1, "sbatch: error: Batch job submission failed: Requested node configuration is not available\n"))
    first = s.start("first6", "-p", "part", "-t", "10")
    wait(lambda: s.lines("first6"), "the first job counts")
    second = s.start("second6", "-p", "part", "-t", "10")
    wait(lambda: s.ok("squeue", "-h", "-j", second, "-o", "%t %r").strip() == "PD Resources", "the second job waits for the partition's cpu")
    other = s.start("other6", "-p", "low")  # the other cpu
    s.wait_states((first, "R"), (second, "PD"), (other, "R"))
    s.end("first6")
    s.wait_states((first, "CD"), (second, "R"), (other, "R"))
    for name in ("second6", "other6"):
        s.end(name)
    s.wait_states((second, "CD"), (other, "CD"))
    alone = s.ok("sbatch", "--parsable", "-p", "part", "--exclusive", "--wait", "--wrap=true").strip()
    wait(lambda: s.ok("sacct", "-X", "-n", "-P", "-j", alone, "-o", "alloccpus,state") == "1|COMPLETED\n", "it has the cpus of the partition")
