/* uplink.c - the node's end of the reverse stream */

#include "node/session/uplink.h"

#include <assert.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/retry.h"
#include "base/stamp.h"
#include "client/frames.h"
#include "client/stream.h"

enum {
    BACKLOG_MAX = 1 << 20,
    SERVICES_MAX = 8,
    LANES_MAX = 1024,
};

static const int64_t RETRY_NS = 100 * NS_PER_MS;
static const int64_t RETRY_MAX_NS = 5 * NS_PER_SEC;

/* One open stream. */
struct uplink_lane {
    struct map_handle handle;
    uint32_t id;
    uint32_t window; /* bytes that the other side may still send */
    bool is_ended;   /* the other side sends no more */
    const struct stream_service *service;
};

struct uplink {
    struct loop *loop;
    struct client *client;
    char *path;
    struct stream *stream;
    bool is_broken; /* closed by either side; freed in the next turn */
    struct buf in;
    struct stream_out out;
    struct stream_service services[SERVICES_MAX];
    size_t n_services;
    struct uplink_lane *lanes;
    struct loop_timer *timer;
    int64_t retry_ns;
};

static struct uplink_lane *find_lane(const struct uplink *u, uint32_t id)
{
    struct uplink_lane *lane = NULL;

    map_find(handle, u->lanes, &id, sizeof(id), lane);
    return lane;
}

static void lane_free(struct uplink *u, struct uplink_lane *lane)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; in the map exactly once */
    map_remove(handle, u->lanes, lane);
    free(lane);
}

/* ---- output ---- */

static void uplink_write(struct uplink *u, const struct buf *frame)
{
    if (u->stream && !u->is_broken)
        stream_send(u->stream, (struct str){frame->at, frame->size});
}

static void uplink_send(struct uplink *u, uint32_t id, enum frame_type type, struct str payload)
{
    AUTO(buf_done) struct buf b = {0};

    frame_format(&b, id, type, payload);
    uplink_write(u, &b);
}

static void send_data(void *arg, uint32_t id, struct str bytes)
{
    uplink_send(arg, id, FRAME_DATA, bytes);
}

static void send_refusal(struct uplink *u, uint32_t id, int code, const char *message)
{
    AUTO(json_freep) json_t *end = json_object();
    AUTO_FREE char *text = NULL;

    json_put_int(end, "code", code);
    json_put_text(end, "message", message);
    text = json_format(end);
    uplink_send(u, id, FRAME_END, str_of(text));
}

static void send_end(void *arg, uint32_t id, int code, const char *message)
{
    struct uplink *u = arg;
    struct uplink_lane *lane = find_lane(u, id);

    if (lane)
        lane_free(u, lane);
    send_refusal(u, id, code, message);
}

static void send_taken(void *arg, uint32_t id, uint32_t bytes)
{
    struct uplink *u = arg;
    struct uplink_lane *lane = find_lane(u, id);
    AUTO(buf_done) struct buf b = {0};

    if (!lane || bytes == 0)
        return;
    assert(bytes <= FRAME_CREDIT_FIRST - lane->window);
    lane->window += bytes;
    frame_format_credit(&b, id, bytes);
    uplink_write(u, &b);
}

static bool is_full(void *arg)
{
    struct uplink *u = arg;

    return !u->stream || u->is_broken || stream_backlog(u->stream) > BACKLOG_MAX;
}

/* ---- input ---- */

static const struct stream_service *find_service(const struct uplink *u, const char *op)
{
    for (size_t i = 0; i < u->n_services; i++)
        for (size_t k = 0; u->services[i].ops[k]; k++)
            if (text_equal(u->services[i].ops[k], op))
                return &u->services[i];
    return NULL;
}

static struct err *check_open(const struct uplink *u, const json_t *question,
                              const struct stream_service **ret)
{
    const char *op = json_text(question, "op");
    const struct stream_service *service = find_service(u, op);

    if (!service)
        return err_new(ERR_BAD_REQUEST, "op '%.64s' is not supported by this node", op ? op : "");
    if (map_count(handle, u->lanes) >= LANES_MAX)
        return err_new(ERR_UNAVAILABLE, "this node has %d open streams, try again later",
                       (int)LANES_MAX);
    *ret = service;
    return NULL;
}

static struct err *take_open(struct uplink *u, const struct frame *f)
{
    AUTO(json_freep) json_t *question = NULL;
    const struct stream_service *service = NULL;
    AUTO(err_freep) struct err *e = NULL;
    struct uplink_lane *lane = NULL;

    if (find_lane(u, f->stream))
        return err_new(ERR_BAD_REQUEST, "stream %u is open already", (unsigned)f->stream);
    e = json_parse(f->payload, &question);
    if (!e)
        e = check_open(u, question, &service);
    if (!service) {
        send_refusal(u, f->stream, err_http(e), err_message(e));
        return NULL;
    }
    lane = mem_alloc(sizeof(*lane));
    *lane = (struct uplink_lane){.id = f->stream, .window = FRAME_CREDIT_FIRST, .service = service};
    map_add(handle, u->lanes, &lane->id, sizeof(lane->id), lane);
    service->open(service->self, lane->id, question);
    return NULL;
}

