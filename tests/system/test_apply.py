"""Server-side apply and metadata.managedFields, by plain requests and by kubectl."""

import contextlib
import http.client
import json
import os
import socket

from harness import Mete, check, equal, wait

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


@contextlib.contextmanager
def running():
    with Mete() as m:
        yield m


def ask(m, method, path, body=None, kind="application/json", agent="test/1.0"):
    """The status and the answer of a request of the administrator."""
    c = http.client.HTTPConnection("unix", timeout=60)
    with contextlib.closing(c):
        c.sock = socket.socket(socket.AF_UNIX)
        c.sock.settimeout(60)
        c.sock.connect(os.path.join(m.data, "mete.sock"))
        text = body if isinstance(body, (str, bytes, type(None))) else json.dumps(body)
        c.request(method, path, text, {"Content-Type": kind, "User-Agent": agent})
        r = c.getresponse()
        return r.status, json.loads(r.read() or b"null")


def apply(m, path, config, manager, more=""):
    return ask(m, "PATCH", f"{path}?fieldManager={manager}{more}", config, "application/apply-patch+yaml")


def config_map(name, data, **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data}


def managers(o):
    """The entries of managedFields without their times, by manager and operation."""
    entries = o["metadata"].get("managedFields", [])
    return {(e["manager"], e["operation"], e.get("subresource", "")): e["fieldsV1"] for e in entries}


def test_applies():
    with running() as m:
        an_apply_creates_and_is_idempotent(m)
        managers_share_an_object(m)
        conflicts_name_fields_and_managers(m)
        what_is_no_longer_applied_goes(m)
        other_writes_take_fields(m)
        lists_merge_by_their_keys(m)
        the_order_of_lists_is_the_configurations(m)
        defaults_belong_to_nobody(m)
        the_status_has_managers_of_its_own(m)
        managers_can_be_reset(m)
        old_managers_are_joined(m)
        bad_applies_are_refused(m)
        a_dry_run_stores_nothing(m)
        megabytes_of_managed_fields_are_bounded(m)
        kubectl_applies_and_diffs(m)
        kubectl_takes_over_what_it_applied_itself(m)


def an_apply_creates_and_is_idempotent(m):
    config = config_map("once", {"a": "1"}, labels={"app": "x"})
    code, made = apply(m, f"{MAPS}/once", config, "alice")
    equal(code, 201, made)
    equal(made["data"], {"a": "1"})
    equal(managers(made), {("alice", "Apply", ""): {"f:data": {"f:a": {}}, "f:metadata": {"f:labels": {"f:app": {}}}}})
    entry = made["metadata"]["managedFields"][0]
    equal((entry["apiVersion"], entry["fieldsType"]), ("v1", "FieldsV1"))
    check("time" in entry, entry)
    code, again = apply(m, f"{MAPS}/once", config, "alice")
    equal(code, 200, again)
    equal(again, made)
    yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: once\n  labels: {app: x}\ndata:\n  a: '1'\n"
    equal(apply(m, f"{MAPS}/once", yaml, "alice"), (200, made))


def managers_share_an_object(m):
    apply(m, f"{MAPS}/both", config_map("both", {"a": "1"}), "alice")
    code, made = apply(m, f"{MAPS}/both", config_map("both", {"b": "2"}), "bob")
    equal((code, made["data"]), (200, {"a": "1", "b": "2"}))
    code, made = apply(m, f"{MAPS}/both", config_map("both", {"a": "1", "b": "2"}), "carol")
    equal(code, 200, made)  # the same values: three owners
    code, made = apply(m, f"{MAPS}/both", config_map("both", {}), "alice")
    equal(made["data"], {"a": "1", "b": "2"})  # carol has it still
    code, made = apply(m, f"{MAPS}/both", config_map("both", {}), "carol")
    equal(made["data"], {"b": "2"})
    equal(managers(made)[("bob", "Apply", "")], {"f:data": {"f:b": {}}})


def conflicts_name_fields_and_managers(m):
    apply(m, f"{MAPS}/fight", config_map("fight", {"a": "1", "b": "1"}), "alice")
    code, refused = apply(m, f"{MAPS}/fight", config_map("fight", {"a": "2"}), "bob")
    equal((code, refused["reason"]), (409, "Conflict"))
    equal(refused["message"], 'Apply failed with 1 conflict: conflict with "alice": .data.a')
    equal(refused["details"]["causes"],
          [{"reason": "FieldManagerConflict", "message": 'conflict with "alice"', "field": ".data.a"}])
    ask(m, "PATCH", f"{MAPS}/fight?fieldManager=editor", {"data": {"b": "2"}}, "application/merge-patch+json")
    code, refused = apply(m, f"{MAPS}/fight", config_map("fight", {"a": "2", "b": "3"}), "bob")
    equal(refused["message"], 'Apply failed with 2 conflicts: conflicts with "alice":\n- .data.a\n'
                              'conflicts with "editor" using v1:\n- .data.b')
    code, made = apply(m, f"{MAPS}/fight", config_map("fight", {"a": "2", "b": "3"}), "bob", "&force=true")
    equal((code, made["data"]), (200, {"a": "2", "b": "3"}))
    equal(managers(made), {("bob", "Apply", ""): {"f:data": {"f:a": {}, "f:b": {}}}})


