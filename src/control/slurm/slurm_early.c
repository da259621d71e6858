/*
 * slurm_early.c - jobs and pods that are not durable yet
 *
 * A job, its pod and the pod's binding are three transactions. Each builds on the one before, so
 * the store keeps none without the earlier ones, and takes all back together. So the controller
 * need not wait for the disk between them: it makes the pod as soon as the store has accepted the
 * job, and the scheduler places the pod as soon as the store has accepted that. The node, and all
 * clients, hear of them once they are durable.
 */
#include "control/slurm/slurm_private.h"

static struct sjob *find_job(const struct slurm_jobs *s, const char *key)
{
    struct sjob *j = NULL;

    map_find_text(handle, s->jobs, key, j);
    return j;
}

static void on_durable(void *owner, const char *key, uint64_t number, const struct err *e)
{
    struct slurm_jobs *s = owner;
    struct sjob *j = find_job(s, key);

    if (e)
        slurm_lost(s, e);
    else if (j && (uint64_t)j->id == number)
        j->is_early = false;
    s->changes++;
}

/* Does the job's start depend on room alone? */
static bool may_be_early(const struct slurm_jobs *s, const json_t *job)
{
    static const char *const later[] = {"dependency", "hold", "beginTime", "nice", "priority"};
    const json_t *spec = json_object_get(job, "spec");

    for (size_t i = 0; i < COUNT(later); i++)
        if (json_object_get(spec, later[i]))
            return false;
    return !s->is_stopped && !s->is_loading && s->has_parts;
}

void slurm_on_accepted(void *arg, const json_t *job)
{
    struct slurm_jobs *s = arg;
    const char *ns = json_text_at(job, "metadata", "namespace", NULL);
    const char *name = json_text_at(job, "metadata", "name", NULL);
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    AUTO(err_freep) struct err *e = NULL;
    struct cluster_answer a;
    struct sjob *j = NULL;

    if (!may_be_early(s, job) || find_job(s, key))
        return; /* the watch tells of it */
    a = writes_begin(s->writes, on_durable, key, (uint64_t)sjob_number_of(job));
    /* A transaction without operations is durable with those before it. */
    e = writes_end(a,
                   store_commit(objects_store(s->options.objects), NULL, 0, a.done, a.arg, NULL));
    if (e)
        return;
    slurm_put_job(s, ns, name, job);
    j = find_job(s, key);
    if (j)
        j->is_early = true;
}

void sjob_expect_pod(const struct sjob *j, const json_t *pod)
{
    const struct slurm_jobs_options *o = &j->jobs->options;

    if (o->scheduler)
        scheduler_expect_pod(o->scheduler, pod);
    if (o->scheduler && o->fair)
        slurm_fair_expect_pod(o->fair, pod);
}

void slurm_drop_expected(struct slurm_jobs *s)
{
    const struct slurm_jobs_options *o = &s->options;
    struct sjob_pod *p;
    struct sjob_pod *tmp;

    map_each (handle, s->pods, p, tmp) {
        if (p->is_told || !o->scheduler)
            continue;
        scheduler_drop_pod(o->scheduler, p->job->ns, p->name, p->uid);
        if (o->fair)
            slurm_fair_drop_pod(o->fair, p->job->ns, p->name, p->uid);
    }
}
