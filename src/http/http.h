/* http.h - the HTTP/1.1 server on libevent's bufferevents: connections, limits, timeouts */
#pragma once

#include "base/loop.h"
#include "http/request.h"
#include "http/tls_files.h"

struct http_server;

/* A further TCP socket, with its own logic. Its requests have neither a uid nor a certificate. */
struct http_door {
    int fd; /* listening */
    bool is_tls;
    const char *pki_dir;           /* of is_tls: as tls_context_new; NULL: the server's */
    const struct tls_files *files; /* TLS with these instead; NULL: as above */
    request_fn handle;
    void *arg;
};

enum {
    HTTP_DOORS_MAX = 4
};

struct http_options {
    struct loop *loop; /* the real one */
    int unix_fd;       /* listening; -1: none */
    int tls_fd;        /* listening; -1: none */
    int pods_fd;       /* listening, as tls_fd, for pods; 0: none */
    const char *pki_dir;
    request_fn handle;
    void *arg;
    const struct http_door *doors; /* at most HTTP_DOORS_MAX; copied */
    size_t n_doors;
};

struct err *http_server_new(const struct http_options *o, struct http_server **ret) MUST_CHECK;

/* Ends the connections whose last request had this credential (not 0), as if their clients had
 * gone, in the loop's next turn. */
void http_server_cut(struct http_server *s, uint64_t credential);

/* Closes all connections and calls on_close of each open exchange and channel. Accepts NULL. */
void http_server_free(struct http_server *s);
