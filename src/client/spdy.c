/* spdy.c - the frames, streams and windows of a SPDY/3.1 session */

#include "client/spdy.h"

#include "base/map.h"
#include "base/mem.h"

enum {
    VERSION = 3,
    HEAD_SIZE = 8,
    PIECE = 16 << 10,           /* size of the DATA frames that we send */
    ANNOUNCE = SPDY_WINDOW / 2, /* bytes of credit that are worth an announcement */
    FLAG_FIN = 1,
    FLAG_UNIDIRECTIONAL = 2,
    SETTING_WINDOW = 7,
    GO_AWAY_OK = 0,
    GO_AWAY_PROTOCOL = 1,
};

static const int64_t WINDOW_MAX = INT32_MAX;

enum spdy_type {
    SYN_STREAM = 1,
    SYN_REPLY = 2,
    RST_STREAM = 3,
    SETTINGS = 4,
    PING = 6,
    GO_AWAY = 7,
    HEADERS = 8,
    WINDOW_UPDATE = 9,
};

struct spdy_stream {
    struct map_handle handle; /* in spdy->streams, by id */
    uint32_t id;
    int64_t window; /* bytes that the peer accepts; below 0: the peer has named no window */
    struct buf out; /* bytes that wait for the window */
    bool is_ended;  /* we end the stream after `out` */
    bool is_end_sent;
    bool is_closed;  /* by the peer */
    uint32_t unsaid; /* consumed bytes, not announced yet */
};

struct spdy {
    struct spdy_options o;
    struct spdy_zip *zip;
    struct spdy_stream *streams;
    size_t n_streams;
    uint32_t last_theirs;
    uint32_t last_ours;
    uint32_t last_ping;
    int64_t first_window; /* of a new stream */
    int64_t window;       /* of the session */
    bool has_stream_windows;
    bool has_session_window;
    bool is_going;      /* the peer has sent GOAWAY */
    bool has_gone_away; /* we have sent GOAWAY */
    uint32_t unsaid;    /* of the session */
    struct buf in;      /* an incomplete head or control frame */
    uint32_t data_left; /* bytes left of the present DATA frame */
    uint32_t data_stream;
    bool data_fin;
};

static struct spdy_stream *stream_find(const struct spdy *s, uint32_t id)
{
    struct spdy_stream *t = NULL;

    map_find(handle, s->streams, &id, sizeof(id), t);
    return t;
}

static void stream_remove(struct spdy *s, struct spdy_stream *t)
{
    map_remove(handle, s->streams, t);
    s->n_streams--;
    buf_done(&t->out);
    free(t);
}

static struct spdy_stream *stream_add(struct spdy *s, uint32_t id)
{
    struct spdy_stream *t = mem_alloc(sizeof(*t));

    *t = (struct spdy_stream){.id = id, .window = s->first_window};
    map_add(handle, s->streams, &t->id, sizeof(t->id), t);
    s->n_streams++;
    return t;
}

struct spdy *spdy_new(const struct spdy_options *o)
{
    struct spdy *s = mem_alloc(sizeof(*s));

    *s = (struct spdy){.o = *o,
                       .zip = spdy_zip_new(),
                       .first_window = SPDY_WINDOW,
                       .window = SPDY_WINDOW,
                       .in = {.cap = SPDY_CONTROL_MAX + HEAD_SIZE}};
    return s;
}

void spdy_free(struct spdy *s)
{
    struct spdy_stream *t = NULL;
    struct spdy_stream *next = NULL;

    if (!s)
        return;
    map_each (handle, s->streams, t, next)
        stream_remove(s, t);
    spdy_zip_free(s->zip);
    buf_done(&s->in);
    free(s);
}

/* ---- out ---- */

static void send_buf(struct spdy *s, const struct buf *b)
{
    s->o.send(s->o.arg, (struct str){b->at, b->size});
}

static void add_control(struct buf *b, enum spdy_type type, unsigned flags, size_t size)
{
    buf_add_u32(b, UINT32_C(1) << 31 | (uint32_t)VERSION << 16 | (uint32_t)type);
    buf_add_u32(b, (uint32_t)flags << 24 | (uint32_t)size);
}

