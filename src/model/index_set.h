/* index_set.h - a set of small numbers, and its text form "0-3,7": the indexes of a job */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum {
    INDEX_SET_MAX = 1 << 20 /* numbers are below it */
};

/* {0} is the empty set; index_set_done frees. */
struct index_set {
    uint64_t *words;
    size_t n_words;
    size_t count;
};

static inline bool index_set_has(const struct index_set *s, size_t i)
{
    return i / 64 < s->n_words && (s->words[i / 64] >> (i % 64) & 1) != 0;
}

/* False where it was in already. An index of INDEX_SET_MAX or more is the caller's bug. */
bool index_set_add(struct index_set *s, size_t i);
void index_set_remove(struct index_set *s, size_t i);

/* How many of `s` are below `end`. */
size_t index_set_count_below(const struct index_set *s, size_t end);
/* How many of `s` are in `other`. */
size_t index_set_count_common(const struct index_set *s, const struct index_set *other);

/*
 * Reads ascending numbers and ranges below `end` (at most INDEX_SET_MAX): "0-3,7"; "" is the empty
 * set. ERR_INVALID says what is wrong; `*ret`, which holds nothing before, changes on success only.
 */
struct err *index_set_parse(struct str text, size_t end, struct index_set *ret) MUST_CHECK;
/* As Kubernetes writes completedIndexes: ranges of two as "1,2". The caller frees it. */
char *index_set_format(const struct index_set *s);

void index_set_done(struct index_set *s);
