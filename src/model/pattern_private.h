/* pattern_private.h - the program of a pattern, between its parser and the match */
#pragma once

#include "base/vec.h"
#include "model/pattern.h"

enum pattern_op {
    PATTERN_SET,   /* a code point of `ranges` */
    PATTERN_SPLIT, /* goes to `next` and, less liked, to `other` */
    PATTERN_EDGE,  /* `edge` holds here */
    PATTERN_JUMP,
    PATTERN_MATCH,
};

enum pattern_edge {
    EDGE_TEXT_BEGIN,
    EDGE_TEXT_END,
    EDGE_LINE_BEGIN,
    EDGE_LINE_END,
    EDGE_WORD,
    EDGE_NOT_WORD,
};

struct pattern_range {
    uint32_t first;
    uint32_t last;
};

struct pattern_step {
    enum pattern_op op;
    enum pattern_edge edge;
    size_t next;
    size_t other;
    size_t range_at; /* first of `n_ranges` ranges */
    size_t n_ranges;
};

struct pattern {
    VEC(struct pattern_step) steps;
    VEC(struct pattern_range) ranges;
    size_t start;
};
