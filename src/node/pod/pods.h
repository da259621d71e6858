/*
 * pods.h - the pods of this node, from what the server says to containers and back
 *
 * A state machine over seams: the runtime, the client, the worker and the loop. Each event (an
 * object came, a container changed, a timer ran) ends in pod_step, which looks at all of a pod and
 * does what is due; it may be called at any time and any number of times.
 */
#pragma once

#include "client/client.h"
#include "model/gpu.h"
#include "node/host.h"
#include "node/image/images.h"
#include "node/pod/pinger.h"
#include "node/runtime/runtime.h"
#include "node/volume/disk_usage.h"
#include "node/volume/volume.h"
#include "node/worker.h"

struct pods;

#define NO_HOST_USER ((uid_t)-1)

/* What a pod needs from this machine before its first container; made in the worker. */
struct preparation {
    bool has_userns;
    uint32_t uid_base; /* uid 0 of its containers; 0 without a user namespace */
    char *dir;         /* DATA/node/pods/UID */
    char *hosts;       /* /etc/hosts of containers of images: after this machine's lines */
    uid_t *uids;       /* of its containers, in the order of `users`; NO_HOST_USER: of an image */
    struct host_user *users;
    size_t n_users;
    struct volumes volumes;
};

/* The images of this machine, as pods see them: images.h, or a fake. */
struct image_source {
    const struct image *(*find)(void *arg, const char *name);
    char *(*lower_dirs)(void *arg, const char *id); /* the caller frees it */
    const char *(*layer_dir)(void *arg);
    /* images_pull; what it returns is dead after `done`, and `forget` makes that silent. */
    void *(*pull)(void *arg, const struct image_pull *p);
    void (*forget)(void *pulling);
    void (*use)(void *arg, const char *id, const char *pod_uid);
    void (*unuse)(void *arg, const char *pod_uid);
    void *arg;
};

struct root;
struct stage;

struct pods_options {
    struct loop *loop;
    struct client *client;
    struct runtime *runtime;
    struct worker *worker;
    struct worker *disk_worker; /* for what takes long; NULL: no limits of disks */
    struct pinger *pinger;
    const char *node;   /* its name */
    const char *dir;    /* DATA/node */
    const char *rootfs; /* of the image `host` */
    const struct host_info *host;
    const char *gpusim_dir;            /* NULL: real gpus */
    const struct image_source *images; /* NULL: only the image `host` */
    bool is_shift_missing; /* the file system cannot shift owners: pods share IMAGE_UID_BASE */
    /* prepare.h; tests give another */
    struct err *(*prepare)(struct preparation *p);
    struct err *(*make_root)(struct root *r);
    struct err *(*measure)(const char *path, struct disk_usage *ret); /* disk_usage_measure */
    struct err *(*remove_root)(const char *dir);                      /* images.h */
    struct err *(*make_stage)(struct stage *s);                       /* stage.h */
    struct err *(*strike_stage)(const char *dir);
    struct err *(*make_words)(const char *path); /* last_words.h */
    char *(*read_words)(const char *path);
    struct err *(*update_volumes)(const struct volumes *v);
    const struct host_roots *host_roots; /* NULL: none */
    const char *mask_dir;                /* hidden from containers; NULL: nothing is */
    struct err *(*unprepare)(const char *const *dirs, size_t n);
    /* NULL: not on this machine. `*ret_known` is false while the gpus are not known yet. */
    const struct gpu *(*find_gpu)(void *arg, const char *uuid, bool *ret_known);
    int64_t (*uvm_major)(void *arg);
    void *arg;
};

struct pods *pods_new(const struct pods_options *o);
void pods_free(struct pods *p); /* containers go on */

/* Before its disk_worker is freed: it is given no more. Accepts NULL. */
void pods_end_disk(struct pods *p);

/* What was found on the machine, before anything else. */
void pods_adopt(struct pods *p, const struct runtime_container *found, size_t n);

/* The server's word, as the informer has it. */
void pods_put(struct pods *p, const json_t *object);
void pods_removed(struct pods *p, const json_t *object);
/* All of the server's pods were put: what else runs here is ended. */
void pods_synced(struct pods *p);

void pods_gpus_changed(struct pods *p);
void pods_images_changed(struct pods *p);

/* Calls `fn` whenever a container started or ended, until pods_unlisten with its `arg`. */
void pods_listen(struct pods *p, void (*fn)(void *arg), void *arg);
void pods_unlisten(struct pods *p, const void *arg);

/* For logs: the directory of a pod's logs, by uid; NULL: unknown. `*ret_attempt` is the newest
 * attempt of the container (-1: none), `*ret_is_live` whether it may still write. The caller frees
 * it. */
char *pods_log_dir(const struct pods *p, const char *uid, const char *container,
                   int64_t *ret_attempt, bool *ret_is_live);

/* Calls `fn` for each container that runs, with its log and the file of its last words. */
void pods_each_log(const struct pods *p,
                   void (*fn)(void *arg, const char *id, const char *log, const char *words),
                   void *arg);

/* The attempt whose end is the container's last one: before that which runs or ended, or which is
 * to come. -1: there was none. */
int64_t pods_log_previous(const struct pods *p, const char *uid, const char *container);

/* The runtime's id of the container's attempt that runs now; NULL: none does. The caller frees it.
 */
char *pods_running_id(const struct pods *p, const char *uid, const char *container);
/* Those of all its containers that run now; NULL-terminated, freed with names_free. */
char **pods_running_ids(const struct pods *p, const char *uid, size_t *ret_count);