static void send_pair(struct spdy *s, enum spdy_type type, uint32_t first, uint32_t second)
{
    AUTO(buf_done) struct buf b = {0};

    add_control(&b, type, 0, 8);
    buf_add_u32(&b, first);
    buf_add_u32(&b, second);
    send_buf(s, &b);
}

static void send_ping(struct spdy *s, uint32_t id)
{
    AUTO(buf_done) struct buf b = {0};

    add_control(&b, PING, 0, 4);
    buf_add_u32(&b, id);
    send_buf(s, &b);
}

static void send_headers(struct spdy *s, enum spdy_type type, uint32_t id,
                         const struct spdy_header *headers, size_t n)
{
    AUTO(buf_done) struct buf block = {0};
    AUTO(buf_done) struct buf b = {0};
    size_t head = type == SYN_STREAM ? 10 : 4;

    spdy_zip_add(s->zip, &block, headers, n);
    add_control(&b, type, 0, head + block.size);
    buf_add_u32(&b, id);
    if (type == SYN_STREAM)
        buf_add(&b, "\0\0\0\0\0\0", 6); /* associated stream 0; priority 0 */
    buf_add(&b, block.at, block.size);
    send_buf(s, &b);
}

static void send_data(struct spdy *s, uint32_t id, unsigned flags, struct str bytes)
{
    AUTO(buf_done) struct buf b = {0};

    buf_add_u32(&b, id);
    buf_add_u32(&b, (uint32_t)flags << 24 | (uint32_t)bytes.size);
    buf_add(&b, bytes.at, bytes.size);
    send_buf(s, &b);
}

/* The part of `size` that may be sent now. */
static size_t window_of(const struct spdy *s, const struct spdy_stream *t, size_t size)
{
    int64_t n = size < PIECE ? (int64_t)size : PIECE;

    if (s->has_stream_windows && t->window < n)
        n = t->window;
    if (s->has_session_window && s->window < n)
        n = s->window;
    return n > 0 ? (size_t)n : 0;
}

/* Sends what the windows allow. May free the stream. */
static void stream_flush(struct spdy *s, struct spdy_stream *t)
{
    size_t sent = 0;

    while (sent < t->out.size) {
        size_t size = window_of(s, t, t->out.size - sent);

        if (size == 0)
            break;
        send_data(s, t->id, 0, (struct str){t->out.at + sent, size});
        t->window -= (int64_t)size;
        s->window -= (int64_t)size;
        sent += size;
    }
    buf_consume(&t->out, sent);
    if (t->is_ended && !t->is_end_sent && t->out.size == 0) {
        send_data(s, t->id, FLAG_FIN, STR(""));
        t->is_end_sent = true;
    }
    if (t->is_end_sent && t->is_closed)
        stream_remove(s, t);
}

/* From spdy_take: sends waiting bytes, and calls `drained` if none are left. */
static void stream_resume(struct spdy *s, uint32_t id)
{
    struct spdy_stream *t = stream_find(s, id);

    if (!t || t->out.size == 0)
        return;
    stream_flush(s, t);
    t = stream_find(s, id);
    if (t && t->out.size == 0 && s->o.drained)
        s->o.drained(s->o.arg, id);
}

/* A callback may end any stream: ids are kept, not streams. */
static void spdy_resume_all(struct spdy *s)
{
    uint32_t ids[SPDY_STREAMS_MAX];
    struct spdy_stream *t = NULL;
    struct spdy_stream *next = NULL;
    size_t n = 0;

    map_each (handle, s->streams, t, next)
        if (t->out.size > 0 && n < SPDY_STREAMS_MAX)
            ids[n++] = t->id;
    for (size_t i = 0; i < n; i++)
        stream_resume(s, ids[i]);
}

uint32_t spdy_open(struct spdy *s, const struct spdy_header *headers, size_t n)
{
    s->last_ours = s->last_ours == 0 ? (s->o.is_client ? 1 : 2) : s->last_ours + 2;
    (void)stream_add(s, s->last_ours);
    send_headers(s, SYN_STREAM, s->last_ours, headers, n);
    return s->last_ours;
}

void spdy_reply(struct spdy *s, uint32_t stream)
{
    if (stream_find(s, stream))
        send_headers(s, SYN_REPLY, stream, NULL, 0);
}

