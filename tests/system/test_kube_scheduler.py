"""mete kube scheduler: places pods through an API server, here Mete's own, whose scheduler leaves these pods alone."""

import base64
import contextlib
import hashlib
import json
import os
import re
import select
import socket
import ssl
import subprocess
import tempfile
import threading
import urllib.request

import kube_objects
from fake_api_server import FakeApiServer
from harness import METE, ROOT, Mete, check, equal, execute, patience, pod, wait
from queue_objects import is_foreign
from test_door import bare_kubeconfig

NAME = "of-the-cluster"
MANIFESTS = os.path.join(ROOT, "deploy", "kubernetes")


@contextlib.contextmanager
def scheduler(m, *arguments, leads=True, shell="", env=()):
    """The scheduler as a process, behind commands of a shell; ends with what it logged on a failure."""
    log = os.path.join(m.dir, "kube-scheduler.log")
    own = ["--kubeconfig", os.path.join(m.data, "kubeconfig")] if not env else []
    argv = [METE, "kube", "scheduler", *own, "--scheduler-name", NAME, *arguments]
    p = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-ec", shell + 'exec "$@"', "sh", *argv] if shell else argv,
                         env={**m.env, **dict(env)}, stdout=subprocess.PIPE, stderr=open(log, "a"), text=True)
    try:
        if leads:
            equal(p.stdout.readline(), "ready\n")
        yield p
    except BaseException:
        print(open(log, encoding="utf-8").read())
        raise
    finally:
        if p.poll() is None:
            p.terminate()
            p.wait(60 * patience())
        p.stdout.close()


def apply(m, *objects):
    m.ok("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [json.loads(o) for o in objects]}))


def ours(name, command, gpus=0, **spec):
    return pod(name, command, gpus, schedulerName=NAME, **spec)


def nodes_of(m, *names):
    return [m.object("pod", name)["spec"].get("nodeName") for name in names]


def give_token(m, directory, token):
    """The account's token, in the place of the one before."""
    with open(os.path.join(m.data, "server", "users.yaml"), "w") as f:
        f.write(f"users:\n- {{name: scheduler, tokenSha256: {hashlib.sha256(token.encode()).hexdigest()}, roles: [{{role: cluster-admin}}]}}\n")
    with open(os.path.join(directory, "new"), "w") as f:
        f.write(token)
    os.rename(os.path.join(directory, "new"), os.path.join(directory, "token"))


@contextlib.contextmanager
def scheduler_in_a_pod(m):
    """The scheduler as in a pod: it knows the API server and its own token by the pod's service account."""
    server = json.loads(m.ok("config", "view", "--raw", "-o", "json"))["clusters"][0]["cluster"]
    account = os.path.join(m.dir, "account")
    os.mkdir(account)
    give_token(m, account, "first")
    for name, text in (("ca.crt", base64.b64decode(server["certificate-authority-data"])), ("namespace", b"default")):
        with open(os.path.join(account, name), "wb") as f:
            f.write(text)
    there = "/run/secrets/kubernetes.io/serviceaccount"
    host, port = server["server"].removeprefix("https://").split(":")
    env = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port, "METE_DATA": "", "KUBECONFIG": "", "METE_KUBECONFIG": ""}
    with scheduler(m, "--lease", "", shell=f"mount -t tmpfs tmpfs /run; mkdir -p {there}; mount --bind {account} {there}; ", env=env) as s:
        yield s, account


