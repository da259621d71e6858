"""Signals to running jobs of Slurm's commands, and who may act in another user's job."""

import contextlib
import hashlib
import os
import signal
import time

from harness import Mete, check, equal, wait
from test_audit import lines, what
from test_host_process import Home, gate_of, open_gate, pod_of, submit
from test_slurm_commands import Slurm
from test_tenant import ANN, MERGE, TOKENS, Person

ROLES = """users:
- {name: ann, uid: 5, hostUid: 5, tokenSha256: "%s", roles: [{role: edit, namespace: team-a}]}
- {name: eve, uid: 13, hostUid: 13, tokenSha256: "%s", roles: [{role: edit, namespace: team-a}]}
"""
POD = "/api/v1/namespaces/team-a/pods/"
TRAPS = "trap 'echo usr1' USR1; trap 'echo usr2' USR2; trap 'echo term; exit 7' TERM; echo began; while :; do sleep 0.05; done"


def test_signals_reach_what_they_name():
    with Mete() as m:
        s = Slurm(m)
        job = s.submit("-o", "out", "-e", "%N-%j-100%%.err", "--wrap", TRAPS)
        node = m.object("nodes")["items"][0]["metadata"]["name"].split(".")[0]
        wait(lambda: "began" in text_of(s, "out"), "the job runs")
        check(os.path.exists(os.path.join(s.dir, f"{node}-{job}-100%.err")), os.listdir(s.dir))
        check(f"StdErr={s.dir}/{node}-{job}-100%.err" in s.ok("scontrol", "show", "job", job), "it is told")
        s.ok("scancel", "-s", "USR1", job)  # no step: nobody has it
        s.ok("scancel", "-b", "-s", "SIGUSR2", job)
        wait(lambda: "usr2" in text_of(s, "out"), "the batch shell has the signal")
        s.ok("scancel", "-f", "-s", "10", f"{job}")
        wait(lambda: "usr1" in text_of(s, "out"), "the batch shell has the signal, too")
        equal(s.text("out"), "began\nusr2\nusr1\n")
        r = s.call("scancel", "-s", "NONE", job)
        equal((r.code, r.err), (1, "scancel: error: Unknown job signal: NONE\n"))
        waits = s.submit("--hold", "--wrap", "true")
        r = s.call("scancel", "-s", "USR1", waits)
        equal((r.code, r.err), (1, f"scancel: error: Kill job error on job id {waits}: Job is pending execution\n"))
        s.ok("scancel", waits)
        before_the_limit(m, s)
        s.ok("scancel", "-b", "-s", "TERM", job)
        s.wait_state(job, "FAILED")
        check("term" in s.text("out"), s.text("out"))
        of_an_element(s)


def text_of(s, name):
    with contextlib.suppress(FileNotFoundError):
        return s.text(name)
    return ""


def of_an_element(s):
    job = s.submit("-a", "0-1", "-o", "e-%a", "--wrap", TRAPS)
    wait(lambda: all("began" in text_of(s, f"e-{i}") for i in range(2)), "both run")
    s.ok("scancel", "-b", "-s", "USR1", f"{job}_1")
    wait(lambda: "usr1" in text_of(s, "e-1"), "the element has the signal")
    equal(s.text("e-0"), "began\n")
    s.ok("scancel", job)
    wait(lambda: set(s.states(job).values()) <= {"CANCELLED"}, "the array ends")


def before_the_limit(m, s):
    """Without B: the signal is for steps, and the shell lives on."""
    job = s.submit("-t", "1", "--signal=USR1@60", "-o", "limit", "--wrap", "echo began; sleep 1000")
    wait(lambda: "began" in text_of(s, "limit"), "the job runs")
    pods = m.object("pods", "-l", f"mete.dev/job-id={job}")["items"]
    equal(pods[0]["metadata"]["annotations"]["mete.dev/slurm-signal"], "10 60 steps")
    s.ok("scancel", job)
    s.wait_state(job, "CANCELLED")


