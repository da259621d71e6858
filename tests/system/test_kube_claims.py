"""mete kube node --offer claims: the driver of ResourceClaims beside a kubelet, which the official gRPC library plays."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import types

from fake_api_server import FakeApiServer
from harness import KUBECTL, METE, ROOT, check, equal, execute, wait
from test_kube_node import HERE, PYTHON, Node
from test_kube_scheduler import call_of, manifest

PROTO = os.path.join(ROOT, "src", "kubelet", "proto")
SLICES = "/apis/resource.k8s.io/{}/resourceslices"
DRIVER = "gpu.nvidia.com"


class Client:
    """A process fake_grpc_client.py at a socket."""

    def __init__(self, path, proto):
        self.process = subprocess.Popen([PYTHON, os.path.join(HERE, "fake_grpc_client.py"), path, os.path.join(PROTO, proto)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines = queue.Queue()
        self.events = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            line = json.loads(line)
            if "event" in line:
                self.events.append(line["event"])
            else:
                self.lines.put(line)

    def order(self, path, ask, answer, request=None, **more):
        self.process.stdin.write(json.dumps({"path": path, "ask": ask, "answer": answer, "request": request or {}, **more}) + "\n")
        self.process.stdin.flush()

    def call(self, *words):
        self.order(*words)
        return self.lines.get(timeout=120)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()


class ClaimNode(Node):
    """mete kube node as a driver of claims of node n1, at a server that knows this Node."""

    def __init__(self, api, gpus="emulated:4xH100", config=None):
        super().__init__(gpus, config)
        self.api = api
        api.put("/api/v1/nodes/n1", {"metadata": {"name": "n1"}})
        self.argv += ["--offer", "claims", "--node-name", "n1", "--kubeconfig", api.kubeconfig(os.path.join(self.dir, "kubeconfig"))]
        self.registry = os.path.join(self.dir, "kubelet", "plugins_registry", DRIVER + "-reg.sock")
        self.socket = os.path.join(self.dir, "kubelet", "plugins", DRIVER, "dra.sock")

    def slices(self, version="v1"):
        return self.api.below(SLICES.format(version))

    def devices(self, n, fits=lambda devices: True):
        """The published devices, once there are n which fit."""
        def look():
            found = [d for s in self.slices() for d in s["spec"].get("devices", [])]
            return len(found) == n and fits(found) and found
        return wait(look, f"{n} published devices")

    def claim(self, name, *devices, config=(), **result):
        """A claim that a scheduler has allocated."""
        results = [{"request": "gpu/large", "driver": DRIVER, "pool": "n1", "device": d, **result} for d in devices]
        results.append({"request": "nic", "driver": "another.example.com", "pool": "n1", "device": "nic-0"})
        status = {"allocation": {"devices": {"results": results, "config": list(config)}}}
        return self.api.put(self.claim_path(name), {"metadata": {"name": name, "namespace": "team"}, "status": status})

    @staticmethod
    def claim_path(name):
        return f"/apis/resource.k8s.io/v1/namespaces/team/resourceclaims/{name}"


class Kubelet:
    """The kubelet's half: it finds the driver by its registration."""

    def __init__(self, node, version="v1"):
        self.version = version
        wait(lambda: os.path.exists(node.registry), "the socket of the registration")
        registry = Client(node.registry, "pluginregistration.proto")
        self.info = registry.call("/pluginregistration.Registration/GetInfo", "InfoRequest", "PluginInfo")["answer"]
        registry.call("/pluginregistration.Registration/NotifyRegistrationStatus", "RegistrationStatus", "RegistrationStatusResponse",
                      {"plugin_registered": True})
        registry.kill()
        self.client = Client(self.info["endpoint"], "dra.proto")

    def prepare(self, *claims):
        """Of each claim: [(request, device, CDI names)], or why there are none."""
        answer = self.client.call(f"/k8s.io.kubelet.pkg.apis.dra.{self.version}.DRAPlugin/NodePrepareResources",
                                  "NodePrepareResourcesRequest", "NodePrepareResourcesResponse", {"claims": [ask(c) for c in claims]})
        if "answer" not in answer:
            return answer
        by_uid = {c["key"]: c["value"] for c in answer["answer"].get("claims", [])}
        found = [by_uid[c["metadata"]["uid"]] for c in claims]
        return [c.get("error") or [(*d["request_names"], d["device_name"], *d["cdi_device_ids"]) for d in c["devices"]] for c in found]

    def unprepare(self, *claims):
        answer = self.client.call(f"/k8s.io.kubelet.pkg.apis.dra.{self.version}.DRAPlugin/NodeUnprepareResources",
                                  "NodeUnprepareResourcesRequest", "NodeUnprepareResourcesResponse", {"claims": [ask(c) for c in claims]})
        equal([c["key"] for c in answer["answer"]["claims"]], [c["metadata"]["uid"] for c in claims])
        equal([c.get("value", {}).get("error") for c in answer["answer"]["claims"]], [None] * len(claims))


