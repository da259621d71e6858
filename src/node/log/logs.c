/* logs.c - log streams over the reverse stream, within their credit */

#include "node/log/logs.h"

#include <inttypes.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/frames.h"
#include "node/log/crilog.h"
#include "node/log/log_reader.h"

enum {
    STREAMS_MAX = 1024,
    CHUNKS_A_TURN = 16, /* then other work of the loop gets its turn */
};

static const int64_t LOOK_NS =
    200 * NS_PER_MS; /* poll: does the container live, does the file exist? */

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
    int64_t since_ns;    /* 0: all */
    struct log_reader *reader;
    bool is_inside_line; /* a part of the present line was sent */
    bool is_done;        /* the limit is reached */
    struct lane lane;
    struct loop_timer *timer;
};

static void log_stream_turn(void *arg);

static void log_stream_free(struct log_stream *s)
{
    map_remove(handle, s->logs->streams, s);
    log_reader_free(s->reader);
    buf_done(&s->lane.out);
    loop_timer_free(s->timer);
    free(s->uid);
    free(s->container);
    free(s);
}

static void stream_end(struct log_stream *s, int code, const char *message)
{
    const struct stream_out *out = s->logs->o.out;
    uint32_t id = s->id;

    log_stream_free(s);
    out->end(out->arg, id, code, message);
}

static struct log_stream *log_stream_find(struct logs *l, uint32_t id)
{
    struct log_stream *s = NULL;

    map_find(handle, l->streams, &id, sizeof(id), s);
    return s;
}

/* ---- output ---- */

/* Appends text. False: the limit is reached. */
static bool log_stream_put(struct log_stream *s, struct str text)
{
    if (s->limit_bytes >= 0 && (int64_t)text.size > s->limit_bytes)
        text.size = (size_t)s->limit_bytes;
    buf_add(&s->lane.out, text.at, text.size);
    if (s->limit_bytes >= 0)
        s->limit_bytes -= (int64_t)text.size;
    return s->limit_bytes != 0;
}

/* Appends the time of a line in the kubelet's form: UTC, with all digits. */
static bool log_stream_put_stamp(struct log_stream *s, struct str stamp)
{
    char text[STAMP_TEXT_SIZE];
    int64_t stamp_ns = 0;
    AUTO(err_freep) struct err *e = stamp_parse(stamp, &stamp_ns);

    if (!e)
        stamp_format_nano(stamp_ns, text);
    return log_stream_put(s, e ? stamp : str_of(text)) && log_stream_put(s, STR(" "));
}

static bool put_line(void *arg, const struct crilog_line *line)
{
    struct log_stream *s = arg;
    bool goes_on = true;

    if (s->wants_stamps && !s->is_inside_line && line->stamp.size > 0)
        goes_on = log_stream_put_stamp(s, line->stamp);
    goes_on = goes_on && log_stream_put(s, line->text);
    if (goes_on && !line->is_partial)
        goes_on = log_stream_put(s, STR("\n"));
    s->is_inside_line = line->is_partial;
    s->is_done = !goes_on;
    return goes_on;
}

/* ---- input ---- */

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

/* Reads one chunk of lines into `out`. */
static struct err *read_chunk(struct log_stream *s, enum turn *ret)
{
    bool may_grow =
        s->follows && !is_over(s); /* before the read, else the last lines may be missed */
    enum log_step step = LOG_END;

    *ret = TURN_DEAD;
    if (s->is_done)
        return NULL;
    TRY(log_reader_step(s->reader, put_line, s, &step));
    if (step == LOG_MORE)
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
    AUTO_FREE char *output = pods_output_path(s->logs->o.pods, s->uid);
    struct log_reader_options o = {.tail_lines = s->tail_lines, .since_ns = s->since_ns};
    struct err *e = NULL;

