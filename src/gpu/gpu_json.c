/* gpu_json.c - gpus and samples as JSON, for the helper's answers and the node's annotation */

#include <stdio.h>
#include <string.h>

#include "base/stamp.h"
#include "gpu/gpu_watch.h"
#include "model/device.h"

/* Puts a number; -1 (unknown) becomes null. */
static void put_known(json_t *o, const char *key, int64_t value)
{
    json_put(o, key, value < 0 ? json_null() : json_integer(value));
}

/* The numbers of a gpu and of a slice, by their members in JSON. */
struct number_field {
    const char *key;
    size_t offset; /* of an int */
};

static const struct number_field gpu_numbers[] = {
    {"links", offsetof(struct gpu, n_links)},
    {"switchLinks", offsetof(struct gpu, n_switch_links)},
    {"architecture", offsetof(struct gpu, architecture)},
    {"pciClass", offsetof(struct gpu, pci_class)},
    {"migMode", offsetof(struct gpu, mig_mode)},
    {"migPending", offsetof(struct gpu, mig_pending)},
    {"eccMode", offsetof(struct gpu, ecc_mode)},
    {"eccPending", offsetof(struct gpu, ecc_pending)},
    {"powerLimitDefaultMilliwatts", offsetof(struct gpu, power_limit_default_mw)},
    {"powerLimitMinMilliwatts", offsetof(struct gpu, power_limit_min_mw)},
    {"powerLimitMaxMilliwatts", offsetof(struct gpu, power_limit_max_mw)},
    {"smClockMaxMhz", offsetof(struct gpu, sm_clock_max_mhz)},
    {"memoryClockMaxMhz", offsetof(struct gpu, memory_clock_max_mhz)},
    {"partition", offsetof(struct gpu, amd.partition)},
    {"computeUnits", offsetof(struct gpu, amd.compute_units)},
    {"simds", offsetof(struct gpu, amd.simds)},
};

static const struct number_field slice_numbers[] = {
    {"gi", offsetof(struct gpu_slice, gpu_instance)},
    {"ci", offsetof(struct gpu_slice, compute_instance)},
    {"multiprocessors", offsetof(struct gpu_slice, multiprocessors)},
    {"gpuSlices", offsetof(struct gpu_slice, gpu_slices)},
    {"computeSlices", offsetof(struct gpu_slice, compute_slices)},
    {"copyEngines", offsetof(struct gpu_slice, copy_engines)},
    {"decoders", offsetof(struct gpu_slice, decoders)},
    {"encoders", offsetof(struct gpu_slice, encoders)},
    {"jpegs", offsetof(struct gpu_slice, jpegs)},
    {"ofas", offsetof(struct gpu_slice, ofas)},
};

/* Puts the known numbers of `from`; unknown ones have no member. */
static void put_numbers(json_t *o, const struct number_field *fields, size_t n, const void *from)
{
    for (size_t i = 0; i < n; i++) {
        int value = -1;

        memcpy(&value, (const char *)from + fields[i].offset, sizeof(value));
        if (value >= 0)
            json_put_int(o, fields[i].key, value);
    }
}

static void read_numbers(const json_t *o, const struct number_field *fields, size_t n, void *to)
{
    for (size_t i = 0; i < n; i++) {
        int64_t wide = json_int(o, fields[i].key, -1);
        int value = wide >= 0 && wide <= INT32_MAX ? (int)wide : -1;

        memcpy((char *)to + fields[i].offset, &value, sizeof(value));
    }
}

static void put_slices(json_t *o, const struct gpu *g)
{
    json_t *list = json_array_at(o, "slices");

    for (size_t i = 0; i < g->n_slices; i++) {
        const struct gpu_slice *s = &g->slices[i];
        json_t *slice = json_object();

        json_put_text(slice, "profile", s->profile);
        json_put_int(slice, "start", s->start);
        json_put_text(slice, "uuid", s->uuid);
        put_known(slice, "memoryBytes", s->memory_bytes);
        put_numbers(slice, slice_numbers, COUNT(slice_numbers), s);
        if (s->health != GPU_HEALTHY) {
            json_put_text(slice, "health", gpu_health_text(s->health));
            json_put_text(slice, "healthReason", s->health_reason);
        }
        (void)json_array_append_new(list, slice); /* a fresh object: cannot fail */
    }
}

