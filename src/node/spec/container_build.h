/* container_build.h - a container's config.json, from its manifest, its image and its gpus */
#pragma once

#include "node/image/root.h"
#include "node/pod/pod.h"
#include "node/volume/stage.h"

/* `root` NULL: the image `host`. `*ret` is the caller's. */
struct err *container_build(const struct pod *p, const struct container *c, const struct root *root,
                            const struct stage *stage, json_t **ret);

/* Its gpus as CDI edits. `env` may be NULL. `*ret` is the caller's. */
struct err *container_edits(const struct pod *p, const struct container *c, const json_t *env,
                            json_t **ret);
