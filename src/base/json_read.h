/*
 * json_read.h - the quick reader behind json_parse and json_pool_parse
 *
 * The reader knows what programs write most: blanks between tokens, strings, whole numbers of up to
 * 18 digits. It gives up on all else (fractions, pairs of surrogates, escapes in keys, malformed
 * text), which jansson then reads, or names with line and column. So whatever this reader accepts,
 * jansson reads as the same tree.
 */
#pragma once

#include "base/json.h"

struct json_reader {
    const char *at; /* the next byte */
    const char *end;
    unsigned depth;   /* of the containers around `at` */
    struct buf plain; /* scratch space: a string without its escapes */
    /* Reads the object or array at `at`, as json_read_container does; NULL: that function itself.
     * The root, and the values of its member "metadata", do not come here. */
    json_t *(*read_part)(struct json_reader *r);
};

/* Reads the whole text of a reader with `at`, `end` and `read_part`. NULL: it gave up. The caller
 * owns the tree. */
json_t *json_read(struct json_reader *r);

/* Reads the object or array at `at`. NULL: it gave up. The caller owns the tree. */
json_t *json_read_container(struct json_reader *r);
