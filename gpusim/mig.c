/* mig.c - MIG instances in the machine's file: look-up, names and places */

#include "mig.h"

#include <stdio.h>
#include <string.h>

#include "model/mig.h"

const struct gpusim_instance *instance_find(const struct gpusim_gpu *g, uint32_t id)
{
    for (unsigned i = 0; i < GPUSIM_INSTANCES_MAX; i++) {
        if (g->instances[i].is_used && g->instances[i].id == id)
            return &g->instances[i];
    }
    return NULL;
}

const struct gpusim_mig_profile *instance_profile(const struct gpusim_gpu *g, uint32_t id)
{
    const struct gpusim_instance *i = instance_find(g, id);

    const struct gpusim_mig_profile *p;

    if (!i || i->profile >= GPUSIM_MIG_PROFILES_MAX)
        return NULL;
    p = &g->mig_profiles[i->profile];
    return p->slices > 0 && p->slices <= GPUSIM_INSTANCES_MAX ? p : NULL;
}

/* FNV-1a with 64 bits, stirred. */
static uint64_t hash_text(const char *text, uint64_t salt)
{
    uint64_t h = UINT64_C(14695981039346656037) ^ (salt * UINT64_C(0x9e3779b97f4a7c15));

    for (; *text; text++) {
        h ^= (unsigned char)*text;
        h *= UINT64_C(1099511628211);
    }
    h ^= h >> 29;
    h *= UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ (h >> 32);
}

void compute_uuid(const struct gpusim_gpu *g, unsigned compute, char out[96])
{
    char seed[128];
    uint64_t a;
    uint64_t b;

    (void)snprintf(seed, sizeof(seed), "%.95s/%u/%u", g->uuid, g->computes[compute].instance,
                   g->computes[compute].id);
    a = hash_text(seed, 1);
    b = hash_text(seed, 2);
    (void)snprintf(out, 96, "MIG-%08x-%04x-5%03x-8%03x-%012llx", (unsigned)(a >> 32),
                   (unsigned)(a >> 16) & 0xffffu, (unsigned)a & 0xfffu,
                   (unsigned)(b >> 48) & 0xfffu,
                   (unsigned long long)(b & UINT64_C(0xffffffffffff)));
}

void compute_name(const struct gpusim_gpu *g, unsigned compute, char out[48])
{
    const struct gpusim_compute *c = &g->computes[compute];
    const struct gpusim_mig_profile *p = instance_profile(g, c->instance);

    if (!p)
        (void)snprintf(out, 48, "unknown");
    else if (c->slices < p->slices)
        (void)snprintf(out, 48, "%uc.%.31s", c->slices, p->name);
    else
        (void)snprintf(out, 48, "%.31s", p->name);
}

/* ---- places ---- */

/* The units and the media engines that instances take. */
struct places {
    uint32_t units;
    unsigned count[GPUSIM_MIG_PROFILES_MAX];
    bool has_usual;
    bool has_one;
    bool has_all;
};

static uint32_t span(const struct gpusim_mig_profile *p, unsigned start)
{
    return ((UINT32_C(1) << p->size % 32) - 1) << start % 32;
}

static void places_add(struct places *all, const struct gpusim_gpu *g, unsigned profile,
                       unsigned start)
{
    const struct gpusim_mig_profile *p = &g->mig_profiles[profile];

    all->units |= span(p, start);
    all->count[profile]++;
    all->has_usual = all->has_usual || p->media == MIG_MEDIA_USUAL;
    all->has_one = all->has_one || p->media == MIG_MEDIA_ONE;
    all->has_all = all->has_all || p->media == MIG_MEDIA_ALL;
}

static struct places places_of(const struct gpusim_gpu *g)
{
    struct places all = {0};

    for (unsigned i = 0; i < GPUSIM_INSTANCES_MAX; i++) {
        const struct gpusim_instance *in = &g->instances[i];

        if (in->is_used && in->profile < GPUSIM_MIG_PROFILES_MAX)
            places_add(&all, g, in->profile, in->start);
    }
    return all;
}

static bool media_fits(const struct places *all, uint32_t media)
{
    switch (media) {
    case MIG_MEDIA_USUAL:
        return !all->has_all;
    case MIG_MEDIA_ONE:
        return !all->has_one && !all->has_all;
    case MIG_MEDIA_ALL:
        return !all->has_usual && !all->has_one && !all->has_all;
    default:
        return true;
    }
}

/* Bit i: an instance of the profile may start at unit i. */
static uint32_t places_free(const struct places *all, const struct gpusim_gpu *g, unsigned profile)
{
    const struct gpusim_mig_profile *p = &g->mig_profiles[profile];
    uint32_t starts = 0;

    if (p->size == 0 || p->size > 31 || all->count[profile] >= p->count ||
        !media_fits(all, p->media))
        return 0;
    for (uint32_t left = p->starts; left; left &= left - 1) {
        if (!(all->units & span(p, (unsigned)__builtin_ctz(left))))
            starts |= left & -left;
    }
    return starts;
}

