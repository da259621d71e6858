/* fake_pinger.c - the ports of fake_pinger.h */

#include "fake_pinger.h"

#include <assert.h>

#include "base/mem.h"

static void on_timer(void *arg)
{
    struct fake_ping *p = arg;
    const struct fake_pinger *f = p->set;
    AUTO(err_freep) struct err *e = NULL;

    p->is_over = true;
    if (f->is_silent)
        e = err_new(ERR_TIMEOUT, "no answer in time");
    else if (f->error)
        e = err_new(ERR_UNAVAILABLE, "%s", f->error);
    p->done(p->arg, e, e || !p->is_http ? 0 : f->status);
}

static void fake_cancel(struct ping *base)
{
    struct fake_ping *p = (struct fake_ping *)base;

    assert(!p->is_over);
    p->is_over = true;
    p->is_cancelled = true;
    loop_timer_stop(p->timer);
}

static struct ping *fake_start(void *self, const struct ping_question *q, ping_done_fn done,
                               void *arg);

static const struct ping_ops fake_ops = {.start = fake_start, .cancel = fake_cancel};

static struct ping *fake_start(void *self, const struct ping_question *q, ping_done_fn done,
                               void *arg)
{
    struct fake_pinger *f = self;
    struct fake_ping *p = mem_alloc(sizeof(*p));

    *p = (struct fake_ping){.ping.ops = &fake_ops,
                            .set = f,
                            .host = mem_strdup(q->host),
                            .path = mem_strdup(q->path ? q->path : ""),
                            .port = q->port,
                            .timeout_ns = q->timeout_ns,
                            .is_http = q->is_http,
                            .is_tls = q->is_tls,
                            .done = done,
                            .arg = arg};
    p->timer = loop_timer_new(f->loop, on_timer, p);
    loop_timer_set(p->timer, f->is_silent ? q->timeout_ns : 0);
    vec_add(&f->all, p);
    return &p->ping;
}

void fake_pinger_init(struct fake_pinger *f, struct loop *l)
{
    *f = (struct fake_pinger){.loop = l, .status = 200};
    f->pinger = (struct pinger){.ops = &fake_ops, .self = f};
}

void fake_pinger_done(struct fake_pinger *f)
{
    for (size_t i = 0; i < f->all.n; i++) {
        struct fake_ping *p = f->all.at[i];

        loop_timer_free(p->timer);
        free(p->host);
        free(p->path);
        free(p);
    }
    vec_done(&f->all);
}
