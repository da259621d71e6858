/* slurm_private.h - the parts of the controller of SlurmJobs */
#pragma once

#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/retry.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "control/slurm/slurm_jobs.h"
#include "control/writes.h"
#include "kinds/slurm/slurm_het.h"
#include "kinds/slurm/slurm_pod.h"
#include "model/index_set.h"
#include "model/slurm_dependency.h"
#include "model/slurm_tres.h"

enum {
    SJOB_WRITES_MAX = 256, /* pods created or counted in one turn of a job */
    SJOB_WINDOW = 64       /* pods of a job that have not started */
};

enum sjob_state {
    SJOB_PENDING,
    SJOB_RUNNING,
    SJOB_COMPLETED, /* the first of the states that are ends */
    SJOB_CANCELLED,
    SJOB_FAILED,
    SJOB_TIMEOUT,
    SJOB_NODE_FAIL,
    SJOB_PREEMPTED,
    SJOB_DEADLINE,
    SJOB_OUT_OF_MEMORY,
    SJOB_STATES
};
extern const char *const sjob_state_names[SJOB_STATES];

/* The end of an element, or of an attempt. */
struct sjob_end {
    enum sjob_state state;
    int64_t code;
    int64_t signal;
    int64_t started_ns; /* realtime; 0: never */
    int64_t ended_ns;
};

/* An element that ended. */
struct sjob_past {
    int64_t index;
    int64_t restarts;
    struct sjob_end end;
    char *node;   /* a hostlist, owned; NULL: none */
    int64_t cpus; /* of each node; 0: as the job asks */
};

struct sjob;
struct sjob_turn;

struct sjob_pod {
    struct map_handle handle;  /* by key, over all jobs */
    struct map_handle by_slot; /* in its job */
    struct sjob *job;
    char *key; /* "ns/name" */
    char *name;
    char *uid;
    int64_t slot;  /* index times the job's nodes, plus rank */
    int64_t index; /* of the element; without an array 0 */
    int64_t rank;  /* of the node; the pod of rank 0 stands for the attempt */
    int64_t restarts;
    char *node;            /* NULL: not placed */
    char *nodes;           /* of a job on several nodes: all of them, a hostlist; NULL: `node` */
    enum sjob_state state; /* PENDING, RUNNING or an end */
    enum sjob_state fate;  /* the end of a pod that is evicted; PENDING: none */
    struct sjob_end end;
    bool is_deleting;        /* the object has a deletionTimestamp */
    bool is_killed;          /* deleted by us */
    bool is_told;            /* by the watch: it is durable */
    bool is_gone;            /* removed by the write that released it */
    bool is_ended;           /* in `ended` of its job */
    bool is_counted;         /* in `held` of the jobs */
    bool is_licensed;        /* its licenses are in `held` */
    char *license;           /* that it holds of its job's alternatives; NULL: none */
    bool is_outdated;        /* of an older request of the job: is to go without an end */
    bool has_prolog_failed;  /* the job did not begin */
    bool has_epilog_failed;  /* the node is to be drained */
    bool is_held;            /* the pod has the annotation of a hold */
    bool is_together;        /* it insists on few switches */
    char *window;            /* the nodes of a job with --contiguous, a hostlist; NULL: any */
    int64_t created_ns;      /* realtime */
    int64_t cpus;            /* of its request */
    bool is_ready;           /* its container runs: steps can start in it */
    int64_t limit_s;         /* of its spec; 0: none */
    bool is_lent;            /* the scheduler has it suspended */
    int64_t suspended_s;     /* how long it was suspended before */
    int64_t suspended_at_ns; /* realtime: since when it is suspended; 0: it is not */
};

/*
 * The elements of a job without an array are the index 0. An attempt has a pod on each node; sums
 * count attempts, by their pods of rank 0.
 */
struct sjob {
    struct map_handle handle; /* by key */
    struct map_handle by_uid;
    struct sjob *prev; /* among the jobs to look at */
    struct sjob *next;
    struct slurm_jobs *jobs;
    char *key; /* "ns/name" */
    char *ns;
    char *name;
    char *uid;
    int64_t id;       /* of the job; elements of an array have the numbers from it on */
    json_t *object;   /* as last put */
    json_t *status;   /* as last put or written, whichever is newer */
    int64_t revision; /* of its request */
    int64_t version;  /* of `status`: puts of older versions are stale */
    bool is_queued;
    bool is_array;
    bool is_deleting;
    bool is_over;
    bool is_early;      /* it is not durable yet: no client is told */
    bool is_changed;    /* its pods may differ from its spec */
    bool is_incomplete; /* attempts may lack pods of ranks above 0 */
    bool is_short;      /* an attempt has some of its pods, and the creation of another failed */

