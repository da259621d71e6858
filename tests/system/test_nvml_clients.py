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


# Calls each getter of the bindings with the gpu and zeros. The last line of stderr names the one that ended the program.
GETTERS = """
import inspect, json, sys
import pynvml as n
n.nvmlInit()
gpu = n.nvmlDeviceGetHandleByIndex(0)
said = {}
for name, function in sorted(vars(n).items()):
    if not name.startswith(("nvmlDeviceGet", "nvmlDeviceIs", "nvmlSystemGet")) or "Handle" in name:
        continue
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    arguments = [gpu if name.startswith("nvmlDevice") and i == 0 else 0 for i in range(len(needed))]
    print(name, file=sys.stderr, flush=True)
    try:
        function(*arguments)
        said[name] = "value"
    except n.NVMLError as e:
        said[name] = type(e).__name__
    except TypeError:
        said[name] = "arguments"  # The binding wants more than a zero.
print(json.dumps(said))
"""

# Properties of the boards, by NVIDIA's bindings.
BOARDS = """
import json
import pynvml as n
n.nvmlInit()
h = n.nvmlDeviceGetHandleByIndex(1)
fabric = n.c_nvmlGpuFabricInfo_v3_t()
n.nvmlDeviceGetGpuFabricInfoV(h, n.byref(fabric))
print(json.dumps([n.nvmlDeviceGetBrand(h), n.nvmlDeviceGetApplicationsClock(h, n.NVML_CLOCK_SM), n.nvmlDeviceGetClock(h, n.NVML_CLOCK_SM, 0),
                  list(n.nvmlDeviceGetCpuAffinity(h, 2)), list(n.nvmlDeviceGetCpuAffinityWithinScope(h, 2, n.NVML_AFFINITY_SCOPE_SOCKET)),
                  list(n.nvmlDeviceGetMemoryAffinity(h, 1, n.NVML_AFFINITY_SCOPE_NODE)),
                  n.nvmlDeviceGetTopologyCommonAncestor(h, n.nvmlDeviceGetHandleByIndex(0)),
                  n.nvmlDeviceGetNvLinkRemoteDeviceType(h, 17), fabric.state, fabric.healthSummary]))
"""

# What a board of a data centre says with these arguments.
BASICS = [
    "nvmlDeviceGetArchitecture", "nvmlDeviceGetBAR1MemoryInfo", "nvmlDeviceGetBrand", "nvmlDeviceGetClockInfo", "nvmlDeviceGetComputeMode",
    "nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetCudaComputeCapability", "nvmlDeviceGetCurrPcieLinkGeneration",
    "nvmlDeviceGetCurrPcieLinkWidth", "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetDecoderUtilization", "nvmlDeviceGetEccMode",
    "nvmlDeviceGetEncoderUtilization", "nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetIndex", "nvmlDeviceGetMaxClockInfo",
    "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMigMode", "nvmlDeviceGetMinorNumber", "nvmlDeviceGetName", "nvmlDeviceGetNumGpuCores",
    "nvmlDeviceGetNvLinkState", "nvmlDeviceGetPciInfo", "nvmlDeviceGetPerformanceState", "nvmlDeviceGetPersistenceMode", "nvmlDeviceGetPowerManagementLimit",
    "nvmlDeviceGetPowerUsage", "nvmlDeviceGetRemappedRows", "nvmlDeviceGetSerial", "nvmlDeviceGetTemperature", "nvmlDeviceGetTotalEccErrors",
    "nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetUUID", "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetVbiosVersion",
    "nvmlSystemGetCudaDriverVersion", "nvmlSystemGetDriverVersion", "nvmlSystemGetNVMLVersion",
]


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


def test_the_bindings_read_clocks_and_places():
    with machine("2xH100") as m:
        equal(json.loads(python(m, BOARDS)), [14, 1980, 396, [2**32 - 1 << 32, 0], [2**32 - 1 << 32, 0], [2], 50, 2, 3, 1])


def test_all_functions_that_the_bindings_know_are_there():
    with machine("1xH100") as m:
        equal(python(m, NAMES).split(), [])


def test_each_getter_has_a_value_or_is_not_supported():
    with machine("2xH100") as m:
        said = json.loads(python(m, GETTERS))
        check(len(said) > 200, len(said))
        # With zeros some name what is not there: a slice, a process, the same gpu as its own peer.
        fine = {"value", "arguments", "NVMLError_NotSupported", "NVMLError_InvalidArgument", "NVMLError_NotFound"}
        equal({name: what for name, what in said.items() if what not in fine}, {})
        equal({name: said[name] for name in BASICS if said[name] != "value"}, {})


def test_tables_have_a_value_in_each_column():
    with machine("2xH100") as m, m.holding(1024) as p:
        env = {**m.env(), "LANG": "C.UTF-8", "TERM": "dumb", "COLUMNS": "120", "NO_COLOR": "1"}
        for words in (["gpustat", "--show-all", "--no-color"], ["nvitop", "--once", "--no-unicode"], ["py3smi", "-w", "100"]):
            r = execute([client(words[0]), *words[1:]], env=env)
            check(r.code == 0 and not r.err, r)
            # A board of this kind has no fan of its own.
            told = r.out.replace("Fan: N/A", "").replace("| N/A ", "").replace(" N/A% ", "").replace("\u00b0C,  ?? %", "")
            check("N/A" not in told and "??" not in told and "rror" not in told, r)
            check(str(p.pid) in r.out and ("81559" in r.out or "79.65GiB" in r.out), r)


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
