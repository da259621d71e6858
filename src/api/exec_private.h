/* exec_private.h - sessions of pods/exec and pods/attach, for exec.c, exec_spdy.c and exec_ask.c */
#pragma once

#include "api/nodestream.h"
#include "api/session_conn.h"

enum {
    CHANNEL_STDIN = 0,
    CHANNEL_STDOUT = 1,
    CHANNEL_STDERR = 2,
    CHANNEL_STATUS = 3,
    CHANNEL_RESIZE = 4,
    CHANNELS = 5,
    CHANNEL_CLOSE = 255,
};

/* The streams of a SPDY session, by channel. */
struct exec_streams {
    struct spdy *spdy;
    bool is_wanted[CHANNELS];
    uint32_t ids[CHANNELS]; /* 0: absent */
    bool has_status_text;   /* before v4: the error stream has only a message, "" for success */
    bool has_input_end;     /* stdin ended before the session began */
    struct buf input;       /* stdin that came before the session began */
    struct buf sizes;
    struct loop_timer *timer; /* deadline for the streams; NULL: all have come */
};

/* A session of exec or attach. */
struct exec_session {
    struct core *core;
    struct session_conn *conn;
    struct node_stream *stream; /* NULL: not begun, or ended */
    json_t *question;           /* the request to the node, until the session begins */
    char *node;
    struct buf in; /* from the node: an incomplete record */
    size_t owed;   /* bytes whose credit waits until the client has taken them */
    bool is_spdy;
    struct exec_streams streams; /* is_spdy */
    bool is_v5;
    bool has_status_text; /* channels before v4 */
    bool has_stdin;
    bool has_exit;
    int exit_code;
};

/* exec.c: starts the session on the node. */
struct err *exec_session_begin(struct exec_session *r) MUST_CHECK;
void exec_session_input(struct exec_session *r, struct str bytes);
void exec_session_input_end(struct exec_session *r);
void exec_session_resize(struct exec_session *r, struct str size);
void exec_session_give_credit(struct exec_session *r);
void exec_session_finish(struct exec_session *r, json_t *taken_status);
void exec_session_give_up(struct exec_session *r); /* the client is gone */

/* exec_spdy.c: answers the request; the session begins when the last of its streams has come. */
void exec_spdy_begin(struct call *c, const struct handshake *h, struct exec_session *r);
void exec_spdy_done(struct exec_streams *s);
void exec_spdy_send(struct exec_streams *s, unsigned channel, struct str bytes);
void exec_spdy_end(struct exec_streams *s, const json_t *status);
bool exec_spdy_is_behind(const struct exec_streams *s);

/* Fills the request to the node (client/records.h), or returns why the call is invalid. */
struct err *exec_make_question(const struct call *c, const json_t *pod, bool is_attach,
                               json_t *question) MUST_CHECK;

/* Reads {"Width":90,"Height":40}. False: malformed. */
bool exec_read_size(struct str text, uint16_t *ret_columns, uint16_t *ret_rows);

/* The final Status of a session. New references. */
json_t *exec_status(int exit_code);
json_t *exec_failure(int http, const char *message);