    struct index_set all;
    struct index_set completed;
    struct index_set failed;
    struct index_set cancelled;
    struct slurm_indexes indexes;
    struct slurm_ask ask;       /* of the first component, but with the nodes of all */
    struct slurm_het het;       /* one component: the job is not heterogeneous */
    VEC(struct sjob_past) past; /* ends since the server's start, for listings */

    struct sjob_pod *pods; /* by slot; those that are tracked */
    size_t n_waiting;      /* attempts that have not started */
    size_t n_running;
    size_t n_outdated;            /* pods; while there are some, none is made */
    size_t n_over;                /* attempts to be counted */
    VEC(struct sjob_pod *) ended; /* tracked and over: to be counted */
    size_t next_index;            /* all indexes below have a pod or are over */
    int64_t last_start_ns;        /* realtime; 0: none */
    int64_t eligible_ns;          /* realtime; 0: not yet */

    struct slurm_tres licenses; /* of each attempt */
    bool has_any_license;       /* each attempt holds one of them */
    struct slurm_dependency dependency;
    char *dependency_text;   /* that was parsed */
    VEC(int64_t) dependents; /* numbers of jobs that wait for this one */
    char *window;            /* of the attempt that is being made; NULL: any nodes */
    char *trigger_told;      /* what set off its trigger, until the status has it; NULL: nothing */
    const char *reason;      /* static or `limit_reason`: why elements have no pods; NULL: they may
                                have */
    char *limit_reason;      /* the limit that the job met last */
    bool is_limited;         /* by a limit of its account, user or QOS */
    VEC(char *) accounts;    /* its account and those above, as counted in `held` */
    bool has_keys;           /* `accounts` and `partition_qos` are known */
    char *partition_qos;     /* of its partition, as counted in `held`; NULL: none, or its own */

    int64_t whole_cpus; /* of the last sjob_whole_cpus: for this component, */
    size_t whole_component;
    int64_t whole_ns;   /* and at this time, monotonic; 0: never */
    int64_t ended_cpus; /* of each node of the attempt that ended last; 0: not known */

    struct loop_timer *timer;
    int64_t timer_at_ns; /* monotonic; 0: not set */
    int64_t dirty_ns;    /* monotonic: since when the status differs; 0: it does not */
    int64_t gather_ns;   /* monotonic: since when ends wait to be counted; 0: none does */
    struct retry create_retry;
    struct retry write_retry;
    size_t writes_max; /* below SJOB_WRITES_MAX after a refused transaction */
};

struct slurm_queue {
    struct map_handle handle;
    char name[];
};

/* A pod that belongs to no SlurmJob, for listings. */
struct slurm_other {
    struct map_handle handle; /* by key */
    uint64_t number;          /* grows with each pod */
    char *key;                /* "ns/name" */
    char *uid;
    char *ns;
    char *name;
    char *user;
    char *queue;
    char *node; /* NULL: not placed */
    enum sjob_state state;
    int64_t id;
    int64_t created_ns;
    int64_t started_ns;
    int64_t ended_ns;
    int64_t code;
    int64_t limit_s; /* 0: none */
    bool is_deleting;
    struct slurm_ask ask;
};

/* A SlurmStep. */
struct slurm_step {
    struct map_handle handle; /* by key */
    char *key;                /* "ns/name" */
    json_t *object;
};

struct slurm_node {
    struct map_handle handle; /* by name */
    char *name;
    json_t *object;
};

/* A partition. */
struct slurm_part {
    struct map_handle handle; /* by name */
    char *name;
    json_t *object;
    json_t *nodes; /* names, as the keys of an object; NULL: all nodes */
};

/* Counts of what became of elements of jobs since the controller's start. A value. */
struct slurm_diag {
    int64_t since_ns; /* realtime */
    int64_t submitted;
    int64_t started; /* attempts */
    int64_t completed;
    int64_t cancelled;
    int64_t failed; /* all other ends */
};

