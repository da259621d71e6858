/* views_gpus.c - the view of gpus */

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/node_stats.h"
#include "control/report/holders.h"
#include "control/report/views.h"
#include "gpu/gpu_watch.h"
#include "kinds/pod/pod_state.h"
#include "model/mig.h"

enum {
    UNWANTED_MAX = 8
};

/* Members that the view copies from the node's annotation. */
static const char *const spec_members[] = {
    "uuid", "index", "product", "model", "memoryBytes", "pci", "numaNode", "linkGroup", "emulated"};

/* The same, of members that not every gpu has. */
static const char *const more_members[] = {"mode",
                                           "replicas",
                                           "renamed",
                                           "single",
                                           "slices",
                                           "flexible",
                                           "keepsMig",
                                           "modeProblem",
                                           "links",
                                           "architecture",
                                           "memoryReservedBytes",
                                           "computeMajor",
                                           "computeMinor",
                                           "migMode",
                                           "migPending",
                                           "eccMode",
                                           "powerLimitMilliwatts",
                                           "smClockMaxMhz",
                                           "memoryClockMaxMhz",
                                           "cpus",
                                           "clique",
                                           "switchLinks",
                                           "eccPending",
                                           "powerLimitDefaultMilliwatts",
                                           "powerLimitMinMilliwatts",
                                           "powerLimitMaxMilliwatts",
                                           "fabric",
                                           "peers",
                                           "minor",
                                           "serial",
                                           "mps",
                                           "vendor",
                                           "resource",
                                           "driverVersion",
                                           "gfx",
                                           "computePartition",
                                           "memoryPartition",
                                           "partition",
                                           "computeUnits"};

static void copy_member(json_t *to, const json_t *from, const char *key)
{
    json_t *value = json_object_get(from, key);

    json_put(to, key, value ? json_deep_copy(value) : json_null());
}

/* The isolation between the holder of a device and others on the gpu. */
static const char *isolation_of(const struct device *d, bool is_mps)
{
    switch (d->kind) {
    case DEVICE_SHARE:
        return "memory + compute";
    case DEVICE_REPLICA:
        return is_mps ? "memory" : "none";
    case DEVICE_WHOLE:
    case DEVICE_SLICE:
        break;
    }
    return "hardware";
}

static json_t *holder_tree(struct views *v, const char *uuid, bool is_mps, size_t i)
{
    struct scheduler_holder holder;
    char device[DEVICE_TEXT_SIZE];
    json_t *o;

    if (v->holders ? !holders_find(v->holders, uuid, i, &holder)
                   : !scheduler_gpu_holder(v->scheduler, uuid, i, &holder))
        return NULL;
    device_format(holder.device, device);
    o = json_object();
    json_put_text(o, "namespace", holder.ns);
    json_put_text(o, "pod", holder.pod);
    json_put(o, "jobId", holder.job_id > 0 ? json_integer(holder.job_id) : json_null());
    json_put_text(o, "user", *holder.user ? holder.user : NULL);
    json_put_text(o, "device", device);
    json_put_int(o, "milli", device_milli(holder.device));
    json_put_text(o, "isolation", isolation_of(holder.device, is_mps));
    return o;
}

/* All holders; NULL: the gpu is free. New reference. */
static json_t *holders_tree(struct views *v, const char *uuid, bool is_mps)
{
    json_t *list = NULL;
    json_t *holder;

    for (size_t i = 0; uuid && (holder = holder_tree(v, uuid, is_mps, i)); i++) {
        list = list ? list : json_array();
        (void)json_array_append_new(list, holder); /* a fresh object: cannot fail */
    }
    return list;
}

/* null: the server has no fresh sample of the node, or the gpu does not answer. */
static json_t *sample_tree(const struct views *v, const char *node, const char *uuid)
{
    int64_t at_ns = 0;
    const struct gpu_sample *sample =
        v->gpu_sample && node && uuid ? v->gpu_sample(v->gpu_sample_arg, node, uuid, &at_ns) : NULL;
    json_t *o = sample ? gpu_sample_format_json(sample) : json_null();
    char at[STAMP_TEXT_SIZE];

    if (!sample)
        return o;
    stamp_format(at_ns, at);
    json_put_text(o, "at", at);
    return o;
}

