"""StatefulSets and DaemonSets with kubectl."""

import json
import os
import signal

from harness import Mete, check, equal, wait


def manifest(kind, name, command="exec sleep 3600", **spec):
    """A manifest of apps/v1 as JSON text; `command` is for sh -c."""
    c = {"name": "main", "image": "host", "command": ["sh", "-c", command]}
    return json.dumps({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name},
                       "spec": {"selector": {"matchLabels": {"app": name}}, **spec,
                                "template": {"metadata": {"labels": {"app": name}},
                                             "spec": {"terminationGracePeriodSeconds": 1, "containers": [c]}}}})


def pods_of(m, name):
    found = m.object("pods", "-l", f"app={name}")["items"]
    return [p for p in found if not p["metadata"].get("deletionTimestamp")]


def rolled(m, what):
    return m.ok("rollout", "status", what, "--timeout=300s")


def versions(m, name):
    return {p["metadata"]["name"]: (p["spec"]["containers"][0].get("env") or [{}])[0].get("value") for p in pods_of(m, name)}


def test_a_stateful_set():
    with Mete("emulated:1xH100") as m:
        m.ok("apply", "-f", "-", stdin=manifest("StatefulSet", "db", replicas=2, serviceName="db"))
        rolled(m, "statefulset/db")
        equal(versions(m, "db"), {"db-0": None, "db-1": None})
        m.ok("set", "env", "statefulset/db", "VERSION=2")
        rolled(m, "statefulset/db")
        equal(versions(m, "db"), {"db-0": "2", "db-1": "2"})
        m.ok("scale", "statefulset/db", "--replicas=3")
        wait(lambda: len(pods_of(m, "db")) == 3, "it has a third pod")
        rolled(m, "statefulset/db")
        os.kill(m.child("server"), signal.SIGKILL)
        wait(lambda: m.kubectl("get", "--raw", "/readyz").code == 0, "the server is back")
        history = m.ok("rollout", "history", "statefulset/db")
        check("1" in history and "2" in history, history)
        m.ok("rollout", "undo", "statefulset/db")
        wait(lambda: set(versions(m, "db").values()) == {None}, "it is undone")
        rolled(m, "statefulset/db")
        check("statefulset.apps/db" in m.ok("get", "all"), "get all")
        check("statefulset.apps/db" in m.ok("get", "controllerrevisions"), "its revisions")
        m.ok("delete", "statefulset", "db", "--timeout=300s")
        wait(lambda: not m.object("pods")["items"] and not m.object("controllerrevisions")["items"], "its parts are gone")


def test_a_daemon_set():
    with Mete("emulated:1xH100") as m:
        m.ok("apply", "-f", "-", stdin=manifest("DaemonSet", "agent"))
        rolled(m, "daemonset/agent")
        found = pods_of(m, "agent")
        equal(len(found), 1)
        m.ok("set", "env", "daemonset/agent", "VERSION=2")
        rolled(m, "daemonset/agent")
        wait(lambda: list(versions(m, "agent").values()) == ["2"], "it has the new version")
        m.ok("delete", "pod", pods_of(m, "agent")[0]["metadata"]["name"], "--timeout=300s")
        rolled(m, "daemonset/agent")
        wait(lambda: len(pods_of(m, "agent")) == 1, "it has a pod again")
        m.ok("patch", "daemonset", "agent", "-p", '{"spec":{"template":{"spec":{"nodeSelector":{"none":"such"}}}}}')
        wait(lambda: not pods_of(m, "agent"), "no node is selected")
        equal(m.object("daemonset", "agent")["status"]["desiredNumberScheduled"], 0)
