/*
 * jobs_sync.c - one turn of a Job: counts ended pods, decides, creates and deletes pods
 *
 * The order of the decisions, the reasons and the messages are those of Kubernetes' syncJob.
 */
#include "control/jobs/jobs_private.h"
#include "kinds/pod/pod_state.h"

static int64_t spec_int(const struct job *j, const char *key)
{
    return json_int_at(j->object, "spec", key, NULL);
}

static bool spec_has(const struct job *j, const char *key)
{
    return json_at(j->object, "spec", key, NULL) != NULL;
}

static bool is_suspended(const struct job *j)
{
    return json_bool_at(j->object, "spec", "suspend", NULL);
}

static bool is_indexed(const struct job *j)
{
    return job_is_indexed(json_object_get(j->object, "spec"));
}

static bool is_ending(const struct job_turn *t)
{
    return turn_has(t, "FailureTarget") || turn_has(t, "SuccessCriteriaMet");
}

static bool is_index_right(const struct job *j, const struct job_pod *p)
{
    return p->index >= 0 && p->index < spec_int(j, "completions");
}

static void count_pod(struct job_turn *t, const struct job_pod *p)
{
    struct job *j = t->job;

    if (is_indexed(j) && !is_index_right(j, p))
        return;
    if (p->state != JOB_POD_SUCCEEDED) {
        t->failed += p->verdict != VERDICT_IGNORE;
        if (job_limits_index(j) && p->state == JOB_POD_FAILED && job_pod_ends_index(p) &&
            !index_set_has(&t->done, (size_t)p->index))
            (void)index_set_add(&t->given_up, (size_t)p->index); /* once is enough */
    } else if (is_indexed(j)) {
        (void)index_set_add(&t->done, (size_t)p->index); /* a second success changes nothing */
    } else {
        t->succeeded++;
    }
}

/*
 * Is the pod the last failure of an index with tries left? Its annotations carry the number of
 * tries, so it stays until the next pod exists.
 */
static bool waits_for_next_try(const struct job_turn *t, const struct job_pod *p)
{
    const struct job *j = t->job;

    if (!job_limits_index(j) || j->is_deleting || p->state != JOB_POD_FAILED || p->is_replaced ||
        p->is_killed || !is_index_right(j, p) || job_pod_ends_index(p))
        return false;
    return !index_set_has(&t->done, (size_t)p->index) &&
           !index_set_has(&t->given_up, (size_t)p->index) &&
           !index_set_has(&j->busy, (size_t)p->index);
}

/* Of two failed pods of one index the later try stays. */
static void delay_pod(struct job *j, struct job_pod *p)
{
    struct job_pod *other = NULL;

    map_find(by_index, j->delayed, &p->index, sizeof(p->index), other);
    if (!other) {
        job_pod_delay(p, true);
    } else if (other->failures + other->ignored < p->failures + p->ignored) {
        other->is_replaced = true;
        job_pod_delay(other, false);
        job_pod_delay(p, true);
    } else {
        p->is_replaced = true;
    }
}

/* Leaves in the list only pods to count now. */
static void sort_ended(struct job_turn *t)
{
    struct job *j = t->job;
    size_t kept = 0;

    for (size_t i = 0; i < j->ended.n; i++)
        if (j->ended.at[i]->is_tracked)
            j->ended.at[kept++] = j->ended.at[i];
        else
            j->ended.at[i]->is_ended = false; /* another client removed the finalizer */
    j->ended.n = kept;
    for (size_t i = 0; i < j->ended.n;) {
        struct job_pod *p = j->ended.at[i];

        if (waits_for_next_try(t, p))
            delay_pod(j, p);
        i += p->is_ended;
    }
}

/*
 * Removing the finalizer of a pod that is being deleted deletes it, which writes the quota: at most
 * one such pod a transaction.
 */
static bool turn_release(struct job_turn *t, struct job_pod *p)
{
    if (t->released.n >= t->job->writes_max || (p->is_deleting && t->has_deleting)) {
        t->n_left++;
        return false;
    }
    t->has_deleting = t->has_deleting || p->is_deleting;
    vec_add(&t->released, p);
    return true;
}

static void count_ended(struct job_turn *t)
{
    struct job *j = t->job;

    VEC_EACH (&j->ended, p)
        if (turn_release(t, *p))
            count_pod(t, *p);
    if (is_indexed(j))
        t->succeeded = (int64_t)t->done.count;
}

