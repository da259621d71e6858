/* sacct.c - sacct: jobs of the past and their use */

#include "slurm/sacct.h"

#include <unistd.h>

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/slurm/slurm_command.h"
#include "cli/term/output.h"
#include "kinds/slurm/slurm_rows.h"

/* Gets all pages of accounting. New reference. */
static struct err *sacct_get_accounts(struct slurm_command *s, const char *path, json_t **ret)
{
    AUTO(json_freep) json_t *all = json_array();
    AUTO_FREE char *next = mem_strdup("");

    do {
        AUTO(json_freep) json_t *page = NULL;
        struct buf url = {0};
        struct call call = {0};
        const char *more;
        struct err *e;

        buf_add_text(&url, path);
        if (*next) {
            buf_add_text(&url, "&continue=");
            client_add_escaped(&url, str_of(next));
        }
        call.path = url.at;
        e = slurm_call(s, &call, &page);
        buf_done(&url);
        TRY(e);
        slurm_clean(json_object_get(page, "items"));
        (void)json_array_extend(all, json_array_at(page, "items")); /* arrays: cannot fail */
        more = json_text_at(page, "metadata", "continue", NULL);
        free(next);
        next = mem_strdup(text_or_empty(more));
    } while (*next);
    *ret = TAKE(all);
    return NULL;
}

static struct err *sacct_get(struct slurm_command *s, const struct sacct *options)
{
    AUTO(json_freep) json_t *jobs = NULL;
    AUTO(json_freep) json_t *steps = NULL;
    AUTO(json_freep) json_t *accounts = NULL;
    struct sacct_rows from;
    struct buf out = {0};
    struct err *e;

    TRY(slurm_rows(s, options->jobs_path, "jobs", &jobs));
    if (options->has_steps)
        TRY(slurm_rows(s, SLURM_REPORT_PATH "?what=steps&states=all", "steps", &steps));
    TRY(sacct_get_accounts(s, options->accounts_path, &accounts));
    slurm_clean(steps);
    from = (struct sacct_rows){jobs, steps, accounts};
    sacct_print(options, &from, &s->view, &out);
    e = output_write(s->cli, (struct str){out.at, out.size});
    buf_done(&out);
    return e;
}

static struct err *sacct_print_fields(struct cli *c)
{
    struct buf out = {0};
    struct err *e;

    sacct_help_format(&out);
    e = output_write(c, (struct str){out.at, out.size});
    buf_done(&out);
    return e;
}

static struct err *sacct_steps(struct slurm_command *s)
{
    AUTO_FREE char *user = geteuid() == 0 ? NULL : slurm_user_name();
    struct sacct options = {0};
    struct err *e;

    if (slurm_words_has(&s->words, "version"))
        return slurm_print_version(s->cli);
    if (slurm_words_has(&s->words, "help") || slurm_words_has(&s->words, "usage"))
        return output_write(s->cli, str_of(sacct_help));
    if (slurm_words_has(&s->words, "helpformat"))
        return sacct_print_fields(s->cli);
    e = sacct_read(&s->words, slurm_variable, user, &s->view, &options);
    if (!e)
        e = sacct_get(s, &options);
    sacct_done(&options);
    return e ? slurm_fail(s, EXIT_FAILED, e) : NULL;
}

static struct err *sacct_run(struct cli *c)
{
    struct slurm_command s = {0};
    struct err *e = NULL;

    if (slurm_command_begin(&s, c, sacct_options, false))
        e = sacct_steps(&s);
    slurm_command_done(&s);
    return e;
}

const struct command command_sacct = {
    .name = "sacct",
    .arguments = "[OPTION...]",
    .summary = "list jobs of the past and their use, with the fields of Slurm's sacct",
    .doc =
        "The rows are those of Mete's accounting, and live jobs. docs/slurm.md lists the options.",
    .examples = {{"sacct -X -P -o JobID,State,ExitCode", "lists today's jobs for programs"},
                 {"sacct -j 12 -o JobID,Elapsed,ReqGRES,AllocGRES,MaxRSS",
                  "shows the use of a job"},
                 {0}},
    .groups = FLAGS_SERVER,
    .n_max = SIZE_MAX,
    .reads_words = true,
    .run = sacct_run,
};
