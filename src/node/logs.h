/*
 * logs.h - containers' logs over the reverse stream
 *
 * op "logs": {"podUid","container","attempt","previous","follow","tailLines","limitBytes",
 * "timestamps"}. The answer is the text; it is sent as far as credit and the connection's backlog
 * allow, and nothing is read ahead: a slow reader costs one buffer.
 */
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "node/pods.h"

struct logs;
struct log_stream;

struct logs_options {
    struct loop *loop;
    const struct pods *pods;
    /* How the answer leaves; `end` is the last of a stream, which is dead after it. */
    void (*data)(void *arg, uint32_t id, struct str bytes);
    void (*end)(void *arg, uint32_t id, int code, const char *message);
    bool (*is_full)(void *arg); /* the connection takes no more now; logs_drained tells */
    void *arg;
};

struct logs *logs_new(const struct logs_options *o);
void logs_free(struct logs *l); /* accepts NULL; streams end in silence */

void logs_open(struct logs *l, uint32_t id, const json_t *question);
void logs_credit(struct logs *l, uint32_t id, uint32_t bytes);
void logs_cancel(struct logs *l, uint32_t id);
void logs_drained(struct logs *l);
/* A container started or ended: those who follow look again. */
void logs_look(struct logs *l);
/* The connection is gone, and all streams with it. */
void logs_cancel_all(struct logs *l);
