/* live.c - streams of changes, all fed by one watch */

#include "page/live.h"

#include <inttypes.h>

#include "base/list.h"
#include "base/mem.h"

enum {
    STREAMS_MAX = 512,
};

static const int64_t live_period_ns = NS_PER_SEC / 2;
static const int64_t live_silence_ns = 10 * NS_PER_SEC;

/* Resources that views of the page show. */
static const char *const live_resources[] = {"pods",   "jobs",           "nodes",       "queues",
                                             "events", "resourcequotas", "reservations"};

struct live_stream {
    struct live *live;
    struct exchange *x;
    uint64_t session;
    struct live_stream *prev, *next;
};

struct live {
    struct loop *loop;
    struct store *store;
    struct logins *logins;
    struct loop_timer *timer;
    struct store_watch *watch; /* NULL: no stream is open */
    struct live_stream *streams;
    size_t n;
    unsigned changed; /* bits of live_resources */
    int64_t silent_since_ns;
};

struct live *live_new(struct loop *loop, struct store *store, struct logins *logins)
{
    struct live *l = mem_alloc(sizeof(*l));

    l->loop = loop;
    l->store = store;
    l->logins = logins;
    return l;
}

void live_free(struct live *l)
{
    if (!l)
        return;
    loop_timer_free(l->timer);
    store_watch_free(l->watch);
    free(l);
}

static void stream_free(struct live_stream *s)
{
    LIST_REMOVE(s->live->streams, s);
    s->live->n--;
    free(s);
}

static void live_on_close(void *arg)
{
    stream_free(arg);
}

static void live_on_change(void *arg, const struct store_change *change, int64_t revision)
{
    struct live *l = arg;

    (void)revision;
    for (size_t i = 0; change && i < COUNT(live_resources); i++)
        if (text_equal(change->object->key.resource, live_resources[i]))
            l->changed |= 1U << i;
}

static void add_line(const struct live *l, bool has_samples, struct buf *b)
{
    const char *comma = "";

    buf_printf(b, "{\"revision\":%" PRId64 ",\"changed\":[", store_revision(l->store));
    for (size_t i = 0; i < COUNT(live_resources); i++) {
        if (!(l->changed & (1U << i)))
            continue;
        buf_printf(b, "%s\"%s\"", comma, live_resources[i]);
        comma = ",";
    }
    if (has_samples)
        buf_printf(b, "%s\"samples\"", comma);
    buf_add_text(b, "]}\n");
}

/* Ends streams of sessions that are over, and of browsers that do not read. */
static void stream_tell(struct live_stream *s, const struct buf *line)
{
    struct exchange *x = s->x;

    if (!logins_find_id(s->live->logins, s->session, loop_now_ns(s->live->loop))) {
        stream_free(s);
        x->ops->piece(x, STR("{\"end\":true}\n"));
        x->ops->end(x);
    } else if (x->ops->backlog(x) > API_BACKLOG_MAX) {
        stream_free(s);
        x->ops->cut(x);
    } else if (line->size > 0) {
        x->ops->piece(x, (struct str){.at = line->at, .size = line->size});
    }
}

static void live_tick(void *arg)
{
    struct live *l = arg;
    int64_t now_ns = loop_now_ns(l->loop);
    bool is_silent = now_ns - l->silent_since_ns >= live_silence_ns;
    AUTO(buf_done) struct buf line = {0};
    struct live_stream *s;

    if (l->changed || is_silent)
        add_line(l, is_silent, &line);
    if (is_silent)
        l->silent_since_ns = now_ns;
    l->changed = 0;
    LIST_EACH (l->streams, s)
        stream_tell(s, &line);
    if (l->n > 0) {
        loop_timer_set(l->timer, live_period_ns);
        return;
    }
    store_watch_free(l->watch);
    l->watch = NULL;
}

static struct err *live_watch(struct live *l)
{
    const struct store_range all = {0};

    if (l->watch)
        return NULL;
    TRY(store_watch_new(l->store, &all, store_revision(l->store), live_on_change, l, &l->watch));
    if (!l->timer)
        l->timer = loop_timer_new(l->loop, live_tick, l);
    l->silent_since_ns = loop_now_ns(l->loop);
    loop_timer_set(l->timer, live_period_ns);
    return NULL;
}

struct err *live_begin(struct live *l, uint64_t session, struct exchange *x, const char *security)
{
    const struct api_reply head = {
        .status = 200, .content_type = "application/x-ndjson; charset=utf-8", .headers = security};
    AUTO(buf_done) struct buf line = {0};
    struct live_stream *s;

    if (l->n >= STREAMS_MAX)
        return err_new(ERR_BUSY, "%d browsers are connected already", (int)STREAMS_MAX);
    TRY(live_watch(l));
    s = mem_alloc(sizeof(*s));
    *s = (struct live_stream){.live = l, .x = x, .session = session};
    LIST_ADD(l->streams, s);
    l->n++;
    x->arg = s;
    x->on_close = live_on_close;
    x->ops->begin(x, &head);
    buf_printf(&line, "{\"revision\":%" PRId64 ",\"changed\":[]}\n", store_revision(l->store));
    x->ops->piece(x, (struct str){.at = line.at, .size = line.size});
    return NULL;
}
