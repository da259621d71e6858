/* scheduler_private.h - the parts of the scheduler */
#pragma once

#include "base/map.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "control/queue/queue_tree.h"
#include "control/queue/reservations.h"
#include "control/scheduler/scheduler.h"
#include "control/writes.h"
#include "kinds/gang.h"
#include "kinds/pod/pod_view.h"
#include "kinds/scheduler_names.h"

#define GROUP_STATUS_NS (INT64_C(200) * NS_PER_MS)

/* One container's share of the pod's gpus, as the ledger wants it. */
struct sched_container {
    char *name;
    uint32_t gpus;
    bool is_init; /* shares the gpus of the others */
};

struct arena;
struct sched_ask;

/* Why a pod waits that the engine has not heard of. */
struct sched_wait {
    const char *code; /* "WaitingForGang"; NULL: it does not */
    const char *class_text;
    char *message;
    int64_t since_ns; /* realtime */
};

struct sched_pod {
    struct map_handle handle; /* by key */
    struct sched_pod *prev;   /* among those that wait to be told why */
    struct sched_pod *next;
    char *key; /* "ns/name" */
    char *ns;
    char *name;
    char *uid;
    char *user;
    struct sched_work *work; /* in the engine; NULL: not there */
    uint32_t set;            /* of its workload, and its number in it */
    uint32_t index;
    int64_t job_id;
    int64_t submit_ns;
    uint64_t asks;   /* a hash of what it asks for */
    uint64_t labels; /* the same of its labels */
    char *queue;
    enum mete_hold hold;   /* as its annotation says: of its user or an administrator */
    char *gates;           /* that hold it, as text; NULL: none */
    int64_t not_before_ns; /* realtime; 0: now */
    json_t *tree;          /* while it is looked at, and of members of gangs always */
    struct sched_wait wait;
    struct sched_group *group; /* that starts its first pods together; NULL: none */
    bool is_candidate;         /* waits in its group */
    bool is_chosen;            /* for its gang */
    bool is_needed;            /* is there, and one of the least that its group needs */
    bool has_succeeded;        /* and counts in its group */
    bool has_failed;
    bool is_running;
    bool is_deleting;
    bool is_evicted; /* marked for deletion, for another */
    bool is_placed;  /* by a decision, or bound */
    bool is_bound;   /* the object says so */
    char *node;      /* where it is placed, and with which gpus */
    VEC(char *) gpus;
    VEC(struct sched_container) containers;

    bool is_listed; /* in one of the two lists below */
    bool is_told;
    const char *told_code; /* static; NULL: not known, from before a restart */
    char *told;
    int64_t told_ns; /* monotonic */
};

/* What the engine has as one: a pod by itself, or the pods of a gang that start together. */
struct sched_work {
    struct map_handle handle; /* by id */
    struct map_handle by_key; /* of a placed gang */
    uint64_t id;
    char *key; /* "ns/name" */
    char *ns;
    char *name; /* of its placement: the pod's, or a gang's: "volcano:train:0b5e7a21" */
    bool is_gang;
    bool is_keyed;
    bool is_placed;  /* in the engine: by a decision, or bound */
    bool is_leaving; /* evicted: it is held until the last of its pods is gone */
    bool is_going;   /* the same, by the server that was here before */
    bool is_extra;   /* its pod is beyond what its group needs at least */
    bool is_shrunk;  /* pods have left that the engine is still to be told of */
    bool is_dear;    /* a disruption budget forbids its end: it goes only where nobody else can */
    int64_t gone_ns; /* realtime: when its grace is over, where it is going */
    char *evicted_because; /* of one that has to go; NULL: none does */
    bool has_priority;
    int32_t priority;       /* of the gang itself */
    int32_t asked_priority; /* as the engine was told when it was queued or placed */
    char *topology;         /* its domains, when it was made */
    int64_t started_ns;     /* 0: not known */
    enum mete_hold hold;    /* as the engine was told */
    char *hold_text;
    VEC(struct sched_pod *) pods; /* those that are still there */
};

