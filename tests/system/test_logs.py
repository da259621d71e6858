"""Logs with kubectl and mete: options, restarts, and rotated parts of a log."""

import contextlib
import datetime
import glob
import os
import signal
import time

from harness import METE, KUBECTL, Mete, check, equal, pod, wait

SMALL = ("--container-log-max-size", "64Ki", "--container-log-max-files", "3")


def start(m, name, script, restart="Never", labels=None, more=()):
    containers = [{"name": "main", "image": "host", "command": ["sh", "-c", script]}, *more]
    body = pod(name, "", containers=containers, restartPolicy=restart)
    if labels:
        body = body.replace('"metadata": {', '"metadata": {"labels": {' +
                            ", ".join(f'"{k}": "{v}"' for k, v in labels.items()) + "}, ")
    m.ok("apply", "-f", "-", stdin=body)


def run(m, name, script, **more):
    start(m, name, script, **more)
    m.wait_phase(name, ("Succeeded", "Failed"))


def test_what_is_asked_for():
    with Mete() as m:
        by_time(m)
        of_the_attempt_before(m)
        of_several(m)
        what_is_wrong_is_said(m)


def by_time(m):
    run(m, "timed", "echo old; sleep 4; printf 'new\\nlast'")
    equal(m.ok("logs", "timed"), "old\nnew\nlast")
    stamped = m.ok("logs", "timed", "--timestamps").splitlines()
    stamps = [line.split(" ")[0] for line in stamped]
    equal([line.split(" ", 1)[1] for line in stamped], ["old", "new", "last"])
    for stamp in stamps:
        check(stamp.endswith("Z") and len(stamp) == len("2006-01-02T15:04:05.000000000Z"), stamp)
        datetime.datetime.fromisoformat(stamp[:19])
    equal(m.ok("logs", "timed", f"--since-time={stamps[1]}"), "new\nlast", "from that very moment on")
    equal(m.ok("logs", "timed", "--since=1h", "--tail=2"), "new\nlast")
    equal(m.ok("logs", "timed", f"--since-time={stamps[0]}", "--tail=1"), "last")
    equal(m.ok("logs", "timed", "--limit-bytes=5"), "old\nn")
    equal(m.mete("logs", "timed", "--since", "1h", "--timestamps").out.splitlines(), stamped)
    equal(m.mete("logs", "timed", "--tail", "1").out, "last")
    wait(lambda: m.ok("logs", "timed", "--since=1s") == "", "what is older than a second is not shown")


def of_the_attempt_before(m):
    count = f"{m.dir}/count"
    start(m, "again", f"echo x >>{count}; echo attempt $(wc -l <{count}); test $(wc -l <{count}) = 2 && exec sleep 1000; "
                      "exit 1", restart="OnFailure")
    r = m.kubectl("logs", "again", "--previous")
    check(r.code == 0 or "previous terminated container" in r.err, r)
    wait(lambda: m.ok("logs", "again") == "attempt 2\n", "it runs a second time")
    equal(m.ok("logs", "again", "--previous"), "attempt 1\n")
    equal(m.mete("logs", "again", "--previous").out, "attempt 1\n")
    start(m, "never", "exec sleep 1000")
    m.wait_phase("never", "Running")
    r = m.kubectl("logs", "never", "--previous")
    check(r.code != 0 and "previous terminated container" in r.err, r)


def of_several(m):
    second = [{"name": "second", "image": "host", "command": ["sh", "-c", "echo two"]}]
    run(m, "pair", "echo one", labels={"app": "pair"}, more=second)
    run(m, "other", "echo three", labels={"app": "pair"})
    equal(sorted(m.ok("logs", "pair", "--all-containers").split()), ["one", "two"])
    equal(sorted(m.ok("logs", "-l", "app=pair", "--all-containers", "--prefix").splitlines()),
          ["[pod/other/main] three", "[pod/pair/main] one", "[pod/pair/second] two"])


def what_is_wrong_is_said(m):
    raw = "/api/v1/namespaces/default/pods/timed/log"
    for query, word in (("sinceSeconds=0", "must be greater than 0"), ("sinceSeconds=x", "sinceSeconds"),
                        ("tailLines=-1", "must be greater than or equal to 0"),
                        ("limitBytes=0", "must be greater than 0"), ("sinceTime=yesterday", "sinceTime"),
                        ("sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", "at most one of"),
                        ("stream=Stdout", "stream is not implemented")):
        r = m.kubectl("get", "--raw", f"{raw}?{query}")
        check(r.code != 0 and word in r.err, query, r)


def parts(m):
    return glob.glob(f"{m.data}/node/log/*/*/*.log*")


