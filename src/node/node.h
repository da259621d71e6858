/*
 * node.h - the hands: one machine's pods, from what the server says to containers and back
 *
 * A client of the API (informer on its own pods, status patches, heartbeats) and of the reverse
 * stream. Logic takes seams: struct runtime (runtime.h: crun under conmon, or a fake), struct
 * gpu_watch, struct client, struct loop.
 */
#pragma once

#include "base/loop.h"
#include "client/client.h"
#include "gpu/gpu_watch.h"
#include "model/host_roots.h"

struct node;

struct node_options {
    struct loop *loop;
    struct client *client;
    struct gpu_watch *gpus; /* NULL: none */
    const char *name;       /* of the node */
    const char *dir;        /* DATA/node */
    const char *mask_dir;   /* DATA: hidden from `host` containers */
    const char *gpusim_dir; /* emulated gpus: holds libnvidia-ml.so.1, nvidia-smi, profile.yaml;
                               NULL otherwise */
    const char *runtime;    /* "auto", "crun" or "runc"; NULL: auto */
    const char *self_path;  /* the program whose roles its children are */
    int64_t heartbeat_ns;   /* 0: 10 s */
    int64_t log_max_bytes;  /* of a container's log before it is cut (rotation.h); 0: 10 MiB */
    size_t log_max_files;   /* that are kept of it; 0: 5 */
    const struct host_roots *host_roots; /* where hostPaths may be, whoever asks; NULL: nowhere */
};

/* Finds and adopts what runs, then begins. */
struct err *node_new(const struct node_options *o, struct node **ret) MUST_CHECK;
void node_free(struct node *n); /* containers go on */
void node_gpus_changed(struct node *n);
