/* str.h - borrowed pieces of text, and a buffer that grows up to its cap */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

/* Cuts `*rest` at the first `separator`: returns the part before it and leaves the part behind it
 * in `*rest`. Without a separator returns all of `*rest` and leaves `at == NULL` there. */
struct str str_cut(struct str *rest, char separator);

/* The number of the four bytes at `at`, the most significant first: the inverse of buf_add_u32. */
uint32_t str_u32(const void *at);

bool text_equal(const char *a, const char *b); /* both may be NULL; NULL equals NULL only */
bool texts_equal(const char *const *a, const char *const *b, size_t n);

/* NULL reads as "". */
static inline const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

bool text_starts_with(const char *text, const char *prefix);
bool text_ends_with(const char *text, const char *suffix);

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* The number of bytes of the first character of `s`; 0: not UTF-8 (RFC 3629). */
size_t str_utf8(struct str s);

/* A growing byte buffer, always NUL-terminated after `size` bytes. Start with {.cap = N}; 0 means
 * BUF_CAP_DEFAULT. An addition past the cap is dropped whole and sets `overflow`. */
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
/* Adds four bytes, the most significant first, as most wire formats have numbers. */
void buf_add_u32(struct buf *b, uint32_t value);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);

/* Adds foreign text: bytes that are not UTF-8 become U+FFFD. */
void buf_add_utf8(struct buf *b, struct str text);

/* Drops the first `size` bytes, keeps the rest. */
void buf_consume(struct buf *b, size_t size);
void buf_clear(struct buf *b);

/* Returns the bytes as a heap string that the caller frees; never NULL. The buffer is then {0} but
 * for its cap. */
char *buf_steal(struct buf *b);
void buf_done(struct buf *b);
