/* feed_linux.h - a queue of bytes into a non-blocking descriptor */
#pragma once

#include <stdbool.h>

#include "base/loop.h"
#include "base/str.h"

struct feed {
    struct loop *loop;
    size_t piece_max;           /* largest packet; 0: a stream of bytes */
    void (*drained)(void *arg); /* all added bytes are written; may be NULL */
    void (*ended)(void *arg);   /* the same, after feed_end */
    void *arg;
    /* private: */
    int fd; /* -1: not open yet, or broken */
    struct loop_io *io;
    struct buf waiting;
    bool is_ended;
    bool is_broken; /* the other side reads no more: added bytes are dropped */
};

/* Completes a feed whose public members are set. */
void feed_init(struct feed *f);
/* Takes `fd`; bytes that were added before go first. */
void feed_open(struct feed *f, int fd);
void feed_add(struct feed *f, struct str bytes);
void feed_end(struct feed *f);   /* call once; `ended` comes from the loop */
void feed_close(struct feed *f); /* the other side is gone, or will never come */
size_t feed_backlog(const struct feed *f);
