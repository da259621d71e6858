/* naive_store.c - the list of changes of naive_store.h */

#include "naive_store.h"

#include <string.h>

static bool same_key(const struct store_key *a, const struct store_key *b)
{
    return strcmp(a->group, b->group) == 0 && strcmp(a->resource, b->resource) == 0 &&
           strcmp(a->ns, b->ns) == 0 && strcmp(a->name, b->name) == 0;
}

static void change_done(struct naive_change *c)
{
    mem_freep(&c->key.group);
    mem_freep(&c->key.resource);
    mem_freep(&c->key.ns);
    mem_freep(&c->key.name);
    mem_freep(&c->bytes);
}

void naive_cut(struct naive_store *n, int64_t revision)
{
    while (n->changes.n > 0 && n->changes.at[n->changes.n - 1].revision > revision) {
        n->changes.n--;
        change_done(&n->changes.at[n->changes.n]);
    }
    n->applied = revision;
}

void naive_done(struct naive_store *n)
{
    naive_cut(n, 0);
    vec_done(&n->changes);
}

const struct naive_change *naive_get(const struct naive_store *n, const struct store_key *key,
                                     int64_t revision)
{
    const struct naive_change *last = NULL;

    VEC_EACH (&n->changes, c) {
        if (c->revision <= revision && same_key(&c->key, key))
            last = c->type == STORE_DELETED ? NULL : c;
    }
    return last;
}

static int check_one(const struct naive_change *now, int64_t if_version)
{
    if (if_version == STORE_ANY)
        return -1;
    if (if_version == STORE_ABSENT)
        return now ? (int)ERR_EXISTS : -1;
    if (!now)
        return ERR_NOT_FOUND;
    if (if_version == STORE_EXISTS || if_version == now->revision)
        return -1;
    return ERR_CONFLICT;
}

static bool is_written_twice(const struct store_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (ops[i].type != STORE_CHECK && ops[j].type != STORE_CHECK &&
                same_key(&ops[i].key, &ops[j].key))
                return true;
        }
    }
    return false;
}

int naive_check(const struct naive_store *n, const struct store_op *ops, size_t count, bool is_full)
{
    for (size_t i = 0; i < count; i++) {
        const struct naive_change *now = naive_get(n, &ops[i].key, n->applied);
        int code = check_one(now, ops[i].if_version);

        if (code >= 0)
            return code;
        if (is_full && ops[i].type == STORE_PUT && !ops[i].is_owed && !now)
            return ERR_NO_SPACE;
    }
    return is_written_twice(ops, count) ? (int)ERR_INVALID : -1;
}

int64_t naive_apply(struct naive_store *n, const struct store_op *ops, size_t count)
{
    int64_t revision = n->applied + 1;

    for (size_t i = 0; i < count; i++) {
        const struct store_op *op = &ops[i];
        const struct naive_change *now = naive_get(n, &op->key, n->applied);
        struct naive_change c = {.revision = revision};

        if (op->type == STORE_CHECK || (op->type == STORE_DELETE && !now))
            continue;
        c.type = op->type == STORE_DELETE ? STORE_DELETED : now ? STORE_UPDATED : STORE_CREATED;
        c.created = now ? now->created : revision;
        c.before = now ? now->revision : 0;
        c.key = (struct store_key){mem_strdup(op->key.group), mem_strdup(op->key.resource),
                                   mem_strdup(op->key.ns), mem_strdup(op->key.name)};
        c.size = op->type == STORE_DELETE ? 0 : op->bytes.size;
        c.bytes = mem_dup(c.size ? op->bytes.at : "", c.size);
        vec_add(&n->changes, c);
    }
    if (n->changes.n > 0 && n->changes.at[n->changes.n - 1].revision == revision)
        n->applied = revision;
    return n->applied;
}

bool naive_in_range(const struct store_key *key, const struct store_range *range)
{
    if (!range->resource)
        return true;
    if (strcmp(key->group, range->group) != 0 || strcmp(key->resource, range->resource) != 0)
        return false;
    return !range->ns || strcmp(key->ns, range->ns) == 0;
}

static bool is_before(const struct store_key *a, const struct store_key *b)
{
    const char *const x[] = {a->group, a->resource, a->ns, a->name};
    const char *const y[] = {b->group, b->resource, b->ns, b->name};

    for (int i = 0; i < 4; i++) {
        if (strcmp(x[i], y[i]) != 0)
            return strcmp(x[i], y[i]) < 0;
    }
    return false;
}

struct naive_list naive_list(const struct naive_store *n, const struct store_range *range,
                             const char *after_ns, const char *after_name, int64_t revision)
{
    struct naive_list list = {0};

    VEC_EACH (&n->changes, c) {
        struct store_key after = {c->key.group, c->key.resource, after_ns, after_name};
        size_t at = 0;

        if (c->revision > revision || naive_get(n, &c->key, revision) != c ||
            !naive_in_range(&c->key, range) || (after_name && !is_before(&after, &c->key)))
            continue;
        vec_add(&list.found, c);
        while (is_before(&list.found.at[at]->key, &c->key))
            at++;
        memmove(&list.found.at[at + 1], &list.found.at[at],
                (list.found.n - 1 - at) * sizeof(list.found.at[0]));
        list.found.at[at] = c;
    }
    return list;
}
