/*
 * smi.c - nvidia-smi of an emulated machine: -L, the plain table, --query-gpu
 *
 * The values come from libnvidia-ml.so.1 beside it (or the loader's), through NVML's binary
 * interface.
 */

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/attr.h"
#include "gpu/nvml_abi.h"

enum {
    GPUS_MAX = 64,
    PROCESSES_MAX = 64,
    MIG_DEVICES_MAX = 8,
    MIB = 1 << 20
};

#define NVML_CALLS(X)                                                                \
    X(nvmlInit_v2, (void))                                                           \
    X(nvmlSystemGetDriverVersion, (char *, unsigned))                                \
    X(nvmlSystemGetCudaDriverVersion_v2, (int *))                                    \
    X(nvmlSystemGetProcessName, (unsigned, char *, unsigned))                        \
    X(nvmlDeviceGetCount_v2, (unsigned *))                                           \
    X(nvmlDeviceGetHandleByIndex_v2, (unsigned, nvmlDevice_t *))                     \
    X(nvmlDeviceGetName, (nvmlDevice_t, char *, unsigned))                           \
    X(nvmlDeviceGetUUID, (nvmlDevice_t, char *, unsigned))                           \
    X(nvmlDeviceGetSerial, (nvmlDevice_t, char *, unsigned))                         \
    X(nvmlDeviceGetPciInfo_v3, (nvmlDevice_t, struct nvmlPciInfo *))                 \
    X(nvmlDeviceGetMemoryInfo_v2, (nvmlDevice_t, struct nvmlMemory_v2 *))            \
    X(nvmlDeviceGetUtilizationRates, (nvmlDevice_t, struct nvmlUtilization *))       \
    X(nvmlDeviceGetTemperature, (nvmlDevice_t, unsigned, unsigned *))                \
    X(nvmlDeviceGetPowerUsage, (nvmlDevice_t, unsigned *))                           \
    X(nvmlDeviceGetEnforcedPowerLimit, (nvmlDevice_t, unsigned *))                   \
    X(nvmlDeviceGetClockInfo, (nvmlDevice_t, unsigned, unsigned *))                  \
    X(nvmlDeviceGetPerformanceState, (nvmlDevice_t, unsigned *))                     \
    X(nvmlDeviceGetCudaComputeCapability, (nvmlDevice_t, int *, int *))              \
    X(nvmlDeviceGetMigDeviceHandleByIndex, (nvmlDevice_t, unsigned, nvmlDevice_t *)) \
    X(mete_gpusim_reset, (nvmlDevice_t))                                             \
    X(nvmlDeviceGetComputeRunningProcesses_v3, (nvmlDevice_t, unsigned *, struct nvmlProcessInfo *))

struct nvml {
#define X(name, arguments) \
    int(*name) arguments; /* NOLINT(bugprone-macro-parentheses): a declarator */
    NVML_CALLS(X)
#undef X
};

static struct nvml nvml;

/* A gpu's values as text; "[N/A]": the library has none. */
struct gpu_text {
    char index[16];
    char name[NVML_NAME_SIZE];
    char uuid[NVML_UUID_SIZE];
    char serial[NVML_SERIAL_SIZE];
    char bus_id[32];
    char driver[NVML_VERSION_SIZE];
    char compute_cap[16];
    char pstate[16];
    char memory_total[24];
    char memory_used[24];
    char memory_free[24];
    char memory_reserved[24];
    char utilization[16];
    char memory_utilization[16];
    char temperature[16];
    char power[24];
    char power_limit[24];
    char sm_clock[16];
    char memory_clock[16];
};

struct query_field {
    const char *name;
    const char *alias;
    size_t offset;
    const char *unit; /* in the header and after each value; "" for none */
};

#define FIELD(name, alias, member, unit)                     \
    {                                                        \
        name, alias, offsetof(struct gpu_text, member), unit \
    }

