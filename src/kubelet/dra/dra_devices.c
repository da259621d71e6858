/* dra_devices.c - the devices that this node offers to claims */

#include "kubelet/dra/dra_devices.h"

#include "base/mem.h"
#include "gpu/gpu_watch.h"
#include "kinds/kind/claim_fields.h"

/* A lost gpu has the taint of NVIDIA's driver; for other troubles that has one for each XID only.
 */
static void put_taint(json_t *device, enum gpu_health health)
{
    json_t *taint = NULL;

    if (health == GPU_HEALTHY)
        return;
    taint = json_object();
    if (health == GPU_LOST) {
        json_put_text(taint, "key", CLAIM_DRIVER "/gpu-lost");
    } else {
        AUTO_FREE char *value = mem_strdup(gpu_health_text(health));

        for (char *at = value; *at; at++)
            if (*at == ' ')
                *at = '-';
        json_put_text(taint, "key", "mete.dev/gpu-health");
        json_put_text(taint, "value", value);
    }
    json_put_text(taint, "effect", "NoSchedule");
    (void)json_array_append_new(json_array_at(device, "taints"), taint); /* cannot fail */
}

/* An amount of which each claim takes `least` by default, up to `value`, in steps. */
static void put_policy(json_t *capacity, const char *name, const char *value, const char *least,
                       const char *step)
{
    json_t *amount = json_object_at(capacity, name);
    json_t *policy = json_object_at(amount, "requestPolicy");
    json_t *range = json_object_at(policy, "validRange");

    json_put_text(amount, "value", value);
    json_put_text(policy, "default", least);
    json_put_text(range, "min", least);
    json_put_text(range, "max", value);
    json_put_text(range, "step", step);
}

/*
 * Several claims may have the gpu, each a number of its shares, as NVIDIA's driver publishes it:
 * the shares are the replicas. The memory that a claim asks for is counted, and limits nothing.
 */
static void put_shares(json_t *device, unsigned replicas)
{
    AUTO_FREE char *shares = mem_format("%u", replicas);
    json_t *capacity = json_object_at(device, "capacity");
    const char *memory = json_text_at(capacity, "memory", "value", NULL);
    AUTO_FREE char *most = memory ? mem_strdup(memory) : NULL;

    json_put_bool(device, "allowMultipleAllocations", true);
    put_policy(capacity, "shares", shares, "1", "1");
    if (most)
        put_policy(capacity, "memory", most, "0", "1Mi");
}

/* Adds the device; `slice` is NULL for a whole gpu. Takes `object`. */
static void add_device(struct dra_devices *d, const struct gpu *g, const struct gpu_slice *slice,
                       json_t *object)
{
    bool is_of_slice = slice && slice->health > g->health;
    struct dra_device device = {
        .name = json_text(object, "name"),
        .uuid = claim_device_text(object, "uuid"),
        .health = is_of_slice ? slice->health : g->health,
        .reason = mem_strdup(is_of_slice ? slice->health_reason : g->health_reason),
        .object = object,
    };

    put_taint(object, device.health);
    if (g->mode == GPU_MODE_REPLICAS)
        put_shares(object, g->replicas);
    vec_add(&d->list, device);
}

static void add_gpu(struct dra_devices *d, const struct gpu *g, const struct claim_versions *v)
{
    AUTO(json_freep) json_t *j = gpu_format_json(g);
    AUTO(json_freep) json_t *objects = json_array();

    claim_devices_add(objects, j, v);
    for (size_t i = 0; i < json_array_size(objects); i++) {
        json_t *object = json_array_get(objects, i);
        bool is_slice = g->mode == GPU_MODE_SLICES;

        if (claim_device_text(object, "uuid")) /* else it has no compute instance yet */
            add_device(d, g, is_slice ? &g->slices[i] : NULL, json_incref(object));
    }
}

void dra_devices_make(const struct gpu *gpus, size_t n, const struct claim_versions *v,
                      struct dra_devices *ret)
{
    for (size_t i = 0; i < n; i++)
        if (gpus[i].uuid[0])
            add_gpu(ret, &gpus[i], v);
}

void dra_devices_done(struct dra_devices *d)
{
    VEC_EACH (&d->list, device) {
        json_decref(device->object);
        free(device->reason);
    }
    vec_done(&d->list);
}

const struct dra_device *dra_devices_find(const struct dra_devices *d, const char *name)
{
    VEC_EACH (&d->list, device)
        if (text_equal(device->name, name))
            return device;
    return NULL;
}

bool dra_devices_equal(const struct dra_devices *a, const struct dra_devices *b)
{
    if (a->list.n != b->list.n)
        return false;
    for (size_t i = 0; i < a->list.n; i++)
        if (!json_equal(a->list.at[i].object, b->list.at[i].object) ||
            !text_equal(a->list.at[i].reason, b->list.at[i].reason))
            return false;
    return true;
}
