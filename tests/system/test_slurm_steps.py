"""srun, salloc and the steps of Slurm jobs: by the commands, with real programs as tasks."""

import os
import re
import signal
import subprocess
import sys

from harness import Mete, check, equal, wait
from test_exec import Terminal
from test_slurm_commands import Slurm


def test_slurm_steps():
    with Mete("emulated:2xH100") as m:
        s = Slurm(m)
        runs_outside_of_a_job(s)
        passes_input_and_codes(s)
        gives_gpus_to_tasks(s)
        allocates(s)
        runs_in_a_script(s)
        shares_what_the_job_has(s)
        writes_files(s)
        obeys_signals(s)
        speaks_pmi(s)
        attaches(s)
        copies_to_nodes(s)
        has_a_terminal(s)
        ends_when_the_server_is_killed(s)
        ends_with_its_client(s)
        refuses(s)
        tells_what_steps_use(s)


def tells_what_steps_use(s):
    """sstat asks the tasks of a step on their node, and the meter for the batch step."""
    metered = s.ok("sbatch", "--parsable", "--gres=gpu:1", "-o", "/dev/null", "--wrap", "exec sleep 1000").strip()
    fields = "JobID,NTasks,MaxRSS,MaxRSSTask,AveCPU,Pids"
    p = started(s, "-O", "-n", "2", "sh", "-c", """[ $SLURM_PROCID = 0 ] || x=$(head -c 40000000 /dev/zero | tr '\\0' x)
        echo $SLURM_JOB_ID; sleep 1000; exit 1""")
    job = [p.stdout.readline().strip() for _ in range(2)][0]
    name, tasks, peak, task, cpu, pids = s.ok("sstat", "-n", "-P", "-j", job, "-o", fields).strip().split("|")
    equal((name, tasks, task, cpu.count(":")), (f"{job}.0", "2", "1", 2), peak, pids)
    check(peak[-1] in "KM" and int(peak[:-1]) * {"K": 1, "M": 1024}[peak[-1]] > 39000, peak)
    check(all(os.path.exists(f"/proc/{pid}") for pid in pids.split(",")) and pids.count(",") >= 1, pids)
    equal(s.ok("sstat", "-i", "-n", "-P", f"{job}.0"), f"{job}.0|{s.ok('squeue', '-h', '-j', job, '-o', '%N').strip()}|{pids}\n")
    check("cpu=" in s.ok("sstat", "-n", "-P", "-j", f"{job}.0", "-o", "TRESUsageInTot"), job)
    equal(s.ok("sacct", "-n", "-P", "-j", f"{job}", "-o", "JobID,MaxRSS").splitlines()[-1], f"{job}.0|")
    s.ok("scancel", job)
    p.communicate(timeout=60)
    r = s.call("sstat", "-n", "-j", job)
    equal((r.code, r.out, r.err), (0, "", f"sstat: error: No steps running for job {job}\n"), r)
    r = s.call("sstat")
    equal((r.code, r.err), (1, "sstat: error: You didn't give me any jobs to stat.\n"), r)
    wait(lambda: s.m.read(f"/apis/mete.dev/v1/accounting?ids={metered}")["items"][0]["gpuMemoryPeakBytes"] is not None, "the meter has sampled the job", 120)
    check("gres/gpumem=" in s.ok("sstat", "-a", "-n", "-P", "-j", metered, "-o", "TRESUsageInTot"), metered)
    name, tasks, peak, *_ = s.ok("sstat", "-n", "-P", "-j", f"{metered}.batch", "-o", fields).split("|")
    check((name, tasks) == (f"{metered}.batch", "1") and peak, name, tasks, peak)
    s.ok("scancel", metered)


def srun(s, *words, **options):
    return s.call("srun", *words, **options)


