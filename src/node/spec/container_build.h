/* container_build.h - builds a container's config.json from its manifest, image and gpus */
#pragma once

#include "node/image/host_driver.h"
#include "node/image/root.h"
#include "node/pod/pod.h"
#include "node/spec/cdi_file.h"
#include "node/volume/stage.h"

/* The container's file system as the worker prepared it. */
struct container_place {
    const struct root *root;          /* NULL: the image `host` */
    const struct host_driver *driver; /* of the image `host` */
    const struct stage *stage;
    const json_t *edits; /* of the machine's CDI files for the container's gpus; NULL: none */
};

/* The caller owns `*ret`. */
struct err *container_build(const struct pod *p, const struct container *c,
                            const struct container_place *place, json_t **ret) MUST_CHECK;

/* The CDI edits for the container's gpus; `place` NULL: without the driver's files. The caller owns
 * `*ret`. */
struct err *container_edits(const struct pod *p, const struct container *c,
                            const struct container_place *place, json_t **ret) MUST_CHECK;

/* The request for the container's gpus to the machine's CDI files; NULL: it has none. The caller
 * frees it. */
struct err *container_request(const struct pod *p, const struct container *c,
                              struct cdi_request **ret) MUST_CHECK;

/* The driver of a container with gpus; NULL: it has no gpus, or the driver is not known. */
const struct driver_root *container_driver(const struct pod *p, const struct container *c);