/* The Job is over: failed pods that wait for a next try are counted now. */
static void count_delayed(struct job_turn *t)
{
    struct job_pod *p;
    struct job_pod *next;

    map_each (by_index, t->job->delayed, p, next)
        if (turn_release(t, p))
            count_pod(t, p);
}

static void turn_fail(struct job_turn *t, const char *reason, const char *message)
{
    (void)turn_condition(t, "FailureTarget", true, reason,
                         message); /* there is none yet: always a change */
}

/* With restartPolicy OnFailure restarts of containers count as tries. */
static bool is_past_restarts(const struct job *j)
{
    int64_t limit = spec_int(j, "backoffLimit");

    if (!text_equal(json_text_at(j->object, "spec", "template", "spec", "restartPolicy", NULL),
                    "OnFailure"))
        return false;
    return limit == 0 ? j->restarts > 0 : j->restarts >= limit;
}

static int64_t start_of(const struct job_turn *t)
{
    return stamp_or(json_text(t->status, "startTime"), t->now_ns);
}

static bool is_past_deadline(struct job_turn *t)
{
    struct job *j = t->job;
    int64_t limit_ns;
    int64_t left_ns;

    if (!spec_has(j, "activeDeadlineSeconds") || is_suspended(j) ||
        !json_text(t->status, "startTime") ||
        __builtin_mul_overflow(spec_int(j, "activeDeadlineSeconds"), NS_PER_SEC, &limit_ns))
        return false;
    if (__builtin_add_overflow(start_of(t) - t->now_ns, limit_ns, &left_ns))
        return false;
    if (left_ns > 0)
        turn_again(t, left_ns);
    return left_ns <= 0;
}

static void check_indexes(struct job_turn *t)
{
    struct job *j = t->job;
    int64_t n_given_up = (int64_t)t->given_up.count;

    if (!job_limits_index(j))
        return;
    if (spec_has(j, "maxFailedIndexes") && n_given_up > spec_int(j, "maxFailedIndexes"))
        turn_fail(t, "MaxFailedIndexesExceeded",
                  "Job has exceeded the specified maximal number of failed indexes");
    else if (n_given_up > 0 && n_given_up + (int64_t)t->done.count >= spec_int(j, "completions"))
        turn_fail(t, "FailedIndexes", "Job has failed indexes");
}

static void check_success(struct job_turn *t)
{
    int rule = job_success_rule(t->job, &t->done);
    AUTO_FREE char *message = mem_format("Matched rules at index %d", rule);

    if (rule >= 0)
        (void)turn_condition(t, "SuccessCriteriaMet", true, "SuccessPolicy",
                             message); /* as above */
}

static void turn_decide(struct job_turn *t)
{
    struct job *j = t->job;
    int64_t n_delayed = (int64_t)map_count(by_index, j->delayed);

    if (is_ending(t))
        return;
    if (j->failure)
        turn_fail(t, "PodFailurePolicy", j->failure);
    else if (t->failed + n_delayed > spec_int(j, "backoffLimit") || is_past_restarts(j))
        turn_fail(t, "BackoffLimitExceeded", "Job has reached the specified backoff limit");
    else if (is_past_deadline(t))
        turn_fail(t, "DeadlineExceeded", "Job was active longer than specified deadline");
    if (!is_ending(t))
        check_indexes(t);
    if (!is_ending(t) && is_indexed(j))
        check_success(t);
}

/* Deletes the pod and releases it; `is_failed`: also counts it as failed. */
static bool turn_kill(struct job_turn *t, struct job_pod *p, bool is_failed)
{
    if (t->killed.n >= t->job->writes_max) {
        t->n_left++;
        return false;
    }
    if (p->is_tracked && !turn_release(t, p))
        return false;
    vec_add(&t->killed, p);
    if (p->is_tracked && is_failed)
        count_pod(t, p);
    return true;
}

static void kill_active(struct job_turn *t, bool is_failed)
{
    struct job_pod *p;

    LIST_EACH (t->job->pods, p)
        if (p->state == JOB_POD_ACTIVE && !turn_kill(t, p, is_failed))
            return;
}

