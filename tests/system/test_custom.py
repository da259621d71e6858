"""Custom resources: definitions that people install, and objects of theirs, by kubectl and by the API."""

import json

from harness import KUBECTL, Mete, check, equal, wait

WIDGETS = "/apis/shop.example.com/v1/namespaces/default/widgets"

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.shop.example.com
spec:
  group: shop.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wg], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}
    selectableFields: [{jsonPath: .spec.color}]
    additionalPrinterColumns:
    - {name: Color, type: string, jsonPath: .spec.color}
    - {name: Replicas, type: integer, jsonPath: .spec.replicas}
    - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}
    - {name: Last, type: string, priority: 1, jsonPath: '.spec.parts[-1:].id'}
    - {name: Second, type: string, priority: 1, jsonPath: '.spec.parts[1:9:2].id'}
    - {name: Heavy, type: number, priority: 1, jsonPath: '.spec.parts[::2].weight'}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        description: A widget of the shop.
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [color]
            x-kubernetes-validations:
            - {rule: '!has(self.least) || self.least <= self.replicas', fieldPath: .least,
               messageExpression: '"at least " + string(self.least) + ", not " + string(self.replicas)'}
            properties:
              color: {type: string, enum: [red, green], description: What it looks like.}
              replicas: {type: integer, minimum: 0, maximum: 10, default: 1}
              least: {type: integer}
              serial: {type: string, x-kubernetes-validations: [{rule: self == oldSelf, message: a serial stays}]}
              name: {type: string, pattern: '^[a-z]+$', maxLength: 8}
              port: {x-kubernetes-int-or-string: true}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [id]
                items:
                  type: object
                  required: [id]
                  properties: {id: {type: string}, weight: {type: number}}
              anything: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            properties:
              replicas: {type: integer}
              selector: {type: string}
              conditions:
                type: array
                items:
                  type: object
                  properties: {type: {type: string}, status: {type: string}}
