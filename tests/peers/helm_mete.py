"""Mete's own Helm chart, rendered by the real helm; tests/kube/run installs it on a cluster."""

import os

import kube_objects
from harness import KUBECTL, ROOT, check, equal, execute
from helm_kit import HELM

CHART = os.path.join(ROOT, "deploy", "helm", "mete")
MANIFESTS = os.path.join(ROOT, "deploy", "kubernetes")
OF_HELM = ("app.kubernetes.io/part-of", "app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "helm.sh/chart")


def template(*settings, version="1.36.0"):
    sets = [word for s in settings for word in ("--set", s)]
    return execute([HELM, "template", "mete", CHART, "--namespace", "mete-system", "--kube-version", version, *sets])


def rendered(*settings):
    r = template(*settings)
    equal(r.code, 0, r)
    return objects_of(r.out)


def objects_of(text):
    r = execute([KUBECTL, "label", "--local", "-f", "-", "read=yes", "-o", "json"], stdin=text)
    equal(r.code, 0, r)
    return {(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]): o for o in kube_objects.read_objects(r.out)}


def plain(o):
    """Without what only a chart has: its labels, annotations, and the settings that are Kubernetes' defaults."""
    if isinstance(o, list):
        return [plain(x) for x in o]
    if not isinstance(o, dict):
        return o
    return {k: v for k, v in ((k, plain(v)) for k, v in o.items())
            if k not in OF_HELM and (k, v) not in (("annotations", {}), ("updateStrategy", {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}))
            and k != "helm.sh/resource-policy"}


def unlabelled(o):
    o = plain(o)
    o["metadata"].pop("labels", None) if o["kind"] not in ("ClusterRole", "Namespace") else o["metadata"]["labels"].pop("read")
    o["metadata"].get("labels", {}).pop("app.kubernetes.io/name", None)
    if not o["metadata"].get("labels", {"some": "label"}):
        del o["metadata"]["labels"]
    if not o["metadata"].get("annotations", True):
        del o["metadata"]["annotations"]
    return o


def the_chart_and_the_manifests_agree():
    chart, manifests = rendered("gfd.enabled=false", "dcgmExporter.enabled=false"), {}
    for name in ("mete-crds.yaml", "mete-scheduler.yaml", "mete-node.yaml"):
        with open(os.path.join(MANIFESTS, name), encoding="utf-8") as f:
            manifests |= objects_of(f.read())
    del manifests["Namespace", None, "mete-system"]  # helm install --create-namespace
    node = manifests.pop(("DaemonSet", "kube-system", "mete-node"))
    node["metadata"]["namespace"] = "mete-system"
    manifests["DaemonSet", "mete-system", "mete-node"] = node
    equal(sorted(chart, key=str), sorted(manifests, key=str))
    for key, o in chart.items():
        equal(unlabelled(o), unlabelled(manifests[key]), key)


def the_chart_offers_claims_as_the_manifest():
    chart = rendered("claims.enabled=true", "gfd.enabled=false", "dcgmExporter.enabled=false", "scheduler.enabled=false", "crds.install=false")
    with open(os.path.join(MANIFESTS, "mete-node-claims.yaml"), encoding="utf-8") as f:
        manifest = {(kind, name): o for (kind, _, name), o in objects_of(f.read()).items()}
    equal(sorted((kind, name) for kind, _, name in chart), sorted((kind, name.removesuffix("-claims")) for kind, name in manifest))
    for (kind, _, name), o in chart.items():
        want = manifest[kind, name if kind == "DeviceClass" else f"{name}-claims"]
        if kind == "DeviceClass":
            equal(o["spec"], want["spec"], name)
        if kind == "ClusterRole":  # the chart's DaemonSet may watch its Node, for other settings
            equal(allowed(want) - allowed(o), set())
        if kind == "DaemonSet":
            spec = o["spec"]["template"]["spec"] | {"serviceAccountName": "mete-node-claims"}
            equal(spec, want["spec"]["template"]["spec"])
    old = objects_of(template("claims.enabled=true", version="1.32.0").out)
    equal(old["DeviceClass", None, "gpu.nvidia.com"]["apiVersion"], "resource.k8s.io/v1beta1")
    without = rendered("claims.enabled=true", "claims.deviceClasses=false")
    equal([k for k, _, _ in without if k == "DeviceClass"], [])


