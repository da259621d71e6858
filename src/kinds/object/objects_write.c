/* objects_write.c - several writes in one transaction */

#include "base/mem.h"
#include "kinds/object/objects_private.h"

static struct err *write_build(struct change *c, const struct objects_write *w)
{
    const struct objects_request *r = &w->request;

    if (w->type == WRITE_PATCH)
        return change_patch(c, PATCH_STRATEGIC, w->tree);
    if (r->subresource || r->kind->is_view)
        return err_new(ERR_NOT_FOUND, "the server could not find the requested resource");
    return change_create(c, w->tree);
}

/* Builds the removal of a pod which is over, if the patch takes the last finalizer and does nothing
 * else. */
static struct err *build_removal(struct change *c, const json_t *patch)
{
    const json_t *taken = json_at(patch, "metadata", "$deleteFromPrimitiveList/finalizers", NULL);
    json_t *metadata;

    TRY(change_load(c, c->request->name));
    if (json_object_size(patch) != 1 || !pod_is_over(c->before) || json_array_size(taken) != 1 ||
        json_object_size(json_object_get(patch, "metadata")) != 1 ||
        !json_equal(json_at(c->before, "metadata", "finalizers", NULL), taken))
        return NULL;
    metadata = json_copy(json_object_get(c->before, "metadata"));
    json_put_text(metadata, "finalizers", NULL);
    c->after = json_copy(c->before);
    json_put(c->after, "metadata", metadata);
    c->is_removal = true;
    return NULL;
}

/* A removal that would write a quota is left to a transaction of its own. */
static struct err *write_stage(struct change *c, const struct objects_write *w, bool *ret_is_write)
{
    if (w->ret_is_gone) {
        *w->ret_is_gone = false;
        TRY(build_removal(c, w->tree));
        if (c->is_removal)
            TRY(change_stage(c, ret_is_write));
        *w->ret_is_gone = c->is_removal && !c->charged;
        if (*w->ret_is_gone)
            return NULL;
        change_done(c);
        change_init(c, c->objects, c->request);
    }
    TRY(write_build(c, w));
    return change_stage(c, ret_is_write);
}

/* Moves the operations of a change to `all`; the change keeps their texts. */
static void move_ops(struct change *c, struct txn *all)
{
    VEC_EACH (&c->txn.ops, op)
        vec_add(&all->ops, *op);
}

static struct err *stage_all(struct change *changes, const struct objects_write *writes, size_t n,
                             struct txn *all)
{
    for (size_t i = 0; i < n; i++) {
        bool is_write = false;

        TRY(write_stage(&changes[i], &writes[i], &is_write));
        if (is_write)
            move_ops(&changes[i], all);
        else if (writes[i].must_change)
            return conflict(&changes[i], "there is nothing left to change");
    }
    return NULL;
}

struct err *objects_write_all(struct objects *o, const struct objects_write *writes, size_t n,
                              store_done_fn done, void *arg, int64_t *ret_revision)
{
    struct change *changes = mem_alloc((n + 1) * sizeof(*changes));
    struct txn all = {0};
    struct err *e;

    for (size_t i = 0; i < n; i++)
        change_init(&changes[i], o, &writes[i].request);
    e = stage_all(changes, writes, n, &all);
    if (!e)
        e = txn_commit(&all, o->store, done, arg, ret_revision);
    for (size_t i = 0; i < n; i++) {
        if (!e)
            change_accepted(&changes[i]);
        change_done(&changes[i]);
    }
    txn_done(&all);
    free(changes);
    return e;
}
