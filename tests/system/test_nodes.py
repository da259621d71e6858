"""Other machines join as nodes by a one-time token, over TLS; what a lost network does to them. Both nodes are on this
machine: the second has a data directory and a name of its own, and reaches the server through a relay of the test."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import threading
import time

from harness import METE, Mete, check, children, descriptors, equal, execute, execute_as, native_place, wait

WAITING = ["test_a_cut_off_node_ends_its_pods_before_they_start_elsewhere", "test_slurm_jobs_of_a_cut_off_node_and_of_a_lost_one"]

POD = """
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  nodeSelector: {kubernetes.io/hostname: %s}
  containers: [{name: main, image: host, command: [sh, -c, %s], resources: {limits: {nvidia.com/gpu: 1}}}]
"""


class Relay:
    """Forwards connections to a port of the loopback, until it is cut."""

    def __init__(self, port):
        self.target = port
        self.pairs = []
        self.listener = None
        self.mend()

    def mend(self):
        self.listener = socket.create_server(("127.0.0.1", self.port if self.listener else 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def cut(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for pair in self.pairs:
            for s in pair:
                with contextlib.suppress(OSError):
                    s.shutdown(socket.SHUT_RDWR)
        self.pairs = []

    def accept(self, listener):
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                self.pairs.append((client, server))
                threading.Thread(target=self.forward, args=(client, server), daemon=True).start()

    @staticmethod
    def forward(client, server):
        with client, server, contextlib.suppress(OSError):
            while True:
                for s in select.select([client, server], [], [])[0]:
                    piece = s.recv(65536)
                    if not piece:
                        return
                    (server if s is client else client).sendall(piece)


class Node:
    """A `mete node` of the second machine."""

    def __init__(self, m, port, name="second", gpus="emulated:1xA100", host="127.0.0.1", space=None, arguments=()):
        self.m = m
        self.name = name
        self.data = os.path.join(m.dir, name)
        self.log = os.path.join(m.dir, name + ".log")
        self.argv = [METE, "node", "--server", f"https://{host}:{port}", "--data", self.data, "--name", name, "--gpus", gpus, *arguments]
        if space:  # a network namespace
            self.argv = ["nsenter", f"--net=/var/run/netns/{space}", *self.argv]
        self.process = None

    def start(self, token=None):
        said = b""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*self.argv, *(["--token", token] if token else [])], stdout=subprocess.PIPE,
                                            stderr=log, env=self.m.env, start_new_session=True)
        os.set_blocking(self.process.stdout.fileno(), False)

        def ready():
            nonlocal said
            check(self.process.poll() is None, f"mete node ended with {self.process.returncode}", self.text())
            said += self.process.stdout.read() or b""
            return b"ready\n" in said

        wait(ready, "mete node says ready")

    def text(self):
        with open(self.log) as f:
            return f.read()[-4000:]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.process.stdout.close()
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind and os.path.exists(self.log):
            print(self.text())
        if self.process:
            self.m.mete("delete", "pods", "--all", "-A", "-y")
            self.stop()


def port_of(m):
    return int(m.ok("config", "view", "-o", "jsonpath={.clusters[0].cluster.server}").rsplit(":", 1)[1])


def token(m, *words):
    r = m.mete("token", "node", *words)
    equal(r.code, 0, r)
    return r.out.strip()


def is_ready(m, name):
    node = m.read(f"/api/v1/nodes/{name}")
    return node and any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))


def curl(m, node, port, path):
    """A request with the node's certificate: the status, and the answer."""
    join = os.path.join(node.data, "node", "join")
    r = execute(["curl", "-s", "-w", "\n%{http_code}", "--cacert", f"{join}/ca.crt", "--cert", f"{join}/node.crt", "--key",
                 f"{join}/node.key", f"https://127.0.0.1:{port}{path}"], env=m.env)
    equal(r.code, 0, r)
    text, status = r.out.rsplit("\n", 1)
    return int(status), json.loads(text)


