"""Programs of NVIDIA on the emulated driver, each against Mete: what they say of a machine must be what Mete says of it.

- the getters of go-nvml, each called on each gpu;
- gpu-feature-discovery: its labels against those of the Node;
- the device plugin, with a kubelet played by nvidia/kubelet: its devices against the Node's allocatable;
- nvidia-ctk: its CDI file against the one of `mete cdi generate`, and a container that Mete runs by it, with its hooks.

build/peers/go has the programs, of the versions below, built from Go's module proxy: this takes some minutes once."""

import contextlib
import glob
import hashlib
import json
import os
import shutil
import subprocess
import tempfile

from harness import ROOT, Mete, check, equal, execute, wait
from test_cdi import file_of_the_administrator
from test_driver import MULTIARCH, debian, image_of, import_image, run

HERE = os.path.dirname(os.path.abspath(__file__))
PLACE = os.path.join(ROOT, "build", "peers", "go")
PLUGIN = "github.com/NVIDIA/k8s-device-plugin@v0.18.0"
TOOLKIT = "github.com/NVIDIA/nvidia-container-toolkit@v1.20.1"
PROGRAMS = {"gpu-feature-discovery": PLUGIN, "nvidia-device-plugin": PLUGIN, "nvidia-ctk": TOOLKIT, "nvidia-cdi-hook": TOOLKIT}
SUMS = {PLUGIN: "h1:zTAcR+pU90bEFwLD6WVFn2F77h8bDzqpIuqn+O2Sl/s=",
        TOOLKIT: "h1:DsE0Pnu2XAl7IC00W2tmld7i/GerwnZGzRbmChj295Q="}
PRODUCT = "NVIDIA-H100-80GB-HBM3"
DEVICE_MAJOR = 384  # GPUSIM_DEVICE_MAJOR

# Files that the device plugin, gpu-feature-discovery and Mete read.
MIXED = "version: v1\nflags: {migStrategy: mixed}\n"
SINGLE = "version: v1\nflags: {migStrategy: single}\n"
REPLICAS = MIXED + """sharing:
  timeSlicing:
    renameByDefault: %s
    resources:
    - name: nvidia.com/gpu
      replicas: 4
"""


# ---- programs ----

def go(*words, env_more=None, **options):
    program = shutil.which("go") or os.path.join(ROOT, "build", "venv", "bin", "go")
    env = {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -modcacherw -buildvcs=false", "CGO_CFLAGS": "-w",
           "GOCACHE": os.path.join(PLACE, "cache"), "GOMODCACHE": os.path.join(PLACE, "modules"), **os.environ, **(env_more or {})}
    return subprocess.run([program, *words], check=True, env=env, stdout=subprocess.PIPE, text=True, **options).stdout


def module(name, digest):
    """The directory of a module's sources, which have the hash."""
    found = json.loads(go("mod", "download", "-json", name, cwd=os.path.join(HERE, "nvidia")))
    equal(found["Sum"], digest, name)
    return found["Dir"]


def sources():
    """What the programs are made from, as a text that changes with it."""
    digest = hashlib.sha256(json.dumps([PROGRAMS, SUMS]).encode())
    for path in sorted(glob.glob(os.path.join(HERE, "nvidia", "**"), recursive=True)):
        if os.path.isfile(path):
            with open(path, "rb") as f:
                digest.update(f.read())
    return digest.hexdigest()


def build():
    stamp = os.path.join(PLACE, "sources.txt")
    if os.path.exists(stamp) and open(stamp, encoding="utf-8").read() == sources():
        return
    print("peers: building the programs of NVIDIA", flush=True)
    os.makedirs(PLACE, exist_ok=True)
    go("build", "-o", PLACE, "./nvml", "./kubelet", cwd=os.path.join(HERE, "nvidia"))
    for program, of in PROGRAMS.items():
        go("build", "-o", PLACE, f"./cmd/{program}", cwd=module(of, SUMS[of]))
    with open(stamp, "w", encoding="utf-8") as f:
        f.write(sources())


def build_one(name):
    """One program alone, for tests/kube/run."""
    if not os.path.exists(program(name)):
        os.makedirs(PLACE, exist_ok=True)
        go("build", "-o", program(name), f"./cmd/{name}", cwd=module(PROGRAMS[name], SUMS[PROGRAMS[name]]))


def program(name):
    return os.path.join(PLACE, name)


# ---- machines ----

def driver_root(m):
    return os.path.join(m.data, "node", "gpusim", "root")


def env_of(m):
    """The environment in which programs of the host find the emulated driver of a Mete."""
    library = glob.glob(os.path.join(driver_root(m), "usr", "lib*", "**", "libnvidia-ml.so.1"), recursive=True)[0]
    return {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(library), "METE_GPUSIM_ALL": "1",
            "METE_GPUSIM_MACHINE": os.path.join(m.data, "node", "gpusim", "machine.bin")}


