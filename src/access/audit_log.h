/*
 * audit_log.h - the audit's files, as the API sees them: their head, and their lines
 *
 * A seam: audit_files_linux.c has the functions.
 */
#pragma once

#include "access/audit_chain.h"

struct audit_reader;

struct audit_log {
    /* The last line that is durable. Only for callbacks of store_note, when no batch is under
     * way. */
    struct audit_head (*head)(const void *self);
    /* Reads lines from the oldest on; with `since` ("2026-11-22T08:00:00.000000Z", may be NULL) at
     * least all lines from then on. */
    struct err *(*open)(const void *self, const char *since, struct audit_reader **ret);
    /* The next line without its newline, valid until the next call. `ret->at` NULL: the end. */
    struct err *(*next)(struct audit_reader *r, struct str *ret);
    void (*close)(struct audit_reader *r);
    /* The last line of the files whose lines are all older than `before`; number 0: none. */
    struct err *(*find_old)(const void *self, const char *before, struct audit_head *ret_through);
    /* Removes the files whose lines all have numbers up to `through`. */
    struct err *(*remove)(const void *self, int64_t through);
    const void *self;
};
