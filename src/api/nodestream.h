/*
 * nodestream.h - the nodes' connections to the server, and the streams over them (client/frames.h)
 *
 * The reader of a stream gives credit for the data that it has taken, so that a slow reader stops
 * only its own stream. In the other direction data waits here for the node's credit: the sender
 * checks the backlog and stops its own source.
 */
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "base/str.h"
#include "http/request.h"

struct node_links;
struct node_stream;

/* During the first `wait_ns` a stream to a node that is not connected waits for the node: after a
 * restart of the server its nodes need a moment to connect again. 0: such a stream is refused. */
struct node_links *node_links_new(struct loop *loop, int64_t wait_ns);
void node_links_free(struct node_links *l); /* accepts NULL */

/* Takes over the connection of node `name`; ends an earlier connection of that node, and its
 * streams. */
void node_links_add(struct node_links *l, const char *name, struct exchange *x);

struct node_stream_options {
    const char *node;
    const json_t *open; /* content of the OPEN frame */
    void (*on_data)(void *arg, struct str bytes);
    void (*on_drain)(void *arg); /* the backlog has left; may be NULL */
    /* The stream has ended and is dead: 200, or an HTTP status with a message. Not called after
     * node_stream_cancel. */
    void (*on_end)(void *arg, int code, const char *message);
    void *arg;
};

/* ERR_UNAVAILABLE: the node is not connected, or has too many streams. A stream that waits for its
 * node takes data as others, and ends with 503 if the node does not come. */
struct err *node_stream_open(struct node_links *l, const struct node_stream_options *o,
                             struct node_stream **ret) MUST_CHECK;

/* Credits `size` taken bytes: the node may send as many more. */
void node_stream_taken(struct node_stream *s, size_t size);
void node_stream_cancel(struct node_stream *s);

/* Sends a copy to the node, as its credit and the connection allow; drops bytes after the end. */
void node_stream_send(struct node_stream *s, struct str bytes);
void node_stream_send_end(struct node_stream *s);
size_t node_stream_backlog(const struct node_stream *s); /* bytes that wait to be sent */
