/*
 * queue.h - the tree of queues: the workloads of each, and what each holds of its quotas
 *
 * A queue has a cell for each counted resource: what its workloads and those of the queues below
 * hold. Cells are written with SET, so that a trial can evict and place. Nothing is counted before
 * the first mete_queue_set: only the queue "default" exists then.
 */
#pragma once

#include "engine/queue/decay.h"
#include "engine/state.h"

enum {
    RESOURCES_MAX = 64, /* counted ones */
    QUEUES_MAX = 1 << 16,
};

enum {
    COUNTED_GPU, /* index of the resource "gpu", which is always counted */
};

/* A counted resource: it matters for quotas and shares. */
struct counted {
    uint32_t name;  /* "gpu:h100", or as in requests */
    uint32_t model; /* of "gpu:MODEL"; 0 */
    int64_t capacity;
};

struct queue_cell {
    bool has_quota;
    int64_t nominal;
    int64_t ceiling;   /* nominal + borrow limit; METE_UNLIMITED: none */
    int64_t lend;      /* the lend limit as given */
    int64_t guarantee; /* the part of the nominal amount that others may not borrow */
    int64_t held;
    int64_t secured; /* held by workloads within the nominal quota: see preempt.c */
    int64_t below;   /* sum of `kept` of the queues below */
    int64_t kept;    /* held, or guaranteed where that is more */
    struct decay usage;
};

/* A user of a queue, present while the user holds something there or has decayed usage. */
struct queue_user {
    struct map_handle handle;
    uint32_t user;
    uint32_t n_running;
    int64_t gpu_milli;
    uint64_t billed; /* dominant part of the cluster */
    struct decay usage;
    uint32_t factor; /* fair share, of SHARE_FACTOR_ONE */
};

/* A queue, kept while the caller has it (is_present) or a workload names it. */
struct queue {
    struct map_handle handle;
    char *name; /* "" of the root */
    bool is_present;
    bool is_stopped;
    bool has_quotas;
    bool splits_users; /* this queue or one above limits users: a group has one user */
    bool is_before;    /* its claims come before the asking workload */
    bool is_over;      /* in a cycle: see turn.c */
    uint64_t place;    /* in the order of the present queues' names; 0: not present */
    unsigned refs;     /* workloads */
    unsigned depth;    /* of the root 0 */
    struct queue *parent;
    VEC(struct queue *) children; /* by name */
    uint32_t weight;
    uint32_t reserve_depth; /* 0: with all others */
    uint32_t n_kept;        /* backfill reservations within its own depth, in this cycle */
    uint32_t n_claims;      /* claims of its waiting workloads */
    struct mete_limits limits;
    struct mete_limits user_limits;
    int64_t time_limit_ns;
    int64_t min_run_ns;
    enum mete_preempt reclaim;
    enum mete_preempt within;
    struct order_key last_claim; /* no workload with a claim is behind this */

    struct queue_cell *cells; /* by index of the counted resource */
    struct queue_user *users;
    struct order waiting;
    uint32_t n_on_hold;         /* of the waiting workloads */
    uint32_t n_running;         /* with those below */
    VEC(struct group *) groups; /* groups with waiting workloads */
    size_t waiting_index;       /* index in e->queues_waiting, if there are such groups */
    struct workload *first_placed;
    struct workload *last_placed;

    /* In a cycle: see turn.c. Old while turns_pass is not e->turns_pass. */
    uint64_t turns_pass;
    VEC(struct group *) turns;
    VEC(struct queue *) heads;
    uint64_t share;
};

/* A workload's amount of each counted resource. */
struct charge {
    int64_t at[RESOURCES_MAX];
};

/* The quota or limit that keeps a workload from starting; the first by precedence. */
struct quota_block {
    enum mete_reason_code code; /* METE_REASON_NONE */
    const struct queue *queue;
    const char *resource; /* a counted resource, "workloads", "time", or NULL */
    size_t counted;       /* its index, or RESOURCES_MAX */
    int64_t asked;
    int64_t held;
    int64_t limit;
};

