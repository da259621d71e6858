"""Requests that independent clients make, replayed in their shape: watches over WebSocket, timeouts, versions."""

import json
import os
import sys

from door import PODS, Door
from harness import ROOT, Mete, Failure, check, equal, pod, wait

SITE = os.path.join(ROOT, "build", "venv", "lib")


def websocket_client():
    """The module of PyPI's websocket-client, a dependency of the Kubernetes client."""
    for version in sorted(os.listdir(SITE)) if os.path.isdir(SITE) else ():
        sys.path.append(os.path.join(SITE, version, "site-packages"))
    try:
        import websocket
    except ImportError:
        raise Failure("build/venv has no websocket-client: run tools/bootstrap --tests") from None
    return websocket


def test_watches_over_websocket():
    websocket = websocket_client()
    with Mete() as m:
        door = Door(m)
        as_java_opens_it(m, door, websocket)
        a_watch_ends_by_itself(door, websocket)
        a_refusal_is_a_status(door, websocket)


def connect(door, websocket, path, **options):
    host, port = door.address
    s = websocket.WebSocket(sslopt={"context": door.tls})
    s.connect(f"wss://{host}:{port}{path}", timeout=30, **options)
    return s


def as_java_opens_it(m, door, websocket):
    status, pods = door.ask("GET", PODS)
    equal(status, 200)
    version = pods["metadata"]["resourceVersion"]
    s = connect(door, websocket,
                f"{PODS}?allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds=600&watch=true")
    equal(s.getstatus(), 101)
    s.ping()
    status, _ = door.ask("POST", PODS, {"metadata": {"name": "w"}, "spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "host", "command": ["true"]}]}})
    equal(status, 201)
    kinds, phases = [], []
    while "Succeeded" not in phases:
        opcode, text = s.recv_data()
        equal(opcode, websocket.ABNF.OPCODE_TEXT)
        event = json.loads(text)
        kinds.append(event["type"])
        phases.append(event["object"]["status"]["phase"])
    equal(kinds[0], "ADDED")
    equal(phases[0], "Pending")
    s.close()


def a_watch_ends_by_itself(door, websocket):
    s = connect(door, websocket, "/api/v1/namespaces?watch=true&timeoutSeconds=1")
    names = set()
    while True:
        opcode, text = s.recv_data()
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            equal(int.from_bytes(text[:2], "big"), 1000)
            break
        names.add(json.loads(text)["object"]["metadata"]["name"])
    check("default" in names, names)


def a_refusal_is_a_status(door, websocket):
    try:
        connect(door, websocket, "/api/v1/nothings?watch=true")
        check(False, "the watch was opened")
    except websocket.WebSocketBadStatusException as e:
        equal(e.status_code, 404)
        equal(json.loads(e.resp_body)["kind"], "Status")


def test_door_of_clients():
    with Mete() as m:
        door = Door(m)
        one_version_everywhere(m, door)
        every_request_has_a_timeout(m, door)
        kinds_that_are_not_served_are_named(m, door)
        a_node_renews_its_lease(m, door)


def one_version_everywhere(m, door):
    ours = json.loads(m.mete("version", "-o", "json").out)["client"]
    status, version = door.ask("GET", "/version")
    equal(status, 200)
    check(version["gitVersion"].endswith("+mete." + ours), version)
    equal(version["gitVersion"].split(".")[:2], ["v" + version["major"], version["minor"]])
    node = wait(lambda: m.object("nodes")["items"], "the node is there")[0]
    equal(node["status"]["nodeInfo"]["kubeletVersion"], version["gitVersion"])
    status, document = door.ask("GET", "/openapi/v3/api/v1")
    equal(document["info"]["version"], version["gitVersion"])
    check(f"mete {ours}" in m.mete("--version").out)


def every_request_has_a_timeout(m, door):
    within = "--request-timeout=30s"
    m.ok("apply", within, "-f", "-", stdin=pod("timely", "echo in time; exec sleep 1000"))
    m.ok("wait", within, "--for=condition=Ready", "pod/timely", "--timeout=600s")
    wait(lambda: m.ok("logs", within, "timely") == "in time\n", "the pod's line")
    equal(m.ok("exec", within, "timely", "--", "echo", "hello"), "hello\n")
    for words in (["get", "pods"], ["describe", "pod", "timely"], ["api-resources"], ["explain", "pod.spec"], ["version"],
                  ["get", "events"], ["label", "pod", "timely", "a=b"], ["delete", "pod", "timely", "--now"]):
        m.ok(words[0], within, *words[1:])
    status, usage = door.ask("GET", "/apis/mete.dev/v1/usage?timeout=30s")
    equal(status, 200, usage)
    status, refusal = door.ask("GET", PODS + "?timeout=soon")
    equal((status, refusal["reason"]), (400, "BadRequest"))
    check(refusal["message"].startswith("invalid timeout specified in the request URL"), refusal)


ISSUER = """apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: own}
spec: {selfSigned: {}}
"""

DEFINITION = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec:
  group: example.com
  names: {plural: foos, singular: foo, kind: Foo}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""


def kinds_that_are_not_served_are_named(m, door):
    """kubectl and Helm look for definitions of custom resources first."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    status, definitions = door.ask("GET", path)
    equal((status, definitions["kind"], definitions["items"]), (200, "CustomResourceDefinitionList", []))
    check("No resources found" in m.kubectl("get", "crd").err)
    status, events = door.ask("GET", path + "?watch=true&timeoutSeconds=1")
    equal((status, events), (200, b""))
    r = m.kubectl("apply", "-f", "-", stdin=ISSUER)
    check(r.code == 1 and 'no matches for kind "Issuer" in version "cert-manager.io/v1"' in r.err, r)
    equal(door.ask("GET", "/apis/storage.k8s.io/v1/csidrivers")[1]["message"],
          "the server could not find the requested resource: Mete does not serve csidrivers.storage.k8s.io")
    m.ok("apply", "-f", "-", stdin=DEFINITION)
    m.ok("delete", "crd", "foos.example.com")
    equal(door.ask("GET", "/apis/batch/v1beta1/jobs")[1]["message"],
          "the server could not find the requested resource: jobs.batch is served as v1, not as v1beta1")
    equal(door.ask("GET", "/api/v1/componentstatuses")[1]["message"],
          "the server could not find the requested resource: Mete does not serve componentstatuses")


def a_node_renews_its_lease(m, door):
    node = m.object("nodes")["items"][0]["metadata"]
    path = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{node['name']}"
    lease = wait(lambda: (a := door.ask("GET", path))[0] == 200 and a[1], "the lease is there")
    equal(lease["spec"]["holderIdentity"], node["name"])
    equal(lease["metadata"]["ownerReferences"][0]["uid"], node["uid"])
    wait(lambda: door.ask("GET", path)[1]["spec"]["renewTime"] > lease["spec"]["renewTime"], "the lease is renewed")
    out = m.ok("describe", "node", node["name"])
    check("Failed to get lease" not in out and "HolderIdentity:  " + node["name"] in out, out)
    status, _ = door.ask("DELETE", "/api/v1/namespaces/kube-node-lease")
    equal(status, 403)
