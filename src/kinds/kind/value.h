/* value.h - small questions about JSON values and their fields, shared by the walks over a schema
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "kinds/kind/kind.h"

/* null, "", [], {} - or what the field calls harmless: says nothing. */
bool value_is_harmless(const struct field *f, const json_t *value);

/* Fills what is absent (or "") and has a fallback, wherever the object that it belongs to is there.
 */
void value_set_defaults(const struct field *fields, json_t *object);

/* Standard base64 with padding; `*ret_bad` is the first byte that is wrong. */
bool base64_check(struct str text, size_t *ret_bad);
/* Appends. base64_check must hold for what is decoded. */
void base64_encode(struct str bytes, struct buf *out);
void base64_decode(struct str text, struct buf *out);

/* The text at `key`, "" where there is none. */
const char *value_text(const json_t *object, const char *key);

/* The item of a list whose name it is; NULL where there is none, and for NULL. */
const json_t *value_find_named(const json_t *list, const char *name);
