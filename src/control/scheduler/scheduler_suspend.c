/*
 * scheduler_suspend.c - carries out the engine's suspensions
 *
 * A workload that the engine suspends for another gets an annotation on each of its pods, which
 * control/slurm answers with the stamp that the pods' nodes heed. A node sees the stamp before it
 * sees a pod that borrows the cpus, so the engine may lend them once the watch has told all stamps.
 * When the engine lets the workload go on, the annotations go.
 *
 * The annotations are the memory of it: after a restart the engine is told of the workloads whose
 * pods have both, and decides anew which of them go on. A write that fails is tried again.
 */
#include "base/arena.h"
#include "base/log.h"
#include "control/scheduler/scheduler_private.h"
#include "kinds/slurm/slurm_job.h"

static void suspend_retry(struct scheduler *s)
{
    s->has_unsettled = true;
    sched_retry_later(s);
}

static void suspend_tell(struct scheduler *s, const struct sched_pod *p, const char *why)
{
    LOG(INFO, why ? "pod suspended" : "pod goes on", S("pod", p->key),
        S("cause", text_or_empty(why)));
    events_record(
        s->options.events,
        &(struct event){
            .kind = "Pod",
            .ns = p->ns,
            .name = p->name,
            .uid = p->uid,
            .reason = why ? "Suspended" : "Resumed",
            .message = why ? why : "The job that it was suspended for needs its cpus no more",
            .component = "mete-scheduler",
        });
}

static void settle_pod(struct scheduler *s, struct sched_pod *p, const char *why);

/* `is_lent`: the annotation was set, else removed. Taken back: the pod is written again. */
static void on_answer(void *owner, const char *key, uint64_t is_lent, const struct err *e)
{
    struct scheduler *s = owner;
    struct sched_pod *p = scheduler_find_pod(s, key);

    if (!p || !p->is_settling)
        return;
    p->is_settling = false;
    if (e) {
        LOG(WARN, "suspension of a pod was not written, will be tried again", S("pod", p->key),
            E(e));
        suspend_retry(s);
        return;
    }
    p->is_lent = is_lent != 0;
    if (p->work)
        settle_pod(s, p, p->work->suspended_for); /* it may have changed meanwhile */
}

/* Brings the annotation of the pod to what is decided. */
static void settle_pod(struct scheduler *s, struct sched_pod *p, const char *why)
{
    const struct cluster_target target = {.resource = "pods", .ns = p->ns, .name = p->name};
    AUTO(json_freep) json_t *patch = json_object();
    struct cluster_answer a;
    AUTO(err_freep) struct err *e = NULL;

    if (p->is_settling || p->is_lent == (why != NULL))
        return;
    json_put(json_object_at(json_object_at(patch, "metadata"), "annotations"),
             SLURM_LENT_ANNOTATION, why ? json_text_new(why) : json_null());
    a = writes_begin(s->writes, on_answer, p->key, why != NULL);
    e = writes_end(a, cluster_patch(s->options.cluster, &target, patch, a));
    if (e && err_code(e) == ERR_NOT_FOUND)
        return; /* the watch tells soon */
    if (e) {
        LOG(WARN, "suspension of a pod was not written, will be tried again", S("pod", p->key),
            E(e));
        suspend_retry(s);
        return;
    }
    p->is_settling = true;
    suspend_tell(s, p, why);
}

static void settle_work(struct scheduler *s, struct sched_work *w)
{
    for (size_t i = 0; i < w->pods.n; i++)
        settle_pod(s, w->pods.at[i], w->suspended_for);
}

/* Tells the engine when all of the workload's processes are stopped. */
static void suspend_look(struct scheduler *s, struct sched_work *w)
{
    if (!w->suspended_for || w->is_lending || w->phase != SCHED_WORK_PLACED)
        return;
    for (size_t i = 0; i < w->pods.n; i++)
        if (!w->pods.at[i]->is_lent || !w->pods.at[i]->is_stopped)
            return;
    w->is_lending = true;
    sched_work_lend(s, w);
    scheduler_poke(s);
}

void sched_work_lend(struct scheduler *s, struct sched_work *w)
{
    if (w->is_lending && mete_workload_suspended(s->engine, w->id) != METE_OK)
        LOG(ERROR, "workload was not in the engine", S("workload", w->key));
}

void sched_work_suspend(struct scheduler *s, struct sched_work *w, const char *why)
{
    free(w->suspended_for);
    w->suspended_for = mem_strdup(why);
    VEC_EACH (&w->pods, p)
        (*p)->is_read = true;
    settle_work(s, w);
    suspend_look(s, w);
}

void sched_work_unsuspend(struct scheduler *s, struct sched_work *w)
{
    free(w->suspended_for);
    w->suspended_for = NULL;
    w->is_lending = false;
    settle_work(s, w);
}

void scheduler_read_resumes(const struct mete_decisions *d, struct arena *a, uint64_t **ret)
{
    *ret = arena_alloc(a, (d->n_resumes + 1) * sizeof(**ret));
    for (size_t i = 0; i < d->n_resumes; i++)
        (*ret)[i] = d->resumes[i].workload;
}

void scheduler_settle_suspensions(struct scheduler *s)
{
    struct sched_work *w;
    struct sched_work *next;

    if (!s->has_unsettled)
        return;
    s->has_unsettled = false;
    map_each (handle, s->works, w, next)
        settle_work(s, w);
}

/* A suspension that this server has not decided is of an earlier one. */
void sched_pod_note_suspension(struct scheduler *s, struct sched_pod *p, const json_t *pod)
{
    const json_t *annotations = json_at(pod, "metadata", "annotations", NULL);
    const char *why = json_text(annotations, SLURM_LENT_ANNOTATION);
    const char *stamp = json_text(annotations, SLURM_SUSPENDED_ANNOTATION);
    bool is_new = !p->is_read;
    struct sched_work *w = p->work;

    p->is_read = true;
    p->is_lent = why != NULL;
    p->is_stopped = stamp && strchr(stamp, ' ');
    if (!w || !p->is_slurm)
        return;
    if (is_new && why && !w->suspended_for)
        w->suspended_for = mem_strdup(why);
    if (p->is_lent == (w->suspended_for != NULL))
        p->is_settling = false;
    settle_pod(s, p, w->suspended_for);
    if (!s->is_loading)
        suspend_look(s, w);
}

void sched_suspensions_loaded(struct scheduler *s)
{
    struct sched_work *w;
    struct sched_work *next;

    map_each (handle, s->works, w, next) {
        if (!w->suspended_for)
            continue;
        settle_work(s, w);
        suspend_look(s, w);
    }
}
