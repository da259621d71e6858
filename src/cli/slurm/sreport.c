/* sreport.c - sreport: what accounts and users used, from hourly sums */

#include "slurm/sreport.h"

#include <pwd.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/slurm/slurm_command.h"
#include "cli/term/output.h"
#include "cli/term/text_escape.h"
#include "kinds/slurm/slurm_rows.h"

enum {
    PASSWD_TEXT_MAX = 16384
};

/* The full name in the machine's user database, without further details behind a comma. */
static char *sreport_name_of(const char *user)
{
    struct passwd entry;
    struct passwd *found = NULL;
    AUTO_FREE char *texts = mem_alloc(PASSWD_TEXT_MAX);
    struct str rest;

    if (getpwnam_r(user, &entry, texts, PASSWD_TEXT_MAX, &found) != 0 || !found || !found->pw_gecos)
        return NULL;
    rest = str_of(found->pw_gecos);
    return text_escape(str_cut(&rest, ','), TEXT_ESCAPE_LINE);
}

static struct err *sreport_show(struct slurm_command *s)
{
    struct sreport options = {0};
    AUTO(json_freep) json_t *rollup = NULL;
    AUTO(json_freep) json_t *shares = NULL;
    AUTO(buf_done) struct buf out = {0};
    AUTO_FREE char *path = NULL;
    struct sreport_data data = {.name_of = sreport_name_of};
    struct call call = {0};
    char from[STAMP_TEXT_SIZE];
    char to[STAMP_TEXT_SIZE];

    TRY(sreport_read(&s->words, &s->view, &options));
    stamp_format(options.from_s * NS_PER_SEC, from);
    stamp_format(options.to_s * NS_PER_SEC, to);
    path = path_format("/apis/mete.dev/v1/rollup?from=%s&to=%s", from, to);
    call.path = path;
    TRY(slurm_call(s, &call, &rollup));
    slurm_clean(rollup);
    TRY(slurm_rows(s, SLURM_REPORT_PATH "?what=shares", "shares", &shares));
    data.rollup = rollup;
    data.shares = shares;
    TRY(sreport_print(&options, &data, &s->view, &out));
    return output_write(s->cli, (struct str){text_or_empty(out.at), out.size});
}

static struct err *sreport_run(struct cli *c)
{
    struct slurm_command s = {0};
    struct err *e = NULL;

    if (!slurm_command_begin(&s, c, sreport_options, false))
        return NULL;
    if (slurm_words_has(&s.words, "version"))
        e = slurm_print_version(c);
    else if (slurm_words_has(&s.words, "help"))
        e = output_write(c, str_of(sreport_help));
    else
        e = sreport_show(&s);
    if (e) {
        (void)fprintf(c->err, "%s\n", err_message(e)); /* sreport's messages have no prefix */
        err_free(e);
        c->exit_code = EXIT_FAILED;
    }
    slurm_command_done(&s);
    return NULL;
}

const struct command command_sreport = {
    .name = "sreport",
    .arguments = "[OPTION...] REPORT [KEY=VALUE...]",
    .summary = "print what accounts and users used in a period (Slurm)",
    .doc = "The numbers are hourly sums of Mete's accounting. docs/slurm.md lists the reports.",
    .examples = {{"sreport cluster AccountUtilizationByUser start=2026-11-01 -t hours",
                  "shows accounts with their users"},
                 {"sreport -T gres/gpu -P user top start=2026-11-01", "shows who used most GPUs"},
                 {0}},
    .groups = FLAGS_SERVER,
    .n_max = SIZE_MAX,
    .reads_words = true,
    .run = sreport_run,
};
