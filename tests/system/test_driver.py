"""The GPU driver's files in containers: programs find them without any variable, whatever the image's layout."""

import glob
import json
import os
import shutil

import image_kit
from harness import BUILD, Failure, Mete, check, equal, pod, wait
from image_kit import Image

ARCH = os.uname().machine
MULTIARCH = f"{ARCH}-linux-gnu"
LOADER = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}[ARCH]
LOADER_DIR = {"x86_64": "lib64", "aarch64": "lib"}[ARCH]
MUSL = f"/lib/ld-musl-{ARCH}.so.1"
ENV = "/usr/bin/env"

# The output of nvidia-smi without any variable, with a hostile one, and by a path.
PROBE = """
/usr/bin/env -i nvidia-smi -L
LD_LIBRARY_PATH=/nowhere PATH=/usr/bin nvidia-smi -L
/usr/bin/env -i /usr/bin/nvidia-smi --query-gpu=driver_version --format=csv,noheader
"""


def octets_of(path):
    with open(path, "rb") as f:
        return f.read()


def host_library(name):
    found = [p for d in (f"/usr/lib/{MULTIARCH}", f"/lib/{MULTIARCH}", "/usr/lib64", "/lib64", "/usr/lib")
             for p in glob.glob(f"{d}/{name}")]
    check(found, f"this machine has no {name}")
    return found[0]


def base(layer):
    """A shell, and a program that needs the image's loader."""
    layer.dir("usr/bin").dir("bin").dir("tmp", mode=0o1777)
    layer.add("bin/busybox", octets_of(image_kit.BUSYBOX), mode=0o755).symlink("bin/sh", "busybox")
    for applet in ("ls", "cat", "test", "touch"):
        layer.symlink(f"bin/{applet}", "busybox")
    return layer.add("usr/bin/env", octets_of(ENV), mode=0o755)


def add_c_library(layer, directory):
    for name in ("libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1"):
        layer.add(f"{directory}/{name}", octets_of(host_library(name)), mode=0o755)


def debian():
    layer = base(image_kit.Layer().dir(".").dir("usr").dir("usr/lib").dir(f"usr/lib/{MULTIARCH}"))
    add_c_library(layer, f"usr/lib/{MULTIARCH}")
    layer.dir(f"usr/{LOADER_DIR}").symlink(LOADER_DIR, f"usr/{LOADER_DIR}")
    return layer.add(f"usr/{LOADER_DIR}/{LOADER}", octets_of(host_library(LOADER)), mode=0o755)


def red_hat():
    """Libraries lie in /usr/lib64, where alone the loader searches: Debian's, with that directory written into it."""
    loader = octets_of(host_library(LOADER))
    for old in (f"/usr/lib/{MULTIARCH}/", f"/lib/{MULTIARCH}/"):
        check(old.encode() in loader, f"the loader does not search {old}")
        loader = loader.replace(old.encode() + b"\0", b"/usr/lib64".ljust(len(old), b"/") + b"\0")
    layer = base(image_kit.Layer().dir(".").dir("usr").dir("usr/lib64").symlink("lib64", "usr/lib64"))
    if LOADER_DIR == "lib":
        layer.dir("usr/lib").symlink("lib", "usr/lib").symlink(f"usr/lib/{LOADER}", f"../lib64/{LOADER}")
    add_c_library(layer, "usr/lib64")
    return layer.add(f"usr/lib64/{LOADER}", loader, mode=0o755)


def musl():
    layer = image_kit.Layer().dir(".").dir("usr").dir("usr/bin").dir("bin").dir("lib").dir("usr/lib")
    layer.add("bin/busybox", octets_of(image_kit.BUSYBOX), mode=0o755).symlink("bin/sh", "busybox")
    for applet in ("ls", "cat", "test", "env"):
        layer.symlink(f"bin/{applet}", "busybox")
    return layer.add(f"lib/ld-musl-{ARCH}.so.1", octets_of(MUSL), mode=0o755)


def image_of(layer):
    return Image([layer.octets()], {"Env": ["PATH=/usr/bin:/bin"]}, arch={"x86_64": "amd64", "aarch64": "arm64"}[ARCH])


def import_image(m, name, layer):
    path = image_kit.write(os.path.join(m.dir, "image.tar"), image_of(layer).layout())
    r = m.mete("image", "import", path, name)
    check(r.code == 0, r)


def run(m, name, image, script, gpus=1, **fields):
    c = {"name": "main", "image": image, "command": ["sh", "-c", script], "imagePullPolicy": "Never", **fields}
    if gpus:
        c["resources"] = {"limits": {"nvidia.com/gpu": gpus}}
    m.ok("apply", "-f", "-", stdin=pod(name, "", containers=[c]))
    m.wait_phase(name, ("Succeeded", "Failed"))
    return m.ok("logs", name).splitlines()


