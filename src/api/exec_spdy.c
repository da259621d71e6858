/*
 * exec_spdy.c - exec and attach over SPDY streams (v4.channel.k8s.io and older)
 *
 * The client opens a stream for each of stdin, stdout and stderr that it requested, an error
 * stream, and since v3 one for terminal sizes; their header `streamtype` names them. The session
 * begins when all have come. The error stream ends with the Status; before v4 with a message, which
 * is empty for success.
 */

#include "api/exec_private.h"
#include "base/mem.h"
#include "base/stamp.h"

enum {
    INPUT_MAX = 64 << 10, /* of stdin before the last stream */
    SIZE_MAX_BYTES = 256, /* of a resize message */
};

static const int64_t STREAMS_NS = 30 * NS_PER_SEC;

static const char *const stream_types[CHANNELS] = {
    [CHANNEL_STDIN] = "stdin",  [CHANNEL_STDOUT] = "stdout", [CHANNEL_STDERR] = "stderr",
    [CHANNEL_STATUS] = "error", [CHANNEL_RESIZE] = "resize",
};

void exec_spdy_done(struct exec_streams *s)
{
    loop_timer_free(s->timer);
    buf_done(&s->input);
    buf_done(&s->sizes);
}

/* ---- to the client ---- */

void exec_spdy_send(struct exec_streams *s, unsigned channel, struct str bytes)
{
    spdy_send(s->spdy, s->ids[channel], bytes);
}

void exec_spdy_end(struct exec_streams *s, const json_t *status)
{
    AUTO_FREE char *text = json_format(status);
    const char *message = json_text(status, "message");

    if (s->has_status_text)
        exec_spdy_send(s, CHANNEL_STATUS, str_of(message ? message : ""));
    else
        exec_spdy_send(s, CHANNEL_STATUS, str_of(text));
    for (unsigned i = 0; i < CHANNELS; i++)
        spdy_end(s->spdy, s->ids[i]);
}

bool exec_spdy_is_behind(const struct exec_streams *s)
{
    return spdy_backlog(s->spdy, s->ids[CHANNEL_STDOUT]) > 0 ||
           spdy_backlog(s->spdy, s->ids[CHANNEL_STDERR]) > 0;
}

/* ---- from the client ---- */

static void streams_begin(struct exec_session *r)
{
    struct exec_streams *s = &r->streams;
    struct err *e = NULL;

    loop_timer_free(s->timer);
    s->timer = NULL;
    e = exec_session_begin(r);
    if (e) {
        exec_session_finish(r, exec_failure(err_http(e), err_message(e)));
        err_free(e);
        return;
    }
    exec_session_input(r, (struct str){s->input.at, s->input.size});
    buf_done(&s->input);
    if (s->has_input_end)
        exec_session_input_end(r);
}

static unsigned channel_of_type(const char *type)
{
    for (unsigned i = 0; i < CHANNELS; i++)
        if (text_equal(stream_types[i], type))
            return i;
    return CHANNELS;
}

static unsigned channel_of_stream(const struct exec_streams *s, uint32_t stream)
{
    for (unsigned i = 0; i < CHANNELS; i++)
        if (s->ids[i] == stream)
            return i;
    return CHANNELS;
}

static void exec_spdy_on_opened(void *arg, uint32_t stream, const struct spdy_header *headers,
                                size_t n)
{
    struct exec_session *r = arg;
    struct exec_streams *s = &r->streams;
    unsigned channel = channel_of_type(spdy_header_get(headers, n, "streamtype"));

    if (channel == CHANNELS || !s->is_wanted[channel] || s->ids[channel] != 0) {
        spdy_reset(s->spdy, stream, SPDY_REFUSED_STREAM);
        return;
    }
    s->ids[channel] = stream;
    spdy_reply(s->spdy, stream);
    for (unsigned i = 0; i < CHANNELS; i++)
        if (s->is_wanted[i] && s->ids[i] == 0)
            return;
    streams_begin(r);
}

/* Terminal sizes come as a sequence of texts, in pieces of any size. */
static void take_sizes(struct exec_session *r, struct str bytes)
{
    struct buf *b = &r->streams.sizes;

    for (size_t i = 0; i < bytes.size; i++) {
        buf_add_char(b, bytes.at[i]);
        if (bytes.at[i] == '}')
            exec_session_resize(r, (struct str){b->at, b->size});
        if (bytes.at[i] == '}' || b->size >= SIZE_MAX_BYTES)
            buf_clear(b);
    }
}

static void exec_spdy_on_data(void *arg, uint32_t stream, struct str bytes)
{
    struct exec_session *r = arg;
    struct exec_streams *s = &r->streams;
    unsigned channel = channel_of_stream(s, stream);

    if (channel == CHANNEL_RESIZE) {
        take_sizes(r, bytes);
    } else if (channel == CHANNEL_STDIN && !s->timer) {
        exec_session_input(r, bytes);
    } else if (channel == CHANNEL_STDIN) {
        buf_add(&s->input, bytes.at, bytes.size);
        if (s->input.overflow)
            spdy_reset(s->spdy, stream, SPDY_FLOW_CONTROL_ERROR);
    }
}

static void exec_spdy_on_ended(void *arg, uint32_t stream)
{
    struct exec_session *r = arg;

    if (channel_of_stream(&r->streams, stream) != CHANNEL_STDIN)
        return;
    if (r->streams.timer)
        r->streams.has_input_end = true;
    else
        exec_session_input_end(r);
}

/* A reset of stdin ends it; a reset of an output drops further output. */
static void on_reset(void *arg, uint32_t stream)
{
    exec_spdy_on_ended(arg, stream);
}

static void on_stream_drained(void *arg, uint32_t stream)
{
    (void)stream;
    exec_session_give_credit(arg);
}

static void on_drain(void *arg)
{
    exec_session_give_credit(arg);
}

static void on_close(void *arg)
{
    exec_session_give_up(arg);
}

/* The deadline for the streams has passed. */
static void on_late(void *arg)
{
    exec_session_finish(arg,
                        exec_failure(408, "the client did not open all of its streams in time"));
}

/* ---- opening ---- */

void exec_spdy_begin(struct call *c, const struct handshake *h, struct exec_session *r)
{
    const struct session_conn_options o = {.opened = exec_spdy_on_opened,
                                           .data = exec_spdy_on_data,
                                           .ended = exec_spdy_on_ended,
                                           .reset = on_reset,
                                           .drained = on_stream_drained,
                                           .on_drain = on_drain,
                                           .on_close = on_close,
                                           .arg = r};
    struct exec_streams *s = &r->streams;
    bool has_sizes = text_equal(h->protocol, "v4.channel.k8s.io") ||
                     text_equal(h->protocol, "v3.channel.k8s.io");

    s->has_status_text = !text_equal(h->protocol, "v4.channel.k8s.io");
    s->is_wanted[CHANNEL_STATUS] = true;
    s->is_wanted[CHANNEL_STDIN] = query_bool(&c->query, "stdin");
    s->is_wanted[CHANNEL_STDOUT] = query_bool(&c->query, "stdout");
    s->is_wanted[CHANNEL_STDERR] = query_bool(&c->query, "stderr") && !query_bool(&c->query, "tty");
    s->is_wanted[CHANNEL_RESIZE] = has_sizes && query_bool(&c->query, "tty");
    s->input.cap = INPUT_MAX;
    s->timer = loop_timer_new(core_loop(c->core), on_late, r);
    loop_timer_set(s->timer, STREAMS_NS);
    r->conn = session_conn_new(c, h, &o);
    s->spdy = session_conn_spdy(r->conn);
}
