"""slurm.conf and gres.conf as sites have them: partitions, who may use them, what they limit, how GPUs are divided; changed by scontrol and by a new reading."""

import os
import re

from harness import METE, Mete, check, equal, execute, wait

CONF = """# a site's file
ClusterName=site
SlurmctldHost=head(10.0.0.1)
MinJobAge=600
MaxArraySize=21
MpiDefault=pmi2
RequeueExit=7,3-4
RequeueExitHold=9
JobFileAppend=1
PriorityWeightPartition=1000
NodeName={node} CPUs=1 Feature=big,fast Gres=gpu:2 Weight=7 State=UNKNOWN
NodeName=ghost[1-3] CPUs=4 RealMemory=100 Feature=big
NodeSet=bigs Feature=big
Include {dir}/partitions.conf
"""
PARTITIONS = """PartitionName=DEFAULT MaxTime=1-0
PartitionName=main Nodes=ALL Default=YES DefaultTime=30 \\
    State=UP
PartitionName=gpu-research Nodes={node} AllowUsers=alice,bob MaxTime=2:00:00 PriorityTier=10
PartitionName=far Nodes=ghost[1-3]
PartitionName=closed Nodes={node} State=INACTIVE Alternate=main Hidden=YES
PartitionName=night Nodes=bigs State=DOWN
PartitionName=held Nodes={node} State=DRAIN
"""


class Site:
    def __init__(self, m, conf):
        self.m = m
        self.conf = conf

    def call(self, name, *words):
        return execute([METE, name, *words], env={**os.environ, "METE_DATA": self.m.data, "TZ": "UTC"}, cwd=self.m.dir)

    def ok(self, name, *words):
        r = self.call(name, *words)
        check(r.code == 0, r)
        return r.out

    def submit(self, *words):
        return self.ok("sbatch", "--parsable", *words, "--wrap=true").strip()

    def reason(self, job):
        return self.ok("squeue", "-h", "-j", job, "-o", "%P %T %r").strip()

    def refused(self, text, *words):
        r = self.call(*words)
        equal((r.code, r.out, r.err), (1, "", text), words)


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def test_slurm_partitions():
    m = Mete("emulated:2xH100")
    node = os.uname().nodename.split(".")[0].lower()
    conf = os.path.join(m.dir, "slurm.conf")
    write(conf, CONF.format(node=node, dir=m.dir))
    write(os.path.join(m.dir, "partitions.conf"), PARTITIONS.format(node=node))
    write(os.path.join(m.dir, "gres.conf"), "AutoDetect=nvml\n")
    m.arguments = ["--slurm-conf", conf]
    with m:
        s = Site(m, conf)
        refuses_what_it_cannot_heed(m)
        shows_the_partitions(s, node)
        takes_jobs_by_the_rules(s, node)
        refuses_unknown_nodes_and_features(s)
        starts_anew_by_exit_codes(s)
        explains_jobs_without_pods(s)
        changes_while_jobs_wait(s, node)
        changes_requests_that_wait(s, node)
        reserves_nodes(s, node)
        reads_again(s, node)


def refuses_what_it_cannot_heed(m):
    bad = os.path.join(m.dir, "bad.conf")
    write(bad, "ClusterName=x\nPartitionName=p Nodes=ALL MaxCPUsPerSocket=2\n")
    r = m.mete("up", "--data", os.path.join(m.dir, "other"), "--slurm-conf", bad)
    check(r.code == 2 and f"{bad}:2: MaxCPUsPerSocket=2 restricts and is not implemented: want a partition" in r.err, r)
    check("key of slurm.conf has no effect" in m.log_text() and "key=SlurmctldHost" in m.log_text(), m.log_text())
    check("key=AutoDetect" in m.log_text(), m.log_text())


