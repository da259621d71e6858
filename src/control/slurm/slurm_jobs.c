/* slurm_jobs.c - the turns of the controller of SlurmJobs, and its restart after a lost write */
#include "control/slurm/slurm_private.h"

#define RELOAD_NS NS_PER_SEC

enum {
    SJOBS_PER_TURN = 32,
    ORPHANS_PER_TURN = 64
};

void sjob_poke(struct sjob *j)
{
    struct slurm_jobs *s = j->jobs;

    if (j->is_queued)
        return;
    j->is_queued = true;
    LIST_ADD(s->queue, j);
    loop_timer_set(s->work_timer, 0);
}

/* The earliest request of a turn counts: each turn requests all it needs. */
void sjob_poke_in(struct sjob *j, int64_t in_ns)
{
    int64_t at_ns = loop_now_ns(j->jobs->options.loop) + in_ns;

    if (j->timer_at_ns != 0 && j->timer_at_ns <= at_ns)
        return;
    j->timer_at_ns = at_ns;
    loop_timer_set(j->timer, in_ns);
}

void sjob_event(struct sjob *j, bool is_warning, const char *reason, const char *message)
{
    events_record(j->jobs->options.events, &(struct event){.kind = "SlurmJob",
                                                           .api_version = "mete.dev/v1",
                                                           .ns = j->ns,
                                                           .name = j->name,
                                                           .uid = j->uid,
                                                           .is_warning = is_warning,
                                                           .reason = reason,
                                                           .message = message,
                                                           .component = "slurm-controller"});
}

void slurm_lost(struct slurm_jobs *s, const struct err *e)
{
    LOG(WARN, "Slurm jobs are read again, a write was lost", E(e));
    slurm_drop_expected(s);
    slurm_reload_later(s);
}

static void slurm_on_written(void *owner, const char *key, uint64_t number, const struct err *e)
{
    (void)key;
    (void)number;
    if (e)
        slurm_lost(owner, e);
}

struct cluster_answer slurm_answer(struct slurm_jobs *s)
{
    return writes_begin(s->writes, slurm_on_written, NULL, 0);
}

/* The job of the pod is gone: only we still write the finalizer. */
static struct err *slurm_release_orphan(struct slurm_jobs *s, const char *key)
{
    AUTO(json_freep)
    json_t *patch =
        json_pack("{s:{s:[s]}}", "metadata", "$deleteFromPrimitiveList/finalizers", SLURM_TRACKING);
    AUTO_FREE char *ns = mem_strdup(key);
    char *slash = strchr(ns, '/');
    const struct cluster_target target = {.resource = "pods", .ns = ns, .name = slash + 1};
    struct cluster_answer a = slurm_answer(s);
    struct err *e;

    *slash = '\0';
    e = writes_end(a, cluster_patch(s->options.cluster, &target, patch, a));
    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        return NULL;
    }
    return e;
}

static void slurm_release_orphans(struct slurm_jobs *s)
{
    for (int i = 0; i < ORPHANS_PER_TURN && s->orphans.n > 0; i++) {
        AUTO_FREE char *key = s->orphans.at[s->orphans.n - 1];
        AUTO(err_freep) struct err *e = slurm_release_orphan(s, key);

        s->orphans.n--;
        if (e) {
            LOG(WARN, "pod of a Slurm job that is gone keeps its finalizer for now", S("pod", key),
                E(e));
            slurm_reload_later(s);
            return;
        }
    }
}

static void slurm_on_work(void *arg)
{
    struct slurm_jobs *s = arg;

    if (s->is_stopped || s->is_loading || !s->has_parts)
        return;
    slurm_release_orphans(s);
    for (int i = 0; i < SJOBS_PER_TURN && s->queue; i++) {
        struct sjob *j = s->queue;

        LIST_REMOVE(s->queue, j);
        j->is_queued = false;
        sjob_sync(j);
    }
    if (s->queue || s->orphans.n > 0)
        loop_timer_set(s->work_timer, 0);
}

/* From now on the controller knows the pods of each job. */
static void slurm_pods_synced(void *arg)
{
    struct slurm_jobs *s = arg;

    s->is_loading = false;
    loop_timer_set(s->work_timer, 0);
}

/* Jobs before their pods: a pod without a known job is released. */
static void slurm_jobs_synced(void *arg)
{
    struct slurm_jobs *s = arg;
    const struct cluster_listener of_pods = {slurm_put_pod, slurm_remove_pod, s, slurm_pods_synced};
    AUTO(err_freep)
    struct err *e = cluster_watch(s->options.cluster, "", "pods", &of_pods, &s->pods_watch);

    if (!e)
        return;
    LOG(WARN, "pods of Slurm jobs cannot be read, will be tried again", E(e));
    slurm_reload_later(s);
}

/* Accounts that are queues: a job whose account is none of them waits in its namespace's queue. */
static void slurm_remove_queue(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct slurm_jobs *s = arg;
    struct slurm_queue *q = NULL;

    (void)ns;
    (void)last;
    map_find_text(handle, s->queues, name, q);
    if (!q)
        return;
    map_remove(handle, s->queues, q);
    free(q);
}

static void slurm_put_queue(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct slurm_jobs *s = arg;
    struct slurm_queue *q = mem_alloc(sizeof(*q) + strlen(name) + 1);

    slurm_remove_queue(s, ns, name, object);
    memcpy(q->name, name, strlen(name) + 1);
    map_add(handle, s->queues, q->name, strlen(q->name), q);
}

