/* slurm_write.c - writes a turn's result: the status and the counted pods, in one transaction */
#include <inttypes.h>

#include "control/slurm/slurm_private.h"

#define CALM_NS NS_PER_SEC /* between writes that change only what runs */

/* ---- the status ---- */

static void put_set(json_t *status, const char *key, const struct index_set *set)
{
    AUTO_FREE char *text = set->count > 0 ? index_set_format(set) : NULL;

    json_put_text(status, key, text);
}

/* The elements that run, and those that wait. */
static void put_elements(struct sjob_turn *t)
{
    struct sjob *j = t->job;
    AUTO(index_set_done) struct index_set running = {0};
    AUTO(index_set_done) struct index_set pending = {0};
    struct sjob_pod *p;
    struct sjob_pod *tmp;

    map_each (by_slot, j->pods, p, tmp)
        if (p->state == SJOB_RUNNING && p->rank == 0)
            (void)index_set_add(&running, (size_t)p->index);
    for (size_t i = 0; i < j->all.n_words * 64; i++)
        if (index_set_has(&j->all, i) && !sjob_turn_has_ended(t, i) && !index_set_has(&running, i))
            (void)index_set_add(&pending, i);
    put_set(t->status, "running", &running);
    put_set(t->status, "pending", &pending);
}

static const char *array_end(const struct sjob_turn *t)
{
    if (t->failed.count > 0)
        return "FAILED";
    return t->cancelled.count > 0 ? "CANCELLED" : "COMPLETED";
}

static void fill_running(struct sjob_turn *t)
{
    struct sjob *j = t->job;
    const struct sjob_pod *p = j->is_array ? NULL : sjob_find_pod(j, 0);
    bool is_running = j->n_running > 0 || (j->ask.nodes > 1 && j->n_over > 0);
    char text[STAMP_TEXT_SIZE];

    json_put_text(t->status, "state", is_running ? "RUNNING" : "PENDING");
    json_put_text(t->status, "reason", is_running ? NULL : j->reason);
    if (!p || p->state != SJOB_RUNNING)
        return;
    json_put_text(t->status, "nodes", sjob_pod_nodes(p));
    stamp_format_micro(p->end.started_ns, text);
    json_put_text(t->status, "startTime", text);
}

static const char *end_reason(const char *state)
{
    if (text_equal(state, "FAILED"))
        return "NonZeroExitCode";
    if (text_equal(state, "TIMEOUT"))
        return "TimeLimit";
    if (text_equal(state, "NODE_FAIL"))
        return "NodeDown";
    return text_equal(state, "DEADLINE") ? "DeadLine" : NULL;
}

/* Elements that ended without a pod: accounting gets a row for those that are new. */
static void put_unstarted(struct sjob_turn *t)
{
    json_t *records = json_object_get(t->status, "records");
    const char *was = json_text(records, "unstarted");
    AUTO(index_set_done) struct index_set set = {0};

    if (t->unstarted.count == 0)
        return;
    if (was) /* our own text */
        err_free(index_set_parse(str_of(was), SLURM_ARRAY_MAX, &set));
    for (size_t i = 0; i < t->unstarted.n_words * 64; i++)
        if (index_set_has(&t->unstarted, i))
            (void)index_set_add(&set, i);
    put_set(json_object_at(t->status, "records"), "unstarted", &set);
}

static void fill_status(struct sjob_turn *t)
{
    struct sjob *j = t->job;
    char text[STAMP_TEXT_SIZE];

    put_unstarted(t);

    put_set(t->status, "completed", &t->completed);
    put_set(t->status, "failed", &t->failed);
    put_set(t->status, "cancelled", &t->cancelled);
    put_elements(t);
    if (sjob_turn_ended(t) < j->all.count) {
        fill_running(t);
        return;
    }
    if (j->is_array)
        json_put_text(t->status, "state", array_end(t));
    json_put_text(t->status, "reason", end_reason(json_text(t->status, "state")));
    if (j->eligible_ns > 0) {
        stamp_format_micro(j->eligible_ns, text);
        json_put_text(t->status, "eligibleTime", text);
    }
}

/* The patch from `was` to `is`, for the known version only; null for removed members. */
static json_t *status_patch(const struct sjob *j, json_t *is, bool *ret_is_change)
{
    AUTO_FREE char *version = mem_format("%" PRId64, j->version);
    json_t *patch = json_object();
    json_t *changes = json_object_at(patch, "status");
    const char *key;
    json_t *value;

    json_put_text(json_object_at(patch, "metadata"), "resourceVersion", version);
    json_object_foreach (is, key, value)
        if (!json_object_get(j->status, key) || !json_equal(json_object_get(j->status, key), value))
            json_put(changes, key, json_incref(value));
    json_object_foreach (j->status, key, value)
        if (!json_object_get(is, key))
            json_put(changes, key, json_null());
    *ret_is_change = json_object_size(changes) > 0;
    return patch;
}

