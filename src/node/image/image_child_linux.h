/*
 * image_child_linux.h - a child that is fed through a pipe and answers in lines: an unpacker or
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
    struct str output; /* stdout, where there is no `line` */
    struct str errors; /* the end of stderr */
};

struct image_child_options {
    struct loop *loop;
    const char *const *argv;
    int64_t deadline_ns;
    void (*line)(void *arg, struct str line); /* of stdout; NULL: kept, up to IMAGE_OUTPUT_MAX */
    void (*drained)(void *arg);               /* some of the input was taken; may be NULL */
    /* Once, when it has ended and all it wrote was read. The child is still to be freed. */
    void (*end)(void *arg, const struct image_child_end *end);
    void *arg;
};

struct err *image_child_new(const struct image_child_options *o,
                            struct image_child **ret) MUST_CHECK;
/* Kills it; no callback after it. Accepts NULL. */
void image_child_free(struct image_child *c);

/* Queues a copy. */
void image_child_send(struct image_child *c, struct str bytes);
size_t image_child_backlog(const struct image_child *c);
/* No more comes: the child sees the end of its input after what is queued. */
void image_child_close(struct image_child *c);
