/*
 * command.h - the table of commands and flags: parsing, --help, -h, docs/commands.md and "did you
 * mean" use it
 *
 * Flags are `--name VALUE`, `--name=VALUE`, `-x VALUE`, `-xVALUE`; letters without a value may be
 * joined (-Aw). `--` ends the flags, and so does the first argument of a command that passes on a
 * command line (`mete run nvidia-smi -L`).
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
    const char *value; /* placeholder in help: "N" */
    const char *doc;
    const char *fallback;      /* NULL: none */
    const char *const *values; /* allowed values, NULL-terminated; NULL: any */
    enum flag_type type;
    char letter;      /* 0: none */
    bool is_repeated; /* may be given several times; each value counts */
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

/* Kinds of arguments, for completion. */
enum takes {
    TAKES_NOTHING, /* nothing that a shell could complete */
    TAKES_JOBS,
    TAKES_JOB,        /* the first argument; later ones are not jobs */
    TAKES_PLACES,     /* jobs and files */
    TAKES_JOBS_QUEUE, /* jobs, then one queue */
    TAKES_QUEUES,
    TAKES_NODES,
    TAKES_KINDS, /* the first argument */
    TAKES_COMMANDS,
    TAKES_FILES
};

struct example {
    const char *line; /* the command line, without "mete " */
    const char *does;
};

struct command {
    const char *name;
    const char *arguments;      /* "[KIND] [NAME...]"; NULL: none */
    const char *summary;        /* one line, no full stop */
    const char *doc;            /* further text, or NULL */
    struct example examples[5]; /* at least two; ends with a NULL line */
    const struct flag *flags;   /* flags of this command, ended by a NULL name; may be NULL */
    unsigned groups;            /* enum flag_group */
    enum takes takes;
    const char *const *words; /* allowed first arguments, for completion; NULL: any */
    size_t n_min;
    size_t n_max;
    bool passes_on;   /* words after the first argument belong to the passed-on command */
    bool reads_words; /* parses its words itself: all of them are arguments */
    bool is_hidden;   /* a role of a process, not a user command */
    int failure_code; /* exit code of all own failures; 0: by the error */
    /* Sets cli->exit_code if a success has its own code. */
    struct err *(*run)(struct cli *c);
};

/* All commands, in the order of help; NULL-terminated. */
extern const struct command *const commands[];

/* NULL: no such command. Finds hidden commands, too. */
const struct command *command_find(const char *name);

/* The name of the nearest command; NULL: none is near. Static text. */
const char *command_nearest(const char *name);

/* Is this a command of a later version, known by name only? */
bool command_is_planned(const char *name);

struct given {
    const struct flag *flag;
    const char *text; /* NULL: a switch */
};

/* A parsed command line; texts are borrowed from argv. */
struct invocation {
    const struct command *command;
    VEC(struct given) given;
    VEC(const char *) arguments;
    bool wants_help;  /* --help */
    bool wants_short; /* -h */
};

/* Parses the words after the command's name. ERR_BAD_REQUEST names the flag and what would be
 * right. Checks values of counts, durations and fixed words. */
struct err *invocation_parse(const struct command *c, size_t n, const char *const *words,
                             struct invocation *ret) MUST_CHECK;
void invocation_done(struct invocation *in);

/* The last given value, else the fallback, else NULL. Asserts that the command has the flag. */
const char *flag_text(const struct invocation *in, const char *name);
bool flag_switch(const struct invocation *in, const char *name);
int64_t flag_count(const struct invocation *in, const char *name, int64_t absent);
int64_t flag_duration_ns(const struct invocation *in, const char *name, int64_t absent_ns);
/* The i-th value of a repeated flag; NULL: past the last. */
const char *flag_repeated(const struct invocation *in, const char *name, size_t i);

/* Calls `fn` for each flag of the command: its own flags, the flags of its groups, then help. */
void command_each_flag(const struct command *c, void (*fn)(void *arg, const struct flag *f),
                       void *arg);

/* Finds a flag by its name, or by its letter (0: by name); NULL: no such flag. */
const struct flag *command_find_flag(const struct command *c, struct str name, char letter);

/* Format help of all commands, of one command (`is_short`: usage and flags only), and
 * docs/commands.md. The caller frees the text. */
char *help_format(void);
char *help_format_command(const struct command *c, bool is_short);
char *help_format_markdown(void);

/* Formats the manual page of a command, or of the program (NULL), in the macros of man(7). The
 * caller frees the text. */
char *man_format(const struct command *c);
