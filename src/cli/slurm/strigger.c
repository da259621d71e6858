/* strigger.c - strigger: programs that run once an event has come */

#include "slurm/strigger.h"

#include <sys/stat.h>

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/slurm/slurm_command.h"
#include "cli/term/output.h"
#include "slurm/cancel.h"
#include "slurm/query.h"
#include "slurm/states.h"

enum {
    CLEAR_TRIES = 20
};

/* The program may be missing here and be on the nodes: Slurm's command looks here, too. */
static struct err *check_program(const struct strigger *t)
{
    struct str rest = str_of(t->program);
    struct str first = str_cut(&rest, ' ');
    AUTO_FREE char *path = mem_strndup(first.at, first.size);
    struct stat st;

    return stat(path, &st) == 0 ? NULL
                                : err_new(ERR_INVALID, "Invalid --program value, file not found");
}

/* The job waits or runs. */
static struct err *check_job(struct slurm_command *s, int64_t job)
{
    AUTO_FREE char *id = mem_format("%lld", (long long)job);
    AUTO_FREE char *path = NULL;
    AUTO(json_freep) json_t *rows = NULL;
    struct slurm_query query = {0};

    slurm_query_begin(&query, "jobs");
    slurm_query_add(&query, "ids", id);
    slurm_query_add(&query, "states", "all");
    path = slurm_query_end(&query);
    TRY(slurm_rows(s, path, "jobs", &rows));
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (slurm_state_is_live(json_text(json_array_get(rows, i), "state")))
            return NULL;
    return err_new(ERR_INVALID, json_array_size(rows) == 0
                                    ? "Invalid job id specified"
                                    : "Job/step already completing or completed");
}

static struct err *trigger_set(struct slurm_command *s, const struct strigger *t)
{
    AUTO(json_freep) json_t *object = strigger_object(t);
    AUTO_FREE char *path = NULL;
    struct call call = {.method = "POST", .body = object};

    if (t->job > 0)
        TRY(check_job(s, t->job));
    TRY(slurm_command_open(s));
    path = path_format("/apis/mete.dev/v1/namespaces/%s/slurmjobs?fieldManager=strigger&"
                       "fieldValidation=Strict",
                       session_namespace(s->session));
    call.path = path;
    return slurm_call(s, &call, NULL);
}

/* The triggers that the words want. New reference. */
static struct err *trigger_rows(struct slurm_command *s, const struct strigger *t, json_t **ret)
{
    AUTO_FREE char *path = NULL;
    AUTO(json_freep) json_t *rows = NULL;
    AUTO(json_freep) json_t *chosen = json_array();
    struct slurm_query query = {0};

    slurm_query_begin(&query, "jobs");
    slurm_query_add(&query, "triggers", "1");
    path = slurm_query_end(&query);
    TRY(slurm_rows(s, path, "jobs", &rows));
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (strigger_wants(t, json_array_get(rows, i)))
            (void)json_array_append(chosen, json_array_get(rows, i)); /* cannot fail */
    *ret = TAKE(chosen);
    return NULL;
}

static struct err *clear_try(struct slurm_command *s, const char *path)
{
    AUTO(json_freep) json_t *job = NULL;
    AUTO(json_freep) json_t *patch = NULL;
    struct call get = {.path = path};
    struct call call = {
        .method = "PATCH", .path = path, .content_type = "application/merge-patch+json"};

    TRY(slurm_call(s, &get, &job));
    TRY(slurm_cancel_patch(job, "*", &patch));
    call.body = patch;
    return slurm_call(s, &call, NULL);
}

static struct err *clear_one(struct slurm_command *s, const json_t *row)
{
    const char *object = text_or_empty(json_text(row, "object"));
    const char *slash = strchr(object, '/');
    AUTO_FREE char *path = slash ? path_format("/apis/mete.dev/v1/namespaces/%.*s/slurmjobs/%s",
                                               (int)(slash - object), object, slash + 1)
                                 : NULL;

    if (!path)
        return err_new(ERR_INTERNAL, "the server's answer names no object");
    for (int i = 0;; i++) {
        struct err *e = clear_try(s, path);

        if (!e || err_code(e) != ERR_CONFLICT || i == CLEAR_TRIES)
            return e;
        err_free(e);
    }
}

static struct err *trigger_clear(struct slurm_command *s, const struct strigger *t)
{
    AUTO(json_freep) json_t *rows = NULL;

    TRY(trigger_rows(s, t, &rows));
    if (json_array_size(rows) == 0)
        return err_new(ERR_NOT_FOUND, "No such process");
    for (size_t i = 0; i < json_array_size(rows); i++)
        TRY(clear_one(s, json_array_get(rows, i)));
    return NULL;
}

static struct err *trigger_get(struct slurm_command *s, const struct strigger *t)
{
    AUTO(json_freep) json_t *rows = NULL;
    AUTO(buf_done) struct buf out = {0};

    TRY(trigger_rows(s, t, &rows));
    strigger_print(t, rows, &out);
    return output_write(s->cli, (struct str){out.at, out.size});
}

/* The server's refusals are "slurm_set_trigger: TEXT", as Slurm's. Takes `e`. */
static struct err *trigger_tell(struct slurm_command *s, const char *call, struct err *e)
{
    if (!e)
        return NULL;
    (void)fprintf(s->cli->err, "%s: %s\n", call, err_message(e));
    s->cli->exit_code = EXIT_FAILED;
    err_free(e);
    return NULL;
}

static struct err *trigger_act(struct slurm_command *s)
{
    struct strigger t = {0};

    TRY(strigger_read(&s->words, &t));
    if (t.action == STRIGGER_GET)
        return trigger_get(s, &t);
    if (t.action == STRIGGER_CLEAR)
        return trigger_tell(s, "slurm_clear_trigger", trigger_clear(s, &t));
    TRY(check_program(&t));
    return trigger_tell(s, "slurm_set_trigger", trigger_set(s, &t));
}

static struct err *strigger_run(struct cli *c)
{
    struct slurm_command s = {0};
    struct err *e = NULL;

    if (!slurm_command_begin(&s, c, strigger_options, false))
        return NULL;
    if (slurm_words_has(&s.words, "version"))
        e = slurm_print_version(c);
    else if (slurm_words_has(&s.words, "help") || slurm_words_has(&s.words, "usage"))
        e = output_write(c, str_of(strigger_help));
    else
        e = trigger_act(&s);
    if (e)
        e = slurm_fail(&s, EXIT_FAILED, e);
    slurm_command_done(&s);
    return e;
}

const struct command command_strigger = {
    .name = "strigger",
    .arguments = "--set|--get|--clear [OPTION...]",
    .summary = "run a program once a job ends, or a node goes down or comes back (Slurm)",
    .doc = "The program runs as a job of the user, and its last argument is the number of the job "
           "or the name of the node. A trigger works once.",
    .examples = {{"strigger --set --jobid=12 --fini --program=/home/ann/done",
                  "runs the program when job 12 is over"},
                 {"strigger --set --node --down --program=/root/tell",
                  "runs it when a node goes down"},
                 {"strigger --get", "lists the triggers that wait"},
                 {"strigger --clear --jobid=12", "removes those of job 12"},
                 {0}},
    .groups = FLAGS_SERVER,
    .n_max = SIZE_MAX,
    .reads_words = true,
    .run = strigger_run,
};