unsigned instance_room(const struct gpusim_gpu *g, const struct gpusim_mig_profile *p)
{
    struct places all = places_of(g);
    unsigned profile = (unsigned)(p - g->mig_profiles);
    uint32_t starts;
    unsigned n = 0;

    while ((starts = places_free(&all, g, profile)) != 0) {
        places_add(&all, g, profile, (unsigned)__builtin_ctz(starts));
        n++;
    }
    return n;
}

/* The units that further instances could take, over all profiles and starts. */
static unsigned places_value(const struct places *all, const struct gpusim_gpu *g)
{
    unsigned value = 0;

    for (unsigned i = 0; i < GPUSIM_MIG_PROFILES_MAX; i++)
        value += (unsigned)__builtin_popcount(places_free(all, g, i)) * g->mig_profiles[i].size;
    return value;
}

/* The last of the starts that leave the greatest value. */
static int start_choose(const struct gpusim_gpu *g, unsigned profile)
{
    struct places all = places_of(g);
    unsigned best_value = 0;
    int best = -1;

    for (uint32_t left = places_free(&all, g, profile); left; left &= left - 1) {
        struct places next = all;
        unsigned value;

        places_add(&next, g, profile, (unsigned)__builtin_ctz(left));
        value = places_value(&next, g);
        if (best >= 0 && value < best_value)
            continue;
        best = __builtin_ctz(left);
        best_value = value;
    }
    return best;
}

int instance_add(struct gpusim_gpu *g, const struct gpusim_mig_profile *p, int start)
{
    struct places all = places_of(g);
    unsigned profile = (unsigned)(p - g->mig_profiles);

    if (start < 0)
        start = start_choose(g, profile);
    if (start < 0 || !(places_free(&all, g, profile) >> start & 1))
        return -1;
    for (int i = 0; i < GPUSIM_INSTANCES_MAX; i++) {
        if (g->instances[i].is_used)
            continue;
        /* The driver numbers places from the largest: 0 is the whole gpu, 1 and 2 its halves. */
        g->instances[i] =
            (struct gpusim_instance){.is_used = 1,
                                     .id = g->mig_units / p->size - 1 + (uint32_t)start / p->size,
                                     .profile = profile,
                                     .start = (uint32_t)start};
        return i;
    }
    return -1;
}

/* The compute slices of a gpu instance that its compute instances take. */
static uint32_t slices_used(const struct gpusim_gpu *g, uint32_t instance, uint32_t *ret_ids)
{
    uint32_t used = 0;

    *ret_ids = 0;
    for (unsigned i = 0; i < GPUSIM_INSTANCES_MAX; i++) {
        const struct gpusim_compute *c = &g->computes[i];

        if (!c->is_used || c->instance != instance)
            continue;
        used |= ((UINT32_C(1) << c->slices % 32) - 1) << c->start % 32;
        *ret_ids |= UINT32_C(1) << c->id % 32;
    }
    return used;
}

/* The first start at which so many slices in a row are free; -1: none. */
static int slices_find(const struct gpusim_mig_profile *p, uint32_t used, unsigned slices)
{
    for (unsigned at = 0; at + slices <= p->slices; at++) {
        if (!(used & (((UINT32_C(1) << slices) - 1) << at)))
            return (int)at;
    }
    return -1;
}

unsigned compute_room(const struct gpusim_gpu *g, uint32_t instance, unsigned slices)
{
    const struct gpusim_mig_profile *p = instance_profile(g, instance);
    uint32_t ids = 0;
    uint32_t used = slices_used(g, instance, &ids);
    unsigned n = 0;
    int at;

    while (p && (at = slices_find(p, used, slices)) >= 0) {
        used |= ((UINT32_C(1) << slices) - 1) << at;
        n++;
    }
    return n;
}

int compute_add(struct gpusim_gpu *g, uint32_t instance, unsigned slices, int start)
{
    const struct gpusim_mig_profile *p = instance_profile(g, instance);
    uint32_t ids = 0;
    uint32_t used = slices_used(g, instance, &ids);

    if (!p)
        return -1;
    if (start < 0)
        start = slices_find(p, used, slices);
    if (start < 0 || (unsigned)start + slices > p->slices ||
        (used & (((UINT32_C(1) << slices) - 1) << start)))
        return -1;
    for (int i = 0; i < GPUSIM_INSTANCES_MAX; i++) {
        if (g->computes[i].is_used)
            continue;
        g->engines[1 + i] = (struct gpusim_engine){0};
        g->computes[i] = (struct gpusim_compute){.is_used = 1,
                                                 .id = (uint32_t)__builtin_ctz(~ids),
                                                 .instance = instance,
                                                 .slices = slices,
                                                 .start = (uint32_t)start};
        return i;
    }
    return -1;
}
