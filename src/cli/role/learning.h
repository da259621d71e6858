/*
 * learning.h - the table of policy "mete", learned in the background from arriving pods
 *
 * The server keeps the last arrivals (control/report/arrivals.h). At intervals, after enough new
 * arrivals, it starts `mete learn-values`: a child of lowest priority, with bounded time and
 * memory, that learns a table, compares it with the present table on the latest arrivals, and
 * writes the better one. The table is in DIR/server/learned and survives restarts.
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
    int64_t every_ns;      /* 0: learning is off */
    int64_t after;         /* new arrivals before the next learning */
};

/* Starts with the stored table and arrivals. Damaged files are logged and ignored: learning starts
 * anew. */
struct learning *learning_new(const struct learning_options *o);
void learning_free(struct learning *l); /* accepts NULL; saves the arrivals */
