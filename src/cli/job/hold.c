/* hold.c - mete hold, release and move: changes to waiting jobs */

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/job/jobs.h"
#include "cli/job/waiting.h"
#include "kinds/queue.h"

/* {annotations: {mete.dev/hold: VALUE}}; NULL removes the annotation. */
static json_t *hold_patch(const char *value)
{
    json_t *metadata = json_object();

    json_put(json_object_at(metadata, "annotations"), QUEUE_HOLD,
             value ? json_string(value) : json_null());
    return metadata;
}

static struct err *change_all(struct cli *c, size_t n, const struct waiting_change *change)
{
    AUTO(session_freep) struct session *s = NULL;

    TRY(session_open(c, &s));
    for (size_t i = 0; i < n; i++)
        TRY(waiting_change(c, s, c->in->arguments.at[i], change));
    return NULL;
}

static struct err *hold_run(struct cli *c)
{
    bool is_admin = flag_switch(c->in, "admin");
    AUTO(json_freep) json_t *metadata = hold_patch(is_admin ? "admin" : "user");
    const struct waiting_change change = {.verb = "is on hold", .metadata = metadata};

    return change_all(c, c->in->arguments.n, &change);
}

static const struct flag hold_flags[] = {
    {.name = "admin",
     .type = FLAG_SWITCH,
     .doc = "hold as an administrator: the job's user cannot release it"},
    {0},
};

const struct command command_hold = {
    .name = "hold",
    .arguments = "JOB...",
    .summary = "keep waiting jobs from starting",
    .doc = "JOB is a job's number, its name, pod/NAME or job/NAME. A held job keeps its place in "
           "the queue and its age; mete release lets it start. Holding a Job holds its waiting "
           "pods and the pods that the Job creates later.",
    .examples = {{"hold 12", "keeps job 12 waiting until mete release 12"},
                 {"hold 12 13 --admin", "holds two jobs that only an administrator can release"},
                 {0}},
    .flags = hold_flags,
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE,
    .takes = TAKES_JOBS,
    .n_min = 1,
    .n_max = SIZE_MAX,
    .run = hold_run,
};

static struct err *release_run(struct cli *c)
{
    AUTO(json_freep) json_t *metadata = hold_patch(NULL);
    const struct waiting_change change = {.verb = "is released", .metadata = metadata};

    return change_all(c, c->in->arguments.n, &change);
}

const struct command command_release = {
    .name = "release",
    .arguments = "JOB...",
    .summary = "release jobs that are on hold",
    .doc = "A released job has the place in the queue that it would have without the hold. Only "
           "administrators release a job that an administrator holds.",
    .examples = {{"release 12", "lets job 12 start"},
                 {"release job/sweep", "releases the pods of a Job"},
                 {0}},
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE,
    .takes = TAKES_JOBS,
    .n_min = 1,
    .n_max = SIZE_MAX,
    .run = release_run,
};

static struct err *move_run(struct cli *c)
{
    size_t n = c->in->arguments.n - 1;
    const char *queue = c->in->arguments.at[n];
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *metadata = json_object();
    AUTO_FREE char *rest = mem_format(" to queue %s", queue);
    const struct waiting_change change = {.verb = "is moved", .rest = rest, .metadata = metadata};

    json_put_text(json_object_at(metadata, "labels"), QUEUE_LABEL, queue);
    TRY(session_open(c, &s));
    TRY(queue_must_exist(c, s, queue));
    for (size_t i = 0; i < n; i++)
        TRY(waiting_change(c, s, c->in->arguments.at[i], &change));
    return NULL;
}

const struct command command_move = {
    .name = "move",
    .arguments = "JOB... QUEUE",
    .summary = "move waiting jobs to another queue",
    .doc = "The jobs keep their age. A job that has started, or has been given its GPUs, stays in "
           "its queue.",
    .examples = {{"move 12 research", "moves job 12 to queue research"},
                 {"move 12 13 default", "moves two jobs"},
                 {0}},
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE,
    .takes = TAKES_JOBS_QUEUE,
    .n_min = 2,
    .n_max = SIZE_MAX,
    .run = move_run,
};