def numbers(text):
    return [int(line) for line in text.splitlines()]


def in_order(found, what):
    """Checks that the numbers are consecutive."""
    bad = [pair for pair in zip(found, found[1:]) if pair[1] != pair[0] + 1]
    check(not bad, what, f"{found[0]} to {found[-1]}, and {bad[:5]}")


def all_of(found, n, *detail):
    in_order(found, "\n".join(detail))
    equal((found[0], found[-1]), (1, n), *detail)


def test_logs_are_cut_and_nobody_notices():
    with Mete(arguments=SMALL) as m:
        a_follower_gets_every_line_once(m)
        the_disk_stays_free(m)
        a_node_that_dies_meanwhile_changes_nothing(m)
        the_parts_go_with_the_pod(m)


# About 45 KiB a second: a cut each 1.5 s, and followers have 4 s before what they have not read goes.
STEADY = "i=0; while [ $i -lt {n} ]; do i=$((i+1)); echo $i; [ $((i % 200)) = 0 ] && sleep 0.2; done; exit 0"


def a_follower_gets_every_line_once(m):
    n = 6000
    start(m, "steady", STEADY.format(n=n))
    m.wait_phase("steady", "Running")
    followers = [m.spawn([KUBECTL, "logs", "-f", "steady"]), m.spawn([METE, "logs", "-f", "steady"])]
    for f in followers:
        out, err = f.communicate(timeout=600)
        all_of(numbers(out), n, err[-500:])
    m.wait_phase("steady", "Succeeded")
    check(len(parts(m)) > 1, "it was cut", parts(m))
    whole = numbers(m.ok("logs", "steady"))
    in_order(whole, "what is left is without a gap")
    equal(whole[-1], n)
    tail = numbers(m.ok("logs", "steady", "--tail=1500"))
    equal(tail, list(range(n - 1499, n + 1)), "the last lines, over several parts")
    stamp = m.ok("logs", "steady", "--tail=1800", "--timestamps").splitlines()[0].split(" ")[0]
    # As it is: kubectl cuts --since-time to whole seconds. Lines that conmon read at once have one time.
    since = m.ok("get", "--raw", f"/api/v1/namespaces/default/pods/steady/log?sinceTime={stamp}&timestamps=true")
    found = [line.split(" ") for line in since.splitlines()]
    in_order([int(number) for _, number in found], "since a moment, over several parts")
    equal(min(time for time, _ in found), stamp)
    check(n - 2000 < int(found[0][1]) <= n - 1799, found[0])
    m.ok("delete", "pod", "steady")


def sizes(m):
    """The parts by inode: the present part has two names."""
    found = {}
    for path in parts(m):
        with contextlib.suppress(FileNotFoundError):
            st = os.stat(path)
            found[st.st_ino] = st.st_size
    return found


def size_of(m):
    """Of all parts at one moment; 0 where one came or went while we looked."""
    found = sizes(m)
    return sum(found.values()) if found.keys() == sizes(m).keys() else 0


def the_disk_stays_free(m):
    start(m, "flood", "exec yes 'a line that says nothing, again and again'")
    m.wait_phase("flood", "Running")
    deadline = time.monotonic() + 6
    most = 0
    while time.monotonic() < deadline:
        most = max(most, size_of(m))
    # The limit: --container-log-max-files, and the part that conmon has just begun.
    check(64 << 10 < most <= 4 * (64 << 10), f"at most {most} bytes were there")
    check(len(m.ok("logs", "flood", "--tail=20").splitlines()) >= 20, "and what is written while it reads")
    m.ok("delete", "pod", "flood", "--grace-period=0", "--force")


def a_node_that_dies_meanwhile_changes_nothing(m):
    n = 6000
    start(m, "steadier", STEADY.format(n=n))
    m.wait_phase("steadier", "Running")
    follower = m.spawn([METE, "logs", "-f", "steadier"])
    while m.phase("steadier") == "Running":
        os.kill(wait(lambda: m.child("node"), "the node"), signal.SIGKILL)
        wait_s = time.monotonic() + 1.5
        wait(lambda: time.monotonic() > wait_s, "a node is there again")
    out, err = follower.communicate(timeout=600)
    all_of(numbers(out), n, err[-500:])
    in_order(numbers(m.ok("logs", "steadier")), "what is left is without a gap")


def the_parts_go_with_the_pod(m):
    m.ok("delete", "pod", "steadier")
    wait(lambda: not [p for p in parts(m) if "steadier" in p], "its logs are gone")
    wait(lambda: not [d for d in os.listdir(f"{m.data}/node/log") if "steadier" in d], "their directory too")
