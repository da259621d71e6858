"""An operator of kopf, unchanged: it follows custom objects, makes children, and writes their status."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

from harness import ROOT, Mete, Skip, check, equal, execute, wait  # noqa: E402

PYTHON = os.environ.get("METE_TEST_KOPF") or os.path.join(ROOT, "build", "venv", "bin", "python")

OPERATOR = """
import kopf, kubernetes

@kopf.on.startup()
def settings(settings, **_):
    settings.posting.enabled = True
    kubernetes.config.load_kube_config()

@kopf.on.create("toys.example.com")
def made(spec, name, namespace, **_):
    child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name + "-child"}, "data": {"color": spec["color"]}}
    kopf.adopt(child)
    kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace, child)
    return {"child": name + "-child"}

@kopf.on.field("toys.example.com", field="spec.color")
def painted(old, new, name, namespace, **_):
    if old is not None:
        kubernetes.client.CoreV1Api().patch_namespaced_config_map(name + "-child", namespace, {"data": {"color": new}})

@kopf.on.delete("toys.example.com")
def gone(name, **_):
    print("GONE", name, flush=True)
"""

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "toys.example.com"},
    "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "toys", "singular": "toy", "kind": "Toy"},
             "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {
                 "openAPIV3Schema": {"type": "object", "properties": {
                     "spec": {"type": "object", "properties": {"color": {"type": "string"}}},
                     "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}}]}}

TOYS = "/apis/example.com/v1/namespaces/default/toys/"
MAPS = "/api/v1/namespaces/default/configmaps/"


def test_kopf():
    if execute([PYTHON, "-c", "import kopf"]).code != 0:
        raise Skip("kopf is not installed: tools/bootstrap --tests")
    with Mete() as m:
        m.ok("apply", "-f", "-", stdin=json.dumps(DEFINITION))
        path = os.path.join(m.home, "operator.py")
        with open(path, "w") as f:
            f.write(OPERATOR)
        m.env["KUBECONFIG"] = os.path.join(m.data, "kubeconfig")
        operator = m.spawn([PYTHON, "-m", "kopf", "run", "--namespace=default", "--standalone", path])
        try:
            follows_a_toy(m)
        finally:
            operator.terminate()
            out, err = operator.communicate()
        check("GONE bear" in out, out, err)


def follows_a_toy(m):
    toy = {"apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": "bear"}, "spec": {"color": "brown"}}
    m.ok("create", "-f", "-", stdin=json.dumps(toy))
    wait(lambda: (m.read(TOYS + "bear").get("status") or {}).get("made"), "the operator to write the status")
    child = m.read(MAPS + "bear-child")
    equal((child["data"]["color"], child["metadata"]["ownerReferences"][0]["kind"]), ("brown", "Toy"))
    m.ok("patch", "toy", "bear", "--type=merge", "-p", '{"spec":{"color":"black"}}')
    wait(lambda: m.read(MAPS + "bear-child")["data"]["color"] == "black", "the operator to paint the child")
    m.ok("delete", "toy", "bear", "--timeout=60s")
    wait(lambda: m.read(MAPS + "bear-child") is None, "the child to go with its owner")
