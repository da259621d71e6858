/* remote_session.h - a program of a container at this terminal, from its start to its exit code */
#pragma once

#include "cli/session.h"

struct remote_session {
    const char *path; /* of pods/exec or pods/attach, with the query */
    bool has_stdin;
    bool has_terminal;
    bool can_detach; /* Ctrl-P Ctrl-Q detaches */
    int input_fd;    /* 0: standard input */
    /* Receives the output instead of stdout; an error ends the session. NULL: stdout. */
    struct err *(*output)(void *arg, struct str bytes);
    void *arg;
};

/* Runs the loop until the session ends. `*ret_code` is the program's exit code; 0: the user
 * detached. */
struct err *remote_session_run(struct cli *c, struct session *s, const struct remote_session *o,
                               int *ret_code) MUST_CHECK;

/* Begins "JOB/exec?stdout=true..."; the caller adds the command with remote_path_command. */
void remote_path_begin(struct buf *b, const json_t *pod, const char *subresource,
                       const char *container);
void remote_path_streams(struct buf *b, bool has_stdin, bool has_terminal);
void remote_path_command(struct buf *b, const char *word);