/* ---- the transaction ---- */

/* A job whose status does not change keeps its version. */
static struct err *turn_write_all(struct sjob_turn *t, json_t *patch, bool is_change)
{
    struct sjob *j = t->job;
    int64_t version = 0;
    AUTO(json_freep)
    json_t *release =
        json_pack("{s:{s:[s]}}", "metadata", "$deleteFromPrimitiveList/finalizers", SLURM_TRACKING);
    struct cluster_write *writes = mem_alloc((t->released.n + 1) * sizeof(*writes));
    struct cluster_answer a = slurm_answer(j->jobs);
    size_t n = 0;
    struct err *e;

    writes[n++] = (struct cluster_write){.resource = "slurmjobs.mete.dev",
                                         .ns = j->ns,
                                         .name = j->name,
                                         .subresource = "status",
                                         .tree = patch};
    VEC_EACH (&t->released, p)
        writes[n++] = (struct cluster_write){.resource = "pods",
                                             .ns = j->ns,
                                             .name = (*p)->name,
                                             .tree = release,
                                             .must_change = true,
                                             .ret_is_gone = &(*p)->is_gone};
    e = writes_end(a, cluster_write_all(j->jobs->options.cluster, writes, n, a, &version));
    free(writes);
    if (!e && is_change)
        j->version = version;
    return e;
}

static void delete_pod(struct sjob *j, const char *name, const char *uid)
{
    const struct cluster_target target = {.resource = "pods", .ns = j->ns, .name = name};
    struct cluster_answer a = slurm_answer(j->jobs);
    AUTO(err_freep)
    struct err *e = writes_end(a, cluster_remove(j->jobs->options.cluster, &target, uid, a));

    if (!e || err_code(e) == ERR_NOT_FOUND || err_code(e) == ERR_CONFLICT)
        return;
    LOG(WARN, "pod of a Slurm job was not deleted", S("pod", name), E(e));
    slurm_reload_later(j->jobs);
}

static void keep_past(struct sjob *j, const struct sjob_pod *p)
{
    const char *nodes = sjob_pod_nodes(p);

    if (p->rank == 0)
        j->ended_cpus = p->cpus;
    if (j->is_array && p->rank == 0)
        vec_add(&j->past, (struct sjob_past){.index = p->index,
                                             .cpus = p->cpus,
                                             .restarts = p->restarts,
                                             .end = p->end,
                                             .node = nodes ? mem_strdup(nodes) : NULL});
}

static int64_t more_in(const struct index_set *now, const struct index_set *before)
{
    return (int64_t)(now->count - index_set_count_common(now, before));
}

static void count_ends(const struct sjob_turn *t)
{
    struct slurm_diag *d = &t->job->jobs->diag;

    d->completed += more_in(&t->completed, &t->job->completed);
    d->failed += more_in(&t->failed, &t->job->failed);
    d->cancelled += more_in(&t->cancelled, &t->job->cancelled);
}

/* Counts the turn as written; slurm_answer reports if the store takes it back. */
static void turn_accept(struct sjob_turn *t)
{
    struct sjob *j = t->job;

    count_ends(t);
    json_decref(j->status);
    j->status = TAKE(t->status);
    index_set_done(&j->completed);
    index_set_done(&j->failed);
    index_set_done(&j->cancelled);
    j->completed = t->completed;
    j->failed = t->failed;
    j->cancelled = t->cancelled;
    t->completed = (struct index_set){0};
    t->failed = (struct index_set){0};
    t->cancelled = (struct index_set){0};
    j->is_over = json_text(j->status, "endTime") &&
                 j->completed.count + j->failed.count + j->cancelled.count == j->all.count;
    j->dirty_ns = 0;
    j->write_retry = (struct retry){0};
    j->writes_max = SJOB_WRITES_MAX;
    VEC_EACH (&t->released, at) {
        if (!(*at)->is_outdated && sjob_has_ended(j, (size_t)(*at)->index))
            keep_past(j, *at);
        if (!(*at)->is_deleting && !(*at)->is_gone)
            delete_pod(j, (*at)->name, (*at)->uid);
        sjob_pod_free(*at);
    }
    sjob_mail_ends(t);
    if (t->is_urgent)
        sjob_tell_dependents(j);
    if (j->is_over)
        sjob_poke(j); /* sets the time of its deletion */
}

