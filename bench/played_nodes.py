"""Nodes that a bench plays: they hold leases, and send new readings of each gpu every second."""

import contextlib
import os
import random
import select
import signal
import socket
import struct
import threading
import time

import kit
import test_large_gangs as played

FIELDS = 35  # enum gpu_field
FRAME_OPEN, FRAME_DATA, FRAME_CREDIT = 1, 2, 4


def text(value):
    return bytes([len(value)]) + value.encode()


def record(kind, body):
    return struct.pack(">BH", kind, len(body)) + body


def message(node, gpus):
    """A part of gpus, as src/client/node_stats.h describes it."""
    body = b"\x02" + record(1, struct.pack(">5q", time.time_ns(), 2, -1, -1, -1))
    for i in range(gpus):
        values = [random.randrange(100) for _ in range(FIELDS)]
        values[8] = random.randrange(80 << 30)
        body += record(2, text(f"GPU-{node}-{i}") + text("") + bytes([FIELDS]) + struct.pack(f">{FIELDS}q", *values))
    return struct.pack(">I", len(body)) + body


class Readings(threading.Thread):
    """The streams of all nodes: the server opens one for samples on each."""

    def __init__(self, m, names, gpus):
        super().__init__(daemon=True)
        self.gpus, self.is_over = gpus, threading.Event()
        self.links = {name: self.connect(m, name) for name in names}

    def connect(self, m, name):
        s = socket.socket(socket.AF_UNIX)
        s.connect(os.path.join(m.data, "mete.sock"))
        s.sendall((f"POST /mete.dev/v1/nodes/{name}/stream HTTP/1.1\r\nHost: mete\r\nAuthorization: Bearer {played.token_of(name)}\r\n"
                   "Connection: Upgrade\r\nUpgrade: mete-stream\r\nContent-Length: 0\r\n\r\n").encode())
        got = b""
        while b"\r\n\r\n" not in got:
            got += kit.piece_of(s)
        head, rest = got.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise SystemExit(f"bench: {got[:300]!r}")
        while len(rest) < 9:
            rest += kit.piece_of(s)
        size, stream, kind = struct.unpack(">IIB", rest[:9])
        if kind != FRAME_OPEN:
            raise SystemExit(f"bench: the server opened nothing: {rest[:100]!r}")
        return s, stream

    def run(self):
        while not self.is_over.wait(1):
            for name, (s, stream) in self.links.items():
                data = message(name, self.gpus)
                s.sendall(struct.pack(">IIB", len(data), stream, FRAME_DATA) + data)
                while select.select([s], [], [], 0)[0]:
                    s.recv(1 << 16)  # credit


def kill(m):
    """At once: the pods on played nodes never end by themselves."""
    pids = kit.tree(m.up.pid)
    os.kill(m.up.pid, signal.SIGSTOP)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    m.up.wait()
    m.up.stdout.close()
    m.up = None
