"""Roles and bindings as objects: decisions, escalation, aggregation, and the commands of kubectl that use them."""

import contextlib
import http.client
import json
import os
import random
import socket

from harness import Mete, check, equal, wait

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES = f"{RBAC}/namespaces/default/roles"
BINDINGS = f"{RBAC}/namespaces/default/rolebindings"
CLUSTER_ROLES = f"{RBAC}/clusterroles"
CLUSTER_BINDINGS = f"{RBAC}/clusterrolebindings"
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


def ask(m, method, path, body=None, user=None, groups=(), kind="application/json", token=None):
    """The status and the answer of a request of the administrator, or of whom the administrator impersonates."""
    c = http.client.HTTPConnection("unix", timeout=60)
    with contextlib.closing(c):
        c.sock = socket.socket(socket.AF_UNIX)
        c.sock.settimeout(60)
        c.sock.connect(os.path.join(m.data, "mete.sock"))
        c.putrequest(method, path)
        text = b"" if body is None else json.dumps(body).encode()
        headers = [("Content-Type", kind), ("Content-Length", str(len(text)))]
        headers += [("Impersonate-User", user)] if user else []
        headers += [("Impersonate-Group", g) for g in groups]
        headers += [("Authorization", "Bearer " + token)] if token else []
        for name, value in headers:
            c.putheader(name, value)
        c.endheaders(text)
        r = c.getresponse()
        text = r.read()
        return r.status, json.loads(text) if text[:1] == b"{" else text


def code(m, *words, **more):
    return ask(m, *words, **more)[0]


def make(m, path, body, **more):
    status, made = ask(m, "POST", path, body, **more)
    equal(status, 201, made)
    return made


def role(name, *rules, kind="Role", **more):
    return {"kind": kind, "metadata": {"name": name, **more}, "rules": [dict(zip(("verbs", "apiGroups", "resources", "resourceNames"), r))
                                                                    for r in rules]}


def binding(name, to, *subjects, kind="Role"):
    names = {"u": "User", "g": "Group"}
    made = [{"kind": "ServiceAccount", "name": s[2:].split("/")[1], "namespace": s[2:].split("/")[0]} if s[0] == "s" else
            {"apiGroup": "rbac.authorization.k8s.io", "kind": names[s[0]], "name": s[2:]} for s in subjects]
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": to}
    return {"metadata": {"name": name}, "roleRef": ref, "subjects": made}


def test_roles():
    with Mete() as m:
        rights_come_and_go_at_once(m)
        rules_match_names_subresources_and_wildcards(m)
        cluster_roles_hold_where_they_are_bound(m)
        nobody_grants_what_they_lack(m)
        escalate_and_bind_allow_it(m)
        roles_aggregate(m)
        builtin_roles_are_there(m)
        faults_are_named(m)
        service_accounts_and_impersonation(m)
        an_operator_has_its_own_kind(m)
        reviews_agree_with_requests(m)
        kubectl_makes_and_reconciles_roles(m)


def rights_come_and_go_at_once(m):
    equal(code(m, "GET", MAPS, user="ann"), 403)
    make(m, ROLES, role("reader", (["get", "list", "watch"], [""], ["configmaps"])))
    make(m, BINDINGS, binding("ann-reads", "reader", "u:ann", "g:readers"))
    equal(code(m, "GET", MAPS, user="ann"), 200)
    equal(code(m, "GET", MAPS, user="bob"), 403)
    equal(code(m, "GET", MAPS, user="bob", groups=["readers"]), 200)
    equal(code(m, "GET", "/api/v1/namespaces/kube-system/configmaps", user="ann"), 403)
    equal(code(m, "GET", "/api/v1/configmaps", user="ann"), 403)
    equal(code(m, "POST", MAPS, {"metadata": {"name": "x"}}, user="ann"), 403)
    for _ in range(20):
        ask(m, "PATCH", f"{ROLES}/reader", {"rules": []}, kind="application/merge-patch+json")
        equal(code(m, "GET", MAPS, user="ann"), 403)
        ask(m, "PATCH", f"{ROLES}/reader", {"rules": [{"verbs": ["list"], "apiGroups": [""], "resources": ["*"]}]},
            kind="application/merge-patch+json")
        equal(code(m, "GET", MAPS, user="ann"), 200)
    equal(code(m, "DELETE", f"{BINDINGS}/ann-reads"), 200)
    equal(code(m, "GET", MAPS, user="ann"), 403)
    make(m, BINDINGS, binding("ann-reads", "reader", "u:ann"))
    equal(code(m, "GET", MAPS, user="ann"), 200)
    ask(m, "DELETE", f"{ROLES}/reader")
    equal(code(m, "GET", MAPS, user="ann"), 403)  # a binding without its role


