"""Gangs as large as a cluster, on the real server: bound whole or not at all, also when it is killed meanwhile.

The test plays the nodes, with tokens of their own: no pod runs on them. METE_TEST_GANG_PODS pods of 8 gpus are one
gang; METE_TEST_GANG_KILLS is the number of kills of the server while it binds a gang of half that size; METE_TEST_SEED
replays the moments."""

import contextlib
import hashlib
import http.client
import json
import os
import random
import signal
import socket
import threading
import time

from harness import Mete, check, equal, wait

PODS = int(os.environ.get("METE_TEST_GANG_PODS", "1024"))
KILLS = int(os.environ.get("METE_TEST_GANG_KILLS", "3"))
SEED = int(os.environ.get("METE_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
GPUS = 8
GPUS_OF_NODE = 64
KILL_PODS = min(PODS, 512)
SETTLE_S = 120
LABEL = "scheduling.x-k8s.io/pod-group"
LIST = "/api/v1/namespaces/default/pods"


class Door(http.client.HTTPConnection):
    """Requests over one connection to the unix socket: as the socket's owner, or with a token."""

    def __init__(self, m, token=None):
        super().__init__("mete", timeout=60)
        self.path = os.path.join(m.data, "mete.sock")
        self.token = token

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)

    def ask(self, method, path, body=None, kind="application/json"):
        headers = {"Content-Type": kind}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        self.request(method, path, json.dumps(body) if body is not None else None, headers)
        r = self.getresponse()
        return r.status, json.loads(r.read() or b"null")

    def must(self, *words):
        status, answer = self.ask(*words)
        check(status in (200, 201), status, answer)
        return answer


def node_name(i):
    return f"m{i:04}"


def n_nodes(n):
    return (n * GPUS + GPUS_OF_NODE - 1) // GPUS_OF_NODE


def token_of(node):
    return "token-of-" + node


def add_node(door, name, gpus=GPUS_OF_NODE):
    """Reports as the node's process would: the object with its gpus, and the condition Ready."""
    devices = [{"uuid": f"GPU-{name}-{i}", "index": i, "model": "h100", "health": "healthy"} for i in range(gpus)]
    door.must("POST", "/api/v1/nodes", {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "annotations": {"mete.dev/gpus": json.dumps(devices)}}})
    room = {"cpu": "64", "memory": "512Gi", "pods": "200", "nvidia.com/gpu": str(gpus)}
    door.must("PATCH", f"/api/v1/nodes/{name}/status", {"status": {
        "capacity": room, "allocatable": room,
        "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2099-01-01T00:00:00Z"}]}},
        "application/strategic-merge-patch+json")


def add_nodes(m, n, gpus=GPUS_OF_NODE):
    names = [node_name(i) for i in range(n)]
    lines = "".join(f'- {{name: "system:node:{name}", groups: ["system:nodes"], '
                    f'tokenSha256: "{hashlib.sha256(token_of(name).encode()).hexdigest()}"}}\n' for name in names)
    path = os.path.join(m.data, "server", "users.yaml")
    with open(path, "w") as f:
        f.write("users:\n" + lines)
    os.chmod(path, 0o644)
    m.ok("cordon", m.object("nodes")["items"][0]["metadata"]["name"])  # the real one
    last = Door(m, token_of(names[-1]))
    wait(lambda: last.ask("GET", "/api/v1/nodes/" + names[-1])[0] == 404, "users.yaml is read")
    last.close()
    for name in names:
        with contextlib.closing(Door(m, token_of(name))) as door:
            add_node(door, name, gpus)
    return names


LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


class Heartbeats(threading.Thread):
    """Nodes and their leases: no node counts as silent, however long the test takes, also past a killed server."""

    def __init__(self, m, n, gpus=GPUS_OF_NODE):
        super().__init__(daemon=True)
        self.m = m
        self.names = add_nodes(m, n, gpus)
        self.is_over = threading.Event()

    def beat(self, second):
        with contextlib.closing(Door(self.m)) as door, contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            for name in self.names:
                spec = {"holderIdentity": name, "leaseDurationSeconds": 40,
                        "renewTime": f"2099-01-01T{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}.000000Z"}
                status, _ = door.ask("PATCH", f"{LEASES}/{name}", {"spec": spec}, "application/merge-patch+json")
                if status == 404:
                    door.ask("POST", LEASES, {"metadata": {"name": name}, "spec": spec})

    def run(self):
        second = 0
        while not self.is_over.wait(5):
            second += 1
            self.beat(second)

    def __enter__(self):
        self.start()

    def __exit__(self, *failure):
        self.is_over.set()
        self.join()


def add_group(door, name, members):
    door.must("POST", "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups", {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": name},
        "spec": {"minMember": members}})


def pod_of(i, group="train"):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{i:04}", "labels": {LABEL: group}},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "main", "image": "host", "command": ["true"],
                                     "resources": {"limits": {"nvidia.com/gpu": GPUS}}}]}}


def pods(m):
    with contextlib.closing(Door(m)) as door:
        return door.must("GET", LIST)["items"]


def bound(items):
    return [p for p in items if p["spec"].get("nodeName")]


