/*
 * nodestream.h - the connections that nodes have opened to us, and the streams over them
 * (client/frames.h)
 *
 * A stream's data is taken against credit that its reader gives back, so that a slow reader stops
 * its own stream and nothing else. The other way what is sent waits here for the node's credit:
 * who sends looks at the backlog and stops its own source.
 */
#pragma once

#include "base/json.h"
#include "base/str.h"
#include "http/request.h"

struct node_links;
struct node_stream;

struct node_links *node_links_new(void);
void node_links_free(struct node_links *l); /* accepts NULL */

/* Takes over the connection of node `name`; a former one of that node ends, and its streams with
 * it. */
void node_links_add(struct node_links *l, const char *name, struct exchange *x);

struct node_stream_options {
    const char *node;
    const json_t *open; /* what is asked */
    void (*on_data)(void *arg, struct str bytes);
    void (*on_drain)(void *arg); /* all that was to be sent has left; may be NULL */
    /* The stream is over and dead: 200, or an HTTP status with a message. Not called after
     * node_stream_cancel. */
    void (*on_end)(void *arg, int code, const char *message);
    void *arg;
};

/* ERR_UNAVAILABLE where the node is not connected or has too many streams. */
struct err *node_stream_open(struct node_links *l, const struct node_stream_options *o,
                             struct node_stream **ret) MUST_CHECK;

/* That many bytes were taken: the node may send as many more. */
void node_stream_taken(struct node_stream *s, size_t size);
void node_stream_cancel(struct node_stream *s);

/* Sends a copy to the node, as its credit and the connection allow; nothing after the end. */
void node_stream_send(struct node_stream *s, struct str bytes);
void node_stream_send_end(struct node_stream *s);
size_t node_stream_backlog(const struct node_stream *s); /* bytes that wait here */
