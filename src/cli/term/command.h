/*
 * command.h - one table of commands and flags: from it come parsing, --help, -h, docs/commands.md
 * and "did you mean"
 *
 * Flags are `--name VALUE`, `--name=VALUE`, `-x VALUE`, `-xVALUE`; letters without a value may
 * stand together (-Aw). `--` ends them, and so does the first argument of a command that passes a
 * command line on (`mete run nvidia-smi -L`).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

struct cli;

enum flag_type {
    FLAG_SWITCH, /* no value; --name=false switches it off */
    FLAG_TEXT,
    FLAG_COUNT,    /* 0 .. INT64_MAX */
    FLAG_DURATION, /* 90s, 1h30m, 2d; and for --time as sbatch: 90 (minutes), 1:30:00, 2-12 */
};

struct flag {
    const char *name;
    const char *value; /* what help shows: "N" */
    const char *doc;
    const char *fallback;      /* NULL: none */
    const char *const *values; /* the allowed ones, NULL-terminated; NULL: any */
    enum flag_type type;
    char letter;      /* 0: none */
    bool is_repeated; /* may be given several times, each counts */
    bool is_hidden;
};

/* Flags that several commands share. */
enum flag_group {
    FLAGS_SERVER = 1,    /* --data, --kubeconfig */
    FLAGS_NAMESPACE = 2, /* -n */
    FLAGS_ALL = 4,       /* -A */
    FLAGS_OUTPUT = 8,    /* -o, --no-headers */
    FLAGS_LIMIT = 16,    /* --limit */
};

/* What a command's arguments are, for completion. */
enum takes {
    TAKES_NOTHING, /* that a shell could know */
    TAKES_JOBS,
    TAKES_JOB,        /* the first; what follows is no job */
    TAKES_PLACES,     /* jobs and files */
    TAKES_JOBS_QUEUE, /* jobs, then one queue */
    TAKES_QUEUES,
    TAKES_NODES,
    TAKES_KINDS, /* the first */
    TAKES_COMMANDS,
    TAKES_FILES
};

struct example {
    const char *line; /* what is typed, without "mete " */
    const char *does;
};

struct command {
    const char *name;
    const char *arguments;      /* "[KIND] [NAME...]"; NULL: none */
    const char *summary;        /* one line, no full stop */
    const char *doc;            /* more, or NULL */
    struct example examples[4]; /* at least two; ends with a NULL line */
    const struct flag *flags;   /* own ones, ends with a NULL name; may be NULL */
    unsigned groups;            /* enum flag_group */
    enum takes takes;
    const char *const *words; /* what the first argument may be, for completion; NULL: not fixed */
    size_t n_min;
    size_t n_max;
    bool passes_on;   /* what follows the first argument is not ours */
    bool is_hidden;   /* a role, not for people */
    int failure_code; /* exit code of every own failure; 0: by the error */
    /* Sets cli->exit_code where success has one. */
    struct err *(*run)(struct cli *c);
};

/* All there are, in the order of help; NULL-terminated. */
extern const struct command *const commands[];

/* NULL where there is none; hidden ones are found. */
const struct command *command_find(const char *name);

/* The nearest command, or NULL when nothing is near. Static text. */
const char *command_nearest(const char *name);

/* True for a command of later versions, known by name only. */
bool command_is_planned(const char *name);

struct given {
    const struct flag *flag;
    const char *text; /* NULL: a switch */
};

/* A parsed command line; texts are those of argv. */
struct invocation {
    const struct command *command;
    VEC(struct given) given;
    VEC(const char *) arguments;
    bool wants_help;  /* --help */
    bool wants_short; /* -h */
};

/*
 * Parses what follows the command's name. ERR_BAD_REQUEST names the flag and what would be right.
 * Values of counts, durations and fixed words are checked here.
 */
struct err *invocation_parse(const struct command *c, size_t n, const char *const *words,
                             struct invocation *ret) MUST_CHECK;
void invocation_done(struct invocation *in);

/* The last value given, or the fallback, or NULL. A flag that the command does not have is our bug:
 * asserted. */
const char *flag_text(const struct invocation *in, const char *name);
bool flag_switch(const struct invocation *in, const char *name);
int64_t flag_count(const struct invocation *in, const char *name, int64_t absent);
int64_t flag_duration_ns(const struct invocation *in, const char *name, int64_t absent_ns);
/* The i-th value of a repeated flag, NULL past the last. */
const char *flag_repeated(const struct invocation *in, const char *name, size_t i);

/* Calls `fn` for each flag of the command: its own, then those of its groups, then help. */
void command_each_flag(const struct command *c, void (*fn)(void *arg, const struct flag *f),
                       void *arg);

/* By its name, or by its letter (0: none); NULL: the command has no such flag. */
const struct flag *command_find_flag(const struct command *c, struct str name, char letter);

/*
 * A time limit: "30m", "1h30m", or as sbatch reads it: "90" (minutes), "M:S", "H:M:S", "D-H",
 * "D-H:M", "D-H:M:S". ERR_BAD_REQUEST otherwise, and for 0.
 */
struct err *time_limit_parse(const char *text, int64_t *ret_ns) MUST_CHECK;

/* Help of everything, of one command (`is_short`: usage and flags only), and docs/commands.md. The
 * caller frees. */
char *help_format(void);
char *help_format_command(const struct command *c, bool is_short);
char *help_format_markdown(void);

/* The manual page of a command, or of the program (NULL), in the macros of man(7). The caller
 * frees.
 */
char *man_format(const struct command *c);
