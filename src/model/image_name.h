/*
 * image_name.h - names of container images, as registries read them: [REGISTRY/]PATH[:TAG][@DIGEST]
 *
 * Short names are completed as by Docker: "busybox" is "docker.io/library/busybox:latest". The
 * grammar is that of the distribution project's reference package.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum {
    IMAGE_REPOSITORY_SIZE = 256, /* registry and path */
    IMAGE_TAG_SIZE = 129,
    IMAGE_DIGEST_SIZE = 72, /* "sha256:" and 64 hexadecimal digits */
    IMAGE_NAME_SIZE = IMAGE_REPOSITORY_SIZE + IMAGE_TAG_SIZE + IMAGE_DIGEST_SIZE
};

/* The name of the node's own root file system, an image that is never stored. */
#define IMAGE_HOST "host"

/* A value. */
struct image_name {
    char repository[IMAGE_REPOSITORY_SIZE]; /* "docker.io/library/busybox" */
    char tag[IMAGE_TAG_SIZE];               /* "": the name has a digest */
    char digest[IMAGE_DIGEST_SIZE];         /* "" or "sha256:..." */
};

/* ERR_INVALID names the wrong part. A tag beside a digest is dropped, because the digest decides.
 */
struct err *image_name_parse(const char *text, struct image_name *ret) MUST_CHECK;

/* The long form, which image_name_parse reads back as the same name. */
void image_name_format(const struct image_name *n, char ret[IMAGE_NAME_SIZE]);

/* "docker.io" of "docker.io/library/busybox". */
void image_name_registry(const struct image_name *n, char ret[IMAGE_REPOSITORY_SIZE]);

/* "sha256:" and 64 lower-case hexadecimal digits. */
bool image_digest_is_valid(const char *text);
