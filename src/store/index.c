/* index.c - sorted leaves that split and merge */

#include "store/index.h"

#include <assert.h>

#include "base/vec.h"

enum {
    LEAF_MAX = 128
};

struct index_leaf {
    size_t n; /* never 0 */
    const struct store_object *at[LEAF_MAX];
};

void index_done(struct index *x)
{
    for (size_t i = 0; i < x->n_leaves; i++) {
        for (size_t j = 0; j < x->leaves[i]->n; j++)
            store_object_unref(x->leaves[i]->at[j]);
        free(x->leaves[i]);
    }
    free(x->leaves);
    *x = (struct index){0};
}

/* The last leaf that begins at or below `key`, the only one that may hold it; the first leaf if
 * there is none. */
static size_t index_find_leaf(const struct index *x, const struct store_key *key)
{
    size_t low = 0;
    size_t high = x->n_leaves;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (key_compare(&x->leaves[middle]->at[0]->key, key) <= 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The first place in `leaf` with a key not below `key`. `*ret_is_there`: the keys are equal. */
static size_t leaf_find_place(const struct index_leaf *leaf, const struct store_key *key,
                              bool *ret_is_there)
{
    size_t low = 0;
    size_t high = leaf->n;

    *ret_is_there = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = key_compare(&leaf->at[middle]->key, key);

        if (order == 0) {
            *ret_is_there = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct store_object *index_find(const struct index *x, const struct store_key *key)
{
    const struct index_leaf *leaf;
    bool is_there;
    size_t at;

    if (x->n_leaves == 0)
        return NULL;
    leaf = x->leaves[index_find_leaf(x, key)];
    at = leaf_find_place(leaf, key, &is_there);
    return is_there ? leaf->at[at] : NULL;
}

static void insert_leaf(struct index *x, size_t at, struct index_leaf *leaf)
{
    if (x->n_leaves == x->room)
        x->leaves = vec_grow(x->leaves, &x->room, sizeof(struct index_leaf *));
    memmove(&x->leaves[at + 1], &x->leaves[at], (x->n_leaves - at) * sizeof(struct index_leaf *));
    x->leaves[at] = leaf;
    x->n_leaves++;
}

static void remove_leaf(struct index *x, size_t at)
{
    free(x->leaves[at]);
    x->n_leaves--;
    memmove(&x->leaves[at], &x->leaves[at + 1], (x->n_leaves - at) * sizeof(struct index_leaf *));
}

/* Makes room in the full leaf `*i` for an object at place `*at`, and moves both to the object's
 * new place. Past the end of the last leaf a new leaf begins, so that ascending puts fill their
 * leaves. */
static void index_split_leaf(struct index *x, size_t *i, size_t *at)
{
    struct index_leaf *leaf = x->leaves[*i];
    struct index_leaf *next = mem_alloc(sizeof(*next));
    size_t keep = *at == LEAF_MAX && *i + 1 == x->n_leaves ? LEAF_MAX : LEAF_MAX / 2;

    next->n = LEAF_MAX - keep;
    memcpy(next->at, &leaf->at[keep], next->n * sizeof(leaf->at[0]));
    leaf->n = keep;
    insert_leaf(x, *i + 1, next);
    if (*at > keep || keep == LEAF_MAX) {
        *at -= keep;
        ++*i;
    }
}

const struct store_object *index_put(struct index *x, const struct store_object *o)
{
    const struct store_object *before;
    struct index_leaf *leaf;
    bool is_there;
    size_t i;
    size_t at;

    (void)store_object_ref(o);
    if (x->n_leaves == 0)
        insert_leaf(x, 0, mem_alloc(sizeof(struct index_leaf)));
    i = index_find_leaf(x, &o->key);
    at = leaf_find_place(x->leaves[i], &o->key, &is_there);
    if (is_there) {
        before = x->leaves[i]->at[at];
        x->leaves[i]->at[at] = o;
        return before;
    }
    if (x->leaves[i]->n == LEAF_MAX)
        index_split_leaf(x, &i, &at);
    leaf = x->leaves[i];
    memmove(&leaf->at[at + 1], &leaf->at[at], (leaf->n - at) * sizeof(leaf->at[0]));
    leaf->at[at] = o;
    leaf->n++;
    x->n++;
    return NULL;
}

/* Merges leaf `i` with a neighbour if together they fill at most half a leaf. */
static void index_merge_leaf(struct index *x, size_t i)
{
    struct index_leaf *leaf = x->leaves[i];
    const struct index_leaf *next;

    if (i + 1 >= x->n_leaves)
        return;
    next = x->leaves[i + 1];
    if (leaf->n + next->n > LEAF_MAX / 2)
        return;
    memcpy(&leaf->at[leaf->n], next->at, next->n * sizeof(leaf->at[0]));
    leaf->n += next->n;
    remove_leaf(x, i + 1);
}

const struct store_object *index_remove(struct index *x, const struct store_key *key)
{
    const struct store_object *before;
    struct index_leaf *leaf;
    bool is_there = false;
    size_t i;
    size_t at;

    if (x->n_leaves == 0)
        return NULL;
    i = index_find_leaf(x, key);
    leaf = x->leaves[i];
    at = leaf_find_place(leaf, key, &is_there);
    if (!is_there)
        return NULL;
    before = leaf->at[at];
    leaf->n--;
    memmove(&leaf->at[at], &leaf->at[at + 1], (leaf->n - at) * sizeof(leaf->at[0]));
    x->n--;
    if (leaf->n == 0) {
        remove_leaf(x, i);
        return before;
    }
    index_merge_leaf(x, i);
    if (i > 0)
        index_merge_leaf(x, i - 1);
    return before;
}

struct index_cursor index_seek(const struct index *x, const struct store_key *key, bool is_after)
{
    struct index_cursor c = {.index = x};
    bool is_there;

    if (x->n_leaves == 0)
        return c;
    c.leaf = index_find_leaf(x, key);
    c.at = leaf_find_place(x->leaves[c.leaf], key, &is_there);
    if (is_there && is_after)
        c.at++;
    if (c.at == x->leaves[c.leaf]->n) {
        c.leaf++;
        c.at = 0;
    }
    return c;
}

size_t index_count(const struct index_cursor *from, const struct index_cursor *to)
{
    size_t n = to->at;

    for (size_t i = from->leaf; i < to->leaf; i++)
        n += from->index->leaves[i]->n;
    return n - from->at;
}

const struct store_object *index_peek(const struct index_cursor *c)
{
    if (c->leaf == c->index->n_leaves)
        return NULL;
    assert(c->at < c->index->leaves[c->leaf]->n);
    return c->index->leaves[c->leaf]->at[c->at];
}

const struct store_object *index_next(struct index_cursor *c)
{
    const struct store_object *o = index_peek(c);

    if (!o)
        return NULL;
    c->at++;
    if (c->at == c->index->leaves[c->leaf]->n) {
        c->leaf++;
        c->at = 0;
    }
    return o;
}
