"""Programs that slurm.conf names: Prolog and Epilog of root around jobs, TaskProlog and TaskEpilog of the user around tasks, MailProg
for --mail-type."""

import os
import re

from harness import Mete, check, equal, wait
from test_slurm_partitions import Site, write

CONF = """ClusterName=site
MinJobAge=600
Prolog={dir}/prolog.d/*
Epilog={dir}/epilog
PrologEpilogTimeout=20
PrologFlags=Alloc
TaskProlog={dir}/task-prolog
TaskEpilog={dir}/task-epilog
MailProg={dir}/mail
NodeName={node} CPUs=2 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES
"""
NOTE = """#!/bin/sh
echo "{name} $SLURM_JOB_ID $SLURM_JOB_USER $SLURM_JOB_PARTITION $SLURM_SCRIPT_CONTEXT $SLURMD_NODENAME $(id -u) [$SECRET] [$SLURM_JOB_GPUS]" >>{dir}/notes
test ! -e {dir}/fail-{name}
"""
TASK_PROLOG = """#!/bin/sh
[ -n "$SLURM_TASK_PID" ] || exit 3
[ -n "$SAYS" ] || exit 0
echo "export WAY=a b=c"
echo "unset GONE"
echo "print of the site: $SLURM_SCRIPT_CONTEXT $(cat | wc -c)"
echo "no such word"
[ ! -e {dir}/fail-task ] || [ $SLURM_PROCID != 0 ]
"""
OWN_PROLOG = """#!/bin/sh
echo "export WAY=$WAY, then the step's"
echo "print  of the step"
"""
TASK_EPILOG = """#!/bin/sh
echo unseen
echo "$(basename $0) $SLURM_SCRIPT_CONTEXT $SLURM_PROCID $SLURM_TASK_PID [$WAY]" >>{dir}/task-notes
[ "$1$SAYS" != loud ] || exit 3
"""
MAIL = """#!/bin/sh
printf '%s|' "$@" >>{dir}/letters
echo "$SLURM_JOB_ID $SLURM_JOB_MAIL_TYPE $SLURM_JOB_STATE" >>{dir}/letters
"""


def program(path, text):
    write(path, text)
    os.chmod(path, 0o755)


def notes(m):
    with open(os.path.join(m.dir, "notes")) as f:
        return f.read().splitlines()


def letters(m):
    try:
        with open(os.path.join(m.dir, "letters")) as f:
            return f.read().splitlines()
    except FileNotFoundError:
        return []


def test_slurm_programs():
    m = Mete("emulated:2xH100")
    node = os.uname().nodename.split(".")[0].lower()
    conf = os.path.join(m.dir, "slurm.conf")
    os.chmod(m.dir, 0o777)
    os.mkdir(os.path.join(m.dir, "prolog.d"))
    write(conf, CONF.format(node=node, dir=m.dir))
    for name in ("a", "b"):
        program(os.path.join(m.dir, "prolog.d", name), NOTE.format(name=name, dir=m.dir))
    program(os.path.join(m.dir, "epilog"), NOTE.format(name="epilog", dir=m.dir))
    program(os.path.join(m.dir, "task-prolog"), TASK_PROLOG.format(dir=m.dir))
    program(os.path.join(m.dir, "own-prolog"), OWN_PROLOG)
    for name in ("task-epilog", "own-epilog"):
        program(os.path.join(m.dir, name), TASK_EPILOG.format(dir=m.dir))
    program(os.path.join(m.dir, "mail"), MAIL.format(dir=m.dir))
    m.arguments = ["--slurm-conf", conf]
    with m:
        s = Site(m, conf)
        runs_around_jobs(s, node)
        runs_around_tasks(s)
        drains_when_a_prolog_fails(s, node)
        drains_when_an_epilog_fails(s, node)
        tells_how_jobs_end(s)


