/*
 * sched_world.h - the control loops over a world, where the test plays the nodes
 *
 * With METE_TEST_CLUSTER=late in the environment the scheduler is over mem_cluster.h: all is late
 * by some turns of the loop, and nothing is lost. Such turns take no time, so that a test sees the
 * same at rest over both clusters.
 */
#pragma once

#include "control/control.h"
#include "mem_cluster.h"
#include "world.h"

struct sched_world {
    struct world w;
    struct control *control;
    struct cluster *cluster;           /* late; NULL: the store's own */
    struct mem_cluster_options faults; /* of a late cluster; {0}: the environment decides */
};

/* The late cluster that the environment asks for, or NULL. */
struct cluster *sched_world_cluster(struct world *w);

void sched_world_init(struct sched_world *s, uint64_t seed);
/* Also checks the ledger. */
void sched_world_done(struct sched_world *s);
/* Ends the server's process at once; only durable writes stay. */
void sched_world_stop(struct sched_world *s);
/* Starts another server process. */
void sched_world_start(struct sched_world *s);
void sched_world_restart(struct sched_world *s);
void sched_world_advance(struct sched_world *s, int64_t seconds);

/* Adds a ready node with `gpus` gpus. */
void sched_world_add_node(struct sched_world *s, const char *name, int gpus);
/* Creates an object of any kind: {.kind = "pods"}. Asserts success. */
void sched_world_create(struct sched_world *s, struct target t, const char *text);
/* A pod of one container, with 20 s of grace. */
struct pod_ask {
    const char *name;
    int gpus;
    const char *group;              /* of scheduler-plugins; NULL: none */
    const char *class;              /* NULL: none */
    const char *annotation;         /* "'key':'value'", or NULL */
    const struct kind_context *who; /* NULL: ann */
};
void sched_world_add_pod(struct sched_world *s, const struct pod_ask *a);
/* New reference, or NULL. */
json_t *sched_world_pod(struct sched_world *s, const char *name);
/* The pod's node; "": the pod waits; "gone": no such pod. The caller frees it. */
char *sched_world_node_of(struct sched_world *s, const char *name);
/* Asserts that the pod waits with this message. */
void sched_world_assert_waits(struct sched_world *s, const char *name, const char *message);
void sched_world_assert_on(struct sched_world *s, const char *name, const char *node);

/* Reports as the node: the containers run; the containers have ended; the containers of a deleted
 * pod have ended, so that the pod goes. */
void sched_world_run_pod(struct sched_world *s, const char *name);
void sched_world_end_pod(struct sched_world *s, const char *name, const char *phase);
void sched_world_finish_deletion(struct sched_world *s, const char *name);
