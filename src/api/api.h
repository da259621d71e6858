/*
 * api.h - the Kubernetes API on a unix socket and on TLS
 *
 * The API turns requests into replies over the seam http/request.h, without sockets. The server
 * gets listening descriptors from `mete up`, so clients wait during a restart instead of being
 * refused.
 */
#pragma once

#include "base/loop.h"
#include "http/http.h"
#include "kinds/object/objects.h"
#include "kinds/report.h"

struct api;
struct metrics_maker;
struct audit_log;
struct key_rotation;
struct hook_caller;
struct node_stats;

/* A computed kind: each request makes its objects. */
struct api_view {
    const struct kind *kind;
    /* Lists the objects of `ns` (NULL: all namespaces) as a new JSON array, sorted by namespace and
     * name. */
    json_t *(*list)(void *arg, const char *ns);
    /* Gets an object, as a new reference, or NULL. */
    json_t *(*get)(void *arg, const char *ns, const char *name);
    void *arg;
};

struct api_options {
    struct loop *loop;
    struct store *store;
    int unix_fd;         /* listening; -1: none. The caller closes both after api_free */
    int tls_fd;          /* listening; -1: none */
    int pods_fd;         /* listening, as tls_fd, for pods; 0: none */
    const char *pki_dir; /* ca.crt, server.crt, server.key, sa.key (made by pki_make); NULL without
                            tls_fd */
    const char *users_file; /* tokens and identities, see docs/users.md; may be missing; read again
                               when it changes */
    const struct api_view *views; /* borrowed until api_free */
    size_t n_views;
    const struct report_maker *reports; /* borrowed until api_free */
    size_t n_reports;
    const struct metrics_maker *metrics; /* borrowed until api_free; NULL: no page of metrics */
    int metrics_fd;                      /* listening, for everyone; -1: none */
    bool has_metrics_tls;
    const char *metrics_pki_dir; /* its certificate and key; NULL: the server's */
    /* Takes a sample of a node, and ends it; NULL: nodes are not asked for samples. */
    void (*take_stats)(void *arg, const char *node, struct node_stats *taken);
    void *stats_arg;
    struct objects *objects;               /* kinds/object/objects.h, over `store` */
    const struct hook_caller *hook_caller; /* calls webhooks; borrowed; NULL: nobody is asked */
    const struct audit_log *audit; /* access/audit_log.h; borrowed; NULL: nothing is recorded */
    const struct key_rotation *rotation; /* access/keyring.h; borrowed; NULL: none */
    bool audits_reads;                   /* record all reads, too */
    int64_t audit_keep_ns;               /* age at which the audit's lines are removed; 0: never */
    const char *nodes_file;       /* access/node_credentials.h; read again when it changes; may be
                                     missing or NULL */
    const struct http_door *page; /* the web page; NULL: none */
    /* Makes a one-time link to the web page for the caller of `r`. The caller frees it. NULL: there
     * is no page. */
    char *(*make_link)(void *arg, const struct api_request *r, const char *user);
    void *link_arg;
    /* Answers requests to paths below /slurm/ and /slurmdb/ by others to api_handle. NULL: nobody
     * does. */
    request_fn rest;
    void *rest_arg;
};

struct err *api_new(const struct api_options *o, struct api **ret) MUST_CHECK;
/* A request_fn: `arg` is the api. For requests that come by other ways than its sockets. */
void api_handle(void *arg, struct exchange *x);
void api_free(struct api *a); /* accepts NULL; closes all connections */
static inline void api_freep(struct api **a)
{
    api_free(*a);
}