def what_is_no_longer_applied_goes(m):
    apply(m, f"{MAPS}/less", config_map("less", {"a": "1", "b": "2"}, labels={"x": "1"}, annotations={"n": "1"}), "alice")
    code, made = apply(m, f"{MAPS}/less", config_map("less", {"a": "1"}), "alice")
    equal((code, made["data"]), (200, {"a": "1"}))
    check("labels" not in made["metadata"] and "annotations" not in made["metadata"], made)
    equal(managers(made), {("alice", "Apply", ""): {"f:data": {"f:a": {}}}})


def other_writes_take_fields(m):
    made = ask(m, "POST", f"{MAPS}?fieldManager=maker", config_map("taken", {"a": "1", "b": "1"}, labels={"l": "1"}))[1]
    equal(managers(made), {("maker", "Update", ""): {"f:data": {".": {}, "f:a": {}, "f:b": {}},
                                                     "f:metadata": {"f:labels": {".": {}, "f:l": {}}}}})
    code, patched = ask(m, "PATCH", f"{MAPS}/taken", {"data": {"a": "2"}}, "application/merge-patch+json",
                        agent="curl/8.1 (x)")
    equal(managers(patched)[("curl", "Update", "")], {"f:data": {"f:a": {}}})
    equal(managers(patched)[("maker", "Update", "")]["f:data"], {".": {}, "f:b": {}})
    patched["data"] = {"b": "1"}
    code, put = ask(m, "PUT", f"{MAPS}/taken?fieldManager=putter", patched)
    equal(managers(put), {("maker", "Update", ""): {"f:data": {".": {}, "f:b": {}},
                                                    "f:metadata": {"f:labels": {".": {}, "f:l": {}}}}})
    code, same = ask(m, "PUT", f"{MAPS}/taken?fieldManager=putter", put)
    equal(same["metadata"]["resourceVersion"], put["metadata"]["resourceVersion"])


def a_pod(name, containers, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": containers, "schedulerName": "nobody", **spec}}


def lists_merge_by_their_keys(m):
    ports = [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]
    one = {"name": "a", "image": "host", "command": ["true"], "ports": ports, "env": [{"name": "E", "value": "1"}]}
    code, made = apply(m, f"{PODS}/keys", a_pod("keys", [one]), "alice")
    equal(code, 201, made)
    fields = managers(made)[("alice", "Apply", "")]["f:spec"]["f:containers"]
    equal(list(fields), ['k:{"name":"a"}'])
    fields = fields['k:{"name":"a"}']
    equal(fields["f:ports"], {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
                              'k:{"containerPort":80,"protocol":"UDP"}':
                                  {".": {}, "f:containerPort": {}, "f:protocol": {}}})
    equal(fields["f:env"], {'k:{"name":"E"}': {".": {}, "f:name": {}, "f:value": {}}})
    equal((fields["f:command"], fields["."]), ({}, {}))
    twice = dict(one, ports=[{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}])
    code, refused = apply(m, f"{PODS}/keys", a_pod("keys", [twice]), "alice")
    equal(code, 400, refused)
    check('duplicate entries for key [containerPort=80,protocol="TCP"]' in refused["message"], refused)


def the_order_of_lists_is_the_configurations(m):
    path = f"{MAPS}/order"
    owners = [{"apiVersion": "v1", "kind": "X", "name": n, "uid": n} for n in "abcd"]
    apply(m, path, config_map("order", {}, ownerReferences=[owners[0], owners[2]]), "alice")
    apply(m, path, config_map("order", {}, finalizers=["x.y/b", "x.y/a"]), "bob")
    code, made = apply(m, path, config_map("order", {}, finalizers=["x.y/c", "x.y/a"]), "carol")
    equal(made["metadata"]["finalizers"], ["x.y/b", "x.y/c", "x.y/a"])
    equal(managers(made)[("carol", "Apply", "")]["f:metadata"], {"f:finalizers": {'v:"x.y/a"': {}, 'v:"x.y/c"': {}}})
    equal(managers(made)[("alice", "Apply", "")]["f:metadata"],
          {"f:ownerReferences": {'k:{"uid":"a"}': {}, 'k:{"uid":"c"}': {}}})
    code, made = apply(m, path, config_map("order", {}, finalizers=["x.y/a"]), "bob")
    equal(made["metadata"]["finalizers"], ["x.y/c", "x.y/a"])


def defaults_belong_to_nobody(m):
    container = {"name": "a", "image": "host", "command": ["true"]}
    code, made = apply(m, f"{PODS}/plain", a_pod("plain", [container]), "alice")
    equal(made["spec"]["restartPolicy"], "Always")
    check("f:restartPolicy" not in managers(made)[("alice", "Apply", "")]["f:spec"], made)
    code, posted = ask(m, "POST", f"{PODS}?fieldManager=poster", a_pod("posted", [container]))
    spec = managers(posted)[("poster", "Update", "")]["f:spec"]
    check({"f:restartPolicy", "f:dnsPolicy", "f:schedulerName"} <= set(spec) and "." not in spec["f:containers"], spec)
    check("f:status" not in managers(posted)[("poster", "Update", "")], posted)


def the_status_has_managers_of_its_own(m):
    container = {"name": "a", "image": "host", "command": ["true"]}
    apply(m, f"{PODS}/status", a_pod("status", [container]), "alice")
    condition = {"type": "example.com/ready", "status": "True"}
    config = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "status"},
              "spec": {"activeDeadlineSeconds": 1}, "status": {"conditions": [condition]}}
    code, made = apply(m, f"{PODS}/status/status", config, "gate")
    equal(code, 200, made)
    fields = {"f:status": {"f:conditions": {'k:{"type":"example.com/ready"}': {".": {}, "f:status": {}, "f:type": {}}}}}
    equal(managers(made)[("gate", "Apply", "status")], fields)
    check("activeDeadlineSeconds" not in made["spec"], made["spec"])
    equal(apply(m, f"{PODS}/no-such/status", dict(config, metadata={"name": "no-such"}), "gate")[0], 404)