static struct err *take_data(struct uplink_lane *lane, const struct frame *f)
{
    if (lane->is_ended || !lane->service->data)
        return err_new(ERR_BAD_REQUEST, "stream %u takes no data", (unsigned)lane->id);
    if (f->payload.size > lane->window)
        return err_new(ERR_BAD_REQUEST, "stream %u: more data than its credit", (unsigned)lane->id);
    lane->window -= (uint32_t)f->payload.size;
    lane->service->data(lane->service->self, lane->id, f->payload);
    return NULL;
}

static struct err *take_credit(const struct uplink_lane *lane, const struct frame *f)
{
    uint32_t bytes = 0;

    TRY(frame_read_credit(f->payload, &bytes));
    lane->service->credit(lane->service->self, lane->id, bytes);
    return NULL;
}

static void take_cancel(struct uplink *u, struct uplink_lane *lane)
{
    const struct stream_service *service = lane->service;
    uint32_t id = lane->id;

    lane_free(u, lane);
    service->cancel(service->self, id);
}

static struct err *take_frame(struct uplink *u, const struct frame *f)
{
    struct uplink_lane *lane = find_lane(u, f->stream);

    if (f->type == FRAME_OPEN)
        return take_open(u, f);
    if (!lane)
        return NULL; /* the stream has ended, unknown to the other side yet */
    switch (f->type) {
    case FRAME_DATA:
        return take_data(lane, f);
    case FRAME_CREDIT:
        return take_credit(lane, f);
    case FRAME_CANCEL:
        take_cancel(u, lane);
        return NULL;
    case FRAME_END:
        if (!lane->is_ended && lane->service->end)
            lane->service->end(lane->service->self, lane->id);
        lane = find_lane(u, f->stream); /* the service may have ended it */
        if (lane)
            lane->is_ended = true;
        return NULL;
    case FRAME_OPEN:
        break;
    }
    return err_new(ERR_BAD_REQUEST, "unknown frame");
}

static void cancel_all(struct uplink *u)
{
    struct uplink_lane *lane = NULL;
    struct uplink_lane *next = NULL;

    map_each (handle, u->lanes, lane, next)
        lane_free(u, lane);
    for (size_t i = 0; i < u->n_services; i++)
        u->services[i].cancel_all(u->services[i].self);
}

static void uplink_lose(struct uplink *u, const struct err *e)
{
    if (u->is_broken)
        return;
    if (e && u->retry_ns == 0) /* once, until a connection succeeds */
        LOG(WARN, "stream to the server is lost", E(e));
    else if (!e)
        LOG(INFO, "stream to the server has ended");
    u->is_broken = true;
    cancel_all(u);
    loop_timer_set(u->timer, retry_pause(&u->retry_ns, RETRY_NS, RETRY_MAX_NS));
}

static void uplink_on_data(void *arg, struct str piece)
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
            uplink_lose(u, e);
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

static void on_drain(void *arg)
{
    struct uplink *u = arg;

    for (size_t i = 0; i < u->n_services; i++)
        u->services[i].drained(u->services[i].self);
}

static void on_close(void *arg, const struct err *e)
{
    uplink_lose(arg, e);
}

static void open_stream(void *arg)
{
    struct uplink *u = arg;
    const struct stream_options o = {.path = u->path,
                                     .on_open = on_open,
                                     .on_data = uplink_on_data,
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
        uplink_lose(u, e);
}

/* ---- start and end ---- */

const struct stream_out *uplink_out(const struct uplink *u)
{
    return &u->out;
}

void uplink_serve(struct uplink *u, const struct stream_service *service)
{
    assert(u->n_services < SERVICES_MAX);
    u->services[u->n_services] = *service;
    u->n_services++;
}

struct uplink *uplink_new(struct loop *l, struct client *c, const char *node)
{
    struct uplink *u = mem_alloc(sizeof(*u));
    struct buf path = {0};

    buf_add_text(&path, "/mete.dev/v1/nodes/");
    client_add_escaped(&path, str_of(node));
    buf_add_text(&path, "/stream");
    *u = (struct uplink){.loop = l, .client = c, .path = buf_steal(&path)};
    u->out = (struct stream_out){
        .data = send_data, .end = send_end, .taken = send_taken, .is_full = is_full, .arg = u};
    /* libcurl may deliver more than a whole frame at once. */
    u->in.cap = (size_t)FRAME_PAYLOAD_MAX * 8;
    u->timer = loop_timer_new(l, open_stream, u);
    loop_timer_set(u->timer, 0);
    return u;
}

void uplink_free(struct uplink *u)
{
    if (!u)
        return;
    cancel_all(u);
    stream_free(u->stream);
    loop_timer_free(u->timer);
    buf_done(&u->in);
    free(u->path);
    free(u);
}
