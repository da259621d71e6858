"""Deployments and ReplicaSets with kubectl: rollouts, rollbacks, pauses, deadlines, kill -9 of the server in between."""

import json
import os
import signal

from harness import Mete, check, equal, wait

GPU = "nvidia.com/gpu"


def deployment(name, command="exec sleep 3600", gpus=0, template=None, **spec):
    """A Deployment manifest as JSON text; `command` is for sh -c."""
    c = {"name": "main", "image": "host", "command": ["sh", "-c", command]}
    if gpus:
        c["resources"] = {"limits": {GPU: gpus}}
    return json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
                       "spec": {"selector": {"matchLabels": {"app": name}}, **spec,
                                "template": {"metadata": {"labels": {"app": name}},
                                             "spec": {"terminationGracePeriodSeconds": 1, "containers": [c], **(template or {})}}}})


def pods_of(m, name):
    found = m.object("pods", "-l", f"app={name}")["items"]
    return [p for p in found if not p["metadata"].get("deletionTimestamp")]


def condition(m, name, kind):
    found = [c for c in m.object("deployment", name)["status"].get("conditions", []) if c["type"] == kind]
    return found[0] if found else {}


def rolled(m, name):
    return m.ok("rollout", "status", f"deployment/{name}", "--timeout=300s")


