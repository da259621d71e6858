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
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_view.h"
#include "kinds/scheduler_names.h"

#define GROUP_STATUS_NS (INT64_C(200) * NS_PER_MS)
#define SCHED_ANSWER_NS (INT64_C(60) * NS_PER_SEC)

/* Devices of one kind of one container, for the ledger: see struct pod_part. */
struct sched_part {
    char *container;
    uint32_t first;
    uint32_t count;
};

struct arena;
struct sched_ask;

/* Why a pod waits outside the engine. */
struct sched_wait {
    const char *code; /* "WaitingForGang"; NULL: the pod does not wait outside the engine */
    const char *class_text;
    char *message;
    int64_t since_ns; /* realtime */
};

/* The place of a pod on its way through the engine. */
enum sched_phase {
    SCHED_OUTSIDE,   /* not ours to place: another scheduler's, or deleted before it was bound */
    SCHED_WAITING,   /* in the queue, or outside the engine with its group */
    SCHED_ASSUMED,   /* placed by a decision; the watch has not told the binding yet */
    SCHED_BOUND,     /* the object has a node, and the engine has the pod there */
    SCHED_LOST,      /* the object has a node, but the engine refused: read again soon */
    SCHED_SUCCEEDED, /* and counts in its group */
    SCHED_FAILED,
};

/* The progress of a pod's eviction. */
enum sched_ending {
    SCHED_STAYS,
    SCHED_EVICTING, /* asked for; neither the answer nor the watch has told yet */
    SCHED_EVICTED,  /* marked for deletion, or gone */
};

struct sched_pod {
    struct map_handle handle; /* by key */
    struct sched_pod *prev;   /* in `told` or `untold` of the scheduler */
    struct sched_pod *next;
    char *key; /* "ns/name" */
    char *ns;
    char *name;
    char *uid;
    char *user;
    struct sched_work *work; /* NULL: not in the engine */
    uint32_t set;            /* in the workload: its pod set, and its number in the set */
    uint32_t index;
    int64_t job_id;
    int64_t submit_ns;
    uint64_t asks;    /* hash of its requests */
    char *claims;     /* its annotation mete.dev/claims; NULL: none, or not waiting */
    int64_t gpus;     /* gpus and parts of gpus that it asks for */
    int64_t bound_ns; /* monotonic; 0: not bound since the start of this server, or running */
    uint64_t labels;  /* hash of its labels */
    char *label_text; /* keys and values, each with its NUL, then an empty key */
    char *queue;
    enum mete_hold hold;   /* by annotation: of the user or an administrator */
    char *gates;           /* its scheduling gates as a message; NULL: none */
    int64_t not_before_ns; /* realtime; 0: now */
    struct sched_points points;
    struct cluster_read *read; /* of its tree; NULL: none on its way */
    void *read_arg;
    json_t *tree; /* kept for members of groups and gangs; of other pods only during an event */
    struct sched_wait wait;
    struct sched_group *group; /* NULL: none */
    enum sched_phase phase;
    enum sched_ending ending;
    int64_t evict_ns; /* monotonic, when the eviction was asked for; of SCHED_EVICTING */
    bool is_chosen;   /* for the gang that is being formed */
    bool is_needed;   /* placed or succeeded, and within the group's minimum */
    bool is_running;
    bool is_ready;
    bool is_deleting;
    bool is_slurm;    /* its job has the events; the pod's own come only if it runs for a moment */
    bool is_read;     /* its suspension is known */
    bool is_lent;     /* SLURM_LENT_ANNOTATION is there */
    bool is_stopped;  /* its processes are stopped */
    bool is_settling; /* a write of the annotation has no answer yet */
    bool is_refused;  /* the engine has refused its placement, and has not taken it since */
    char *node;       /* its placement */
    VEC(struct device) devices;
    VEC(struct sched_part) parts;

    bool is_listed; /* in `told` or `untold` of the scheduler */
    bool is_told;
    const char *told_code; /* static, as told_class; NULL: unknown, from before a restart */
    const char *told_class;
    char *told;
    int64_t told_ns; /* monotonic */
};

