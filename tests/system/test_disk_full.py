"""The disk of the data directory is full: new objects are refused, running pods end normally, free space heals all.

METE_TEST_SEED replays the choices of a seed; METE_TEST_FULLS is the number of times that the disk is filled at a random
moment."""

import contextlib
import json
import os
import random
import subprocess
import threading
import time

from harness import METE, Failure, Mete, check, children, equal, execute, pod, wait
from image_kit import Image, Layer, base_layer, write
from test_usage import adds_up, rows

FULLS = int(os.environ.get("METE_TEST_FULLS", "6"))
SEED = int(os.environ.get("METE_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
DISK = "size=64m"
NO_SPACE = "no space left on the disk of the data directory"
LOG_LIMITS = ("--container-log-max-size", "64Ki", "--container-log-max-files", "2")


class SmallDisk(Mete):
    """A Mete whose data directory is a small file system of its own."""

    def __init__(self, **options):
        super().__init__(arguments=LOG_LIMITS, **options)
        os.mkdir(self.data)
        subprocess.run(["mount", "-t", "tmpfs", "-o", DISK, "mete-test", self.data], check=True)
        self.filler = os.path.join(self.data, "filler")

    def fill(self):
        """Fills the file system to the last byte."""
        with open(self.filler, "ab", buffering=0) as f:
            for size in (1 << 20, 1 << 12, 1):
                with contextlib.suppress(OSError):
                    while True:
                        f.write(b"\0" * size)

    def free(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.filler)

    def processes(self):
        return {word: self.child(word) for word in ("server", "node")}


def is_refused(m, name):
    """Submits until the server refuses new pods; returns the names of the pods that went into the store's reserve."""
    taken = []
    while True:
        r = m.kubectl("apply", "-f", "-", stdin=pod(f"{name}-{len(taken)}", "exit 0"))
        if r.code:
            check(NO_SPACE in r.err and "InsufficientStorage" in r.err, r)
            return taken
        taken.append(f"{name}-{len(taken)}")
        check(len(taken) < 10000, "the disk is full and pods are created")


def check_log(m):
    with open(m.log, errors="replace") as f:
        bad = [x for x in f if " level=error " in x or "Sanitizer" in x or "runtime error:" in x or "child ended" in x]
    equal(bad, [])


def exit_of(m, name):
    status = m.object("pod", name)["status"]
    state = (status.get("containerStatuses") or [{}])[0].get("state", {})
    return status["phase"], state.get("terminated", {}).get("exitCode")


def test_a_full_disk_refuses_what_is_new_and_ends_what_runs():
    with SmallDisk() as m, m.unharmed():
        marks = os.path.join(m.dir, "go")
        waits = f"while [ ! -e {marks} ]; do sleep 0.05; done; echo the end"
        m.ok("apply", "-f", "-", stdin=pod("held", f"{waits}; exit 7", gpus=3))
        m.ok("apply", "-f", "-", stdin=pod("loud", "while :; do echo a line that is written often; done"))
        m.ok("apply", "-f", "-", stdin=pod("again", f"{waits}; [ -e {marks}-2 ] || {{ touch {marks}-2; exit 1; }}",
                                           gpus=1, restartPolicy="OnFailure"))
        for name in ("held", "loud", "again"):
            m.wait_phase(name, "Running")
        before = m.processes()
        m.fill()
        taken = is_refused(m, "new")
        r = m.mete("run", "--", "true")
        check(r.code != 0 and NO_SPACE in r.err and "df -h" in r.err, r)
        check(m.mete("ps").code == 0 and "held" in m.ok("get", "pods"), "reading goes on")
        open(marks, "w").close()
        m.wait_phase("held", "Failed")
        equal(exit_of(m, "held"), ("Failed", 7), "the exit code, on a full disk")
        equal([r["exitCode"] for r in rows(m) if r["pod"] == "held" and r["cause"]], [7], "its row, on a full disk")
        m.ok("delete", "pod", "loud", "--grace-period=0", "--force")
        equal(m.kubectl("get", "pod", "held").code, 0)
        m.free()
        wait(lambda: m.kubectl("apply", "-f", "-", stdin=pod("after", "exit 0")).code == 0, "it goes on by itself")
        for name in [*taken, "after", "again"]:
            m.wait_phase(name, "Succeeded")
        equal(m.processes(), before, "nothing of ours ended")
        adds_up(m)
        check_log(m)


def test_full_at_the_start():
    with contextlib.ExitStack() as stack:
        m = SmallDisk()
        stack.callback(m.remove)
        m.fill()
        r = execute([METE, "up", "--data", m.data, "--gpus", m.gpus, "--listen", "127.0.0.1:0", "--metrics",
                     "off"], env=m.env)
        check(r.code != 0 and "no space left" in r.err.lower(), r)
        m.free()
        with m:
            m.ok("apply", "-f", "-", stdin=pod("long", "exec sleep 1000", gpus=2))
            m.wait_phase("long", "Running")
            m.stop()
            m.fill()
            m.start()
            taken = is_refused(m, "new")
            equal(m.phase("long"), "Running")
            m.ok("delete", "pod", "long", "--grace-period=0")
            m.free()
            for name in taken:
                m.wait_phase(name, "Succeeded")
            wait(lambda: m.kubectl("apply", "-f", "-", stdin=pod("after", "exit 0", gpus=8)).code == 0, "it goes on")
            m.wait_phase("after", "Succeeded")
            adds_up(m)
            check_log(m)


# ---- at random moments


def big_layer(rng, size):
    return Layer().add("data/big", rng.randbytes(size)).octets()


class Crowd:
    """Sends requests of all kinds, in threads, and remembers the acknowledged ones."""

    def __init__(self, m, rng):
        self.m = m
        self.pods = {}  # name → exit code
        self.batches = {}  # name → number, of Slurm jobs
        self.maps = {}
        self.refused = 0
        self.images = 0
        self.wrong = []
        self.done = threading.Event()
        jobs = [(self.submit, rng.getrandbits(32)), (self.submit_array, rng.getrandbits(32)), (self.write_maps, rng.getrandbits(32)),
                (self.import_images, rng.getrandbits(32))]
        self.threads = [threading.Thread(target=self.repeat, args=job) for job in jobs]
        for t in self.threads:
            t.start()

    def repeat(self, step, seed):
        rng = random.Random(seed)
        turn = 0
        while not self.done.is_set():
            turn += 1
            try:
                step(rng, turn)
            except Exception as e:  # the test reports it
                self.wrong.append(repr(e))
                return
            self.done.wait(rng.uniform(0, 0.1))

    def end(self):
        self.done.set()
        for t in self.threads:
            t.join()

    def took(self, r):
        """Was the request acknowledged? A refusal must have a reason."""
        if r.code == 0:
            return True
        if "no space left" in r.err.lower() or "too large for this machine's disk" in r.err:
            self.refused += 1
        else:
            self.wrong.append(str(r))
        return False

    def submit(self, rng, turn):
        name, code = f"job-{turn}", rng.choice((0, 0, 3, 77))
        script = f"i=0; while [ $i -lt {rng.choice((1, 100, 3000))} ]; do i=$((i+1)); echo line $i of a log; done; exit {code}"
        body = pod(name, script, gpus=rng.choice((0, 0, 1, 2)))
        if self.took(self.m.kubectl("create", "-f", "-", stdin=body)):
            self.pods[name] = code

    def submit_array(self, rng, turn):
        """The elements of an array write to a disk with room, and exit with their indexes."""
        name = f"batch-{turn}"
        script = f"echo $SLURM_ARRAY_TASK_ID >>{self.m.dir}/{name}; exit $SLURM_ARRAY_TASK_ID"
        r = self.m.mete("sbatch", "--parsable", "-J", name, "--array=0-2%2", "-o", "/dev/null", "-D", self.m.dir, "--wrap", script)
        if self.took(r):
            self.batches[name] = r.out.strip()
        self.done.wait(rng.uniform(0, 0.3))

    def write_maps(self, rng, turn):
        name = f"map-{turn % 20}"
        text = "%x" % rng.getrandbits(rng.choice((400, 40000, 400000)))
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}}
        if self.took(self.m.kubectl("replace" if name in self.maps else "create", "-f", "-", stdin=json.dumps(body))):
            self.maps[name] = text

    def import_images(self, rng, turn):
        name = f"image-{turn % 3}:1"
        path = os.path.join(self.m.dir, "image.tar")
        write(path, Image([base_layer(), big_layer(rng, rng.choice((1, 8)) << 20)]).layout())
        if self.took(self.m.mete("image", "import", path, name)):
            self.images += 1
        if rng.random() < 0.5:
            r = self.m.mete("image", "rm", name)
            if "is not on this machine" not in r.err:
                self.took(r)