static void rest_synced(void *arg)
{
    (void)arg; /* nothing waits for the queues, the nodes and the steps */
}

static struct err *slurm_watch_all(struct slurm_jobs *s)
{
    const struct cluster_listener of_queues = {slurm_put_queue, slurm_remove_queue, s, rest_synced};
    const struct cluster_listener of_nodes = {slurm_put_node, slurm_remove_node, s, rest_synced};
    const struct cluster_listener of_steps = {slurm_put_step, slurm_remove_step, s, rest_synced};
    const struct cluster_listener of_jobs = {slurm_put_job, slurm_remove_job, s, slurm_jobs_synced};
    const struct cluster_listener of_partitions = {slurm_put_partition, slurm_remove_partition, s,
                                                   slurm_partitions_synced};
    const struct cluster_listener of_configs = {slurm_put_config, slurm_remove_config, s,
                                                rest_synced};

    s->is_loading = true;
    TRY(cluster_watch(s->options.cluster, "mete.dev", "slurmconfigs", &of_configs,
                      &s->configs_watch));
    TRY(cluster_watch(s->options.cluster, "mete.dev", "slurmpartitions", &of_partitions,
                      &s->partitions_watch));
    TRY(cluster_watch(s->options.cluster, "mete.dev", "queues", &of_queues, &s->queues_watch));
    TRY(cluster_watch(s->options.cluster, "", "nodes", &of_nodes, &s->nodes_watch));
    TRY(cluster_watch(s->options.cluster, "mete.dev", "slurmsteps", &of_steps, &s->steps_watch));
    return cluster_watch(s->options.cluster, "mete.dev", "slurmjobs", &of_jobs, &s->jobs_watch);
}

static void slurm_forget_all(struct slurm_jobs *s)
{
    struct slurm_queue *q;
    struct slurm_queue *tmp;

    cluster_unwatch(s->options.cluster, s->jobs_watch);
    cluster_unwatch(s->options.cluster, s->pods_watch);
    cluster_unwatch(s->options.cluster, s->queues_watch);
    cluster_unwatch(s->options.cluster, s->nodes_watch);
    cluster_unwatch(s->options.cluster, s->steps_watch);
    cluster_unwatch(s->options.cluster, s->partitions_watch);
    cluster_unwatch(s->options.cluster, s->configs_watch);
    s->nodes_watch = NULL;
    s->steps_watch = NULL;
    slurm_forget_steps(s);
    s->partitions_watch = NULL;
    s->configs_watch = NULL;
    slurm_forget_others(s);
    slurm_forget_partitions(s);
    s->jobs_watch = NULL;
    s->pods_watch = NULL;
    s->queues_watch = NULL;
    map_each (handle, s->queues, q, tmp) {
        map_remove(handle, s->queues, q); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
        free(q);
    }
    while (s->jobs)
        sjob_free(s->jobs);
    VEC_EACH (&s->orphans, key)
        free(*key);
    vec_clear(&s->orphans);
    loop_timer_stop(s->work_timer);
}

void slurm_reload_later(struct slurm_jobs *s)
{
    if (s->is_stopped)
        return;
    s->is_stopped = true;
    loop_timer_set(s->reload_timer, RELOAD_NS);
}

/* Reads durable objects: waits until all of our writes are durable. */
static void on_reload(void *arg)
{
    struct slurm_jobs *s = arg;
    AUTO(err_freep) struct err *e = NULL;

    s->is_stopped = false;
    if (writes_pending(s->writes) > 0) {
        slurm_reload_later(s);
        return;
    }
    slurm_forget_all(s);
    e = slurm_watch_all(s);
    if (!e)
        return;
    LOG(WARN, "Slurm jobs cannot be read, will be tried again", E(e));
    slurm_reload_later(s);
}

struct err *slurm_jobs_new(const struct slurm_jobs_options *o, struct slurm_jobs **ret)
{
    struct slurm_jobs *s = mem_alloc(sizeof(*s));
    struct err *e;

    s->options = *o;
    s->diag.since_ns = loop_wall_ns(o->loop);
    s->work_timer = loop_timer_new(o->loop, slurm_on_work, s);
    s->reload_timer = loop_timer_new(o->loop, on_reload, s);
    s->limit_timer = loop_timer_new(o->loop, slurm_on_freed, s);
    s->writes = writes_new(s);
    e = slurm_watch_all(s);
    if (e) {
        slurm_jobs_free(s);
        return err_wrap(e, "Slurm jobs");
    }
    if (o->objects)
        objects_on_slurm_job(o->objects, slurm_on_accepted, s);
    *ret = s;
    return NULL;
}

void slurm_jobs_free(struct slurm_jobs *s)
{
    if (!s)
        return;
    if (s->options.objects)
        objects_on_slurm_job(s->options.objects, NULL, NULL);
    slurm_forget_all(s);
    slurm_mail_done(s);
    vec_done(&s->orphans);
    vec_done(&s->by_id);
    vec_done(&s->others_by_number);
    loop_timer_free(s->work_timer);
    loop_timer_free(s->reload_timer);
    loop_timer_free(s->limit_timer);
    writes_free(s->writes);
    free(s);
}
