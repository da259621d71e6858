"""Each key and column of `squeue`, `sacct`, `sinfo` and `scontrol show`, of Mete and of Debian's Slurm 22.05 with its database, after the
same workload: its presence, its place, its form, and its value where both must agree; and the layout and the messages of the commands.

What differs and is not in slurm_fields_exceptions.py fails; DETAILS=1 prints what has a reason, too. Needs root and Debian's packages
slurmctld, slurmd, slurm-client, munge, slurmdbd and mariadb-server (`tools/bootstrap --peers`)."""

import json
import os
import re

from harness import BUILD, METE, Mete, check, execute, wait
from slurm_fields_exceptions import EXCEPTIONS, reason_of
from slurm_shares import CONF, PROGRAMS, Accounts

CPUS = 8
GPUS = 4
FIRST_ID = 70001  # of the real one: no other number looks like an id
NOBODY = 65534

# What both sites have.
SITE = """MaxArraySize=1001
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=short Nodes=ALL MaxTime=30 DefaultTime=10 PriorityTier=2
PartitionName=down Nodes=ALL State=DOWN
"""
OWN = """FirstJobId={first}
SlurmdSpoolDir={dir}/spool
SlurmdPidFile={dir}/slurmd.pid
SlurmdLogFile={dir}/slurmd.log
SlurmdParameters=config_overrides
SelectTypeParameters=CR_Core_Memory
AccountingStoreFlags=job_comment
JobAcctGatherType=jobacct_gather/linux
MpiDefault=none
ReturnToService=2
GresTypes=gpu
NodeName={host} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} {shape} Gres=gpu:h100:{gpus} State=UNKNOWN
"""


class Side:
    """One of the two: runs commands and knows the ids of the workload's jobs."""

    def __init__(self, name, place, env):
        self.name = name
        self.env = env
        self.dir = place
        self.out = os.path.join(place, "out")
        self.ids = {}
        self.known = {}
        self.host = None
        os.mkdir(self.out)
        os.chmod(self.out, 0o777)

    def argv(self, words):
        raise NotImplementedError

    def call(self, *words, uid=0, stdin="", env=()):
        def become():
            os.umask(0o022)
            if uid:
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)
        return execute(self.argv(words), env={**self.env, **dict(env)}, cwd=self.out, stdin=stdin, preexec_fn=become)

    def submit(self, tag, *words, **options):
        r = self.call("sbatch", "--parsable", *words, **options)
        check(r.code == 0, self.name, tag, words, r)
        self.ids[tag] = r.out.strip()

    def state(self, job):
        return self.call("squeue", "-h", "-t", "all", "-o", "%T", "-j", job).out.split()

    def wait_state(self, tag, *states):
        wait(lambda: set(self.state(self.ids[tag])) == set(states), f"{self.name}: {tag} is {states}", 200)


class Ours(Side):
    def argv(self, words):
        return [METE, *words]


class Theirs(Side):
    def argv(self, words):
        return list(words)


class Real(Accounts):
    """The real one with a node that has GPUs."""

    def __init__(self, shape):
        super().__init__()
        own = OWN.format(first=FIRST_ID, dir=self.dir, host=self.host, port=self.ports[1], shape=shape, gpus=GPUS)
        lines = [line for line in CONF.splitlines() if not line.startswith(("NodeName", "PartitionName", "Priority"))]
        self.conf = "\n".join(lines) + "\n" + own + SITE

    def begin(self):
        super().begin()
        self.write_plain("slurm.conf", self.conf)
        self.write_plain("gres.conf", f"NodeName={self.host} Name=gpu Type=h100 File={self.dir}/gpu[0-{GPUS - 1}]\n")
        for i in range(GPUS):
            os.mknod(f"{self.dir}/gpu{i}", 0o20666, os.makedev(195, i))
        os.mkdir(f"{self.dir}/spool")
        self.call("sacctmgr", "-i", "add", "cluster", "mete")
        self.start("slurmctld", "-D", "-i")
        self.start("slurmd", "-D", "-N", self.host)
        wait(lambda: self.call("sinfo", "-h", "-o", "%T", "-p", "main").out.strip() == "idle", "the real Slurm is idle", 60)

    def write_plain(self, name, text):
        with open(f"{self.dir}/{name}", "w") as f:
            f.write(text.format(dir=self.dir, host=self.host, ports=self.ports, flags="NONE"))
        os.chmod(f"{self.dir}/{name}", 0o644)


