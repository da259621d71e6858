/* why_quota.c - quotas and evictions as reasons, and trials without them */

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "engine/evict/preempt.h"
#include "engine/why/why.h"

enum {
    TRIES_MAX = 8
};

/* "8 gpus", "2.5 gpus", "1 H100", "12 cpu", "3 workloads" */
static const char *amount_text(struct mete_engine *e, const struct quota_block *b, int64_t amount,
                               bool has_noun)
{
    const struct counted *r = b->counted < e->counted.n ? &e->counted.at[b->counted] : NULL;
    const char *number;

    if (!r)
        return arena_format(e->answers, "%" PRId64 "%s", amount, has_noun ? " workloads" : "");
    if (b->counted != COUNTED_GPU && r->model == 0)
        return has_noun ? why_amount(e, r->name, amount) : why_number(e, r->name, amount);
    number = why_number(e, e->cpu, amount); /* gpus are in thousandths, as cpu is */
    if (!has_noun)
        return number;
    if (r->model != 0) {
        char *model = arena_strdup(e->answers, intern_text(e->texts, r->model));

        for (char *c = model; *c; c++)
            *c = (char)toupper((unsigned char)*c);
        return arena_format(e->answers, "%s %s", number, model);
    }
    return arena_format(e->answers, "%s %s", number, amount == MILLI ? "gpu" : "gpus");
}

/* "1h30m", "45s" */
static const char *time_text(struct mete_engine *e, int64_t ns)
{
    int64_t s = ns / 1000000000;
    const char *text = s >= 3600 ? arena_format(e->answers, "%" PRId64 "h", s / 3600) : "";

    if (s / 60 % 60 > 0)
        text = arena_format(e->answers, "%s%" PRId64 "m", text, s / 60 % 60);
    if (s % 60 > 0 || s == 0)
        text = arena_format(e->answers, "%s%" PRId64 "s", text, s % 60);
    return text;
}

static const char *over_max_text(struct mete_engine *e, const struct quota_block *b)
{
    if (b->resource && strcmp(b->resource, "time") == 0 && b->asked == 0)
        return arena_format(e->answers, "has no time limit; queue %s asks for one, of at most %s",
                            b->queue->name, time_text(e, b->limit));
    if (b->resource && strcmp(b->resource, "time") == 0)
        return arena_format(e->answers, "asks for %s; queue %s allows %s at most",
                            time_text(e, b->asked), b->queue->name, time_text(e, b->limit));
    return arena_format(e->answers, "needs %s; queue %s may hold %s at most",
                        amount_text(e, b, b->asked, true), b->queue->name,
                        amount_text(e, b, b->limit, false));
}

static const char *full_text(struct mete_engine *e, const struct quota_block *b)
{
    const char *asked = amount_text(e, b, b->asked, true);
    const char *held = amount_text(e, b, b->held, false);
    const char *limit = amount_text(e, b, b->limit, false);

    if (!b->queue->parent)
        return arena_format(e->answers, "needs %s; %s of %s are held or kept for other queues",
                            asked, held, limit);
    if (b->counted >= e->counted.n)
        return arena_format(e->answers, "queue %s runs %s of %s workloads", b->queue->name, held,
                            limit);
    return arena_format(e->answers, "needs %s; queue %s holds %s of %s", asked, b->queue->name,
                        held, limit);
}

static const char *user_text(struct mete_engine *e, const struct workload *w,
                             const struct quota_block *b)
{
    const char *user = intern_text(e->texts, w->user);
    const char *held = amount_text(e, b, b->held, false);
    const char *limit = amount_text(e, b, b->limit, true);

    if (b->counted >= e->counted.n)
        return arena_format(e->answers, "%s runs %s of %s in queue %s", user, held, limit,
                            b->queue->name);
    return arena_format(e->answers, "needs %s; %s holds %s of %s in queue %s",
                        amount_text(e, b, b->asked, true), user, held,
                        amount_text(e, b, b->limit, false), b->queue->name);
}

