"""Services, their endpoints and names (docs/network.md)."""

import contextlib
import json
import os
import socket
import ssl
import urllib.request

from harness import Mete, check, equal, wait
from network_kit import ADDRESS, apply, networked, running, server, sh, wait_sh


def service(name, selector=None, ports=({"port": 80, "targetPort": "web"},), **spec):
    spec = {"ports": list(ports), **({"selector": selector} if selector else {}), **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def addresses(m, name, ns="default"):
    slices = m.read(f"/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices?labelSelector=kubernetes.io/service-name%3D{name}")
    return sorted(a for s in slices["items"] for e in s.get("endpoints", []) if e["conditions"]["ready"] for a in e["addresses"])


def test_services_of_pods_on_the_machines_network():
    """The kinds, their rules and their endpoints do not need the pod network."""
    with Mete("none") as m:
        m.ok("apply", "-f", "-", stdin=json.dumps(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "labels": {"app": "x"}},
             "spec": {"terminationGracePeriodSeconds": 0,
                      "containers": [{"name": "c", "image": "host", "command": ["sleep", "1000"], "ports": [{"containerPort": 8080, "name": "web"}]}]}}))
        m.wait_phase("one", "Running")
        m.ok("expose", "pod", "one", "--port=80", "--target-port=web", "--type=NodePort")
        s = m.object("service", "one")
        check(s["spec"]["clusterIP"].startswith("10.96.") and 30000 <= s["spec"]["ports"][0]["nodePort"] <= 32767, s)
        equal(s["spec"]["clusterIPs"], [s["spec"]["clusterIP"]])
        ip = m.object("pod", "one")["status"]["podIP"]
        if not ip.startswith("127."):
            wait(lambda: addresses(m, "one") == [ip], "the pod is an endpoint")
            equal(m.object("endpoints", "one")["subsets"][0]["ports"], [{"port": 8080, "protocol": "TCP"}])
            check(f"{ip}:8080" in m.ok("describe", "service", "one"))
        row = m.ok("get", "services", "one").splitlines()[1].split()
        equal(row[:3], ["one", "NodePort", s["spec"]["clusterIP"]])
        addresses_are_given_once(m, s)
        faults_are_named(m, s)
        m.ok("delete", "service", "one")
        wait(lambda: not m.object("endpointslices")["items"] and not m.object("endpoints")["items"], "endpoints go with their service")


def addresses_are_given_once(m, s):
    taken = s["spec"]["clusterIP"]
    r = m.kubectl("create", "-f", "-", stdin=json.dumps(service("two", {"app": "x"}, clusterIP=taken)))
    check(r.code != 0 and "provided IP is already allocated" in r.err, r)
    r = m.kubectl("patch", "service", "one", "-p", '{"spec":{"clusterIP":"10.96.7.7","clusterIPs":["10.96.7.7"]}}')
    check(r.code != 0 and "may not change once set" in r.err, r)
    m.ok("patch", "service", "one", "-p", '{"spec":{"type":"ClusterIP"}}')
    equal("nodePort" in m.object("service", "one")["spec"]["ports"][0], False)
    equal(m.object("service", "one")["spec"]["clusterIP"], taken)


