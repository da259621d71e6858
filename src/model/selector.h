/* selector.h - label and field selectors: parsed once, matched often */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct selector;

/* Reads "a=b,c!=d,e in (x,y),f notin (z),g,!h". "" matches all objects. ERR_BAD_REQUEST names the
 * place. */
struct err *selector_parse_labels(struct str text, struct selector **ret) MUST_CHECK;

/* Reads "metadata.name=x,status.phase!=Failed": paths with = == !=. */
struct err *selector_parse_fields(struct str text, struct selector **ret) MUST_CHECK;

/* The object's value of a key; NULL: none. */
typedef const char *(*selector_get_fn)(const void *object, const char *key);

bool selector_matches(const struct selector *s, selector_get_fn get, const void *object);

/* Calls `fn` for each key, so that the caller can refuse keys that it does not support. Stops at
 * the first error. */
struct err *selector_each_key(const struct selector *s,
                              struct err *(*fn)(void *arg, const char *key), void *arg) MUST_CHECK;

void selector_free(struct selector *s);
static inline void selector_freep(struct selector **s)
{
    selector_free(*s);
}
