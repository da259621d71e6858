/* slurm_wait.c - why a Slurm job may not start: holds, times and dependencies */
#include <stdio.h>

#include "control/slurm/slurm_private.h"

static bool text_has(const char *text, size_t index)
{
    AUTO(index_set_done) struct index_set set = {0};
    AUTO(err_freep) struct err *e = NULL;

    if (!text || !*text)
        return false;
    if (text_equal(text, "*"))
        return true;
    e = index_set_parse(str_of(text), SLURM_ARRAY_MAX, &set);
    return !e && index_set_has(&set, index);
}

bool sjob_is_cancelled(const struct sjob *j, size_t index)
{
    return text_has(json_text_at(j->object, "spec", "cancelled", NULL), index);
}

bool sjob_is_suspended(const struct sjob *j, size_t index)
{
    return text_has(json_text_at(j->object, "spec", "suspended", NULL), index);
}

bool sjob_is_held(const struct sjob *j, size_t index)
{
    const char *hold = json_text_at(j->object, "spec", "hold", NULL);

    if (text_equal(hold, "user") || text_equal(hold, "admin"))
        return true;
    return text_has(json_text_at(j->object, "spec", "heldIndexes", NULL), index);
}

int64_t sjob_requeues_asked(const struct sjob *j, size_t index)
{
    const json_t *requeues = json_at(j->object, "spec", "requeues", NULL);
    char key[24];

    (void)snprintf(key, sizeof(key), "%zu", index);
    return json_int(requeues, "*", 0) + (j->is_array ? json_int(requeues, key, 0) : 0);
}

int64_t sjob_requeues_done(const json_t *status, const struct sjob *j, size_t index)
{
    char key[24];

    return json_int_at(status, "records", "requeues", sjob_element_key(j, index, key), NULL);
}

bool sjob_asks_requeue(const struct sjob *j)
{
    if (json_object_size(json_at(j->object, "spec", "requeues", NULL)) == 0)
        return false;
    for (size_t i = 0; i < j->all.n_words * 64; i++)
        if (index_set_has(&j->all, i) && !sjob_is_cancelled(j, i) &&
            sjob_requeues_asked(j, i) > sjob_requeues_done(j->status, j, i))
            return true;
    return false;
}

/* ---- dependencies ---- */

/* Elements of another job. */
struct subject {
    const struct sjob *job;
    int64_t index; /* -1: all elements */
};

/* What has become of the elements. */
struct outcome {
    size_t n;
    size_t n_ended;
    size_t n_completed;
    size_t n_started; /* or ended */
};

/* An element's own number means the element, except the first one's: that is the array's, too. */
static struct subject subject_of(const struct slurm_jobs *s,
                                 const struct slurm_dependency_item *item)
{
    struct subject of = {.job = slurm_find_id(s, item->id), .index = item->index};

    if (!of.job || of.index >= 0 || !of.job->is_array || item->id == of.job->id)
        return of;
    for (size_t i = 0; i < of.job->all.n_words * 64 && of.index < 0; i++)
        if (index_set_has(&of.job->all, i) && sjob_element_id(of.job, i) == item->id)
            of.index = (int64_t)i;
    return of;
}

static struct outcome outcome_of(const struct subject *of)
{
    const struct sjob *j = of->job;
    size_t index = (size_t)of->index;
    const struct sjob_pod *p = NULL;
    struct outcome o = {.n = 1};

    if (of->index >= 0) {
        p = sjob_find_pod(j, index);
        o.n_ended = sjob_has_ended(j, index);
        o.n_completed = index_set_has(&j->completed, index);
        o.n_started = o.n_ended > 0 || (p && p->state != SJOB_PENDING);
        return o;
    }
    o.n = j->all.count;
    o.n_completed = j->completed.count;
    o.n_ended = j->completed.count + j->failed.count + j->cancelled.count;
    o.n_started = o.n_ended + j->n_running + j->n_over;
    return o;
}

static enum sjob_verdict verdict_ok(const struct outcome *o)
{
    if (o->n_completed < o->n_ended)
        return SJOB_NEVER;
    return o->n_completed == o->n ? SJOB_MAY_START : SJOB_WAITS;
}

static enum sjob_verdict verdict_not_ok(const struct outcome *o)
{
    if (o->n_ended < o->n)
        return SJOB_WAITS;
    return o->n_completed == o->n ? SJOB_NEVER : SJOB_MAY_START;
}

/* `after:ID+MINUTES` */
static enum sjob_verdict verdict_after(const struct sjob *other, const struct outcome *o,
                                       int64_t minutes, int64_t now_ns, int64_t *again_ns)
{
    int64_t left_ns = other->last_start_ns + minutes * 60 * NS_PER_SEC - now_ns;

    if (o->n_started < o->n)
        return SJOB_WAITS;
    if (minutes == 0 || left_ns <= 0)
        return SJOB_MAY_START;
    if (*again_ns < 0 || left_ns < *again_ns)
        *again_ns = left_ns;
    return SJOB_WAITS;
}

static const char *user_of(const struct sjob *j)
{
    return text_or_empty(json_text_at(j->object, "spec", "user", "name", NULL));
}

static const char *title_of(const struct sjob *j)
{
    return text_or_empty(json_text_at(j->object, "spec", "name", NULL));
}

/* No earlier job of the user and name waits or runs. The first that does gets to know this one. */
static enum sjob_verdict verdict_singleton(struct sjob *j)
{
    const struct slurm_jobs *s = j->jobs;