/* Deletes active pods that were released, and second pods of an index. */
static void kill_strays(struct job_turn *t)
{
    struct job *j = t->job;
    bool has_indexes = is_indexed(j);
    struct job_pod *p;

    if (j->n_strays == 0 && j->n_extra == 0)
        return;
    LIST_EACH (j->pods, p)
        if (p->state == JOB_POD_ACTIVE && (!p->is_tracked || (has_indexes && !p->has_index)) &&
            !turn_kill(t, p, false))
            return;
}

/* Pods that have done less come first. */
static int compare_worth(const void *a, const void *b)
{
    const struct job_pod *x = *(struct job_pod *const *)a;
    const struct job_pod *y = *(struct job_pod *const *)b;

    if (x->is_bound != y->is_bound)
        return x->is_bound ? 1 : -1;
    if (x->is_ready != y->is_ready)
        return x->is_ready ? 1 : -1;
    if (x->created_ns != y->created_ns)
        return x->created_ns > y->created_ns ? -1 : 1;
    return strcmp(y->name, x->name);
}

static void kill_some(struct job_turn *t, size_t n)
{
    VEC(struct job_pod *) all = {0};
    struct job_pod *p;

    LIST_EACH (t->job->pods, p)
        if (p->state == JOB_POD_ACTIVE && p->is_tracked)
            vec_add(&all, p);
    if (all.n > 1)
        qsort(all.at, all.n, sizeof(*all.at), compare_worth);
    for (size_t i = 0; i < n && i < all.n; i++)
        if (!turn_kill(t, all.at[i], false))
            break;
    vec_done(&all);
}

static int64_t wanted_active(const struct job_turn *t)
{
    const struct job *j = t->job;
    int64_t parallelism = spec_int(j, "parallelism");
    int64_t left;

    if (!spec_has(j, "completions"))
        return t->succeeded > 0 ? (int64_t)j->n_active : parallelism;
    left = spec_int(j, "completions") - t->succeeded;
    if (job_limits_index(j))
        left -= (int64_t)t->given_up.count;
    if (left > parallelism)
        left = parallelism;
    return left > 0 ? left : 0;
}

/* Deletes or creates, never both: the deleted pods may hold what new pods need. */
static void turn_manage(struct job_turn *t)
{
    struct job *j = t->job;
    int64_t wanted;
    int64_t missing;

    kill_strays(t);
    if (is_suspended(j)) {
        kill_active(t, false);
        return;
    }
    if (t->killed.n > 0)
        return;
    wanted = wanted_active(t);
    missing = wanted - (int64_t)j->n_active;
    if (missing < 0) {
        kill_some(t, (size_t)-missing);
        return;
    }
    if (job_replaces_failed_only(j))
        missing -= (int64_t)j->n_leaving;
    if (missing > 0)
        turn_make_pods(t, (size_t)missing);
}

static void check_complete(struct job_turn *t)
{
    struct job *j = t->job;
    int64_t needed = spec_has(j, "completions") ? spec_int(j, "completions") : 1;

    if (t->succeeded >= needed && j->n_active == 0 && t->n_left == 0)
        (void)turn_condition(t, "SuccessCriteriaMet", true, "CompletionsReached",
                             "Reached expected number of succeeded pods"); /* always a change */
}

static void put_start(struct job_turn *t)
{
    char now[STAMP_TEXT_SIZE];

    stamp_format(t->now_ns, now);
    json_put_text(t->status, "startTime", now);
    t->is_urgent = true;
}

static void tell_suspended(struct job_turn *t)
{
    if (is_suspended(t->job)) {
        (void)turn_condition(t, "Suspended", true, "JobSuspended",
                             "Job suspended"); /* maybe unchanged */
        return;
    }
    if (turn_condition(t, "Suspended", false, "JobResumed", "Job resumed"))
        put_start(t);
}

static const json_t *condition_of(const json_t *status, const char *type)
{
    const json_t *list = json_object_get(status, "conditions");

    for (size_t i = 0; i < json_array_size(list); i++)
        if (text_equal(json_text(json_array_get(list, i), "type"), type))
            return json_array_get(list, i);
    return NULL;
}

