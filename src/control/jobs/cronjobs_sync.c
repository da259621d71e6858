/*
 * cronjobs_sync.c - one look at a CronJob: its Jobs' states, and the Job that is due
 *
 * Active Jobs are those that the controller created and that have not ended. A Job that a user
 * created from the CronJob (kubectl create job --from) is kept in the history and blocks nothing.
 */
#include <inttypes.h>

#include "control/jobs/cronjobs_private.h"
#include "kinds/pod/pod_state.h"

#define LOOK_MAX_NS  (INT64_C(60) * NS_PER_SEC) /* the wall clock may be set meanwhile */
#define LOOK_LATE_NS NS_PER_MS

/* The findings of one look, before they are written. */
struct look {
    struct cronjob *c;
    int64_t now_ns; /* realtime */
    json_t *status;
    VEC(struct cron_job *) jobs; /* by key */
};

static const char *job_text(const struct cron_job *j, const char *key)
{
    const char *text = json_text_at(j->object, "metadata", key, NULL);

    return text ? text : "";
}

static bool is_scheduled(const struct cron_job *j)
{
    return json_text_at(j->object, "metadata", "annotations", CRONJOB_SCHEDULED_FOR, NULL) != NULL;
}

static bool is_active(const struct cron_job *j)
{
    return is_scheduled(j) && !job_is_finished(j->object);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp((*(struct cron_job *const *)a)->key, (*(struct cron_job *const *)b)->key);
}

static struct cron_job *find_job(const struct look *l, const char *uid)
{
    VEC_EACH (&l->jobs, j)
        if (text_equal(job_text(*j, "uid"), uid))
            return *j;
    return NULL;
}

static json_t *reference_to(const struct cron_job *j)
{
    json_t *reference = json_object();

    json_put_text(reference, "kind", "Job");
    json_put_text(reference, "namespace", job_text(j, "namespace"));
    json_put_text(reference, "name", job_text(j, "name"));
    json_put_text(reference, "uid", job_text(j, "uid"));
    json_put_text(reference, "apiVersion", "batch/v1");
    return reference;
}

static void tell_ended(const struct look *l)
{
    const json_t *was = json_object_get(l->status, "active");

    for (size_t i = 0; i < json_array_size(was); i++) {
        const json_t *reference = json_array_get(was, i);
        const struct cron_job *j = find_job(l, json_text(reference, "uid"));
        AUTO_FREE char *message = NULL;

        if (!j) {
            message = mem_format("Active job went missing: %s", json_text(reference, "name"));
            cronjob_event(l->c, false, "MissingJob", message);
        } else if (job_is_finished(j->object)) {
            message = mem_format("Saw completed job: %s, condition: %s", job_text(j, "name"),
                                 job_has_condition(j->object, "Complete") ? "Complete" : "Failed");
            cronjob_event(l->c, false, "SawCompletedJob", message);
        }
    }
}

static void read_jobs(struct look *l)
{
    int64_t last_ns = stamp_or(json_text(l->status, "lastSuccessfulTime"), 0);
    AUTO(json_freep) json_t *active = json_array();

    tell_ended(l);
    VEC_EACH (&l->jobs, at) {
        const struct cron_job *j = *at;
        const char *completed = json_text_at(j->object, "status", "completionTime", NULL);

        if (is_active(j))
            (void)json_array_append_new(active, reference_to(j)); /* fresh: cannot fail */
        if (job_has_condition(j->object, "Complete") && stamp_or(completed, 0) > last_ns) {
            last_ns = stamp_or(completed, 0);
            json_put_text(l->status, "lastSuccessfulTime", completed);
        }
    }
    if (json_array_size(active) > 0)
        json_put(l->status, "active", TAKE(active));
    else
        json_put_text(l->status, "active", NULL);
}

