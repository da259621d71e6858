/* why_reservation.c - reservations as reasons, in words */

#include "base/stamp.h"
#include "engine/plan/reservation.h"
#include "engine/why/why.h"

static const char *moment(struct mete_engine *e, int64_t at_ns)
{
    char text[STAMP_TEXT_SIZE];

    stamp_format(at_ns, text);
    return arena_strdup(e->answers, text);
}

static bool takes_of(const struct mete_engine *e, const struct reservation *b, const struct pod *p)
{
    for (uint32_t i = 0; i < p->node->n_reserved; i++) {
        const struct reserved *here = &e->reserved.at[p->node->first_reserved + i];

        if (here->reservation != b)
            continue;
        for (size_t k = 0; k < p->n_gpus; k++)
            if (p->gpus[k]->node == p->node && (here->gpus >> p->gpus[k]->bit & 1))
                return true;
        return here->is_whole;
    }
    return false;
}

const struct reservation *why_reservation(struct mete_engine *e, const struct attempt *a,
                                          const struct node **ret_node)
{
    struct attempt free = {.w = a->w,
                           .now_ns = a->now_ns,
                           .ignores_reservations = true,
                           .ignores_backfills = true,
                           .shapes = a->shapes};
    const struct reservation *found = NULL;
    size_t mark = journal_open(&e->journal);

    if (e->reservations.n > 0 && place_pods(e, &free)) {
        reservations_bar(e, a->w, a->now_ns);
        VEC_EACH (&e->reservations, b) {
            for (size_t i = 0; (*b)->is_applied && i < a->w->n_pods && !found; i++)
                if (a->w->pods[i].node && takes_of(e, *b, &a->w->pods[i])) {
                    found = *b;
                    *ret_node = a->w->pods[i].node;
                }
        }
    }
    journal_undo(&e->journal, mark);
    return found;
}

const char *why_own_reservation_text(struct mete_engine *e, const struct workload *w,
                                     int64_t now_ns)
{
    const char *name = intern_text(e->texts, w->group->reservation);
    const struct reservation *b = reservation_find(e, w->group->reservation);

    switch (reservation_ask(e, w, now_ns)) {
    case RESERVATION_OPEN:
        return "";
    case RESERVATION_MISSING:
        return arena_format(e->answers, "waits for the reservation %s, which does not exist", name);
    case RESERVATION_NOT_ENTITLED:
        return arena_format(e->answers, "the reservation %s is not for its queue or user", name);
    case RESERVATION_NOT_YET:
        return arena_format(e->answers, "waits for the reservation %s, which begins at %s", name,
                            moment(e, b->start_ns));
    case RESERVATION_OVER:
        return arena_format(e->answers, "the reservation %s ended at %s", name,
                            moment(e, b->end_ns));
    case RESERVATION_TOO_LONG:
        return arena_format(e->answers,
                            "the reservation %s ends at %s, before its time limit would", name,
                            moment(e, b->end_ns));
    }
    return "";
}

const char *why_reserved_text(struct mete_engine *e, const struct reservation *b, const char *node,
                              int64_t now_ns)
{
    const char *how = b->is_maintenance ? "in maintenance" : "reserved";

    if (now_ns < b->start_ns)
        return arena_format(e->answers, "%s is %s from %s to %s (%s); the job might still run then",
                            node, how, moment(e, b->start_ns), moment(e, b->end_ns), b->name);
    return arena_format(e->answers, "%s is %s until %s (%s)", node, how, moment(e, b->end_ns),
                        b->name);
}

const char *why_barred_text(struct mete_engine *e, const struct node *n)
{
    for (uint32_t i = 0; i < n->n_reserved; i++) {
        const struct reservation *b = e->reserved.at[n->first_reserved + i].reservation;

        if (b->is_applied)
            return arena_format(e->answers, "%s from %s to %s (%s)",
                                b->is_maintenance ? "maintenance" : "reserved",
                                moment(e, b->start_ns), moment(e, b->end_ns), b->name);
    }
    return e->inside ? arena_format(e->answers, "not in the reservation %s", e->inside->name) : "";
}

/* Tries a time limit that ends when the reservation begins. */
void why_if_reservation(struct mete_engine *e, const struct attempt *a, const struct reservation *b,
                        struct why_lines *l)
{
    struct group *g = a->w->group;
    struct attempt shorter = {.w = a->w, .now_ns = a->now_ns, .shapes = a->shapes};
    char age[STAMP_TEXT_SIZE];
    size_t mark;

    if (!b || b->start_ns - a->now_ns < NS_PER_SEC || g->reservation != 0)
        return;
    mark = journal_open(&e->journal);
    SET(e, g->time_limit_ns, b->start_ns - a->now_ns);
    if (place_pods(e, &shorter)) {
        stamp_format_age(b->start_ns - a->now_ns, age);
        why_line(l, arena_format(e->answers, "its time limit is at most %s", age));
    }
    journal_undo(&e->journal, mark);
}