def shows_the_partitions(s, node):
    lines = s.ok("sinfo", "-o", "%P|%a|%l|%L|%D|%t|%N").splitlines()
    equal(lines[0], "PARTITION|AVAIL|TIMELIMIT|DEFAULTTIME|NODES|STATE|NODELIST")
    equal([line for line in lines if "|up|2:" in line], [f"gpu-research|up|2:00:00|n/a|1|idle|{node}"])
    check(f"main*|up|1-00:00:00|30:00|1|idle|{node}" in lines and "far|up|1-00:00:00|n/a|3|unk*|ghost[1-3]" in lines, lines)
    check(not any("closed" in line for line in lines), lines)
    equal(s.ok("sinfo", "-h", "-p", "night", "-N", "-o", "%N %w %f"), f"ghost1 1 big\nghost2 1 big\nghost3 1 big\n{node} 7 big,fast\n")
    check(any(line.startswith("closed|inactive") for line in s.ok("sinfo", "-a", "-o", "%P|%a").splitlines()))
    shown = s.ok("scontrol", "-o", "show", "partition", "gpu-research")
    check(" AllowUsers=alice,bob " in shown and f" Nodes={node} " in shown and " PriorityTier=10 " in shown and
          " MaxTime=02:00:00 " in shown, shown)
    shown = s.ok("scontrol", "-o", "show", "partition", "night")
    check("ghost[1-3]" in shown and node in shown and " TotalNodes=4 " in shown, shown)
    shown = s.ok("scontrol", "-o", "show", "node", node)
    check(" Partitions=main,gpu-research,closed,night,held " in shown, shown)
    config = s.ok("scontrol", "show", "config")
    check(re.search(r"^MinJobAge +\t?= 600 sec$", config, re.M) and re.search(r"^ClusterName +\t?= site$", config, re.M), config)
    partitions = s.m.object("slurmpartitions")["items"]
    equal({p["metadata"]["name"] for p in partitions}, {"main", "gpu-research", "far", "closed", "night", "held"})


def takes_jobs_by_the_rules(s, node):
    equal(s.ok("srun", "sh", "-c", "echo $PMI_SIZE"), "1\n", "MpiDefault")
    equal(s.ok("srun", "--mpi=none", "sh", "-c", "echo ${PMI_SIZE-none}"), "none\n")
    failed = "sbatch: error: Batch job submission failed: "
    s.refused(failed + "Invalid partition name specified\n", "sbatch", "-p", "nonsense", "--wrap=true")
    s.refused(failed + "Required partition not available (inactive or drain)\n", "sbatch", "-p", "held", "--wrap=true")
    wait(lambda: s.m.object("node", node)["status"]["allocatable"]["cpu"] == "1", "the node offers the cpus of its line")
    equal(s.ok("sinfo", "-h", "-n", node, "-p", "main", "-o", "%c"), "1\n")
    s.refused(failed + "Requested node configuration is not available\n", "sbatch", "-c", "2", "--wrap=true")
    s.refused(failed + "Invalid job array specification\n", "sbatch", "--array=0-21", "--wrap=true")
    s.refused(failed + "Invalid job array specification\n", "sbatch", "--array=0-10:21", "--wrap=true")
    job = s.submit("-p", "gpu-research", "--wait")
    equal(s.ok("squeue", "-h", "-t", "all", "-j", job, "-o", "%P %T %l %N"), f"gpu-research COMPLETED 2:00:00 {node}\n")
    equal(s.ok("sacct", "-X", "-n", "-j", job, "-r", "gpu-research", "-o", "partition%-20").strip(), "gpu-research")
    job = s.submit("-p", "closed", "--wait")  # its alternate takes the job
    equal(s.ok("squeue", "-h", "-t", "all", "-j", job, "-o", "%P %T %l"), "main COMPLETED 30:00\n")
    job = s.submit("-p", "far,gpu-research", "--wait")
    equal(s.ok("squeue", "-h", "-t", "all", "-j", job, "-o", "%P %T"), "gpu-research COMPLETED\n")
    job = s.submit("-C", "fast", "--wait")
    equal(s.ok("squeue", "-h", "-t", "all", "-j", job, "-o", "%T"), "COMPLETED\n")
    goes_first_in_a_higher_tier(s)
    for words, partition, reason in ((["-p", "night"], "night", "PartitionDown"),
                                     (["-t", "2-0"], "main", "PartitionTimeLimit")):
        job = s.submit(*words)
        wait(lambda: s.reason(job) == f"{partition} PENDING {reason}", f"the job waits for {reason}")
        s.ok("scancel", job)