def allowed(role):
    return {(g, r, v) for rule in role["rules"] for g in rule["apiGroups"] for r in rule["resources"] for v in rule["verbs"]}


def the_chart_reads_the_operators_values():
    config = rendered("mig.strategy=single")["ConfigMap", "mete-system", "mete-device-plugin"]
    check("migStrategy: single" in config["data"]["config.yaml"], config)
    named = rendered("devicePlugin.config.name=time-slicing", "devicePlugin.config.default=any", "driver.enabled=false",
                     "migManager.enabled=true", "migManager.config.name=parted", "dcgmExporter.serviceMonitor.enabled=true",
                     "dcgmExporter.serviceMonitor.additionalLabels.release=prometheus")
    spec = named["DaemonSet", "mete-system", "mete-node"]["spec"]["template"]["spec"]
    equal(spec["containers"][0]["args"][4:], ["--config-dir", "/config", "--default-config", "any", "--labels", "node", "--mig-config", "/mig/config.yaml",
                                              "--metrics", "0.0.0.0:9400"])
    equal({v["name"]: v["configMap"]["name"] for v in spec["volumes"] if "configMap" in v}, {"config": "time-slicing", "mig": "parted"})
    equal({m["name"] for m in spec["containers"][0]["volumeMounts"]} - {v["name"] for v in spec["volumes"]}, set())
    monitor = named["ServiceMonitor", "mete-system", "mete-node"]
    equal((monitor["metadata"]["labels"]["release"], monitor["spec"]["endpoints"][0]["port"]), ("prometheus", "gpu-metrics"))
    tainted = rendered("health.taint=example.com/sick:NoExecute", "hostPaths.kubelet=/var/lib/k0s/kubelet", "hostPaths.data=/srv/mete")
    spec = tainted["DaemonSet", "mete-system", "mete-node"]["spec"]["template"]["spec"]
    equal(spec["containers"][0]["args"][2:10], ["--machine-root", "/host", "--kubelet-dir", "/var/lib/k0s/kubelet", "--data", "/srv/mete", "--labels", "node"])
    equal(spec["containers"][0]["args"][10:12], ["--taint", "example.com/sick:NoExecute"])
    check({"key": "example.com/sick", "operator": "Exists"} in spec["tolerations"], spec)
    check("/var/lib/k0s/kubelet/device-plugins" in [m["mountPath"] for m in spec["containers"][0]["volumeMounts"]], spec)
    made = rendered("devicePlugin.config.create=true", "devicePlugin.config.default=a", "devicePlugin.config.data.a=version: v1")
    equal(made["ConfigMap", "mete-system", "mete-device-plugin"]["data"], {"a": "version: v1"})
    only = rendered("scheduler.enabled=false", "crds.install=false", "gfd.enabled=false", "dcgmExporter.enabled=false", "daemonsets.rollingUpdate.maxUnavailable=10%")
    equal([k for k, _, _ in only], ["DaemonSet"])
    names = rendered("scheduler.names={mete,volcano}")["Deployment", "mete-system", "mete-scheduler"]["spec"]["template"]["spec"]["containers"][0]["args"]
    equal(names[names.index("--scheduler-name") + 1], "mete,volcano")
    for setting, what in (("driver.enabled=true", "driver.enabled"), ("toolkit.enabled=true", "toolkit.enabled"), ("gds.enabled=true", "gds.enabled"),
                          ("mig.strategy=some", "want none, single or mixed"), ("migManager.enabled=true", "migManager.config.name"),
                          ("health.taint=sick", "health.taint: want NAME:NoSchedule"), ("shceduler.enabled=true", "shceduler: no such key")):
        r = template(setting)
        check(r.code != 0 and what in r.err, setting, r)


def main():
    the_chart_and_the_manifests_agree()
    the_chart_offers_claims_as_the_manifest()
    the_chart_reads_the_operators_values()
