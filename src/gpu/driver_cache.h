/* driver_cache.h - the loader's cache (etc/ld.so.cache): the libraries that ldconfig found */
#pragma once

#include "base/err.h"
#include "base/str.h"

/* `name` is the soname, `path` the file below the cache's root. Both are NUL-terminated. */
typedef void (*driver_cache_fn)(void *arg, const char *name, const char *path);

/*
 * Calls `fn` for each entry of a cache of glibc 2.2 or later (glibc-ld.so.cache1.1), which may
 * follow a cache in the older form. ERR_INVALID: another file, a cache of another byte order, or a
 * cut one; `fn` may then have been called for its first entries.
 */
struct err *driver_cache_parse(struct str bytes, driver_cache_fn fn, void *arg) MUST_CHECK;
