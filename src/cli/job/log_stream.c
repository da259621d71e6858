/* log_stream.c - a log that is followed across broken connections */

#include "cli/job/log_stream.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/term/output.h"
#include "cli/term/text_escape.h"

#define AGAIN_NS (200 * NS_PER_MS)
#define HURRY_NS (5 * NS_PER_SEC)

/* The position in the log is a line's time, its count among the lines of the same nanosecond, and
 * the bytes shown. The position stays valid when the log is rotated. */
struct log_stream {
    struct log_options options;
    char *pod_path;
    char *container;
    struct client_call *call;
    struct loop_timer *again;
    struct text_escaper cleaner;

    bool is_in_text; /* in the text of a line; else in its time stamp */
    struct buf stamp;
    char last[STAMP_TEXT_SIZE]; /* time of the newest line; "": none yet */
    int64_t n_same;             /* lines with this time, the newest included */
    int64_t shown;              /* bytes shown of the newest line */
    int64_t known; /* lines with this time that the server sends again after a broken connection */
    int64_t skip;  /* bytes of the present line to skip; -1: all */

    int64_t patience_until_ns;
    bool has_begun;
    struct err *broken; /* stdout is closed */
};

static void log_ask(struct log_stream *l);

static void end(struct log_stream *l, const struct err *e)
{
    l->options.on_end(l->options.arg, e);
}

static void log_show(struct log_stream *l, struct str piece)
{
    struct cli *c = l->options.cli;
    struct buf clean = {0};

    if (!l->has_begun && l->options.on_first)
        l->options.on_first(l->options.arg);
    l->has_begun = true;
    if (l->broken)
        return;
    if (!c->terminal.out || l->options.is_raw) {
        l->broken = output_write(c, piece);
        return;
    }
    text_escape_piece(&l->cleaner, piece, &clean);
    l->broken = output_write(c, (struct str){.at = clean.at, .size = clean.size});
    buf_done(&clean);
}

/* ---- lines ---- */

static void begin_line(struct log_stream *l, struct buf *out)
{
    l->is_in_text = true;
    l->skip = 0;
    if (l->known > 0 && text_equal(l->stamp.at, l->last)) {
        l->known--;
        l->skip = l->known > 0 ? -1 : l->shown;
        return;
    }
    l->known = 0;
    l->n_same = text_equal(l->stamp.at, l->last) ? l->n_same + 1 : 1;
    l->shown = 0;
    (void)snprintf(l->last, sizeof(l->last), "%s", l->stamp.at);
    if (l->options.has_stamps)
        buf_printf(out, "%s ", l->stamp.at);
}

static void log_stream_add_text(struct log_stream *l, struct str text, struct buf *out)
{
    size_t skipped = l->skip < 0                   ? text.size
                     : (size_t)l->skip < text.size ? (size_t)l->skip
                                                   : text.size;

    if (l->skip > 0)
        l->skip -= (int64_t)skipped;
    buf_add(out, text.at + skipped, text.size - skipped);
    if (l->skip >= 0)
        l->shown += (int64_t)(text.size - skipped);
}

/* Takes a piece of the answer; returns how many bytes were a stamp or text of one line. */
static size_t take_part(struct log_stream *l, struct str rest, struct buf *out)
{
    const char *end = memchr(rest.at, l->is_in_text ? '\n' : ' ', rest.size);
    size_t size = end ? (size_t)(end - rest.at) + 1 : rest.size;

    if (l->is_in_text) {
        log_stream_add_text(l, (struct str){rest.at, size}, out);
        l->is_in_text = !end;
        return size;
    }
    buf_add(&l->stamp, rest.at, end ? size - 1 : size);
    if (end) {
        begin_line(l, out);
        buf_clear(&l->stamp);
    }
    return size;
}

static void log_stream_on_data(void *arg, struct str piece)
{
    struct log_stream *l = arg;
    AUTO(buf_done) struct buf out = {0};

    l->patience_until_ns = 0;
    for (size_t at = 0; at < piece.size;)
        at += take_part(l, (struct str){piece.at + at, piece.size - at}, &out);
    if (out.size > 0)
        log_show(l, (struct str){.at = out.at, .size = out.size});
    if (l->broken) {
        client_cancel(TAKE(l->call));
        end(l, l->broken);
    }
}

/* ---- the request ---- */

/* May a retry help? The server or the node's stream may be away for a moment. */
static bool is_passing(const struct err *e)
{
    return err_code(e) == ERR_UNAVAILABLE || err_code(e) == ERR_TIMEOUT || err_code(e) == ERR_BUSY;
}

static bool has_patience(struct log_stream *l)
{
    int64_t now_ns = loop_now_ns(session_loop(l->options.session));

    if (l->patience_until_ns == 0)
        l->patience_until_ns = now_ns + l->options.patience_ns;
    return now_ns < l->patience_until_ns;
}

static void log_stream_on_done(void *arg, const struct err *failed,
                               const struct client_reply *reply)
{
    struct log_stream *l = arg;
    AUTO(err_freep) struct err *e = client_error(failed, reply);

    l->call = NULL;
    if (e && l->options.is_followed && is_passing(e) && has_patience(l)) {
        loop_timer_set(l->again, AGAIN_NS);
        return;
    }
    end(l, e);
}

static void on_again(void *arg)
{
    log_ask(arg);
}

static void add_since(struct buf *path, int64_t since_ns)
{
    char stamp[STAMP_TEXT_SIZE];

    stamp_format_nano(since_ns, stamp);
    buf_printf(path, "&sinceTime=%s", stamp);
}

static void log_ask(struct log_stream *l)
{
    struct buf path = {0};
    struct client_request r = {.method = "GET", .accept = "text/plain, application/json, */*"};

    buf_printf(&path, "%s/log?timestamps=true&follow=%s", l->pod_path,
               l->options.is_followed ? "true" : "false");
    if (l->container) {
        buf_add_text(&path, "&container=");
        client_add_escaped(&path, str_of(l->container));
    }
    if (l->last[0])
        buf_printf(&path, "&sinceTime=%s", l->last);
    else if (l->options.since_ns > 0)
        add_since(&path, l->options.since_ns);
    if (l->options.tail >= 0 && !l->last[0])
        buf_printf(&path, "&tailLines=%" PRId64, l->options.tail);
    if (l->options.is_previous)
        buf_add_text(&path, "&previous=true");
    l->known = l->n_same;
    l->is_in_text = false;
    buf_clear(&l->stamp);
    r.path = path.at;
    r.timeout_ns = l->options.is_followed ? -1 : 0;
    client_stream(session_client(l->options.session), &r, log_stream_on_data, log_stream_on_done, l,
                  &l->call);
    buf_done(&path);
}

struct log_stream *log_stream_new(const struct log_options *o)
{
    struct log_stream *l = mem_alloc(sizeof(*l));

    l->options = *o;
    l->pod_path = mem_strdup(o->pod_path);
    l->container = o->container ? mem_strdup(o->container) : NULL;
    l->cleaner.how = TEXT_ESCAPE_LOG;
    l->stamp.cap = STAMP_TEXT_SIZE - 1;
    l->again = loop_timer_new(session_loop(o->session), on_again, l);
    log_ask(l);
    return l;
}

void log_stream_free(struct log_stream *l)
{
    if (!l)
        return;
    client_cancel(l->call);
    loop_timer_free(l->again);
    err_free(l->broken);
    buf_done(&l->stamp);
    free(l->pod_path);
    free(l->container);
    free(l);
}

void log_stream_hurry(struct log_stream *l)
{
    l->options.patience_ns = HURRY_NS;
    l->patience_until_ns = 0;
}
