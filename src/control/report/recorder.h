/*
 * recorder.h - what the scheduler's engine was told and decided, kept for whoever asks
 *
 * From the start on, in pieces that are compressed; when there are too many of them, the oldest are
 * folded into the state that they come to, a part in each turn of the loop. So what is
 * kept is bounded, and a recording begins with the server or with such a state. Where the state
 * alone is over STATE_MAX, nothing is kept any more, and whoever asks is told.
 */
#pragma once

#include "base/loop.h"
#include "kinds/report.h"

struct recorder;

struct recorder_options {
    size_t piece_bytes; /* of text; 0: 1 MiB */
    size_t pieces_max;  /* 0: 64 */
};

struct recorder *recorder_new(struct loop *l, const struct recorder_options *o);
void recorder_free(struct recorder *r); /* accepts NULL */

/* For struct mete_options. */
void recorder_line(void *recorder, const char *text, size_t size);

/*
 * For struct report_maker, to those who may read all namespaces. Without parameters: {"state":
 * TEXT, "folded": N, "first": P, "last": P}, the state that the recording begins with, and which
 * pieces follow it. With piece=P and folded=N: {"text": TEXT}, the next lines. ERR_EXPIRED: it was
 * folded meanwhile, ask anew.
 */
struct err *recorder_report(void *recorder, const struct report_question *q, report_done_fn done,
                            void *done_arg, struct report **ret) MUST_CHECK;
void recorder_cancel(struct report *r);
