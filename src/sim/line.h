/* line.h - jobs in an order: those that run in one line, those that wait in one a size */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/* A job's place: the smallest key first, then the smallest turn. */
struct place {
    int64_t key;
    uint64_t turn; /* unique */
    uint32_t job;
};

/* A sorted array. {0} is the empty one. */
struct line {
    VEC(struct place) places;
};

void line_add(struct line *l, const struct place *p);
/* The job is there: asserted. */
void line_remove(struct line *l, uint32_t job);
void line_done(struct line *l);

/* The waiting jobs of one size, the first one last: there insertion and removal are cheap. */
struct size_class {
    uint32_t gpus;
    VEC(struct place) places;
    size_t left; /* of a walk: how many are not looked at yet */
};

/* {0} is the empty one. */
struct waiting {
    VEC(struct size_class) classes;
};

void waiting_add(struct waiting *w, uint32_t gpus, const struct place *p);
/* It is there: asserted. */
void waiting_remove(struct waiting *w, uint32_t gpus, const struct place *p);
void waiting_done(struct waiting *w);

/* Walks by order over the jobs of those sizes that `fits` accepts: NULL at the end. A size that did
 * not fit once in a walk will not later. The place is valid until `w` changes. */
void waiting_rewind(struct waiting *w);
const struct place *waiting_peek(const struct waiting *w,
                                 bool (*fits)(const void *arg, uint32_t gpus), const void *arg);
void waiting_pass(struct waiting *w, uint32_t gpus); /* the one peeked at is looked at */
