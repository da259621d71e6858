"""Words of Slurm's users as they type them, and who and what the accounting says of it."""

import re

from harness import Mete, check, equal, wait
from test_slurm_commands import Slurm


def test_words_of_users():
    with Mete("emulated:2xH100") as m:
        s = Slurm(m)
        a_model_is_trained(s)
        an_array_is_swept(s)
        a_limit_is_changed(s)
        who_cancelled_is_told(s)


def a_model_is_trained(s):
    s.write("train_model.sh", "#!/bin/bash\n#SBATCH --gres=gpu:1\n#SBATCH --mem=64M\n#SBATCH --time=04:00:00\n"
                              "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done\necho $SLURM_JOB_ID\n")
    job = s.submit("train_model.sh")
    s.wait_state(job, "COMPLETED")
    equal(s.text(f"slurm-{job}.out"), f"{job}\n")
    def rows_of_use():
        return s.ok("sacct", "-u", "root", "--format=JobID,Elapsed,ReqGRES,AllocGRES,MaxRSS").splitlines()
    rows = wait(lambda: (lambda r: re.search(r"[KM] $", r[-1]) and r)(rows_of_use()), "accounting has the job's end", 60)
    check(re.match(r"JobID +Elapsed +ReqGRES +AllocGRES +MaxRSS $", rows[0]) and re.match(r"-+ -+ ", rows[1]), rows)
    check(re.match(rf"{job} +00:00:\d\d +gres:gpu:1 +gres:gpu:1 +$", rows[2]), rows)
    check(re.match(rf"{job}\.batch +00:00:\d\d +gres:gpu:1 +\d+[KM] $", rows[3]), rows)
    use = s.ok("sacct", "-nP", "-j", f"{job}", "-o", "JobID,AveCPU,NTasks,ReqTRES,AllocTRES,TRESUsageInTot,Planned").splitlines()
    tres = "billing=1,cpu=1,gres/gpu=1,mem=64M,node=1"
    equal(["".join(sorted(use[0].split("|")[i])) for i in (3, 4)], ["".join(sorted(tres))] * 2, use)
    check(re.fullmatch(rf"{job}\.batch\|00:00:\d\d\|1\|\|.*\|cpu=00:00:\d\d,.*mem=\d+[KM]\|", use[1]), use)


def an_array_is_swept(s):
    job = s.submit("--array=0-9", "--wrap=exit $((SLURM_ARRAY_TASK_ID / 9))")
    want = {f"{job}_{i}": "FAILED" if i == 9 else "COMPLETED" for i in range(10)}
    wait(lambda: s.states(job) == want, "the array ended", 120)
    rows = s.ok("sacct", "-X", "-nP", "-j", job, "-o", "JobID,State,ExitCode").splitlines()
    some = s.ok("sacct", "-X", "-nP", "-o", "JobID", "-j", f"{job}_2", "-j", f"{job}_[7-8]", "-j", f"{job}_0").split()  # as submitit
    equal(some, [f"{job}_{i}" for i in (0, 2, 7, 8)])
    step = s.submit("--array=3,5", f"--wrap={s.links}/srun -o step-%A_%a_%t echo $SLURM_ARRAY_TASK_ID")  # as submitit
    wait(lambda: s.states(step) == {f"{step}_3": "COMPLETED", f"{step}_5": "COMPLETED"}, "the steps ended", 120)
    equal([s.text(f"step-{step}_{i}_0") for i in (3, 5)], ["3\n", "5\n"])
    equal(rows, [f"{i}|{want[i]}|{'1:0' if i.endswith('9') else '0:0'}" for i in want])


def a_limit_is_changed(s):
    job = s.submit("--time=04:00:00", "--wrap=exec sleep 1000")
    s.wait_state(job, "RUNNING")
    equal(s.ok("scontrol", "update", f"jobid={job}", "TimeLimit=01:00:00"), "")
    equal(s.ok("squeue", "-h", "-j", job, "-o", "%l"), "1:00:00\n")
    s.ok("scancel", job)
    s.wait_state(job, "CANCELLED")


def who_cancelled_is_told(s):
    running = s.submit("-J", "gone", "--gres=gpu:2", "--wrap=exec sleep 1000")
    s.wait_state(running, "RUNNING")
    waiting = s.submit("-J", "gone", "--gres=gpu:2", "--wrap=true")
    s.ok("scancel", waiting, running)
    for job in (waiting, running):
        s.wait_state(job, "CANCELLED")
    want = {running: "CANCELLED by 0", waiting: "CANCELLED by 0"}
    def states():
        return dict(line.split("|") for line in s.ok("sacct", "-X", "-nP", "--name=gone", "-o", "JobID,State").splitlines())
    wait(lambda: states() == want, "accounting says who cancelled", 60)
    equal(s.ok("sacct", "-X", "-n", "-j", running, "-o", "State").strip(), "CANCELLED+")
    rows = s.m.read(f"/apis/mete.dev/v1/accounting?ids={running},{waiting}")["items"]
    equal([row["cancelledBy"] for row in rows], [0, 0], rows)