enum sched_work_phase {
    SCHED_WORK_WAITING,
    SCHED_WORK_PLACED,  /* by a decision, or bound */
    SCHED_WORK_GOING,   /* placed, and evicted before this server started */
    SCHED_WORK_LEAVING, /* evicted: the engine keeps its resources until its last pod is gone */
};

static inline bool sched_pod_is_placed(const struct sched_pod *p)
{
    return p->phase == SCHED_ASSUMED || p->phase == SCHED_BOUND;
}

static inline bool sched_pod_has_ended(const struct sched_pod *p)
{
    return p->phase == SCHED_SUCCEEDED || p->phase == SCHED_FAILED;
}

/* A workload of the engine: a single pod, or the pods of a gang that start together. */
struct sched_work {
    struct map_handle handle;     /* by id */
    struct map_handle by_key;     /* of a placed gang */
    struct map_handle by_binding; /* in `bindings` of the scheduler */
    uint64_t binding;             /* the binding without an answer; 0: none */
    int64_t binding_ns;           /* monotonic, when it was asked for */
    uint64_t id;
    char *key; /* "ns/name" */
    char *ns;
    char *name; /* of its placement: the pod's name, or for a gang "volcano:train:0b5e7a21" */
    enum sched_work_phase phase;
    bool is_gang;
    bool is_keyed;
    bool is_extra;   /* its pod is beyond its group's minimum */
    bool is_short;   /* pods have left since a decision placed the gang */
    bool is_shrunk;  /* pods have left, and the engine does not know yet */
    bool is_dear;    /* protected by a disruption budget: evicted only if nothing else can be */
    int64_t gone_ns; /* realtime; end of the grace period of SCHED_WORK_GOING; else 0 */
    char *evicted_because; /* the message of its eviction; NULL: not evicted */
    char *suspended_for;   /* the message of its suspension; NULL: not suspended */
    bool is_lending;       /* suspended, as the engine was told */
    bool has_priority;
    int32_t priority;       /* of the gang's own */
    int32_t asked_priority; /* as the engine was told when the workload was queued or placed */
    char *topology;         /* the gang's domains when it was formed */
    int64_t started_ns;     /* 0: unknown */
    int64_t grace_s;        /* of an eviction; 0: that of each pod */
    enum mete_hold hold;    /* as the engine was told */
    char *hold_text;
    VEC(struct sched_pod *) pods; /* that have not ended */
};

/* Pods that name the same group; scheduler_groups.c. */
struct sched_group {
    struct map_handle handle; /* by key */
    struct sched_group *prev; /* in `changed_groups` of the scheduler */
    struct sched_group *next;
    char *key; /* "ns/volcano:train" */
    char *ns;
    char *name;         /* start of a gang's placement name: "volcano:train" */
    char *object;       /* key of its definition: "2/ns/train" */
    char *other_object; /* key of a native PodGroup that may define the group instead; NULL: none */
    struct gang_ref ref; /* with texts of its own */
    char *ref_name;
    char *ref_part;
    bool is_changed;
    bool is_status_old;
    bool is_partial; /* bound in part when this server started: scheduler_partial.c */
    VEC(struct sched_pod *) pods;
};

struct sched_door {
    struct scheduler *s;
    enum gang_door door;
};

/* The object that defines when a group may start: a PodGroup, a Workload or a Job. */
struct sched_definition {
    struct map_handle handle;
    char *key; /* with the number of its door: "2/ns/train" */
    enum gang_door door;
    json_t *tree;
};

struct sched_node {
    struct map_handle handle;
    char *name;
    json_t *facts;   /* the node as the engine was told */
    bool is_refused; /* by the engine: retried when another node goes */
};

/* A holder of a gpu, or of a part of one, according to the ledger. */
struct sched_holder {
    char *pod; /* "ns/name" */
    char *ns;
    char *pod_uid;
    struct device device;
    char *claim;  /* uid of the ResourceClaim by which pods share the device; NULL: none */
    bool is_over; /* the pod has ended: the ledger freed the device with the end, and its event is
                     on its way */
    uint64_t stand_in; /* workload that holds the device in the engine while the pod is not there;
                          0: none */
};

/* A gpu that is held according to the ledger. */
struct sched_held {
    struct map_handle handle;
    char *uuid;
    char *node;
    VEC(struct sched_holder) holders;
};