/* Adds the last condition once no pod of the Job can run and all pods are counted. */
static void turn_end(struct job_turn *t)
{
    struct job *j = t->job;
    bool is_success = turn_has(t, "SuccessCriteriaMet");
    const json_t *why =
        condition_of(t->status, is_success ? "SuccessCriteriaMet" : "FailureTarget");
    AUTO_FREE char *reason = mem_strdup(json_text(why, "reason"));
    AUTO_FREE char *message = mem_strdup(json_text(why, "message"));
    char now[STAMP_TEXT_SIZE];

    if (t->n_left > 0 || t->killed.n > 0 || j->n_active > 0 || j->n_leaving > 0)
        return;
    (void)turn_condition(t, is_success ? "Complete" : "Failed", true, reason,
                         message); /* always a change */
    stamp_format(t->now_ns, now);
    if (is_success)
        json_put_text(t->status, "completionTime", now);
}

/* The Job is being deleted: releases all pods, which are no longer counted. */
static void let_all_go(struct job_turn *t)
{
    struct job_pod *p;

    LIST_EACH (t->job->pods, p)
        if (p->is_tracked && !p->is_ended && !turn_release(t, p))
            return;
}

static void tell_end(const struct job_turn *t, const json_t *before)
{
    struct job *j = t->job;
    const json_t *failed = condition_of(j->status, "Failed");

    if (is_suspended(j) && condition_of(j->status, "Suspended") &&
        !text_equal(json_text(condition_of(before, "Suspended"), "status"), "True"))
        job_event(j, false, "Suspended", "Job suspended");
    if (text_equal(json_text(condition_of(before, "Suspended"), "status"), "True") &&
        text_equal(json_text(condition_of(j->status, "Suspended"), "status"), "False"))
        job_event(j, false, "Resumed", "Job resumed");
    if (condition_of(j->status, "Complete"))
        job_event(j, false, "Completed", "Job completed");
    else if (failed)
        job_event(j, true, json_text(failed, "reason"), json_text(failed, "message"));
}

static void turn_run(struct job_turn *t)
{
    struct job *j = t->job;

    if (!json_text(t->status, "startTime") && !is_suspended(j) && !j->is_deleting)
        put_start(t);
    sort_ended(t);
    count_ended(t);
    if (j->is_deleting) {
        let_all_go(t);
        return;
    }
    turn_decide(t);
    if (!is_ending(t)) {
        turn_manage(t);
        check_complete(t);
        if (!is_ending(t))
            tell_suspended(t);
    } else {
        kill_active(t, turn_has(t, "FailureTarget"));
        count_delayed(t);
    }
    if (is_ending(t))
        turn_end(t);
}

static void job_expire(struct job *j)
{
    struct jobs *s = j->jobs;
    int64_t left_ns = j->expires_ns - loop_wall_ns(s->options.loop);
    const struct cluster_target target = {.resource = "jobs.batch", .ns = j->ns, .name = j->name};
    struct cluster_answer a;
    AUTO(err_freep) struct err *e = NULL;

    if (j->expires_ns == 0 || j->is_deleting)
        return;
    if (left_ns > 0) {
        job_poke_in(j, left_ns);
        return;
    }
    a = jobs_answer(s);
    e = writes_end(a, cluster_remove(s->options.cluster, &target, j->uid, a));
    if (!e || err_code(e) == ERR_NOT_FOUND || err_code(e) == ERR_CONFLICT)
        return;
    LOG(WARN, "finished job was not deleted, will be tried again", S("job", j->key), E(e));
    job_poke_in(j, retry_failed(&j->write_retry, loop_now_ns(s->options.loop)));
}

/* A finished Job counts no pods: a pod with a finalizer came too late. */
static void look_at_finished(struct job *j)
{
    struct jobs *s = j->jobs;
    struct job_pod *p;

    LIST_EACH (j->pods, p)
        if (p->is_tracked) {
            p->is_tracked = false; /* released once: a lost write reads all jobs again */
            vec_add(&s->orphans, mem_strdup(p->key));
        }
    if (s->orphans.n > 0)
        loop_timer_set(s->work_timer, 0);
    job_expire(j);
}

void job_sync(struct job *j)
{
    AUTO(json_freep) json_t *before = NULL;
    struct job_turn t;

    if (j->is_finished || !j->object) {
        look_at_finished(j);
        return;
    }
    before = json_incref(j->status);
    turn_init(&t, j);
    turn_run(&t);
    turn_write(&t);
    if (j->status != before)
        tell_end(&t, before);
    turn_done(&t);
}
