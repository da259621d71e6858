"""A node lives by its Lease, and writes its object only when it changes."""

import json

from harness import Mete, check, equal, wait

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"


def node_of(m):
    return m.read("/api/v1/nodes")["items"][0]


def is_ready(node):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))


def renewal_after(m, name, last):
    def later():
        lease = m.read(LEASE + name)
        return lease and lease["spec"]["renewTime"] != last and lease["spec"]["renewTime"]

    return wait(later, "the lease is renewed", 30)


def test_an_idle_node_writes_nothing_but_its_lease():
    with Mete("emulated:2xA100") as m:
        name = node_of(m)["metadata"]["name"]
        renewed = renewal_after(m, name, None)
        node = node_of(m)
        check("sample" not in node["metadata"]["annotations"]["mete.dev/gpus"], node["metadata"]["annotations"])
        for _ in range(2):
            renewed = renewal_after(m, name, renewed)
        equal(node_of(m)["metadata"]["resourceVersion"], node["metadata"]["resourceVersion"])
        gpus = json.loads(m.mete("gpus", "-o", "json").out)["items"]
        equal([g["status"]["sample"]["memoryUsedBytes"] is not None for g in gpus], [True, True], gpus)


def test_what_others_do_to_a_node_is_mended():
    with Mete("emulated:2xA100") as m:
        first = node_of(m)
        name = first["metadata"]["name"]
        renewal_after(m, name, None)
        m.ok("label", "node", name, "kubernetes.io/os=plan9", "--overwrite")
        wait(lambda: node_of(m)["metadata"]["labels"]["kubernetes.io/os"] == "linux", "the label is mended", 30)
        m.ok("delete", "node", name)
        wait(lambda: (found := m.read(f"/api/v1/nodes/{name}")) and is_ready(found) and
             found["metadata"]["uid"] != first["metadata"]["uid"], "the node is there again", 30)

        def owner():
            lease = m.read(LEASE + name)
            return lease and lease["metadata"]["ownerReferences"][0]["uid"]

        wait(lambda: owner() == node_of(m)["metadata"]["uid"], "the lease is the new node's", 30)
