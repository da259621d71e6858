/*
 * jobs_status.c - writes a turn's result: the Job's status and its released pods, in one
 * transaction
 */
#include <inttypes.h>

#include "control/jobs/jobs_private.h"
#include "kinds/pod/pod_state.h"

#define CALM_NS \
    (INT64_C(100) * NS_PER_MS) /* between writes that change only the counts active and ready */

static void copy_set(const struct index_set *from, struct index_set *to)
{
    *to = (struct index_set){.n_words = from->n_words, .count = from->count};
    if (from->n_words > 0)
        to->words = mem_dup(from->words, from->n_words * sizeof(*from->words));
}

void turn_init(struct job_turn *t, struct job *j)
{
    *t = (struct job_turn){.job = j, .again_ns = -1};
    t->now_ns = loop_wall_ns(j->jobs->options.loop);
    t->status = json_deep_copy(j->status);
    t->succeeded = json_int(j->status, "succeeded", 0);
    t->failed = json_int(j->status, "failed", 0);
    copy_set(&j->done, &t->done);
    copy_set(&j->given_up, &t->given_up);
}

void turn_done(struct job_turn *t)
{
    json_decref(t->status);
    index_set_done(&t->done);
    index_set_done(&t->given_up);
    vec_done(&t->released);
    vec_done(&t->killed);
}

void turn_again(struct job_turn *t, int64_t in_ns)
{
    if (t->again_ns < 0 || in_ns < t->again_ns)
        t->again_ns = in_ns;
}

static json_t *find_condition(const json_t *status, const char *type)
{
    json_t *list = json_object_get(status, "conditions");

    for (size_t i = 0; i < json_array_size(list); i++)
        if (text_equal(json_text(json_array_get(list, i), "type"), type))
            return json_array_get(list, i);
    return NULL;
}

bool turn_has(const struct job_turn *t, const char *type)
{
    return text_equal(json_text(find_condition(t->status, type), "status"), "True");
}

bool turn_condition(struct job_turn *t, const char *type, bool is_true, const char *reason,
                    const char *message)
{
    json_t *condition = find_condition(t->status, type);
    const char *status = is_true ? "True" : "False";
    char now[STAMP_TEXT_SIZE];

    if (condition ? text_equal(json_text(condition, "status"), status) : !is_true)
        return false;
    if (!condition) {
        condition = json_object();
        json_put_text(condition, "type", type);
        (void)json_array_append_new(json_array_at(t->status, "conditions"), condition); /* fresh */
    }
    stamp_format(t->now_ns, now);
    json_put_text(condition, "status", status);
    json_put_text(condition, "lastProbeTime", now);
    json_put_text(condition, "lastTransitionTime", now);
    json_put_text(condition, "reason", reason);
    json_put_text(condition, "message", message);
    t->is_urgent = true;
    return true;
}

static void put_count(json_t *status, const char *key, int64_t value, bool is_always)
{
    if (value > 0 || is_always)
        json_put_int(status, key, value);
    else
        json_put_text(status, key, NULL);
}

static void put_indexes(json_t *status, const char *key, const struct index_set *set,
                        const struct index_set *was)
{
    AUTO_FREE char *text = NULL;

    if (set->count == was->count)
        return; /* the sets only grow, or are read anew when completions change */
    text = index_set_format(set);
    json_put_text(status, key, *text ? text : NULL);
}

static size_t count_killed(const struct job_turn *t, bool is_ready_only)
{
    size_t n = 0;

    for (size_t i = 0; i < t->killed.n; i++) {
        const struct job_pod *p = t->killed.at[i];

        n += p->state == JOB_POD_ACTIVE && p->is_tracked && (!is_ready_only || p->is_ready);
    }
    return n;
}

static void fill_status(struct job_turn *t)
{
    struct job *j = t->job;
    size_t n_killed = count_killed(t, false);

    put_count(t->status, "active", (int64_t)(j->n_active - n_killed), false);
    put_count(t->status, "ready", (int64_t)(j->n_ready - count_killed(t, true)), true);
    put_count(t->status, "terminating", (int64_t)(j->n_leaving + n_killed), true);
    put_count(t->status, "succeeded", t->succeeded, false);
    put_count(t->status, "failed", t->failed, false);
    put_indexes(t->status, "completedIndexes", &t->done, &j->done);
    put_indexes(t->status, "failedIndexes", &t->given_up, &j->given_up);
    (void)json_object_at(t->status,
                         "uncountedTerminatedPods"); /* created empty, as in Kubernetes */
}

/*
 * The patch from `was` to `is`, for the Job's known version only; null for removed members. New
 * reference.
 */
static json_t *status_patch(const struct job *j, json_t *was, json_t *is, bool *ret_is_change)
{
    AUTO_FREE char *version = mem_format("%" PRId64, j->version);
    json_t *patch = json_object();
    json_t *changes = json_object_at(patch, "status");
    const char *key;
    json_t *value;

    json_put_text(json_object_at(patch, "metadata"), "resourceVersion", version);

    json_object_foreach (is, key, value)
        if (!json_object_get(was, key) || !json_equal(json_object_get(was, key), value))
            json_put(changes, key, json_incref(value));
    json_object_foreach (was, key, value)
        if (!json_object_get(is, key))
            json_put(changes, key, json_null());
    *ret_is_change = json_object_size(changes) > 0;
    return patch;
}

