"""What the measurements share: a request as cheap as it gets, what processes used, tables."""

import contextlib
import ctypes
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "system"))
from harness import BUILD, METE, Mete, children, wait  # noqa: E402,F401

PODS = "/api/v1/namespaces/default/pods"
TICKS = os.sysconf("SC_CLK_TCK")


# ---- what is told ----

def say(figure, **values):
    print(json.dumps({"figure": figure, **values}), flush=True)


def conditions():
    """Of the machine; the figures are worth nothing without."""
    model = "cpu unknown"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return f"{os.cpu_count()} cores of {model}, Linux {platform.release()}, load {os.getloadavg()[0]:.2f} before"


def table(title, rows):
    """Rows of figure, ours, peer, ratio, goal, conditions; texts as they stand."""
    heads = ("figure", "ours", "peer", "ratio", "goal", "conditions")
    rows = [[str(cell) for cell in (*row, *[""] * (len(heads) - len(row)))] for row in rows]
    width = [max(len(line[i]) for line in [heads, *rows]) for i in range(len(heads))]
    print(f"\n{title}\n{conditions()}")
    for line in [heads, *rows]:
        print("  ".join(cell.ljust(w) for cell, w in zip(line, width)).rstrip())
    sys.stdout.flush()


def ms(ns):
    return f"{ns / 1e6:.1f} ms"


def p10(values):
    return sorted(values)[len(values) * 10 // 100]


def p95(values):
    return sorted(values)[len(values) * 95 // 100]


median = statistics.median


def option(name, default):
    """The value of --NAME on the command line."""
    words = sys.argv
    return type(default)(words[words.index("--" + name) + 1]) if "--" + name in words else default


# ---- what processes used ----

def tree(pid):
    """The pids of a process and all below it."""
    found = [pid]
    for child in children(pid):
        found += tree(child)
    return found


def role(pid):
    """`server`, `node`, `gpu-helper` ... of one of Mete's processes; "" of another's."""
    with open(f"/proc/{pid}/cmdline") as f:
        words = f.read().split("\0")
    return words[1] if os.path.basename(words[0]) in ("mete", "mete-slurm") else ""


def find(m, name):
    return next(pid for pid in tree(m.up.pid) if role(pid) == name)


def cpu_s(pid, with_children=False):
    """User and system time; with that of its children that have ended, too."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return sum(int(fields[i]) for i in ((11, 12, 13, 14) if with_children else (11, 12))) / TICKS


def pss_kib(pid):
    """With what is swapped out."""
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith(("Pss:", "SwapPss:")))


# ---- the door ----

def connect(m):
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.path.join(m.data, "mete.sock"))
    return s


def request(connection, method, path, body=b"", accept="application/json", content="application/json"):
    head = (f"{method} {path} HTTP/1.1\r\nHost: mete\r\nContent-Type: {content}\r\nAccept: {accept}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n")
    connection.sendall(head.encode() + body)
    got = bytearray()
    while (end := got.find(b"\r\n\r\n")) < 0:
        got += piece_of(connection)
    fields = dict(line.lower().split(b": ", 1) for line in bytes(got[:end]).split(b"\r\n")[1:])
    status = int(got.split(b" ", 2)[1])
    if b"chunked" in fields.get(b"transfer-encoding", b""):
        return status, chunks(connection, got[end + 4:])
    size = end + 4 + int(fields.get(b"content-length", 0))
    while len(got) < size:
        got += piece_of(connection)
    return status, bytes(got[end + 4:])


def chunks(connection, got):
    """The body of a chunked answer."""
    body = bytearray()
    while True:
        while (end := got.find(b"\r\n")) < 0:
            got += piece_of(connection)
        size = int(got[:end], 16)
        while len(got) < end + size + 4:
            got += piece_of(connection)
        body += got[end + 2:end + 2 + size]
        del got[:end + size + 4]
        if size == 0:
            return bytes(body)


def piece_of(connection):
    piece = connection.recv(1 << 20)
    if not piece:
        raise SystemExit("bench: the server closed the connection")
    return piece


def ask(connection, method, path, body=None, want=(200, 201)):
    status, reply = request(connection, method, path, json.dumps(body).encode() if body else b"")
    if status not in want:
        raise SystemExit(f"bench: {method} {path}: {status} {reply[:400]!r}")
    return json.loads(reply)


# ---- the peer's bundle ----

def bundle_of(m, name, at, change):
    """A bundle for crun alone, of a pod that runs: the same root, namespaces, mounts and limits."""
    uid = m.object("pod", name)["metadata"]["uid"]
    pods = os.path.join(m.data, "node", "pods", uid)
    found = [os.path.join(d, "config.json") for d, _, files in os.walk(pods) if "config.json" in files]
    with open(found[0]) as f:
        config = json.load(f)
    config["process"]["terminal"] = False
    config.pop("hooks", None)
    # Beside the job's: the shares of the groups above count as well.
    config["linux"]["cgroupsPath"] = os.path.dirname(config["linux"]["cgroupsPath"]) + "-peer"
    change(config)
    os.makedirs(at)
    with open(os.path.join(at, "config.json"), "w") as f:
        json.dump(config, f)
    return at


def crun_start(bundle, name):
    return os.posix_spawnp("crun", ["crun", "--root", bundle + "-state", "run", "-b", bundle, name], os.environ)


def crun_end(pid):
    """Waits for a pid, or -1 for the next; the CPU time that it took."""
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        raise SystemExit(f"bench: crun run: status {status}")
    return usage.ru_utime + usage.ru_stime


def crun_run(bundle, name):
    """Until the container has ended."""
    return crun_end(crun_start(bundle, name))


def read_stamp(path):
    """The time that the job wrote, or None while it has not."""
    try:
        with open(path) as f:
            text = f.read()
        return int(text) if text.endswith("\n") else None
    except FileNotFoundError:
        return None


def until_stamp(path):
    end = time.monotonic() + 20
    while (stamp := read_stamp(path)) is None:
        if time.monotonic() > end:
            raise SystemExit(f"bench: no stamp in {path}")
        time.sleep(0.0005)
    os.unlink(path)
    return stamp


@contextlib.contextmanager
def in_mounts_of_node(m):
    """Where the roots of containers are mounted, and what confuses crun on hybrid cgroups is hidden."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(fd):
        if libc.setns(fd, 0x20000) != 0:  # CLONE_NEWNS
            raise SystemExit(f"bench: setns: {os.strerror(ctypes.get_errno())}")

    own = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    other = os.open(f"/proc/{find(m, 'node')}/ns/mnt", os.O_RDONLY)
    enter(other)
    try:
        yield
    finally:
        enter(own)
        os.close(own)
        os.close(other)


def until(condition, what, deadline_s=120):
    """As wait() of the system tests, with the pause of one who measures."""
    end = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"bench: not within {deadline_s} s: {what}")
        time.sleep(0.005)


def run_quietly(argv, **options):
    """Wall and CPU seconds of a command that must succeed."""
    begin = time.monotonic()
    done = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    said = done.stdout.read()
    _, status, usage = os.wait4(done.pid, 0)
    done.returncode = os.waitstatus_to_exitcode(status)
    done.stdout.close()
    if status != 0:
        raise SystemExit(f"bench: {' '.join(argv)}: {said.decode(errors='replace')}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime
