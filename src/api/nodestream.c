/* nodestream.c - connections of nodes and their streams */

#include "api/nodestream.h"

#include <assert.h>

#include "access/authz.h"
#include "api/handlers.h"
#include "api/nodestats.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "client/lane.h"

enum {
    STREAMS_MAX = 1024,         /* per node */
    LINK_BACKLOG_MAX = 1 << 20, /* for a node that does not read */
    LINK_DATA_MAX = 1 << 18,    /* above this, data waits in its stream */
    MESSAGE_MAX = 1024,
};

struct link {
    struct node_links *links;
    struct channel *channel;
    char *name;
    struct node_stream *streams; /* map by id */
    uint32_t last_id;
    uint32_t turn; /* the last stream that was resumed */
    struct buf in;
    struct map_handle handle; /* in links->all, by name */
};

struct node_links {
    struct link *all;
    struct node_stream *waiting; /* list: for nodes that have not connected since the start */
    size_t n_waiting;
    struct loop_timer *timer; /* the end of the wait */
    bool is_waiting;          /* requests to nodes that are not connected wait */
};

struct node_stream {
    struct node_links *links;
    struct link *link; /* NULL: waits for its node */
    char *node;        /* while it waits */
    char *open;
    struct node_stream *prev; /* in links->waiting */
    struct node_stream *next;
    uint32_t id;
    size_t credit; /* bytes that the node may still send */
    struct lane lane;
    bool is_ended; /* the stream ends after the bytes that wait */
    bool is_end_sent;
    void (*on_data)(void *arg, struct str bytes);
    void (*on_drain)(void *arg);
    void (*on_end)(void *arg, int code, const char *message);
    void *arg;
    struct map_handle handle; /* in link->streams */
};

static struct link *find_link(const struct node_links *l, const char *name)
{
    struct link *link = NULL;

    map_find_text(handle, l->all, name, link);
    return link;
}

static struct node_stream *find_stream(const struct link *link, uint32_t id)
{
    struct node_stream *s = NULL;

    map_find(handle, link->streams, &id, sizeof(id), s);
    return s;
}

/* The stream waits no longer. */
static void stream_leave(struct node_stream *s)
{
    LIST_REMOVE(s->links->waiting, s);
    s->links->n_waiting--;
}

static void stream_free(struct node_stream *s)
{
    if (s->link)
        map_remove(handle, s->link->streams, s);
    else
        stream_leave(s);
    buf_done(&s->lane.out);
    free(s->node);
    free(s->open);
    free(s);
}

static void stream_end(struct node_stream *s, int code, const char *message)
{
    void (*on_end)(void *arg, int code, const char *message) = s->on_end;
    void *arg = s->arg;

    stream_free(s);
    on_end(arg, code, message);
}

/* Frees the link after its channel's end, and ends its streams. */
static void link_free(struct link *link, const char *why)
{
    map_remove(handle, link->links->all, link);
    while (link->streams) /* map_remove moves the head, which the analyzer does not follow */
        stream_end(link->streams, 503, why); /* NOLINT(clang-analyzer-unix.Malloc) */
    buf_done(&link->in);
    free(link->name);
    free(link);
}

static void link_close(struct link *link, const char *why)
{
    LOG(WARN, "node stream closed", S("node", link->name), S("why", why));
    link->channel->ops->close(link->channel);
    link_free(link, why);
}

/* Ends the streams whose nodes have not connected. */
static void links_on_timer(void *arg)
{
    struct node_links *l = arg;

    l->is_waiting = false;
    while (l->waiting) {
        AUTO_FREE char *why = mem_format("node \"%s\" is not connected", l->waiting->node);

        stream_end(l->waiting, 503, why);
    }
}

struct node_links *node_links_new(struct loop *loop, int64_t wait_ns)
{
    struct node_links *l = mem_alloc(sizeof(*l));

    *l = (struct node_links){.is_waiting = wait_ns > 0};
    l->timer = loop_timer_new(loop, links_on_timer, l);
    if (wait_ns > 0)
        loop_timer_set(l->timer, wait_ns);
    return l;
}

void node_links_free(struct node_links *l)
{
    if (!l)
        return;
    assert(!l->all && !l->waiting); /* all connections ended before */
    loop_timer_free(l->timer);
    free(l);
}

static void link_send(struct link *link, uint32_t id, enum frame_type type, struct str payload)
{
    AUTO(buf_done) struct buf b = {0};

    frame_format(&b, id, type, payload);
    link->channel->ops->write(link->channel, (struct str){.at = b.at, .size = b.size});
}

/* ---- to the node ---- */

static void lane_data(void *arg, uint32_t id, struct str bytes)
{
    link_send(arg, id, FRAME_DATA, bytes);
}

static bool lane_is_full(void *arg)
{
    const struct link *link = arg;

    return link->channel->ops->backlog(link->channel) >= LINK_DATA_MAX;
}

