"""Persistent volumes: claims, the class mete.dev/local, volumes of an administrator, StatefulSets with claims."""

import json
import os
import signal

from harness import Mete, check, equal, pod, wait


def claim(name, size="16Mi", modes=("ReadWriteOnce",), **spec):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"accessModes": list(modes), "resources": {"requests": {"storage": size}}, **spec}}


def user_of(name, claim_name, command, **spec):
    """A pod that runs the command with the claim at /data."""
    body = json.loads(pod(name, command))
    body["spec"]["terminationGracePeriodSeconds"] = 0
    body["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim_name}}]
    body["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    body["spec"].update(spec)
    return body


def create(m, *objects):
    m.ok("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))


def phase(m, kind, name):
    ns = "" if kind == "persistentvolumes" else "namespaces/default/"
    found = m.read(f"/api/v1/{ns}{kind}/{name}")
    return found and found["status"]["phase"]


def volume_of(m, name):
    return m.read(f"/api/v1/namespaces/default/persistentvolumeclaims/{name}")["spec"]["volumeName"]


def refused(m, word, *objects):
    for o in objects:
        r = m.kubectl("create", "-f", "-", stdin=json.dumps(o))
        check(r.code != 0 and word in r.err, word, r)


def test_a_claim_outlives_its_pods():
    with Mete("none") as m:
        check("local (default)" in m.ok("get", "sc"), m.ok("get", "sc"))
        create(m, claim("data"))
        wait(lambda: "WaitForFirstConsumer" in m.ok("get", "events"), "the claim waits")
        equal(phase(m, "persistentvolumeclaims", "data"), "Pending")
        create(m, user_of("one", "data", "echo kept > /data/file; ! head -c 32M /dev/zero > /data/more; rm /data/more; sync; test $(ls -A /data) = file"))
        m.wait_phase("one", "Succeeded")
        equal(phase(m, "persistentvolumeclaims", "data"), "Bound")
        volume = volume_of(m, "data")
        check("RWO" in m.ok("get", "pvc", "data") and "default/data" in m.ok("get", "pv", volume), m.ok("get", "pv"))
        os.kill(m.child("server"), signal.SIGKILL)
        os.kill(m.child("node"), signal.SIGKILL)
        wait(lambda: m.kubectl("get", "--raw", "/readyz").code == 0, "the server is back")
        create(m, user_of("two", "data", "test $(cat /data/file) = kept && exec sleep 1000"))
        m.wait_phase("two", "Running")
        equal(volume_of(m, "data"), volume)
        m.ok("delete", "pvc", "data", "--wait=false")
        check("Terminating" in m.ok("get", "pvc", "data"), "the claim is in use")
        create(m, user_of("three", "data", "true"))
        wait(lambda: "is being deleted" in m.mete("why", "three").out, "a new pod waits")
        directory = os.path.join(m.data, "node", "volumes", volume)
        check(os.path.exists(directory), directory)
        m.ok("delete", "pod", "two", "three")
        wait(lambda: not m.read(f"/api/v1/persistentvolumes/{volume}"), "the volume is gone")
        check(not os.path.exists(directory), directory)
        equal(m.object("pvc")["items"], [])
        scratch = user_of("scratch", "none", "echo > /data/file")
        scratch["spec"]["volumes"] = [{"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": claim("x")["spec"]}}}]
        create(m, scratch)
        m.wait_phase("scratch", "Succeeded")
        equal([c["metadata"]["name"] for c in m.object("pvc")["items"]], ["scratch-data"])
        m.ok("delete", "pod", "scratch")
        wait(lambda: not m.object("pvc")["items"], "the claim goes with the pod")


def test_volumes_of_an_administrator():
    with Mete("none") as m:
        path = os.path.join(m.dir, "disk")
        os.mkdir(path)
        volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "disk"},
                  "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce", "ReadWriteMany"], "storageClassName": "",
                           "hostPath": {"path": path}}}
        create(m, volume, claim("many", "1Gi", ["ReadWriteMany"], storageClassName=""), claim("large", "2Gi", storageClassName=""))
        wait(lambda: phase(m, "persistentvolumeclaims", "many") == "Bound", "the claim has the volume")
        create(m, *[user_of(n, "many", f"echo > /data/{n}; exec sleep 1000") for n in ("one", "two")], user_of("late", "large", "true"))
        m.wait_phase("one", "Running")
        m.wait_phase("two", "Running")
        wait(lambda: sorted(os.listdir(path)) == ["one", "two"], "both pods write")
        wait(lambda: "unbound immediate" in m.mete("why", "late").out, "the third waits")
        m.ok("delete", "pod", "--all")
        m.ok("delete", "pvc", "many")
        wait(lambda: phase(m, "persistentvolumes", "disk") == "Released", "the volume is kept")
        equal(sorted(os.listdir(path)), ["one", "two"])
        m.ok("delete", "pv", "disk")
        refused(m, "spec.volumeMode: Forbidden: Block", claim("block", volumeMode="Block"))
        refused(m, "at least 1 access mode is required", claim("none", modes=[]))
        refused(m, "spec.resources[storage]: Invalid value", claim("zero", "0"))
        refused(m, "must specify a volume type", {**volume, "spec": {k: v for k, v in volume["spec"].items() if k != "hostPath"}})


