"""Help, errors and output of the `mete` command."""

import json
import re

from harness import Mete, check, equal, execute, METE, pod, wait


def test_words():
    with Mete() as m:
        run_passes_on_output_and_exit_code(m)
        run_two_gpus(m)
        run_refuses_what_never_fits(m)
        why_tells_and_the_job_starts_later(m)
        tables_and_json(m)
        apply_get_delete(m)
        logs_and_cancel(m)
        errors_have_their_codes(m)


def run_passes_on_output_and_exit_code(m):
    r = m.mete("run", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    equal(r.code, 7, r)
    check("out" in r.out, r)
    r = m.mete("run", "--", "true")
    equal((r.code, r.out), (0, ""), r)


def run_two_gpus(m):
    r = m.mete("run", "--gpus", "2", "--", "nvidia-smi", "-L")
    equal(r.code, 0, r)
    equal(len([x for x in r.out.splitlines() if x.startswith("GPU ")]), 2, r)
    check(re.search(r"job \d+", r.err), r)


def run_refuses_what_never_fits(m):
    r = m.mete("run", "--gpus", "9", "--", "true")
    equal(r.code, 125, r)
    check("NeverFits" in r.err and "try:" in r.err, r)


def why_tells_and_the_job_starts_later(m):
    equal(m.mete("run", "-d", "--gpus", "6", "--name", "first", "--", "sleep", "1000").code, 0)
    m.wait_phase("first", "Running")
    equal(m.mete("run", "-d", "--gpus", "4", "--name", "second", "--", "true").code, 0)

    def waits():
        r = m.mete("why", "second")
        return r if "NoNodeFits" in r.out else None

    r = wait(waits, "why names the cause")
    check("needs 4" in r.out and "2" in r.out and "place 1 of 1" in r.out, r)
    j = json.loads(m.mete("why", "second", "-o", "json").out)
    check("NoNodeFits" in json.dumps(j), j)
    equal(m.mete("cancel", "first", "-y").code, 0)
    m.wait_phase("second", "Succeeded")


def tables_and_json(m):
    for words in (["ps", "-a"], ["gpus"], ["nodes"], ["events"], ["version"]):
        r = m.mete(*words)
        equal(r.code, 0, words, r)
        check(r.out.strip(), words, r)
    gpus = m.mete("gpus", "-o", "json")
    equal(gpus.code, 0, gpus)
    check(json.loads(gpus.out), gpus)
    check("emulated" in m.mete("gpus").out, m.mete("gpus"))


def apply_get_delete(m):
    r = m.mete("apply", "-f", "-", stdin=pod("mine", "echo hello; sleep 1000"))
    equal(r.code, 0, r)
    m.wait_phase("mine", "Running")
    check("mine" in m.mete("get", "pods").out)
    j = json.loads(m.mete("get", "pod", "mine", "-o", "json").out)
    check("mine" in json.dumps(j))
    check("mine" in m.mete("get", "pod", "mine", "-o", "yaml").out)
    equal(m.mete("show", "mine").code, 0)
    equal(m.mete("delete", "pod", "mine", "-y").code, 0)
    equal(m.mete("get", "pod", "mine").code, 3)


def logs_and_cancel(m):
    equal(m.mete("run", "-d", "--name", "talker", "--", "sh", "-c", "echo one; echo two; sleep 1000").code, 0)
    wait(lambda: m.mete("logs", "talker").out == "one\ntwo\n", "both lines")
    equal(m.mete("logs", "talker", "--tail", "1").out, "two\n")
    equal(m.mete("cancel", "talker", "-y").code, 0)
    wait(lambda: m.phase("talker") in (None, "Failed", "Succeeded"), "it ends")


def errors_have_their_codes(m):
    r = m.mete("logs", "nobody")
    equal(r.code, 3, r)
    check(r.err.startswith("mete: "), r)
    r = m.mete("psx")
    equal(r.code, 2, r)
    check("ps" in r.err, r)
    r = m.mete("drain")
    equal(r.code, 2, r)
    r = execute([METE, "ps"], env={**m.env, "METE_DATA": m.data + "-none"})
    equal(r.code, 6, r)


def test_up_refuses_clearly():
    with Mete() as m:
        r = execute([METE, "up", "--data", m.data, "--gpus", "none", "--listen", "127.0.0.1:0"], env=m.env)
        check(r.code != 0 and "lock" in r.err + r.out or str(m.up.pid) in r.err, r)
    r = execute([METE, "up", "--gpus", "emulated:eight", "--data", "/tmp/mete-never"])
    check(r.code == 2 and "8xH100" in r.err, r)
