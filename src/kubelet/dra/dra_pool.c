/* dra_pool.c - the ResourceSlices of this node's pool, as documents */

#include "kubelet/dra/dra_pool.h"

#include "kinds/kind/claim_fields.h"

enum {
    POOL_DEVICES_MAX = 64 /* of a slice; 128 without taints and counters */
};

static const char *const versions[DRA_VERSIONS] = {
    [DRA_V1BETA1] = "v1beta1", [DRA_V1BETA2] = "v1beta2", [DRA_V1] = "v1"};

const char *dra_version_text(enum dra_version v)
{
    return versions[v];
}

bool dra_version_choose(const json_t *group, enum dra_version *ret)
{
    const json_t *list = json_object_get(group, "versions");
    bool is_known = false;

    for (size_t i = 0; i < json_array_size(list); i++)
        for (int v = DRA_V1BETA1; v < DRA_VERSIONS; v++) {
            if (!text_equal(json_text(json_array_get(list, i), "version"), versions[v]))
                continue;
            if (!is_known || v > (int)*ret)
                *ret = (enum dra_version)v;
            is_known = true;
        }
    return is_known;
}

char *dra_pool_slice_name(const char *node, size_t number)
{
    if (number == 0)
        return mem_format("%s-%s", node, CLAIM_DRIVER);
    return mem_format("%s-%s-%zu", node, CLAIM_DRIVER, number);
}

/* The device as the version has it. A new object. */
static json_t *device_of_version(const json_t *device, enum dra_version v)
{
    json_t *facts = json_copy((json_t *)(uintptr_t)device);
    json_t *wrapped = NULL;

    if (v != DRA_V1BETA1)
        return facts;
    wrapped = json_object();
    json_put_text(wrapped, "name", json_text(device, "name"));
    (void)json_object_del(facts, "name");
    json_put(wrapped, "basic", facts);
    return wrapped;
}

static json_t *spec_new(const char *node)
{
    json_t *spec = json_object();
    json_t *pool = json_object_at(spec, "pool");

    json_put_text(spec, "driver", CLAIM_DRIVER);
    json_put_text(spec, "nodeName", node);
    json_put_text(pool, "name", node);
    return spec;
}

json_t *dra_pool_specs(const char *node, const struct dra_devices *d, enum dra_version v,
                       bool has_taints)
{
    json_t *specs = json_array();
    json_t *devices = NULL;
    size_t i = 0;
    json_t *spec = NULL;

    VEC_EACH (&d->list, device) {
        if (!has_taints && device->health != GPU_HEALTHY)
            continue;
        if (json_array_size(devices) % POOL_DEVICES_MAX == 0) {
            spec = spec_new(node);
            devices = json_array_at(spec, "devices");
            (void)json_array_append_new(specs, spec); /* a fresh object: cannot fail */
        }
        (void)json_array_append_new(devices, device_of_version(device->object, v)); /* as above */
    }
    if (json_array_size(specs) == 0) {
        spec = spec_new(node);
        (void)json_array_append_new(specs, spec); /* so that the node has none of them */
    }
    json_array_foreach (specs, i, spec)
        json_put_int(json_object_get(spec, "pool"), "resourceSliceCount",
                     (int64_t)json_array_size(specs));
    return specs;
}

/* The facts of a device, in any version. Borrowed. */
static json_t *device_facts(json_t *device)
{
    json_t *basic = json_object_get(device, "basic");

    return basic ? basic : device;
}

json_t *dra_pool_bare_spec(const json_t *slice)
{
    json_t *spec = json_deep_copy(json_object_get(slice, "spec"));
    json_t *device = NULL;
    json_t *taint = NULL;
    size_t i = 0;
    size_t k = 0;

    if (!spec)
        return json_object();
    (void)json_object_del(json_object_get(spec, "pool"), "generation");
    json_array_foreach (json_object_get(spec, "devices"), i, device)
        json_array_foreach (json_object_get(device_facts(device), "taints"), k, taint)
            (void)json_object_del(taint, "timeAdded");
    return spec;
}

static size_t count_taints(const json_t *spec)
{
    const json_t *list = json_object_get(spec, "devices");
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(list); i++)
        n += json_array_size(json_object_get(device_facts(json_array_get(list, i)), "taints"));
    return n;
}

bool dra_pool_lost_taints(const json_t *spec, const json_t *bare)
{
    return count_taints(spec) > 0 && count_taints(bare) == 0;
}