def node(m):
    return m.object("nodes")["items"][0]


@contextlib.contextmanager
def configured(gpus, text):
    """A machine whose gpus are given as a file of the device plugin says, and that file."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(text)
        f.flush()
        with Mete(gpus=gpus, arguments=("--gpu-config", f.name)) as m:
            yield m, f.name


def divide(m, gpus, slices, product):
    """Makes slices of gpus, and waits for a label of that product."""
    name = node(m)["metadata"]["name"]
    r = m.mete("gpus", "set", *(f"{name}/{gpu}" for gpu in gpus), "--mode", f"slices={slices}")
    check(r.code == 0, r)
    wait(lambda: product in node(m)["metadata"]["labels"].values(), f"a label says {product}")


# ---- go-nvml ----

# What a function may say on a gpu that works.
FINE = {"Success", "Not Supported", "Invalid Argument", "Not Found"}


def bindings(m):
    r = execute([program("nvml")], env=env_of(m))
    check(r.code == 0, r)
    said = json.loads(r.out)
    for values in [said["system"], *said["devices"]]:
        check(len(values) > 5, values)
        equal({name: code for name, (_, code) in values.items() if code not in FINE}, {})
    shown = sorted((d["GetUUID"][0], d["GetName"][0]) for d in said["devices"])
    equal(shown, sorted((g["metadata"]["name"], g["spec"]["product"])
                        for g in json.loads(m.mete("gpus", "-o", "json").out)["items"]))


# ---- gpu-feature-discovery ----

# The first is the operator's; the second is a time; the third tells of a guest of vGPU, which Mete does not look for.
OTHERS = {"nvidia.com/gpu.present", "nvidia.com/gfd.timestamp", "nvidia.com/vgpu.present"}


def without_others(labels):
    return {key: value for key, value in labels.items() if key.startswith("nvidia.com/") and key not in OTHERS}


def labels(m, config):
    path = os.path.join(m.dir, "labels")
    r = execute([program("gpu-feature-discovery"), "--oneshot", "--output-file", path, "--config-file", config], env=env_of(m))
    check(r.code == 0, r)
    with open(path, encoding="utf-8") as f:
        theirs = dict(line.rstrip("\n").split("=", 1) for line in f)
    equal(without_others(node(m)["metadata"]["labels"]), without_others(theirs))


# ---- the device plugin ----

# The plugin's directory and the file of the capabilities are fixed: they lie in file systems of this mount namespace alone.
KUBELET = """set -e
mount -t tmpfs tmpfs /var/lib
mount -t tmpfs tmpfs /proc/driver
mkdir -p /proc/driver/nvidia-caps /var/lib/kubelet/device-plugins
cp "$0" /proc/driver/nvidia-caps/mig-minors
program=$1
shift
exec "$program" /var/lib/kubelet/device-plugins "$@"
"""


def mig_minors(m):
    """The driver's file of capabilities, which the emulation has not: the minor numbers of all that instances could need."""
    path = os.path.join(m.dir, "mig-minors")
    names = ["config", "monitor"]
    for gpu in range(2):
        for instance in range(15):
            names += [f"gpu{gpu}/gi{instance}/access"] + [f"gpu{gpu}/gi{instance}/ci{c}/access" for c in range(8)]
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(f"{name} {minor}\n" for minor, name in enumerate(names, 1))
    return path


def devices(m, config):
    offered = {key: int(value) for key, value in node(m)["status"]["allocatable"].items() if key.startswith("nvidia.com/")}
    want = {key: value for key, value in offered.items() if value}
    r = execute(["unshare", "-m", "sh", "-c", KUBELET, mig_minors(m), program("kubelet"), str(len(want)), program("nvidia-device-plugin"),
                 "--config-file", config], env=env_of(m))
    check(r.code == 0, r)
    found = {f["resource"]: f for f in json.loads(r.out)}
    equal({resource: len(f["devices"]) for resource, f in found.items()}, want)
    equal({d["health"] for f in found.values() for d in f["devices"]}, {"Healthy"})
    held = set()
    for f in found.values():
        given = {d["ID"].split("::")[0] for d in f["devices"]}
        equal(set(f["allocated"]["envs"]["NVIDIA_VISIBLE_DEVICES"].split(",")), given)
        held |= given
    equal(held, uuids(m))


def uuids(m):
    """Of the gpus that are not sliced, and of the slices."""
    found = set()
    for g in json.loads(m.mete("gpus", "-o", "json").out)["items"]:
        slices = g["spec"].get("slices") or []
        found |= {s["uuid"] for s in slices} if g["spec"].get("mode") == "slices" else {g["metadata"]["name"]}
    return found


# ---- nvidia-ctk ----

