"""Slurm's commands as scripts and their clients call them: by links, with what they parse."""

import json
import os
import re

from harness import METE, Mete, check, equal, execute, wait


class Slurm:
    """The commands by the names of links, in a directory that the jobs write to."""

    def __init__(self, m):
        self.m = m
        self.dir = os.path.join(m.dir, "slurm")
        self.links = os.path.join(m.dir, "links")
        os.makedirs(self.dir)
        self.write("sbatch", "#!/bin/sh\n")
        os.chmod(os.path.join(self.dir, "sbatch"), 0o755)
        r = m.mete("slurm-links", self.links, env={"PATH": self.dir}.items())
        check(r.code == 5 and f"{self.dir}/sbatch is a program of a real Slurm" in r.err, r)
        r = m.mete("slurm-links", self.links, env={"PATH": self.links}.items())
        equal((r.code, r.out), (0, ""), r)
        equal(os.path.basename(os.path.realpath(os.path.join(self.links, "squeue"))), "mete-slurm")

    def call(self, name, *words, stdin=None, env=()):
        environment = {**os.environ, "METE_DATA": self.m.data, "TZ": "UTC", **dict(env)}
        return execute([os.path.join(self.links, name), *words], stdin=stdin, env=environment, cwd=self.dir)

    def ok(self, name, *words, **options):
        r = self.call(name, *words, **options)
        check(r.code == 0, r)
        return r.out

    def write(self, name, text):
        with open(os.path.join(self.dir, name), "w") as f:
            f.write(text)
        return name

    def submit(self, *words, **options):
        line = self.ok("sbatch", *words, **options)
        check(re.fullmatch(r"Submitted batch job \d+\n", line), line)
        return line.split()[-1]

    def states(self, job):
        return dict(line.split("|") for line in self.ok("squeue", "-h", "-t", "all", "-o", "%i|%T", "-j", job).split())

    def wait_state(self, job, want):
        live = {"PENDING", "RUNNING", "SUSPENDED", "COMPLETING"} - {want}
        wait(lambda: not live & set(self.states(job).values()), f"job {job} is {want}", 120)
        equal(set(self.states(job).values()), {want}, self.ok("scontrol", "show", "job", job))

    def text(self, name):
        with open(os.path.join(self.dir, name)) as f:
            return f.read()


def test_slurm_commands():
    with Mete("emulated:2xH100") as m:
        s = Slurm(m)
        submits_as_documented(s)
        runs_arrays(s)
        reads_from_stdin_and_variables(s)
        tells_of_signals(s)
        cancels(s)
        triggers(s)
        holds_and_updates(s)
        tells_of_the_past(s, m)
        tells_of_nodes(s)
        says_what_slurm_says(s)
        tells_figures(s)


def tells_figures(s):
    def figure(name):
        return int(re.search(rf"^\s*{name}:\s+(\d+)$", s.ok("sdiag"), re.M)[1])
    before = figure("Jobs submitted")
    s.wait_state(s.submit("--array=0-2", "--wrap=exit 3"), "FAILED")
    equal(figure("Jobs submitted"), before + 3)
    check(figure("Jobs started") >= 3 and figure("Total cycles") > 0 and figure("Mean cycle") <= figure("Max cycle"), s.ok("sdiag"))
    wait(lambda: figure("Jobs failed") >= 3, "the failed elements are counted", 60)
    sorted_by_name = re.findall(r"^\t(\S+ \S+) +count:\d+ +ave_time:\d+ +total_time:\d+$", s.ok("sdiag", "-i"), re.M)
    check(sorted_by_name == sorted(sorted_by_name) and "create slurmjobs" in sorted_by_name, sorted_by_name)
    statistics = json.loads(s.ok("sdiag", "--json"))["statistics"]
    check(statistics["jobs_submitted"] == before + 3 and {"user": "root"}.items() <= statistics["rpcs_by_user"][0].items(), statistics)
    r = s.call("sdiag", "-r")
    equal((r.code, r.err), (1, "sdiag: error: --reset is not available: the figures begin with the server\n"), r)


def submits_as_documented(s):
    script = s.write("train_model.sh", "#!/bin/bash\n#SBATCH --job-name=train\n#SBATCH -o %x-%j.out\n"
                                       'echo "$SLURM_JOB_NAME $1 $SLURM_JOB_ID in $PWD"\n')
    job = s.submit("--gres=gpu:1", "--mem=64M", "--time=04:00:00", script, "fast")
    s.wait_state(job, "COMPLETED")
    out = s.text(f"train-{job}.out").splitlines()
    equal(out[0], f"train fast {job} in {s.dir}", out)
    equal(s.ok("squeue", "-h", "-t", "all", "-j", job, "-o", "%b|%l|%m"), "gres/gpu:1|4:00:00|64M\n")
    line = s.ok("squeue", "-t", "all", "-j", job).splitlines()
    equal(line[0], "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)")
    check(re.match(rf" +{job} +main +train +\S+ CD +0:0\d +1 ", line[1]), line)
    document = json.loads(s.ok("squeue", "--json", "-j", job))
    equal(document["jobs"][0]["job_state"], ["COMPLETED"])


