/*
 * index.h - objects in the order of their keys: find, seek, put and remove in O(log n)
 *
 * Pointers stand in sorted leaves of up to 128, the leaves in one sorted array: two binary
 * searches, 11 to 16 bytes an object. A leaf that splits moves the array's tail, 8 bytes a leaf:
 * for a million objects 60 KB at most, once in 64 inserts.
 */
#pragma once

#include "store/object.h"

struct index_leaf;

/* {0} is empty. Holds one ref on each object. */
struct index {
    struct index_leaf **leaves;
    size_t n_leaves;
    size_t room;
    size_t n; /* objects */
};

void index_done(struct index *x);

/* Borrowed, or NULL. */
const struct store_object *index_find(const struct index *x, const struct store_key *key);

/* Takes a ref of its own on `o`; gives the one on what stood at its key, or NULL, to the caller. */
const struct store_object *index_put(struct index *x, const struct store_object *o) MUST_CHECK;
const struct store_object *index_remove(struct index *x, const struct store_key *key) MUST_CHECK;

/* A place between objects; dead when the index changes. */
struct index_cursor {
    const struct index *index;
    size_t leaf;
    size_t at;
};

/* Before the first object with a key not below `key`; `is_after`: with a key above it. */
struct index_cursor index_seek(const struct index *x, const struct store_key *key, bool is_after);

/* The number of objects from `from` up to `to`, not before it: one step a leaf. */
size_t index_count(const struct index_cursor *from, const struct index_cursor *to);

/* The next object, or NULL at the end. Borrowed. */
const struct store_object *index_next(struct index_cursor *c);
const struct store_object *index_peek(const struct index_cursor *c);
