/*
 * images.h - the images of this machine: imported or pulled, unpacked once a layer by digest, and
 * stacked into root file systems
 *
 *   DATA/node/images/index.json    all that is known of them (image_index.h), replaced whole
 *   DATA/node/images/layers/ID/    the tree of a layer, files owned by IMAGE_UID_BASE + n
 *   DATA/node/images/work/UUID/    an import or pull under way, or what is being removed
 *
 * What comes from outside is read in an unprivileged, sandboxed child only (image_unpack_linux.c):
 * this process sees small JSON that the child made. All calls return at once; callbacks come from
 * the loop, never from inside a call. Killed at any moment, it is as if what was under way had
 * never begun, or as if it were done.
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
    IMAGE_FETCH_UID = IMAGE_UID_BASE - 1 /* who speaks to registries */
};

struct images_options {
    struct loop *loop;
    struct worker *worker;    /* of its own: removing a layer takes a while */
    const char *dir;          /* DATA/node/images */
    const char *self_path;    /* the program whose roles the children are */
    const char *architecture; /* "amd64" */
    const char *registries;   /* a registries.conf(5) for skopeo, used where it exists; or NULL */
    int64_t keep_pct_high; /* garbage collection begins when the file system is that full; 0: 85 */
    int64_t keep_pct_low;  /* and ends there; 0: 80 */
    void (*changed)(void *arg); /* the list changed; may be NULL */
    void *arg;
};

/* What an image says of itself; texts and lists may be absent. Borrowed until the list changes. */
struct image {
    const char *id;           /* "sha256:HEX" of its config */
    const json_t *names;      /* array of texts, "docker.io/library/x:1", with digest names */
    int64_t size_bytes;       /* of its layers, unpacked */
    const char *user;         /* "", "1000", "1000:1000", "name", "name:group" */
    const json_t *env;        /* array of "NAME=VALUE" */
    const json_t *entrypoint; /* array or NULL */
    const json_t *command;    /* array or NULL */
    const char *working_dir;
    const char *stop_signal;
    int64_t used_ns; /* realtime: when it came or was last used */
};

struct err *images_new(const struct images_options *o, struct images **ret) MUST_CHECK;
void images_free(struct images *i); /* accepts NULL; what is under way ends without its callbacks */

/* By name ("busybox", "busybox:1", "docker.io/library/busybox:latest", "NAME@sha256:..."), or id.
 * NULL: not here. */
const struct image *images_find(const struct images *i, const char *name);
/* The same, also by the first digits of an id if they are one image's only. */
const struct image *images_find_short(const struct images *i, const char *name);
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

struct image_pulling;

/*
 * By skopeo. Pulls of the same name by the same user join. A name that has not moved since the last
 * pull is not fetched again. `*ret` (may be NULL) is dead after `done`.
 */
void images_pull(struct images *i, const struct image_pull *p, struct image_pulling **ret);
void image_pull_forget(struct image_pulling *p); /* no callback after it; the pull goes on */

/* An archive (OCI or docker), plain or compressed, comes in pieces; an OCI layout directory comes
 * as a tar of it. `name` NULL: the archive says it. */
struct image_import;
struct image_import *images_import(struct images *i, const char *name,
                                   const struct image_pull *how);
void image_import_data(struct image_import *m, struct str piece);
size_t image_import_backlog(const struct image_import *m); /* bytes not taken by the child yet */
/* `fn` is called whenever the child took some. */
void image_import_on_drain(struct image_import *m, loop_fn fn, void *arg);
void image_import_end(struct image_import *m);    /* done follows */
void image_import_cancel(struct image_import *m); /* no callback after it */

/*
 * Takes a name away, and with the last one (or by id) the image. ERR_CONFLICT while a container
 * uses it, ERR_NOT_FOUND.
 */
void images_remove(struct images *i, const char *name, image_done_fn done, void *arg);

/* What is removed: images without a name that nothing uses, or all that nothing uses. */
typedef void (*image_gc_fn)(void *arg, const struct err *e, size_t n_images, int64_t bytes);
void images_gc(struct images *i, bool is_all, image_gc_fn done, void *arg);
/* From here on garbage is collected when the disk fills: who uses what is known. */
void images_settled(struct images *i);

/* Keeps the image of a pod while it is there. `pod_uid` may be given often. */
void images_use(struct images *i, const char *id, const char *pod_uid);
void images_unuse(struct images *i, const char *pod_uid);
size_t images_uses(const struct images *i, const char *id); /* by how many pods */

/* The layers of an image below `images_layer_dir`, top first, with ':' between them. The caller
 * frees it. */
char *images_lower_dirs(const struct images *i, const char *id);
const char *images_layer_dir(const struct images *i);

/*
 * In the worker: mounts the root file system of one attempt at `dir`/root (what it writes goes to
 * `dir`/upper), its owners shifted so that uid 0 of the image is `uid_base` (userns.h). Repeatable.
 */
struct image_root {
    const char *layer_dir;
    const char *lower_dirs;
    const char *dir;
    uint32_t uid_base;
};
struct err *image_root_mount(const struct image_root *r) MUST_CHECK;
/* Unmounts it, and removes `dir` with all in it. None there is fine. */
struct err *image_root_remove(const char *dir) MUST_CHECK;