def ask(claim):
    return {k: claim["metadata"][k] for k in ("namespace", "uid", "name")}


@contextlib.contextmanager
def world(gpus="emulated:4xH100", versions=("v1", "v1beta1"), config=None):
    api = FakeApiServer(versions)
    try:
        with ClaimNode(api, gpus, config) as n:
            yield api, n
    finally:
        api.stop()


@contextlib.contextmanager
def kubelet(node, version="v1"):
    k = Kubelet(node, version)
    try:
        yield k
    finally:
        k.client.kill()


def uuids(devices):
    return [d["attributes"]["uuid"]["string"] for d in devices]


def test_kube_claims_of_gpus_are_published_and_prepared():
    with world() as (api, n), kubelet(n) as k:
        equal(k.info, {"type": "DRAPlugin", "name": DRIVER, "endpoint": n.socket,
                       "supported_versions": ["v1.DRAPlugin", "v1beta1.DRAPlugin", "v1alpha1.DRAResourceHealth"]})
        devices = n.devices(4)
        equal([d["name"] for d in devices], [f"gpu-{i}" for i in range(4)])
        facts = devices[0]["attributes"]
        equal((facts["type"]["string"], facts["productName"]["string"], facts["cudaComputeCapability"]["version"],
               facts["resource.kubernetes.io/pciBusID"]["string"]), ("gpu", "NVIDIA H100 80GB HBM3", "9.0.0", "0000:10:00.0"))
        equal(devices[0]["capacity"], {"memory": {"value": "81559Mi"}})
        s, = n.slices()
        equal((s["metadata"]["name"], s["spec"]["driver"], s["spec"]["nodeName"], s["spec"]["pool"]),
              (f"n1-{DRIVER}", DRIVER, "n1", {"name": "n1", "generation": 1, "resourceSliceCount": 1}))
        node = api.objects["/api/v1/nodes/n1"]
        equal(s["metadata"]["ownerReferences"], [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": node["metadata"]["uid"],
                                                  "controller": True}])
        a, b = n.claim("a", "gpu-1", "gpu-2"), n.claim("b", "gpu-0")
        ids = uuids(devices)
        want = [[("gpu", "gpu-1", f"mete.dev/gpu={ids[1]}"), ("gpu", "gpu-2", f"mete.dev/gpu={ids[2]}")],
                [("gpu", "gpu-0", f"mete.dev/gpu={ids[0]}")]]
        equal(k.prepare(a, b), want)
        check(set(ids) <= {d["name"] for d in n.cdi()["devices"]}, "the CDI file has the devices")
        equal(k.prepare(b), want[1:], "the second time")
        k.unprepare(a)
        k.unprepare(a)


