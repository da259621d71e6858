/*
 * portforward_spdy.c - ports of a pod over SPDY streams (portforward.k8s.io)
 *
 * A connection is a pair of streams with the same header `requestid`: one of `streamtype` "error",
 * which the client opens first and ends at once, and one of "data". Both name the `port`. Old
 * clients send no requestid: the data stream then follows its error stream. After success the error
 * stream ends empty.
 */

#include <stdio.h>

#include "api/portforward_private.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"

enum {
    ID_MAX = 64
};

static const int64_t PAIR_NS = 30 * NS_PER_SEC; /* deadline for the second stream */

struct port_session;

/* A pair of streams; 0: not opened yet. */
struct port_pair {
    struct port_pair *prev;
    struct port_pair *next;
    struct port_session *session;
    char id[ID_MAX];
    uint16_t port;
    uint32_t error;
    uint32_t data;
    bool is_data_ended; /* the client ended it before the forward began */
    struct forward *forward;
    struct loop_timer *timer; /* NULL: the pair is complete */
};

struct port_session {
    struct session_conn *conn;
    struct spdy *spdy;
    struct loop *loop;
    struct forward_target *target;
    struct port_pair *pairs;
    size_t n;
};

static void pair_free(struct port_pair *p)
{
    LIST_REMOVE(p->session->pairs, p);
    p->session->n--;
    forward_free(p->forward);
    loop_timer_free(p->timer);
    free(p);
}

/* Ends both streams, the error stream with `message`; NULL: success. */
static void pair_end(struct port_pair *p, const char *message)
{
    struct spdy *spdy = p->session->spdy;

    spdy_end(spdy, p->data);
    if (message)
        spdy_send(spdy, p->error, str_of(message));
    spdy_end(spdy, p->error);
    pair_free(p);
}

static void session_free(struct port_session *s)
{
    struct port_pair *p = NULL;

    LIST_EACH (s->pairs, p)
        pair_free(p);
    session_conn_free(s->conn);
    forward_target_free(s->target);
    free(s);
}

static struct port_pair *pair_find_stream(struct port_session *s, uint32_t stream)
{
    struct port_pair *p = NULL;

    LIST_EACH (s->pairs, p)
        if (p->error == stream || p->data == stream)
            return p;
    return NULL;
}

static struct port_pair *pair_find_id(struct port_session *s, const char *id)
{
    struct port_pair *p = NULL;

    LIST_EACH (s->pairs, p)
        if (text_equal(p->id, id))
            return p;
    return NULL;
}

/* Stops reading from the client while too much waits for the node. */
static void session_pace(struct port_session *s)
{
    struct port_pair *p = NULL;
    size_t waiting = 0;

    LIST_EACH (s->pairs, p)
        waiting += p->forward ? forward_backlog(p->forward) : 0;
    session_conn_pause(s->conn, waiting >= FORWARD_INPUT_HIGH);
}

/* ---- from the node ---- */

static void pair_credit(struct port_pair *p)
{
    if (p->forward && !session_conn_is_full(p->session->conn) &&
        spdy_backlog(p->session->spdy, p->data) == 0)
        forward_taken(p->forward);
}

static void on_pod_data(void *arg, struct str bytes)
{
    struct port_pair *p = arg;

    spdy_send(p->session->spdy, p->data, bytes);
    pair_credit(p);
}

/* kubectl before 1.23 does not end its own half before both streams have ended. */
static void on_pod_data_end(void *arg)
{
    struct port_pair *p = arg;

    spdy_end(p->session->spdy, p->data);
    spdy_end(p->session->spdy, p->error);
}

static void on_pod_drain(void *arg)
{
    session_pace(((struct port_pair *)arg)->session);
}

static void portforward_spdy_on_pod_end(void *arg, const char *message)
{
    struct port_pair *p = arg;
    struct port_session *s = p->session;

    p->forward = NULL;
    pair_end(p, message);
    session_pace(s);
}

/* ---- from the client ---- */

static void pair_begin(struct port_pair *p)
{
    const struct forward_options o = {.target = p->session->target,
                                      .port = p->port,
                                      .on_data = on_pod_data,
                                      .on_data_end = on_pod_data_end,
                                      .on_drain = on_pod_drain,
                                      .on_end = portforward_spdy_on_pod_end,
                                      .arg = p};
    AUTO(err_freep) struct err *e = NULL;
    AUTO_FREE char *text = NULL;

    loop_timer_free(p->timer);
    p->timer = NULL;
    e = forward_open(&o, &p->forward);
    if (e) {
        text = forward_failure(p->session->target, p->port, err_message(e));
        pair_end(p, text);
    } else if (p->is_data_ended) {
        forward_send_end(p->forward);
    }
}

static void on_alone(void *arg)
{
    struct port_pair *p = arg;

    spdy_reset(p->session->spdy, p->data, SPDY_CANCEL);
    spdy_reset(p->session->spdy, p->error, SPDY_CANCEL);
    pair_free(p);
}

