/*
 * share_edits.h - the share library in the place of the driver's libraries, and its files
 *
 * The library stands under every name of libcuda.so and libnvidia-ml.so that the container's edits
 * mount. The driver's own libraries move to SHARE_DIR, where the library finds them.
 */
#pragma once

#include "base/json.h"
#include "gpu/driver_root.h"
#include "node/spec/cdi.h"

/* Does the share library stand in the place of this file of the driver? */
bool share_replaces(const struct driver_file *file);

struct share_mounts {
    const char *library_dir; /* with libmete-share-cuda.so and libmete-share-nvidia-ml.so */
    const char *dir;         /* with the pod's files of gpu/share_state.h */
};

/*
 * Changes the edits of a container with capped shares. ERR_INVALID: the container's loader cannot
 * use the library, or the driver has no libcuda.so.
 */
struct err *share_edits_apply(json_t *edits, const struct driver_root *root,
                              const struct cdi_target *target,
                              const struct share_mounts *mounts) MUST_CHECK;
