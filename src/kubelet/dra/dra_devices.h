/* dra_devices.h - the devices that this node offers to claims, with their health */
#pragma once

#include "base/vec.h"
#include "kinds/kind/claim_device.h"
#include "model/gpu.h"

struct dra_device {
    const char *name; /* "gpu-0", "gpu-0-mig-1g10gb-4"; borrowed from `object` */
    const char *uuid; /* the same */
    enum gpu_health health;
    char *reason;   /* of its health; "": none */
    json_t *object; /* as a ResourceSlice has it */
};

struct dra_devices {
    VEC(struct dra_device) list;
};

/* The devices of `gpus`, as the driver lists them. `ret` is {0} before. A device that is not
 * healthy has a taint. */
void dra_devices_make(const struct gpu *gpus, size_t n, const struct claim_versions *v,
                      struct dra_devices *ret);
void dra_devices_done(struct dra_devices *d);

/* NULL: there is none. Borrowed. */
const struct dra_device *dra_devices_find(const struct dra_devices *d, const char *name);

/* Do both have the same devices in the same health? */
bool dra_devices_equal(const struct dra_devices *a, const struct dra_devices *b);
