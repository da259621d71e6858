/*
 * root.h - the root file system of one attempt of an image, prepared in the worker before the
 * container is created
 */
#pragma once

#include "node/image/driver_tree.h"
#include "node/image/image_loader_linux.h"
#include "node/image/image_user.h"
#include "node/image/images.h"

struct root_device {
    int64_t major;
    int64_t minor;
};

enum {
    ROOT_DEVICES_MAX = 512
};

/* root_free frees the struct with its texts. */
struct root {
    char *layer_dir;
    char *lower_dirs;
    char *dir; /* DATA/node/pods/UID/roots/CONTAINER-ATTEMPT */
    uint32_t uid_base;
    char *user; /* of the image */
    struct image_user ask;
    char *device_dir;
    struct root_device devices[ROOT_DEVICES_MAX];
    size_t n_devices;
    struct host_user found;     /* the user that the container runs as */
    struct image_loader loader; /* of a container with gpus */
    struct driver_tree *driver; /* of a container with gpus; NULL: without the driver's files */
};

void root_free(struct root *r); /* accepts NULL */

/*
 * In the worker (root_linux.c): mounts the root, makes the device nodes to be bound into it, and
 * finds the user and the loader, and puts the driver's files in their places. ERR_INVALID: /dev,
 * /proc or /sys of the image is not a directory. Repeatable.
 */
struct err *root_make(struct root *r) MUST_CHECK;

/* The path of a character device node in `dir`, open to all users whatever its mode on the host:
 * the device cgroup alone decides about access. The caller frees the path. */
char *root_device_path(const char *dir, int64_t major, int64_t minor);
