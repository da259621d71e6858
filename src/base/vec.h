/* vec.h - a growing array of one type: VEC(struct pod *) pods = {0}; */
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/mem.h"

#define VEC(type)    \
    struct {         \
        type *at;    \
        size_t n;    \
        size_t room; \
    }

/* Appends `...` (an expression of the element type). */
#define vec_add(v, ...)                                                \
    do {                                                               \
        if ((v)->n == (v)->room)                                       \
            (v)->at = vec_grow((v)->at, &(v)->room, sizeof(*(v)->at)); \
        (v)->at[(v)->n++] = (__VA_ARGS__);                             \
    } while (0)

/* Removes element `i`, keeping the order of the others. */
#define vec_remove(v, i)                                                                       \
    do {                                                                                       \
        size_t vec_i_ = (i);                                                                   \
        (v)->n--;                                                                              \
        memmove(&(v)->at[vec_i_], &(v)->at[vec_i_ + 1], ((v)->n - vec_i_) * sizeof(*(v)->at)); \
    } while (0)

#define vec_clear(v) ((void)((v)->n = 0))

/* Gives back the room that the elements do not need: for arrays that are kept, and grow no more. */
#define vec_fit(v)                                                           \
    do {                                                                     \
        (v)->at = vec_shrink((v)->at, &(v)->room, (v)->n, sizeof(*(v)->at)); \
    } while (0)

/* Frees the array, not what its elements point to. */
#define vec_done(v)     \
    do {                \
        free((v)->at);  \
        (v)->at = NULL; \
        (v)->n = 0;     \
        (v)->room = 0;  \
    } while (0)

/* NOLINTBEGIN(bugprone-macro-parentheses): `item` is declared here */
#define VEC_EACH(v, item) \
    for (__typeof__(&*(v)->at) item = (v)->at; item && item < (v)->at + (v)->n; item++)
/* NOLINTEND(bugprone-macro-parentheses) */

void *vec_shrink(void *at, size_t *room, size_t n, size_t size_each_bytes);
void *vec_grow(void *at, size_t *room, size_t size_each_bytes);
