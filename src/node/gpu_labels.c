/* gpu_labels.c - the labels of GPU Feature Discovery */

#include "node/gpu_labels.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "node/gpu_offer.h"

/* All labels that this file sets, but those of profiles and gpu.clique, which administrators also
 * set. */
static const char *const fixed_keys[] = {
    "nvidia.com/gpu.present",
    "nvidia.com/gpu.product",
    "nvidia.com/gpu.count",
    "nvidia.com/gpu.memory",
    "nvidia.com/gpu.replicas",
    "nvidia.com/gpu.sharing-strategy",
    "nvidia.com/gpu.family",
    "nvidia.com/gpu.compute.major",
    "nvidia.com/gpu.compute.minor",
    "nvidia.com/gpu.machine",
    "nvidia.com/gpu.mode",
    "nvidia.com/gpu.multiprocessors",
    "nvidia.com/gpu.slices.gi",
    "nvidia.com/gpu.slices.ci",
    "nvidia.com/gpu.engines.copy",
    "nvidia.com/gpu.engines.decoder",
    "nvidia.com/gpu.engines.encoder",
    "nvidia.com/gpu.engines.jpeg",
    "nvidia.com/gpu.engines.ofa",
    "nvidia.com/cuda.driver.major",
    "nvidia.com/cuda.driver.minor",
    "nvidia.com/cuda.driver.rev",
    "nvidia.com/cuda.driver-version.major",
    "nvidia.com/cuda.driver-version.minor",
    "nvidia.com/cuda.driver-version.revision",
    "nvidia.com/cuda.driver-version.full",
    "nvidia.com/cuda.runtime.major",
    "nvidia.com/cuda.runtime.minor",
    "nvidia.com/cuda.runtime-version.major",
    "nvidia.com/cuda.runtime-version.minor",
    "nvidia.com/cuda.runtime-version.full",
    "nvidia.com/mig.capable",
    "nvidia.com/mig.strategy",
    "nvidia.com/mps.capable",
    "nvidia.com/gfd.timestamp",
    "mete.dev/gpu.model",
    "mete.dev/gpu.emulated",
};

/* The form of the labels of profiles: "nvidia.com/mig-1g.10gb.count". */
static const char profile_prefix[] = "nvidia.com/mig-";

char *label_value(const char *text)
{
    char *value = mem_strndup(text, 63);

    for (char *at = value; *at; at++)
        if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
              (*at >= '0' && *at <= '9') || *at == '.' || *at == '_'))
            *at = '-';
    for (size_t n = strlen(value); n > 0 && value[n - 1] == '-'; n--)
        value[n - 1] = '\0';
    return value;
}

static void put_text(json_t *labels, const char *resource, const char *suffix, const char *text)
{
    AUTO_FREE char *key = mem_format("%s.%s", resource, suffix);
    AUTO_FREE char *value = label_value(text);

    json_put_text(labels, key, value);
}

/* Puts a name of a product or machine: without the characters that labels do not allow, and with
 * one '-' for the blanks between two words. */
static void put_name(json_t *labels, const char *resource, const char *suffix, const char *name)
{
    AUTO_FREE char *kept = mem_strndup(name, strlen(name));
    bool is_apart = false;
    size_t n = 0;

    for (; *name; name++)
        if (isspace((unsigned char)*name)) {
            is_apart = n > 0;
        } else if (isalnum((unsigned char)*name) || strchr("-_.", *name)) {
            if (is_apart)
                kept[n++] = '-';
            kept[n++] = *name;
            is_apart = false;
        }
    kept[n] = '\0';
    put_text(labels, resource, suffix, kept);
}

/* Puts a known number. */
static void put_number(json_t *labels, const char *resource, const char *suffix, int64_t value)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%" PRId64, value);
    if (value >= 0)
        put_text(labels, resource, suffix, text);
}

static void put_sharing(json_t *labels, const char *resource, unsigned replicas, bool is_mps)
{
    put_number(labels, resource, "replicas", replicas);
    put_text(labels, resource, "sharing-strategy",
             replicas < 2 ? "none"
             : is_mps     ? "mps"
                          : "time-slicing");
}

/* The gpu that the labels describe: the first that is not sliced, else the first. */
static const struct gpu *first_of(const struct gpu_labels_facts *f)
{
    for (size_t i = 0; i < f->n_gpus; i++)
        if (f->gpus[i].mode != GPU_MODE_SLICES)
            return &f->gpus[i];
    return f->gpus;
}

static int64_t count_product(const struct gpu_labels_facts *f, const char *product)
{
    int64_t n = 0;

    for (size_t i = 0; i < f->n_gpus; i++)
        n += text_equal(f->gpus[i].product, product);
    return n;
}

