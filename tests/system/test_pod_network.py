"""Pods with addresses of their own (docs/network.md), in a network namespace of the test."""

import contextlib
import ctypes
import os
import signal
import socket
import time
import urllib.request

from harness import KUBECTL, check, equal, execute, wait
from network_kit import ADDRESS, address_of, apply, networked, running, server, sh, wait_sh


def test_pods_have_addresses_of_their_own():
    with networked() as m:
        apply(m, server("a"), server("b"), {**server("c"), "spec": {**server("c")["spec"], "hostNetwork": True}})
        a, b, c = running(m, "a", "b", "c")
        check(a.startswith("10.244.0.") and b.startswith("10.244.0.") and a != b, a, b)
        equal(c, ADDRESS)
        wait_sh(m, "a", f"busybox wget -qO- http://{b}:8080/name", lambda out: out == "b", "pods reach each other")
        equal(urllib.request.urlopen(f"http://{a}:8080/name", timeout=10).read(), b"a\n")
        r = sh(m, "a", "hostname; cat /etc/hosts; id -u; busybox ip -4 -o addr show dev eth0")
        check(r.code == 0 and r.out.startswith("a\n") and f"{a}\ta\n" in r.out and f"inet {a}/" in r.out, r)
        only_their_own_loopback(m)
        names_are_asked_as_the_pod_says(m)
        ports_are_forwarded(m)
        node_restarts_and_adopts(m, a)
        nothing_is_left(m)


def only_their_own_loopback(m):
    with open(os.path.join(m.data, "kubeconfig")) as f:
        port = f.read().split("server: https://127.0.0.1:")[1].split()[0]
    r = sh(m, "a", f"busybox nc -w 2 127.0.0.1 {port} </dev/null")
    check(r.code != 0, "a pod reached the machine's loopback", r)


def names_are_asked_as_the_pod_says(m):
    """Lines of resolv.conf: those of the pod alone, and those of the pod behind the cluster's."""
    config = {"nameservers": ["192.0.2.53"], "searches": ["lab.example"], "options": [{"name": "ndots", "value": "2"}, {"name": "rotate"}]}
    apply(m, server("own", dnsPolicy="None", dnsConfig=config), server("both", dnsConfig=config))
    running(m, "own", "both")
    equal(sorted(sh(m, "own", "cat /etc/resolv.conf").out.splitlines()),
          ["nameserver 192.0.2.53", "options ndots:2 rotate", "search lab.example"])
    out = sh(m, "both", "cat /etc/resolv.conf").out
    cluster = "10.96.0.10"  # of the Service kube-dns
    equal([line.split()[1] for line in out.splitlines() if line.startswith("nameserver")], [cluster, "192.0.2.53"])
    check("search default.svc.cluster.local svc.cluster.local cluster.local lab.example" in out and "ndots:2" in out, out)
    m.ok("delete", "pod", "own", "both", "--force", "--grace-period=0")


def ports_are_forwarded(m):
    p = m.spawn([KUBECTL, "port-forward", "pod/a", ":8080"])
    try:
        line = p.stdout.readline()
        port = line.split("127.0.0.1:")[1].split()[0]
        equal(urllib.request.urlopen(f"http://127.0.0.1:{port}/name", timeout=10).read(), b"a\n")
    finally:
        p.terminate()
        p.communicate()


def node_restarts_and_adopts(m, a):
    old = m.child("node")
    os.kill(old, signal.SIGKILL)
    wait(lambda: m.child("node") not in (None, old), "another node process")
    wait_sh(m, "b", f"busybox wget -qO- http://{a}:8080/name", lambda out: out == "a", "pods keep their networks")
    equal(address_of(m, "a"), a)


def nothing_is_left(m):
    places = [os.path.join(m.data, "node/net", part) for part in ("pods", "ns", "ipam/mete")]
    check(len(os.listdir(places[0])) == 2, os.listdir(places[0]))
    m.ok("delete", "pods", "--all", "--force", "--grace-period=0")

    def is_empty():
        found = [name for place in places for name in os.listdir(place) if name not in ("lock", "last_reserved_ip.0")]
        links = [line for line in execute(["ip", "-o", "link", "show", "type", "veth"]).out.splitlines() if " out" not in line]
        return not found and not links

    wait(is_empty, "networks of ended pods are gone")


class In:
    """The network namespace of a pod, for what a hostile program in it could do, as root with all capabilities."""

    def __init__(self, m, pod):
        uid = m.read(f"/api/v1/namespaces/default/pods/{pod}")["metadata"]["uid"]
        self.path = f"/proc/{m.child('node')}/root{m.data}/node/net/ns/{uid}"  # mounted where the node sees it

    def __enter__(self):
        self.own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        self.enter(os.open(self.path, os.O_RDONLY))

    def __exit__(self, *unused):
        self.enter(self.own)

    @staticmethod
    def enter(fd):
        check(ctypes.CDLL(None, use_errno=True).setns(fd, 0) == 0, "setns", os.strerror(ctypes.get_errno()))
        os.close(fd)


def test_a_hostile_pod_does_not_pretend_nor_flood():
    with networked() as m:
        apply(m, server("a"), server("b"))
        a, b = running(m, "a", "b")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind((ADDRESS, 0))
            only_the_last_arrives(m, s, s.getsockname(), (b, "198.51.100.7", a))
        with In(m, "b"):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind(("0.0.0.0", 4000))
        with s:
            only_the_last_arrives(m, s, (b, 4000), ("198.51.100.7", a))
        no_second_family(m)
        questions_are_bounded(m)


def only_the_last_arrives(m, receiver, to, sources):
    """Packets of pod a; what has another address than the pod's, which is the last, is dropped on its way."""
    for source in sources:
        with In(m, "a"), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            if source != sources[-1]:
                check(execute(["ip", "addr", "add", f"{source}/32", "dev", "eth0"]).code == 0, source)
            s.bind((source, 0))
            s.sendto(source.encode(), to)
            if source != sources[-1]:
                check(execute(["ip", "addr", "del", f"{source}/32", "dev", "eth0"]).code == 0, source)
    receiver.settimeout(30)
    equal(receiver.recv(100), sources[-1].encode())


def no_second_family(m):
    """The kernel gives both ends of a pod's link addresses of IPv6."""
    link = next(line for line in execute(["ip", "-6", "-o", "addr"]).out.splitlines() + [""] if "veth" in line or not line).split()
    if not link:
        return
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.bind(("::", 4001))
        for pod in ("a", "b"):
            with In(m, pod), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as t, contextlib.suppress(OSError):
                t.sendto(b"x", (link[3].split("/")[0], 4001, 0, socket.if_nametoindex("eth0")))
        s.settimeout(0.3)
        try:
            check(False, "a pod reached the machine by IPv6", s.recv(1))
        except TimeoutError:
            pass


def questions_are_bounded(m):
    def connections():
        with open("/proc/sys/net/netfilter/nf_conntrack_count") as f:
            return int(f.read())

    before, began, n = connections(), time.monotonic(), 10000
    with In(m, "a"):
        for _ in range(n):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s, contextlib.suppress(OSError):
                s.sendto(b"\0" * 12, ("10.96.0.10", 53))
    allowed = 2000 + 1000 * (time.monotonic() - began) + 500
    check(connections() - before < min(allowed, n) or allowed >= n, before, connections(), allowed)
    wait_sh(m, "b", "busybox nslookup kubernetes.default.svc.cluster.local", lambda out: "10.96.0.1" in out, "another pod still asks")
