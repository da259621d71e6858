/* kind_gpu.c - mete.dev/v1 Gpu */

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"

static const struct field slice_fields[] = {
    F_STRING("profile", "The profile: 1g.10gb.", .size_max = 32),
    F_INT("start", "The first memory slice."),
    F_STRING("uuid", "The MIG device's identity.", .size_max = 96),
    F_INT("gi", "The driver's number of the GPU instance."),
    F_INT("ci", "The driver's number of the compute instance."),
    F_INT("memoryBytes", "The slice's memory."),
    F_INT("multiprocessors", "Number of multiprocessors."),
    F_STRING("health", "Its own health, if it is out of service beside a gpu that is not.",
             .size_max = 32),
    F_STRING("healthReason", "The reason of bad health.", .size_max = 256),
    F_INT("gpuSlices", "Compute slices of the GPU instance."),
    F_INT("computeSlices", "Compute slices of the compute instance."),
    F_INT("copyEngines", "Number of copy engines."),
    F_INT("decoders", "Number of video decoders."),
    F_INT("encoders", "Number of video encoders."),
    F_INT("jpegs", "Number of JPEG engines."),
    F_INT("ofas", "Number of optical flow engines."),
    F_END,
};
static const struct field slice_item = F_OBJECT(NULL, slice_fields, "A MIG instance.");

static const struct field spec_fields[] = {
    F_STRING("node", "The gpu's node.", .size_max = 253),
    F_INT("index", "The gpu's index on the node, for display only."),
    F_STRING("uuid", "The gpu's identity.", .size_max = 96),
    F_STRING("product", "The driver's name of the product.", .size_max = 96),
    F_STRING("model", "The short name of the model: h100.", .size_max = 96),
    F_INT("memoryBytes", "The gpu's memory."),
    F_STRING("pci", "The PCI address.", .size_max = 32),
    F_INT("numaNode", "The nearest NUMA node."),
    F_INT("linkGroup", "Gpus of the node with the same number reach each other over NVLink."),
    F_BOOL("emulated", "Whether the gpu is emulated."),
    F_STRING("mode", "How the gpu is given to pods: replicas or slices; absent: whole.",
             .size_max = 32),
    F_INT("replicas", "The number of replicas."),
    F_BOOL("renamed", "Whether replicas are requested as nvidia.com/gpu.shared."),
    F_BOOL("single", "Whether a container may request one replica at most."),
    F_BOOL("mps", "Whether replicas are clients of an MPS daemon."),
    F_LIST("slices", &slice_item, "The MIG instances."),
    F_BOOL("flexible", "Whether the scheduler creates and removes slices."),
    F_BOOL("keepsMig", "Whether a flexible gpu is given in slices only, since MIG stays on."),
    F_STRING("modeProblem", "Why the gpu is not given as wanted.", .size_max = 256),
    F_INT("links", "The number of active NVLinks."),
    F_INT("architecture", "The driver's number of the architecture: 8 Ada, 9 Hopper."),
    F_INT("memoryReservedBytes", "Memory that the driver keeps."),
    F_INT("computeMajor", "The CUDA compute capability, before the point."),
    F_INT("computeMinor", "The CUDA compute capability, behind the point."),
    F_INT("migMode", "1: MIG is on; 0: off; absent: the gpu has no MIG."),
    F_INT("migPending", "The MIG mode after the next reset of the gpu."),
    F_INT("eccMode", "1: ECC is on; 0: off."),
    F_INT("eccPending", "The ECC mode after the next reset of the gpu."),
    F_INT("powerLimitMilliwatts", "The enforced power limit in milliwatts."),
    F_INT("powerLimitDefaultMilliwatts", "The board's default power limit."),
    F_INT("powerLimitMinMilliwatts", "The lowest power limit that can be set."),
    F_INT("powerLimitMaxMilliwatts", "The highest power limit that can be set."),
    F_STRING("family", "The family of the architecture: ampere, hopper; AMD: gfx942.",
             .size_max = 32),
    F_STRING("computeCapability", "The CUDA compute capability: 9.0.", .size_max = 32),
    F_INT("memoryUsableBytes", "Memory without what the driver keeps."),
    F_STRING("driverVersion", "The version of the gpu's driver.", .size_max = 80),
    F_STRING("cudaVersion", "The highest CUDA version that the driver supports.", .size_max = 16),
    F_INT("smClockMaxMhz", "The highest clock of the multiprocessors."),
    F_INT("memoryClockMaxMhz", "The highest clock of the memory."),
    F_STRING("clique", "The NVLink domain of several machines: CLUSTER-UUID.CLIQUE.",
             .size_max = 64),
    F_INT("switchLinks", "The number of active NVLinks to NVSwitches."),
    F_STRING("fabric",
             "The NVSwitch fabric's state: not started, in progress, completed or failed; absent: "
             "no fabric.",
             .size_max = 16),
    F_STRING("peers",
             "The connections to the other gpus of the node, by their indices: NV18:1-3 SYS:4-7.",
             .size_max = 160),
    F_STRING("cpus", "The nearest CPUs: 0-31,64-95.", .size_max = 128),
    F_INT("minor", "The number in /dev/nvidiaN; AMD and Intel: in /dev/dri/renderDN."),
    F_STRING("serial", "The serial number of the board.", .size_max = 32),
    F_STRING("vendor", "amd or intel; absent: nvidia.", .size_max = 32),
    F_STRING("resource", "The resource by which pods request the gpu; absent: nvidia.com/gpu.",
             .size_max = 63),
    F_STRING("gfx", "AMD: the instruction set: gfx942.", .size_max = 16),
    F_STRING("computePartition", "AMD: how the board's compute is divided: SPX, CPX.",
             .size_max = 8),
    F_STRING("memoryPartition", "AMD: how the board's memory is divided: NPS1, NPS4.",
             .size_max = 8),
    F_INT("partition", "AMD: the number of this partition of a divided board."),
    F_INT("computeUnits", "AMD: number of compute units."),
    F_END,
};