/* The mode by the class of the gpus' PCI devices, if all have one class. */
static const char *mode_of(const struct gpu_labels_facts *f)
{
    for (size_t i = 1; i < f->n_gpus; i++)
        if (f->gpus[i].pci_class != f->gpus[0].pci_class)
            return "unknown";
    return f->gpus[0].pci_class == 0x030000   ? "graphics"
           : f->gpus[0].pci_class == 0x030200 ? "compute"
                                              : "unknown";
}

/* Are all gpus in one NVLink domain? */
static bool is_one_clique(const struct gpu_labels_facts *f)
{
    for (size_t i = 1; i < f->n_gpus; i++)
        if (!text_equal(f->gpus[i].clique, f->gpus[0].clique))
            return false;
    return f->gpus[0].clique[0] != '\0';
}

static void put_own(const struct gpu *g, json_t *labels)
{
    put_text(labels, "mete.dev/gpu", "model", g->model);
    put_text(labels, "mete.dev/gpu", "emulated", g->is_emulated ? "true" : "false");
}

static void put_gpu(const struct gpu_labels_facts *f, json_t *labels)
{
    static const char gpu[] = "nvidia.com/gpu";
    const struct gpu *g = first_of(f);
    bool is_suffixed = g->mode == GPU_MODE_REPLICAS && !g->is_renamed;
    bool is_sliced = g->mode == GPU_MODE_SLICES;
    AUTO_FREE char *product = mem_format("%s%s", g->product, is_suffixed ? "-SHARED" : "");

    json_put_text(labels, "nvidia.com/gpu.present", "true");
    put_name(labels, gpu, "product", product);
    put_number(labels, gpu, "count", count_product(f, g->product));
    if (g->memory_bytes > 0)
        put_number(labels, gpu, "memory", g->memory_bytes >> 20);
    put_sharing(labels, gpu,
                is_sliced                      ? 0
                : g->mode == GPU_MODE_REPLICAS ? g->replicas
                                               : 1,
                g->is_mps);
    if (g->compute_major > 0) {
        put_text(labels, gpu, "family", gpu_family(g->compute_major, g->compute_minor));
        put_number(labels, gpu, "compute.major", g->compute_major);
        put_number(labels, gpu, "compute.minor", g->compute_minor);
    }
    put_name(labels, gpu, "machine", *f->machine ? f->machine : "unknown");
    put_text(labels, gpu, "mode", mode_of(f));
    if (is_one_clique(f))
        put_text(labels, gpu, "clique", g->clique);
    put_own(g, labels);
}

/* Puts the parts of a version under `old` (driver.major ...) and `now` (driver-version.major ...).
 */
static void put_version(json_t *labels, const char *version, const char *old, const char *now,
                        const char *const names[3][2])
{
    struct str rest = str_of(version);

    for (size_t i = 0; i < 3 && names[i][0]; i++) {
        struct str part = rest.at ? str_cut(&rest, '.') : (struct str){.at = "", .size = 0};
        AUTO_FREE char *text = mem_strndup(part.at, part.size);

        put_text(labels, old, names[i][0], text);
        put_text(labels, now, names[i][1], text);
    }
    put_text(labels, now, "full", version);
}

static void put_versions(const struct gpu_labels_facts *f, json_t *labels)
{
    static const char *const driver[3][2] = {
        {"major", "major"}, {"minor", "minor"}, {"rev", "revision"}};
    static const char *const runtime[3][2] = {{"major", "major"}, {"minor", "minor"}, {NULL, NULL}};

    if (!f->driver)
        return;
    put_version(labels, f->driver->driver_version, "nvidia.com/cuda.driver",
                "nvidia.com/cuda.driver-version", driver);
    if (f->driver->cuda_version[0])
        put_version(labels, f->driver->cuda_version, "nvidia.com/cuda.runtime",
                    "nvidia.com/cuda.runtime-version", runtime);
}

static bool is_mig_capable(const struct gpu_labels_facts *f)
{
    for (size_t i = 0; i < f->n_gpus; i++)
        if (f->gpus[i].mig_mode >= 0)
            return true;
    return false;
}

/* "1g.10gb.me" of the profile "1g.10gb+me", after a beginning. The caller frees it. */
static char *name_profile(const char *beginning, const char *profile)
{
    char *name = mem_format("%s%s", beginning, profile);

    for (char *at = name; *at; at++)
        if (*at == '+')
            *at = '.';
    return name;
}

static int64_t count_slices(const struct gpu_labels_facts *f, const char *profile)
{
    int64_t n = 0;

    for (size_t i = 0; i < f->n_gpus; i++)
        for (size_t k = 0; k < f->gpus[i].n_slices; k++)
            n += text_equal(f->gpus[i].slices[k].profile, profile);
    return n;
}

