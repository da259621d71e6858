/* jobs_state.c - Job objects in the controller */
#include "base/num.h"
#include "control/jobs/jobs_private.h"
#include "kinds/pod/pod_state.h"

bool job_replaces_failed_only(const struct job *j)
{
    return text_equal(json_text_at(j->object, "spec", "podReplacementPolicy", NULL), "Failed");
}

bool job_limits_index(const struct job *j)
{
    return json_at(j->object, "spec", "backoffLimitPerIndex", NULL) != NULL;
}

struct job *jobs_find_owner(const struct jobs *s, const char *uid)
{
    struct job *j = NULL;

    if (uid)
        map_find_text(by_uid, s->jobs_by_uid, uid, j);
    return j;
}

static void on_timer(void *arg)
{
    struct job *j = arg;

    j->timer_at_ns = 0;
    job_poke(j);
}

static struct job *job_new(struct jobs *s, const char *key, const json_t *job)
{
    struct job *j = mem_alloc(sizeof(*j));

    j->jobs = s;
    j->key = mem_strdup(key);
    j->ns = mem_strdup(json_text_at(job, "metadata", "namespace", NULL));
    j->name = mem_strdup(json_text_at(job, "metadata", "name", NULL));
    j->uid = mem_strdup(json_text_at(job, "metadata", "uid", NULL));
    j->timer = loop_timer_new(s->options.loop, on_timer, j);
    j->writes_max = JOB_WRITES_MAX;
    map_add(handle, s->jobs, j->key, strlen(j->key), j);
    map_add(by_uid, s->jobs_by_uid, j->uid, strlen(j->uid), j);
    return j;
}

static void forget_object(struct job *j)
{
    json_decref(j->object);
    json_decref(j->status);
    j->object = NULL;
    j->status = NULL;
    index_set_done(&j->done);
    index_set_done(&j->given_up);
    index_set_done(&j->busy);
}

void job_free(struct job *j)
{
    struct jobs *s = j->jobs;

    if (j->is_queued)
        LIST_REMOVE(s->queue, j);
    map_remove(handle, s->jobs, j);
    map_remove(by_uid, s->jobs_by_uid, j);
    while (j->pods)
        job_pod_free(j->pods);
    forget_object(j);
    loop_timer_free(j->timer);
    vec_done(&j->ended);
    free(j->failure);
    free(j->key);
    free(j->ns);
    free(j->name);
    free(j->uid);
    free(j);
}

static int64_t version_of(const json_t *object)
{
    const char *text = json_text_at(object, "metadata", "resourceVersion", NULL);
    int64_t version = 0;

    if (text)
        err_free(num_parse_int64(str_of(text), 0, INT64_MAX, &version)); /* our own number */
    return version;
}

/* A text that an administrator broke reads as the empty set. */
static void read_indexes(const json_t *status, const char *key, size_t end, struct index_set *set)
{
    const char *text = json_text(status, key);

    index_set_done(set);
    if (!text)
        return;
    /* Indexes beyond a reduced number of completions do not count. */
    err_free(index_set_parse(str_of(text), INDEX_SET_MAX, set));
    for (size_t i = end; i < set->n_words * 64; i++)
        index_set_remove(set, i);
}

static void read_status(struct job *j, const json_t *job)
{
    const json_t *status = json_object_get(job, "status");
    size_t end = (size_t)json_int_at(job, "spec", "completions", NULL);

    json_decref(j->status);
    j->status = json_is_object(status) ? json_deep_copy(status) : json_object();
    read_indexes(j->status, "completedIndexes", end, &j->done);
    read_indexes(j->status, "failedIndexes", end, &j->given_up);
    j->next_index = 0;
}

static bool is_spec_changed(const struct job *j, const json_t *job)
{
    return !j->object || json_int_at(j->object, "metadata", "generation", NULL) !=
                             json_int_at(job, "metadata", "generation", NULL);
}

static void keep_object(struct job *j, const json_t *job)
{
    json_decref(j->object);
    j->object = json_incref((json_t *)(uintptr_t)job);
}

/* The sums depend on the spec. */
static void take_object(struct job *j, const json_t *job)
{
    bool is_changed = is_spec_changed(j, job);
    struct job_pod *p;

    if (is_changed)
        LIST_EACH (j->pods, p)
            job_pod_unsum(p);
    keep_object(j, job);
    read_status(j, job);
    if (is_changed)
        LIST_EACH (j->pods, p)
            job_pod_sum(p);
}

/* When the Job ended, realtime; 0: unreadable. */
static int64_t finished_ns(const json_t *job)
{
    const char *type = job_has_condition(job, "Complete") ? "Complete" : "Failed";

    return stamp_or(json_text(object_condition(job, type), "lastTransitionTime"), 0);
}

/* A finished Job only waits for its deletion and releases its pods. */
static void job_finish(struct job *j, const json_t *job)
{
    const json_t *ttl = json_at(job, "spec", "ttlSecondsAfterFinished", NULL);
    int64_t seconds = ttl ? json_integer_value(ttl) : 0;

    j->is_finished = true;
    j->expires_ns = ttl ? finished_ns(job) + seconds * NS_PER_SEC : 0;
    forget_object(j);
}

void jobs_put_job(void *arg, const char *ns, const char *name, const json_t *job)
{
    struct jobs *s = arg;
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    const char *uid = json_text_at(job, "metadata", "uid", NULL);
    struct job *j = NULL;

    map_find_text(handle, s->jobs, key, j);
    if (j && !text_equal(j->uid, uid)) {
        jobs_remove_job(s, ns, name, NULL);
        j = NULL;
    }
    if (!uid || (j && version_of(job) < j->version))
        return;
    if (j && version_of(job) == j->version && !is_spec_changed(j, job) && !job_is_finished(job)) {
        keep_object(j, job); /* our own last write */
        return;
    }
    if (!j)
        j = job_new(s, key, job);
    j->version = version_of(job);
    j->is_deleting = json_text_at(job, "metadata", "deletionTimestamp", NULL) != NULL;
    if (job_is_finished(job))
        job_finish(j, job);
    else
        take_object(j, job);
    job_poke(j);
}

/* Releases the pods: the garbage collector deletes them, or they go on without a Job. */
void jobs_remove_job(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct jobs *s = arg;
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct job *j = NULL;
    struct job_pod *p;

    (void)last;
    map_find_text(handle, s->jobs, key, j);
    if (!j)
        return;
    LIST_EACH (j->pods, p)
        if (p->is_tracked)
            vec_add(&s->orphans, mem_strdup(p->key));
    job_free(j);
    loop_timer_set(s->work_timer, 0);
}
