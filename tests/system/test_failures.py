"""Failures leave the processes of Mete as they were: no descriptor stays open, no processor time is wasted."""

import json
import os
import subprocess
import threading

from harness import METE, Mete, check, equal, pod, wait


def refused(name, restart="Never", **container):
    c = {"name": "main", "image": "host", "command": ["/no/such/program"], **container}
    return pod(name, "", containers=[c], restartPolicy=restart)


def restarts(m, name):
    return (m.object("pod", name)["status"].get("containerStatuses") or [{}])[0].get("restartCount", 0)


def test_containers_that_cannot_be_created():
    with Mete() as m, m.unharmed():
        for i in range(8):
            m.ok("apply", "-f", "-", stdin=refused(f"once-{i}"))
        m.ok("apply", "-f", "-", stdin=refused("again", restart="Always"))
        m.ok("apply", "-f", "-", stdin=refused("nowhere", command=["true"], workingDir="/no/such/directory"))
        for i in range(8):
            m.wait_phase(f"once-{i}", "Failed")
        wait(lambda: restarts(m, "again") >= 2, "the container is tried again")


def test_a_node_waits_until_it_knows_its_containers():
    with Mete() as m:
        m.ok("apply", "-f", "-", stdin=pod("held", "exec sleep 1000", gpus=2))
        m.wait_phase("held", "Running")
        m.stop()
        broken = os.path.join(m.data, "node", "intents", "zz.json")
        os.mkdir(broken)  # a file that cannot be read
        try:
            starting = threading.Thread(target=m.start)
            starting.start()
            wait(lambda: "containers of this machine cannot be read" in m.log_text(), "the cause in the log")
            check(starting.is_alive(), "mete up waits")
        finally:
            os.rmdir(broken)
            starting.join()
        with m.unharmed(clean=False):
            m.wait_phase("held", "Running")
            equal(restarts(m, "held"), 0)
            r = m.mete("exec", "held", "--", "true")
            check(r.code == 0, r)
