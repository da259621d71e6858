/* gpu_vendor_labels.c - the labels of a node about gpus of AMD and Intel */

#include "node/gpu_vendor_labels.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"

enum {
    VALUE_SIZE = 64,
    NAME_MAX_BYTES = 63 /* of a label's name, behind the '/' */
};

#define AMD_PREFIX   "amd.com/gpu."
#define BETA_PREFIX  "beta.amd.com/gpu."
#define INTEL_PREFIX "gpu.intel.com/"

static void count_label(json_t *labels, const char *prefix, const char *name, const char *value,
                        int64_t n)
{
    AUTO_FREE char *key = mem_format("%s%s.%s", prefix, name, value);
    AUTO_FREE char *text = mem_format("%" PRId64, n);

    if (strlen(strchr(key, '/') + 1) <= NAME_MAX_BYTES)
        json_put_text(labels, key, text);
}

static void put_label(json_t *labels, const char *prefix, const char *name, const char *value)
{
    AUTO_FREE char *key = mem_format("%s%s", prefix, name);
    AUTO_FREE char *text = label_value(value);

    json_put_text(labels, key, text);
}

/* ---- AMD ---- */

/* What a label says of a gpu; false: nothing is known. */
typedef bool (*property_fn)(const struct gpu *g, char ret[VALUE_SIZE]);

static bool device_id(const struct gpu *g, char ret[VALUE_SIZE])
{
    (void)snprintf(ret, VALUE_SIZE, "%04x", (unsigned)(g->pci_device >> 16 & 0xffff));
    return g->pci_device >= 0;
}

/* Blanks become '_'; characters that labels do not allow go. */
static bool product_name(const struct gpu *g, char ret[VALUE_SIZE])
{
    size_t n = 0;

    for (const char *c = g->product; *c && n < VALUE_SIZE - 1; c++)
        if (isalnum((unsigned char)*c) || strchr("-_.", *c))
            ret[n++] = *c;
        else if (*c == ' ')
            ret[n++] = '_';
    ret[n] = '\0';
    return n > 0;
}

static bool vram(const struct gpu *g, char ret[VALUE_SIZE])
{
    (void)snprintf(ret, VALUE_SIZE, "%" PRId64 "G", ((g->memory_bytes >> 20) + 512) / 1024);
    return g->memory_bytes > 0;
}

static bool simd_count(const struct gpu *g, char ret[VALUE_SIZE])
{
    (void)snprintf(ret, VALUE_SIZE, "%d", g->amd.simds);
    return g->amd.simds > 0;
}

static bool cu_count(const struct gpu *g, char ret[VALUE_SIZE])
{
    (void)snprintf(ret, VALUE_SIZE, "%d", g->amd.compute_units);
    return g->amd.compute_units > 0;
}

/* The family of the kernel's driver (AMDGPU_FAMILY_* of its amdgpu_drm.h), by the beginning of the
 * instruction set's name. */
static bool family(const struct gpu *g, char ret[VALUE_SIZE])
{
    static const struct {
        const char *gfx;
        const char *family;
    } families[] = {{"gfx902", "RV"},
                    {"gfx909", "RV"},
                    {"gfx90c", "RV"},
                    {"gfx9", "AI"},
                    {"gfx1033", "VGH"},
                    {"gfx1035", "YC"},
                    {"gfx1036", "GC_10_3_6"},
                    {"gfx1037", "GC_10_3_7"},
                    {"gfx10", "NV"},
                    {"gfx1103", "GC_11_0_1"},
                    {"gfx110", "GC_11_0_0"},
                    {"gfx115", "GC_11_5_0"},
                    {"gfx8", "VI"}};

    for (size_t i = 0; i < COUNT(families); i++)
        if (text_starts_with(g->amd.gfx, families[i].gfx)) {
            (void)snprintf(ret, VALUE_SIZE, "%s", families[i].family);
            return true;
        }
    return false;
}

