/*
 * pattern.h - regular expressions in the syntax of RE2 and Go, matched in linear time
 *
 * A pattern is compiled to a program whose size is bounded; a match runs all alternatives side by
 * side, so that no pattern takes more than (size of the program) x (size of the text) steps. Known
 * are literals, ".", classes, \d \w \s \b \A \z and their opposites, [[:alpha:]], groups (also
 * named), flags (?imsU), "|", and the repeats * + ? {n,m} up to 1000, greedy or not. Unicode
 * classes
 * (\pL) are refused by name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum {
    PATTERN_TEXT_MAX = 16 << 10,   /* bytes of a pattern */
    PATTERN_PROGRAM_MAX = 10 << 10 /* instructions */
};

struct pattern;

/* ERR_INVALID in Go's words: "error parsing regexp: missing closing ): `(a`". */
struct err *pattern_parse(struct str text, struct pattern **ret) MUST_CHECK;
void pattern_free(struct pattern *p); /* accepts NULL */
static inline void pattern_freep(struct pattern **p)
{
    pattern_free(*p);
}

/* A part of a text. */
struct pattern_span {
    size_t begin;
    size_t end;
};

/*
 * Finds the first match at or after the byte `from`, as Go's regexp does: the leftmost one, and of
 * these the one that the pattern prefers. Takes from `*steps`; ERR_INVALID when they are used up.
 */
struct err *pattern_find(const struct pattern *p, struct str text, size_t from, int64_t *steps,
                         bool *ret_found, struct pattern_span *ret) MUST_CHECK;

/* Does the pattern match any part of the text? Steps as above. */
struct err *pattern_matches(const struct pattern *p, struct str text, int64_t *steps,
                            bool *ret) MUST_CHECK;
