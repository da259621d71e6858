"""Queue objects of other schedulers, as on clusters that have them: definitions of their kinds, with minimal schemas, and objects."""
import json

KUEUE, VOLCANO, KAI = "kueue.x-k8s.io", "scheduling.volcano.sh", "scheduling.run.ai"
KUEUE_KINDS = (("ClusterQueue", "Cluster"), ("Cohort", "Cluster"), ("ResourceFlavor", "Cluster"), ("LocalQueue", "Namespaced"))


def definition(group, kind, scope, *versions):
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{kind.lower()}s.{group}"},
            "spec": {"group": group, "scope": scope, "names": {"kind": kind, "plural": kind.lower() + "s", "singular": kind.lower()},
                     "versions": [{"name": v, "served": True, "storage": i == 0, "schema": {"openAPIV3Schema": {
                         "type": "object", "properties": {"spec": free, "status": free}}}} for i, v in enumerate(versions)]}}


def install_kueue(m, version="v1beta2"):
    """The kinds of Kueue. Its API group ends with k8s.io, whose definitions need the mark of a review."""
    items = [definition(KUEUE, kind, scope, version) for kind, scope in KUEUE_KINDS]
    for o in items:
        o["metadata"]["annotations"] = {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/kueue"}
    install(m, items)


def install_queues(m):
    """The Queues of Volcano and KAI."""
    install(m, [definition(VOLCANO, "Queue", "Cluster", "v1beta1"), definition(KAI, "Queue", "Cluster", "v2")])


def install(m, items):
    m.ok("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    m.ok("wait", "--for=condition=Established", *("crd/" + o["metadata"]["name"] for o in items), "--timeout=60s")


def kueue(kind, name, version="v1beta2", **spec):
    return json.dumps({"apiVersion": f"{KUEUE}/{version}", "kind": kind, "metadata": {"name": name}, "spec": spec})


def volcano_queue(name, **spec):
    return json.dumps({"apiVersion": f"{VOLCANO}/v1beta1", "kind": "Queue", "metadata": {"name": name}, "spec": spec})


def kai_queue(name, parent=None, **gpu):
    spec = {"resources": {r: {"quota": 0, "limit": -1, "overQuotaWeight": 1} for r in ("cpu", "memory")} | {"gpu": {"overQuotaWeight": 1, **gpu}}}
    if parent:
        spec["parentQueue"] = parent
    return json.dumps({"apiVersion": f"{KAI}/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec})


def gpu_quota(flavor, nominal, **limits):
    """spec.resourceGroups with GPUs alone."""
    return [{"coveredResources": ["nvidia.com/gpu"],
             "flavors": [{"name": flavor, "resources": [{"name": "nvidia.com/gpu", "nominalQuota": nominal, **limits}]}]}]


def is_foreign(right):
    """Is it a right to the queue objects of another scheduler?"""
    return right[1] in (KUEUE, KAI) or right[1:] == (VOLCANO, "queues")
