/*
 * list.c - lists of the present and of the past
 *
 * A list of the present walks the index. A list of the past walks the index too, corrected for each
 * key that changed since: the key's object is the `before` of its first change after that revision.
 */

#include <assert.h>
#include <inttypes.h>

#include "base/mem.h"
#include "store/store_private.h"

/* A key's object in the past; `object` NULL: the key was absent. */
struct past {
    const struct store_key *key;
    const struct store_object *object;
    uint64_t change; /* number in the history */
};

struct past_list {
    struct past *at;
    size_t n;
    size_t room;
};

/* The start of a list: `key`, or the first key after it. */
struct start {
    struct store_key key;
    bool is_after;
};

struct err *store_check_kept(const struct store *s, int64_t revision)
{
    if (revision >= s->compacted)
        return NULL;
    return err_new(ERR_EXPIRED,
                   "revision %" PRId64 " was compacted: the oldest kept revision is %" PRId64,
                   revision, s->compacted);
}

static bool is_beyond(const struct store_key *key, const struct start *start)
{
    return key_compare(key, &start->key) >= (start->is_after ? 1 : 0);
}

/* Orders by key, then by number: the first entry of each key counts. */
static int compare_past(const void *a, const void *b)
{
    const struct past *x = a;
    const struct past *y = b;
    int order = key_compare(x->key, y->key);

    if (order != 0)
        return order;
    return x->change < y->change ? -1 : x->change > y->change;
}

static void collect_past(const struct store *s, const struct store_range *range,
                         const struct start *start, int64_t revision, struct past_list *list)
{
    size_t n = 0;

    for (uint64_t i = history_after(&s->history, revision); i < s->history.end; i++) {
        const struct store_change *c = history_at(&s->history, i);

        if (key_in_range(&c->object->key, range) && is_beyond(&c->object->key, start))
            vec_add(list, (struct past){.key = &c->object->key, .object = c->before, .change = i});
    }
    if (list->n > 1)
        qsort(list->at, list->n, sizeof(list->at[0]), compare_past);
    for (size_t i = 0; i < list->n; i++) {
        if (n == 0 || key_compare(list->at[n - 1].key, list->at[i].key) != 0)
            list->at[n++] = list->at[i];
    }
    list->n = n;
}

/* The next object of the index and the past merged; an entry of the past replaces the index's
 * object of the same key. */
static const struct store_object *next_merged(struct index_cursor *c, const struct past_list *list,
                                              size_t *at, const struct store_range *range)
{
    for (;;) {
        const struct store_object *now = index_peek(c);
        const struct past *past = *at < list->n ? &list->at[*at] : NULL;
        int order;

        if (now && !key_in_range(&now->key, range))
            now = NULL;
        if (!now && !past)
            return NULL;
        order = !past ? -1 : !now ? 1 : key_compare(&now->key, past->key);
        if (order <= 0)
            (void)index_next(c);
        if (order < 0)
            return now;
        ++*at;
        if (past->object)
            return past->object;
    }
}

static void add_object(struct store_list *list, size_t *room, const struct store_object *o)
{
    if (list->n == *room)
        list->at = vec_grow(list->at, room, sizeof(const struct store_object *));
    list->at[list->n++] = store_object_ref(o);
}

static struct start list_start(const struct store_range *range, const char *after_ns,
                               const char *after_name)
{
    struct start first = {.key = {.group = "", .resource = "", .ns = "", .name = ""}};
    struct start after;

    if (!range->resource)
        return first;
    first.key.group = range->group;
    first.key.resource = range->resource;
    if (range->ns)
        first.key.ns = range->ns;
    if (!after_name)
        return first;
    after = (struct start){.key = first.key, .is_after = true};
    if (after_ns)
        after.key.ns = after_ns;
    after.key.name = after_name;
    return key_compare(&after.key, &first.key) < 0 ? first : after;
}

/* The number of objects of the range that `c` and the entries of `past` from `at` on have left. */
static size_t count_merged(const struct store *s, const struct index_cursor *c,
                           const struct past_list *past, size_t at, const struct store_range *range)
{
    /* Names are ASCII: none is above this one. */
    const struct store_key last = {.group = range->group,
                                   .resource = range->resource,
                                   .ns = range->ns ? range->ns : "\xff",
                                   .name = "\xff"};
    struct index_cursor end = index_seek(&s->objects, &last, true);
    size_t n = index_count(c, &end);

    for (; at < past->n; at++) {
        n += past->at[at].object ? 1 : 0;
        n -= index_find(&s->objects, past->at[at].key) ? 1 : 0;
    }
    return n;
}

/* Seven parameters, against the rule: most callers pass NULL or 0 for three. */
/* NOLINTNEXTLINE(readability-function-size) */
struct err *store_list(const struct store *s, const struct store_range *range, const char *after_ns,
                       const char *after_name, size_t limit, int64_t at_revision,
                       struct store_list *ret)
{
    struct start start = list_start(range, after_ns, after_name);
    struct store_list list = {.revision = at_revision ? at_revision : s->revision};
    struct past_list past = {0};
    struct index_cursor cursor;
    const struct store_object *o;
    size_t room = 0;
    size_t at = 0;

    TRY(store_check_kept(s, list.revision));
    if (list.revision > s->revision)
        return err_new(ERR_TIMEOUT,
                       "revision %" PRId64 " is in the future: the present one is %" PRId64,
                       list.revision, s->revision);
    assert(range->resource || !after_name);
    collect_past(s, range, &start, list.revision, &past);
    cursor = index_seek(&s->objects, &start.key, start.is_after);
    while ((o = next_merged(&cursor, &past, &at, range))) {
        if (limit > 0 && list.n == limit) {
            list.has_more = true;
            list.n_after = range->resource ? 1 + count_merged(s, &cursor, &past, at, range) : 0;
            break;
        }
        add_object(&list, &room, o);
    }
    vec_done(&past);
    *ret = list;
    return NULL;
}

static const struct store_object *peek_in(const struct index_cursor *c,
                                          const struct store_range *range)
{
    const struct store_object *o = index_peek(c);

    return o && key_in_range(&o->key, range) ? o : NULL;
}

static struct start next_start(const struct store_range *range, const struct store_key *after)
{
    assert(range->resource);
    if (after)
        return (struct start){.key = *after, .is_after = true};
    return list_start(range, NULL, NULL);
}

const struct store_object *store_next(const struct store *s, const struct store_range *range,
                                      const struct store_key *after)
{
    struct start start = next_start(range, after);
    struct index_cursor cursor = index_seek(&s->objects, &start.key, start.is_after);

    return peek_in(&cursor, range);
}

/* Merges both states: a pending object hides the durable one of the same key. */
const struct store_object *store_next_applied(const struct store *s,
                                              const struct store_range *range,
                                              const struct store_key *after)
{
    struct start start = next_start(range, after);
    struct index_cursor durable = index_seek(&s->objects, &start.key, start.is_after);
    struct index_cursor pending = index_seek(&s->pending, &start.key, start.is_after);

    for (;;) {
        const struct store_object *old = peek_in(&durable, range);
        const struct store_object *new = peek_in(&pending, range);
        int order = !new ? -1 : !old ? 1 : key_compare(&old->key, &new->key);

        if (!old && !new)
            return NULL;
        if (order <= 0)
            (void)index_next(&durable);
        if (order < 0)
            return old;
        (void)index_next(&pending);
        if (!new->is_absent)
            return new;
    }
}

void store_list_done(struct store_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        store_object_unref(list->at[i]);
    free(list->at);
    *list = (struct store_list){0};
}
