/*
 * images.h - the images of this machine: imported or pulled, unpacked once a layer by digest, and
 * stacked into root file systems
 *
 *   DATA/node/images/names.json            name → id (sha256 of the config)
 *   DATA/node/images/blobs/sha256/HEX      manifests and configs
 *   DATA/node/images/layers/HEX/           a layer by its diff id, files owned by IMAGE_UID_BASE +
 * n
 *
 * What comes from outside is read in an unprivileged, sandboxed child only (image_unpack_linux.c):
 * this process sees small JSON that the child made. All calls return at once; callbacks come from
 * the loop, never from inside a call.
 */
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "node/worker.h"

struct images;

enum {
    /* On disk a layer's uid n is IMAGE_UID_BASE + n: a setuid program of an image is nobody's on
     * this machine. Containers see n by an idmapped mount (userns.h). */
    IMAGE_UID_BASE = 1879048192, /* 0x70000000 */
    IMAGE_UID_COUNT = 65536,
    IMAGE_LAYERS_MAX = 127
};

struct images_options {
    struct loop *loop;
    struct worker *worker;
    const char *dir;       /* DATA/node/images */
    const char *self_path; /* the program whose role `image-unpack` is the child */
    int64_t keep_pct_high; /* garbage collection begins when the file system is that full; 0: 85 */
    int64_t keep_pct_low;  /* and ends there; 0: 80 */
    void (*changed)(void *arg); /* the list changed */
    void *arg;
};

/* What an image says of itself; texts and lists may be absent. Borrowed until the list changes. */
struct image {
    const char *id;           /* "sha256:HEX" */
    const json_t *names;      /* array of texts, "docker.io/library/x:1", with digest names */
    int64_t size_bytes;       /* of its layers, unpacked */
    const char *user;         /* "", "1000", "1000:1000", "name", "name:group" */
    const json_t *env;        /* array of "NAME=VALUE" */
    const json_t *entrypoint; /* array or NULL */
    const json_t *command;    /* array or NULL */
    const char *working_dir;
    const char *stop_signal;
};

struct err *images_new(const struct images_options *o, struct images **ret) MUST_CHECK;
void images_free(struct images *i); /* accepts NULL */

/* By name ("busybox", "busybox:1", "docker.io/library/busybox:latest", "NAME@sha256:..."), or id.
 * NULL: not here. */
const struct image *images_find(const struct images *i, const char *name);
/* All, by id. */
const struct image *const *images_list(const struct images *i, size_t *ret_count);

/* `e` NULL: `id` is the image. ERR_NOT_FOUND, ERR_FORBIDDEN, ERR_INVALID (hostile or broken),
 * ERR_UNAVAILABLE. */
typedef void (*image_done_fn)(void *arg, const struct err *e, const char *id);
/* One line for people: "layer 3 of 7: 12.1 of 40.0 MiB". */
typedef void (*image_progress_fn)(void *arg, const char *line);

struct image_pull {
    const char *name;
    const char *username; /* NULL: anonymous */
    const char *password;
    image_progress_fn progress; /* may be NULL */
    image_done_fn done;
    void *arg;
};

/* Pulls of the same name join. By skopeo. */
void images_pull(struct images *i, const struct image_pull *p);

/* An archive (OCI or docker), plain or compressed, comes in pieces; an OCI layout directory comes
 * as a tar of it. */
struct image_import;
struct image_import *images_import(struct images *i, const char *name,
                                   const struct image_pull *how);
void image_import_data(struct image_import *m, struct str piece);
size_t image_import_backlog(const struct image_import *m); /* bytes not taken by the child yet */
void image_import_end(struct image_import *m);             /* done follows */
void image_import_cancel(struct image_import *m);          /* no callback after it */

/* ERR_CONFLICT while a container uses it. */
struct err *images_remove(struct images *i, const char *name) MUST_CHECK;

/* Keeps the image of a pod while it is there. `pod_uid` may be given often. */
void images_use(struct images *i, const char *id, const char *pod_uid);
void images_unuse(struct images *i, const char *pod_uid);

/* The lower directories of an image, top first, as overlayfs wants them. The caller frees. */
char *images_lower_dirs(const struct images *i, const char *id);

/*
 * In the worker: mounts the root file system of one attempt at `dir`/root (upper and work beside
 * it), its owners shifted so that uid 0 of the image is `uid_base` (userns.h). Repeatable.
 */
struct image_root {
    const char *lower_dirs;
    const char *dir;
    uint32_t uid_base;
};
struct err *image_root_mount(const struct image_root *r) MUST_CHECK;
struct err *image_root_unmount(const char *dir) MUST_CHECK;