def test_a_machine_joins_by_a_token_that_works_once():
    with Mete(gpus="emulated:1xH100") as m:
        port = port_of(m)
        with Node(m, port) as node, Node(m, port, "third", "none") as other:
            once = token(m)
            node.start(once)
            wait(lambda: is_ready(m, "second"), "the node is ready")

            m.ok("apply", "-f", "-", stdin=POD % ("there", "second", "nvidia-smi -L; sleep 1000"))
            m.wait_phase("there", "Running")
            wait(lambda: "A100" in m.ok("logs", "there"), "its log comes through the node's stream")
            equal(m.ok("exec", "there", "--", "echo", "hello").strip(), "hello")

            # the token is used; one of another installation is noticed before its secret is sent
            r = execute([*other.argv, "--token", once], env=m.env)
            check(r.code != 0 and "unknown, was used, or has expired" in r.err, r)
            mine = token(m, "--name", "fourth")
            r = execute([*other.argv, "--token", mine], env=m.env)
            check(r.code != 0 and "the token is for node fourth, not for third" in r.err, r)
            r = execute([*other.argv, "--token", mine[:-4] + ("0000" if mine[-4:] != "0000" else "1111")], env=m.env)
            check(r.code != 0 and "is not the server that made the token" in r.err, r)
            r = execute([*other.argv, "--token", "mete1.abc"], env=m.env)
            check(r.code != 0 and "want the text that mete token node printed" in r.err, r)
            r = execute(other.argv, env=m.env)
            check(r.code != 0 and "has not joined" in r.err and "mete token node" in r.err, r)
            fresh = token(m)
            r = execute([*other.argv[:-3], "second", *other.argv[-2:], "--token", fresh], env=m.env)
            check(r.code != 0 and "node second exists" in r.err, r)
            r = execute_as(65534, 65534, [METE, "token", "node"], env=m.env)
            check(r.code == 4 and "nodes are for administrators" in r.err, r)

            # its certificate has a node's rights, and no others
            equal(curl(m, node, port, "/api/v1/nodes/second")[0], 200)
            for path in ("/api/v1/secrets", "/api/v1/namespaces/default/pods", "/mete.dev/v1/audit"):
                equal(curl(m, node, port, path)[0], 403, path)

            # without a token it starts again, and adopts what runs
            before = m.object("pod", "there")["status"]["containerStatuses"][0]
            node.stop()
            node.start()
            equal(m.ok("exec", "there", "--", "echo", "again").strip(), "again")
            equal(m.object("pod", "there")["status"]["containerStatuses"][0]["containerID"], before["containerID"])

            # a revoked node is cut off, and comes back by a token of its name alone
            equal(m.mete("token", "revoke", "second").code, 0)
            wait(lambda: curl(m, node, port, "/api/v1/nodes/second")[0] == 401, "the certificate has ended")
            wait(lambda: "stream to the server has ended" in node.text(), "the node's connection was cut")
            node.stop()
            r = execute(node.argv, env=m.env)
            check(r.code != 0 and "the certificate's registration has ended" in r.err, r)
            node.start(token(m, "--name", "second"))
            equal(m.ok("exec", "there", "--", "echo", "back").strip(), "back")
            equal(m.phase("there"), "Running")
            r = m.mete("audit", "-o", "jsonl")
            paths = [json.loads(line).get("path") for line in r.out.splitlines()]
            check("/mete.dev/v1/node-join" in paths and "/mete.dev/v1/node-tokens" in paths, r)


JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: alone}
spec:
  backoffLimit: 5
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 0}]
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [second]}]}
      containers:
      - name: main
        image: host
        command: [sh, -c, "exec flock -n %s sleep 100000"]
