/* proxy_private.h - pods/proxy and services/proxy, for proxy.c, proxy_target.c and proxy_answer.c
 */
#pragma once

#include "api/forward.h"
#include "client/http_answer.h"

/* The place that a proxied request goes to. */
struct proxy_target {
    const char *pod; /* of the arena */
    json_t *object;  /* the pod, a new reference */
    uint16_t port;
    bool is_tls;
};

/* proxy_target.c: the target of [SCHEME:]NAME[:PORT], the call's name. ERR_UNAVAILABLE: there is no
 * such endpoint. */
struct err *proxy_find_pod(struct call *c, struct proxy_target *ret) MUST_CHECK;
struct err *proxy_find_service(struct call *c, struct proxy_target *ret) MUST_CHECK;

/* proxy_answer.c: the head of the answer for the client. */
struct proxy_names {
    const char *prefix; /* path of the request, up to "/proxy" */
    const char *host;   /* Host of the request; NULL: none */
    const char *place;  /* "ADDRESS:PORT" of the pod */
};

/* Is it a header of the connection, not of the message (RFC 9110, 7.6.1)? `name` is lower case. */
bool proxy_is_hop(const char *name);
/* Adds the answer's header lines without those of its connection, and with Location as seen from
 * the client. */
void proxy_add_answer_headers(struct buf *b, const struct http_answer *a,
                              const struct proxy_names *names);
