"""Commands in running containers, with kubectl, mete and the Python client; and clients that misbehave."""

import base64
import contextlib
import fcntl
import glob
import hashlib
import json
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import termios
import time
import urllib.parse

from door import PODS
from harness import (KUBECTL, METE, Failure, Mete, arguments_of, check, equal, execute,
                     execute_as, own_python, wait)

COPY_SIZE = 100 * 1000 * 1000


def manifest(name, command, ns="default", **container):
    return json.dumps({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": ns},
        "spec": {"restartPolicy": "Never", "containers": [
            {"name": "main", "image": "host", "command": command, "workingDir": "/tmp",
             "env": [{"name": "GREETING", "value": "hello from the pod"}],
             "securityContext": {"runAsUser": 65534}, **container}]}})


def websocket_kubectls():
    """The kubectl programs on this machine that open a WebSocket: 1.30 and newer."""
    return sorted(glob.glob("/usr/lib/google-cloud-sdk/bin/kubectl.1.3*")) + [KUBECTL]


# kubectl of 1.30 and newer then speaks SPDY as well.
SPDY = {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false"}


def spdy_kubectls():
    """Programs and settings of kubectl with SPDY: old kubectls, if this machine has one, and the present one."""
    old = sorted(glob.glob("/usr/lib/google-cloud-sdk/bin/kubectl.1.2*"))[:1] + glob.glob("/usr/bin/kubectl1.2*")
    return [(k, {}) for k in old] + [(KUBECTL, SPDY)]


def start(m, name, command, **container):
    m.ok("apply", "-f", "-", stdin=manifest(name, command, **container))
    m.wait_phase(name, "Running")


def processes_with(word):
    """Pids whose arguments have `word`."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if word.encode() in b"\0".join(arguments_of(pid)) and int(pid) != os.getpid():
            found.append(int(pid))
    return found


def test_kubectl_and_mete():
    with Mete() as m:
        start(m, "box", ["sleep", "3600"])
        for kubectl in websocket_kubectls():
            run = lambda *words, stdin=None, k=kubectl: execute([k, *words], stdin=stdin, env=m.env)
            passes_output_and_codes(run, "exec", "box", "--")
            runs_as_the_container(run, "exec", "box", "--")
        run = lambda *words, stdin=None: execute([METE, *words], stdin=stdin, env=m.env)
        passes_output_and_codes(run, "exec", "box", "--")
        runs_as_the_container(run, "exec", "box", "--")
        refuses_what_is_not_there(m)
        for kubectl, env in spdy_kubectls():
            run = lambda *words, stdin=None, k=kubectl, e=env: execute([k, *words], stdin=stdin, env={**m.env, **e})
            passes_output_and_codes(run, "exec", "box", "--")
        r = execute([KUBECTL, "exec", "done", "--", "ls"], env={**m.env, **SPDY})
        check(r.code == 1 and "completed pod; current phase is Succeeded" in r.err, r)


def passes_output_and_codes(run, *words):
    r = run(*words, "sh", "-c", "echo out; echo err >&2; exit 3")
    equal((r.code, r.out), (3, "out\n"), r)
    check(r.err.startswith("err\n"), r)
    for script, code in (("true", 0), ("exit 255", 255), ("kill -TERM $$", 143), ("kill -KILL $$", 137)):
        r = run(*words, "sh", "-c", script)
        equal(r.code, code, script, r)
    r = run(words[0], "-i", *words[1:], "sh", "-c", "cat; echo end", stdin="some input\n")
    equal((r.code, r.out), (0, "some input\nend\n"), r)
    large = "x" * 99 + "\n"
    r = run(words[0], "-i", *words[1:], "md5sum", stdin=large * 50000)
    equal(r.out.split()[0], hashlib.md5(large.encode() * 50000).hexdigest(), r)
    r = run(*words, "sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' y")
    equal((r.code, len(r.out), set(r.out)), (0, 3000000, {"y"}))
    r = run(*words, "no-such-program")
    check(r.code != 0 and "no-such-program" in r.err and "not found" in r.err, r)


def runs_as_the_container(run, *words):
    r = run(*words, "sh", "-c", "id -u; pwd; echo $GREETING; grep -E 'NoNewPrivs|CapEff' /proc/self/status")
    equal(r.out.split("\n")[:3], ["65534", "/tmp", "hello from the pod"], r)
    check("CapEff:\t0000000000000000" in r.out and "NoNewPrivs:\t1" in r.out, r)
    # `ls` itself opens 3, to read the directory; nothing of the machine comes along
    r = run(*words, "sh", "-c", "ls /proc/self/fd; readlink /proc/self/cwd; ls -l /proc/self/fd | grep -c cgroup")
    equal(r.out.split(), ["0", "1", "2", "3", "/tmp", "0"], r)
    r = run(*words, "ps", "-o", "pid=,args=", "-p", "1")
    check("sleep 3600" in r.out, r)
    r = run(*words, "sh", "-c", "echo to the device >/dev/stdout; echo x >/dev/stderr")
    check(r.code == 0 and r.out == "to the device\n", r)


def refuses_what_is_not_there(m):
    m.ok("apply", "-f", "-", stdin=manifest("done", ["true"]))
    m.wait_phase("done", "Succeeded")
    m.ok("apply", "-f", "-", stdin=json.dumps({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "never"},
        "spec": {"nodeSelector": {"no": "where"}, "containers": [
            {"name": "main", "image": "host", "command": ["true"]}]}}))
    kubectl = websocket_kubectls()[-1]
    for words, want in ((("exec", "nothing", "--", "ls"), 'pods "nothing" not found'),
                        (("exec", "box", "-c", "x", "--", "ls"), "container x is not valid for pod box"),
                        (("exec", "done", "--", "ls"), "completed pod; current phase is Succeeded"),
                        (("exec", "never", "--", "ls"), "pod never does not have a host assigned")):
        r = execute([kubectl, *words], env=m.env)
        check(r.code == 1 and want in r.err, want, r)
    for words, code, want in ((("nothing", "--", "ls"), 125, "no job"),
                              (("done", "--", "ls"), 125, "completed pod"),
                              (("never", "--", "ls"), 125, "does not have a host assigned")):
        r = execute([METE, "exec", *words], env=m.env)
        check(r.code == code and want in r.err, want, r)


# ---- terminals ----

class Terminal:
    """A program in a pseudo-terminal, as at a user's desk."""

    def __init__(self, argv, env, rows=40, columns=132):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
                os.execvpe(argv[0], argv, env)
            finally:
                os._exit(99)
        self.text = ""
        self.seen = 0

    def read(self):
        if select.select([self.fd], [], [], 0.05)[0]:
            try:
                piece = os.read(self.fd, 65536)
            except OSError:
                piece = b""
            self.text += piece.decode(errors="replace")
            return bool(piece)
        return True

    def expect(self, word):
        end = time.monotonic() + 20
        while word not in self.text[self.seen:]:
            if not self.read() or time.monotonic() > end:
                raise Failure(f"no {word!r} in {self.text!r}")
        self.seen = self.text.index(word, self.seen) + len(word)

    def type(self, text):
        os.write(self.fd, text.encode())

    def interrupt(self, word):
        """Ctrl-C until it is heard: what comes before the command is in the foreground reaches the shell alone."""
        end = time.monotonic() + 20
        while word not in self.text[self.seen:]:
            check(time.monotonic() < end, f"no {word!r} in {self.text!r}")
            self.type("\x03")
            again = time.monotonic() + 0.5
            while word not in self.text[self.seen:] and time.monotonic() < again:
                self.read()
        self.expect(word)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def end(self):
        """The program's exit code."""
        end = time.monotonic() + 20
        while True:
            alive = self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                raise Failure(f"it did not end: {self.text!r}, open {alive}")

    def is_raw(self):
        return not termios.tcgetattr(self.fd)[3] & termios.ICANON


def test_terminal():
    with Mete() as m:
        start(m, "box", ["sleep", "3600"])
        for argv, env in (([websocket_kubectls()[-1], "exec", "-it", "box", "--", "sh"], {}),
                          ([KUBECTL, "exec", "-it", "box", "--", "sh"], SPDY),
                          ([METE, "exec", "-it", "box", "--", "sh"], {})):
            t = Terminal(argv, {**m.env, **env})
            a_shell_at_a_terminal(t)
            equal(t.end(), 7, t.text)
        the_terminal_is_restored(m)
        text_of_others_steers_no_terminal(m)


def a_shell_at_a_terminal(t):
    t.expect("$ ")
    t.type("tty; stty size\n")
    t.expect("/dev/pts/")
    t.expect("40 132")
    t.resize(33, 77)
    size = "none"
    end = time.monotonic() + 20
    while "33 77" not in t.text:  # the new size comes through a channel of its own
        check(time.monotonic() < end, t.text)
        t.type("stty size\n")
        t.read()
        size = t.text
    t.seen = len(size)
    t.type("echo begin; sleep 1000; echo code=$?\n")
    t.expect("begin\r\n")
    t.interrupt("$ ")
    t.type("ls -l /proc/self/fd | grep -vc pts\n")  # a head line, the pipe to grep, the directory that ls reads
    t.expect("\n3\r\n")
    t.type("exit 7\n")


def the_terminal_is_restored(m):
    """Also when it is told to end, or when its server goes. A shell around it sees the terminal after it."""
    for end in ("TERM", "HUP", "INT"):
        script = f"'{METE}' exec -it box -- sh; stty -a | grep -o ' icanon'; echo over"
        t = Terminal(["sh", "-c", script], m.env)
        t.expect("$ ")
        wait(t.is_raw, "raw mode")
        child = wait(lambda: [p for p in processes_with("exec\0-it\0box") if os.path.basename(
            os.readlink(f"/proc/{p}/exe")) == "mete" and is_below(p, t.pid)], "the command")[0]
        os.kill(child, getattr(signal, "SIG" + end))
        t.expect("icanon")
        t.expect("over")
        t.end()


def is_below(pid, ancestor):
    while pid > 1:
        with open(f"/proc/{pid}/stat") as f:
            pid = int(f.read().rsplit(")", 1)[1].split()[1])
        if pid == ancestor:
            return True
    return False


def text_of_others_steers_no_terminal(m):
    """Without -t, output never changes the user's terminal."""
    t = Terminal([METE, "exec", "box", "--", "printf", "a\\033]0;title\\007b\\033[2Jc\\n"], m.env)
    t.expect("abc")
    check("\x1b" not in t.text, repr(t.text))
    equal(t.end(), 0)


def test_under_runc():
    """Its terminals come another way."""
    with Mete(arguments=("--runtime", "runc")) as m:
        start(m, "box", ["sleep", "3600"])
        run = lambda *words, stdin=None: execute([METE, *words], stdin=stdin, env=m.env)
        passes_output_and_codes(run, "exec", "box", "--")
        runs_as_the_container(run, "exec", "box", "--")
        t = Terminal([METE, "exec", "-it", "box", "--", "sh"], m.env)
        a_shell_at_a_terminal(t)
        equal(t.end(), 7, t.text)
        who_vanishes_leaves_no_process(m)


# ---- copies ----

def digest(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else hashlib.sha256(
            f.read()).hexdigest()


def test_copies():
    with Mete() as m:
        start(m, "box", ["sleep", "3600"])
        inside = m.dir + "-inside"
        equal(m.mete("exec", "box", "--", "mkdir", inside).code, 0)
        try:
            large_files_arrive_whole(m, inside)
            directories_arrive_whole(m, inside)
            what_comes_out_is_not_believed(m, inside)
        finally:
            execute(["rm", "-rf", inside])


def large_files_arrive_whole(m, inside):
    source = os.path.join(m.dir, "large")
    with open(source, "wb") as f:
        f.write(os.urandom(COPY_SIZE))
    want = digest(source)
    for name, argv, more in (("k", [websocket_kubectls()[-1], "cp"], {}), ("s", [KUBECTL, "cp"], SPDY), ("m", [METE, "cp"], {})):
        env = {**m.env, **more}
        there = os.path.join(inside, name)
        back = os.path.join(m.dir, "back-" + name)
        r = execute([*argv, source, f"box:{there}"], env=env, deadline_s=120)
        equal(r.code, 0, r)
        equal(digest(there), want)
        r = execute([*argv, f"box:{there}", back], env=env, deadline_s=120)
        equal(r.code, 0, r)
        equal(digest(back), want)
        os.unlink(back)


def directories_arrive_whole(m, inside):
    source = os.path.join(m.dir, "tree")
    os.makedirs(os.path.join(source, "a", "empty"))
    for name in ("a/one", "two", "with space"):
        with open(os.path.join(source, name), "w") as f:
            f.write(name)
    os.chmod(os.path.join(source, "two"), 0o755)
    r = m.mete("cp", source, f"box:{inside}")  # into the existing directory
    equal(r.code, 0, r)
    back = os.path.join(m.dir, "tree-back")
    r = m.mete("cp", f"box:{inside}/tree", back)
    equal(r.code, 0, r)
    for name in ("a/one", "two", "with space"):
        with open(os.path.join(back, name)) as f:
            equal(f.read(), name)
    check(os.path.isdir(os.path.join(back, "a", "empty")))
    equal(os.stat(os.path.join(back, "two")).st_mode & 0o777, 0o755)
    r = m.mete("cp", f"box:{inside}/nothing", back + "2")
    check(r.code == 1 and "nothing" in r.err and not os.path.exists(back + "2"), r)
    equal(m.mete("cp", "here", "there").code, 2)


def what_comes_out_is_not_believed(m, inside):
    """A hostile tar in the container: paths outside, links to step through, set-user-id bits."""
    secret = os.path.join(m.dir, "secret")
    with open(secret, "w") as f:
        f.write("untouched")
    makers = os.path.join(inside, "bin")
    os.makedirs(makers)
    os.chmod(makers, 0o755)
    lie = os.path.join(makers, "lie.tar")
    with tar_file(lie) as add:
        add("data/../../secret", b"overwritten")
        add(secret, b"overwritten")
        add("secret", b"overwritten")
        add("data/link", None, link=m.dir)
        add("data/link/secret", b"overwritten")
        add("data/hard", None, link=secret, kind="1")
        add("data/suid", b"#!/bin/sh\n", mode=0o6755)
        add("data/fifo", None, kind="6")
        add("data/fine", b"fine")
    with open(os.path.join(makers, "tar"), "w") as f:
        f.write(f"#!/bin/sh\nexec cat {lie}\n")
    os.chmod(os.path.join(makers, "tar"), 0o755)
    start(m, "liar", ["sleep", "3600"], env=[{"name": "PATH", "value": f"{makers}:/usr/bin:/bin"}])
    target = os.path.join(m.dir, "out", "data")
    os.mkdir(os.path.dirname(target))
    r = m.mete("cp", "liar:/x/data", target)
    with open(secret) as f:
        equal(f.read(), "untouched", r)
    found = sorted(os.path.relpath(os.path.join(d, n), target) for d, ds, ns in os.walk(os.path.dirname(target))
                   for n in ds + ns)
    check("../secret" not in found and os.path.join("link") not in [f for f in found if os.path.islink(
        os.path.join(target, f))], found, r)
    check(not any(os.stat(os.path.join(target, f)).st_mode & 0o6000 for f in found), found)
    with open(os.path.join(target, "fine")) as f:
        equal(f.read(), "fine", r)
    check("left out" in r.err, r)


@contextlib.contextmanager
def tar_file(path):
    def add(name, content, link="", kind=None, mode=0o644):
        kind = kind or ("2" if link else "0")
        size = len(content or b"")
        head = struct.pack("100s8s8s8s12s12s8s1s100s8s", name.encode(), b"%07o" % mode, b"0000000", b"0000000",
                           b"%011o" % size, b"00000000000", b"        ", kind.encode(), link.encode(), b"ustar  ")
        head += b"\0" * (512 - len(head))
        head = head[:148] + b"%06o\0 " % sum(head) + head[156:]
        out.write(head + (content or b"") + b"\0" * (-size % 512))

    with open(path, "wb") as out:
        yield add
        out.write(b"\0" * 1024)


# ---- attach ----

def test_attach():
    with Mete() as m:
        start(m, "echo", ["sh", "-c", "while read line; do echo got $line; done; echo no more"], stdin=True, stdinOnce=True)
        r = execute([websocket_kubectls()[-1], "attach", "-i", "echo"], stdin="one\ntwo\n", env=m.env)
        equal(r.code, 0, r)
        check("got one\ngot two\nno more\n" in r.out, r)
        m.wait_phase("echo", "Succeeded")
        start(m, "spdy", ["sh", "-c", "while read line; do echo got $line; done; echo no more"], stdin=True, stdinOnce=True)
        r = execute([KUBECTL, "attach", "-i", "spdy"], stdin="one\ntwo\n", env={**m.env, **SPDY})
        equal(r.code, 0, r)
        check("got one\ngot two\nno more\n" in r.out, r)
        m.wait_phase("spdy", "Succeeded")
        start(m, "again", ["cat"], stdin=True)
        for word in ("first", "second"):  # each leaves, the input stays open
            p = subprocess.Popen([METE, "attach", "again"], env=m.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
            p.stdin.write(word.encode() + b"\n")
            p.stdin.flush()
            equal(p.stdout.readline(), word.encode() + b"\n")
            p.send_signal(signal.SIGTERM)
            p.communicate(timeout=600)
        equal(m.phase("again"), "Running")
        equal(m.ok("logs", "again"), "first\nsecond\n")
        start(m, "shell", ["sh", "-i"], stdin=True, tty=True)
        t = Terminal([METE, "attach", "shell"], m.env)
        t.expect("Ctrl-P Ctrl-Q")
        t.type("stty size; tty\n")
        t.expect("40 132")
        t.type("\x10\x11")
        equal(t.end(), 0, t.text)
        equal(m.phase("shell"), "Running")


# ---- the Python client: v4, without the channel that closes others ----

PYTHON_EXEC = r"""
import sys
from kubernetes import client, config
from kubernetes.stream import stream
config.load_kube_config(sys.argv[1])
v1 = client.CoreV1Api()
out = stream(v1.connect_get_namespaced_pod_exec, "box", "default", command=["sh", "-c", "echo out; echo err >&2"],
             stdin=False, stdout=True, stderr=True, tty=False)
assert sorted(out.split()) == ["err", "out"], out
s = stream(v1.connect_get_namespaced_pod_exec, "box", "default", command=["sh", "-c", "read a; echo got $a; exit 4"],
           stdin=True, stdout=True, stderr=True, tty=False, _preload_content=False)
s.write_stdin("something\n")
s.run_forever(timeout=20)
assert s.read_stdout() == "got something\n"
assert s.returncode == 4, s.returncode
print("fine")
"""


def test_python_client():
    with Mete() as m:
        start(m, "box", ["sleep", "3600"])
        r = execute([own_python(), "-c", PYTHON_EXEC, m.env["KUBECONFIG"]], env=m.env)
        equal((r.code, r.out), (0, "fine\n"), r)


# ---- clients that misbehave ----

class Raw:
    """A WebSocket by hand, over the unix socket, for frames that a client library would not send."""

    def __init__(self, m, path, protocol="v5.channel.k8s.io", method="GET"):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(20)
        self.s.connect(os.path.join(m.data, "mete.sock"))
        key = base64.b64encode(os.urandom(16)).decode()
        self.s.sendall((f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
                        f"{f'Sec-WebSocket-Protocol: {protocol}' if protocol else 'X: none'}\r\n\r\n").encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.more()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        self.status = int(head.split()[1])

    def more(self):
        piece = self.s.recv(65536)
        if not piece:
            raise EOFError
        self.buffer += piece

    def send(self, payload, opcode=2, masked=True):
        n = len(payload)
        head = bytes([0x80 | opcode]) + (bytes([n | 0x80 * masked]) if n < 126 else
                                         bytes([126 | 0x80 * masked]) + struct.pack(">H", n))
        self.s.sendall(head + (b"\0\0\0\0" if masked else b"") + payload)

    def message(self):
        """Opcode and payload of the next frame."""
        while True:
            b = self.buffer
            if len(b) >= 2:
                n, at = b[1] & 127, 2
                if n == 126 and len(b) >= 4:
                    n, at = struct.unpack(">H", b[2:4])[0], 4
                elif n == 127 and len(b) >= 10:
                    n, at = struct.unpack(">Q", b[2:10])[0], 10
                if (n < 126 or at > 2) and len(b) >= at + n:
                    self.buffer = b[at + n:]
                    return b[0] & 15, b[at:at + n]
            self.more()

    def close(self):
        self.s.close()


EXEC = "/api/v1/namespaces/default/pods/box/exec?stdout=true&stdin=true"


def command(*words):
    return EXEC + "".join("&command=" + urllib.parse.quote(w, safe="") for w in words)


def hears(m, path, protocol):
    """The bytes of each channel up to the server's close; those of a log are one channel, None."""
    w = Raw(m, path, protocol)
    equal(w.status, 101)
    channels = {}
    while (got := w.message())[0] != 8:
        text = got[1]
        channel = None if "/log" in path else text[0] - 48 if "base64" in protocol else text[0]
        text = text if channel is None else text[1:]
        channels[channel] = channels.get(channel, b"") + (base64.b64decode(text) if "base64" in protocol else text)
    w.close()
    return channels


def test_older_protocols():
    """Those of Kubernetes' end-to-end tests, and of clients that name none."""
    with Mete("none") as m:
        start(m, "box", ["sh", "-c", "echo container is alive; exec sleep 3600"])
        wait(lambda: m.kubectl("logs", "box").out == "container is alive\n", "the log")
        for protocol in ("", "channel.k8s.io", "base64.channel.k8s.io"):
            equal(hears(m, command("echo", "remote"), protocol), {1: b"remote\n"}, protocol)  # success says nothing
            equal(hears(m, command("sh", "-c", "exit 3"), protocol), {3: b"command terminated with exit code 3"}, protocol)
        for protocol in ("", "binary.k8s.io", "base64.binary.k8s.io"):
            equal(hears(m, PODS + "/box/log?container=main", protocol), {None: b"container is alive\n"}, protocol)
        equal(Raw(m, PODS + "/box/log?container=other", "binary.k8s.io").status, 400)
        equal(Raw(m, PODS + "/box/log", "v9.k8s.io").status, 400)


def rss(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmRSS:"))


def roles(m):
    """The pids of the server and of the node."""
    return [next(p for p in processes_with(f"mete\0{role}\0--data\0{m.data}")) for role in ("server", "node")]


def test_hostile():
    with Mete() as m, m.unharmed():
        start(m, "box", ["sleep", "3600"])
        a_flood_stops_with_its_reader(m)
        input_that_nobody_reads_is_not_kept(m)
        who_vanishes_leaves_no_process(m)
        broken_frames_end_the_session(m)
        other_protocols_are_refused(m)
        others_namespaces_are_closed(m)
        r = execute([METE, "exec", "box", "--", "echo", "still there"], env=m.env)
        equal(r.out, "still there\n", r)
        sessions_end_with_the_node(m)


def a_flood_stops_with_its_reader(m):
    """The program itself stops: what it has written is what the pipes and buffers between hold."""
    counter = os.path.join("/tmp", os.path.basename(m.dir) + ".count")
    script = f"i=0; while :; do head -c 65536 /dev/zero; i=$((i+1)); echo $i >{counter}; done"
    before = [rss(p) for p in roles(m)]
    w = Raw(m, command("sh", "-c", script))
    equal(w.status, 101)

    def count():
        with contextlib.suppress(OSError, ValueError):
            with open(counter) as f:
                return int(f.read())
        return 0

    wait(lambda: count() > 0, "the flood began")
    last = [-1, time.monotonic()]

    def stands():
        now = count()
        if now != last[0]:
            last[:] = [now, time.monotonic()]
        return time.monotonic() - last[1] > 1.5

    wait(stands, "the flood stands still")
    check(0 < last[0] < 64, f"{last[0]} pieces of 64 KiB were written without a reader")
    for pid, was in zip(roles(m), before):
        check(rss(pid) - was < 16 << 20, f"process {pid} grew by {rss(pid) - was} bytes")
    for _ in range(200):  # the program continues when its output is read
        w.message()
    wait(lambda: count() > last[0], "the flood goes on")
    w.close()
    wait(lambda: not processes_with(counter), "the program ended with its reader")
    os.unlink(counter)


def input_that_nobody_reads_is_not_kept(m):
    before = [rss(p) for p in roles(m)]
    w = Raw(m, command("sleep", "4242"))
    w.s.settimeout(1.5)
    sent = 0
    with contextlib.suppress(TimeoutError):
        while sent < 64 << 20:
            w.send(b"\0" + b"x" * 32768)
            sent += 32768
    check(sent < 8 << 20, f"{sent} bytes were taken without a reader")
    for pid, was in zip(roles(m), before):
        check(rss(pid) - was < 16 << 20, f"process {pid} grew by {rss(pid) - was} bytes")
    w.close()  # the server sees the end although it reads nothing
    wait(lambda: not processes_with("sleep\0004242"), "the program ended with its client")


def who_vanishes_leaves_no_process(m):
    words = [command("sh", "-c", "sleep 4343 & sleep 4343"), command("setsid", "sleep", "4343"),
             command("sh", "-c", "trap '' TERM HUP INT; while :; do sleep 4343; done"),
             command("sleep", "4343") + "&tty=true"]
    for path in words:
        w = Raw(m, path)
        wait(lambda: processes_with("sleep\0004343"), "the program runs")
        w.close()
        wait(lambda: not processes_with("sleep\0004343"), f"nothing is left of {path}")
    # at once, before the command has begun
    for _ in range(20):
        Raw(m, command("sleep", "4344")).close()
    wait(lambda: not processes_with("sleep\0004344"), "nothing is left of those that left early")
    wait(lambda: not os.listdir(os.path.join(m.data, "node", "exec")), "no files are left of them")
    k = subprocess.Popen([websocket_kubectls()[-1], "exec", "box", "--", "sleep", "4345"], env=m.env)
    wait(lambda: [p for p in processes_with("sleep\0004345") if p != k.pid], "the program runs")
    k.kill()
    k.wait()
    wait(lambda: not processes_with("sleep\0004345"), "nothing is left of a killed kubectl's")


def broken_frames_end_the_session(m):
    for payload, opcode, masked in ((b"\0x", 2, False), (b"\0x", 3, True), (b"\xff\xff", 1, True)):
        w = Raw(m, command("sleep", "4444"))
        equal(w.status, 101)
        w.send(payload, opcode, masked)
        equal(w.message()[0], 8)  # a close
        try:
            while True:
                w.message()
        except (EOFError, ConnectionError):
            pass
        w.close()
    wait(lambda: not processes_with("sleep\0004444"), "nothing is left of broken sessions")
    for payload in (b"", b"\x04", b"\x04{", b'\x04{"Width":-1,"Height":1e99}', b"\xff\x07", b"\x63junk", b"\x03{}"):
        w = Raw(m, command("echo", "fine"))
        w.send(payload)  # unknown: ignored
        equal(w.message(), (2, b"\x01fine\n"), payload)
        w.close()


def other_protocols_are_refused(m):
    for protocol in ("v3.channel.k8s.io", "v6.channel.k8s.io", "nonsense"):
        equal(Raw(m, command("true"), protocol).status, 400, protocol)
    equal(Raw(m, command("true"), "v3.channel.k8s.io, v4.channel.k8s.io").status, 101)


def others_namespaces_are_closed(m):
    m.ok("create", "namespace", "theirs")
    m.ok("apply", "-f", "-", stdin=manifest("box", ["sleep", "3600"], ns="theirs"))
    m.wait_phase("box", "Running", ns="theirs")
    env = {**m.env, "HOME": "/nonexistent"}
    r = execute_as(65534, 65534, [METE, "exec", "box", "--", "echo", "mine"], env=env)
    equal((r.code, r.out), (0, "mine\n"), r)
    r = execute_as(65534, 65534, [METE, "exec", "-n", "theirs", "box", "--", "echo", "theirs"], env=env)
    check(r.code != 0 and "theirs\n" not in r.out and "forbidden" in r.err, r)


def sessions_end_with_the_node(m):
    """The node is killed: its clients hear of it, and what it ran in containers is ended at its next start."""
    k = subprocess.Popen([websocket_kubectls()[-1], "exec", "box", "--", "sleep", "4545"], env=m.env,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait(lambda: [p for p in processes_with("sleep\0004545") if p != k.pid], "the program runs")
    os.kill(roles(m)[1], signal.SIGKILL)
    out, err = k.communicate(timeout=600)
    check(k.returncode != 0, out, err)
    wait(lambda: not processes_with("sleep\0004545"), "the next node ends what the last one left")
    equal(m.phase("box"), "Running")
