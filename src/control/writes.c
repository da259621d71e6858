/* writes.c - pending writes, each with a reference to its loop's list */
#include "control/writes.h"

#include "base/mem.h"

struct writes {
    void *owner; /* NULL: the loop is gone */
    size_t n_pending;
};

struct write {
    struct writes *of;
    writes_fn fn;
    char *key;
    uint64_t number;
};

struct writes *writes_new(void *owner)
{
    struct writes *w = mem_alloc(sizeof(*w));

    w->owner = owner;
    return w;
}

static void drop_unused(struct writes *w)
{
    if (!w->owner && w->n_pending == 0)
        free(w);
}

void writes_free(struct writes *w)
{
    if (!w)
        return;
    w->owner = NULL;
    drop_unused(w);
}

size_t writes_pending(const struct writes *w)
{
    return w->n_pending;
}

static void write_free(struct write *write)
{
    struct writes *of = write->of;

    free(write->key);
    free(write);
    of->n_pending--;
    drop_unused(of);
}

static void writes_on_answer(void *arg, const struct err *e, int64_t revision)
{
    struct write *write = arg;

    (void)revision;
    if (write->of->owner)
        write->fn(write->of->owner, write->key, write->number, e);
    write_free(write);
}

struct cluster_answer writes_begin(struct writes *w, writes_fn fn, const char *key, uint64_t number)
{
    struct write *write = mem_alloc(sizeof(*write));

    *write = (struct write){.of = w, .fn = fn, .number = number};
    write->key = key ? mem_strdup(key) : NULL;
    w->n_pending++;
    return (struct cluster_answer){.done = writes_on_answer, .arg = write};
}

struct err *writes_end(struct cluster_answer a, struct err *e)
{
    if (e)
        write_free(a.arg);
    return e;
}
