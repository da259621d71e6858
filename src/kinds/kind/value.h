/* value.h - questions about JSON values and their fields, for the walks over a schema */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "kinds/kind/kind.h"

/* Is the value without effect: null, "", [], {}, the field's `harmless`, or a
 * switch that is off? */
bool value_is_harmless(const struct field *f, const json_t *value);

/* Sets absent (or "") fields to their fallbacks, in every object that is there. */
void value_set_defaults(const struct field *fields, json_t *object);

/* Is the text standard base64 with padding? `*ret_bad`: index of the first wrong byte. */
bool base64_check(struct str text, size_t *ret_bad);
/* Append to `out`. base64_check must hold for text to decode. */
void base64_encode(struct str bytes, struct buf *out);
void base64_decode(struct str text, struct buf *out);

/* The text at `key`, or "". */
const char *value_text(const json_t *object, const char *key);

/* The item of `list` with this name, or NULL. Accepts a NULL name. */
const json_t *value_find_named(const json_t *list, const char *name);
