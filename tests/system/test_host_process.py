"""Jobs of the host without an OCI runtime: identity, files, logs, ends, and a node that is killed under them."""

import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile

from harness import KUBECTL, METE, Mete, check, equal, execute, wait
from test_exec import Terminal

UID = 5  # games of Debian's passwd: no login
GID = pwd.getpwuid(UID).pw_gid


class Home:
    """A directory of the user's."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="mete-job-")
        os.chown(self.path, UID, GID)
        return self

    def __exit__(self, kind, value, trace):
        shutil.rmtree(self.path)

    def read(self, name):
        with open(os.path.join(self.path, name), encoding="utf-8") as file:
            return file.read()

    def has(self, name):
        path = os.path.join(self.path, name)
        return os.path.exists(path) and os.path.getsize(path) > 0


def submit(m, home, name, script, ns="default", **spec):
    job = {"apiVersion": "mete.dev/v1", "kind": "SlurmJob", "metadata": {"name": name, "namespace": ns},
           "spec": {"name": name, "script": "#!/bin/sh\n" + script, "workDir": home.path, "user": {"uid": UID},
                    "stdout": f"{home.path}/{name}.out"} | spec}
    r = m.kubectl("create", "-f", "-", stdin=json.dumps(job))
    check(r.code == 0, r)


def pod_of(m, name, ns="default"):
    """The job's pod, which goes with the job's end."""
    def find():
        pods = m.object("pods", "-n", ns, "-l", f"mete.dev/slurm-job={name}")["items"]
        return pods and pods[0]["metadata"]["name"]
    return wait(find, f"{name} has a pod")


def end(m, name):
    """State and exit code of the job, once it has ended."""
    def find():
        status = m.object("slurmjob", name)["status"]
        return status if status.get("endTime") else None
    status = wait(find, f"{name} ends")
    return status["state"], status.get("exitCode", 0)


def test_a_job_is_its_user():
    with Mete() as m, Home() as home:
        runs_as_the_user(m, home)
        has_its_gpus(m, home)
        opens_files_as_the_user(m, home)
        runs_commands(m, home)
        goes_on_under_a_new_node(m, home)
        ends_with_its_pod(m, home)


def runs_as_the_user(m, home):
    submit(m, home, "mine", 'id -u; id -g; pwd; echo "$1 $SLURM_JOB_NAME"; stat -c "%u %a" "$0"; ls /proc/self/fd | wc -l; '
           "echo wrong >&2; exit 3", arguments=["word"])
    equal(end(m, "mine"), ("FAILED", 3))
    equal(home.read("mine.out"), f"{UID}\n{GID}\n{home.path}\nword mine\n{UID} 500\n4\nwrong\n")  # 4: one is of ls itself
    equal(os.listdir(os.path.join(m.data, "node", "intents")), [], "no container was made")


def has_its_gpus(m, home):
    submit(m, home, "gpu", "nvidia-smi -L; echo $NVIDIA_VISIBLE_DEVICES; echo $CUDA_VISIBLE_DEVICES $GPU_DEVICE_ORDINAL "
           "$SLURM_JOB_GPUS $SLURM_GPUS_ON_NODE", gres="gpu:1", environment=["CUDA_VISIBLE_DEVICES=7"])
    equal(end(m, "gpu"), ("COMPLETED", 0), home.read("gpu.out"))
    listed, visible, numbers = home.read("gpu.out").splitlines()
    check(listed.startswith("GPU 0: ") and f"(UUID: {visible})" in listed, listed, visible)
    mine, ordinal, index, count = numbers.split()
    equal((mine, ordinal, count), ("0", "0", "1"), "the job counts what it sees")
    check(index.isdigit() and int(index) < 8, numbers)
    submit(m, home, "share", "true", gres="mps:50")
    equal(end(m, "share"), ("FAILED", 128))
    wait(lambda: any("a host process cannot have a share of a gpu" in e["message"] for e in m.object("events")["items"]),
         "an event names the cause")


def opens_files_as_the_user(m, home):
    path = f"/root/{os.path.basename(home.path)}"
    submit(m, home, "theirs", "echo ran", stdout=path)
    equal(end(m, "theirs"), ("FAILED", 128))
    want = f"open {path} as uid {UID}: permission denied"
    wait(lambda: any(e["message"] == want for e in m.object("events")["items"]), "an event names the cause")
    check(not os.path.exists(path), "nothing was written")


def gate_of(home):
    """A fifo that holds a job until it is opened."""
    path = os.path.join(home.path, "gate")
    if not os.path.exists(path):
        os.mkfifo(path)
        os.chown(path, UID, GID)
    return path


def open_gate(gate):
    with open(gate, "w", encoding="utf-8") as file:
        file.write("end\n")


def runs_commands(m, home):
    gate = gate_of(home)
    submit(m, home, "open", "echo began; read x <gate", gres="gpu:1")
    wait(lambda: home.has("open.out"), "the job runs")
    pod = pod_of(m, "open")
    show = 'id -u; id -g; pwd; echo "$SLURM_JOB_NAME"; nvidia-smi -L | wc -l; cat; echo wrong >&2; exit 3'
    for run in (lambda *words, stdin=None: m.kubectl(*words, stdin=stdin),
                lambda *words, stdin=None: execute([METE, *words], stdin=stdin, env=m.env)):
        r = run("exec", "-i", pod, "--", "sh", "-c", show, stdin="typed\n")
        equal((r.code, r.out), (3, f"{UID}\n{GID}\n{home.path}\nopen\n1\ntyped\n"), r)
        check(r.err.startswith("wrong\n"), r)
        equal(run("exec", pod, "--", "sh", "-c", "kill -TERM $$").code, 143)
        r = run("exec", pod, "--", "no-such-program")
        check(r.code != 0 and "executable file 'no-such-program' not found" in r.err, r)
        r = run("exec", pod, "--", "sh", "-c", "cat /etc/shadow; su -c true")  # no way to another uid
        check(r.code != 0 and not r.out, r)
    t = Terminal([KUBECTL, "exec", "-it", pod, "--", "sh"], m.env, rows=31, columns=91)
    t.type("stty size </dev/tty; echo $((6 * 7)); exit 5\n")
    t.expect("31 91")
    t.expect("42")
    equal(t.end(), 5)
    r = m.kubectl("attach", pod)
    check("a job of the host has no streams to attach to" in r.err, r)
    left = execute([KUBECTL, "exec", pod, "--", "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!"], env=m.env)
    check(os.path.exists(f"/proc/{int(left.out)}"), left)
    open_gate(gate)
    equal(end(m, "open"), ("COMPLETED", 0))
    wait(lambda: not os.path.exists(f"/proc/{int(left.out)}"), "the job's end ends what a command left")


def goes_on_under_a_new_node(m, home):
    gate = gate_of(home)
    submit(m, home, "long", "echo began; read x <gate; echo $x; exit 4", openMode="append")
    wait(lambda: home.has("long.out"), "the job runs")
    logs = m.kubectl("logs", pod_of(m, "long"))
    check(logs.code != 0 and f"in the file '{home.path}/long.out' of its user" in logs.err, logs)
    command = subprocess.Popen([KUBECTL, "exec", pod_of(m, "long"), "--", "sh", "-c", "echo $$ >pid; sleep 1000"],
                               env=m.env, stderr=subprocess.DEVNULL)
    wait(lambda: home.has("pid"), "the command runs")
    node = m.child("node")
    os.kill(node, signal.SIGKILL)
    wait(lambda: m.child("node") not in (None, node), "the node is back")
    check(command.wait() != 0, "the command ended with the connection")
    wait(lambda: not os.path.exists(f"/proc/{int(home.read('pid'))}"), "the new node ends the command of the old one")
    open_gate(gate)
    equal(end(m, "long"), ("FAILED", 4))
    equal(home.read("long.out"), "began\nend\n")


def ends_with_its_pod(m, home):
    submit(m, home, "deaf", "trap 'echo asked' TERM; setsid sleep 1000 & echo $!; while :; do sleep 0.05; done")
    wait(lambda: home.has("deaf.out"), "the job runs")
    child = int(home.read("deaf.out").split()[0])
    m.ok("delete", "pod", pod_of(m, "deaf"), "--grace-period=1", "--wait=false")
    wait(lambda: not os.path.exists(f"/proc/{child}"), "all its processes are gone")
    check("asked" in home.read("deaf.out"), "SIGTERM came first")
