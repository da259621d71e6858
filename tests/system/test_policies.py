"""NetworkPolicies between pods, in a network namespace of the test (docs/network.md)."""

import json

from harness import check, wait
from network_kit import apply, networked, running, server, sh


def policy(name, selector=None, **spec):
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": name},
            "spec": {"podSelector": {"matchLabels": selector} if selector else {}, **spec}}


def pods(**labels):
    return {"podSelector": {"matchLabels": labels}}


class Pods:
    """Pods with an http server each; `reach` says which of them answer one of them."""

    def __init__(self, m):
        self.m = m
        names = ("db", "web", "stranger", "far")
        apply(m, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {"trust": "yes"}}})
        m.ok("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [self.pod(name) for name in names]}))
        self.address = dict(zip(names[:3], running(m, *names[:3])))
        wait(lambda: m.ok("get", "pod", "far", "-n", "team", "-o", "jsonpath={.status.phase}") == "Running", "the pod of the other namespace")
        self.address["far"] = m.ok("get", "pod", "far", "-n", "team", "-o", "jsonpath={.status.podIP}")

    @staticmethod
    def pod(name):
        made = server(name, {"app": name})
        if name == "far":
            made["metadata"]["namespace"] = "team"
        return made

    def reach(self, name):
        ask = " ".join(f"busybox timeout 1 busybox wget -qO- http://{a}:8080/name &" for a in self.address.values())
        r = self.m.kubectl("exec", "-n", "team" if name == "far" else "default", name, "--", "sh", "-c", ask + " wait")
        return set(r.out.split()) - {name}

    def wait_reach(self, **wanted):
        """web="db far": `web` reaches these and no others."""
        for name, others in wanted.items():
            last = []

            def is_so():
                last[:] = [self.reach(name)]
                return last[0] == set(others.split())

            try:
                wait(is_so, f"{name} reaches {others}")
            except AssertionError:
                check(False, f"{name} reaches {others}", last)


def test_pods_reach_what_policies_allow():
    with networked() as m:
        p = Pods(m)
        p.wait_reach(stranger="db web far")
        apply(m, policy("deny", policyTypes=["Ingress"]))
        p.wait_reach(stranger="far", far="")
        # Policies add up: by labels and a port's name, and by the labels of a namespace.
        apply(m, policy("db", {"app": "db"}, ingress=[{"from": [pods(app="web")], "ports": [{"port": "web"}]},
                                                      {"from": [{"namespaceSelector": {"matchLabels": {"trust": "yes"}}}], "ports": [{"port": 8000, "endPort": 8080}]}]))
        p.wait_reach(web="db far", far="db", stranger="far")
        m.ok("label", "namespace", "team", "trust=no", "--overwrite")
        p.wait_reach(far="")
        m.ok("label", "pod", "stranger", "app=web", "--overwrite")
        p.wait_reach(stranger="db far")
        leaving(m, p)
        addresses(m, p)
        faults_are_named(m)


def leaving(m, p):
    dns = {"to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}, **pods(**{"k8s-app": "kube-dns"})}],
           "ports": [{"protocol": "UDP", "port": 53}]}
    m.ok("delete", "networkpolicy", "--all")
    apply(m, policy("out", {"app": "web"}, policyTypes=["Egress"], egress=[{"to": [pods(app="db")], "ports": [{"port": "web"}]}]))
    ask = "busybox nslookup kubernetes.default.svc.cluster.local"
    p.wait_reach(web="db", db="web stranger far")
    check("10.96.0.1" not in sh(m, "web", f"busybox timeout 1 {ask}").out, "names were not denied")
    apply(m, policy("names", policyTypes=["Egress"], egress=[dns]))
    wait(lambda: "10.96.0.1" in sh(m, "web", ask).out, "names are allowed")
    p.wait_reach(web="db", db="")


def addresses(m, p):
    m.ok("delete", "networkpolicy", "--all")
    block = {"cidr": "10.244.0.0/16", "except": [p.address["web"] + "/32"]}
    apply(m, policy("block", {"app": "db"}, ingress=[{"from": [{"ipBlock": block}]}]))
    p.wait_reach(web="stranger far", far="db web stranger")
    m.ok("delete", "networkpolicy", "--all")
    p.wait_reach(web="db stranger far")


def faults_are_named(m):
    for rule, said in (({"from": [{}]}, "spec.ingress[0].from[0]: Required value: must specify a peer"),
                       ({"from": [{"ipBlock": {"cidr": "10.0.0.0"}}]}, "spec.ingress[0].from[0].ipBlock.cidr: Invalid value: \"10.0.0.0\": must be a valid CIDR value"),
                       ({"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/16"]}}]}, "must be a strict subset of `cidr`"),
                       ({"ports": [{"port": "web", "endPort": 90}]}, "may not be specified when `port` is non-numeric"),
                       ({"ports": [{"port": 80, "endPort": 79}]}, "must be greater than or equal to `port`")):
        r = m.kubectl("create", "-f", "-", stdin=json.dumps(policy("bad", ingress=[rule])))
        check(r.code != 0 and said in r.err, rule, r)
