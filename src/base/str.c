/* str.c - pieces of text, UTF-8 and the buffer */

#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"

bool str_equal(struct str a, struct str b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.at, b.at, a.size) == 0);
}

bool str_starts_with(struct str s, struct str prefix)
{
    return s.size >= prefix.size && str_equal((struct str){s.at, prefix.size}, prefix);
}

bool str_ends_with(struct str s, struct str suffix)
{
    if (s.size < suffix.size)
        return false;
    return suffix.size == 0 ||
           str_equal((struct str){s.at + (s.size - suffix.size), suffix.size}, suffix);
}

struct str str_cut(struct str *rest, char separator)
{
    struct str all = *rest;
    const char *found = all.size > 0 ? memchr(all.at, separator, all.size) : NULL;
    size_t size;

    if (!found) {
        *rest = (struct str){0};
        return all;
    }
    size = (size_t)(found - all.at);
    *rest = (struct str){found + 1, all.size - size - 1};
    return (struct str){all.at, size};
}

bool text_equal(const char *a, const char *b)
{
    if (!a || !b)
        return a == b;
    return strcmp(a, b) == 0;
}

bool texts_equal(const char *const *a, const char *const *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!text_equal(a[i], b[i]))
            return false;
    return true;
}

bool text_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends_with(const char *text, const char *suffix)
{
    return str_ends_with(str_of(text), str_of(suffix));
}

size_t str_utf8(struct str s)
{
    const unsigned char *at = (const unsigned char *)s.at;
    size_t size = 1;

    if (s.size == 0)
        return 0;
    if (at[0] < 0x80)
        return 1;
    if (at[0] >= 0xc2 && at[0] <= 0xdf)
        size = 2;
    else if (at[0] >= 0xe0 && at[0] <= 0xef)
        size = 3;
    else if (at[0] >= 0xf0 && at[0] <= 0xf4)
        size = 4;
    if (size == 1 || s.size < size)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    /* longer than needed, a surrogate, or past U+10FFFF */
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    return size;
}

/* Makes room for `size` more bytes and the NUL. False: past the cap; `overflow` is set. */
static bool buf_reserve(struct buf *b, size_t size)
{
    size_t cap = b->cap ? b->cap : BUF_CAP_DEFAULT;
    size_t room = b->room ? b->room : 64;

    if (b->size > cap || size > cap - b->size) {
        b->overflow = true;
        return false;
    }
    while (room - 1 < b->size + size)
        room *= 2;
    if (room != b->room) {
        b->at = mem_realloc(b->at, room);
        b->room = room;
    }
    return true;
}

void buf_add(struct buf *b, const void *bytes, size_t size)
{
    if (!buf_reserve(b, size))
        return;
    if (size > 0)
        memcpy(b->at + b->size, bytes, size);
    b->size += size;
    b->at[b->size] = '\0';
}

void buf_add_text(struct buf *b, const char *text)
{
    buf_add(b, text, strlen(text));
}

void buf_add_char(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_add_u32(struct buf *b, uint32_t value)
{
    const unsigned char bytes[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
                                    (unsigned char)(value >> 8), (unsigned char)value};

    buf_add(b, bytes, sizeof(bytes));
}

uint32_t str_u32(const void *at)
{
    const unsigned char *bytes = at;

    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    AUTO_FREE char *long_text = NULL;
    char text[256];
    va_list again;
    va_list ap;
    int size;

    va_start(ap, fmt);
    va_copy(again, ap);
    size = vsnprintf(text, sizeof(text), fmt, ap);
    if (size >= (int)sizeof(text))
        long_text = mem_vformat(fmt, again);
    va_end(again);
    va_end(ap);
    if (size > 0)
        buf_add(b, long_text ? long_text : text, (size_t)size);
}

void buf_add_utf8(struct buf *b, struct str text)
{
    while (text.size > 0) {
        size_t size = str_utf8(text);

        if (size > 0)
            buf_add(b, text.at, size);
        else
            buf_add_text(b, UTF8_REPLACEMENT);
        size += size == 0;
        text = (struct str){text.at + size, text.size - size};
    }
}

void buf_consume(struct buf *b, size_t size)
{
    if (size >= b->size) {
        buf_clear(b);
        return;
    }
    memmove(b->at, b->at + size, b->size - size + 1);
    b->size -= size;
}

void buf_clear(struct buf *b)
{
    b->size = 0;
    b->overflow = false;
    if (b->at)
        b->at[0] = '\0';
}

char *buf_steal(struct buf *b)
{
    char *text = b->at ? b->at : mem_strdup("");

    *b = (struct buf){.cap = b->cap};
    return text;
}

void buf_done(struct buf *b)
{
    free(b->at);
    *b = (struct buf){0};
}