/* Pods that name the same group; scheduler_groups.c. */
struct sched_group {
    struct map_handle handle; /* by key */
    struct sched_group *prev; /* among those that have changed */
    struct sched_group *next;
    char *key; /* "ns/volcano:train" */
    char *ns;
    char *name;          /* begins that of a gang's placement: "volcano:train" */
    char *object;        /* "2/ns/train": its definition's key */
    char *other_object;  /* the key of a native PodGroup that may stand for it; NULL: none may */
    struct gang_ref ref; /* texts of its own */
    char *ref_name;
    char *ref_part;
    bool is_changed;
    bool is_status_old;
    VEC(struct sched_pod *) pods;
};

struct sched_door {
    struct scheduler *s;
    enum gang_door door;
};

/* The object that says when a group may start. */
struct sched_definition {
    struct map_handle handle;
    char *key; /* "2/ns/train": of its door */
    enum gang_door door;
    json_t *tree;
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
    struct loop_timer *tick_timer;
    struct loop_timer *shrink_timer;
    struct loop_timer *load_timer;
    struct loop_timer *start_timer; /* for those that are not to start before a time: */
    int64_t start_ns;               /* realtime; 0: not set */
    struct queue_tree *queues;
    struct reservations *reservations;
    struct writes *writes;
    struct scheduler_names names; /* that pods are placed of */
    char *names_text;
    bool is_poked;
    bool is_held;
    int64_t retry_ns; /* the next delay after a failed bind */

