"""The Kubernetes API: discovery, patches, dry runs, deletions, authorization, evictions, service accounts."""

import json
import re
import os

from harness import Mete, check, equal, pod, wait


def test_door():
    with Mete() as m:
        one_document_is_enough(m)
        json_patch(m)
        a_dry_run_stores_nothing(m)
        owners_go_as_they_are_told(m)
        explain_has_something_to_say(m)
        who_may_what(m)
        an_eviction_asks_the_budget(m)
        accounts_and_tokens(m)
        leases(m)


def one_document_is_enough(m):
    out = m.kubectl("api-resources", "-v=8")
    check(out.code == 0, out)
    check("poddisruptionbudgets" in out.out and "leases" in out.out and "serviceaccounts" in out.out, out.out)
    asked = re.findall(r'GET(?:" url="| )https://.*', out.err)  # as kubectl 1.33 logs a request, and as those before do
    equal(len([a for a in asked if "/api?" in a or "/apis?" in a]), 2, out.err[:3000])
    check(not any("/apis/policy/v1" in a for a in asked), "asked group by group", *asked)


def json_patch(m):
    m.ok("create", "configmap", "patched", "--from-literal=a=1")
    m.ok("patch", "configmap", "patched", "--type=json", "-p",
         '[{"op":"test","path":"/data/a","value":"1"},{"op":"replace","path":"/data/a","value":"2"},'
         '{"op":"add","path":"/data/b","value":"3"}]')
    equal(m.object("configmap", "patched")["data"], {"a": "2", "b": "3"})
    r = m.kubectl("patch", "configmap", "patched", "--type=json", "-p",
                  '[{"op":"add","path":"/data/c","value":"4"},{"op":"test","path":"/data/a","value":"1"}]')
    check(r.code != 0 and "test failed" in r.err, r)
    equal(m.object("configmap", "patched")["data"], {"a": "2", "b": "3"})


def a_dry_run_stores_nothing(m):
    m.ok("apply", "--dry-run=server", "-f", "-", stdin=pod("dry", "true"))
    check(m.kubectl("get", "pod", "dry").code == 1)
    m.ok("patch", "configmap", "patched", "--dry-run=server", "-p", '{"data":{"a":"9"}}')
    m.ok("delete", "configmap", "patched", "--dry-run=server")
    equal(m.object("configmap", "patched")["data"]["a"], "2")
    r = m.kubectl("create", "configmap", "patched", "--dry-run=server", "--from-literal=a=1")
    check(r.code != 0 and "already exists" in r.err, r)


def owned(m, name, owner):
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
         "blockOwnerDeletion": True}]}}
    m.ok("create", "-f", "-", stdin=json.dumps(manifest))


def owners_go_as_they_are_told(m):
    for policy in ("background", "foreground", "orphan"):
        m.ok("create", "configmap", f"owner-{policy}")
        owned(m, f"owned-{policy}", m.object("configmap", f"owner-{policy}"))
        m.ok("delete", "configmap", f"owner-{policy}", f"--cascade={policy}", "--timeout=600s")
        if policy == "orphan":
            wait(lambda: not m.object("configmap", "owned-orphan")["metadata"].get("ownerReferences"), "it is nobody's")
        elif policy == "foreground":
            check(m.kubectl("get", "configmap", "owned-foreground").code == 1, "it goes before its owner")
        else:
            wait(lambda: m.kubectl("get", "configmap", "owned-background").code == 1, "it goes after its owner")


def explain_has_something_to_say(m):
    out = m.ok("explain", "pod.spec.containers.livenessProbe.httpGet")
    check("path" in out and "port" in out, out)
    out = m.ok("explain", "poddisruptionbudget.spec.minAvailable")
    check("must stay" in out, out)
    out = m.ok("explain", "lease.spec")
    check("holderIdentity" in out, out)


def who_may_what(m):
    equal(m.ok("auth", "can-i", "delete", "nodes").strip(), "yes")
    check("admin" in m.ok("auth", "whoami"), "whoami")
    r = m.kubectl("auth", "can-i", "list", "pods", "--as=nobody")
    check(r.code != 0, r)
    m.ok("auth", "can-i", "--list")


