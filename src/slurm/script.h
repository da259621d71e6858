/*
 * script.h - batch scripts: their first line, and the options of their #SBATCH lines
 *
 * https://slurm.schedmd.com/sbatch.html: lines are read up to the first line that is neither a
 * comment nor blank.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

/* The words of all #SBATCH lines, in order; owned. */
struct slurm_script {
    VEC(char *) words;
    VEC(size_t) groups; /* the first words of the components behind the first one */
    bool has_pbs;       /* there are #PBS lines, which are not read */
};

/*
 * Checks the script and reads its options. ERR_INVALID: the script is empty, has no "#!" line, or
 * has DOS line breaks; the message has the lines that sbatch prints. `name` is the file, for
 * messages. `*ret`, which must be empty, changes on success only.
 */
struct err *slurm_script_parse(struct str script, const char *name,
                               struct slurm_script *ret) MUST_CHECK;
void slurm_script_done(struct slurm_script *s);

/* The script of --wrap. The caller frees it. */
char *slurm_script_wrap(const char *command);