STEPS = """#!/bin/sh
trap 'echo shell-usr1' USR1
srun -n 1 --overlap sh -c 'trap "echo first-usr1" USR1; echo first; while :; do sleep 0.05; done' &
srun -n 1 --overlap sh -c 'trap "echo second-usr1" USR1; echo second; while :; do sleep 0.05; done' &
while [ "$(grep -c -e first -e second steps.out)" -lt 2 ]; do sleep 0.1; done
echo both
while :; do wait && exit 3; done
"""


def lines_of(s, name):
    return text_of(s, name).splitlines()


def test_signals_reach_steps():
    with Mete() as m:
        s = Slurm(m)
        s.write("steps.sh", STEPS)
        job = s.submit("-o", "steps.out", "steps.sh", env={"PATH": f"{s.links}:{os.environ['PATH']}"}.items())
        wait(lambda: "both" in lines_of(s, "steps.out"), "both steps run", 60)
        s.ok("scancel", "-s", "USR1", job)
        wait(lambda: {"first-usr1", "second-usr1"} <= set(lines_of(s, "steps.out")), "both steps have the signal")
        check("shell-usr1" not in lines_of(s, "steps.out"), "the batch shell has not")
        s.ok("scancel", "-s", "USR1", f"{job}.1")
        heard = lambda: sorted(lines_of(s, "steps.out").count(f"{x}-usr1") for x in ("first", "second"))
        wait(lambda: heard() == [1, 2], "one step has it again", 30)
        s.ok("scontrol", "suspend", job)
        s.wait_state(job, "SUSPENDED")
        s.ok("scontrol", "resume", job)
        s.ok("scancel", f"{job}.0")
        s.ok("scancel", f"{job}.1")
        s.wait_state(job, "FAILED")
        equal(s.ok("sacct", "-n", "-X", "-j", job, "-o", "exitcode").strip(), "3:0", s.text("steps.out"))


TICKS = "n=0; while :; do n=$((n+1)); echo $n >count; sleep 0.02; done"


def count(s):
    return int(text_of(s, "count") or 0)


def stands(s):
    """Does the job no longer count?"""
    before = count(s)
    time.sleep(0.2)
    return count(s) == before


def goes_on(s):
    before = count(s)
    wait(lambda: count(s) > before, "the job goes on")


def test_suspend_and_resume():
    with Mete() as m:
        s = Slurm(m)
        job = s.submit("-t", "10", "--gres=gpu:1", "--wrap", TICKS + " & " + "wait")
        wait(lambda: count(s) > 2 and s.states(job) == {job: "RUNNING"}, "the job runs")
        s.ok("scontrol", "suspend", job)
        s.wait_state(job, "SUSPENDED")
        wait(lambda: stands(s), "its processes stand")
        tells_of_the_suspension(m, s, job)
        survives_kills(m, s, job)
        s.ok("scontrol", "resume", job)
        s.wait_state(job, "RUNNING")
        goes_on(s)
        r = s.call("scontrol", "resume", job)
        equal((r.code, r.err), (1, "scontrol: error: Requested operation is presently disabled\n"))
        s.ok("scontrol", "suspend", job)
        wait(lambda: stands(s), "it can be suspended again")
        s.ok("scancel", job)  # of a suspended job
        s.wait_state(job, "CANCELLED")
        check(stands(s), "nothing of it runs")


def tells_of_the_suspension(m, s, job):
    pod = m.object("pods", "-l", f"mete.dev/job-id={job}")["items"][0]
    r = m.kubectl("exec", pod["metadata"]["name"], "--", "true")
    check(r.code != 0 and "the job is suspended" in r.err, r)
    equal(s.ok("squeue", "-h", "-j", job, "-t", "S", "-o", "%t %b").strip(), "S gres/gpu:1", "its gpu is held")
    shown = s.ok("scontrol", "show", "job", job)
    check("JobState=SUSPENDED" in shown and "SuspendTime=20" in shown, shown)
    check("SUSPENDED" in s.ok("sacct", "-n", "-X", "-j", job, "-o", "state"), "sacct tells")
    elapsed = s.ok("squeue", "-h", "-j", job, "-o", "%M")
    time.sleep(1.1)
    equal(s.ok("squeue", "-h", "-j", job, "-o", "%M"), elapsed, "its time stands, too")