def managers_can_be_reset(m):
    apply(m, f"{MAPS}/reset", config_map("reset", {"a": "1"}), "alice")
    code, made = ask(m, "PATCH", f"{MAPS}/reset", {"metadata": {"managedFields": [{}]}}, "application/merge-patch+json")
    equal(code, 200, made)
    check("managedFields" not in made["metadata"], made)
    made["data"] = {"a": "2"}
    code, made = ask(m, "PUT", f"{MAPS}/reset", made)
    check("managedFields" not in made["metadata"], made)
    code, refused = apply(m, f"{MAPS}/reset", config_map("reset", {"a": "3"}), "bob")
    check('conflict with "before-first-apply" using v1: .data.a' in refused["message"], refused)
    left = ask(m, "GET", f"{MAPS}/once")[1]
    del left["metadata"]["managedFields"]
    code, kept = ask(m, "PUT", f"{MAPS}/once", left)
    equal(list(managers(kept)), [("alice", "Apply", "")])  # clients that do not know the field do not lose it


def old_managers_are_joined(m):
    ask(m, "POST", f"{MAPS}?fieldManager=m0", config_map("many", {"k0": "0"}))
    for i in range(1, 15):
        code, made = ask(m, "PATCH", f"{MAPS}/many?fieldManager=m{i:02}", {"data": {f"k{i}": str(i)}},
                         "application/merge-patch+json")
    names = [e["manager"] for e in made["metadata"]["managedFields"]]
    equal(len(names), 10, names)
    check("ancient-changes" in names and "m14" in names, names)
    owned = [f for e in made["metadata"]["managedFields"] for f in e["fieldsV1"]["f:data"] if f != "."]
    equal(sorted(owned), sorted(f"f:k{i}" for i in range(15)))