static struct port_pair *pair_new(struct port_session *s, const char *id, uint16_t port)
{
    struct port_pair *p = mem_alloc(sizeof(*p));

    *p = (struct port_pair){.session = s, .port = port};
    (void)snprintf(p->id, sizeof(p->id), "%s", id);
    p->timer = loop_timer_new(s->loop, on_alone, p);
    loop_timer_set(p->timer, PAIR_NS);
    LIST_ADD(s->pairs, p);
    s->n++;
    return p;
}

/* The headers of a stream. */
struct port_stream {
    bool is_data;
    uint16_t port;
    char id[ID_MAX];
};

/* Reads a stream's headers. False: the stream belongs to no connection. */
static bool read_stream(uint32_t stream, const struct spdy_header *headers, size_t n,
                        struct port_stream *ret)
{
    const char *type = spdy_header_get(headers, n, "streamtype");
    const char *id = spdy_header_get(headers, n, "requestid");
    const char *number = spdy_header_get(headers, n, "port");
    int64_t port = 0;
    AUTO(err_freep)
    struct err *e = num_parse_int64(str_of(number ? number : ""), 1, UINT16_MAX, &port);

    if (e || (!text_equal(type, "data") && !text_equal(type, "error")))
        return false;
    if (id && strlen(id) >= ID_MAX)
        return false;
    ret->is_data = text_equal(type, "data");
    ret->port = (uint16_t)port;
    if (id && *id)
        (void)snprintf(ret->id, sizeof(ret->id), "%s", id);
    else
        (void)snprintf(ret->id, sizeof(ret->id), "stream %u",
                       (unsigned)(ret->is_data ? stream - 2 : stream));
    return true;
}

static void portforward_spdy_on_opened(void *arg, uint32_t stream,
                                       const struct spdy_header *headers, size_t n)
{
    struct port_session *s = arg;
    struct port_stream of = {0};
    struct port_pair *p = NULL;
    bool is_fine = read_stream(stream, headers, n, &of);

    if (is_fine)
        p = pair_find_id(s, of.id);
    if (p && (p->port != of.port || (of.is_data ? p->data : p->error) != 0))
        is_fine = false;
    if (!is_fine || (!p && s->n >= FORWARD_PAIRS_MAX)) {
        spdy_reset(s->spdy, stream, SPDY_REFUSED_STREAM);
        return;
    }
    spdy_reply(s->spdy, stream);
    if (!p)
        p = pair_new(s, of.id, of.port);
    if (of.is_data)
        p->data = stream;
    else
        p->error = stream;
    if (p->data && p->error)
        pair_begin(p);
}

static void portforward_spdy_on_data(void *arg, uint32_t stream, struct str bytes)
{
    struct port_session *s = arg;
    struct port_pair *p = pair_find_stream(s, stream);

    if (!p || p->data != stream)
        return;
    if (!p->forward) { /* the reply must precede the error stream's: clients wait for it */
        on_alone(p);
        return;
    }
    forward_send(p->forward, bytes);
    session_pace(s);
}

static void portforward_spdy_on_ended(void *arg, uint32_t stream)
{
    struct port_pair *p = pair_find_stream(arg, stream);

    if (!p || p->data != stream)
        return;
    p->is_data_ended = true;
    if (p->forward)
        forward_send_end(p->forward);
}

/* A reset of the data stream ends the connection; a reset of the error stream does not. */
static void portforward_spdy_on_reset(void *arg, uint32_t stream)
{
    struct port_session *s = arg;
    struct port_pair *p = pair_find_stream(s, stream);

    if (p && p->data == stream) {
        pair_end(p, NULL);
        session_pace(s);
    }
}

static void on_stream_drained(void *arg, uint32_t stream)
{
    struct port_pair *p = pair_find_stream(arg, stream);

    if (p)
        pair_credit(p);
}

static void on_drain(void *arg)
{
    struct port_session *s = arg;
    struct port_pair *p = NULL;

    LIST_EACH (s->pairs, p)
        pair_credit(p);
}

static void on_close(void *arg)
{
    session_free(arg);
}

/* ---- opening ---- */

void portforward_begin_spdy(struct call *c, const struct handshake *h,
                            struct forward_target *target)
{
    struct port_session *s = mem_alloc(sizeof(*s));
    const struct session_conn_options o = {.opened = portforward_spdy_on_opened,
                                           .data = portforward_spdy_on_data,
                                           .ended = portforward_spdy_on_ended,
                                           .reset = portforward_spdy_on_reset,
                                           .drained = on_stream_drained,
                                           .on_drain = on_drain,
                                           .on_close = on_close,
                                           .arg = s};

    *s = (struct port_session){.target = target, .loop = core_loop(c->core)};
    s->conn = session_conn_new(c, h, &o);
    s->spdy = session_conn_spdy(s->conn);
}
