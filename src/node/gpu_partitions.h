/*
 * gpu_partitions.h - makes the MIG instances of this node's gpus those that are wanted
 *
 * A gpu whose instances have to change is first reported as out of service. When the server's Node
 * says so, the node asks once more which pods are bound here: a pod that got the gpu meanwhile
 * keeps it. Then the wish is written to disk, a helper carries out the plan (gpu/partition.h), and
 * the next list of the driver shows the result. After a crash at any step the node makes a new plan
 * from what the driver has: for the present wish, or without one for the wish on disk, so that no
 * gpu stays half divided. Slices of a flexible gpu are created for pods that hold them already:
 * that needs no report.
 */
#pragma once

#include "base/loop.h"
#include "client/client.h"
#include "gpu/partition.h"

struct gpu_partitions;

/* The driver as changes need it: gpu_watch and partition_run, or a fake. */
struct partition_driver {
    /* As partition_run_start. */
    struct err *(*start)(void *self, const char *uuid, const struct partition_plan *plan,
                         void (*done)(void *arg, const struct err *e), void *arg);
    /* The number of lists of gpus that have come so far. */
    uint64_t (*list_number)(void *self);
    void *self;
};

/* The holders of gpus, if the server's pods do not name them: on a cluster the kubelet does. */
struct partition_holders {
    /* Does a gpu that is out of service get no new pods by now? */
    bool (*is_announced)(void *self, const char *uuid);
    /* Finds the devices that pods hold; `done` is called once, later, and not after the free. */
    void (*ask)(void *self,
                void (*done)(void *arg, const struct err *e, const struct gpu_holding *list,
                             size_t n),
                void *arg);
    void *self;
};

struct gpu_partitions_options {
    struct loop *loop;
    struct client *client; /* this and `node` (its name): without `holders` */
    const char *node;
    struct partition_holders holders; /* {0}: the server's pods */
    const char *dir;                  /* for the wishes on disk; made if missing */
    struct partition_driver driver;
    void (*changed)(void *arg); /* the state of a gpu has changed */
    void *arg;
};

struct err *gpu_partitions_new(const struct gpu_partitions_options *o,
                               struct gpu_partitions **ret) MUST_CHECK;
void gpu_partitions_free(struct gpu_partitions *p); /* accepts NULL */

enum gpu_partition_state {
    GPU_PARTITION_DONE,    /* as wanted */
    GPU_PARTITION_PENDING, /* under way */
    GPU_PARTITION_BLOCKED, /* a holder is in the way, and has to end */
    GPU_PARTITION_FAILED
};

/*
 * Plans for one gpu, as the driver lists it and with its mode set. Sets `mode_problem` if the gpu
 * is not as wanted, and the health of a gpu whose instances are being changed.
 */
enum gpu_partition_state gpu_partitions_apply(struct gpu_partitions *p, const struct gpu_wish *w,
                                              const struct gpu_holding *holdings, size_t n,
                                              struct gpu *g);

/* Starts what may start. `node`: the Node as the server has it; NULL: not known. */
void gpu_partitions_advance(struct gpu_partitions *p, const json_t *node);
