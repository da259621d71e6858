"""A node lives by its Lease, and writes its object only when it changes."""

import contextlib
import hashlib
import http.client
import itertools
import json
import os
import signal
import socket
import stat

from harness import Mete, arguments_of, check, equal, pod, wait

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"


def node_of(m):
    return m.read("/api/v1/nodes")["items"][0]


def is_ready(node):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in node.get("status", {}).get("conditions", []))


def renewal_after(m, name, last):
    def later():
        lease = m.read(LEASE + name)
        return lease and lease["spec"]["renewTime"] != last and lease["spec"]["renewTime"]

    return wait(later, "the lease is renewed", 30)


def test_an_idle_node_writes_nothing_but_its_lease():
    with Mete("emulated:2xA100") as m:
        name = node_of(m)["metadata"]["name"]
        renewed = renewal_after(m, name, None)
        node = node_of(m)
        check("sample" not in node["metadata"]["annotations"]["mete.dev/gpus"], node["metadata"]["annotations"])
        for _ in range(2):
            renewed = renewal_after(m, name, renewed)
        equal(node_of(m)["metadata"]["resourceVersion"], node["metadata"]["resourceVersion"])
        gpus = json.loads(m.mete("gpus", "-o", "json").out)["items"]
        equal([g["status"]["sample"]["memoryUsedBytes"] is not None for g in gpus], [True, True], gpus)


def test_what_others_do_to_a_node_is_mended():
    with Mete("emulated:2xA100") as m:
        first = node_of(m)
        name = first["metadata"]["name"]
        renewal_after(m, name, None)
        m.ok("label", "node", name, "kubernetes.io/os=plan9", "--overwrite")
        wait(lambda: node_of(m)["metadata"]["labels"]["kubernetes.io/os"] == "linux", "the label is mended", 30)
        m.ok("delete", "node", name)
        wait(lambda: (found := m.read(f"/api/v1/nodes/{name}")) and is_ready(found) and
             found["metadata"]["uid"] != first["metadata"]["uid"], "the node is there again", 30)

        def owner():
            lease = m.read(LEASE + name)
            return lease and lease["metadata"]["ownerReferences"][0]["uid"]

        wait(lambda: owner() == node_of(m)["metadata"]["uid"], "the lease is the new node's", 30)


def entry_of(name, token):
    return f'- name: {name}\n  tokenSha256: "{hashlib.sha256(token.encode()).hexdigest()}"\n'


