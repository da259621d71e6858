"""Programs of others that use NVML, on the emulated driver."""

import json
import os
import subprocess

from harness import BUILD, check, equal, execute, own_python, wait
from test_gpusim import SMOKE, machine

LIST = """
import json
{load}
nvml.nvmlInit()
found = []
for i in range(nvml.nvmlDeviceGetCount()):
    h = nvml.nvmlDeviceGetHandleByIndex(i)
    processes = nvml.nvmlDeviceGetComputeRunningProcesses(h)
    found.append([nvml.nvmlDeviceGetName(h), nvml.nvmlDeviceGetMemoryInfo(h).total >> 20, [[p.pid, p.usedGpuMemory >> 20] for p in processes]])
print(json.dumps(found))
nvml.nvmlShutdown()
"""

MIG = """
import pynvml as n
n.nvmlInit()
gpu = n.nvmlDeviceGetHandleByIndex(0)
n.nvmlDeviceSetMigMode(gpu, 1)
for number in (n.NVML_GPU_INSTANCE_PROFILE_3_SLICE, n.NVML_GPU_INSTANCE_PROFILE_1_SLICE):
    profile = n.nvmlDeviceGetGpuInstanceProfileInfo(gpu, number)
    instance = n.nvmlDeviceCreateGpuInstance(gpu, profile.id)
    whole = {7: 4, 4: 3, 3: 2, 2: 1, 1: 0}[profile.sliceCount]
    compute = n.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, whole, 0)
    n.nvmlGpuInstanceCreateComputeInstance(instance, compute.id)
for i in range(n.nvmlDeviceGetMaxMigDeviceCount(gpu)):
    try:
        mig = n.nvmlDeviceGetMigDeviceHandleByIndex(gpu, i)
    except n.NVMLError_NotFound:
        continue
    print(n.nvmlDeviceGetUUID(mig), n.nvmlDeviceGetMemoryInfo(mig).total >> 20, n.nvmlDeviceGetAttributes(mig).multiprocessorCount)
"""

GPM = """
import time
import pynvml as n
n.nvmlInit()
gpu = n.nvmlDeviceGetHandleByIndex(0)
mig = n.nvmlDeviceGetMigDeviceHandleByIndex(gpu, 1)
samples = [[n.nvmlGpmSampleAlloc() for _ in range(2)] for _ in range(2)]
for instance, whole in samples:
    n.nvmlGpmMigSampleGet(gpu, n.nvmlDeviceGetGpuInstanceId(mig), instance)
    n.nvmlGpmSampleGet(gpu, whole)
    time.sleep(0.1)  # the distance that the driver asks for
for first, second in zip(*samples):
    get = n.c_nvmlGpmMetricsGet_t(version=n.NVML_GPM_METRICS_GET_VERSION, numMetrics=1, sample1=first, sample2=second)
    get.metrics[0].metricId = n.NVML_GPM_METRIC_SM_UTIL
    n.nvmlGpmMetricsGet(get)
    print(get.metrics[0].value)
"""

NAMES = """
import ctypes, re
library = ctypes.CDLL("libnvidia-ml.so.1")
import pynvml
wanted = set(re.findall(r'"(nvml[A-Z][A-Za-z0-9_]*)"', open(pynvml.__file__).read()))
print(" ".join(sorted(name for name in wanted - {"nvmlReturn"} if not hasattr(library, name))))  # a member of a struct
"""


def python(m, program):
    r = execute([own_python(), "-c", program], env=m.env())
    check(r.code == 0, r)
    return r.out


def client(name):
    return os.path.join(os.path.dirname(own_python()), name)


def test_the_python_bindings_read_the_emulated_gpus():
    with machine("2xH100") as m, m.holding(1024) as p:
        for load in ("import pynvml as nvml", "from py3nvml import py3nvml as nvml"):
            first, second = json.loads(python(m, LIST.format(load=load)))
            equal(first, ["NVIDIA H100 80GB HBM3", 81559, [[p.pid, 1024 + 520]]], load)
            equal(second[2], [], load)


