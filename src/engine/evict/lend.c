/* lend.c - the cpus of suspended workloads: lent, kept together, and taken back */

#include "engine/evict/lend.h"

#include <inttypes.h>

#include "engine/evict/preempt.h"
#include "engine/place/search.h"
#include "engine/record/record.h"

bool lend_may_suspend(const struct mete_engine *e, const struct workload *by,
                      const struct workload *victim)
{
    return (e->class_suspended >> victim->group->evict_class & 1) &&
           preempt_by_class(e, by, victim);
}

/* The sums over a node's pods that its filler follows from. */
struct lend_sums {
    int64_t lent;
    int64_t borrowed;
};

static struct lend_sums sums_of(const struct mete_engine *e, const struct node *n)
{
    struct lend_sums sums = {0};
    uint64_t classes = 0;

    for (const struct pod *p = n->pods; p; p = p->after) {
        const struct workload *w = p->workload;

        if (!p->is_lent || (e->borrower && lend_may_suspend(e, e->borrower, w)))
            continue;
        sums.lent += pod_shape(p)->cpu;
        classes |= UINT64_C(1) << w->group->evict_class;
    }
    classes &= e->class_suspended;
    for (const struct pod *p = n->pods; p && classes != 0; p = p->after)
        if (!p->is_lent && (e->class_victims[p->workload->group->evict_class] & classes))
            sums.borrowed += pod_shape(p)->cpu;
    return sums;
}

/* A filler never makes a node fuller than full. */
static int64_t filler_of(const struct mete_engine *e, const struct node *n, const struct room *room)
{
    struct lend_sums sums = sums_of(e, n);
    int64_t idle = room->capacity - (room->used - n->filler);
    int64_t filler = sums.lent - sums.borrowed;

    filler = filler < idle ? filler : idle;
    return filler > 0 ? filler : 0;
}

void node_fill(struct mete_engine *e, struct node *n)
{
    struct room *room = n->n_lent > 0 || n->filler > 0 ? node_room(n, e->cpu) : NULL;
    int64_t filler;

    if (!room)
        return;
    filler = filler_of(e, n, room);
    if (filler == n->filler)
        return;
    SET(e, room->used, room->used - n->filler + filler);
    SET(e, n->filler, filler);
    node_touch(e, n);
}

/* Does nothing more for pods without cpus: these lend none. */
static void pod_count_lent(struct mete_engine *e, struct pod *p, bool is_lent)
{
    struct node *n = p->node;
    int64_t cpu = pod_shape(p)->cpu;
    struct room *room = cpu > 0 ? node_room(n, e->cpu) : NULL;

    if (p->is_lent == is_lent)
        return;
    SET(e, p->is_lent, is_lent);
    SET(e, n->n_lent, is_lent ? n->n_lent + 1 : n->n_lent - 1);
    if (room)
        SET(e, room->used, is_lent ? room->used - cpu : room->used + cpu);
    node_fill(e, n);
    node_touch(e, n);
}

void pod_lend(struct mete_engine *e, struct pod *p)
{
    pod_count_lent(e, p, true);
}

void pod_unlend(struct mete_engine *e, struct pod *p)
{
    pod_count_lent(e, p, false);
}

static void fill_nodes_of(struct mete_engine *e, const struct workload *w)
{
    for (size_t i = 0; i < w->n_pods; i++)
        if (i == 0 || w->pods[i].node != w->pods[i - 1].node)
            node_fill(e, w->pods[i].node);
}

void lend_fill_all(struct mete_engine *e)
{
    VEC_EACH (&e->lenders, w)
        fill_nodes_of(e, *w);
}

bool lend_has_lender(const struct mete_engine *e, const struct workload *w)
{
    VEC_EACH (&e->lenders, lender)
        if (lend_may_suspend(e, w, *lender))
            return true;
    return false;
}

void lend_open(struct mete_engine *e, const struct workload *w)
{
    SET(e, e->borrower, w);
    lend_fill_all(e);
}

void lend_close(struct mete_engine *e)
{
    if (!e->borrower)
        return;
    SET(e, e->borrower, NULL);
    lend_fill_all(e);
}

/* ---- the caller's calls ---- */

enum mete_result mete_workload_suspended(struct mete_engine *e, uint64_t id)
{
    struct workload *w = engine_workload(e, id);

