/*
 * session.h - a command's connection to the server (session_linux.c)
 *
 * The server is named by the first of: --kubeconfig or --data, $METE_KUBECONFIG, $METE_DATA,
 * $KUBECONFIG, the service account of the pod that the command runs in, /var/lib/mete. A data
 * directory means its unix socket. Warnings of the server go to stderr as they arrive.
 */
#pragma once

#include "base/json.h"
#include "cli/cli.h"
#include "client/client.h"

struct session;

struct err *session_open(struct cli *c, struct session **ret) MUST_CHECK;
/* As session_open for a given data directory: for `mete up` and `down`. */
struct err *session_open_data(struct cli *c, const char *data_dir, struct session **ret) MUST_CHECK;
/* As session_open for the API server of a cluster: --kubeconfig, the variables with kubeconfig
 * files, the pod's service account; --data does not name it. ERR_NOT_FOUND: none of them is there.
 */
struct err *session_open_cluster(struct cli *c, struct session **ret) MUST_CHECK;
/* As session_open for a server that `o` names; `o->loop` is set here. */
struct err *session_open_server(struct cli *c, const struct client_options *o,
                                struct session **ret) MUST_CHECK;
void session_free(struct session *s); /* accepts NULL */
static inline void session_freep(struct session **s)
{
    session_free(*s);
}

struct loop *session_loop(struct session *s);
struct client *session_client(struct session *s);

/* The namespace of -n, else of the kubeconfig, else "default". Borrowed. */
const char *session_namespace(const struct session *s);

struct call {
    const char *method; /* NULL: GET */
    const char *path;
    const char *accept;       /* NULL: application/json */
    const char *content_type; /* NULL: application/json */
    const json_t *body;       /* borrowed; NULL: none */
};

/*
 * Sends a request and waits for the answer. A status other than 2xx becomes its error; a server
 * that does not answer becomes ERR_UNAVAILABLE with its address and the time spent. `*ret` (may be
 * NULL) is a new reference; NULL: an empty body.
 */
struct err *session_call(struct session *s, const struct call *call, json_t **ret) MUST_CHECK;
struct err *session_get(struct session *s, const char *path, json_t **ret) MUST_CHECK;
/* Gets a report: `path` of Mete's own server, or `below` of a cluster's scheduler
 * (control/kube/kube_reports.h), as in "/apis/mete.dev/v1/gpus" and "gpus". */
struct err *session_get_report(struct session *s, const char *path, const char *below,
                               json_t **ret) MUST_CHECK;

/* The gpus with their holders, as far as the user may know them. */
struct err *session_get_gpus(struct session *s, json_t **ret) MUST_CHECK;

/* Runs the loop until session_stop, which any callback may call. */
struct err *session_run(struct session *s) MUST_CHECK;
void session_stop(struct session *s);

/* Calls `fn` at each signal; the signal no longer ends the process. */
void session_on_signal(struct session *s, int signal, loop_fn fn, void *arg);

/* Rewords an error as session_call does. Takes `e`. */
struct err *session_explain(struct session *s, struct err *e) MUST_CHECK;

struct list_query {
    const char *path;   /* may contain a query */
    const char *accept; /* for tables; NULL: application/json */
    int64_t limit;      /* 0: all */
};

struct list_result {
    json_t *first; /* the first page, with the items or rows of all pages */
    int64_t more;  /* number of entries left out; -1: unknown number; 0: none */
};

/* Lists page by page. After ERR_EXPIRED starts again once. `ret->first` is a new reference. */
struct err *session_list(struct session *s, const struct list_query *q,
                         struct list_result *ret) MUST_CHECK;

/* Formats a URL path with escaped texts. The caller frees it. */
char *path_format(const char *fmt, ...) PRINTF(1, 2);
