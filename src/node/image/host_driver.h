/*
 * host_driver.h - mount points for the driver's files in containers of the image `host`
 *
 * The runtime creates missing mount points, in such a container on the host itself. So the node
 * makes a directory of empty files with the names of the driver's files, and the container sees it
 * through a read-only overlay over the host's directory (node/spec/cdi.h).
 */
#pragma once

#include "base/vec.h"
#include "gpu/driver_root.h"
#include "node/image/image_loader_linux.h"

struct host_driver {
    char *rootfs;               /* of the image `host` */
    char *dir;                  /* NULL: the driver lies in `/`, so no mount points are needed */
    VEC(char *) points;         /* below `dir` */
    bool has_gpu;               /* else the loader is of no use */
    struct image_loader loader; /* the result */
};

#define HOST_DRIVER_LIBRARIES    "lib"
#define HOST_DRIVER_LIBRARIES_32 "lib32"
#define HOST_DRIVER_PROGRAMS     "bin"

/* Plans the points of a driver below `node_dir`, DATA/node. `root` NULL: no gpu, no points. */
struct host_driver *host_driver_new(const struct driver_root *root, const char *node_dir,
                                    const char *rootfs);
void host_driver_free(struct host_driver *h); /* accepts NULL */

/* In the worker (host_driver_linux.c): makes the points, and looks for the host's loader.
 * Repeatable. */
struct err *host_driver_make(struct host_driver *h) MUST_CHECK;
