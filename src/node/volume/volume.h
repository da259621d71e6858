/*
 * volume.h - a pod's volumes, as directories of this machine
 *
 * volume_plan (volume.c; files: volume_files.c) is pure; volume_make (volume_make.c, in the worker)
 * carries the plan out. volume_make is repeatable: the contents of an emptyDir stay, and files of
 * ConfigMaps, Secrets, fields and tokens are replaced atomically (atomic_dir.h). A volume in memory
 * is a tmpfs in the node's mount namespace, which outlives the node process while any container
 * runs (host_enter).
 */
#pragma once

#include "base/json.h"
#include "base/vec.h"
#include "model/host_roots.h"
#include "node/spec/env.h"
#include "node/volume/atomic_dir.h"
#include "node/volume/bind.h"

enum volume_type {
    VOLUME_EMPTY,
    VOLUME_FILES, /* configMap, secret, downwardAPI, projected: read-only */
    VOLUME_HOST,  /* no directory of the node's: each container opens the path anew (bind.h) */
    VOLUME_CLAIM  /* a persistent volume of the node's own (claim_disk.h) */
};

/* A hostPath. */
struct volume_host {
    char *path; /* normalized */
    char *root; /* `path` must stay in this directory; NULL: anywhere, for an administrator */
    bool is_read_only;
    enum bind_type type;
    bool is_made;
};

struct volume {
    char *name;
    char *path; /* on the host */
    enum volume_type type;
    bool is_memory;
    int64_t size_bytes;  /* of a tmpfs; 0: the kernel's default */
    int64_t limit_bytes; /* of an emptyDir on disk; 0: none */
    char *limit_text;    /* as in the manifest */
    uint32_t mode;       /* of the directory */
    uid_t uid;
    gid_t gid;
    VEC(struct atomic_file) files; /* by path */
    struct volume_host host;
    char *disk_dir;     /* of a claim */
    int64_t disk_bytes; /* of a claim */
    bool is_read_only;  /* of a claim, for all mounts */
};

struct volumes {
    VEC(struct volume) list;
};

struct volume_input {
    struct env_input env;           /* without container: pod, refs, and values of fields */
    const char *dir;                /* the directory of the volumes */
    const char *node_dir;           /* DATA/node */
    const struct host_roots *roots; /* NULL: none */
    const char *mask_dir;           /* forbidden to hostPaths; NULL: none */
    uint32_t uid_base;              /* host id of the pod's uid 0 */
    bool has_common_uid;            /* all containers run as `common_uid`, a host id */
    uid_t common_uid;
};

/*
 * Plans the pod's volumes. ERR_NOT_FOUND: a ConfigMap, Secret or key that is not optional is
 * missing, and may come. ERR_INVALID, ERR_FORBIDDEN: a retry would not help.
 */
struct err *volume_plan(const struct volume_input *in, struct volumes *ret) MUST_CHECK;
void volumes_done(struct volumes *v);

/* volume_files.c: fills a VOLUME_FILES volume from its `item` of the spec; `*ret_is_files` false:
 * the item is of another type. */
struct err *volume_plan_files(const struct volume_input *in, const json_t *item, struct volume *v,
                              bool *ret_is_files) MUST_CHECK;

const struct volume *volumes_find(const struct volumes *v, const char *name);

/* Frees the files, which only volume_make needs. */
void volumes_forget(struct volumes *v);

struct err *volume_make(const struct volumes *v) MUST_CHECK;
/* Updates only the files, for a running pod; skips a volume whose directory is missing. */
struct err *volume_update(const struct volumes *v) MUST_CHECK;
/* Unmounts and removes all volumes below `dir`. */
struct err *volume_remove(const char *dir) MUST_CHECK;