static void delete_job(const struct look *l, const struct cron_job *j)
{
    struct cronjob *c = l->c;
    const struct cluster_target target = {
        .resource = "jobs.batch", .ns = c->ns, .name = job_text(j, "name")};
    AUTO_FREE char *message = mem_format("Deleted job %s", job_text(j, "name"));
    struct cluster_answer a = cronjob_answer(c);
    AUTO(err_freep)
    struct err *e =
        writes_end(a, cluster_remove(c->cronjobs->options.cluster, &target, job_text(j, "uid"), a));

    if (!e)
        cronjob_event(c, false, "SuccessfulDelete", message);
    else if (err_code(e) != ERR_NOT_FOUND && err_code(e) != ERR_CONFLICT)
        LOG(WARN, "job of a cron job was not deleted", S("job", j->key), E(e));
}

static int64_t started_ns(const struct cron_job *j)
{
    const char *text = json_text_at(j->object, "status", "startTime", NULL);

    return stamp_or(text ? text : job_text(j, "creationTimestamp"), 0);
}

static int compare_starts(const void *a, const void *b)
{
    int64_t x = started_ns(*(struct cron_job *const *)a);
    int64_t y = started_ns(*(struct cron_job *const *)b);

    if (x != y)
        return x < y ? -1 : 1;
    return compare_keys(a, b);
}

/* Deletes all but the newest `limit` Jobs that ended with `condition`. */
static void clean_history(const struct look *l, const char *condition, int64_t limit)
{
    VEC(struct cron_job *) ended = {0};

    VEC_EACH (&l->jobs, j)
        if (job_has_condition((*j)->object, condition) && !*job_text(*j, "deletionTimestamp"))
            vec_add(&ended, *j);
    if (ended.n > 1)
        qsort(ended.at, ended.n, sizeof(*ended.at), compare_starts);
    for (size_t i = 0; i < ended.n && (int64_t)(ended.n - i) > limit; i++)
        delete_job(l, ended.at[i]);
    vec_done(&ended);
}

/* The latest time that is due and has no Job yet. */
static bool find_due(const struct look *l, int64_t *ret_s)
{
    const struct cronjob *c = l->c;
    const json_t *deadline = json_at(c->object, "spec", "startingDeadlineSeconds", NULL);
    const char *last = json_text(l->status, "lastScheduleTime");
    int64_t now_s = l->now_ns / NS_PER_SEC;
    int64_t after_s =
        stamp_or(last ? last : json_text_at(c->object, "metadata", "creationTimestamp", NULL), 0) /
        NS_PER_SEC;
    int64_t earliest_s = 0;

    if (deadline && !__builtin_sub_overflow(now_s, json_integer_value(deadline), &earliest_s) &&
        earliest_s > after_s)
        after_s = earliest_s;
    return after_s < now_s && cron_last(&c->schedule, c->zone, after_s, now_s, ret_s);
}

static void put_scheduled_for(json_t *annotations, const struct cronjob *c, int64_t at_s)
{
    int64_t offset_s = zone_offset(c->zone, at_s);
    int64_t minutes = (offset_s < 0 ? -offset_s : offset_s) / 60;
    char text[STAMP_TEXT_SIZE];
    AUTO_FREE char *local = NULL;

    stamp_format((at_s + offset_s) * NS_PER_SEC, text);
    local = mem_format("%.19s%c%02d:%02d", text, offset_s < 0 ? '-' : '+', (int)(minutes / 60),
                       (int)(minutes % 60));
    json_put_text(annotations, CRONJOB_SCHEDULED_FOR, offset_s == 0 ? text : local);
}

