/*
 * record.h - what an engine was told and what it decided, a line of text each
 *
 * A line is the name of a call and its arguments: `node_set name="n1" is_ready=1
 * gpus=[{uuid="GPU-0"}]`. Numbers are decimal; in texts `\\`, `\"` and `\xHH` (two hex digits)
 * stand for what they are in C. record_types.c says which members there are.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "engine/record/record_types.h"

enum {
    RECORD_LINE_MAX = 64 << 20 /* bytes */
};

/* Tells whoever records this engine, if anybody, of a call; `args` is of the call's type. */
void record_call(struct mete_engine *e, enum record_call call, const void *args);

/* Adds the line, with its newline. */
void record_line_format(struct buf *out, enum record_call call, const void *args);

/*
 * Reads a line (without its newline) into `a`; `*ret` is of the call's type. ERR_INVALID says what
 * is wrong at which byte.
 */
struct err *record_line_parse(struct arena *a, struct str line, enum record_call *ret_call,
                              void **ret) MUST_CHECK;

/* Does it; `ret` is for what a cycle decides. The call is none of RECORD_ENGINE and RECORD_DECIDED.
 */
enum mete_result record_apply(struct mete_engine *e, enum record_call call, const void *args,
                              struct mete_decisions *ret);