def check_probe(out, gpus=1):
    equal(len(out), 3 * gpus, out)
    for line in out[:2 * gpus]:
        check("UUID: GPU-" in line, out)
    equal(out[2 * gpus], "570.124.06", out)


def link_layers(m):
    """The layers of links to the driver; those of images have no `-` in their names."""
    return sorted(glob.glob(os.path.join(m.data, "node", "images", "layers", "*-*")))


def layer_files(m):
    return sorted(p for p in glob.glob(os.path.join(m.data, "node", "images", "layers", "**"), recursive=True)
                  if "nvidia" in p and not p.startswith(tuple(link_layers(m))))


def test_programs_of_each_image_find_the_driver_without_variables():
    with Mete(gpus="emulated:2xH100") as m, m.unharmed():
        for name, layer in (("debian", debian()), ("red-hat", red_hat())):
            import_image(m, f"test/{name}:1", layer)
            check_probe(run(m, name, f"test/{name}:1", PROBE))
            check_probe(run(m, f"{name}-ro", f"test/{name}:1", PROBE, securityContext={"readOnlyRootFilesystem": True}))
            check_probe(run(m, f"{name}-two", f"test/{name}:1", PROBE, gpus=2), gpus=2)
            without = "ls /usr/bin/nvidia-smi /usr/lib*/libnvidia* /usr/lib/*/libnvidia* /run/mete 2>/dev/null; echo end"
            equal(run(m, f"{name}-none", f"test/{name}:1", without, gpus=0), ["end"])
        equal(layer_files(m), [], "mount points in an image")
        equal(len(link_layers(m)), 2, "a layer of links for each image")


def test_runc_containers_have_the_driver_too():
    with Mete(gpus="emulated:2xH100", arguments=("--runtime", "runc")) as m:
        import_image(m, "test/debian:1", debian())
        check_probe(run(m, "image", "test/debian:1", PROBE))
        check_probe(run(m, "read-only", "test/debian:1", PROBE, securityContext={"readOnlyRootFilesystem": True}))
        check_probe(run(m, "host", "host", PROBE))


def test_a_cuda_program_runs_without_variables():
    program = os.path.join(BUILD, "tests", "gpu", "cuda_smoke")
    with Mete(gpus="emulated:2xH100") as m:
        for name, layer in (("debian", debian()), ("red-hat", red_hat())):
            import_image(m, f"test/{name}:1", layer.add("bin/cuda_smoke", octets_of(program), mode=0o755))
            out = run(m, name, f"test/{name}:1", "/usr/bin/env -i /bin/cuda_smoke && LD_LIBRARY_PATH=/nowhere /bin/cuda_smoke")
            equal([line for line in out if not line.startswith("ok")], ["passed", "passed"])
        out = run(m, "host", "host", f"exec env -i {program}")
        equal([line for line in out if not line.startswith("ok")], ["passed"])


def test_a_container_with_a_mig_instance_sees_that_instance_alone():
    program = os.path.join(BUILD, "tests", "gpu", "cuda_smoke")
    with Mete(gpus="emulated:2xH100") as m:
        parted = os.path.join(m.dir, "parted.yaml")
        with open(parted, "w", encoding="utf-8") as f:
            json.dump({"version": "v1", "mig-configs": {"halves": [
                {"devices": [1], "mig-enabled": True, "mig-devices": {"1g.10gb": 2, "3g.40gb": 1}}]}}, f)
        m.stop()
        m.arguments += ["--mig-config", parted, "--cdi-file", os.path.join(m.dir, "cdi", "gpus.json")]
        m.start()
        node = m.object("nodes")["items"][0]["metadata"]["name"]
        m.ok("label", "node", node, "nvidia.com/mig.config=halves")
        wait(lambda: m.object("nodes")["items"][0]["status"]["allocatable"].get("nvidia.com/mig-1g.10gb") == "2", "two instances")
        import_image(m, "test/debian:1", debian().add("bin/cuda_smoke", octets_of(program), mode=0o755))
        script = "echo $NVIDIA_VISIBLE_DEVICES; ls /dev/nvidia[0-9] /dev/nvidia-caps; /usr/bin/env -i nvidia-smi -L; /usr/bin/env -i /bin/cuda_smoke"
        out = run(m, "slice", "test/debian:1", script, gpus=0, resources={"limits": {"nvidia.com/mig-1g.10gb": 1}})
        check(out[0].startswith("MIG-"), out)
        equal(out[1], "/dev/nvidia1", out)
        equal(len([line for line in out if line.startswith("nvidia-cap")]), 2, out)
        equal([line.split("UUID: ")[1].rstrip(")") for line in out if "MIG 1g.10gb" in line or "UUID: MIG-" in line], [out[0]], out)
        equal(out[-1], "passed", out)
        file = wait(lambda: [d["name"] for d in json.loads(octets_of(m.arguments[-1]))["devices"] if d["name"].startswith("MIG-")],
                    "the CDI file has the instances")
        equal(len(file), 3, file)
        check(out[0] in file, file)


