"""kill -9 while images come and go, Jobs run in containers of images and a namespace is at its quota.

METE_TEST_SEED replays the choices of a seed; METE_TEST_BATCH_KILLS is the number of kills. Besides the processes of
test_kill.py, those below the node die: crun, conmon, skopeo and the readers of archives. The guarantees:

  each index of a Job succeeds in exactly one pod that counts, and no pod counts twice
  a quota's `used` is the sum of its namespace's pods, at every moment that can be observed
  held, free and out of service add up to the capacity of the gpus, to the nanosecond
  no monitor, container, cgroup, mount or half of an image is left
"""

import contextlib
import json
import os
import random
import select
import signal
import threading

from harness import Failure, Mete, arguments_of, check, children, equal, wait
from image_kit import Image, Layer, Registry, base_layer, write
from test_kill import SETTLE_S, Client, Killer, Lost, listed, role_of, shared_gpus
from test_usage import adds_up, rows

KILLS = int(os.environ.get("METE_TEST_BATCH_KILLS", "8"))
SEED = int(os.environ.get("METE_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
OPEN_MAX = 6  # Jobs that have not ended, before there are more
HARD_PODS, HARD_GPUS = 4, 3
GPU = "nvidia.com/gpu"
BELOW = (b"crun", b"conmon", b"skopeo", b"image-unpack", b"image-fetch", b"mete")
BLOCK = ([("server", "any")] * 3 + [("server", "commit")] * 2 + [("node", "intent")] * 2 + [("node", "any")] * 3 +
         [("up", "any")] * 2 + [("helper", "any")] + [("below", "any")] * 7)

PODS, QUOTAS = "/api/v1/namespaces/{}/pods", "/api/v1/namespaces/team/resourcequotas"
JOBS = "/apis/batch/v1/namespaces/batch/jobs"

# The first attempts of an index fail, as often as FAILS says; /marks is one directory for all.
SCRIPT = r"""
umask 0
mark=/marks/$JOB-$JOB_COMPLETION_INDEX
echo start $HOSTNAME $$ >>$mark
n=$(grep -c start $mark)
sleep $SECONDS_TO_RUN
[ $n -gt $FAILS ] || exit 1
echo end $HOSTNAME >>$mark
"""


def job(name, image, rng, marks):
    completions = rng.choice((1, 2, 3, 5))
    fails = rng.choice((0, 0, 1))
    gpus = rng.choice((0, 0, 1))
    env = {"JOB": name, "FAILS": fails, "SECONDS_TO_RUN": rng.choice((0, 0.2, 1))}
    c = {"name": "main", "image": image, "command": ["sh", "-c", SCRIPT],
         "env": [{"name": k, "value": str(v)} for k, v in env.items()],
         "volumeMounts": [{"name": "marks", "mountPath": "/marks"}]}
    if gpus:
        c["resources"] = {"limits": {GPU: gpus}}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"completions": completions, "parallelism": rng.choice((1, 2, 3)), "completionMode": "Indexed",
                     "backoffLimit": 1000, "template": {"spec": {
                         "restartPolicy": "Never", "containers": [c],
                         "volumes": [{"name": "marks", "hostPath": {"path": marks}}]}}}}
    return body, {"completions": completions, "fails": fails}


def quota_pod(name, rng):
    c = {"name": "main", "image": "host", "command": ["sleep", str(rng.choice((0.1, 0.5, 1)))]}
    gpus = rng.choice((0, 1, 2))
    if gpus:
        c["resources"] = {"limits": {GPU: gpus}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [c]}}


def asked_gpus(p):
    return sum(int(c.get("resources", {}).get("limits", {}).get(GPU, 0)) for c in p["spec"]["containers"])


def used_by(pods):
    """The pods that count for a quota: those that have not ended."""
    live = [p for p in pods if p["status"].get("phase") not in ("Succeeded", "Failed")]
    return {"pods": str(len(live)), f"requests.{GPU}": str(sum(map(asked_gpus, live)))}