static json_t *job_tree(const struct cronjob *c, const char *name, int64_t at_s)
{
    static const char *const maps[] = {"labels", "annotations"};
    const json_t *template = json_at(c->object, "spec", "jobTemplate", NULL);
    const char *user = json_text_at(c->object, "metadata", "annotations", POD_USER, NULL);
    json_t *job = json_object();
    json_t *metadata = json_object_at(job, "metadata");
    json_t *owner = json_object();

    json_put_text(metadata, "name", name);
    for (size_t i = 0; i < 2; i++) {
        json_t *map = json_at(template, "metadata", maps[i], NULL);

        json_put(metadata, maps[i], map ? json_deep_copy(map) : json_object());
    }
    put_scheduled_for(json_object_get(metadata, "annotations"), c, at_s);
    json_put_text(json_object_get(metadata, "annotations"), POD_USER, user ? user : "");
    json_put_text(owner, "apiVersion", "batch/v1");
    json_put_text(owner, "kind", "CronJob");
    json_put_text(owner, "name", c->name);
    json_put_text(owner, "uid", c->uid);
    json_put_bool(owner, "controller", true);
    json_put_bool(owner, "blockOwnerDeletion", true);
    (void)json_array_append_new(json_array_at(metadata, "ownerReferences"), owner); /* fresh */
    json_put(job, "spec", json_deep_copy(json_object_get(template, "spec")));
    return job;
}

/* Writes the status, with a new Job or NULL, if the CronJob has not changed meanwhile. */
static struct err *cronjob_write_status(const struct look *l, json_t *job)
{
    const struct cronjob *c = l->c;
    AUTO(json_freep) json_t *patch = json_object();
    AUTO(json_freep) json_t *was = json_deep_copy(json_object_get(c->object, "status"));
    struct cluster_write writes[2];
    size_t n = 0;
    struct cluster_answer a = cronjob_answer(c);
    int64_t version = 0;
    const char *key;
    json_t *value;

    json_put_text(json_object_at(patch, "metadata"), "resourceVersion",
                  json_text_at(c->object, "metadata", "resourceVersion", NULL));
    json_put(patch, "status", json_deep_copy(l->status));
    json_object_foreach (was, key, value)
        if (!json_object_get(l->status, key))
            json_put(json_object_get(patch, "status"), key, json_null());
    if (job)
        writes[n++] = (struct cluster_write){.resource = "jobs.batch", .ns = c->ns, .tree = job};
    writes[n++] = (struct cluster_write){.resource = "cronjobs.batch",
                                         .ns = c->ns,
                                         .name = c->name,
                                         .subresource = "status",
                                         .tree = patch};
    return writes_end(a, cluster_write_all(c->cronjobs->options.cluster, writes, n, a, &version));
}

/* The name is taken. If our own Job of that time has it, the time is served. */
static struct err *take_existing(const struct look *l, const char *name, struct err *e)
{
    VEC_EACH (&l->jobs, j) {
        if (!text_equal(job_text(*j, "name"), name))
            continue;
        err_free(e);
        return cronjob_write_status(l, NULL);
    }
    return e;
}

static bool may_start(const struct look *l)
{
    const char *policy = json_text_at(l->c->object, "spec", "concurrencyPolicy", NULL);
    bool is_busy = json_array_size(json_object_get(l->status, "active")) > 0;

    if (text_equal(policy, "Forbid") && is_busy) {
        cronjob_event(l->c, false, "JobAlreadyActive",
                      "Not starting job because prior execution is running and concurrency policy "
                      "is Forbid");
        return false;
    }
    if (text_equal(policy, "Replace")) {
        VEC_EACH (&l->jobs, j)
            if (is_active(*j))
                delete_job(l, *j);
        json_put_text(l->status, "active", NULL);
    }
    return true;
}

