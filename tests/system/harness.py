"""The harness of system tests: a real `mete up` in a private directory, the real kubectl, waiting with deadlines."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("METE_BUILD", os.path.join(ROOT, "build", "gcc"))
METE = os.environ.get("METE_BIN", os.path.join(BUILD, "src", "cli", "mete"))
OWN_KUBECTL = os.path.join(ROOT, "build", "kubectl", "kubectl")
KUBECTL = os.environ.get("KUBECTL") or (OWN_KUBECTL if os.path.exists(OWN_KUBECTL) else "kubectl")
KUBECTL_MIN = (1, 30)  # `exec`, `attach` and `cp` over WebSocket
DEADLINE_S = 60
IDLE_WINDOW_S = 0.5
IDLE_TICKS_MAX = 2  # in that window
CONNECTIONS_KEPT = 3  # more than before, between mete node and mete server


class Failure(AssertionError):
    pass


class Skip(Exception):
    pass


def check(claim, *detail):
    if not claim:
        raise Failure("\n".join(str(d) for d in detail) or "the claim does not hold")


def equal(found, want, *detail):
    if found != want:
        raise Failure("\n".join([f"found {found!r}", f"want  {want!r}", *map(str, detail)]))


def patience():
    """The factor by which tests wait longer than on an idle machine: a busy machine is slow, not wrong."""
    return min(max(1, os.getloadavg()[0] / (os.cpu_count() or 1)), 20)


def wait(condition, what, deadline_s=DEADLINE_S):
    """Polls `condition` until it is true, and returns its value; fails loudly after the deadline. Between two polls of
    an expensive condition, such as a call of kubectl, the processors are for the other tests."""
    start = time.monotonic()
    while True:
        began = time.monotonic()
        value = condition()
        now = time.monotonic()
        if value:
            return value
        if now - start > deadline_s * patience():
            raise Failure(f"not within {now - start:.0f} s: {what}")
        time.sleep(min(max(0.02, now - began), 0.5))


class Result:
    def __init__(self, code, out, err):
        self.code = code
        self.out = out
        self.err = err

    def __str__(self):
        return f"exit {self.code}\n-- stdout\n{self.out}\n-- stderr\n{self.err}"


def execute(argv, stdin=None, env=None, deadline_s=DEADLINE_S, **options):
    start = time.monotonic()
    p = subprocess.Popen(argv, env=env, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         stdin=None if stdin is None else subprocess.PIPE, **options)
    try:
        while True:
            try:
                out, err = p.communicate(stdin, timeout=deadline_s)
                return Result(p.returncode, out, err)
            except subprocess.TimeoutExpired:
                if time.monotonic() - start > deadline_s * patience():
                    raise
                stdin = None  # communicate keeps the rest of the input
    finally:
        if p.poll() is None:
            p.kill()
            p.communicate()


def execute_as(uid, gid, argv, **options):
    """Executes as another user, in "/" and by a descriptor of the program: only root may be able to enter the build."""
    fd = os.open(shutil.which(argv[0]), os.O_RDONLY)
    try:
        return execute(argv, user=uid, group=gid, extra_groups=[], cwd="/", executable=f"/proc/self/fd/{fd}",
                       pass_fds=[fd], **options)
    finally:
        os.close(fd)


def own_python():
    """The Python of the test clients' packages."""
    path = os.path.join(ROOT, "build", "venv", "bin", "python")
    check(os.path.exists(path), f"{path} is not there: tools/bootstrap --tests makes it")
    return path


