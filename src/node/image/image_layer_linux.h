/*
 * image_layer_linux.h - one layer of an image into a directory, as overlayfs wants it (in the
 * sandboxed child)
 *
 * A whiteout becomes a character device 0:0, an opaque directory gets user.overlay.opaque (overlay
 * is mounted with userxattr), as Documentation/filesystems/overlayfs.rst of the kernel says. Owners
 * are those of the layer. Refused: device nodes, names with "..", absolute names, anything that
 * leads out of the layer through a link, more than is allowed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/image_name.h"

struct image_layer_job {
    int fd;              /* of the blob */
    const char *name;    /* of the blob, for errors */
    const char *blob;    /* its digest; NULL: not known */
    const char *diff_id; /* the digest of the uncompressed tar */
    const char *dir;     /* made; NULL: only check the digests */
    int64_t *left_bytes; /* what may still be written; counted down */
    int64_t *left_entries;
    void (*progress)(void *arg, int64_t read_bytes); /* now and then */
    void *arg;
};

struct image_layer_result {
    int64_t size_bytes; /* of its files */
    bool is_opaque;     /* hides all layers below */
};

struct err *image_layer_unpack(const struct image_layer_job *job,
                               struct image_layer_result *ret) MUST_CHECK;
