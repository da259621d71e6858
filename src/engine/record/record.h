/*
 * record.h - recordings of an engine's calls and decisions, one line of text each
 *
 * A line is the name of a call and its arguments: `node_set name="n1" is_ready=1
 * gpus=[{uuid="GPU-0"}]`. Numbers are decimal; texts have the escapes `\\`, `\"` and `\xHH` (two
 * hex digits) of C. record_types.c lists the members.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "engine/record/record_types.h"

enum {
    RECORD_LINE_MAX = 64 << 20 /* bytes */
};

/* Writes a call to the engine's recorder, if it has one; `args` is of the call's type. */
void record_call(struct mete_engine *e, enum record_call call, const void *args);

/* Adds the line, with its newline. */
void record_line_format(struct buf *out, enum record_call call, const void *args);

/*
 * Reads a line (without its newline) into `a`; `*ret` is of the call's type. ERR_INVALID names the
 * error and its byte.
 */
struct err *record_line_parse(struct arena *a, struct str line, enum record_call *ret_call,
                              void **ret) MUST_CHECK;

/* Makes the call; `ret` gets a cycle's decisions. The calls RECORD_ENGINE and RECORD_DECIDED do
 * nothing. */
enum mete_result record_apply(struct mete_engine *e, enum record_call call, const void *args,
                              struct mete_decisions *ret);