# ---- what differs ----

STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


class Table:
    """The results by command and key."""

    def __init__(self):
        self.found = {}  # (command, key): [verdict, sample]
        self.used = set()

    def put(self, command, key, verdict, *sample):
        now = self.found.setdefault((command, key), [verdict, sample])
        if now[0] == "equal" and verdict != "equal":
            self.found[command, key] = [verdict, sample]

    def same(self, command, key, ours, real, *where):
        self.put(command, key, "equal" if ours == real else "different", f"ours {ours!r} real {real!r}", *where)

    def reason(self, command, key):
        at = reason_of(command, key)
        if at:
            self.used.add(at)
        return at and EXCEPTIONS[at]

    def report(self):
        """Prints a table by command; what no exception excuses."""
        bad = []
        print("| command | keys | equal | by exception | wrong |\n| --- | --- | --- | --- | --- |")
        for command in dict.fromkeys(c for c, _ in self.found):
            odd = {k: v for (c, k), v in self.found.items() if c == command and v[0] != "equal"}
            wrong = {k: v for k, v in odd.items() if not self.reason(command, k)}
            n = sum(1 for c, _ in self.found if c == command)
            print(f"| {command} | {n} | {n - len(odd)} | {len(odd) - len(wrong)} | {len(wrong)} |", flush=True)
            if os.environ.get("DETAILS"):
                for k, v in odd.items():
                    print(f"    {command}: {k}: {v[0]}: {' '.join(map(str, v[1]))[:300]}: {self.reason(command, k)}")
            bad += [f"{command}: {k}: {v[0]}: {' '.join(map(str, v[1]))}" for k, v in wrong.items()]
        print("not needed this time:", *[" ".join(at) for at in EXCEPTIONS if at not in self.used], sep="\n    ")
        return bad


KEY = re.compile(r"(?:^|\s)([A-Z][A-Za-z]*(?:[_/:][A-Za-z:]+)*)=")


def pairs(record):
    """(line, key, value) of a record of scontrol."""
    found = []
    for number, line in enumerate(record.splitlines()):
        at = list(KEY.finditer(line))
        for here, after in zip(at, at[1:] + [None]):
            found.append((number, here[1], line[here.end():after.start() if after else None]))
    return found


# Values that are moments or durations: their form must agree.
TIMED = {"RunTime", "AllocNode:Sid", "CPULoad", "FreeMem", "SecsPreSuspend", "TIME", "TIME_LEFT", "PENDING_TIME", "ALLOC_SID", "Elapsed",
         "ElapsedRaw", "CPUTime", "CPUTimeRAW", "Reserved", "ResvCPU", "ResvCPURAW", "Planned", "PlannedCPU", "PlannedCPURAW", "TotalCPU", "UserCPU",
         "SystemCPU", "AveCPU", "MinCPU", "SrunHost:Pid", "CPU_LOAD", "FREE_MEM", "DBIndex", "MaxRSS", "AveRSS", "MaxVMSize", "AveVMSize",
         "PRIORITY", "Priority"}
# Values that are ids of jobs: those of the real one are told from other numbers.
IDS = {"JobId", "ArrayJobId", "Dependency", "JOBID", "ARRAY_JOB_ID", "DEPENDENCY", "JobID", "JobIDRaw", "StepId", "STEPID", "StdOut", "StdErr",
       "STDOUT", "STDERR", "SubmitLine"}


