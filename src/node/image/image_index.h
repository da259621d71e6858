/*
 * image_index.h - the list of images and layers as a JSON document, and its changes
 *
 *   {"version":1,
 *    "images":{"sha256:HEX":{"names":["docker.io/library/x:1"],"layers":["sha256:HEX"...],
 *                            "config":{...},"usedAt":NS}},
 *    "layers":{"sha256:HEX":{"dir":"0a1b2c3d","sizeBytes":N,"isOpaque":false}}}
 *
 * A name belongs to one image. A layer stays while any image uses it.
 */
#pragma once

#include "base/json.h"

enum {
    IMAGE_INDEX_BYTES_MAX = 64 << 20
};

json_t *image_index_new(void);

/* Checks that `j` is a complete and consistent index. ERR_INVALID tells where it is not. */
struct err *image_index_check(const json_t *j) MUST_CHECK;

/* Adds or replaces an image; an existing image keeps its names. Its layers are in the index, or
 * added next. */
void image_index_add(json_t *index, const char *id, const json_t *config, const json_t *diff_ids,
                     int64_t now_ns);
void image_index_add_layer(json_t *index, const char *diff_id, const char *dir, int64_t size_bytes,
                           bool is_opaque);

/* Gives a name to an image; another image loses the name. */
void image_index_tag(json_t *index, const char *id, const char *name);
/* Takes the name from its image, if any. */
void image_index_untag(json_t *index, const char *name);
void image_index_remove(json_t *index, const char *id);

/* Removes the layers that no image uses. Returns a new array of their directories. */
json_t *image_index_sweep(json_t *index);

const json_t *image_index_layer(const json_t *index, const char *diff_id);
/* The id of the image with that name; NULL: none. Borrowed. */
const char *image_index_find(const json_t *index, const char *name);
/* The sum of the sizes of the image's layers. */
int64_t image_index_size(const json_t *index, const char *id);
/* The image's layer directories, top first, down to the first opaque layer, with ':' between them.
 * The caller frees the text. */
char *image_index_lower_dirs(const json_t *index, const char *id);
