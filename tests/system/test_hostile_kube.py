"""What hostile or broken clients do with Kubernetes' larger kinds: fields by the megabyte, webhooks in a loop, charts that ask for
more than their user has; and kills and full disks under Deployments, Services and claims.

METE_TEST_SEED replays the choices of a seed."""

import json
import os
import random
import signal

from harness import Mete, check, equal, wait
from hook_kit import Certificates, Hook, patch, rule, webhook
from test_admission import MAPS, config_map, configure, drop
from test_deployments import deployment, pods_of, rolled
from test_disk_full import NO_SPACE, SmallDisk, check_log
from test_persistent import claim, create, ready, stateful, user_of
from test_rbac import ask

SEED = int(os.environ.get("METE_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
WIDES = "/apis/example.com/v1/namespaces/default/wides"
WIDE = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "wides.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "wides", "singular": "wide", "kind": "Wide"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                     "type": "object", "properties": {"spec": {"type": "object", "additionalProperties": {"type": "integer"}}}}}}]}}
APPLY = "application/apply-patch+yaml"
KILLS = 6
LEVELS = 30


def is_served(m):
    status, made = ask(m, "POST", MAPS, config_map("served"))
    return status == 201 and ask(m, "DELETE", f"{MAPS}/served")[0] == 200 and made["metadata"]["name"] == "served"


def fields_by_the_megabyte(m):
    """The managers of an object count to its size, in an apply, an update and a patch; what is refused leaves the object as it was."""
    m.ok("create", "-f", "-", stdin=json.dumps(WIDE))
    m.ok("wait", "--for=condition=Established", "crd/wides.example.com", "--timeout=300s")
    body = {"apiVersion": "example.com/v1", "kind": "Wide", "metadata": {"name": "wide"}, "spec": {f"key-{i:06}": i for i in range(24000)}}
    said = [ask(m, "PATCH", f"{WIDES}/wide?fieldManager=manager-{i}", body, kind=APPLY) for i in range(5)]
    equal([s for s, _ in said][0], 201, str(said[0][1])[:300])
    equal([s for s, _ in said][-1], 413, str(said[-1][1])[:300])  # five managers of 24,000 fields
    check(is_served(m), "the server answers others")
    kept = ask(m, "GET", f"{WIDES}/wide")[1]
    equal(len(kept["metadata"]["managedFields"]), [s for s, _ in said].index(413))
    small = ask(m, "POST", MAPS, config_map("small", {"a": "1"}))[1]
    entry = {**small["metadata"]["managedFields"][0], "fieldsV1": {"f:data": {f"f:key-{i:06}": {} for i in range(60000)}}}
    lie = {**small, "metadata": {**small["metadata"], "managedFields": [entry]}}
    status, told = ask(m, "PUT", f"{MAPS}/small", lie)
    check(status in (200, 413), status, str(told)[:300])
    check(ask(m, "GET", f"{MAPS}/small")[1]["data"] == {"a": "1"}, "the object is as it was")
    deep = {}
    for _ in range(5000):
        deep = {"f:a": deep}
    status, told = ask_deep(m, small, deep)
    check(status in (400, 413, 422), status, str(told)[:300])
    check(is_served(m), "the server answers others")
    equal(ask(m, "DELETE", f"{MAPS}/small")[0], 200)
    m.ok("delete", "crd", "wides.example.com", "--timeout=300s")


def ask_deep(m, small, deep):
    """A tree that is deeper than Python's encoder goes."""
    text = "{}"
    while deep:
        text, deep = f'{{"f:a":{text}}}', deep["f:a"]
    metadata = {**small["metadata"], "managedFields": [{**small["metadata"]["managedFields"][0], "fieldsV1": "DEEP"}]}
    path = os.path.join(m.home, "deep.json")
    with open(path, "w", encoding="ascii") as f:
        f.write(json.dumps({**small, "metadata": metadata}).replace('"DEEP"', text))
    r = m.kubectl("replace", "--raw", f"{MAPS}/small", "-f", path)
    return (200 if r.code == 0 else 400), r.err


def a_webhook_that_asks_for_itself(m, hook):
    """Each question makes a request that is asked about: the chain costs its own requests, others are answered."""
    made = []

    def again(r):
        if len(made) < LEVELS:
            made.append(r["object"]["metadata"]["name"])
            ask(m, "POST", MAPS, config_map(f"loop-{len(made)}", labels={"loop": "yes"}))
        return {"allowed": True}

    hook.answers["/loop"] = again
    configure(m, "Validating", "loop", webhook(hook, "/loop", rule("configmaps", operations=("CREATE",)), timeoutSeconds=2,
                                               objectSelector={"matchLabels": {"loop": "yes"}}))
    status, told = ask(m, "POST", MAPS, config_map("loop", labels={"loop": "yes"}))
    check(status in (201, 500), status, told)
    check(is_served(m), "the server answers others")
    drop(m, "Validating", "loop")
    equal(ask(m, "POST", MAPS, config_map("free", labels={"loop": "yes"}))[0], 201)
    m.ok("delete", "configmaps", "-l", "loop=yes")


def webhooks_that_undo_each_other(m, hook):
    """Two webhooks that want to be asked again after each other's changes are asked twice at most, as in Kubernetes."""
    for word in ("left", "right"):
        hook.answers[f"/{word}"] = lambda r, word=word: patch({"op": "add", "path": "/data/side", "value": word})
    hooks = [webhook(hook, f"/{word}", rule("configmaps"), reinvocationPolicy="IfNeeded",
                     objectSelector={"matchLabels": {"war": "yes"}}) for word in ("left", "right")]
    configure(m, "Mutating", "war", *hooks)
    status, told = ask(m, "POST", MAPS, config_map("war", {"a": "1"}, labels={"war": "yes"}))
    equal(status, 201, told)
    asked = [len(hook.of(f"/{word}")) for word in ("left", "right")]
    check(all(1 <= n <= 2 for n in asked), asked)
    drop(m, "Mutating", "war")
    equal(ask(m, "DELETE", f"{MAPS}/war")[0], 200)


def agent(name, **template):
    made = json.loads(deployment(name, replicas=0, template=template))
    made["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/agent"
    return made


CHART = [
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}},
    {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "agent"}},
    agent("agent"),
]
TOO_MUCH = [
    ({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "agent"},
      "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}, "forbidden"),
    ({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "agent"},
      "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
      "subjects": [{"kind": "ServiceAccount", "name": "agent", "namespace": "default"}]}, "forbidden"),
    ({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "agent"},
      "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
      "subjects": [{"kind": "ServiceAccount", "name": "agent", "namespace": "default"}]}, "forbidden"),
    ({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "as.example.com"},
      "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "as", "singular": "a", "kind": "A"},
               "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}, "forbidden"),
    ({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": "agent"}}, "forbidden"),
    ({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "first"}, "value": 1000000000}, "forbidden"),
    ({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "other"}, "handler": "runc"}, "forbidden"),
    (agent("root", volumes=[{"name": "host", "hostPath": {"path": "/"}}]), "forbidden"),
    (agent("users", hostUsers=True), "forbidden"),
    (agent("pinned", nodeName="other"), "administrators"),
    (agent("first", priorityClassName="system-node-critical"), "administrators"),
]


