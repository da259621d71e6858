/* selector.h - label and field selectors: parsed once, matched often */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct selector;

/* "a=b,c!=d,e in (x,y),f notin (z),g,!h". ERR_BAD_REQUEST says where. "" matches everything. */
struct err *selector_parse_labels(struct str text, struct selector **ret) MUST_CHECK;

/* "metadata.name=x,status.phase!=Failed": paths with = == !=. */
struct err *selector_parse_fields(struct str text, struct selector **ret) MUST_CHECK;

/* The value of a key, or NULL where it has none. */
typedef const char *(*selector_get_fn)(const void *object, const char *key);

bool selector_matches(const struct selector *s, selector_get_fn get, const void *object);

/* Calls `fn` for each key named, so that the caller can refuse what it cannot select. Stops at the
 * first error. */
struct err *selector_each_key(const struct selector *s,
                              struct err *(*fn)(void *arg, const char *key), void *arg) MUST_CHECK;

void selector_free(struct selector *s);
static inline void selector_freep(struct selector **s)
{
    selector_free(*s);
}
