/* container_devices.h - the devices that the ledger gave to a container, on this machine's gpus */
#pragma once

#include "model/device.h"
#include "node/pod/pod.h"

enum {
    CONTAINER_DEVICES_MAX = 256
};

/* A device and its hardware; both are borrowed from the node's list of gpus. */
struct container_device {
    struct device device;
    const struct gpu *gpu;
    const struct gpu_slice *slice; /* of a slice; else NULL */
};

struct container_devices {
    VEC(struct container_device) all;
};

void container_devices_done(struct container_devices *d);

/*
 * Finds the container's devices (an ephemeral container has those of its target): as many as it
 * asks for, all on this machine, and none in conflict with a device of another container that runs.
 * ERR_UNAVAILABLE: not yet, or not any more.
 */
struct err *container_devices_find(const struct pod *p, const struct container *c,
                                   struct container_devices *ret) MUST_CHECK;
