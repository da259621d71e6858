/* plugin_devices.c - the resources that device plugins offer */

#include "kubelet/plugin_devices.h"

#include <stdio.h>

#include "base/str.h"
#include "model/resource.h"

static struct plugin_resource *resource_at(struct plugin_resources *r, const char *name)
{
    VEC_EACH (&r->list, resource)
        if (text_equal(resource->name, name))
            return resource;
    vec_add(&r->list, (struct plugin_resource){.name = mem_strdup(name)});
    return &r->list.at[r->list.n - 1];
}

static struct plugin_device device_of_gpu(const struct gpu *g)
{
    struct plugin_device d = {.gpu = g->index,
                              .replica = -1,
                              .numa_node = g->numa_node,
                              .is_healthy = g->health == GPU_HEALTHY,
                              .n_nodes = g->n_nodes};

    (void)snprintf(d.uuid, sizeof(d.uuid), "%s", g->uuid);
    (void)snprintf(d.id, sizeof(d.id), "%s", g->uuid);
    memcpy(d.nodes, g->nodes, sizeof(d.nodes));
    memcpy(d.peers, g->peers, sizeof(d.peers));
    return d;
}

static void add_whole(struct plugin_resources *r, const struct gpu *g)
{
    struct plugin_resource *resource = resource_at(r, gpu_vendor_resource(g->vendor));

    vec_add(&resource->devices, device_of_gpu(g));
}

static void add_replicas(struct plugin_resources *r, const struct gpu *g)
{
    struct plugin_resource *resource =
        resource_at(r, g->is_renamed ? GPU_SHARED_RESOURCE : GPU_RESOURCE);

    resource->is_single |= g->is_single;
    for (unsigned i = 0; i < g->replicas; i++) {
        struct plugin_device d = device_of_gpu(g);

        d.replica = (int)i;
        (void)snprintf(d.id, sizeof(d.id), "%s::%u", g->uuid, i);
        vec_add(&resource->devices, d);
    }
}

/* A '+' of a profile becomes '.': "1g.10gb+me" is nvidia.com/mig-1g.10gb.me. */
static void add_slices(struct plugin_resources *r, const struct gpu *g)
{
    for (size_t i = 0; i < g->n_slices; i++) {
        const struct gpu_slice *s = &g->slices[i];
        struct plugin_device d = device_of_gpu(g);
        char name[sizeof(GPU_SLICE_RESOURCE) + GPU_PROFILE_SIZE];
        struct plugin_resource *resource = NULL;

        if (!s->uuid[0])
            continue; /* it has no compute instance yet */
        (void)snprintf(name, sizeof(name), "%s%s", GPU_SLICE_RESOURCE, s->profile);
        for (char *at = name; *at; at++)
            if (*at == '+')
                *at = '.';
        (void)snprintf(d.uuid, sizeof(d.uuid), "%s", s->uuid);
        (void)snprintf(d.id, sizeof(d.id), "%s", s->uuid);
        d.is_healthy = d.is_healthy && s->health == GPU_HEALTHY;
        resource = resource_at(r, name);
        vec_add(&resource->devices, d);
    }
}

void plugin_resources_make(const struct gpu *gpus, size_t n, struct plugin_resources *ret)
{
    for (size_t i = 0; i < n; i++) {
        const struct gpu *g = &gpus[i];

        if (!g->uuid[0])
            continue; /* lost before it told its name */
        switch (g->mode) {
        case GPU_MODE_WHOLE:
            add_whole(ret, g);
            break;
        case GPU_MODE_REPLICAS:
            add_replicas(ret, g);
            break;
        case GPU_MODE_SLICES:
            add_slices(ret, g);
            break;
        }
    }
}

void plugin_resources_done(struct plugin_resources *r)
{
    VEC_EACH (&r->list, resource) {
        free(resource->name);
        vec_done(&resource->devices);
    }
    vec_done(&r->list);
}

const struct plugin_resource *plugin_resources_find(const struct plugin_resources *r,
                                                    const char *name)
{
    VEC_EACH (&r->list, resource)
        if (text_equal(resource->name, name))
            return resource;
    return NULL;
}

const struct plugin_device *plugin_device_find(const struct plugin_resource *r, const char *id)
{
    VEC_EACH (&r->devices, d)
        if (text_equal(d->id, id))
            return d;
    return NULL;
}

bool plugin_resource_equal(const struct plugin_resource *a, const struct plugin_resource *b)
{
    if (a->is_single != b->is_single || a->devices.n != b->devices.n)
        return false;
    for (size_t i = 0; i < a->devices.n; i++) {
        const struct plugin_device *x = &a->devices.at[i];
        const struct plugin_device *y = &b->devices.at[i];

        if (!text_equal(x->id, y->id) || x->is_healthy != y->is_healthy ||
            x->numa_node != y->numa_node)
            return false;
    }
    return true;
}
