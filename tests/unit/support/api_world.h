/* api_world.h - the API's logic over a simulated world: requests without sockets */
#pragma once

#include "api/core.h"
#include "world.h"

/* The caller of a request. {0}: root on the unix socket. */
struct claim_asker {
    uint32_t uid;
    const char *token;     /* NULL: none */
    const char *cert_user; /* this certificate instead of the unix socket */
    const char *cert_group;
};

/* A request and its answer. */
struct asked {
    struct exchange x;
    struct channel channel;
    struct http_header headers[10];
    struct buf path;
    struct buf body; /* body of the reply, or pieces of the stream so far */
    json_t *warnings;
    char *content_type;
    int status; /* 0: no answer yet */
    bool is_stream;
    bool is_over;
    bool is_cut;
    bool is_upgraded;
    bool is_paused;
    char *protocol;     /* protocol of the upgrade */
    uint32_t local_uid; /* of upgrade.is_local */
    struct buf upgrade_headers;
    size_t backlog; /* backlog that the logic sees */
};

struct api_world {
    struct world w;
    /* Set before api_world_init: takes samples of nodes; NULL: nodes are not asked. */
    void (*take_stats)(void *arg, const char *node, struct node_stats *taken);
    void *stats_arg;
    int64_t node_wait_ns;              /* the same, of nodestream.h */
    const struct report_maker *report; /* the same; NULL: there are no reports */
    struct core *core;
};

/* `users` is the text of a users.yaml; NULL: none. */
void api_world_init(struct api_world *a, const char *users);
/* The same with a key of pki_make for service accounts' tokens. */
void api_world_init_signing(struct api_world *a, const char *users, const char *key_file);
void api_world_done(struct api_world *a);

struct question {
    const char *method; /* NULL: GET */
    const char *target; /* path and query */
    const char *body;   /* JSON with ' for "; NULL: none */
    const char *content_type;
    const char *accept;
    const char *websocket; /* the client's subprotocols; NULL: no WebSocket */
    const char *spdy;      /* the client's SPDY protocols; NULL: no SPDY */
    struct claim_asker who;
    size_t backlog;
};

/* Sends a request, then runs the loop, so that durable writes are answered. Free the result with
 * asked_free. */
struct asked *api_ask(struct api_world *a, struct question q);
void asked_free(struct asked *k); /* closes an open exchange, like a client */
static inline void asked_freep(struct asked **k)
{
    asked_free(*k);
}

/* The client closes its connection. */
void asked_close(struct asked *k);

/* The reply as JSON; asserts that it parses. New reference. */
json_t *asked_json(const struct asked *k);

/* Line `i` of a stream as JSON; NULL: too few lines. New reference. */
json_t *asked_event(const struct asked *k, size_t i);

/* Sends a request, asserts the status, returns the JSON. */
json_t *api_expect(struct api_world *a, int status, struct question q);
