"""kill -9 of every process of Mete, while clients send requests: no acknowledged write is lost, no attempt runs twice.

METE_TEST_SEED replays the choices of a seed (victims, moments, jobs); METE_TEST_KILLS is the number of kills. The place
of a kill is the one seen after the signal, not the intended one:

  intent → running   the machine has the intent of an attempt, and neither its mark "started" nor its exit code
  upon an answer     a create was answered some 20 us before the signal: the object must exist
  inside a commit    the server's storage thread waited in fdatasync of the log, and still did after the signal was sent
"""

import contextlib
import ctypes
import http.client
import json
import multiprocessing
import os
import random
import select
import signal
import socket
import threading
import time

from harness import Failure, Mete, arguments_of, check, children, equal, execute, wait

KILLS = int(os.environ.get("METE_TEST_KILLS", "24"))
SEED = int(os.environ.get("METE_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
SETTLE_S = 120
N_CLIENTS = 3
N_LONG = 3
OPEN_MAX = 24  # jobs that have not ended, before clients wait
AIM_S = 10
IN_MOVED_TO, IN_NONBLOCK = 0x80, os.O_NONBLOCK
SYNC_CALLS = {"x86_64": (b"74", b"75"), "aarch64": (b"82", b"83")}[os.uname().machine]  # fsync, fdatasync

# Every 20 kills: whom, and at which moment.
BLOCK = ([("up", "intent")] * 2 + [("up", "any")] + [("node", "intent")] * 6 + [("node", "any")] +
         [("server", "commit")] * 4 + [("server", "answer")] * 2 + [("server", "intent"), ("server", "any")] +
         [("helper", "intent"), ("helper", "any")])

# A mark is one write to a file opened for appending. `flock` on a gpu's file is held until the last process that has it
# open is gone: two at a time would be two containers with that gpu, whatever any clock says.
JOB = r"""
read -r line </proc/self/stat
set -- $line
born=${22}
attempt=0
[ -e $MARKS/$JOB ] && while read -r word rest; do [ $word = start ] && attempt=$((attempt + 1)); done <$MARKS/$JOB
echo "start $POD_UID main $attempt $born" >>$MARKS/$JOB
held=
if [ $GPUS -gt 0 ]; then
    fd=4
    for uuid in $(nvidia-smi -L | sed -n 's/.*(UUID: \(.*\))/\1/p'); do
        eval "exec $fd>>$MARKS/$uuid"
        flock -n $fd || echo "conflict $uuid" >>$MARKS/$JOB
        echo "+ $JOB $born" >>$MARKS/$uuid
        held="$held $uuid"
        fd=$((fd + 1))
    done
    echo "gpus$held" >>$MARKS/$JOB
fi
while [ $BEATS = 1 ]; do echo "beat $born" >>$MARKS/$JOB; sleep 0.2; done
sleep $SECONDS_TO_RUN
for uuid in $held; do echo "- $JOB $born" >>$MARKS/$uuid; done
[ $attempt -lt $FAILS ] && CODE=9
echo "end $POD_UID main $attempt $born $CODE" >>$MARKS/$JOB
exit $CODE
"""


# ---- the API, over the unix socket


class Door(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("mete", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Lost(Exception):
    """The connection ended without an answer: what was asked may have been done or not."""


class Client:
    def __init__(self, path):
        self.path = path
        self.door = None

    def ask(self, method, path, body=None, kind="application/json"):
        try:
            if not self.door:
                self.door = Door(self.path)
            self.door.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": kind})
            answer = self.door.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        except (OSError, http.client.HTTPException, ValueError) as e:
            if self.door:
                self.door.close()
            self.door = None
            raise Lost(repr(e)) from None

    def ask_until_answered(self, method, path, body=None, deadline_s=SETTLE_S):
        def answered():
            with contextlib.suppress(Lost):
                status, value = self.ask(method, path, body)
                return (status, value) if status < 500 else None

        return wait(answered, f"an answer to {method} {path}", deadline_s)


PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
OPEN = PODS + "?fieldSelector=status.phase!%3DSucceeded,status.phase!%3DFailed"


def job(name, marks, gpus=0, seconds=0.0, code=0, fails=0, beats=0):
    def setting(key, value):
        return {"name": key, "value": str(value)}

    c = {"name": "main", "image": "host", "command": ["sh", "-c", JOB],
         "env": [setting("MARKS", marks), setting("JOB", name), setting("GPUS", gpus), setting("CODE", code),
                 setting("SECONDS_TO_RUN", seconds), setting("FAILS", fails), setting("BEATS", beats),
                 {"name": "POD_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}]}
    if gpus:
        c["resources"] = {"limits": {"nvidia.com/gpu": gpus}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": "OnFailure" if fails else "Never", "terminationGracePeriodSeconds": 1,
                     "containers": [c]}}


# ---- clients, in a process of their own: their Python must not delay the killer's


class Crowd:
    """Clients in threads that create, change and delete objects, and remember every answer."""

    def __init__(self, m, marks, rng):
        self.socket = os.path.join(m.data, "mete.sock")
        self.marks = marks
        self.rng = rng
        self.done = threading.Event()
        self.is_full = threading.Event()
        self.pods = {}  # name → what was asked and answered
        self.maps = {}
        self.counters = {}  # ConfigMap → [last acknowledged, last asked]
        self.wrong = []

    def create(self, c, path, body, known):
        """Did the server answer 201?"""
        try:
            status, answer = c.ask("POST", path, body)
        except Lost:
            return False
        if status != 201:
            if status != 503:
                self.wrong.append(f"create {body['metadata']['name']}: {status} {answer.get('message')}")
            return False
        known.update(uid=answer["metadata"]["uid"], version=int(answer["metadata"]["resourceVersion"]),
                     labels=answer["metadata"].get("labels", {}))
        return True

    def new_job(self, c, name, rng):
        kind = rng.random()
        gpus = rng.choice((0, 0, 0, 1, 1, 2))
        known = {"code": 0, "starts": 1, "gpus": gpus}
        if kind < 0.12:
            known.update(doomed=True)
            body = job(name, self.marks, gpus=gpus, seconds=1000 if rng.random() < 0.5 else 1)
        elif kind < 0.2:
            known.update(starts=2)
            body = job(name, self.marks, gpus=gpus, seconds=0.05, fails=1)
        else:
            known.update(code=rng.choice((0, 0, 3, 77)))
            body = job(name, self.marks, gpus=gpus, seconds=round(rng.uniform(0, 0.4), 2), code=known["code"])
        self.pods[name] = known
        self.create(c, PODS, body, known)
        if known.get("doomed"):
            self.done.wait(rng.uniform(0, 1.5))
            known["deleted"] = True
            c.ask_until_answered("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": rng.choice((0, 1))})

    def new_map(self, c, name, rng):
        data = {"text": "%x" % rng.getrandbits(rng.choice((40, 4000, 40000)))}
        self.maps[name] = known = {"data": data}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
        self.create(c, MAPS, body, known)

    def count(self, c, name):
        counter = self.counters[name]
        counter[1] += 1
        with contextlib.suppress(Lost):
            status, _ = c.ask("PATCH", f"{MAPS}/{name}", {"data": {"n": str(counter[1])}},
                              "application/merge-patch+json")
            if status == 200:
                counter[0] = counter[1]

    def client(self, number, seed):
        c = Client(self.socket)
        rng = random.Random(seed)
        counter = f"counter-{number}"
        self.counters[counter] = [0, 0]
        c.ask_until_answered("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": counter}})
        turn = 0
        while not self.done.is_set():
            turn += 1
            if not self.is_full.is_set():
                self.new_job(c, f"job-{number}-{turn}", rng)
            if rng.random() < 0.3:
                self.new_map(c, f"map-{number}-{turn}", rng)
            self.count(c, counter)
            self.done.wait(rng.uniform(0, 0.15))

    def watch_gpus(self):
        """A list is one moment: of the pods in it that have not ended no two may have the same gpu."""
        c = Client(self.socket)
        while not self.done.is_set():
            with contextlib.suppress(Lost):
                status, answer = c.ask("GET", OPEN)
                if status == 200:
                    self.wrong += shared_gpus(answer["items"])
                    (self.is_full.set if len(answer["items"]) > OPEN_MAX else self.is_full.clear)()
            self.done.wait(0.1)

    def work(self, stop, report):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threads = [threading.Thread(target=self.client, args=(i, self.rng.getrandbits(32))) for i in range(N_CLIENTS)]
        threads.append(threading.Thread(target=self.watch_gpus))
        for t in threads:
            t.start()
        stop.wait()
        self.done.set()
        for t in threads:
            t.join()
        report.send((self.pods, self.maps, self.counters, self.wrong))


def shared_gpus(pods):
    holders = {}
    wrong = []
    for p in pods:
        devices = json.loads(p["metadata"].get("annotations", {}).get("mete.dev/devices", "{}"))
        for uuids in devices.get("containers", {}).values():
            for uuid in uuids:
                name = p["metadata"]["name"]
                if holders.setdefault(uuid, name) != name:
                    wrong.append(f"gpu {uuid} is held by {holders[uuid]} and {name}")
    return wrong


@contextlib.contextmanager
def crowd(m, marks, rng):
    """Yields a function that ends the clients and returns what they know."""
    context = multiprocessing.get_context("fork")
    stop = context.Event()
    ours, theirs = context.Pipe(False)
    worker = context.Process(target=Crowd(m, marks, rng).work, args=(stop, theirs), daemon=True)
    worker.start()

    def end():
        stop.set()
        check(ours.poll(SETTLE_S), "the clients do not end")
        report = ours.recv()
        worker.join()
        return report

    try:
        yield end
    finally:
        if worker.is_alive():
            worker.kill()
            worker.join()


# ---- where a kill hit


class Watch:
    """inotify on one directory: new names come by rename."""

    libc = ctypes.CDLL(None, use_errno=True)

    def __init__(self, path):
        self.fd = self.libc.inotify_init1(IN_NONBLOCK | os.O_CLOEXEC)
        check(self.fd >= 0, "inotify", os.strerror(ctypes.get_errno()))
        check(self.libc.inotify_add_watch(self.fd, path.encode(), IN_MOVED_TO) >= 0, path,
              os.strerror(ctypes.get_errno()))

    def forget(self):
        with contextlib.suppress(BlockingIOError):
            while os.read(self.fd, 65536):
                pass

    def wait(self, deadline_s):
        return bool(select.select([self.fd], [], [], deadline_s)[0])

    def close(self):
        os.close(self.fd)


def attempts(m):
    """(id, has a mark, has ended) of every attempt with an intent on this machine."""
    node = os.path.join(m.data, "node")
    found = []
    for name in os.listdir(os.path.join(node, "intents")):
        with contextlib.suppress(OSError, ValueError):
            if name.endswith(".json"):
                with open(os.path.join(node, "intents", name)) as f:
                    intent = json.load(f)
                bundle = os.path.join(node, "pods", intent["uid"], f"{intent['container']}-{intent['attempt']}")
                found.append((name[:-5], os.path.exists(os.path.join(bundle, "started")),
                              os.path.exists(os.path.join(node, "exits", name[:-5]))))
    return found


def role_of(pid):
    words = arguments_of(pid)
    return words[1].decode() if len(words) > 1 and os.path.basename(words[0]) in (b"mete", b"mete-slurm") else None


def open_victim(m, role, number):
    """(pid, pidfd); None: no such process."""
    pid = find_victim(m, role, number)
    with contextlib.suppress(ProcessLookupError):
        return pid and (pid, os.pidfd_open(pid))
    return None


def find_victim(m, role, number):
    """A pid; None: no such process."""
    if role == "up":
        return m.up.pid
    for child in children(m.up.pid):
        found = role_of(child)
        if found == role:
            return child
        if found == "node" and role == "helper":
            helpers = [h for h in children(child) if role_of(h) == "gpu-helper"]
            return helpers[number % len(helpers)] if helpers else None
    return None


class Syncs:
    """Does a thread of the server wait in a sync of the log? Read from /proc."""

    def __init__(self, pid):
        self.pid = pid
        self.files = []
        self.logs = set()

    def look_anew(self):
        self.close()
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{self.pid}/fd"):
                if os.readlink(f"/proc/{self.pid}/fd/{fd}").endswith("state.db-wal"):
                    self.logs.add(hex(int(fd)).encode())
            for task in os.listdir(f"/proc/{self.pid}/task"):
                self.files.append(os.open(f"/proc/{self.pid}/task/{task}/syscall", os.O_RDONLY | os.O_CLOEXEC))

    def now(self):
        with contextlib.suppress(OSError):
            for fd in self.files:
                words = os.pread(fd, 64, 0).split(None, 2)
                if words[0] in SYNC_CALLS and words[1] in self.logs:
                    return True
        return False

    def wait(self, deadline_s):
        """Returns in the middle of a sync; they take some 50 us, so this does not sleep."""
        end = time.monotonic() + deadline_s
        while time.monotonic() < end:
            self.look_anew()
            for _ in range(5000 if self.logs else 1):
                if self.now():
                    return

    def close(self):
        for fd in self.files:
            os.close(fd)
        self.files = []
        self.logs = set()


class Killer:
    def __init__(self, m, rng):
        self.m = m
        self.rng = rng
        self.is_in_memory = execute(["stat", "-f", "-c", "%T", m.data]).out.strip() == "tmpfs"
        self.intents = Watch(os.path.join(m.data, "node", "intents"))
        self.victims = dict.fromkeys(("up", "server", "node", "helper"), 0)
        self.places = {"intent": 0, "commit": 0, "answer": 0}
        self.maps = {}  # as a crowd's: name → what was asked and answered
        self.counted = set()

    def has_places(self):
        """Moments that matter were hit often enough; how often they are depends on the machine. A commit to a tmpfs takes
        no time: nothing hits it."""
        return self.places["intent"] >= 0.3 * KILLS and (self.is_in_memory or self.places["commit"] >= 0.1 * KILLS)

    def await_intent(self):
        self.intents.forget()
        if self.intents.wait(AIM_S):
            time.sleep(self.rng.uniform(0, 0.008))

    def await_answer(self):
        """Creates an object, and returns with the first bytes of the answer: is the status 201?"""
        name = f"map-answer-{sum(self.victims.values())}"
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": name}}
        text = json.dumps(body)
        self.maps[name] = {"data": body["data"]}
        with socket.socket(socket.AF_UNIX) as s, contextlib.suppress(OSError):
            s.settimeout(AIM_S)
            s.connect(os.path.join(self.m.data, "mete.sock"))
            s.sendall(f"POST {MAPS} HTTP/1.1\r\nHost: mete\r\nContent-Type: application/json\r\n"
                      f"Content-Length: {len(text)}\r\n\r\n{text}".encode())
            is_made = s.recv(1 << 16).startswith(b"HTTP/1.1 201 ")
            self.maps[name]["is_acknowledged"] = is_made
            return is_made
        return False

    def strike(self, victim, aim):
        number = self.rng.getrandbits(8)
        pid, handle = wait(lambda: open_victim(self.m, victim, number), f"there is a {victim} to kill")
        syncs = Syncs(pid)
        is_answered = False
        try:
            if aim == "intent":
                self.await_intent()
            elif aim == "answer":
                is_answered = self.await_answer()
            elif aim == "commit":
                syncs.wait(AIM_S)
            else:
                time.sleep(self.rng.uniform(0, 0.3))
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            is_commit = syncs.now()
            check(select.select([handle], [], [], 60)[0], f"{victim} does not die of SIGKILL")
            self.places["answer"] += is_answered
            self.count(victim, is_commit)
        finally:
            os.close(handle)
            syncs.close()
        if victim == "up":
            self.m.up.wait()
            self.m.up.stdout.close()
            self.m.start()

    def count(self, victim, is_commit):
        between = {name for name, is_started, is_over in attempts(self.m) if not is_started and not is_over}
        self.victims[victim] += 1
        self.places["commit"] += is_commit
        self.places["intent"] += bool(between - self.counted)  # one attempt stands for one kill
        self.counted |= between

    def text(self):
        who = ", ".join(f"{k} {v}" for k, v in self.victims.items())
        return (f"kill: {sum(self.victims.values())} ({who}); intent→running {self.places['intent']}, "
                f"inside a commit {self.places['commit']}, "
                f"upon an answer {self.places['answer']}; seed {SEED}")


# ---- what must hold in the end


def read_marks(marks):
    found = {}
    for name in os.listdir(marks):
        with open(os.path.join(marks, name)) as f:
            found[name] = [line.split() for line in f]
    return found


def check_gpu_marks(marks, pods):
    """Checks each gpu's file: each holder released the gpu, or was ended, before the next one took it."""
    for name, lines in marks.items():
        equal([line for line in lines if line[0] == "conflict"], [], f"{name} met another holder of its gpu")
        if not name.startswith("GPU-"):
            continue
        holder = None
        for sign, owner, born in lines:
            if sign == "-":
                equal((owner, born), holder, f"gpu {name} is given back by who does not hold it", lines)
                holder = None
                continue
            check(not holder or pods.get(holder[0], {}).get("doomed"), f"gpu {name} is taken twice", lines)
            holder = (owner, born)


def check_starts(name, known, found, lines):
    """Checks the job's own marks: no attempt ran twice, none is left out."""
    starts = [line for line in lines if line[0] == "start"]
    ends = [line for line in lines if line[0] == "end"]
    equal(len({line[4] for line in starts}), len(starts), f"{name}: starts with equal birth times", lines)
    for line in lines:
        check(line[0] != "gpus" or len(set(line[1:])) == known["gpus"], f"{name} sees more or fewer gpus", lines)
    if known.get("doomed"):
        check(len(starts) <= 1, f"{name} started more than once", lines)
        return
    status = found["status"]["containerStatuses"][0]
    equal(status["restartCount"], known["starts"] - 1, name, json.dumps(found["status"]), lines)
    equal(len(starts), known["starts"], f"{name}: starts by its marks", json.dumps(found["status"]), lines)
    equal(len(ends), known["starts"], f"{name}: ends by its marks", lines)
    equal({line[1] for line in starts}, {found["metadata"]["uid"]}, name, lines)


def check_end(name, known, found):
    text = json.dumps(found, indent=1)
    equal(found["status"]["phase"], "Failed" if known["code"] else "Succeeded", name, text)
    ended = found["status"]["containerStatuses"][0]["state"].get("terminated", {})
    equal(ended.get("exitCode"), known["code"], name, text)


def check_pods(pods, found, marks):
    numbers = [int(p["metadata"]["labels"]["mete.dev/job-id"]) for p in found.values()]
    equal(len(set(numbers)), len(numbers), "a job number was given twice")
    for name, known in pods.items():
        p = found.get(name)
        if known.get("deleted"):
            check(not p or p["status"]["phase"] in ("Succeeded", "Failed") or "uid" not in known,
                  f"{name} was deleted and goes on", p)
        elif "uid" in known:
            check(p, f"{name} was acknowledged and is lost")
            equal(p["metadata"]["uid"], known["uid"], f"{name} is another")
            equal(p["metadata"]["labels"], known["labels"], f"{name} changed")
        lines = marks.get(name, [])
        if not p and not known.get("doomed"):
            equal(lines, [], f"{name} is not there and ran")
            continue
        check_starts(name, known, p, lines)
        if p and not known.get("doomed"):
            check_end(name, known, p)


def check_maps(maps, counters, found):
    for name, known in maps.items():
        if "uid" in known or known.get("is_acknowledged"):
            check(name in found, f"{name} was acknowledged and is lost")
        if name in found:
            equal(found[name].get("data"), known["data"], f"{name} changed")
    for name, (acknowledged, asked) in counters.items():
        n = int(found[name].get("data", {}).get("n", 0))
        check(acknowledged <= n <= asked, f"{name} is {n}: acknowledged {acknowledged}, asked {asked}")


def long_process(m, uid):
    """Its first process on the host, and when that began."""
    with open(os.path.join(m.data, "node", "pods", uid, "main-0", "pidfile")) as f:
        pid = int(f.read())
    with open(f"/proc/{pid}/stat") as f:
        return pid, f.read().rsplit(")", 1)[1].split()[19]


def start_long(m, c, marks):
    found = {}
    for i in range(N_LONG):
        name = f"long-{i}"
        status, p = c.ask_until_answered("POST", PODS, job(name, marks, gpus=i % 2, beats=1))
        equal(status, 201, p)
        m.wait_phase(name, "Running")
        found[name] = (p["metadata"]["uid"], long_process(m, p["metadata"]["uid"]))
    return found


def check_long(m, long, found, marks_dir):
    for name, (uid, process) in long.items():
        p = found[name]
        text = json.dumps(p["status"])
        equal(p["status"]["phase"], "Running", name, text)
        equal(p["status"]["containerStatuses"][0]["restartCount"], 0, name, text)
        equal(long_process(m, uid), process, f"{name} is another process")
        path = os.path.join(marks_dir, name)
        size = os.path.getsize(path)
        wait(lambda p=path, n=size: os.path.getsize(p) > n, f"{name} goes on writing")
        with open(path) as f:
            lines = [line.split() for line in f]
        equal(len([x for x in lines if x[0] == "start"]), 1, name)
        equal({x[-1] for x in lines if x[0] == "beat"}, {process[1]}, name)


def check_nothing_is_left(m, long):
    """Checks that ended attempts leave no monitor, no state of crun and no cgroup."""
    uids = {uid for uid, _ in long.values()}
    state = os.path.join(m.data, "node", "run")

    def leftovers():
        found = [f"crun {x}" for x in os.listdir(state) if x[:36] not in uids]
        for pid in filter(str.isdigit, os.listdir("/proc")):
            words = arguments_of(pid)
            if words and os.path.basename(words[0]) == b"conmon" and any(w.startswith(m.data.encode()) for w in words):
                if words[words.index(b"-c") + 1].decode()[:36] not in uids:
                    found.append("conmon " + words[words.index(b"-c") + 1].decode())
        return found

    wait(lambda: not leftovers(), "nothing is left of what has ended")


def settle(m, c, long):
    """Liveness: once the kills stop, all pods that can run do run, and end."""

    def open_pods():
        status, answer = c.ask_until_answered("GET", OPEN)
        return status == 200 and {p["metadata"]["name"]: p for p in answer["items"]
                                  if p["metadata"]["name"] not in long}

    try:
        wait(lambda: open_pods() == {}, "all jobs have ended", SETTLE_S)
    except Failure as e:
        rest = [f"{name} on {p['spec'].get('nodeName')} {p['metadata'].get('annotations')}\n"
                f"  {json.dumps(p['status'])}\n  {m.mete('why', name).out}" for name, p in open_pods().items()]
        raise Failure("\n".join([str(e), *rest])) from None


def check_log(m):
    """Checks that only the test ended processes of Mete, and that the log has no errors."""
    with open(m.log, errors="replace") as f:
        lines = f.readlines()
    bad = [x for x in lines if " level=error " in x or "ERROR: AddressSanitizer" in x or "runtime error:" in x or
           ('msg="child ended' in x and "killed by SIGKILL" not in x)]
    equal(bad, [])


def delete_doomed(c, pods):
    """The pods whose deletion was not answered: they would run for long."""
    for name, known in pods.items():
        if known.get("doomed"):
            status, answer = c.ask_until_answered("DELETE", f"{PODS}/{name}")
            check(status in (200, 202, 404), f"delete {name}", status, answer)


def listed(c, path):
    status, answer = c.ask_until_answered("GET", path)
    equal(status, 200, answer)
    return {x["metadata"]["name"]: x for x in answer["items"]}


def test_kill():
    rng = random.Random(SEED)
    print(f"kill: seed {SEED}", flush=True)
    with Mete() as m, m.unharmed():
        marks_dir = os.path.join(m.dir, "marks")
        os.mkdir(marks_dir)
        c = Client(os.path.join(m.data, "mete.sock"))
        long = start_long(m, c, marks_dir)
        killer = Killer(m, rng)
        with crowd(m, marks_dir, rng) as end_crowd:
            plan = []
            while (n := sum(killer.victims.values())) < KILLS or not killer.has_places() and n < 10 * KILLS:
                plan = plan or rng.sample(BLOCK, len(BLOCK))
                killer.strike(*plan.pop())
            pods, maps, counters, wrong = end_crowd()
        killer.intents.close()
        equal(wrong, [])
        delete_doomed(c, pods)
        settle(m, c, long)
        found = listed(c, PODS)
        marks = read_marks(marks_dir)
        check_gpu_marks(marks, pods)
        check_pods(pods, found, marks)
        check_maps({**maps, **killer.maps}, counters, listed(c, MAPS))
        check_long(m, long, found, marks_dir)
        check_nothing_is_left(m, long)
        check_log(m)
        print(killer.text(), flush=True)
        check(killer.has_places(), "too few kills between intent and running, or inside a commit")
