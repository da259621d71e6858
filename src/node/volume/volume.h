/*
 * volume.h - a pod's volumes, as directories of this machine
 *
 * volume_plan (volume.c; volume_files.c: what is in them) is pure; volume_make brings the plan
 * about (volume_make.c, in the worker) and may be repeated: what an emptyDir holds stays, files of
 * ConfigMaps, Secrets, fields and tokens are replaced all at once (atomic_dir.h). A volume in
 * memory is a tmpfs of our own mount namespace, which outlives us while any container runs
 * (host_enter).
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
    VOLUME_HOST   /* nothing of ours: each container opens it anew (bind.h) */
};

/* A hostPath. */
struct volume_host {
    char *path; /* clean */
    char *root; /* the directory that it must stay in; NULL: anywhere, an administrator asked */
    bool is_read_only;
    enum bind_type type;
    bool is_made;
};

struct volume {
    char *name;
    char *path; /* on the host */
    enum volume_type type;
    bool is_memory;
    int64_t size_bytes;  /* of memory; 0: the kernel's default */
    int64_t limit_bytes; /* of an emptyDir on disk; 0: none */
    char *limit_text;    /* as the manifest says it */
    uint32_t mode;       /* of the directory */
    uid_t uid;
    gid_t gid;
    VEC(struct atomic_file) files; /* by path */
    struct volume_host host;
};

struct volumes {
    VEC(struct volume) list;
};

struct volume_input {
    struct env_input env;           /* of no container: pod, refs and what fields stand for */
    const char *dir;                /* where they are */
    const struct host_roots *roots; /* NULL: none */
    const char *mask_dir;           /* no hostPath goes there; NULL: none */
    uint32_t uid_base;              /* who is root in the pod */
    bool has_common_uid;            /* all containers run as `common_uid`, on the host's side */
    uid_t common_uid;
};

/*
 * The pod's volumes. ERR_NOT_FOUND: something that is not optional is missing and may come;
 * ERR_INVALID, ERR_FORBIDDEN: it will never do.
 */
struct err *volume_plan(const struct volume_input *in, struct volumes *ret) MUST_CHECK;
void volumes_done(struct volumes *v);

/* volume_files.c: fills a VOLUME_FILES volume from its `item` of the spec, if it is one. */
struct err *volume_plan_files(const struct volume_input *in, const json_t *item, struct volume *v,
                              bool *ret_is_files) MUST_CHECK;

const struct volume *volumes_find(const struct volumes *v, const char *name);

/* Frees what was only for volume_make: the files. */
void volumes_forget(struct volumes *v);

struct err *volume_make(const struct volumes *v) MUST_CHECK;
/* Only the files, of a pod that runs; a volume that is not there is left alone. */
struct err *volume_update(const struct volumes *v) MUST_CHECK;
/* Unmounts and removes all volumes below `dir`. */
struct err *volume_remove(const char *dir) MUST_CHECK;
