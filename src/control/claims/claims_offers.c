/* claims_offers.c - the devices in the ResourceSlices of a kube-apiserver, and the gpus they are */

#include "control/claims/claims_kube_private.h"
#include "kinds/kind/claim_device.h"
#include "model/gpu.h"
#include "model/mig.h"
#include "model/quantity.h"

/* ---- pools ---- */

/* A pool of a node: only the slices of its newest generation count, and only all together. */
static char *pool_key(const json_t *spec)
{
    return mem_format("%s\n%s", text_or_empty(json_text(spec, "nodeName")),
                      text_or_empty(json_text_at(spec, "pool", "name", NULL)));
}

static int64_t generation_of(const json_t *spec)
{
    return json_int_at(spec, "pool", "generation", NULL);
}

static bool is_own_slice(const json_t *spec)
{
    return text_equal(json_text(spec, "driver"), CLAIM_DRIVER) &&
           json_text_filled(spec, "nodeName");
}

/* {pool: {generation, slices, wanted}} */
static json_t *pools_read(const struct claims *c)
{
    json_t *pools = json_object();
    struct claims_object *o;
    struct claims_object *next;

    map_each (handle, c->kinds[CLAIMS_SLICES].all, o, next) {
        const json_t *spec = json_object_get(o->tree, "spec");
        AUTO_FREE char *key = pool_key(spec);
        json_t *pool = json_object_get(pools, key);

        if (!is_own_slice(spec))
            continue;
        if (!pool || json_int(pool, "generation", 0) < generation_of(spec)) {
            pool = json_object();
            json_put_int(pool, "generation", generation_of(spec));
            json_put_int(pool, "wanted", json_int_at(spec, "pool", "resourceSliceCount", NULL));
            json_put(pools, key, pool);
        }
        if (json_int(pool, "generation", 0) == generation_of(spec))
            json_put_int(pool, "slices", json_int(pool, "slices", 0) + 1);
    }
    return pools;
}

static bool is_whole_pool(const json_t *pools, const json_t *spec)
{
    AUTO_FREE char *key = pool_key(spec);
    const json_t *pool = json_object_get(pools, key);

    return json_int(pool, "generation", 0) == generation_of(spec) &&
           json_int(pool, "slices", 0) >= json_int(pool, "wanted", 0);
}

/* ---- devices ---- */

static int64_t start_of(const json_t *device)
{
    return json_at(device, "attributes", "start", "int", NULL)
               ? json_int_at(device, "attributes", "start", "int", NULL)
               : -1;
}

/* A MIG instance at a place of its gpu that no other has. */
static bool is_instance(const json_t *device, const json_t *others)
{
    const char *parent = claim_device_text(device, "parentUUID");
    char profile[MIG_NAME_SIZE];

    if (!text_equal(claim_device_text(device, "type"), "mig") || !parent ||
        !mig_name_read(text_or_empty(claim_device_text(device, "profile")), profile) ||
        start_of(device) < 0 || start_of(device) >= MIG_UNITS_MAX)
        return false;
    for (size_t i = 0; i < json_array_size(others); i++) {
        const json_t *other = json_array_get(others, i);

        if (start_of(other) == start_of(device) &&
            text_equal(claim_device_text(other, "parentUUID"), parent))
            return false;
    }
    return true;
}

static bool is_offered(const json_t *device, const json_t *others)
{
    return (text_equal(claim_device_text(device, "type"), "gpu") || is_instance(device, others)) &&
           claim_device_text(device, "uuid") &&
           !json_bool(device, "allowMultipleAllocations", false) &&
           !json_object_get(device, "nodeName") && !json_object_get(device, "nodeSelector") &&
           !json_bool(device, "allNodes", false) &&
           json_array_size(json_object_get(device, "consumesCounters")) == 0 &&
           json_array_size(json_object_get(device, "bindingConditions")) == 0;
}

static void slice_add(json_t *offers, const json_t *spec)
{
    json_t *list = json_array_at(offers, json_text(spec, "nodeName"));
    const json_t *devices = json_object_get(spec, "devices");

    for (size_t i = 0; i < json_array_size(devices); i++) {
        json_t *device = json_array_get(devices, i);
        json_t *copy;

        if (!is_offered(device, list))
            continue;
        copy = json_copy(device);
        json_put_text(copy, "pool", json_text_at(spec, "pool", "name", NULL));
        (void)json_array_append_new(list, copy); /* an object */
    }
}

static int compare_slices(const void *a, const void *b)
{
    return strcmp((*(struct claims_object *const *)a)->name,
                  (*(struct claims_object *const *)b)->name);
}

