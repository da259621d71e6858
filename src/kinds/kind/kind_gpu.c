/* kind_gpu.c - mete.dev/v1 Gpu */

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"

static const struct field spec_fields[] = {
    F_STRING("node", "The node that it is in.", .size_max = 253),
    F_INT("index", "Its number on the node, for display only."),
    F_STRING("uuid", "What it is known by.", .size_max = 96),
    F_STRING("product", "What its driver calls it.", .size_max = 96),
    F_STRING("model", "Its short name, as h100.", .size_max = 96),
    F_INT("memoryBytes", "Its memory."),
    F_STRING("pci", "Its PCI address.", .size_max = 32),
    F_INT("numaNode", "The NUMA node that it is near to."),
    F_INT("linkGroup", "Those of its node with the same number reach each other over NVLink."),
    F_BOOL("emulated", "Whether it does not really exist."),
    F_END,
};

static const struct field holder_fields[] = {
    F_STRING("namespace", "The pod's namespace.", .size_max = 63),
    F_STRING("pod", "The pod that holds it.", .size_max = 253),
    F_INT("jobId", "The job's number."),
    F_STRING("user", "Whose job it is.", .size_max = 253),
    F_END,
};

static const struct field sample_fields[] = {
    F_INT("utilizationPct", "How busy it is, of 100."),
    F_INT("memoryUtilizationPct", "How busy its memory is, of 100."),
    F_INT("memoryUsedBytes", "How much of its memory is in use."),
    F_INT("temperatureC", "How hot it is."),
    F_INT("powerMilliwatts", "What it draws, in milliwatts."),
    F_INT("energyMillijoules", "What it drew so far, in millijoules."),
    F_INT("smClockMhz", "The clock of its processors."),
    F_INT("memoryClockMhz", "The clock of its memory."),
    F_INT("xidLast", "The last error of its driver."),
    F_INT("processes", "How many processes use it."),
    F_TIME("at", "When this was read."),
    F_END,
};

static const struct field status_fields[] = {
    F_STRING("health", "healthy, unhealthy, not answering or lost.", .size_max = 32),
    F_STRING("healthReason", "Why it is not healthy.", .size_max = 256),
    F_OBJECT("holder", holder_fields, "Who holds it; absent: it is free."),
    F_OBJECT("sample", sample_fields, "The last reading; absent members are not known."),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "What it is."),
    F_OBJECT("status", status_fields, "How it is."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The gpu's uuid."},
    {"Node", "string", "", 0, "Where it is."},
    {"Index", "integer", "", 0, "Its number on the node."},
    {"Model", "string", "", 0, "Its short name; emulated ones are marked."},
    {"Memory", "string", "", 0, "Its memory."},
    {"Health", "string", "", 0, "How it is."},
    {"Holder", "string", "", 0, "The pod that holds it."},
    {"User", "string", "", 0, "Whose job that is."},
    {"Util", "string", "", 0, "How busy it is."},
    {"Product", "string", "", 1, "What its driver calls it."},
    {"PCI", "string", "", 1, "Its PCI address."},
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
    .doc = "One physical gpu; computed from its node and the ledger, never stored.",
};
