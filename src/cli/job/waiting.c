/* waiting.c - changes to waiting jobs */

#include "cli/job/waiting.h"

#include "base/mem.h"
#include "cli/job/batch.h"
#include "cli/job/jobs.h"
#include "kinds/pod/pod_state.h"
#include "kinds/queue.h"

static struct err *waiting_patch(struct session *s, const json_t *object, const json_t *metadata)
{
    AUTO_FREE char *path = job_path(object);
    AUTO(json_freep) json_t *body = json_object();
    const struct call call = {.method = "PATCH",
                              .path = path,
                              .content_type = "application/merge-patch+json",
                              .body = body};

    json_put(body, "metadata", json_deep_copy(metadata));
    return session_call(s, &call, NULL);
}

/* Replaces the server's error about a hold that only an administrator may remove. */
static struct err *waiting_explain(const json_t *object, struct err *e)
{
    const char *hold = json_text_at(object, "metadata", "annotations", QUEUE_HOLD, NULL);
    struct job job = job_of(object);

    if (!e || err_code(e) != ERR_INVALID || !text_equal(hold, "admin"))
        return e;
    err_free(e);
    return err_new(ERR_FORBIDDEN,
                   "job %s %s is held by an administrator: only an administrator can release it",
                   job.id, job.name);
}

/* Changes the waiting pods of a Job. A pod that has started in the meantime stays unchanged. */
static struct err *change_pods(struct session *s, const json_t *job,
                               const struct waiting_change *change)
{
    AUTO(json_freep) json_t *pods = NULL;
    json_t *pod;
    size_t i;

    TRY(batch_pods(s, job, "spec.nodeName%3D%2Cstatus.phase%3DPending", &pods));
    json_array_foreach (pods, i, pod) {
        struct err *e = waiting_patch(s, pod, change->metadata);

        if (e && err_code(e) != ERR_NOT_FOUND)
            return waiting_explain(pod, e);
        err_free(e);
    }
    return NULL;
}

static struct err *check_waits(struct cli *c, const json_t *object)
{
    struct job job = job_of(object);

    if (batch_is(object) ? !job.is_ended : !job.is_ended && !*pod_node(object))
        return NULL;
    cli_try(c, "mete ps   lists the waiting jobs");
    return err_new(ERR_CONFLICT, "job %s %s is not waiting: it is %s", job.id, job.name, job.state);
}

struct err *waiting_change(struct cli *c, struct session *s, const char *word,
                           const struct waiting_change *change)
{
    AUTO(json_freep) json_t *object = NULL;
    struct job job;

    TRY(job_find_whole(s, word, &object));
    TRY(check_waits(c, object));
    TRY(waiting_explain(object, waiting_patch(s, object, change->metadata)));
    if (batch_is(object))
        TRY(change_pods(s, object, change));
    job = job_of(object);
    cli_say(c, "job %s %s %s%s", job.id, job.name, change->verb, change->rest ? change->rest : "");
    return NULL;
}

struct err *queue_must_exist(struct cli *c, struct session *s, const char *name)
{
    AUTO_FREE char *path = path_format("/apis/mete.dev/v1/queues/%s", name);
    struct err *e = session_get(s, path, NULL);

    if (!e)
        return NULL;
    if (err_code(e) == ERR_FORBIDDEN) {
        err_free(e);
        return NULL;
    }
    if (err_code(e) != ERR_NOT_FOUND)
        return e;
    err_free(e);
    cli_try(c, "mete queues   lists the queues");
    return err_new(ERR_NOT_FOUND, "there is no queue \"%s\"", name);
}