class Crowd:
    """Clients in threads that send requests, and remember the acknowledged ones."""

    def __init__(self, m, marks, registry, rng):
        self.m = m
        self.socket = os.path.join(m.data, "mete.sock")
        self.marks = marks
        self.registry = registry
        self.jobs = {}
        self.refused = 0
        self.seen = 0  # moments at which a quota could be compared
        self.imported = 0
        self.wrong = []
        self.done = threading.Event()
        steps = (self.make_job, self.fill_quota, self.watch_quota, self.watch_gpus, self.import_image, self.pull_image)
        self.threads = [threading.Thread(target=self.repeat, args=(step, rng.getrandbits(32))) for step in steps]
        for t in self.threads:
            t.start()

    def repeat(self, step, seed):
        rng = random.Random(seed)
        c = Client(self.socket)
        turn = 0
        while not self.done.is_set():
            turn += 1
            try:
                with contextlib.suppress(Lost):
                    step(c, rng, turn)
            except Exception as e:  # the test reports it
                self.wrong.append(repr(e))
                return
            self.done.wait(rng.uniform(0, 0.15))

    def did_all(self):
        return self.jobs and self.refused and self.seen and self.imported

    def text(self):
        return (f"{len(self.jobs)} jobs, {self.refused} refused by quota, {self.seen} looks at it, "
                f"{self.imported} imports")

    def end(self):
        self.done.set()
        for t in self.threads:
            t.join()

    def make_job(self, c, rng, turn):
        status, answer = c.ask("GET", JOBS)
        if status != 200 or len([j for j in answer["items"] if not is_complete(j)]) >= OPEN_MAX:
            return
        name = f"job-{turn}"
        image = rng.choice(("kit:1", "kit:1", self.registry.tag))
        body, known = job(name, image, rng, self.marks)
        self.jobs[name] = known
        status, answer = c.ask("POST", JOBS, body)
        known["is_acknowledged"] = status == 201
        if status not in (201, 503):
            self.wrong.append(f"create {name}: {status} {answer.get('message')}")

    def fill_quota(self, c, rng, turn):
        status, answer = c.ask("POST", PODS.format("team"), quota_pod(f"team-{turn}", rng))
        self.refused += status == 403 and "exceeded quota" in answer["message"]
        if status not in (201, 403, 503):
            self.wrong.append(f"create team-{turn}: {status} {answer.get('message')}")
        if turn % 7 == 0:
            c.ask("DELETE", PODS.format("team") + f"/team-{turn - 1}")

    def watch_quota(self, c, _, __):
        """Where the quota is the same before and after a list of the pods, it must be of these."""
        before = c.ask("GET", QUOTAS + "/limit")
        pods = c.ask("GET", PODS.format("team"))
        after = c.ask("GET", QUOTAS + "/limit")
        if {x[0] for x in (before, pods, after)} != {200} or before[1] != after[1]:
            return
        self.seen += 1
        used = after[1]["status"]["used"]
        if used != used_by(pods[1]["items"]):
            self.wrong.append(f"quota says {used}, the pods {used_by(pods[1]['items'])}")
        if int(used["pods"]) > HARD_PODS or int(used[f"requests.{GPU}"]) > HARD_GPUS:
            self.wrong.append(f"over the quota: {used}")

    def watch_gpus(self, c, _, __):
        status, answer = c.ask("GET", "/api/v1/pods?fieldSelector=status.phase!%3DSucceeded,status.phase!%3DFailed")
        if status == 200:
            self.wrong += shared_gpus(answer["items"])

    def import_image(self, _, rng, turn):
        name = f"extra-{turn % 2}:1"
        path = os.path.join(self.m.dir, "extra.tar")
        write(path, Image([base_layer(), Layer().add("data/big", rng.randbytes(1 << 20)).octets()]).layout())
        self.imported += self.m.mete("image", "import", path, name).code == 0
        if rng.random() < 0.5:
            self.m.mete("image", "rm", name)

    def pull_image(self, _, rng, __):
        self.m.mete("image", "pull", self.registry.tag)
        if rng.random() < 0.3:
            self.m.mete("image", "rm", self.registry.tag)


