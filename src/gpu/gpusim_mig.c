/* gpusim_mig.c - NVML's numbers of MIG profiles, for the machine file of emulated gpus */

#include "gpu/gpusim_mig.h"

#include <stdio.h>
#include <string.h>

#include "gpu/gpusim_machine.h"
#include "model/gpu.h"
#include "model/mig.h"

/* NVML's facts beside the geometry. 0 multiprocessors: by the compute slices. */
struct mig_facts {
    uint8_t number; /* NVML's enum of profiles */
    uint8_t id;
    uint8_t count;
    uint16_t multiprocessors;
    uint8_t copy_engines;
    uint8_t decoders;
    uint8_t encoders;
    uint8_t jpegs;
    uint8_t ofas;
};

/* The facts of a family of boards, in the order of the profiles of its geometries. */
struct mig_family {
    const char *keys; /* beginnings of geometry keys, with blanks between */
    struct mig_facts facts[MIG_PROFILES_MAX];
};

static const struct mig_family mig_families[] = {
    {"A30",
     {{0, 14, 4, 14, 1, 0, 0, 0, 0},
      {7, 21, 1, 14, 1, 1, 0, 1, 1},
      {1, 5, 2, 28, 2, 2, 0, 0, 0},
      {8, 6, 1, 28, 2, 2, 0, 1, 1},
      {3, 0, 1, 56, 4, 4, 0, 1, 1}}},
    {"A100",
     {{0, 19, 7, 14, 1, 0, 0, 0, 0},
      {7, 20, 1, 14, 1, 1, 0, 1, 1},
      {9, 15, 4, 14, 1, 1, 0, 0, 0},
      {1, 14, 3, 28, 2, 1, 0, 0, 0},
      {2, 9, 2, 42, 3, 2, 0, 0, 0},
      {3, 5, 1, 56, 4, 2, 0, 0, 0},
      {4, 0, 1, 98, 7, 5, 0, 1, 1}}},
    {"H100 H200 GH200",
     {{0, 19, 7, 16, 1, 1, 0, 1, 0},
      {7, 20, 1, 16, 1, 1, 0, 1, 1},
      {9, 15, 4, 26, 1, 1, 0, 1, 0},
      {1, 14, 3, 32, 2, 2, 0, 2, 0},
      {2, 9, 2, 60, 3, 3, 0, 3, 0},
      {3, 5, 1, 64, 4, 4, 0, 4, 0},
      {4, 0, 1, 132, 8, 7, 0, 7, 1}}},
    {"B200 GB200 B300 GB300",
     {{0, 19, 7, 18, 2, 1, 0, 1, 0},
      {7, 20, 1, 18, 2, 1, 0, 1, 1},
      {9, 15, 4, 30, 2, 1, 0, 1, 0},
      {1, 14, 3, 36, 4, 2, 0, 2, 0},
      {2, 9, 2, 0, 6, 3, 0, 3, 0},
      {3, 5, 1, 0, 8, 4, 0, 4, 0},
      {4, 0, 1, 0, 16, 7, 0, 7, 1}}},
    {"RTXPRO6000",
     {{0, 14, 4, 46, 1, 1, 1, 1, 0},
      {7, 21, 1, 46, 1, 1, 1, 1, 1},
      {10, 47, 4, 46, 1, 1, 1, 1, 0},
      {15, 65, 1, 46, 1, 4, 4, 4, 1},
      {13, 67, 4, 46, 1, 0, 0, 0, 0},
      {1, 5, 2, 94, 2, 2, 2, 2, 0},
      {11, 35, 2, 94, 2, 2, 2, 2, 0},
      {16, 64, 1, 94, 2, 4, 4, 4, 1},
      {14, 66, 2, 94, 2, 0, 0, 0, 0},
      {3, 0, 1, 188, 4, 4, 4, 4, 1},
      {12, 32, 1, 188, 4, 4, 4, 4, 1}}},
};

/* "A100-80" has the family whose keys have "A100". */
static const struct mig_family *mig_family_of(const char *key)
{
    size_t size = strcspn(key, "-");

    for (size_t i = 0; i < sizeof(mig_families) / sizeof(mig_families[0]); i++) {
        const char *keys = mig_families[i].keys;

        for (; *keys; keys += strspn(keys, " ")) {
            size_t n = strcspn(keys, " ");

            if (n == size && memcmp(keys, key, n) == 0)
                return &mig_families[i];
            keys += n;
        }
    }
    return NULL;
}

static struct gpusim_mig_profile profile_of(const struct mig_geometry *geometry, unsigned i,
                                            const struct mig_facts *f, const struct gpusim_gpu *g)
{
    const struct mig_profile *p = &geometry->profiles[i];
    struct gpusim_mig_profile ret = {
        .id = f->id,
        .slices = p->compute,
        .size = p->size,
        .starts = p->starts,
        .count = f->count,
        .media = p->media,
        .multiprocessors = f->multiprocessors,
        .copy_engines = f->copy_engines,
        .decoders = f->decoders,
        .encoders = f->encoders,
        .jpegs = f->jpegs,
        .ofas = f->ofas,
        .memory_mib = (uint64_t)p->memory_mib,
    };

    (void)snprintf(ret.name, sizeof(ret.name), "%s", p->name);
    if (ret.multiprocessors == 0)
        ret.multiprocessors = g->multiprocessors * p->compute / geometry->compute;
    if (ret.memory_mib == 0)
        ret.memory_mib = (g->memory_bytes >> 20) * p->size / geometry->units / 64 * 64;
    return ret;
}

void gpusim_mig_fill(struct gpusim_gpu *g)
{
    char model[GPU_TEXT_SIZE] = "";
    const struct mig_geometry *geometry;
    const struct mig_family *family;

    gpu_model_of(g->name, model);
    geometry = mig_geometry_of(model, (int64_t)g->memory_bytes);
    family = geometry ? mig_family_of(geometry->key) : NULL;
    if (!family)
        return;
    g->mig_units = geometry->units;
    g->mig_slices = geometry->compute;
    g->mig_needs_reset = g->architecture == 7; /* Ampere */
    for (unsigned i = 0; i < geometry->n_profiles; i++)
        g->mig_profiles[family->facts[i].number] = profile_of(geometry, i, &family->facts[i], g);
}
