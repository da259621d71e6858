/*
 * recording.h - what an engine was told and decided, played to another one
 *
 * A recording is lines of engine/record/record.h; the first says how the engine began. Empty lines
 * and those that begin with '#' say nothing.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "mete/engine.h"

/* Where a cycle decided something else than it did then, or a call was refused. */
struct recording_difference {
    uint64_t line; /* of the cycle or call; 0: nowhere */
    char *then;    /* what was decided, as a line, "" where nothing was; or the call */
    char *now;     /* what is; or why it is refused */
};

struct recording_report {
    uint64_t calls;
    uint64_t cycles;
    uint64_t decisions; /* placements and evictions then */
    uint64_t differing; /* cycles, and calls that are refused */
    int64_t first_ns;   /* of the cycles; 0: none */
    int64_t last_ns;
    struct recording_difference first;
};

/* {0} again. */
void recording_report_done(struct recording_report *r);

/*
 * `file` is for messages. ERR_INVALID: "file:line: what". The engine that it ends with goes to
 * `ret_engine`, or is freed where that is NULL.
 */
struct err *recording_play(const char *file, struct str text, struct recording_report *ret,
                           struct mete_engine **ret_engine) MUST_CHECK;