def plain(side, key, value):
    value = STAMP.sub("STAMP", value.strip().replace(side.dir, "DIR"))
    if key in IDS:
        for tag, job in sorted(side.ids.items(), key=lambda item: -len(item[1])):
            value = re.sub(rf"(?<![\d<]){job}(?!\d)", f"<{tag}>", value)
    if key in TIMED:
        value = re.sub(r"\d+", "9", value)
    return value


def compare_records(table, command, sides, records, tag):
    """Records of scontrol show: the keys in their order, on the same lines, with the same values."""
    ours, real = [pairs(r) for r in records]
    mine = {k: v for _, k, v in ours}
    theirs = {k: v for _, k, v in real}
    for key in dict.fromkeys([k for _, k, _ in real] + [k for _, k, _ in ours]):
        if key not in mine:
            table.put(command, key, "missing", f"{tag}: real {theirs[key]!r}")
        elif key not in theirs:
            table.put(command, key, "extra", f"{tag}: ours {mine[key]!r}")
        else:
            table.same(command, key, plain(sides[0], key, mine[key]), plain(sides[1], key, theirs[key]), tag)
    common = set(mine) & set(theirs)
    order = [[k for _, k, _ in side if k in common] for side in (ours, real)]
    table.same(command, "(order)", *order, tag)
    lines = [[[k for n, k, _ in side if n == i and k in common] for i in dict.fromkeys(n for n, _, _ in side)] for side in (ours, real)]
    table.same(command, "(lines)", *[[line for line in side if line] for side in lines], tag)


# ---- columns ----

SQUEUE_LETTERS = "aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ"
SINFO_LETTERS = "aAbBcCdDeEfFgGhHiIlLmMnNoOpPrRsStTuUvVwXYZz"
SQUEUE_NAMES = """Account AccrueTime admin_comment AllocNodes AllocSID ArrayJobId ArrayTaskId AssocId BatchFlag BatchHost BoardsPerNode BurstBuffer
BurstBufferState Cluster ClusterFeature Command Comment Contiguous Container Cores CoreSpec CPUFreq cpus-per-task cpus-per-tres Deadline DelayBoot
Dependency DerivedEC EligibleTime EndTime exit_code Feature GroupId GroupName HetJobId HetJobIdSet HetJobOffset JobArrayId JobId LastSchedEval
Licenses MaxCPUs MaxNodes MCSLabel mem-per-tres MinCpus MinMemory MinTime MinTmpDisk Name Network Nice NodeList Nodes NTPerBoard NTPerCore
NTPerNode NTPerSocket NumCPUs NumNodes NumTasks Origin OriginRaw OverSubscribe Partition PreemptTime PendingTime Prefer Priority PriorityLong
Profile QOS Reason ReasonList Reboot ReqNodes ReqSwitch Requeue Reservation ResizeTime RestartCnt ResvPort SchedNodes SCT SiblingsActive
SiblingsActiveRaw SiblingsViable SiblingsViableRaw Sockets SPerBoard StartTime State StateCompact STDERR STDIN STDOUT SubmitTime system_comment
Threads TimeLeft TimeLimit TimeUsed tres-alloc tres-bind tres-freq tres-per-job tres-per-node tres-per-socket tres-per-step
tres-per-task UserId UserName Wait4Switch WCKey WorkDir ExcNodes""".split()
SINFO_NAMES = """AllocMem AllocNodes Available Cluster Comment Cores CPUs CPUsLoad CPUsState DefaultTime Disk Extra Features features_act
FreeMem Gres GresUsed Groups MaxCPUsPerNode Memory NodeAddr NodeAI NodeAIOT NodeHost NodeList Nodes OverSubscribe Partition PartitionName Port
PreemptMode PriorityJobFactor PriorityTier Reason Root Size SocketCoreThread Sockets StateCompact StateLong StateComplete Threads Time TimeStamp User UserLong
Version Weight""".split()
STEP_LETTERS = "AbijkMnNPSuUl"
WIDE = 220




