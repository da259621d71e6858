#include "cli/log_stream.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/clean.h"
#include "cli/output.h"

#define AGAIN_NS (200 * NS_PER_MS)
#define HURRY_NS (5 * NS_PER_SEC)

struct log_stream {
    struct log_options options;
    char *pod_path;
    char *container;
    struct client_call *call;
    struct loop_timer *again;
    struct cleaner cleaner;
    int64_t shown; /* bytes of the log that were shown */
    int64_t skip;  /* of the present answer, shown before */
    int64_t patience_until_ns;
    bool has_begun;
    struct err *broken; /* stdout is closed */
};

static void ask(struct log_stream *l);

static void end(struct log_stream *l, const struct err *e)
{
    l->options.on_end(l->options.arg, e);
}

static void show(struct log_stream *l, struct str piece)
{
    struct cli *c = l->options.cli;
    struct buf clean = {0};

    if (!l->has_begun && l->options.on_first)
        l->options.on_first(l->options.arg);
    l->has_begun = true;
    if (l->broken)
        return;
    if (!c->terminal.out || l->options.is_raw) {
        l->broken = output_write(c, piece);
        return;
    }
    clean_piece(&l->cleaner, piece, &clean);
    l->broken = output_write(c, (struct str){.at = clean.at, .size = clean.size});
    buf_done(&clean);
}

static void on_data(void *arg, struct str piece)
{
    struct log_stream *l = arg;
    int64_t size = (int64_t)piece.size;
    int64_t skipped = l->skip < size ? l->skip : size;

    l->skip -= skipped;
    l->shown += size - skipped;
    l->patience_until_ns = 0;
    if (size > skipped)
        show(l, (struct str){.at = piece.at + skipped, .size = (size_t)(size - skipped)});
    if (l->broken) {
        client_cancel(TAKE(l->call));
        end(l, l->broken);
    }
}

/* Whether asking again may help: the server or the node's stream is away for a moment. */
static bool is_passing(const struct err *e)
{
    return err_code(e) == ERR_UNAVAILABLE || err_code(e) == ERR_TIMEOUT || err_code(e) == ERR_BUSY;
}

static bool has_patience(struct log_stream *l)
{
    int64_t now_ns = loop_now_ns(session_loop(l->options.session));

    if (l->patience_until_ns == 0)
        l->patience_until_ns = now_ns + l->options.patience_ns;
    return now_ns < l->patience_until_ns;
}

static void on_done(void *arg, const struct err *failed, const struct client_reply *reply)
{
    struct log_stream *l = arg;
    AUTO(err_freep) struct err *e = client_error(failed, reply);
    bool can_resume = l->options.tail < 0 || l->shown == 0;

    l->call = NULL;
    if (e && l->options.is_followed && can_resume && is_passing(e) && has_patience(l)) {
        loop_timer_set(l->again, AGAIN_NS);
        return;
    }
    end(l, e);
}

static void on_again(void *arg)
{
    ask(arg);
}

static void ask(struct log_stream *l)
{
    struct buf path = {0};
    struct client_request r = {.method = "GET", .accept = "text/plain, application/json, */*"};

    buf_printf(&path, "%s/log?follow=%s", l->pod_path, l->options.is_followed ? "true" : "false");
    if (l->container) {
        buf_add_text(&path, "&container=");
        client_add_escaped(&path, str_of(l->container));
    }
    if (l->options.tail >= 0)
        buf_printf(&path, "&tailLines=%" PRId64, l->options.tail);
    if (l->options.is_previous)
        buf_add_text(&path, "&previous=true");
    l->skip = l->shown;
    r.path = path.at;
    r.timeout_ns = l->options.is_followed ? -1 : 0;
    client_stream(session_client(l->options.session), &r, on_data, on_done, l, &l->call);
    buf_done(&path);
}

struct log_stream *log_stream_new(const struct log_options *o)
{
    struct log_stream *l = mem_alloc(sizeof(*l));

    l->options = *o;
    l->pod_path = mem_strdup(o->pod_path);
    l->container = o->container ? mem_strdup(o->container) : NULL;
    l->cleaner.how = CLEAN_LOG;
    l->again = loop_timer_new(session_loop(o->session), on_again, l);
    ask(l);
    return l;
}

void log_stream_free(struct log_stream *l)
{
    if (!l)
        return;
    client_cancel(l->call);
    loop_timer_free(l->again);
    err_free(l->broken);
    free(l->pod_path);
    free(l->container);
    free(l);
}

void log_stream_hurry(struct log_stream *l)
{
    l->options.patience_ns = HURRY_NS;
    l->patience_until_ns = 0;
}
