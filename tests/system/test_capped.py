"""Capped shares inside containers: memory and compute of a gpu hold against what a program tries."""

import json
import os
import re
import shutil

import image_kit
import test_driver as images
from harness import BUILD, Mete, check, equal, pod, wait

GIB = 1 << 30
SMOKE = os.path.join(BUILD, "tests", "gpu", "cuda_smoke")


def share(name, image, script, mib, cores=50, **spec):
    limits = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": mib, "nvidia.com/gpucores": cores}
    c = {"name": "main", "image": image, "command": ["sh", "-c", script], "stdin": True,
         "resources": {"limits": limits}}
    if image != "host":
        c["imagePullPolicy"] = "Never"
    return pod(name, "", containers=[c], terminationGracePeriodSeconds=1, **spec)


def is_share(said, gib):
    """The GiB that programs could allocate: all of the share, or one less once the driver's own memory counts."""
    found = [int(n) for n in said]
    check(found and all(n in (gib - 1, gib) for n in found), found, gib)


def has_line(m, name, line):
    wait(lambda: line in m.kubectl("logs", name).out.splitlines(), f"{name} says {line}")


class Capped(Mete):
    """One machine with one gpu of 80 GiB, and an image with the test program."""

    def __init__(self):
        super().__init__(gpus="emulated:1xH100")

    def start(self):
        super().start()
        layer = images.debian()
        for name in ("libdl.so.2", "libpthread.so.0"):
            layer.add(f"usr/lib/{images.MULTIARCH}/{name}", images.octets_of(images.host_library(name)), mode=0o755)
        layer.add("usr/bin/cuda_smoke", images.octets_of(SMOKE), mode=0o755)
        images.import_image(self, "test/cuda:1", layer)
        return self

    def run(self, name, script, mib, cores=50):
        self.ok("create", "-f", "-", stdin=share(name, "test/cuda:1", script, mib, cores))


def ends_with(m, name):
    m.wait_phase(name, ("Succeeded", "Failed"))
    return m.ok("logs", name).split()


def test_two_shares_of_20_gib_do_not_notice_each_other():
    with Capped() as m, m.unharmed():
        m.run("one", "cuda_smoke fill 1024; cuda_smoke hold 10240", 20480)
        m.run("two", "cuda_smoke fill 1024; env -i /usr/bin/cuda_smoke fill 1024; cuda_smoke | tail -n 1", 20480)
        *filled, smoke = ends_with(m, "two")
        is_share(filled, 20)
        equal(smoke, "passed")
        has_line(m, "one", "holding")
        # The tools of the driver show the share.
        said = m.ok("exec", "one", "--", "nvidia-smi", "--query-gpu=memory.total,memory.used", "--format=csv,noheader,nounits")
        total, used = (int(n) for n in re.findall(r"\d+", said))
        check(total == 20480 and 10240 <= used < 11264, said)
        # A second process, and a second container, count in the same share; a killed one gives its memory back.
        is_share(m.ok("exec", "one", "--", "cuda_smoke", "fill", "1024").split(), 10)
        hold = "/bin/busybox mkfifo /tmp/said; cuda_smoke hold 8192 >/tmp/said & read line </tmp/said; kill -9 $!; echo $line"
        equal(m.ok("exec", "one", "--", "sh", "-c", hold).strip(), "holding")
        wait(lambda: int(m.ok("exec", "one", "--", "cuda_smoke", "fill", "1024")) >= 9, "the killed process's memory")


def test_no_environment_switches_a_share_off():
    with Capped() as m:
        tries = ("LD_LIBRARY_PATH=/run/mete/share cuda_smoke fill 1024",
                 "LD_LIBRARY_PATH=/run/mete/driver/lib cuda_smoke fill 1024",
                 "LD_LIBRARY_PATH=/nowhere cuda_smoke fill 1024",
                 "env -i METE_TEST_SHARE=/tmp /usr/bin/cuda_smoke fill 1024",
                 "CUDA_VISIBLE_DEVICES=0 sh -c 'cuda_smoke fill 1024'")
        m.run("tries", "; ".join(tries), 4096)
        said = ends_with(m, "tries")
        is_share(said, 4)
        equal(len(said), len(tries))


def test_a_program_that_goes_around_its_share_ends():
    """The driver's own library lies in the container, where a program finds it: the node ends what it holds."""
    with Capped() as m, m.unharmed():
        m.run("around", "LD_PRELOAD=/run/mete/share/libcuda.so cuda_smoke hold 40960", 4096)
        m.run("honest", "cuda_smoke hold 4096", 4096)
        m.wait_phase("around", "Failed")
        status = m.object("pod", "around")["status"]
        equal(status["reason"], "Evicted")
        check(re.search("used 4[01][0-9]*[MG]i of gpu GPU-.*, more than its share of 4Gi", status["message"]), status["message"])
        has_line(m, "honest", "holding")
        equal(m.object("pod", "honest")["status"]["phase"], "Running")


def test_an_image_with_musl_is_refused():
    with Mete(gpus="emulated:1xH100") as m:
        images.import_image(m, "test/musl:1", images.musl())
        m.ok("create", "-f", "-", stdin=share("musl", "test/musl:1", "true", 4096))
        wait(lambda: "this one has musl" in m.ok("describe", "pod", "musl"), "the reason")


def test_the_image_host_gets_its_share():
    with Mete(gpus="emulated:1xH100") as m:
        program = os.path.join(m.dir, "cuda_smoke")
        shutil.copy(SMOKE, program)
        m.ok("create", "-f", "-", stdin=share("host", "host", f"{program} fill 1024", 4096))
        is_share(ends_with(m, "host"), 4)
        left = [f for f in os.listdir("/run/mete/share") if os.path.getsize(os.path.join("/run/mete/share", f))]
        equal(left, [], "only empty mount points are on the host")


def test_compute_is_held_to_its_part():
    """Two programs that keep the gpu busy, at 30 and 70 percent; the first seconds are the controller's. A machine under
    load runs fewer kernels than a share may; more than that it never runs."""
    with Capped() as m:
        m.run("small", "cuda_smoke spin 4000 >/dev/null; cuda_smoke spin 6000", 4096, cores=30)
        m.run("large", "cuda_smoke spin 4000 >/dev/null; cuda_smoke spin 6000", 4096, cores=70)
        small, large = int(ends_with(m, "small")[0]), int(ends_with(m, "large")[0])
        check(0 < small < large, small, large)
        check(small < 0.45 * 6000, small)