    struct sched_node *nodes;
    struct sched_pod *pods;
    struct sched_work *works;
    struct sched_work *gangs; /* placed ones, by key */
    struct sched_group *groups;
    struct sched_group *changed_groups;
    struct sched_definition *definitions;
    struct sched_door doors[GANG_DOORS];
    struct cluster_watch *group_watches[GANG_DOORS];
    struct loop_timer *status_timer;
    bool has_shrunk;
    bool has_unevicted; /* of some that have to go not all pods were marked */
    bool is_loading;    /* pods are being read: gangs are told, and cycles run, afterwards */
    struct sched_held *held;
    struct sched_port *ports;
    uint64_t next_unnamed;
    char *why_text; /* the message of the last reason, where it is not the engine's */

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
/* A placement whose texts and lists are all in the arena. */
void sched_placement_copy(struct arena *a, const struct mete_placement *from,
                          struct mete_placement *ret);

/* scheduler_nodes.c */
void scheduler_put_node(void *arg, const char *ns, const char *name, const json_t *node);
void scheduler_remove_node(void *arg, const char *ns, const char *name, const json_t *last);
/* Host ports are things of which each node has one. */
void scheduler_add_port(struct scheduler *s, const char *resource);
void sched_node_free(struct scheduler *s, struct sched_node *n);
/* A new one like it, in the arena; false: there is none of that name. */
bool scheduler_describe_node(struct arena *a, const struct scheduler *s, const char *name,
                             struct mete_node *ret);

/* scheduler_pods.c */
void scheduler_put_pod(void *arg, const char *ns, const char *name, const json_t *pod);
void scheduler_remove_pod(void *arg, const char *ns, const char *name, const json_t *last);
struct sched_pod *scheduler_find_pod(const struct scheduler *s, const char *key);
void sched_pod_free(struct scheduler *s, struct sched_pod *p);
/* Where it is in the engine. `gpus` are copied. */
void sched_pod_place(struct sched_pod *p, const char *node, const char *const *gpus, size_t n_gpus);
/* It is there no more: the ledger's word counts for the gpus that it had. */
void sched_pod_unplace(struct scheduler *s, struct sched_pod *p);
/* Why it waits, where the engine does not know of it; `message` is taken, NULL: it does not wait.
 */
void sched_pod_wait(struct scheduler *s, struct sched_pod *p, const char *code,
                    const char *class_text, const char *message);
/* Queues it as a workload of its own; `is_extra`: beyond what its group needs. */
void sched_pod_queue(struct scheduler *s, struct sched_pod *p, bool is_extra);

/* scheduler_work.c */
struct sched_work_name {
    const char *ns;
    const char *name;
    bool is_gang;
    bool is_extra;
    bool has_priority;
    int32_t priority;
};
/* The pods' trees are there, and none is in a workload. */
struct sched_work *sched_work_new(struct scheduler *s, const struct sched_work_name *name,
                                  struct sched_pod *const *pods, size_t n);
/* Into the engine: in the queue, or where its pods are. False: the engine refuses, and it is freed.
 */
bool sched_work_wait(struct scheduler *s, struct sched_work *w);
bool sched_work_restore(struct scheduler *s, struct sched_work *w);
/* A decision says so. */
void sched_work_placed(struct scheduler *s, struct sched_work *w);
/* Its binding failed: it waits again. */
void sched_work_unplaced(struct scheduler *s, struct sched_work *w);
/* The engine is told of it anew: something about it is otherwise. */
void sched_work_again(struct scheduler *s, struct sched_work *w);
/* A bound pod of a gang that is there. */
void sched_work_grow(struct scheduler *s, struct sched_work *w, struct sched_pod *p);
/* The pod is out of it, and of the engine. A gang that waits does so no more. */
void sched_work_leave(struct scheduler *s, struct sched_pod *p);
/* The engine is told now what has left large gangs: before what somebody else has put elsewhere. */
void scheduler_tell_shrunk(void *scheduler);
/* Out of the engine with all its pods, and freed. */
void sched_work_end(struct scheduler *s, struct sched_work *w);
struct sched_work *scheduler_find_work(const struct scheduler *s, uint64_t id);
struct sched_work *scheduler_find_gang(const struct scheduler *s, const char *ns, const char *name);
/* All pods have been read: the gangs among them are complete. */
void sched_works_loaded(struct scheduler *s);
void sched_works_free(struct scheduler *s);
bool sched_name_is_gang(const char *placement); /* "volcano:train:0b5e7a21" */

/* scheduler_evict.c */
struct sched_eviction {
    uint64_t id; /* of the workload that goes; 0: none */
    uint64_t by;
    bool is_off; /* not all that were chosen with it may go */
    const char *message;
};
/* As many as the decisions have; texts in the arena. */
void scheduler_read_evictions(const struct scheduler *s, struct arena *a,
                              const struct mete_decisions *d, struct sched_eviction *ret);
void scheduler_evict(struct scheduler *s, struct sched_eviction *list, size_t n);
/* It goes as another of its group does, where no disruption budget forbids it. */
void scheduler_evict_with(struct scheduler *s, struct sched_work *w, const char *because);
/* Those that could not be written, and the rest of gangs that a server before this had begun with.
 */
void scheduler_finish_evictions(struct scheduler *s);
/* Its tree may say that it was evicted before this server began. */
void sched_pod_note_eviction(struct scheduler *s, struct sched_pod *p, const json_t *pod);

/* scheduler_groups.c */
struct err *scheduler_watch_groups(struct scheduler *s) MUST_CHECK;
/* Its tree says of which group the pod is, if of any; it is there from here on. */
void scheduler_join_group(struct scheduler *s, struct sched_pod *p);
void scheduler_leave_group(struct scheduler *s, struct sched_pod *p);
/* Something about one of its pods is otherwise. */
void sched_group_changed(struct scheduler *s, struct sched_group *g);
/* Makes gangs of what has changed. */
void scheduler_settle_groups(struct scheduler *s);
void scheduler_groups_free(struct scheduler *s);
/* Fills in the priority that the group itself has, if any. */
void sched_group_read_priority(struct scheduler *s, const struct sched_group *g,
                               struct sched_work_name *name);
/* NULL: there is none. */
const struct sched_definition *sched_group_definition(const struct scheduler *s,
                                                      const struct sched_group *g);
/* False: there is no definition, or it has no such part. */
bool sched_group_read(const struct scheduler *s, const struct sched_group *g,
                      struct gang_rules *ret);
int sched_pod_compare(const struct sched_pod *a, const struct sched_pod *b); /* first come first */
const char *sched_pod_task(const struct sched_pod *p);                       /* or NULL */

/* scheduler_elastic.c */
/* May a group have pods beyond those that it needs? */
bool sched_rules_are_elastic(const struct gang_rules *rules);
/* Tells the engine of those that have a node which of them are beyond what the group needs. */
void sched_group_sort_extras(struct scheduler *s, struct sched_group *g,
                             const struct gang_rules *rules);
/* Where its gang is being ended for another, the rest of it goes too. */
void sched_group_end_rest(struct scheduler *s, struct sched_group *g);

/* scheduler_topology.c */
void sched_topology_of_group(const struct scheduler *s, struct arena *a,
                             const struct sched_group *g, struct mete_workload *ret);
/* Its own domains; where it waits and others of its group have their nodes, also their labels. */
void sched_topology_of_pod(const struct scheduler *s, struct arena *a, const struct sched_pod *p,
                           struct sched_ask *ask);
/* The domains of a group as a text, to see a change. The caller frees it. */
char *sched_topology_format(const struct gang_rules *rules);

/* scheduler_group_status.c */
void scheduler_on_group_status(void *arg);

/* An RFC 3339 time in ns; 0: none, or not one. */
int64_t sched_stamp(const char *text);
/* What failed is tried again after a while, longer each time. */
void sched_retry_later(struct scheduler *s);

/* scheduler_bind.c: a decision carried out, all of it or nothing. */
void scheduler_carry_out(struct scheduler *s, const struct mete_placement *placement);

/* scheduler_held.c */
void scheduler_put_held(void *arg, const char *ns, const char *name, const json_t *entry);
void scheduler_remove_held(void *arg, const char *ns, const char *name, const json_t *last);
/* The pod takes these over, or has just let go of them. */
void scheduler_drop_stand_in(struct scheduler *s, const char *uuid);
void scheduler_check_held(struct scheduler *s, const char *uuid);
void scheduler_check_all_held(struct scheduler *s);
void sched_held_free(struct scheduler *s, struct sched_held *h);

/* scheduler_queue.c */
/* What its tree says of its queue, and of what holds it there. */
void sched_pod_read_hold(struct sched_pod *p, const json_t *pod);
/* Tells the engine what holds it, where that is something else than before. */
void sched_work_hold(struct scheduler *s, struct sched_work *w);
/* The same for all that wait: whom queues let in has changed, or a time has come. */
void scheduler_look_at_holds(void *scheduler);

/* scheduler_ask.c: a pod's tree as what the engine takes, in an arena. */
struct sched_ask {
    struct mete_pod_set set;
    const char *podset; /* NULL: pods that ask for the same are of one set; else of this one */
    struct mete_workload workload; /* but for its id */
};
void scheduler_ask(const struct scheduler *s, struct arena *a, const json_t *pod,
                   struct sched_ask *ret);
/* Do we place it, and may we end it for another? */
bool scheduler_is_ours(const struct scheduler *s, const json_t *pod);
/* The queue that a pod waits in. Borrowed until the pod changes. */
const char *scheduler_queue_of(const struct scheduler *s, const json_t *pod);
/* Do both ask for the same, their names, counts and labels aside? */
bool sched_set_equal(const struct mete_pod_set *a, const struct mete_pod_set *b);
/* The reservation that it runs in, "": in none only. Borrowed as above. */
/* How long it is expected to run, by its annotation; 0: it does not say. */
int64_t scheduler_expected_ns(const json_t *pod);
const char *scheduler_reservation_of(const json_t *pod);
uint64_t scheduler_ask_hash(const json_t *pod);

/* scheduler_affinity.c */
void scheduler_ask_affinity(struct arena *a, const json_t *pod, struct mete_pod_set *set);
/* Those that rules see. Borrowed from the pod. */
const struct mete_label *scheduler_labels(struct arena *a, const json_t *pod, bool is_gang,
                                          size_t *ret_count);
bool scheduler_affinity_same(const struct mete_pod_set *a, const struct mete_pod_set *b);
bool scheduler_labels_same(const struct mete_pod_set *a, const struct mete_pod_set *b);
uint64_t scheduler_label_hash(const json_t *pod);
/* Tells the engine the labels of its pods, whose trees are there. */
void scheduler_relabel(struct scheduler *s, const struct sched_work *w);
/* Containers and their gpus. */
void scheduler_read_containers(struct sched_pod *p, const json_t *pod);

/* scheduler_tell.c */
void scheduler_tell_later(struct scheduler *s); /* the state of the engine has changed */
void scheduler_list_waiting(struct scheduler *s, struct sched_pod *p);
void scheduler_unlist(struct scheduler *s, struct sched_pod *p);
void scheduler_on_tell(void *arg); /* a bounded part; comes back by its timer */
