/* arena.h - memory that dies together: one per request, per engine cycle, per parsed file */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "base/attr.h"

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *a);

/* Allocates: zeroed, aligned for any type, never NULL; valid until the next reset or free. */
void *arena_alloc(struct arena *a, size_t size_bytes);

/* Ends all allocations; the arena keeps the memory for the next use. */
void arena_reset(struct arena *a);

char *arena_strdup(struct arena *a, const char *text);
char *arena_strndup(struct arena *a, const char *text, size_t size);
char *arena_format(struct arena *a, const char *fmt, ...) PRINTF(2, 3);

static inline void arena_freep(struct arena **a)
{
    arena_free(*a);
}
