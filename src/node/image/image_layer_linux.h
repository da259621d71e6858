/*
 * image_layer_linux.h - unpacks one layer into a directory in overlayfs format (in the sandboxed
 * child)
 *
 * A whiteout becomes a character device 0:0, and an opaque directory gets user.overlay.opaque
 * (overlay is mounted with userxattr): see the kernel's Documentation/filesystems/overlayfs.rst.
 * Owners are kept as in the layer. Refused: device nodes, names with "..", absolute names, paths
 * that leave the layer through a link, and layers beyond the limits.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/image_name.h"

struct image_layer_job {
    int fd;              /* of the blob */
    const char *name;    /* of the blob, for errors */
    const char *blob;    /* its digest; NULL: unknown */
    const char *diff_id; /* the digest of the uncompressed tar */
    const char *dir;     /* created; NULL: only check the digests */
    int64_t *left_bytes; /* bytes that may still be written; counted down */
    int64_t *left_entries;
    void (*progress)(void *arg, int64_t read_bytes); /* called from time to time */
    void *arg;
};

struct image_layer_result {
    int64_t size_bytes; /* of the layer's files */
    bool is_opaque;     /* hides all layers below */
};

struct err *image_layer_unpack(const struct image_layer_job *job,
                               struct image_layer_result *ret) MUST_CHECK;
