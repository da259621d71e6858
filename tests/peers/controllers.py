"""Controllers of machine learning for Kubernetes, each built from its module and installed by its own manifests in a real `mete up` with a pod network.

- `argo`: Argo Workflows. A DAG whose steps ask for GPUs, fail once and try again, and pass artifacts by an S3 server (moto); a CronWorkflow.

Programs come from Go's module proxy (some minutes once), images are made of them as their Dockerfiles say, moto comes from PyPI.
Each runs in a process of its own, since it moves into a network namespace."""

import contextlib
import json
import multiprocessing
import os
import re
import shutil
import socket
import subprocess
import sys
import traceback
import urllib.request

import image_kit
import nvidia
from harness import ROOT, Mete, check, equal, wait
from network_kit import ADDRESS, PODS, enter_own_network
from test_driver import debian, import_image

PLACE = os.path.join(ROOT, "build", "peers", "controllers")
WORK = "example.com/work:1"  # the image of the steps: a shell, and Debian's C library for nvidia-smi
MOTO = "moto[server,s3]==5.2.5"

ARGO = "v3.7.0"
ARGO_MODULE = f"github.com/argoproj/argo-workflows/v3@{ARGO}"
ARGO_SUM = "h1:TDijZztm6dLruB7yZLH+Ps4OJKRwu0YSAJ4/NvceON0="
ARGO_LINKS = {"workflow/executor/osspecific/signal_linux.go": "signal_darwin.go"}


# ---- programs and images ----

def sources(module, digest, links=None):
    """A directory with the module's sources. Modules have no symbolic links: `links` names those that its repository has."""
    found = nvidia.module(module, digest)
    if not links:
        return found
    place = os.path.join(PLACE, "sources", digest[3:11].replace("/", "_"))
    if not os.path.exists(place):
        shutil.copytree(found, place + ".part", copy_function=shutil.copyfile)
        for link, target in links.items():
            os.symlink(target, os.path.join(place + ".part", link))
        os.rename(place + ".part", place)
    return place


def build(directory, packages, flags=""):
    """Builds packages of a module: {program: package}."""
    for program, package in packages.items():
        path = os.path.join(PLACE, program)
        if not os.path.exists(path):
            print(f"peers: building {program}", file=sys.stderr, flush=True)
            nvidia.go("build", "-trimpath", "-ldflags", f"-s -w {flags}", "-o", path, package, cwd=directory, env_more={"CGO_ENABLED": "0"})


def bring_program(m, name, program, config, files=()):
    """An image of one static program, as on the base `distroless/static`."""
    layer = image_kit.Layer().dir(".").dir("bin").dir("etc").dir("tmp", mode=0o1777).dir("home").dir("home/nonroot")
    layer.text("etc/passwd", "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")
    layer.text("etc/group", "root:x:0:\nnonroot:x:65532:\n")
    for path, text in files:
        layer.text(path, text)
    with open(os.path.join(PLACE, program), "rb") as f:
        layer.add(config["Entrypoint"][0].lstrip("/") if config["Entrypoint"][0].startswith("/") else "bin/" + config["Entrypoint"][0],
                  f.read(), mode=0o755)
    image = image_kit.Image([layer.octets()], {"Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"], **config}, compress=bytes)
    path = image_kit.write(os.path.join(m.dir, "image.tar"), image.docker(name))
    r = m.mete("image", "import", path)
    check(r.code == 0, name, r)
    os.unlink(path)


@contextlib.contextmanager
def machine(gpus="emulated:4xH100"):
    enter_own_network()
    with Mete(gpus, ["--pod-network", PODS]) as m:
        import_image(m, WORK, debian())
        try:
            yield m
        except BaseException:
            print(m.kubectl("get", "events,pods,deployments,jobs,services", "-A", "-o", "wide").out[-12000:])
            raise


def apart(function):
    """In a process of its own: a network namespace is entered once."""
    def run():
        try:
            function()
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    def main():
        p = multiprocessing.get_context("fork").Process(target=run)
        p.start()
        p.join()
        equal(p.exitcode, 0, function.__name__)

    return main


def rolled_out(m, deployment, ns):
    r = m.kubectl("rollout", "status", f"deployment/{deployment}", "-n", ns, "--timeout=180s", deadline_s=200)
    check(r.code == 0, r, m.kubectl("logs", f"deployment/{deployment}", "-n", ns, "--tail=60").out)