/* Puts how the gpu is given; a gpu that is given whole has none of these members. */
static void put_mode(json_t *o, const struct gpu *g)
{
    if (g->mode != GPU_MODE_WHOLE)
        json_put_text(o, "mode", gpu_mode_text(g->mode));
    if (g->mode == GPU_MODE_REPLICAS) {
        json_put_int(o, "replicas", g->replicas);
        json_put_bool(o, "renamed", g->is_renamed);
        if (g->is_single)
            json_put_bool(o, "single", true);
        if (g->is_mps)
            json_put_bool(o, "mps", true);
    }
    if (g->mode == GPU_MODE_SLICES)
        put_slices(o, g);
    if (g->is_flexible)
        json_put_bool(o, "flexible", true);
    if (g->keeps_mig)
        json_put_bool(o, "keepsMig", true);
    if (g->mode_problem[0])
        json_put_text(o, "modeProblem", g->mode_problem);
}

static void put_known_text(json_t *o, const char *key, const char *text)
{
    if (text[0])
        json_put_text(o, key, text);
}

/* Puts what gpus of NVIDIA do not have. */
static void put_vendor(json_t *o, const struct gpu *g)
{
    if (g->vendor == GPU_NVIDIA)
        return;
    json_put_text(o, "vendor", gpu_vendor_text(g->vendor));
    json_put_text(o, "resource", gpu_vendor_resource(g->vendor));
    put_known_text(o, "driverVersion", g->driver_version);
    put_known_text(o, "gfx", g->amd.gfx);
    put_known_text(o, "computePartition", g->amd.compute_partition);
    put_known_text(o, "memoryPartition", g->amd.memory_partition);
    for (size_t i = 0; i < g->n_nodes; i++) {
        json_t *node = json_object();

        json_put_text(node, "path", g->nodes[i].path);
        json_put_int(node, "major", g->nodes[i].major);
        json_put_int(node, "minor", g->nodes[i].minor);
        (void)json_array_append_new(json_array_at(o, "nodes"), node); /* cannot fail, as above */
    }
}

json_t *gpu_format_json(const struct gpu *g)
{
    json_t *o = json_object();

    json_put_text(o, "uuid", g->uuid);
    json_put_int(o, "index", g->index);
    put_known(o, "minor", g->minor);
    json_put_text(o, "product", g->product);
    json_put_text(o, "model", g->model);
    json_put_text(o, "pci", g->pci);
    json_put_text(o, "serial", g->serial);
    put_known(o, "memoryBytes", g->memory_bytes);
    put_known(o, "memoryReservedBytes", g->memory_reserved_bytes);
    put_known(o, "computeMajor", g->compute_major);
    put_known(o, "computeMinor", g->compute_minor);
    put_known(o, "numaNode", g->numa_node);
    put_known(o, "linkGroup", g->link_group);
    put_numbers(o, gpu_numbers, COUNT(gpu_numbers), g);
    if (g->pci_device > 0)
        json_put_int(o, "pciDevice", g->pci_device);
    if (g->power_limit_mw > 0)
        json_put_int(o, "powerLimitMilliwatts", g->power_limit_mw);
    if (g->clique[0])
        json_put_text(o, "clique", g->clique);
    if (g->fabric[0])
        json_put_text(o, "fabric", g->fabric);
    if (g->peers[0])
        json_put_text(o, "peers", g->peers);
    if (g->cpu_affinity[0])
        json_put_text(o, "cpus", g->cpu_affinity);
    json_put_bool(o, "emulated", g->is_emulated);
    json_put_text(o, "health", gpu_health_text(g->health));
    if (g->health_reason[0])
        json_put_text(o, "healthReason", g->health_reason);
    if (g->drained_by[0])
        json_put_text(o, "drainedBy", g->drained_by);
    json_put_text(o, "healthAdvice", g->health_advice);
    if (g->health_since_ns > 0) {
        char since[STAMP_TEXT_SIZE];

        stamp_format_nano(g->health_since_ns, since);
        json_put_text(o, "healthSince", since);
    }
    put_mode(o, g);
    put_vendor(o, g);
    return o;
}

