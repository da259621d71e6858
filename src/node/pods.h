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
#include "node/pinger.h"
#include "node/images.h"
#include "node/runtime.h"
#include "node/volume.h"
#include "node/worker.h"

struct pods;

/* What a pod needs from this machine before its first container; made in the worker. */
struct preparation {
    uid_t *uids; /* of its containers, in the order of `users` */
    struct host_user *users;
    size_t n_users;
    struct volumes volumes;
    char **targets; /* where volumes are to be mounted */
    size_t n_targets;
};

struct pods_options {
    struct loop *loop;
    struct client *client;
    struct runtime *runtime;
    struct worker *worker;
    struct pinger *pinger;
    const char *node;   /* its name */
    const char *dir;    /* DATA/node */
    const char *rootfs; /* of the image `host` */
    const struct host_info *host;
    const char *gpusim_dir; /* NULL: real gpus */
    /* prepare.h; tests give another */
    struct err *(*prepare)(struct preparation *p);
    struct err *(*unprepare)(const char *const *dirs, size_t n);
    /* NULL: not on this machine. `*ret_known` is false while the gpus are not known yet. */
    const struct gpu *(*find_gpu)(void *arg, const char *uuid, bool *ret_known);
    int64_t (*uvm_major)(void *arg);
    void *arg;
};

struct pods *pods_new(const struct pods_options *o);
void pods_free(struct pods *p); /* containers go on */

/* What was found on the machine, before anything else. */
void pods_adopt(struct pods *p, const struct runtime_container *found, size_t n);

/* The server's word, as the informer has it. */
void pods_put(struct pods *p, const json_t *object);
void pods_removed(struct pods *p, const json_t *object);
/* All of the server's pods were put: what else runs here is ended. */
void pods_synced(struct pods *p);

void pods_gpus_changed(struct pods *p);

/* Calls `fn` whenever a container started or ended; NULL: no more. */
void pods_listen(struct pods *p, void (*fn)(void *arg), void *arg);

/* For logs: the directory of a pod's logs, by uid; NULL: unknown. `*ret_attempt` is the newest
 * attempt of the container (-1: none), `*ret_is_live` whether it may still write. The caller frees
 * it. */
char *pods_log_dir(const struct pods *p, const char *uid, const char *container,
                   int64_t *ret_attempt, bool *ret_is_live);