def faults_are_named(m, s):
    for fault, said in (({"ports": [{"port": 80}, {"port": 81}]}, "spec.ports[0].name: Required value"),
                        ({"ports": []}, "spec.ports: Required value"),
                        ({"clusterIP": "1.2.3.4"}, "is not in the valid range"),
                        ({"externalIPs": ["1.2.3.4"]}, "spec.externalIPs: Forbidden"),
                        ({"type": "ExternalName"}, "spec.externalName: Required value"),
                        ({"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]}, "not in the valid range")):
        bad = service("bad", {"app": "x"})
        bad["spec"].update(fault)
        r = m.kubectl("create", "-f", "-", stdin=json.dumps(bad))
        check(r.code != 0 and said in r.err, fault, r)


def test_services_lead_to_pods():
    with networked() as m:
        ready = {"exec": {"command": ["test", "-e", "/tmp/ready"]}, "periodSeconds": 1}
        apply(m, server("a", {"app": "web"}), server("b", {"app": "web"}, ready=ready), server("client"),
              service("web", {"app": "web"}, type="NodePort"), service("none", {"app": "none"}),
              service("heads", {"app": "web"}, clusterIP="None"),
              service("sticky", {"app": "web"}, sessionAffinity="ClientIP"))
        a, b, _ = running(m, "a", "b", "client")
        wait(lambda: addresses(m, "web") == [a], "only the ready pod is an endpoint")
        web = m.object("service", "web")["spec"]
        get = "busybox timeout 3 busybox wget -qO- http://%s/name"  # busybox crashes with wget -T
        wait_sh(m, "client", get % web["clusterIP"], lambda out: out == "a", "the service's address")
        wait_sh(m, "client", get % "web", lambda out: out == "a", "the service's name")
        wait_sh(m, "a", get % "web.default.svc.cluster.local", lambda out: out == "a", "a pod reaches itself by its service")
        wait_sh(m, "client", "busybox nslookup heads.default.svc.cluster.local", lambda out: a in out and b not in out, "headless")
        none = m.object("service", "none")["spec"]["clusterIP"]
        r = sh(m, "client", get % none)
        check(r.code != 0 and "refused" in r.err, "a service without pods refuses", r)
        the_api_is_a_service(m)
        host_ports_lead_to_pods(m)
        balancers_have_addresses(m)
        both_pods_share(m, a, b, get % "web", get % "sticky")


def the_api_is_a_service(m):
    context = ssl.create_default_context(cafile=os.path.join(m.data, "server/pki/ca.crt"))
    with socket.create_connection(("10.96.0.1", 443), timeout=10) as s, context.wrap_socket(s, server_hostname="10.96.0.1") as t:
        t.sendall(b"GET /version HTTP/1.0\r\n\r\n")
        check(t.recv(100).startswith(b"HTTP/1."), "the API answers")
    wait_sh(m, "client", "busybox nslookup kubernetes.default.svc.cluster.local", lambda out: "10.96.0.1" in out, "the API's name")
    r = sh(m, "client", "busybox nslookup plain.")
    check("NXDOMAIN" in r.out + r.err, "a name without a dot goes to no other server", r)


def host_ports_lead_to_pods(m):
    with socket.create_server((ADDRESS, 0)) as taken:
        port = taken.getsockname()[1]
        apply(m, server("port", ports=[{"containerPort": 8080, "hostPort": port}]))
        reason = "jsonpath={.status.containerStatuses[0].state.waiting.reason}"
        wait(lambda: m.ok("get", "pod", "port", "-o", reason) == "NetworkNotReady", "a port of the machine is not taken away")
    running(m, "port")

    def leads():
        with contextlib.suppress(OSError):
            return urllib.request.urlopen(f"http://{ADDRESS}:{port}/name", timeout=10).read() == b"port\n"

    wait(leads, "the host port leads to the pod")
    node = m.ok("get", "pod", "port", "-o", "jsonpath={.spec.nodeName}")
    apply(m, server("second", ports=[{"containerPort": 8080, "hostPort": port}], nodeName=node))
    message = "jsonpath={.status.containerStatuses[0].state.waiting.message}"
    wait(lambda: "another pod of this node has this port" in m.ok("get", "pod", "second", "-o", message), "a pod bound by hand waits for the port")
    apply(m, server("third", ports=[]))
    running(m, "third")
    m.ok("delete", "pod", "port", "third")
    running(m, "second")


def balancers_have_addresses(m):
    with socket.create_server((ADDRESS, 0)) as free:
        port = free.getsockname()[1]
    m.ok("create", "service", "loadbalancer", "port", f"--tcp={port}:8080")
    m.ok("patch", "service", "port", "-p", json.dumps({"spec": {"selector": {"app": "web"}}}))
    equal(m.ok("get", "service", "port", "--no-headers").split()[3], "<pending>")
    m.ok("patch", "service", "port", "--subresource=status", "-p", json.dumps({"status": {"loadBalancer": {"ingress": [{"ip": ADDRESS}]}}}))
    equal(m.ok("get", "service", "port", "--no-headers").split()[3], ADDRESS)

    def leads():
        with contextlib.suppress(OSError):
            return urllib.request.urlopen(f"http://{ADDRESS}:{port}/name", timeout=10).read() == b"a\n"

    wait(leads, "the address leads to the pod")
    m.ok("delete", "service", "port")


def both_pods_share(m, a, b, get, sticky):
    sh(m, "b", "touch /tmp/ready")
    wait(lambda: addresses(m, "web") == sorted([a, b]), "both pods are endpoints")
    many = "for i in $(busybox seq 20); do " + get + "; done | sort | busybox uniq | busybox tr '\\n' ' '"
    wait_sh(m, "client", many, lambda out: out == "a b", "connections go to both pods")
    many = "for i in $(busybox seq 20); do " + sticky + "; done | sort | busybox uniq | busybox tr '\\n' ' '"
    wait_sh(m, "client", many, lambda out: out in ("a", "b"), "a client stays with its pod")