/* `*ret_in_ns`: when to retry; unchanged on success. */
static void start_job(struct look *l, int64_t at_s, int64_t *ret_in_ns)
{
    struct cronjob *c = l->c;
    AUTO_FREE char *name = mem_format("%s-%" PRId64, c->name, at_s / 60);
    AUTO(json_freep) json_t *job = job_tree(c, name, at_s);
    AUTO_FREE char *message = NULL;
    char stamp[STAMP_TEXT_SIZE];
    struct err *e;

    stamp_format(at_s * NS_PER_SEC, stamp);
    json_put_text(l->status, "lastScheduleTime", stamp);
    e = cronjob_write_status(l, job);
    if (e && err_code(e) == ERR_EXISTS)
        e = take_existing(l, name, e);
    if (!e) {
        c->retry = (struct retry){0};
        message = mem_format("Created job %s", name);
        cronjob_event(c, false, "SuccessfulCreate", message);
        return;
    }
    *ret_in_ns = retry_failed(&c->retry, loop_now_ns(c->cronjobs->options.loop));
    if (err_code(e) != ERR_CONFLICT) { /* else the CronJob has changed and is looked at again */
        message = mem_format("Error creating job: %s", err_message(e));
        cronjob_event(c, true, "FailedCreate", message);
    }
    err_free(e);
}

static void write_if_changed(struct look *l, int64_t *ret_in_ns)
{
    struct cronjob *c = l->c;
    json_t *was = json_object_get(c->object, "status");
    AUTO(err_freep) struct err *e = NULL;

    if (was ? json_equal(was, l->status) : json_object_size(l->status) == 0)
        return;
    e = cronjob_write_status(l, NULL);
    if (!e || err_code(e) == ERR_CONFLICT || err_code(e) == ERR_NOT_FOUND)
        return; /* the watch reports the change */
    LOG(WARN, "cron job was not written, will be tried again", S("name", c->name), E(e));
    *ret_in_ns = retry_failed(&c->retry, loop_now_ns(c->cronjobs->options.loop));
}

/* Time until the next time of the schedule. */
static int64_t until_next_ns(const struct look *l)
{
    const struct cronjob *c = l->c;
    int64_t next_s = 0;
    int64_t left_ns;

    if (!cron_next(&c->schedule, c->zone, l->now_ns / NS_PER_SEC, &next_s))
        return LOOK_MAX_NS;
    left_ns = next_s * NS_PER_SEC - l->now_ns + LOOK_LATE_NS;
    return left_ns < LOOK_MAX_NS ? left_ns : LOOK_MAX_NS;
}

static void look_schedule(struct look *l)
{
    struct cronjob *c = l->c;
    int64_t in_ns = until_next_ns(l);
    int64_t wait_ns = retry_left_ns(&c->retry, loop_now_ns(c->cronjobs->options.loop));
    int64_t at_s = 0;

    if (wait_ns > 0)
        in_ns = wait_ns;
    else if (find_due(l, &at_s) && may_start(l))
        start_job(l, at_s, &in_ns);
    else
        write_if_changed(l, &in_ns);
    loop_timer_set(c->timer, in_ns);
}

static void look_run(struct look *l)
{
    const json_t *spec = json_object_get(l->c->object, "spec");
    bool is_deleting = json_text_at(l->c->object, "metadata", "deletionTimestamp", NULL) != NULL;
    int64_t in_ns = -1;

    read_jobs(l);
    clean_history(l, "Complete", json_int(spec, "successfulJobsHistoryLimit", 3));
    clean_history(l, "Failed", json_int(spec, "failedJobsHistoryLimit", 1));
    if (!is_deleting && l->c->is_right && !json_bool(spec, "suspend", false)) {
        look_schedule(l);
        return;
    }
    loop_timer_stop(l->c->timer);
    write_if_changed(l, &in_ns);
    if (in_ns >= 0)
        loop_timer_set(l->c->timer, in_ns);
}

void cronjob_sync(struct cronjob *c)
{
    struct look l = {.c = c, .now_ns = loop_wall_ns(c->cronjobs->options.loop)};
    json_t *status = json_object_get(c->object, "status");
    struct cron_job *j;

    l.status = status ? json_deep_copy(status) : json_object();
    LIST_EACH (c->jobs, j)
        vec_add(&l.jobs, j);
    if (l.jobs.n > 1)
        qsort(l.jobs.at, l.jobs.n, sizeof(*l.jobs.at), compare_keys);
    look_run(&l);
    json_decref(l.status);
    vec_done(&l.jobs);
}