/* The patch has no name, so that one patch serves all pods. */
static json_t *release_patch(void)
{
    return json_pack("{s:{s:[s]}}", "metadata", "$deleteFromPrimitiveList/finalizers",
                     JOB_TRACKING);
}

static struct err *turn_write_all(struct job_turn *t, json_t *patch)
{
    struct job *j = t->job;
    AUTO(json_freep) json_t *release = release_patch();
    struct cluster_write *writes = mem_alloc((t->released.n + 1) * sizeof(*writes));
    struct cluster_answer a = jobs_answer(j->jobs);
    size_t n = 0;
    struct err *e;

    writes[n++] = (struct cluster_write){.resource = "jobs.batch",
                                         .ns = j->ns,
                                         .name = j->name,
                                         .subresource = "status",
                                         .tree = patch};
    VEC_EACH (&t->released, p)
        writes[n++] = (struct cluster_write){.resource = "pods",
                                             .ns = j->ns,
                                             .name = (*p)->name,
                                             .tree = release,
                                             .must_change = true};
    e = writes_end(a, cluster_write_all(j->jobs->options.cluster, writes, n, a, &j->version));
    free(writes);
    return e;
}

/* Counts the turn as written; jobs_answer reports if the store takes it back. */
static void turn_accept(struct job_turn *t)
{
    struct job *j = t->job;
    size_t kept = 0;

    json_decref(j->status);
    j->status = TAKE(t->status);
    index_set_done(&j->done);
    index_set_done(&j->given_up);
    j->done = t->done;
    j->given_up = t->given_up;
    t->done = (struct index_set){0};
    t->given_up = (struct index_set){0};
    VEC_EACH (&t->released, at) {
        struct job_pod *p = *at;

        job_pod_delay(p, false);
        job_pod_unsum(p);
        p->is_tracked = false;
        p->is_ended = false;
        if (p->state == JOB_POD_ACTIVE && !j->is_deleting) {
            p->is_killed = true;
            p->state = JOB_POD_LEAVING;
        }
        job_pod_sum(p);
    }
    for (size_t i = 0; i < j->ended.n; i++)
        if (j->ended.at[i]->is_ended)
            j->ended.at[kept++] = j->ended.at[i];
    j->ended.n = kept;
    j->written_ns = loop_now_ns(j->jobs->options.loop);
    j->write_retry = (struct retry){0};
    j->writes_max = JOB_WRITES_MAX;
}

static void delete_killed(struct job_turn *t)
{
    struct job *j = t->job;

    VEC_EACH (&t->killed, at) {
        struct job_pod *p = *at;
        const struct cluster_target target = {.resource = "pods", .ns = j->ns, .name = p->name};
        struct cluster_answer a = jobs_answer(j->jobs);
        AUTO(err_freep)
        struct err *e = writes_end(a, cluster_remove(j->jobs->options.cluster, &target, p->uid, a));

        job_pod_unsum(p);
        p->is_killed = true;
        if (p->state == JOB_POD_ACTIVE)
            p->state = JOB_POD_LEAVING;
        job_pod_sum(p);
        if (e && err_code(e) != ERR_NOT_FOUND && err_code(e) != ERR_CONFLICT) {
            AUTO_FREE char *why = mem_format("Error deleting: %s", err_message(e));

            job_event(j, true, "FailedDelete", why);
            jobs_reload_later(j->jobs);
            return;
        }
        job_pod_event(j, "SuccessfulDelete", "Deleted", p->name);
    }
}

/*
 * The store refused the transaction. A pod may be gone, or a quota would be written twice: tries
 * fewer pods at a time.
 */
static void turn_refused(struct job_turn *t, const struct err *e)
{
    struct job *j = t->job;
    int64_t now_ns = loop_now_ns(j->jobs->options.loop);

    if (err_code(e) != ERR_CONFLICT) /* else the Job has changed: the watch reports it */
        LOG(WARN, "job was not written, will be tried again", S("job", j->key), E(e));
    if (err_code(e) == ERR_INVALID || err_code(e) == ERR_NOT_FOUND || err_code(e) == ERR_TOO_LARGE)
        j->writes_max = j->writes_max > 1 ? j->writes_max / 2 : 1;
    job_poke_in(j, retry_failed(&j->write_retry, now_ns));
}

void turn_write(struct job_turn *t)
{
    struct job *j = t->job;
    int64_t now_ns = loop_now_ns(j->jobs->options.loop);
    AUTO(json_freep) json_t *patch = NULL;
    AUTO(err_freep) struct err *e = NULL;
    bool is_change = false;

    fill_status(t);
    patch = status_patch(j, j->status, t->status, &is_change);
    if (t->released.n == 0 && !t->is_urgent && is_change && now_ns - j->written_ns < CALM_NS) {
        turn_again(t, j->written_ns + CALM_NS - now_ns);
    } else if (is_change || t->released.n > 0) {
        e = turn_write_all(t, patch);
        if (e) {
            turn_refused(t, e);
            return;
        }
        turn_accept(t);
    }
    delete_killed(t);
    if (t->n_left > 0)
        turn_again(t, 0);
    if (t->again_ns == 0)
        job_poke(j);
    else if (t->again_ns > 0)
        job_poke_in(j, t->again_ns);
}
