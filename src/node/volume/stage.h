/*
 * stage.h - where the volumes of one attempt stand before it is created
 *
 * A volume of ours is mounted by the runtime as it stands. A hostPath and a subPath are opened by
 * us (bind.h), mounted below `dir`, and the runtime is told that place; once the attempt is
 * created, these mounts are its own and ours are struck. Planned in the loop, the rest is the
 * worker's.
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
    bool is_host; /* the image `host`: nothing is made in its root but at the top */
    VEC(struct stage_mount) mounts;
};

struct stage_input {
    const json_t *pod;
    const json_t *container;
    const struct volumes *volumes;
    const json_t *env;  /* what $(NAME) of a subPathExpr may name */
    const char *dir;    /* DATA/node/pods/UID/binds/CONTAINER-ATTEMPT */
    const char *rootfs; /* this machine without what is hidden: host paths are looked up there */
    const struct host_user *user; /* of the image `host`; NULL: of another */
    uint32_t uid_base;
};

/* ERR_INVALID: a mount cannot be as it asks. */
struct err *stage_plan(const struct stage_input *in, struct stage *ret) MUST_CHECK;
void stage_done(struct stage *s);

/* Whether a stage of the container has mounts of ours. */
bool stage_has_binds(const json_t *pod, const json_t *container);

/* ERR_NOT_FOUND, ERR_FORBIDDEN, ERR_INVALID as bind_mount. May be repeated. */
struct err *stage_make(struct stage *s) MUST_CHECK;
/* Unmounts and removes all that stands in `dir`; absent is fine. */
struct err *stage_strike(const char *dir) MUST_CHECK;