static void stream_flush(struct node_stream *s)
{
    if (!s->link)
        return;
    (void)lane_flush(&s->lane, s->id, &(struct lane_way){lane_data, lane_is_full, s->link});
    if (s->is_ended && !s->is_end_sent && s->lane.out.size == 0) {
        link_send(s->link, s->id, FRAME_END, STR("{\"code\":200}"));
        s->is_end_sent = true;
    }
}

/* From the connection's events: sends waiting bytes, and calls nodestream_on_drain if none are
 * left. */
static void stream_resume(struct node_stream *s)
{
    if (s->lane.out.size == 0)
        return;
    stream_flush(s);
    if (s->lane.out.size == 0 && s->on_drain)
        s->on_drain(s->arg);
}

void node_stream_send(struct node_stream *s, struct str bytes)
{
    assert(!s->is_ended);
    buf_add(&s->lane.out, bytes.at, bytes.size);
    stream_flush(s);
}

void node_stream_send_end(struct node_stream *s)
{
    s->is_ended = true;
    stream_flush(s);
}

size_t node_stream_backlog(const struct node_stream *s)
{
    return s->lane.out.size;
}

static struct err *take_credit(struct link *link, const struct frame *f)
{
    struct node_stream *s = find_stream(link, f->stream);
    uint32_t more = 0;

    TRY(frame_read_credit(f->payload, &more));
    if (!s)
        return NULL;
    lane_take_credit(&s->lane, more);
    stream_resume(s);
    return NULL;
}

/* ---- from the node ---- */

static struct err *take_data(struct link *link, const struct frame *f)
{
    struct node_stream *s = find_stream(link, f->stream);

    if (!s)
        return NULL; /* cancelled; the node does not know yet */
    if (f->payload.size > s->credit)
        return err_new(ERR_BAD_REQUEST, "stream %u: more data than its credit",
                       (unsigned)f->stream);
    s->credit -= f->payload.size;
    s->on_data(s->arg, f->payload);
    return NULL;
}

static struct err *take_end(struct link *link, const struct frame *f)
{
    struct node_stream *s = find_stream(link, f->stream);
    AUTO(json_freep) json_t *end = NULL;
    AUTO_FREE char *message = NULL;
    int64_t code;

    if (!s)
        return NULL;
    TRY(json_parse(f->payload, &end));
    code = json_int(end, "code", 500);
    message =
        mem_format("%.*s", MESSAGE_MAX, json_text(end, "message") ? json_text(end, "message") : "");
    stream_end(s, code >= 200 && code < 600 ? (int)code : 500, message);
    return NULL;
}

static struct err *nodestream_on_frame(void *arg, const struct frame *f)
{
    struct link *link = arg;
    struct node_stream *s;

    switch (f->type) {
    case FRAME_DATA:
        return take_data(link, f);
    case FRAME_END:
        return take_end(link, f);
    case FRAME_CANCEL:
        s = find_stream(link, f->stream);
        if (s)
            stream_end(s, 503, "the node gave up the stream");
        return NULL;
    case FRAME_CREDIT:
        return take_credit(link, f);
    case FRAME_OPEN:
        return err_new(ERR_BAD_REQUEST, "a node opens no streams");
    }
    return err_new(ERR_BAD_REQUEST, "unknown frame");
}

static void nodestream_on_data(void *arg, struct str bytes)
{
    struct link *link = arg;
    AUTO(err_freep) struct err *e = NULL;

    buf_add(&link->in, bytes.at, bytes.size);
    e = frames_each(&link->in, nodestream_on_frame, link);
    if (e)
        link_close(link, err_message(e));
    else if (link->channel->ops->backlog(link->channel) > LINK_BACKLOG_MAX)
        link_close(link, "the node does not read");
}

/* Returns the waiting stream with the next number after `after`, cyclically. */
static struct node_stream *next_waiting(const struct link *link, uint32_t after)
{
    struct node_stream *found = NULL;
    struct node_stream *s = NULL;
    struct node_stream *next = NULL;

    map_each (handle, link->streams, s, next)
        if (s->lane.out.size > 0 && (!found || s->id - after - 1 < found->id - after - 1))
            found = s;
    return found;
}

/* Resumes streams in turn, so that none starves; a callback may end streams. */
static void nodestream_on_drain(void *arg)
{
    struct link *link = arg;
    struct channel *ch = link->channel;
    size_t n = map_count(handle, link->streams);

    for (size_t i = 0; i < n && ch->ops->backlog(ch) < LINK_DATA_MAX; i++) {
        struct node_stream *s = next_waiting(link, link->turn);

        if (!s)
            return;
        link->turn = s->id;
        stream_resume(s);
    }
}

static void on_close(void *arg)
{
    struct link *link = arg;

    LOG(INFO, "node stream ended", S("node", link->name));
    link_free(link, "the node's connection ended");
}

