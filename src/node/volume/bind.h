/*
 * bind.h - a directory or file of this machine, opened without leaving the directory that it must
 * stay in, and mounted at a place of ours that the runtime can be told (bind_linux.c, in the
 * worker)
 *
 * Between a check of a path and its use somebody may swap a part of it for a symlink. So nothing is
 * checked by path: each step opens a descriptor beneath the one before, the kernel refusing to
 * leave it, and what is mounted is the last descriptor itself.
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
    /* A directory of ours, or "/"; a symlink below it leads nowhere outside of it. */
    char *base;
    /* Below `base`, trusted: what follows must stay in it. NULL: `base` itself. */
    char *root;
    char *path;     /* below `root`, without a slash at its begin; "": itself */
    char *sub_path; /* below that; "": none */
    bool has_links; /* symlinks in `path` are followed, within `base` */
    bool is_made;   /* `path` is made where it is missing, by `type` */
    /* `sub_path` is in a volume of ours: missing directories are made as the volume is. */
    bool is_ours;
    /* Whether what is missing of `sub_path` is made. */
    bool is_sub_path_made;
    enum bind_type type; /* of what is at `path` */
    bool has_user;       /* it is opened and made by the rights of `user`; else by root's */
    struct host_user user;
    /* The owners 0 .. USERNS_SIZE show as `id_base` + n; 0: as they are. */
    uint32_t id_base;
    bool is_read_only;
    char *target; /* made; then a mount point */
};

/*
 * ERR_NOT_FOUND: it is missing, and may come. ERR_FORBIDDEN: a part of it leads out, or may not be
 * entered. ERR_INVALID: it is of another type. `*ret_is_dir` tells what is at `target` now.
 */
struct err *bind_mount(const struct bind *b, bool *ret_is_dir) MUST_CHECK;
/* Unmounts and removes `target`; absent is fine. */
struct err *bind_unmount(const char *target) MUST_CHECK;

void bind_done(struct bind *b);
