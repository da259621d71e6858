/*
 * json.h - JSON trees (jansson) with the limits of an API server, and short readers
 *
 * Parsing refuses duplicate keys, a depth over JSON_DEPTH_MAX, invalid UTF-8, integers past int64,
 * NaN and trailing bytes. Readers never fail: an absent member, or one of another type, reads as
 * NULL, the fallback or 0, so that code over validated objects stays plain.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define JSON_DEPTH_MAX 128u

static inline void json_freep(json_t **j)
{
    json_decref(*j);
}

/* Parses any value, not only objects. ERR_BAD_REQUEST names line and column. The caller owns the
 * tree. */
struct err *json_parse(struct str text, json_t **ret) MUST_CHECK;

/* Compact text; keys keep their order, doubles get their shortest text. The caller frees it. */
char *json_format(const json_t *j);
char *json_format_pretty(const json_t *j);

/* A copy whose objects and arrays are the caller's alone. It shares strings and numbers, which the
 * caller does not change either. */
json_t *json_twin(const json_t *j);

/* Append a tree or one value to a buffer. Bytes that are not UTF-8 become U+FFFD. */
void json_add(struct buf *out, const json_t *j);
void json_add_quoted(struct buf *out, struct str text);
void json_add_real(struct buf *out, double value);

/* Follows dot-free keys to a member: json_at(pod, "metadata", "name", NULL). Borrowed or NULL. */
json_t *json_at(const json_t *j, ...) __attribute__((sentinel));

/* The same, ending in a string, integer or boolean. */
const char *json_text_at(const json_t *j, ...) __attribute__((sentinel));
int64_t json_int_at(const json_t *j, ...) __attribute__((sentinel));
bool json_bool_at(const json_t *j, ...) __attribute__((sentinel));

const char *json_text(const json_t *object, const char *key);
/* The same; an empty text reads as NULL, too. */
const char *json_text_filled(const json_t *object, const char *key);
int64_t json_int(const json_t *object, const char *key, int64_t fallback);
bool json_bool(const json_t *object, const char *key, bool fallback);

/* Does the array hold the string? */
bool json_has_text(const json_t *array, const char *text);

/* Returns the member `key`; if it is absent, null or of another type, replaces it by an empty
 * object or array. Borrowed. */
json_t *json_object_at(json_t *object, const char *key);
json_t *json_array_at(json_t *object, const char *key);

/* A new string; NULL or empty text: a new null. Bytes that are not UTF-8 become U+FFFD. */
json_t *json_text_new(const char *text);

/* Sets a string member; NULL removes it. Bytes that are not UTF-8 become U+FFFD. */
void json_put_text(json_t *object, const char *key, const char *text);
void json_put_int(json_t *object, const char *key, int64_t value);
void json_put_bool(json_t *object, const char *key, bool value);
/* Takes `value`. */
void json_put(json_t *object, const char *key, json_t *value);