"""


def widget(object_name, **spec):
    return json.dumps({"apiVersion": "shop.example.com/v1", "kind": "Widget", "metadata": {"name": object_name},
                       "spec": {"color": "red", **spec}})


def install(m):
    m.ok("apply", "-f", "-", stdin=DEFINITION)
    m.ok("wait", "--for=condition=Established", "crd/widgets.shop.example.com", "--timeout=60s")


def test_custom_objects_by_kubectl():
    with Mete() as m:
        install(m)
        objects_are_checked_shaped_and_shown(m)
        discovery_and_explain_know_the_kind(m)
        served_versions_are_api_services(m)
        status_and_scale_are_subresources(m)
        watches_and_selectors_follow(m)
        applies_on_the_server_merge_by_the_schema(m)
        quotas_count_them(m)
        owners_take_their_dependents_with_them(m)
        a_restart_serves_them_again(m)
        a_definition_takes_its_objects_with_it(m)


def objects_are_checked_shaped_and_shown(m):
    check("created" in m.ok("apply", "-f", "-", stdin=widget("one", parts=[{"id": "a", "weight": 1.5}])))
    spec = m.object("widget", "one")["spec"]
    equal(spec, {"color": "red", "replicas": 1, "parts": [{"id": "a", "weight": 1.5}]})
    check("unchanged" in m.ok("apply", "-f", "-", stdin=widget("one", parts=[{"id": "a", "weight": 1.5}])))
    check("configured" in m.ok("apply", "-f", "-", stdin=widget("one", replicas=2)))
    head, row = m.ok("get", "wg").splitlines()
    equal(head.split(), ["NAME", "COLOR", "REPLICAS", "READY", "AGE"])
    equal(row.split()[:3], ["one", "red", "2"])
    check("Widget" in m.ok("describe", "widget", "one"))
    columns_show_parts_of_lists(m)
    r = m.kubectl("apply", "-f", "-", stdin=widget("two", colour="blue"))
    check(r.code == 1 and 'unknown field "spec.colour"' in r.err, r)
    refused = m.kubectl("apply", "-f", "-", stdin=widget("two", color="blue", replicas=11, name="LONG",
                                                         parts=[{"id": "a"}, {"id": "a"}]))
    for words in ('spec.color: Unsupported value: "blue": supported values: "red", "green"',
                  "spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10",
                  "spec.name: Invalid value: \"LONG\": spec.name in body should match '^[a-z]+$'",
                  'spec.parts[1]: Duplicate value: {"id":"a"}'):
        check(words in refused.err, words, refused)
    r = m.kubectl("apply", "-f", "-", stdin=widget("two", replicas="many"))
    check('spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"' in r.err, r)
    r = m.kubectl("apply", "-f", "-", stdin=widget("two", least=3))
    check("spec.least: Invalid value: at least 3, not 1" in r.err, r)
    m.ok("apply", "-f", "-", stdin=widget("two", serial="x1"))
    r = m.kubectl("patch", "widget", "two", "--type=merge", "-p", '{"spec":{"serial":"x2"}}')
    check('spec.serial: Invalid value: "x2": a serial stays' in r.err, r)
    m.ok("delete", "widget", "two")
    m.ok("apply", "-f", "-", stdin=widget("two", port="http", anything={"deep": {"er": [1, {"a": 2}]}}))
    equal(m.object("widget", "two")["spec"]["anything"], {"deep": {"er": [1, {"a": 2}]}})
    m.ok("patch", "widget", "two", "--type=merge", "-p", '{"spec":{"port":80}}')
    equal(m.object("widget", "two")["spec"]["port"], 80)
    m.ok("patch", "widget", "two", "--type=json", "-p", '[{"op":"remove","path":"/spec/port"}]')
    r = m.kubectl("patch", "widget", "two", "--type=strategic", "-p", "{}")
    check(r.code == 1, r)


def columns_show_parts_of_lists(m):
    """As at a kube-apiserver: the first value of a slice, and none where a bound is outside of the list."""
    for name, parts, want in (("of-one", "a", ["a", None, 0]), ("of-nine", "abcdefghi", ["i", "b", 0]), ("of-none", "", [None] * 3)):
        m.ok("apply", "-f", "-", stdin=widget(name, parts=[{"id": p, "weight": i} for i, p in enumerate(parts)]))
        table = m.read(f"/apis/shop.example.com/v1/namespaces/default/widgets/{name}", "application/json;as=Table;v=v1;g=meta.k8s.io")
        equal(table["rows"][0]["cells"][4:7], want, name)
        m.ok("delete", "widget", name)


def discovery_and_explain_know_the_kind(m):
    check("widgets" in m.ok("api-resources", "--api-group=shop.example.com"))
    check("widget.shop.example.com/one" in m.ok("get", "all", "-o", "name"))
    found = m.read("/openapi/v2")["definitions"]["com.example.shop.v1.Widget"]
    equal((found["properties"]["spec"]["required"], found["x-kubernetes-group-version-kind"][0]["kind"]), (["color"], "Widget"))
    out = m.ok("explain", "widget.spec.color")
    check("What it looks like." in out and "red" in out, out)


def served_versions_are_api_services(m):
    rows = [line.split() for line in m.ok("get", "apiservices", "--no-headers").splitlines()]
    equal([r[0] for r in rows], sorted(r[0] for r in rows))
    for name in ("v1.", "v1.apps", "v1.shop.example.com"):
        check([name, "Local", "True", "<unknown>"] in rows, name, rows)
    own, custom = (m.object("apiservice", name) for name in ("v1.apps", "v1.shop.example.com"))
    equal([o["metadata"]["labels"]["kube-aggregator.kubernetes.io/automanaged"] for o in (own, custom)], ["onstart", "true"])
    equal(custom["spec"], {"group": "shop.example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 100})
    check(own["spec"]["groupPriorityMinimum"] > 1000 and "service" not in own["spec"], own)
    other = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.other.example.com"},
             "spec": {"group": "other.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
                      "service": {"namespace": "default", "name": "other"}}}
    r = m.kubectl("create", "-f", "-", stdin=json.dumps(other))
    check(r.code != 0 and "does not allow this method" in r.err, r)


def status_and_scale_are_subresources(m):
    m.ok("patch", "widget", "one", "--subresource=status", "--type=merge", "-p",
         '{"status":{"replicas":2,"selector":"app=one","conditions":[{"type":"Ready","status":"True"}]}}')
    equal(m.ok("get", "wg", "one", "--no-headers").split()[3], "True")
    m.ok("patch", "widget", "one", "--type=merge", "-p", '{"status":{"replicas":7}}')
    equal(m.object("widget", "one")["status"]["replicas"], 2)
    generation = m.object("widget", "one")["metadata"]["generation"]
    m.ok("scale", "widget/one", "--replicas=5")
    found = m.object("widget", "one")
    equal((found["spec"]["replicas"], found["metadata"]["generation"]), (5, generation + 1))
    scale = m.read(WIDGETS + "/one/scale")
    equal((scale["kind"], scale["apiVersion"], scale["spec"], scale["status"]),
          ("Scale", "autoscaling/v1", {"replicas": 5}, {"replicas": 2, "selector": "app=one"}))
    r = m.kubectl("scale", "widget/one", "--replicas=50")
    check("spec.replicas" in r.err and "should be less than or equal to 10" in r.err, r)


def watches_and_selectors_follow(m):
    follow = m.spawn([KUBECTL, "get", "widgets", "-w", "--no-headers"])
    check(follow.stdout.readline().startswith("one"))
    check(follow.stdout.readline().startswith("two"))
    m.ok("patch", "widget", "two", "--type=merge", "-p", '{"spec":{"color":"green"}}')
    equal(follow.stdout.readline().split()[:2], ["two", "green"])
    follow.terminate()
    follow.communicate()
    equal(m.ok("get", "widgets", "--field-selector=spec.color=green", "-o", "name"), "widget.shop.example.com/two\n")


def applies_on_the_server_merge_by_the_schema(m):
    """Two managers own items of a list map, each its own."""
    for manager, part in (("left", "l"), ("right", "r")):
        m.ok("apply", "--server-side", "--field-manager", manager, "-f", "-", stdin=json.dumps({
            "apiVersion": "shop.example.com/v1", "kind": "Widget", "metadata": {"name": "shared"},
            "spec": {"color": "red", "parts": [{"id": part, "weight": 1}]}}))
    equal([p["id"] for p in m.object("widget", "shared")["spec"]["parts"]], ["l", "r"])
    m.ok("apply", "--server-side", "--field-manager", "left", "-f", "-", stdin=widget("shared"))
    equal([p["id"] for p in m.object("widget", "shared")["spec"]["parts"]], ["r"])
    r = m.kubectl("apply", "--server-side", "--field-manager", "right", "-f", "-", stdin=widget("shared", color="green"))
    check(r.code == 1 and 'conflict with "left": .spec.color' in r.err, r)
    m.ok("delete", "widget", "shared")


def quotas_count_them(m):
    used = len(m.object("widgets")["items"])
    m.ok("create", "quota", "few", f"--hard=count/widgets.shop.example.com={used}")
    r = m.kubectl("create", "-f", "-", stdin=widget("more"))
    check(r.code == 1 and "exceeded quota: few" in r.err, r)
    m.ok("delete", "quota", "few")


def owners_take_their_dependents_with_them(m):
    uid = m.object("widget", "two")["metadata"]["uid"]
    owner = {"apiVersion": "shop.example.com/v1", "kind": "Widget", "name": "two", "uid": uid}
    m.ok("apply", "-f", "-", stdin=json.dumps({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-two", "ownerReferences": [owner]}}))
    m.ok("delete", "widget", "two")
    wait(lambda: not m.read("/api/v1/namespaces/default/configmaps/of-two"), "the dependent to go")


def a_restart_serves_them_again(m):
    m.stop()
    m.start()
    equal(m.ok("get", "widgets", "-o", "name"), "widget.shop.example.com/one\n")


def a_definition_takes_its_objects_with_it(m):
    m.ok("delete", "crd", "widgets.shop.example.com", "--timeout=60s")
    check(m.read(WIDGETS) is None)
    r = m.kubectl("get", "widgets")
    check(r.code == 1 and "widgets" in r.err, r)
    install(m)
    equal(m.ok("get", "widgets", "-o", "name"), "")


HOSTILE = {
    "nested rules": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": [
        {"rule": "self.all(a, self.all(b, self.all(c, self.all(d, a + b + c + d >= 0))))"}]},
    "patterns": {"type": "array", "items": {"type": "string", "pattern": "^(([a-z0-9]+)*[a-z0-9]+)+$"}},
}


def test_hostile_definitions():
    """What a definition makes costly is refused, and the server answers others meanwhile."""
    with Mete() as m:
        deep = {"type": "object"}
        for _ in range(60):
            deep = {"type": "object", "properties": {"a": deep}}
        r = m.kubectl("create", "-f", "-", stdin=definition("deeps", deep))
        check(r.code == 0 or "deeper than" in r.err or "depth" in r.err, r)
        many = {"type": "object", "properties": {"p": {"type": "string", "pattern": "((a{1000}){1000}){1000}"}}}
        r = m.kubectl("create", "-f", "-", stdin=definition("manies", many))
        check(r.code == 1 and "expression too large" in r.err, r)
        r = m.kubectl("create", "-f", "-", stdin=definition("calls", {
            "type": "object", "x-kubernetes-validations": [{"rule": "self.spec.frobnicate()"}]}))
        check('the method "frobnicate" is not known here' in r.err, r)
        for name, schema in HOSTILE.items():
            plural = name.replace(" ", "")
            m.ok("create", "-f", "-", stdin=definition(plural, {"type": "object", "properties": {"list": schema}}))
            wait(lambda: m.read(f"/apis/hostile.example.com/v1/{plural}"), "the kind")
            items = [7] * 300 if name == "nested rules" else ["a" * 5000 + "!"] * 50
            r = m.kubectl("create", "-f", "-", stdin=json.dumps({
                "apiVersion": "hostile.example.com/v1", "kind": plural.capitalize(), "metadata": {"name": "x"}, "list": items}))
            check(r.code == 1 and ("cost exceeds limit" in r.err or "should match" in r.err or "too large" in r.err), r)


def definition(plural, schema):
    names = {"plural": plural, "singular": plural, "kind": plural.capitalize()}
    return json.dumps({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": plural + ".hostile.example.com"},
        "spec": {"group": "hostile.example.com", "scope": "Cluster", "names": names, "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}})


def versions(stored, more=None, served=("v1", "v1beta1")):
    spec = {"type": "object", "properties": {"size": {"type": "integer"}, **(more or {})}}
    return json.dumps({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "boxes.old.example.com"},
        "spec": {"group": "old.example.com", "scope": "Namespaced", "names": {"plural": "boxes", "singular": "box", "kind": "Box"},
                 "versions": [{"name": v, "served": v in served, "storage": v == stored, "deprecated": v == "v1beta1",
                               "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}
                              for v in ("v1", "v1beta1")]}})


def test_versions():
    """Objects are read and written in each served version, whichever is stored; defaults of today reach objects of yesterday."""
    with Mete() as m:
        m.ok("apply", "-f", "-", stdin=versions("v1beta1"))
        m.ok("wait", "--for=condition=Established", "crd/boxes.old.example.com", "--timeout=60s")
        box = {"apiVersion": "old.example.com/v1beta1", "kind": "Box", "metadata": {"name": "a"}, "spec": {"size": 1}}
        r = m.kubectl("create", "-f", "-", stdin=json.dumps(box))
        check(r.code == 0 and "old.example.com/v1beta1 Box is deprecated" in r.err, r)
        place = "/apis/old.example.com/{}/namespaces/default/boxes/a".format
        equal([m.read(place(v))["apiVersion"] for v in ("v1", "v1beta1")], ["old.example.com/v1", "old.example.com/v1beta1"])
        equal(json.loads(m.ok("get", "boxes", "-o", "json"))["items"][0]["apiVersion"], "old.example.com/v1")
        applies_in_any_version(m, place)
        m.ok("apply", "-f", "-", stdin=versions("v1", {"color": {"type": "string", "default": "red"}}))
        wait(lambda: m.read(place("v1"))["spec"] == {"size": 1, "color": "red"}, "the default of today")
        equal(m.object("crd", "boxes.old.example.com")["status"]["storedVersions"], ["v1beta1", "v1"])
        r = m.kubectl("apply", "-f", "-", stdin=versions("v1", served=("v1",)).replace('"v1beta1"', '"v1alpha1"'))
        check("status.storedVersions[0]" in r.err and "missing from spec.versions" in r.err, r)
        follow = m.spawn([KUBECTL, "get", "--raw", place("v1beta1")[:-2] + "?watch=true&resourceVersion=0"])
        check("ADDED" in follow.stdout.readline())
        m.ok("apply", "-f", "-", stdin=versions("v1", {"color": {"type": "string"}}, served=("v1",)))
        equal(follow.wait(60), 0)  # the watch ends with its version
        follow.communicate()
        check(m.read(place("v1beta1")) is None)
        m.ok("patch", "boxes.v1.old.example.com", "a", "--type=merge", "-p", '{"spec":{"size":2}}')
        equal(m.read(place("v1"))["spec"]["size"], 2)


def applies_in_any_version(m, place):
    """Server-side applies in the version that is stored and in the other one are of one object and its managers."""
    def apply(version, manager, spec, *words):
        box = {"apiVersion": f"old.example.com/{version}", "kind": "Box", "metadata": {"name": "b"}, "spec": spec}
        return m.kubectl("apply", "--server-side", f"--field-manager={manager}", *words, "-f", "-", stdin=json.dumps(box))

    for version in ("v1", "v1beta1", "v1"):
        r = apply(version, "one", {"size": 1})
        check(r.code == 0, r)
    r = apply("v1", "two", {"size": 2})
    check(r.code != 0 and 'conflict with "one"' in r.err and ".spec.size" in r.err, r)
    check(apply("v1", "two", {"size": 2}, "--force-conflicts").code == 0)
    equal([m.read(place(v)[:-1] + "b")["spec"] for v in ("v1", "v1beta1")], [{"size": 2}] * 2)
    equal([e["manager"] for e in m.read(place("v1")[:-1] + "b")["metadata"]["managedFields"] if e["operation"] == "Apply"], ["two"])
    r = apply("v1", "two", {"weight": 2})
    check(r.code != 0 and "field not declared in schema" in r.err, r)
    m.ok("delete", "box", "b")


def test_names_are_taken_once():
    with Mete() as m:
        one = {"type": "object"}
        m.ok("create", "-f", "-", stdin=definition("firsts", one))
        second = json.loads(definition("seconds", one))
        second["spec"]["names"]["kind"] = "Firsts"
        m.ok("create", "-f", "-", stdin=json.dumps(second))
        found = m.object("crd", "seconds.hostile.example.com")["status"]
        equal({c["type"]: c["status"] for c in found["conditions"]}, {"NamesAccepted": "False", "Established": "False"})
        check('"FirstsList" is already in use' in json.dumps(found).replace('\\', ""), found)
        check(m.read("/apis/hostile.example.com/v1/seconds") is None)
        m.ok("delete", "crd", "firsts.hostile.example.com")
        wait(lambda: m.read("/apis/hostile.example.com/v1/seconds"), "the second to take the name that is free")