static const struct query_field query_fields[] = {
    FIELD("index", NULL, index, ""),
    FIELD("name", "gpu_name", name, ""),
    FIELD("uuid", "gpu_uuid", uuid, ""),
    FIELD("serial", "gpu_serial", serial, ""),
    FIELD("pci.bus_id", "gpu_bus_id", bus_id, ""),
    FIELD("driver_version", NULL, driver, ""),
    FIELD("compute_cap", NULL, compute_cap, ""),
    FIELD("pstate", NULL, pstate, ""),
    FIELD("memory.total", NULL, memory_total, "MiB"),
    FIELD("memory.used", NULL, memory_used, "MiB"),
    FIELD("memory.free", NULL, memory_free, "MiB"),
    FIELD("memory.reserved", NULL, memory_reserved, "MiB"),
    FIELD("utilization.gpu", NULL, utilization, "%"),
    FIELD("utilization.memory", NULL, memory_utilization, "%"),
    FIELD("temperature.gpu", NULL, temperature, ""),
    FIELD("power.draw", NULL, power, "W"),
    FIELD("power.limit", "enforced.power.limit", power_limit, "W"),
    FIELD("clocks.sm", "clocks.current.sm", sm_clock, "MHz"),
    FIELD("clocks.mem", "clocks.current.memory", memory_clock, "MHz"),
};

enum {
    QUERY_FIELDS = COUNT(query_fields),
    QUERY_MAX = 2 * QUERY_FIELDS /* a field may be asked for twice */
};

static bool library_load(const char *self)
{
    char path[4200];
    const char *slash = strrchr(self, '/');
    void *library = NULL;

    (void)snprintf(path, sizeof(path), "%.*s/libnvidia-ml.so.1", slash ? (int)(slash - self) : 1,
                   slash ? self : ".");
    library = dlopen(path, RTLD_LAZY);
    if (!library)
        library = dlopen("libnvidia-ml.so.1", RTLD_LAZY);
    if (!library)
        return false;
#define X(name, arguments) *(void **)&nvml.name = dlsym(library, #name);
    NVML_CALLS(X)
#undef X
#define X(name, arguments) &&nvml.name
    return true NVML_CALLS(X);
#undef X
}

static void put(char *out, size_t size, int result, const char *fmt, unsigned long long value)
{
    if (result == NVML_SUCCESS)
        (void)snprintf(out, size, fmt, value); /* NOLINT: one number, one conversion */
    else
        (void)snprintf(out, size, "[N/A]");
}

static void read_memory(nvmlDevice_t device, struct gpu_text *t)
{
    struct nvmlMemory_v2 m = {.version = NVML_MEMORY_V2};
    int r = nvml.nvmlDeviceGetMemoryInfo_v2(device, &m);

    put(t->memory_total, sizeof(t->memory_total), r, "%llu", m.total / MIB);
    put(t->memory_used, sizeof(t->memory_used), r, "%llu", m.used / MIB);
    put(t->memory_free, sizeof(t->memory_free), r, "%llu", m.free / MIB);
    put(t->memory_reserved, sizeof(t->memory_reserved), r, "%llu", m.reserved / MIB);
}

static void read_sensors(nvmlDevice_t device, struct gpu_text *t)
{
    struct nvmlUtilization u = {0};
    unsigned v = 0;
    int r = nvml.nvmlDeviceGetUtilizationRates(device, &u);

    put(t->utilization, sizeof(t->utilization), r, "%llu", u.gpu);
    put(t->memory_utilization, sizeof(t->memory_utilization), r, "%llu", u.memory);
    r = nvml.nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &v);
    put(t->temperature, sizeof(t->temperature), r, "%llu", v);
    r = nvml.nvmlDeviceGetPowerUsage(device, &v);
    put(t->power, sizeof(t->power), r, "%llu.00", v / 1000);
    r = nvml.nvmlDeviceGetEnforcedPowerLimit(device, &v);
    put(t->power_limit, sizeof(t->power_limit), r, "%llu.00", v / 1000);
    r = nvml.nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &v);
    put(t->sm_clock, sizeof(t->sm_clock), r, "%llu", v);
    r = nvml.nvmlDeviceGetClockInfo(device, NVML_CLOCK_MEM, &v);
    put(t->memory_clock, sizeof(t->memory_clock), r, "%llu", v);
    r = nvml.nvmlDeviceGetPerformanceState(device, &v);
    put(t->pstate, sizeof(t->pstate), r, "P%llu", v);
}

