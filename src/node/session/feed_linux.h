/* feed_linux.h - bytes on their way into a descriptor that takes them at its own pace */
#pragma once

#include <stdbool.h>

#include "base/loop.h"
#include "base/str.h"

struct feed {
    struct loop *loop;
    size_t piece_max;           /* of a packet; 0: a stream of bytes */
    void (*drained)(void *arg); /* all that was added is gone; may be NULL */
    void (*ended)(void *arg);   /* and nothing follows */
    void *arg;
    /* its own: */
    int fd; /* -1: not there yet, or broken */
    struct loop_io *io;
    struct buf waiting;
    bool is_ended;
    bool is_broken; /* the other side reads no more: what is added is dropped */
};

/* With the first members set. */
void feed_init(struct feed *f);
/* `fd` becomes the feed's; what was added before goes first. */
void feed_open(struct feed *f, int fd);
void feed_add(struct feed *f, struct str bytes);
void feed_end(struct feed *f);   /* once; `ended` comes from the loop, not from here */
void feed_close(struct feed *f); /* the other side is gone, or never comes */
size_t feed_backlog(const struct feed *f);
