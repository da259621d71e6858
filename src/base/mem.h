/* mem.h - the heap. Out of memory ends the process, here and nowhere else. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/attr.h"

/*
 * Allocates zeroed memory; never NULL. Callers cap sizes that come from input. The caller frees it.
 */
void *mem_alloc(size_t size_bytes);

char *mem_format(const char *fmt, ...) PRINTF(1, 2);
char *mem_vformat(const char *fmt, va_list ap) PRINTF(1, 0);

static inline void mem_freep(void *p)
{
    free(*(void **)p);
}

/* Like realloc; never NULL for size_bytes > 0. New bytes are not zeroed. */
void *mem_realloc(void *p, size_t size_bytes);
char *mem_strdup(const char *text);
char *mem_strndup(const char *text, size_t size);
void *mem_dup(const void *bytes, size_t size_bytes);