json_t *claims_offers_read(const struct claims *c)
{
    AUTO(json_freep) json_t *pools = pools_read(c);
    VEC(struct claims_object *) slices = {0};
    struct claims_object *o;
    struct claims_object *next;
    json_t *offers = json_object();

    map_each (handle, c->kinds[CLAIMS_SLICES].all, o, next) {
        const json_t *spec = json_object_get(o->tree, "spec");

        if (is_own_slice(spec) && is_whole_pool(pools, spec))
            vec_add(&slices, o);
    }
    if (slices.n > 1)
        qsort(slices.at, slices.n, sizeof(struct claims_object *), compare_slices);
    VEC_EACH (&slices, slice)
        slice_add(offers, json_object_get((*slice)->tree, "spec"));
    vec_done(&slices);
    return offers;
}

const json_t *claims_offers_find(const json_t *devices, const char *pool, const char *name)
{
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *device = json_array_get(devices, i);

        if (text_equal(json_text(device, "name"), name) &&
            text_equal(json_text(device, "pool"), pool))
            return device;
    }
    return NULL;
}

/* ---- taints ---- */

static bool is_tolerated(const json_t *taint, const json_t *tolerations)
{
    for (size_t i = 0; i < json_array_size(tolerations); i++) {
        const json_t *t = json_array_get(tolerations, i);
        const char *key = json_text_filled(t, "key");
        const char *effect = json_text_filled(t, "effect");

        if ((!key || text_equal(key, json_text(taint, "key"))) &&
            (!effect || text_equal(effect, json_text(taint, "effect"))) &&
            (text_equal(json_text(t, "operator"), "Exists") ||
             text_equal(text_or_empty(json_text(t, "value")),
                        text_or_empty(json_text(taint, "value")))))
            return true;
    }
    return false;
}

bool claims_is_tainted(const json_t *device, const json_t *ask)
{
    const json_t *taints = json_object_get(device, "taints");

    for (size_t i = 0; i < json_array_size(taints); i++) {
        const json_t *taint = json_array_get(taints, i);

        if (!text_equal(json_text(taint, "effect"), "None") &&
            !is_tolerated(taint, json_object_get(ask, "tolerations")))
            return true;
    }
    return false;
}

/* ---- gpus ---- */

static int64_t memory_of(const json_t *device)
{
    struct quantity q = {0};
    AUTO(err_freep)
    struct err *e = quantity_parse(
        str_of(text_or_empty(json_text_at(device, "capacity", "memory", "value", NULL))), &q);

    return e || q.milli < 0 ? 0 : quantity_units(q);
}

static json_t *gpu_of(const json_t *device, const char *uuid, const char *index)
{
    static const char numa[] = "resource.kubernetes.io/numaNode";
    const char *product = claim_device_text(device, "productName");
    char model[GPU_TEXT_SIZE];
    json_t *gpu = json_object();

    gpu_model_of(text_or_empty(product), model);
    json_put_text(gpu, "uuid", uuid);
    json_put_text(gpu, "model", model[0] ? model : "gpu");
    json_put_text(gpu, "product", product);
    json_put_text(gpu, "health", "healthy");
    json_put_bool(gpu, "byClaims", true);
    if (json_at(device, "attributes", index, "int", NULL))
        json_put_int(gpu, "index", json_int_at(device, "attributes", index, "int", NULL));
    if (json_at(device, "attributes", numa, "int", NULL))
        json_put_int(gpu, "numaNode", json_int_at(device, "attributes", numa, "int", NULL));
    return gpu;
}

static json_t *gpu_find(json_t *list, const char *uuid)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (text_equal(json_text(json_array_get(list, i), "uuid"), uuid))
            return json_array_get(list, i);
    return NULL;
}

/* Adds a MIG instance to its gpu, of which no more is known than its instances. */
static void instance_add(json_t *list, const json_t *device)
{
    const char *parent = claim_device_text(device, "parentUUID");
    json_t *gpu = gpu_find(list, parent);
    json_t *slice = json_object();

    if (!gpu) {
        gpu = gpu_of(device, parent, "parentIndex");
        json_put_text(gpu, "mode", "slices");
        (void)json_array_append_new(list, gpu); /* an object */
    }
    json_put_int(gpu, "memoryBytes", json_int(gpu, "memoryBytes", 0) + memory_of(device));
    json_put_text(slice, "profile", claim_device_text(device, "profile"));
    json_put_int(slice, "start", start_of(device));
    json_put_text(slice, "uuid", claim_device_text(device, "uuid"));
    json_put_int(slice, "memoryBytes", memory_of(device));
    (void)json_array_append_new(json_array_at(gpu, "slices"), slice); /* an object */
}

char *claims_offers_text(const json_t *devices)
{
    AUTO(json_freep) json_t *list = NULL;

    if (json_array_size(devices) == 0)
        return NULL;
    list = json_array();
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *device = json_array_get(devices, i);
        json_t *gpu;

        if (text_equal(claim_device_text(device, "type"), "mig")) {
            instance_add(list, device);
            continue;
        }
        gpu = gpu_of(device, claim_device_text(device, "uuid"), "index");
        json_put_int(gpu, "memoryBytes", memory_of(device));
        (void)json_array_append_new(list, gpu); /* an object */
    }
    return json_format(list);
}
