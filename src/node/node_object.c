/* node_object.c - the Node object as merge patches */

#include "node/node_object.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "kinds/node_lease.h"
#include "kinds/pod/pod_state.h"
#include "model/resource.h"
#include "node/gpu_labels.h"
#include "node/gpu_offer.h"
#include "node/gpu_vendor_labels.h"

static void put_number(json_t *object, const char *key, int64_t value, const char *unit)
{
    char text[40];

    (void)snprintf(text, sizeof(text), "%" PRId64 "%s", value, unit);
    json_put_text(object, key, text);
}

void node_object_put_labels(const struct node_facts *f, json_t *labels)
{
    static const char state_key[] = "nvidia.com/mig.config.state";
    const struct gpu_labels_facts l = {.gpus = f->gpus,
                                       .n_gpus = f->n_gpus,
                                       .driver = f->driver,
                                       .machine = f->host->machine,
                                       .mig_strategy = f->mig_strategy,
                                       .present = json_at(f->node, "metadata", "labels", NULL),
                                       .began_ns = f->began_ns};

    gpu_labels_put(&l, labels);
    gpu_vendor_labels_put(&l, labels);
    if (f->mig_state)
        json_put_text(labels, state_key, f->mig_state);
    else if (json_at(f->node, "metadata", "labels", state_key, NULL))
        json_put(labels, state_key, json_null());
}

static json_t *gpus_format(const struct node_facts *f)
{
    gpu_offer_list offered = {0};
    json_t *list = json_array();

    gpu_offer_make(f->gpus, f->n_gpus, f->mig_strategy, &offered);
    VEC_EACH (&offered, g)
        (void)json_array_append_new(list, gpu_format_json(g));
    vec_done(&offered);
    return list;
}

/* Nulls, which in a merge patch remove members, have no place in an object to create. */
static void drop_nulls(json_t *object)
{
    const char *key = NULL;
    json_t *value = NULL;
    void *next = NULL;

    json_object_foreach_safe (object, next, key, value) {
        if (json_is_null(value))
            (void)json_object_del(object, key);
    }
}

json_t *node_object_make(const struct node_facts *f, bool is_whole)
{
    json_t *object = json_object();
    json_t *meta = json_object_at(object, "metadata");
    json_t *labels = json_object_at(meta, "labels");
    AUTO_FREE char *hostname = label_value(f->name);

    json_put_text(labels, "kubernetes.io/hostname", hostname);
    json_put_text(labels, "kubernetes.io/os", "linux");
    json_put_text(labels, "kubernetes.io/arch", f->host->arch);
    json_put(json_object_at(meta, "annotations"), NODE_FENCED,
             f->is_fenced ? json_string("true") : json_null());
    if (f->gpus_known) {
        AUTO(json_freep) json_t *gpus = gpus_format(f);
        AUTO_FREE char *text = json_format(gpus);

        node_object_put_labels(f, labels);
        json_put_text(json_object_at(meta, "annotations"), "mete.dev/gpus", text);
        if (f->driver && f->driver->driver_version[0])
            json_put_text(json_object_at(meta, "annotations"), "mete.dev/driver",
                          f->driver->driver_version);
        if (f->driver && f->driver->cuda_version[0])
            json_put_text(json_object_at(meta, "annotations"), "mete.dev/cuda",
                          f->driver->cuda_version);
    }
    if (!is_whole)
        return object;
    drop_nulls(labels);
    drop_nulls(json_object_at(meta, "annotations"));
    json_put_text(object, "apiVersion", "v1");
    json_put_text(object, "kind", "Node");
    json_put_text(meta, "name", f->name);
    return object;
}

/* Adds `n` to an amount of `list`. */
static void add_amount(json_t *list, const char *resource, int64_t n)
{
    int64_t before = 0;
    AUTO(err_freep) struct err *e = NULL;

    if (json_text(list, resource))
        e = num_parse_int64(str_of(json_text(list, resource)), 0, INT32_MAX, &before);
    put_number(list, resource, e ? n : before + n, "");
}

/* Adds the slices of a gpu by their profiles: "nvidia.com/mig-1g.10gb". */
static void add_slices(json_t *list, const struct gpu *g, bool is_given, bool is_allocatable)
{
    for (size_t i = 0; i < g->n_slices; i++) {
        AUTO_FREE char *name = mem_format("%s%s", GPU_SLICE_RESOURCE, g->slices[i].profile);

        for (char *at = name; *at; at++)
            if (*at == '+')
                *at = '.';
        add_amount(list, name, is_given && (!is_allocatable || g->slices[i].health == GPU_HEALTHY));
    }
}

