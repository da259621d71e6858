"""HorizontalPodAutoscalers: services that grow with the load of their GPUs, shrink without it, and sleep."""

import json
import os
import re
import shutil

from harness import BUILD, Mete, check, equal, wait

SMOKE = os.path.join(BUILD, "tests", "gpu", "cuda_smoke")
HURRY = {"scaleDown": {"stabilizationWindowSeconds": 0}}  # down at once


def autoscaler(target, metrics, kind="Deployment", version="apps/v1", **spec):
    return json.dumps({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": target},
                       "spec": {"scaleTargetRef": {"apiVersion": version, "kind": kind, "name": target}, "maxReplicas": 3, **spec, "metrics": metrics}})


def of_pods(name, amount):
    return {"type": "Pods", "pods": {"metric": {"name": name}, "target": {"type": "AverageValue", "averageValue": amount}}}


def condition(m, name, kind):
    found = [c for c in m.object("hpa", name).get("status", {}).get("conditions", []) if c["type"] == kind]
    return (found[0]["status"], found[0]["reason"], found[0]["message"]) if found else (None, None, "")


def replicas(m, name):
    return m.object("deployment", name)["spec"]["replicas"]


def look_anew(m, name, **spec):
    """A changed spec is looked at at once: no test waits for the period of 15 s."""
    m.ok("patch", "hpa", name, "--type=merge", "-p", json.dumps({"spec": spec}))


def model(m):
    """A model server: its GPU is busy while a file is there."""
    smoke = os.path.join(m.dir, "cuda_smoke")
    shutil.copy(SMOKE, smoke)
    load = os.path.join(m.dir, "load")
    work = f"while :; do if test -e {load}; then {smoke} busy 1000 & until ! test -e {load}; do sleep 0.1; done; kill -9 $!; fi; sleep 0.1; done"
    container = {"name": "main", "image": "host", "command": ["sh", "-c", work], "resources": {"limits": {"nvidia.com/gpu": 1}}}
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "model"},
                "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "model"}},
                         "template": {"metadata": {"labels": {"app": "model"}}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]}}}}
    m.ok("apply", "-f", "-", stdin=json.dumps(manifest))
    m.ok("rollout", "status", "deployment/model", "--timeout=300s")
    return load


def busy_gpus(m):
    """The number of GPUs whose last sample is of work; None: a held GPU has no sample yet."""
    gpus = [g["status"] for g in json.loads(m.mete("gpus", "-o", "json").out)["items"]]
    held = [g["sample"] for g in gpus if g.get("holder")]
    if not held or any(s is None or s["utilizationPct"] is None for s in held):
        return None
    return sum(s["utilizationPct"] > 90 for s in held)


