/*
 * pods.h - the pods of this node: turns the server's pods into containers, and reports their status
 *
 * A state machine over seams: the runtime, the client, the worker and the loop. Each event (an
 * object came, a container changed, a timer ran) calls pod_step, which looks at the whole pod and
 * does what is due. pod_step may be called at any time, any number of times.
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

/* The things that a pod needs before its first container, made in the worker. */
struct preparation {
    bool has_userns;
    uint32_t uid_base;   /* host id of the containers' uid 0; 0: no user namespace */
    char *dir;           /* DATA/node/pods/UID */
    bool has_no_dir;     /* a host process without volumes keeps nothing there */
    char *hosts;         /* for /etc/hosts of containers of images, after this machine's lines */
    char *address;       /* of the pod; NULL: it uses the machine's network */
    char *hostname;      /* NULL: the machine's */
    char *resolv;        /* its resolv.conf */
    bool is_resolv_more; /* comes after the machine's lines */
    uid_t *uids; /* of the containers, parallel to `users`; NO_HOST_USER: a container of an image */
    struct host_user *users;
    size_t n_users;
    struct volumes volumes;
};

/* The image store as pods use it: images.h, or a fake. */
struct image_source {
    const struct image *(*find)(void *arg, const char *name);
    char *(*lower_dirs)(void *arg, const char *id); /* the caller frees it */
    const char *(*layer_dir)(void *arg);
    /* As images_pull. The result is dead after `done`; `forget` prevents `done`. */
    void *(*pull)(void *arg, const struct image_pull *p);
    void (*forget)(void *pulling);
    void (*use)(void *arg, const char *id, const char *pod_uid);
    void (*unuse)(void *arg, const char *pod_uid);
    void *arg;
};

struct cdi_request;
struct driver_root;
struct host_driver;
struct root;
struct gpu_news;
struct mps_watch;
struct net_services;
struct pod_nets;
struct share_files;
struct share_over;
struct stage;

struct pods_options {
    struct loop *loop;
    struct client *client;
    struct runtime *runtime;
    struct worker *worker;
    struct worker *disk_worker; /* for disk measurements; NULL: no disk limits */
    struct pinger *pinger;
    struct pod_nets *nets;               /* NULL: all pods use the machine's network */
    const struct net_services *services; /* variables of pods with a network of their own */
    const char *dns_server;              /* of these pods */
    const char *api_host; /* where containers of images find the API; NULL: unknown */
    unsigned api_port;
    const char *node;   /* the node's name */
    const char *dir;    /* DATA/node */
    const char *rootfs; /* of the image `host` */
    const struct host_info *host;
    const struct image_source *images; /* NULL: only the image `host` */
    bool is_shift_missing;             /* no idmapped mounts: pods share IMAGE_UID_BASE */
    /* prepare.h; tests use others, also of the following */
    struct err *(*prepare)(struct preparation *p);
    struct err *(*make_root)(struct root *r);
    struct err *(*measure)(const char *path, struct disk_usage *ret); /* disk_usage_measure */
    struct err *(*remove_root)(const char *dir);                      /* images.h */
    struct err *(*make_points)(struct host_driver *h);                /* host_driver.h */
    struct err *(*read_cdi)(struct cdi_request *r);                   /* cdi_file.h */
    struct err *(*make_stage)(struct stage *s);                       /* stage.h */
    struct err *(*strike_stage)(const char *dir);
    struct err *(*strike_driver)(const char *root_dir); /* driver_tree.h */
    struct err *(*make_words)(const char *path);        /* last_words.h */
    char *(*read_words)(const char *path);
    struct err *(*update_volumes)(const struct volumes *v);
    const struct host_roots *host_roots; /* NULL: none */
    const char *mask_dir;                /* hidden from containers; NULL: none */
    struct err *(*unprepare)(const char *const *dirs, size_t n);
    /* NULL: no such gpu on this machine. `*ret_known` is false until the gpus are known. */
    const struct gpu *(*find_gpu)(void *arg, const char *uuid, bool *ret_known);
    /* Was the gpu (or the gpu of a slice) read since then (monotonic)? NULL: gpus are not read. */
    bool (*is_gpu_read)(void *arg, const char *uuid, int64_t since_ns);
    /* Does the server know the gpus' health as this node knows it? NULL: yes. */
    bool (*is_health_told)(void *arg);
    /* NULL: the driver's files are not known yet. */
    const struct driver_root *(*find_driver)(void *arg);
    struct mps_watch *mps;         /* NULL: no replicas by MPS on this node */
    const char *share_library_dir; /* NULL: no capped shares on this node */
    struct err *(*make_share)(const struct share_files *f); /* share_files.h */
    /* The pods with capped shares, as share_watch_set takes them. Takes `list`. */
    void (*on_shares)(void *arg, json_t *list);
    const json_t *(*find_labels)(void *arg); /* of the Node; NULL, and of an unknown Node: none */
    void *arg;
};

