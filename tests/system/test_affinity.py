"""Node affinity, pod affinity and anti-affinity, and topology spread, by kubectl on the real server."""

import json

from harness import Mete, check, equal, pod, wait

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
APART = {"podAntiAffinity": {REQUIRED: [
    {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}]}}
SPREAD = [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
           "labelSelector": {"matchLabels": {"app": "x"}}}]


def manifest(name, labels=None, **spec):
    body = json.loads(pod(name, "sleep 1000", terminationGracePeriodSeconds=1, **spec))
    body["metadata"]["labels"] = labels or {}
    return body


def create(m, body):
    m.ok("create", "-f", "-", stdin=json.dumps(body))


def waits(m, name):
    """The reason that kubectl shows for a waiting pod."""
    def told():
        conditions = m.object("pod", name)["status"].get("conditions", [])
        return [c["message"] for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"]
    return wait(told, f"{name} is told why it waits")[0]


def add_node(m, name):
    """Adds a node without a machine, with a taint that keeps pods away."""
    create(m, {"apiVersion": "v1", "kind": "Node", "spec": {"taints": [{"key": "off", "effect": "NoSchedule"}]},
               "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
    m.ok("patch", "node", name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": {
        "allocatable": {"cpu": "64", "memory": "64Gi", "pods": "50"},
        "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2099-01-01T00:00:00Z"}]}}))


def test_pods_go_to_nodes_that_they_want():
    with Mete("emulated:8xH100") as m:
        node = m.object("nodes")["items"][0]["metadata"]["name"]
        create(m, manifest("p", affinity={"nodeAffinity": {
            REQUIRED: {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd", "nvme"]}]},
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["elsewhere"]}]}]},
            PREFERRED: [{"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}]}}))
        equal(waits(m, "p"), "no node meets its node affinity: disk in (ssd, nvme) or metadata.name=elsewhere")
        r = m.mete("why", "p")
        check("node affinity is not met" in r.out, r)
        m.ok("label", "node", node, "disk=nvme")
        m.wait_phase("p", "Running")


def test_one_pod_of_an_app_on_a_node():
    with Mete("emulated:8xH100") as m:
        create(m, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {
            "parallelism": 2, "completions": 2, "template": {
                "metadata": {"labels": {"app": "x"}},
                "spec": {**manifest("t")["spec"], "restartPolicy": "Never", "affinity": APART}}}})

        def pods(phase):
            items = m.object("pods", "-l", "app=x")["items"]
            return [p["metadata"]["name"] for p in items if p["status"]["phase"] == phase]

        wait(lambda: len(pods("Running")) == 1 and len(pods("Pending")) == 1, "one runs and one waits")
        running, pending = pods("Running")[0], pods("Pending")[0]
        job = m.object("pod", running)["metadata"]["labels"]["mete.dev/job-id"]
        message = waits(m, pending)
        check(message.startswith(f"pod anti-affinity of job {job} keeps away app=x on kubernetes.io/hostname ("), message)
        r = m.mete("why", pending)
        check(f"job {job} ends" in r.out, r)

        m.ok("label", "pod", running, "app-", "job-name-")  # rules see labels as they are now
        m.wait_phase(pending, "Pending")  # but its own rule still keeps app=x away
        m.ok("delete", "pod", running, "--wait=false")
        m.wait_phase(pending, "Running")


def test_pods_spread_over_machines_and_go_to_others():
    with Mete("emulated:8xH100") as m:
        add_node(m, "elsewhere")
        create(m, manifest("x0", {"app": "x"}, topologySpreadConstraints=SPREAD))
        m.wait_phase("x0", "Running")
        create(m, manifest("x1", {"app": "x"}, topologySpreadConstraints=SPREAD))
        message = waits(m, "x1")
        check(message.startswith("topology spread app=x on kubernetes.io/hostname: skew would be 2 of at most 1 ("), message)
        r = m.mete("why", "x1")
        check("it does not ask for topology spread app=x on kubernetes.io/hostname" in r.out, r)
        create(m, manifest("x2", {"app": "x"}, topologySpreadConstraints=[{**SPREAD[0], "nodeTaintsPolicy": "Honor"}]))
        m.wait_phase("x2", "Running")  # only one machine takes pods, so there is nothing to spread over
        m.ok("delete", "node", "elsewhere")
        m.wait_phase("x1", "Running")

        create(m, manifest("with", affinity={"podAffinity": {REQUIRED: [
            {"labelSelector": {"matchLabels": {"app": "z"}}, "topologyKey": "kubernetes.io/hostname"}]}}))
        check("pod affinity app=z on kubernetes.io/hostname: no such pod is there" in waits(m, "with"))
        create(m, manifest("z", {"app": "z"}, affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["elsewhere"]}]}]}}}))
        m.wait_phase("with", "Running")


