/* image_tree_linux.h - the directory tree of one layer, made entry by entry (image_layer_linux.h)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/archive_linux.h"
#include "base/err.h"

struct image_tree;

struct image_tree_options {
    const char *dir; /* created by image_tree_new */
    int64_t *left_bytes;
    int64_t *left_entries;
};

struct err *image_tree_new(const struct image_tree_options *o, struct image_tree **ret) MUST_CHECK;
void image_tree_free(struct image_tree *t); /* accepts NULL; the files stay */
static inline void image_tree_freep(struct image_tree **t)
{
    image_tree_free(*t);
}

/* Adds the next entry of `a`, with its data. */
struct err *image_tree_add(struct image_tree *t, struct archive *a,
                           struct archive_entry *entry) MUST_CHECK;

/* To be called after the last entry: sets the times of directories. */
struct err *image_tree_end(struct image_tree *t, int64_t *ret_size_bytes,
                           bool *ret_is_opaque) MUST_CHECK;
