/*
 * grpc_server.h - a gRPC server on a unix socket: unary methods, and streams to the client
 *
 * Each method gets one message and answers with messages and a status. Messages are bytes: protobuf
 * is the methods' own affair. The peers are those whom the socket's directory lets in.
 */
#pragma once

#include "base/loop.h"
#include "base/str.h"

struct grpc_server;
struct grpc_call;

struct grpc_method {
    const char *path; /* "/v1beta1.DevicePlugin/Allocate" */
    /* `message` is borrowed until the return. The call is the method's until grpc_call_end. */
    void (*fn)(void *arg, struct grpc_call *call, struct str message);
};

struct grpc_server_options {
    struct loop *loop;
    const char *socket; /* path; what lies there is removed */
    const struct grpc_method *methods;
    size_t n_methods;
    void *arg; /* of the methods */
};

struct err *grpc_server_new(const struct grpc_server_options *o,
                            struct grpc_server **ret) MUST_CHECK;

/* Ends all calls, as if their clients had gone, and removes the socket if it is still this
 * server's. Accepts NULL; not from within a method. */
void grpc_server_free(struct grpc_server *s);

/* Is the socket in its place? Others may have removed or replaced it. */
bool grpc_server_is_there(const struct grpc_server *s);

/* Does a server listen on the socket at `path`? */
bool grpc_server_answers(const char *path);

void grpc_call_send(struct grpc_call *c, struct str message);

/* Ends the call with the status of `e`, which is taken; NULL: OK. The call is then dead. */
void grpc_call_end(struct grpc_call *c, struct err *e);

/* `fn` is called if the client goes before the call's end; the call is then dead. */
void grpc_call_on_gone(struct grpc_call *c, void (*fn)(void *arg, struct grpc_call *c), void *arg);