def test_kube_claims_stay_prepared_over_kills_and_without_an_api_server():
    with world() as (api, n):
        with kubelet(n) as k:
            ids = uuids(n.devices(4))
            a, b = n.claim("a", "gpu-3"), n.claim("b", "gpu-2")
            equal(len(k.prepare(a)[0]), 1)
            writes = len([c for c in api.calls if c[0] != "GET"])
            n.process.send_signal(signal.SIGKILL)
            n.process.wait()
        n.start()
        with kubelet(n) as k:
            equal(wait(lambda: (r := k.prepare(b)) and isinstance(r, list) and isinstance(r[0], list) and r, "an answer"),
                  [[("gpu", "gpu-2", f"mete.dev/gpu={ids[2]}")]])
            equal(len([c for c in api.calls if c[0] != "GET"]), writes, "published devices that are right are left alone")
            api.is_away = True
            equal(k.prepare(a), [[("gpu", "gpu-3", f"mete.dev/gpu={ids[3]}")]])
            k.unprepare(a)
            refused = k.prepare(a)
            check("away" in refused[0], refused)
            os.remove(n.registry)
            wait(lambda: os.path.exists(n.registry), "the socket again")


def test_kube_claims_never_share_a_device_by_mistake():
    with world() as (api, n), kubelet(n) as k:
        n.devices(4)
        a, b = n.claim("a", "gpu-1"), n.claim("b", "gpu-1")
        k.prepare(a)
        equal(k.prepare(b), ["claim team/b: device gpu-1 is held by claim team/a"])
        watcher = n.claim("watcher", "gpu-1", adminAccess=True)
        equal(len(k.prepare(watcher)[0]), 1, "monitoring sees devices of others")
        api.remove(n.claim_path("a"))
        equal(len(k.prepare(b)[0]), 1, "the kubelet's word about a was lost")
        equal(k.prepare({**a, "metadata": {**a["metadata"], "name": "b"}}),
              [f"claim team/b: the claim of this name has the uid {b['metadata']['uid']} now, not {a['metadata']['uid']}"])


def test_kube_claims_that_cannot_be_prepared_say_why():
    def opaque(**parameters):
        return [{"opaque": {"driver": DRIVER, "parameters": parameters}}]
    with world() as (api, n), kubelet(n) as k:
        n.devices(4)
        nvidia = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig"}
        slicing = n.claim("slicing", "gpu-0", config=opaque(**nvidia, sharing={"strategy": "TimeSlicing"}))
        equal(len(k.prepare(slicing)[0]), 1)
        for config, said in ((opaque(**nvidia, sharing={"strategy": "MPS"}), "sharing.strategy MPS: not implemented yet"),
                             (opaque(apiVersion="mete.dev/v1", kind="Share", compute=0.5), "no capped shares on a cluster yet"),
                             (opaque(kind="Magic"), "want GpuConfig")):
            refused = k.prepare(n.claim("p", "gpu-1", config=config))[0]
            check("claim team/p: config[0].opaque.parameters: " in refused and said in refused, refused)
        equal(k.prepare(n.claim("q", "gpu-9")), ["claim team/q: this node has no device gpu-9 now"])
        api.put(n.claim_path("r"), {"metadata": {"name": "r", "namespace": "team"}, "status": {}})
        r = api.objects[n.claim_path("r")]
        equal(k.prepare(r), ["claim team/r: the claim has no devices: no scheduler has allocated them"])
        gone = {"metadata": {"name": "gone", "namespace": "team", "uid": "0-0"}}
        equal(k.prepare(gone), ["claim team/gone: NotFound"])
        equal(k.prepare(), [])


