/*
 * stream.h - one duplex connection to an API server, upgraded from HTTP (stream_linux.c: a unix
 * socket, or libcurl's connection by TLS)
 *
 * Made by client_upgrade. Callbacks come from the loop, never from inside a call, and may free the
 * stream. Connecting again after the end is the user's business.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct stream_options {
    const char *method;   /* NULL: POST */
    const char *path;     /* already encoded */
    const char *protocol; /* of the Upgrade header; NULL: "mete-stream" */
    const char *headers;  /* more lines, each with its CRLF; NULL: none */
    /* Looks at the head of the answer 101: an error ends it. May be NULL. */
    struct err *(*check)(void *arg, struct str head);
    void (*on_open)(void *arg);                   /* the server answered 101; may be NULL */
    void (*on_data)(void *arg, struct str piece); /* bytes as they come, of any size */
    void (*on_drain)(
        void *arg); /* all that was given to stream_send is with the kernel; may be NULL */
    /* Once, at the end: `e` is NULL where the server closed it in order. The stream is still to be
     * freed. */
    void (*on_close)(void *arg, const struct err *e);
    void *arg;
};

struct stream_ops {
    void (*send)(void *self, struct str bytes);
    size_t (*backlog)(const void *self);
    void (*free)(void *self);
};

struct stream {
    const struct stream_ops *ops;
    void *self;
};

/* Queues a copy of `bytes`, also before it is open; after on_close they are dropped. Look at the
 * backlog before adding much. */
void stream_send(struct stream *s, struct str bytes);

/* Bytes that wait in this process. */
size_t stream_backlog(const struct stream *s);

void stream_free(
    struct stream *s); /* accepts NULL; no callback after it, what is queued is dropped */
