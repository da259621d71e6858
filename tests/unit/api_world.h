/* api_world.h - the API's logic over a simulated world: requests without sockets */
#pragma once

#include "api/core.h"
#include "world.h"

/* Who asks. {0} is root on the unix socket. */
struct asker {
    uint32_t uid;
    const char *token;     /* NULL: none */
    const char *cert_user; /* not the unix socket, but this certificate */
    const char *cert_group;
};

/* One request and all that came back. */
struct asked {
    struct exchange x;
    struct channel channel;
    struct http_header headers[10];
    struct buf path;
    struct buf body; /* of the reply, or the pieces of the stream so far */
    json_t *warnings;
    char *content_type;
    int status; /* 0: no answer yet */
    bool is_stream;
    bool is_over;
    bool is_cut;
    bool is_upgraded;
    bool is_paused;
    char *protocol; /* of the upgrade, and: */
    struct buf upgrade_headers;
    size_t backlog; /* what the test lets the logic see */
};

struct api_world {
    struct world w;
    struct core *core;
};

/* `users` is the text of a users.yaml; NULL: none. */
void api_world_init(struct api_world *a, const char *users);
/* With a key for service accounts' tokens, as pki_make makes it. */
void api_world_init_signing(struct api_world *a, const char *users, const char *key_file);
void api_world_done(struct api_world *a);

struct question {
    const char *method; /* NULL: GET */
    const char *target; /* path and query */
    const char *body;   /* JSON with ' for "; NULL: none */
    const char *content_type;
    const char *accept;
    const char *websocket; /* subprotocols that the client offers; NULL: it opens no WebSocket */
    const char *spdy;      /* the same of SPDY; NULL: it does not ask for that */
    struct asker who;
    size_t backlog;
};

/* Runs the loop afterwards, so that what is only waiting for the disk is answered. Free with
 * asked_free. */
struct asked *api_ask(struct api_world *a, struct question q);
void asked_free(struct asked *k); /* an exchange that is not over is closed, as by its client */
static inline void asked_freep(struct asked **k)
{
    asked_free(*k);
}

/* The client goes away. */
void asked_close(struct asked *k);

/* The reply as JSON; asserts that it is. New reference. */
json_t *asked_json(const struct asked *k);

/* Line `i` of a stream as JSON; NULL where there are not so many. New reference. */
json_t *asked_event(const struct asked *k, size_t i);

/* Asks, asserts the status, gives the JSON. */
json_t *api_expect(struct api_world *a, int status, struct question q);