void spdy_send(struct spdy *s, uint32_t stream, struct str bytes)
{
    struct spdy_stream *t = stream_find(s, stream);

    if (!t || t->is_ended)
        return;
    buf_add(&t->out, bytes.at, bytes.size);
    stream_flush(s, t);
}

void spdy_end(struct spdy *s, uint32_t stream)
{
    struct spdy_stream *t = stream_find(s, stream);

    if (!t || t->is_ended)
        return;
    t->is_ended = true;
    stream_flush(s, t);
}

void spdy_reset(struct spdy *s, uint32_t stream, enum spdy_status status)
{
    struct spdy_stream *t = stream_find(s, stream);

    if (!t)
        return;
    stream_remove(s, t);
    send_pair(s, RST_STREAM, stream, status);
}

static void spdy_credit(struct spdy *s, uint32_t *unsaid, uint32_t stream, size_t size)
{
    *unsaid += (uint32_t)size;
    if (*unsaid < ANNOUNCE)
        return;
    send_pair(s, WINDOW_UPDATE, stream, *unsaid);
    *unsaid = 0;
}

void spdy_taken(struct spdy *s, uint32_t stream, size_t size)
{
    struct spdy_stream *t = stream_find(s, stream);

    spdy_credit(s, &s->unsaid, 0, size);
    if (t && !t->is_closed)
        spdy_credit(s, &t->unsaid, stream, size);
}

size_t spdy_backlog(const struct spdy *s, uint32_t stream)
{
    const struct spdy_stream *t = stream_find(s, stream);

    return t ? t->out.size : 0;
}

void spdy_ping(struct spdy *s)
{
    s->last_ping = s->last_ping == 0 ? (s->o.is_client ? 1 : 2) : s->last_ping + 2;
    send_ping(s, s->last_ping);
}

static void spdy_say_gone(struct spdy *s, uint32_t status)
{
    if (!s->has_gone_away)
        send_pair(s, GO_AWAY, s->last_theirs, status);
    s->has_gone_away = true;
}

void spdy_go_away(struct spdy *s)
{
    spdy_say_gone(s, GO_AWAY_OK);
}

bool spdy_is_over(const struct spdy *s)
{
    return s->is_going && !s->streams;
}

/* ---- in ---- */

/* Like str_u32, but ignores the first bit. */
static uint32_t read_u31(const char *bytes)
{
    return str_u32(bytes) & INT32_MAX;
}

/* The peer ends its half of the stream. */
static void take_fin(struct spdy *s, uint32_t id)
{
    struct spdy_stream *t = stream_find(s, id);

    if (!t || t->is_closed)
        return;
    t->is_closed = true;
    if (t->is_end_sent)
        stream_remove(s, t);
    s->o.ended(s->o.arg, id);
}

static void take_data(struct spdy *s, struct str bytes)
{
    uint32_t id = s->data_stream;
    struct spdy_stream *t = stream_find(s, id);

    if (t && t->is_closed) {
        spdy_reset(s, id, SPDY_STREAM_ALREADY_CLOSED);
        s->o.reset(s->o.arg, id);
        t = NULL;
    }
    if (t)
        s->o.data(s->o.arg, id, bytes);
    else
        spdy_credit(s, &s->unsaid, 0, bytes.size); /* the peer may not know yet */
}

/* Why must a new stream of the peer be refused? A status of RST_STREAM; 0: accept it. */
static enum spdy_status refusal(const struct spdy *s)
{
    if (!s->o.opened || s->has_gone_away || s->n_streams >= SPDY_STREAMS_MAX)
        return SPDY_REFUSED_STREAM;
    return 0;
}

static struct err *take_syn_stream(struct spdy *s, unsigned flags, struct str payload)
{
    struct spdy_block block;
    struct spdy_stream *t = NULL;
    enum spdy_status why = 0;
    uint32_t id;

