/* claims_devices.c - the gpus of nodes as devices of ResourceSlices */

#include "control/claims/claims_private.h"
#include "kinds/kind/claim_device.h"
#include "kinds/pod/pod_state.h"

static json_t *claims_devices(const json_t *node)
{
    static const char cuda[] = "nvidia.com/cuda.runtime-version.full";
    const char *text = json_text_at(node, "metadata", "annotations", NODE_GPUS, NULL);
    const struct claim_versions versions = {
        .driver = json_text_at(node, "metadata", "annotations", "mete.dev/driver", NULL),
        .cuda = json_text_at(node, "metadata", "labels", cuda, NULL)};
    AUTO(json_freep) json_t *gpus = NULL;
    AUTO(err_freep) struct err *e = text ? json_parse(str_of(text), &gpus) : NULL;
    json_t *devices = json_array();

    for (size_t i = 0; i < json_array_size(gpus); i++)
        claim_devices_add(devices, json_array_get(gpus, i), &versions);
    return devices;
}

json_t *claims_devices_of_node(struct claims_object *node)
{
    if (!node->devices)
        node->devices = claims_devices(node->tree);
    return node->devices;
}

static int compare_objects(const void *a, const void *b)
{
    return strcmp((*(struct claims_object *const *)a)->name,
                  (*(struct claims_object *const *)b)->name);
}

json_t *claims_inventory(struct claims *c)
{
    VEC(struct claims_object *) nodes = {0};
    struct claims_object *o;
    struct claims_object *next;
    json_t *all = json_object();

    map_each (handle, c->kinds[CLAIMS_NODES].all, o, next) {
        vec_add(&nodes, o);
    }
    if (nodes.n > 1)
        qsort(nodes.at, nodes.n, sizeof(struct claims_object *), compare_objects);
    VEC_EACH (&nodes, node) {
        json_put(all, (*node)->name, json_incref(claims_devices_of_node(*node)));
    }
    vec_done(&nodes);
    return all;
}

const json_t *claims_value(const json_t *device, const char *name)
{
    const json_t *attributes = json_object_get(device, "attributes");
    const json_t *value = name ? json_object_get(attributes, name) : NULL;

    if (!value && name && text_starts_with(name, CLAIM_DRIVER "/"))
        value = json_object_get(attributes, name + sizeof(CLAIM_DRIVER "/") - 1);
    return value;
}

void claims_device_text(const json_t *device, char ret[DEVICE_TEXT_SIZE])
{
    const char *parent = claim_device_text(device, "parentUUID");
    const char *uuid = text_or_empty(claim_device_text(device, "uuid"));
    struct device d = device_whole(parent ? parent : uuid);

    if (parent) {
        d.kind = DEVICE_SLICE;
        d.start = (uint32_t)json_int_at(device, "attributes", "start", "int", NULL);
        (void)snprintf(d.profile, sizeof(d.profile), "%s",
                       text_or_empty(claim_device_text(device, "profile")));
        (void)snprintf(d.instance, sizeof(d.instance), "%s", uuid);
    }
    device_format(&d, ret);
}

const json_t *claims_device_find(const json_t *devices, const struct device *d)
{
    bool is_slice = d->kind == DEVICE_SLICE;

    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *device = json_array_get(devices, i);
        const char *gpu = claim_device_text(device, is_slice ? "parentUUID" : "uuid");

        if (text_equal(gpu, d->gpu) &&
            (!is_slice || (json_int_at(device, "attributes", "start", "int", NULL) == d->start &&
                           text_equal(claim_device_text(device, "profile"), d->profile))))
            return device;
    }
    return NULL;
}

const char *claims_device_name(const json_t *devices, const struct device *d)
{
    return json_text(claims_device_find(devices, d), "name");
}
