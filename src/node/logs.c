#include "node/logs.h"

#include <inttypes.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/frames.h"
#include "node/crilog.h"
#include "node/log_file.h"

enum {
    STREAMS_MAX = 1024,
    CHUNK = 65536,
    CHUNKS_A_TURN = 16, /* then the loop sees to others */
    CREDIT_MAX = 1 << 30,
};

static const int64_t LOOK_NS =
    200 * NS_PER_MS; /* whether its container lives, or its file is there */

struct logs {
    struct logs_options o;
    struct log_stream *streams;
};

struct log_stream {
    struct map_handle handle;
    struct logs *logs;
    uint32_t id;
    char *uid;
    char *container;
    int64_t attempt; /* -1: the newest */
    bool is_previous;
    bool follows;
    bool wants_stamps;
    int64_t tail_lines;  /* -1: all */
    int64_t limit_bytes; /* -1: none */
    struct log_file *file;
    bool is_seeking; /* for the last lines */
    int64_t seek_at;
    size_t seen_lines;
    int64_t offset;
    bool is_inside_line; /* a part of a line went out */
    bool is_done;        /* the limit is reached */
    struct buf out;      /* text that waits for credit */
    uint32_t credit;
    struct loop_timer *timer;
};

static void stream_turn(void *arg);

static void stream_free(struct log_stream *s)
{
    map_remove(handle, s->logs->streams, s);
    log_file_free(s->file);
    buf_done(&s->out);
    loop_timer_free(s->timer);
    free(s->uid);
    free(s->container);
    free(s);
}

static void stream_end(struct log_stream *s, int code, const char *message)
{
    const struct stream_out *out = s->logs->o.out;
    uint32_t id = s->id;

    stream_free(s);
    out->end(out->arg, id, code, message);
}

static struct log_stream *find(struct logs *l, uint32_t id)
{
    struct log_stream *s = NULL;

    map_find(handle, l->streams, &id, sizeof(id), s);
    return s;
}

/* ---- out ---- */

/* True when everything has left. */
static bool flush(struct log_stream *s)
{
    const struct stream_out *out = s->logs->o.out;

    while (s->out.size > 0 && s->credit > 0 && !out->is_full(out->arg)) {
        size_t size = s->out.size < s->credit ? s->out.size : s->credit;

        if (size > FRAME_PAYLOAD_MAX)
            size = FRAME_PAYLOAD_MAX;
        out->data(out->arg, s->id, (struct str){s->out.at, size});
        s->credit -= (uint32_t)size;
        buf_consume(&s->out, size);
    }
    return s->out.size == 0;
}

/* False when the limit is reached. */
static bool put(struct log_stream *s, struct str text)
{
    if (s->limit_bytes >= 0 && (int64_t)text.size > s->limit_bytes)
        text.size = (size_t)s->limit_bytes;
    buf_add(&s->out, text.at, text.size);
    if (s->limit_bytes >= 0)
        s->limit_bytes -= (int64_t)text.size;
    return s->limit_bytes != 0;
}

static bool put_line(struct log_stream *s, const struct crilog_line *line)
{
    bool goes_on = true;

    if (s->wants_stamps && !s->is_inside_line && line->stamp.size > 0)
        goes_on = put(s, line->stamp) && put(s, STR(" "));
    goes_on = goes_on && put(s, line->text);
    if (goes_on && !line->is_partial)
        goes_on = put(s, STR("\n"));
    s->is_inside_line = line->is_partial;
    return goes_on;
}

/* ---- in ---- */

static bool is_over(const struct log_stream *s)
{
    int64_t newest = -1;
    bool is_live = false;
    AUTO_FREE char *dir = pods_log_dir(s->logs->o.pods, s->uid, s->container, &newest, &is_live);

    return !dir || newest > s->attempt || !is_live;
}

enum turn {
    TURN_MORE,
    TURN_WAIT,
    TURN_DEAD
};

/* One chunk nearer to the begin of the last lines. */
static struct err *seek_chunk(struct log_stream *s, char *chunk)
{
    int64_t from = s->seek_at > CHUNK ? s->seek_at - CHUNK : 0;
    size_t size = 0;
    size_t kept = 0;
    bool is_found = false;
    const char *first = NULL;

