/*
 * slurm_main.c - main() of mete-slurm: Slurm's frequent commands, and the launcher of their jobs
 *
 * These start hundreds of times a second. The program has what they need and loads four libraries,
 * mete a dozen: it starts in a third of the time, and forks faster. All else is left to mete, which
 * lies beside it.
 */

#include <errno.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/program.h"
#include "node/runtime/launch_helper.h"

const struct command *const commands[] = {&command_sbatch,
                                          &command_squeue,
                                          &command_scancel,
                                          &command_sacct,
                                          &command_sinfo,
                                          &command_scontrol,
                                          NULL};

/* Becomes the program mete in the same directory. */
static struct err *run_whole(const char *self_path, char **argv)
{
    const char *slash = strrchr(self_path, '/');
    AUTO_FREE char *whole =
        mem_format("%.*s/mete", slash ? (int)(slash - self_path) : 0, self_path);

    (void)execv(whole, argv);
    return err_errno(errno, "run %s", whole);
}

int main(int argc, char **argv)
{
    struct cli c = {.out = stdout, .err = stderr};
    const struct command *command = program_command(argv[0]);
    AUTO_FREE char *self_path = NULL;
    AUTO(err_freep) struct err *e = NULL;
    int code;

    if (argc > 1 && text_equal(argv[1], LAUNCH_ROLE))
        return launch_helper_main(argc - 1, argv + 1);
    e = program_begin(&c, &self_path);
    if (!e && !command)
        e = run_whole(self_path, argv);
    code = e ? cli_complain(&c, e)
             : program_run(&c, command, (size_t)argc - 1, (const char *const *)argv + 1);
    free(c.hint);
    return code;
}
