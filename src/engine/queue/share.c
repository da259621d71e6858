/* share.c - fair-share factors, and the usage that they come from */

#include "engine/queue/share.h"

#include <stdlib.h>

/* Normalized shares and usages are in 1/WHOLE. */
#define WHOLE (UINT64_C(1) << 32)

enum {
    FOLDS_A_HALF_LIFE = 1024
};
#define FOLD_LEAST_NS INT64_C(1000000000)

uint32_t share_factor(const struct queue *q, uint32_t user)
{
    const struct queue_user *u = queue_user(q, user);

    return u ? u->factor : SHARE_FACTOR_ONE;
}

static uint64_t used_by(const struct queue *q)
{
    uint64_t sum = 0;
    const struct queue_user *u;
    const struct queue_user *next;

    map_each (handle, q->users, u, next) {
        sum += u->usage.lately;
    }
    return sum;
}

/* A queue or a user, beside its siblings. */
struct share_entry {
    struct queue *queue; /* NULL: the entry is a user */
    struct queue_user *user;
    const char *name;
    uint64_t weight;
    uint64_t used;
    uint64_t level; /* share / usage, in 1/2^32; UINT64_MAX: no usage */
};

struct entries {
    struct share_entry *at;
    size_t n;
    uint64_t weight; /* sum over the entries */
    uint64_t used;
};

/* The level is rounded once, so that equal levels stay equal. Weights are under 2^32, all uses
 * under 2^60. */
static uint64_t level_of(const struct share_entry *x, const struct entries *all)
{
    unsigned __int128 level;

    if (x->used == 0)
        return UINT64_MAX;
    level = ((unsigned __int128)x->weight * all->used << 32) /
            ((unsigned __int128)all->weight * x->used);
    return level < UINT64_MAX ? (uint64_t)level : UINT64_MAX - 1;
}

/* Appends the queues or users right below a queue to `to`. */
static void list_below(struct mete_engine *e, const struct queue *q, struct entries *to)
{
    struct queue_user *u;
    struct queue_user *next;
    size_t first = to->n;

    to->weight = 0;
    to->used = 0;
    VEC_EACH (&q->children, child) {
        to->at[to->n++] = (struct share_entry){
            *child, NULL, (*child)->name, (*child)->weight, used_by(*child), 0};
    }
    map_each (handle, q->users, u, next) {
        if (q->children.n == 0)
            to->at[to->n++] = (struct share_entry){
                NULL, u, intern_text(e->texts, u->user), 1, u->usage.lately, 0};
    }
    for (size_t i = first; i < to->n; i++) {
        to->weight += to->at[i].weight;
        to->used += to->at[i].used;
    }
    for (size_t i = first; i < to->n; i++) {
        struct share_entry *x = &to->at[i];

        x->level = level_of(x, to);
    }
}

static size_t count_below(const struct queue *q)
{
    return q->children.n > 0 ? q->children.n : map_count(handle, q->users);
}

/* The larger level first; queues before users; then by name. */
static int compare_entries(const void *left, const void *right)
{
    const struct share_entry *a = left;
    const struct share_entry *b = right;

    if (a->level != b->level)
        return a->level > b->level ? -1 : 1;
    if (!a->queue != !b->queue)
        return a->queue ? -1 : 1;
    return strcmp(a->name, b->name);
}

struct ranks {
    size_t n_users;
    size_t left; /* users without a rank */
    size_t rank;
};

static void share_walk(struct mete_engine *e, struct entries *level, struct ranks *ranks);

/* Walks the queues from `first` on with the same level: their children are sorted together. Returns
 * the index behind them. */
static size_t share_walk_queues(struct mete_engine *e, const struct entries *level, size_t first,
                                struct ranks *ranks)
{
    struct entries next = {0};
    size_t end = first;
    size_t n = 0;

    for (; end < level->n && level->at[end].queue && level->at[end].level == level->at[first].level;
         end++)
        n += count_below(level->at[end].queue);
    next.at = arena_alloc(e->scratch, (n + 1) * sizeof(*next.at));
    for (size_t i = first; i < end; i++)
        list_below(e, level->at[i].queue, &next);
    share_walk(e, &next, ranks);
    return end;
}

static void share_walk(struct mete_engine *e, struct entries *level, struct ranks *ranks)
{
    qsort(level->at, level->n, sizeof(*level->at), compare_entries);
    for (size_t i = 0; i < level->n;) {
        const struct share_entry *x = &level->at[i];

        if (x->queue) {
            i = share_walk_queues(e, level, i, ranks);
            continue;
        }
        if (i == 0 || level->at[i - 1].queue || level->at[i - 1].level != x->level)
            ranks->rank = ranks->left; /* else the rank of the user before */
        x->user->factor =
            (uint32_t)decay_scale(ranks->rank, SHARE_FACTOR_ONE, (uint64_t)ranks->n_users);
        ranks->left--;
        i++;
    }
}

