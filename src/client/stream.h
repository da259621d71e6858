/*
 * stream.h - one duplex connection to an API server, upgraded from HTTP (stream_linux.c: a unix
 * socket, or libcurl's connection by TLS)
 *
 * Made by client_upgrade. Callbacks come from the loop, never from inside a call, and may free the
 * stream. The user connects again after the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct stream_options {
    const char *method;   /* NULL: POST */
    const char *path;     /* already encoded */
    const char *protocol; /* value of the Upgrade header; NULL: "mete-stream" */
    const char *headers;  /* more header lines, each with CRLF; NULL: none */
    /* Checks the head of the answer 101: an error ends the stream. May be NULL. */
    struct err *(*check)(void *arg, struct str head);
    void (*on_open)(void *arg);                   /* the server answered 101; may be NULL */
    void (*on_data)(void *arg, struct str piece); /* received bytes, in pieces of any size */
    void (*on_drain)(void *arg); /* all bytes of stream_send are with the kernel; may be NULL */
    /* Called once, at the end; `e` is NULL if the server closed the stream in order. The user still
     * frees the stream. */
    void (*on_close)(void *arg, const struct err *e);
    void *arg;
};

struct stream_ops {
    void (*send)(void *self, struct str bytes);
    size_t (*backlog)(const void *self);
    void (*pause)(void *self, bool is_paused);
    void (*free)(void *self);
};

struct stream {
    const struct stream_ops *ops;
    void *self;
};

/* Queues a copy of `bytes`; may be called before on_open. After on_close the bytes are dropped.
 * Check the backlog before adding much. */
void stream_send(struct stream *s, struct str bytes);

/* Bytes that are not with the kernel yet. */
size_t stream_backlog(const struct stream *s);

/* A paused stream gives no bytes, and may not notice its end. */
void stream_pause(struct stream *s, bool is_paused);

void stream_free(struct stream *s); /* accepts NULL; no callback after it; drops queued bytes */
