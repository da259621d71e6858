/*
 * node.h - the node agent: runs the pods that the server binds to this machine, and reports on them
 *
 * A client of the API (informers on its own Node and pods, status patches, a Lease) and of the
 * reverse stream. The node writes its Node object when it differs from the machine, and every 5
 * min. The logic uses seams: struct runtime (runtime.h: crun under conmon, or a fake), struct
 * gpu_watch, struct client, struct loop.
 */
#pragma once

#include "base/loop.h"
#include "client/client.h"
#include "gpu/gpu_task.h"
#include "gpu/gpu_watch.h"
#include "gpu/mps_watch.h"
#include "gpu/partition_run.h"
#include "gpu/share_watch.h"
#include "gpu/sharing_config.h"
#include "model/host_roots.h"
#include "model/ip4.h"

struct node;

struct node_options {
    struct loop *loop;
    struct client *client;
    struct gpu_watch *gpus;        /* NULL: none */
    struct gpu_tasks *gpu_tasks;   /* checks gpus; NULL: nobody does */
    const char *xids_file;         /* changes of the XID table; need not exist */
    struct mps_watch *mps;         /* starts MPS daemons; NULL: nobody does */
    struct share_watch *shares;    /* measures capped shares; NULL: nobody does */
    const char *share_library_dir; /* with the share library; NULL: no capped shares */
    const char *name;              /* of the node */
    const char *dir;               /* DATA/node */
    const char *mask_dir;          /* DATA: hidden from containers of the image `host` */
    bool has_emulated_gpus;
    bool is_fenced;             /* without its lease, ends its pods (kinds/node_lease.h) */
    struct ip4_net pod_network; /* each pod gets an address; {0}: pods use the machine's network */
    struct ip4_net service_network;
    const char *api_host; /* of the API, for pods without a pod network; NULL: not known */
    unsigned api_port;
    int64_t cpus;          /* that the node offers; 0: those of the machine */
    const char *cdi_file;  /* to be kept up to date; NULL: none */
    const char *runtime;   /* "auto", "crun" or "runc"; NULL: auto */
    const char *self_path; /* the program that children run, in other roles */
    int64_t log_max_bytes; /* size at which a container's log is rotated (rotation.h); 0: 10 MiB */
    size_t log_max_files;  /* files kept of one log; 0: 5 */
    struct partition_run *partition_run;  /* changes MIG instances; NULL: nobody does */
    const struct sharing_config *sharing; /* from the configuration file; NULL: none */
    const json_t *parted;                 /* mig-parted file; NULL: none */
    const struct host_roots *host_roots;  /* hostPath directories of all users; NULL: none */
    void (*on_ready)(void *arg); /* once, after the first acknowledged report; NULL: not called */
    void *arg;
};

/* Adopts the containers that run on this machine, then starts the agent. */
struct err *node_new(const struct node_options *o, struct node **ret) MUST_CHECK;
void node_free(struct node *n); /* containers keep running */
/* A pod of a Slurm job of this uid that is not over, "ns/name"; NULL: none. The caller frees it. */
char *node_slurm_of(const struct node *n, uint32_t uid);
void node_gpus_changed(struct node *n);
void node_gpus_sampled(struct node *n); /* gpu_watch_options.on_round */
