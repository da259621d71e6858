/* sinfo.c - sinfo: nodes and partitions */

#include "slurm/sinfo.h"

#include "cli/commands.h"
#include "cli/slurm/slurm_command.h"
#include "cli/term/output.h"
#include "kinds/slurm/slurm_rows.h"

static struct err *sinfo_show(struct slurm_command *s, const struct sinfo *options)
{
    AUTO(json_freep) json_t *nodes = NULL;
    AUTO(json_freep) json_t *partitions = NULL;
    struct buf out = {0};
    struct err *e;

    TRY(slurm_rows(s, SLURM_REPORT_PATH "?what=partitions", "partitions", &partitions));
    TRY(slurm_rows(s, SLURM_REPORT_PATH "?what=nodes", "nodes", &nodes));
    e = sinfo_print(options, nodes, partitions, &s->view, &out);
    if (!e)
        e = output_write(s->cli, (struct str){out.at, out.size});
    buf_done(&out);
    return e;
}

static struct err *sinfo_steps(struct slurm_command *s)
{
    struct sinfo options = {0};
    struct err *e;

    if (slurm_words_has(&s->words, "version"))
        return slurm_print_version(s->cli);
    if (slurm_words_has(&s->words, "help"))
        return output_write(s->cli, str_of(sinfo_help));
    e = sinfo_read(&s->words, slurm_variable, &options);
    if (!e)
        e = sinfo_show(s, &options);
    sinfo_done(&options);
    return e ? slurm_fail(s, EXIT_FAILED, e) : NULL;
}

static struct err *sinfo_run(struct cli *c)
{
    struct slurm_command s = {0};
    struct err *e = NULL;

    if (slurm_command_begin(&s, c, sinfo_options, false))
        e = sinfo_steps(&s);
    slurm_command_done(&s);
    return e;
}

const struct command command_sinfo = {
    .name = "sinfo",
    .arguments = "[OPTION...]",
    .summary = "list nodes and partitions, with the columns of Slurm's sinfo",
    .doc = "Nodes with the same state are one line. docs/slurm.md lists the options.",
    .examples = {{"sinfo -N -l", "shows a line for each node"},
                 {"sinfo -h -o '%P %G %t'", "prints partitions with the GPUs of their nodes"},
                 {0}},
    .groups = FLAGS_SERVER,
    .n_max = SIZE_MAX,
    .reads_words = true,
    .run = sinfo_run,
};