def known(side, command, option, names):
    """The letters or names that a side knows; a call each, once."""
    if (command, option) not in side.known:
        side.known[command, option] = [n for n in names if not side.call(command, "-h", option, f"%{n}" if option == "-o" else n).err]
    return side.known[command, option]


def columns_of(side, command, option, names, words):
    """The header and the values of rows, by column."""
    good = known(side, command, option, names)
    form = "".join(f"%{WIDE}{n}" for n in good) if option == "-o" else ",".join(f"{n}:{WIDE}" for n in good)
    rows = [row.encode() for row in side.call(command, *words, option, form).out.splitlines()]
    prefix = "%" if option == "-o" else ""
    return {prefix + n: [row[i * WIDE:(i + 1) * WIDE].decode(errors="replace").strip() for row in rows] for i, n in enumerate(good)}


def compare_columns(table, command, sides, found, tag):
    ours, real = found
    for key in dict.fromkeys([*real, *ours]):
        if key not in ours:
            table.put(command, key, "missing", f"{tag}: real {real[key]!r}")
        elif key not in real:
            table.put(command, key, "extra", f"{tag}: ours {ours[key]!r}")
        else:
            header = real[key][0] if real[key] else key
            table.same(command, key, *[[plain(side, header, v) for v in values] for side, values in zip(sides, (ours[key], real[key]))], tag)


def compare_listed(table, sides, command, option, names, words, tag):
    """`words` of a side: a function, for the ids of its jobs."""
    found = [columns_of(side, command, option, names, words(side)) for side in sides]
    compare_columns(table, f"{command} {option}", sides, found, tag)


# ---- the workload ----

SLEEP = "--wrap=exec sleep 1000"
LONG = "a name with blanks, ünïcödé and many more letters than a column has"

# Jobs that stay as they are while they are compared, in the order of their submission: tag, state, words.
LIVE = [
    ("run", "RUNNING", ["-n2", "--comment=two words", "-t", "10", "--mem=100M", SLEEP]),
    ("other", "RUNNING", ["-c2", "--mem-per-cpu=50M", "-t", "60", SLEEP]),
    ("gpu", "RUNNING", ["--gres=gpu:2", "--mem=10M", "-t", "60", SLEEP]),
    ("typed", "RUNNING", ["--gpus=h100:1", "-N1", "--mem=10M", "-t", "60", SLEEP]),
    ("late", "RUNNING", ["-t", "1", "--mem=10M", SLEEP]),
    ("long", "RUNNING", ["-J", LONG, "--mem=10M", "--no-requeue", "-t", "60", SLEEP]),
    ("array", None, ["-a", "0-7:2%1", "-p", "short", "--mem=10M", SLEEP]),
    ("held", "PENDING", ["-H", "--nice=5", "-N1", "--ntasks-per-node=2", "--mem=10M", SLEEP]),
    ("begin", "PENDING", ["-b", "now+1hour", "--deadline=now+3hours", "-t", "60", "--mem=10M", SLEEP]),
    ("after", "PENDING", ["-d", "afterok:{run}", "--mem=10M", SLEEP]),
    ("either", "PENDING", ["-d", "afterany:{run}?afternotok:{other}", "--mem=10M", SLEEP]),
    ("single", "PENDING", ["-J", "run", "-d", "singleton", "--mem=10M", SLEEP]),
    ("down", "PENDING", ["-p", "down", "--mem=10M", SLEEP]),
    ("booked", "PENDING", ["--reservation=later", "-t", "10", "--mem=10M", SLEEP]),
    ("account", "PENDING", ["-H", "-A", "acc", "-q", "high", "--mem=10M", "-t", "1-02:03:04", "--wckey=w", SLEEP]),
    ("files", "PENDING", ["-H", "-o", "o-%x-%j", "-e", "e-%u-%j", "-i", "/dev/zero", "--mem=10M", "--open-mode=append", SLEEP]),
    ("whole", "PENDING", ["--exclusive", "-t", "5", "--mem=10M", "-N1-2", "-w", "{host}", SLEEP]),
    ("min", "PENDING", ["-H", "-t", "20", "--time-min=10", "--mincpus=2", "--mem=0", SLEEP]),
    ("tasks", "PENDING", ["-H", "--gpus-per-task=1", "-n2", "--mem=10M", SLEEP]),
    ("mail", "PENDING", ["-H", "--signal=B:USR1@60", "--requeue", "-k", "--mem-per-gpu=10M", "--gpus-per-node=1", SLEEP]),
]