def test_kube_claims_know_the_health_of_devices():
    with world("emulated:2xH100") as (_, n), kubelet(n) as k:
        n.devices(2)
        k.client.order("/v1alpha1.DRAResourceHealth/NodeWatchResources", "NodeWatchResourcesRequest", "NodeWatchResourcesResponse", stream=True)

        def health(want):
            wait(lambda: k.client.events and [(d["device"]["device_name"], d["health"]) for d in k.client.events[-1]["devices"]] == want,
                 f"health {want}")
        health([("gpu-0", 1), ("gpu-1", 1)])
        n.set_gpu(1, "lost=1")
        n.devices(2, lambda d: [t["key"] for t in d[1].get("taints", [])] == [f"{DRIVER}/gpu-lost"] and "taints" not in d[0])
        health([("gpu-0", 1), ("gpu-1", 2)])
        refused = k.prepare(n.claim("a", "gpu-1"))
        check("device gpu-1 is lost" in refused[0], refused)
        n.set_gpu(1, "lost=0")
        n.devices(2, lambda d: "taints" not in d[1])
        health([("gpu-0", 1), ("gpu-1", 1)])
        equal(n.slices()[0]["spec"]["pool"]["generation"], 3)


def test_kube_claims_speak_to_older_servers_and_kubelets():
    with world("emulated:2xH100", ("v1beta1",)) as (api, n), kubelet(n, "v1beta1") as k:
        def drop_taints(o):
            for d in o.get("spec", {}).get("devices", []):
                d["basic"].pop("taints", None)
            return o
        api.refine = drop_taints
        s = wait(lambda: n.slices("v1beta1"), "slices")[0]
        equal([(d["name"], d["basic"]["capacity"]["memory"]["value"]) for d in s["spec"]["devices"]],
              [("gpu-0", "81559Mi"), ("gpu-1", "81559Mi")])
        path = "/apis/resource.k8s.io/v1beta1/namespaces/team/resourceclaims/a"
        allocation = {"devices": {"results": [{"request": "gpu", "driver": DRIVER, "pool": "n1", "device": "gpu-1"}]}}
        a = api.put(path, {"metadata": {"name": "a", "namespace": "team"}, "status": {"allocation": allocation}})
        equal([len(c) for c in k.prepare(a)], [1])
        n.set_gpu(0, "lost=1")
        wait(lambda: [d["name"] for d in n.slices("v1beta1")[0]["spec"]["devices"]] == ["gpu-1"], "the device without a taint is left out")


def test_kube_claims_publish_again_what_a_kubelet_removed():
    with world("emulated:2xH100") as (api, n), kubelet(n):
        n.devices(2)
        path, = [p for p in api.objects if "resourceslices" in p]
        api.remove(path)
        n.devices(2)
        api.put(path + "-7", {"metadata": {"name": path.rsplit("/", 1)[1] + "-7"}, "spec": {"devices": [], "pool": {"generation": 1}}})
        wait(lambda: path + "-7" not in api.objects, "a slice of nothing is removed")
        other = json.loads(json.dumps(api.objects[path]))
        other["spec"]["devices"].pop()
        api.put(path, other)
        n.devices(2)


def test_kube_claims_share_replicas():
    config = "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4, devices: [0]}]}}\n"
    with world("emulated:2xH100", config=config) as (_, n), kubelet(n) as k:
        shared, whole = n.devices(2)
        equal((shared["allowMultipleAllocations"], "allowMultipleAllocations" in whole), (True, False))
        equal(shared["capacity"]["shares"], {"value": "4", "requestPolicy": {"default": "1", "validRange": {"min": "1", "max": "4", "step": "1"}}})
        equal(shared["capacity"]["memory"]["requestPolicy"]["default"], "0")
        a, b = (n.claim(name, "gpu-0", shareID=f"share-{name}") for name in "ab")
        equal([len(c) for c in (*k.prepare(a), *k.prepare(b))], [1, 1])
        equal(k.prepare(n.claim("c", "gpu-0")), ["claim team/c: device gpu-0 is held by claim team/a"])


def test_kube_claims_of_mig_instances():
    with world("emulated:2xH100") as (_, n):
        with kubelet(n):
            whole = uuids(n.devices(2))
        n.stop()  # a switch of MIG wants the driver for itself
        slice_gpu(n, whole[0], ("3g.40gb", 4, 4), ("1g.10gb", 0, 1))
        n.start()
        with kubelet(n) as k:
            prepare_an_instance(n, k, whole)


