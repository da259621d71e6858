/*
 * forward.h - one connection to a port of a pod, over its node's stream (client/records.h)
 *
 * Callbacks come from the node's events, never from inside a call.
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

struct forward_options {
    const struct forward_target *target;
    uint16_t port;
    void (*on_data)(void *arg, struct str bytes); /* credit it by forward_taken */
    void (*on_data_end)(void *arg);               /* the pod sends no more */
    void (*on_drain)(void *arg);                  /* all that was sent is on its way */
    /* The connection is over, the forward dead: NULL, or why. */
    void (*on_end)(void *arg, const char *message);
    void *arg;
};

struct err *forward_open(const struct forward_options *o, struct forward **ret) MUST_CHECK;
void forward_free(struct forward *f); /* accepts NULL; ends the connection */

void forward_send(struct forward *f, struct str bytes);
void forward_send_end(struct forward *f);
size_t forward_backlog(const struct forward *f); /* bytes that wait for the node */
/* All that was given to on_data was used. */
void forward_taken(struct forward *f);

/* "error forwarding port 80 to pod p, uid u: ...", as Kubernetes says it. The caller frees it. */
char *forward_failure(const struct forward_target *t, uint16_t port, const char *message);