def test_kube_scheduler_places_pods_of_its_name():
    with Mete("emulated:2xH100") as m:
        apply(m, ours("early", "true", 1), ours("big", "true", 3), pod("other", "sleep 1000", 1))
        wait(lambda: nodes_of(m, "other") != [None], "the pod of Mete's own scheduler")
        with scheduler(m) as s:
            m.wait_phase("early", "Succeeded")
            said = wait(lambda: [c for c in m.object("pod", "big")["status"].get("conditions", []) if c["type"] == "PodScheduled" and
                                 not c["message"].startswith("waits for the scheduler")],  # as Mete's own server says
                        "the reason of the pod that never fits")
            equal((said[0]["status"], said[0]["reason"]), ("False", "Unschedulable"), said)
            check("gpu" in said[0]["message"], said)
            apply(m, ours("first", "sleep 1000", 1), ours("second", "true", 1))
            wait(lambda: nodes_of(m, "first") != [None], "the gpu that is left")
            m.ok("delete", "pod", "first", "--grace-period=1")
            m.wait_phase("second", "Succeeded")
            with scheduler(m, leads=False) as other:
                s.terminate()  # gives its lease back
                equal(other.stdout.readline(), "ready\n")
                equal(s.wait(60 * patience()), 0)
                apply(m, ours("after", "true", 1))
                m.wait_phase("after", "Succeeded")
                other.kill()
                other.wait()
        apply(m, ours("last", "true", 1))
        with scheduler_in_a_pod(m) as (_, account):
            m.wait_phase("last", "Succeeded")
            give_token(m, account, "second")
            wait(lambda: m.kubectl("get", "pods", "--token", "first", "--kubeconfig", bare_kubeconfig(m)).code != 0, "the first is refused")
            apply(m, ours("renewed", "true", 1))
            m.wait_phase("renewed", "Succeeded")


def test_the_definitions_of_a_cluster_are_those_of_the_program():
    for place in (MANIFESTS, os.path.join(ROOT, "deploy", "helm", "mete", "files")):
        with open(os.path.join(place, "mete-crds.yaml"), encoding="utf-8") as f:
            equal(execute([METE, "kube", "crds"]).out, f.read(), f"mete kube crds > {place}/mete-crds.yaml")
    with Mete("emulated:1xH100") as m:
        for wrong in kube_objects.check_objects(lambda o: m.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(o)).code == 0):
            check(False, *wrong)


class Recorder:
    """Forwards HTTP to the server's socket, and keeps what was asked for: {(verb, group, resource)}."""

    def __init__(self, m):
        self.m = m
        self.calls = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()
        cluster = {"server": f"http://127.0.0.1:{self.listener.getsockname()[1]}"}
        self.kubeconfig = os.path.join(m.dir, "recorder.kubeconfig")
        with open(self.kubeconfig, "w") as f:
            json.dump({"clusters": [{"name": "c", "cluster": cluster}], "contexts": [{"name": "c", "context": {"cluster": "c"}}],
                       "current-context": "c"}, f)

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(os.path.join(self.m.data, "mete.sock"))
                threading.Thread(target=self.forward, args=(client, server), daemon=True).start()

    def forward(self, client, server):
        with client, server, contextlib.suppress(OSError):
            while True:
                for s in select.select([client, server], [], [])[0]:
                    piece = s.recv(65536)
                    if not piece:
                        return
                    if s is client:
                        for method, path in re.findall(rb"(?:^|\n)([A-Z]+) (/api\S+) HTTP/1", piece):
                            self.calls.add(call_of(method.decode(), path.decode()))
                    (server if s is client else client).sendall(piece)


def call_of(method, path):
    """RBAC's words for a request."""
    path, _, query = path.partition("?")
    m = re.fullmatch(r"/api(?:s/([^/]+))?/v[^/]+(?:/namespaces/[^/]+(?=/))?/([^/]+)(?:/([^/]+))?(?:/([^/]+))?", path)
    group, resource, name, sub = m.groups()
    verbs = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
    verb = verbs.get(method) or ("watch" if "watch=true" in query else "get" if name else "list")
    return verb, group or "", f"{resource}/{sub}" if sub else resource


def manifest(m, name, *kinds):
    """The objects of these kinds in a manifest."""
    text = m.ok("label", "--local", "-f", os.path.join(MANIFESTS, name), "read=yes", "-o", "json")
    return [o for o in kube_objects.read_objects(text) if o["kind"] in kinds]


def rights(m):
    """All that the roles of the manifest allow the scheduler."""
    rules = [rule for role in manifest(m, "mete-scheduler.yaml", "ClusterRole", "Role") for rule in role["rules"]
             if role["metadata"]["name"] == "mete-scheduler"]
    return {(verb, group, resource) for r in rules for verb in r["verbs"] for group in r["apiGroups"] for resource in r["resources"]}


