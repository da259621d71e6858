/* requeue.c - mete requeue: running jobs give up their GPUs and wait again */

#include "kinds/object/requeue.h"

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/job/batch.h"
#include "cli/job/jobs.h"

static struct err *requeue_pod(struct session *s, const json_t *pod, int64_t grace_s)
{
    AUTO_FREE char *of_pod = job_path(pod);
    AUTO_FREE char *path = mem_format("%s/eviction", of_pod);
    AUTO(json_freep) json_t *body = json_object();
    const struct call call = {.method = "POST", .path = path, .body = body};
    json_t *metadata = json_object_at(body, "metadata");

    json_put_text(body, "apiVersion", "policy/v1");
    json_put_text(body, "kind", "Eviction");
    json_put_text(metadata, "name", json_text_at(pod, "metadata", "name", NULL));
    json_put_text(json_object_at(metadata, "annotations"), POD_REQUEUE, "now");
    if (grace_s >= 0)
        json_put_int(json_object_at(body, "deleteOptions"), "gracePeriodSeconds", grace_s);
    return session_call(s, &call, NULL);
}

/* Evicts the Job's pods that are bound; the Job makes new ones. */
static struct err *requeue_batch(struct session *s, const json_t *job, int64_t grace_s)
{
    AUTO(json_freep) json_t *pods = NULL;
    struct job it = job_of(job);
    size_t n = 0;
    json_t *pod;
    size_t i;

    TRY(batch_pods(s, job,
                   "spec.nodeName%21%3D%2Cstatus.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed",
                   &pods));
    json_array_foreach (pods, i, pod) {
        if (json_text_at(pod, "metadata", "deletionTimestamp", NULL))
            continue;
        TRY(requeue_pod(s, pod, grace_s));
        n++;
    }
    return n > 0 ? NULL : err_new(ERR_CONFLICT, "job %s %s has no running pods", it.id, it.name);
}

static struct err *requeue_run(struct cli *c)
{
    int64_t grace_s = flag_count(c->in, "grace", -1);
    AUTO(session_freep) struct session *s = NULL;

    TRY(session_open(c, &s));
    for (size_t i = 0; i < c->in->arguments.n; i++) {
        AUTO(json_freep) json_t *found = NULL;
        struct job job;

        TRY(job_find_whole(s, c->in->arguments.at[i], &found));
        if (batch_is(found))
            TRY(requeue_batch(s, found, grace_s));
        else
            TRY(requeue_pod(s, found, grace_s));
        job = job_of(found);
        cli_say(c, "job %s %s ends and is requeued", job.id, job.name);
    }
    return NULL;
}

static const struct flag requeue_flags[] = {
    {.name = "grace",
     .type = FLAG_COUNT,
     .value = "SECONDS",
     .doc = "seconds between SIGTERM and SIGKILL. Default: the pod's terminationGracePeriodSeconds "
            "(30)"},
    {0},
};

const struct command command_requeue = {
    .name = "requeue",
    .arguments = "JOB...",
    .summary = "end running jobs and put them back into their queue",
    .doc = "JOB is a job's number, its name, pod/NAME or job/NAME. The job gets SIGTERM, and "
           "SIGKILL after its grace period; then it waits again with the same name and number. "
           "Requeueing a Job ends its running pods, and the Job creates new ones.",
    .examples = {{"requeue 12", "ends job 12; it starts again when its turn comes"},
                 {"requeue job/sweep", "replaces the running pods of a Job"},
                 {0}},
    .flags = requeue_flags,
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE,
    .takes = TAKES_JOBS,
    .n_min = 1,
    .n_max = SIZE_MAX,
    .run = requeue_run,
};
