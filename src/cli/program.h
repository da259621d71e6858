/* program.h - what the programs mete and mete-slurm share: the start, and the run of one command */
#pragma once

#include "cli/cli.h"

/* Sets up the process and `*ret`, whose self_path is `*ret_self_path`; the caller frees it. */
struct err *program_begin(struct cli *ret, char **ret_self_path) MUST_CHECK;

/* Runs the command with its words. Returns the exit code. */
int program_run(struct cli *c, const struct command *command, size_t n, const char *const *words);

/* The command of a program's name, such as /usr/bin/sbatch; NULL: another name. */
const struct command *program_command(const char *path);

/* Writes the text to stdout. Returns the exit code. */
int program_print(const struct cli *c, const char *text);
