/* http.h - the HTTP/1.1 server on libevent's bufferevents: connections, limits, timeouts */
#pragma once

#include "base/loop.h"
#include "http/request.h"

struct http_server;

struct http_options {
    struct loop *loop; /* the real one */
    int unix_fd;       /* listening; -1: none */
    int tls_fd;        /* listening; -1: none */
    const char *pki_dir;
    request_fn handle;
    void *arg;
};

struct err *http_server_new(const struct http_options *o, struct http_server **ret) MUST_CHECK;

/* Ends the connections whose last request had this credential, as if their clients had gone, in the
 * loop's next turn. */
void http_server_cut(struct http_server *s, uint64_t credential);

/* Closes all connections and calls on_close of each open exchange and channel. Accepts NULL. */
void http_server_free(struct http_server *s);