def refuses_unknown_nodes_and_features(s):
    failed = "sbatch: error: Batch job submission failed: Invalid "
    for words in (["-w", "nosuch"], ["-x", "nosuch[1-2]"], ["-w", "ghost[1-4]"]):
        s.refused(failed + "node name specified\n", "sbatch", *words, "--wrap=true")
    for words in (["-C", "slow"], ["-C", "big&slow"], ["-C", "slow|fast"], ["--prefer=slow"]):
        s.refused(failed + "feature specification\n", "sbatch", *words, "--wrap=true")
    job = s.submit("-H", "-x", "ghost[1-3]", "-C", "big&h100")  # a node that has not joined, and the model of GPUs
    s.refused("Invalid node name specified\n", "scontrol", "update", f"JobId={job}", "NodeList=nosuch")
    s.refused("Invalid feature specification\n", "scontrol", "update", f"JobId={job}", "Features=slow")
    s.ok("scancel", job)


def starts_anew_by_exit_codes(s):
    """RequeueExit starts the script again, RequeueExitHold after a release; JobFileAppend keeps what it wrote."""
    out = os.path.join(s.m.dir, "again.out")
    script = "echo ${SLURM_RESTART_COUNT-0}; case ${SLURM_RESTART_COUNT-0} in 0) exit 4;; 1) exit 9;; esac"
    job = s.ok("sbatch", "--parsable", "-o", out, f"--wrap={script}").strip()
    wait(lambda: s.reason(job) == "main PENDING JobHeldUser", "the job is held after its second attempt")
    s.ok("scontrol", "release", job)
    wait(lambda: s.ok("squeue", "-h", "-t", "all", "-j", job, "-o", "%T") == "COMPLETED\n", "the third attempt is the last one")
    with open(out) as f:
        equal(f.read(), "0\n1\n2\n")
    wait(lambda: s.ok("sacct", "-X", "-n", "-P", "-D", "-j", job, "-o", "state,exitcode") == "FAILED|4:0\nFAILED|9:0\nCOMPLETED|0:0\n",
         "all attempts are shown")
    job = s.ok("sbatch", "--parsable", "--wrap=exec sleep 1000").strip()
    wait(lambda: s.reason(job) == "main RUNNING None", "the job runs")
    s.ok("scontrol", "requeue", job)
    wait(lambda: s.ok("squeue", "-h", "-j", job, "-O", "restartcnt").strip() == "1" and s.reason(job) == "main RUNNING None", "it runs again")
    wait(lambda: s.ok("sacct", "-X", "-n", "-P", "-D", "-j", job, "-o", "state") == "REQUEUED\nRUNNING\n", "both attempts are shown")
    equal(s.ok("sacct", "-X", "-n", "-P", "-j", job, "-o", "state"), "RUNNING\n")
    s.ok("scancel", job)


def explains_jobs_without_pods(s):
    def why(job):
        r = s.m.mete("why", job)
        check(r.code == 0, r)
        return r.out
    first = s.submit("-H")
    check("JobHeldUser: it is held" in why(first) and f"scontrol release {first}" in why(first), why(first))
    job = s.submit("-d", f"afterok:{first}")
    check(f"Dependency: the jobs that it depends on have not come to the wanted end: afterok:{first}(unfulfilled)" in why(job), why(job))
    later = s.submit("--begin=now+1hour", "-a", "0-9")
    check("BeginTime: it may not begin before its time, 20" in why(later) and " waiting " in why(f"{later}_7"), why(later))
    check(s.m.mete("why", "777777").code == 3 and s.m.mete("why", f"{first}_1").code == 3)
    s.ok("scancel", first, job, later)


def goes_first_in_a_higher_tier(s):
    gpus = ["--gres=gpu:2", "--parsable"]
    holder = s.ok("sbatch", *gpus, "--wrap=exec sleep 1000").strip()
    wait(lambda: s.ok("squeue", "-h", "-j", holder, "-o", "%T") == "RUNNING\n", "the gpus are held")
    jobs = [s.ok("sbatch", *gpus, "-p", p, "--wrap=exec sleep 1000").strip() for p in ("main", "gpu-research")]
    wait(lambda: all("PENDING" in s.reason(j) and "None" not in s.reason(j) for j in jobs), "both jobs wait")
    s.ok("scancel", holder)
    wait(lambda: s.ok("squeue", "-h", "-j", jobs[1], "-o", "%T") == "RUNNING\n", "the job of the higher tier runs")
    check("PENDING" in s.reason(jobs[0]), s.ok("squeue"))
    s.ok("scancel", *jobs)


