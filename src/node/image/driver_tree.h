/*
 * driver_tree.h - the driver's files for containers of images, mounted once for all containers
 *
 * A runtime takes a third of a millisecond to bind one file, and a driver has a hundred names. So
 * the node binds the files once, into a tree on a small tmpfs, and binds the tree into the root of
 * each container, at DRIVER_TREE_PATH, before the runtime sees that root. (crun 1.8 does not bind a
 * tree with its mounts into a user namespace.) A layer above the image's layers has a link for each
 * name of a file (driver_layer.h).
 */
#pragma once

#include "base/vec.h"
#include "gpu/driver_root.h"
#include "node/image/image_loader_linux.h"

#define DRIVER_TREE_PATH "/run/mete/driver"

struct driver_tree {
    char *dir;      /* on this machine */
    bool is_shared; /* for containers with capped shares (share_edits.h) */
    VEC(struct driver_file) files;
};

/* Plans the tree below `node_dir`, DATA/node. */
struct driver_tree *driver_tree_new(const struct driver_root *root, const char *node_dir,
                                    bool is_shared);
void driver_tree_free(struct driver_tree *t); /* accepts NULL */

/* The place of a file below the tree: "lib/libcuda.so.570.124.06". NULL: the file is not in the
 * tree, because containers change it. The caller frees it. */
char *driver_tree_name(const struct driver_file *file);

/* In the worker (driver_tree_linux.c): mounts the tree, unless it is there. */
struct err *driver_tree_make(const struct driver_tree *t) MUST_CHECK;

/*
 * Makes a link for each name, and the directory for the tree, in the root file system `root`. Names
 * at which the runtime mounts a file (a soname of the share library, or a file that containers
 * write) get no link, and lose a link of the image, because runtimes do not agree about a mount at
 * a link. Repeatable.
 */
struct err *driver_tree_link(const struct driver_tree *t, int root,
                             const struct image_loader *loader) MUST_CHECK;

/* Binds the tree into the root file system `root`. Repeatable. */
struct err *driver_tree_bind(const struct driver_tree *t, int root) MUST_CHECK;

/* Takes the tree out of the root of an attempt, `root_dir`/root: once created, the container has
 * its own mounts, and each further mount namespace would copy these. */
struct err *driver_tree_strike(const char *root_dir) MUST_CHECK;