def test_quotas_of_claims():
    with Mete("none") as m:
        m.ok("create", "quota", "disks", "--hard=requests.storage=20Mi,persistentvolumeclaims=2,local.storageclass.storage.k8s.io/requests.storage=18Mi")
        create(m, claim("one"))
        refused(m, "exceeded quota: disks", claim("two"), claim("three", "4Mi"))
        create(m, claim("four", "4Mi", storageClassName=""))
        refused(m, "persistentvolumeclaims=2", claim("five", "1", storageClassName=""))
        equal(m.object("quota", "disks")["status"]["used"],
              {"requests.storage": "20Mi", "persistentvolumeclaims": "2", "local.storageclass.storage.k8s.io/requests.storage": "16Mi"})
        m.ok("delete", "pvc", "--all")
        wait(lambda: m.object("quota", "disks")["status"]["used"]["requests.storage"] == "0", "the quota is free")
        r = m.kubectl("patch", "storageclass", "local", "-p", '{"allowVolumeExpansion":true}')
        check(r.code != 0 and "expansion is not implemented" in r.err, r)


def stateful(replicas, **spec):
    labels = {"app": "db"}
    c = {"name": "main", "image": "host", "volumeMounts": [{"name": "data", "mountPath": "/data"}],
         "command": ["sh", "-c", "echo $HOSTNAME >> /data/starts; exec sleep 3600"],
         "env": [{"name": "HOSTNAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
            "spec": {"replicas": replicas, "serviceName": "db", "selector": {"matchLabels": labels}, **spec,
                     "template": {"metadata": {"labels": labels}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [c]}},
                     "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim("x")["spec"]}]}}


def ready(m, n):
    return m.object("statefulset", "db")["status"].get("readyReplicas", 0) == n


def test_a_stateful_set_with_claims():
    with Mete("none") as m:
        create(m, stateful(2, persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete", "whenScaled": "Delete"}))
        wait(lambda: ready(m, 2), "both pods are ready")
        equal(sorted(c["metadata"]["name"] for c in m.object("pvc")["items"]), ["data-db-0", "data-db-1"])
        volume = volume_of(m, "data-db-0")
        for role in ("node", "server"):
            os.kill(m.child(role), signal.SIGKILL)
        wait(lambda: m.kubectl("get", "--raw", "/readyz").code == 0, "the server is back")
        m.ok("delete", "pod", "db-0")
        wait(lambda: ready(m, 2), "it is back")
        equal(volume_of(m, "data-db-0"), volume)
        equal(m.ok("exec", "db-0", "--", "cat", "/data/starts"), "db-0\ndb-0\n")
        m.ok("scale", "statefulset/db", "--replicas=1")
        wait(lambda: [c["metadata"]["name"] for c in m.object("pvc")["items"]] == ["data-db-0"], "the second claim goes with its pod")
        m.ok("delete", "statefulset", "db")
        wait(lambda: not m.object("pvc")["items"] and not m.object("pv")["items"], "the claims go with the set")
        m.ok("create", "-f", "-", stdin=json.dumps(stateful(1)))
        wait(lambda: ready(m, 1), "a set that keeps its claims")
        m.ok("delete", "statefulset", "db")
        wait(lambda: not m.object("pods")["items"], "it is gone")
        equal([c["metadata"]["name"] for c in m.object("pvc")["items"]], ["data-db-0"])