static const struct field holder_fields[] = {
    F_STRING("namespace", "The pod's namespace.", .size_max = 63),
    F_STRING("pod", "The pod that holds the gpu.", .size_max = 253),
    F_INT("jobId", "The job's number."),
    F_STRING("user", "The job's user.", .size_max = 253),
    F_STRING("device", "The part that the pod holds, as in the annotation mete.dev/devices.",
             .size_max = 256),
    F_INT("milli", "The part's compute, in 1/1000 of the gpu."),
    F_STRING("isolation",
             "What keeps the pod and others on the gpu apart: none, memory, memory + compute, "
             "hardware.",
             .size_max = 32),
    F_END,
};
static const struct field holder_item = F_OBJECT(NULL, holder_fields, "A holder.");

static const struct field sample_fields[] = {
    F_INT("utilizationPct", "Utilization in percent."),
    F_INT("memoryUtilizationPct", "Utilization of the memory in percent."),
    F_INT("memoryUsedBytes", "Memory in use."),
    F_INT("temperatureC", "Temperature in degrees Celsius."),
    F_INT("powerMilliwatts", "Power draw in milliwatts."),
    F_INT("energyMillijoules", "Energy used so far in millijoules."),
    F_INT("smClockMhz", "Clock of the multiprocessors."),
    F_INT("memoryClockMhz", "Clock of the memory."),
    F_INT("xidLast", "The driver's last Xid error."),
    F_INT("processes", "Number of processes on the gpu."),
    F_TIME("at", "The time of the sample."),
    F_END,
};

