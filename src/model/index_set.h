/* index_set.h - a set of small numbers, and its text form "0-3,7": the indexes of a job */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum {
    INDEX_SET_MAX = 1 << 20 /* all numbers are below this */
};

/* {0} is the empty set; index_set_done frees it. */
struct index_set {
    uint64_t *words;
    size_t n_words;
    size_t count;
};

static inline bool index_set_has(const struct index_set *s, size_t i)
{
    return i / 64 < s->n_words && (s->words[i / 64] >> (i % 64) & 1) != 0;
}

/* Adds `i`. False: the set had it. An index of INDEX_SET_MAX or more is the caller's bug. */
bool index_set_add(struct index_set *s, size_t i);
void index_set_remove(struct index_set *s, size_t i);

/* The count of numbers in `s` below `end`. */
size_t index_set_count_below(const struct index_set *s, size_t end);
/* The count of numbers in both sets. */
size_t index_set_count_common(const struct index_set *s, const struct index_set *other);

/*
 * Reads ascending numbers and ranges below `end` (at most INDEX_SET_MAX): "0-3,7"; "" is the empty
 * set. ERR_INVALID: the text is malformed. `*ret`, which must be empty, changes on success only.
 */
struct err *index_set_parse(struct str text, size_t end, struct index_set *ret) MUST_CHECK;
/* The text of the set as in Kubernetes' completedIndexes, with ranges of two as "1,2". The caller
 * frees it. */
char *index_set_format(const struct index_set *s);

void index_set_done(struct index_set *s);
