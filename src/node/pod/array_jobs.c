/* array_jobs.c - a few SlurmJobs, the newest first */

#include "node/pod/array_jobs.h"

#include "base/list.h"
#include "base/mem.h"

enum {
    KEPT_MAX = 16
};

struct array_job {
    struct array_job *prev;
    struct array_job *next;
    char *uid;
    json_t *job;
};

struct array_jobs {
    struct array_job *all; /* oldest first */
    size_t n;
};

struct array_jobs *array_jobs_new(void)
{
    return mem_alloc(sizeof(struct array_jobs));
}

static void drop_oldest(struct array_jobs *a)
{
    struct array_job *job = a->all;

    LIST_REMOVE(a->all, job);
    a->n--;
    json_decref(job->job);
    free(job->uid);
    free(job);
}

void array_jobs_free(struct array_jobs *a)
{
    while (a && a->all)
        drop_oldest(a);
    free(a);
}

json_t *array_jobs_find(const struct array_jobs *a, const char *uid)
{
    for (const struct array_job *job = a->all; job; job = job->next)
        if (text_equal(job->uid, uid))
            return job->job;
    return NULL;
}

json_t *array_jobs_put(struct array_jobs *a, const json_t *job)
{
    const json_t *spec = json_object_get(job, "spec");
    const char *uid = json_text_at(job, "metadata", "uid", NULL);
    json_t *needed = json_object();
    struct array_job *kept = NULL;

    json_put_text(json_object_at(needed, "metadata"), "uid", uid);
    json_put_text(json_object_at(needed, "spec"), "script", json_text(spec, "script"));
    if (json_object_get(spec, "environment"))
        json_put(json_object_at(needed, "spec"), "environment",
                 json_incref(json_object_get(spec, "environment")));
    if (!uid || !json_object_get(spec, "array") || array_jobs_find(a, uid))
        return needed;
    if (a->n == KEPT_MAX)
        drop_oldest(a);
    kept = mem_alloc(sizeof(*kept));
    *kept = (struct array_job){.uid = mem_strdup(uid), .job = json_incref(needed)};
    LIST_ADD(a->all, kept);
    a->n++;
    return needed;
}