struct pods *pods_new(const struct pods_options *o);
void pods_free(struct pods *p); /* containers keep running */

/* Ends a pod that went around its share, as a pod over its disk limit ends. */
void pods_end_over_share(struct pods *set, const struct share_over *over);

/* Gives no more work to disk_worker; to be called before that is freed. Accepts NULL. */
void pods_end_disk(struct pods *p);

/* Adopts the containers found on the machine; called first. */
void pods_adopt(struct pods *p, const struct runtime_container *found, size_t n);

/* A pod of the server, from the informer, is new or changed; or was removed. */
void pods_put(struct pods *p, const json_t *object);
void pods_removed(struct pods *p, const json_t *object);
/* All pods of the server were put: ends all other pods on the machine. */
void pods_synced(struct pods *p);

void pods_gpus_changed(struct pods *p);
/* Does any pod, not known as ended by the server, hold a part of the gpu? */
bool pods_hold_gpu(const struct pods *p, const char *uuid);
/* Sends an Event about a gpu: of the node, and of each running pod that holds a part of the gpu. */
void pods_tell_gpu(const struct pods *p, const struct gpu_news *news);
/* A daemon is ready (`problem` NULL), or ended as `problem` says. */
void pods_mps_changed(struct pods *p, const char *gpu, const char *ns, const char *problem);
void pods_images_changed(struct pods *p);
/* The network of a pod is ready, failed or gone. */
void pods_network_changed(struct pods *p, const char *uid);
/* Other rules of Services hold. */
void pods_rules_changed(struct pods *p);
/* The path of the pod's network namespace; NULL: the machine's, or unknown pod. The caller frees
 * it.
 */
char *pods_netns(const struct pods *p, const char *uid);

/* Calls `fn` for each device, in its text form (model/device.h), of each pod ("ns/name") that the
 * server does not know as ended. */
void pods_each_device(const struct pods *p,
                      void (*fn)(void *arg, const char *pod, const char *device), void *arg);

/* Calls `fn` whenever a container starts or ends, until pods_unlisten with the same `arg`. */
void pods_listen(struct pods *p, void (*fn)(void *arg), void *arg);
void pods_unlisten(struct pods *p, const void *arg);

/*
 * The directory of a pod's logs, by uid; NULL: unknown pod. `*ret_attempt` is the newest attempt of
 * the container (-1: none); `*ret_is_live`: the attempt may still write. The caller frees the path.
 */
char *pods_log_dir(const struct pods *p, const char *uid, const char *container,
                   int64_t *ret_attempt, bool *ret_is_live);

/* For a pod whose output is in a file of its user: that file's path. NULL: its output is in its
 * log, or unknown pod. The caller frees it. */
char *pods_output_path(const struct pods *p, const char *uid);
const char *pods_node(const struct pods *p);

/* A pod of a Slurm job of this uid that is not over, "ns/name"; NULL: none. The caller frees it. */
char *pods_slurm_of(const struct pods *p, uint32_t uid);

/* Calls `fn` for each running container, with the paths of its log and termination message. */
void pods_each_log(const struct pods *p,
                   void (*fn)(void *arg, const char *id, const char *log, const char *words),
                   void *arg);

/* The attempt before the container's present one, for `kubectl logs --previous`; -1: none. */
int64_t pods_log_previous(const struct pods *p, const char *uid, const char *container);

/* The runtime's id of the container's running attempt; NULL: none. The caller frees it. */
char *pods_running_id(const struct pods *p, const char *uid, const char *container);
/* The ids of all running attempts of the pod; NULL-terminated, freed with names_free. */
char **pods_running_ids(const struct pods *p, const char *uid, size_t *ret_count);
