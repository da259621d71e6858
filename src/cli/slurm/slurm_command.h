/*
 * slurm_command.h - what the commands with Slurm's names share: words, messages, exit codes, rows
 *
 * These commands parse their own words, and their messages are those of Slurm: "NAME: error: TEXT".
 */
#pragma once

#include "cli/cli.h"
#include "cli/session.h"
#include "slurm/columns.h"
#include "slurm/words.h"

struct slurm_command {
    struct cli *cli;
    const char *name; /* "sbatch" */
    struct slurm_words words;
    struct session *session; /* NULL until slurm_command_open */
    struct slurm_view view;
    int usage_code; /* exit code of malformed words; 0: 1 */
};

/* Parses the command's words. False: a message was printed, and the exit code is set. */
bool slurm_command_begin(struct slurm_command *s, struct cli *c, const struct slurm_option *options,
                         bool stops);
void slurm_command_done(struct slurm_command *s);

/* Prints "NAME: error: LINE" for each line of the error, and sets the exit code. Takes `e`. Returns
 * NULL: the result of the command. */
struct err *slurm_fail(struct slurm_command *s, int code, struct err *e);

/* Prints "NAME: error: TEXT" and sets the exit code 1. */
void slurm_say(struct slurm_command *s, const char *fmt, ...) PRINTF(2, 3);

/* Connects to the server. */
struct err *slurm_command_open(struct slurm_command *s) MUST_CHECK;

/* Sends a request. A server that cannot be reached is "Unable to contact slurm controller (connect
 * failure)"; then `cause` is in parentheses on a second line. */
struct err *slurm_call(struct slurm_command *s, const struct call *call, json_t **ret) MUST_CHECK;

/* Makes the texts of rows harmless lines (text_escape.h): others have chosen names and comments.
 * The members script and environment stay as they are. */
void slurm_clean(json_t *rows);

/* GETs a report of rows, cleaned, and gives its member `what`. New reference. */
struct err *slurm_rows(struct slurm_command *s, const char *path, const char *what,
                       json_t **ret) MUST_CHECK;

/* Prints "slurm VERSION"; returns NULL. */
struct err *slurm_print_version(struct cli *c);

/* The value of a variable of the environment; NULL: not set. */
const char *slurm_variable(const char *name);

/* The name of the calling user. The caller frees it. */
char *slurm_user_name(void);

/* The offset of this machine's time zone: a zone_fn. */
int64_t slurm_local_zone(int64_t utc_ns);
