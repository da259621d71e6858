/*
 * recording.h - plays the calls of a recording to another engine, and compares its decisions
 *
 * A recording is lines of engine/record/record.h; the first line has the engine's options. Empty
 * lines, and lines that begin with '#', are comments.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "mete/engine.h"

/* A cycle whose decisions differ from the recorded ones, or a refused call. */
struct recording_difference {
    uint64_t line; /* of the cycle or call; 0: no difference */
    char *then;    /* the recorded decision as a line, "": none; or the call */
    char *now;     /* the new decision; or the reason of the refusal */
};

struct recording_report {
    uint64_t calls;
    uint64_t cycles;
    uint64_t decisions; /* recorded placements and evictions */
    uint64_t differing; /* differing cycles and refused calls */
    int64_t first_ns;   /* of the cycles; 0: none */
    int64_t last_ns;
    struct recording_difference first;
};

/* Frees the texts; the report is {0} afterwards. */
void recording_report_done(struct recording_report *r);

/*
 * Plays a recording. `file` is for messages. ERR_INVALID: "file:line: what". The engine at the end
 * goes to `ret_engine`; NULL: it is freed.
 */
struct err *recording_play(const char *file, struct str text, struct recording_report *ret,
                           struct mete_engine **ret_engine) MUST_CHECK;