def test_the_loader_of_musl_finds_the_driver():
    with Mete(gpus="emulated:1xH100") as m:
        import_image(m, "test/musl:1", musl())
        # `--list` prints the file of each library, as ldd; it fails where one is not found.
        out = run(m, "musl", "test/musl:1",
                  f"env -i LD_PRELOAD=libnvidia-ml.so.1 /lib/ld-musl-{ARCH}.so.1 --list /lib/ld-musl-{ARCH}.so.1")
        check(any("libnvidia-ml.so.1 => /usr/lib/libnvidia-ml.so.1" in line for line in out), out)


def test_an_image_of_static_programs_gets_the_devices_alone():
    with Mete(gpus="emulated:1xH100") as m:
        layer = image_kit.Layer().dir(".").dir("bin").add("bin/busybox", octets_of(image_kit.BUSYBOX), mode=0o755)
        import_image(m, "test/static:1", layer.symlink("bin/sh", "busybox").symlink("bin/ls", "busybox"))
        equal(run(m, "static", "test/static:1", "ls /dev/nvidia0 /usr 2>&1"),
              ["ls: /usr: No such file or directory", "/dev/nvidia0"])


def test_leftovers_of_another_driver_in_an_image_do_no_harm():
    """An image built under another runtime has its driver's links, and empty files where that mounted libraries."""
    with Mete(gpus="emulated:1xH100") as m:
        for name, layer in (("empty", debian().add(f"usr/lib/{MULTIARCH}/libnvidia-ml.so.535.1", b"")), ("dangling", debian())):
            layer.symlink(f"usr/lib/{MULTIARCH}/libnvidia-ml.so.1", "libnvidia-ml.so.535.1")
            import_image(m, f"test/{name}:1", layer.add("usr/bin/nvidia-smi", b""))
            check_probe(run(m, name, f"test/{name}:1", PROBE))


def test_a_driver_is_not_written_outside_of_the_container():
    with Mete(gpus="emulated:1xH100") as m:
        outside = os.path.join(m.dir, "outside")
        os.mkdir(outside)
        layer = base(image_kit.Layer().dir(".").dir("usr"))
        layer.dir("usr/lib").symlink(f"usr/lib/{MULTIARCH}", "../../../../../../../.." + outside).symlink("run", outside)
        layer.dir(outside[1:]).add(f"{outside[1:]}/libc.so.6", octets_of(host_library("libc.so.6")), mode=0o755)
        import_image(m, "test/hostile:1", layer)
        run(m, "hostile", "test/hostile:1", "true")
        equal(os.listdir(outside), [])


def test_links_to_the_driver_are_made_once_for_an_image_and_go_with_it():
    with Mete(gpus="emulated:1xH100") as m:
        import_image(m, "test/debian:1", debian())
        lib = f"/usr/lib/{MULTIARCH}"
        out = run(m, "one", "test/debian:1", f"ls -l {lib}/libnvidia-ml.so.1; ls -ld / /usr {lib} /usr/bin; "
                  f"touch {lib}/mine /usr/bin/mine; test -e /usr/bin/mine && echo made; " + PROBE)
        none = run(m, "none", "test/debian:1", f"ls -ld / /usr {lib} /usr/bin", gpus=0)
        check(out[0].endswith(" -> /run/mete/driver/lib/libnvidia-ml.so.570.124.06"), out)
        equal([(line.split()[0], *line.split()[2:4], line.split()[-1]) for line in out[1:5]],
              [(line.split()[0], *line.split()[2:4], line.split()[-1]) for line in none], "owners and modes of directories")
        equal(out[5], "made")
        check_probe(out[6:])
        (layer,), made = link_layers(m), os.stat(link_layers(m)[0]).st_ctime_ns
        m.stop()
        m.start()
        out = run(m, "two", "test/debian:1", f"ls {lib}/mine 2>&1; rm {lib}/libnvidia-ml.so.1 && ls {lib}/libnvidia-ml.so.1 2>&1")
        equal([line.split(": ")[-1] for line in out], ["No such file or directory"] * 2, "each container has a layer of its own")
        check_probe(run(m, "three", "test/debian:1", PROBE))
        equal(link_layers(m), [layer])
        equal(os.stat(layer).st_ctime_ns, made, "the links are not made again")
        for name in ("one", "two", "three", "none"):
            m.ok("delete", "pod", name, "--grace-period=0")
        wait(lambda: m.mete("image", "rm", "test/debian:1").code == 0, "the image is not used any more")
        wait(lambda: not link_layers(m), "the links go with the image")


