/*
 * sstat.c - sstat: what the steps of running jobs use now
 *
 * A step of srun is asked on each of its nodes, by a command in the job (step_use_linux.c): only
 * the job's user and administrators may. What the batch step uses comes from the server's meter.
 */

#include "slurm/sstat.h"

#include <inttypes.h>

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/job/remote_session.h"
#include "cli/slurm/slurm_command.h"
#include "cli/term/output.h"
#include "kinds/slurm/slurm_rows.h"
#include "kinds/slurm/slurm_step.h"
#include "slurm/query.h"
#include "slurm/sacct.h"

enum {
    ANSWER_MAX = 4 << 20 /* bytes from one node */
};

/* ---- a step of srun ---- */

static struct err *sstat_take_output(void *arg, struct str bytes)
{
    struct buf *text = arg;

    buf_add(text, bytes.at, bytes.size);
    return text->overflow ? err_new(ERR_TOO_LARGE, "the node's answer is too long") : NULL;
}

/* Adds {"node", "tasks"} of one node to the array. */
static struct err *sstat_ask_node(struct slurm_command *s, const char *ns, const json_t *node,
                                  int64_t step, json_t *to)
{
    AUTO_FREE char *path = path_format("/api/v1/namespaces/%s/pods/%s/"
                                       "exec?stdout=true&stderr=true&command=" SLURM_STEP_PROGRAM
                                       "&command=%" PRId64 "&command=" SLURM_STEP_USE,
                                       ns, text_or_empty(json_text(node, "pod")), step);
    AUTO(buf_done) struct buf text = {.cap = ANSWER_MAX};
    const struct remote_session o = {.path = path, .output = sstat_take_output, .arg = &text};
    json_t *answer = NULL;
    int code = 0;

    TRY(remote_session_run(s->cli, s->session, &o, &code));
    if (code != 0)
        return err_new(ERR_INTERNAL, "the node could not look at the step: code %d", code);
    TRY(json_parse((struct str){text_or_empty(text.at), text.size}, &answer));
    slurm_clean(answer);
    json_put_text(answer, "node", json_text(node, "node"));
    (void)json_array_append_new(to, answer); /* fresh: cannot fail */
    return NULL;
}

static struct err *sstat_ask_step(struct slurm_command *s, json_t *row)
{
    const char *object = text_or_empty(json_text(row, "object"));
    const char *slash = strchr(object, '/');
    AUTO_FREE char *ns = mem_strndup(object, slash ? (size_t)(slash - object) : 0);
    AUTO_FREE char *path =
        path_format("/apis/mete.dev/v1/namespaces/%s/slurmsteps/%s", ns, slash ? slash + 1 : "");
    const struct call call = {.path = path};
    AUTO(json_freep) json_t *step = NULL;
    AUTO(json_freep) json_t *answers = json_array();
    const json_t *node = NULL;
    size_t i = 0;

    TRY(slurm_call(s, &call, &step));
    json_array_foreach (json_at(step, "spec", "nodes", NULL), i, node)
        TRY(sstat_ask_node(s, ns, node, json_int_at(step, "status", "step", NULL), answers));
    sstat_put_tasks(row, answers);
    return NULL;
}

/* ---- all ---- */

static void sstat_put_account(json_t *row, const json_t *accounts)
{
    const json_t *account = NULL;
    size_t i = 0;

    json_array_foreach (accounts, i, account)
        if (json_int(account, "jobId", 0) == json_int(row, "jobId", -1))
            sstat_put_batch(row, account);
}

/* Asks for what each step uses. A step that ends meanwhile keeps its row, without figures. */
static struct err *sstat_ask(struct slurm_command *s, const char *ids, json_t *rows)
{
    AUTO_FREE char *path =
        path_format("/apis/mete.dev/v1/accounting?from=1m&states=RUNNING&limit=1000&ids=%s", ids);
    const struct call call = {.path = path};
    AUTO(json_freep) json_t *answer = NULL;
    AUTO(json_freep) json_t *accounts = NULL;
    json_t *row = NULL;
    size_t i = 0;