def changes_while_jobs_wait(s, node):
    job = s.submit("-p", "night")
    s.ok("scontrol", "update", "PartitionName=night", "State=UP", "MaxTime=5")
    wait(lambda: s.reason(job) == "night PENDING PartitionTimeLimit", "the new limit holds")
    s.ok("scontrol", "update", "PartitionName=night", "MaxTime=UNLIMITED")
    wait(lambda: s.ok("squeue", "-h", "-t", "all", "-j", job, "-o", "%T") == "COMPLETED\n", "the job ran")
    s.ok("scontrol", "create", "PartitionName=own", f"Nodes={node}", "Default=YES", "MaxTime=10")
    equal(s.ok("sinfo", "-h", "-p", "own,main", "-o", "%P %l").split(), ["main", "1-00:00:00", "own*", "10:00"])
    s.ok("scontrol", "update", "partition=own", "State=DOWN")
    job = s.submit()
    wait(lambda: s.reason(job) == "own PENDING PartitionDown", "the job waits in the new default partition")
    s.refused("delete_partition PartitionName=own: Partition is in use\n", "scontrol", "delete", "PartitionName=own")
    s.ok("scancel", job)
    wait(lambda: not s.ok("squeue", "-h", "-p", "own"), "the job is gone")
    s.ok("scontrol", "delete", "PartitionName=own")
    s.refused("Partition own not found\n", "scontrol", "show", "partition", "own")
    s.refused("slurm_update error: Invalid partition name specified\n", "scontrol", "update", "PartitionName=own", "State=UP")


def changes_requests_that_wait(s, node):
    """The node has one cpu, which a job holds: others wait with a pod each, which is made anew."""
    s.ok("sacctmgr", "-i", "add", "qos", "high")
    holder = s.ok("sbatch", "--parsable", "-p", "main", "--wrap=sleep 1000").strip()
    wait(lambda: s.reason(holder) == "main RUNNING None", "the cpu is held")
    job, rest = s.submit("-p", "main"), s.submit("-p", "main", "-a", "0-2")
    wait(lambda: s.reason(job).endswith("Resources") and s.m.ok("get", "pods", "-o", "name").count("pod/") == 5, "pods wait")
    s.refused("Requested node configuration is not available\n", "scontrol", "update", f"JobId={job}", "Gres=gpu:3")
    s.refused("Requested node configuration is not available\n", "scontrol", "update", f"JobId={job}", "Partition=gpu-research", "NumNodes=2")
    s.refused("slurm_update error: Invalid partition name specified\n", "scontrol", "update", f"JobId={job}", "Partition=gone")
    equal(s.ok("squeue", "-h", "-j", job, "-o", "%P %D %b"), "main 1 N/A\n")
    out = os.path.join(s.m.dir, "moved.out")
    for words in (("Partition=gpu-research", "QOS=high"), ("Features=big", "Gres=gpu:1", "MinMemoryNode=20M"), (f"StdOut={out}", "Priority=77")):
        s.ok("scontrol", "update", f"JobId={job}", *words)
    equal(s.ok("squeue", "-h", "-j", job, "-o", "%P %q %f %b %m"), "gpu-research high big gres/gpu:1 20M\n")
    s.ok("scontrol", "update", f"JobId={rest}", "Features=fast", "TimeLimit=5")
    wait(lambda: s.ok("squeue", "-h", "-j", job, "-o", "%Q") == "77\n", "the priority is set")
    s.refused("Job is no longer pending execution\n", "scontrol", "update", f"JobId={holder}", "Partition=gpu-research")
    s.ok("scancel", holder)
    wait(lambda: set(s.ok("squeue", "-h", "-t", "all", "-j", f"{job},{rest}", "-o", "%T").split()) == {"COMPLETED"}, "the jobs have ended")
    check(os.path.exists(out), out)
    equal(s.ok("sacct", "-n", "-P", "-X", "-j", f"{job},{rest}", "-o", "JobID,Partition,QOS,Constraints,State").splitlines(),
          [f"{job}|gpu-research|high|big|COMPLETED"] + [f"{rest}_{i}|main|normal|fast|COMPLETED" for i in range(3)])
    check("gres/gpu=1" in s.ok("sacct", "-n", "-P", "-X", "-j", job, "-o", "AllocTRES"))
    s.refused("Job is no longer pending execution\n", "scontrol", "update", f"JobId={job}", "QOS=normal")