def test_a_rollout_and_its_undo():
    with Mete("emulated:2xH100") as m:
        m.ok("apply", "-f", "-", stdin=deployment("web", replicas=3))
        check("successfully rolled out" in rolled(m, "web"))
        first = {p["metadata"]["name"] for p in pods_of(m, "web")}
        equal(len(first), 3)
        row = m.ok("get", "deployment", "web", "-o", "wide").splitlines()
        equal(row[0].split(), ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"])
        equal([w for i, w in enumerate(row[1].split()) if i != 4], ["web", "3/3", "3", "3", "main", "host", "app=web"])
        m.ok("set", "env", "deployment/web", "VERSION=2")
        rolled(m, "web")
        second = {p["metadata"]["name"] for p in pods_of(m, "web")}
        equal((len(second), first & second), (3, set()))
        history = m.ok("rollout", "history", "deployment/web")
        check("1" in history and "2" in history, history)
        m.ok("rollout", "undo", "deployment/web")
        rolled(m, "web")
        equal([p["spec"]["containers"][0].get("env") for p in pods_of(m, "web")], [None] * 3)
        equal(m.object("deployment", "web")["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "3")
        equal(len(m.object("replicasets")["items"]), 2)
        m.ok("rollout", "restart", "deployment/web")
        rolled(m, "web")
        equal(len(m.object("replicasets")["items"]), 3)
        described = m.ok("describe", "deployment", "web")
        check("ScalingReplicaSet" in described and "RollingUpdateStrategy:  25% max unavailable, 25% max surge" in described, described)
        listed = m.ok("get", "all")
        check("deployment.apps/web" in listed and "replicaset.apps/web-" in listed and "pod/web-" in listed, listed)
        m.ok("delete", "deployment", "web", "--timeout=300s")
        wait(lambda: not m.object("pods")["items"] and not m.object("replicasets")["items"], "its parts are gone")


def test_scale_and_pause():
    with Mete("emulated:1xH100") as m:
        m.ok("apply", "-f", "-", stdin=deployment("web", replicas=1))
        rolled(m, "web")
        m.ok("scale", "deployment/web", "--replicas=4")
        rolled(m, "web")
        equal(len(pods_of(m, "web")), 4)
        r = m.kubectl("scale", "deployment/web", "--replicas=2", "--current-replicas=3")
        check(r.code != 0 and "Expected replicas to be 3" in r.err, r)
        m.ok("rollout", "pause", "deployment/web")
        m.ok("set", "env", "deployment/web", "VERSION=2")
        m.ok("scale", "deployment/web", "--replicas=2")
        wait(lambda: len(pods_of(m, "web")) == 2, "it is scaled")
        equal([p["spec"]["containers"][0].get("env") for p in pods_of(m, "web")], [None] * 2)
        equal(condition(m, "web", "Progressing")["reason"], "DeploymentPaused")
        m.ok("rollout", "resume", "deployment/web")
        rolled(m, "web")
        equal([p["spec"]["containers"][0]["env"][0]["value"] for p in pods_of(m, "web")], ["2"] * 2)
        m.ok("scale", "deployment/web", "--replicas=0")
        wait(lambda: not pods_of(m, "web"), "it has no pods")


def test_a_version_that_does_not_start_leaves_the_old_one():
    with Mete("emulated:1xH100") as m:
        m.ok("apply", "-f", "-", stdin=deployment("web", replicas=2))
        rolled(m, "web")
        m.ok("patch", "deployment", "web", "-p", '{"spec":{"progressDeadlineSeconds":2}}')
        m.ok("set", "image", "deployment/web", "main=docker-archive:/does/not/exist")
        r = m.kubectl("rollout", "status", "deployment/web", "--timeout=120s")
        check(r.code != 0 and "exceeded its progress deadline" in r.err, r)
        equal(condition(m, "web", "Progressing")["reason"], "ProgressDeadlineExceeded")
        equal(condition(m, "web", "Available")["status"], "True")
        m.ok("patch", "deployment", "web", "-p", '{"spec":{"progressDeadlineSeconds":600}}')
        m.ok("rollout", "undo", "deployment/web")
        rolled(m, "web")
        equal({p["spec"]["containers"][0]["image"] for p in pods_of(m, "web")}, {"host"})


def test_a_container_that_ends_is_started_again():
    """A service is no batch: its pods restart, with a growing pause, and are not ready meanwhile."""
    with Mete("emulated:1xH100") as m:
        out = os.path.join(m.dir, "out")
        os.mkdir(out)
        os.chmod(out, 0o777)
        m.ok("apply", "-f", "-", stdin=deployment("web", command=f"echo x >>{out}/starts; [ $(wc -l <{out}/starts) -gt 2 ] || exit 0; exec sleep 3600"))
        wait(lambda: os.path.exists(f"{out}/starts") and len(open(f"{out}/starts").read().split()) == 3, "it was started three times")
        rolled(m, "web")
        found = pods_of(m, "web")
        equal([p["status"]["containerStatuses"][0]["restartCount"] for p in found], [2])
        # A probe decides when a new pod counts.
        probe = {"exec": {"command": ["test", "-e", f"{out}/ready"]}, "periodSeconds": 1}
        m.ok("patch", "deployment", "web", "-p", json.dumps({"spec": {"template": {"spec": {"containers": [{"name": "main", "readinessProbe": probe}]}}}}))
        wait(lambda: len(pods_of(m, "web")) == 2 and all(p["status"]["phase"] == "Running" for p in pods_of(m, "web")), "both versions run")
        equal(m.object("deployment", "web")["status"].get("updatedReplicas"), 1)
        open(f"{out}/ready", "w").close()
        rolled(m, "web")
        equal(len(pods_of(m, "web")), 1)


def test_gpus_are_held_by_services():
    with Mete("emulated:2xH100") as m:
        m.ok("apply", "-f", "-", stdin=deployment("model", gpus=1, replicas=3))
        wait(lambda: m.object("deployment", "model")["status"].get("readyReplicas") == 2, "two of three have a gpu")
        devices = [p["metadata"]["annotations"]["mete.dev/devices"] for p in pods_of(m, "model") if p["spec"].get("nodeName")]
        equal(len(set(devices)), 2)
        waiting = [p for p in pods_of(m, "model") if not p["spec"].get("nodeName")]
        equal(len(waiting), 1)
        check("gpu" in m.mete("why", waiting[0]["metadata"]["name"]).out, "why")
        m.ok("scale", "deployment/model", "--replicas=2")
        wait(lambda: all(p["spec"].get("nodeName") for p in pods_of(m, "model")), "the waiting pod went first")
        rolled(m, "model")


def test_the_server_ends_in_the_middle_of_a_rollout():
    with Mete("emulated:1xH100") as m:
        m.ok("apply", "-f", "-", stdin=deployment("web", replicas=6, strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}))
        rolled(m, "web")
        m.ok("set", "env", "deployment/web", "VERSION=2")
        for updated in (1, 3, 5):
            wait(lambda n=updated: m.object("deployment", "web")["status"].get("updatedReplicas", 0) >= n, f"{updated} are new")
            os.kill(m.child("server"), signal.SIGKILL)
            wait(lambda: m.kubectl("get", "--raw", "/readyz").code == 0, "the server is back")
            live = pods_of(m, "web")
            check(5 <= len(live) <= 7, len(live))
        rolled(m, "web")
        equal([p["spec"]["containers"][0]["env"][0]["value"] for p in pods_of(m, "web")], ["2"] * 6)
        equal(len(m.object("replicasets")["items"]), 2)


def test_wrong_manifests_are_refused():
    with Mete("emulated:1xH100") as m:
        def refused(text, *parts):
            r = m.kubectl("create", "-f", "-", stdin=text)
            check(r.code != 0 and all(p in r.err for p in parts), r)

        refused(deployment("a", selector={"matchLabels": {"app": "b"}}), "spec.template.metadata.labels: Invalid value",
                "`selector` does not match template `labels`")
        refused(deployment("a", replicas=-1), "spec.replicas: Invalid value: -1: must be greater than or equal to 0")
        refused(deployment("a", template={"restartPolicy": "Never"}),
                'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"')
        refused(deployment("a", strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}),
                "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0")
        refused(deployment("a", strategy={"rollingUpdate": {"maxSurge": "many"}}), "a valid percent string must be")
        refused(deployment("a", minReadySeconds=600), "must be greater than minReadySeconds")
        m.ok("create", "-f", "-", stdin=deployment("a"))
        labels = {"x": "y"}
        r = m.kubectl("patch", "deployment", "a", "-p",
                      json.dumps({"spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}}))
        check(r.code != 0 and "field is immutable" in r.err, r)


def test_a_hundred_pods_roll():
    with Mete("emulated:1xH100") as m:
        m.ok("apply", "-f", "-", stdin=deployment("many", replicas=100))
        rolled(m, "many")
        m.ok("set", "env", "deployment/many", "VERSION=2")
        rolled(m, "many")
        equal(len(pods_of(m, "many")), 100)