def test_a_model_grows_with_its_load_and_sleeps_without():
    with Mete("emulated:2xH100") as m:
        load = model(m)
        open(load, "w").close()
        wait(lambda: busy_gpus(m) == 1, "its GPU is busy")
        m.ok("apply", "-f", "-", stdin=autoscaler("model", [of_pods("DCGM_FI_DEV_GPU_UTIL", "50")], minReplicas=0, maxReplicas=2))
        wait(lambda: replicas(m, "model") == 2, "one pod more")
        m.ok("rollout", "status", "deployment/model", "--timeout=300s")
        found = ("True", "ValidMetricFound", "the HPA was able to successfully calculate a replica count from pods metric DCGM_FI_DEV_GPU_UTIL")
        wait(lambda: condition(m, "model", "ScalingActive") == found, "its condition")
        wait(lambda: busy_gpus(m) == 2, "both GPUs are busy")
        look_anew(m, "model", metrics=[of_pods("DCGM_FI_DEV_GPU_UTIL", "51")])
        wait(lambda: condition(m, "model", "ScalingLimited")[1] == "TooManyReplicas", "the bound")
        wait(lambda: re.match(r"model +Deployment/model +\d+/51 +0 +2 +2 ", m.ok("get", "hpa", "model", "--no-headers")), "its row")
        os.unlink(load)
        wait(lambda: busy_gpus(m) == 0, "both GPUs are idle")
        look_anew(m, "model", metrics=[of_pods("DCGM_FI_DEV_GPU_UTIL", "52")])
        wait(lambda: condition(m, "model", "AbleToScale")[1] == "ScaleDownStabilized", "fewer pods are recommended, and wait")
        equal(replicas(m, "model"), 2)
        look_anew(m, "model", behavior=HURRY)
        wait(lambda: replicas(m, "model") == 0 and not m.object("pods")["items"], "it sleeps")
        look_anew(m, "model", behavior=None)
        wait(lambda: condition(m, "model", "ScalingActive")[1] == "ScalingDisabled", "nothing wakes it")
        equal(condition(m, "model", "ScaledToZero")[:2], ("True", "ScaledToZero"))
        m.ok("scale", "deployment/model", "--replicas=1")
        m.ok("rollout", "status", "deployment/model", "--timeout=300s")
        wait(lambda: busy_gpus(m) == 0, "its GPU has a sample")
        look_anew(m, "model", metrics=[of_pods("DCGM_FI_DEV_GPU_UTIL", "53")])
        wait(lambda: condition(m, "model", "AbleToScale")[1] == "ScaleDownStabilized", "it was woken not long ago")
        equal(replicas(m, "model"), 1)
        described = m.ok("describe", "hpa", "model")
        check("New size: 2; reason: pods metric DCGM_FI_DEV_GPU_UTIL above target" in described
              and "New size: 0; reason: All metrics below target" in described, described)


WIDGETS = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"},
           "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
                    "versions": [{"name": "v1", "served": True, "storage": True,
                                  "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
                                  "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}
WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "custom"}, "spec": {"size": 9}}


def put(m, *objects):
    m.ok("apply", "-f", "-", stdin="\n".join("---\n" + (o if isinstance(o, str) else json.dumps(o)) for o in objects))


def sets():
    """A target of each kind, without pods that run: their GPUs are not there."""
    container = {"name": "main", "image": "host", "command": ["true"], "resources": {"limits": {"nvidia.com/gpu": 4}}}
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [container]}}
    for kind, version in (("Deployment", "apps/v1"), ("ReplicaSet", "apps/v1"), ("StatefulSet", "apps/v1"), ("ReplicationController", "v1")):
        name = kind.lower()
        labels = {"app": name}
        yield kind, version, name, {"apiVersion": version, "kind": kind, "metadata": {"name": name},
                                    "spec": {"replicas": 5, "selector": labels if version == "v1" else {"matchLabels": labels}, "serviceName": "",
                                             "template": {**template, "metadata": {"labels": labels}}}}


def bounds_hold_for_every_target(m):
    put(m, WIDGETS)
    m.ok("wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=300s")
    targets = [*sets(), ("Widget", "example.com/v1", "custom", WIDGET)]
    for kind, version, name, manifest in targets:
        m.ok("apply", "--validate=false", "-f", "-", stdin=json.dumps(manifest))
        put(m, autoscaler(name, [of_pods("DCGM_FI_DEV_FB_USED", "1")], kind, version, maxReplicas=2))
    for kind, _, name, _ in targets:
        path = "{.spec.size}" if kind == "Widget" else "{.spec.replicas}"
        wait(lambda: m.ok("get", kind.lower(), name, "-o", "jsonpath=" + path) == "2", f"{kind} is within its bounds")
        wait(lambda: "lastScaleTime" in m.object("hpa", name).get("status", {}), f"{kind}'s status says so")