def survives_kills(m, s, job):
    """The node, and then the server, are killed while the job is suspended."""
    for role in ("node", "server"):
        pid = m.child(role)
        os.kill(pid, signal.SIGKILL)
        wait(lambda: m.child(role) not in (None, pid), f"the {role} is back")
        wait(lambda: s.call("squeue", "-h", "-j", job, "-o", "%T").out.strip() == "SUSPENDED", "the job is suspended")
        check(stands(s), "and stands")


def test_only_the_user_acts_in_a_job():
    """Ann and Eve share a namespace, in which both may change pods."""
    with Mete() as m, Home() as home:
        m.ok("create", "namespace", "team-a")
        path = os.path.join(m.data, "server", "users.yaml")
        with open(path, "w") as f:
            f.write(ROLES % tuple(hashlib.sha256(TOKENS[n].encode()).hexdigest() for n in ("ann", "eve")))
        os.chmod(path, 0o644)
        ann, eve = Person(m, "ann", ANN, "team-a"), Person(m, "eve", 13, "team-a")
        wait(lambda: ann.ask("GET", POD[:-1])[0] == 200 == eve.ask("GET", POD[:-1])[0], "users.yaml is read")
        gate = gate_of(home)
        submit(ann, home, "mine", "trap 'echo heard' USR1; echo began; while ! read x <gate; do :; done", ns="team-a")
        wait(lambda: home.has("mine.out"), "the job runs")
        pod = pod_of(m, "mine", ns="team-a")
        others_are_refused(eve, pod)
        r = ann.kubectl("exec", "-n", "team-a", pod, "--", "id", "-u")
        equal(r.out, f"{ANN}\n", r)
        equal(ann.ask("POST", f"{POD}{pod}/signal", {"signal": 10})[0], 200)
        wait(lambda: "heard" in home.read("mine.out"), "the signal came")
        hostile_signals(ann, pod)
        suspension_is_for_administrators(ann, pod)
        said = [(x["user"], x.get("code", 200)) for x in lines(m) if what(x).startswith("create pods/signal")]
        check(("ann", 200) in said and ("eve", 403) in said, said, *map(what, lines(m)))
        open_gate(gate)


def others_are_refused(eve, pod):
    for words in (("exec", pod, "--", "id"), ("attach", pod)):
        r = eve.kubectl(words[0], "-n", "team-a", *words[1:])
        check(r.code != 0 and not r.out and ("orbidden" in r.err or "permission denied" in r.err), r)
    r = eve.mete("exec", "-n", "team-a", pod, "--", "id")
    check(r.code != 0 and not r.out and ("orbidden" in r.err or "permission denied" in r.err), r)
    status, answer = eve.ask("POST", f"{POD}{pod}/signal", {"signal": 9, "to": "all"})
    equal(status, 403, answer)


def suspension_is_for_administrators(ann, pod):
    job = "/apis/mete.dev/v1/namespaces/team-a/slurmjobs/mine"
    for path, patch, want in ((job, {"spec": {"suspended": "*"}}, "Access/permission denied"),
                              (POD + pod, {"metadata": {"annotations": {"mete.dev/slurm-suspended": "99999"}}}, "system only")):
        status, answer = ann.ask("PATCH", path, patch, kind=MERGE)
        check(status in (403, 422) and want in answer["message"], path, status, answer)


def hostile_signals(ann, pod):
    for body, want in (({}, "signal: want a number"), ({"signal": 0}, "want a number"), ({"signal": 65}, "want a number"),
                       ({"signal": -9}, "want a number"), ({"signal": "9"}, "want a number"),
                       ({"signal": 10, "to": "host"}, "is not one of first, steps, all"),
                       ({"signal": 10, "step": "0"}, "only with to 'steps'"),
                       ({"signal": 10, "to": "steps", "step": "../.."}, "'../..'")):
        status, answer = ann.ask("POST", f"{POD}{pod}/signal", body)
        check(status in (400, 422) and want in answer["message"], body, status, answer)
    equal(ann.ask("POST", f"{POD}nothing/signal", {"signal": 10})[0], 404)
    status, answer = ann.ask("POST", f"{POD}{pod}/signal", {"signal": 10, "to": "steps", "step": "7"})
    equal(status, 200, answer)  # a step that is not there: nobody hears it
