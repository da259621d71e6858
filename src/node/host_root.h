/*
 * host_root.h - the node's mounts: its own mount namespace, and the root of the image `host`
 *
 * The root is a small tmpfs into which the host's top-level directories are bound, so that a new
 * mount target at the top is made in the tmpfs and never on the host. Each node process makes a
 * root of its own, DATA/node/roots/N, as the host may have changed. The root of the process before
 * it stays at first: the runtime that an earlier process started may still create a container in
 * it.
 */
#pragma once

#include "base/err.h"

/* Below DATA/node, made by host_enter: /sys without its submounts, and a small tmpfs for the device
 * nodes that are bound into containers. */
#define HOST_SYS_DIR    "sys"
#define HOST_DEVICE_DIR "devices"

struct host_mounts {
    const char *dir;      /* DATA/node */
    const char *mask_dir; /* appears empty in the root */
    const char *const
        *targets; /* empty files to be made on the host as mount targets, up to NULL */
};

/*
 * Enters the node's own mount namespace (mount_ns.h): mounts of the host propagate into it, none
 * propagate back. Then makes the root of the image `host`. Called once, before any thread. The
 * caller owns the path of the root.
 */
struct err *host_enter(const struct host_mounts *m, char **ret_rootfs) MUST_CHECK;

/* Makes the directory `dir` appear empty below `rootfs` ("": of this mount namespace), without the
 * mounts below it. */
struct err *host_mask(const char *rootfs, const char *dir) MUST_CHECK;

/* Unmounts and removes the roots below `dir` (DATA/node) but `keep`. No runtime may be creating a
 * container in one of them. Blocks: for a worker. */
struct err *host_root_strike_others(const char *dir, const char *keep) MUST_CHECK;
