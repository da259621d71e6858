/* stamp.h - real times as int64 ns since 1970, and their RFC 3339 text in UTC */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define NS_PER_SEC INT64_C(1000000000)
#define NS_PER_MS  INT64_C(1000000)

enum {
    STAMP_TEXT_SIZE = 40
};

/* "2026-11-21T08:43:00Z" (seconds, as metav1.Time) and "...00.123456Z" (as metav1.MicroTime). */
void stamp_format(int64_t stamp_ns, char ret[STAMP_TEXT_SIZE]);
void stamp_format_micro(int64_t stamp_ns, char ret[STAMP_TEXT_SIZE]);
/* "...00.123456789Z", as in CRI logs. */
void stamp_format_nano(int64_t stamp_ns, char ret[STAMP_TEXT_SIZE]);

/* RFC 3339 with any fraction and offset; ERR_INVALID otherwise. */
struct err *stamp_parse(struct str text, int64_t *ret_ns) MUST_CHECK;

/* The same for what was validated, or may be unknown: NULL and malformed text read as
 * `fallback_ns`. */
int64_t stamp_or(const char *text, int64_t fallback_ns);

/* The age as kubectl prints it: "5s", "4m32s", "3h", "2d4h". */
void stamp_format_age(int64_t age_ns, char ret[STAMP_TEXT_SIZE]);
