/* exec_private.h - what pods/exec and pods/attach are asked and how they answer, for exec.c */
#pragma once

#include "api/core.h"
#include "client/websocket.h"

struct handshake {
    char accept[WEBSOCKET_ACCEPT_SIZE];
    const char *protocol;
    bool is_v5;
};

/* ERR_BAD_REQUEST for all but a WebSocket of a subprotocol that we have, saying what is needed. */
struct err *exec_read_handshake(const struct call *c, struct handshake *ret) MUST_CHECK;

/* Fills the question to the node (client/records.h), or says why there is none to ask. */
struct err *exec_make_question(const struct call *c, const json_t *pod, bool is_attach,
                               json_t *question) MUST_CHECK;

/* {"Width":90,"Height":40}; false for what is none. */
bool exec_read_size(struct str text, uint16_t *ret_columns, uint16_t *ret_rows);

/* The Status that a session ends with. New references. */
json_t *exec_status(int exit_code);
json_t *exec_failure(int http, const char *message);
