#include "node/rotation.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "node/last_words.h"
#include "node/log_parts.h"

static const int64_t SWEEP_NS = NS_PER_SEC;

struct rotation {
    struct rotation_options o;
    struct loop_timer *timer;
    bool is_sweeping; /* in the worker */
    bool is_doomed;
};

struct swept {
    char *id;
    char *log;
    char *words;
    bool is_due;
    struct err *e;
};

struct sweep {
    struct rotation *rotation;
    int64_t max_bytes;
    size_t keep;
    VEC(struct swept) list;
};

static void rotation_destroy(struct rotation *r)
{
    loop_timer_free(r->timer);
    free(r);
}

static void sweep_free(struct sweep *s)
{
    for (size_t i = 0; i < s->list.n; i++) {
        struct swept *item = &s->list.at[i];

        free(item->id);
        free(item->log);
        free(item->words);
        err_free(item->e);
    }
    vec_done(&s->list);
    free(s);
}

/* In the worker: each for itself, one that fails does not keep the others. */
static struct err *sweep_work(void *message)
{
    struct sweep *s = message;

    for (size_t i = 0; i < s->list.n; i++) {
        struct swept *item = &s->list.at[i];

        item->e = log_parts_cut(item->log, s->max_bytes, s->keep, &item->is_due);
        if (!item->e)
            item->e = last_words_trim(item->words);
    }
    return NULL;
}

static void sweep_done(void *message, const struct err *e)
{
    struct sweep *s = message;
    struct rotation *r = s->rotation;
    struct runtime *rt = r->o.runtime;

    (void)e; /* each has its own */
    r->is_sweeping = false;
    for (size_t i = 0; i < s->list.n && !r->is_doomed; i++) {
        struct swept *item = &s->list.at[i];

        if (!item->e && item->is_due)
            item->e = rt->ops->reopen_log(rt->self, item->id);
        if (item->e && err_code(item->e) != ERR_NOT_FOUND) /* not found: it is being removed */
            LOG(WARN, "log could not be cut", S("id", item->id), E(item->e));
    }
    sweep_free(s);
    if (r->is_doomed)
        rotation_destroy(r);
    else
        loop_timer_set(r->timer, SWEEP_NS);
}

static void add(void *arg, const char *id, const char *log, const char *words)
{
    struct sweep *s = arg;

    vec_add(
        &s->list,
        (struct swept){.id = mem_strdup(id), .log = mem_strdup(log), .words = mem_strdup(words)});
}

static void on_timer(void *arg)
{
    struct rotation *r = arg;
    struct sweep *s = mem_alloc(sizeof(*s));

    *s = (struct sweep){.rotation = r, .max_bytes = r->o.max_bytes, .keep = r->o.max_files - 1};
    pods_each_log(r->o.pods, add, s);
    if (s->list.n == 0) {
        sweep_free(s);
        loop_timer_set(r->timer, SWEEP_NS);
        return;
    }
    r->is_sweeping = true;
    worker_give(r->o.worker, sweep_work, sweep_done, s);
}

struct rotation *rotation_new(const struct rotation_options *o)
{
    struct rotation *r = mem_alloc(sizeof(*r));

    r->o = *o;
    r->timer = loop_timer_new(o->loop, on_timer, r);
    loop_timer_set(r->timer, SWEEP_NS);
    return r;
}

void rotation_free(struct rotation *r)
{
    if (!r)
        return;
    r->is_doomed = true;
    if (!r->is_sweeping)
        rotation_destroy(r);
}
