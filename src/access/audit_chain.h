/*
 * audit_chain.h - the chain of the audit: each line carries a hash over the line before and itself
 *
 * A line is a JSON object: {"number":7,...,"hash":"64 hexadecimal digits"}. Numbers ascend by one.
 * The hash is SHA-256 over the previous line's hash, in hexadecimal, and the bytes of the line up
 * to its member "hash". Sixty-four zeros stand for the hash before line 1. A changed, removed or
 * inserted byte thus breaks the chain at its line.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum {
    AUDIT_HASH_SIZE = 65 /* hexadecimal digits and a NUL */
};

/* The end of a chain. A value. */
struct audit_head {
    int64_t number; /* of the last line; 0: no line yet */
    char hash[AUDIT_HASH_SIZE];
};

/* The head before line 1. */
struct audit_head audit_head_first(void);

/* Adds the line that follows `head` to `ret`, without a newline, and moves `head` to it. `members`
 * is the inner text of the JSON object: "time":...,"user":... */
void audit_seal(struct audit_head *head, struct str members, struct buf *ret);

/* Reads the number and the hash that a line claims. ERR_INVALID: it is no line of an audit. */
struct err *audit_line_read(struct str line, struct audit_head *ret) MUST_CHECK;

/* Checks the line that follows `head`, and moves `head` to it. ERR_INVALID says what is wrong. */
struct err *audit_line_check(struct audit_head *head, struct str line) MUST_CHECK;