def test_what_counts_for_a_rule():
    with Mete("emulated:8xH100") as m:
        node = m.object("nodes")["items"][0]["metadata"]["name"]
        add_node(m, "elsewhere")
        create(m, manifest("x0", {"app": "x", "rev": "1"}, nodeName=node))
        m.wait_phase("x0", "Running")

        def spread(name, labels=None, node_selector=None, **more):
            create(m, manifest(name, {"app": "x", **(labels or {})}, topologySpreadConstraints=[{**SPREAD[0], **more}],
                               **({"nodeSelector": node_selector} if node_selector else {})))

        here = {"kubernetes.io/hostname": node}
        spread("of-here", node_selector=here, nodeAffinityPolicy="Ignore")
        check("skew would be 2 of at most 1" in waits(m, "of-here"))
        spread("one-of-two", nodeTaintsPolicy="Honor", minDomains=2)
        check("skew would be 2 of at most 1" in waits(m, "one-of-two"))
        spread("newer", {"rev": "2"}, matchLabelKeys=["rev"])
        m.wait_phase("newer", "Running")
        spread("here", node_selector=here, nodeAffinityPolicy="Honor")
        m.wait_phase("here", "Running")

        def apart(name, team, **rules):
            create(m, manifest(name, {"kind": "t", "team": team}, affinity={"podAntiAffinity": rules}))

        rule = {"labelSelector": {"matchLabels": {"kind": "t"}}, "topologyKey": "kubernetes.io/hostname"}
        others = {REQUIRED: [{**rule, "mismatchLabelKeys": ["team"]}]}
        apart("a0", "a", **others)
        m.wait_phase("a0", "Running")
        apart("a1", "a", **others)
        m.wait_phase("a1", "Running")
        apart("b0", "b", **others)
        check("pod anti-affinity" in waits(m, "b0"))
        apart("b1", "b", **{PREFERRED: [{"weight": 100, "podAffinityTerm": rule}]})
        check("pod anti-affinity of job" in waits(m, "b1"))  # the rule of the running pods: they want no other team
        m.ok("delete", "pod", "a0", "a1", "b0")
        m.wait_phase("b1", "Running")  # a preference keeps no pod away


def test_what_is_wrong_is_said_and_what_is_not_there_is_refused():
    with Mete("emulated:8xH100") as m:
        term = {"labelSelector": {}, "topologyKey": "rack", "namespaceSelector": {"matchLabels": {"team": "a"}}}
        for spec, says in (
                ({"affinity": {"podAffinity": {REQUIRED: [term]}}},
                 f"spec.affinity.podAffinity.{REQUIRED}[0].namespaceSelector: Forbidden: is not implemented by mete yet"),
                ({"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}},
                 "Required value: must have at least one node selector term"),
                ({"topologySpreadConstraints": [{**SPREAD[0], "maxSkew": 0}]},
                 "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"),
        ):
            r = m.kubectl("create", "--validate=false", "-f", "-", stdin=json.dumps(manifest("p", **spec)))
            check(r.code == 1 and says in r.err, r)
        create(m, {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": {
            "schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": {"spec": {
                **manifest("t")["spec"], "affinity": APART, "topologySpreadConstraints": SPREAD}}}}}})
        create(m, manifest("p", affinity=APART))
        r = m.kubectl("patch", "pod", "p", "--type=json", "-p", '[{"op":"remove","path":"/spec/affinity"}]')
        check(r.code == 1 and "pod updates may not change fields" in r.err, r)
        check("podAntiAffinity" in m.ok("explain", "pod.spec.affinity"))
