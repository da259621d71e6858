/*
 * image_index.h - the list of images and layers as a JSON document, and what can be done to it
 *
 *   {"version":1,
 *    "images":{"sha256:HEX":{"names":["docker.io/library/x:1"],"layers":["sha256:HEX"...],
 *                            "config":{...},"usedAt":NS}},
 *    "layers":{"sha256:HEX":{"dir":"0a1b2c3d","sizeBytes":N,"isOpaque":false}}}
 *
 * A name belongs to one image. A layer is there while an image has it.
 */
#pragma once

#include "base/json.h"

enum {
    IMAGE_INDEX_BYTES_MAX = 64 << 20
};

json_t *image_index_new(void);

/* Whether `j` is such a document, whole and consistent. ERR_INVALID says where it is not. */
struct err *image_index_check(const json_t *j) MUST_CHECK;

/* Adds or renews an image; what it has of names stays. Its layers are there or follow. */
void image_index_add(json_t *index, const char *id, const json_t *config, const json_t *diff_ids,
                     int64_t now_ns);
void image_index_add_layer(json_t *index, const char *diff_id, const char *dir, int64_t size_bytes,
                           bool is_opaque);

/* Gives a name to an image, and takes it from another. */
void image_index_tag(json_t *index, const char *id, const char *name);
/* Takes it from whoever has it. */
void image_index_untag(json_t *index, const char *name);
void image_index_remove(json_t *index, const char *id);

/* Takes out the layers that no image has. A new array of their directories. */
json_t *image_index_sweep(json_t *index);

const json_t *image_index_layer(const json_t *index, const char *diff_id);
/* The id of the image with that name; NULL: none. Borrowed. */
const char *image_index_find(const json_t *index, const char *name);
/* The sizes of its layers. */
int64_t image_index_size(const json_t *index, const char *id);
/* Directories of layers, top first, down to the first that hides the rest. The caller frees it. */
char *image_index_lower_dirs(const json_t *index, const char *id);