def fill_at_random(m, rng):
    for _ in range(FULLS):
        time.sleep(rng.uniform(0, 1.2))
        m.fill()
        for _ in range(rng.randrange(3)):
            time.sleep(rng.uniform(0, 0.3))
            m.fill()
        time.sleep(rng.uniform(0, 0.5))
        m.free()


def check_promises(m, crowd):
    found = {x["metadata"]["name"]: x for x in m.object("configmaps")["items"]}
    for name, text in crowd.maps.items():
        equal(found.get(name, {}).get("data", {}).get("text"), text, f"{name} was acknowledged")
    for name, code in crowd.pods.items():
        try:
            m.wait_phase(name, "Failed" if code else "Succeeded")
        except Failure as e:
            raise Failure(f"{e}\n{m.mete('why', name).out}") from None
        equal(exit_of(m, name)[1], code, name)
    wait(lambda: not m.mete("squeue", "-h").out, "all Slurm jobs have ended")
    by_pod, by_batch = {}, {}
    for r in rows(m):
        if "slurm" in r:
            by_batch.setdefault(r["slurm"]["name"], []).append((r["slurm"]["arrayTaskId"], r["exitCode"]))
        else:
            by_pod.setdefault(r["pod"], []).append(r["exitCode"])
    equal(by_pod, {name: [code] for name, code in crowd.pods.items()}, "a row each")
    equal({name: sorted(found) for name, found in by_batch.items()}, {name: [(i, i) for i in range(3)] for name in crowd.batches})
    for name in crowd.batches:
        with open(os.path.join(m.dir, name)) as f:
            equal(sorted(f.read().split()), ["0", "1", "2"], f"each element of {name} ran once")


def test_the_disk_is_full_at_random_moments():
    rng = random.Random(SEED)
    print(f"disk full: seed {SEED}", flush=True)
    with SmallDisk() as m:
        before = m.processes()
        crowd = Crowd(m, rng)
        try:
            fill_at_random(m, rng)
        finally:
            m.free()
            crowd.end()
        equal(crowd.wrong, [])
        check_promises(m, crowd)
        equal(m.processes(), before, "nothing of ours ended")
        adds_up(m)
        check_log(m)
        print(f"disk full: {FULLS} times, {crowd.refused} refused, {len(crowd.pods)} pods, {len(crowd.batches)} arrays, {crowd.images} images", flush=True)
        check(crowd.refused and crowd.pods and crowd.batches, "some are refused, some are not", crowd.refused, len(crowd.pods))
        m.mete("image", "gc")
        left = [x for x in os.listdir(os.path.join(m.data, "node", "images", "layers"))]
        equal([x for x in left if "tmp" in x], [], "halves of images")
        equal(children(os.getpid()), [m.up.pid])
