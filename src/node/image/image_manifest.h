/*
 * image_manifest.h - image manifests: the JSON of OCI image layouts (image-spec 1.0) and of
 * Docker's archives and registries (manifest version 2, schema 2)
 *
 * Parsed only in the sandboxed child. ERR_INVALID tells what is wrong or unsupported.
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

/* A reference by digest. */
struct image_blob {
    char digest[IMAGE_DIGEST_SIZE];
    int64_t size_bytes; /* -1: not given */
};

struct image_manifest {
    struct image_blob config;
    struct image_blob layers[IMAGE_LAYERS_MAX]; /* lowest first */
    size_t n_layers;
};

struct err *image_manifest_parse(const json_t *j, struct image_manifest *ret) MUST_CHECK;

/* The image to choose from an index. */
struct image_choice {
    const char *architecture; /* as Kubernetes calls it: "amd64" */
    const char *name;         /* NULL: the only image */
};

struct image_chosen {
    struct image_blob blob;
    enum image_media media;
    const char *name; /* the image's name in the index, borrowed; NULL: none */
};

/* Chooses an image from an OCI index. ERR_INVALID also if several images are left and none has the
 * name. */
struct err *image_index_choose(const json_t *j, const struct image_choice *want,
                               struct image_chosen *ret) MUST_CHECK;

/* An image in the manifest.json of a Docker archive, with paths in the archive. Borrowed. */
struct image_archive {
    const char *config;
    const json_t *names; /* array of texts; NULL: none */
    const char *layers[IMAGE_LAYERS_MAX];
    size_t n_layers;
};

struct err *image_archive_choose(const json_t *j, const struct image_choice *want,
                                 struct image_archive *ret) MUST_CHECK;

/* The part of an image config that containers use, and the layers' diff ids. */
struct image_config {
    json_t *config; /* owned: user, env, entrypoint, command, workingDir, stopSignal */
    char diff_ids[IMAGE_LAYERS_MAX][IMAGE_DIGEST_SIZE];
    size_t n_layers;
};

/* ERR_INVALID also if the image is for another system or `architecture`. */
struct err *image_config_parse(const json_t *j, const char *architecture,
                               struct image_config *ret) MUST_CHECK;
void image_config_done(struct image_config *c);

/* Checks again a config made by image_config_parse in another, untrusted process. */
struct err *image_config_check(const json_t *config) MUST_CHECK;
