/*
 * volume.h - a pod's volumes: emptyDir, configMap and secret, as directories of this machine
 *
 * volume_plan is pure; volume_make brings the plan about (in the worker) and may be repeated: what
 * an emptyDir holds stays, files of ConfigMaps and Secrets are written anew. A memory-backed volume
 * is a tmpfs in our own mount namespace: after a restart of the node its next container finds it
 * new (secrets with their files, an emptyDir empty).
 */
#pragma once

#include "base/json.h"
#include "base/vec.h"

struct volume_file {
    char *path; /* in the volume, plain */
    char *bytes;
    size_t size;
    uint32_t mode;
};

struct volume {
    char *name;
    char *path; /* on the host */
    bool is_memory;
    int64_t size_bytes; /* of memory; 0: the kernel's default */
    uint32_t mode;      /* of the directory */
    VEC(struct volume_file) files;
};

struct volumes {
    VEC(struct volume) list;
};

/*
 * The pod's volumes below `dir`. ERR_NOT_FOUND: something that is not optional is missing and may
 * come; ERR_INVALID: it will never do.
 */
struct err *volume_plan(const json_t *pod, const json_t *refs, const char *dir,
                        struct volumes *ret) MUST_CHECK;
void volumes_done(struct volumes *v);

const struct volume *volumes_find(const struct volumes *v, const char *name);

struct err *volume_make(const struct volumes *v) MUST_CHECK;
/* Unmounts and removes all volumes below `dir`. */
struct err *volume_remove(const char *dir) MUST_CHECK;
