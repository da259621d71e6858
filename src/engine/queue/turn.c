/* turn.c - the turns of groups, by heaps of queues and groups */

#include "engine/queue/turn.h"

#include "base/attr.h"

/* The order of a heap of groups, by their next workloads. */
static bool group_is_first(const struct group *a, const struct group *b)
{
    return order_before(a->at->key, b->at->key);
}

static void sift_group(struct queue *q, size_t i)
{
    struct group **at = q->turns.at;

    for (;;) {
        size_t child = 2 * i + 1;
        struct group *moved = at[i];

        if (child >= q->turns.n)
            return;
        if (child + 1 < q->turns.n && group_is_first(at[child + 1], at[child]))
            child++;
        if (!group_is_first(at[child], moved))
            return;
        at[i] = at[child];
        at[child] = moved;
        i = child;
    }
}

static bool queue_is_first(const struct queue *a, const struct queue *b)
{
    if (a->is_over != b->is_over)
        return b->is_over;
    if (a->share != b->share)
        return a->share < b->share;
    if (a->place > 0 && b->place > 0)
        return a->place < b->place;
    return strcmp(a->name, b->name) < 0;
}

static void sift_queue(struct queue *q, size_t i)
{
    struct queue **at = q->heads.at;

    for (;;) {
        size_t child = 2 * i + 1;
        struct queue *moved = at[i];

        if (child >= q->heads.n)
            return;
        if (child + 1 < q->heads.n && queue_is_first(at[child + 1], at[child]))
            child++;
        if (!queue_is_first(at[child], moved))
            return;
        at[i] = at[child];
        at[child] = moved;
        i = child;
    }
}

static bool has_turns(const struct queue *q)
{
    return q->turns.n > 0 || q->heads.n > 0;
}

/* Would the queue, with the charge, be over its nominal quota? A queue without quotas answers as
 * the queue below it on the way to the workload (`below`); true if none of these has quotas. */
static bool is_over(const struct mete_engine *e, const struct queue *q, const struct charge *c,
                    bool below)
{
    bool has = false;
    bool within = queue_is_within(e, q, c, &has);

    return has ? !within : below;
}

/* Computes is_over and share of a queue with turns. The queues below it are up to date. */
static void turn_find_place(struct mete_engine *e, struct queue *q)
{
    const struct queue *leaf = q;
    struct charge c;

    if (e->counted.n == 0)
        return; /* there is only one queue */
    while (leaf->heads.n > 0)
        leaf = leaf->heads.at[0];
    charge_of(e, workload_of_group(leaf->turns.at[0]->at), NULL, &c);
    q->is_over = is_over(e, q, &c, q->heads.n > 0 ? q->heads.at[0]->is_over : true);
    q->share = queue_share(e, q, &c);
}

static void add_groups(struct queue *to, const struct queue *from)
{
    VEC_EACH (&from->groups, g) {
        (*g)->at = order_first(&(*g)->waiting);
        (*g)->has_failed = false;
        vec_add(&to->turns, *g);
    }
}

/* Enters a queue in this pass, if it is not there yet. */
static void turns_enter(struct mete_engine *e, struct queue *q)
{
    if (q->turns_pass == e->turns_pass)
        return;
    q->turns_pass = e->turns_pass;
    vec_clear(&q->turns);
    vec_clear(&q->heads);
    vec_add(&e->turns_at[q->depth], q);
}

/* Orders a queue's heaps, and enters the queue in its parent's. The queues below are up to date. */
static void turns_begin_queue(struct mete_engine *e, struct queue *q)
{
    for (size_t i = q->turns.n / 2; i > 0; i--)
        sift_group(q, i - 1);
    for (size_t i = q->heads.n / 2; i > 0; i--)
        sift_queue(q, i - 1);
    if (!q->parent || !has_turns(q))
        return;
    turn_find_place(e, q);
    turns_enter(e, q->parent);
    vec_add(&q->parent->heads, q);
}

/* Begins with the queues that have waiting groups, and goes up to the root: a queue where nothing
 * waits costs nothing. */
void turns_begin(struct mete_engine *e)
{
    bool is_flat = e->fairness.order == METE_ORDER_PRIORITY;

    if (e->counted.n > 0)
        queues_measure(e);
    e->turns_pass++;
    for (size_t depth = 0; depth < COUNT(e->turns_at); depth++)
        vec_clear(&e->turns_at[depth]);
    turns_enter(e, e->root);
    VEC_EACH (&e->queues_waiting, q) {
        struct queue *to = is_flat ? e->root : *q;

        if (!queue_is_leaf(*q))
            continue;
        turns_enter(e, to);
        add_groups(to, *q);
    }
    for (size_t depth = COUNT(e->turns_at); depth > 0; depth--)
        VEC_EACH (&e->turns_at[depth - 1], q) {
            turns_begin_queue(e, *q);
        }
}

struct group *turn_next(struct mete_engine *e)
{
    const struct queue *q = e->root;

    while (q->heads.n > 0)
        q = q->heads.at[0];
    return q->turns.n > 0 ? q->turns.at[0] : NULL;
}

/* Puts the first queue below `q`, which has changed, into its new place. */
static void heads_changed(struct mete_engine *e, struct queue *q)
{
    struct queue *child = q->heads.at[0];

    if (has_turns(child))
        turn_find_place(e, child);
    else
        q->heads.at[0] = q->heads.at[--q->heads.n];
    if (q->heads.n > 0)
        sift_queue(q, 0);
}

void turn_end(struct mete_engine *e, struct group *g, struct order_link *next)
{
    bool is_flat = e->fairness.order == METE_ORDER_PRIORITY;
    struct queue *q = is_flat ? e->root : g->queue;

    if (next)
        g->at = next;
    else
        q->turns.at[0] = q->turns.at[--q->turns.n];
    if (q->turns.n > 0)
        sift_group(q, 0);
    for (q = q->parent; q; q = q->parent)
        heads_changed(e, q);
}

/* The queue right below `top` among `q` and the queues above it. */
static const struct queue *below(const struct queue *q, const struct queue *top)
{
    while (q->parent != top)
        q = q->parent;
    return q;
}

static const struct queue *common_queue(const struct queue *a, const struct queue *b)
{
    while (a != b) {
        if (a->depth >= b->depth)
            a = a->parent;
        else
            b = b->parent;
    }
    return a;
}

/* As turn_find_place, for a workload that is not the first of its queue. */
static struct queue turn_place(struct mete_engine *e, const struct workload *w,
                               const struct queue *top)
{
    const struct queue *head = below(w->queue, top);
    struct queue ret = {.name = head->name, .place = head->place, .is_over = true};
    struct charge c;

    charge_of(e, w, NULL, &c);
    ret.share = queue_share(e, head, &c);
    for (const struct queue *q = w->queue; q != top; q = q->parent)
        ret.is_over = is_over(e, q, &c, ret.is_over);
    return ret;
}

bool turn_is_before(struct mete_engine *e, const struct workload *a, const struct workload *b)
{
    const struct queue *top = common_queue(a->queue, b->queue);
    struct queue place_a;
    struct queue place_b;

    if (a->queue == b->queue || e->fairness.order == METE_ORDER_PRIORITY || top == a->queue ||
        top == b->queue)
        return order_before(&a->key, &b->key);
    place_a = turn_place(e, a, top);
    place_b = turn_place(e, b, top);
    return queue_is_first(&place_a, &place_b);
}