/* queue.c */
struct queue *queue_new(const char *name);
/* Makes the queue "default", which always exists. */
void queue_default(struct mete_engine *e);
void queue_free(struct mete_engine *e, struct queue *q);
/* Finds the queue, or makes it, not present. */
struct queue *queue_make(struct mete_engine *e, const char *name);
/* Drops a workload's reference. */
void queue_unref(struct mete_engine *e, struct queue *q);
/* May workloads be in this queue? */
static inline bool queue_is_leaf(const struct queue *q)
{
    return q->is_present && q->children.n == 0;
}
void queues_free(struct mete_engine *e);
/* Begins to count what workloads hold. */
void queues_begin(struct mete_engine *e);
/* The tree or the limits changed: makes groups and all counts anew. */
void queues_changed(struct mete_engine *e);
/* NULL, or the first sum that does not add up. */
const char *queues_check(struct mete_engine *e);
uint64_t queues_hash(const struct mete_engine *e, uint64_t hash);

/* recount.c */
/* Counts anew what all queues hold and keep. */
void queues_recount(struct mete_engine *e);
/* Does the queue have neither workloads nor queues below it? */
bool queue_is_empty(const struct queue *q);
/* Counts the guarantees of an empty queue in the queues above it, or takes them out (`sign` -1). */
void queue_keep(const struct mete_engine *e, struct queue *empty, int sign);

/* quota.c */
/* The charge of a workload's requests; `shapes`, unless NULL, in place of its own. */
void charge_of(struct mete_engine *e, const struct workload *w, struct shape *const *shapes,
               struct charge *ret);
/* The charge of a placed workload. */
void charge_of_placed(struct mete_engine *e, const struct workload *w, struct charge *ret);
/* Adds (`sign` 1) or takes (-1) the charge in the workload's queues. A trial's undo undoes it. */
void queue_count_held(struct mete_engine *e, struct workload *w, const int64_t *charge, int sign);
/* Do quotas and limits admit the workload? If not, fills `ret` (may be NULL). */
bool queue_admits(struct mete_engine *e, const struct workload *w, const struct charge *c,
                  struct quota_block *ret);
/* The same before a trial, for what the workload asks for; `shapes` as in charge_of. */
bool queue_may_start(struct mete_engine *e, const struct workload *w, struct shape *const *shapes);
/* In a trial: are the gpu models of the placement within the quotas of models? */
bool queue_admits_placed(struct mete_engine *e, const struct workload *w, struct quota_block *ret);
/* NULL: the user holds nothing in the queue and has no decayed usage there. */
struct queue_user *queue_user(const struct queue *q, uint32_t user);
/* The queue's holdings of counted resource `i`, as a part of the cluster. */
uint64_t queue_part(const struct mete_engine *e, const struct queue *q, size_t i);
/* An amount as a part of the cluster. */
uint64_t queue_part_of(int64_t amount, int64_t capacity);
/* Makes the workload's user known in its queue and all above. */
void queue_users_make(struct mete_engine *e, const struct workload *w);
void queue_user_free(struct mete_engine *e, struct queue *q, struct queue_user *u);
/* In a trial: counts what the workload got in its queues. */
void queue_count_trial(struct mete_engine *e, struct workload *w);
/* Counts what a placed workload holds. */
void queue_count_placed(struct mete_engine *e, struct workload *w);
/* The workload is placed and counted; is gone again. */
void queue_placed(struct mete_engine *e, struct workload *w);
void queue_given(struct mete_engine *e, struct workload *w);
/* Is the queue, with the charge, within the nominal quotas of the charged resources? `ret_has`: has
 * it any? */
bool queue_is_within(const struct mete_engine *e, const struct queue *q, const struct charge *c,
                     bool *ret_has);
/* Is the charge, beside all that is secured, within the nominal quotas of the workload's queues?
 * False: no queue has one. */
bool queue_would_secure(const struct mete_engine *e, const struct workload *w, const int64_t *c);
void queue_unsecure(struct mete_engine *e, struct workload *w);
void queues_secure(struct mete_engine *e);
/* Brings the capacities of e->counted up to date with the nodes. */
void queues_measure(struct mete_engine *e);
/*
 * The queue's dominant share by weight: held now and used lately, plus half of the charge `c` (may
 * be NULL), so that the queue nearer to its due has the turn.
 */
uint64_t queue_share(const struct mete_engine *e, const struct queue *q, const struct charge *c);