def prepare_an_instance(n, k, whole):
    devices = n.devices(3)
    by_name = {d["name"]: d for d in devices}
    equal(sorted(by_name), ["gpu-0-mig-1g10gb-0", "gpu-0-mig-3g40gb-4", "gpu-1"])
    large = by_name["gpu-0-mig-3g40gb-4"]
    facts = large["attributes"]
    equal((facts["type"]["string"], facts["profile"]["string"], facts["parentUUID"]["string"]), ("mig", "3g.40gb", whole[0]))
    equal([c for c in sorted(large["capacity"]) if c.startswith("memorySlice")], [f"memorySlice{i}" for i in range(4, 8)])
    found = k.prepare(n.claim("a", "gpu-0-mig-3g40gb-4"))
    equal(found, [[("gpu", "gpu-0-mig-3g40gb-4", f"mete.dev/gpu={facts['uuid']['string']}")]])
    wait(lambda: facts["uuid"]["string"] in {d["name"] for d in n.cdi()["devices"]}, "the instance in the CDI file")


def slice_gpu(node, uuid, *slices):
    """Divides an emulated gpu into (profile, start, size)."""
    plan = [{"op": "enable"}] + [{"op": "create", "profile": p, "start": start, "size": size} for p, start, size in slices]
    sim = os.path.join(node.dir, "gpusim")
    env = {**os.environ, "METE_DRIVER_ROOT": os.path.join(sim, "root"), "METE_GPUSIM_MACHINE": os.path.join(sim, "machine.bin"),
           "METE_GPUSIM_ALL": "1"}
    r = execute([METE, "gpu-helper", "partition", uuid], stdin=json.dumps(plan) + "\n", env=env)
    check('"end"' in r.out, r)


def test_kube_claims_call_what_their_role_allows():
    kubectl = types.SimpleNamespace(ok=lambda *words: execute([KUBECTL, *words]).out)
    role, = manifest(kubectl, "mete-node-claims.yaml", "ClusterRole")
    allowed = {(verb, r["apiGroups"][0], resource) for r in role["rules"] for verb in r["verbs"] for resource in r["resources"]}
    with world("emulated:1xH100") as (api, n), kubelet(n) as k:
        n.devices(1)
        k.prepare(n.claim("a", "gpu-0"))
        path, = [p for p in api.objects if "resourceslices" in p]
        api.put(path, {**api.objects[path], "spec": {"pool": {"generation": 1}, "devices": []}})
        api.put(path + "-7", {"metadata": {"name": path.rsplit("/", 1)[1] + "-7"}, "spec": {"pool": {"generation": 1}}})
        n.devices(1)
        wait(lambda: path + "-7" not in api.objects, "all kinds of writes")
        equal({call_of(*c) for c in api.calls if c[1] != "/apis/resource.k8s.io"}, allowed)


def test_kube_claims_refuse_what_they_cannot_do():
    with world() as (_, n):
        wait(lambda: os.path.exists(n.registry), "the first driver")
        second = execute([*n.argv, "--data", n.dir + "/2"])
        check(second.code != 0 and "another driver for gpu.nvidia.com serves this kubelet" in second.err, second)
        for more, said in ((["--offer", "magic"], "magic"),
                           (["--node-name", "N_1"], "name of the node"), (["--kubeconfig", "/nowhere"], "/nowhere")):
            r = execute([*n.argv, *more])
            check(r.code != 0 and said in r.err, said, r)
        env = {k: v for k, v in os.environ.items() if k not in ("KUBECONFIG", "METE_KUBECONFIG")}
        r = execute([METE, "kube", "node", "--offer", "claims", "--gpus", "emulated:1xH100", "--data", n.dir], env=env)
        check(r.code != 0 and "no API server: want --kubeconfig FILE" in r.err, r)
