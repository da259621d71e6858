/*
 * queue.h - the tree of queues: who is in which, what each holds of what it may
 *
 * What workloads hold is counted in cells, one for each resource that counts, in their queue and in
 * all above it. Cells are written with SET, so that a trial may evict and place. Nothing is counted
 * before the first mete_queue_set: there is only "default" then.
 */
#pragma once

#include "engine/queue/decay.h"
#include "engine/state.h"

enum {
    RESOURCES_MAX = 64, /* that count */
    QUEUES_MAX = 1 << 16,
    QUEUE_DEPTH_MAX = 16,
};

enum {
    COUNTED_GPU, /* the number of that resource: always there */
};

/* A resource that counts for quota and share. */
struct counted {
    uint32_t name;  /* "gpu:h100", or as in requests */
    uint32_t model; /* of "gpu:MODEL"; 0 */
    int64_t capacity;
};

struct queue_cell {
    bool has_quota;
    int64_t nominal;
    int64_t ceiling;   /* nominal and borrow limit; METE_UNLIMITED */
    int64_t lend;      /* as given */
    int64_t guarantee; /* what others may not borrow of it */
    int64_t held;
    int64_t secured; /* by workloads within the nominal quota: see preempt.c */
    int64_t below;   /* kept in all by the queues below */
    int64_t kept;    /* what it holds, and what is guaranteed on top of that */
    struct decay usage;
};

/* Exists while the user holds something in the queue, or did lately. */
struct queue_user {
    struct map_handle handle;
    uint32_t user;
    uint32_t n_running;
    int64_t gpu_milli;
    uint64_t billed; /* dominant parts of the cluster, as shares are */
    struct decay usage;
    uint32_t factor; /* fair share, of SHARE_FACTOR_ONE */
};

/* Exists while it is there (is_present) or a workload names it. */
struct queue {
    struct map_handle handle;
    char *name; /* "" of the root */
    bool is_present;
    bool is_stopped;
    bool has_quotas;
    bool splits_users; /* it or one above it limits users: groups are of one user */
    bool is_before;    /* claims are, before who asks */
    bool is_over;      /* in a cycle: see turn.c */
    uint32_t place;    /* among those present, by name, from 1; 0: it is not there */
    unsigned refs;     /* workloads */
    unsigned depth;    /* of the root 0 */
    struct queue *parent;
    VEC(struct queue *) children; /* by name */
    uint32_t weight;
    uint32_t reserve_depth; /* 0: with all others */
    uint32_t n_kept;        /* of its own depth, in this cycle */
    uint32_t n_claims;      /* of those that wait */
    struct mete_limits limits;
    struct mete_limits user_limits;
    int64_t time_limit_ns;
    int64_t min_run_ns;
    enum mete_preempt reclaim;
    enum mete_preempt within;
    struct order_key last_claim; /* nobody who has one is behind this */

    struct queue_cell *cells; /* by number of the resource */
    struct queue_user *users;
    struct order waiting;
    uint32_t n_on_hold; /* of these */
    uint32_t n_extras;  /* pods beyond the least that wait, which nobody counts */
    uint32_t n_extras_on_hold;
    uint32_t n_running;         /* with those below */
    VEC(struct group *) groups; /* some wait */
    struct workload *first_placed;
    struct workload *last_placed;

    /* In a cycle: see turn.c. */
    VEC(struct group *) turns;
    VEC(struct queue *) heads;
    uint64_t share;
};

/* What a workload takes of each resource that counts. */
struct charge {
    int64_t at[RESOURCES_MAX];
};

/* Why a workload may not start, by quota; the first by precedence. */
struct quota_block {
    enum mete_reason_code code; /* METE_REASON_NONE */
    const struct queue *queue;
    const char *resource; /* a counted one, "workloads", "time", or NULL */
    size_t counted;       /* its number, or RESOURCES_MAX */
    int64_t asked;
    int64_t held;
    int64_t limit;
};

