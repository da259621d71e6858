/* num.h - numbers from text: all of the text or an error */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* Decimal, optional '-'; ERR_INVALID otherwise or outside [min, max], saying both. */
struct err *num_parse_int64(struct str text, int64_t min, int64_t max, int64_t *ret) MUST_CHECK;
struct err *num_parse_uint64(struct str text, uint64_t max, uint64_t *ret) MUST_CHECK;

/* 1 to 16 hexadecimal digits of either case, without "0x". */
struct err *num_parse_hex(struct str text, uint64_t *ret) MUST_CHECK;

/* "300ms", "10s", "5m", "1h30m", "2d" in ns; a bare number is refused (no unit). */
struct err *num_parse_duration(struct str text, int64_t *ret_ns) MUST_CHECK;
