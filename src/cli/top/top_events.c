/*
 * top_events.c - the revision of a list of one event, then a watch from a little before
 *
 * A list of all events could be long, and is not in the order of their times.
 */

#include "cli/top/top_events.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"

enum {
    EVENTS_BEFORE = 1000, /* revisions of the past */
    EVENT_LINE_MAX = 1 << 20
};

static const int64_t events_again_ns = NS_PER_SEC;

struct top_events {
    struct session *session;
    top_events_fn on_change;
    void *arg;
    struct client_call *call;
    struct loop_timer *again;
    int64_t revision; /* of the last event; 0: not known */
    bool is_own_namespace;
    bool is_expired; /* the server has forgotten the revisions before the present one */
    struct buf line;
    VEC(struct top_row) rows; /* the newest last */
};

static void events_begin(void *arg);

static void events_again(struct top_events *v, const struct err *e)
{
    if (e)
        v->on_change(v->arg, e);
    loop_timer_set(v->again, events_again_ns);
}

static void events_take_row(struct top_events *v, const json_t *event)
{
    if (v->rows.n == TOP_EVENTS_MAX) {
        top_row_done(&v->rows.at[0]);
        vec_remove(&v->rows, 0);
    }
    vec_add(&v->rows, top_event_row(event));
}

static void events_take(struct top_events *v, struct str line)
{
    AUTO(json_freep) json_t *tree = NULL;
    AUTO(err_freep) struct err *e = json_parse(line, &tree);
    const char *type = json_text(tree, "type");
    const json_t *event = json_object_get(tree, "object");
    const char *version = json_text_at(event, "metadata", "resourceVersion", NULL);

    if (e)
        return; /* the watch's end tells more */
    if (text_equal(type, "ERROR")) {
        v->is_expired = true;
        v->revision = 0;
        return;
    }
    if (version)
        err_free(num_parse_int64(str_of(version), 1, INT64_MAX, &v->revision)); /* else the same */
    if (text_equal(type, "ADDED") || text_equal(type, "MODIFIED"))
        events_take_row(v, event);
}

static void events_on_data(void *arg, struct str piece)
{
    struct top_events *v = arg;

    while (piece.at && piece.size > 0) {
        struct str part = str_cut(&piece, '\n');

        buf_add(&v->line, part.at, part.size);
        if (!piece.at)
            break; /* the line goes on */
        if (!v->line.overflow)
            events_take(v, (struct str){.at = v->line.at, .size = v->line.size});
        buf_clear(&v->line);
        v->line.overflow = false;
    }
    v->on_change(v->arg, NULL);
}

static void events_on_end(void *arg, const struct err *failed, const struct client_reply *reply)
{
    struct top_events *v = arg;
    AUTO(err_freep) struct err *e = client_error(failed, reply);

    v->call = NULL;
    if (e && err_code(e) == ERR_EXPIRED) {
        v->is_expired = true;
        v->revision = 0;
    }
    events_again(v, e && err_code(e) != ERR_EXPIRED ? e : NULL);
}

static char *events_path(const struct top_events *v, const char *query)
{
    struct buf b = {0};

    buf_add_text(&b, "/api/v1");
    if (v->is_own_namespace) {
        buf_add_text(&b, "/namespaces/");
        client_add_escaped(&b, str_of(session_namespace(v->session)));
    }
    buf_printf(&b, "/events?%s", query);
    return buf_steal(&b);
}

static void events_watch(struct top_events *v, int64_t from)
{
    AUTO_FREE char *query = mem_format("watch=true&resourceVersion=%" PRId64, from);
    AUTO_FREE char *path = events_path(v, query);
    const struct client_request r = {.method = "GET", .path = path, .timeout_ns = -1};

    buf_clear(&v->line);
    v->line.cap = EVENT_LINE_MAX;
    client_stream(session_client(v->session), &r, events_on_data, events_on_end, v, &v->call);
}

static void events_on_revision(void *arg, const struct err *failed,
                               const struct client_reply *reply)
{
    struct top_events *v = arg;
    AUTO(err_freep) struct err *e = client_error(failed, reply);
    AUTO(json_freep) json_t *answer = NULL;
    int64_t now = 0;

    v->call = NULL;
    if (e && err_code(e) == ERR_FORBIDDEN && !v->is_own_namespace) {
        v->is_own_namespace = true;
        events_begin(v);
        return;
    }
    if (!e)
        e = json_parse(reply->body, &answer);
    if (!e)
        e = num_parse_int64(
            str_of(text_or_empty(json_text_at(answer, "metadata", "resourceVersion", NULL))), 0,
            INT64_MAX, &now);
    if (e)
        events_again(v, e);
    else
        events_watch(v, v->is_expired || now <= EVENTS_BEFORE ? (v->is_expired ? now : 1)
                                                              : now - EVENTS_BEFORE);
}

static void events_begin(void *arg)
{
    struct top_events *v = arg;
    AUTO_FREE char *path = events_path(v, "limit=1");
    const struct client_request r = {.method = "GET", .path = path};

    if (v->revision > 0)
        events_watch(v, v->revision);
    else
        client_send(session_client(v->session), &r, events_on_revision, v, &v->call);
}

struct top_events *top_events_new(struct session *s, top_events_fn on_change, void *arg)
{
    struct top_events *v = mem_alloc(sizeof(*v));

    v->session = s;
    v->on_change = on_change;
    v->arg = arg;
    v->again = loop_timer_new(session_loop(s), events_begin, v);
    events_begin(v);
    return v;
}

void top_events_free(struct top_events *v)
{
    if (!v)
        return;
    if (v->call)
        client_cancel(v->call);
    loop_timer_free(v->again);
    VEC_EACH (&v->rows, r)
        top_row_done(r);
    vec_done(&v->rows);
    buf_done(&v->line);
    free(v);
}

size_t top_events_count(const struct top_events *v)
{
    return v->rows.n;
}

const struct top_row *top_events_at(const struct top_events *v, size_t i)
{
    return &v->rows.at[v->rows.n - 1 - i];
}