def reserves_nodes(s, node):
    equal(s.ok("scontrol", "show", "reservation"), "No reservations in the system\n")
    created = s.ok("scontrol", "create", "reservation", "starttime=now+1hour", "duration=10", f"nodes={node}", "users=ann", "accounts=vision")
    equal(created, "Reservation created: ann-1\n")
    s.ok("scontrol", "update", "ReservationName=ann-1", "Duration=2:00:00")
    shown = s.ok("scontrol", "-o", "show", "res", "ann-1")
    check(shown.startswith("ReservationName=ann-1 StartTime=") and " Duration=02:00:00 " in shown and f" Nodes={node} NodeCnt=1 " in shown
          and " Users=ann " in shown and " Accounts=vision " in shown and " State=INACTIVE " in shown, shown)
    s.refused("Error creating the reservation: A start time must be given\n", "scontrol", "create", "reservation", "nodes=ALL", "users=x")
    s.ok("scontrol", "delete", "ReservationName=ann-1")
    s.refused("Requested reservation is invalid\n", "scontrol", "delete", "reservation=ann-1")


def reads_again(s, node):
    write(s.conf, f"ClusterName=site\nPartitionName=main Nodes=ALL Default=YES\nPartitionName=late Nodes={node} State=SLOW\n")
    r = s.call("scontrol", "reconfigure")
    check(r.code == 1 and f"{s.conf}:3: State=SLOW: want one of UP,DOWN,DRAIN,INACTIVE" in r.err, r)
    check("gpu-research" in s.ok("sinfo", "-h", "-o", "%R"))
    write(s.conf, f"ClusterName=site\nPartitionName=main Nodes=ALL Default=YES\nPartitionName=late Nodes={node}\n")
    s.ok("scontrol", "reconfigure")
    equal(s.ok("sinfo", "-h", "-o", "%P").split(), ["main*", "late"])
    labels = s.m.object("node", node)["metadata"]["labels"]
    wait(lambda: [k for k in s.m.object("node", node)["metadata"]["labels"] if k.startswith("partition.")]
         == ["partition.mete.dev/late"], f"the node has the labels of its partitions: {labels}")
    drains_a_node_without_its_gpus(s, node)


def drains_a_node_without_its_gpus(s, node):
    write(s.conf, f"NodeName={node} Gres=gpu:3\nPartitionName=main Nodes=ALL Default=YES\n")
    s.ok("scontrol", "reconfigure")
    wait(lambda: s.ok("sinfo", "-h", "-o", "%t|%E") == "drain|gres/gpu count reported lower than configured (2 < 3)\n",
         "the node is drained")
    equal([k for k in s.m.object("node", node)["metadata"]["labels"] if k.startswith("feature.")], [])
    write(s.conf, f"NodeName={node} Gres=gpu:2\nPartitionName=main Nodes=ALL Default=YES\n")
    s.ok("scontrol", "reconfigure")
    s.ok("scontrol", "update", f"NodeName={node}", "State=RESUME")
    wait(lambda: s.ok("sinfo", "-h", "-o", "%t") == "idle\n", "the node is back")
    has_less_than_its_line(s, node)
    divides_gpus(s, node)


def has_less_than_its_line(s, node):
    write(s.conf, f"NodeName={node} RealMemory=900000000\nPartitionName=main Nodes=ALL Default=YES\n")
    s.ok("scontrol", "reconfigure")
    wait(lambda: re.fullmatch(r"drain\|Low RealMemory \(reported:\d+ < 100.00% of configured:900000000\)\n", s.ok("sinfo", "-h", "-o", "%t|%E")),
         "the node is drained")


