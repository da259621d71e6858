/*
 * recorder.h - the record of the scheduler's engine, its input and decisions, kept for clients
 *
 * Record lines are kept from the start in compressed pieces. When there are too many pieces, the
 * oldest are folded into the state that they lead to, a part in each turn of the loop. The memory
 * is therefore bounded, and a recording begins with the server's start or with such a state. If the
 * state alone exceeds STATE_MAX, the recorder stops, and clients get an error.
 */
#pragma once

#include "base/loop.h"
#include "kinds/report.h"

struct recorder;

struct recorder_options {
    size_t piece_bytes; /* bytes of text in one piece; 0: 1 MiB */
    size_t pieces_max;  /* 0: 64 */
};

struct recorder *recorder_new(struct loop *l, const struct recorder_options *o);
void recorder_free(struct recorder *r); /* accepts NULL */

/* For struct mete_options. */
void recorder_line(void *recorder, const char *text, size_t size);

/*
 * For struct report_maker, for clients that may read all namespaces. Without parameters: {"state":
 * TEXT, "folded": N, "first": P, "last": P}, the state that the recording begins with, and the
 * numbers of the pieces after it. With piece=P and folded=N: {"text": TEXT}, the lines of that
 * piece. ERR_EXPIRED: the piece was folded meanwhile, the client starts again.
 */
struct err *recorder_report(void *recorder, const struct report_question *q, report_done_fn done,
                            void *done_arg, struct report **ret) MUST_CHECK;
void recorder_cancel(struct report *r);