struct slurm_jobs {
    struct slurm_jobs_options options;
    struct slurm_diag diag;
    uint64_t changes; /* of jobs and their pods, told by watches or made by turns */
    struct cluster_watch *jobs_watch;
    struct cluster_watch *pods_watch;
    struct cluster_watch *queues_watch;
    struct cluster_watch *nodes_watch;
    struct cluster_watch *steps_watch;
    struct slurm_step *steps;
    struct cluster_watch *partitions_watch;
    struct cluster_watch *configs_watch;
    struct slurm_other *others;
    VEC(struct slurm_other *) others_by_number; /* ascending */
    uint64_t others_made;
    struct slurm_node *nodes;
    struct slurm_part *parts; /* none: SLURM_PARTITION has all nodes */
    bool has_parts;           /* all partitions have been read */
    json_t *config;           /* the SlurmConfig; NULL: none */
    json_t *facts;            /* what it says of nodes, by their names; NULL: nothing */
    json_t *switches;         /* those above nodes, "core/rack1" by their names; NULL: none */
    json_t *weights;          /* the different weights of nodes, ascending; NULL or []: no order */
    json_t *gres;             /* lines of gres.conf by nodes, "*": all nodes; NULL: none */
    json_t *gpu_types;        /* types that the files give to gpus, as keys; NULL: none */
    struct sjob *jobs;
    struct sjob *jobs_by_uid;
    VEC(struct sjob *) by_id; /* ascending */
    struct sjob_pod *pods;
    struct slurm_queue *queues;
    struct sjob *queue;
    struct slurm_held *held; /* slurm_limits.c */
    bool has_limits;         /* limits are enforced */
    int64_t minutes_ns;      /* monotonic: the last recount of minutes; 0: none */
    size_t n_limited;        /* jobs */
    struct loop_timer *limit_timer;
    struct slurm_letter *letters; /* mail that waits or is being sent, a list */
    size_t n_letters;
    VEC(char *) orphans; /* "ns/name" of tracked pods without a job */
    struct loop_timer *work_timer;
    struct loop_timer *reload_timer;
    bool is_stopped; /* until the reload */
    bool is_loading; /* until all pods have been read */
    struct writes *writes;
};

/* slurm_jobs.c */
void sjob_poke(struct sjob *j); /* looks at the job in one of the next turns */
void sjob_poke_in(struct sjob *j, int64_t in_ns);
/* The answer for a write: if the store takes the write back, all is read anew. */
struct cluster_answer slurm_answer(struct slurm_jobs *s); /* then writes_end */
void slurm_reload_later(struct slurm_jobs *s);
void sjob_event(struct sjob *j, bool is_warning, const char *reason, const char *message);

/* Jobs are read again: the store took a write back. */
void slurm_lost(struct slurm_jobs *s, const struct err *e);

/* slurm_early.c: jobs and pods that are not durable yet */
void slurm_on_accepted(void *arg, const json_t *job); /* an objects_accepted_fn */
/* The pod was created: gives it to the scheduler. */
void sjob_expect_pod(const struct sjob *j, const json_t *pod);
/* The store took writes back: takes pods back from the scheduler. */
void slurm_drop_expected(struct slurm_jobs *s);

/* slurm_diag.c: the object "diag" (kinds/slurm/slurm_rows.h). New reference. */
json_t *slurm_diag_row(const struct slurm_jobs *s);

/* slurm_state.c */
void slurm_put_job(void *arg, const char *ns, const char *name, const json_t *job);
void slurm_remove_job(void *arg, const char *ns, const char *name, const json_t *last);
void sjob_free(struct sjob *j);
/* The job of a number, also of an element's; NULL: none. */
struct sjob *slurm_find_id(const struct slurm_jobs *s, int64_t id);
/* The request of the pod's component. */
const struct slurm_ask *sjob_pod_ask(const struct sjob_pod *p);
/* The spec of the job with one component alone. New reference. */
json_t *sjob_spec(const struct sjob *j, size_t component);
/* The nodes of a component in those of the job, which the caller frees; NULL: none. */
char *sjob_component_nodes(const struct sjob *j, size_t component, const char *nodes);
/* The number in an object's label; 0: none. */
int64_t sjob_number_of(const json_t *object);
/* The place of the first job with this number or a later one. */
size_t slurm_id_place(const struct slurm_jobs *s, int64_t id);
bool sjob_has_ended(const struct sjob *j, size_t index);
int64_t sjob_element_id(const struct sjob *j, size_t index);
/* The member of an element in maps of the status: its index; "*" of a job without an array. */
const char *sjob_element_key(const struct sjob *j, size_t index, char key[24]);
/* How often the element was started anew. */
int64_t sjob_restarts(const json_t *status, const struct sjob *j, size_t index);
/* Pokes the jobs that wait for this one. */
void sjob_tell_dependents(struct sjob *j);