    TRY(log_file_read(s->file, from, chunk, (size_t)(s->seek_at - from), &size));
    /* What begins before the chunk is looked at with the next one; a line without end in a whole
     * chunk is taken in pieces. */
    first = from > 0 ? memchr(chunk, '\n', size) : NULL;
    if (first && first + 1 < chunk + size)
        kept = (size_t)(first - chunk) + 1;
    size_t at = crilog_tail((struct str){chunk + kept, size - kept}, (size_t)s->tail_lines,
                            &s->seen_lines, &is_found);

    s->seek_at = from + (int64_t)(kept + at);
    if (is_found || s->seek_at == 0 || size == 0) {
        s->offset = s->seek_at;
        s->is_seeking = false;
    }
    return NULL;
}

/* One chunk of lines into `out`. */
static struct err *read_chunk(struct log_stream *s, char *chunk, enum turn *ret)
{
    bool may_grow =
        s->follows && !is_over(s); /* asked before the read: else the end may be missed */
    size_t size = 0;
    size_t used = 0;

    *ret = TURN_DEAD;
    if (s->is_done)
        return NULL;
    TRY(log_file_read(s->file, s->offset, chunk, CHUNK, &size));
    while (!s->is_done) {
        struct crilog_line line = {0};
        size_t taken = 0;

        crilog_read((struct str){chunk + used, size - used}, &line, &taken);
        if (taken == 0 && used == 0 && size == CHUNK) { /* longer than any that conmon writes */
            line = (struct crilog_line){.text = {chunk, size}, .is_partial = true};
            taken = size;
        }
        if (taken == 0)
            break;
        used += taken;
        s->is_done = !put_line(s, &line);
    }
    s->offset += (int64_t)used;
    if (used > 0)
        *ret = TURN_MORE;
    else if (may_grow)
        *ret = TURN_WAIT;
    return NULL;
}

static struct err *open_file(struct log_stream *s, enum turn *ret)
{
    int64_t newest = -1;
    bool is_live = false;
    AUTO_FREE char *dir = pods_log_dir(s->logs->o.pods, s->uid, s->container, &newest, &is_live);
    AUTO_FREE char *path = NULL;
    struct err *e = NULL;

    if (!dir)
        return err_new(ERR_NOT_FOUND, "container '%s' is not on this node", s->container);
    if (s->attempt < 0 || (!s->is_previous && s->attempt > newest && newest >= 0 && !is_live))
        s->attempt = newest >= 0 ? newest : 0;
    if (s->is_previous)
        s->attempt = newest - 1;
    s->is_previous = false;
    if (s->attempt < 0)
        return err_new(ERR_BAD_REQUEST, "previous terminated container '%s' not found",
                       s->container);
    path = mem_format("%s/%s/%" PRId64 ".log", dir, s->container, s->attempt);
    e = log_file_open(path, &s->file);
    if (e && err_code(e) == ERR_NOT_FOUND && is_live && s->follows) {
        err_free(e);
        *ret = TURN_WAIT;
        return NULL;
    }
    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        return is_live
                   ? err_new(ERR_BAD_REQUEST,
                             "container '%s' is waiting to start: ContainerCreating", s->container)
                   : err_new(ERR_NOT_FOUND, "container '%s' has no log of attempt %" PRId64,
                             s->container, s->attempt);
    }
    TRY(e);
    s->is_seeking = s->tail_lines >= 0;
    s->seek_at = log_file_size(s->file);
    *ret = TURN_MORE;
    return NULL;
}

/* ---- turns ---- */

static struct err *take_turn(struct log_stream *s, char *chunk, enum turn *ret)
{
    *ret = TURN_MORE;
    for (int i = 0; i < CHUNKS_A_TURN && *ret == TURN_MORE; i++) {
        if (!s->file) {
            TRY(open_file(s, ret));
        } else if (s->is_seeking) {
            TRY(seek_chunk(s, chunk));
        } else {
            if (!flush(s)) {
                *ret = TURN_WAIT; /* for credit, or for the connection */
                return NULL;
            }
            TRY(read_chunk(s, chunk, ret));
        }
    }
    return NULL;
}

