"""Ports of pods: kubectl with SPDY in a WebSocket and with plain SPDY, the clients with channels, clients that
misbehave, and ports that are not the pod's."""

import contextlib
import glob
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import threading

from harness import KUBECTL, KUBECTL_MIN, Failure, Mete, Skip, check, equal, execute, kubectl_version, own_python, wait

LARGE = 100 * 1000 * 1000

# A line says what a connection is for: "echo", "send N", "sink" (answers with the digest of all that came),
# "hold" (reads nothing more).
SERVER = r"""
import hashlib, socket, sys, threading
def serve(c):
    f = c.makefile("rb")
    word = f.readline().split()
    if word[0] == b"echo":
        while data := f.read1(65536):
            c.sendall(data)
    elif word[0] == b"send":
        n = int(word[1])
        piece = bytes(range(251)) * 261
        while n > 0:
            n -= c.send(piece[:n])
    elif word[0] == b"sink":
        h = hashlib.sha256()
        while data := f.read1(65536):
            h.update(data)
        c.sendall(h.hexdigest().encode())
    elif word[0] == b"hold":
        threading.Event().wait()
    f.close()
    c.close()
s = socket.socket(socket.AF_INET6 if sys.argv[2] == "::" else socket.AF_INET)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((sys.argv[2], int(sys.argv[1])))
s.listen(512)
print("listens", flush=True)
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
"""

