/*
 * what_if.c - what-if questions: changes made in a trial and undone
 *
 * The engine makes the changes in a trial, starts the waiting workloads in their turn, and undoes
 * all of it. Added nodes are the exception: the engine really adds them, and removes them after.
 */

#include "engine/place/place.h"
#include "engine/place/search.h"
#include "engine/plan/backfill.h"
#include "engine/plan/claim.h"
#include "engine/queue/turn.h"

enum {
    CHANGES_MAX = 256,
    ADDED_MAX = 4096, /* nodes in all */
};

struct what_if {
    struct mete_engine *e;
    int64_t now_ns;
    VEC(uint64_t) started;
    VEC(struct workload *) cancelled; /* cancelled while waiting: out of the order until the end */
    VEC(struct workload *) displaced;
    size_t n_ended; /* the first of the displaced, which do not run again */
    VEC(const char *) added;
};

static enum mete_result check_change(struct mete_engine *e, const struct mete_change *c)
{
    const struct node *n;

    switch (c->kind) {
    case METE_CHANGE_END:
        if (!engine_workload(e, c->workload))
            return engine_refuse(e, METE_NOT_FOUND, "there is no workload %llu",
                                 (unsigned long long)c->workload);
        return METE_OK;
    case METE_CHANGE_ADD:
        if (!c->like || c->count == 0 || c->count > ADDED_MAX)
            return engine_refuse(e, METE_INVALID, "1 to %d nodes can be added", ADDED_MAX);
        return METE_OK;
    case METE_CHANGE_DRAIN:
    case METE_CHANGE_RESUME:
        n = c->node ? engine_node(e, c->node) : NULL;
        if (!n || !n->is_present)
            return engine_refuse(e, METE_NOT_FOUND, "there is no node '%s'",
                                 c->node ? c->node : "");
        return METE_OK;
    }
    return engine_refuse(e, METE_INVALID, "no such kind of change: %d", (int)c->kind);
}

/* Adds a node like `like`, with an unused name. */
static enum mete_result add_node(struct what_if *f, const struct mete_node *like)
{
    struct arena *a = f->e->answers;
    struct mete_node node = *like;
    struct mete_gpu *gpus = arena_alloc(a, (like->n_gpus + 1) * sizeof(*gpus));
    struct mete_label *labels = arena_alloc(a, (like->n_labels + 1) * sizeof(*labels));
    size_t number = f->added.n + 1;
    const char *name;
    enum mete_result result;

    do
        name = arena_format(a, "%s+%zu", like->name ? like->name : "", number++);
    while (engine_node(f->e, name));
    for (size_t i = 0; i < like->n_gpus; i++) {
        gpus[i] = like->gpus[i];
        gpus[i].uuid = arena_format(a, "%s/%zu", name, i);
    }
    for (size_t i = 0; i < like->n_labels; i++) {
        labels[i] = like->labels[i];
        if (like->name && labels[i].value && strcmp(labels[i].value, like->name) == 0)
            labels[i].value = name; /* the hostname label */
    }
    node.name = name;
    node.gpus = gpus;
    node.labels = labels;
    result = mete_node_set(f->e, &node);
    if (result == METE_OK)
        vec_add(&f->added, name);
    return result;
}

static void remove_added(struct what_if *f)
{
    VEC_EACH (&f->added, name) {
        (void)mete_node_remove(f->e, *name); /* add_node added it */
    }
}

static void what_if_displace(struct what_if *f, struct workload *w)
{
    if (w->charged)
        queue_count_held(f->e, w, w->charged, -1);
    for (size_t i = 0; i < w->n_pods; i++)
        pod_give(f->e, &w->pods[i]);
    vec_add(&f->displaced, w);
}

static void what_if_end(struct what_if *f, struct workload *w)
{
    if (w->is_placed && w->pods[0].node) {
        what_if_displace(f, w);
    } else if (!w->is_placed && w->all.size > 0) {
        group_unwait(f->e, w);
        vec_add(&f->cancelled, w);
    }
}

static void what_if_drain(struct what_if *f, struct node *n)
{
    SET(f->e, n->is_cordoned, true);
    node_touch(f->e, n);
    while (n->pods)
        what_if_displace(f, n->pods->workload);
}

static void what_if_resume(struct what_if *f, struct node *n)
{
    SET(f->e, n->is_cordoned, false);
    node_touch(f->e, n);
}

static bool what_if_start(struct what_if *f, struct workload *w)
{
    struct attempt a = {.e = f->e, .w = w, .now_ns = f->now_ns, .is_turn = true};
    struct mete_engine *e = f->e;
    size_t mark;

    if (!queue_may_start(e, w, NULL))
        return false;
    mark = journal_open(&e->journal);
    if (!place_pods(e, &a)) {
        journal_undo(&e->journal, mark);
        return false;
    }
    queue_count_trial(e, w);
    journal_keep(&e->journal, mark);
    vec_add(&f->started, w->key.id);
    return true;
}

/* May later workloads pass `w`? Only when no backfill reservation and no eviction would give it
 * room. */