static struct err *read_text(const json_t *o, const char *key, char *out, size_t size)
{
    const char *text = json_text(o, key);

    if (!text)
        text = "";
    if (strlen(text) >= size)
        return err_new(ERR_INVALID, "gpu: %s is longer than %zu bytes", key, size - 1);
    (void)snprintf(out, size, "%s", text);
    return NULL;
}

static struct err *read_health(const json_t *o, struct gpu *g)
{
    const char *text = json_text(o, "health");

    if (!gpu_health_parse(text, &g->health))
        return err_new(ERR_INVALID, "gpu: health '%s' is not known", text ? text : "");
    return NULL;
}

static struct err *read_slice(const json_t *j, struct gpu_slice *ret)
{
    struct gpu_slice s = {.memory_bytes = json_int(j, "memoryBytes", -1)};
    int64_t start = json_int(j, "start", -1);

    if (start < 0 || start >= MIG_UNITS_MAX)
        return err_new(ERR_INVALID, "gpu: slice: start: want 0 to %d", MIG_UNITS_MAX - 1);
    s.start = (unsigned)start;
    read_numbers(j, slice_numbers, COUNT(slice_numbers), &s);
    TRY(read_text(j, "profile", s.profile, sizeof(s.profile)));
    TRY(read_text(j, "uuid", s.uuid, sizeof(s.uuid)));
    TRY(read_text(j, "healthReason", s.health_reason, sizeof(s.health_reason)));
    if (json_text(j, "health") && !gpu_health_parse(json_text(j, "health"), &s.health))
        return err_new(ERR_INVALID, "gpu: slice: health '%s' is not known", json_text(j, "health"));
    if (!s.profile[0])
        return err_new(ERR_INVALID, "gpu: slice: profile is missing");
    *ret = s;
    return NULL;
}

static struct err *read_mode(const json_t *j, struct gpu *g)
{
    const char *text = json_text(j, "mode");
    const json_t *slices = json_object_get(j, "slices");
    int64_t replicas = json_int(j, "replicas", 0);

    g->is_flexible = json_bool(j, "flexible", false);
    g->keeps_mig = json_bool(j, "keepsMig", false);
    TRY(read_text(j, "modeProblem", g->mode_problem, sizeof(g->mode_problem)));
    if (!text || strcmp(text, gpu_mode_text(GPU_MODE_WHOLE)) == 0)
        return NULL;
    if (strcmp(text, gpu_mode_text(GPU_MODE_REPLICAS)) == 0) {
        if (replicas < 1 || replicas > DEVICE_REPLICAS_MAX)
            return err_new(ERR_INVALID, "gpu: replicas: want 1 to %d", DEVICE_REPLICAS_MAX);
        g->mode = GPU_MODE_REPLICAS;
        g->replicas = (unsigned)replicas;
        g->is_renamed = json_bool(j, "renamed", false);
        g->is_single = json_bool(j, "single", false);
        g->is_mps = json_bool(j, "mps", false);
        return NULL;
    }
    if (strcmp(text, gpu_mode_text(GPU_MODE_SLICES)) != 0)
        return err_new(ERR_INVALID, "gpu: mode '%s' is not known", text);
    if (json_array_size(slices) > GPU_SLICES_MAX)
        return err_new(ERR_INVALID, "gpu: slices: want at most %d", GPU_SLICES_MAX);
    g->mode = GPU_MODE_SLICES;
    for (size_t i = 0; i < json_array_size(slices); i++)
        TRY(read_slice(json_array_get(slices, i), &g->slices[g->n_slices++]));
    return NULL;
}

static struct err *read_node(const json_t *j, struct gpu_node *ret)
{
    struct gpu_node n = {.major = (int)json_int(j, "major", -1),
                         .minor = (int)json_int(j, "minor", -1)};

    TRY(read_text(j, "path", n.path, sizeof(n.path)));
    if (!text_starts_with(n.path, "/dev/") || n.major < 0 || n.minor < 0)
        return err_new(ERR_INVALID, "gpu: node: want path, major and minor");
    *ret = n;
    return NULL;
}

static struct err *read_vendor(const json_t *j, struct gpu *g)
{
    const char *resource = json_text(j, "resource");
    const json_t *nodes = json_object_get(j, "nodes");