/* slurm_pods.c */
void slurm_put_pod(void *arg, const char *ns, const char *name, const json_t *pod);
void slurm_remove_pod(void *arg, const char *ns, const char *name, const json_t *last);
void sjob_pod_free(struct sjob_pod *p);
/* The pod of rank 0. */
struct sjob_pod *sjob_find_pod(const struct sjob *j, size_t index);
struct sjob_pod *sjob_find_rank(const struct sjob *j, size_t index, int64_t rank);
/* Has the element a pod of any rank? */
bool sjob_has_pods(const struct sjob *j, size_t index);
/* The nodes of the attempt, a hostlist; NULL: not placed. Borrowed. */
const char *sjob_pod_nodes(const struct sjob_pod *p);
/* Brings holds and time limits of the pods to what the spec says. */
void sjob_change_pods(struct sjob *j);
/* The request has changed: the pods that wait are outdated. */
void sjob_outdate_pods(struct sjob *j);
/* Lists those to be released. */
void sjob_turn_release_outdated(struct sjob_turn *t);
void sjob_add_made(struct sjob *j, const json_t *pod); /* before its watch event */
/* Drops pods that the status has counted already. */
void sjob_drop_old_pods(struct sjob *j);

/* slurm_trigger.c: jobs of strigger, which wait for an event. */
bool sjob_is_trigger(const struct sjob *j); /* its event has not come */
bool sjob_trigger_waits(struct sjob *j, int64_t now_ns, int64_t *again_ns);
/* The cause that set the trigger off: the number of a job or the name of a node. NULL: its event
 * has not come, or the job is no trigger. Borrowed. */
const char *sjob_trigger_told(const struct sjob *j);
/* Notes the cause in the status. */
void sjob_trigger_keep(struct sjob_turn *t);
/* A node has changed; `was` NULL: it is new. */
void slurm_trigger_node(struct slurm_jobs *s, const char *name, const json_t *was,
                        const json_t *is);

/* slurm_window.c: does the job want nodes that are neighbours? */
bool sjob_wants_window(const struct sjob *j);
/* The nodes for an attempt that has no pods, a hostlist; NULL: there are none yet, and the job is
 * looked at again. The caller frees it. */
char *sjob_window_choose(struct sjob *j);

/* slurm_whole.c: the cpus of each node of a job that has its nodes alone; 0: it has not, or no node
 * is known that it may have. `partitions`: names; NULL: any. */
int64_t sjob_whole_cpus(struct sjob *j, size_t component, const json_t *partitions);

/* slurm_switch.c: slurm_element.switch_level of a job. */
int64_t slurm_switch_level(const struct slurm_jobs *s, const json_t *job);
/* Lets pods that have waited long enough go to nodes of more switches. */
void sjob_loosen_pods(struct sjob *j);

/* slurm_others.c: pods that belong to no SlurmJob, and nodes */
void slurm_put_other(struct slurm_jobs *s, const char *ns, const char *name, const json_t *pod);
void slurm_remove_other(struct slurm_jobs *s, const char *ns, const char *name);
void slurm_put_node(void *arg, const char *ns, const char *name, const json_t *node);
void slurm_remove_node(void *arg, const char *ns, const char *name, const json_t *last);
void slurm_forget_others(struct slurm_jobs *s);

/* slurm_report_steps.c: the steps of all jobs */
void slurm_put_step(void *arg, const char *ns, const char *name, const json_t *object);
void slurm_remove_step(void *arg, const char *ns, const char *name, const json_t *last);
void slurm_forget_steps(struct slurm_jobs *s);
/* The last sign of life of the clients of the job's steps, realtime; 0: none. */
int64_t sjob_steps_alive_ns(const struct sjob *j);
/* slurm_partitions.c */
void slurm_put_partition(void *arg, const char *ns, const char *name, const json_t *object);
void slurm_remove_partition(void *arg, const char *ns, const char *name, const json_t *last);
void slurm_partitions_synced(void *arg);
void slurm_put_config(void *arg, const char *ns, const char *name, const json_t *object);
void slurm_remove_config(void *arg, const char *ns, const char *name, const json_t *last);
void slurm_forget_partitions(struct slurm_jobs *s);
/* Brings the node to what the partitions and slurm.conf say of it. */
void slurm_label_node(struct slurm_jobs *s, const struct slurm_node *n);
/* slurm_nodes.c: adds to the patch what the node lacks of its line in slurm.conf. */
void slurm_node_patch_facts(const struct slurm_jobs *s, const struct slurm_node *n, json_t *patch);
/* Reads the nodes of the SlurmConfig: `facts`, `switches`, `weights`, `gres`, `gpu_types`. */
void slurm_read_facts(struct slurm_jobs *s);
void slurm_forget_facts(struct slurm_jobs *s);
/* The cpus and MiB of the node, at most what slurm.conf says. */
void slurm_node_size(const struct slurm_node *n, const json_t *facts, int64_t *ret_cpus,
                     int64_t *ret_mib);
