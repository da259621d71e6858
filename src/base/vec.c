/* vec.c - growth of arrays */

#include "base/vec.h"

#include <assert.h>
#include <stdbool.h>

void *vec_grow(void *at, size_t *room, size_t size_each_bytes)
{
    size_t next = *room ? *room * 2 : 8;
    size_t size_bytes = 0;
    bool is_over = __builtin_mul_overflow(next, size_each_bytes, &size_bytes);

    assert(!is_over && next > *room);
    *room = next;
    return mem_realloc(at, size_bytes);
}