def test_each_node_has_a_token_of_its_own():
    with Mete("emulated:2xA100") as m:
        path = os.path.join(m.data, "nodes.yaml")
        with open(path) as f:
            own = f.read()
        local = node_of(m)["metadata"]["name"]
        equal(stat.S_IMODE(os.stat(path).st_mode), 0o640)
        with open(path, "a") as f:
            f.write(entry_of("other", "token-of-other"))

        def ask(method, where, body=None):
            """The status of the other node's request."""
            kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
            c = http.client.HTTPConnection("unix", timeout=60)
            with contextlib.closing(c):
                c.sock = socket.socket(socket.AF_UNIX)
                c.sock.settimeout(60)
                c.sock.connect(os.path.join(m.data, "mete.sock"))
                c.request(method, where, json.dumps(body) if body else None,
                          {"Content-Type": kind, "Authorization": "Bearer token-of-other"})
                return c.getresponse().status

        wait(lambda: ask("GET", "/api/v1/nodes/other") == 404, "nodes.yaml is read")
        equal(ask("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "other"}}), 201)
        equal(ask("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "third"}}), 403)
        equal(ask("PATCH", f"/api/v1/nodes/{local}/status", {"status": {"capacity": {"cpu": "99"}}}), 403)
        equal(ask("PATCH", LEASE + local, {"spec": {"renewTime": "2099-01-01T00:00:00.000000Z"}}), 403)
        equal(ask("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3D" + local), 403)
        equal(ask("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dother"), 200)
        m.stop()
        m.start()
        equal(ask("GET", "/api/v1/nodes/other"), 200)  # mete up keeps the entries of others
        with open(path, "w") as f:
            f.write(own)
        wait(lambda: ask("GET", "/api/v1/nodes/other") == 401, "the token is revoked")
        m.ok("delete", "node", "other")


def test_a_revoked_node_is_cut_off():
    with Mete("emulated:2xA100") as m:
        path = os.path.join(m.data, "nodes.yaml")
        m.ok("apply", "-f", "-", stdin=pod("p", "echo hello; sleep 1000"))
        m.wait_phase("p", "Running")
        wait(lambda: "hello" in m.kubectl("logs", "p").out, "the node answers")
        with open(path) as f:
            own = f.read()
        with open(path, "w") as f:
            f.write("nodes: []\n")
        wait(lambda: "is not connected" in m.kubectl("logs", "p").err, "the stream is closed")
        with open(path, "w") as f:
            f.write(own)
        wait(lambda: "hello" in m.kubectl("logs", "p").out, "the node is back")
        equal(m.phase("p"), "Running")


@contextlib.contextmanager
def opened(m, token, where):
    """A stream that the server has begun to answer."""
    c = http.client.HTTPConnection("unix", timeout=60)
    with contextlib.closing(c):
        c.sock = socket.socket(socket.AF_UNIX)
        c.sock.settimeout(60)
        c.sock.connect(os.path.join(m.data, "mete.sock"))
        c.request("GET", where, headers={"Authorization": "Bearer " + token})
        yield c.getresponse()


def test_a_revoked_token_ends_its_open_connections():
    with Mete("emulated:2xA100") as m:
        users, nodes = os.path.join(m.data, "server", "users.yaml"), os.path.join(m.data, "nodes.yaml")
        m.ok("apply", "-f", "-", stdin=pod("p", "echo hello; sleep 1000"))
        m.wait_phase("p", "Running")
        with open(nodes) as f:
            own = f.read()
        with open(nodes, "a") as f:
            f.write(entry_of("other", "token-of-other"))
        with open(users, "w") as f:
            f.write("users:\n" + "".join(
                f"- name: {name}\n  tokenSha256: \"{hashlib.sha256(name.encode()).hexdigest()}\"\n"
                "  roles: [{role: view, namespace: default}]\n" for name in ("ann", "bob")) +
                "- name: system:serviceaccount:default:default\n  roles: [{role: view, namespace: default}]\n")
        m.ok("create", "-f", "-", stdin=pod("bound", "true", gpus=9))
        account = m.ok("create", "token", "default", "--bound-object-kind=Pod", "--bound-object-name=bound").strip()
        nothing = "/api/v1/namespaces/default/configmaps?watch=true&fieldSelector=metadata.name%3Dnone"
        logs = "/api/v1/namespaces/default/pods/p/log?follow=true"

        def knows(token):
            with opened(m, token, "/api") as answer:
                return answer.status == 200

        wait(lambda: knows("bob") and knows("token-of-other"), "the files are read")
        with opened(m, account, nothing) as watch:
            equal(watch.status, 200)
            m.ok("delete", "pod", "bound", "--grace-period=0", "--force")
            with contextlib.suppress(http.client.IncompleteRead):
                equal(watch.read(), b"")
        with opened(m, "token-of-other", "/api/v1/nodes?watch=true&fieldSelector=metadata.name%3Dother") as watch, \
                opened(m, "ann", logs) as ann, opened(m, "bob", logs) as bob:
            equal([r.status for r in (watch, ann, bob)], [200, 200, 200])
            equal([ann.readline(), bob.readline()], [b"hello\n", b"hello\n"])
            with open(nodes, "w") as f:
                f.write(own)
            with contextlib.suppress(http.client.IncompleteRead):
                equal(watch.read(), b"")
            with open(users) as f:
                both = f.read()
            with open(users, "w") as f:
                f.write("users:\n" + both[both.index("- name: bob"):])
            with contextlib.suppress(http.client.IncompleteRead):
                equal(ann.read(), b"")
            check(not knows("ann"))
            m.ok("exec", "p", "--", "sh", "-c", "echo more >/proc/1/fd/1")
            equal(bob.readline(), b"more\n")


def stop_runtime(m, name):
    """Stops the `crun create` of the pod before the container exists; its pid, None where there is none."""
    uid = m.object("pod", name)["metadata"]["uid"]
    for pid in filter(str.isdigit, os.listdir("/proc")):
        words = arguments_of(pid)
        if not (words and os.path.basename(words[0]) == b"crun" and words[-1].startswith(uid.encode())):
            continue
        with contextlib.suppress(OSError):
            os.kill(int(pid), signal.SIGSTOP)
            with open(f"/proc/{pid}/stat") as f:
                parent = arguments_of(f.read().rsplit(")", 1)[1].split()[1])
            made = os.path.exists(os.path.join(m.data, "node", "pods", uid, "main-0", "pidfile"))
            if parent and os.path.basename(parent[0]) == b"conmon" and not made:
                return int(pid)
            os.kill(int(pid), signal.SIGCONT)  # the container's first process, or too late
    return None


def stop_creation(m):
    """Creates pods until the creation of one's container could be stopped; the pod's name and the pid."""
    for turn in itertools.count():
        name = f"second-{turn}"
        m.ok("apply", "-f", "-", stdin=pod(name, "ls /usr/bin/sh && exit 7"))
        while m.phase(name) != "Failed":
            pid = stop_runtime(m, name)
            if pid:
                return name, pid


def roots_of(m):
    return sorted(os.listdir(os.path.join(m.data, "node", "roots")))


def test_a_creation_that_outlives_its_node_ends_in_the_root_that_it_began_in():
    with Mete("emulated:2xA100") as m:
        m.ok("apply", "-f", "-", stdin=pod("first", "sleep 1000"))  # its conmon keeps the mounts
        m.wait_phase("first", "Running")
        equal(roots_of(m), ["0"])
        second, crun = stop_creation(m)
        os.kill(m.child("node"), signal.SIGKILL)
        wait(lambda: "container found" in m.log_text() and roots_of(m) == ["0", "1"], "the next node has a root of its own")
        os.kill(crun, signal.SIGCONT)
        m.wait_phase(second, "Failed")
        equal(m.object("pod", second)["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 7)
        os.kill(m.child("node"), signal.SIGKILL)
        wait(lambda: len(roots_of(m)) == 1, "no creation is under way: earlier roots are removed")
        m.ok("apply", "-f", "-", stdin=pod("third", "exit 0"))
        m.wait_phase("third", "Succeeded")