def runs_around_jobs(s, node):
    """Variables of the user do not reach a program of root."""
    job = s.ok("sbatch", "--parsable", "--wait", "--gres=gpu:1", "--export=ALL,SECRET=x,SLURM_JOB_GPUS=9",
               f"--wrap=echo job >>{s.m.dir}/notes").strip()
    check(re.fullmatch(rf"b {job} root main prolog_slurmd {node} 0 \[\] \[[01]\]", notes(s.m)[0]), notes(s.m))
    equal([line.split()[0] for line in notes(s.m)], ["b", "a", "job", "epilog"])
    equal(notes(s.m)[3], notes(s.m)[0].replace("b ", "epilog ", 1).replace("prolog_", "epilog_"))
    job = s.ok("sbatch", "--parsable", "--wait", "--export=ALL,SLURM_JOB_GPUS=9,CUDA_VISIBLE_DEVICES=9", "--wrap=true").strip()
    check(notes(s.m)[4].startswith(f"b {job} ") and notes(s.m)[4].endswith("[] []"), notes(s.m)[4])
    equal(s.ok("srun", "sh", "-c", f"tail -n 1 {s.m.dir}/notes").split()[0], "a", "a step comes behind the prolog")
    wait(lambda: notes(s.m)[-1].startswith("epilog "), "the epilog runs behind the end of srun")
    r = s.call("sbatch", "--container-image=x", "--wrap=true")
    check(r.code == 1 and "runs no Prolog and no Epilog of slurm.conf yet" in r.err, r)


def runs_around_tasks(s):
    """A line of a task's output says what its prologs made of its variables."""
    look = 'echo "$WAY|${GONE-none}|$$"; [ $$ = $SLURM_TASK_PID ]'
    r = s.call("srun", "--task-prolog=own-prolog", f"--task-epilog={s.m.dir}/own-epilog", "--export=ALL,SAYS=yes,GONE=1", "sh", "-c", look)
    lines = r.out.splitlines()
    equal((r.code, lines[:2]), (0, ["of the site: prolog_task 0", " of the step"]), r)
    way, gone, pid = lines[2].split("|")
    equal((way, gone, lines[3:], r.err), ("a b=c, then the step's", "none", [], ""), r)
    ends = wait(lambda: len(found := task_notes(s.m)) > 1 and found, "both epilogs ran")
    equal(ends[-2:], [f"{name} epilog_task 0 {pid} []" for name in ("own-epilog", "task-epilog")])
    r = s.call("srun", "--export=ALL,SAYS=loud", "true")  # the failure of an epilog changes nothing
    check(r.code == 0 and "task-epilog failed: exited with 3" in r.err, r)
    program(os.path.join(s.m.dir, "slow"), "#!/bin/sh\nsleep 1000 & wait\n")
    r = s.call("srun", "--task-epilog=slow", "sh", "-c", "exit 4")
    check(r.code == 4 and "slow failed: killed after 5 s" in r.err, r)
    write(os.path.join(s.m.dir, "fail-task"), "")  # that of a prolog ends the step, also the tasks that have begun
    r = s.call("srun", "-n", "2", "--export=ALL,SAYS=yes", "sleep", "1000")
    check(r.code != 0 and "task prolog [" in r.err and "failed: exited with 1" in r.err, r)
    check("task 0 ends the step: its task prolog failed" in r.err, r)
    os.unlink(os.path.join(s.m.dir, "fail-task"))
    r = s.call("srun", "--task-prolog=/nonexistent", "true")
    check(r.code != 0 and "Could not run task prolog [/nonexistent]: No such file or directory" in r.err, r)
    wait(lambda: (words := [line.split()[0] for line in notes(s.m)]).count("epilog") == words.count("b"), "the epilogs of all jobs ran")


def task_notes(m):
    try:
        with open(os.path.join(m.dir, "task-notes")) as f:
            return f.read().splitlines()
    except FileNotFoundError:
        return []


