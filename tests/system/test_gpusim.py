"""Emulated drivers: CUDA programs that share one emulated machine, with and without Mete."""

import contextlib
import os
import signal
import subprocess
import tempfile
import time

from harness import BUILD, Mete, check, equal, execute, pod, wait

DRIVERS = os.path.join(BUILD, "gpusim")
SMOKE = os.path.join(BUILD, "tests", "gpu", "cuda_smoke")


class Machine:
    """An emulated machine, with all its gpus visible to programs of this test."""

    def __init__(self, path):
        self.path = path

    def env(self, **more):
        return {**os.environ, "LD_LIBRARY_PATH": DRIVERS, "METE_GPUSIM_MACHINE": self.path, "METE_GPUSIM_ALL": "1", **more}

    def smoke(self, *arguments, **env):
        return execute([SMOKE, *map(str, arguments)], env=self.env(**env))

    def query(self, *fields):
        """For each gpu its fields as numbers."""
        r = execute([os.path.join(DRIVERS, "nvidia-smi"), "--query-gpu=" + ",".join(fields), "--format=csv,noheader,nounits"],
                    env=self.env())
        check(r.code == 0, r)
        return [[int(float(value)) for value in line.split(",")] for line in r.out.splitlines()]

    def used(self):
        return [row[0] for row in self.query("memory.used")]

    def set(self, *arguments):
        r = execute([os.path.join(DRIVERS, "gpusim"), "set", self.path, *map(str, arguments)])
        check(r.code == 0, r)

    @contextlib.contextmanager
    def holding(self, mib, **env):
        """A process with so much memory on its first gpu."""
        p = subprocess.Popen([SMOKE, "hold", str(mib)], env=self.env(**env), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            equal(p.stdout.readline(), "holding\n")
            yield p
        finally:
            p.kill()
            p.communicate()


@contextlib.contextmanager
def machine(profile):
    with tempfile.TemporaryDirectory(prefix="mete-test-") as directory:
        path = os.path.join(directory, "machine.bin")
        r = execute([os.path.join(DRIVERS, "gpusim"), "compile", profile, path])
        check(r.code == 0, r)
        yield Machine(path)


def test_the_emulated_cuda_driver_passes_the_smoke_test():
    with machine("2xH100") as m:
        r = m.smoke()
        check(r.code == 0 and "not ok" not in r.out and r.out.endswith("passed\n"), r)


def test_memory_of_processes_adds_up_and_comes_back_after_a_kill():
    with machine("2xH100") as m:
        context = 520
        with m.holding(10240) as first, m.holding(20480), m.holding(1024, CUDA_VISIBLE_DEVICES="1"):
            equal(m.used(), [10240 + 20480 + 2 * context, 1024 + context])
            smi = execute([os.path.join(DRIVERS, "nvidia-smi")], env=m.env())
            check(str(first.pid) in smi.out and f"{10240 + context}MiB" in smi.out, smi)
            first.send_signal(signal.SIGKILL)
            first.wait()
            equal(m.used(), [20480 + context, 1024 + context])
        equal(m.used(), [0, 0])


def test_a_gpu_gives_no_more_memory_than_it_has():
    with machine("1xT4") as m:
        free = (15360 - 449 - 300) // 1024
        equal(int(m.smoke("fill", 1024).out), free)
        with m.holding(4096):
            equal(int(m.smoke("fill", 1024).out), free - 5)  # 4 GiB and a context
        r = m.smoke("hold", 20480)
        check(r.code == 1 and "CUDA_ERROR_OUT_OF_MEMORY" in r.err, r)


def test_processes_share_the_time_of_a_gpu():
    with machine("2xH100") as m:
        began = time.monotonic()
        pair = [subprocess.Popen([SMOKE, "spin", "1000"], env=m.env(), text=True, stdout=subprocess.PIPE) for _ in range(2)]
        wait(lambda: m.query("utilization.gpu")[0][0] > 20, "the gpu is busy")
        kernels = sum(int(p.communicate()[0]) for p in pair)
        check(0 < kernels <= (time.monotonic() - began) * 1000, f"{kernels} kernels of 1 ms")
        equal(m.query("utilization.gpu")[1][0], 0)


def test_a_process_chooses_gpus_by_the_variable():
    with machine("4xH100") as m:
        uuid = execute([os.path.join(DRIVERS, "nvidia-smi"), "--query-gpu=uuid", "--format=csv,noheader"],
                       env=m.env()).out.splitlines()[2]
        with m.holding(1024, CUDA_VISIBLE_DEVICES=f"{uuid[:16]},1"):
            check([used > 0 for used in m.used()] == [False, False, True, False], m.used())
        r = m.smoke(CUDA_VISIBLE_DEVICES="")
        check(r.code == 1 and "CUDA_ERROR_NO_DEVICE" in r.err, r)
        r = m.smoke(CUDA_VISIBLE_DEVICES="GPU-0,1")
        check(r.code == 1 and "CUDA_ERROR_NO_DEVICE" in r.err, "the list ends at its first mistake", r)


def test_a_program_ends_when_its_gpu_is_lost():
    with machine("1xH100") as m:
        p = subprocess.Popen([SMOKE, "spin", "600000"], env=m.env(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait(lambda: m.query("utilization.gpu")[0][0] > 20, "the gpu is busy")
        m.set(0, "lost=1")
        err = p.communicate()[1]
        check(p.returncode == 1 and "CUDA_ERROR_UNKNOWN" in err, err)


def test_a_memory_error_breaks_the_contexts_of_a_gpu():
    with machine("1xH100") as m:
        p = subprocess.Popen([SMOKE, "spin", "600000"], env=m.env(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait(lambda: m.query("utilization.gpu")[0][0] > 20, "the gpu is busy")
        m.set(0, "ecc-uncorrected=1", "xid=48")
        err = p.communicate()[1]
        check(p.returncode == 1 and "CUDA_ERROR_ECC_UNCORRECTABLE" in err, err)
        equal(m.smoke().code, 0, "a new context works")


def test_the_emulated_drivers_run_with_old_c_libraries():
    for path in (SMOKE, os.path.join(DRIVERS, "libcuda.so.1"), os.path.join(DRIVERS, "libnvidia-ml.so.1")):
        r = execute(["objdump", "-T", path])
        check(r.code == 0, r)
        versions = {word.strip("()") for line in r.out.splitlines() for word in line.split() if "GLIBC_" in word}
        check(versions, path)
        newer = [v for v in versions if tuple(map(int, v.removeprefix("GLIBC_").split("."))) > (2, 17)]
        equal(newer, [], path)


def test_containers_share_the_machine_of_their_node():
    with Mete(gpus="emulated:2xT4") as m:
        m.ok("apply", "-f", "-", stdin=pod("smoke", SMOKE, gpus=1))
        m.wait_phase("smoke", ("Succeeded", "Failed"))
        check(m.ok("logs", "smoke").endswith("passed\n"), m.ok("logs", "smoke"))
        m.ok("apply", "-f", "-", stdin=pod("hold", f"sleep 1000 | {SMOKE} hold 1024", gpus=1))
        wait(lambda: "holding" in m.mete("logs", "hold").out, "the pod holds memory")
        machine_of_node = Machine(os.path.join(m.data, "node", "gpusim", "machine.bin"))
        equal(sorted(machine_of_node.used()), [0, 1024 + 300])
        smi = execute([os.path.join(DRIVERS, "nvidia-smi")], env=machine_of_node.env()).out
        check(f"{SMOKE} " in smi, "the host sees the process by its own pid", smi)
        m.ok("delete", "pod", "hold")
        wait(lambda: machine_of_node.used() == [0, 0], "the memory is free")