def a_chart_that_asks_for_more_than_its_user_has(m):
    """The objects within the user's rights are made, each other one is refused by name, and nothing of it is there."""
    m.ok("create", "rolebinding", "tenant", "--clusterrole=edit", "--user=tenant")
    for o in CHART:
        r = m.kubectl("create", "-f", "-", "--as=tenant", stdin=json.dumps(o))
        equal(r.code, 0, r)
    for o, word in TOO_MUCH:
        r = m.kubectl("create", "-f", "-", "--as=tenant", stdin=json.dumps(o))
        check(r.code == 1 and word in r.err.lower(), o["kind"], r)
        r = m.kubectl("get", o["kind"], o["metadata"]["name"])
        check("NotFound" in r.err or "not found" in r.err.lower(), o["kind"], r)


def test_clients_that_ask_too_much():
    certificates = Certificates("127.0.0.1")
    with Mete() as m, Hook(certificates) as hook:
        with m.unharmed():
            fields_by_the_megabyte(m)
            a_chart_that_asks_for_more_than_its_user_has(m)
        a_webhook_that_asks_for_itself(m, hook)
        webhooks_that_undo_each_other(m, hook)


# ---- kills and full disks


SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
           "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}}


def behind(m):
    """The pods behind the Service, by name."""
    slices = m.object("endpointslices", "-l", "kubernetes.io/service-name=web")["items"]
    return sorted(e["targetRef"]["name"] for s in slices for e in s.get("endpoints") or [] if e["conditions"].get("ready"))


