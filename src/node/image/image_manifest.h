/*
 * image_manifest.h - what an image says of itself: the JSON of OCI image layouts (image-spec 1.0)
 * and of Docker's archives and registries (manifest version 2, schema 2)
 *
 * Read in the sandboxed child only. ERR_INVALID says what is wrong or not supported.
 */
#pragma once

#include "base/json.h"
#include "model/image_name.h"

enum {
    IMAGE_JSON_MAX = 4 << 20, /* bytes of a manifest or a config */
    IMAGE_LAYERS_MAX = 127,
    IMAGE_INDEX_DEPTH_MAX = 4
};

enum image_media {
    IMAGE_MEDIA_INDEX,
    IMAGE_MEDIA_MANIFEST
};

/* Something that is found by its digest. */
struct image_blob {
    char digest[IMAGE_DIGEST_SIZE];
    int64_t size_bytes; /* -1: not said */
};

struct image_manifest {
    struct image_blob config;
    struct image_blob layers[IMAGE_LAYERS_MAX]; /* lowest first */
    size_t n_layers;
};

struct err *image_manifest_parse(const json_t *j, struct image_manifest *ret) MUST_CHECK;

/* What is wanted of an index. */
struct image_choice {
    const char *architecture; /* as Kubernetes calls it: "amd64" */
    const char *name;         /* NULL: the only one */
};

struct image_chosen {
    struct image_blob blob;
    enum image_media media;
    const char *name; /* as the index calls it; borrowed from it; NULL: it does not */
};

/* ERR_INVALID also where there are several and none is named so. */
struct err *image_index_choose(const json_t *j, const struct image_choice *want,
                               struct image_chosen *ret) MUST_CHECK;

/* manifest.json of a Docker archive: the paths in the archive. Borrowed from `j`. */
struct image_archive {
    const char *config;
    const json_t *names; /* array of texts; NULL: none */
    const char *layers[IMAGE_LAYERS_MAX];
    size_t n_layers;
};

struct err *image_archive_choose(const json_t *j, const struct image_choice *want,
                                 struct image_archive *ret) MUST_CHECK;

/* What containers need of a config, and the layers' diff ids. */
struct image_config {
    json_t *config; /* owned: user, env, entrypoint, command, workingDir, stopSignal */
    char diff_ids[IMAGE_LAYERS_MAX][IMAGE_DIGEST_SIZE];
    size_t n_layers;
};

/* ERR_INVALID also where it is for another system or `architecture`. */
struct err *image_config_parse(const json_t *j, const char *architecture,
                               struct image_config *ret) MUST_CHECK;
void image_config_done(struct image_config *c);

/* The same checks on what image_config_parse made, for who is told of it by another process. */
struct err *image_config_check(const json_t *config) MUST_CHECK;