def runs_arrays(s):
    job = s.ok("sbatch", "--parsable", "--array=0-2%1", "-o", "a-%A_%a.out", "--wrap=echo $SLURM_ARRAY_TASK_ID").strip()
    wait(lambda: s.states(job) == {f"{job}_{i}": "COMPLETED" for i in range(3)}, "the array ended", 120)
    equal([s.text(f"a-{job}_{i}.out") for i in range(3)], ["0\n", "1\n", "2\n"])
    long = "100,102,104,106,108,110,112,114,116,118,120,122,124,126,128,131,133"
    job = s.submit("-H", f"--array={long}%2", "--wrap=true")  # the texts are those of Slurm 22.05
    equal(s.ok("squeue", "-h", "-j", job, "-o", "%i"), f"{job}_[{long[:60]}...%2]\n")
    check(f" ArrayTaskId={long[:60]}...%2 " in s.ok("scontrol", "-o", "show", "job", job), job)
    equal(s.ok("squeue", "-h", "-j", job, "-o", "%K", env={"SLURM_BITSTR_LEN": "0"}.items()), f"{long}%2\n")
    s.ok("scancel", job)


def reads_from_stdin_and_variables(s):
    job = s.submit(stdin="#!/bin/sh\n#SBATCH -J other\nexit 3\n", env={"SBATCH_JOB_NAME": "mine"}.items())
    s.wait_state(job, "FAILED")
    equal(s.ok("squeue", "-h", "-t", "all", "-o", "%j", "-j", job), "mine\n")
    r = s.call("sbatch", "--wait", "-Q", "--wrap=exit 5")
    equal((r.code, r.out), (5, ""), r)
    r = s.call("sbatch", "--wait", "-Q", "--wrap=kill -9 $$")
    equal((r.code, r.out), (1, ""), r)
    r = s.call("sbatch", "--test-only", "--wrap=true")
    equal((r.code, r.out), (0, ""), r)
    check(re.match(r"sbatch: Job \d+ to start at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d using 1 processors on nodes \S+ in partition main", r.err), r)


def tells_of_signals(s):
    """A signal that ends the script is none of its codes."""
    for script, want in (("kill -9 $$", "0:9"), ("kill -SEGV $$", "0:11"), ("sh -c 'kill -9 $$'; exit $?", "137:0")):
        job = s.submit("--wrap", script)
        s.wait_state(job, "FAILED")
        check(f" ExitCode={want} " in s.ok("scontrol", "-o", "show", "job", job), script)
        wait(lambda: s.ok("sacct", "-n", "-P", "-j", job, "-o", "JobID,State,ExitCode").splitlines() ==
             [f"{job}|FAILED|{want}", f"{job}.batch|FAILED|{want}"], f"the end by '{script}' is told")


def cancels(s):
    first = s.submit("--gres=gpu:2", "-J", "holder", "--wrap=exec sleep 1000")
    s.wait_state(first, "RUNNING")
    array = s.submit("--array=1-5", "--gres=gpu:1", "--wrap=exec sleep 1000")
    wait(lambda: s.states(array) == {f"{array}_[1-5]": "PENDING"} or "RUNNING" in s.states(array).values(), "the array waits", 60)
    equal(s.ok("scancel", f"{array}_[2-3]"), "")
    wait(lambda: list(s.states(array).values()).count("CANCELLED") == 2, "two elements are cancelled", 60)
    equal(s.ok("scancel", array, first), "")
    s.wait_state(array, "CANCELLED")
    s.wait_state(first, "CANCELLED")
    equal(s.ok("squeue", "--me", "-h"), "")
    r = s.call("scancel", "99999999")
    equal((r.code, r.err), (1, "scancel: error: Kill job error on job id 99999999: Invalid job id specified\n"))
    equal(s.call("scancel", first).code, 0)


def holds_and_updates(s):
    job = s.submit("-H", "-J", "held", "--comment=before", "--wrap=true")
    wait(lambda: "JobHeldUser" in s.ok("squeue", "-h", "-o", "%r", "-j", job), "the job is held", 60)
    s.ok("scontrol", "update", f"jobid={job}", "TimeLimit=01:00:00", "Comment=after", "Name=renamed")
    shown = s.ok("scontrol", "-o", "show", "job", job)
    check(" TimeLimit=01:00:00 " in shown and " Comment=after " in shown and "JobName=renamed " in shown, shown)
    s.ok("scontrol", "release", job)
    s.wait_state(job, "COMPLETED")
    check(re.search(rf"\n +StdOut={s.dir}/slurm-{job}.out\n", s.ok("scontrol", "show", "job", job)))
    r = s.call("scontrol", "show", "job", "99999999")
    equal((r.code, r.err), (1, "slurm_load_jobs error: Invalid job id specified\n"))