def is_back(m):
    return m.kubectl("get", "--raw", "/readyz").code == 0


def settled(m, version):
    """Three pods of this version, all behind the Service, and each claim with its own volume."""
    rolled(m, "web")
    wait(lambda: ready(m, 2), "the set has its pods")
    live = pods_of(m, "web")
    equal([p["spec"]["containers"][0]["env"][0]["value"] for p in live], [version] * 3)
    wait(lambda: behind(m) == sorted(p["metadata"]["name"] for p in pods_of(m, "web")), "the pods are behind the Service")
    claims = m.object("pvc")["items"]
    equal(sorted((c["metadata"]["name"], c["status"]["phase"]) for c in claims), [("data-db-0", "Bound"), ("data-db-1", "Bound")])
    equal(sorted(c["spec"]["volumeName"] for c in claims), sorted(v["metadata"]["name"] for v in m.object("pv")["items"]))


def test_kills_under_deployments_services_and_claims():
    rng = random.Random(SEED)
    print(f"METE_TEST_SEED={SEED}")
    with Mete("none") as m:
        create(m, SERVICE, stateful(2), json.loads(deployment("web", replicas=3)))
        m.ok("set", "env", "deployment/web", "VERSION=0")
        wait(lambda: ready(m, 2), "the set has its pods")
        volumes = {c["metadata"]["name"]: c["spec"]["volumeName"] for c in m.object("pvc")["items"]}
        for i in range(1, KILLS + 1):
            m.ok("set", "env", "deployment/web", f"VERSION={i}")
            m.ok("delete", "pod", f"db-{rng.randrange(2)}", "--wait=false", "--ignore-not-found")
            for role in rng.sample(("server", "node"), rng.randrange(1, 3)):
                pid = m.child(role)
                if pid:
                    os.kill(pid, signal.SIGKILL)
            wait(lambda: is_back(m), "the server is back")
        settled(m, str(KILLS))
        equal({c["metadata"]["name"]: c["spec"]["volumeName"] for c in m.object("pvc")["items"]}, volumes)


def test_a_full_disk_under_deployments_services_and_claims():
    with SmallDisk() as m:
        create(m, SERVICE, claim("data", "1Mi"), user_of("writer", "data", "echo kept > /data/file; exec sleep 3600"),
               json.loads(deployment("web", replicas=2)))
        rolled(m, "web")
        m.wait_phase("writer", "Running")
        wait(lambda: len(behind(m)) == 2, "two pods are behind the Service")
        m.fill()
        for i in range(10000):
            r = m.kubectl("create", "-f", "-", stdin=json.dumps(claim(f"more-{i}", "1Mi")))
            if r.code:
                break
        check(r.code != 0 and NO_SPACE in r.err, r)
        m.ok("scale", "deployment/web", "--replicas=4")  # a change goes on, the new pods wait for room
        check(len(behind(m)) >= 2, behind(m))
        equal(m.ok("exec", "writer", "--", "cat", "/data/file"), "kept\n")
        m.ok("delete", "pod", pods_of(m, "web")[0]["metadata"]["name"], "--wait=false")
        m.free()
        wait(lambda: len(behind(m)) == 4, "four pods are behind the Service, once there is room")
        rolled(m, "web")
        equal(m.ok("exec", "writer", "--", "cat", "/data/file"), "kept\n")
        check_log(m)