/* Reads a gpu. False: the gpu is lost, and its line says so. */
static bool read_gpu(unsigned index, nvmlDevice_t *ret_device, struct gpu_text *t)
{
    struct nvmlPciInfo pci = {0};
    nvmlDevice_t device = NULL;
    int major = 0;
    int minor = 0;

    *t = (struct gpu_text){0};
    (void)snprintf(t->index, sizeof(t->index), "%u", index);
    if (nvml.nvmlDeviceGetHandleByIndex_v2(index, &device) != NVML_SUCCESS)
        return false;
    if (nvml.nvmlDeviceGetName(device, t->name, sizeof(t->name)) != NVML_SUCCESS ||
        nvml.nvmlDeviceGetUUID(device, t->uuid, sizeof(t->uuid)) != NVML_SUCCESS)
        return false;
    if (nvml.nvmlDeviceGetSerial(device, t->serial, sizeof(t->serial)) != NVML_SUCCESS)
        (void)snprintf(t->serial, sizeof(t->serial), "[N/A]");
    if (nvml.nvmlDeviceGetPciInfo_v3(device, &pci) == NVML_SUCCESS)
        memcpy(t->bus_id, pci.busId, sizeof(pci.busId));
    if (nvml.nvmlSystemGetDriverVersion(t->driver, sizeof(t->driver)) != NVML_SUCCESS)
        (void)snprintf(t->driver, sizeof(t->driver), "[N/A]");
    if (nvml.nvmlDeviceGetCudaComputeCapability(device, &major, &minor) == NVML_SUCCESS)
        (void)snprintf(t->compute_cap, sizeof(t->compute_cap), "%d.%d", major, minor);
    read_memory(device, t);
    read_sensors(device, t);
    *ret_device = device;
    return true;
}

static void list_mig(nvmlDevice_t device)
{
    for (unsigned i = 0; i < MIG_DEVICES_MAX; i++) {
        char uuid[NVML_UUID_SIZE] = "";
        char name[2 * NVML_NAME_SIZE] = "";
        const char *profile;
        nvmlDevice_t mig = NULL;

        if (nvml.nvmlDeviceGetMigDeviceHandleByIndex(device, i, &mig) != NVML_SUCCESS ||
            nvml.nvmlDeviceGetUUID(mig, uuid, sizeof(uuid)) != NVML_SUCCESS ||
            nvml.nvmlDeviceGetName(mig, name, sizeof(name)) != NVML_SUCCESS)
            continue;
        profile = strstr(name, " MIG ");
        (void)printf("  MIG %-11s Device %2u: (UUID: %s)\n", profile ? profile + 5 : "", i, uuid);
    }
}

static int list_gpus(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct gpu_text t;
        nvmlDevice_t device = NULL;

        if (!read_gpu(i, &device, &t)) {
            (void)printf("Unable to determine the device handle for gpu %u: GPU is lost.\n", i);
            continue;
        }
        (void)printf("GPU %u: %s (UUID: %s)\n", i, t.name, t.uuid);
        list_mig(device);
    }
    return 0;
}

static const struct query_field *field_find(const char *name, size_t size)
{
    for (size_t i = 0; i < QUERY_FIELDS; i++) {
        const struct query_field *f = &query_fields[i];

        if ((strlen(f->name) == size && strncmp(f->name, name, size) == 0) ||
            (f->alias && strlen(f->alias) == size && strncmp(f->alias, name, size) == 0))
            return f;
    }
    return NULL;
}

static void print_row(const struct query_field *const *fields, size_t n, const struct gpu_text *t,
                      bool has_units)
{
    for (size_t i = 0; i < n; i++) {
        const char *separator = i ? ", " : "";

        if (!t)
            (void)printf(*fields[i]->unit && has_units ? "%s%s [%s]" : "%s%s", separator,
                         fields[i]->name, fields[i]->unit);
        else
            (void)printf("%s%s%s%s", separator, (const char *)t + fields[i]->offset,
                         has_units && *fields[i]->unit ? " " : "",
                         has_units ? fields[i]->unit : "");
    }
    (void)printf("\n");
}

