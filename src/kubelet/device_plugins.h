/*
 * device_plugins.h - device plugins of a kubelet, v1beta1: one for each resource of this machine
 *
 * Each plugin serves a socket in the kubelet's directory and registers it. It registers again when
 * the kubelet has a new socket, when its own socket is gone, and when the kubelet watches it no
 * more: so a restarted kubelet gets its devices at once.
 */
#pragma once

#include "base/loop.h"
#include "kubelet/plugin_answer.h"

#define KUBELET_SOCKET "kubelet.sock"

struct device_plugins;

struct device_plugins_options {
    struct loop *loop;
    const char *dir; /* "/var/lib/kubelet/device-plugins" */
    struct plugin_settings settings;
    /* A kubelet watches the devices of a resource; called each time. May be NULL. */
    void (*on_watched)(void *arg, const char *resource);
    void *arg;
};

/* ERR_CONFLICT: NVIDIA's device plugin serves the kubelet. */
struct err *device_plugins_new(const struct device_plugins_options *o,
                               struct device_plugins **ret) MUST_CHECK;

/* Removes the sockets: the kubelet then counts the devices as unhealthy. Accepts NULL. */
void device_plugins_free(struct device_plugins *p);

/* Counts for allocations from now on. */
void device_plugins_set(struct device_plugins *p, const struct plugin_settings *settings);

/* Takes the gpus as the node offers them (node/gpu_offer.h). A resource without devices keeps its
 * plugin: the kubelet then has none of it. */
void device_plugins_update(struct device_plugins *p, const struct gpu *gpus, size_t n);
