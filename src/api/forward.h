/*
 * forward.h - a connection to a port of a pod, over its node's stream (client/records.h)
 *
 * Callbacks come from the node's events, never from inside a function of this header.
 */
#pragma once

#include "api/core.h"

struct forward;

/* The pod of a pods/portforward request. */
struct forward_target {
    struct node_links *links;
    char *node;
    char *uid;
    char *name;
};

/* `name` is the pod's, for messages. */
struct forward_target *forward_target_new(const struct call *c, const json_t *pod,
                                          const char *name);
void forward_target_free(struct forward_target *t); /* accepts NULL */

struct forward_options {
    const struct forward_target *target;
    uint16_t port;
    void (*on_data)(void *arg, struct str bytes); /* credit it by forward_taken */
    void (*on_data_end)(void *arg);               /* the pod has closed its half */
    void (*on_drain)(void *arg);                  /* all bytes have left to the node; or NULL */
    /* The connection has ended, and the forward is dead. `message`: the failure; NULL: orderly
     * end. */
    void (*on_end)(void *arg, const char *message);
    void *arg;
};

struct err *forward_open(const struct forward_options *o, struct forward **ret) MUST_CHECK;
void forward_free(struct forward *f); /* accepts NULL; ends the connection */

void forward_send(struct forward *f, struct str bytes);
void forward_send_end(struct forward *f);
size_t forward_backlog(const struct forward *f); /* bytes that wait for the node */
/* The client has taken all bytes of on_data. */
void forward_taken(struct forward *f);

/* "error forwarding port 80 to pod p, uid u: ...", in Kubernetes' words. The caller frees it. */
char *forward_failure(const struct forward_target *t, uint16_t port, const char *message);
