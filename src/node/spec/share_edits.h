/*
 * share_edits.h - the share library in the place of the driver's libraries, and its files
 *
 * The library stands under every name of libcuda.so and libnvidia-ml.so that the container's edits
 * mount. The driver's own libraries move to SHARE_DIR, where the library finds them. In a root with
 * links to the driver's tree (node/image/driver_tree.h), only the soname is mounted: the other
 * names, and those below SHARE_DIR, are links.
 */
#pragma once

#include "base/json.h"
#include "gpu/driver_root.h"
#include "node/spec/cdi.h"

/* A library of the driver, and ours in its place. */
struct share_library {
    const char *name; /* "libcuda.so": also below SHARE_DIR, for the driver's own */
    const char *soname;
    const char *ours;
    bool is_needed;
};

/* The library that `file` is a name of; NULL: the share library leaves the file alone. */
const struct share_library *share_library_of(const struct driver_file *file);

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