/* A PodDisruptionBudget. */
struct sched_budget {
    struct map_handle handle;
    char *key; /* "ns/name" */
    char *ns;
    json_t *object;
    struct selector *selector; /* NULL: matches nothing */
};

/* A PriorityClass. */
struct sched_class {
    struct map_handle handle;
    char *name;
    int32_t value;
};

/* A resource that each node has because pods ask for it: no node reports it. */
struct sched_node_resource {
    struct map_handle handle;
    char *name;     /* "hostport/TCP/8080", "partition-cpus/gpu/2" */
    int64_t amount; /* of each node */
};

/* The models of a vendor's gpus that nodes have reported. */
struct sched_models {
    VEC(char *) names;
};

struct scheduler {
    struct scheduler_options options;
    struct mete_engine *engine;
    struct cluster_watch *nodes_watch;
    struct cluster_watch *pods_watch;
    struct cluster_watch *ledger_watch;
    struct cluster_watch *classes_watch;
    struct cluster_watch *budgets_watch;
    struct loop_timer *cycle_timer;
    struct scheduler_cycles cycles;
    struct loop_timer *retry_timer;
    struct loop_timer *tell_timer;
    struct loop_timer *tick_timer;
    struct loop_timer *shrink_timer;
    struct loop_timer *answer_timer; /* of the deadline of bindings and evictions: */
    bool is_answer_timed;
    struct loop_timer *lost_timer;
    struct loop_timer *partial_timer;
    struct loop_timer *start_timer; /* for workloads with a start time in the future: */
    int64_t start_ns;               /* realtime; 0: not set */
    struct queue_tree *queues;
    struct reservations *reservations;
    struct writes *writes;
    struct scheduler_names names; /* the pods that we place */
    char *names_text;
    bool is_poked;
    bool is_held;
    int64_t retry_ns; /* the next delay after a failed bind */

    struct sched_node *nodes;
    struct sched_pod *pods;
    struct sched_work *works;
    struct sched_work *gangs;    /* placed gangs, by key */
    struct sched_work *bindings; /* works with a binding without an answer, by its number */
    uint64_t next_binding;
    struct sched_group *groups;
    struct sched_group *changed_groups;
    struct sched_definition *definitions;
    struct sched_door doors[GANG_DOORS];
    struct cluster_watch *group_watches[GANG_DOORS];
    struct loop_timer *status_timer;
    bool has_shrunk;
    bool has_replicas; /* gpus are offered in replicas that serve for whole ones, too */
    struct sched_models models[GPU_VENDORS]; /* of the gpus seen so far */
    struct sched_models claim_models;        /* of those that only claims give */
    bool are_asks_old;   /* waiting workloads asked before `has_replicas` or `models` changed */
    bool has_unsettled;  /* some suspensions or their ends are not written yet */
    bool has_unevicted;  /* some pods of evicted workloads are not marked for deletion yet */
    unsigned n_unsynced; /* watches that are being read, and the start itself */
    bool is_loading;     /* until all are synced: then the engine gets placed gangs and
                            reservations, and cycles run */
    struct sched_held *held;
    struct sched_node_resource *node_resources;
    struct sched_budget *budgets;
    struct sched_class *classes;
    json_t *evict_rules; /* of scheduler_set_evict_rules; NULL: none */
    uint64_t next_unnamed;
    char *why_text; /* the last reason's message, if it is not the engine's text */

    struct sched_pod *untold; /* waiting pods that were never told why */
    struct sched_pod *told; /* other waiting pods; those told or looked at longest ago come first */
    int64_t tell_tokens;
    int64_t tell_refill_ns; /* monotonic */
    size_t n_told;
    size_t to_look_at;  /* pods of `told` to look at since the last change */
    bool has_postponed; /* a pod has a new message that comes too soon */
};

/* Runs a cycle after the pending events of the loop. */
void scheduler_poke(struct scheduler *s);
/* A watch is synced: the last one begins the cycles. */
void scheduler_synced(void *scheduler);
/* Copies a placement with all texts and lists into the arena. */
void sched_placement_copy(struct arena *a, const struct mete_placement *from,
                          struct mete_placement *ret);