static void stream_turn(void *arg)
{
    struct log_stream *s = arg;
    AUTO_FREE char *chunk = mem_alloc(CHUNK);
    enum turn turn = TURN_MORE;
    AUTO(err_freep) struct err *e = take_turn(s, chunk, &turn);

    if (e) {
        stream_end(s, err_http(e), err_message(e));
        return;
    }
    if (turn == TURN_DEAD) {
        stream_end(s, 200, "");
        return;
    }
    if (turn == TURN_MORE) {
        loop_timer_set(s->timer, 0);
        return;
    }
    if (s->out.size > 0)
        return; /* credit, or the drained connection, goes on */
    if (s->file)
        err_free(log_file_watch(s->file, s->logs->o.loop, stream_turn, s)); /* else by the timer */
    loop_timer_set(s->timer, LOOK_NS);
}

/* ---- the whole ---- */

static void logs_open(void *self, uint32_t id, const json_t *question)
{
    struct logs *l = self;
    const struct stream_out *out = l->o.out;
    const char *uid = json_text(question, "podUid");
    const char *container = json_text(question, "container");
    struct log_stream *s = NULL;

    if (!uid || !container) {
        out->end(out->arg, id, 400, "want podUid and container");
        return;
    }
    if (map_count(handle, l->streams) >= STREAMS_MAX) {
        out->end(out->arg, id, 503, "too many logs are read on this node");
        return;
    }
    s = mem_alloc(sizeof(*s));
    *s = (struct log_stream){.logs = l,
                             .id = id,
                             .uid = mem_strdup(uid),
                             .container = mem_strdup(container),
                             .attempt = json_int(question, "attempt", -1),
                             .is_previous = json_bool(question, "previous", false),
                             .follows = json_bool(question, "follow", false),
                             .wants_stamps = json_bool(question, "timestamps", false),
                             .tail_lines = json_int(question, "tailLines", -1),
                             .limit_bytes = json_int(question, "limitBytes", -1),
                             .credit = FRAME_CREDIT_FIRST};
    map_add(handle, l->streams, &s->id, sizeof(s->id), s);
    s->timer = loop_timer_new(l->o.loop, stream_turn, s);
    loop_timer_set(s->timer, 0);
}

static void logs_credit(void *self, uint32_t id, uint32_t bytes)
{
    struct log_stream *s = find(self, id);

    if (!s)
        return; /* it has ended, and the other side does not know yet */
    s->credit = bytes > CREDIT_MAX - s->credit ? CREDIT_MAX : s->credit + bytes;
    loop_timer_set(s->timer, 0);
}

static void logs_cancel(void *self, uint32_t id)
{
    struct log_stream *s = find(self, id);

    if (s)
        stream_free(s);
}

static void logs_drained(void *self)
{
    struct logs *l = self;
    struct log_stream *s = NULL;
    struct log_stream *next = NULL;

    map_each (handle, l->streams, s, next)
        if (s->out.size > 0)
            loop_timer_set(s->timer, 0);
}

/* A container started or ended: those who follow look again. */
static void logs_look(void *arg)
{
    struct logs *l = arg;
    struct log_stream *s = NULL;
    struct log_stream *next = NULL;

    map_each (handle, l->streams, s, next)
        if (s->follows && s->out.size == 0)
            loop_timer_set(s->timer, 0);
}

static void logs_cancel_all(void *self)
{
    struct logs *l = self;
    struct log_stream *s = NULL;
    struct log_stream *next = NULL;

    map_each (handle, l->streams, s, next)
        stream_free(s);
}

struct logs *logs_new(const struct logs_options *o)
{
    struct logs *l = mem_alloc(sizeof(*l));

    l->o = *o;
    pods_listen(o->pods, logs_look, l);
    return l;
}

struct stream_service logs_service(struct logs *l)
{
    static const char *const ops[] = {"logs", NULL};

    return (struct stream_service){.ops = ops,
                                   .open = logs_open,
                                   .credit = logs_credit,
                                   .cancel = logs_cancel,
                                   .drained = logs_drained,
                                   .cancel_all = logs_cancel_all,
                                   .self = l};
}

void logs_free(struct logs *l)
{
    if (!l)
        return;
    logs_cancel_all(l);
    pods_listen(l->o.pods, NULL, NULL);
    free(l);
}