const char *why_quota_text(struct mete_engine *e, const struct workload *w,
                           const struct quota_block *b)
{
    if (b->code == METE_REASON_QUEUE_STOPPED)
        return arena_format(e->answers, "queue %s is stopped", b->queue->name);
    if (b->code == METE_REASON_NO_SUCH_QUEUE)
        return b->queue->is_present
                   ? arena_format(e->answers,
                                  "queue %s has queues below it: jobs go into one of these",
                                  b->queue->name)
                   : arena_format(e->answers, "there is no queue %s", b->queue->name);
    if (b->code == METE_REASON_OVER_MAX)
        return over_max_text(e, b);
    return b->code == METE_REASON_USER_LIMIT ? user_text(e, w, b) : full_text(e, b);
}

const char *why_preempting_text(struct mete_engine *e, const struct workload *w)
{
    const struct workload *first = preempt_first(e, w);

    if (!first)
        return "waits for evicted jobs to end";
    if (w->n_evicting == 1)
        return arena_format(e->answers, "%s was evicted for it and has not ended yet",
                            why_workload(e, first));
    return arena_format(e->answers, "%s and %u more were evicted for it and have not ended yet",
                        why_workload(e, first), w->n_evicting - 1);
}

static bool starts(struct mete_engine *e, const struct attempt *from)
{
    struct attempt a = {.w = from->w, .now_ns = from->now_ns};

    return queue_may_start(e, a.w, NULL) && place_pods(e, &a);
}

static bool starts_without(struct mete_engine *e, const struct attempt *a, struct workload *w)
{
    size_t mark = journal_open(&e->journal);
    bool fits;

    queue_count_held(e, w, w->charged, -1);
    for (size_t i = 0; i < w->n_pods; i++)
        pod_give(e, &w->pods[i]);
    fits = starts(e, a);
    journal_undo(&e->journal, mark);
    return fits;
}

/* Tries the end of each workload that holds the resource in the full queue or below it. */
static void if_ended(struct mete_engine *e, const struct attempt *a, const struct quota_block *b,
                     size_t *tries, struct why_lines *l)
{
    const struct queue *q = b->queue;

    VEC_EACH (&e->queues, each) {
        const struct queue *up = *each;

        while (up && up != q)
            up = up->parent;
        for (struct workload *w = up ? (*each)->first_placed : NULL; w && *tries < TRIES_MAX;
             w = w->placed_after) {
            if (b->counted < e->counted.n && w->charged[b->counted] == 0)
                continue;
            ++*tries;
            if (starts_without(e, a, w))
                why_line(l, arena_format(e->answers, "%s ends", why_workload(e, w)));
        }
    }
}

/* Tries a ceiling that is higher by the missing amount. */
static void if_raised(struct mete_engine *e, const struct attempt *a, const struct quota_block *b,
                      struct why_lines *l)
{
    struct queue *q = queue_make(e, b->queue->name);
    int64_t limit = b->held + b->asked;
    size_t mark = journal_open(&e->journal);
    const char *asked;
    bool fits;

    if (b->counted < e->counted.n && *b->resource == '\0')
        SET(e, q->cells[b->counted].ceiling, limit);
    else if (b->code == METE_REASON_QUOTA && b->counted < e->counted.n)
        SET(e, q->limits.gpu_milli, limit);
    else if (b->code == METE_REASON_QUOTA)
        SET(e, q->limits.running, (uint32_t)limit);
    else if (b->counted < e->counted.n)
        SET(e, q->user_limits.gpu_milli, limit);
    else
        SET(e, q->user_limits.running, (uint32_t)limit);
    fits = starts(e, a);
    journal_undo(&e->journal, mark);
    if (!fits)
        return;
    asked = amount_text(e, b, limit, true);
    if (b->code == METE_REASON_QUOTA)
        why_line(l, arena_format(e->answers, "queue %s may hold %s, not %s", q->name, asked,
                                 amount_text(e, b, b->limit, false)));
    else
        why_line(l, arena_format(e->answers, "%s may hold %s in queue %s, not %s",
                                 intern_text(e->texts, a->w->user), asked, q->name,
                                 amount_text(e, b, b->limit, false)));
}

void why_if_quota(struct mete_engine *e, const struct attempt *a, const struct quota_block *b,
                  struct why_lines *l)
{
    size_t tries = 0;

    if (b->code != METE_REASON_QUOTA && b->code != METE_REASON_USER_LIMIT)
        return;
    if (b->queue->parent)
        if_raised(e, a, b, l);
    if_ended(e, a, b, &tries, l);
}