/* Puts the gpus, their replicas and their slices. */
static void put_devices(const struct node_facts *f, json_t *list, bool is_allocatable)
{
    gpu_offer_list offered = {0};

    put_number(list, GPU_RESOURCE, 0, "");
    gpu_offer_make(f->gpus, f->n_gpus, f->mig_strategy, &offered);
    VEC_EACH (&offered, g) {
        bool is_given = !is_allocatable || g->health == GPU_HEALTHY;

        switch (g->mode) {
        case GPU_MODE_WHOLE:
            add_amount(list, gpu_vendor_resource(g->vendor), is_given);
            break;
        case GPU_MODE_REPLICAS:
            add_amount(list, g->is_renamed ? GPU_SHARED_RESOURCE : GPU_RESOURCE,
                       is_given ? g->replicas : 0);
            break;
        case GPU_MODE_SLICES:
            add_slices(list, g, is_given, is_allocatable);
            break;
        }
    }
    vec_done(&offered);
}

/* null removes amounts of replicas, slices and other vendors' gpus that are gone. */
static void remove_devices(const json_t *present, json_t *list)
{
    const char *resource;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)present, resource, value) {
        enum gpu_vendor vendor;
        bool is_ours = text_equal(resource, GPU_SHARED_RESOURCE) ||
                       text_starts_with(resource, GPU_SLICE_RESOURCE) ||
                       gpu_vendor_of(resource, &vendor);

        if (is_ours && !json_object_get(list, resource))
            json_put(list, resource, json_null());
    }
}

/* The part of the amount `n` that jobs may have. */
static int64_t limit_offer(const json_t *offers, const char *member, int64_t n)
{
    int64_t most = json_int(offers, member, n);

    return most < n ? most : n;
}

static void put_resources(const struct node_facts *f, json_t *list, bool is_allocatable)
{
    const char *text =
        is_allocatable ? json_text_at(f->node, "metadata", "annotations", NODE_OFFERS, NULL) : NULL;
    AUTO(json_freep) json_t *offers = NULL;
    AUTO(err_freep) struct err *e = text ? json_parse(str_of(text), &offers) : NULL;

    (void)e; /* a malformed text limits nothing: the server's own */
    put_number(list, "cpu", limit_offer(offers, "cpu", f->host->cpus), "");
    put_number(list, "memory", limit_offer(offers, "memoryBytes", f->host->memory_bytes) / 1024,
               "Ki");
    put_number(list, "ephemeral-storage", f->host->disk_bytes / 1024, "Ki");
    put_number(list, "pods", NODE_PODS_MAX, "");
    if (!f->gpus_known)
        return;
    put_devices(f, list, is_allocatable);
    remove_devices(json_at(f->node, "status", is_allocatable ? "allocatable" : "capacity", NULL),
                   list);
}

static void add_condition(const struct node_facts *f, json_t *status, const char *type,
                          bool is_true, const char *reason)
{
    json_t *condition = json_object();
    char now[STAMP_TEXT_SIZE];
    char began[STAMP_TEXT_SIZE];

    stamp_format(f->now_ns, now);
    stamp_format(f->began_ns, began);
    json_put_text(condition, "type", type);
    json_put_text(condition, "status", is_true ? "True" : "False");
    json_put_text(condition, "reason", reason);
    json_put_text(condition, "message", reason);
    json_put_text(condition, "lastHeartbeatTime", now);
    json_put_text(condition, "lastTransitionTime", began);
    (void)json_array_append_new(json_array_at(status, "conditions"), condition);
}

/* A condition as node-problem-detector sets it: True is bad. The time of a change stays. */
static void add_problem(const struct node_facts *f, json_t *status, const char *type,
                        const char *reason, const char *message)
{
    const char *value = text_equal(reason, "NoProblem") ? "False" : "True";
    const json_t *before = object_condition(f->node, type);
    bool is_same = text_equal(json_text(before, "status"), value);
    json_t *condition = json_object();
    char now[STAMP_TEXT_SIZE];

    stamp_format(f->now_ns, now);
    json_put_text(condition, "type", type);
    json_put_text(condition, "status", value);
    json_put_text(condition, "reason", reason);
    json_put_text(condition, "message", message);
    json_put_text(condition, "lastHeartbeatTime", now);
    json_put_text(condition, "lastTransitionTime",
                  is_same ? json_text(before, "lastTransitionTime") : now);
    (void)json_array_append_new(json_array_at(status, "conditions"), condition);
}

