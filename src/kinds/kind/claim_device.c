/* claim_device.c - gpus and MIG instances as devices of ResourceSlices */

#include "kinds/kind/claim_device.h"

#include <ctype.h>
#include <inttypes.h>

#include "base/mem.h"
#include "model/mig.h"
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

/* Puts "0000:1b:00.0" for "00000000:1B:00.0", as Kubernetes has it. */
static void put_pci(json_t *device, const char *pci)
{
    AUTO_FREE char *text = mem_strdup(text_or_empty(pci));
    const char *domain =
        text_starts_with(text, "0000") && strcspn(text, ":") == 8 ? text + 4 : text;

    for (char *at = text; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    put_string(device, "resource.kubernetes.io/pciBusID", domain);
}

/* The attributes that a gpu and its slices have in common. */
static json_t *device_new(const json_t *gpu, const struct claim_versions *v, const char *name)
{
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
    put_version(device, "driverVersion", v->driver);
    put_version(device, "cudaDriverVersion", v->cuda);
    put_pci(device, json_text_filled(gpu, "pci"));
    put_int(device, "resource.kubernetes.io/numaNode", json_int(gpu, "numaNode", -1));
    return device;
}

static json_t *device_of_gpu(const json_t *gpu, const struct claim_versions *v)
{
    AUTO_FREE char *name = mem_format("gpu-%" PRId64, json_int(gpu, "index", 0));
    json_t *device = device_new(gpu, v, name);

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

/* The memory slices that the instance occupies: "memorySlice4": 1. */
static void put_memory_slices(json_t *device, const json_t *gpu, const json_t *slice)
{
    const char *model = text_or_empty(json_text(gpu, "model"));
    const struct mig_geometry *g = mig_geometry_of(model, json_int(gpu, "memoryBytes", 0));
    int profile = g ? mig_profile_find(g, text_or_empty(json_text(slice, "profile"))) : -1;
    int64_t start = json_int(slice, "start", 0);

    for (int64_t i = 0; profile >= 0 && i < g->profiles[profile].size; i++) {
        AUTO_FREE char *name = mem_format("memorySlice%" PRId64, start + i);

        put_capacity(device, name, 1, false);
    }
}

static json_t *device_of_slice(const json_t *gpu, const json_t *slice,
                               const struct claim_versions *v)
{
    static const char *const counts[][2] = {{"multiprocessors", "multiprocessors"},
                                            {"copyEngines", "copyEngines"},
                                            {"decoders", "decoders"},
                                            {"encoders", "encoders"},
                                            {"jpegEngines", "jpegs"},
                                            {"ofaEngines", "ofas"}};
    AUTO_FREE char *name = slice_name(gpu, slice);
    json_t *device = device_new(gpu, v, name);

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
    put_memory_slices(device, gpu, slice);
    return device;
}

void claim_devices_add(json_t *list, const json_t *gpu, const struct claim_versions *v)
{
    const json_t *slices = json_object_get(gpu, "slices");

    if (json_text(gpu, "vendor"))
        return;
    if (!text_equal(json_text(gpu, "mode"), "slices"))
        (void)json_array_append_new(list, device_of_gpu(gpu, v)); /* cannot fail */
    for (size_t i = 0; i < json_array_size(slices); i++)
        (void)json_array_append_new(
            list, device_of_slice(gpu, json_array_get(slices, i), v)); /* as above */
}

const char *claim_device_text(const json_t *device, const char *name)
{
    return json_text_at(device, "attributes", name, "string", NULL);
}