STEPS = """#!/bin/sh
srun -J first true
srun -n2 -J second sh -c 'exit $SLURM_PROCID'
exit 3
"""
# Jobs that end: tag, words, the state at their end.
ENDED = [
    ("good", ["-t", "5", "--mem=10M", "--wrap=true"], "COMPLETED"),
    ("bad", ["-t", "5", "--mem=10M", "--wrap=exit 3"], "FAILED"),
    ("killed", ["-t", "5", "--mem=10M", "--wrap=kill -9 $$"], "FAILED"),
    ("steps", ["--mem=10M", "-n2", "-t", "5", "{dir}/steps.sh"], "FAILED"),
    ("elements", ["-t", "5", "--mem=10M", "-a", "1-3", "--wrap=exit $((SLURM_ARRAY_TASK_ID - 1))"], None),
]


def fill(side, words):
    return [re.sub(r"{(\w+)}", lambda m: {"host": side.host, "dir": side.out}.get(m[1]) or side.ids[m[1]], w) for w in words]


def begin_live(side):
    if side.name == "ours":  # each element takes a number: ids get as long as the real ones
        for _ in range(10):
            job = side.call("sbatch", "--parsable", "-H", "-a", "0-1000", "--wrap=true").out.strip()
            side.call("scancel", job)
    side.call("sacctmgr", "-i", "add", "account", "acc")
    side.call("sacctmgr", "-i", "add", "user", "root", "account=acc")
    side.call("sacctmgr", "-i", "add", "qos", "high", "Priority=100")
    side.call("sacctmgr", "-i", "modify", "user", "root", "set", "DefaultAccount=acc")
    side.call("sacctmgr", "-i", "modify", "account", "acc", "set", "qos+=high")
    r = side.call("scontrol", "create", "reservation", "ReservationName=later", "StartTime=now+10hours", "Duration=60", "Users=root",
                  f"Nodes={side.host}")
    check(r.code == 0, side.name, r)
    for tag, state, words in LIVE:
        name = [] if "-J" in words else ["-J", tag]
        side.submit(tag, *name, *fill(side, words), uid=NOBODY if tag == "other" else 0)
        if state:
            side.wait_state(tag, state)
    wait(lambda: sorted(side.state(side.ids["array"])) == ["PENDING", "RUNNING"], f"{side.name}: one element runs", 120)
    # Reasons come with the first look at a job.
    for tag in ("whole", "booked", "down", "begin", "after", "single"):
        wait(lambda: side.call("squeue", "-h", "-o", "%r", "-j", side.ids[tag]).out.strip() not in ("None", ""), f"{side.name}: {tag} has a reason", 120)


def end_live(side):
    side.call("scancel", side.ids["other"])
    side.call("scancel", side.ids["held"])
    side.wait_state("other", "CANCELLED")
    side.wait_state("late", "TIMEOUT")
    side.call("scontrol", "requeue", side.ids["gpu"])
    wait(lambda: side.state(side.ids["gpu"])[0] in ("PENDING", "RUNNING") and "Restarts=1" in
         side.call("scontrol", "show", "job", side.ids["gpu"]).out, f"{side.name}: gpu is requeued", 200)
    for tag, _, _ in LIVE:
        if tag not in ("other", "held", "late"):
            side.call("scancel", side.ids[tag])
    wait(lambda: not side.call("squeue", "-h").out, f"{side.name}: all is over", 200)
    with open(f"{side.out}/steps.sh", "w") as f:
        f.write(STEPS)
    for tag, words, state in ENDED:
        side.submit(tag, "-J", tag, *fill(side, words))
        wait(lambda: not side.call("squeue", "-h").out, f"{side.name}: {tag} is over", 120)
        rows = 3 if tag == "elements" else 1
        wait(lambda: side.call("sacct", "-nXP", "-j", side.ids[tag], "-o", "End").out.count("T") == rows, f"{side.name}: accounting has {tag}", 60)