# ---- an S3 server ----

def moto():
    place = os.path.join(PLACE, "moto")
    if not os.path.exists(os.path.join(place, "bin", "moto_server")):
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        subprocess.run([os.path.join(place, "bin", "pip"), "install", "-q", MOTO], check=True)
    return os.path.join(place, "bin", "moto_server")


def answers(url):
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5) as r:
        return r.status == 200
    return False


@contextlib.contextmanager
def s3(m, bucket):
    """A bucket at an address of the machine. Gives its URL."""
    with socket.create_server((ADDRESS, 0)) as s:
        port = s.getsockname()[1]
    with open(os.path.join(m.dir, "moto.log"), "ab") as log, subprocess.Popen([moto(), "-H", ADDRESS, "-p", str(port)], stdout=log, stderr=log) as p:
        try:
            url = f"http://{ADDRESS}:{port}"
            wait(lambda: answers(url + "/moto-api/data.json"), "moto answers")
            with urllib.request.urlopen(urllib.request.Request(f"{url}/{bucket}", method="PUT")) as r:
                equal(r.status, 200)
            yield url
        finally:
            p.terminate()


def outside_service(name, url, port):
    """A Service, and an EndpointSlice by hand that leads to a server outside of the pods."""
    host, target = re.match(r"http://(.*):(\d+)", url).groups()
    return [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": [{"name": "api", "port": port}]}},
            {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
             "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
             "endpoints": [{"addresses": [host]}], "ports": [{"name": "api", "port": int(target), "protocol": "TCP"}]}]


def apply(m, ns, *objects):
    m.ok("apply", "-n", ns, "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))


# ---- Argo Workflows ----

def step(name, script, gpus=0, **fields):
    container = {"image": WORK, "command": ["sh", "-ec", script]}
    if gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": gpus}}
    return {"name": name, "container": container, **fields}


DAG = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "dag"}, "spec": {"entrypoint": "main", "templates": [
    {"name": "main", "dag": {"tasks": [
        {"name": "prepare", "template": "prepare"},
        {"name": "train", "template": "train", "depends": "prepare", "withItems": [1, 2],
         "arguments": {"parameters": [{"name": "n", "value": "{{item}}"}],
                       "artifacts": [{"name": "data", "from": "{{tasks.prepare.outputs.artifacts.data}}"}]}},
        {"name": "report", "template": "report", "depends": "train",
         "arguments": {"parameters": [{"name": "gpus", "value": "{{tasks.train.outputs.parameters.gpu}}"}]}},
        {"name": "unneeded", "template": "report", "depends": "train.Failed", "arguments": {"parameters": [{"name": "gpus", "value": "none"}]}}]}},
    step("prepare", "echo 42 > /tmp/data", outputs={"artifacts": [{"name": "data", "path": "/tmp/data"}]}),
    step("train", "[ $(cat /tmp/data) = 42 ]; nvidia-smi -L > /tmp/gpu; echo attempt {{retries}} of {{inputs.parameters.n}}; [ {{retries}} -ge 1 ]", gpus=1,
         retryStrategy={"limit": 2, "backoff": {"duration": "1"}},
         inputs={"parameters": [{"name": "n"}], "artifacts": [{"name": "data", "path": "/tmp/data"}]},
         outputs={"parameters": [{"name": "gpu", "valueFrom": {"path": "/tmp/gpu"}}]}),
    step("report", "echo '{{inputs.parameters.gpus}}' > /tmp/report; cat /tmp/report", inputs={"parameters": [{"name": "gpus"}]},
         outputs={"artifacts": [{"name": "report", "path": "/tmp/report", "archive": {"none": {}}}]}),
]}}
CRON = {"apiVersion": "argoproj.io/v1alpha1", "kind": "CronWorkflow", "metadata": {"name": "each-minute"}, "spec": {
    "schedules": ["* * * * *"], "concurrencyPolicy": "Forbid",
    "workflowSpec": {"entrypoint": "main", "templates": [step("main", "nvidia-smi -L", gpus=1)]}}}


def argo_sources():
    return sources(ARGO_MODULE, ARGO_SUM, ARGO_LINKS)


