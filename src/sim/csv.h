/*
 * csv.h - CSV input: a header, then records with the same number of fields
 *
 * The reader is strict: fields have no quotes and no control bytes; lines end with LF or CRLF,
 * which the last line may lack. Every error says `file:line: what, and what would be right`.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum {
    CSV_COLUMNS_MAX = 160,
    CSV_FIELD_MAX = 4096 /* bytes */
};

#define CSV_NONE SIZE_MAX

/* {0} before csv_open. All members borrow from the text; nothing to free. */
struct csv {
    const char *file;
    struct str rest;
    uint64_t line; /* of the last record; the header is line 1 */
    size_t n_columns;
    struct str columns[CSV_COLUMNS_MAX];
    struct str fields[CSV_COLUMNS_MAX];
};

/* Reads the header; `file` is for messages. ERR_INVALID: no header, too many columns, or a column
 * twice. */
struct err *csv_open(struct csv *c, const char *file, struct str text) MUST_CHECK;

/* Reads the next record into `fields`; `*ret` is false at the end. */
struct err *csv_next(struct csv *c, bool *ret) MUST_CHECK;

/* The index of a column, or CSV_NONE. */
size_t csv_find(const struct csv *c, const char *column);

/* The index of a required column. ERR_INVALID lists the present columns. */
struct err *csv_need(const struct csv *c, const char *column, size_t *ret) MUST_CHECK;

/* Reads a whole number in [min, max] of the current record. */
struct err *csv_int64(const struct csv *c, size_t column, int64_t min, int64_t max,
                      int64_t *ret) MUST_CHECK;

/* The same; `*ret` stays when `column` is CSV_NONE or the field is empty. */
struct err *csv_optional(const struct csv *c, size_t column, int64_t min, int64_t max,
                         int64_t *ret) MUST_CHECK;

/* The field; "" when `column` is CSV_NONE. */
struct str csv_text(const struct csv *c, size_t column);

/* Wraps `cause` as "file:line: column: ...". */
struct err *csv_wrap(const struct csv *c, size_t column, struct err *cause) MUST_CHECK;
struct err *csv_error(const struct csv *c, const char *fmt, ...) PRINTF(2, 3) MUST_CHECK;