# ---- comparisons ----

def compare_jobs(table, sides, tags):
    """scontrol, squeue and sacct of jobs."""
    for tag in tags:
        for words in ([], ["-d"]):
            shown = [side.call("scontrol", *words, "show", "job", side.ids[tag]).out for side in sides]
            records = [[r for r in text.split("\n\n") if r.strip()] for text in shown]
            table.same("show job", "(records)", *map(len, records), tag)
            for ours, real in zip(*records):
                compare_records(table, "show job", sides, (ours, real), tag)
        def these(side, tag=tag):
            return ["-t", "all", "-S", "i", "-j", side.ids[tag]]
        compare_listed(table, sides, "squeue", "-o", SQUEUE_LETTERS, these, tag)
        compare_listed(table, sides, "squeue", "-O", SQUEUE_NAMES, these, tag)
    compare_accounts(table, sides, tags)


def compare_accounts(table, sides, tags):
    for tag in tags:
        rows = [[line.split("\x01") for line in
                 side.call("sacct", "-P", "--delimiter=\x01", "-o", "ALL", "-j", side.ids[tag]).out.splitlines()] for side in sides]
        table.same("sacct", "(rows)", *[[plain(side, "JobID", line[side_rows[0].index("JobID")]) for line in side_rows]
                                        for side, side_rows in zip(sides, rows)], tag)
        for ours, real in zip(rows[0][1:], rows[1][1:]):
            mine, theirs = [dict(zip(side_rows[0], line)) for side_rows, line in zip(rows, (ours, real))]
            step = "step" if "." in mine["JobID"] else "job"
            compare_columns(table, f"sacct of a {step}", sides, [{k: [k, v] for k, v in row.items()} for row in (mine, theirs)], tag)


def compare_nodes(table, sides, tag):
    for words in ([], ["-d"]):
        shown = [side.call("scontrol", *words, "show", "node", side.host).out for side in sides]
        compare_records(table, "show node", sides, shown, tag)
    compare_listed(table, sides, "sinfo", "-o", SINFO_LETTERS, lambda side: ["-p", "main"], tag)
    compare_listed(table, sides, "sinfo", "-O", SINFO_NAMES, lambda side: ["-p", "main"], tag)


def compare_partitions(table, sides, tag):
    for name in ("main", "short", "down"):
        compare_records(table, "show partition", sides, [side.call("scontrol", "show", "partition", name).out for side in sides], f"{tag} {name}")


def compare_config(table, sides):
    lines = [dict((k.strip(), v.strip()) for k, _, v in (line.partition("=") for line in side.call("scontrol", "show", "config").out.splitlines()
                                                          if " = " in line)) for side in sides]
    for key in dict.fromkeys([*lines[1], *lines[0]]):
        if key not in lines[0]:
            table.put("show config", key, "missing", f"real {lines[1][key]!r}")
        elif key not in lines[1]:
            table.put("show config", key, "extra", f"ours {lines[0][key]!r}")
        else:
            table.same("show config", key, *[plain(side, key, line[key]) for side, line in zip(sides, lines)])


# ---- layouts and messages ----