static size_t count_users(const struct queue *q)
{
    size_t n = q->children.n == 0 ? map_count(handle, q->users) : 0;

    VEC_EACH (&q->children, child) {
        n += count_users(*child);
    }
    return n;
}

static void share_find_ranks(struct mete_engine *e)
{
    size_t n = count_users(e->root);
    struct ranks ranks = {.n_users = n, .left = n};
    struct entries top = {0};

    top.at = arena_alloc(e->scratch, (count_below(e->root) + 1) * sizeof(*top.at));
    list_below(e, e->root, &top);
    share_walk(e, &top, &ranks);
}

/* Computes the factors below a queue. `share` and `usage` are the queue's, normalized; `whole`: all
 * usage. */
static void share_find_classic(struct mete_engine *e, const struct queue *q, uint64_t share,
                               uint64_t usage, uint64_t whole)
{
    struct entries level = {0};

    level.at = arena_alloc(e->scratch, (count_below(q) + 1) * sizeof(*level.at));
    list_below(e, q, &level);
    for (size_t i = 0; i < level.n; i++) {
        const struct share_entry *x = &level.at[i];
        uint64_t own = whole > 0 ? decay_scale(x->used, WHOLE, whole) : 0;
        uint64_t effective = own;
        uint64_t part = decay_scale(share, x->weight, level.weight);

        if (q->parent && usage > own)
            effective = own + decay_scale(usage - own, x->weight, level.weight);
        if (x->queue)
            share_find_classic(e, x->queue, part, effective, whole);
        else
            x->user->factor =
                (uint32_t)(decay_exp2(effective, part > 0 ? part : 1) / (EXP2_ONE >> 20));
    }
}

void share_find(struct mete_engine *e)
{
    arena_reset(e->scratch);
    if (e->fairness.formula == METE_FAIR_TREE)
        share_find_ranks(e);
    else
        share_find_classic(e, e->root, WHOLE, 0, used_by(e->root));
}

static void share_begin_queue(const struct mete_engine *e, struct queue *q, int64_t passed_ns)
{
    struct queue_user *u;
    struct queue_user *next;

    for (size_t i = 0; i < e->counted.n; i++)
        decay_note(&q->cells[i].usage, 0, passed_ns);
    map_each (handle, q->users, u, next) {
        decay_note(&u->usage, 0, passed_ns);
    }
}

static void share_fold_queue(struct mete_engine *e, struct queue *q, int64_t passed_ns)
{
    int64_t half_life_ns = e->fairness.half_life_ns;
    struct queue_user *u;
    struct queue_user *next;

    for (size_t i = 0; i < e->counted.n; i++)
        decay_fold(&q->cells[i].usage, passed_ns, half_life_ns);
    map_each (handle, q->users, u, next) {
        decay_fold(&u->usage, passed_ns, half_life_ns);
        if (u->n_running == 0 && u->usage.lately == 0)
            queue_user_free(e, q, u);
    }
}

void share_begin(struct mete_engine *e, int64_t now_ns)
{
    int64_t period_ns = e->fairness.half_life_ns / FOLDS_A_HALF_LIFE;
    int64_t passed_ns = now_ns - e->now_ns;
    struct queue *q;
    struct queue *next;

    if (e->fairness.half_life_ns == 0 || passed_ns <= 0)
        return;
    if (e->folded_ns == 0) /* the first cycle */
        e->folded_ns = e->now_ns > 0 ? e->now_ns : now_ns;
    share_begin_queue(e, e->root, passed_ns);
    map_each (handle, e->queue_map, q, next) {
        share_begin_queue(e, q, passed_ns);
    }
    if (period_ns < FOLD_LEAST_NS)
        period_ns = FOLD_LEAST_NS;
    if (now_ns - e->folded_ns < period_ns)
        return;
    share_fold_queue(e, e->root, now_ns - e->folded_ns);
    map_each (handle, e->queue_map, q, next) {
        share_fold_queue(e, q, now_ns - e->folded_ns);
    }
    e->folded_ns = now_ns;
}

static void share_end_queue(const struct mete_engine *e, struct queue *q)
{
    struct queue_user *u;
    struct queue_user *next;

    for (size_t i = 0; i < e->counted.n; i++)
        q->cells[i].usage.then = queue_part(e, q, i);
    map_each (handle, q->users, u, next) {
        u->usage.then = u->billed;
    }
}

void share_end(struct mete_engine *e)
{
    struct queue *q;
    struct queue *next;

    if (e->fairness.half_life_ns == 0)
        return;
    share_end_queue(e, e->root);
    map_each (handle, e->queue_map, q, next) {
        share_end_queue(e, q);
    }
}