static int query_gpus(unsigned n, const char *names, const char *format)
{
    const struct query_field *fields[QUERY_MAX];
    bool has_units = !format || !strstr(format, "nounits");
    size_t n_fields = 0;

    if (!format || strncmp(format, "csv", 3) != 0) {
        (void)fprintf(stderr, "nvidia-smi: --query-gpu needs --format=csv[,noheader][,nounits]\n");
        return 2;
    }
    while (*names) {
        size_t size = strcspn(names, ",");
        const struct query_field *f = field_find(names, size);

        if (!f || n_fields == QUERY_MAX) {
            (void)printf("Field \"%.*s\" is not a valid field to query.\n\n", (int)size, names);
            return 2;
        }
        fields[n_fields++] = f;
        names += size + (names[size] == ',');
    }
    if (!strstr(format, "noheader"))
        print_row(fields, n_fields, NULL, has_units);
    for (unsigned i = 0; i < n; i++) {
        struct gpu_text t;
        nvmlDevice_t device = NULL;

        if (read_gpu(i, &device, &t))
            print_row(fields, n_fields, &t, has_units);
    }
    return 0;
}

static void print_processes(unsigned n)
{
    (void)printf("+--------------------------------------------------------------------------------"
                 "---------+\n"
                 "| Processes:                                                                     "
                 "         |\n"
                 "|  GPU        PID   Process name                                               "
                 "GPU Memory |\n"
                 "|================================================================================"
                 "=========|\n");
    for (unsigned i = 0; i < n; i++) {
        struct nvmlProcessInfo list[PROCESSES_MAX];
        nvmlDevice_t device = NULL;
        unsigned count = PROCESSES_MAX;

        if (nvml.nvmlDeviceGetHandleByIndex_v2(i, &device) != NVML_SUCCESS ||
            nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, &count, list) != NVML_SUCCESS)
            continue;
        for (unsigned p = 0; p < count; p++) {
            char name[56] = "[Not Found]";

            (void)nvml.nvmlSystemGetProcessName(list[p].pid, name, sizeof(name));
            (void)printf("| %4u %10u   %-55.55s %7lluMiB |\n", i, list[p].pid, name,
                         list[p].usedGpuMemory / MIB);
        }
    }
    (void)printf("+--------------------------------------------------------------------------------"
                 "---------+\n");
}

static int print_table(unsigned n)
{
    char driver[NVML_VERSION_SIZE] = "";
    char stamp[64] = "";
    time_t now = time(NULL);
    struct tm tm = {0};
    int cuda = 0;

    if (gmtime_r(&now, &tm))
        (void)strftime(stamp, sizeof(stamp), "%a %b %e %H:%M:%S %Y", &tm);
    (void)nvml.nvmlSystemGetDriverVersion(driver, sizeof(driver));
    (void)nvml.nvmlSystemGetCudaDriverVersion_v2(&cuda);
    (void)printf(
        "%s\n"
        "+-----------------------------------------------------------------------------------------"
        "+\n"
        "| NVIDIA-SMI (emulated by mete)   Driver Version: %-16s CUDA Version: %2d.%-5d |\n"
        "|-----------------------------------------+------------------------+----------------------"
        "|\n"
        "| GPU  Name                               | Bus-Id                 | GPU-Util             "
        "|\n"
        "|      Temp   Perf   Pwr:Usage/Cap        |           Memory-Usage |                      "
        "|\n"
        "|=========================================+========================+======================"
        "|\n",
        stamp, driver, cuda / 1000, cuda % 1000 / 10);
    for (unsigned i = 0; i < n; i++) {
        struct gpu_text t;
        nvmlDevice_t device = NULL;

        if (!read_gpu(i, &device, &t)) {
            (void)printf("| %3u  GPU is lost                        |                        |     "
                         "                 |\n",
                         i);
            continue;
        }
        (void)printf("| %3u  %-34.34s | %-22.22s | %9s%%           |\n", i, t.name, t.bus_id,
                     t.utilization);
        (void)printf("|      %3sC   %-4s %8sW / %8sW  | %8sMiB / %7sMiB |                      |\n",
                     t.temperature, t.pstate, t.power, t.power_limit, t.memory_used,
                     t.memory_total);
        (void)printf("+-----------------------------------------+------------------------+---------"
                     "-------------+\n");
    }
    print_processes(n);
    return 0;
}