/* slurm_node_gres.c */
void slurm_read_gres(struct slurm_jobs *s);
void slurm_forget_gres(struct slurm_jobs *s);
/* Adds to the patch what the files say of the node's gpus. Returns the reason for a drain if the
 * node has fewer, which the caller frees; NULL: none. */
char *slurm_node_patch_gres(const struct slurm_jobs *s, const struct slurm_node *n, json_t *patch);
bool slurm_part_has(const struct slurm_part *p, const char *node);
/* The settings of the SlurmConfig; NULL: none. Borrowed. */
const json_t *slurm_settings(const struct slurm_jobs *s);
/* A number of the settings. */
int64_t slurm_setting(const struct slurm_jobs *s, const char *key, int64_t fallback);
/* Why none of the job's partitions lets it start, in Slurm's words; NULL: one does. Static. */
const char *sjob_partition_wait(const struct sjob *j);
/* The partitions that let a component start, an array of names; NULL: it may have all nodes. New
 * reference. */
json_t *sjob_partitions(const struct sjob *j, size_t component);
/* The MaxCPUsPerNode of the partition that the component gets, which is the first that lets it
 * start if any of its partitions has one; NULL: none. The caller frees
 * SLURM_PARTITION_CPUS_ANNOTATION. */
char *sjob_partition_cpus(const struct sjob *j, size_t component, int64_t *ret_count);
/* The partition of `list` (with commas; NULL: the default one) that has the node (NULL: no node);
 * none: `list`. The caller frees it. */
char *slurm_partition_on(const struct slurm_jobs *s, const char *list, const char *node);
/* TRESBillingWeights of the first partition of a job or a component; NULL: none. Borrowed. */
const char *slurm_billing_of(const struct slurm_jobs *s, const json_t *spec);
/* OverTimeLimit of that partition, else of the cluster. */
int64_t slurm_over_minutes(const struct slurm_jobs *s, const json_t *spec);
/* "": there is none. Borrowed. */
const char *slurm_default_partition(const struct slurm_jobs *s);

/* slurm_limits.c */
/* Counts the attempt of a pod of rank 0 in what its account, user and QOS hold, or no longer. */
void sjob_pod_count(struct sjob_pod *p, bool holds);
/* Adds to the count under a key. Takes `key`. */
void slurm_held_add(struct slurm_jobs *s, char *key, int64_t n);
int64_t slurm_held_number(const struct slurm_jobs *s, const char *key);
/* Limits are enforced from now on, or no more: counts all anew. */
void slurm_limits_begin(struct slurm_jobs *s);
/* Does a limit keep the job from getting pods? Then its reason is set, and it is looked at again.
 */
bool sjob_is_limited(struct sjob *j);
void sjob_set_limited(struct sjob *j, char *reason);
void sjob_forget_accounts(struct sjob *j);
void slurm_on_freed(void *slurm_jobs);

/* slurm_licenses.c */
/* The licenses of the SlurmConfig, rows of "name", "total", "used". New reference. */
json_t *slurm_license_rows(const struct slurm_jobs *s);
/* Counts the licenses of a pod as held, or no longer. */
void sjob_pod_count_licenses(struct sjob_pod *p, bool holds);
/* Are all licenses of the job free, or one where it asks for any? */
bool sjob_has_licenses(const struct sjob *j);
/* Of alternatives the first that is free, NAME:COUNT, which the caller frees; NULL: there are none.
 */
char *sjob_license_pick(const struct sjob *j);

