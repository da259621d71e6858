/*
 * action.h - what a probe or a lifecycle hook does: a command in the container, a GET, a
 * connection, or time that passes
 */
#pragma once

#include "node/pod/pinger.h"
#include "node/runtime/runtime.h"

struct action;

/* Where it is done. Borrowed for the call that begins an action. */
struct action_place {
    struct loop *loop;
    struct runtime *runtime;
    struct pinger *pinger;
    const char *id;          /* of the running container */
    const json_t *container; /* of the pod's spec: the names of its ports */
    const char *host;        /* the pod's address */
    bool hides_output;       /* what a command writes is not told: its exit code is */
};

enum action_result {
    ACTION_SUCCESS,
    ACTION_FAILURE, /* an answer, and it is no, or none in time */
    ACTION_ERROR,   /* it could not be asked: says nothing about the container */
};

/* `message` is for people, in the kubelet's words; "" after a success. Borrowed. */
typedef void (*action_done_fn)(void *arg, enum action_result result, const char *message);

/* `timeout_ns` 0: as long as it takes. `handler` has exec, httpGet, tcpSocket or sleep. `done`
 * comes once, from the loop; the action is dead after it. */
struct action *action_new(const struct action_place *place, const json_t *handler,
                          int64_t timeout_ns, action_done_fn done, void *arg);
void action_cancel(struct action *a); /* accepts NULL; no callback after it */