    if (!w || !w->is_placed)
        return engine_refuse(e, METE_NOT_FOUND, "workload %" PRIu64 " is not placed", id);
    record_call(e, RECORD_WORKLOAD_SUSPENDED, &(struct record_id){id});
    preempt_gone(e, w);
    if (w->is_lending)
        return METE_OK;
    w->is_lending = true;
    w->lent_ns = e->now_ns;
    vec_add(&e->lenders, w);
    for (size_t i = 0; i < w->n_pods; i++)
        pod_lend(e, &w->pods[i]);
    engine_freed(e);
    e->version++;
    return METE_OK;
}

void lend_forget(struct mete_engine *e, struct workload *w)
{
    w->is_lending = false;
    for (size_t i = 0; i < e->lenders.n; i++)
        if (e->lenders.at[i] == w) {
            vec_remove(&e->lenders, i);
            return;
        }
}

/* ---- going on ---- */

static bool share_node(const struct workload *a, const struct workload *b)
{
    for (size_t i = 0; i < a->n_pods; i++)
        for (size_t k = 0; k < b->n_pods; k++)
            if (a->pods[i].node == b->pods[k].node)
                return true;
    return false;
}

/* Does another lender go on first, or a preemptor wait for cpus there? */
static bool lend_is_behind(const struct mete_engine *e, const struct workload *w)
{
    VEC_EACH (&e->lenders, other)
        if (lend_may_suspend(e, *other, w) && share_node(*other, w))
            return true;
    for (size_t i = 0; i < w->n_pods; i++) {
        const struct backfill *r = w->pods[i].node->backfill;

        if (r && r->is_preempting && lend_may_suspend(e, r->owner, w))
            return true;
    }
    return false;
}

/* Does the workload fit, with its cpus counted? Where nothing else uses cpus it does, also where a
 * node has become smaller. */
static bool lend_fits(const struct mete_engine *e, const struct workload *w, const struct node *n)
{
    const struct room *room = node_room(n, e->cpu);

    if (!room || room->used - n->filler <= room->capacity)
        return true;
    for (const struct pod *p = n->pods; p; p = p->after)
        if (p->workload != w && !p->is_lent && pod_shape(p)->cpu > 0)
            return false;
    return true;
}

static bool lend_take_back(struct mete_engine *e, struct workload *w)
{
    size_t mark = journal_open(&e->journal);
    bool fits = true;

    for (size_t i = 0; i < w->n_pods; i++)
        pod_unlend(e, &w->pods[i]);
    for (size_t i = 0; i < w->n_pods && fits; i++)
        fits = lend_fits(e, w, w->pods[i].node);
    if (fits)
        journal_keep(&e->journal, mark);
    else
        journal_undo(&e->journal, mark);
    return fits;
}

void lend_resume(struct mete_engine *e, int64_t now_ns)
{
    for (size_t i = 0; i < e->lenders.n;) {
        struct workload *w = e->lenders.at[i];

        if (lend_is_behind(e, w) || !lend_take_back(e, w)) {
            i++;
            continue;
        }
        lend_forget(e, w);
        if (w->end_ns != NEVER_NS && w->lent_ns > 0 && now_ns > w->lent_ns &&
            __builtin_add_overflow(w->end_ns, now_ns - w->lent_ns, &w->end_ns))
            w->end_ns = NEVER_NS;
        vec_add(&e->resumes, (struct mete_resume){w->key.id});
        e->version++;
        i = 0; /* those that it may suspend were behind it */
    }
}

/* ---- checks ---- */

const char *lend_check_node(const struct mete_engine *e, const struct node *n)
{
    const struct room *room = node_room(n, e->cpu);
    uint32_t n_lent = 0;

    for (const struct pod *p = n->pods; p; p = p->after) {
        n_lent += p->is_lent;
        if (p->is_lent != p->workload->is_lending)
            return "a pod and its workload differ in lending";
    }
    if (n_lent != n->n_lent)
        return "a node's count of lending pods is wrong";
    if (n->filler != (room && n_lent > 0 ? filler_of(e, n, room) : 0))
        return "a node's filler differs from the cpus that are lent and not borrowed";
    return NULL;
}

const char *lend_check(const struct mete_engine *e)
{
    if (e->borrower)
        return "a filler is open outside of a trial";
    VEC_EACH (&e->lenders, w)
        if (!(*w)->is_placed || !(*w)->is_lending)
            return "a lender is not placed, or does not lend";
    return NULL;
}
