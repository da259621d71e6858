/*
 * root.h - the root of one attempt of an image: what is made of it in the worker before the
 * container is, and what is found in it
 */
#pragma once

#include "node/image/image_user.h"
#include "node/image/images.h"

struct root_device {
    int64_t major;
    int64_t minor;
};

enum {
    ROOT_DEVICES_MAX = 512
};

/* Owned by whoever fills it; root_free frees it and its texts. */
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
    struct host_user found; /* whom the container runs as */
};

void root_free(struct root *r); /* accepts NULL */

/*
 * In the worker (root_linux.c): mounts the root, refuses one whose /dev, /proc or /sys leads
 * elsewhere, finds its user in it, makes the device nodes that
 * are to be bound into it. May be repeated.
 */
struct err *root_make(struct root *r) MUST_CHECK;

/* The node of a character device in `dir`, for any mode of it that the host may have: the device
 * cgroup alone decides who opens it. The caller frees. */
char *root_device_path(const char *dir, int64_t major, int64_t minor);