/* scheduler_devices.c */
/* Makes the set, whose `is_linked` is set, ask for devices. False: the engine cannot count so many
 * kinds or devices of one pod. */
bool sched_devices_ask(const struct scheduler *s, struct arena *a, const struct gpu_asks *asked,
                       struct mete_pod_set *set);
/* Makes the set of a placed pod ask for the devices that the pod has. */
void sched_devices_ask_again(struct arena *a, const struct sched_pod *p, struct mete_pod_set *set);
/* Fills in the devices of a placed pod. */
void sched_devices_place(struct arena *a, const struct sched_pod *p, const struct mete_pod_set *set,
                         struct mete_pod_placement *ret);
/* The devices of a decision, in the arena; returns their number. */
size_t sched_devices_chosen(struct arena *a, const struct mete_pod_placement *p,
                            struct device **ret);
bool sched_pod_has_device(const struct sched_pod *p, const struct device *d);

/* scheduler_nodes.c */
/* Is there a gpu of another vendor than NVIDIA, or one that only claims give? */
bool sched_has_vendors(const struct scheduler *s);
/* The vendor of a model; NVIDIA's is also that of models that no node has reported. */
enum gpu_vendor sched_vendor_of(const struct scheduler *s, const char *model);
void sched_models_free(struct scheduler *s);

/* scheduler_nodes.c */
void scheduler_put_node(void *arg, const char *ns, const char *name, const json_t *node);
void scheduler_remove_node(void *arg, const char *ns, const char *name, const json_t *last);
/* Gives each node `amount` of one more resource: a host port, or cpus of a partition. */
void scheduler_add_node_resource(struct scheduler *s, const char *name, int64_t amount);
void sched_node_free(struct scheduler *s, struct sched_node *n);
/* A new node like the named one, in the arena; false: no such node. */
bool scheduler_describe_node(struct arena *a, const struct scheduler *s, const char *name,
                             struct mete_node *ret);

/* scheduler_pods.c */
void scheduler_put_pod(void *arg, const char *ns, const char *name, const json_t *pod);
void scheduler_remove_pod(void *arg, const char *ns, const char *name, const json_t *last);
struct sched_pod *scheduler_find_pod(const struct scheduler *s, const char *key);
void sched_pod_free(struct scheduler *s, struct sched_pod *p);
/* Sets the pod's place in the engine. Copies `devices`. */
void sched_pod_place(struct sched_pod *p, const char *node, const struct device *devices,
                     size_t n_devices);
/* The pod has no place any more: the ledger decides who holds its former gpus. */
void sched_pod_unplace(struct scheduler *s, struct sched_pod *p);
/* Sets why a pod outside the engine waits; `message` is copied, NULL: the pod does not wait. */
void sched_pod_wait(struct scheduler *s, struct sched_pod *p, const char *code,
                    const char *class_text, const char *message);
/* Queues the pod as a workload of its own; `is_extra`: beyond its group's minimum. */
void sched_pod_queue(struct scheduler *s, struct sched_pod *p, bool is_extra);

/* scheduler_budgets.c */
void scheduler_put_budget(void *arg, const char *ns, const char *name, const json_t *object);
void scheduler_remove_budget(void *arg, const char *ns, const char *name, const json_t *last);
void sched_budget_free(struct scheduler *s, struct sched_budget *b);
/* Keeps the labels that selectors see. */
void sched_pod_read_labels(struct sched_pod *p, const json_t *pod);
/* Does a disruption budget forbid the pod's eviction now? */
bool sched_pod_is_protected(const struct scheduler *s, const struct sched_pod *p);

/* scheduler_classes.c */
void scheduler_put_class(void *arg, const char *ns, const char *name, const json_t *object);
void scheduler_remove_class(void *arg, const char *ns, const char *name, const json_t *last);
void sched_class_free(struct scheduler *s, struct sched_class *c);
/* False: there is no such class. */
bool scheduler_class_value(const struct scheduler *s, const char *name, int32_t *ret);

/* scheduler_work.c */
struct sched_work_name {
    const char *ns;
    const char *name;
    bool is_gang;
    bool is_extra;
    bool has_priority;
    int32_t priority;
};
/* The pods have their trees, and none belongs to a workload. */
struct sched_work *sched_work_new(struct scheduler *s, const struct sched_work_name *name,
                                  struct sched_pod *const *pods, size_t n);
