/* audit_read_linux.h - reads the lines of an audit directory, file by file */
#pragma once

#include <inttypes.h>

#include "base/err.h"
#include "base/str.h"

struct audit_reader;

/* Files are named audit-NUMBER.jsonl by the number of their first line, with leading zeros. */
#define AUDIT_FILE_FORMAT "audit-%016" PRId64 ".jsonl"
enum {
    AUDIT_FILE_NAME_SIZE = 64,
    AUDIT_LINE_MAX = 64 << 10
};

/* The number in a file's name; 0: not a file of the audit. */
int64_t audit_file_number(const char *name);

/* The names of the files in `dir` in order of their numbers; free them with names_free. */
struct err *audit_files_list(const char *dir, char ***ret_names, size_t *ret_count) MUST_CHECK;

/* Opens the files of `dir`. With `since`, a time as in the lines, skips files whose lines are all
 * older. */
struct err *audit_reader_new(const char *dir, const char *since,
                             struct audit_reader **ret) MUST_CHECK;
void audit_reader_free(struct audit_reader *r); /* accepts NULL */
static inline void audit_reader_freep(struct audit_reader **r)
{
    audit_reader_free(*r);
}

/*
 * The next line without its newline, valid until the next call; `ret->at` NULL: the end.
 * ERR_INVALID: the last line of a file has no newline, or a line is longer than AUDIT_LINE_MAX.
 */
struct err *audit_reader_next(struct audit_reader *r, struct str *ret) MUST_CHECK;

/* The place of the last line: its file, and its number in the file, from 1. */
const char *audit_reader_file(const struct audit_reader *r);
int64_t audit_reader_line(const struct audit_reader *r);
