/*
 * images.h - the image store: images are imported or pulled, their layers unpacked once by digest,
 * and stacked into root file systems
 *
 *   DATA/node/images/index.json    all images and layers (image_index.h), replaced atomically
 *   DATA/node/images/layers/ID/    the tree of a layer, files owned by IMAGE_UID_BASE + n
 *   DATA/node/images/layers/ID-HASH/    links to a driver for an image (driver_layer.h)
 *   DATA/node/images/work/UUID/    an import or pull under way, or files being removed
 *
 * Only an unprivileged, sandboxed child reads untrusted images (image_unpack_linux.c): this process
 * sees small JSON made by the child. All calls return at once; callbacks come from the loop, never
 * from inside a call. If the process is killed at any moment, an operation under way is either
 * complete or has left no trace.
 */
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "node/worker.h"

struct images;

enum {
    /* A layer's uid n is IMAGE_UID_BASE + n on disk, so that a setuid program of an image belongs
     * to no user of this machine. Containers see n through an idmapped mount (userns.h). */
    IMAGE_UID_BASE = 1879048192, /* 0x70000000 */
    IMAGE_UID_COUNT = 65536,
    IMAGE_FETCH_UID = IMAGE_UID_BASE - 1 /* the user of skopeo, which talks to registries */
};

struct images_options {
    struct loop *loop;
    struct worker *worker;    /* its own: removing a layer is slow */
    const char *dir;          /* DATA/node/images */
    const char *self_path;    /* the program that children run, in other roles */
    const char *architecture; /* "amd64" */
    const char *registries;   /* a registries.conf(5) for skopeo, used if it exists; may be NULL */
    int64_t keep_pct_high;    /* used part of the disk at which garbage collection begins; 0: 85 */
    int64_t keep_pct_low;     /* and at which it ends; 0: 80 */
    void (*changed)(void *arg); /* the list changed; may be NULL */
    void *arg;
};

/* An image and its config; texts and lists may be NULL. Borrowed until the list changes. */
struct image {
    const char *id;           /* "sha256:HEX" of its config */
    const json_t *names;      /* array of texts, "docker.io/library/x:1", with digest names */
    int64_t size_bytes;       /* of the unpacked layers */
    const char *user;         /* "", "1000", "1000:1000", "name", "name:group" */
    const json_t *env;        /* array of "NAME=VALUE" */
    const json_t *entrypoint; /* array or NULL */
    const json_t *command;    /* array or NULL */
    const char *working_dir;
    const char *stop_signal;
    int64_t used_ns; /* realtime of the image's arrival or last use */
};

struct err *images_new(const struct images_options *o, struct images **ret) MUST_CHECK;
/* Accepts NULL; ends operations under way without their callbacks. */
void images_free(struct images *i);

/* Finds an image by name ("busybox", "busybox:1", "docker.io/library/busybox:latest",
 * "NAME@sha256:...") or id. NULL: none. */
const struct image *images_find(const struct images *i, const char *name);
/* The same, also by the first digits of an id if only one image has them. */
const struct image *images_find_short(const struct images *i, const char *name);
/* All images, by id. */
const struct image *const *images_list(const struct images *i, size_t *ret_count);

/* `e` NULL: `id` is the image. ERR_NOT_FOUND, ERR_FORBIDDEN, ERR_INVALID (hostile or broken),
 * ERR_UNAVAILABLE. */
typedef void (*image_done_fn)(void *arg, const struct err *e, const char *id);
/* `line` is for display: "layer 3 of 7: 12.1 of 40.0 MiB". */
typedef void (*image_progress_fn)(void *arg, const char *line);

struct image_pull {
    const char *name;
    const char *username; /* NULL: anonymous */
    const char *password;
    image_progress_fn progress; /* may be NULL */
    image_done_fn done;
    void *arg;
};

struct image_pulling;

/*
 * Pulls an image by skopeo. Pulls of the same name with the same credentials share one job. A name
 * whose digest is unchanged since the last pull is not fetched again. `*ret` (may be NULL) is dead
 * after `done`.
 */
void images_pull(struct images *i, const struct image_pull *p, struct image_pulling **ret);
void image_pull_forget(struct image_pulling *p); /* no callback afterwards; the pull goes on */

/* Imports an archive (OCI or Docker, plain or compressed) that comes in pieces; an OCI layout
 * directory comes as a tar. `name` NULL: the archive names the image. */
struct image_import;
struct image_import *images_import(struct images *i, const char *name,
                                   const struct image_pull *how);
void image_import_data(struct image_import *m, struct str piece);
size_t image_import_backlog(const struct image_import *m); /* bytes not yet read by the child */
/* Calls `fn` whenever the child has read some bytes. */
void image_import_on_drain(struct image_import *m, loop_fn fn, void *arg);
void image_import_end(struct image_import *m);    /* done follows */
void image_import_cancel(struct image_import *m); /* no callback afterwards */

/*
 * Removes a name, and with its last name (or by id) the image. ERR_CONFLICT: a container uses the
 * image. ERR_NOT_FOUND.
 */
void images_remove(struct images *i, const char *name, image_done_fn done, void *arg);

/* Removes unused images: those without a name, or with `is_all` every one. */
typedef void (*image_gc_fn)(void *arg, const struct err *e, size_t n_images, int64_t bytes);
void images_gc(struct images *i, bool is_all, image_gc_fn done, void *arg);
/* All uses are known: from now on, a full disk starts garbage collection. */
void images_settled(struct images *i);

/* Keeps the image until images_unuse of the pod. Repeatable. */
void images_use(struct images *i, const char *id, const char *pod_uid);
void images_unuse(struct images *i, const char *pod_uid);
size_t images_uses(const struct images *i, const char *id); /* number of pods */

/* The image's layers below `images_layer_dir`, top first, with ':' between them. The caller frees
 * the text. */
char *images_lower_dirs(const struct images *i, const char *id);
const char *images_layer_dir(const struct images *i);

/*
 * In the worker: mounts the root file system of one attempt at `dir`/root, with its writable layer
 * in `dir`/upper, and owners shifted so that uid 0 of the image is `uid_base` (userns.h).
 * Repeatable.
 */
struct image_root {
    const char *layer_dir;
    const char *lower_dirs;
    const char *dir;
    uint32_t uid_base;
};
struct err *image_root_mount(const struct image_root *r) MUST_CHECK;
/* Unmounts the root and removes `dir` with its contents, if it exists. */
struct err *image_root_remove(const char *dir) MUST_CHECK;