def an_eviction_asks_the_budget(m):
    node = m.object("nodes")["items"][0]["metadata"]["name"]
    for i in range(2):
        manifest = json.loads(pod(f"web-{i}", "exec sleep 1000"))
        manifest["metadata"]["labels"] = {"app": "web"}
        m.ok("apply", "-f", "-", stdin=json.dumps(manifest))
    m.ok("wait", "--for=condition=Ready", "pod", "-l", "app=web", "--timeout=600s")
    m.ok("apply", "-f", "-", stdin=json.dumps(
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
         "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}))
    wait(lambda: m.object("pdb", "web").get("status", {}).get("disruptionsAllowed") == 1, "one may go")
    check("ALLOWED DISRUPTIONS" in m.ok("get", "pdb"))
    r = m.kubectl("drain", node, "--force", "--timeout=12s")
    check(r.code != 0 and "Cannot evict pod as it would violate the pod's disruption budget" in r.err, r)
    left = [p["metadata"]["name"] for p in m.object("pods", "-l", "app=web")["items"]]
    equal(len(left), 1, left)
    r = m.mete("nodes")
    check("cordoned" in r.out, r)
    m.ok("delete", "pdb", "web")
    m.ok("drain", node, "--force", "--timeout=600s")
    equal(m.object("pods", "-l", "app=web")["items"], [])
    m.ok("uncordon", node)
    drain_by_mete(m, node)


def drain_by_mete(m, node):
    r = m.mete("drain", node)
    check(r.code == 2 and "--reason" in r.err, r)
    m.ok("apply", "-f", "-", stdin=pod("stays", "exec sleep 1000"))
    m.wait_phase("stays", "Running")
    r = m.mete("drain", node, "--reason", "new fans")
    check(r.code == 0 and "1 pod is on it" in r.err, r)
    equal(m.phase("stays"), "Running")
    m.ok("apply", "-f", "-", stdin=pod("later", "true"))
    wait(lambda: "new fans" in m.mete("why", "later").out, "why tells the reason")
    r = m.mete("drain", node, "--reason", "new fans", "--evict", "--timeout", "60s")
    check(r.code == 0 and "is empty" in r.err, r)
    r = m.mete("drain", node + "/gpu64", "--reason", "x")
    check(r.code == 3 and "has no gpu gpu64" in r.err, r)
    check(m.mete("drain", "nowhere", "--reason", "x").code == 3)
    equal(m.mete("resume", node).code, 0)
    m.wait_phase("later", "Succeeded")


def accounts_and_tokens(m):
    m.ok("create", "namespace", "team-a")
    wait(lambda: m.kubectl("get", "sa", "default", "-n", "team-a").code == 0, "the account default")
    check("BEGIN CERTIFICATE" in m.object("cm", "kube-root-ca.crt", "-n", "team-a")["data"]["ca.crt"])
    m.ok("create", "serviceaccount", "ci", "-n", "team-a")
    token = m.ok("create", "token", "ci", "-n", "team-a").strip()
    equal(token.count("."), 2)
    with open(os.path.join(m.data, "server", "users.yaml"), "w") as f:
        f.write('users:\n- name: "system:serviceaccount:team-a:ci"\n  roles: [{role: edit, namespace: team-a}]\n')
    as_ci = ("--token", token, "--kubeconfig", bare_kubeconfig(m))
    wait(lambda: m.kubectl("get", "pods", "-n", "team-a", *as_ci).code == 0, "users.yaml is read")
    r = m.kubectl("get", "secrets", "-n", "default", *as_ci)
    check(r.code != 0 and "system:serviceaccount:team-a:ci" in r.err, r)
    m.ok("delete", "serviceaccount", "ci", "-n", "team-a")
    r = m.kubectl("get", "pods", "-n", "team-a", *as_ci)
    check(r.code != 0 and ("Unauthorized" in r.err or "logged in" in r.err), r)


def bare_kubeconfig(m):
    """A client of the cluster without the administrator's certificate."""
    config = json.loads(m.ok("config", "view", "--raw", "-o", "json"))
    config["users"] = [{"name": "admin", "user": {}}]
    path = os.path.join(m.home, "bare-kubeconfig")
    with open(path, "w") as f:
        json.dump(config, f)
    return path


def leases(m):
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "leader"},
             "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2026-01-02T03:04:05.678901Z"}}
    m.ok("create", "-f", "-", stdin=json.dumps(lease))
    equal(m.object("lease", "leader")["spec"]["renewTime"], "2026-01-02T03:04:05.678901Z")
    check("HOLDER" in m.ok("get", "leases"))


def test_doctor():
    with Mete() as m:
        r = m.mete("doctor", "-o", "json")
        found = {f["check"]: f["state"] for f in json.loads(r.out)["items"]}
        equal(found["server"], "ok", r)
        equal(found["node"], "ok", r)
        equal(found["gpus"], "ok", r)
        equal(found["container runtime"], "ok", r)
        m.stop()
        r = m.mete("doctor")
        check(r.code == 1 and "mete up starts it" in r.out, r)


def test_a_service_manager_is_told():
    m = Mete()
    import socket
    path = os.path.join(m.dir, "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(path)
        s.settimeout(60)
        m.env["NOTIFY_SOCKET"] = path
        with m:
            equal(s.recv(100), b"READY=1")