    if (payload.size < 10)
        return err_new(ERR_BAD_REQUEST, "SYN_STREAM of %zu bytes", payload.size);
    id = read_u31(payload.at);
    TRY(spdy_zip_read(s->zip, (struct str){payload.at + 10, payload.size - 10}, &block));
    if (id % 2 != (s->o.is_client ? 0 : 1) || id <= s->last_theirs)
        return err_new(ERR_BAD_REQUEST, "stream %u was opened after stream %u", (unsigned)id,
                       (unsigned)s->last_theirs);
    s->last_theirs = id;
    why = refusal(s);
    if (why) {
        send_pair(s, RST_STREAM, id, why);
        return NULL;
    }
    t = stream_add(s, id);
    if (flags & FLAG_UNIDIRECTIONAL)
        t->is_ended = t->is_end_sent = true;
    s->o.opened(s->o.arg, id, block.headers, block.n);
    if (flags & FLAG_FIN)
        take_fin(s, id);
    return NULL;
}

/* SYN_REPLY and HEADERS: the headers are read and dropped. */
static struct err *take_headers(struct spdy *s, enum spdy_type type, unsigned flags,
                                struct str payload)
{
    struct spdy_block block;
    uint32_t id;

    if (payload.size < 4)
        return err_new(ERR_BAD_REQUEST, "headers of %zu bytes", payload.size);
    id = read_u31(payload.at);
    TRY(spdy_zip_read(s->zip, (struct str){payload.at + 4, payload.size - 4}, &block));
    if (type == SYN_REPLY && s->o.replied && stream_find(s, id))
        s->o.replied(s->o.arg, id);
    if (flags & FLAG_FIN)
        take_fin(s, id);
    return NULL;
}

static struct err *take_reset(struct spdy *s, struct str payload)
{
    struct spdy_stream *t = NULL;
    uint32_t id;

    if (payload.size != 8)
        return err_new(ERR_BAD_REQUEST, "RST_STREAM of %zu bytes", payload.size);
    id = read_u31(payload.at);
    t = stream_find(s, id);
    if (!t)
        return NULL;
    stream_remove(s, t);
    s->o.reset(s->o.arg, id);
    return NULL;
}

static void take_first_window(struct spdy *s, uint32_t size)
{
    struct spdy_stream *t = NULL;
    struct spdy_stream *next = NULL;
    int64_t more = (int64_t)(size & INT32_MAX) - s->first_window;

    s->has_stream_windows = true;
    s->first_window += more;
    map_each (handle, s->streams, t, next)
        t->window += more;
    spdy_resume_all(s);
}

static struct err *take_settings(struct spdy *s, struct str payload)
{
    size_t n = payload.size >= 4 ? str_u32(payload.at) : 0;

    if (payload.size < 4 || (payload.size - 4) / 8 < n || payload.size - 4 != n * 8)
        return err_new(ERR_BAD_REQUEST, "SETTINGS of %zu bytes for %zu entries", payload.size, n);
    for (size_t i = 0; i < n; i++) {
        const char *entry = payload.at + 4 + i * 8;

        if ((str_u32(entry) & 0xffffff) == SETTING_WINDOW)
            take_first_window(s, str_u32(entry + 4));
    }
    return NULL;
}

static struct err *take_window(struct spdy *s, struct str payload)
{
    struct spdy_stream *t = NULL;
    uint32_t id;
    int64_t *window = NULL;
    uint32_t more;

    if (payload.size != 8)
        return err_new(ERR_BAD_REQUEST, "WINDOW_UPDATE of %zu bytes", payload.size);
    id = read_u31(payload.at);
    more = read_u31(payload.at + 4);
    t = stream_find(s, id);
    if (id != 0 && !t)
        return NULL;
    s->has_session_window = s->has_session_window || id == 0;
    s->has_stream_windows = s->has_stream_windows || id != 0;
    window = t ? &t->window : &s->window;
    if (*window + more > WINDOW_MAX) {
        if (!t)
            return err_new(ERR_BAD_REQUEST, "WINDOW_UPDATE past 2^31 - 1 bytes");
        spdy_reset(s, id, SPDY_FLOW_CONTROL_ERROR);
        s->o.reset(s->o.arg, id);
        return NULL;
    }
    *window += more;
    if (t)
        stream_resume(s, id);
    else
        spdy_resume_all(s);
    return NULL;
}