/*
 * Gives the workload to the engine: to the queue, or placed where its pods are. False: the engine
 * refused, and the workload is freed (its pods are not).
 */
bool sched_work_wait(struct scheduler *s, struct sched_work *w);
bool sched_work_restore(struct scheduler *s, struct sched_work *w);
/* A decision placed the workload. */
void sched_work_placed(struct scheduler *s, struct sched_work *w);
/* The binding failed: the workload waits again. */
void sched_work_unplaced(struct scheduler *s, struct sched_work *w);
/*
 * Replaces the workload in the engine: something about it changed. The tree of a single pod is read
 * first, which may take some turns.
 */
void sched_work_again(struct scheduler *s, struct sched_work *w);
/* Reads pods that are bound, but not in the engine, and gives them to the engine again. */
void scheduler_on_lost(void *scheduler);
/* Makes all waiting workloads ask again if their asks are old. */
void scheduler_ask_again(struct scheduler *s);
/* Cancels the read of the pod's tree, if any. */
void sched_pod_unread(struct scheduler *s, struct sched_pod *p);
/* Adds a bound pod to a placed gang. */
void sched_work_grow(struct scheduler *s, struct sched_work *w, struct sched_pod *p);
/* Takes the pod out of its workload and of the engine. A waiting gang is dissolved. */
void sched_work_leave(struct scheduler *s, struct sched_pod *p);
/*
 * Tells the engine at once about large gangs that lost pods: before their former gpus are given to
 * another pod.
 */
void scheduler_tell_shrunk(void *scheduler);
/* Removes the workload from the engine with all its pods, and frees it. */
void sched_work_end(struct scheduler *s, struct sched_work *w);
struct sched_work *scheduler_find_work(const struct scheduler *s, uint64_t id);
struct sched_work *scheduler_find_gang(const struct scheduler *s, const char *ns, const char *name);
/* All pods have been read: gives the placed gangs, now complete, to the engine. */
void sched_works_loaded(struct scheduler *s);
void sched_works_free(struct scheduler *s);
bool sched_name_is_gang(const char *placement); /* as in "volcano:train:0b5e7a21" */

/* scheduler_evict.c */
struct sched_eviction {
    uint64_t id; /* the victim; 0: none */
    uint64_t by;
    bool is_off; /* another victim for the same workload is spared */
    bool is_suspension;
    const char *message;
};
/* One entry for each eviction of the decisions; texts in the arena. */
void scheduler_read_evictions(const struct scheduler *s, struct arena *a,
                              const struct mete_decisions *d, struct sched_eviction *ret);
void scheduler_evict(struct scheduler *s, struct sched_eviction *list, size_t n);
/* The eviction is certain: the answer or the watch says so. */
void sched_pod_tell_evicted(struct scheduler *s, struct sched_pod *p);
/* No answer came in time: evicts the pod again soon. */
void sched_pod_evict_again(struct scheduler *s, struct sched_pod *p, const char *why);
/* Evicts a workload along with its group, unless a disruption budget forbids it. */
void scheduler_evict_with(struct scheduler *s, struct sched_work *w, const char *because);
/*
 * Retries evictions that could not be written, and completes those of gangs that an earlier server
 * began.
 */
void scheduler_finish_evictions(struct scheduler *s);
/* Reads from the tree if the pod was evicted before this server started. */
void sched_pod_note_eviction(struct scheduler *s, struct sched_pod *p, const json_t *pod);

/* scheduler_suspend.c */
/* Stops the workload's processes for another one; `why` is copied. */
void sched_work_suspend(struct scheduler *s, struct sched_work *w, const char *why);
/* Lets them go on. */
void sched_work_unsuspend(struct scheduler *s, struct sched_work *w);
/* Tells the engine of the workload, which it has just got anew, that it is suspended, if it is. */
void sched_work_lend(struct scheduler *s, struct sched_work *w);
/* The workloads that go on, d->n_resumes, in the arena. */
void scheduler_read_resumes(const struct mete_decisions *d, struct arena *a, uint64_t **ret);
/* Writes anew what was not written. */
void scheduler_settle_suspensions(struct scheduler *s);
void sched_pod_note_suspension(struct scheduler *s, struct sched_pod *p, const json_t *pod);
/* Carries out the suspensions of an earlier server, once all pods have been read. */
void sched_suspensions_loaded(struct scheduler *s);

