/* vec.c - growing and fitting arrays */

#include "base/vec.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

void *vec_grow(void *at, size_t *room, size_t size_each_bytes)
{
    size_t next = *room ? *room * 2 : 8;
    size_t size_bytes = 0;
    bool is_over = __builtin_mul_overflow(next, size_each_bytes, &size_bytes);

    assert(!is_over && next > *room);
    *room = next;
    return mem_realloc(at, size_bytes);
}

void *vec_shrink(void *at, size_t *room, size_t n, size_t size_each_bytes)
{
    if (n == *room)
        return at;
    *room = n;
    if (n > 0)
        return mem_realloc(at, n * size_each_bytes); /* less than it was: does not overflow */
    free(at);
    return NULL;
}
