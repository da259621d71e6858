/* claims_devices.c - the gpus of nodes as devices of ResourceSlices, with the attributes and names
 * of NVIDIA's driver for claims */

#include <ctype.h>
#include <inttypes.h>

#include "control/claims/claims_private.h"
#include "kinds/pod/pod_state.h"
#include "model/quantity.h"

static void put_string(json_t *device, const char *name, const char *value)
{
    if (value && *value)
        json_put_text(json_object_at(json_object_at(device, "attributes"), name), "string", value);
}

static void put_int(json_t *device, const char *name, int64_t value)
{
    if (value >= 0)
        json_put_int(json_object_at(json_object_at(device, "attributes"), name), "int", value);
}

/* Puts "550.54.5" for "550.54.05" and "12.8.0" for "12.8"; nothing for another text. */
static void put_version(json_t *device, const char *name, const char *value)
{
    struct str rest = str_of(value);
    struct buf text = {0};
    bool is_good = value && *value;

    for (size_t i = 0; i < 3 && is_good; i++) {
        struct str part = rest.at ? str_cut(&rest, '.') : STR("0");

        while (part.size > 1 && *part.at == '0')
            part = (struct str){part.at + 1, part.size - 1};
        for (size_t k = 0; k < part.size; k++)
            is_good = is_good && isdigit((unsigned char)part.at[k]);
        is_good = is_good && part.size > 0 && part.size < 10;
        buf_printf(&text, "%s" STR_FMT, i > 0 ? "." : "", STR_ARG(part));
    }
    if (is_good)
        json_put_text(json_object_at(json_object_at(device, "attributes"), name), "version",
                      text.at);
    buf_done(&text);
}

static void put_capacity(json_t *device, const char *name, int64_t value, bool is_memory)
{
    struct quantity q = {.form = is_memory ? QUANTITY_BINARY : QUANTITY_DECIMAL};
    char text[QUANTITY_TEXT_SIZE];

    if (value < 0 || value > INT64_MAX / 1000)
        return;
    q.milli = value * 1000;
    quantity_format(q, text);
    json_put_text(json_object_at(json_object_at(device, "capacity"), name), "value", text);
}

static const char *architecture_of(const json_t *gpu)
{
    static const char *const names[] = {
        [2] = "Kepler", [3] = "Maxwell",      [4] = "Pascal", [5] = "Volta",     [6] = "Turing",
        [7] = "Ampere", [8] = "Ada Lovelace", [9] = "Hopper", [10] = "Blackwell"};
    int64_t number = json_int(gpu, "architecture", -1);

    return number >= 0 && (size_t)number < COUNT(names) ? names[number] : NULL;
}

/* The driver's brands, as far as a product's name tells them. */
static const char *brand_of(const char *product)
{
    static const char *const brands[] = {"Tesla", "GeForce", "Quadro", "TITAN"};

    for (size_t i = 0; product && i < COUNT(brands); i++)
        if (strstr(product, brands[i]))
            return brands[i];
    return "Nvidia";
}

/* The attributes that a gpu and its slices have in common. */
static json_t *device_new(const json_t *node, const json_t *gpu, const char *name)
{
    static const char cuda[] = "nvidia.com/cuda.runtime-version.full";
    const char *product = json_text(gpu, "product");
    AUTO_FREE char *capability = mem_format(
        "%" PRId64 ".%" PRId64, json_int(gpu, "computeMajor", 0), json_int(gpu, "computeMinor", 0));
    json_t *device = json_object();

    json_put_text(device, "name", name);
    put_string(device, "productName", product);
    put_string(device, "brand", brand_of(product));
    put_string(device, "architecture", architecture_of(gpu));
    if (json_int(gpu, "computeMajor", 0) > 0)
        put_version(device, "cudaComputeCapability", capability);
    put_version(device, "driverVersion",
                json_text_at(node, "metadata", "annotations", "mete.dev/driver", NULL));
    put_version(device, "cudaDriverVersion", json_text_at(node, "metadata", "labels", cuda, NULL));
    put_string(device, "resource.kubernetes.io/pciBusID", json_text_filled(gpu, "pci"));
    put_int(device, "resource.kubernetes.io/numaNode", json_int(gpu, "numaNode", -1));
    return device;
}