def is_complete(j):
    return any(c["type"] == "Complete" and c["status"] == "True" for c in j["status"].get("conditions", []))


# ---- who dies


def below_node(m):
    """crun, conmon and what reads or fetches images: the node's children and theirs, and monitors of ours."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        words = arguments_of(pid)
        if words and os.path.basename(words[0]) in (b"crun", b"conmon") and any(m.data.encode() in w for w in words):
            found.append(int(pid))
    for node in (p for p in children(m.up.pid) if role_of(p) == "node"):
        for pid in children(node):
            if role_of(pid) not in ("gpu-helper", None):
                found += [pid, *children(pid)]
    return found


class BatchKiller(Killer):
    def __init__(self, m, rng):
        super().__init__(m, rng)
        self.victims["below"] = 0

    def strike(self, victim, aim):
        if victim != "below":
            super().strike(victim, aim)
            return
        pid = wait(lambda: self.choose(), "there is something below the node")
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(pid)
            try:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                check(select.select([handle], [], [], 60)[0], "it does not die of SIGKILL")
                self.victims["below"] += 1
            finally:
                os.close(handle)

    def choose(self):
        found = below_node(self.m)
        return self.rng.choice(found) if found else None


# ---- what must hold in the end


def settle(c):
    def unfinished():
        rest = [n for n, j in listed(c, JOBS).items() if not is_complete(j)]
        live = [n for n, p in listed(c, PODS.format("team")).items() if p["status"]["phase"] not in ("Succeeded", "Failed")]
        return rest + live

    try:
        wait(lambda: not unfinished(), "all Jobs are complete and all pods have ended", SETTLE_S)
    except Failure as e:
        text = [json.dumps(j["status"]) for j in listed(c, JOBS).values() if not is_complete(j)]
        text += [json.dumps(p["status"]) for p in listed(c, PODS.format("batch")).values()
                 if p["status"]["phase"] not in ("Succeeded", "Failed")]
        raise Failure("\n".join([str(e), str(unfinished()), *text])) from None


def check_jobs(c, known, marks):
    jobs = listed(c, JOBS)
    pods = listed(c, PODS.format("batch")).values()
    for name, promised in known.items():
        check(name in jobs or not promised.get("is_acknowledged"), f"{name} was acknowledged and is lost")
    for name, j in jobs.items():
        n, status = known[name]["completions"], j["status"]
        mine = [p for p in pods if p["metadata"].get("labels", {}).get("job-name") == name]
        by_phase = {phase: [p for p in mine if p["status"]["phase"] == phase] for phase in ("Succeeded", "Failed")}
        text = json.dumps(status)
        equal(status.get("succeeded"), n, name, text)
        equal(status.get("completedIndexes"), "0" if n == 1 else f"0-{n - 1}" if n > 2 else "0,1", name, text)
        equal(status.get("failed", 0), len(by_phase["Failed"]), name, text)
        equal((status.get("active", 0), status.get("uncountedTerminatedPods", {})), (0, {}), name, text)
        good = sorted(p["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] for p in by_phase["Succeeded"])
        equal(good, sorted(map(str, range(n))), f"{name}: one pod that succeeded for each index")
        for i in range(n):
            with open(os.path.join(marks, f"{name}-{i}")) as f:
                lines = [line.split() for line in f]
            starts = [x for x in lines if x[0] == "start"]
            check(len(starts) > known[name]["fails"], f"{name} index {i}", lines)
            check([x for x in lines if x[0] == "end"], f"{name} index {i} came to its end", lines)


def check_usage(m, c):
    adds_up(m)
    pods = [p for ns in ("batch", "team") for p in listed(c, PODS.format(ns)).values() if p["spec"].get("nodeName")]
    ended = [(r["namespace"], r["pod"], r["attempt"]) for r in rows(m)]
    equal(len(set(ended)), len(ended), "an attempt has two rows")
    equal({(p["metadata"]["namespace"], p["metadata"]["name"]) for p in pods} - {x[:2] for x in ended}, set(), "a row is missing")


def check_nothing_is_left(m, uids):
    node = os.path.join(m.data, "node")

    def leftovers():
        found = [f"container {x}" for x in os.listdir(os.path.join(node, "run"))]
        found += [f"process {pid}" for pid in below_node(m)]
        found += [f"exit {x}" for x in os.listdir("/run/mete/exits") if x[:36] in uids]
        for base, dirs, _ in os.walk("/sys/fs/cgroup"):
            found += [f"cgroup {base}/{d}" for d in dirs if d[:36] in uids]
        with open("/proc/self/mountinfo") as f:
            found += [f"mount {line.split()[4]}" for line in f if line.split()[4].startswith(m.dir + "/")]
        return found

    def gone():
        with contextlib.suppress(OSError):  # a directory may go meanwhile
            return not leftovers()
        return False

    try:
        wait(gone, "nothing is left of what has ended")
    except Failure as e:
        raise Failure(f"{e}: {leftovers()}") from None


def check_images(m):
    """Without names and pods, no image or part of an image remains."""
    def empty():
        for image in json.loads(m.mete("image", "ls", "-o", "json").out)["items"]:
            m.mete("image", "rm", *image.get("names", []))
        m.mete("image", "gc", "--all")
        left = os.path.join(m.data, "node", "images")
        return not [x for d in os.listdir(left) if os.path.isdir(os.path.join(left, d)) for x in os.listdir(os.path.join(left, d))]

    wait(empty, "no layer is left")


def test_kill_with_images_jobs_and_quotas():
    rng = random.Random(SEED)
    print(f"kill batch: seed {SEED}", flush=True)
    with Mete() as m, contextlib.closing(Registry()) as registry:
        marks = os.path.join(m.dir, "marks")
        os.mkdir(marks)
        os.chmod(marks, 0o777)
        image = Image([base_layer()])
        insecure = f'[[registry]]\nlocation = "{registry.host}"\ninsecure = true\n'
        write(os.path.join(m.data, "node", "registries.conf"), insecure.encode())
        registry.tag = registry.push("kit", "2", Image([base_layer(), Layer().text("data/two", "2").octets()]))
        path = write(os.path.join(m.dir, "kit.tar"), image.layout())
        r = m.mete("image", "import", path, "kit:1")
        equal(r.code, 0, r)
        for ns in ("batch", "team"):
            m.ok("create", "namespace", ns)
        m.ok("create", "quota", "limit", "-n", "team", f"--hard=pods={HARD_PODS},requests.{GPU}={HARD_GPUS}")
        c = Client(os.path.join(m.data, "mete.sock"))
        killer = BatchKiller(m, rng)
        crowd = Crowd(m, marks, registry, rng)
        uids = set()
        try:
            plan = []
            while not crowd.wrong and (
                    sum(killer.victims.values()) < KILLS or
                    not crowd.did_all() and sum(killer.victims.values()) < 10 * KILLS):
                plan = plan or rng.sample(BLOCK, len(BLOCK))
                killer.strike(*plan.pop())
            # Between kills a slow machine may not get through all that clients do.
            wait(lambda: crowd.wrong or crowd.did_all(), f"all of it is done: {crowd.text()}", SETTLE_S)
        finally:
            crowd.end()
        killer.intents.close()
        equal(crowd.wrong, [])
        settle(c)
        check_jobs(c, crowd.jobs, marks)
        check_usage(m, c)
        equal(listed(c, QUOTAS)["limit"]["status"]["used"], {"pods": "0", f"requests.{GPU}": "0"})
        for ns in ("batch", "team"):
            uids |= {p["metadata"]["uid"] for p in listed(c, PODS.format(ns)).values()}
        m.ok("delete", "jobs", "--all", "-n", "batch")
        m.ok("delete", "pods", "--all", "-n", "team")
        check_nothing_is_left(m, uids)
        check_images(m)
        with open(m.log, errors="replace") as f:
            equal([x for x in f if "Sanitizer" in x or "runtime error:" in x or
                   ('msg="child ended' in x and "killed by SIGKILL" not in x)], [])
        who = killer.text().rsplit("; seed")[0]
        print(f"{who}; {crowd.text()}", flush=True)
