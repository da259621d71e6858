/*
 * words.h - the command lines of Slurm's commands, which have the rules of getopt_long
 *
 * `--name VALUE`, `--name=VALUE`, `-x VALUE`, `-xVALUE`; a long name may be shortened while it is
 * unambiguous; letters without a value may be joined; `--` ends the options.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

enum slurm_takes {
    SLURM_TAKES_NOTHING,
    SLURM_TAKES_VALUE,
    SLURM_TAKES_OPTIONAL /* only as --name=VALUE or -xVALUE */
};

struct slurm_option {
    const char *name; /* NULL: a letter only */
    const char *same; /* the option of which `name` is another name; NULL: none */
    char letter;      /* 0: none */
    enum slurm_takes takes;
};

struct slurm_given {
    const char *name;  /* of the option, never another name of it */
    const char *value; /* NULL: none */
};

/* A parsed command line; texts are borrowed from the words and the table. */
struct slurm_words {
    VEC(struct slurm_given) given;
    VEC(const char *) arguments;
};

/*
 * Parses `n` words by a table that ends with a NULL name. `stops`: the first argument ends the
 * options, as for sbatch and srun. ERR_INVALID has the words of getopt_long. `*ret`, which must be
 * empty, changes on success only.
 */
struct err *slurm_words_parse(const struct slurm_option *options, bool stops, size_t n,
                              const char *const *words, struct slurm_words *ret) MUST_CHECK;

/* The value of the last option `name`; "" if it was given without one; NULL: not given. */
const char *slurm_words_value(const struct slurm_words *w, const char *name);
bool slurm_words_has(const struct slurm_words *w, const char *name);

void slurm_words_done(struct slurm_words *w);