/* Adds the conditions of the gpus: the worst gpu gives the reason, all are in the message. */
void node_object_put_conditions(const struct node_facts *f, json_t *status)
{
    static const char *const reasons[] = {[GPU_HEALTHY] = "NoProblem",
                                          [GPU_DRAINED] = "NoProblem",
                                          [GPU_SUSPECT] = "GpuSuspect",
                                          [GPU_QUARANTINED] = "GpuQuarantined",
                                          [GPU_UNHEALTHY] = "GpuUnhealthy",
                                          [GPU_NOT_ANSWERING] = "GpuNotAnswering",
                                          [GPU_LOST] = "GpuLost"};
    AUTO(buf_done) struct buf text = {.cap = 8192};
    enum gpu_health worst = GPU_HEALTHY;

    for (size_t i = 0; i < f->n_gpus; i++) {
        const struct gpu *g = &f->gpus[i];

        if (g->health <= GPU_DRAINED)
            continue;
        worst = g->health > worst ? g->health : worst;
        buf_printf(&text, "%sGPU %d is %s: %s", text.size > 0 ? "; " : "", g->index,
                   gpu_health_text(g->health), g->health_reason);
    }
    add_problem(f, status, "GPUProblem", reasons[worst],
                text.size > 0 ? text.at : "no GPU is out of service by itself");
    add_problem(f, status, "GPUDriverProblem",
                f->driver_problem && *f->driver_problem ? "DriverNotWorking" : "NoProblem",
                f->driver_problem && *f->driver_problem ? f->driver_problem
                                                        : "the GPU driver answers");
}

static void add_address(json_t *status, const char *type, const char *address)
{
    json_t *a = json_object();

    json_put_text(a, "type", type);
    json_put_text(a, "address", address);
    (void)json_array_append_new(json_array_at(status, "addresses"), a);
}

/* Items of `conditions` have the time of their report. */
static bool same_item(const json_t *a, const json_t *b)
{
    AUTO(json_freep) json_t *mine = json_copy((json_t *)(uintptr_t)a);
    AUTO(json_freep) json_t *other = json_copy((json_t *)(uintptr_t)b);

    if (!json_is_object(a) || !json_is_object(b))
        return json_equal(a, b);
    (void)json_object_del(mine, "lastHeartbeatTime"); /* fails without one */
    (void)json_object_del(other, "lastHeartbeatTime");
    return json_equal(mine, other);
}

static bool same_list(const json_t *a, const json_t *b)
{
    if ((a && !json_is_array(a)) || json_array_size(a) != json_array_size(b))
        return false; /* an empty list may be absent */
    for (size_t i = 0; i < json_array_size(b); i++) {
        if (!same_item(json_array_get(a, i), json_array_get(b, i)))
            return false;
    }
    return true;
}

bool node_object_has(const json_t *stored, const json_t *patch)
{
    const char *key = NULL;
    json_t *value = NULL;

    if (json_is_null(patch))
        return !stored || json_is_null(stored);
    if (json_is_array(patch))
        return same_list(stored, patch);
    if (!json_is_object(patch))
        return stored && json_equal(stored, patch);
    json_object_foreach ((json_t *)(uintptr_t)patch, key, value) {
        if (!node_object_has(json_object_get(stored, key), value))
            return false;
    }
    return true;
}

json_t *node_status_make(const struct node_facts *f)
{
    json_t *object = json_object();
    json_t *status = json_object_at(object, "status");
    json_t *info = json_object_at(status, "nodeInfo");

    put_resources(f, json_object_at(status, "capacity"), false);
    put_resources(f, json_object_at(status, "allocatable"), true);
    add_condition(f, status, "MemoryPressure", false, "HasSufficientMemory");
    add_condition(f, status, "DiskPressure", false, "HasNoDiskPressure");
    add_condition(f, status, "PIDPressure", false, "HasSufficientPID");
    add_condition(f, status, "Ready", true, "NodeReady");
    if (f->gpus_known && f->n_gpus > 0)
        node_object_put_conditions(f, status);
    json_put(status, "images", f->images ? json_deep_copy(f->images) : json_array());
    add_address(status, "InternalIP", f->host->address);
    add_address(status, "Hostname", f->host->hostname);
    json_put_text(info, "machineID", f->host->machine_id);
    json_put_text(info, "systemUUID", f->host->machine_id);
    json_put_text(info, "bootID", f->host->boot_id);
    json_put_text(info, "kernelVersion", f->host->kernel);
    json_put_text(info, "osImage", f->host->os_image);
    json_put_text(info, "containerRuntimeVersion", f->runtime_version);
    json_put_text(info, "kubeletVersion", f->version);
    json_put_text(info, "kubeProxyVersion", "");
    json_put_text(info, "operatingSystem", "linux");
    json_put_text(info, "architecture", f->host->arch);
    return object;
}
