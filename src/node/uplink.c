#include "node/uplink.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/frames.h"
#include "client/stream.h"
#include "node/logs.h"

enum {
    BACKLOG_MAX = 1 << 20
};

static const int64_t RETRY_NS = 100 * NS_PER_MS;
static const int64_t RETRY_MAX_NS = 5 * NS_PER_SEC;

struct uplink {
    struct loop *loop;
    struct client *client;
    struct pods *pods;
    char *path;
    struct stream *stream;
    bool is_broken; /* closed by us or the other side: freed in the next turn */
    struct buf in;
    struct logs *logs;
    struct loop_timer *timer;
    int64_t retry_ns;
};

/* ---- out ---- */

static void send(struct uplink *u, uint32_t id, enum frame_type type, struct str payload)
{
    AUTO(buf_done) struct buf b = {0};

    if (!u->stream || u->is_broken)
        return;
    frame_format(&b, id, type, payload);
    stream_send(u->stream, (struct str){b.at, b.size});
}

static void send_data(void *arg, uint32_t id, struct str bytes)
{
    send(arg, id, FRAME_DATA, bytes);
}

static void send_end(void *arg, uint32_t id, int code, const char *message)
{
    AUTO(json_freep) json_t *end = json_object();
    AUTO_FREE char *text = NULL;

    json_put_int(end, "code", code);
    json_put_text(end, "message", message);
    text = json_format(end);
    send(arg, id, FRAME_END, str_of(text));
}

static bool is_full(void *arg)
{
    struct uplink *u = arg;

    return !u->stream || u->is_broken || stream_backlog(u->stream) > BACKLOG_MAX;
}

/* ---- in ---- */

static void take_open(struct uplink *u, const struct frame *f)
{
    AUTO(json_freep) json_t *question = NULL;
    AUTO(err_freep) struct err *e = json_parse(f->payload, &question);
    const char *op = json_text(question, "op");

    if (!e && !text_equal(op, "logs"))
        e = err_new(ERR_BAD_REQUEST, "op '%s' is not supported by this node", op ? op : "");
    if (e)
        send_end(u, f->stream, err_http(e), err_message(e));
    else
        logs_open(u->logs, f->stream, question);
}

static struct err *take_frame(struct uplink *u, const struct frame *f)
{
    const unsigned char *bytes = (const unsigned char *)f->payload.at;

    switch (f->type) {
    case FRAME_OPEN:
        take_open(u, f);
        return NULL;
    case FRAME_CREDIT:
        if (f->payload.size != 4)
            return err_new(ERR_BAD_REQUEST, "credit of %zu bytes", f->payload.size);
        logs_credit(u->logs, f->stream,
                    (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
                        bytes[3]);
        return NULL;
    case FRAME_CANCEL:
    case FRAME_END:
        logs_cancel(u->logs, f->stream);
        return NULL;
    case FRAME_DATA:
        return NULL; /* nothing takes any yet */
    }
    return err_new(ERR_BAD_REQUEST, "unknown frame");
}

static void lose(struct uplink *u, const struct err *e)
{
    if (u->is_broken)
        return;
    if (e && u->retry_ns == 0) /* the others until it works again say the same */
        LOG(WARN, "stream to the server is lost", E(e));
    else if (!e)
        LOG(INFO, "stream to the server has ended");
    u->is_broken = true;
    logs_cancel_all(u->logs);
    u->retry_ns = u->retry_ns == 0 ? RETRY_NS : u->retry_ns * 2;
    if (u->retry_ns > RETRY_MAX_NS)
        u->retry_ns = RETRY_MAX_NS;
    loop_timer_set(u->timer, u->retry_ns);
}

static void on_data(void *arg, struct str piece)
{
    struct uplink *u = arg;
    size_t used = 0;

    buf_add(&u->in, piece.at, piece.size);
    while (!u->is_broken) {
        struct frame f = {0};
        size_t size = 0;
        AUTO(err_freep)
        struct err *e =
            u->in.overflow
                ? err_new(ERR_TOO_LARGE, "more than a frame at once")
                : frame_parse((struct str){u->in.at + used, u->in.size - used}, &f, &size);

        if (!e && size > 0)
            e = take_frame(u, &f);
        if (e)
            lose(u, e);
        if (e || size == 0)
            break;
        used += size;
    }
    buf_consume(&u->in, used);
}

static void on_open(void *arg)
{
    struct uplink *u = arg;

    LOG(INFO, "stream to the server is open");
    u->retry_ns = 0;
}

static void on_container(void *arg)
{
    struct uplink *u = arg;

    logs_look(u->logs);
}

static void on_drain(void *arg)
{
    struct uplink *u = arg;

    logs_drained(u->logs);
}

static void on_close(void *arg, const struct err *e)
{
    lose(arg, e);
}

static void open_stream(void *arg)
{
    struct uplink *u = arg;
    const struct stream_options o = {.path = u->path,
                                     .on_open = on_open,
                                     .on_data = on_data,
                                     .on_drain = on_drain,
                                     .on_close = on_close,
                                     .arg = u};
    AUTO(err_freep) struct err *e = NULL;

    stream_free(u->stream);
    u->stream = NULL;
    u->is_broken = false;
    buf_clear(&u->in);
    e = client_upgrade(u->client, &o, &u->stream);
    if (e)
        lose(u, e);
}

struct uplink *uplink_new(struct loop *l, struct client *c, const char *node, struct pods *pods)
{
    struct uplink *u = mem_alloc(sizeof(*u));
    struct buf path = {0};
    struct logs_options o = {
        .loop = l, .pods = pods, .data = send_data, .end = send_end, .is_full = is_full, .arg = u};

    buf_add_text(&path, "/mete.dev/v1/nodes/");
    client_add_escaped(&path, str_of(node));
    buf_add_text(&path, "/stream");
    *u = (struct uplink){.loop = l, .client = c, .path = buf_steal(&path)};
    /* What libcurl hands over at once may be more than a frame and its head. */
    u->in.cap = (size_t)FRAME_PAYLOAD_MAX * 8;
    u->logs = logs_new(&o);
    u->pods = pods;
    pods_listen(pods, on_container, u);
    u->timer = loop_timer_new(l, open_stream, u);
    loop_timer_set(u->timer, 0);
    return u;
}

void uplink_free(struct uplink *u)
{
    if (!u)
        return;
    pods_listen(u->pods, NULL, NULL);
    stream_free(u->stream);
    logs_free(u->logs);
    loop_timer_free(u->timer);
    buf_done(&u->in);
    free(u->path);
    free(u);
}