# Words whose output is the same: text, errors and code. {run} and so on are ids.
TEXTS = [line.split("|") for line in """squeue
squeue|-l
squeue|--start
squeue|-s
squeue|-h
squeue|-r
squeue|-o|%i
squeue|-o|[%10j]%-5t|%T,
squeue|-O|ArrayJobID,Name
squeue|-h|-j|{run}|-O|Name:8,State:.10,Partition:5x
squeue|-O|nope
squeue|-O|JobID,
squeue|-o|%1
squeue|-o|
squeue|-j|99999999
squeue|-j|{run},99999999
squeue|-j|x
squeue|-u|nosuchuser
squeue|-u|root
squeue|-p|nosuch
squeue|-t|nope
squeue|-t|PD,R
squeue|-n|run
squeue|-w|nosuch
squeue|-S|nope
squeue|--nope
squeue|extra
squeue|-V
squeue|-A|nosuch
squeue|--me
squeue|-s|{run}
sinfo
sinfo|-l
sinfo|-N
sinfo|-Nl
sinfo|-s
sinfo|-R
sinfo|-Rl
sinfo|-h
sinfo|-p|nosuch
sinfo|-n|nosuch
sinfo|-t|idle
sinfo|-t|nope
sinfo|-o|%P
sinfo|-o|%5P|%.5P|-h
sinfo|-O|nope
sinfo|-O|NodeList,CPUs:8,Gres:.20
sinfo|-a
sinfo|-d
sinfo|-r
sinfo|-S|-P
sinfo|--nope
sinfo|extra
sinfo|-V
sacct|-j|{run}
sacct|-j|{run}|-b
sacct|-j|{run}|-n
sacct|-j|{run}|-p
sacct|-j|{run}|-P
sacct|-j|{run}|-l
sacct|-j|{run}|-o|jobname%3,jobname%-12,jobname
sacct|-j|{run}|-o|nope
sacct|-j|{run}|-o|jobid%x
sacct|-j|{run}|-P|--delimiter=;|-o|JobID,State
sacct|-j|99999999
sacct|-j|x
sacct|-s|nope
sacct|-S|nope
sacct|-E|yesterday|-S|tomorrow
sacct|--nope
sacct|extra
sacct|-V
sacct|-u|nosuchuser
sacct|-j|{run}|--units=M|-o|reqmem
scontrol|show|job|99999999
scontrol|show|job|x
scontrol|show|node|nosuch
scontrol|show|partition|nosuch
scontrol|show|reservation|nosuch
scontrol|show|reservation
scontrol|show|step|99999999.0
scontrol|show|nope
scontrol|show
scontrol|nope
scontrol|ping
scontrol|-V
scontrol|--nope
scontrol|-o|show|partition|short
scontrol|show|hostnames|n[1-3],m
scontrol|show|hostnames|n[1
scontrol|show|hostlist|n1,n2,n3
scontrol|show|hostlistsorted|n3,n1
scontrol|hold|99999999
scontrol|release|99999999
scontrol|requeue|99999999
scontrol|suspend|99999999
scontrol|update|jobid=99999999|timelimit=5
scontrol|update|jobid={run}|nope=5
scontrol|update|jobid={run}|timelimit=x
scontrol|update|jobid={run}
scontrol|update|nope=1
scontrol|update
scontrol|update|nodename=nosuch|state=drain|reason=x
scontrol|update|nodename={host}|state=drain
scontrol|update|nodename={host}|state=nope
scontrol|wait_job|99999999
scontrol|delete|reservation=nosuch
scancel|99999999
scancel|x
scancel
scancel|--nope
scancel|-t|nope
scancel|-u|nosuchuser
scancel|{run}.99""".splitlines()]


def blanks(text):
    """Blanks that end a line are layout, too, but nobody reads them."""
    return "\n".join(line.rstrip() for line in text.splitlines())


def shape(side, text):
    """Ids of both sides have five digits; moments and durations keep their form."""
    for tag, job in sorted(side.ids.items(), key=lambda item: -len(item[1])):
        text = re.sub(rf"(?<!\d){job}(?!\d)", f"<{tag}>", text)
    text = STAMP.sub("STAMP", text.replace(side.dir, "DIR").replace(METE, side.argv(["X"])[-1]))
    text = re.sub(r"\b\d+:\d\d(:\d\d)?\b", "TIME", text)
    return re.sub(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun) .*\d{4}", "DATE", text)