    TRY(slurm_call(s, &call, &answer));
    accounts = sacct_fold(json_object_get(answer, "items"));
    json_array_foreach (rows, i, row) {
        struct err *e = NULL;

        if (text_equal(json_text(row, "step"), "batch"))
            sstat_put_account(row, accounts);
        else
            e = sstat_ask_step(s, row);
        if (e && err_code(e) != ERR_NOT_FOUND)
            return e;
        err_free(e);
    }
    return NULL;
}

/* Running jobs or steps of them. New reference. */
static struct err *sstat_report(struct slurm_command *s, const char *what, const char *ids,
                                json_t **ret)
{
    struct slurm_query q = {0};
    AUTO_FREE char *path = NULL;

    slurm_query_begin(&q, what);
    slurm_query_add(&q, "states", "RUNNING");
    slurm_query_add(&q, "ids", ids);
    path = slurm_query_end(&q);
    return slurm_rows(s, path, what, ret);
}

static struct err *sstat_get(struct slurm_command *s, const struct sstat *options)
{
    AUTO(json_freep) json_t *jobs = NULL;
    AUTO(json_freep) json_t *steps = NULL;
    AUTO(json_freep) json_t *rows = NULL;
    AUTO(buf_done) struct buf complaints = {0};
    AUTO(buf_done) struct buf out = {0};

    TRY(sstat_report(s, "jobs", options->ids, &jobs));
    TRY(sstat_report(s, "steps", options->ids, &steps));
    rows = sstat_choose(options, jobs, steps, &complaints);
    TRY(sstat_ask(s, options->ids, rows));
    sstat_print(options, rows, &s->view, &out);
    TRY(output_write(s->cli, (struct str){text_or_empty(out.at), out.size}));
    if (complaints.size > 0) /* as with Slurm, no failure */
        return slurm_fail(s, EXIT_OK, err_new(ERR_NOT_FOUND, "%s", complaints.at));
    return NULL;
}

static struct err *sstat_steps(struct slurm_command *s)
{
    struct sstat options = {0};
    struct err *e;

    if (slurm_words_has(&s->words, "version"))
        return slurm_print_version(s->cli);
    if (slurm_words_has(&s->words, "help") || slurm_words_has(&s->words, "usage"))
        return output_write(s->cli, str_of(sstat_help));
    if (slurm_words_has(&s->words, "helpformat")) {
        AUTO(buf_done) struct buf out = {0};

        sstat_help_format(&out);
        return output_write(s->cli, (struct str){out.at, out.size});
    }
    e = sstat_read(&s->words, &options);
    if (!e)
        e = sstat_get(s, &options);
    sstat_done(&options);
    return e ? slurm_fail(s, EXIT_FAILED, e) : NULL;
}

static struct err *sstat_run(struct cli *c)
{
    struct slurm_command s = {0};
    struct err *e = NULL;

    if (slurm_command_begin(&s, c, sstat_options, false))
        e = sstat_steps(&s);
    slurm_command_done(&s);
    return e;
}

const struct command command_sstat = {
    .name = "sstat",
    .arguments = "[OPTION...] -j JOB[.STEP],...",
    .summary = "print what the steps of running jobs use now, with the fields of Slurm's sstat",
    .doc = "Figures of steps are of their tasks that run; those of the batch step come from Mete's "
           "meter, each 10 s. docs/slurm.md lists the options.",
    .examples = {{"sstat -j 12 -o JobID,MaxRSS,AveCPU,NTasks", "shows the first step of job 12"},
                 {"sstat -a -P -j 12.batch -o TRESUsageInTot", "shows cpus, memory and GPUs"},
                 {0}},
    .groups = FLAGS_SERVER,
    .n_max = SIZE_MAX,
    .reads_words = true,
    .run = sstat_run,
};