static const struct field status_fields[] = {
    F_STRING("health", "healthy, drained, suspect, quarantined, unhealthy, not answering or lost.",
             .size_max = 32),
    F_STRING("healthReason", "The reason of bad health, or of the drain.", .size_max = 256),
    F_STRING("drainedBy", "The administrator that drained the gpu.", .size_max = 256),
    F_STRING("healthAdvice", "What brings the gpu back into service.", .size_max = 256),
    F_TIME("healthSince", "The begin of the incident."),
    F_OBJECT("holder", holder_fields, "The first holder; absent: the gpu is free."),
    F_LIST("holders", &holder_item, "All holders, each with its part."),
    F_OBJECT("sample", sample_fields, "The last sample; absent members are unknown."),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The gpu's properties."),
    F_OBJECT("status", status_fields, "The state."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The gpu's uuid."},
    {"Node", "string", "", 0, "The gpu's node."},
    {"Index", "integer", "", 0, "The gpu's index on the node."},
    {"Model", "string", "", 0, "The short name of the model; emulated gpus are marked."},
    {"Memory", "string", "", 0, "The gpu's memory."},
    {"Health", "string", "", 0, "The health."},
    {"Holder", "string", "", 0, "The pod that holds the gpu."},
    {"User", "string", "", 0, "The user of the holder's job."},
    {"Util", "string", "", 0, "Utilization."},
    {"Product", "string", "", 1, "The driver's name of the product."},
    {"PCI", "string", "", 1, "The PCI address."},
    {0},
};

static json_t *cell_model(const json_t *spec)
{
    const char *model = json_text(spec, "model");
    AUTO_FREE char *text = mem_format("%s%s", model ? model : "",
                                      json_bool(spec, "emulated", false) ? " (emulated)" : "");

    return json_string(text);
}

static json_t *cell_memory(const json_t *spec)
{
    int64_t bytes = json_int(spec, "memoryBytes", -1);
    AUTO_FREE char *text = mem_format("%" PRId64 "Mi", bytes >> 20);

    return json_string(bytes < 0 ? "<unknown>" : text);
}

static json_t *cell_holder(const json_t *status)
{
    const char *ns = json_text_at(status, "holder", "namespace", NULL);
    const char *pod = json_text_at(status, "holder", "pod", NULL);
    AUTO_FREE char *text = mem_format("%s/%s", ns ? ns : "", pod ? pod : "");

    return json_string(pod ? text : "<none>");
}

static json_t *cell_utilization(const json_t *status)
{
    const json_t *sample = json_object_get(status, "sample");
    int64_t pct = json_int(sample, "utilizationPct", -1);
    AUTO_FREE char *text = mem_format("%" PRId64 "%%", pct);

    return json_string(pct < 0 ? "<unknown>" : text);
}

static json_t *gpu_cells(const json_t *object, int64_t now_ns)
{
    const json_t *spec = json_object_get(object, "spec");
    const json_t *status = json_object_get(object, "status");
    const char *user = json_text_at(status, "holder", "user", NULL);
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_text(json_text(spec, "node"), ""));
    (void)json_array_append_new(row, json_integer(json_int(spec, "index", -1)));
    (void)json_array_append_new(row, cell_model(spec));
    (void)json_array_append_new(row, cell_memory(spec));
    (void)json_array_append_new(row, cell_text(json_text(status, "health"), "<unknown>"));
    (void)json_array_append_new(row, cell_holder(status));
    (void)json_array_append_new(row, cell_text(user, "<none>"));
    (void)json_array_append_new(row, cell_utilization(status));
    (void)json_array_append_new(row, cell_text(json_text(spec, "product"), ""));
    (void)json_array_append_new(row, cell_text(json_text(spec, "pci"), ""));
    return row;
}

static const char *const selectable[] = {"spec.node", "spec.uuid", "spec.model", "status.health",
                                         NULL};

const struct kind kind_gpu = {
    .group = "mete.dev",
    .version = "v1",
    .api_version = "mete.dev/v1",
    .kind = "Gpu",
    .plural = "gpus",
    .singular = "gpu",
    .is_view = true,
    .fields = fields,
    .columns = columns,
    .cells = gpu_cells,
    .selectable = selectable,
    .doc = "A physical gpu; computed from its node and the ledger, never stored.",
};
