/*
 * scheduler_deadline.c - bindings and evictions that neither the answer nor the watch has confirmed
 * in time
 *
 * Such a binding is given back: the workload waits again. The binding may still be on its way. No
 * gpu is given twice then: the ledger refuses a second holder, and once the watches tell of the
 * first, the engine follows them. An eviction is asked for again, which ends the same pod only.
 */
#include <inttypes.h>

#include "base/log.h"
#include "control/scheduler/scheduler_private.h"

void scheduler_await_answer(struct scheduler *s)
{
    if (s->is_answer_timed)
        return;
    s->is_answer_timed = true;
    loop_timer_set(s->answer_timer, s->options.answer_ns);
}

/* Has the time since `since_ns` run out? Else the earliest such time goes to `*next_ns`. */
static bool is_over(const struct scheduler *s, int64_t since_ns, int64_t *next_ns)
{
    int64_t due_ns = since_ns + s->options.answer_ns;

    if (due_ns <= loop_now_ns(s->options.loop))
        return true;
    if (*next_ns == 0 || due_ns < *next_ns)
        *next_ns = due_ns;
    return false;
}

static void end_bindings(struct scheduler *s, const struct err *why, int64_t *next_ns)
{
    struct sched_work *w;
    struct sched_work *next;

    map_each (by_binding, s->bindings, w, next) {
        if (is_over(s, w->binding_ns, next_ns))
            sched_work_give_back(s, w, why);
    }
}

static void end_evictions(struct scheduler *s, const char *why, int64_t *next_ns)
{
    struct sched_work *w;
    struct sched_work *next;

    map_each (handle, s->works, w, next) {
        for (size_t i = 0; w->evicted_because && i < w->pods.n; i++) {
            struct sched_pod *p = w->pods.at[i];

            if (p->ending == SCHED_EVICTING && is_over(s, p->evict_ns, next_ns))
                sched_pod_evict_again(s, p, why);
        }
    }
}

void scheduler_on_deadline(void *arg)
{
    struct scheduler *s = arg;
    AUTO_FREE char *text =
        mem_format("no answer came within %" PRId64 " s", s->options.answer_ns / NS_PER_SEC);
    AUTO(err_freep) struct err *why = err_new(ERR_UNAVAILABLE, "%s", text);
    int64_t next_ns = 0;

    s->is_answer_timed = false;
    end_bindings(s, why, &next_ns);
    end_evictions(s, text, &next_ns);
    if (next_ns == 0)
        return;
    s->is_answer_timed = true;
    loop_timer_set(s->answer_timer, next_ns - loop_now_ns(s->options.loop));
}
