/* txn.c - operations, with a hash table once there are many */

#include "kinds/object/txn.h"

#include "base/map.h"

/* With fewer operations a linear search is faster. */
enum {
    SLOTS_MIN = 64
};

static const char *txn_keep(struct txn *t, const char *text)
{
    char *copy = mem_strdup(text);

    vec_add(&t->texts, copy);
    return copy;
}

static struct store_key keep_key(struct txn *t, struct store_key key)
{
    return (struct store_key){
        .group = txn_keep(t, key.group),
        .resource = txn_keep(t, key.resource),
        .ns = txn_keep(t, key.ns),
        .name = txn_keep(t, key.name),
    };
}

static size_t slot_of(const struct txn *t, struct store_key key)
{
    uint32_t hash = map_hash(key.name, strlen(key.name)) ^
                    (map_hash(key.ns, strlen(key.ns)) * UINT32_C(2654435761));

    return hash & (t->n_slots - 1);
}

/* Puts the operation into the first free slot. */
static void index_op(struct txn *t, size_t number)
{
    size_t at = slot_of(t, t->ops.at[number].key);

    while (t->slots[at] != 0)
        at = (at + 1) & (t->n_slots - 1);
    t->slots[at] = (uint32_t)number + 1;
}

/* Adds an operation, and keeps at least half of the slots free. */
static void add_op(struct txn *t, struct store_op op)
{
    vec_add(&t->ops, op);
    if (t->ops.n < SLOTS_MIN / 2)
        return;
    if (t->ops.n * 2 <= t->n_slots) {
        index_op(t, t->ops.n - 1);
        return;
    }
    t->n_slots = t->n_slots == 0 ? SLOTS_MIN : t->n_slots * 2;
    free(t->slots);
    t->slots = mem_alloc(t->n_slots * sizeof(*t->slots));
    for (size_t i = 0; i < t->ops.n; i++)
        index_op(t, i);
}

void txn_put_text(struct txn *t, struct store_key key, char *text, int64_t if_version)
{
    vec_add(&t->texts, text);
    add_op(t, (struct store_op){.type = STORE_PUT,
                                .key = keep_key(t, key),
                                .bytes = str_of(text),
                                .if_version = if_version});
}

void txn_put(struct txn *t, struct store_key key, const json_t *object, int64_t if_version)
{
    txn_put_text(t, key, json_format(object), if_version);
}

void txn_put_owed(struct txn *t, struct store_key key, const json_t *object, int64_t if_version)
{
    txn_put(t, key, object, if_version);
    t->ops.at[t->ops.n - 1].is_owed = true;
}

void txn_delete(struct txn *t, struct store_key key, int64_t if_version)
{
    add_op(t, (struct store_op){
                  .type = STORE_DELETE, .key = keep_key(t, key), .if_version = if_version});
}

void txn_check(struct txn *t, struct store_key key, int64_t if_version)
{
    add_op(t, (struct store_op){
                  .type = STORE_CHECK, .key = keep_key(t, key), .if_version = if_version});
}

static bool is_of(const struct store_op *op, struct store_key key)
{
    return text_equal(op->key.name, key.name) && text_equal(op->key.ns, key.ns) &&
           text_equal(op->key.resource, key.resource) && text_equal(op->key.group, key.group);
}

bool txn_has(const struct txn *t, struct store_key key)
{
    size_t at;

    if (t->n_slots == 0) {
        for (size_t i = 0; i < t->ops.n; i++)
            if (is_of(&t->ops.at[i], key))
                return true;
        return false;
    }
    for (at = slot_of(t, key); t->slots[at] != 0; at = (at + 1) & (t->n_slots - 1))
        if (is_of(&t->ops.at[t->slots[at] - 1], key))
            return true;
    return false;
}

struct err *txn_commit(const struct txn *t, struct store *s, store_done_fn done, void *arg,
                       int64_t *ret_revision)
{
    return store_commit(s, t->ops.at, t->ops.n, done, arg, ret_revision);
}

void txn_done(struct txn *t)
{
    VEC_EACH (&t->texts, text)
        free(*text);
    vec_done(&t->texts);
    vec_done(&t->ops);
    free(t->slots);
    t->slots = NULL;
    t->n_slots = 0;
}
