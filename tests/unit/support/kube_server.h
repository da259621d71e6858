/*
 * kube_server.h - a model of a kube-apiserver for tests, with faults from a seed
 *
 * The model keeps objects with versions, a history for watches, and the rules that a scheduler
 * meets: a binding wants the pod's uid and a pod without a node; a bound pod that is deleted stays
 * until its node has ended it; a Lease is written at its version. Requests and answers take time
 * and overtake each other. A request whose client has gone reaches the server for CUT_NS at most.
 */
#pragma once

#include "client/client.h"

struct kube_server;

struct kube_faults {
    unsigned lost_pct;    /* of requests: the server never sees them */
    unsigned silent_pct;  /* of requests: carried out, the answer is lost */
    unsigned busy_pct;    /* of requests: 429 */
    unsigned broken_pct;  /* of requests: 500; half of them were carried out */
    unsigned cut_pct;     /* of turns of a watch: it ends */
    unsigned expired_pct; /* of turns of a watch, and of pages: 410 */
    int64_t slow_ns;      /* the longest way of a request, and of an answer */
    bool is_gone;         /* the server cannot be reached */
};

struct kube_server_options {
    struct loop *loop;
    uint64_t seed;
    /* After each change. `who` made it: the number of a client, or -1: the test. `before` or
     * `after` is NULL for a new or a removed object. All is borrowed. */
    void (*changed)(void *arg, int who, const char *plural, const json_t *before,
                    const json_t *after);
    void *arg;
};

struct kube_server *kube_server_new(const struct kube_server_options *o);
void kube_server_free(struct kube_server *s); /* all clients must be gone */
/* By the server's own clock, which nobody steps; realtime. */
int64_t kube_server_now_ns(const struct kube_server *s);
/* Open: the test sets the faults. */
struct kube_faults *kube_server_faults(struct kube_server *s);
/* Ends all watches: as the faults say, or because the server is gone. */
void kube_server_cut(struct kube_server *s);
/* Forgets the history: watches that are behind get 410. */
void kube_server_compact(struct kube_server *s);

/* A client, with its number; kube_client_end ends it with its requests, as the end of its
 * program does. */
struct client *kube_client_new(struct kube_server *s, int who);
void kube_client_end(struct client *c);

/* The objects, as the server's own programs see them. `ns` "": of the cluster. Texts with ' for "
 * are JSON. */
const json_t *kube_server_get(const struct kube_server *s, const char *plural, const char *ns,
                              const char *name);
void kube_server_put(struct kube_server *s, const char *plural, const char *text);
/* A strategic merge; the object must be there. */
void kube_server_patch(struct kube_server *s, const char *plural, const json_t *object,
                       const char *text);
/* The same, a JSON merge patch. */
void kube_server_patch_merge(struct kube_server *s, const char *plural, const json_t *object,
                             const char *text);
void kube_server_remove(struct kube_server *s, const char *plural, const json_t *object);
/* Another scheduler binds the pod. */
void kube_server_bind(struct kube_server *s, const json_t *pod, const char *node);
/* Calls `fn` for each object of that moment. */
void kube_server_each(struct kube_server *s, const char *plural,
                      void (*fn)(void *arg, const json_t *object), void *arg);
