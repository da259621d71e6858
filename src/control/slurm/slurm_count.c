/* slurm_count.c - a turn of a SlurmJob: what its pods' ends and its requests change */
#include "control/slurm/slurm_private.h"

#define GATHER_NS (100 * NS_PER_MS)

static void copy_set(const struct index_set *from, struct index_set *to)
{
    *to = (struct index_set){.n_words = from->n_words, .count = from->count};
    if (from->n_words > 0)
        to->words = mem_dup(from->words, from->n_words * sizeof(*from->words));
}

void sjob_turn_init(struct sjob_turn *t, struct sjob *j)
{
    *t = (struct sjob_turn){.job = j, .again_ns = -1};
    t->now_ns = loop_wall_ns(j->jobs->options.loop);
    t->status = json_twin(j->status);
    copy_set(&j->completed, &t->completed);
    copy_set(&j->failed, &t->failed);
    copy_set(&j->cancelled, &t->cancelled);
}

void sjob_turn_done(struct sjob_turn *t)
{
    json_decref(t->status);
    index_set_done(&t->completed);
    index_set_done(&t->failed);
    index_set_done(&t->cancelled);
    index_set_done(&t->unstarted);
    vec_done(&t->released);
    vec_done(&t->killed);
    vec_done(&t->news);
}

void sjob_turn_again(struct sjob_turn *t, int64_t in_ns)
{
    if (t->again_ns < 0 || in_ns < t->again_ns)
        t->again_ns = in_ns;
}

bool sjob_turn_has_ended(const struct sjob_turn *t, size_t index)
{
    return index_set_has(&t->completed, index) || index_set_has(&t->failed, index) ||
           index_set_has(&t->cancelled, index);
}

size_t sjob_turn_ended(const struct sjob_turn *t)
{
    return t->completed.count + t->failed.count + t->cancelled.count;
}

static void put_stamp(json_t *status, const char *key, int64_t ns)
{
    char text[STAMP_TEXT_SIZE];

    if (ns <= 0)
        return;
    stamp_format_micro(ns, text);
    json_put_text(status, key, text);
}

/* A job without an array shows its end; an array its largest exit code. */
static void put_end(struct sjob_turn *t, const struct sjob_end *end, const char *node)
{
    json_t *status = t->status;

    if (!t->job->is_array) {
        json_put_text(status, "state", sjob_state_names[end->state]);
        json_put_text(status, "nodes", node);
        json_put_int(status, "exitCode", end->code);
        json_put_int(status, "exitSignal", end->signal);
        put_stamp(status, "startTime", end->started_ns);
        put_stamp(status, "endTime", end->ended_ns);
        return;
    }
    if (end->code > json_int(status, "exitCode", 0))
        json_put_int(status, "exitCode", end->code);
    if (end->signal > json_int(status, "exitSignal", 0))
        json_put_int(status, "exitSignal", end->signal);
    if (!json_text(status, "startTime"))
        put_stamp(status, "startTime", end->started_ns);
}

static void add_end(struct sjob_turn *t, size_t index, enum sjob_state state)
{
    (void)index_set_add(state == SJOB_COMPLETED   ? &t->completed
                        : state == SJOB_CANCELLED ? &t->cancelled
                                                  : &t->failed,
                        index);
    t->is_urgent = true;
}

void sjob_turn_cancel(struct sjob_turn *t, size_t index)
{
    const struct sjob_end end = {.state = text_equal(t->job->reason, "DeadLine") ? SJOB_DEADLINE
                                                                                 : SJOB_CANCELLED,
                                 .ended_ns = t->now_ns};

    add_end(t, index, end.state);
    put_end(t, &end, NULL);
    vec_add(&t->news, (struct sjob_news){.index = index, .end = end});
    (void)index_set_add(&t->unstarted, index);
}

static void put_record(struct sjob_turn *t, const char *map, size_t index, int64_t value)
{
    char key[24];

    json_put_int(json_object_at(json_object_at(t->status, "records"), map),
                 sjob_element_key(t->job, index, key), value);
}

static void forget_past(struct sjob *j, size_t index)
{
    for (size_t i = j->past.n; i-- > 0;) {
        if (j->past.at[i].index != (int64_t)index)
            continue;
        free(j->past.at[i].node);
        vec_remove(&j->past, i);
    }
}

