/* driver_cache.c - the loader's cache: parsing */

#include "gpu/driver_cache.h"

#include <stdint.h>

/*
 * A cache of the old form has a header of 16 bytes and entries of 12. In the new form, offsets of
 * texts count from its header, which lies at a multiple of 8.
 */
enum {
    OLD_HEADER_SIZE = 16,
    OLD_COUNT_AT = 12,
    OLD_ENTRY_SIZE = 12,
    HEADER_SIZE = 48,
    HEADER_COUNT_AT = 20,
    HEADER_FLAGS_AT = 28,
    ENTRY_SIZE = 24,
    ENTRY_KEY_AT = 4,
    ENTRY_VALUE_AT = 8,
    ALIGNMENT = 8,
    ORDER_MASK = 3,
    ORDER_UNSET = 0,
    ORDER_OURS = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 2 : 3
};

static uint32_t cache_number(const char *at)
{
    uint32_t value = 0;

    memcpy(&value, at, sizeof(value));
    return value;
}

/* Moves behind a cache of the old form. False: the file is cut. */
static bool cache_skip_old(struct str *rest)
{
    uint64_t skip = 0;

    if (!str_starts_with(*rest, STR("ld.so-1.7.0")))
        return true;
    if (rest->size < OLD_HEADER_SIZE)
        return false;
    skip = OLD_HEADER_SIZE + (uint64_t)cache_number(rest->at + OLD_COUNT_AT) * OLD_ENTRY_SIZE;
    skip = (skip + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (skip > rest->size)
        return false;
    *rest = (struct str){rest->at + skip, rest->size - (size_t)skip};
    return true;
}

/* The text at an offset; NULL: outside the file, or without an end. */
static const char *cache_text(struct str cache, uint32_t offset)
{
    if (offset >= cache.size || !memchr(cache.at + offset, '\0', cache.size - offset))
        return NULL;
    return cache.at + offset;
}

struct err *driver_cache_parse(struct str bytes, driver_cache_fn fn, void *arg)
{
    struct str cache = bytes;
    uint64_t n = 0;
    int order = 0;

    if (!cache_skip_old(&cache) || cache.size < HEADER_SIZE ||
        !str_starts_with(cache, STR("glibc-ld.so.cache1.1")))
        return err_new(ERR_INVALID, "not a loader's cache of glibc 2.2 or later");
    order = cache.at[HEADER_FLAGS_AT] & ORDER_MASK;
    if (order != ORDER_UNSET && order != ORDER_OURS)
        return err_new(ERR_INVALID, "the loader's cache has another byte order");
    n = cache_number(cache.at + HEADER_COUNT_AT);
    if (n > (cache.size - HEADER_SIZE) / ENTRY_SIZE)
        return err_new(ERR_INVALID, "the loader's cache is cut");
    for (uint64_t i = 0; i < n; i++) {
        const char *entry = cache.at + HEADER_SIZE + i * ENTRY_SIZE;
        const char *name = cache_text(cache, cache_number(entry + ENTRY_KEY_AT));
        const char *path = cache_text(cache, cache_number(entry + ENTRY_VALUE_AT));

        if (!name || !path)
            return err_new(ERR_INVALID, "the loader's cache is cut");
        fn(arg, name, path);
    }
    return NULL;
}
