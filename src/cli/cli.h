/* cli.h - what a command knows of its surroundings, and how it ends */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "cli/term/command.h"

enum exit_code {
    EXIT_OK = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_NOT_FOUND = 3,
    EXIT_DENIED = 4,
    EXIT_CONFLICT = 5,
    EXIT_UNREACHABLE = 6,
    EXIT_TIMED_OUT = 7,
    EXIT_RUN_FAILED = 125,
};

/* What stands at the other end of stdout and stderr. A value. */
struct terminal {
    bool out; /* stdout is a terminal */
    bool err;
    bool in;
    bool has_colour;
    bool is_plain; /* METE_PLAIN, TERM=dumb: nothing is rewritten */
    bool is_utf8;
    size_t columns; /* of stdout; 0: unbounded */
};

struct cli {
    const struct invocation *in;
    const char *self_path; /* of this binary */
    FILE *out;             /* data */
    FILE *err;             /* talk */
    struct terminal terminal;
    char *hint;    /* what to try, owned; NULL: by the error */
    int exit_code; /* of success, or with has_code of a failure */
    bool has_code;
};

/* A wrong command line: exit code 2. */
struct err *cli_usage(struct cli *c, const char *fmt, ...) PRINTF(2, 3) MUST_CHECK;

/* Sets what the line "try:" says, unless something was set before. */
void cli_try(struct cli *c, const char *fmt, ...) PRINTF(2, 3);

/* Prints "mete: ..." and "  try: ..."; returns the exit code. */
int cli_complain(struct cli *c, const struct err *e);

/* Talk: a line on stderr, control bytes taken out. */
void cli_say(const struct cli *c, const char *fmt, ...) PRINTF(2, 3);