def drains_when_a_prolog_fails(s, node):
    before = len(notes(s.m))
    write(os.path.join(s.m.dir, "fail-a"), "")
    job = s.ok("sbatch", "--parsable", f"--wrap=echo job >>{s.m.dir}/notes").strip()
    wait(lambda: s.reason(job) == "main PENDING JobHeldUser", "the job is held")
    equal([line.split()[0] for line in notes(s.m)[before:]], ["b", "a", "epilog"])
    equal(s.ok("sinfo", "-h", "-o", "%t"), "drain\n")
    check(re.match(r"Prolog error +mete +2\d\d\d-\S+ +" + node, s.ok("sinfo", "-R", "-h")), s.ok("sinfo", "-R", "-h"))
    check("Reason=Prolog error [mete@2" in s.ok("scontrol", "show", "node", node))
    os.unlink(os.path.join(s.m.dir, "fail-a"))
    s.ok("scontrol", "update", f"NodeName={node}", "State=RESUME")
    s.ok("scontrol", "release", job)
    wait(lambda: s.ok("squeue", "-h", "-t", "all", "-j", job, "-o", "%T") == "COMPLETED\n", "the job ran")
    s.ok("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=fans")
    check("Reason=fans [root@2" in s.ok("scontrol", "show", "node", node))
    s.ok("scontrol", "update", f"NodeName={node}", "State=RESUME")
    check("Reason=" not in s.ok("scontrol", "show", "node", node))


def drains_when_an_epilog_fails(s, node):
    os.chmod(os.path.join(s.m.dir, "epilog"), 0o777)  # others could have written it: it is not run
    job = s.ok("sbatch", "--parsable", "--wait", "--wrap=true").strip()
    wait(lambda: s.ok("sinfo", "-h", "-o", "%t %E") == "drain Epilog error\n", "the node is drained")
    equal(s.ok("squeue", "-h", "-t", "all", "-j", job, "-o", "%T"), "COMPLETED\n")
    os.chmod(os.path.join(s.m.dir, "epilog"), 0o755)
    s.ok("scontrol", "update", f"NodeName={node}", "State=RESUME")


def tells_how_jobs_end(s):
    equal(letters(s.m), [])
    good = s.ok("sbatch", "--parsable", "--wait", "-J", "good", "--mail-type=ALL", "--mail-user=ann@example.com", "--wrap=true").strip()
    wait(lambda: len(letters(s.m)) == 2, "two letters")
    first, second = sorted(letters(s.m))
    check(re.fullmatch(rf"-s\|Slurm Job_id={good} Name=good Began, Queued time 00:00:\d\d\|ann@example.com\|{good} Began RUNNING", first), first)
    check(re.fullmatch(rf"-s\|Slurm Job_id={good} Name=good Ended, Run time 00:00:\d\d, COMPLETED, ExitCode 0\|ann@example.com\|{good} Ended COMPLETED", second), second)
    bad = s.call("sbatch", "--parsable", "--wait", "-J", "bad", "--mail-type=fail", "--wrap=exit 3").out.strip()
    array = s.call("sbatch", "--parsable", "--wait", "-J", "some", "-a", "0-1", "--mail-type=END", "--wrap=exit $SLURM_ARRAY_TASK_ID").out.strip()
    wait(lambda: len(letters(s.m)) == 4, "two letters more")
    check(re.fullmatch(rf"-s\|Slurm Job_id={bad} Name=bad Failed, Run time \S+, FAILED, ExitCode 3\|root\|{bad} Failed FAILED", letters(s.m)[2]), letters(s.m))
    check(re.fullmatch(rf"-s\|Slurm Array Summary Job_id={array}_\* \({array}\) Name=some Ended, Run time \S+, Mixed, ExitCode \[0-1\]\|root\|{array} Ended FAILED",
                       letters(s.m)[3]), letters(s.m))
    r = s.call("sbatch", "--mail-type=END", "--mail-user=|rm", "--wrap=true")
    check(r.code == 1 and "mailUser" in r.err, r)
