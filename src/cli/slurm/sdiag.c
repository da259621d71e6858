/* sdiag.c - sdiag: figures of the server */

#include "slurm/sdiag.h"

#include "cli/commands.h"
#include "cli/slurm/slurm_command.h"
#include "cli/term/output.h"
#include "kinds/slurm/slurm_rows.h"

static struct err *sdiag_show(struct slurm_command *s)
{
    const struct call call = {.path = "/apis/mete.dev/v1/requests"};
    AUTO(json_freep) json_t *diag = NULL;
    AUTO(json_freep) json_t *requests = NULL;
    AUTO(buf_done) struct buf out = {0};

    TRY(slurm_rows(s, SLURM_REPORT_PATH "?what=diag", "diag", &diag));
    TRY(slurm_call(s, &call, &requests));
    slurm_clean(requests);
    TRY(sdiag_print(&s->words, diag, requests, &s->view, &out));
    return output_write(s->cli, (struct str){out.at, out.size});
}

static struct err *sdiag_run(struct cli *c)
{
    struct slurm_command s = {0};
    struct err *e = NULL;

    if (!slurm_command_begin(&s, c, sdiag_options, false))
        return NULL;
    if (slurm_words_has(&s.words, "version"))
        e = slurm_print_version(c);
    else if (slurm_words_has(&s.words, "help") || slurm_words_has(&s.words, "usage"))
        e = output_write(c, str_of(sdiag_help));
    else
        e = sdiag_show(&s);
    if (e)
        e = slurm_fail(&s, EXIT_FAILED, e);
    slurm_command_done(&s);
    return e;
}

const struct command command_sdiag = {
    .name = "sdiag",
    .arguments = "[OPTION...]",
    .summary = "print figures of the server: jobs, cycles of the scheduler, requests (Slurm)",
    .doc =
        "The figures begin with the server. Administrators see the requests of all users, others "
        "their own.",
    .examples = {{"sdiag", "shows all figures"},
                 {"sdiag --json", "shows them as a document of slurmrestd"},
                 {0}},
    .groups = FLAGS_SERVER,
    .n_max = SIZE_MAX,
    .reads_words = true,
    .run = sdiag_run,
};
