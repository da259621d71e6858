/*
 * image_child_linux.h - a child process with a pipe as input and lines as output: the unpacker, or
 * skopeo
 */
#pragma once

#include "base/loop.h"
#include "base/proc.h"

enum {
    IMAGE_OUTPUT_MAX = 4 << 20
};

struct image_child;

struct image_child_end {
    int status; /* as from waitpid */
    bool timed_out;
    struct str output; /* stdout, unless `line` is set */
    struct str errors; /* the end of stderr */
};

struct image_child_options {
    struct loop *loop;
    const char *const *argv;
    int64_t deadline_ns;
    /* A line of stdout; NULL: keep up to IMAGE_OUTPUT_MAX bytes. */
    void (*line)(void *arg, struct str line);
    void (*drained)(void *arg); /* the child read some input; may be NULL */
    /* Called once, when the child has ended and all its output was read. The caller still frees the
     * child. */
    void (*end)(void *arg, const struct image_child_end *end);
    void *arg;
};

struct err *image_child_new(const struct image_child_options *o,
                            struct image_child **ret) MUST_CHECK;
/* Kills the child; no callback afterwards. Accepts NULL. */
void image_child_free(struct image_child *c);

/* Queues a copy of `bytes` as input. */
void image_child_send(struct image_child *c, struct str bytes);
size_t image_child_backlog(const struct image_child *c);
/* Ends the child's input after the queued bytes. */
void image_child_close(struct image_child *c);