WEBSOCKET = {"KUBECTL_PORT_FORWARD_WEBSOCKETS": "true", "KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "true"}
SPDY = {"KUBECTL_PORT_FORWARD_WEBSOCKETS": "false", "KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false"}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(m, name="box", address="127.0.0.1", ns="default"):
    """A pod with the server above: its port."""
    port = free_port()
    m.ok("apply", "-f", "-", stdin=json.dumps({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": ns},
        "spec": {"restartPolicy": "Never", "containers": [
            {"name": "main", "image": "host", "command": ["python3", "-c", SERVER, str(port), address],
             "securityContext": {"runAsUser": 65534}}]}}))
    m.wait_phase(name, "Running", ns)
    wait(lambda: m.kubectl("logs", "-n", ns, name).out == "listens\n", f"{name} listens")
    return port


class Forward:
    """kubectl port-forward, with a local port of its own choice."""

    def __init__(self, m, env, *ports, pod="box", ns="default", kubectl=KUBECTL):
        self.done = subprocess.Popen([kubectl, "port-forward", "-n", ns, pod, *(f":{p}" for p in ports)],
                                     env={**m.env, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.ports = []
        for _ in ports:
            line = self.done.stdout.readline()
            found = re.match(r"Forwarding from 127\.0\.0\.1:(\d+) ->", line)
            while line and not found:
                line = self.done.stdout.readline()
                found = re.match(r"Forwarding from 127\.0\.0\.1:(\d+) ->", line)
            check(found, line, self.done.stderr.read() if not line else "")
            self.ports.append(int(found[1]))
        threading.Thread(target=self.done.stdout.read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.done.kill()
        self.done.wait()

    def connect(self, words, i=0):
        s = socket.create_connection(("127.0.0.1", self.ports[i]))
        s.settimeout(60)
        s.sendall(words.encode() + b"\n")
        return s


def read_all(s):
    parts = []
    while data := s.recv(1 << 20):
        parts.append(data)
    return b"".join(parts)


def pattern(n):
    return (bytes(range(251)) * 261 * (n // (251 * 261) + 1))[:n]


def echoes(f, i=0):
    with f.connect("echo", i) as s:
        for word in (b"one\n", b"two\n"):
            s.sendall(word)
            equal(s.recv(100), word)
        s.shutdown(socket.SHUT_WR)
        equal(read_all(s), b"")


def carries_much(f, n):
    with f.connect(f"send {n}") as s:
        equal(hashlib.sha256(read_all(s)).hexdigest(), hashlib.sha256(pattern(n)).hexdigest())
    with f.connect("sink") as s:
        s.sendall(pattern(n))
        s.shutdown(socket.SHUT_WR)
        equal(read_all(s).decode(), hashlib.sha256(pattern(n)).hexdigest())


def many_at_once(f, n):
    sockets = [f.connect("echo") for _ in range(n)]
    for i, s in enumerate(sockets):
        s.sendall(b"%d\n" % i)
    for i, s in enumerate(sockets):
        equal(s.recv(100), b"%d\n" % i)
    for s in sockets:
        s.close()


def kubectl_forwards(env):
    with Mete() as m:
        port = start(m)
        other = start(m, "other", "::")
        with m.unharmed(clean=False):
            with Forward(m, env, port) as f:
                echoes(f)
                carries_much(f, LARGE)
                many_at_once(f, 100)
                held = f.connect("hold")
                held.sendall(bytes(1 << 20))
                held.close()
                echoes(f)
            with Forward(m, env, other, pod="other") as f:
                echoes(f)
        with m.unharmed(clean=False):
            f = Forward(m, env, port)
            sockets = [f.connect("send 100000000") for _ in range(4)] + [f.connect("hold") for _ in range(4)]
            f.done.kill()
            f.done.wait()
            for s in sockets:
                s.close()


def test_kubectl_forwards_in_a_websocket():
    kubectl_forwards(WEBSOCKET)


def test_kubectl_forwards_over_spdy():
    kubectl_forwards(SPDY)


def test_old_kubectls_forward():
    """The kubectl programs that speak only SPDY, if this machine has one."""
    old = sorted(glob.glob("/usr/lib/google-cloud-sdk/bin/kubectl.1.2*"))[:1]
    if (kubectl_version("/usr/bin/kubectl") or KUBECTL_MIN) < KUBECTL_MIN:
        old.append("/usr/bin/kubectl")  # Debian 12's is 1.20
    if not old:
        raise Skip("no kubectl before 1.30 is here")
    with Mete() as m:
        port = start(m)
        for kubectl in old:
            with Forward(m, {}, port, kubectl=kubectl) as f:
                echoes(f)
                carries_much(f, 5000000)
                many_at_once(f, 20)


def test_only_ports_of_the_pod():
    with Mete() as m, socket.socket() as ours:
        ours.bind(("127.0.0.1", 0))
        ours.listen()
        ours.setblocking(False)
        port = start(m)
        other = start(m, "other")
        with contextlib.closing(socket.create_connection(("127.0.0.1", other))) as s:
            s.sendall(b"echo\n")  # the port is reachable, but not from the pod `box`
        for env in (WEBSOCKET, SPDY):
            for refused in (ours.getsockname()[1], other, free_port()):
                with Forward(m, env, refused) as f:
                    with f.connect("echo") as s:
                        equal(read_all(s), b"")
                    err = f.done.stderr.readline()
                    check(f"no process of the pod listens on port {refused}" in err, err)
            with Forward(m, env, port) as f:
                echoes(f)
        try:
            ours.accept()
            raise Failure("the host's own port got a connection")
        except BlockingIOError:
            pass
        r = m.kubectl("port-forward", "nothing", ":80")
        check(r.code == 1 and 'pods "nothing" not found' in r.err, r)


def test_the_node_starts_again():
    with Mete() as m:
        port = start(m)
        with Forward(m, SPDY, port) as f:
            s = f.connect("echo")
            s.sendall(b"before\n")
            equal(s.recv(100), b"before\n")
            os.kill(m.child("node"), signal.SIGKILL)
            equal(read_all(s), b"")

        def works():
            with Forward(m, SPDY, port) as f, f.connect("echo") as s:
                s.sendall(b"after\n")
                return s.recv(100) == b"after\n"

        wait(works, "the port is forwarded again")


PYTHON_CLIENT = r"""
import sys
from kubernetes import client, config, stream
config.load_kube_config(sys.argv[1])
v1 = client.CoreV1Api()
port, other = int(sys.argv[2]), int(sys.argv[3])
pf = stream.portforward(v1.connect_get_namespaced_pod_portforward, "box", "default", ports=f"{port},{other}")
s = pf.socket(port)
s.setblocking(True)
s.sendall(b"echo\nhello\n")
assert s.recv(100) == b"hello\n"
s.sendall(b"x" * 3000000)
n = 0
while n < 3000000:
    n += len(s.recv(65536))
o = pf.socket(other)
o.setblocking(True)
assert o.recv(100) == b""
assert "no process of the pod listens on port %d" % other in pf.error(other), pf.error(other)
assert pf.error(port) is None, pf.error(port)
s.close()
print("fine")
"""

KR8S = r"""
import asyncio, hashlib, sys
from kr8s.asyncio.objects import Pod
async def main():
    pod = await Pod.get("box", namespace="default")
    async with pod.portforward(int(sys.argv[1]), local_port="auto") as local:
        for n in (10, 5000000):
            reader, writer = await asyncio.open_connection("127.0.0.1", local)
            writer.write(b"send %d\n" % n)
            data = await reader.read()
            assert data == (bytes(range(251)) * 261 * (n // (251 * 261) + 1))[:n], len(data)
            writer.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", local)
        writer.write(b"echo\n" + b"y" * 3000000)
        assert await reader.readexactly(3000000) == b"y" * 3000000
        writer.close()
    print("fine")
asyncio.run(main())
"""


def test_the_python_client_and_kr8s():
    with Mete() as m:
        port = start(m)
        with m.unharmed(clean=False):
            r = execute([own_python(), "-c", PYTHON_CLIENT, m.env["KUBECONFIG"], str(port), str(free_port())], env=m.env)
            equal(r.out, "fine\n", r)
            r = execute([own_python(), "-c", KR8S, str(port)], env=m.env)
            equal(r.out, "fine\n", r)