def what_has_no_measure_is_refused_by_name(m):
    target = {"type": "Value", "value": "5"}
    described = {"apiVersion": "v1", "kind": "Service", "name": "s"}
    cases = [("External", {"type": "External", "external": {"metric": {"name": "jobs"}, "target": target}}, "FailedGetExternalMetric", "jobs"),
             ("Object", {"type": "Object", "object": {"metric": {"name": "rps"}, "describedObject": described, "target": target}}, "FailedGetObjectMetric", "rps"),
             ("name", of_pods("http_requests", "5"), "FailedGetPodsMetric", "http_requests"),
             ("no sample", of_pods("DCGM_FI_DEV_GPU_UTIL", "5"), "FailedGetPodsMetric", "no metrics returned from custom metrics API")]
    for what, metric, reason, said in cases:
        look_anew(m, "deployment", metrics=[metric])
        status, found, message = wait(lambda: (c := condition(m, "deployment", "ScalingActive"))[1] == reason and said in c[2] and c, what)
        equal((status, found), ("False", reason), message)
    equal(m.object("deployment", "deployment")["spec"]["replicas"], 2)
    put(m, autoscaler("nobody", [of_pods("DCGM_FI_DEV_GPU_UTIL", "5")]))
    wait(lambda: condition(m, "nobody", "AbleToScale") == ("False", "FailedGetScale", "the HPA controller was unable to get the target's current scale: "
                                                           'deployments.apps "nobody" not found'), "there is no such target")
    put(m, autoscaler("rival", [of_pods("DCGM_FI_DEV_GPU_UTIL", "5")]).replace('"name": "rival"}, "maxR', '"name": "deployment"}, "maxR'))
    wait(lambda: condition(m, "rival", "ScalingActive")[1] == "AmbiguousSelector", "one set of pods, two autoscalers")


def version_1_is_another_view(m):
    m.ok("autoscale", "deployment", "deployment", "--name=old", "--min=1", "--max=2", "--cpu-percent=70")
    path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers/old"
    old = json.loads(m.ok("get", "--raw", path))
    equal((old["apiVersion"], old["spec"]["targetCPUUtilizationPercentage"], "metrics" in old["spec"]), ("autoscaling/v1", 70, False))
    others = [{"type": "Pods", "pods": {"metricName": "DCGM_FI_DEV_FB_USED", "targetAverageValue": "3"}}]

    def is_replaced():
        """False: the autoscaler wrote the status meanwhile."""
        o = json.loads(m.ok("get", "--raw", path))
        o["spec"]["targetCPUUtilizationPercentage"] = 60
        o["metadata"].setdefault("annotations", {})["autoscaling.alpha.kubernetes.io/metrics"] = json.dumps(others)
        r = m.kubectl("replace", "--raw", path, "-f", "-", stdin=json.dumps(o))
        check(r.code == 0 or "the object has been modified" in r.err, r)
        return r.code == 0

    wait(is_replaced, "the old form is written")
    new = m.object("hpa", "old")
    equal(new["spec"]["metrics"], [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}},
                                   of_pods("DCGM_FI_DEV_FB_USED", "3")])
    check("autoscaling.alpha.kubernetes.io/metrics" not in new["metadata"].get("annotations", {}), new["metadata"])
    again = json.loads(m.ok("get", "--raw", path))
    equal(json.loads(again["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"]), others)


def faults_are_named(m):
    bad = json.loads(autoscaler("bad", [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 0}}}],
                                minReplicas=0, maxReplicas=-1, behavior={"scaleUp": {"policies": [{"type": "x", "value": 1, "periodSeconds": 9999}]}}))
    r = m.kubectl("create", "-f", "-", stdin=json.dumps(bad))
    for field in ("spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1", "spec.metrics: Forbidden",
                  "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
                  'spec.behavior.scaleUp.policies[0].type: Unsupported value: "x"', "periodSeconds: Invalid value: 9999"):
        check(r.code == 1 and field in r.err, field, r)


def test_targets_refusals_and_versions():
    with Mete("emulated:1xH100") as m:
        bounds_hold_for_every_target(m)
        what_has_no_measure_is_refused_by_name(m)
        version_1_is_another_view(m)
        faults_are_named(m)