@contextlib.contextmanager
def device_nodes(m, n):
    """A directory with the emulated device nodes, which Mete makes in containers only."""
    root = os.path.join(m.dir, "devices")
    os.makedirs(os.path.join(root, "dev"))
    minors = {f"nvidia{i}": i for i in range(n)} | {"nvidiactl": 255, "nvidia-uvm": 254, "nvidia-uvm-tools": 253}
    for name, minor in minors.items():
        path = os.path.join(root, "dev", name)
        os.mknod(path, 0o20666, os.makedev(DEVICE_MAJOR, minor))
        os.chmod(path, 0o666)
    yield root


def ctk(m, root):
    """The CDI file that nvidia-ctk writes."""
    path = os.path.join(m.dir, "ctk.json")
    r = execute([program("nvidia-ctk"), "cdi", "generate", "--mode", "nvml", "--driver-root", driver_root(m), "--dev-root", root,
                 "--nvidia-cdi-hook-path", program("nvidia-cdi-hook"), "--output", path], env=env_of(m))
    check(r.code == 0, r)
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def nodes_of(edits):
    return sorted((n["path"], n["major"], n.get("minor", 0)) for n in edits.get("deviceNodes", []))


def files_of(edits):
    """The paths in the container, of mounts and of links that hooks make; without the file of the emulated machine."""
    paths = {x["containerPath"] for x in edits["mounts"]} - {"/run/mete/gpu/machine.bin"}
    for hook in edits.get("hooks", []):
        paths |= {link.split("::")[1] for link in hook["args"] if "::" in link}
    return sorted(paths)


def names_of(edits):
    return sorted(e for e in edits["env"] if not e.startswith(("METE_", "NVIDIA_CTK_")))


def compare(ours, theirs):
    mine, other = ours["containerEdits"], theirs["containerEdits"]
    equal(files_of(mine), files_of(other))
    equal(nodes_of(mine), nodes_of(other))
    equal(names_of(mine), names_of(other))
    equal({d["name"]: nodes_of(d["containerEdits"]) for d in ours["devices"]},
          {d["name"]: nodes_of(d["containerEdits"]) for d in theirs["devices"]})


# The links and the loader's cache come from hooks.
SCRIPT = """
env -i nvidia-smi -L
busybox readlink /usr/lib/*/libcuda.so.1
busybox strings /etc/ld.so.cache | busybox grep -o '^/.*libcuda.so.1'
echo $NVIDIA_CTK_LIBCUDA_DIR
busybox ls /dev | busybox grep nvidia
"""


def cdi():
    with Mete(gpus="emulated:2xH100") as m, device_nodes(m, 2) as root:
        theirs = ctk(m, root)
        r = m.mete("cdi", "generate", "--gpus", "emulated", "--data", m.data)
        check(r.code == 0, r)
        compare(json.loads(r.out), theirs)
        machine = os.path.join(m.data, "node", "gpusim", "machine.bin")
        theirs["containerEdits"]["mounts"].append({"hostPath": machine, "containerPath": "/run/mete/gpu/machine.bin", "options": ["rw", "bind"]})
        import_image(m, "test/debian:1", debian())
        with file_of_the_administrator(f"mete-peers-{os.getpid()}", theirs):
            said = run(m, "by-the-file", "test/debian:1", SCRIPT, gpus=2)
        libraries = os.path.join("/usr/lib", MULTIARCH)
        equal({line.split("UUID: ")[1].rstrip(")") for line in said[:2]}, uuids(m))
        equal(said[2:], ["libcuda.so.570.124.06", f"{libraries}/libcuda.so.1", libraries,
                         "nvidia-uvm", "nvidia-uvm-tools", "nvidia0", "nvidia1", "nvidiactl"])


def main():
    build()
    for gpus in ("emulated:2xH100", "emulated:4xT4"):
        with configured(gpus, MIXED) as (m, config):
            bindings(m)
            labels(m, config)
            devices(m, config)
    for renamed in ("false", "true"):
        with configured("emulated:2xT4", REPLICAS % renamed) as (m, config):
            labels(m, config)
            devices(m, config)
    for slices in ("1g.10gb:2,3g.40gb:1", "1g.10gb:2,1g.10gb+me:1"):
        with configured("emulated:2xH100", MIXED) as (m, config):
            divide(m, [0], slices, f"{PRODUCT}-MIG-1g.10gb")
            bindings(m)
            labels(m, config)
            if "+" not in slices:  # The plugin's pattern 1g.10gb takes slices of 1g.10gb+me, too.
                devices(m, config)
    with configured("emulated:2xH100", SINGLE) as (m, config):
        divide(m, [0, 1], "1g.10gb:7", f"{PRODUCT}-MIG-1g.10gb")
        labels(m, config)
        devices(m, config)
    with configured("emulated:2xH100", SINGLE) as (m, config):
        divide(m, [1], "1g.10gb:7", f"{PRODUCT}-MIG-INVALID")  # One gpu has slices, the other none.
        labels(m, config)
    cdi()