/* scheduler_evict_rules.c: sets the class and the least run time of a pod of Slurm's commands, and
 * the grace of its eviction. */
void sched_evict_class_read(const struct scheduler *s, const json_t *pod, struct mete_workload *w,
                            int64_t *ret_grace_s);

/* scheduler_groups.c */
struct err *scheduler_watch_groups(struct scheduler *s) MUST_CHECK;
/* Reads the pod's group, if any, from its tree; the pod counts in the group from here on. */
void scheduler_join_group(struct scheduler *s, struct sched_pod *p);
void scheduler_leave_group(struct scheduler *s, struct sched_pod *p);
/* Something about a pod of the group changed. */
void sched_group_changed(struct scheduler *s, struct sched_group *g);
/* Forms gangs in the groups that changed. */
void scheduler_settle_groups(struct scheduler *s);
void scheduler_groups_free(struct scheduler *s);
/* Forms the waiting gangs of the groups that name the class anew. */
void scheduler_class_changed(struct scheduler *s, const char *name);
/* Fills in the priority of the group itself, if any. */
void sched_group_read_priority(struct scheduler *s, const struct sched_group *g,
                               struct sched_work_name *name);
/* NULL: none. */
const struct sched_definition *sched_group_definition(const struct scheduler *s,
                                                      const struct sched_group *g);
/* False: no definition, or no such part in it. */
bool sched_group_read(const struct scheduler *s, const struct sched_group *g,
                      struct gang_rules *ret);
int sched_pod_compare(const struct sched_pod *a, const struct sched_pod *b); /* by age */
const char *sched_pod_task(const struct sched_pod *p); /* the Volcano task; NULL: none */

/* scheduler_elastic.c */
/* May the group have pods beyond its minimum? */
bool sched_rules_are_elastic(const struct gang_rules *rules);
/* Tells the engine which placed pods of the group are extras. */
void sched_group_sort_extras(struct scheduler *s, struct sched_group *g,
                             const struct gang_rules *rules);
/* If the group's gang is being evicted, evicts the extras, too. */
void sched_group_end_rest(struct scheduler *s, struct sched_group *g);

/* scheduler_partial.c: all pods have been read; the timer's. */
void sched_halves_find(struct scheduler *s);
void scheduler_on_partial(void *scheduler);

/* scheduler_ranks.c: before the places are dealt to the workload's pods; their nodes afterwards, a
 * hostlist that the caller frees (NULL: no Slurm job on several nodes). */
void sched_ranks_order(struct sched_work *w, const struct mete_placement *at);
char *sched_ranks_nodes(const struct sched_work *w);

/* scheduler_topology.c */
void sched_topology_of_group(const struct scheduler *s, struct arena *a,
                             const struct sched_group *g, struct mete_workload *ret);
/*
 * Sets the pod's own domains. A waiting pod whose group has placed pods also gets the labels of
 * their domains as selector.
 */
void sched_topology_of_pod(const struct scheduler *s, struct arena *a, const struct sched_pod *p,
                           struct sched_ask *ask);
/* The domains of a group as text, for comparisons. The caller frees it. */
char *sched_topology_format(const struct gang_rules *rules);

/* scheduler_group_status.c */
void scheduler_on_group_status(void *arg);

/* Runs a cycle after a pause, which grows with each failure. */
void sched_retry_later(struct scheduler *s);

/* scheduler_bind.c: binds a decision, whole or not at all. */
void scheduler_carry_out(struct scheduler *s, const struct mete_placement *placement);
/* Records the Event of the pod's binding. */
void sched_pod_tell_bound(struct scheduler *s, const struct sched_pod *p);
/* The watch has told a pod of the workload bound, as decided. */
void sched_work_seen(struct scheduler *s, struct sched_work *w);
/*
 * The binding was taken back, or nobody answered in time: the workload waits again, unless the
 * watch has told a pod bound.
 */
void sched_work_give_back(struct scheduler *s, struct sched_work *w, const struct err *why);
/* The wait for the binding's answer is over. */
void sched_work_answered(struct scheduler *s, struct sched_work *w);