static json_t *known_number(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

/* What containers use of a gpu or slice; the foreign processes have no container. */
static json_t *containers_tree(const struct views *v, const char *node, const char *device)
{
    const struct container_gpu *c;
    json_t *list = json_array();

    for (size_t i = 0; v->container_gpu && node && device &&
                       (c = v->container_gpu(v->gpu_sample_arg, node, device, i));
         i++) {
        json_t *o = json_object();

        json_put_text(o, "podUid", *c->pod_uid ? c->pod_uid : NULL);
        json_put_text(o, "container", *c->name ? c->name : NULL);
        json_put(o, "attempt", known_number(c->attempt));
        json_put(o, "memoryUsedBytes", known_number(c->memory_bytes));
        json_put(o, "smActiveMilli", known_number(c->sm_milli));
        json_put(o, "processes", known_number(c->n_processes));
        (void)json_array_append_new(list, o); /* a fresh object: cannot fail */
    }
    return list;
}

/* The use of a gpu and of its slices. */
static void put_use(const struct views *v, const char *node, const json_t *gpu, json_t *status)
{
    const char *uuid = json_text(gpu, "uuid");
    json_t *slices = json_object_get(gpu, "slices");
    const json_t *slice;
    json_t *list;
    size_t i;

    json_put(status, "sample", sample_tree(v, node, uuid));
    json_put(status, "containers", containers_tree(v, node, uuid));
    if (!slices)
        return;
    list = json_array_at(status, "slices");
    json_array_foreach (slices, i, slice) {
        json_t *o = json_object();

        copy_member(o, slice, "uuid");
        copy_member(o, slice, "profile");
        json_put(o, "sample", sample_tree(v, node, json_text(slice, "uuid")));
        json_put(o, "containers", containers_tree(v, node, json_text(slice, "uuid")));
        (void)json_array_append_new(list, o); /* as above */
    }
}

/* Puts what follows from other members, and the versions of the node's driver. */
static void put_derived(const json_t *node, const json_t *gpu, json_t *spec)
{
    const json_t *annotations = json_at(node, "metadata", "annotations", NULL);
    int64_t major = json_int(gpu, "computeMajor", -1);
    int64_t minor = json_int(gpu, "computeMinor", -1);
    int64_t bytes = json_int(gpu, "memoryBytes", -1);
    int64_t reserved = json_int(gpu, "memoryReservedBytes", -1);
    AUTO_FREE char *compute = NULL;

    if (major >= 0 && major < INT32_MAX && minor >= 0 && minor < INT32_MAX) {
        compute = mem_format("%" PRId64 ".%" PRId64, major, minor);
        json_put_text(spec, "computeCapability", compute);
        json_put_text(spec, "family", gpu_family((int)major, (int)minor));
    }
    if (bytes >= 0 && reserved >= 0 && reserved <= bytes)
        json_put_int(spec, "memoryUsableBytes", bytes - reserved);
    if (json_text(gpu, "gfx"))
        json_put_text(spec, "family", json_text(gpu, "gfx"));
    if (json_text(gpu, "vendor"))
        return; /* the node's annotations are about NVIDIA's driver */
    if (json_text(annotations, "mete.dev/driver"))
        json_put_text(spec, "driverVersion", json_text(annotations, "mete.dev/driver"));
    if (json_text(annotations, "mete.dev/cuda"))
        json_put_text(spec, "cudaVersion", json_text(annotations, "mete.dev/cuda"));
}

/* The gpu's and each slice's number of memory slices, the unit of a slice's start. A gpu without a
 * known geometry has no such members. */
static void put_geometry(json_t *spec)
{
    const json_t *slices = json_object_get(spec, "slices");
    const char *model = json_text(spec, "model");
    const struct mig_geometry *g =
        slices && model ? mig_geometry_of(model, json_int(spec, "memoryBytes", 0)) : NULL;
    json_t *slice;
    size_t i;

    if (!g)
        return;
    json_put_int(spec, "memorySlices", g->units);
    json_array_foreach (slices, i, slice) {
        const char *profile = json_text(slice, "profile");
        int at = profile ? mig_profile_find(g, profile) : -1;

        if (at >= 0)
            json_put_int(slice, "memorySlices", g->profiles[at].size);
    }
}

/* The view of one gpu. Its name is the uuid, which fits in a path. */
static json_t *gpu_tree(struct views *v, const json_t *node, const json_t *gpu)
{
    const char *uuid = json_text(gpu, "uuid");
    json_t *holders = holders_tree(v, uuid, json_bool(gpu, "mps", false));
    json_t *o = json_object();
    json_t *metadata;
    json_t *status;
    json_t *spec;

    json_put_text(o, "apiVersion", "mete.dev/v1");
    json_put_text(o, "kind", "Gpu");
    metadata = json_object_at(o, "metadata");
    json_put_text(metadata, "name", uuid);
    json_put_text(metadata, "uid", uuid);
    json_put_text(metadata, "creationTimestamp",
                  json_text_at(node, "metadata", "creationTimestamp", NULL));
    spec = json_object_at(o, "spec");
    json_put_text(spec, "node", json_text_at(node, "metadata", "name", NULL));
    for (size_t i = 0; i < COUNT(spec_members); i++)
        copy_member(spec, gpu, spec_members[i]);
    for (size_t i = 0; i < COUNT(more_members); i++)
        if (json_object_get(gpu, more_members[i]) &&
            !json_is_null(json_object_get(gpu, more_members[i])))
            copy_member(spec, gpu, more_members[i]);
    put_derived(node, gpu, spec);
    put_geometry(spec);
    status = json_object_at(o, "status");
    copy_member(status, gpu, "health");
    if (json_text(gpu, "healthReason"))
        copy_member(status, gpu, "healthReason");
    if (json_text(gpu, "drainedBy"))
        copy_member(status, gpu, "drainedBy");
    if (json_text(gpu, "healthAdvice"))
        copy_member(status, gpu, "healthAdvice");
    if (json_text(gpu, "healthSince"))
        copy_member(status, gpu, "healthSince");
    if (holders) {
        json_put(status, "holder", json_incref(json_array_get(holders, 0)));
        json_put(status, "holders", holders);
    }
    put_use(v, json_text(spec, "node"), gpu, status);
    return o;
}

/* Adds the gpus of one node to `list`; with `uuid` only that gpu. */
static void add_node(struct views *v, const json_t *node, const char *uuid, json_t *list)
{
    const char *text = json_text_at(node, "metadata", "annotations", NODE_GPUS, NULL);
    AUTO(err_freep) struct err *e = NULL;
    AUTO(json_freep) json_t *gpus = NULL;
    json_t *gpu;
    size_t i;

    if (text)
        e = json_parse(str_of(text), &gpus);
    if (e) /* the scheduler has logged it */
        return;
    json_array_foreach (gpus, i, gpu) {
        if (!uuid || text_equal(uuid, json_text(gpu, "uuid")))
            (void)json_array_append_new(list,
                                        gpu_tree(v, node, gpu)); /* a fresh tree: cannot fail */
    }
}

/* Adds the gpus of a node that are not given as wanted. */
static void add_unwanted(const json_t *node, json_t *list)
{
    const char *text = json_text_at(node, "metadata", "annotations", NODE_GPUS, NULL);
    AUTO(err_freep) struct err *e = NULL;
    AUTO(json_freep) json_t *gpus = NULL;
    json_t *gpu;
    size_t i;

    if (text && strstr(text, "\"modeProblem\""))
        e = json_parse(str_of(text), &gpus);
    if (e) /* the scheduler has logged it */
        return;
    json_array_foreach (gpus, i, gpu) {
        json_t *o;

        if (!json_text(gpu, "modeProblem") || json_array_size(list) == UNWANTED_MAX)
            continue;
        o = json_object();
        json_put_text(o, "node", json_text_at(node, "metadata", "name", NULL));
        json_put_int(o, "index", json_int(gpu, "index", -1));
        json_put_text(o, "problem", json_text(gpu, "modeProblem"));
        (void)json_array_append_new(list, o); /* a fresh object: cannot fail */
    }
}

json_t *views_unwanted_gpus(struct views *v)
{
    AUTO(json_freep) json_t *nodes = views_list(v, "nodes", NULL);
    json_t *list = json_array();
    json_t *node;
    size_t i;

    json_array_foreach (nodes, i, node)
        add_unwanted(node, list);
    return list;
}

static json_t *views_list_gpus(struct views *v, const char *uuid)
{
    AUTO(json_freep) json_t *nodes = views_list(v, "nodes", NULL);
    AUTO(holders_freep) struct holders *holders = v->source ? holders_new(v->scheduler) : NULL;
    json_t *list = json_array();
    json_t *node;
    size_t i;

    v->holders = holders;
    json_array_foreach (nodes, i, node)
        add_node(v, node, uuid, list);
    v->holders = NULL;
    return list;
}

json_t *views_gpus(struct views *v)
{
    return views_list_gpus(v, NULL);
}

json_t *views_gpu(struct views *v, const char *uuid)
{
    AUTO(json_freep) json_t *found = views_list_gpus(v, uuid);

    return json_incref(json_array_get(found, 0));
}