static json_t *device_of_gpu(const json_t *node, const json_t *gpu)
{
    AUTO_FREE char *name = mem_format("gpu-%" PRId64, json_int(gpu, "index", 0));
    json_t *device = device_new(node, gpu, name);

    put_string(device, "type", "gpu");
    put_string(device, "uuid", json_text(gpu, "uuid"));
    put_int(device, "index", json_int(gpu, "index", -1));
    put_int(device, "minor", json_int(gpu, "minor", -1));
    put_capacity(device, "memory", json_int(gpu, "memoryBytes", -1), true);
    return device;
}

/* "gpu-0-mig-1g10gb-4": the profile, and the first memory slice. */
static char *slice_name(const json_t *gpu, const json_t *slice)
{
    struct buf b = {0};

    buf_printf(&b, "gpu-%" PRId64 "-mig-", json_int(gpu, "index", 0));
    for (const char *c = text_or_empty(json_text(slice, "profile")); *c; c++)
        if (isalnum((unsigned char)*c))
            buf_add_char(&b, *c);
    buf_printf(&b, "-%" PRId64, json_int(slice, "start", 0));
    return buf_steal(&b);
}

static json_t *device_of_slice(const json_t *node, const json_t *gpu, const json_t *slice)
{
    static const char *const counts[][2] = {{"multiprocessors", "multiprocessors"},
                                            {"copyEngines", "copyEngines"},
                                            {"decoders", "decoders"},
                                            {"encoders", "encoders"},
                                            {"jpegEngines", "jpegs"},
                                            {"ofaEngines", "ofas"}};
    AUTO_FREE char *name = slice_name(gpu, slice);
    json_t *device = device_new(node, gpu, name);

    put_string(device, "type", "mig");
    put_string(device, "uuid", json_text(slice, "uuid"));
    put_string(device, "profile", json_text(slice, "profile"));
    put_string(device, "parentUUID", json_text(gpu, "uuid"));
    put_int(device, "parentIndex", json_int(gpu, "index", -1));
    put_int(device, "parentMinor", json_int(gpu, "minor", -1));
    put_int(device, "start", json_int(slice, "start", 0));
    put_capacity(device, "memory", json_int(slice, "memoryBytes", -1), true);
    for (size_t i = 0; i < COUNT(counts); i++)
        put_capacity(device, counts[i][0], json_int(slice, counts[i][1], -1), false);
    return device;
}

/* A gpu in slices is published as its slices. */
static json_t *claims_devices(const json_t *node)
{
    const char *text = json_text_at(node, "metadata", "annotations", NODE_GPUS, NULL);
    AUTO(json_freep) json_t *gpus = NULL;
    AUTO(err_freep) struct err *e = text ? json_parse(str_of(text), &gpus) : NULL;
    json_t *devices = json_array();

    for (size_t i = 0; i < json_array_size(gpus); i++) {
        const json_t *gpu = json_array_get(gpus, i);
        const json_t *slices = json_object_get(gpu, "slices");

        if (json_text(gpu, "vendor"))
            continue; /* the driver of these classes is NVIDIA's */
        if (!text_equal(json_text(gpu, "mode"), "slices"))
            (void)json_array_append_new(devices, device_of_gpu(node, gpu)); /* cannot fail */
        for (size_t k = 0; k < json_array_size(slices); k++)
            (void)json_array_append_new(
                devices, device_of_slice(node, gpu, json_array_get(slices, k))); /* as above */
    }
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

const char *claims_attribute(const json_t *device, const char *name)
{
    return json_text_at(device, "attributes", name, "string", NULL);
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
    const char *parent = claims_attribute(device, "parentUUID");
    const char *uuid = text_or_empty(claims_attribute(device, "uuid"));
    struct device d = device_whole(parent ? parent : uuid);

    if (parent) {
        d.kind = DEVICE_SLICE;
        d.start = (uint32_t)json_int_at(device, "attributes", "start", "int", NULL);
        (void)snprintf(d.profile, sizeof(d.profile), "%s",
                       text_or_empty(claims_attribute(device, "profile")));
        (void)snprintf(d.instance, sizeof(d.instance), "%s", uuid);
    }
    device_format(&d, ret);
}

const char *claims_device_name(const json_t *devices, const struct device *d)
{
    bool is_slice = d->kind == DEVICE_SLICE;

    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *device = json_array_get(devices, i);
        const char *gpu = claims_attribute(device, is_slice ? "parentUUID" : "uuid");

        if (text_equal(gpu, d->gpu) &&
            (!is_slice || (json_int_at(device, "attributes", "start", "int", NULL) == d->start &&
                           text_equal(claims_attribute(device, "profile"), d->profile))))
            return json_text(device, "name");
    }
    return NULL;
}
