/* str.h - borrowed pieces of text, and a buffer that grows up to its cap */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/attr.h"

/* A part of a larger text; not NUL-terminated, not owned. */
struct str {
    const char *at;
    size_t size;
};

#define STR(literal) ((struct str){.at = (literal), .size = sizeof(literal) - 1})
#define STR_FMT      "%.*s"
#define STR_ARG(s)   (int)(s).size, (s).at

static inline struct str str_of(const char *text)
{
    return (struct str){.at = text, .size = text ? strlen(text) : 0};
}

bool str_equal(struct str a, struct str b);
bool str_starts_with(struct str s, struct str prefix);
bool str_ends_with(struct str s, struct str suffix);

/*
 * Cuts `*rest` at the first `separator`: returns what stands before it and leaves what follows in
 * `*rest`. Without one returns all of it and leaves `*rest` with `at == NULL`.
 */
struct str str_cut(struct str *rest, char separator);

bool text_equal(const char *a, const char *b); /* both may be NULL; NULL equals NULL only */
bool text_starts_with(const char *text, const char *prefix);
bool text_ends_with(const char *text, const char *suffix);

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* How many bytes the character has that `s` begins with; 0 where that is not UTF-8 (RFC 3629). */
size_t str_utf8(struct str s);

/*
 * A growing byte buffer, always NUL-terminated after `size` bytes. {.cap = N} before the first use:
 * what would pass the cap is not added and sets `overflow`; a cap of 0 means BUF_CAP_DEFAULT.
 */
#define BUF_CAP_DEFAULT ((size_t)64 << 20)

struct buf {
    char *at;
    size_t size;
    size_t room;
    size_t cap;
    bool overflow;
};

void buf_add(struct buf *b, const void *bytes, size_t size);
void buf_add_text(struct buf *b, const char *text);
void buf_add_char(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);

/* Adds text of others: what is not UTF-8 becomes U+FFFD. */
void buf_add_utf8(struct buf *b, struct str text);

/* Drops the first `size` bytes, keeps the rest. */
void buf_consume(struct buf *b, size_t size);
void buf_clear(struct buf *b);

/* The bytes as a heap string that the caller frees; the buffer is {0} but for its cap after. Never
 * NULL. */
char *buf_steal(struct buf *b);
void buf_done(struct buf *b);