/* queue.c */
struct queue *queue_new(const char *name);
/* The queue that is always there. */
void queue_default(struct mete_engine *e);
void queue_free(struct mete_engine *e, struct queue *q);
/* Found, or made and not present. */
struct queue *queue_make(struct mete_engine *e, const char *name);
/* Lets go of a workload's hold. */
void queue_unref(struct mete_engine *e, struct queue *q);
/* Where workloads may be. */
static inline bool queue_is_leaf(const struct queue *q)
{
    return q->is_present && q->children.n == 0;
}
void queues_free(struct mete_engine *e);
/* From here on what is held is counted. */
void queues_begin(struct mete_engine *e);
/* The tree or the limits changed: groups and all that is counted are made anew. */
void queues_changed(struct mete_engine *e);
/* NULL, or what does not add up. */
const char *queues_check(struct mete_engine *e);
uint64_t queues_hash(const struct mete_engine *e, uint64_t hash);

/* quota.c */
/* What the workload asks for; with `shapes` for these in place of its own. */
void charge_of(struct mete_engine *e, const struct workload *w, struct shape *const *shapes,
               struct charge *ret);
/* What it holds where it is placed. */
void charge_of_placed(struct mete_engine *e, const struct workload *w, struct charge *ret);
/* `sign` 1 or -1: the workload's charge comes to its queues, or goes. Undone with a trial. */
void queue_count_held(struct mete_engine *e, struct workload *w, const int64_t *charge, int sign);
/* May it start? Fills `ret` (may be NULL) where not. */
bool queue_admits(struct mete_engine *e, const struct workload *w, const struct charge *c,
                  struct quota_block *ret);
/* The same for what it asks for, before anything is tried; `shapes` as in charge_of. */
bool queue_may_start(struct mete_engine *e, const struct workload *w, struct shape *const *shapes);
/* The models that it got, in a trial, are within the quotas of models. */
bool queue_admits_placed(struct mete_engine *e, const struct workload *w, struct quota_block *ret);
/* NULL where the user holds nothing there and did not lately. */
struct queue_user *queue_user(const struct queue *q, uint32_t user);
/* What it holds of a counted resource, as a part of the cluster. */
uint64_t queue_part(const struct mete_engine *e, const struct queue *q, size_t i);
/* An amount as a part of the cluster. */
uint64_t queue_part_of(int64_t amount, int64_t capacity);
/* Its user is known in its queue and those above it. */
void queue_users_make(struct mete_engine *e, const struct workload *w);
void queue_user_free(struct mete_engine *e, struct queue *q, struct queue_user *u);
/* In a trial: what it got counts in its queues. */
void queue_count_trial(struct mete_engine *e, struct workload *w);
/* Counts what a placed workload holds. */
void queue_count_placed(struct mete_engine *e, struct workload *w);
/* Placed and counted; and gone again. */
void queue_placed(struct mete_engine *e, struct workload *w);
void queue_given(struct mete_engine *e, struct workload *w);
/* Within the nominal quotas of what is asked for, counting what is held; false where there are
 * none. */
bool queue_is_within(const struct mete_engine *e, const struct queue *q, const struct charge *c,
                     bool *ret_has);
/* Within the nominal quotas of its queues beside all that is secured; false where none has one. */
bool queue_would_secure(const struct mete_engine *e, const struct workload *w, const int64_t *c);
void queue_unsecure(struct mete_engine *e, struct workload *w);
void queues_secure(struct mete_engine *e);
/* Brings e->counted up to the nodes that there are. */
void queues_measure(struct mete_engine *e);
/*
 * Held now and used lately, the largest part of the cluster, by weight; with half of what is asked
 * for (may be NULL), so that whoever is nearer to its due has the turn.
 */
uint64_t queue_share(const struct mete_engine *e, const struct queue *q, const struct charge *c);