static struct err *take_ping(struct spdy *s, struct str payload)
{
    if (payload.size != 4)
        return err_new(ERR_BAD_REQUEST, "PING of %zu bytes", payload.size);
    if (str_u32(payload.at) % 2 != (s->o.is_client ? 1 : 0)) /* not an answer to our ping */
        send_ping(s, str_u32(payload.at));
    return NULL;
}

static struct err *take_control(struct spdy *s, struct str frame)
{
    unsigned version = read_u31(frame.at) >> 16;
    unsigned type = str_u32(frame.at) & 0xffff;
    unsigned flags = (unsigned char)frame.at[4];
    struct str payload = {frame.at + HEAD_SIZE, frame.size - HEAD_SIZE};

    if (version != VERSION)
        return err_new(ERR_BAD_REQUEST, "SPDY version %u, want 3", version);
    switch (type) {
    case SYN_STREAM:
        return take_syn_stream(s, flags, payload);
    case SYN_REPLY:
        return take_headers(s, SYN_REPLY, flags, payload);
    case HEADERS:
        return take_headers(s, HEADERS, flags, payload);
    case RST_STREAM:
        return take_reset(s, payload);
    case SETTINGS:
        return take_settings(s, payload);
    case PING:
        return take_ping(s, payload);
    case WINDOW_UPDATE:
        return take_window(s, payload);
    case GO_AWAY:
        s->is_going = true;
        return NULL;
    default: /* unknown types are ignored (2.2.1) */
        return NULL;
    }
}

/* Moves bytes from `*rest` to the input buffer until it has `want`. False: too few bytes. */
static bool spdy_gather(struct spdy *s, struct str *rest, size_t want)
{
    size_t size = s->in.size < want ? want - s->in.size : 0;

    if (size > rest->size)
        size = rest->size;
    buf_add(&s->in, rest->at, size);
    *rest = (struct str){rest->at + size, rest->size - size};
    return s->in.size >= want;
}

static void take_data_piece(struct spdy *s, struct str *rest)
{
    size_t size = rest->size < s->data_left ? rest->size : s->data_left;
    struct str piece = {rest->at, size};

    *rest = (struct str){rest->at + size, rest->size - size};
    s->data_left -= (uint32_t)size;
    if (size > 0)
        take_data(s, piece);
    if (s->data_left == 0 && s->data_fin)
        take_fin(s, s->data_stream);
}

static struct err *take_data_head(struct spdy *s, struct str *rest)
{
    s->data_stream = read_u31(s->in.at);
    s->data_fin = (unsigned char)s->in.at[4] & FLAG_FIN;
    s->data_left = str_u32(s->in.at + 4) & 0xffffff;
    buf_clear(&s->in);
    if (s->data_stream == 0 || (s->data_stream > s->last_theirs && s->data_stream > s->last_ours))
        return err_new(ERR_BAD_REQUEST, "data of stream %u, which was never opened",
                       (unsigned)s->data_stream);
    take_data_piece(s, rest);
    return NULL;
}

/* Takes one frame, or the part of it that has arrived. */
static struct err *take_some(struct spdy *s, struct str *rest)
{
    size_t size;
    struct err *e = NULL;

    if (s->data_left > 0) {
        take_data_piece(s, rest);
        return NULL;
    }
    if (!spdy_gather(s, rest, HEAD_SIZE))
        return NULL;
    if (!((unsigned char)s->in.at[0] & 0x80))
        return take_data_head(s, rest);
    size = str_u32(s->in.at + 4) & 0xffffff;
    if (size > SPDY_CONTROL_MAX)
        return err_new(ERR_TOO_LARGE, "control frame of %zu bytes: at most %d are allowed", size,
                       (int)SPDY_CONTROL_MAX);
    if (!spdy_gather(s, rest, HEAD_SIZE + size))
        return NULL;
    e = take_control(s, (struct str){s->in.at, s->in.size});
    buf_clear(&s->in);
    return e;
}

struct err *spdy_take(struct spdy *s, struct str bytes)
{
    while (bytes.size > 0) {
        struct err *e = take_some(s, &bytes);

        if (e) {
            spdy_say_gone(s, GO_AWAY_PROTOCOL);
            return e;
        }
    }
    return NULL;
}
