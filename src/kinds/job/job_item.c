/* job_item.c - pods and Jobs as items of `mete ps` */

#include "kinds/job/job_item.h"

#include "base/mem.h"
#include "kinds/job/job_facts.h"
#include "kinds/queue.h"

/* Counts of the Job's pods. New reference. */
static json_t *item_pods(const json_t *job)
{
    static const char *const counts[] = {"active", "ready", "succeeded", "failed", "terminating"};
    const json_t *completions = json_at(job, "spec", "completions", NULL);
    json_t *pods = json_object();

    if (completions)
        json_put_int(pods, "completions", json_integer_value(completions));
    else
        json_put(pods, "completions", json_null());
    for (size_t i = 0; i < COUNT(counts); i++)
        json_put_int(pods, counts[i], json_int_at(job, "status", counts[i], NULL));
    return pods;
}

static void put_moment(json_t *o, const char *key, int64_t ns)
{
    char text[STAMP_TEXT_SIZE];

    stamp_format(ns, text);
    json_put(o, key, ns ? json_string(text) : json_null());
}

static json_t *item_status(const struct job *job, const json_t *object)
{
    json_t *status = json_object();

    if (batch_is(object))
        json_put(status, "pods", item_pods(object));
    json_put_text(status, "state", job->state);
    json_put(status, "reason", json_text_new(job->reason));
    json_put(status, "node", json_text_new(job->node));
    json_put(status, "exitCode",
             job->is_ended && job->exit_code >= 0 ? json_integer(job->exit_code) : json_null());
    put_moment(status, "submittedAt", job->created_ns);
    put_moment(status, "startedAt", job->started_ns);
    put_moment(status, "endedAt", job->ended_ns);
    return status;
}

json_t *job_item(const json_t *object)
{
    struct job job = job_of(object);
    const char *queue = queue_of(object);
    json_t *item = json_object();
    json_t *metadata = json_object_at(item, "metadata");
    AUTO_FREE char *devices = gpu_asks_format(&job.asks);

    json_put_text(item, "apiVersion", "mete.dev/v1");
    json_put_text(item, "kind", "Job");
    json_put_text(metadata, "name", job.name);
    json_put_text(metadata, "namespace", job.ns);
    json_put_text(metadata, "uid", json_text_at(object, "metadata", "uid", NULL));
    json_put(item, "spec",
             json_pack("{s:s, s:o, s:o, s:I, s:s}", "queue", queue ? queue : QUEUE_DEFAULT, "jobId",
                       json_text_new(job.id), "user", json_text_new(job.user), "gpus",
                       (json_int_t)gpu_asks_count(&job.asks), "devices", devices));
    json_put(item, "status", item_status(&job, object));
    json_put(item, "cells",
             json_pack("{s:o, s:o}", "gpus", job_gpus_cell(&job), "reason",
                       json_text_new(*job.reason ? job.reason : job.progress)));
    return item;
}
