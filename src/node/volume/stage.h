/*
 * stage.h - the mounts of one attempt, prepared before its creation
 *
 * The runtime mounts a volume of the node's directly. The node itself opens a hostPath or subPath
 * (bind.h) and mounts it below `dir`, from where the runtime binds it. Once the attempt is created,
 * it has its own mounts, and the node removes the stage. The plan is made in the loop, all else in
 * the worker.
 */
#pragma once

#include "node/spec/spec.h"
#include "node/volume/volume.h"

struct stage_mount {
    char *name; /* of the volume */
    struct spec_mount mount;
    struct bind bind; /* .target NULL: none */
};

struct stage {
    char *dir;
    bool is_host; /* the image `host`: mount points are created only at the top of its root */
    VEC(struct stage_mount) mounts;
};

struct stage_input {
    const json_t *pod;
    const json_t *container;
    const struct volumes *volumes;
    const json_t *env;            /* variables for $(NAME) in a subPathExpr */
    const char *dir;              /* DATA/node/pods/UID/binds/CONTAINER-ATTEMPT */
    const char *rootfs;           /* the host's root without hidden directories, for host paths */
    const struct host_user *user; /* with whose rights hostPaths are opened: of the image `host`, or
                                     the owner of a batch container; NULL: another image */
    bool is_host;                 /* the image `host` */
    uint32_t uid_base;
};

/* ERR_INVALID: the manifest asks for an impossible mount. */
struct err *stage_plan(const struct stage_input *in, struct stage *ret) MUST_CHECK;
void stage_done(struct stage *s);

/* Does the container need mounts by the node? */
bool stage_has_binds(const json_t *pod, const json_t *container);

/* Mounts the stage. Errors as bind_mount. Repeatable. */
struct err *stage_make(struct stage *s) MUST_CHECK;
/* Unmounts and removes everything in `dir`, if it exists. */
struct err *stage_strike(const char *dir) MUST_CHECK;