/* The store refused the transaction: tries fewer pods at a time. */
static void turn_refused(struct sjob_turn *t, const struct err *e)
{
    struct sjob *j = t->job;

    if (err_code(e) != ERR_CONFLICT) /* else the job has changed: the watch reports it */
        LOG(WARN, "Slurm job was not written, will be tried again", S("job", j->key), E(e));
    if (err_code(e) == ERR_INVALID || err_code(e) == ERR_NOT_FOUND || err_code(e) == ERR_TOO_LARGE)
        j->writes_max = j->writes_max > 1 ? j->writes_max / 2 : 1;
    sjob_poke_in(j, retry_failed(&j->write_retry, loop_now_ns(j->jobs->options.loop)));
}

/* The end of the pod that was decided elsewhere: by the client of an allocation, or by the first
 * component of a heterogeneous job. NULL: none. */
static const json_t *told_end(const struct sjob *j, const struct sjob_pod *p)
{
    const json_t *ending = json_at(j->status, "records", "ending", "*", NULL);
    const char *state = json_text(ending, "state");

    if (!json_at(j->object, "spec", "script", NULL))
        return json_at(j->object, "spec", "end", NULL);
    if (j->het.n == 1 || sjob_pod_ask(p) == &j->het.asks[0])
        return NULL;
    return text_equal(state, "COMPLETED") || text_equal(state, "FAILED") ? ending : NULL;
}

/* Notes at a pod that has started who cancels it: accounting reads it at the pod's end. */
static void note_canceller(struct sjob *j, const struct sjob_pod *p)
{
    const struct cluster_target target = {.resource = "pods", .ns = j->ns, .name = p->name};
    const json_t *uid = json_at(j->object, "spec", "cancelledBy", NULL);
    const json_t *end = told_end(j, p);
    AUTO_FREE char *text = uid ? mem_format("%" PRId64, (int64_t)json_integer_value(uid)) : NULL;
    AUTO_FREE char *told =
        mem_format("%" PRId64 " %" PRId64, json_int(end, "exitCode", json_int(end, "code", 0)),
                   json_int(end, "exitSignal", json_int(end, "signal", 0)));
    bool is_told = end != NULL;
    AUTO(json_freep) json_t *patch = json_object();
    json_t *annotations = json_object_at(json_object_at(patch, "metadata"), "annotations");
    AUTO(err_freep) struct err *e = NULL;
    struct cluster_answer a;

    if ((!text && !is_told) || !p->node)
        return;
    a = slurm_answer(j->jobs);
    if (is_told)
        json_put_text(annotations, SLURM_END_ANNOTATION, told);
    else
        json_put_text(annotations, SLURM_CANCELLED_ANNOTATION, text);
    e = writes_end(a, cluster_patch(j->jobs->options.cluster, &target, patch, a));
    if (e && err_code(e) != ERR_NOT_FOUND)
        LOG(WARN, "accounting will not know who cancelled", S("pod", p->key), E(e));
}

static void turn_kill(struct sjob_turn *t)
{
    VEC_EACH (&t->killed, p) {
        if ((*p)->is_killed)
            continue; /* for two reasons */
        (*p)->is_killed = true;
        note_canceller(t->job, *p);
        delete_pod(t->job, (*p)->name, (*p)->uid);
    }
}

/* Is the change to be written now, or with one that follows soon? */
static bool is_due(struct sjob_turn *t)
{
    struct sjob *j = t->job;
    int64_t now_ns = loop_now_ns(j->jobs->options.loop);

    if (t->is_urgent || t->released.n > 0)
        return true;
    if (j->dirty_ns == 0)
        j->dirty_ns = now_ns;
    if (now_ns - j->dirty_ns >= CALM_NS)
        return true;
    sjob_turn_again(t, j->dirty_ns + CALM_NS - now_ns);
    return false;
}

/* Writes the turn's changes if they are due. False: the store refused them. */
static bool turn_write_due(struct sjob_turn *t)
{
    AUTO(json_freep) json_t *patch = NULL;
    AUTO(err_freep) struct err *e = NULL;
    bool is_change = false;

    if (t->job->dirty_ns != 0 && !is_due(t))
        return true; /* a change waits already: the status is made with those that follow */
    fill_status(t);
    patch = status_patch(t->job, t->status, &is_change);
    if ((!is_change && t->released.n == 0) || !is_due(t))
        return true;
    e = turn_write_all(t, patch, is_change);
    if (e)
        turn_refused(t, e);
    else
        turn_accept(t);
    return !e;
}

bool sjob_turn_write(struct sjob_turn *t)
{
    struct sjob *j = t->job;

    if (!turn_write_due(t))
        return false;
    turn_kill(t);
    if (t->n_left > 0)
        sjob_turn_again(t, 0);
    if (t->again_ns == 0)
        sjob_poke(j);
    else if (t->again_ns > 0)
        sjob_poke_in(j, t->again_ns);
    return true;
}
