"""Helm 3 and 4 with a chart of their own (charts/shop), by a user whose rights in one namespace are objects of RBAC.

Their programs come from Go's module proxy (helm_kit.py)."""

import contextlib
import hashlib
import json
import os

import helm_mete
from harness import ROOT, Mete, check, equal, execute, wait
from helm_kit import HELM, HELM4, build

CHART = os.path.join(ROOT, "tests", "peers", "charts", "shop")
NS = "team-a"
SPACE = f"/api/v1/namespaces/{NS}"
TOYS = f"/apis/shop.example.com/v1/namespaces/{NS}/toys/"
TOKEN = "a" * 43
USERS = 'users:\n- {name: ann, hostUid: 5, tokenSha256: "%s"}\n'
RIGHTS = """
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: ann, namespace: team-a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: toys, namespace: team-a}
rules: [{apiGroups: [shop.example.com], resources: [toys], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: toys, namespace: team-a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: toys}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}]
"""
DEFINER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: definer}
rules: [{apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [get, list, watch, create, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: definer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: definer}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}]
"""


class Helm:
    """One program of Helm, by Ann."""

    def __init__(self, m, program):
        self.m, self.program = m, program
        config = json.loads(m.ok("config", "view", "--raw", "-o", "json"))
        config["users"][0]["user"] = {"token": TOKEN}
        self.config = os.path.join(m.home, "ann")
        with open(self.config, "w", encoding="utf-8") as f:
            json.dump(config, f)

    def run(self, *words, ns=NS):
        return execute([self.program, *words, "--namespace", ns], env={**self.m.env, "KUBECONFIG": self.config}, deadline_s=300)

    def ok(self, *words):
        r = self.run(*words)
        if r.code != 0:
            print(self.m.kubectl("get", "events,pods,jobs,deployments", "-n", NS).out)
        check(r.code == 0, "helm " + " ".join(words), r)
        return r.out

    def json(self, *words):
        return json.loads(self.ok(*words, "-o", "json"))

    def refused(self, said, *words, **options):
        r = self.run(*words, **options)
        for text in said:
            check(r.code != 0 and text in r.err, text, r)


@contextlib.contextmanager
def ann_with(program):
    build(program)
    with Mete("none") as m:
        m.ok("create", "namespace", NS)
        path = os.path.join(m.data, "server", "users.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(USERS % hashlib.sha256(TOKEN.encode()).hexdigest())
        os.chmod(path, 0o644)
        m.ok("apply", "-f", "-", stdin=RIGHTS)
        h = Helm(m, program)
        wait(lambda: m.kubectl("--kubeconfig", h.config, "get", "pods", "-n", NS).code == 0, "users.yaml is read")
        yield m, h


def main():
    for program in (HELM, HELM4):
        with ann_with(program) as (m, h):
            a_chart_beyond_its_users_rights_is_refused(m, h)
            installs(m, h)
            upgrades(m, h)
            a_bad_upgrade_fails(m, h)
            rolls_back(m, h)
            uninstalls(m, h)
    helm_mete.main()


def a_chart_beyond_its_users_rights_is_refused(m, h):
    h.refused(['customresourcedefinitions.apiextensions.k8s.io', 'is forbidden: User "ann" cannot'], "install", "shop", CHART)
    equal(m.object("crd")["items"], [])
    m.ok("apply", "-f", "-", stdin=DEFINER)
    h.refused(['roles.rbac.authorization.k8s.io "role" is forbidden: user "ann"', "attempting to grant RBAC permissions not currently held",
               '{APIGroups:[""], Resources:["nodes"], Verbs:["delete"]}'], "install", "role", CHART, "--set", "greedy.role=true")
    h.refused(["clusterroles.rbac.authorization.k8s.io", 'is forbidden: User "ann" cannot'],
              "install", "cluster", CHART, "--set", "greedy.clusterRole=true")
    h.refused(['is forbidden: User "ann" cannot', 'in the namespace "default"'], "install", "shop", CHART, ns="default")
    equal(m.object("clusterroles", "-l", "app.kubernetes.io/managed-by=Helm")["items"], [])
    for name in ("role", "cluster"):
        h.run("uninstall", name, "--ignore-not-found", "--wait", "--timeout=120s")


def release(h):
    return {k: v for k, v in h.json("list")[0].items() if k != "updated"}


def greetings(m):
    found = m.object("pods", "-n", NS, "-l", "app.kubernetes.io/instance=shop")["items"]
    return [m.ok("logs", "-n", NS, p["metadata"]["name"]) for p in found if not p["metadata"].get("deletionTimestamp")]


def installs(m, h):
    m.ok("delete", "crd", "--all", "--timeout=60s")
    out = h.ok("install", "shop", CHART, "--wait", "--timeout=240s")
    check('shop greets with "hello"; apps/v1: true.' in out, out)
    equal(m.read(f"/apis/apps/v1/namespaces/{NS}/deployments/shop")["status"]["availableReplicas"], 2)
    equal(greetings(m), ["hello\n"] * 2)
    fields = m.read(TOYS + "shop")["metadata"]["managedFields"]
    equal([f["operation"] for f in fields], ["Update" if h.program == HELM else "Apply"])
    equal(m.read(TOYS + "shop")["spec"], {"color": "red", "size": 3})
    equal(m.read(f"/apis/batch/v1/namespaces/{NS}/jobs/shop-prepare")["status"]["succeeded"], 1)
    equal(release(h), {"name": "shop", "namespace": NS, "revision": "1", "status": "deployed", "chart": "shop-0.1.0", "app_version": "1"})
    equal(h.json("status", "shop")["info"]["status"], "deployed")
    kinds = [line for line in h.ok("get", "manifest", "shop").splitlines() if line.startswith("kind: ")]
    equal(sorted(kinds), [f"kind: {k}" for k in ("ConfigMap", "Deployment", "Role", "RoleBinding", "Service", "ServiceAccount", "Toy")])
    out = h.ok("test", "shop", "--logs")
    check("Succeeded" in out and "tested hello" in out, out)
    check("kind: Job" in h.ok("get", "hooks", "shop"))


def upgrades(m, h):
    check("replicas: 7" in h.ok("upgrade", "shop", CHART, "--dry-run=server", "--set", "replicas=7"))
    equal((m.object("deployment", "shop", "-n", NS)["spec"]["replicas"], release(h)["revision"]), (2, "1"))
    h.ok("package", CHART, "--version", "0.2.0", "--app-version", "2", "--destination", m.home)
    h.ok("upgrade", "shop", os.path.join(m.home, "shop-0.2.0.tgz"), "--set", "replicas=3,greeting=howdy", "--wait", "--timeout=240s")
    equal(greetings(m), ["howdy\n"] * 3)
    equal(m.read(TOYS + "shop")["spec"]["color"], "green")
    equal(release(h), {"name": "shop", "namespace": NS, "revision": "2", "status": "deployed", "chart": "shop-0.2.0", "app_version": "2"})
    equal(h.json("get", "values", "shop"), {"replicas": 3, "greeting": "howdy"})
    check("tested howdy" in h.ok("test", "shop", "--logs"))


def a_bad_upgrade_fails(m, h):
    h.refused(['"shop" is invalid: spec.replicas: Invalid value: -1'], "upgrade", "shop", CHART, "--set", "replicas=-1")
    equal([r["status"] for r in h.json("history", "shop")], ["superseded", "deployed", "failed"])
    equal(greetings(m), ["howdy\n"] * 3)


def rolls_back(m, h):
    h.ok("rollback", "shop", "1", "--wait", "--timeout=240s")
    equal(greetings(m), ["hello\n"] * 2)
    equal(m.read(TOYS + "shop")["spec"]["color"], "red")
    equal([(r["revision"], r["status"], r["chart"]) for r in h.json("history", "shop")],
          [(1, "superseded", "shop-0.1.0"), (2, "superseded", "shop-0.2.0"), (3, "failed", "shop-0.1.0"), (4, "deployed", "shop-0.1.0")])


def uninstalls(m, h):
    h.ok("uninstall", "shop", "--wait", "--timeout=120s")
    equal(h.json("list", *(["-a"] if h.program == HELM else [])), [])  # Helm 4 lists all
    for kind in ("deployments", "services", "roles", "rolebindings", "toys"):
        names = [o["metadata"]["name"] for o in m.object(kind, "-n", NS)["items"]]
        check("shop" not in names, kind, names)
    wait(lambda: not greetings(m), "the pods go with their Deployment")
    equal([o["metadata"]["name"] for o in m.object("crd")["items"]], ["toys.shop.example.com"])
