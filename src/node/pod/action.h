/*
 * action.h - the action of a probe or a lifecycle hook: a command in the container, an HTTP GET, a
 * TCP connection, or a sleep
 */
#pragma once

#include "node/pod/pinger.h"
#include "node/runtime/runtime.h"

struct action;

/* The container and the means of an action. Borrowed only during action_new. */
struct action_place {
    struct loop *loop;
    struct runtime *runtime;
    struct pinger *pinger;
    const char *id;          /* of the running container */
    const json_t *container; /* of the pod's spec, for the names of its ports */
    const char *host;        /* the pod's address */
    bool hides_output;       /* messages tell a command's exit code, not its output */
};

enum action_result {
    ACTION_SUCCESS,
    ACTION_FAILURE, /* a negative answer, or none in time */
    ACTION_ERROR,   /* the action could not run: tells nothing about the container */
};

/* `message` is for display, in the kubelet's words; "" after a success. Borrowed. */
typedef void (*action_done_fn)(void *arg, enum action_result result, const char *message);

/* Begins an action. `timeout_ns` 0: no timeout. `handler` has exec, httpGet, tcpSocket or sleep.
 * `done` comes once, from the loop; the action is dead afterwards. */
struct action *action_new(const struct action_place *place, const json_t *handler,
                          int64_t timeout_ns, action_done_fn done, void *arg);
void action_cancel(struct action *a); /* accepts NULL; no callback afterwards */