def test_all_functions_that_the_bindings_know_are_there():
    with machine("1xH100") as m:
        equal(python(m, NAMES).split(), [])


def test_monitors_show_the_emulated_gpus():
    with machine("2xH100") as m, m.holding(1024) as p:
        gpustat = execute([client("gpustat"), "--json"], env=m.env())
        check(gpustat.code == 0, gpustat)
        gpus = json.loads(gpustat.out)["gpus"]
        equal([[q["pid"] for q in gpu["processes"]] for gpu in gpus], [[p.pid], []])
        nvitop = execute([client("nvitop"), "-1"], env={**m.env(), "LANG": "C.UTF-8", "TERM": "dumb"})
        check(nvitop.code == 0 and str(p.pid) in nvitop.out, nvitop)


def test_bindings_make_mig_devices_and_cuda_programs_use_them():
    with machine("1xH100") as m:
        devices = [line.split() for line in python(m, MIG).splitlines()]
        equal([d[1:] for d in devices], [["40448", "60"], ["9984", "16"]])
        listed = execute([os.path.join(BUILD, "gpusim", "nvidia-smi"), "-L"], env=m.env()).out
        for uuid, _, _ in devices:
            check(uuid in listed, listed)
        small = devices[1][0]
        r = m.smoke("hold", 9984, CUDA_VISIBLE_DEVICES=small)
        check(r.code == 1 and "CUDA_ERROR_OUT_OF_MEMORY" in r.err, r)
        with m.holding(1024, CUDA_VISIBLE_DEVICES=small), m.holding(2048, CUDA_VISIBLE_DEVICES=devices[0][0]):
            equal(m.used(), [1024 + 2048 + 2 * 520])
        equal(m.smoke(CUDA_VISIBLE_DEVICES=small).code, 0)
        p = subprocess.Popen([SMOKE, "spin", "600000"], env=m.env(CUDA_VISIBLE_DEVICES=small), stdout=subprocess.DEVNULL)
        try:
            def busy():
                instance, whole = map(float, python(m, GPM).split())
                check(whole <= instance / 7 + 1, "the gpu has seven slices", instance, whole)
                return instance > 20

            wait(busy, "the MIG device is busy")
        finally:
            p.kill()
            p.wait()


def test_a_scenario_breaks_gpus_in_time():
    with machine("2xH100") as m:
        script = os.path.join(os.path.dirname(m.path), "script")
        with open(script, "w", encoding="utf-8") as f:
            f.write("# faults\nat 0 set 1 temperature=91 throttle=thermal ecc-uncorrected=2\nat 0.1 set machine order=1,0\n")
        tool = os.path.join(BUILD, "gpusim", "gpusim")
        equal(execute([tool, "scenario", m.path, script]).code, 0)
        out = python(m, "import pynvml as n; n.nvmlInit(); h = n.nvmlDeviceGetHandleByIndex(0)\n"
                        "print(n.nvmlDeviceGetMinorNumber(h), n.nvmlDeviceGetTemperature(h, 0), n.nvmlDeviceGetTotalEccErrors(h, 1, 0),"
                        " n.nvmlDeviceGetCurrentClocksThrottleReasons(h))")
        equal(out.split(), ["1", "91", "2", str(0x20)])
        m.set("machine", "driver=mismatched")
        r = execute([os.path.join(BUILD, "gpusim", "nvidia-smi")], env=m.env())
        check(r.code == 18 and "version mismatch" in r.out, r)
        r = m.smoke()
        check(r.code == 1 and "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" in r.err, r)
        m.set("machine", "driver=loaded")
        wait(lambda: m.smoke().code == 0, "the driver works again")
        with open(script, "w", encoding="utf-8") as f:
            f.write("at 0 set 0 temperature=1\nat 0 set 7 temperature=1\n")
        r = execute([tool, "scenario", m.path, script])
        check(r.code == 1 and "line 2" in r.err, r)
        equal(m.query("temperature.gpu")[1], [30], "a script with a mistake changes nothing")