def started(s, *words, **options):
    environment = {**os.environ, "METE_DATA": s.m.data}
    return subprocess.Popen([os.path.join(s.links, "srun"), *words], env=environment, cwd=s.dir, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def script(s, text, *words):
    """Runs a batch script that finds the commands; its output."""
    s.write("script.sh", "#!/bin/sh\n" + text)
    r = s.call("sbatch", "--wait", "-Q", "-o", "script.out", *words, "script.sh", env={"PATH": f"{s.links}:{os.environ['PATH']}"}.items())
    return r.code, s.text("script.out")


def runs_outside_of_a_job(s):
    r = srun(s, "-n", "2", "-l", "-J", "labelled", "sh", "-c", "echo task $SLURM_PROCID of $SLURM_NTASKS in $PWD")
    equal((r.code, sorted(r.out.splitlines()), r.err), (0, [f"{i}: {i}: "[:3] + f"task {i} of 2 in {s.dir}" for i in range(2)], ""), r)
    wait(lambda: "COMPLETED 2" in s.ok("squeue", "-h", "-t", "all", "-n", "labelled", "-o", "%T %C"), "the job of srun ended", 60)
    ended = wait(lambda: s.m.read("/apis/mete.dev/v1/accounting?name=labelled&states=COMPLETED")["items"], "the job of srun is accounted for")
    equal((ended[0]["exitCode"], ended[0]["steps"][0]["tasks"]), (0, 2), ended)


def passes_input_and_codes(s):
    r = srun(s, "cat", stdin="one\ntwo\n")
    equal((r.code, r.out), (0, "one\ntwo\n"), r)
    r = srun(s, "-n", "2", "sh", "-c", "exit $((SLURM_PROCID + 3))")
    equal(r.code, 4, r)
    check(re.search(r"srun: error: \S+: task 0: Exited with exit code 3\n", r.err) and
          re.search(r"srun: error: \S+: task 1: Exited with exit code 4\n", r.err), r)
    r = srun(s, "sh", "-c", "kill -9 $$")
    check(r.code == 137 and re.fullmatch(r"srun: error: \S+: task 0: Killed\n", r.err), r)
    r = srun(s, "no-such-program")
    check(r.code == 2 and "slurmstepd: error: execve(): no-such-program: No such file or directory\n" in r.err, r)


def gives_gpus_to_tasks(s):
    r = srun(s, "-n", "2", "--gpus-per-task=1", "sh", "-c", "echo $SLURM_PROCID $CUDA_VISIBLE_DEVICES")
    equal((r.code, sorted(r.out.splitlines())), (0, ["0 0", "1 1"]), r)
    r = srun(s, "--gres=gpu:2", "--gpu-bind=map_gpu:1", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES $SLURM_STEP_GPUS")
    equal((r.code, r.out), (0, "1 0,1\n"), r)
    pairs = ["0 4 0", "1 4 0", "2 4 1", "3 4 1"]
    for words in (["--gpus=2"], ["-n", "4"]):
        r = srun(s, "--ntasks-per-gpu=2", "-O", *words, "sh", "-c", "echo $SLURM_PROCID $SLURM_NTASKS $CUDA_VISIBLE_DEVICES")
        equal((r.code, sorted(r.out.splitlines())), (0, pairs), r)
    job = s.submit("--gpus=2", "--ntasks-per-gpu=2", "-O", "-o", "pairs", "--wrap",
                   f"echo $SLURM_NTASKS_PER_GPU; {s.links}/srun sh -c 'echo $SLURM_PROCID $SLURM_NTASKS $CUDA_VISIBLE_DEVICES'")
    s.wait_state(job, "COMPLETED")
    equal(sorted(s.text("pairs").splitlines()), sorted(["2", *pairs]))


def allocates(s):
    path = {"PATH": f"{s.links}:{os.environ['PATH']}"}.items()
    r = s.call("salloc", "-n", "2", "-J", "shell", "sh", "-c", "echo $SLURM_JOB_ID $SLURM_NTASKS; srun -l true; exit 3", env=path)
    job = r.out.split()[0]
    equal((r.code, r.out), (3, f"{job} 2\n"), r)
    equal(r.err, f"salloc: Granted job allocation {job}\nsalloc: Relinquishing job allocation {job}\n")
    s.wait_state(job, "FAILED")
    ended = wait(lambda: s.m.read(f"/apis/mete.dev/v1/accounting?ids={job}&states=FAILED")["items"], "the allocation is accounted for")
    equal((ended[0]["exitCode"], ended[0]["steps"][0]["name"]), (3, "true"), ended)
    r = s.call("salloc", "--no-shell", "-J", "kept")
    job = r.err.split()[-1]
    equal((r.code, r.err), (0, f"salloc: Granted job allocation {job}\n"), r)
    r = srun(s, f"--jobid={job}", "sh", "-c", "echo $SLURM_JOB_ID.$SLURM_STEP_ID")
    equal((r.code, r.out), (0, f"{job}.0\n"), r)
    s.ok("scancel", job)
    s.wait_state(job, "CANCELLED")


def runs_in_a_script(s):
    s.write("programs", "0 echo first %t\n* echo other %o\n")
    code, out = script(s, """
srun -l sh -c 'echo $SLURM_JOB_ID $SLURM_STEP_ID $SLURM_LOCALID $SLURM_NODEID $SLURM_TASKS_PER_NODE'
srun -l --multi-prog programs
srun -n 3 true
echo code $?
srun --exact -n 1 sleep 0.2 &
srun --exact -n 1 sleep 0.2 &
wait
srun -n 1 -J last sh -c 'squeue -h -s -o "%j %A"; scontrol -o show step $SLURM_JOB_ID.$SLURM_STEP_ID; exit 7'
""", "-n", "2")
    check(code == 7, out)
    check("last 1\n" in out and re.search(r"StepId=\d+\.4 UserId=\d+ StartTime=\S+ TimeLimit=UNLIMITED State=RUNNING .* Name=last ", out), out)
    job = s.ok("squeue", "-h", "-t", "all", "-n", "script.sh", "-o", "%i").split()[-1]
    check({f"{i}: {job} 0 {i} 0 2" for i in range(2)} | {"0: first 0", "1: other 0"} <= set(out.splitlines()), out)
    rows = s.ok("sacct", "-n", "-P", "-j", job, "-o", "JobID,JobName,State,ExitCode,NTasks").splitlines()
    equal(rows[1:], [f"{job}.batch|batch|FAILED|7:0|1"] + [f"{job}.{i}|{name}|{end}" for i, (name, end) in enumerate(
        [("sh", "COMPLETED|0:0|2"), ("programs", "COMPLETED|0:0|2"), ("sleep", "COMPLETED|0:0|1"), ("sleep", "COMPLETED|0:0|1"),
         ("last", "FAILED|7:0|1")])], rows)
    ended = wait(lambda: [r for r in s.m.read(f"/apis/mete.dev/v1/accounting?ids={job}")["items"] if r["state"] != "RUNNING"], "the job is accounted for")
    equal([(x["step"], x["name"], x["state"]) for x in ended[0]["steps"]][-1], (4, "last", "FAILED"), ended)
    check(f"srun: error: Unable to create step for job {job}: More processors requested than permitted\ncode 1\n" in out, out)


def shares_what_the_job_has(s):
    code, out = script(s, """
srun sh -c 'touch one; while [ ! -e two ]; do sleep 0.05; done' &
while [ ! -e one ]; do sleep 0.05; done
srun --immediate true
echo immediate $?
srun --overlap touch two
srun echo after
wait
""")
    check(code == 0 and "Requested nodes are busy\nimmediate 1\n" in out and out.endswith("after\n"), out)


def writes_files(s):
    r = srun(s, "-n", "2", "-o", "out-%t", "-e", "err-%j-%s", "sh", "-c", "echo out $SLURM_PROCID; echo err >&2")
    equal((r.code, r.out, r.err), (0, "", ""), r)
    equal([s.text(f"out-{i}") for i in range(2)], ["out 0\n", "out 1\n"])
    name = [n for n in os.listdir(s.dir) if re.fullmatch(r"err-\d+-0", n)]
    equal([s.text(n) for n in name], ["err\nerr\n"])


def obeys_signals(s):
    p = started(s, "-X", "sh", "-c", "echo $SLURM_JOB_ID; exec sleep 1000")
    job = p.stdout.readline().strip()
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=60)
    check(p.returncode == 130 and f"srun: sending Ctrl-C to StepId={job}.0\n" in err and "task 0: Interrupt\n" in err, p.returncode, err)
    p = started(s, "sh", "-c", "echo $SLURM_JOB_ID; exec sleep 1000")
    job = p.stdout.readline().strip()
    equal(s.ok("squeue", "-h", "-s", f"{job}.0", "-o", "%i %j"), f"{job}.0 sh\n")
    s.ok("scancel", "-s", "INT", f"{job}.0")
    _, err = p.communicate(timeout=60)
    check(p.returncode == 130 and "task 0: Interrupt\n" in err, p.returncode, err)


def copies_to_nodes(s):
    job = s.call("salloc", "--no-shell", "-J", "copies").err.split()[-1]
    source, target = (os.path.join(s.dir, name) for name in ("source", "copy"))
    with open(source, "wb") as f:
        f.write(os.urandom(2_000_001))
    os.chmod(source, 0o750)
    os.utime(source, (1_000_000_000, 1_100_000_000))
    r = s.call("sbcast", "-C", "-F", "2", "source", "copy", env={"SLURM_JOB_ID": job}.items())
    equal((r.code, r.out, r.err), (0, "", ""), r)
    found = os.stat(target)
    equal((found.st_mode & 0o7777, found.st_mtime > 1_100_000_000), (0o750, True))
    with open(source, "rb") as a, open(target, "rb") as b:
        check(a.read() == b.read(), "the copy is whole")
    node = s.ok("squeue", "-h", "-j", job, "-o", "%N").strip()
    s.write("source", "other")
    for words, text in ((["source", target], f"REQUEST_FILE_BCAST({node}): File exists"),
                        (["source", "/no/such"], f"REQUEST_FILE_BCAST({node}): Directory nonexistent"),
                        (["none", target], "Can't open `none': no such file or directory"),
                        (["source"], "Need two file names, have 1 names")):
        r = s.call("sbcast", f"--jobid={job}", *words)
        check(r.code == 1 and f"sbcast: error: {text}\n" in r.err, words, r)
    os.utime(source, (1_000_000_000, 1_100_000_000))
    equal(s.call("sbcast", "-f", "-p", "-j", job, "source", target).code, 0)
    equal((s.text("copy"), os.stat(target).st_mtime), ("other", 1_100_000_000))
    equal(s.call("sbcast", "-j", job, "source", s.dir + "/links/").code, 1, "no such directory")
    equal([n for n in os.listdir(s.dir) if ".sbcast." in n], [], "nothing half is left")
    s.write("hello", "#!/bin/sh\necho copied $0\n")
    os.chmod(os.path.join(s.dir, "hello"), 0o755)
    r = srun(s, f"--bcast={s.dir}/moved", "./hello")
    equal((r.code, r.out), (0, f"copied {s.dir}/moved\n"), r)
    r = srun(s, "--bcast", "true")
    equal((r.code, len([n for n in os.listdir(s.dir) if n.startswith("slurm_bcast_")])), (0, 1), r)
    r = srun(s, "--bcast=/no/such/file", "true")
    check(r.code == 1 and "Failed to copy" in r.err, r)
    r = srun(s, "--bcast", "nosuchprogram")
    check(r.code == 1 and "no program 'nosuchprogram' in PATH" in r.err, r)
    r = s.call("sbcast", "source", target)
    check(r.code == 1 and "Need a job id to run this command." in r.err, r)
    s.ok("scancel", job)


def attached(s, *words, **options):
    """A sattach that has begun: the step has answered it."""
    environment = {**os.environ, "METE_DATA": s.m.data}
    return subprocess.Popen([os.path.join(s.links, "sattach"), *words], env=environment, cwd=s.dir, text=True, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def attaches(s):
    """Each task says when it begins, repeats its input, and ends by it: outputs of attached commands are known to the line."""
    task = "echo first; while read line; do echo $SLURM_PROCID $line; echo to stderr >&2; case $line in end*) exit ${line#end};; esac; done"
    p = subprocess.Popen([os.path.join(s.links, "srun"), "-O", "-n", "2", "-l", "-J", "attached", "sh", "-c", task], cwd=s.dir, text=True,
                         env={**os.environ, "METE_DATA": s.m.data}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal(sorted(p.stdout.readline() for _ in range(2)), ["0: first\n", "1: first\n"])
    step = next(line.split()[0] for line in s.ok("squeue", "-h", "-s", "-o", "%i %j").splitlines() if line.endswith(" attached"))
    node = s.ok("squeue", "-h", "-j", step.split(".")[0], "-o", "%N").strip()
    equal(s.ok("sattach", "--layout", step), f"Job step layout:\n\t2 tasks, 1 nodes ({node})\n\n\tNode 0 ({node}), 2 task(s): 0 1 \n")
    labelled = attached(s, "-l", step)
    one = attached(s, "--output-filter=1", "--input-filter=1", "--error-filter=0", "-v", step)
    labelled.stdin.write("hello\n")  # both tasks get it, and all who are attached see what the tasks say
    labelled.stdin.flush()
    equal(sorted(labelled.stdout.readline() for _ in range(2)), ["0: 0 hello\n", "1: 1 hello\n"])
    equal(sorted(p.stdout.readline() for _ in range(2)), ["0: 0 hello\n", "1: 1 hello\n"])
    one.stdin.write("only\n")  # the line before may have come before this one was attached
    one.stdin.flush()
    check((line := one.stdout.readline()) == "1 only\n" or (line, one.stdout.readline()) == ("1 hello\n", "1 only\n"), line)
    equal((labelled.stdout.readline(), p.stdout.readline()), ("1: 1 only\n", "1: 1 only\n"))
    one.stdin.close()  # the end of this input is not that of the tasks
    gone = attached(s, step)
    gone.stdin.write("again\n")
    gone.stdin.flush()
    check(gone.stdout.readline() in ("0 again\n", "1 again\n"))
    gone.kill()  # one that dies ends nobody else
    gone.communicate()
    p.stdin.write("end3\n")
    p.stdin.close()
    out, err = labelled.communicate(timeout=120)
    equal((labelled.returncode, sorted(out.splitlines())), (3, ["0: 0 again", "0: 0 end3", "1: 1 again", "1: 1 end3"]), err)
    check({"0: to stderr", "1: to stderr"} == set(err.splitlines()), err)
    equal((one.wait(120), one.stdout.read()), (3, "1 again\n1 end3\n"))
    check(one.stderr.read().startswith(f"sattach: StepId={step}: 2 tasks on 1 nodes\nto stderr\n"), step)
    equal(p.wait(120), 3)
    for words, why in (((step,), "Job/step already completing or completed"), (("1.99999",), "Invalid job id specified"),
                       (("12",), "want JOB.STEP"), ((), "want one JOB.STEP"), (("--output-filter=x", step), "is not the number of a task"),
                       (("--pty", "--input-filter=1", step), "not compatible with --pty")):
        r = s.call("sattach", *words)
        check(r.code == 1 and why in r.err, r)
    equal(s.ok("sattach", "-V")[:6], "slurm ")


def has_a_terminal(s):
    t = Terminal([os.path.join(s.links, "srun"), "--gres=gpu:1", "--pty", "bash", "--norc"],
                 {**os.environ, "METE_DATA": s.m.data, "PS1": "ready> "}, rows=33, columns=99)
    t.expect("ready> ")
    t.type("stty size; tty -s && echo $SLURM_PROCID:$CUDA_VISIBLE_DEVICES\n")
    t.expect("33 99\r\n0:0\r\n")
    t.expect("ready> ")
    t.resize(44, 111)
    t.type("until [ \"$(stty size)\" = '44 111' ]; do :; done; echo resi''zed\n")
    t.expect("resized\r\n")
    t.expect("ready> ")
    t.type("sleep 1000\n")
    t.interrupt("ready> ")
    t.type("echo code $?; exit 7\n")
    t.expect("code 130\r\n")
    equal(t.end(), 7, t.text)


def ends_when_the_server_is_killed(s):
    p = started(s, "-J", "cut", "sh", "-c", "echo $$; exec sleep 1000")
    task = int(p.stdout.readline())
    os.kill(s.m.child("server"), signal.SIGKILL)
    _, err = p.communicate(timeout=60)
    check(p.returncode == 1 and re.search(r"srun: error: \S+: the connection to the tasks broke: ", err), p.returncode, err)
    wait(lambda: not os.path.exists(f"/proc/{task}"), "the task ended with the connection")
    wait(lambda: s.call("squeue", "-h", "-t", "all", "-n", "cut", "-o", "%T").out.strip() == "FAILED", "srun has ended its job", 120)
    s.ok("srun", "true")
    for _ in range(3):  # a step right behind the start waits for the node's connection
        former = s.m.child("server")
        os.kill(former, signal.SIGKILL)
        wait(lambda former=former: s.m.child("server") not in (None, former), "the server is started again")
        equal(srun(s, "echo", "here").out, "here\n")


def ends_with_its_client(s):
    p = started(s, "sh", "-c", "echo $$ $SLURM_JOB_ID; exec sleep 1000")
    task, job = p.stdout.readline().split()
    p.kill()
    p.communicate()
    wait(lambda: not os.path.exists(f"/proc/{task}"), "the task of the killed srun ended", 60)
    s.ok("scancel", job)  # it would hold its cpu for three minutes


# Speaks PMI-1, and with an argument PMI-2: puts a value, waits for the others, gets theirs.
PMI = """
import os, signal, socket, sys
s = socket.socket(fileno=int(os.environ["PMI_FD"]))
answers = s.makefile("rb")
rank, size = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
def ask(text):
    s.sendall(text.encode() + bytes([10]))
    return answers.readline().decode().strip()
def ask2(text):
    s.sendall(b"%6d" % len(text) + text.encode())
    return answers.read(int(answers.read(6))).decode()
ask(f"cmd=init pmi_version={len(sys.argv)} pmi_subversion=0")
if len(sys.argv) == 1:
    ask(f"cmd=put kvsname=x key=k{rank} value=v{rank}")
    ask("cmd=barrier_in")
    got = [ask(f"cmd=get kvsname=x key=k{i}").split("value=")[1] for i in range(size)]
    got.append(ask("cmd=get kvsname=x key=PMI_process_mapping").split("value=")[1])
    ask("cmd=finalize")
else:
    ask2(f"cmd=fullinit;pmirank={rank};")
    ask2(f"cmd=kvs-put;key=k{rank};value=v{rank};")
    ask2("cmd=kvs-fence;")
    got = [ask2(f"cmd=kvs-get;key=k{i};").split("value=")[1].strip(";") for i in range(size)]
    got.append(ask2("cmd=info-getjobattr;key=PMI_process_mapping;").split("value=")[1].strip(";"))
    if sys.argv[1] == "abort" and rank == 1:
        s.sendall(b"    32cmd=abort;isworld=TRUE;msg=over;")
        signal.pause()
    ask2("cmd=kvs-fence;" if sys.argv[1] == "abort" else "cmd=finalize;")
os.write(1, (" ".join([str(rank), *got]) + chr(10)).encode())
"""


def speaks_pmi(s):
    s.write("pmi.py", PMI)
    for words in ([], ["2"]):
        r = srun(s, "-n", "2", "--mpi=pmi2", sys.executable, "pmi.py", *words)
        equal((r.code, sorted(r.out.splitlines()), r.err), (0, [f"{i} v0 v1 (vector,(0,1,2))" for i in range(2)], ""), r)
    r = srun(s, "-n", "2", sys.executable, "pmi.py", "abort", env={"SLURM_MPI_TYPE": "pmi2"}.items())
    check(r.code == 137 and re.search(r"srun: error: \S+: task 1 ends the step: over\n", r.err) and not r.out, r)
    r = srun(s, "-n", "1", "--mpi=pmi2", "sh", "-c", "echo nonsense >&$PMI_FD; cat <&$PMI_FD; echo end")
    check(r.code == 0 and r.out == "end\n" and re.match(r"srun: warning: \S+: task 0: ", r.err), r)
    equal(srun(s, "sh", "-c", "echo ${PMI_FD-none}", env={"PMI_FD": "9"}.items()).out, "none\n")


def refuses(s):
    r = srun(s, "--mpi=pmix_v1", "true")
    check(r.code == 1 and "Invalid MPI type 'pmix_v1', --mpi=list for acceptable types" in r.err, r)
    r = srun(s, "--mpi=nonsense", "true")
    check(r.code == 1 and "Invalid MPI type 'nonsense', --mpi=list for acceptable types" in r.err, r)
    equal(srun(s, "--mpi=list").out, "MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\n\tpmix_v4\n")
    r = srun(s, "--jobid=99999999", "true")
    check(r.code == 1 and "Invalid job id specified" in r.err, r)
    r = srun(s, "--gpu-bind=nonsense", "true")
    check(r.code == 1 and "Invalid --gpu-bind argument" in r.err, r)
    equal(srun(s, "-V").out, "slurm 24.11.0\n")
