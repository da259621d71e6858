/* absent.c - the commands of Slurm that are known by name and refused */

#include "cli/commands.h"
#include "cli/slurm/slurm_command.h"

/* Prints the version for -V, else refuses. */
static struct err *absent_run(struct cli *c)
{
    const char *name = c->in->command->name;

    if (c->in->arguments.n == 1 && (text_equal(c->in->arguments.at[0], "-V") ||
                                    text_equal(c->in->arguments.at[0], "--version")))
        return slurm_print_version(c);
    (void)fprintf(c->err, "%s: error: %s is not available yet: docs/slurm.md\n", name, name);
    c->exit_code = EXIT_FAILED;
    return NULL;
}

#define ABSENT(noun, text)                                        \
    const struct command command_##noun = {                       \
        .name = #noun,                                            \
        .arguments = "...",                                       \
        .summary = text,                                          \
        .doc = "Refused by name, but for -V: not available yet.", \
        .examples = {{#noun " -V", "prints the version"},         \
                     {#noun " --version", "does the same"},       \
                     {0}},                                        \
        .groups = FLAGS_SERVER,                                   \
        .n_max = SIZE_MAX,                                        \
        .is_hidden = true,                                        \
        .reads_words = true,                                      \
        .run = absent_run,                                        \
    }

ABSENT(strigger, "manage triggers (Slurm)");
