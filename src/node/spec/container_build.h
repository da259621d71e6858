/* container_build.h - builds a container's config.json from its manifest, image and gpus */
#pragma once

#include "node/image/root.h"
#include "node/pod/pod.h"
#include "node/volume/stage.h"

/* `root` NULL: the image `host`. The caller owns `*ret`. */
struct err *container_build(const struct pod *p, const struct container *c, const struct root *root,
                            const struct stage *stage, json_t **ret);

/* The CDI edits for the container's gpus. `env` may be NULL. The caller owns `*ret`. */
struct err *container_edits(const struct pod *p, const struct container *c, const json_t *env,
                            json_t **ret);
