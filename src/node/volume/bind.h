/*
 * bind.h - opens a directory or file of this machine without leaving a given directory, and
 * bind-mounts it at a path of the node's own, for the runtime (bind_linux.c, in the worker)
 *
 * Between the check of a path and its use, a tenant may replace a part of it by a symlink. So paths
 * are never checked: each step opens a descriptor beneath the one before (openat2: the kernel
 * refuses to leave that), and the last descriptor itself is mounted.
 */
#pragma once

#include "base/json.h"
#include "node/host.h"

enum bind_type {
    BIND_ANY,
    BIND_DIR,
    BIND_FILE,
    BIND_SOCKET
};

struct bind {
    /* A directory of the node's, or "/"; symlinks below it cannot lead outside. */
    char *base;
    /* Below `base`, trusted: `path` must stay in it. NULL: `base` itself. */
    char *root;
    char *path;     /* below `root`, without a leading slash; "": `root` itself */
    char *sub_path; /* below `path`; "": none */
    bool has_links; /* follow symlinks in `path`, within `base` */
    bool is_made;   /* create a missing `path`, by `type` */
    /* `sub_path` is in a volume of the node's: missing directories get the volume's owner and mode.
     */
    bool is_ours;
    /* Create missing parts of `sub_path`. */
    bool is_sub_path_made;
    enum bind_type type; /* the required type of `path` */
    bool has_user;       /* open and create with the rights of `user`; else as root */
    struct host_user user;
    /* Owners n of 0 .. USERNS_SIZE - 1 appear as `id_base` + n; 0: unchanged. */
    uint32_t id_base;
    bool is_read_only;
    char *target; /* created; then the mount point */
};

/*
 * ERR_NOT_FOUND: the path is missing, and may appear. ERR_FORBIDDEN: a part of the path leads
 * outside, or the user may not enter it. ERR_INVALID: another type. `*ret_is_dir`: a directory is
 * at `target`.
 */
struct err *bind_mount(const struct bind *b, bool *ret_is_dir) MUST_CHECK;
/* Unmounts and removes `target`, if it exists. */
struct err *bind_unmount(const char *target) MUST_CHECK;

void bind_done(struct bind *b);