def compare_texts(table, sides):
    for words in TEXTS:
        results = [side.call(*fill(side, words)) for side in sides]
        for what in ("out", "err"):
            shapes = [shape(side, blanks(getattr(r, what))).strip("\n") for side, r in zip(sides, results)]
            table.same(f"{words[0]} texts", f"{' '.join(words[1:])} ({what})", *shapes)
        table.same(f"{words[0]} texts", f"{' '.join(words[1:])} (code)", *[r.code for r in results])


def paths_of(value, at=""):
    """The paths of members of a document, and what is a number or a text there."""
    if isinstance(value, dict):
        found = {}
        for key, member in value.items():
            found.update(paths_of(member, f"{at}.{key}" if at else key))
        return found or {at: "object"}
    if isinstance(value, list):
        found = {}
        for member in value:
            found.update(paths_of(member, at + "[]"))
        return found or {at: "list"}
    return {at: type(value).__name__}


def compare_documents(table, sides):
    for name, words in (("squeue", []), ("sinfo", []), ("sacct", ["-j", "{run}"])):
        found = []
        for side in sides:
            r = side.call(name, *fill(side, words), "--json")
            try:
                found.append(paths_of(json.loads(r.out)))
            except ValueError:
                found.append({"(none)": r.err})
        for key in dict.fromkeys([*found[1], *found[0]]):
            if key not in found[0]:
                table.put(f"{name} --json", key, "missing", f"real {found[1][key]}")
            elif key in found[1]:
                table.same(f"{name} --json", key, *[side[key] for side in found])


def main():
    missing = [name for name in PROGRAMS + ("slurmd",) if not any(os.path.exists(f"{d}/{name}") for d in ("/usr/bin", "/usr/sbin"))]
    check(not missing, f"missing: {missing}: tools/bootstrap --peers")
    m = Mete(f"emulated:{GPUS}xH100")
    conf = os.path.join(m.dir, "slurm.conf")
    m.arguments = ["--cpus", str(CPUS), "--slurm-conf", conf]
    host = Accounts().host
    with open(conf, "w") as f:
        f.write("ClusterName=mete\n" + SITE)
    with m:
        ours = Ours("ours", m.dir, {**m.env, "PATH": os.environ["PATH"]})
        ours.links = os.path.join(m.dir, "links")
        m.mete("slurm-links", ours.links, env={"PATH": "/nonexistent"}.items())
        ours.env["PATH"] = f"{ours.links}:/usr/bin:/bin"
        with Real(shape_of(ours)) as real:
            theirs = Theirs("real", real.dir, real.env)
            sides = (ours, theirs)
            for side in sides:
                side.host = host
            compare(sides)


def shape_of(ours):
    """The words of slurm.conf for a node as Mete's."""
    wait(lambda: ours.call("sinfo", "-h", "-o", "%T", "-p", "main").out.strip() == "idle", "Mete's node is idle")
    sockets, cores, threads, memory, disk = ours.call("sinfo", "-h", "-p", "main", "-o", "%X %Y %Z %m %d").out.split()
    return f"Sockets={sockets} CoresPerSocket={cores} ThreadsPerCore={threads} RealMemory={memory} TmpDisk={disk}"


def compare(sides):
    table = Table()
    for side in sides:
        begin_live(side)
    compare_config(table, sides)
    compare_partitions(table, sides, "busy")
    compare_nodes(table, sides, "busy")
    tags = [tag for tag, _, _ in LIVE]
    compare_jobs(table, sides, tags)
    compare_documents(table, sides)
    compare_records(table, "show reservation", sides, [side.call("scontrol", "show", "reservation", "later").out for side in sides], "later")
    compare_texts(table, sides)
    for side in sides:
        end_live(side)
    compare_jobs(table, sides, ["other", "held", "late", *[tag for tag, _, _ in ENDED]])
    compare_nodes(table, sides, "idle")
    for side in sides:
        side.call("scontrol", "update", f"nodename={side.host}", "state=drain", "reason=two words")
    compare_nodes(table, sides, "drained")
    bad = table.report()
    check(not bad, *bad)