def n_bound(m):
    return len(bound(pods(m)))


def check_bound_whole(items, n):
    """Each pod has gpus of its own, and one transaction bound all pods."""
    equal(len(items), n)
    given = [u for p in items for u in json.loads(p["metadata"]["annotations"]["mete.dev/devices"])["containers"]["main"]]
    equal(len(given), n * GPUS)
    equal(len(set(given)), n * GPUS, "each its own gpus")
    equal(len({p["metadata"]["resourceVersion"] for p in items}), 1, "one transaction")


def end_all(m):
    """Deletes the pods, and reports as their nodes that they are gone."""
    by_node = {}
    with contextlib.closing(Door(m)) as door:
        for p in door.must("GET", LIST)["items"]:
            door.must("DELETE", f"{LIST}/{p['metadata']['name']}")
            if p["spec"].get("nodeName"):
                by_node.setdefault(p["spec"]["nodeName"], []).append(p["metadata"])
    for node, gone in by_node.items():
        with contextlib.closing(Door(m, token_of(node))) as door:
            for p in gone:
                door.must("DELETE", f"{LIST}/{p['name']}", {"gracePeriodSeconds": 0, "preconditions": {"uid": p["uid"]}})
    wait(lambda: not pods(m), "all are gone", SETTLE_S)


class Small(threading.Thread):
    """Another client, which writes small objects all the time, and measures the slowest write."""

    def __init__(self, m):
        super().__init__(daemon=True)
        self.m = m
        self.taken = []
        self.is_over = threading.Event()

    def run(self):
        with contextlib.closing(Door(self.m)) as door:
            for i in range(1 << 30):
                if self.is_over.is_set():
                    return
                began = time.monotonic()
                door.must("POST", "/api/v1/namespaces/default/configmaps",
                          {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{i}"}})
                self.taken.append(time.monotonic() - began)

    def end(self):
        self.is_over.set()
        self.join()
        self.taken.sort()
        return self.taken


def submit(m, first, last):
    with contextlib.closing(Door(m)) as door:
        for i in range(first, last):
            door.must("POST", LIST, pod_of(i))


def wait_bound(m, n):
    return wait(lambda: (b := bound(pods(m))) and len(b) == n and b, "all are bound", SETTLE_S)


def first_answer(m):
    with contextlib.suppress(OSError, http.client.HTTPException):
        return [n_bound(m)]
    return None


def test_a_gang_of_a_thousand_pods_is_bound_whole():
    with Mete("emulated:8xH100") as m, Heartbeats(m, n_nodes(PODS)):
        with contextlib.closing(Door(m)) as door:
            add_group(door, "train", PODS)
        began = time.monotonic()
        submit(m, 0, PODS - 1)
        print(f"# {PODS - 1} pods submitted in {time.monotonic() - began:.1f} s")
        equal(n_bound(m), 0)
        small = Small(m)
        small.start()
        wait(lambda: len(small.taken) >= 50, "somebody else writes")
        before = max(small.taken)
        began = time.monotonic()
        submit(m, PODS - 1, PODS)
        items = wait_bound(m, PODS)
        print(f"# bound within {time.monotonic() - began:.2f} s of its last pod")
        taken = small.end()
        print(f"# others' writes: {len(taken)}, longest {before:.3f} s before and {taken[-1]:.3f} s while it was bound")
        check_bound_whole(items, PODS)
        check("GangRefused" not in m.log_text())
        began = time.monotonic()
        end_all(m)
        print(f"# all ended within {time.monotonic() - began:.1f} s")


def test_a_large_gang_is_bound_whole_or_not_at_all_when_the_server_is_killed():
    print(f"# METE_TEST_SEED={SEED}")
    chance = random.Random(SEED)
    with Mete("emulated:8xH100") as m, Heartbeats(m, n_nodes(KILL_PODS)):
        with contextlib.closing(Door(m)) as door:
            add_group(door, "train", KILL_PODS)
        submit(m, 0, KILL_PODS - 1)
        began = time.monotonic()
        submit(m, KILL_PODS - 1, KILL_PODS)
        wait_bound(m, KILL_PODS)
        window_s = time.monotonic() - began
        seen = {0: 0, KILL_PODS: 0}
        for _ in range(KILLS):
            end_all(m)
            submit(m, 0, KILL_PODS - 1)
            equal(n_bound(m), 0)
            pid = m.child("server")
            submit(m, KILL_PODS - 1, KILL_PODS)
            time.sleep(chance.random() * window_s)  # the moment, not a wait
            os.kill(pid, signal.SIGKILL)
            wait(lambda: m.child("server") not in (None, pid), "another server")
            n = wait(lambda: first_answer(m), "it answers", SETTLE_S)[0]
            check(n in (0, KILL_PODS), f"{n} of {KILL_PODS} are bound")
            seen[n] += 1
            check_bound_whole(wait_bound(m, KILL_PODS), KILL_PODS)
        print(f"# {KILLS} kills in the {window_s:.2f} s after the last pod: bound {seen[KILL_PODS]}, not yet {seen[0]}")
        end_all(m)