/* Is the gpu the one that an index, a UUID or a PCI address names? */
static bool is_named(const struct gpu_text *t, const char *name)
{
    return strcmp(t->index, name) == 0 || strcmp(t->uuid, name) == 0 ||
           strcmp(t->bus_id, name) == 0;
}

/* Resets the gpu that nobody uses. The exit codes are those of the real program. */
static int reset_gpu(unsigned n, const char *name)
{
    for (unsigned i = 0; i < n; i++) {
        struct gpu_text t;
        nvmlDevice_t device = NULL;
        int result;

        if (!read_gpu(i, &device, &t)) {
            if (strcmp(t.index, name) != 0)
                continue;
            (void)printf("GPU %u is lost: reboot the machine to recover it.\n", i);
            return NVML_ERROR_GPU_IS_LOST;
        }
        if (!is_named(&t, name))
            continue;
        result = nvml.mete_gpusim_reset(device);
        if (result == NVML_ERROR_IN_USE)
            (void)printf("GPU %s is currently in use by another process.\n", t.bus_id);
        else if (result != NVML_SUCCESS)
            (void)printf("GPU %s cannot be reset: insufficient permissions.\n", t.bus_id);
        else
            (void)printf("GPU %s was successfully reset.\nAll done.\n", t.bus_id);
        return result;
    }
    (void)printf("No devices were found\n");
    return 6;
}

static const char *option(const char *argument, const char *name)
{
    size_t size = strlen(name);

    return strncmp(argument, name, size) == 0 && argument[size] == '=' ? argument + size + 1 : NULL;
}

int main(int argc, char **argv)
{
    const char *query = NULL;
    const char *format = NULL;
    const char *id = NULL;
    bool is_list = false;
    bool is_reset = false;
    char self[4096] = "";
    unsigned n = 0;
    int result;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-L") == 0 || strcmp(argv[i], "--list-gpus") == 0)
            is_list = true;
        else if (option(argv[i], "--query-gpu"))
            query = option(argv[i], "--query-gpu");
        else if (option(argv[i], "--format"))
            format = option(argv[i], "--format");
        else if (strcmp(argv[i], "--gpu-reset") == 0 || strcmp(argv[i], "-r") == 0)
            is_reset = true;
        else if (strcmp(argv[i], "-i") == 0 && i + 1 < argc)
            id = argv[++i];
        else if (option(argv[i], "--id"))
            id = option(argv[i], "--id");
        else {
            (void)fprintf(
                stderr,
                "nvidia-smi: '%s' is not known to the emulated nvidia-smi\n"
                "  try: nvidia-smi, nvidia-smi -L, nvidia-smi --query-gpu=name,uuid --format=csv, "
                "nvidia-smi --gpu-reset -i 0\n",
                argv[i]);
            return 2;
        }
    }
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 || !library_load(self)) {
        (void)fprintf(stderr, "NVIDIA-SMI has failed because libnvidia-ml.so.1 was not found.\n");
        return 12;
    }
    result = nvml.nvmlInit_v2();
    if (result == NVML_ERROR_LIB_RM_VERSION_MISMATCH) {
        (void)printf("Failed to initialize NVML: Driver/library version mismatch\n");
        return result;
    }
    if (result != NVML_SUCCESS || nvml.nvmlDeviceGetCount_v2(&n) != NVML_SUCCESS) {
        (void)printf(
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n");
        return 9;
    }
    if (n == 0) {
        (void)printf("No devices were found\n");
        return 6;
    }
    if (is_reset != (id != NULL)) {
        (void)fprintf(stderr, "nvidia-smi: --gpu-reset and -i come together\n");
        return 2;
    }
    if (is_reset)
        return reset_gpu(n < GPUS_MAX ? n : GPUS_MAX, id);
    if (is_list)
        return list_gpus(n < GPUS_MAX ? n : GPUS_MAX);
    return query ? query_gpus(n, query, format) : print_table(n);
}
