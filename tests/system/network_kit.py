"""A Mete whose pods have a network of their own, all of it in a network namespace that the test made."""

import contextlib
import ctypes
import json
import os

from harness import Mete, check, execute, wait
from image_kit import Image, base_layer, write

CLONE_NEWNET = 0x40000000
ADDRESS = "192.0.2.10"  # of the machine, as pods and the test see it
PODS = "10.244.0.0/16"


def enter_own_network():
    """Moves this process, and all that it starts from now on, into a network namespace with a default route that leads nowhere."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")
    for words in ("link set lo up", "link add out type veth peer name out-peer", "link set out-peer up", f"addr add {ADDRESS}/24 dev out", "link set out up",
                  "route add default via 192.0.2.1"):
        r = execute(["ip", *words.split()])
        check(r.code == 0, words, r)


@contextlib.contextmanager
def networked(arguments=(), gpus="none"):
    enter_own_network()
    with Mete(gpus, ["--pod-network", PODS, *arguments]) as m:
        image = write(os.path.join(m.dir, "busybox.tar"), Image([base_layer()], {"Cmd": ["sleep", "1000"]}).docker("busybox:1"))
        r = m.mete("image", "import", image)
        check(r.code == 0, "import", r)
        yield m


def server(name, labels=None, ports=({"name": "web", "containerPort": 8080},), ready=None, **spec):
    """A pod that answers http on port 8080 with its name."""
    command = ["sh", "-c", f"echo {name} > /tmp/name; exec busybox httpd -f -p 8080 -h /tmp"]
    container = {"name": "main", "image": "busybox:1", "command": command, "ports": list(ports)}
    if ready:
        container["readinessProbe"] = ready
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {}},
            "spec": {"terminationGracePeriodSeconds": 0, **spec, "containers": [container]}}


def apply(m, *objects):
    m.ok("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))


def address_of(m, pod):
    return m.read(f"/api/v1/namespaces/default/pods/{pod}")["status"].get("podIP")


def running(m, *pods):
    for pod in pods:
        m.wait_phase(pod, "Running")
    return [address_of(m, pod) for pod in pods]


def sh(m, pod, command, deadline_s=30):
    return m.kubectl("exec", pod, "--", "sh", "-c", command, deadline_s=deadline_s)


def wait_sh(m, pod, command, want, what):
    """Repeats a command in a pod until its output is what the test wants."""
    last = []

    def is_so():
        last[:] = [sh(m, pod, command)]
        return want(last[0].out.strip())

    try:
        wait(is_so, what)
    except AssertionError:
        check(False, what, last)