"""


def running(m):
    pods = m.read("/api/v1/namespaces/default/pods")["items"]
    return [(p["spec"].get("nodeName"), p["status"].get("phase")) for p in pods]


def test_a_cut_off_node_ends_its_pods_before_they_start_elsewhere():
    with Mete(gpus="none") as m:
        relay = Relay(port_of(m))
        lock = os.path.join(m.dir, "lock")
        with Node(m, relay.port, gpus="none") as node:
            node.start(token(m))
            wait(lambda: is_ready(m, "second"), "the node is ready")
            m.ok("apply", "-f", "-", stdin=JOB % lock)
            wait(lambda: ("second", "Running") in running(m), "the pod runs on the second node")
            relay.cut()
            # the second attempt would fail if the first still held the lock
            wait(lambda: any(n not in ("second", None) and p == "Running" for n, p in running(m)),
                 "it runs on the other node", 240)
            check(not any(p == "Failed" and n != "second" for n, p in running(m)), running(m))
            relay.mend()
            wait(lambda: is_ready(m, "second"), "the node has come back", 120)
            wait(lambda: len([1 for _, p in running(m) if p == "Running"]) == 1, "it runs once")
            equal(execute(["flock", "-n", lock, "true"]).code, 1, "the lock is held once")
            m.ok("delete", "job", "alone", "--cascade=foreground")


SCRIPT = """#!/bin/sh
echo ${SLURM_RESTART_COUNT:-0} >>%s/$SLURM_JOB_NAME$SLURM_ARRAY_TASK_ID
exec flock -n %s/$SLURM_JOB_NAME$SLURM_ARRAY_TASK_ID sleep 100000
"""


CPUS = ("--cpus", "8")


def mark_lines(m, name):
    with open(os.path.join(m.dir, name)) as f:
        return f.read().split()


def submit_to(m, node, name, *words):
    """A Slurm job that starts on this node, and may start anew on each."""
    for n in m.object("nodes")["items"]:
        m.ok("uncordon" if n["metadata"]["name"] == node else "cordon", n["metadata"]["name"])
    r = m.mete("sbatch", "--parsable", "-J", name, "-D", m.dir, "-o", "/dev/null", *words, stdin=SCRIPT % (m.dir, m.dir))
    equal(r.code, 0, r)
    return r.out.strip()


def placed(m, job):
    """The states and nodes of a job, an element of an array each."""
    time.sleep(0.2)  # this is asked for minutes
    rows = m.read(f"/apis/mete.dev/v1/slurm?what=jobs&states=all&ids={job}")["jobs"]
    return [f"{row['state']} {row.get('nodes')}" for row in rows]


def is_evicted(m, node):
    """Are all pods of the node being deleted?"""
    time.sleep(0.2)
    pods = m.read("/api/v1/namespaces/default/pods")["items"]
    return all("deletionTimestamp" in p["metadata"] for p in pods if p["spec"].get("nodeName") == node)


def end_tree(pid):
    below = children(pid)
    os.kill(pid, signal.SIGKILL)
    for child in below:
        end_tree(child)


def lose(node):
    """What runs on the node ends at once, as when its machine has lost its power."""
    node.process.kill()
    node.process.wait()
    node.process.stdout.close()
    node.process = None
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if any(native_place(node.data) in target for target in descriptors(pid)):
            with contextlib.suppress(ProcessLookupError):  # of those that ended with their parents
                end_tree(int(pid))


def test_slurm_jobs_of_a_cut_off_node_and_of_a_lost_one():
    """Each starts anew, once, and not before its processes have ended; what waits for them goes on waiting."""
    with Mete(gpus="none", arguments=CPUS) as m:
        relay = Relay(port_of(m))
        first = m.object("nodes")["items"][0]["metadata"]["name"]
        with Node(m, relay.port, gpus="none") as cut, Node(m, port_of(m), "third", "none") as lost:
            for node in (cut, lost):
                node.argv += CPUS
                node.start(token(m))
            wait(lambda: is_ready(m, "second") and is_ready(m, "third"), "the nodes are ready")
            jobs = {"cut": submit_to(m, "second", "cut"), "array": submit_to(m, "second", "array", "--array=0-1%1"),
                    "stays": submit_to(m, "second", "stays", "--no-requeue"), "lost": submit_to(m, "third", "lost")}
            after = submit_to(m, first, "after", "-d", f"afterany:{jobs['cut']}:{jobs['lost']}")
            for name, node in (("cut", "second"), ("stays", "second"), ("lost", "third")):
                wait(lambda n=name, at=node: f"RUNNING {at}" in placed(m, jobs[n]), f"{name} runs on {node}")
            wait(lambda: "RUNNING second" in placed(m, jobs["array"]), "an element runs on second")
            # the first toleration of the taint counts
            soon = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
            for p in m.object("pods")["items"]:
                m.ok("patch", "pod", p["metadata"]["name"], "--type=json", "-p",
                     json.dumps([{"op": "add", "path": "/spec/tolerations/0", "value": soon}]))
            relay.cut()
            lose(lost)
            m.ok("delete", "node", "third")
            wait(lambda: f"RUNNING {first}" in placed(m, jobs["lost"]), "the job of the lost node runs on the first one", 120)
            # The server evicts; only the node itself can say that the processes have ended.
            wait(lambda: is_evicted(m, "second"), "the pods of the silent node are evicted", 240)
            equal([mark_lines(m, name) for name in ("cut", "array0", "stays")], [["0"]] * 3)
            relay.mend()
            wait(lambda: is_ready(m, "second"), "the node has come back", 120)
            wait(lambda: mark_lines(m, "cut") == ["0", "1"], "the job runs anew", 120)
            wait(lambda: "NODE_FAIL second" in placed(m, jobs["stays"]), "the job without requeue has ended")
            # the array's limit of one holds while an element waits for its second start
            wait(lambda: sum("RUNNING" in line for line in placed(m, jobs["array"])) == 1, "one element runs", 120)
            if mark_lines(m, "array0") == ["0"]:
                equal(m.mete("scancel", jobs["array"] + "_1").code, 0)
            wait(lambda: mark_lines(m, "array0") == ["0", "1"], "the element runs anew", 120)
            for name in ("cut", "lost", "array0"):
                equal(mark_lines(m, name), ["0", "1"], name)
                wait(lambda n=name: execute(["flock", "-n", os.path.join(m.dir, n), "true"]).code == 1, f"{name} runs")
            equal(mark_lines(m, "stays"), ["0"])
            equal(m.mete("sacct", "-X", "-n", "-P", "-o", "State", "-j", jobs["stays"]).out, "NODE_FAIL\n")
            equal([line.split()[0] for line in placed(m, after)], ["PENDING"])
            equal(m.mete("scancel", *jobs.values()).code, 0)
            wait(lambda: any(line.startswith("RUNNING") for line in placed(m, after)), "what waited for them runs")
            equal(m.mete("scancel", after).code, 0)
            wait(lambda: not m.mete("squeue", "-h").out, "no job is left")
