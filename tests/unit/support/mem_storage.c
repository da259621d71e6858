/* mem_storage.c - the storage of mem_storage.h */

#include "mem_storage.h"

#include <assert.h>

#include "base/mem.h"
#include "base/vec.h"

struct mem_storage {
    struct storage storage;
    struct loop_timer *timer;
    VEC(struct storage_record) records; /* in order of (revision, ordinal) */
    int64_t revision;
    int64_t compacted;
    bool is_full;
    const char *refused; /* a resource; NULL: none */
    enum store_change_type refused_type;
    bool is_low;

    /* The batch under way. */
    const struct storage_batch *batch;
    storage_done_fn done;
    void *arg;
};

static bool key_equal(struct store_key a, struct store_key b)
{
    return text_equal(a.group, b.group) && text_equal(a.resource, b.resource) &&
           text_equal(a.ns, b.ns) && text_equal(a.name, b.name);
}

/* Is the record useless: a deletion, or replaced by a later record of its object? */
static bool is_overwritten(const struct mem_storage *m, size_t i, int64_t through)
{
    for (size_t j = i + 1; j < m->records.n && m->records.at[j].revision <= through; j++) {
        if (key_equal(m->records.at[j].object->key, m->records.at[i].object->key))
            return true;
    }
    return m->records.at[i].type == STORE_DELETED;
}

static void compact(struct mem_storage *m, int64_t through)
{
    for (size_t i = 0; i < m->records.n && m->records.at[i].revision <= through;) {
        if (!is_overwritten(m, i, through)) {
            i++;
            continue;
        }
        store_object_unref(m->records.at[i].object);
        vec_remove(&m->records, i);
    }
    m->compacted = through;
}

static bool is_refused(struct mem_storage *m, const struct storage_batch *batch)
{
    for (size_t i = 0; m->refused && i < batch->n; i++) {
        if (batch->records[i].type != m->refused_type ||
            !text_equal(batch->records[i].object->key.resource, m->refused))
            continue;
        m->refused = NULL;
        return true;
    }
    return m->is_full;
}

static enum storage_result write_batch(struct mem_storage *m, const struct storage_batch *batch)
{
    if (is_refused(m, batch))
        return STORAGE_FULL;
    for (size_t i = 0; i < batch->n; i++) {
        struct storage_record r = batch->records[i];

        r.object = store_object_ref(r.object);
        r.before = NULL;
        vec_add(&m->records, r);
    }
    m->revision = batch->revision > m->revision ? batch->revision : m->revision;
    if (batch->compact_through > m->compacted)
        compact(m, batch->compact_through);
    return m->is_low ? STORAGE_DURABLE_LOW : STORAGE_DURABLE;
}

static void on_turn(void *arg)
{
    struct mem_storage *m = arg;
    const struct storage_batch *batch = TAKE(m->batch);
    enum storage_result result;

    if (!batch)
        return;
    result = write_batch(m, batch);
    m->done(m->arg, result, result == STORAGE_FULL ? "no space left on device" : "");
}

static void mem_commit(void *self, const struct storage_batch *batch, storage_done_fn done,
                       void *arg)
{
    struct mem_storage *m = self;

    assert(!m->batch);
    m->batch = batch;
    m->done = done;
    m->arg = arg;
    loop_timer_set(m->timer, 0);
}

static enum storage_result mem_finish(void *self)
{
    struct mem_storage *m = self;
    const struct storage_batch *batch = TAKE(m->batch);

    loop_timer_stop(m->timer);
    return batch ? write_batch(m, batch) : STORAGE_DURABLE;
}

static struct err *mem_load(void *self, storage_load_fn fn, void *arg, int64_t *ret_revision,
                            int64_t *ret_compacted)
{
    struct mem_storage *m = self;

    *ret_compacted = m->compacted;
    *ret_revision = m->revision;
    for (size_t i = 0; i < m->records.n; i++)
        TRY(fn(arg, &m->records.at[i]));
    return NULL;
}

static void mem_free(void *self)
{
    struct mem_storage *m = self;

    for (size_t i = 0; i < m->records.n; i++)
        store_object_unref(m->records.at[i].object);
    vec_done(&m->records);
    loop_timer_free(m->timer);
    free(m);
}

struct storage *mem_storage_new(struct loop *loop)
{
    static const struct storage_ops ops = {
        .load = mem_load,
        .commit = mem_commit,
        .finish = mem_finish,
        .free = mem_free,
    };
    struct mem_storage *m = mem_alloc(sizeof(*m));

    m->storage = (struct storage){.ops = &ops, .self = m};
    m->timer = loop_timer_new(loop, on_turn, m);
    return &m->storage;
}

void mem_storage_set_full(struct storage *s, bool is_full)
{
    struct mem_storage *m = s->self;

    m->is_full = is_full;
}

void mem_storage_set_low(struct storage *s, bool is_low)
{
    struct mem_storage *m = s->self;

    m->is_low = is_low;
}

void mem_storage_refuse_once(struct storage *s, const char *resource, enum store_change_type type)
{
    struct mem_storage *m = s->self;

    m->refused = resource;
    m->refused_type = type;
}