class Mete:
    """One machine's Mete, for use with `with`: at the end its processes are stopped and its directory is removed."""

    def __init__(self, gpus="emulated:8xH100", arguments=(), program=METE, metrics="off"):
        self.dir = tempfile.mkdtemp(prefix="mete-test-")
        os.chmod(self.dir, 0o755)
        self.data = os.path.join(self.dir, "data")
        self.home = os.path.join(self.dir, "home")
        os.mkdir(self.home)
        self.gpus = gpus
        self.metrics = metrics  # "127.0.0.1:0": a free port
        self.program = program
        self.arguments = list(arguments)
        self.up = None
        self.log = os.path.join(self.dir, "up.log")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("METE_", "NVIDIA_", "KUBE"))}
        self.env.update(HOME=self.home, METE_DATA=self.data, KUBECONFIG=os.path.join(self.data, "kubeconfig"),
                        NO_COLOR="1", TZ="UTC")

    def start(self):
        out = open(self.log, "ab")
        self.up = subprocess.Popen(
            [self.program, "up", "--data", self.data, "--gpus", self.gpus, "--listen", "127.0.0.1:0",
             "--metrics", self.metrics, "--dashboard", "127.0.0.1:0", *self.arguments],
            stdout=subprocess.PIPE, stderr=out, env=self.env, start_new_session=True)
        out.close()
        os.set_blocking(self.up.stdout.fileno(), False)
        said = b""

        def ready():
            nonlocal said
            check(self.up.poll() is None, f"mete up ended with {self.up.returncode}", self.log_text())
            with contextlib.suppress(BlockingIOError):
                said += self.up.stdout.read() or b""
            return b"ready\n" in said

        wait(ready, "mete up says ready")
        return self

    def log_text(self):
        with open(self.log, errors="replace") as f:
            return f.read()[-8000:]

    def stop(self, sig=signal.SIGTERM):
        if self.up and self.up.poll() is None:
            self.up.send_signal(sig)
            try:
                self.up.wait(30)
            except subprocess.TimeoutExpired:
                self.up.kill()
                self.up.wait()
                raise Failure("mete up did not end within 30 s of " + signal.Signals(sig).name)
        if self.up:
            self.up.stdout.close()
        self.up = None

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.__exit__(*sys.exc_info())  # `with` would not
            raise

    def __exit__(self, kind, value, trace):
        if kind and issubclass(kind, Exception) and not issubclass(kind, Skip):
            sys.stderr.write(f"---- log of mete up\n{self.log_text()}\n----\n")
        try:
            if self.up and self.up.poll() is None:
                self.mete("delete", "pods", "--all", "-A", "-y")
            self.stop()
        finally:
            self.end_containers()
            self.remove()

    def child(self, role):
        """The pid of `mete server`, or `mete node`, below our own mete up; None while there is none."""
        return next((pid for pid in children(self.up.pid) if arguments_of(pid)[1:2] == [role.encode()]), None)

    def processes(self):
        """The processes of Mete that live as long as mete up, by their roles."""
        roles = {"up": self.up.pid, "server": self.child("server"), "node": self.child("node")}
        return {role: pid for role, pid in roles.items() if pid}

    @contextlib.contextmanager
    def unharmed(self, clean=True):
        """Around provoked failures: each process that survives has no more descriptors open afterwards than it
        had before, and uses no processor while nothing happens. With `clean`, the pods go before descriptors are
        compared."""
        before = {pid: (role, descriptors(pid)) for role, pid in self.processes().items() if is_idle(pid)}
        yield
        for pid in before:
            is_idle(pid)
        if clean:
            r = self.mete("delete", "pods", "--all", "-A", "-y")
            check(r.code == 0, "mete delete pods", r)
            wait(lambda: not self.object("pods", "-A")["items"], "no pod is left")
        for role, pid in self.processes().items():
            if pid in before:
                check_rest(role, pid, before[pid][1])

    def end_containers(self):
        """Ends the processes that still run below this directory: conmon and crun name it in their arguments."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                words = arguments_of(pid)
                if words and os.path.basename(words[0]) in (b"conmon", b"mete", b"mete-slurm") and any(
                        w.startswith(self.dir.encode()) for w in words):
                    for child in children(int(pid)):
                        with contextlib.suppress(OSError):
                            os.kill(child, signal.SIGKILL)
                    os.kill(int(pid), signal.SIGKILL)

    def remove(self):
        with open("/proc/self/mountinfo") as f:
            mounts = [line.split()[4] for line in f]
        for path in sorted((m for m in mounts if m.startswith(self.dir + "/")), reverse=True):
            subprocess.run(["umount", "-l", path], check=False)
        if os.environ.get("METE_TEST_KEEP"):
            sys.stderr.write(f"kept: {self.dir}\n")
            return
        shutil.rmtree(self.dir, ignore_errors=True)

    def mete(self, *words, stdin=None, deadline_s=DEADLINE_S, env=()):
        return execute([METE, *words], stdin=stdin, env={**self.env, **dict(env)}, deadline_s=deadline_s)

    def kubectl(self, *words, stdin=None, deadline_s=DEADLINE_S):
        return execute([KUBECTL, *words], stdin=stdin, env=self.env, deadline_s=deadline_s)

    def ok(self, *words, **options):
        """Runs kubectl, which must succeed. Returns its stdout."""
        r = self.kubectl(*words, **options)
        check(r.code == 0, "kubectl " + " ".join(words), r)
        return r.out

    def spawn(self, argv):
        return subprocess.Popen(argv, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def read(self, path, accept="application/json"):
        """GETs a path as the administrator at the unix socket, a hundred times faster than kubectl; None: no object."""
        c = http.client.HTTPConnection("unix", timeout=DEADLINE_S)
        with contextlib.closing(c), contextlib.suppress(OSError, http.client.HTTPException):
            c.sock = socket.socket(socket.AF_UNIX)
            c.sock.settimeout(DEADLINE_S)
            c.sock.connect(os.path.join(self.data, "mete.sock"))
            c.request("GET", path, headers={"Accept": accept})
            r = c.getresponse()
            text = r.read()
            return json.loads(text) if r.status == 200 else None

    def object(self, *words):
        return json.loads(self.ok("get", *words, "-o", "json"))

    def phase(self, pod, ns="default"):
        found = self.read(f"/api/v1/namespaces/{ns}/pods/{pod}")
        return found and found["status"].get("phase")

    def wait_phase(self, pod, phases, ns="default", deadline_s=DEADLINE_S):
        phases = (phases,) if isinstance(phases, str) else phases
        try:
            return wait(lambda: (p := self.phase(pod, ns)) in phases and p, f"pod {pod} is {phases}", deadline_s)
        except Failure as e:
            raise Failure(f"{e}\n{self.kubectl('get', 'pod', pod, '-n', ns, '-o', 'yaml').out}") from None


def arguments_of(pid):
    """The arguments of a process; empty if the process is gone, or has not executed a program yet."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().split(b"\0")[:-1]
    except OSError:
        return []