def tells_of_the_past(s, m):
    job = s.submit("-J", "counted", "--mem=64M", "--wrap=exit 4")
    s.wait_state(job, "FAILED")
    # submitit, Snakemake and Parsl ask so.
    table = s.ok("sacct", "-o", "JobID,State,NodeList", "--parsable2", "-j", job).splitlines()
    equal(table[0], "JobID|State|NodeList")
    equal([line.split("|")[:2] for line in table[1:]], [[job, "FAILED"], [f"{job}.batch", "FAILED"]])
    now = s.ok("sacct", "-X", "--parsable2", "--noheader", "--format=JobIdRaw,State", "--starttime", "now-1hour",
               "--endtime", "now", "--name", "counted")
    equal(now, f"{job}|FAILED\n")
    equal(s.ok("sacct", "-X", "-n", "-j", job, "-o", "exitcode%-8,reqmem%6"), "4:0         64M \n")
    equal(s.ok("sacct", "-n", "-j", "99999999"), "")


def tells_of_nodes(s):
    table = s.ok("sinfo").splitlines()
    check(re.match(r"PARTITION AVAIL +TIMELIMIT +NODES +STATE NODELIST$", table[0]), table)
    check(re.match(r"main\* +up +infinite +1 +(idle|mix|alloc) \S+$", table[1]), table)
    node = s.ok("sinfo", "-h", "-o", "%n").strip()
    check("gpu:" in s.ok("sinfo", "-h", "-o", "%G"))
    check(s.ok("scontrol", "show", "node", node).startswith(f"NodeName={node} Arch="))
    check("Nodes=" + node in s.ok("scontrol", "show", "partition", "main"))
    config = s.ok("scontrol", "show", "config")
    check(re.search(r"^MinJobAge +\t?= 300 sec$", config, re.M) and re.search(r"^MaxArraySize +\t?= \d+$", config, re.M), config)
    equal(s.ok("scontrol", "show", "hostnames", "n[1-2,07-08]"), "n1\nn2\nn07\nn08\n")
    equal(s.ok("scontrol", "show", "hostlist", "n1,n2,n4"), "n[1-2,4]\n")
    equal(s.ok("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=disk"), "")
    wait(lambda: s.ok("sinfo", "-h", "-o", "%t|%E").strip() == "drain|disk", "the node is drained", 60)
    s.ok("scontrol", "update", f"nodename={node}", "state=resume")
    wait(lambda: s.ok("sinfo", "-h", "-o", "%t").strip() == "idle", "the node is back", 60)


def triggers(s):
    told = os.path.join(s.dir, "told")
    s.write("tell", f'#!/bin/sh\necho "$(id -u) $*" >>{told}\n')
    program = os.path.join(s.dir, "tell")
    os.chmod(program, 0o755)
    job = s.submit("-H", "--wrap=true")
    equal(s.ok("strigger", "--set", f"--jobid={job}", "--fini", f"--program={program} a b"), "")
    equal(s.ok("strigger", "--set", "--node", "--down", "-p", program), "")
    listed = s.ok("strigger", "--get").splitlines()
    check(len(listed) == 3 and re.fullmatch(rf" +\d+ job +{job} fini +0 root +{program} a b", listed[1]), listed)
    equal(s.ok("squeue", "-h", "-o", "%i"), f"{job}\n", "a trigger that waits is no job of the queue")
    equal(s.ok("strigger", "--clear", "--id", listed[2].split()[0]), "")
    s.ok("scontrol", "release", job)
    wait(lambda: os.path.exists(told) and s.text("told") == f"0 a b {job}\n", "the program ran", 120)
    equal(s.ok("strigger", "--get"), "")
    r = s.call("strigger", "--clear", f"--jobid={job}")
    equal((r.code, r.err), (1, "slurm_clear_trigger: No such process\n"))
    r = s.call("strigger", "--set", "--jobid=99999999", "--fini", f"--program={program}")
    equal((r.code, r.err), (1, "slurm_set_trigger: Invalid job id specified\n"))


def says_what_slurm_says(s):
    cases = [
        (["sbatch", "-p", "nonsense", "--wrap=true"], 1, "sbatch: error: Batch job submission failed: Invalid partition name specified\n"),
        (["sbatch", "--gres=gpu:9", "--wrap=true"], 1, "sbatch: error: Batch job submission failed: Requested node configuration is not available\n"),
        (["sbatch", "-t", "x", "--wrap=true"], 255, "sbatch: error: Invalid --time specification\n"),
        (["sbatch", "none.sh"], 1, "sbatch: error: Unable to open file none.sh\n"),
        (["squeue", "-j", "99999999"], 1, "slurm_load_jobs error: Invalid job id specified\n"),
        (["scancel"], 1, "scancel: error: No job identification provided\n"),
    ]
    for words, code, err in cases:
        r = s.call(*words)
        equal((r.code, r.err), (code, err), words)
    equal(s.ok("sbatch", "-V"), "slurm 24.11.0\n")
    equal(s.ok("sprio", "-V"), "slurm 24.11.0\n")
    r = s.call("strigger", "--set", "--drained", "--program=/bin/true")
    equal((r.code, r.err), (1, "strigger: error: --drained is not available: want one of --fini, --time, --down, --up\n"))
    r = execute([METE, "squeue"], env={**os.environ, "METE_DATA": "/nonexistent"})
    check(r.code == 1 and "Unable to contact slurm controller (connect failure)" in r.err, r)
