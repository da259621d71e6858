/*
 * learning.h - the table of policy "mete", learned in the background from what is asked for
 *
 * The server keeps the last arrivals (control/report/arrivals.h) and every so often, where enough
 * came since, starts `mete learn-values`: a child of lowest priority, bounded in time and memory,
 * that learns a table, tries it beside the one in use on what came lately, and leaves the new one
 * where it is better. It is in DIR/server/learned, and is there again after a restart.
 */
#pragma once

#include "base/loop.h"
#include "control/control.h"

struct learning;

struct learning_options {
    struct loop *loop;
    struct control *control;
    const char *dir;       /* DIR/server/learned */
    const char *self_path; /* of this binary */
    int64_t every_ns;      /* 0: never */
    int64_t after;         /* so many arrivals since the last time */
};

/* What is there and broken is left alone, and logged: it is learned anew. */
struct learning *learning_new(const struct learning_options *o);
void learning_free(struct learning *l); /* accepts NULL; keeps what came */
