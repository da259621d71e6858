"""kill -9 of every process of Mete while Slurm jobs, arrays and chains of dependencies run as processes of the machine.

METE_TEST_SEED replays the choices of a seed; METE_TEST_SLURM_KILLS is the number of kills. Besides server, node and up die
the launcher and the waiters of jobs. Each element of a job appends to a file when it starts and ends. The guarantees:

  each acknowledged job is there, and ends; each of its attempts has one row in accounting
  no attempt (element and restart count) starts twice; an attempt starts after the one before is over
  an array never has more elements at once than its limit
  afterok, afternotok and afterany hold: what waits starts after the last end, and only where the ends allow it
  a job whose waiter was killed ends with all its processes, and its end is told
"""

import contextlib
import json
import os
import random
import select
import signal
import threading

from harness import Failure, Mete, arguments_of, check, children, descriptors, equal, native_place, wait
from test_kill import SETTLE_S, Client, Killer, Lost, Watch, role_of

KILLS = int(os.environ.get("METE_TEST_SLURM_KILLS", "20"))
SEED = int(os.environ.get("METE_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
N_CLIENTS = 2
N_LONG = 2
OPEN_MAX = 14  # jobs that have not ended, before clients wait
BLOCK = ([("up", "any")] * 2 + [("server", "any")] * 2 + [("server", "commit")] * 2 + [("node", "intent")] * 4 +
         [("node", "any")] * 2 + [("launcher", "intent")] * 2 + [("launcher", "any")] + [("waiter", "any")] * 3)
JOBS = "/apis/mete.dev/v1/namespaces/default/slurmjobs"
MERGE = "application/merge-patch+json"

# An element holds a slot of its array, and a lock of its own, until its last process is gone. A job that waits for others
# notes how much they had written before it: they may write no more.
SCRIPT = r"""#!/bin/sh
read -r line </proc/self/stat
set -- $line
born=${22}
i=${SLURM_ARRAY_TASK_ID:-0}
tag="$i ${SLURM_RESTART_COUNT:-0} $born"
exec 8>>$MARKS/$JOB.own$i
flock -n 8 || echo "twice $tag" >>$MARKS/$JOB
echo "start $tag" >>$MARKS/$JOB
n=0
while [ $n -lt $SLOTS ]; do
    eval "exec 9>>$MARKS/$JOB.slot$n"
    flock -n 9 && break
    n=$((n + 1))
done
[ $n -lt $SLOTS ] || echo "over $tag" >>$MARKS/$JOB
[ -z "$AFTER" ] || echo "after $(cat $MARKS/$AFTER 2>/dev/null | wc -l)" >>$MARKS/$JOB
while [ $BEATS = 1 ]; do echo "beat $born" >>$MARKS/$JOB; sleep 0.2; done
sleep $SECONDS_TO_RUN
echo "end $tag" >>$MARKS/$JOB
[ $i != $FAILS ] || exit 7
"""


def slurm_job(name, marks, known, **spec):
    """`known` tells what the elements do."""
    values = {"MARKS": marks, "JOB": name, "SLOTS": known["limit"], "AFTER": known["after"] or "", "FAILS": known["fails"],
              "SECONDS_TO_RUN": known["seconds"], "BEATS": known.get("beats", 0), "PATH": os.environ["PATH"]}
    if known["n"] > 1:
        spec["array"] = {"indexes": f"0-{known['n'] - 1}", "limit": known["limit"]}
    return {"apiVersion": "mete.dev/v1", "kind": "SlurmJob", "metadata": {"name": name},
            "spec": {"name": name, "script": SCRIPT, "workDir": "/tmp", "stdout": "/dev/null", "killOnInvalidDependency": True,
                     "environment": [f"{k}={v}" for k, v in values.items()], **spec}}


def job_of(rng, **what):
    return {"n": 1, "limit": 1, "after": None, "fails": -1, "seconds": round(rng.uniform(0, 0.3), 2), "requeues": 0, **what}


class Crowd:
    """Clients in threads that submit, requeue and cancel, and remember every answer."""

    def __init__(self, m, marks, rng):
        self.path = os.path.join(m.data, "mete.sock")
        self.marks = marks
        self.jobs = {}  # name → what was asked and answered
        self.wrong = []
        self.done = threading.Event()
        self.threads = [threading.Thread(target=self.client, args=(i, rng.getrandbits(32))) for i in range(N_CLIENTS)]
        for t in self.threads:
            t.start()

    def end(self):
        self.done.set()
        for t in self.threads:
            t.join()

    def client(self, number, seed):
        rng = random.Random(seed)
        c = Client(self.path)
        turn = 0
        while not self.done.is_set():
            turn += 1
            try:
                with contextlib.suppress(Lost):
                    status, answer = c.ask("GET", JOBS)
                    if status == 200 and len([j for j in answer["items"] if not is_over(j)]) < OPEN_MAX:
                        step = (self.array, self.chain, self.requeued, self.cancelled)[(turn + number) % 4]
                        step(c, f"job-{number}-{turn}", rng)
            except Exception as e:  # the test reports it
                self.wrong.append(repr(e))
                return
            self.done.wait(rng.uniform(0, 0.1))

    def submit(self, c, name, known, **spec):
        """The number of the job; None: the answer was lost."""
        self.jobs[name] = known
        try:
            status, answer = c.ask("POST", JOBS, slurm_job(name, self.marks, known, **spec))
        except Lost:
            return None
        if status == 201:
            known["id"] = answer["status"]["jobId"]
        elif status != 503:
            self.wrong.append(f"create {name}: {status} {answer.get('message')}")
        return known.get("id")

    def array(self, c, name, rng):
        n = rng.choice((3, 5, 8))
        gpus = {"gres": "gpu:1"} if rng.random() < 0.4 else {}
        self.submit(c, name, job_of(rng, n=n, limit=rng.choice((1, 2, n)), fails=rng.choice((-1, 0, n - 1))), **gpus)

    def chain(self, c, name, rng):
        """One job, and three that wait for it."""
        n = rng.choice((1, 1, 3))
        first = self.submit(c, name, job_of(rng, n=n, limit=n, fails=rng.choice((-1, 0))))
        for kind in ("afterok", "afternotok", "afterany"):
            if first:
                self.submit(c, f"{name}-{kind}", job_of(rng, after=name, kind=kind, seconds=0), dependency=f"{kind}:{first}")

    def change(self, c, name, patch):
        status, answer = 409, None
        while status == 409:
            status, answer = c.ask("PATCH", f"{JOBS}/{name}", patch, MERGE)
        if status not in (200, 404, 503):
            self.wrong.append(f"change {name}: {status} {answer.get('message')}")

    def requeued(self, c, name, rng):
        known = job_of(rng, seconds=0.5)
        if self.submit(c, name, known):
            for i in range(1, rng.choice((2, 3))):
                self.done.wait(rng.uniform(0, 0.4))
                known["requeues"] = i
                self.change(c, name, {"spec": {"requeues": {"*": i}}})

    def cancelled(self, c, name, rng):
        known = job_of(rng, n=2, limit=1, seconds=rng.choice((0.2, 1000)))
        known["cancelled"] = True
        if self.submit(c, name, known):
            self.done.wait(rng.uniform(0, 0.6))
        for _ in range(100):
            with contextlib.suppress(Lost):
                self.change(c, name, {"spec": {"cancelled": "*"}})
                return
            self.done.wait(0.05)


def is_over(j):
    return bool(j["status"].get("endTime"))


# ---- who dies


def waiters(m):
    """(pid, id of the attempt) of each waiter: it has the attempt's file open."""
    found = []
    place = native_place(m.data)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/comm") as f:
                if f.read() != "mete-wait\n":
                    continue
            found += [(int(pid), target.split(place)[1]) for target in descriptors(pid) if place in target]
    return found


class SlurmKiller(Killer):
    def __init__(self, m, rng):
        super().__init__(m, rng)
        self.intents.close()
        self.intents = Watch(os.path.join(m.data, "node", "native"))
        self.victims.update(launcher=0, waiter=0)
        self.widowed = set()  # attempts whose waiter died
        self.spared = set()

    def strike(self, victim, aim):
        if victim not in ("launcher", "waiter"):
            super().strike(victim, aim)
            return
        if aim == "intent":
            self.await_intent()
        found = wait(lambda: self.crowd.wrong or self.choose(victim), f"there is a {victim}")
        equal(self.crowd.wrong, [])
        pid, attempt = found
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(pid)
            try:
                if victim == "waiter":
                    self.widowed.add(attempt)
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                check(select.select([handle], [], [], 60)[0], "it does not die of SIGKILL")
                self.victims[victim] += 1
            finally:
                os.close(handle)

    def choose(self, victim):
        if victim == "waiter":
            found = [w for w in waiters(self.m) if w[1] not in self.spared]
        else:
            found = [(pid, None) for node in children(self.m.up.pid) if role_of(node) == "node"
                     for pid in children(node) if arguments_of(pid)[1:2] == [b"launch-helper"]]
        return self.rng.choice(found) if found else None

    def count(self, victim, is_commit):
        self.victims[victim] += 1
        self.places["commit"] += is_commit


# ---- what must hold in the end


def rows_by_job(m):
    found = {}
    for row in json.loads(m.mete("usage", "--rows", "-o", "json").out)["items"]:
        if "slurm" in row:
            found.setdefault(row["slurm"]["name"], []).append(row)
    return found


def check_job(name, known, lines, rows, widowed):
    """Returns the states of the elements."""
    text = f"{name} {known}\n{lines}\n{json.dumps(rows)}"
    marks = {what: [x[1:] for x in lines if x[0] == what] for what in ("start", "end", "twice", "over", "beat")}
    equal((marks["twice"], marks["over"]), ([], []), text)
    starts = [tuple(x[:2]) for x in marks["start"]]
    equal(len(set(starts)), len(starts), "an attempt started twice", text)
    equal(len({x[2] for x in marks["start"]} if known["n"] == 1 else {tuple(x) for x in marks["start"]}), len(starts), text)
    ran = [(str(r["slurm"].get("arrayTaskId", 0)), str(r["slurm"]["restarts"])) for r in rows if r["node"]]
    equal(len(set(ran)), len(ran), "an attempt has two rows", text)
    check(set(starts) <= set(ran), "a start has no row", text)
    states = {}
    for r in sorted(rows, key=lambda r: r["slurm"]["restarts"]):
        index = r["slurm"].get("arrayTaskId", 0)
        states.update({i: r["state"] for i in range(known["n"])} if not r["node"] else {index: r["state"]})
        if not r["node"]:
            continue
        key = (str(index), str(r["slurm"]["restarts"]))
        is_widowed = any(a.startswith(r["podUid"]) for a in widowed)
        check(r["state"] != "COMPLETED" or key in starts, "it ended and never began", text)
        if r["state"] in ("COMPLETED", "FAILED") and not is_widowed:
            equal(r["exitCode"], 7 if index == known["fails"] else 0, text)
            check(key in {tuple(x[:2]) for x in marks["end"]}, "it ended without its last line", text)
        check(r["state"] in ("COMPLETED", "FAILED") or known.get("cancelled") or known["requeues"] or is_widowed, text)
        check(r["slurm"]["restarts"] <= known["requeues"] or is_widowed, "started anew without a reason", text)
    equal(set(states), set(range(known["n"])), "an end for each element", text)
    check("CANCELLED" not in states.values() or known.get("cancelled") or known["after"], text)
    return set(states.values())


def check_order(name, known, lines, states, parents, marks):
    """What waited for another job."""
    before = parents[known["after"]]
    holds = {"afterany": True, "afterok": before == {"COMPLETED"}, "afternotok": before != {"COMPLETED"}}[known["kind"]]
    text = f"{name} {known} {states}, after {before}\n{lines}\n{marks.get(known['after'])}"
    equal(any(x[0] == "start" for x in lines) or "CANCELLED" not in states, holds, text)
    for x in lines:
        check(x[0] != "after" or int(x[1]) == len(marks.get(known["after"], [])), "it started before the other's end", text)


def settle(m, c):
    def rest():
        status, answer = c.ask_until_answered("GET", JOBS)
        return [j for j in answer["items"] if not is_over(j) and not j["metadata"]["name"].startswith("long-")] if status == 200 else ["?"]

    try:
        wait(lambda: not rest(), "all jobs have ended", SETTLE_S)
    except Failure as e:
        raise Failure("\n".join([str(e), *(json.dumps(j["status"]) for j in rest()), m.mete("squeue").out,
                                 m.mete("get", "pods", "-o", "json").out])) from None


def nothing_is_left(m):
    """No waiter, no cgroup and no file of an attempt but those of the long jobs."""
    wait(lambda: len(waiters(m)) == N_LONG, "the long jobs have their waiters")
    alive = {a for _, a in waiters(m)}

    def leftovers():
        found = [f"waiter {a}" for _, a in waiters(m) if a not in alive]
        place = os.path.join(m.data, "node", "native")
        found += [f"file {x}" for x in os.listdir(place) if x != "usage" and x not in alive]
        for base, dirs, _ in os.walk("/sys/fs/cgroup"):
            if os.path.basename(base) == "mete":
                found += [f"cgroup {base}/{d}" for d in dirs if d not in alive and os.path.exists(f"{place}/{d}")]
        return found

    wait(lambda: not leftovers(), "nothing is left of what has ended")


def start_long(m, c, marks, rng):
    for i in range(N_LONG):
        status, answer = c.ask_until_answered("POST", JOBS, slurm_job(f"long-{i}", marks, job_of(rng, beats=1)))
        equal(status, 201, answer)
    wait(lambda: len(waiters(m)) == N_LONG, "the long jobs run")
    return {a for _, a in waiters(m)}


def check_long(m, marks):
    for i in range(N_LONG):
        path = os.path.join(marks, f"long-{i}")
        size = os.path.getsize(path)
        wait(lambda p=path, n=size: os.path.getsize(p) > n, f"long-{i} goes on writing")
        with open(path) as f:
            equal(len({line.split()[-1] for line in f}), 1, f"long-{i} is one process")
    equal(m.mete("squeue", "-h", "-o", "%T").out, "RUNNING\n" * N_LONG)


def test_kill_with_slurm_jobs():
    rng = random.Random(SEED)
    print(f"kill slurm: seed {SEED}", flush=True)
    with Mete(gpus="emulated:2xH100", arguments=("--cpus", "12")) as m, m.unharmed():
        marks_dir = os.path.join(m.dir, "marks")
        os.mkdir(marks_dir)
        c = Client(os.path.join(m.data, "mete.sock"))
        spared = start_long(m, c, marks_dir, rng)
        killer = SlurmKiller(m, rng)
        killer.spared = spared
        killer.crowd = crowd = Crowd(m, marks_dir, rng)
        try:
            plan = []
            while not crowd.wrong and sum(killer.victims.values()) < KILLS:
                plan = plan or rng.sample(BLOCK, len(BLOCK))
                killer.strike(*plan.pop())
        except Failure:
            print(m.mete("squeue", "-t", "all").out, m.mete("get", "pods", "-o", "json").out, m.mete("events").out)
            raise
        finally:
            crowd.end()
            killer.intents.close()
        equal(crowd.wrong, [])
        settle(m, c)
        check_all(m, c, crowd.jobs, marks_dir, killer.widowed)
        check_long(m, marks_dir)
        nothing_is_left(m)
        equal(m.mete("scancel", "-u", "root").code, 0)
        wait(lambda: not waiters(m), "the long jobs have ended")
        with open(m.log, errors="replace") as f:
            equal([x for x in f if " level=error " in x or "Sanitizer" in x or "runtime error:" in x or
                   ('msg="child ended' in x and "killed by SIGKILL" not in x)], [])
        who = ", ".join(f"{k} {v}" for k, v in killer.victims.items() if v)
        print(f"kill slurm: {sum(killer.victims.values())} ({who}), inside a commit {killer.places['commit']}; {len(crowd.jobs)} jobs", flush=True)


def check_all(m, c, jobs, marks_dir, widowed):
    status, answer = c.ask_until_answered("GET", JOBS)
    equal(status, 200, answer)
    found = {j["metadata"]["name"]: j for j in answer["items"]}
    rows = rows_by_job(m)
    marks = {}
    for name in os.listdir(marks_dir):
        with open(os.path.join(marks_dir, name)) as f:
            marks[name] = [line.split() for line in f]
    states = {}
    for name, known in jobs.items():
        check(name in rows or "id" not in known, f"{name} was acknowledged and is lost", json.dumps(found.get(name, {}).get("status")))
        check(name in rows or not marks.get(name), f"{name} is not there and ran", marks.get(name))
        if name in rows:
            states[name] = check_job(name, known, marks.get(name, []), rows[name], widowed)
    for name, known in jobs.items():
        if name in rows and known["after"]:
            check_order(name, known, marks.get(name, []), states[name], states, marks)
    check(len({s for found in states.values() for s in found}) > 2 and len(states) > 5, "too little happened", states)
