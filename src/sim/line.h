/* line.h - ordered jobs: one line of running jobs, and one of waiting jobs for each size */
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

/* A sorted array. {0} is empty. */
struct line {
    VEC(struct place) places;
};

void line_add(struct line *l, const struct place *p);
/* The job must be in the line: asserted. */
void line_remove(struct line *l, uint32_t job);
void line_done(struct line *l);

/* The waiting jobs of one size, the first at the array's end, where insertion and removal are
 * cheap. */
struct size_class {
    uint32_t gpus;
    VEC(struct place) places;
    size_t left; /* of a walk: jobs not passed yet */
};

/* {0} is empty. */
struct waiting {
    VEC(struct size_class) classes;
};

void waiting_add(struct waiting *w, uint32_t gpus, const struct place *p);
/* The job must be there: asserted. */
void waiting_remove(struct waiting *w, uint32_t gpus, const struct place *p);
void waiting_done(struct waiting *w);

/* Walks in order over the jobs whose size `fits` accepts; NULL at the end. A size that did not fit
 * must not fit later in the walk. The place is valid until `w` changes. */
void waiting_rewind(struct waiting *w);
const struct place *waiting_peek(const struct waiting *w,
                                 bool (*fits)(const void *arg, uint32_t gpus), const void *arg);
void waiting_pass(struct waiting *w, uint32_t gpus); /* passes the job peeked at */
