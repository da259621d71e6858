/*
 * claim_device.h - gpus and their MIG instances as devices of ResourceSlices, with the names,
 * attributes and capacities of NVIDIA's driver for claims, so that selectors written for it work
 */
#pragma once

#include "base/json.h"

/* The versions of a node's driver. Borrowed; NULL: unknown. */
struct claim_versions {
    const char *driver; /* "550.54.15" */
    const char *cuda;   /* "12.4" */
};

/*
 * Adds the devices of a gpu to the array `list`: the gpu, or its MIG instances in their order.
 * `gpu` is as gpu_format_json has it. Gpus of other vendors have none: the driver of these classes
 * is NVIDIA's.
 */
void claim_devices_add(json_t *list, const json_t *gpu, const struct claim_versions *v);

/* A text attribute of a device: "uuid", "type", "profile". Borrowed or NULL. */
const char *claim_device_text(const json_t *device, const char *name);
