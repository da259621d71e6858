/*
 * recount.c - what the cells of queues hold and keep, counted anew
 *
 * The cells of a queue depend on its quotas and on the queues below it. A queue without workloads
 * and without queues below it changes only what the queues above it keep.
 */

#include <stdlib.h>

#include "engine/evict/preempt.h"
#include "engine/queue/queue.h"

static void reset_cells(struct queue *q)
{
    struct queue_user *u;
    struct queue_user *next;

    q->n_running = 0;
    map_each (handle, q->users, u, next) {
        u->n_running = 0;
        u->gpu_milli = 0;
        u->billed = 0;
    }
}

/* Computes the guarantee, where quotas set it, and what is kept. */
static void cell_settle(struct queue_cell *cell)
{
    if (cell->has_quota)
        cell->guarantee = cell->nominal > cell->lend ? cell->nominal - cell->lend : 0;
    cell->kept = cell->below > cell->guarantee ? cell->below : cell->guarantee;
}

/* Resets children first, so that each guarantee includes the guarantees below it. */
static void reset_kept(const struct mete_engine *e, struct queue *q)
{
    for (size_t i = 0; i < e->counted.n; i++) {
        q->cells[i].held = 0;
        q->cells[i].secured = 0;
        q->cells[i].below = 0;
        q->cells[i].guarantee = 0;
    }
    VEC_EACH (&q->children, child) {
        reset_kept(e, *child);
        for (size_t i = 0; i < e->counted.n; i++) {
            q->cells[i].below += (*child)->cells[i].kept;
            q->cells[i].guarantee += (*child)->cells[i].guarantee;
        }
    }
    for (size_t i = 0; i < e->counted.n; i++)
        cell_settle(&q->cells[i]);
}

static void queue_recharge(struct mete_engine *e, struct queue *q)
{
    for (struct workload *w = q->first_placed; w; w = w->placed_after) {
        free(w->charged);
        w->charged = NULL;
        w->is_secured = false;
        queue_count_placed(e, w);
    }
}

void queues_recount(struct mete_engine *e)
{
    struct queue *q;
    struct queue *next;

    reset_cells(e->root);
    reset_kept(e, e->root);
    map_each (handle, e->queue_map, q, next) {
        reset_cells(q);
        if (!q->is_present)
            reset_kept(e, q);
    }
    VEC_EACH (&e->queues, present) {
        queue_recharge(e, *present);
    }
    map_each (handle, e->queue_map, q, next) {
        if (!q->is_present)
            queue_recharge(e, q);
    }
    VEC_EACH (&e->preemptors, w) {
        preempt_count(e, *w);
    }
}

bool queue_is_empty(const struct queue *q)
{
    return q->refs == 0 && q->children.n == 0;
}

void queue_keep(const struct mete_engine *e, struct queue *empty, int sign)
{
    for (size_t i = 0; i < e->counted.n; i++) {
        int64_t kept;
        int64_t guarantee;

        empty->cells[i].guarantee = 0;
        cell_settle(&empty->cells[i]);
        kept = sign * empty->cells[i].kept;
        guarantee = sign * empty->cells[i].guarantee;
        for (struct queue *q = empty->parent; q && (kept != 0 || guarantee != 0); q = q->parent) {
            struct queue_cell *cell = &q->cells[i];
            int64_t before = cell->kept;

            guarantee = cell->has_quota ? 0 : guarantee;
            cell->guarantee += guarantee;
            cell->below += kept;
            cell_settle(cell);
            kept = cell->kept - before;
        }
    }
}
