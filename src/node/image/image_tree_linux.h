/* image_tree_linux.h - the tree that the entries of one layer make (see image_layer_linux.h) */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/archive_linux.h"
#include "base/err.h"

struct image_tree;

struct image_tree_options {
    const char *dir; /* made here */
    int64_t *left_bytes;
    int64_t *left_entries;
};

struct err *image_tree_new(const struct image_tree_options *o, struct image_tree **ret) MUST_CHECK;
void image_tree_free(struct image_tree *t); /* accepts NULL; what was made stays */
static inline void image_tree_freep(struct image_tree **t)
{
    image_tree_free(*t);
}

/* The next entry of `a`, with its data. */
struct err *image_tree_add(struct image_tree *t, struct archive *a,
                           struct archive_entry *entry) MUST_CHECK;

/* After the last: the times of directories. */
struct err *image_tree_end(struct image_tree *t, int64_t *ret_size_bytes,
                           bool *ret_is_opaque) MUST_CHECK;
