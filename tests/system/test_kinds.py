"""Kinds that are served as objects, and those that share the loops of others: ReplicationController, PodTemplate, Ingress, RuntimeClass."""

import json

from harness import Mete, check, equal, wait
from test_podsets import pods_of

CONTAINER = {"name": "main", "image": "host", "command": ["sleep", "3600"]}


def template(labels, **spec):
    return {"metadata": {"labels": labels}, "spec": {"terminationGracePeriodSeconds": 1, "containers": [CONTAINER], **spec}}


def make(m, kind, version, name, **members):
    return m.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": version, "kind": kind, "metadata": {"name": name}, **members}))


def a_replication_controller_keeps_its_pods(m):
    equal(make(m, "ReplicationController", "v1", "web", spec={"replicas": 2, "template": template({"app": "web"})}).code, 0)
    rc = m.object("rc", "web")
    equal((rc["spec"]["selector"], rc["metadata"]["labels"]), ({"app": "web"}, {"app": "web"}))
    wait(lambda: m.object("rc", "web")["status"].get("readyReplicas") == 2, "two pods are ready")
    owner = pods_of(m, "web")[0]["metadata"]["ownerReferences"][0]
    equal((owner["apiVersion"], owner["kind"], owner["controller"]), ("v1", "ReplicationController", True))
    row = m.ok("get", "rc", "-o", "wide").splitlines()
    equal(row[0].split(), ["NAME", "DESIRED", "CURRENT", "READY", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"])
    equal((row[1].split()[:4], row[1].split()[-1]), (["web", "2", "2", "2"], "app=web"))
    check("replicationcontroller/web" in m.ok("get", "all"), "get all")
    m.ok("scale", "rc/web", "--replicas=3")
    wait(lambda: len(pods_of(m, "web")) == 3, "a third pod")
    m.ok("label", "pod", pods_of(m, "web")[0]["metadata"]["name"], "app=free", "--overwrite")
    wait(lambda: len(pods_of(m, "web")) == 3 and len(pods_of(m, "free")) == 1, "a pod is released and replaced")
    equal(pods_of(m, "free")[0]["metadata"].get("ownerReferences"), None)
    m.ok("delete", "rc", "web", "--timeout=300s")
    wait(lambda: not pods_of(m, "web"), "its pods are gone")
    m.ok("delete", "pods", "--all", "--now")


def a_wrong_replication_controller_is_refused(m):
    wrong = {"selector": {"app": "other"}, "template": template({"app": "web"}, restartPolicy="Never")}
    r = make(m, "ReplicationController", "v1", "web", spec=wrong)
    check('spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`' in r.err, r)
    check('spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"' in r.err, r)
    check("spec.template: Required value" in make(m, "ReplicationController", "v1", "web", spec={"selector": {"a": "b"}}).err)


def a_pod_template_is_kept(m):
    equal(make(m, "PodTemplate", "v1", "box", template=template({"app": "box"})).code, 0)
    equal(m.object("podtemplate", "box")["template"]["spec"]["restartPolicy"], "Always")
    equal(m.ok("get", "podtemplates").splitlines()[1].split(), ["box", "main", "host", "app=box"])


def test_pods_of_templates():
    with Mete("emulated:1xH100") as m:
        a_replication_controller_keeps_its_pods(m)
        a_wrong_replication_controller_is_refused(m)
        a_pod_template_is_kept(m)


def ingresses_are_kept_for_controllers_of_others(m):
    m.ok("create", "ingress", "web", "--rule=a.example/api*=api:80,tls=cert", "--rule=b.example/=web:http", "--class=nginx")
    lines = m.ok("get", "ingress").splitlines()
    equal(lines[0].split(), ["NAME", "CLASS", "HOSTS", "ADDRESS", "PORTS", "AGE"])
    equal(lines[1].split()[:5], ["web", "nginx", "a.example,b.example", "80,", "443"])
    path = {"path": "a//b", "pathType": "Exact", "backend": {"service": {"name": "w", "port": {"name": "x", "number": 1}}}}
    r = make(m, "Ingress", "networking.k8s.io/v1", "bad", spec={"rules": [{"host": "1.2.3.4", "http": {"paths": [path, {"path": "/"}]}}]})
    for want in ('spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
                 'spec.rules[0].http.paths[0].path: Invalid value: "a//b": must be an absolute path',
                 'spec.rules[0].http.paths[0].path: Invalid value: "a//b": must not contain \'//\'',
                 'spec.rules[0].http.paths[0].backend: Invalid value: "": cannot set both port name & port number',
                 "spec.rules[0].http.paths[1].pathType: Required value: pathType must be specified"):
        check(want in r.err, want, r)
    check("either `defaultBackend` or `rules` must be specified" in make(m, "Ingress", "networking.k8s.io/v1", "bad", spec={}).err)


def new_ingresses_get_the_default_class(m):
    yes = {"name": "own", "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}
    spec = {"controller": "example.com/own", "parameters": {"apiGroup": "example.com", "kind": "Set", "name": "x"}}
    m.ok("create", "-f", "-", stdin=json.dumps({"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": yes, "spec": spec}))
    equal(m.ok("get", "ingressclass").splitlines()[1].split()[:4], ["own", "(default)", "example.com/own", "Set.example.com/x"])
    m.ok("create", "ingress", "plain", "--rule=h.example/=s:80")
    equal(m.object("ingress", "plain")["spec"]["ingressClassName"], "own")
    r = m.kubectl("patch", "ingressclass", "own", "-p", '{"spec":{"controller":"example.com/x"}}')
    check('spec.controller: Invalid value: "example.com/x": field is immutable' in r.err, r)


def test_ingresses():
    with Mete("emulated:1xH100") as m:
        ingresses_are_kept_for_controllers_of_others(m)
        new_ingresses_get_the_default_class(m)


def pod(m, name, **spec):
    spec = {"restartPolicy": "Never", "containers": [{**CONTAINER, "command": ["true"], "resources": {"limits": {"nvidia.com/gpu": 1}}}], **spec}
    return make(m, "Pod", "v1", name, spec=spec)


def test_runtime_classes():
    with Mete("emulated:1xH100") as m:
        equal(pod(m, "gpu", runtimeClassName="nvidia").code, 0)
        m.wait_phase("gpu", "Succeeded")
        r = pod(m, "none", runtimeClassName="absent")
        check('pods "none" is forbidden: pod rejected: RuntimeClass "absent" not found' in r.err, r)
        r = pod(m, "none", overhead={"cpu": "1"})
        check("Pod Overhead set without corresponding RuntimeClass defined Overhead" in r.err, r)
        heavy = {"handler": "runc", "overhead": {"podFixed": {"cpu": "250m", "memory": "64Mi"}},
                 "scheduling": {"nodeSelector": {"kubernetes.io/os": "linux"}, "tolerations": [{"key": "k", "operator": "Exists"}]}}
        equal(make(m, "RuntimeClass", "node.k8s.io/v1", "heavy", **heavy).code, 0)
        quota = {"hard": {"requests.cpu": "300m", "requests.memory": "1Gi"}}
        equal(make(m, "ResourceQuota", "v1", "small", spec=quota).code, 0)
        asks = [{**CONTAINER, "resources": {"requests": {"cpu": "50m", "memory": "1Mi"}}}]
        equal(pod(m, "heavy", runtimeClassName="heavy", containers=asks).code, 0)
        spec = m.object("pod", "heavy")["spec"]
        equal((spec["overhead"], spec["nodeSelector"]), ({"cpu": "250m", "memory": "64Mi"}, {"kubernetes.io/os": "linux"}))
        check({"key": "k", "operator": "Exists"} in spec["tolerations"], spec)
        wait(lambda: m.object("resourcequota", "small")["status"].get("used", {}).get("requests.cpu") == "300m", "the overhead counts")
        m.ok("delete", "resourcequota", "small")
        equal(make(m, "RuntimeClass", "node.k8s.io/v1", "kata", handler="kata").code, 0)
        equal(pod(m, "boxed", runtimeClassName="kata").code, 0)
        wait(lambda: "FailedCreatePodSandBox" in m.ok("get", "events"), "an event says which runtime is missing")
        check('no runtime for "kata" is configured' in m.ok("describe", "pod", "boxed"), "the reason")
        r = m.kubectl("patch", "runtimeclass", "kata", "--type=merge", "-p", '{"handler":"runc"}')
        check('handler: Invalid value: "runc": field is immutable' in r.err, r)
