"""Signals to running jobs of Slurm's commands, and who may act in another user's job."""

import contextlib
import hashlib
import os

from harness import Mete, check, equal, wait
from test_audit import lines, what
from test_host_process import Home, gate_of, open_gate, pod_of, submit
from test_slurm_commands import Slurm
from test_tenant import ANN, TOKENS, Person

ROLES = """users:
- {name: ann, uid: 5, hostUid: 5, tokenSha256: "%s", roles: [{role: edit, namespace: team-a}]}
- {name: eve, uid: 13, hostUid: 13, tokenSha256: "%s", roles: [{role: edit, namespace: team-a}]}
"""
POD = "/api/v1/namespaces/team-a/pods/"
TRAPS = "trap 'echo usr1' USR1; trap 'echo usr2' USR2; trap 'echo term; exit 7' TERM; echo began; while :; do sleep 0.05; done"


def test_signals_reach_what_they_name():
    with Mete() as m:
        s = Slurm(m)
        job = s.submit("-o", "out", "--wrap", TRAPS)
        wait(lambda: "began" in text_of(s, "out"), "the job runs")
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
        said = [(x["user"], x.get("code", 200)) for x in lines(m) if what(x).startswith("create pods/signal")]
        check(("ann", 200) in said and ("eve", 403) in said, said, *map(what, lines(m)))
        open_gate(gate)


def others_are_refused(eve, pod):
    for words in (("exec", pod, "--", "id"), ("attach", pod)):
        r = eve.kubectl(words[0], "-n", "team-a", *words[1:])
        check(r.code != 0 and not r.out and "forbidden" in r.err, r)
    r = eve.mete("exec", "-n", "team-a", pod, "--", "id")
    check(r.code != 0 and not r.out and "forbidden" in r.err, r)
    status, answer = eve.ask("POST", f"{POD}{pod}/signal", {"signal": 9, "to": "all"})
    equal(status, 403, answer)


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