def test_containers_of_the_host_find_the_driver_and_leave_nothing():
    files = [f"/usr/lib/{MULTIARCH}/libnvidia-ml.so.570.124.06", "/usr/bin/nvidia-smi"]
    before = [os.path.exists(f) for f in files]
    with Mete(gpus="emulated:2xH100") as m:
        check_probe(run(m, "one", "host", PROBE))
        equal([os.path.exists(f) for f in files], before)
        if not any(before):
            equal(run(m, "none", "host", f"ls {' '.join(files)} 2>/dev/null; echo end", gpus=0), ["end"])


def add_libraries(m, n):
    """Puts libraries beside those of the emulated driver, as a driver of NVIDIA's has; read at the next start."""
    directory = glob.glob(os.path.join(m.data, "node", "gpusim", "root", "usr", "lib", "*"))[0]
    for i in range(n):
        name = f"libnvidia-more{i}.so"
        shutil.copy(os.path.join(directory, "libnvidia-ml.so.570.124.06"), os.path.join(directory, f"{name}.570.124.06"))
        os.symlink(f"{name}.570.124.06", os.path.join(directory, f"{name}.1"))


def mounts_of_node(m):
    """The mounts in the namespace of the node process."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = octets_of(path).split(b"\0")
            if b"node" in words and m.data.encode() in words:
                return octets_of(path.replace("cmdline", "mountinfo")).decode().splitlines()
        except OSError:
            pass
    raise Failure("there is no node process")


def test_a_driver_of_many_libraries_is_mounted_once():
    with Mete(gpus="emulated:2xH100") as m:
        import_image(m, "test/debian:1", debian())
        m.stop()
        add_libraries(m, 40)
        m.start()
        script = f"ls /usr/lib/{MULTIARCH}/libnvidia-more*.1 | cat; cat /usr/lib/{MULTIARCH}/libnvidia-more7.so.1 >/dev/null && {PROBE}"
        for name in ("first", "second"):
            out = run(m, name, "test/debian:1", script)
            equal(len(out), 43, out)
            check_probe(out[40:])
            inside = [line for line in mounts_of_node(m) if "/run/mete/driver" in line and "/roots/" in line]
            equal(inside, [], "mounts of containers stay in the node's namespace")
        trees = [line for line in mounts_of_node(m) if "/node/driver/tree-" in line]
        equal(len(trees), 1 + 40 + 2 + 2, "a mount a file, for all containers: " + "\n".join(trees))
        out = run(m, "write", "test/debian:1", f"cd /usr/lib/{MULTIARCH}; touch libnvidia-more1.so.1; touch /run/mete/driver/x")
        equal(len([line for line in out if "Read-only file system" in line or "denied" in line]), 2, out)


def test_a_container_goes_on_with_its_driver_while_mete_restarts():
    with Mete(gpus="emulated:2xH100") as m:
        import_image(m, "test/debian:1", debian())
        c = {"name": "main", "image": "test/debian:1", "imagePullPolicy": "Never", "resources": {"limits": {"nvidia.com/gpu": 1}},
             "command": ["sh", "-c", "until test -e /tmp/go; do /bin/busybox sleep 0.1; done; nvidia-smi -L"]}
        m.ok("apply", "-f", "-", stdin=pod("long", "", containers=[c]))
        m.wait_phase("long", "Running")
        m.stop()
        m.start()
        check_probe(run(m, "next", "test/debian:1", PROBE))
        m.ok("exec", "long", "--", "sh", "-c", "LD_LIBRARY_PATH=/nowhere nvidia-smi -L; touch /tmp/go")
        m.wait_phase("long", "Succeeded")
        check("UUID: GPU-" in m.ok("logs", "long"))


def test_the_files_are_named_after_the_profiles_driver():
    with Mete(gpus="emulated:1xH100") as m:
        m.stop()
        profile = os.path.join(m.dir, "gpus.yaml")
        with open(profile, "w", encoding="utf-8") as f:
            json.dump({"driver": "580.65.06", "gpus": [{"count": 1, "model": "T4"}]}, f)
        m.gpus = f"emulated:{profile}"
        m.start()
        out = run(m, "new", "host", f"ls /usr/lib/{MULTIARCH} | grep libnvidia-ml; {PROBE}")
        equal(out[:3], ["libnvidia-ml.so", "libnvidia-ml.so.1", "libnvidia-ml.so.580.65.06"])
        equal(out[-1], "580.65.06")
