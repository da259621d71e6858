/* native_refuse.c - answers that a host process cannot be attached to */

#include "base/list.h"
#include "node/runtime/native_linux.h"

struct refused {
    struct exec exec;
    struct refused *prev;
    struct refused *next;
    struct native *n;
    struct loop_timer *timer;
    const char *why; /* static */
    bool is_cancelled;
    void (*end)(void *arg, const struct err *e, int code);
    void *arg;
};

static void refused_free(struct refused *x)
{
    LIST_REMOVE(x->n->refusals, x);
    loop_timer_free(x->timer);
    free(x);
}

static void on_refused(void *arg)
{
    struct refused *x = arg;
    const struct refused was = *x;
    AUTO(err_freep) struct err *e = err_new(ERR_INVALID, "%s", x->why);

    refused_free(x);
    if (!was.is_cancelled)
        was.end(was.arg, e, 0);
}

/* ---- operations: the bytes of a client go nowhere ---- */

static struct refused *refused_of(struct exec *x)
{
    return (struct refused *)(void *)x;
}

static void refused_input(struct exec *x, struct str bytes)
{
    (void)x;
    (void)bytes;
}

static size_t refused_backlog(const struct exec *x)
{
    (void)x;
    return 0;
}

static void refused_input_end(struct exec *x)
{
    (void)x;
}

static void refused_resize(struct exec *x, uint16_t columns, uint16_t rows)
{
    (void)x;
    (void)columns;
    (void)rows;
}

static void refused_pause(struct exec *x, bool is_paused)
{
    (void)x;
    (void)is_paused;
}

static void refused_cancel(struct exec *x)
{
    refused_of(x)->is_cancelled = true;
}

static const struct exec_ops refused_ops = {.input = refused_input,
                                            .backlog = refused_backlog,
                                            .input_end = refused_input_end,
                                            .resize = refused_resize,
                                            .pause = refused_pause,
                                            .cancel = refused_cancel};

static struct exec *refused_new(struct native *n, const char *why,
                                void (*end)(void *arg, const struct err *e, int code), void *arg)
{
    struct refused *x = mem_alloc(sizeof(*x));

    *x = (struct refused){.exec.ops = &refused_ops, .n = n, .why = why, .end = end, .arg = arg};
    x->timer = loop_timer_new(n->loop, on_refused, x);
    loop_timer_set(x->timer, 0);
    LIST_ADD(n->refusals, x);
    return &x->exec;
}

struct exec *native_refuse_attach(void *self, const struct runtime_exec *e)
{
    return refused_new(self,
                       "a job of the host has no streams to attach to: its output is in files",
                       e->end, e->arg);
}

struct exec *native_refuse_forward(void *self, const struct runtime_forward *f)
{
    return refused_new(self, "this runtime forwards no ports", f->end, f->arg);
}

void native_end_refusals(struct native *n)
{
    struct refused *x = NULL;

    LIST_EACH (n->refusals, x)
        refused_free(x);
}
