/* top_log.c - follows a log into memory */

#include "cli/top/top_log.h"

#include "base/mem.h"
#include "base/stamp.h"

enum {
    LOG_TAIL = 1000
};

static const int64_t log_again_ns = 5 * NS_PER_SEC;

struct top_log {
    struct top_log_options o;
    char *path;
    struct client_call *call;
    struct loop_timer *again;
    struct top_lines lines;
    bool is_fresh; /* the stream has told nothing yet */
};

static void log_on_data(void *arg, struct str piece)
{
    struct top_log *l = arg;

    if (l->is_fresh)
        top_lines_done(&l->lines);
    l->is_fresh = false;
    top_lines_add(&l->lines, piece);
    l->o.on_change(l->o.arg);
}

/* A log that is complete ends, too: it stays the same when it is asked for again. */
static void log_on_done(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct top_log *l = arg;

    (void)e;
    (void)reply;
    l->call = NULL;
    loop_timer_set(l->again, log_again_ns);
}

static void log_ask(void *arg)
{
    struct top_log *l = arg;
    const struct client_request r = {.method = "GET", .path = l->path, .timeout_ns = -1};

    l->is_fresh = true;
    client_stream(session_client(l->o.session), &r, log_on_data, log_on_done, l, &l->call);
}

struct top_log *top_log_new(const struct top_log_options *o)
{
    struct top_log *l = mem_alloc(sizeof(*l));
    struct buf path = {0};

    l->o = *o;
    buf_add_text(&path, "/api/v1/namespaces/");
    client_add_escaped(&path, str_of(o->ns));
    buf_add_text(&path, "/pods/");
    client_add_escaped(&path, str_of(o->pod));
    buf_printf(&path, "/log?follow=true&tailLines=%d&container=", LOG_TAIL);
    client_add_escaped(&path, str_of(o->container));
    l->path = buf_steal(&path);
    l->again = loop_timer_new(session_loop(o->session), log_ask, l);
    log_ask(l);
    return l;
}

void top_log_free(struct top_log *l)
{
    if (!l)
        return;
    if (l->call)
        client_cancel(l->call);
    loop_timer_free(l->again);
    top_lines_done(&l->lines);
    free(l->path);
    free(l);
}

const struct top_lines *top_log_lines(const struct top_log *l)
{
    return &l->lines;
}
