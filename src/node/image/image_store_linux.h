/* image_store_linux.h - the disk work of the image store, in the worker */
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
    struct image_move *moves; /* of unpacked and synced layers */
    size_t n_moves;
    const char *layer_dir;
    const char *index_path;
    const char *index_text;
};

/* Moves the layers, then replaces the index atomically. After a failure, moved layers are in no
 * index. */
struct err *image_store_commit(const struct image_commit_work *w) MUST_CHECK;

struct image_work_dir {
    const char *dir;
    const char *known;      /* text of the file `known` in `dir` */
    const char *auth;       /* text of in/auth.json; NULL: none */
    const char *registries; /* a file, copied to in/registries.conf if it exists; may be NULL */
    bool is_pull;           /* makes in/, for skopeo */
    int64_t bytes_max;      /* out: limit of bytes to write, so that the disk does not fill up */
    bool has_registries;    /* out */
};

/* Makes the directory for fetching and unpacking one image. */
struct err *image_work_make(struct image_work_dir *w) MUST_CHECK;

/* Can the owners of a root file system be shifted here? Needs idmapped mounts below overlay (Linux
 * 5.19, on most file systems). Tries it in `dir`, and removes `dir`. */
bool image_root_can_shift(const char *dir);

/* The used part of the file system in percent, 0..100, as df shows it. */
struct err *image_disk_used_pct(const char *dir, int64_t *ret) MUST_CHECK;