void sjob_turn_requeue(struct sjob_turn *t, size_t index)
{
    static const char *const ends[] = {"exitCode", "exitSignal", "startTime", "endTime", "nodes"};
    struct sjob *j = t->job;

    index_set_remove(&t->completed, index);
    index_set_remove(&t->failed, index);
    index_set_remove(&t->cancelled, index);
    put_record(t, "restarts", index, sjob_restarts(j->status, j, index) + 1);
    if (sjob_requeues_asked(j, index) > 0)
        put_record(t, "requeues", index, sjob_requeues_asked(j, index));
    for (size_t i = 0; i < COUNT(ends); i++)
        json_put_text(t->status, ends[i], NULL);
    json_put_int(t->status, "restarts", json_int(t->status, "restarts", 0) + 1);
    if (index < j->next_index)
        j->next_index = index;
    forget_past(j, index);
    t->is_urgent = true;
}

/* Is the attempt followed by another one? */
static bool is_requeued(const struct sjob *j, size_t index, const struct sjob_end *end)
{
    const json_t *spec = json_object_get(j->object, "spec");
    enum sjob_state state = end->state;

    if (sjob_is_cancelled(j, index))
        return false;
    if (sjob_requeues_asked(j, index) > sjob_requeues_done(j->status, j, index) ||
        sjob_exits_again(j, end))
        return true;
    if (state == SJOB_PREEMPTED && j->jobs->options.fair &&
        slurm_fair_preempt_cancels(j->jobs->options.fair, json_text(spec, "qos"),
                                   json_text(spec, "partition")))
        return false;
    return (state == SJOB_NODE_FAIL || state == SJOB_PREEMPTED) && json_bool(spec, "requeue", true);
}

/*
 * Removing the finalizer of a pod that is being deleted deletes it, which writes the quota: at most
 * one such pod a transaction. False: the pod is released in a later turn.
 */
bool sjob_turn_release(struct sjob_turn *t, struct sjob_pod *p)
{
    if (t->released.n >= t->job->writes_max || (p->is_deleting && t->has_deleting)) {
        t->n_left++;
        return false;
    }
    t->has_deleting = t->has_deleting || p->is_deleting;
    vec_add(&t->released, p);
    return true;
}

/* Do ended elements of an array wait for more, to be counted in one write? Their resources are free
 * already. */
static bool turn_gathers(struct sjob_turn *t)
{
    struct sjob *j = t->job;
    int64_t now_ns = loop_now_ns(j->jobs->options.loop);

    if (j->ended.n == 0 || j->dependents.n > 0 || j->ended.n >= SJOB_WINDOW ||
        sjob_turn_ended(t) + j->ended.n >= j->all.count)
        return false;
    if (j->gather_ns == 0)
        j->gather_ns = now_ns;
    if (now_ns - j->gather_ns >= GATHER_NS)
        return false;
    sjob_turn_again(t, j->gather_ns + GATHER_NS - now_ns);
    return true;
}

void sjob_turn_end(struct sjob_turn *t, size_t index, const struct sjob_end *end, const char *nodes)
{
    bool is_again = is_requeued(t->job, index, end);

    vec_add(&t->news, (struct sjob_news){.index = index, .is_requeued = is_again, .end = *end});
    if (is_again) {
        sjob_turn_requeue(t, index);
        return;
    }
    if (!nodes) /* no placement, so no row of accounting yet */
        (void)index_set_add(&t->unstarted, index);
    add_end(t, index, end->state);
    put_end(t, end, nodes);
}

void sjob_turn_count(struct sjob_turn *t)
{
    struct sjob *j = t->job;

    sjob_turn_release_outdated(t);
    if (j->ask.nodes > 1) {
        sjob_turn_count_gangs(t);
        return;
    }
    if (turn_gathers(t))
        return;
    VEC_EACH (&j->ended, at) {
        struct sjob_pod *p = *at;

        if (p->restarts != sjob_restarts(j->status, j, (size_t)p->index))
            continue; /* the event of the status comes later */
        if (!sjob_take_programs(t, p) || !sjob_turn_release(t, p))
            continue;
        if (p->end.state == SJOB_CANCELLED && !p->node && text_equal(j->reason, "DeadLine"))
            p->end.state = SJOB_DEADLINE;
        sjob_turn_end(t, (size_t)p->index, &p->end, p->node);
    }
    if (t->n_left == 0) /* else the rest has waited enough */
        j->gather_ns = 0;
}
