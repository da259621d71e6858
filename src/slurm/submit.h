/*
 * submit.h - a submission by sbatch, salloc or srun: its options, and the SlurmJob that they make
 *
 * One table holds the options of all three commands. They are applied in the order #SBATCH lines,
 * SBATCH_* variables, command line: later ones win. https://slurm.schedmd.com/sbatch.html
 */
#pragma once

#include "base/json.h"
#include "base/vec.h"
#include "model/moment.h"
#include "slurm/words.h"

enum slurm_submitter {
    SLURM_SBATCH = 1,
    SLURM_SALLOC = 2,
    SLURM_SRUN = 4
};

/* What the options of a submission say. */
struct slurm_submit {
    unsigned command;       /* enum slurm_submitter, set by the caller; 0: sbatch */
    json_t *spec;           /* of a SlurmJob; owned */
    json_t *step;           /* of srun: what the job's request has no member for; owned */
    VEC(char *) warnings;   /* options that have no effect; owned */
    char *wrap;             /* --wrap; NULL: none */
    char *exported;         /* --export; NULL: ALL */
    struct buf variables;   /* of --export-file: NAME=VALUE, each with a 0 behind it */
    char *cluster;          /* --clusters; NULL: none */
    bool is_parsable;       /* --parsable */
    bool is_test;           /* --test-only */
    bool waits;             /* --wait */
    bool is_quiet;          /* --quiet */
    bool ignores_pbs;       /* --ignore-pbs */
    bool mounts_home;       /* --container-mount-home */
    bool asks_help;         /* --help */
    bool asks_usage;        /* --usage */
    bool asks_version;      /* --version */
    int level;              /* counts the sources of options */
    int memory_level;       /* source of the memory request */
    const char *memory_key; /* member of the memory request; NULL: none */
    struct err *(*read_file)(const char *path, size_t cap, struct buf *ret); /* NULL: refused */
    int64_t now_s; /* set by the caller, with `read_file`: */
    zone_fn zone;
    const char *cwd; /* borrowed */
};

/* The options of a command for slurm_words_parse. The caller frees the array. */
struct slurm_option *slurm_submit_options(unsigned command);

/*
 * Applies the options of one source, `level` higher than those before. ERR_BAD_REQUEST: a malformed
 * value (exit code 255), ERR_INVALID: other errors (exit code 1); messages are those of sbatch.
 */
struct err *slurm_submit_apply(struct slurm_submit *s, const struct slurm_words *words) MUST_CHECK;

/* Applies the variables SBATCH_*, SALLOC_* or SLURM_*, by the command; `find` returns the value of
 * a variable or NULL. */
struct err *slurm_submit_apply_variables(struct slurm_submit *s,
                                         const char *(*find)(const char *name)) MUST_CHECK;

/*
 * Puts the variables NAME=VALUE that --export passes on into the spec: all, those of a list, or
 * SLURM_* alone. `environment` ends with NULL.
 */
void slurm_submit_put_environment(struct slurm_submit *s, const char *const *environment);

void slurm_submit_done(struct slurm_submit *s);