def bad_applies_are_refused(m):
    path = f"{MAPS}/bad"
    good = config_map("bad", {"a": "1"})
    code, r = ask(m, "PATCH", path, good, "application/apply-patch+yaml")
    equal((code, r["message"]),
          (422, 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'))
    for kind in ("application/apply-patch+cbor", "application/apply-patch+json"):
        code, r = ask(m, "PATCH", path + "?fieldManager=x", good, kind)
        equal(code, 415, r)
        check("application/apply-patch+yaml" in r["message"], r)
    code, r = ask(m, "PATCH", path + "?force=true", {"data": {}}, "application/merge-patch+json")
    equal((code, "force: Forbidden: may not be specified for non-apply patch" in r["message"]), (422, True), r)
    cases = [(dict(good, kind="Secret"), "Secret"),
             (dict(good, spec={"x": 1}), ".spec: field not declared in schema"),
             (dict(good, metadata={"name": "bad", "managedFields": []}), "metadata.managedFields must be nil"),
             (dict(good, metadata={"name": "other"}), "other"),
             (dict(good, metadata={}), "name must be provided"),
             (dict(good, data=["x"]), ".data: expected map"),
             ("- a\n- b\n", "want"), ("a: [", "did not find"), ("", "empty")]
    for config, text in cases:
        code, r = apply(m, path, config, "x")
        equal(code, 400, r)
        check(text in r["message"], text, r)
    code, r = apply(m, path, good, "x" * 129)
    equal((code, "Too long" in r["message"]), (422, True), r)
    equal(ask(m, "GET", path)[0], 404)


def a_dry_run_stores_nothing(m):
    code, made = apply(m, f"{MAPS}/dry", config_map("dry", {"a": "1"}), "alice", "&dryRun=All")
    equal((code, made["data"], list(managers(made))), (201, {"a": "1"}, [("alice", "Apply", "")]))
    equal(ask(m, "GET", f"{MAPS}/dry")[0], 404)


def megabytes_of_managed_fields_are_bounded(m):
    fields = {f'k:{{"name":"n{i}"}}': {".": {}, "f:x": {}} for i in range(30000, 0, -1)}
    entry = {"manager": "huge", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:spec": fields}}
    huge = config_map("huge", {"a": "1"}, managedFields=[entry])
    check(len(json.dumps(huge)) > 1000000)
    code, made = ask(m, "POST", MAPS, huge)
    equal(code, 201, str(made)[:300])
    code, made = apply(m, f"{MAPS}/huge", config_map("huge", {"a": "2"}), "alice", "&force=true")
    equal((code, made["data"]), (200, {"a": "2"}))
    code, made = apply(m, f"{MAPS}/huge", config_map("huge", {"a": "2"}), "huge")
    equal(managers(made)[("huge", "Apply", "")], {"f:data": {"f:a": {}}})
    bad = config_map("huge", {"a": "2"}, managedFields=[dict(entry, fieldsV1={"x": {}})])
    code, made = ask(m, "PUT", f"{MAPS}/huge", bad)
    equal(managers(made)[("huge", "Apply", "")], {"f:data": {"f:a": {}}})  # what cannot be read does not count


def kubectl_applies_and_diffs(m):
    manifest = json.dumps(config_map("ctl", {"a": "1"}))
    check("serverside-applied" in m.ok("apply", "--server-side", "-f", "-", stdin=manifest))
    check("serverside-applied" in m.ok("apply", "--server-side", "-f", "-", stdin=manifest))
    check("managedFields" not in m.ok("get", "configmap", "ctl", "-o", "yaml"))
    shown = m.ok("get", "configmap", "ctl", "-o", "yaml", "--show-managed-fields")
    check("manager: kubectl" in shown and "operation: Apply" in shown, shown)
    m.ok("patch", "configmap", "ctl", "-p", '{"data":{"a":"5"}}')
    r = m.kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    check(r.code != 0 and 'conflict with "kubectl-patch" using v1: .data.a' in r.err, r)
    r = m.kubectl("diff", "--server-side", "--force-conflicts", "-f", "-", stdin=manifest)
    check(r.code == 1 and "-  a: \"5\"" in r.out and "+  a: \"1\"" in r.out, r)
    equal(ask(m, "GET", f"{MAPS}/ctl")[1]["data"], {"a": "5"})
    m.ok("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifest)
    equal(m.kubectl("diff", "--server-side", "-f", "-", stdin=manifest).code, 0)


def kubectl_takes_over_what_it_applied_itself(m):
    manifest = config_map("moved", {"a": "1", "b": "1"})
    m.ok("apply", "-f", "-", stdin=json.dumps(manifest))
    manifest["data"] = {"a": "2"}
    m.ok("apply", "--server-side", "-f", "-", stdin=json.dumps(manifest))
    made = ask(m, "GET", f"{MAPS}/moved")[1]
    equal(made["data"], {"a": "2"})
    last = json.loads(made["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"])
    equal(last["data"], {"a": "2"})
    manifest["data"] = {"c": "3"}
    m.ok("apply", "-f", "-", stdin=json.dumps(manifest))  # and back
    equal(ask(m, "GET", f"{MAPS}/moved")[1]["data"], {"c": "3"})


def test_managers_survive_a_restart():
    with running() as m:
        code, made = apply(m, f"{MAPS}/kept", config_map("kept", {"a": "1"}), "alice")
        m.stop()
        m.start()
        equal(wait(lambda: m.read(f"{MAPS}/kept"), "the object is there"), made)
