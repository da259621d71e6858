/*
 * plugin_devices.h - the resources that device plugins offer to a kubelet, and their devices
 *
 * Names of resources and ids of devices are those of NVIDIA's device plugin: a gpu or slice is
 * known by its UUID, its replicas are "UUID::0", "UUID::1", ... A kubelet keeps ids over restarts.
 */
#pragma once

#include "base/vec.h"
#include "model/gpu.h"

enum {
    PLUGIN_ID_SIZE = GPU_TEXT_SIZE + 16
};

/* A value. */
struct plugin_device {
    char id[PLUGIN_ID_SIZE];
    char uuid[GPU_TEXT_SIZE]; /* of the gpu or slice */
    int gpu;                  /* index of the gpu */
    int replica;              /* -1: the gpu or slice is not replicated */
    int numa_node;            /* -1: unknown */
    bool is_healthy;
    struct gpu_node nodes[GPU_NODES_MAX]; /* device nodes; NVIDIA: none, see struct gpu */
    size_t n_nodes;
    char peers[GPU_PEERS_SIZE]; /* of the gpu */
};

struct plugin_resource {
    char *name;     /* "nvidia.com/gpu"; owned */
    bool is_single; /* a container may ask for one replica at most */
    VEC(struct plugin_device) devices;
};

struct plugin_resources {
    VEC(struct plugin_resource) list;
};

/*
 * The resources of `gpus`, as a node offers them (node/gpu_offer.h), in the order of the gpus.
 * `ret` is {0} before; the caller ends it by plugin_resources_done. Every gpu and slice counts,
 * healthy or not.
 */
void plugin_resources_make(const struct gpu *gpus, size_t n, struct plugin_resources *ret);
void plugin_resources_done(struct plugin_resources *r);

/* Borrowed; NULL: none. */
const struct plugin_resource *plugin_resources_find(const struct plugin_resources *r,
                                                    const char *name);
const struct plugin_device *plugin_device_find(const struct plugin_resource *r, const char *id);

/* Do both list the same devices in the same health? */
bool plugin_resource_equal(const struct plugin_resource *a, const struct plugin_resource *b);