/* scheduler_deadline.c: looks at a binding or eviction when the time for its answer is over. */
void scheduler_await_answer(struct scheduler *s);
void scheduler_on_deadline(void *scheduler);

/* scheduler_held.c */
void scheduler_put_held(void *arg, const char *ns, const char *name, const json_t *entry);
void scheduler_remove_held(void *arg, const char *ns, const char *name, const json_t *last);
/* The pod takes over what it holds of the gpu. */
void scheduler_drop_stand_in(struct scheduler *s, const char *uuid, const struct sched_pod *p);
/* A pod has just released a part of the gpu, or all. */
void scheduler_check_held(struct scheduler *s, const char *uuid);
void scheduler_check_all_held(struct scheduler *s);
/* The pod has ended, or is gone: its gpus are free in the ledger. */
void sched_pod_release(struct scheduler *s, const struct sched_pod *p);
void sched_held_free(struct scheduler *s, struct sched_held *h);

/* scheduler_queue.c */
/* Reads the pod's queue and holds from its tree. */
void sched_pod_read_hold(struct sched_pod *p, const json_t *pod);
/* Tells the engine the workload's hold, if it changed. */
void sched_work_hold(struct scheduler *s, struct sched_work *w);
/* Tells the engine the points of the workload's pods. */
void sched_work_points(struct scheduler *s, const struct sched_work *w);
/*
 * Does so for all waiting workloads: the namespaces that queues admit have changed, or a start time
 * has come.
 */
void scheduler_look_at_holds(void *scheduler);

/* scheduler_ask.c: a pod's requests as the engine takes them, in an arena. */
struct sched_ask {
    struct mete_pod_set set;
    const char *podset; /* of pods with equal requests, those with the same text are one set */
    struct mete_workload workload; /* without its id */
    int64_t grace_s;               /* of an eviction; 0: the pod's own */
};
void scheduler_ask(const struct scheduler *s, struct arena *a, const json_t *pod,
                   struct sched_ask *ret);
/* Is the pod ours to place, and to evict? */
bool scheduler_is_ours(const struct scheduler *s, const json_t *pod);
/* The pod's queue. Borrowed until the pod changes. */
const char *scheduler_queue_of(const struct scheduler *s, const json_t *pod);
/* Are the requests equal? Names, counts and labels do not matter. */
bool sched_set_equal(const struct mete_pod_set *a, const struct mete_pod_set *b);
/* Expected run time by the pod's annotation; 0: none. */
int64_t scheduler_expected_ns(const json_t *pod);
/* The pod's reservation; "": outside reservations only. Borrowed as above. */
const char *scheduler_reservation_of(const json_t *pod);
uint64_t scheduler_ask_hash(const json_t *pod);

/* The cpus of a partition's jobs on a node, a resource that each node has: "partition-cpus/gpu/2".
 * Another limit is another resource: it holds for pods that are made from then on. */
#define SCHED_PARTITION_CPUS "partition-cpus/"

/* scheduler_affinity.c */
void scheduler_ask_affinity(struct arena *a, const json_t *pod, struct mete_pod_set *set);
/* The labels that affinity rules see. Borrowed from the pod. */
const struct mete_label *scheduler_labels(struct arena *a, const json_t *pod, bool is_gang,
                                          size_t *ret_count);
bool scheduler_affinity_same(const struct mete_pod_set *a, const struct mete_pod_set *b);
bool scheduler_labels_same(const struct mete_pod_set *a, const struct mete_pod_set *b);
uint64_t scheduler_label_hash(const json_t *pod);
/* Tells the engine the labels of the workload's pods, which have their trees. */
void scheduler_relabel(struct scheduler *s, const struct sched_work *w);
/* Reads which container gets which devices. */
void scheduler_read_parts(struct sched_pod *p, const json_t *pod);

/* scheduler_tell.c */
void scheduler_tell_later(struct scheduler *s); /* the engine's state changed */
void scheduler_list_waiting(struct scheduler *s, struct sched_pod *p);
void scheduler_unlist(struct scheduler *s, struct sched_pod *p);
void scheduler_on_tell(void *arg); /* a bounded part; the timer continues */
