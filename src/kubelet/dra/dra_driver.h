/*
 * dra_driver.h - the driver of claims (Dynamic Resource Allocation) beside a kubelet
 *
 * The driver is called gpu.nvidia.com, as NVIDIA's, and its devices have that driver's names and
 * attributes, so that classes and selectors written for it work. It serves two sockets: one in the
 * kubelet's directory plugins_registry, by which the kubelet gets to know it, and its own in
 * plugins/gpu.nvidia.com.
 */
#pragma once

#include "client/client.h"
#include "gpu/gpu_driver.h"

struct dra_driver;

struct dra_driver_options {
    struct loop *loop;
    struct client *client;   /* of the API server; borrowed */
    const char *kubelet_dir; /* "/var/lib/kubelet" */
    const char *node;        /* its name at the API server */
    /* A kubelet has registered the driver; called each time. May be NULL. */
    void (*on_registered)(void *arg, const char *driver);
    void *arg;
};

/* ERR_CONFLICT: another driver of this name serves the kubelet. */
struct err *dra_driver_new(const struct dra_driver_options *o, struct dra_driver **ret) MUST_CHECK;
void dra_driver_free(struct dra_driver *d); /* accepts NULL */

/* Takes the gpus as the driver of the machine lists them; `info` NULL: there is no such driver. */
void dra_driver_update(struct dra_driver *d, const struct gpu *gpus, size_t n,
                       const struct gpu_driver_info *info);