    for (size_t i = 0; i < s->by_id.n && s->by_id.at[i]->id < j->id; i++) {
        struct sjob *other = s->by_id.at[i];

        if (other->is_over || !text_equal(title_of(other), title_of(j)) ||
            !text_equal(user_of(other), user_of(j)))
            continue;
        if (other->dependents.n == 0 || other->dependents.at[other->dependents.n - 1] != j->id)
            vec_add(&other->dependents, j->id);
        return SJOB_WAITS;
    }
    return SJOB_MAY_START;
}

/* A job that is gone ended long ago; with what code is no longer known. */
static enum sjob_verdict verdict_gone(enum slurm_dependency_type type)
{
    return type == SLURM_AFTER || type == SLURM_AFTER_ANY || type == SLURM_AFTER_BURST_BUFFER
               ? SJOB_MAY_START
               : SJOB_NEVER;
}

static enum sjob_verdict item_verdict(struct sjob *j, const struct slurm_dependency_item *item,
                                      int64_t now_ns, int64_t *again_ns)
{
    struct subject of;
    struct outcome o;

    if (item->type == SLURM_SINGLETON)
        return verdict_singleton(j);
    of = subject_of(j->jobs, item);
    if (!of.job)
        return verdict_gone(item->type);
    o = outcome_of(&of);
    switch (item->type) {
    case SLURM_AFTER:
        return verdict_after(of.job, &o, item->minutes, now_ns, again_ns);
    case SLURM_AFTER_OK:
        return verdict_ok(&o);
    case SLURM_AFTER_NOT_OK:
        return verdict_not_ok(&o);
    case SLURM_AFTER_CORR:
        if (!j->is_array || !of.job->is_array)
            return verdict_ok(&o);
        return SJOB_MAY_START; /* sjob_element_wait decides */
    case SLURM_AFTER_ANY:
    case SLURM_AFTER_BURST_BUFFER:
    case SLURM_SINGLETON:
        break;
    }
    return o.n_ended == o.n ? SJOB_MAY_START : SJOB_WAITS;
}

static enum sjob_verdict dependency_verdict(struct sjob *j, int64_t now_ns, int64_t *again_ns)
{
    size_t n_never = 0;
    size_t n_may = 0;

    VEC_EACH (&j->dependency.items, item) {
        enum sjob_verdict v = item_verdict(j, item, now_ns, again_ns);

        n_never += v == SJOB_NEVER;
        n_may += v == SJOB_MAY_START;
    }
    if (j->dependency.is_any)
        return n_may > 0                          ? SJOB_MAY_START
               : n_never == j->dependency.items.n ? SJOB_NEVER
                                                  : SJOB_WAITS;
    if (n_never > 0)
        return SJOB_NEVER;
    return n_may == j->dependency.items.n ? SJOB_MAY_START : SJOB_WAITS;
}

enum sjob_verdict sjob_element_wait(const struct sjob *j, size_t index)
{
    VEC_EACH (&j->dependency.items, item) {
        struct subject of = subject_of(j->jobs, item);
        struct outcome o;

        if (item->type != SLURM_AFTER_CORR || !j->is_array || !of.job || !of.job->is_array)
            continue;
        of.index = (int64_t)index;
        if (!index_set_has(&of.job->all, index))
            return SJOB_NEVER;
        o = outcome_of(&of);
        if (verdict_ok(&o) != SJOB_MAY_START)
            return verdict_ok(&o);
    }
    return sjob_is_held(j, index) ? SJOB_WAITS : SJOB_MAY_START;
}

/* ---- the job ---- */

/* What was decided of the dependencies stays, also when the other jobs are gone or start anew. */
static enum sjob_verdict decided_verdict(struct sjob *j, int64_t now_ns, int64_t *again_ns)
{
    const char *decided = json_text_at(j->status, "records", "dependency", NULL);

    if (j->dependency.items.n == 0 || text_equal(decided, "holds"))
        return SJOB_MAY_START;
    if (text_equal(decided, "never"))
        return SJOB_NEVER;
    return dependency_verdict(j, now_ns, again_ns);
}

enum sjob_verdict sjob_wait(struct sjob *j, int64_t now_ns, int64_t *ret_again_ns)
{
    const json_t *spec = json_object_get(j->object, "spec");
    const char *hold = json_text(spec, "hold");
    int64_t begin_ns = stamp_or(json_text(spec, "beginTime"), 0);
    enum sjob_verdict v;

    *ret_again_ns = -1;
    if (sjob_trigger_waits(j, now_ns, ret_again_ns)) {
        j->reason = "Trigger";
        return SJOB_WAITS;
    }
    v = decided_verdict(j, now_ns, ret_again_ns);
    j->reason = v == SJOB_NEVER   ? "DependencyNeverSatisfied"
                : v == SJOB_WAITS ? "Dependency"
                                  : NULL;
    if (v == SJOB_NEVER)
        return v;
    if (text_equal(hold, "user") || text_equal(hold, "admin")) {
        j->reason = text_equal(hold, "user") ? "JobHeldUser" : "JobHeldAdmin";
        return SJOB_WAITS;
    }
    if (v != SJOB_MAY_START)
        return v;
    if (begin_ns <= now_ns) {
        j->reason = sjob_partition_wait(j);
        return j->reason ? SJOB_WAITS : v;
    }
    *ret_again_ns = begin_ns - now_ns;
    j->reason = "BeginTime";
    return SJOB_WAITS;
}