static bool may_pass(const struct what_if *f, const struct workload *w)
{
    if (w->queue->reclaim != METE_PREEMPT_NEVER || w->queue->within != METE_PREEMPT_NEVER)
        return false;
    return f->e->reserve_depth == 0 || !queue_may_start(f->e, w, NULL) ||
           group_never_fits(f->e, w->group);
}

static void start_waiting(struct what_if *f)
{
    struct mete_engine *e = f->e;
    struct group *g;

    turns_begin(e);
    while ((g = turn_next(e)) != NULL) {
        struct workload *w = workload_of_group(g->at);
        struct order_link *next = order_next(g->at);

        if (w->n_evicting > 0 || what_if_start(f, w)) {
            turn_end(e, g, next);
            continue;
        }
        if (!may_pass(f, w))
            return;
        turn_end(e, g, NULL);
    }
}

/* Starts displaced workloads elsewhere, and moves those that start to the front of the list. */
static size_t restart_displaced(struct what_if *f, size_t first)
{
    size_t n = first;

    for (size_t i = first; i < f->displaced.n; i++) {
        struct workload *w = f->displaced.at[i];

        if (!what_if_start(f, w))
            continue;
        f->started.n--; /* it is not a waiting workload that started */
        f->displaced.at[i] = f->displaced.at[n];
        f->displaced.at[n++] = w;
    }
    return n - first;
}

static enum mete_result add_all(struct what_if *f, const struct mete_change *changes, size_t n)
{
    enum mete_result result = METE_OK;
    size_t sum = 0;

    for (size_t i = 0; i < n && result == METE_OK; i++) {
        if (changes[i].kind != METE_CHANGE_ADD)
            continue;
        sum += changes[i].count;
        if (sum > ADDED_MAX)
            return engine_refuse(f->e, METE_INVALID, "1 to %d nodes can be added", ADDED_MAX);
        for (uint32_t k = 0; k < changes[i].count && result == METE_OK; k++)
            result = add_node(f, changes[i].like);
    }
    return result;
}

static void make_changes(struct what_if *f, const struct mete_change *changes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (changes[i].kind == METE_CHANGE_END)
            what_if_end(f, engine_workload(f->e, changes[i].workload));
    f->n_ended = f->displaced.n;
    VEC_EACH (&f->e->backfills, r) {
        SET(f->e, (*r)->is_confirmed, (*r)->is_preempting); /* until the owner had its turn */
    }
    for (size_t i = 0; i < n; i++) {
        if (changes[i].kind == METE_CHANGE_DRAIN)
            what_if_drain(f, engine_node(f->e, changes[i].node));
        if (changes[i].kind == METE_CHANGE_RESUME)
            what_if_resume(f, engine_node(f->e, changes[i].node));
    }
}

static void what_if_answer(struct what_if *f, struct mete_what_if *ret)
{
    struct arena *a = f->e->answers;
    size_t n = f->displaced.n - f->n_ended;
    uint64_t *started = arena_alloc(a, (f->started.n + 1) * sizeof(*started));
    uint64_t *displaced = arena_alloc(a, (n + 1) * sizeof(*displaced));

    for (size_t i = 0; i < f->started.n; i++)
        started[i] = f->started.at[i];
    for (size_t i = 0; i < n; i++)
        displaced[i] = f->displaced.at[f->n_ended + i]->key.id;
    ret->started = started;
    ret->n_started = f->started.n;
    ret->displaced = displaced;
    ret->n_displaced = n;
}

enum mete_result mete_what_if(struct mete_engine *e, const struct mete_change *changes, size_t n,
                              int64_t now_ns, struct mete_what_if *ret)
{
    struct what_if f = {.e = e, .now_ns = now_ns};
    enum mete_result result = METE_OK;
    mete_record_fn record = e->record;
    struct claims_aside claims;
    size_t mark;

    *ret = (struct mete_what_if){0};
    if (n > CHANGES_MAX)
        return engine_refuse(e, METE_INVALID, "over %d changes", CHANGES_MAX);
    for (size_t i = 0; i < n && result == METE_OK; i++)
        result = check_change(e, &changes[i]);
    if (result != METE_OK)
        return result;
    arena_reset(e->answers);
    arena_reset(e->scratch);
    e->record = NULL;                /* a question is not recorded */
    claims = claims_put_aside(e, 0); /* the changes change the claims */
    result = add_all(&f, changes, n);
    if (result == METE_OK) {
        mark = journal_open(&e->journal);
        make_changes(&f, changes, n);
        ret->n_restarted = restart_displaced(&f, f.n_ended);
        start_waiting(&f);
        what_if_answer(&f, ret);
        journal_undo(&e->journal, mark);
        VEC_EACH (&f.cancelled, w) {
            group_wait(e, *w);
        }
    }
    remove_added(&f);
    claims_put_back(e, &claims);
    e->record = record;
    vec_done(&f.started);
    vec_done(&f.cancelled);
    vec_done(&f.displaced);
    vec_done(&f.added);
    return result;
}