    if (!dir)
        return err_new(ERR_NOT_FOUND, "container '%s' is not on this node", s->container);
    if (output) /* a path of the user, never opened with the rights of the node */
        return err_new(ERR_BAD_REQUEST,
                       "the output of this job is not in a log, but in the file "
                       "'%s' of its user, on node %s",
                       output, pods_node(s->logs->o.pods));
    if (s->attempt < 0 || (!s->is_previous && s->attempt > newest && newest >= 0 && !is_live))
        s->attempt = newest >= 0 ? newest : 0;
    if (s->is_previous)
        s->attempt = pods_log_previous(s->logs->o.pods, s->uid, s->container);
    s->is_previous = false;
    if (s->attempt < 0)
        return err_new(ERR_BAD_REQUEST, "previous terminated container '%s' not found",
                       s->container);
    path = mem_format("%s/%s/%" PRId64 ".log", dir, s->container, s->attempt);
    o.path = path;
    e = log_reader_new(&o, &s->reader);
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
    *ret = TURN_MORE;
    return NULL;
}

/* ---- turns ---- */

static struct err *take_turn(struct log_stream *s, enum turn *ret)
{
    *ret = TURN_MORE;
    for (int i = 0; i < CHUNKS_A_TURN && *ret == TURN_MORE; i++) {
        if (!s->reader) {
            TRY(open_file(s, ret));
        } else {
            if (!stream_out_flush(s->logs->o.out, s->id, &s->lane)) {
                *ret = TURN_WAIT; /* until credit or `drained` comes */
                return NULL;
            }
            TRY(read_chunk(s, ret));
        }
    }
    return NULL;
}

static void log_stream_turn(void *arg)
{
    struct log_stream *s = arg;
    enum turn turn = TURN_MORE;
    AUTO(err_freep) struct err *e = take_turn(s, &turn);

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
    if (s->lane.out.size > 0)
        return;    /* continues with credit or `drained` */
    if (s->reader) /* without a reader, the timer looks */
        err_free(log_reader_watch(s->reader, s->logs->o.loop, log_stream_turn, s));
    loop_timer_set(s->timer, LOOK_NS);
}

/* ---- the service ---- */

/* The time of "sinceTime" or "sinceSeconds" by this machine's clock; 0: neither. */
static int64_t since_ns(const struct logs *l, const json_t *question)
{
    int64_t since = stamp_or(json_text(question, "sinceTime"), 0); /* the server checked it */
    int64_t seconds = json_int(question, "sinceSeconds", 0);
    int64_t now_ns = loop_wall_ns(l->o.loop);

    if (seconds > 0 && seconds < now_ns / NS_PER_SEC)
        since = now_ns - seconds * NS_PER_SEC;
    return since;
}

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
                             .since_ns = since_ns(l, question),
                             .lane = lane_new()};
    map_add(handle, l->streams, &s->id, sizeof(s->id), s);
    s->timer = loop_timer_new(l->o.loop, log_stream_turn, s);
    loop_timer_set(s->timer, 0);
}

static void logs_credit(void *self, uint32_t id, uint32_t bytes)
{
    struct log_stream *s = log_stream_find(self, id);

    if (!s)
        return; /* the stream has ended, unknown to the other side yet */
    lane_take_credit(&s->lane, bytes);
    loop_timer_set(s->timer, 0);
}

static void logs_cancel(void *self, uint32_t id)
{
    struct log_stream *s = log_stream_find(self, id);

    if (s)
        log_stream_free(s);
}

static void logs_drained(void *self)
{
    struct logs *l = self;
    struct log_stream *s = NULL;
    struct log_stream *next = NULL;

    map_each (handle, l->streams, s, next)
        if (s->lane.out.size > 0)
            loop_timer_set(s->timer, 0);
}

/* A container started or ended: followed logs may have ended or begun. */
static void logs_look(void *arg)
{
    struct logs *l = arg;
    struct log_stream *s = NULL;
    struct log_stream *next = NULL;

    map_each (handle, l->streams, s, next)
        if (s->follows && s->lane.out.size == 0)
            loop_timer_set(s->timer, 0);
}

static void logs_cancel_all(void *self)
{
    struct logs *l = self;
    struct log_stream *s = NULL;
    struct log_stream *next = NULL;

    map_each (handle, l->streams, s, next)
        log_stream_free(s);
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
    pods_unlisten(l->o.pods, l);
    free(l);
}
