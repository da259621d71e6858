/* hold.c - held workloads: they keep their place in the queue, but are in no group's order; and
 * workloads for which no room is kept */

#include <inttypes.h>
#include <stdlib.h>

#include "engine/evict/move.h"
#include "engine/evict/preempt.h"
#include "engine/plan/backfill.h"
#include "engine/record/record.h"
#include "engine/why/why.h"

static const struct {
    enum mete_reason_code code;
    const char *text;
    const char *released; /* the event that would release it; NULL: none to try */
} words[] = {
    [METE_HOLD_NONE] = {METE_REASON_NONE, "", NULL},
    [METE_HOLD_NOT_ALLOWED] = {METE_REASON_NOT_ALLOWED, "may not be in its queue", NULL},
    [METE_HOLD_USER] = {METE_REASON_HELD_BY_YOU, "put on hold by its user", "it is released"},
    [METE_HOLD_ADMIN] = {METE_REASON_HELD_BY_ADMIN, "put on hold by an administrator",
                         "an administrator releases it"},
    [METE_HOLD_GATED] = {METE_REASON_SCHEDULING_GATED, "waits for its scheduling gates to go",
                         "its scheduling gates go"},
    [METE_HOLD_NOT_BEFORE] = {METE_REASON_NOT_BEFORE, "waits for its time", "its time comes"},
};

enum mete_reason_code hold_code(const struct workload *w)
{
    return words[w->hold].code;
}

const char *hold_text(const struct workload *w)
{
    return w->hold_text ? w->hold_text : words[w->hold].text;
}

enum mete_result mete_workload_hold(struct mete_engine *e, uint64_t id, enum mete_hold hold,
                                    const char *text)
{
    struct workload *w = engine_workload(e, id);
    bool waits;

    if (!w)
        return engine_refuse(e, METE_NOT_FOUND, "there is no workload %" PRIu64, id);
    if ((unsigned)hold > METE_HOLD_NOT_BEFORE)
        return engine_refuse(e, METE_INVALID, "workload %" PRIu64 ": there is no hold %d", id,
                             (int)hold);
    if (text && !text_is_sane(text))
        return engine_refuse(e, METE_INVALID,
                             "workload %" PRIu64 ": the text of the hold is empty or too long", id);
    record_call(e, RECORD_WORKLOAD_HOLD, &(struct record_hold){id, hold, text});
    waits = !w->is_placed;
    if (waits && hold != METE_HOLD_NONE) {
        backfill_drop_of(e, w);
        preempt_forget(e, w);
        move_forget(e, w);
    }
    if (waits)
        group_unwait(e, w);
    w->hold = hold;
    free(w->hold_text);
    w->hold_text = text && hold != METE_HOLD_NONE ? mem_strdup(text) : NULL;
    if (waits)
        group_wait(e, w);
    e->version++;
    return METE_OK;
}

enum mete_result mete_workload_unreserved(struct mete_engine *e, uint64_t id, bool is_unreserved)
{
    struct workload *w = engine_workload(e, id);

    if (!w)
        return engine_refuse(e, METE_NOT_FOUND, "there is no workload %" PRIu64, id);
    if (w->is_unreserved == is_unreserved)
        return METE_OK;
    record_call(e, RECORD_WORKLOAD_UNRESERVED, &(struct record_unreserved){id, is_unreserved});
    w->is_unreserved = is_unreserved;
    if (is_unreserved && !w->is_placed)
        backfill_drop_of(e, w);
    e->version++;
    return METE_OK;
}

/* Adds the line when a released workload would start in the next cycle. */
void why_if_released(struct mete_engine *e, const struct attempt *a, struct why_lines *to)
{
    struct attempt now = {.w = a->w, .now_ns = a->now_ns};
    const char *released = words[a->w->hold].released;
    struct charge c;

    if (!released)
        return;
    charge_of(e, a->w, NULL, &c);
    if (queue_admits(e, a->w, &c, NULL) && place_would_fit(e, &now))
        why_line(to, released);
}