def rules_match_names_subresources_and_wildcards(m):
    make(m, ROLES, role("mixed", (["get", "update"], [""], ["configmaps"], ["one"]), (["get"], [""], ["pods/log", "*/status"]),
                        (["*"], ["coordination.k8s.io"], ["*"])))
    make(m, BINDINGS, binding("mixed", "mixed", "u:max"))
    make(m, MAPS, {"metadata": {"name": "one"}})
    equal(code(m, "GET", f"{MAPS}/one", user="max"), 200)
    equal(code(m, "GET", f"{MAPS}/two", user="max"), 403)
    equal(code(m, "GET", MAPS, user="max"), 403)
    equal(code(m, "GET", f"{PODS}/none/log", user="max"), 404)
    equal(code(m, "GET", f"{PODS}/none/status", user="max"), 404)
    equal(code(m, "GET", f"{PODS}/none", user="max"), 403)
    equal(code(m, "GET", "/apis/coordination.k8s.io/v1/namespaces/default/leases", user="max"), 200)
    equal(code(m, "DELETE", "/apis/coordination.k8s.io/v1/namespaces/default/leases/none", user="max"), 404)


def cluster_roles_hold_where_they_are_bound(m):
    make(m, CLUSTER_ROLES, role("nodes", (["list"], [""], ["nodes", "configmaps"]), kind="ClusterRole"))
    make(m, BINDINGS, binding("nodes", "nodes", "u:eve", kind="ClusterRole"))
    equal((code(m, "GET", "/api/v1/nodes", user="eve"), code(m, "GET", MAPS, user="eve")), (403, 200))
    make(m, CLUSTER_BINDINGS, binding("nodes", "nodes", "u:eve", kind="ClusterRole"))
    equal((code(m, "GET", "/api/v1/nodes", user="eve"), code(m, "GET", "/api/v1/configmaps", user="eve")), (200, 200))


def nobody_grants_what_they_lack(m):
    make(m, ROLES, role("granter", (["*"], ["rbac.authorization.k8s.io"], ["roles", "rolebindings"]),
                        (["get", "list"], [""], ["pods"])))
    # "*" on roles includes escalate and bind: so the verbs, one by one
    ask(m, "PUT", f"{ROLES}/granter", role("granter", (
        ["get", "create", "update", "patch", "delete"], ["rbac.authorization.k8s.io"], ["roles", "rolebindings"]),
        (["get", "list"], [""], ["pods"])))
    make(m, BINDINGS, binding("granter", "granter", "u:gus"))
    make(m, ROLES, role("within", (["get"], [""], ["pods"])), user="gus")
    status, refused = ask(m, "POST", ROLES, role("beyond", (["get", "delete"], [""], ["pods", "secrets"])), user="gus")
    equal((status, refused["reason"]), (403, "Forbidden"))
    equal(refused["message"],
          'roles.rbac.authorization.k8s.io "beyond" is forbidden: user "gus" (groups=["system:authenticated"]) is attempting to '
          'grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}\n'
          '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete"]}')
    wider = role("within", (["*"], ["*"], ["*"]))
    for method, kind in (("PUT", "application/json"), ("PATCH", "application/merge-patch+json")):
        equal(code(m, method, f"{ROLES}/within", wider, user="gus", kind=kind), 403)
    config = {"apiVersion": "rbac.authorization.k8s.io/v1", **wider}
    equal(code(m, "PATCH", f"{ROLES}/within?fieldManager=gus&force=true", config, user="gus", kind="application/apply-patch+yaml"), 403)
    equal(code(m, "PATCH", f"{ROLES}/within", {"metadata": {"labels": {"a": "b"}}}, user="gus", kind="application/merge-patch+json"), 200)
    equal(code(m, "POST", BINDINGS, binding("up", "cluster-admin", "u:gus", kind="ClusterRole"), user="gus"), 403)
    equal(code(m, "POST", BINDINGS, binding("same", "within", "u:joe"), user="gus"), 201)
    equal(code(m, "GET", f"{PODS}/none", user="joe"), 404)
    equal(code(m, "POST", BINDINGS, binding("lost", "no-such-role", "u:joe"), user="gus"), 404)
    many = [str(i) for i in range(100)]
    status, refused = ask(m, "POST", ROLES, role("huge", (many, many, many)), user="gus")
    check(status == 403 and "rights to compare" in refused["message"], refused)