def argo_manifest():
    """quick-start-minimal.yaml of the release: without its server, whose web page is not in the module, and without MinIO and httpbin."""
    with open(os.path.join(argo_sources(), "manifests", "quick-start-minimal.yaml"), encoding="utf-8") as f:
        parts = f.read().replace("argoproj/workflow-controller:latest", f"argoproj/workflow-controller:{ARGO}").split("\n---\n")
    left_out = re.compile(r"^kind: (Deployment|Service)\n(?s:.*)\n  name: (argo-server|minio|httpbin)\n", re.M)
    return "\n---\n".join(p for p in parts if not left_out.search(p))


def ended(m, workflow):
    """The Workflow, which has ended."""
    def look():
        w = m.object("workflow", workflow, "-n", "argo")
        return w if w.get("status", {}).get("phase") in ("Succeeded", "Failed", "Error") else None

    return wait(look, f"{workflow} ends", 180)


def argo_main():
    with machine() as m, s3(m, "my-bucket") as url:
        with open(os.path.join(argo_sources(), "hack", "nsswitch.conf"), encoding="utf-8") as f:
            files = [("etc/nsswitch.conf", f.read())]
        bring_program(m, f"quay.io/argoproj/workflow-controller:{ARGO}", "workflow-controller", {"Entrypoint": ["workflow-controller"], "User": "8737"}, files)
        bring_program(m, f"quay.io/argoproj/argoexec:{ARGO}", "argoexec", {"Entrypoint": ["argoexec"]}, files)
        m.ok("create", "namespace", "argo")
        m.ok("apply", "-n", "argo", "-f", "-", stdin=argo_manifest())
        apply(m, "argo", *outside_service("minio", url, 9000))
        rolled_out(m, "workflow-controller", "argo")
        m.ok("create", "-n", "argo", "-f", "-", stdin=json.dumps(DAG))
        m.ok("create", "-n", "argo", "-f", "-", stdin=json.dumps(CRON))
        the_dag_has_run(m, url, ended(m, "dag"))
        a_cron_workflow_runs(m)
        m.ok("delete", "workflow", "dag", "-n", "argo")


def the_dag_has_run(m, url, workflow):
    nodes = workflow["status"]["nodes"].values()
    equal(workflow["status"]["phase"], "Succeeded", json.dumps(workflow["status"], indent=1)[:8000])
    equal(sorted((n["displayName"], n["phase"]) for n in nodes if n["type"] == "Pod"),
          [("prepare", "Succeeded"), ("report", "Succeeded"), ("train(0:1)(0)", "Failed"), ("train(0:1)(1)", "Succeeded"),
           ("train(1:2)(0)", "Failed"), ("train(1:2)(1)", "Succeeded")])
    equal([n["phase"] for n in nodes if n["displayName"] == "unneeded"], ["Omitted"])
    report = next(n for n in nodes if n["displayName"] == "report" and n["type"] == "Pod")
    key = next(a["s3"]["key"] for a in report["outputs"]["artifacts"] if a["name"] == "report")
    signed = {"Authorization": "AWS4-HMAC-SHA256 Credential=admin/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"}
    with urllib.request.urlopen(urllib.request.Request(f"{url}/my-bucket/{key}", headers=signed)) as r:
        text = r.read().decode()
    equal(text.count("GPU 0: NVIDIA H100"), 2, text)
    logs = [a["s3"]["key"] for n in nodes if n["type"] == "Pod" for a in n.get("outputs", {}).get("artifacts", []) if a["name"] == "main-logs"]
    equal(len(logs), 6, "the logs are archived, as the default repository asks")
    usage = json.loads(m.ok("get", "--raw", "/apis/mete.dev/v1/ps?namespace=argo"))
    check(usage, "the pods are seen as others")


def a_cron_workflow_runs(m):
    def look():
        found = m.object("workflows", "-n", "argo", "-l", "workflows.argoproj.io/cron-workflow=each-minute")["items"]
        return [w for w in found if w.get("status", {}).get("phase") == "Succeeded"]

    wait(look, "the CronWorkflow has run", 180)
    check(m.object("cronworkflow", "each-minute", "-n", "argo")["status"]["lastScheduledTime"])


def argo():
    directory = argo_sources()
    build(directory, {"workflow-controller": "./cmd/workflow-controller", "argoexec": "./cmd/argoexec"},
          f"-X github.com/argoproj/argo-workflows/v3.version={ARGO}")
    moto()
    apart(argo_main)()


PEERS = {"argo": argo}