def divides_gpus(s, node):
    """MIG slices by gres.conf, a name for whole GPUs, and the types that AutoDetect=nvml makes."""
    caps = "/dev/nvidia-caps/nvidia-cap"
    write(os.path.join(s.m.dir, "gres.conf"), f"NodeName={node} Name=gpu Type=tesla File=/dev/nvidia0\n" +
          "".join(f"NodeName={node} Name=gpu Type=1g.10gb MultipleFiles=/dev/nvidia1,{caps}{n},{caps}{n + 1}\n" for n in (21, 30)))
    write(os.path.join(s.m.dir, "topology.conf"), f"SwitchName=core Switches=leaf\nSwitchName=leaf Nodes={node}\n")
    write(s.conf, f"GresTypes=gpu\nNodeName={node} Gres=gpu:tesla:1,gpu:1g.10gb:2\nPartitionName=main Nodes=ALL Default=YES\n")
    s.ok("scontrol", "reconfigure")
    s.ok("scontrol", "update", f"NodeName={node}", "State=RESUME")
    wait(lambda: s.ok("sinfo", "-h", "-o", "%t|%G") == "idle|gpu:tesla:1,gpu:1g.10gb:2\n", "the second gpu is divided", 60)
    shown = s.ok("scontrol", "-o", "show", "node", node)
    check(" Gres=gpu:tesla:1,gpu:1g.10gb:2 " in shown and "gres/gpu=3,gres/gpu:tesla=1,gres/gpu:1g.10gb=2" in shown, shown)
    equal([s.m.object("node", node)["metadata"]["labels"].get(f"switch.mete.dev/{i}") for i in (1, 2, 3)], ["leaf", "core", None])
    equal(s.ok("scontrol", "show", "topology"), f"SwitchName=leaf Level=0 LinkSpeed=1 Nodes={node}\n"
          f"SwitchName=core Level=1 LinkSpeed=1 Nodes={node} Switches=leaf\n")
    held = s.ok("sbatch", "--parsable", "--gres=gpu:h100_1g.10gb:1", "--prefer=h100", "--wrap=exec sleep 1000").strip()
    wait(lambda: s.ok("squeue", "-h", "-j", held, "-o", "%T %b") == "RUNNING gres/gpu:h100_1g.10gb:1\n", "the slice is held")
    shown = s.ok("scontrol", "-d", "-o", "show", "node", node)
    check(" GresUsed=gpu:tesla:0,gpu:1g.10gb:1 " in shown and "gres/gpu=1,gres/gpu:1g.10gb=1" in shown.split("AllocTRES=")[1], shown)
    out = os.path.join(s.m.dir, "devices")
    for gres, pattern in (("gpu:1g.10gb:1", "MIG-"), ("gpu:tesla:1", "0")):
        s.ok("sbatch", "--wait", f"--gres={gres}", "--tmp=1M", "-o", out, "--wrap=echo $CUDA_VISIBLE_DEVICES $SLURM_TOPOLOGY_ADDR")
        with open(out) as f:
            words = f.read().split()
            check(words[0].startswith(pattern) and words[1] == f"core.leaf.{node}", gres, words)
    s.refused("sbatch: error: Batch job submission failed: Requested node configuration is not available\n",
              "sbatch", "--gres=gpu:tesla:2", "--wrap=true")
    s.refused("sbatch: error: Batch job submission failed: Requested node configuration is not available\n", "sbatch", "--tmp=900T", "--wrap=true")
    s.ok("scancel", held)
    gives_shards(s, node)
    write(os.path.join(s.m.dir, "gres.conf"), "Name=gpu Type=small MultipleFiles=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap3\n")
    r = s.call("scontrol", "reconfigure")
    check(r.code == 1 and "gres.conf:1: Type=small: want the name of a MIG profile" in r.err, r)


def gives_shards(s, node):
    write(os.path.join(s.m.dir, "gres.conf"), "Name=gpu File=/dev/nvidia[0-1]\nName=shard Count=4 File=/dev/nvidia1\nName=mps Count=100\n")
    write(s.conf, f"GresTypes=gpu,shard,mps\nNodeName={node} Gres=gpu:2,shard:4,mps:100\nPartitionName=main Nodes=ALL Default=YES\n")
    s.ok("scontrol", "reconfigure")
    wait(lambda: s.ok("sinfo", "-h", "-o", "%t|%G") == "idle|gpu:h100:1,shard:4,mps:100\n", "the slices are gone, the gpu has shards", 60)
    held = s.ok("sbatch", "--parsable", "--gres=shard:1", "--wrap=exec sleep 1000").strip()
    wait(lambda: s.ok("squeue", "-h", "-j", held, "-o", "%T %b") == "RUNNING gres/shard:1\n", "the shard is held")
    shown = s.ok("scontrol", "-d", "-o", "show", "node", node)
    check(" GresUsed=gpu:h100:0,shard:1,mps:0 " in shown and "gres/shard=1" in shown.split("AllocTRES=")[1], shown)
    s.ok("scancel", held)
