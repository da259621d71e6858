/* scheduler_private.h - the parts of the scheduler */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "control/scheduler.h"
#include "kinds/pod_view.h"

/* One container's share of the pod's gpus, as the ledger wants it. */
struct sched_container {
    char *name;
    uint32_t gpus;
    bool is_init; /* shares the gpus of the others */
};

struct sched_pod {
    struct map_handle handle; /* by key */
    struct map_handle by_id;
    struct sched_pod *prev; /* among those that wait to be told why */
    struct sched_pod *next;
    char *key; /* "ns/name" */
    char *ns;
    char *name;
    char *uid;
    char *user;
    uint64_t id; /* in the engine; 0: not there */
    int64_t job_id;
    uint64_t asks;  /* a hash of what it asks for */
    bool is_placed; /* by a decision, or bound */
    bool is_bound;  /* the object says so */
    char *node;     /* where it is placed, and with which gpus */
    VEC(char *) gpus;
    VEC(struct sched_container) containers;

    bool is_listed; /* in one of the two lists below */
    bool is_told;
    enum mete_reason_code told_code; /* NONE: not known, from before a restart */
    char *told;
    int64_t told_ns; /* monotonic */
};

struct sched_node {
    struct map_handle handle;
    char *name;
    json_t *facts;   /* what the engine was told */
    bool is_refused; /* by the engine: tried again when another node goes */
};

/* A gpu that the ledger says is held. */
struct sched_held {
    struct map_handle handle;
    char *uuid;
    char *pod; /* "ns/name" */
    char *pod_uid;
    char *node;
    uint64_t
        stand_in; /* a workload that holds it in the engine for one that is not there; 0: none */
};

struct sched_port {
    struct map_handle handle;
    char *resource; /* "hostport/TCP/8080" */
};

struct scheduler {
    struct scheduler_options options;
    struct mete_engine *engine;
    struct cluster_watch *nodes_watch;
    struct cluster_watch *pods_watch;
    struct cluster_watch *ledger_watch;
    struct loop_timer *cycle_timer;
    struct loop_timer *retry_timer;
    struct loop_timer *tell_timer;
    bool is_poked;
    bool is_held;
    int64_t retry_ns; /* the next delay after a failed bind */

    struct sched_node *nodes;
    struct sched_pod *pods;
    struct sched_pod *pods_by_id;
    struct sched_held *held;
    struct sched_port *ports;
    uint64_t next_unnamed;

    struct sched_pod *untold; /* wait, and were never told why */
    struct sched_pod *told;   /* wait, the ones told or looked at longest ago first */
    int64_t tell_tokens;
    int64_t tell_refill_ns; /* monotonic */
    size_t n_told;
    size_t to_look_at;  /* of `told`, since something changed */
    bool has_postponed; /* some have a new message that comes too soon */
};

/* Runs a cycle once the loop has delivered what it has. */
void scheduler_poke(struct scheduler *s);

/* scheduler_nodes.c */
void scheduler_put_node(void *arg, const char *ns, const char *name, const json_t *node);
void scheduler_remove_node(void *arg, const char *ns, const char *name, const json_t *last);
/* Host ports are things of which each node has one. */
void scheduler_add_port(struct scheduler *s, const char *resource);
void sched_node_free(struct scheduler *s, struct sched_node *n);

/* scheduler_pods.c */
void scheduler_put_pod(void *arg, const char *ns, const char *name, const json_t *pod);
void scheduler_remove_pod(void *arg, const char *ns, const char *name, const json_t *last);
struct sched_pod *scheduler_find_pod(const struct scheduler *s, const char *key);
struct sched_pod *scheduler_find_id(const struct scheduler *s, uint64_t id);
void sched_pod_free(struct scheduler *s, struct sched_pod *p);
/* Where it is in the engine. `gpus` are copied. */
void sched_pod_place(struct sched_pod *p, const char *node, const char *const *gpus, size_t n_gpus);
/* It is there no more: the ledger's word counts for the gpus that it had. */
void sched_pod_unplace(struct scheduler *s, struct sched_pod *p);

/* scheduler_held.c */
void scheduler_put_held(void *arg, const char *ns, const char *name, const json_t *entry);
void scheduler_remove_held(void *arg, const char *ns, const char *name, const json_t *last);
/* The pod takes these over, or has just let go of them. */
void scheduler_drop_stand_in(struct scheduler *s, const char *uuid);
void scheduler_check_held(struct scheduler *s, const char *uuid);
void sched_held_free(struct scheduler *s, struct sched_held *h);

/* scheduler_ask.c: a pod's tree as what the engine takes, in an arena. */
struct arena;
struct sched_ask {
    struct mete_pod_set set;
    struct mete_workload workload; /* but for its id */
};
void scheduler_ask(struct arena *a, const json_t *pod, struct sched_ask *ret);
uint64_t scheduler_ask_hash(const json_t *pod);
/* Containers and their gpus. */
void scheduler_read_containers(struct sched_pod *p, const json_t *pod);

/* scheduler_tell.c */
void scheduler_tell_later(struct scheduler *s); /* the state of the engine has changed */
void scheduler_list_waiting(struct scheduler *s, struct sched_pod *p);
void scheduler_unlist(struct scheduler *s, struct sched_pod *p);
void scheduler_on_tell(void *arg); /* a bounded part; comes back by its timer */