/* slurm_wait.c */
enum sjob_verdict {
    SJOB_MAY_START,
    SJOB_WAITS,
    SJOB_NEVER /* its dependencies can no longer hold */
};
/* Sets `reason`; `*ret_again_ns`: when to look again, -1: on changes only. */
enum sjob_verdict sjob_wait(struct sjob *j, int64_t now_ns, int64_t *ret_again_ns);
/* The same for one element: aftercorr and held indexes. */
enum sjob_verdict sjob_element_wait(const struct sjob *j, size_t index);
/* The whole job, or the element. */
bool sjob_is_held(const struct sjob *j, size_t index);
bool sjob_is_suspended(const struct sjob *j, size_t index);
bool sjob_is_cancelled(const struct sjob *j, size_t index);
/* How often clients have asked to start the element anew, and how many of these were counted. */
int64_t sjob_requeues_asked(const struct sjob *j, size_t index);
int64_t sjob_requeues_done(const json_t *status, const struct sjob *j, size_t index);
/* Is there an element with a request that was not counted? */
bool sjob_asks_requeue(const struct sjob *j);

/* The end of an attempt. */
struct sjob_news {
    size_t index;
    bool is_requeued;
    struct sjob_end end;
};

/* The findings and decisions of one turn, before they are written. */
struct sjob_turn {
    struct sjob *job;
    int64_t now_ns; /* realtime */
    json_t *status;
    struct index_set completed;
    struct index_set failed;
    struct index_set cancelled;
    struct index_set unstarted;      /* elements that end in this turn without a pod */
    VEC(struct sjob_pod *) released; /* their finalizers go in the same transaction */
    VEC(struct sjob_pod *) killed;   /* deleted after the transaction */
    VEC(struct sjob_news) news;      /* for mail */
    bool has_deleting;               /* at most one pod in `released` is being deleted */
    size_t n_left;                   /* pods to count in a later turn */
    int64_t again_ns;                /* the latest time of the next look; -1: none */
    bool is_urgent;
};

/* slurm_sync.c */
void sjob_sync(struct sjob *j);

/* slurm_count.c */
void sjob_turn_init(struct sjob_turn *t, struct sjob *j);
void sjob_turn_done(struct sjob_turn *t);
void sjob_turn_again(struct sjob_turn *t, int64_t in_ns);
/* Has the element ended, with what this turn found? */
bool sjob_turn_has_ended(const struct sjob_turn *t, size_t index);
size_t sjob_turn_ended(const struct sjob_turn *t);
/* Counts the pods that are over. */
void sjob_turn_count(struct sjob_turn *t);
/* An element that never started ends. */
void sjob_turn_cancel(struct sjob_turn *t, size_t index);
/* Starts an element anew that had ended. */
void sjob_turn_requeue(struct sjob_turn *t, size_t index);

bool sjob_turn_release(struct sjob_turn *t, struct sjob_pod *p);
/* The attempt ended: counts its end, or starts the element anew. `nodes` NULL: none. */
void sjob_turn_end(struct sjob_turn *t, size_t index, const struct sjob_end *end,
                   const char *nodes);

/* slurm_prolog.c: drains the node of an attempt whose prolog or epilog failed, and holds the job
 * that did not begin, or whose exit code asks for it. False: the attempt is counted in a later
 * turn. */
bool sjob_take_programs(struct sjob_turn *t, struct sjob_pod *p);
/* Does the job have a script that ended with a code of RequeueExit or RequeueExitHold? */
bool sjob_exits_again(const struct sjob *j, const struct sjob_end *end);

/* slurm_mail.c */
enum sjob_mail {
    SJOB_MAIL_BEGIN,
    SJOB_MAIL_END,
    SJOB_MAIL_FAIL,
    SJOB_MAIL_REQUEUE,
    SJOB_MAIL_TIME_LIMIT,
    SJOB_MAIL_INVALID_DEPEND,
    SJOB_MAILS
};
bool sjob_wants_mail(const struct sjob *j, enum sjob_mail what);
/* Does each element get its own mail? Else the array as a whole. */
bool sjob_mails_elements(const struct sjob *j);
/* Sends mail if the job wants it and slurm.conf has a program for it. */
void sjob_mail(struct sjob *j, enum sjob_mail what, size_t index, const struct sjob_end *end);
void sjob_mail_begin(struct sjob *j, size_t index, const struct sjob_end *end);
void sjob_mail_ends(const struct sjob_turn *t); /* after the turn was written */
void slurm_mail_done(struct slurm_jobs *s);

/* slurm_gang.c: the same for attempts on several nodes */
void sjob_turn_count_gangs(struct sjob_turn *t);

/* slurm_write.c: writes the status with the finalizers; then deletes pods. False: not written. */
bool sjob_turn_write(struct sjob_turn *t);
