"""mete kube scheduler: places pods through an API server, here Mete's own, whose scheduler leaves these pods alone."""

import contextlib
import json
import os
import subprocess

from harness import METE, Mete, check, equal, patience, pod, wait

NAME = "of-the-cluster"


@contextlib.contextmanager
def scheduler(m, *arguments, leads=True):
    """The scheduler as a process; ends with what it logged on a failure."""
    log = os.path.join(m.dir, "kube-scheduler.log")
    p = subprocess.Popen([METE, "kube", "scheduler", "--kubeconfig", os.path.join(m.data, "kubeconfig"), "--scheduler-name", NAME,
                          *arguments], env=m.env, stdout=subprocess.PIPE, stderr=open(log, "a"), text=True)
    try:
        if leads:
            equal(p.stdout.readline(), "ready\n")
        yield p
    except BaseException:
        print(open(log, encoding="utf-8").read())
        raise
    finally:
        if p.poll() is None:
            p.terminate()
            p.wait(60 * patience())
        p.stdout.close()


def apply(m, *objects):
    m.ok("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [json.loads(o) for o in objects]}))


def ours(name, command, gpus=0, **spec):
    return pod(name, command, gpus, schedulerName=NAME, **spec)


def nodes_of(m, *names):
    return [m.object("pod", name)["spec"].get("nodeName") for name in names]


def test_kube_scheduler_places_pods_of_its_name():
    with Mete("emulated:2xH100") as m:
        apply(m, ours("early", "true", 1), ours("big", "true", 3), pod("other", "sleep 1000", 1))
        wait(lambda: nodes_of(m, "other") != [None], "the pod of Mete's own scheduler")
        with scheduler(m) as s:
            m.wait_phase("early", "Succeeded")
            said = wait(lambda: [c for c in m.object("pod", "big")["status"].get("conditions", []) if c["type"] == "PodScheduled" and
                                 not c["message"].startswith("waits for the scheduler")],  # as Mete's own server says
                        "the reason of the pod that never fits")
            equal((said[0]["status"], said[0]["reason"]), ("False", "Unschedulable"), said)
            check("gpu" in said[0]["message"], said)
            apply(m, ours("first", "sleep 1000", 1), ours("second", "true", 1))
            wait(lambda: nodes_of(m, "first") != [None], "the gpu that is left")
            m.ok("delete", "pod", "first", "--grace-period=1")
            m.wait_phase("second", "Succeeded")
            with scheduler(m, leads=False) as other:
                s.terminate()  # gives its lease back
                equal(other.stdout.readline(), "ready\n")
                equal(s.wait(60 * patience()), 0)
                apply(m, ours("after", "true", 1))
                m.wait_phase("after", "Succeeded")
                other.kill()
                other.wait()
        apply(m, ours("last", "true", 1))
        with scheduler(m, "--lease", ""):
            m.wait_phase("last", "Succeeded")
