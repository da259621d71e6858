/*
 * session.h - a command's conversation with the server (session_linux.c)
 *
 * Where the server is: --kubeconfig or --data, $METE_KUBECONFIG, $METE_DATA, $KUBECONFIG,
 * /var/lib/mete, the first that is given. A data directory means its unix socket. Warnings of the
 * server are shown on stderr as they come.
 */
#pragma once

#include "base/json.h"
#include "cli/cli.h"
#include "client/client.h"

struct session;

struct err *session_open(struct cli *c, struct session **ret) MUST_CHECK;
/* The same with the data directory given: for `mete up` and `down`. */
struct err *session_open_data(struct cli *c, const char *data_dir, struct session **ret) MUST_CHECK;
void session_free(struct session *s); /* accepts NULL */
static inline void session_freep(struct session **s)
{
    session_free(*s);
}

struct loop *session_loop(struct session *s);
struct client *session_client(struct session *s);

/* -n, else the kubeconfig's, else "default". Borrowed. */
const char *session_namespace(const struct session *s);

struct call {
    const char *method; /* NULL: GET */
    const char *path;
    const char *accept;       /* NULL: application/json */
    const char *content_type; /* NULL: application/json */
    const json_t *body;       /* borrowed; NULL: none */
};

/*
 * Asks and waits. A status that is not 2xx becomes its error; a server that is away ERR_UNAVAILABLE
 * with its address and how long it was tried. `*ret` (may be NULL) is a new reference; NULL for an
 * empty body.
 */
struct err *session_call(struct session *s, const struct call *call, json_t **ret) MUST_CHECK;
struct err *session_get(struct session *s, const char *path, json_t **ret) MUST_CHECK;

/* Runs the loop until session_stop, which any callback may call. */
struct err *session_run(struct session *s) MUST_CHECK;
void session_stop(struct session *s);

/* `fn` at each signal, instead of dying of it. */
void session_on_signal(struct session *s, int signal, loop_fn fn, void *arg);

/* An error as session_call would word it. Takes and returns. */
struct err *session_explain(struct session *s, struct err *e) MUST_CHECK;

struct list_query {
    const char *path;   /* may have a query */
    const char *accept; /* for tables; NULL: application/json */
    int64_t limit;      /* 0: all */
};

struct list_result {
    json_t
        *first; /* the first page as it came, its items or rows completed by those of the others */
    int64_t more; /* how many were left out; -1: some, the server does not say; 0: none */
};

/* A list in pages. ERR_EXPIRED on the way begins again once. `ret->first` is a new reference. */
struct err *session_list(struct session *s, const struct list_query *q,
                         struct list_result *ret) MUST_CHECK;

/* "http" paths of the words that commands build. The caller frees. */
char *path_format(const char *fmt, ...) PRINTF(1, 2);