    if (resource && !gpu_vendor_of(resource, &g->vendor))
        return err_new(ERR_INVALID, "gpu: resource '%s' is not known", resource);
    TRY(read_text(j, "driverVersion", g->driver_version, sizeof(g->driver_version)));
    TRY(read_text(j, "gfx", g->amd.gfx, sizeof(g->amd.gfx)));
    TRY(read_text(j, "computePartition", g->amd.compute_partition,
                  sizeof(g->amd.compute_partition)));
    TRY(read_text(j, "memoryPartition", g->amd.memory_partition, sizeof(g->amd.memory_partition)));
    if (json_array_size(nodes) > GPU_NODES_MAX)
        return err_new(ERR_INVALID, "gpu: nodes: want at most %d", GPU_NODES_MAX);
    for (size_t i = 0; i < json_array_size(nodes); i++)
        TRY(read_node(json_array_get(nodes, i), &g->nodes[g->n_nodes++]));
    return NULL;
}

struct err *gpu_parse_json(const json_t *j, struct gpu *ret)
{
    struct gpu g = {.index = (int)json_int(j, "index", -1),
                    .minor = (int)json_int(j, "minor", -1),
                    .memory_bytes = json_int(j, "memoryBytes", -1),
                    .memory_reserved_bytes = json_int(j, "memoryReservedBytes", -1),
                    .compute_major = (int)json_int(j, "computeMajor", -1),
                    .compute_minor = (int)json_int(j, "computeMinor", -1),
                    .numa_node = (int)json_int(j, "numaNode", -1),
                    .link_group = (int)json_int(j, "linkGroup", -1),
                    .pci_device = json_int(j, "pciDevice", -1),
                    .power_limit_mw = json_int(j, "powerLimitMilliwatts", -1),
                    .health_since_ns = stamp_or(json_text(j, "healthSince"), 0),
                    .is_emulated = json_bool(j, "emulated", false)};

    if (!json_is_object(j))
        return err_new(ERR_INVALID, "gpu: want an object");
    TRY(read_text(j, "uuid", g.uuid, sizeof(g.uuid)));
    TRY(read_text(j, "product", g.product, sizeof(g.product)));
    TRY(read_text(j, "model", g.model, sizeof(g.model)));
    TRY(read_text(j, "pci", g.pci, sizeof(g.pci)));
    TRY(read_text(j, "serial", g.serial, sizeof(g.serial)));
    TRY(read_text(j, "healthReason", g.health_reason, sizeof(g.health_reason)));
    TRY(read_text(j, "drainedBy", g.drained_by, sizeof(g.drained_by)));
    TRY(read_text(j, "clique", g.clique, sizeof(g.clique)));
    TRY(read_text(j, "fabric", g.fabric, sizeof(g.fabric)));
    TRY(read_text(j, "peers", g.peers, sizeof(g.peers)));
    TRY(read_text(j, "cpus", g.cpu_affinity, sizeof(g.cpu_affinity)));
    TRY(read_health(j, &g));
    read_numbers(j, gpu_numbers, COUNT(gpu_numbers), &g);
    TRY(read_mode(j, &g));
    TRY(read_vendor(j, &g));
    if (!g.uuid[0])
        return err_new(ERR_INVALID, "gpu: uuid is missing");
    *ret = g;
    return NULL;
}

json_t *gpu_sample_format_json(const struct gpu_sample *s)
{
    json_t *o = json_object();

    for (size_t i = 0; i < GPU_FIELD_COUNT; i++)
        put_known(o, gpu_fields[i].name, s->value[i]);
    return o;
}

json_t *gpu_sample_format_values(const struct gpu_sample *s)
{
    json_t *list = json_array();

    for (size_t i = 0; i < GPU_FIELD_COUNT; i++)
        (void)json_array_append_new(list, json_integer(s->value[i])); /* fresh: cannot fail */
    return list;
}

struct gpu_sample gpu_sample_parse_values(const json_t *list)
{
    struct gpu_sample s = GPU_SAMPLE_UNKNOWN;

    for (size_t i = 0; i < GPU_FIELD_COUNT; i++) {
        const json_t *value = json_array_get(list, i);

        if (json_is_integer(value) && json_integer_value(value) >= 0)
            s.value[i] = json_integer_value(value);
    }
    return s;
}
