#include "kinds/txn.h"

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

void txn_put_text(struct txn *t, struct store_key key, char *text, int64_t if_version)
{
    vec_add(&t->texts, text);
    vec_add(&t->ops, (struct store_op){.type = STORE_PUT,
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
    vec_add(&t->ops, (struct store_op){
                         .type = STORE_DELETE, .key = keep_key(t, key), .if_version = if_version});
}

void txn_check(struct txn *t, struct store_key key, int64_t if_version)
{
    vec_add(&t->ops, (struct store_op){
                         .type = STORE_CHECK, .key = keep_key(t, key), .if_version = if_version});
}

bool txn_has(const struct txn *t, struct store_key key)
{
    for (size_t i = 0; i < t->ops.n; i++) {
        const struct store_op *op = &t->ops.at[i];

        if (text_equal(op->key.name, key.name) && text_equal(op->key.ns, key.ns) &&
            text_equal(op->key.resource, key.resource) && text_equal(op->key.group, key.group))
            return true;
    }
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
}
