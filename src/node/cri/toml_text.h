/*
 * toml_text.h - reads a TOML file piece by piece, so that parts of it can be copied as they are
 *
 * A piece is a table's header, a key with its value (which may have several lines), or another line
 * (a comment, an empty one). Values are not read.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

enum toml_kind {
    TOML_END,
    TOML_TABLE,
    TOML_KEY,
    TOML_OTHER
};

struct toml_piece {
    enum toml_kind kind;
    struct str text;  /* whole lines */
    struct str name;  /* of TOML_TABLE and TOML_KEY, as written */
    struct str value; /* of TOML_KEY, without a comment behind it */
};

struct toml_reader {
    struct str rest;
    unsigned line; /* of the next piece, from 0 */
};

/* ERR_INVALID: "line 3: ..." */
struct err *toml_next(struct toml_reader *r, struct toml_piece *ret) MUST_CHECK;

/* The name with each part in quotes: `a."b.c"` is `"a"."b.c"`. The caller frees it. ERR_INVALID: no
 * such name. */
struct err *toml_name(struct str name, char **ret) MUST_CHECK;

/* The value of key `key` (one part) of table `table` ("": before the first), the first one; `at`
 * NULL: there is none. */
struct err *toml_find(struct str text, const char *table, const char *key,
                      struct toml_piece *ret) MUST_CHECK;

/* The text of a value that is a string without escapes; NULL: it is none. The caller frees it. */
char *toml_text(struct str value);

struct toml_copy {
    const char *from;          /* a table's name, as of toml_name */
    const char *to;            /* its name in the copy, written as it is */
    const char *without;       /* a key of the table that is left out; NULL: none */
    const char *without_table; /* a table, with those below, that is left out; NULL: none */
    bool is_deep;              /* the tables below it instead of the keys of itself */
};

/* Adds keys of a table, or the tables below it, to `out`. */
struct err *toml_copy(struct str text, const struct toml_copy *c, struct buf *out) MUST_CHECK;

/* Has the file the table, or one below it? */
struct err *toml_has(struct str text, const char *table, bool *ret) MUST_CHECK;
