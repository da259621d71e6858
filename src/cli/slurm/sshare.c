/* sshare.c - sshare and sprio: shares of associations, and priorities of waiting jobs */

#include "slurm/sshare.h"

#include "cli/commands.h"
#include "cli/slurm/slurm_command.h"
#include "cli/term/output.h"
#include "kinds/slurm/slurm_rows.h"
#include "slurm/sprio.h"

static struct err *print_buf(struct slurm_command *s, struct buf *out, struct err *e)
{
    if (!e)
        e = output_write(s->cli, (struct str){text_or_empty(out->at), out->size});
    buf_done(out);
    return e;
}

static struct err *show_shares(struct slurm_command *s)
{
    AUTO(json_freep) json_t *rows = NULL;
    AUTO_FREE char *user = slurm_user_name();
    struct buf out = {0};
    struct err *e;

    if (slurm_words_has(&s->words, "helpformat")) {
        sshare_help_format(&out);
        return print_buf(s, &out, NULL);
    }
    TRY(slurm_rows(s, SLURM_REPORT_PATH "?what=shares", "shares", &rows));
    e = sshare_print(&s->words, rows, user, &out);
    return print_buf(s, &out, e);
}

static struct err *show_priorities(struct slurm_command *s)
{
    AUTO(json_freep) json_t *rows = NULL;
    struct buf out = {0};
    struct err *e;

    TRY(slurm_rows(s, SLURM_REPORT_PATH "?what=priorities", "priorities", &rows));
    e = sprio_print(&s->words, rows, &out);
    if (!e || err_code(e) != ERR_NOT_FOUND)
        return print_buf(s, &out, e);
    (void)fprintf(s->cli->err, "%s\n", err_message(e)); /* sprio has no prefix here */
    err_free(e);
    s->cli->exit_code = EXIT_FAILED;
    return NULL;
}

static struct err *run_table(struct cli *c, const struct slurm_option *options, const char *help,
                             struct err *(*show)(struct slurm_command *s))
{
    struct slurm_command s = {0};
    struct err *e = NULL;

    if (!slurm_command_begin(&s, c, options, false))
        return NULL;
    if (slurm_words_has(&s.words, "version"))
        e = slurm_print_version(c);
    else if (slurm_words_has(&s.words, "help"))
        e = output_write(c, str_of(help));
    else
        e = show(&s);
    if (e)
        e = slurm_fail(&s, EXIT_FAILED, e);
    slurm_command_done(&s);
    return e;
}

static struct err *sshare_run(struct cli *c)
{
    return run_table(c, sshare_options, sshare_help, show_shares);
}

static struct err *sprio_run(struct cli *c)
{
    return run_table(c, sprio_options, sprio_help, show_priorities);
}

const struct command command_sshare = {
    .name = "sshare",
    .arguments = "[OPTION...]",
    .summary = "list shares and usage of accounts and users, as Slurm's sshare",
    .doc = "Usage is in seconds x billing, and decays. docs/slurm.md tells more.",
    .examples = {{"sshare -a", "shows all accounts and users"},
                 {"sshare -U --format=Account%256 --noheader", "prints the accounts of the caller"},
                 {0}},
    .groups = FLAGS_SERVER,
    .n_max = SIZE_MAX,
    .reads_words = true,
    .run = sshare_run,
};

const struct command command_sprio = {
    .name = "sprio",
    .arguments = "[OPTION...]",
    .summary = "list the factors of the priorities of waiting jobs, as Slurm's sprio",
    .doc = "Weights are those of slurm.conf. docs/slurm.md tells more.",
    .examples = {{"sprio -l", "shows all factors"}, {"sprio -w", "prints the weights"}, {0}},
    .groups = FLAGS_SERVER,
    .n_max = SIZE_MAX,
    .reads_words = true,
    .run = sprio_run,
};
