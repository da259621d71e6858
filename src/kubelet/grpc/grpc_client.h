/* grpc_client.h - unary gRPC calls over a unix socket, each on a connection of its own */
#pragma once

#include "base/loop.h"
#include "base/str.h"

struct grpc_request;

struct grpc_request_options {
    struct loop *loop;
    const char *socket; /* path */
    const char *path;   /* "/v1beta1.Registration/Register" */
    struct str message;
    int64_t timeout_ns;
    /* The answer, or why there is none: ERR_UNAVAILABLE without a server, ERR_TIMEOUT, the status
     * of the server. Both are borrowed. Once, in a later turn; the request is then dead. */
    void (*done)(void *arg, const struct err *e, struct str message);
    void *arg;
};

struct grpc_request *grpc_request_new(const struct grpc_request_options *o);

/* Ends the request without a call of `done`. Accepts NULL. */
void grpc_request_free(struct grpc_request *r);