def escalate_and_bind_allow_it(m):
    make(m, CLUSTER_ROLES, role("bosses", (["create", "escalate"], ["rbac.authorization.k8s.io"], ["roles"]),
                                (["create"], ["rbac.authorization.k8s.io"], ["rolebindings"]),
                                (["bind"], ["rbac.authorization.k8s.io"], ["clusterroles"], ["edit"]), kind="ClusterRole"))
    make(m, BINDINGS, binding("bosses", "bosses", "u:hal", kind="ClusterRole"))
    make(m, ROLES, role("anything", (["*"], ["*"], ["*"])), user="hal")
    make(m, BINDINGS, binding("editors", "edit", "u:joe", kind="ClusterRole"), user="hal")
    equal(code(m, "POST", BINDINGS, binding("admins", "admin", "u:joe", kind="ClusterRole"), user="hal"), 403)
    equal(code(m, "POST", MAPS, {"metadata": {"name": "joes"}}, user="joe"), 201)


def roles_aggregate(m):
    sums = role("sums", kind="ClusterRole")
    sums["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {"sum": "yes"}}]}
    make(m, CLUSTER_ROLES, sums)
    make(m, BINDINGS, binding("sums", "sums", "u:ida", kind="ClusterRole"))
    equal(code(m, "GET", PODS, user="ida"), 403)
    make(m, CLUSTER_ROLES, role("part", (["list"], [""], ["pods"]), kind="ClusterRole", labels={"sum": "yes"}))
    equal(code(m, "GET", PODS, user="ida"), 200)
    ask(m, "PATCH", f"{CLUSTER_ROLES}/part", {"metadata": {"labels": {"sum": None}}}, kind="application/merge-patch+json")
    equal(code(m, "GET", PODS, user="ida"), 403)
    make(m, CLUSTER_ROLES, role("viewers", (["list"], [""], ["limitranges", "nodes"]), kind="ClusterRole",
                                labels={"rbac.authorization.k8s.io/aggregate-to-view": "true"}))
    make(m, CLUSTER_BINDINGS, binding("views", "admin", "u:kim", kind="ClusterRole"))
    equal(code(m, "GET", "/api/v1/nodes", user="kim"), 200)  # view is in edit, which is in admin
    equal(code(m, "POST", CLUSTER_ROLES, dict(sums, metadata={"name": "mine"}), user="kim"), 403)


def builtin_roles_are_there(m):
    wait(lambda: code(m, "GET", f"{CLUSTER_ROLES}/mete:reader") == 200, "the roles are there")
    names = {o["metadata"]["name"] for o in ask(m, "GET", CLUSTER_ROLES)[1]["items"]}
    check({"cluster-admin", "admin", "edit", "view", "mete:reader"} <= names, names)
    make(m, BINDINGS, binding("lea", "edit", "u:lea", kind="ClusterRole"))
    equal(code(m, "POST", MAPS, {"metadata": {"name": "leas"}}, user="lea"), 201)
    equal((code(m, "GET", ROLES, user="lea"), code(m, "GET", "/api/v1/namespaces/default/secrets", user="lea")), (403, 200))
    make(m, CLUSTER_BINDINGS, binding("root", "cluster-admin", "u:mia", kind="ClusterRole"))
    equal((code(m, "GET", ROLES, user="mia"), code(m, "DELETE", f"{CLUSTER_ROLES}/none", user="mia")), (200, 404))
    make(m, CLUSTER_ROLES, role("any", (["*"], ["*"], ["*"]), kind="ClusterRole"), user="mia")


def faults_are_named(m):
    for path, body, text in (
            (ROLES, role("bad", ([], [""], ["pods"])), "rules[0].verbs: Required value: verbs must contain at least one value"),
            (ROLES, role("bad", (["get"], [], ["pods"])), "rules[0].apiGroups: Required value: resource rules must supply at least one api group"),
            (ROLES, {"metadata": {"name": "bad"}, "rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]},
             "namespaced rules cannot apply to non-resource URLs"),
            (BINDINGS, {"metadata": {"name": "bad"}}, "roleRef: Required value"),
            (BINDINGS, binding("bad", "view", "u:x", kind="Rule"), 'roleRef.kind: Unsupported value: "Rule"'),
            (CLUSTER_BINDINGS, binding("bad", "view", "u:x", kind="Role"), 'roleRef.kind: Unsupported value: "Role"'),
            (BINDINGS, {"metadata": {"name": "bad"}, "roleRef": {"kind": "Role", "name": "a"},
                        "subjects": [{"kind": "User", "name": "x", "apiGroup": "x"}]}, 'subjects[0].apiGroup: Unsupported value: "x"')):
        status, refused = ask(m, "POST", path, body)
        check(status == 422 and text in refused["message"], text, refused)
    status, refused = ask(m, "PATCH", f"{BINDINGS}/lea", {"roleRef": {"kind": "ClusterRole", "name": "view"}},
                          kind="application/merge-patch+json")
    check(status == 422 and "cannot change roleRef" in refused["message"], refused)
    make(m, ROLES, role("system:with:colons"))


def service_accounts_and_impersonation(m):
    make(m, "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "robot"}})
    token = ask(m, "POST", "/api/v1/namespaces/default/serviceaccounts/robot/token", {"spec": {}})[1]["status"]["token"]
    equal(code(m, "GET", MAPS, token=token), 403)
    make(m, BINDINGS, binding("robots", "view", "s:default/robot", kind="ClusterRole"))
    equal(code(m, "GET", MAPS, token=token), 200)
    equal(code(m, "GET", MAPS, user="ann", token=token), 403)
    make(m, CLUSTER_ROLES, role("actor", (["impersonate"], [""], ["users"], ["lea"]), kind="ClusterRole"))
    make(m, CLUSTER_BINDINGS, binding("actor", "actor", "s:default/robot", kind="ClusterRole"))
    equal(code(m, "GET", "/api/v1/namespaces/default/secrets", user="lea", token=token), 200)
    equal(code(m, "GET", MAPS, user="mia", token=token), 403)
    equal(code(m, "GET", MAPS, user="lea", groups=["system:masters"], token=token), 403)


WIDGETS = {
    "metadata": {"name": "widgets.shop.example"},
    "spec": {"group": "shop.example", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
             "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                           "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]},
}


def an_operator_has_its_own_kind(m):
    """The role of a service account names a kind that a definition added: its objects and their status, and nothing else."""
    make(m, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS)
    path = "/apis/shop.example/v1/namespaces/default/widgets"
    wait(lambda: code(m, "GET", path) == 200, "the kind is served")
    operator = "system:serviceaccount:default:operator"
    widget = {"apiVersion": "shop.example/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}}
    equal(code(m, "POST", path, widget, user=operator), 403)
    make(m, ROLES, role("operator", (["create", "get", "list", "watch"], ["shop.example"], ["widgets"]),
                        (["patch"], ["shop.example"], ["widgets/status"])))
    make(m, BINDINGS, binding("operator", "operator", "s:default/operator"))
    equal(make(m, path, widget, user=operator)["spec"], {"size": 3})
    equal(code(m, "GET", path, user=operator), 200)
    merge = {"user": operator, "kind": "application/merge-patch+json"}
    status, changed = ask(m, "PATCH", f"{path}/w/status", {"status": {"ready": True}}, **merge)
    equal((status, changed["status"]), (200, {"ready": True}))
    equal(code(m, "PATCH", f"{path}/w", {"spec": {"size": 4}}, **merge), 403)
    equal(code(m, "DELETE", f"{path}/w", user=operator), 403)
    equal(code(m, "GET", MAPS, user=operator), 403)
    equal(code(m, "DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.shop.example"), 200)


def reviews_agree_with_requests(m):
    random.seed(7)
    for _ in range(120):
        user = random.choice(["ann", "max", "eve", "gus", "kim", "lea", "mia", "nobody"])
        group, plural = random.choice([("", "configmaps"), ("", "pods"), ("", "secrets"), ("", "nodes"),
                                       ("rbac.authorization.k8s.io", "roles"), ("coordination.k8s.io", "leases")])
        ns = "" if plural == "nodes" else random.choice(["default", "kube-system", ""])
        base = f"/apis/{group}/v1" if group else "/api/v1"
        path = f"{base}/namespaces/{ns}/{plural}" if ns else f"{base}/{plural}"
        spec = {"user": user, "groups": ["system:authenticated"],
                "resourceAttributes": {"verb": "list", "group": group, "resource": plural, "namespace": ns}}
        review = make(m, "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec})
        own = make(m, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                   {"spec": {"resourceAttributes": spec["resourceAttributes"]}}, user=user)
        may = code(m, "GET", path, user=user) == 200
        equal((review["status"]["allowed"], own["status"]["allowed"]), (may, may), user, path)


def kubectl_makes_and_reconciles_roles(m):
    m.ok("create", "role", "pod-reader", "--verb=get,list", "--resource=pods,pods/log")
    m.ok("create", "rolebinding", "pod-reader", "--role=pod-reader", "--user=nat", "--serviceaccount=default:robot")
    m.ok("create", "clusterrole", "paths", "--verb=get,post", "--non-resource-url=/x/*")
    m.ok("create", "clusterrolebinding", "paths", "--clusterrole=paths", "--group=walkers")
    equal(m.ok("auth", "can-i", "list", "pods", "--as=nat").strip(), "yes")
    check(m.kubectl("auth", "can-i", "delete", "pods", "--as=nat").out.startswith("no"))
    equal(m.ok("auth", "can-i", "post", "/x/y", "--as=nat", "--as-group=walkers").strip(), "yes")
    listed = m.ok("auth", "can-i", "--list", "--as=nat")
    check("pods/log" in listed and "[get list]" in listed, listed)
    wide = m.ok("get", "rolebindings", "pod-reader", "-o", "wide")
    check("Role/pod-reader" in wide and "nat" in wide and "default/robot" in wide, wide)
    manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "rbac.authorization.k8s.io/v1", **role("pod-reader", (["watch"], [""], ["pods"]), kind="Role", namespace="default")},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", **{
            **binding("pod-reader", "pod-reader", "u:ole"), "metadata": {"name": "pod-reader", "namespace": "default"}}}]})
    m.ok("auth", "reconcile", "-f", "-", stdin=manifest)
    for user, verb in (("ole", "watch"), ("nat", "watch"), ("ole", "get")):
        equal(m.ok("auth", "can-i", verb, "pods", "--as=" + user).strip(), "yes")
