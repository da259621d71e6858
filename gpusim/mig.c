/* mig.c - MIG instances in the machine's file: look-up and names */

#include "mig.h"

#include <stdio.h>
#include <string.h>

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

    return i && i->profile < GPUSIM_MIG_PROFILES_MAX ? &g->mig_profiles[i->profile] : NULL;
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