def test_kube_scheduler_calls_what_its_role_allows():
    with Mete("emulated:2xH100") as m:
        recorder = Recorder(m)
        with scheduler(m, "--kubeconfig", recorder.kubeconfig, env={"METE_DATA": ""}):
            apply(m, ours("big", "true", 3), ours("low", "sleep 1000", 2))
            wait(lambda: nodes_of(m, "low") != [None], "the pod is placed")
            m.ok("create", "priorityclass", "high", "--value=1000")
            apply(m, ours("high", "true", 2, priorityClassName="high"))
            m.wait_phase("high", "Succeeded")
            wait(lambda: ("create", "", "events") in recorder.calls, "an event")
        allowed = rights(m)
        equal(recorder.calls - allowed, set(), "calls without a right")
        reads = {r for r in allowed if r[0] in ("list", "watch") and not is_foreign(r)}  # those: test_kube_queues.py
        equal(reads - recorder.calls, set(), "rights that are not used")


def test_kube_scheduler_gives_claims_their_devices_and_calls_what_its_role_allows():
    api = FakeApiServer()
    api.lists |= {"pods", "deviceclasses", "resourceclaims"}
    claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/"
    pods = "/api/v1/namespaces/default/pods/"
    cel = 'device.attributes["gpu.nvidia.com"].type == "gpu"'
    try:
        api.put("/apis/resource.k8s.io/v1/deviceclasses/gpu.nvidia.com",
                {"metadata": {"name": "gpu.nvidia.com"}, "spec": {"selectors": [{"cel": {"expression": cel}}],
                 "config": [{"opaque": {"driver": "gpu.nvidia.com", "parameters": {"of": "the class"}}}]}})
        api.put("/api/v1/nodes/n1", {"kind": "Node", "metadata": {"name": "n1"}, "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}, "conditions": [{"type": "Ready", "status": "True"}]}})
        api.put("/apis/resource.k8s.io/v1/resourceslices/s1", {"metadata": {"name": "s1"}, "spec": {
            "driver": "gpu.nvidia.com", "nodeName": "n1", "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0", "attributes": {"type": {"string": "gpu"}, "uuid": {"string": "GPU-0"},
                                                         "productName": {"string": "NVIDIA H100 80GB HBM3"}}}]}})
        api.put(claims + "one", {"metadata": {"namespace": "default", "name": "one"}, "spec": {"devices": {
            "requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 1}}]}}})
        with tempfile.TemporaryDirectory() as d, claim_scheduler(api, d):
            api.put(pods + "p", {"kind": "Pod", "metadata": {"namespace": "default", "name": "p"}, "spec": {
                "schedulerName": NAME, "resourceClaims": [{"name": "c", "resourceClaimName": "one"}],
                "containers": [{"name": "main", "image": "x", "resources": {"claims": [{"name": "c"}]}}]}})
            wait(lambda: api.objects[pods + "p"]["spec"].get("nodeName") == "n1", "the pod's node")
            claim = api.objects[claims + "one"]
            equal(claim["metadata"]["finalizers"], ["resource.kubernetes.io/delete-protection"])
            equal(claim["status"]["reservedFor"], [{"resource": "pods", "name": "p", "uid": api.objects[pods + "p"]["metadata"]["uid"]}])
            equal(claim["status"]["allocation"], {
                "devices": {"results": [{"request": "gpu", "driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-0"}],
                            "config": [{"source": "FromClass", "requests": ["gpu"],
                                        "opaque": {"driver": "gpu.nvidia.com", "parameters": {"of": "the class"}}}]},
                "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}})
        with Mete("emulated:1xH100") as m:
            called = {call_of(*c) for c in api.calls}
            equal(called - rights(m), set(), "calls without a right")
            check({("patch", "resource.k8s.io", "resourceclaims"), ("patch", "resource.k8s.io", "resourceclaims/status")} <= called, called)
    finally:
        api.stop()


@contextlib.contextmanager
def claim_scheduler(api, directory):
    """The scheduler on an API server that is not Mete's."""
    p = subprocess.Popen([METE, "kube", "scheduler", "--kubeconfig", api.kubeconfig(os.path.join(directory, "kubeconfig")),
                          "--scheduler-name", NAME, "--lease", ""], stdout=subprocess.PIPE, text=True)
    try:
        equal(p.stdout.readline(), "ready\n")
        yield p
    finally:
        p.terminate()
        p.wait(60 * patience())
        p.stdout.close()


def openssl(*words):
    r = execute(["openssl", *words])
    equal(r.code, 0, r)


def certificates(directory):
    """Files of an authority and of a server and a client that it signed."""
    at = {name: os.path.join(directory, name) for name in ("ca.crt", "ca.key", "server.crt", "server.key", "client.crt", "client.key", "names")}
    ec = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *ec, "-keyout", at["ca.key"], "-out", at["ca.crt"], "-subj", "/CN=ca")
    for who, usage in (("server", "serverAuth"), ("client", "clientAuth")):
        with open(at["names"], "w", encoding="utf-8") as f:
            f.write(f"subjectAltName=IP:127.0.0.1\nextendedKeyUsage={usage}\n")
        request = os.path.join(directory, "request")
        openssl("req", "-new", *ec, "-keyout", at[f"{who}.key"], "-out", request, "-subj", f"/CN={who}")
        openssl("x509", "-req", "-in", request, "-CA", at["ca.crt"], "-CAkey", at["ca.key"], "-CAcreateserial", "-extfile", at["names"],
                "-out", at[f"{who}.crt"])
    return at


def test_kube_extender_answers_those_whose_certificate_it_knows():
    with Mete("emulated:2xH100") as m:
        files = certificates(m.dir)
        with socket.create_server(("127.0.0.1", 0)) as s:
            address = f"127.0.0.1:{s.getsockname()[1]}"
        argv = [METE, "kube", "extender", "--kubeconfig", os.path.join(m.data, "kubeconfig"), "--listen", address]
        tls = ["--tls-cert", files["server.crt"], "--tls-key", files["server.key"], "--client-ca", files["ca.crt"]]
        for wrong, said in ((tls[:2], "need each other"), (tls[4:], "--client-ca needs --tls-cert")):
            r = execute([*argv, *wrong], env=m.env)
            check(r.code == 2 and said in r.err, r)
        r = execute([*argv, "--tls-cert", files["ca.key"], "--tls-key", files["server.key"]], env=m.env)
        check(r.code == 1 and "cannot use certificate" in r.err, r)
        with subprocess.Popen([*argv, *tls], env=m.env, stdout=subprocess.PIPE, text=True) as p:
            try:
                equal(p.stdout.readline(), "ready\n")
                request = {"Pod": json.loads(ours("one", "true", 1)), "NodeNames": [m.object("nodes")["items"][0]["metadata"]["name"], "none"]}
                known = ssl.create_default_context(cafile=files["ca.crt"])
                known.load_cert_chain(files["client.crt"], files["client.key"])

                def ask(context):
                    body = urllib.request.Request(f"https://{address}/filter", json.dumps(request).encode())
                    with urllib.request.urlopen(body, context=context, timeout=60) as answer:
                        return json.loads(answer.read())
                equal(ask(known)["NodeNames"], request["NodeNames"][:1])
                with contextlib.suppress(OSError):  # a URLError, or the end of the connection
                    check(False, "a client without a certificate was answered", ask(ssl.create_default_context(cafile=files["ca.crt"])))
            finally:
                p.terminate()


def test_the_image_has_what_the_scheduler_needs():
    with Mete("emulated:2xH100") as m:
        archive = os.path.join(m.dir, "image.tar")
        r = execute([os.path.join(ROOT, "tools", "package-image"), METE, archive])
        check(r.code == 0 and os.path.getsize(archive) < 40 << 20, r)
        image = r.out.strip().rsplit(" ", 1)[1]
        r = m.mete("image", "import", archive)
        equal(r.code, 0, r)
        deployment, = manifest(m, "mete-scheduler.yaml", "Deployment")
        for o in [deployment, *manifest(m, "mete-node.yaml", "DaemonSet")]:
            equal(o["spec"]["template"]["spec"]["containers"][0]["image"], image)
        namespace = deployment["metadata"]["namespace"]
        m.ok("create", "namespace", namespace)
        m.ok("create", "serviceaccount", "mete-scheduler", "-n", namespace)
        with open(os.path.join(m.data, "server", "users.yaml"), "w") as f:
            f.write(f'users:\n- name: "system:serviceaccount:{namespace}:mete-scheduler"\n  roles: [{{role: cluster-admin}}]\n')
        of_it = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "s", "namespace": namespace},
                 "spec": deployment["spec"]["template"]["spec"]}
        m.ok("apply", "-f", "-", stdin=json.dumps(of_it))
        wait(lambda: m.kubectl("logs", "s", "-n", namespace).out.endswith("ready\n"), "the scheduler in its pod is ready")
