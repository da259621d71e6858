/* ask.c - questions of our own, and their answers */

#include "http/ask.h"

#include "base/mem.h"

enum {
    ANSWER_MAX = 8 << 20
};

struct ask {
    struct exchange own; /* the first member */
    int status;
    bool is_inside; /* ask_begin is on the stack */
    bool is_over;
    struct buf body;
    ask_done_fn done;
    void *arg;
};

static struct ask *ask_of(struct exchange *x)
{
    return (struct ask *)(void *)x;
}

static void ask_free(struct ask *a)
{
    buf_done(&a->body);
    free(a);
}

static void ask_finish(struct ask *a, int status, struct str body)
{
    a->is_over = true;
    a->done(a->arg, a->body.overflow ? 502 : status, a->body.overflow ? (struct str){0} : body);
    if (!a->is_inside)
        ask_free(a);
}

static void ask_reply(struct exchange *x, const struct api_reply *r)
{
    ask_finish(ask_of(x), r->status, r->body);
}

static void ask_stream(struct exchange *x, const struct api_reply *r)
{
    ask_of(x)->status = r->status;
}

static void ask_piece(struct exchange *x, struct str piece)
{
    buf_add(&ask_of(x)->body, piece.at, piece.size);
}

static void ask_end(struct exchange *x)
{
    struct ask *a = ask_of(x);

    ask_finish(a, a->status, (struct str){.at = a->body.at, .size = a->body.size});
}

static void ask_cut(struct exchange *x)
{
    ask_finish(ask_of(x), 502, (struct str){0});
}

static size_t ask_backlog(const struct exchange *x)
{
    (void)x;
    return 0;
}

static const struct exchange_ops ask_ops = {
    .reply = ask_reply,
    .begin = ask_stream,
    .piece = ask_piece,
    .end = ask_end,
    .cut = ask_cut,
    .backlog = ask_backlog,
    /* Nothing that is asked for upgrades its connection. */
};

void ask_begin(const struct ask_target *t, const struct api_request *r, ask_done_fn done, void *arg,
               struct ask **ret)
{
    struct ask *a = mem_alloc(sizeof(*a));

    a->own.ops = &ask_ops;
    a->own.request = *r;
    a->body.cap = ANSWER_MAX;
    a->done = done;
    a->arg = arg;
    a->is_inside = true;
    t->handle(t->arg, &a->own);
    a->is_inside = false;
    *ret = a->is_over ? NULL : a;
    if (a->is_over)
        ask_free(a);
}

void ask_cancel(struct ask *a)
{
    if (!a)
        return;
    if (a->own.on_close)
        a->own.on_close(a->own.arg);
    ask_free(a);
}
