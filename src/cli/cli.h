/* cli.h - the surroundings of a command, its messages, and its exit code */
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

/* Properties of stdout and stderr. A value. */
struct terminal {
    bool out; /* stdout is a terminal */
    bool err;
    bool in;
    bool has_colour;
    bool is_plain;  /* METE_PLAIN, TERM=dumb: no rewritten lines */
    size_t columns; /* of stdout; 0: unbounded */
};

struct cli {
    const struct invocation *in;
    const char *self_path; /* of this binary */
    FILE *out;             /* data */
    FILE *err;             /* messages to the user */
    struct terminal terminal;
    char *hint;    /* what to try, owned; NULL: chosen by the error */
    int exit_code; /* of a success; with has_code also of a failure */
    bool has_code;
};

/* Returns an error of the command line: exit code 2. */
struct err *cli_usage(struct cli *c, const char *fmt, ...) PRINTF(2, 3) MUST_CHECK;

/* Sets the line "try:", unless a line is set. */
void cli_try(struct cli *c, const char *fmt, ...) PRINTF(2, 3);

/* Prints "mete: ..." and "  try: ..."; returns the exit code. */
int cli_complain(struct cli *c, const struct err *e);

/* Prints a message to stderr as one line, without control bytes. */
void cli_say(const struct cli *c, const char *fmt, ...) PRINTF(2, 3);
