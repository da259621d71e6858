/* jobs.c - the turns of the job controller, and its restart after a lost write */
#include "control/jobs/jobs_private.h"

#define RELOAD_NS NS_PER_SEC

enum {
    JOBS_PER_TURN = 32,
    ORPHANS_PER_TURN = 64
};

void job_poke(struct job *j)
{
    struct jobs *s = j->jobs;

    if (j->is_queued)
        return;
    j->is_queued = true;
    LIST_ADD(s->queue, j);
    loop_timer_set(s->work_timer, 0);
}

/* The earliest request of a turn counts: each turn requests all it needs. */
void job_poke_in(struct job *j, int64_t in_ns)
{
    int64_t at_ns = loop_now_ns(j->jobs->options.loop) + in_ns;

    if (j->timer_at_ns != 0 && j->timer_at_ns <= at_ns)
        return;
    j->timer_at_ns = at_ns;
    loop_timer_set(j->timer, in_ns);
}

void job_event(struct job *j, bool is_warning, const char *reason, const char *message)
{
    events_record(j->jobs->options.events, &(struct event){.kind = "Job",
                                                           .api_version = "batch/v1",
                                                           .ns = j->ns,
                                                           .name = j->name,
                                                           .uid = j->uid,
                                                           .is_warning = is_warning,
                                                           .reason = reason,
                                                           .message = message,
                                                           .component = "job-controller"});
}

void job_pod_event(struct job *j, const char *reason, const char *verb, const char *pod)
{
    AUTO_FREE char *message = mem_format("%s pod: %s", verb, pod);

    if (j->n_events >= JOB_EVENTS_BURST)
        return;
    j->n_events++;
    job_event(j, false, reason, message);
}

static void jobs_on_written(void *owner, const char *key, uint64_t number, const struct err *e)
{
    (void)key;
    (void)number;
    if (!e)
        return;
    LOG(WARN, "jobs are read again, a write was lost", E(e));
    jobs_reload_later(owner);
}

struct cluster_answer jobs_answer(struct jobs *s)
{
    return writes_begin(s->writes, jobs_on_written, NULL, 0);
}

/* The Job of the pod is gone: only we still write the finalizer. */
static struct err *release_orphan(struct jobs *s, const char *key)
{
    AUTO(json_freep)
    json_t *patch =
        json_pack("{s:{s:[s]}}", "metadata", "$deleteFromPrimitiveList/finalizers", JOB_TRACKING);
    AUTO_FREE char *ns = mem_strdup(key);
    char *slash = strchr(ns, '/');
    const struct cluster_target target = {.resource = "pods", .ns = ns, .name = slash + 1};
    struct cluster_answer a = jobs_answer(s);
    struct err *e;

    *slash = '\0';
    e = writes_end(a, cluster_patch(s->options.cluster, &target, patch, a));
    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        return NULL;
    }
    return e;
}

static void release_orphans(struct jobs *s)
{
    for (int i = 0; i < ORPHANS_PER_TURN && s->orphans.n > 0; i++) {
        AUTO_FREE char *key = s->orphans.at[s->orphans.n - 1];
        AUTO(err_freep) struct err *e = release_orphan(s, key);

        s->orphans.n--;
        if (e) {
            LOG(WARN, "pod of a job that is gone keeps its finalizer for now", S("pod", key), E(e));
            jobs_reload_later(s);
            return;
        }
    }
}

static void jobs_on_work(void *arg)
{
    struct jobs *s = arg;

    if (s->is_stopped || s->is_loading)
        return;
    release_orphans(s);
    for (int i = 0; i < JOBS_PER_TURN && s->queue; i++) {
        struct job *j = s->queue;

        LIST_REMOVE(s->queue, j);
        j->is_queued = false;
        job_sync(j);
    }
    if (s->queue || s->orphans.n > 0)
        loop_timer_set(s->work_timer, 0);
}

/* From now on the controller knows the pods of each Job. */
static void pods_synced(void *arg)
{
    struct jobs *s = arg;

    s->is_loading = false;
    loop_timer_set(s->work_timer, 0);
}

/* Jobs before their pods: a pod without a known Job is released. */
static void jobs_synced(void *arg)
{
    struct jobs *s = arg;
    const struct cluster_listener of_pods = {jobs_put_pod, jobs_remove_pod, s, pods_synced};
    AUTO(err_freep)
    struct err *e = cluster_watch(s->options.cluster, "", "pods", &of_pods, &s->pods_watch);

    if (!e)
        return;
    LOG(WARN, "pods of jobs cannot be read, will be tried again", E(e));
    jobs_reload_later(s);
}

static struct err *jobs_watch_all(struct jobs *s)
{
    const struct cluster_listener of_jobs = {jobs_put_job, jobs_remove_job, s, jobs_synced};

    s->is_loading = true;
    return cluster_watch(s->options.cluster, "batch", "jobs", &of_jobs, &s->jobs_watch);
}

static void forget_all(struct jobs *s)
{
    cluster_unwatch(s->options.cluster, s->jobs_watch);
    cluster_unwatch(s->options.cluster, s->pods_watch);
    s->jobs_watch = NULL;
    s->pods_watch = NULL;
    while (s->jobs)
        job_free(s->jobs);
    VEC_EACH (&s->orphans, key)
        free(*key);
    vec_clear(&s->orphans);
    loop_timer_stop(s->work_timer);
}

void jobs_reload_later(struct jobs *s)
{
    if (s->is_stopped)
        return;
    s->is_stopped = true;
    loop_timer_set(s->reload_timer, RELOAD_NS);
}

/* Reads durable objects: waits until all of our writes are durable. */
static void on_reload(void *arg)
{
    struct jobs *s = arg;
    AUTO(err_freep) struct err *e = NULL;

    s->is_stopped = false;
    if (writes_pending(s->writes) > 0) {
        jobs_reload_later(s);
        return;
    }
    forget_all(s);
    e = jobs_watch_all(s);
    if (!e)
        return;
    LOG(WARN, "jobs cannot be read, will be tried again", E(e));
    jobs_reload_later(s);
}

struct err *jobs_new(const struct jobs_options *o, struct jobs **ret)
{
    struct jobs *s = mem_alloc(sizeof(*s));
    struct err *e;

    s->options = *o;
    s->work_timer = loop_timer_new(o->loop, jobs_on_work, s);
    s->reload_timer = loop_timer_new(o->loop, on_reload, s);
    s->writes = writes_new(s);
    e = jobs_watch_all(s);
    if (e) {
        jobs_free(s);
        return err_wrap(e, "jobs");
    }
    *ret = s;
    return NULL;
}

void jobs_free(struct jobs *s)
{
    if (!s)
        return;
    forget_all(s);
    vec_done(&s->orphans);
    loop_timer_free(s->work_timer);
    loop_timer_free(s->reload_timer);
    writes_free(s->writes);
    free(s);
}