/* Returns the next free odd number; numbers repeat only after a wrap. */
static uint32_t free_id(struct link *link)
{
    do {
        link->last_id = link->last_id == 0 ? 1 : link->last_id + 2;
    } while (find_stream(link, link->last_id));
    return link->last_id;
}

/* Opens a stream at its node. */
static void stream_begin(struct node_stream *s, struct link *link)
{
    s->link = link;
    s->id = free_id(link);
    map_add(handle, link->streams, &s->id, sizeof(s->id), s);
    link_send(link, s->id, FRAME_OPEN, str_of(s->open));
    free(TAKE(s->open));
}

static struct node_stream *find_waiting(struct node_links *l, const char *node)
{
    struct node_stream *s = NULL;

    LIST_EACH (l->waiting, s)
        if (text_equal(s->node, node))
            return s;
    return NULL;
}

/* Opens the streams that have waited for this node; a callback may end streams. */
static void link_take_waiting(struct link *link)
{
    struct node_stream *s;

    while ((s = find_waiting(link->links, link->name))) {
        stream_leave(s);
        stream_begin(s, link);
        if (s->lane.out.size > 0)
            stream_resume(s);
        else
            stream_flush(s);
    }
}

void node_links_add(struct node_links *l, const char *name, struct exchange *x)
{
    struct link *former = find_link(l, name);
    struct link *link = mem_alloc(sizeof(*link));

    if (former)
        link_close(former, "the node connected again");
    link->links = l;
    link->name = mem_strdup(name);
    link->in.cap = (size_t)FRAME_PAYLOAD_MAX * 2 + FRAME_HEAD_SIZE;
    link->channel = x->ops->upgrade(x, &(struct upgrade){.protocol = "mete-stream"});
    link->channel->on_data = nodestream_on_data;
    link->channel->on_drain = nodestream_on_drain;
    link->channel->on_close = on_close;
    link->channel->arg = link;
    map_add(handle, l->all, link->name, strlen(link->name), link);
    LOG(INFO, "node stream opened", S("node", name));
    link_take_waiting(link);
}

struct err *node_stream_open(struct node_links *l, const struct node_stream_options *o,
                             struct node_stream **ret)
{
    struct link *link = find_link(l, o->node);
    AUTO_FREE char *text = json_format(o->open);
    struct node_stream *s;

    if (!link && !l->is_waiting)
        return err_new(ERR_UNAVAILABLE, "node \"%s\" is not connected", o->node);
    if ((link ? map_count(handle, link->streams) : l->n_waiting) >= STREAMS_MAX)
        return err_new(ERR_UNAVAILABLE, "node \"%s\" has %d open streams, try again later", o->node,
                       (int)STREAMS_MAX);
    if (strlen(text) > FRAME_PAYLOAD_MAX)
        return err_new(ERR_BAD_REQUEST, "the request to node \"%s\" is too large", o->node);
    s = mem_alloc(sizeof(*s));
    *s = (struct node_stream){.links = l,
                              .node = mem_strdup(o->node),
                              .open = TAKE(text),
                              .credit = FRAME_CREDIT_FIRST,
                              .lane = lane_new(),
                              .on_data = o->on_data,
                              .on_drain = o->on_drain,
                              .on_end = o->on_end,
                              .arg = o->arg};
    if (link) {
        stream_begin(s, link);
    } else {
        LIST_ADD(l->waiting, s);
        l->n_waiting++;
    }
    *ret = s;
    return NULL;
}

void node_stream_taken(struct node_stream *s, size_t size)
{
    AUTO(buf_done) struct buf b = {0};

    if (size == 0)
        return;
    assert(size <= FRAME_CREDIT_FIRST - s->credit);
    s->credit += size;
    frame_format_credit(&b, s->id, (uint32_t)size);
    s->link->channel->ops->write(s->link->channel, (struct str){b.at, b.size});
}

void node_stream_cancel(struct node_stream *s)
{
    if (s->link)
        link_send(s->link, s->id, FRAME_CANCEL, STR(""));
    stream_free(s);
}

/* Handles paths below /mete.dev/v1/nodes: NAME/stream here, others by their own handlers. */
struct err *handle_node_stream(struct call *c)
{
    const char *upgrade = request_header(&c->x->request, "upgrade");
    const char *name;

    if (c->target.n >= 5 && text_equal(c->target.segments[4], "images"))
        return handle_node_images(c);
    if (c->target.n != 5 || !text_equal(c->target.segments[4], "stream"))
        return not_found_path();
    name = c->target.segments[3];
    c->name = name;
    TRY(authz_check_stream(&c->who, name));
    if (!upgrade || strcasecmp(upgrade, "mete-stream") != 0)
        return err_new(ERR_BAD_REQUEST, "want 'Upgrade: mete-stream'");
    node_links_add(core_links(c->core), name, c->x);
    node_stats_begin(c->core, name);
    return NULL;
}