/* "spx_nps1" */
static bool partition_of(const struct gpu *g, char ret[VALUE_SIZE])
{
    (void)snprintf(ret, VALUE_SIZE, "%s_%s", g->amd.compute_partition, g->amd.memory_partition);
    for (char *c = ret; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return g->amd.compute_partition[0] && g->amd.memory_partition[0];
}

static const struct {
    const char *name;
    property_fn read;
} properties[] = {
    {"device-id", device_id},   {"product-name", product_name}, {"vram", vram},
    {"simd-count", simd_count}, {"cu-count", cu_count},         {"family", family},
};

/* The other labels of AMD that this file puts. */
static const char *const amd_names[] = {"driver-version", "compute-memory-partition",
                                        "compute-partitioning-supported",
                                        "memory-partitioning-supported"};

/* The number of values that the gpus have; `value` becomes one of them. */
static size_t put_counts(const struct gpu_labels_facts *f, property_fn read, json_t *counts,
                         char value[VALUE_SIZE])
{
    for (size_t i = 0; i < f->n_gpus; i++) {
        char text[VALUE_SIZE];

        if (f->gpus[i].vendor != GPU_AMD || !read(&f->gpus[i], text))
            continue;
        json_put_int(counts, text, json_int(counts, text, 0) + 1);
        memcpy(value, text, sizeof(text));
    }
    return json_object_size(counts);
}

/* One value stands alone; of several each is counted. The beta names have the counts always. */
static void put_property(const struct gpu_labels_facts *f, size_t i, json_t *labels)
{
    AUTO(json_freep) json_t *counts = json_object();
    char value[VALUE_SIZE] = "";
    size_t n = put_counts(f, properties[i].read, counts, value);
    const char *each;
    json_t *count;

    if (n == 1) {
        put_label(labels, AMD_PREFIX, properties[i].name, value);
        put_label(labels, BETA_PREFIX, properties[i].name, value);
    }
    json_object_foreach (counts, each, count) {
        count_label(labels, BETA_PREFIX, properties[i].name, each, json_integer_value(count));
        if (n > 1)
            count_label(labels, AMD_PREFIX, properties[i].name, each, json_integer_value(count));
    }
}

static void put_amd(const struct gpu_labels_facts *f, const struct gpu *first, json_t *labels)
{
    AUTO(json_freep) json_t *counts = json_object();
    char value[VALUE_SIZE] = "";

    for (size_t i = 0; i < COUNT(properties); i++)
        put_property(f, i, labels);
    if (first->driver_version[0])
        put_label(labels, AMD_PREFIX, "driver-version", first->driver_version);
    if (put_counts(f, partition_of, counts, value) == 1)
        put_label(labels, AMD_PREFIX, "compute-memory-partition", value);
    put_label(labels, AMD_PREFIX, "compute-partitioning-supported",
              first->amd.compute_partition[0] ? "true" : "false");
    put_label(labels, AMD_PREFIX, "memory-partitioning-supported",
              first->amd.memory_partition[0] ? "true" : "false");
}

/* ---- Intel ---- */

/* Families and products by the PCI device. */
static const struct {
    int64_t device;
    const char *family;
    const char *product; /* NULL: the rules name none */
} intel_products[] = {
    {0x0bd5, "Max_Series", "Max_1550"},  {0x0bda, "Max_Series", "Max_1100"},
    {0x0bd0, "Max_Series", NULL},        {0x0bd6, "Max_Series", NULL},
    {0x0bd7, "Max_Series", NULL},        {0x0bd9, "Max_Series", NULL},
    {0x0bdb, "Max_Series", NULL},        {0x56c0, "Flex_Series", "Flex_170"},
    {0x56c1, "Flex_Series", "Flex_140"}, {0x5690, "A_Series", NULL},
    {0x5691, "A_Series", NULL},          {0x5692, "A_Series", NULL},
    {0x56a0, "A_Series", NULL},          {0x56a1, "A_Series", NULL},
    {0x56a5, "A_Series", NULL},          {0x56a6, "A_Series", NULL},
};

static bool is_intel(const struct gpu *g)
{
    return g->vendor == GPU_INTEL_I915 || g->vendor == GPU_INTEL_XE;
}

static int64_t count_devices(const struct gpu_labels_facts *f, int64_t pci_device)
{
    int64_t n = 0;

    for (size_t i = 0; i < f->n_gpus; i++)
        n += is_intel(&f->gpus[i]) && f->gpus[i].pci_device == pci_device;
    return n;
}

static void put_intel(const struct gpu_labels_facts *f, const struct gpu *g, json_t *labels)
{
    int64_t device = g->pci_device >> 16;
    AUTO_FREE char *count = mem_format("%" PRId64, count_devices(f, g->pci_device));
    AUTO_FREE char *id =
        mem_format("device-id.%04x-%04x", (unsigned)g->pci_class >> 8, (unsigned)device);
    AUTO_FREE char *present = mem_format("%s.present", id);
    AUTO_FREE char *counted = mem_format("%s.count", id);

    if (g->pci_device < 0 || g->pci_class < 0)
        return;
    put_label(labels, INTEL_PREFIX, present, "true");
    put_label(labels, INTEL_PREFIX, counted, count);
    for (size_t i = 0; i < COUNT(intel_products); i++) {
        if (intel_products[i].device != device)
            continue;
        put_label(labels, INTEL_PREFIX, "family", intel_products[i].family);
        if (!intel_products[i].product)
            continue;
        put_label(labels, INTEL_PREFIX, "product", intel_products[i].product);
        put_label(labels, INTEL_PREFIX, "device.count", count);
    }
}

/* ---- both ---- */

/* Is it "PREFIX" and one of the names, alone or before a '.'? */
static bool is_property(const char *key, const char *prefix, const char *name)
{
    const char *rest = text_starts_with(key, prefix) ? key + strlen(prefix) : NULL;

    return rest && text_starts_with(rest, name) &&
           (rest[strlen(name)] == '\0' || rest[strlen(name)] == '.');
}

static bool is_ours(const char *key)
{
    static const char *const intel_names[] = {"family", "product", "device", "device-id"};

    for (size_t i = 0; i < COUNT(properties); i++)
        if (is_property(key, AMD_PREFIX, properties[i].name) ||
            is_property(key, BETA_PREFIX, properties[i].name))
            return true;
    for (size_t i = 0; i < COUNT(amd_names); i++)
        if (is_property(key, AMD_PREFIX, amd_names[i]))
            return true;
    for (size_t i = 0; i < COUNT(intel_names); i++)
        if (is_property(key, INTEL_PREFIX, intel_names[i]))
            return true;
    return false;
}

void gpu_vendor_labels_put(const struct gpu_labels_facts *f, json_t *labels)
{
    const struct gpu *amd = NULL;
    const char *key;
    json_t *value;

    for (size_t i = 0; i < f->n_gpus; i++) {
        if (f->gpus[i].vendor == GPU_AMD && !amd)
            amd = &f->gpus[i];
        if (is_intel(&f->gpus[i]))
            put_intel(f, &f->gpus[i], labels);
    }
    if (amd)
        put_amd(f, amd, labels);
    json_object_foreach ((json_t *)(uintptr_t)f->present, key, value)
        if (is_ours(key) && !json_object_get(labels, key))
            json_put(labels, key, json_null());
}
