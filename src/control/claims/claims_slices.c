/* claims_slices.c - ResourceSlices: the devices of each node, published */

#include "base/log.h"
#include "control/claims/claims_private.h"

enum {
    SLICE_DEVICES_MAX = 128
};

/* "node-1-gpu.nvidia.com", "node-1-gpu.nvidia.com-1". The caller frees it. */
static char *slice_name(const char *node, size_t number)
{
    if (number == 0)
        return mem_format("%s-%s", node, CLAIM_DRIVER);
    return mem_format("%s-%s-%zu", node, CLAIM_DRIVER, number);
}

static json_t *slice_spec(const char *node, const json_t *devices, size_t number,
                          int64_t generation)
{
    size_t n = json_array_size(devices);
    json_t *spec = json_object();
    json_t *pool = json_object_at(spec, "pool");
    json_t *list = json_array_at(spec, "devices");

    json_put_text(spec, "driver", CLAIM_DRIVER);
    json_put_text(spec, "nodeName", node);
    json_put_text(pool, "name", node);
    json_put_int(pool, "generation", generation);
    json_put_int(pool, "resourceSliceCount",
                 n == 0 ? 1 : (int64_t)((n + SLICE_DEVICES_MAX - 1) / SLICE_DEVICES_MAX));
    for (size_t i = number * SLICE_DEVICES_MAX; i < n && i < (number + 1) * SLICE_DEVICES_MAX; i++)
        (void)json_array_append(list, json_array_get(devices, i)); /* cannot fail */
    return spec;
}

static json_t *slice_owner(const struct claims_object *node)
{
    return json_pack(
        "[{s:s, s:s, s:s, s:s, s:b}]", "apiVersion", "v1", "kind", "Node", "name", node->name,
        "uid", text_or_empty(json_text_at(node->tree, "metadata", "uid", NULL)), "controller", 1);
}

static void slice_create(struct claims *c, const struct claims_object *node, const char *name,
                         json_t *spec)
{
    AUTO(json_freep) json_t *object = json_object();
    json_t *metadata = json_object_at(object, "metadata");
    struct cluster_answer a = claims_answer(c, name);

    json_put_text(metadata, "name", name);
    json_put(metadata, "ownerReferences", slice_owner(node));
    json_put(object, "spec", spec);
    claims_written(c, name,
                   writes_end(a, cluster_create(c->options.cluster,
                                                "resourceslices.resource.k8s.io", "", object, a)));
}

/* Does the slice, but for its generation, have this spec? */
static bool is_same(const json_t *slice, json_t *spec)
{
    int64_t generation = json_int_at(slice, "spec", "pool", "generation", NULL);

    json_put_int(json_object_get(spec, "pool"), "generation", generation);
    return json_equal(json_object_get(slice, "spec"), spec);
}

static void publish_slice(struct claims *c, const struct claims_object *node, const json_t *devices,
                          size_t number)
{
    AUTO_FREE char *name = slice_name(node->name, number);
    const struct claims_object *slice = claims_find(c, CLAIMS_SLICES, "", name);
    const struct cluster_target target = {
        .resource = "resourceslices.resource.k8s.io", .ns = "", .name = name};
    json_t *spec = slice_spec(node->name, devices, number, 1);
    AUTO(json_freep) json_t *patch = NULL;
    struct cluster_answer a;
    int64_t generation;

    if (!slice) {
        slice_create(c, node, name, spec);
        return;
    }
    if (is_same(slice->tree, spec)) {
        json_decref(spec);
        return;
    }
    generation = json_int_at(spec, "pool", "generation", NULL) + 1;
    json_put_int(json_object_get(spec, "pool"), "generation", generation);
    patch = json_object();
    json_put(patch, "spec", spec);
    a = claims_answer(c, name);
    claims_written(c, name, writes_end(a, cluster_patch(c->options.cluster, &target, patch, a)));
}

static void slice_remove(struct claims *c, const struct claims_object *slice)
{
    const struct cluster_target target = {
        .resource = "resourceslices.resource.k8s.io", .ns = "", .name = slice->name};
    struct cluster_answer a = claims_answer(c, slice->name);

    claims_written(c, slice->name,
                   writes_end(a, cluster_remove(c->options.cluster, &target, NULL, a)));
}

/* Is the slice the node's, with a number that the node's devices need? */
static bool is_wanted(const struct claims *c, const json_t *slice)
{
    const char *name_of_node = json_text_at(slice, "spec", "nodeName", NULL);
    struct claims_object *node =
        name_of_node ? claims_find(c, CLAIMS_NODES, "", name_of_node) : NULL;
    size_t n = node ? json_array_size(claims_devices_of_node(node)) : 0;

    for (size_t i = 0; n > i * SLICE_DEVICES_MAX; i++) {
        AUTO_FREE char *name = slice_name(name_of_node, i);

        if (text_equal(name, json_text_at(slice, "metadata", "name", NULL)))
            return true;
    }
    return false;
}

static void publish_node(struct claims *c, struct claims_object *node)
{
    const json_t *devices = claims_devices_of_node(node);
    size_t n = json_array_size(devices);

    node->is_due = false;
    for (size_t i = 0; n > i * SLICE_DEVICES_MAX; i++)
        publish_slice(c, node, devices, i);
    for (size_t i = (n + SLICE_DEVICES_MAX - 1) / SLICE_DEVICES_MAX;; i++) {
        AUTO_FREE char *name = slice_name(node->name, i);
        struct claims_object *slice = claims_find(c, CLAIMS_SLICES, "", name);

        if (!slice)
            break;
        slice->is_due = true; /* the node has fewer devices than before */
    }
}

void claims_publish(struct claims *c)
{
    bool is_all = c->is_all_due;
    struct claims_object *o;
    struct claims_object *next;

    c->is_all_due = false;
    map_each (handle, c->kinds[CLAIMS_NODES].all, o, next) {
        if (is_all || o->is_due)
            publish_node(c, o);
    }
    map_each (handle, c->kinds[CLAIMS_SLICES].all, o, next) {
        if (!is_all && !o->is_due)
            continue;
        o->is_due = false;
        if (text_equal(json_text_at(o->tree, "spec", "driver", NULL), CLAIM_DRIVER) &&
            !is_wanted(c, o->tree))
            slice_remove(c, o);
    }
}
