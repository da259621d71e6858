/* made_cache.h - makes a loader's cache as ldconfig of glibc writes it */
#pragma once

#include <stdint.h>

#include "base/str.h"

struct made_entry {
    const char *name;
    const char *path;
};

static inline void cache_add_number(struct buf *b, uint32_t value)
{
    buf_add(b, &value, sizeof(value));
}

/* `is_after_old`: behind a cache of the old form with one entry. */
static inline void cache_make(struct buf *b, const struct made_entry *entries, uint32_t n,
                              bool is_after_old)
{
    struct buf texts = {0};
    const uint32_t texts_at = 48 + n * 24;

    if (is_after_old) {
        buf_add(b, "ld.so-1.7.0\0", 12);
        cache_add_number(b, 1);
        buf_add(b, "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
        buf_add(b, "\0\0\0\0", 4); /* to a multiple of 8 */
    }
    buf_add_text(b, "glibc-ld.so.cache1.1");
    cache_add_number(b, n);
    cache_add_number(b, 0);
    cache_add_number(b, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 2 : 3);
    for (int i = 0; i < 4; i++)
        cache_add_number(b, 0);
    for (uint32_t i = 0; i < n; i++) {
        cache_add_number(b, 0x303);
        cache_add_number(b, texts_at + (uint32_t)texts.size);
        buf_add(&texts, entries[i].name, strlen(entries[i].name) + 1);
        cache_add_number(b, texts_at + (uint32_t)texts.size);
        buf_add(&texts, entries[i].path, strlen(entries[i].path) + 1);
        cache_add_number(b, 0);
        cache_add_number(b, 0);
        cache_add_number(b, 0);
    }
    buf_add(b, texts.at, texts.size);
    buf_done(&texts);
}
