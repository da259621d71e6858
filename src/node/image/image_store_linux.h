/* image_store_linux.h - what images.c does on the disk, in the worker */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct image_move {
    char *from;
    char *to;
};

struct image_commit_work {
    struct image_move *moves; /* of layers, made and synced before */
    size_t n_moves;
    const char *layer_dir;
    const char *index_path;
    const char *index_text;
};

/* All or nothing for who reads the index; after a failure what was moved is nobody's. */
struct err *image_store_commit(const struct image_commit_work *w) MUST_CHECK;

struct image_work_dir {
    const char *dir;
    const char *known;      /* text of its file `known` */
    const char *auth;       /* text of in/auth.json; NULL: none */
    const char *registries; /* a file that is copied to in/registries.conf where it exists; NULL */
    bool is_pull;           /* it has in/, for skopeo */
    int64_t bytes_max;      /* out: how much may be written, so that the disk does not fill up */
    bool has_registries;    /* out */
};

/* Makes the directory in which an image is fetched and unpacked. */
struct err *image_work_make(struct image_work_dir *w) MUST_CHECK;

/* Whether root file systems of other owners than the layers' can be mounted here: idmapped mounts
 * below overlay (Linux 5.19, on most file systems). Uses `dir`, which is removed. */
bool image_root_can_shift(const char *dir);

/* How full the file system is, 0..100, as df shows it. */
struct err *image_disk_used_pct(const char *dir, int64_t *ret) MUST_CHECK;