def children(pid):
    found = []
    for other in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{other}/stat") as f:
                if int(f.read().rsplit(")", 1)[1].split()[1]) == pid:
                    found.append(int(other))
    return found


def descriptors(pid):
    """The targets of a process's open descriptors, sorted; []: the process is gone."""
    found = []
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return sorted(found)


def native_place(data):
    """What the paths of a node's files of native jobs, as /proc tells them of those that hold them open, have in common. Once
    the node that opened a file is gone, and its mount namespace with it, the path begins at the root of the file system."""
    return os.path.join("/", *data.split("/")[-2:], "node", "native", "")


def ticks(pid):
    """The processor time of a process in clock ticks; None: the process is gone."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return int(fields[11]) + int(fields[12])


def is_idle(pid):
    """Watches windows of processor time until the process is idle in one: True. False: the process has ended."""
    def is_quiet():
        began = ticks(pid)
        time.sleep(IDLE_WINDOW_S)
        now = ticks(pid)
        return "gone" if began is None or now is None else now - began <= IDLE_TICKS_MAX and "quiet"

    return wait(is_quiet, f"process {pid} uses no processor while nothing happens") == "quiet"


def check_rest(role, pid, before):
    """The process has no more descriptors than `before`, and is idle; or it has ended. A client keeps a connection for
    each concurrent request, so there may be a few more sockets than at the start, but no more of anything else."""
    now = []

    def sockets(found):
        return sum(target.startswith("socket:") for target in found)

    def is_small():
        now[:] = descriptors(pid)
        return (len(now) - sockets(now) <= len(before) - sockets(before) and
                sockets(now) <= sockets(before) + CONNECTIONS_KEPT)

    try:
        wait(is_small, f"mete {role} has {len(before)} descriptors open again")
    except Failure as e:
        raise Failure(f"{e}\nnow    {now}\nbefore {before}") from None
    is_idle(pid)


def kubectl_version(kubectl):
    """The version of kubectl, such as (1, 33); None: no kubectl, or no version."""
    with contextlib.suppress(FileNotFoundError):
        m = re.search(r"v(\d+)\.(\d+)", execute([kubectl, "version", "--client"]).out)
        return m and (int(m[1]), int(m[2]))


def check_kubectl():
    """Fails the test, rather than skips it, if kubectl is missing or too old."""
    version = kubectl_version(KUBECTL)
    found = "is {}.{}".format(*version) if version else "is not there, or does not tell its version"
    check(version and version >= KUBECTL_MIN,
          f"{KUBECTL} {found}: system tests need kubectl {KUBECTL_MIN[0]}.{KUBECTL_MIN[1]} or newer; "
          "`tools/bootstrap --tests` makes build/kubectl/kubectl, KUBECTL=PATH names another one")


def pod(name, command, gpus=0, ns=None, containers=None, **spec):
    """A pod manifest as JSON text; `command` is for sh -c."""
    c = {"name": "main", "image": "host", "command": ["sh", "-c", command]}
    if gpus:
        c["resources"] = {"limits": {"nvidia.com/gpu": gpus}}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "containers": containers or [c], **spec}}
    if ns:
        body["metadata"]["namespace"] = ns
    return json.dumps(body)