/* Puts the labels of a profile under a resource, once: with the numbers of its first slice. */
static void put_profile(const struct gpu_labels_facts *f, json_t *labels, const char *resource,
                        const struct gpu *g, const struct gpu_slice *s)
{
    AUTO_FREE char *beginning = mem_format("%s-MIG-", g->product);
    AUTO_FREE char *product = name_profile(beginning, s->profile);
    AUTO_FREE char *count_key = mem_format("%s.count", resource);

    if (json_object_get(labels, count_key))
        return;
    put_number(labels, resource, "count", count_slices(f, s->profile));
    put_name(labels, resource, "product", product);
    put_sharing(labels, resource, 1, false);
    if (s->memory_bytes > 0)
        put_number(labels, resource, "memory", s->memory_bytes >> 20);
    put_number(labels, resource, "multiprocessors", s->multiprocessors);
    put_number(labels, resource, "slices.gi", s->gpu_slices);
    put_number(labels, resource, "slices.ci", s->compute_slices);
    put_number(labels, resource, "engines.copy", s->copy_engines);
    put_number(labels, resource, "engines.decoder", s->decoders);
    put_number(labels, resource, "engines.encoder", s->encoders);
    put_number(labels, resource, "engines.jpeg", s->jpegs);
    put_number(labels, resource, "engines.ofa", s->ofas);
}

static void put_slices(const struct gpu_labels_facts *f, json_t *labels)
{
    json_put_text(labels, "nvidia.com/mig.capable", is_mig_capable(f) ? "true" : "false");
    json_put_text(labels, "nvidia.com/mps.capable",
                  f->n_gpus > 0 && first_of(f)->is_mps ? "true" : "false");
    if (f->mig_strategy == MIG_STRATEGY_NONE)
        return;
    json_put_text(labels, "nvidia.com/mig.strategy", mig_strategy_text(f->mig_strategy));
    for (size_t i = 0; i < f->n_gpus && f->mig_strategy != MIG_STRATEGY_SINGLE; i++)
        for (size_t k = 0; k < f->gpus[i].n_slices; k++) {
            AUTO_FREE char *resource = name_profile(profile_prefix, f->gpus[i].slices[k].profile);

            put_profile(f, labels, resource, &f->gpus[i], &f->gpus[i].slices[k]);
        }
}

static void remove_old(const struct gpu_labels_facts *f, json_t *labels)
{
    const char *key;
    json_t *value;

    for (size_t i = 0; i < COUNT(fixed_keys); i++)
        if (!json_object_get(labels, fixed_keys[i]))
            json_put(labels, fixed_keys[i], json_null());
    json_object_foreach ((json_t *)(uintptr_t)f->present, key, value)
        if (text_starts_with(key, profile_prefix) && !json_object_get(labels, key))
            json_put(labels, key, json_null());
}

/* The labels of the strategy `single`: slices are the gpus, or the gpus cannot be offered. */
static void put_single(const struct gpu_labels_facts *f, json_t *labels)
{
    static const char gpu[] = "nvidia.com/gpu";
    const struct gpu_slice *slice = NULL;
    AUTO_FREE char *product = mem_format("%s-MIG-INVALID", f->gpus->product);
    bool is_sliced = false;

    for (size_t i = 0; i < f->n_gpus; i++)
        is_sliced = is_sliced || f->gpus[i].mode == GPU_MODE_SLICES;
    if (!is_sliced)
        return;
    if (gpu_offer_is_single(f->gpus, f->n_gpus, &slice)) {
        (void)json_object_del(labels, "nvidia.com/gpu.count");
        put_profile(f, labels, gpu, f->gpus, slice);
        return;
    }
    put_name(labels, gpu, "product", product);
    put_number(labels, gpu, "count", 0);
    put_number(labels, gpu, "replicas", 0);
    put_text(labels, gpu, "sharing-strategy", "");
    put_number(labels, gpu, "memory", 0);
}

/* The labels about gpus of NVIDIA; mete.dev/gpu.model and .emulated. */
static void put_all(const struct gpu_labels_facts *f, json_t *labels)
{
    char stamp[32];

    (void)snprintf(stamp, sizeof(stamp), "%" PRId64, f->began_ns / NS_PER_SEC);
    put_gpu(f, labels);
    put_versions(f, labels);
    put_slices(f, labels);
    if (f->mig_strategy == MIG_STRATEGY_SINGLE)
        put_single(f, labels);
    json_put_text(labels, "nvidia.com/gfd.timestamp", stamp);
}

void gpu_labels_put(const struct gpu_labels_facts *f, json_t *labels)
{
    struct gpu_labels_facts own = *f;

    own.n_gpus = 0; /* gpus of NVIDIA come first */
    while (own.n_gpus < f->n_gpus && f->gpus[own.n_gpus].vendor == GPU_NVIDIA)
        own.n_gpus++;
    if (own.n_gpus > 0)
        put_all(&own, labels);
    else if (f->n_gpus > 0)
        put_own(f->gpus, labels);
    remove_old(&own, labels);
}
