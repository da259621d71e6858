/* websocket.c - WebSocket messages by wslay */

#include "client/websocket.h"

#include <wslay/wslay.h>

#include "base/file.h"
#include "base/mem.h"

enum {
    PIECE = 32768
};

struct websocket {
    struct websocket_options o;
    wslay_event_context_ptr context;
    struct str in;   /* bytes not read yet */
    bool is_closed;  /* by the peer */
    bool is_closing; /* by us */
    bool is_busy;    /* websocket_take is on the stack */
};

static ssize_t on_recv(wslay_event_context_ptr context, uint8_t *bytes, size_t size, int flags,
                       void *arg)
{
    struct websocket *w = arg;
    size_t n = size < w->in.size ? size : w->in.size;

    (void)flags;
    if (n == 0 || w->is_closed) {
        wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    memcpy(bytes, w->in.at, n);
    w->in = (struct str){w->in.at + n, w->in.size - n};
    return (ssize_t)n;
}

static ssize_t websocket_on_send(wslay_event_context_ptr context, const uint8_t *bytes, size_t size,
                                 int flags, void *arg)
{
    struct websocket *w = arg;

    (void)context;
    (void)flags;
    w->o.send(w->o.arg, (struct str){(const char *)bytes, size});
    return (ssize_t)size;
}

static int on_mask(wslay_event_context_ptr context, uint8_t *bytes, size_t size, void *arg)
{
    (void)context;
    (void)arg;
    random_bytes(bytes, size);
    return 0;
}

static void websocket_on_message(wslay_event_context_ptr context,
                                 const struct wslay_event_on_msg_recv_arg *m, void *arg)
{
    struct websocket *w = arg;
    struct str bytes = {(const char *)m->msg, m->msg_length};

    (void)context;
    if (w->is_closed)
        return;
    if (m->opcode == WSLAY_TEXT_FRAME || m->opcode == WSLAY_BINARY_FRAME)
        w->o.message(w->o.arg, bytes);
    else if (m->opcode == WSLAY_CONNECTION_CLOSE)
        w->is_closed = true;
}

static void flush(struct websocket *w)
{
    /* Our callback takes all bytes, so wslay can only report a lack of memory. */
    while (wslay_event_want_write(w->context))
        if (wslay_event_send(w->context) != 0)
            break;
}

struct websocket *websocket_new(const struct websocket_options *o)
{
    static const struct wslay_event_callbacks callbacks = {
        .recv_callback = on_recv,
        .send_callback = websocket_on_send,
        .genmask_callback = on_mask,
        .on_msg_recv_callback = websocket_on_message,
    };
    struct websocket *w = mem_alloc(sizeof(*w));
    int failed;

    w->o = *o;
    failed = o->is_client ? wslay_event_context_client_init(&w->context, &callbacks, w)
                          : wslay_event_context_server_init(&w->context, &callbacks, w);
    if (failed)
        abort(); /* out of memory */
    wslay_event_config_set_max_recv_msg_length(w->context, WEBSOCKET_MESSAGE_MAX);
    return w;
}

void websocket_free(struct websocket *w)
{
    if (!w)
        return;
    wslay_event_context_free(w->context);
    free(w);
}

bool websocket_is_closed(const struct websocket *w)
{
    return w->is_closed;
}

struct err *websocket_take(struct websocket *w, struct str bytes)
{
    bool is_broken;

    w->in = bytes;
    w->is_busy = true;
    is_broken = wslay_event_recv(w->context) != 0;
    w->is_busy = false;
    w->in = (struct str){0};
    flush(w);
    /* wslay itself answers a violation of the protocol with a close. */
    if (is_broken || (!w->is_closed && !w->is_closing && wslay_event_get_close_sent(w->context)))
        return err_new(ERR_BAD_REQUEST, "bytes that break the WebSocket protocol");
    return NULL;
}

static void websocket_queue(struct websocket *w, enum wslay_opcode opcode, struct str bytes)
{
    const struct wslay_event_msg m = {
        .opcode = (uint8_t)opcode, .msg = (const uint8_t *)bytes.at, .msg_length = bytes.size};

    if (wslay_event_queue_msg(w->context, &m) == WSLAY_ERR_NOMEM)
        abort(); /* other refusals: a close was sent, nothing may follow */
    if (!w->is_busy)
        flush(w);
}

void websocket_send(struct websocket *w, unsigned char channel, struct str bytes)
{
    AUTO(buf_done) struct buf b = {0};

    do {
        size_t size = bytes.size < PIECE ? bytes.size : PIECE;

        buf_clear(&b);
        buf_add_char(&b, (char)channel);
        buf_add(&b, bytes.at, size);
        websocket_queue(w, WSLAY_BINARY_FRAME, (struct str){b.at, b.size});
        bytes = (struct str){bytes.at + size, bytes.size - size};
    } while (bytes.size > 0);
}

void websocket_send_binary(struct websocket *w, struct str bytes)
{
    while (bytes.size > 0) {
        size_t size = bytes.size < PIECE ? bytes.size : PIECE;

        websocket_queue(w, WSLAY_BINARY_FRAME, (struct str){bytes.at, size});
        bytes = (struct str){bytes.at + size, bytes.size - size};
    }
}

void websocket_send_text(struct websocket *w, struct str text)
{
    websocket_queue(w, WSLAY_TEXT_FRAME, text);
}

void websocket_ping(struct websocket *w)
{
    websocket_queue(w, WSLAY_PING, STR(""));
}

void websocket_close(struct websocket *w, unsigned code)
{
    w->is_closing = true;
    (void)wslay_event_queue_close(w->context, (uint16_t)code, NULL, 0); /* may be closed */
    if (!w->is_busy)
        flush(w);
}
