/*
 * watch.c - a watch: the present objects (if the client names no revision), then each change
 *
 * Objects are sent as stored; only selectors and tables decode them. The watch of a slow client
 * closes its watch of the store. When the client has read all written bytes, the watch continues
 * from the last revision sent, or ends with 410 if that revision was compacted meanwhile. Cutting
 * off the slow client would not help: if two large events are too much for the client, it would get
 * them again at each attempt.
 */

#include <inttypes.h>

#include "api/form.h"
#include "api/handlers.h"
#include "api/selection.h"
#include "api/version.h"
#include "api/watch_stream.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/object/objects.h"

enum {
    TREES_A_TURN = 256,
    TIMEOUT_DEFAULT_S = 1800, /* and up to as much again, so that watches end at different times */
    TIMEOUT_MAX_S = 24 * 3600,
};

static const int64_t bookmark_ns = 60 * NS_PER_SEC;

struct watcher {
    struct core *core;
    struct watch_stream *stream;
    struct form form;
    struct selection selection;
    char *ns;
    struct store_list initial;
    size_t next;
    struct loop_timer *turn;
    struct loop_timer *timeout;
    struct loop_timer *bookmark;
    struct store_watch *watch; /* NULL: waits for the client to read */
    int64_t revision;          /* all changes up to it were sent */
    int64_t told;              /* revision that the client knows */
    bool has_initial;
    bool wants_bookmarks;
    bool wants_initial_end;
    bool has_columns;    /* the columns of the table were sent */
    uint64_t kinds_seen; /* kinds_generation when the watcher's kind was served last */
};

static void watcher_free(struct watcher *w)
{
    store_watch_free(w->watch);
    watch_stream_free(w->stream);
    loop_timer_free(w->turn);
    loop_timer_free(w->timeout);
    loop_timer_free(w->bookmark);
    store_list_done(&w->initial);
    form_done(&w->form);
    selection_done(&w->selection);
    free(w->ns);
    free(w);
}

static void on_close(void *arg)
{
    watcher_free(arg);
}

static void end(struct watcher *w)
{
    watch_stream_end(w->stream);
    watcher_free(w);
}

static void send(struct watcher *w, const struct buf *b)
{
    watch_stream_add(w->stream, (struct str){.at = b->at, .size = b->size});
    watch_stream_flush(w->stream);
}

/* Only the first event has the table's columns, as in Kubernetes. */
static void add_table_event(struct watcher *w, const struct store_object *o, int64_t version,
                            struct buf *b)
{
    AUTO(buf_done) struct buf text = {0};
    AUTO(json_freep) json_t *table = NULL;
    AUTO_FREE char *shorter = NULL;
    struct err *e;

    form_add_object(&w->form, w->core, o, version, &text);
    if (!w->has_columns) {
        w->has_columns = true;
        buf_add(b, text.at, text.size);
        return;
    }
    e = json_parse((struct str){.at = text.at, .size = text.size}, &table);
    err_free(e); /* our own stored text */
    json_put(table, "columnDefinitions", json_null());
    shorter = json_format(table);
    buf_add_text(b, shorter);
}

static void add_event(struct watcher *w, const char *type, const struct store_object *o,
                      int64_t version, struct buf *b)
{
    buf_printf(b, "{\"type\":\"%s\",\"object\":", type);
    if (w->form.as == AS_TABLE)
        add_table_event(w, o, version, b);
    else
        form_add_object(&w->form, w->core, o, version, b);
    buf_add_text(b, "}\n");
}

static void send_bookmark(struct watcher *w, bool is_initial_end)
{
    AUTO(buf_done) struct buf b = {0};
    const struct kind *k = w->form.kind;

    if (w->form.as == AS_OBJECT)
        buf_printf(&b, "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s\",",
                   k->kind, k->api_version);
    else if (w->form.as == AS_METADATA)
        buf_add_text(&b, "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"PartialObjectMetadata\","
                         "\"apiVersion\":\"meta.k8s.io/v1\",");
    else
        buf_add_text(&b, "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Table\",\"apiVersion\":"
                         "\"meta.k8s.io/v1\","
                         "\"columnDefinitions\":null,\"rows\":[],");
    buf_printf(&b, "\"metadata\":{\"resourceVersion\":\"%" PRId64 "\"%s}}}\n", w->revision,
               is_initial_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
    send(w, &b);
    w->told = w->revision;
}

/* The revision was compacted: the client has to list again. */
static void send_error(struct watcher *w, const struct err *e)
{
    AUTO(json_freep) json_t *status = status_of_error(e, NULL);
    AUTO_FREE char *text = json_format(status);
    AUTO(buf_done) struct buf b = {0};

    buf_printf(&b, "{\"type\":\"ERROR\",\"object\":%s}\n", text);
    send(w, &b);
}

/* The event that a change is for this watcher; NULL: none. A change of labels may add an object to
 * the watch or remove it. */
static const char *event_type(const struct watcher *w, const struct store_change *change)
{
    bool is_all = selection_is_all(&w->selection);
    bool was = change->before &&
               (is_all || selection_matches(&w->selection, w->core, change->before, NULL));
    bool is;

    if (change->type == STORE_DELETED)
        return is_all || selection_matches(&w->selection, w->core, change->object, NULL) ? "DELETED"
                                                                                         : NULL;
    is = is_all || selection_matches(&w->selection, w->core, change->object, NULL);
    if (is)
        return was ? "MODIFIED" : "ADDED";
    return was ? "DELETED" : NULL;
}

/* Is the kind still served? A definition may go, or stop to serve a version. */
static bool is_kind_served(struct watcher *w)
{
    if (w->kinds_seen == kinds_generation())
        return true;
    w->kinds_seen = kinds_generation();
    return kind_is_served(w->form.kind);
}

static void watch_on_change(void *arg, const struct store_change *change, int64_t revision)
{
    AUTO(buf_done) struct buf b = {0};
    struct watcher *w = arg;
    const char *type;
    bool is_leaving;

    /* Pause only between two revisions: all changes of a revision are sent together. */
    if (change && revision > w->revision && watch_stream_is_full(w->stream)) {
        store_watch_free(TAKE(w->watch));
        return; /* watch_on_drain continues */
    }
    w->revision = revision;
    if (!change) {
        if (!is_kind_served(w))
            end(w); /* as in Kubernetes: the client looks anew, and finds no such resource */
        return;
    }
    type = event_type(w, change);
    if (!type)
        return;
    is_leaving = text_equal(type, "DELETED") && change->type != STORE_DELETED;
    add_event(w, type, is_leaving ? change->before : change->object, change->revision, &b);
    send(w, &b);
    w->told = change->revision;
}

/* Watches the store after `revision`; ends the watcher if the store no longer has these changes. */
static void watcher_follow(struct watcher *w, int64_t revision)
{
    const struct kind *kept = kind_kept(w->form.kind);
    const struct store_range range = {.group = kept->group, .resource = kept->plural, .ns = w->ns};
    AUTO(err_freep) struct err *e = NULL;

    e = store_watch_new(core_store(w->core), &range, revision, watch_on_change, w, &w->watch);
    if (!e)
        return;
    if (err_code(e) == ERR_EXPIRED) {
        AUTO(err_freep)
        struct err *expired =
            version_expired(revision, store_compacted_revision(core_store(w->core)));

        send_error(w, expired);
    } else {
        send_error(w, e);
    }
    end(w);
}

static void go_live(struct watcher *w, int64_t revision)
{
    w->revision = revision;
    if (w->wants_initial_end)
        send_bookmark(w, true);
    watcher_follow(w, revision);
}

static void add_initial(struct watcher *w, const struct store_object *o)
{
    AUTO(buf_done) struct buf b = {0};

    add_event(w, "ADDED", o, 0, &b);
    watch_stream_add(w->stream, (struct str){.at = b.at, .size = b.size});
}

/* Sends initial objects for one turn. */
static void run_initial(void *arg)
{
    struct watcher *w = arg;
    size_t trees_left = TREES_A_TURN;

    while (w->next < w->initial.n && trees_left > 0) {
        const struct store_object *o = w->initial.at[w->next++];

        trees_left -= w->selection.needs_text || w->form.as != AS_OBJECT;
        if (selection_is_all(&w->selection) || selection_matches(&w->selection, w->core, o, NULL))
            add_initial(w, o);
        if (watch_stream_is_full(w->stream))
            return; /* watch_on_drain continues */
    }
    watch_stream_flush(w->stream);
    if (w->next < w->initial.n) {
        loop_timer_set(w->turn, 0);
        return;
    }
    w->has_initial = true;
    go_live(w, w->initial.revision);
}

static void watch_on_drain(void *arg)
{
    struct watcher *w = arg;

    if (!w->has_initial)
        loop_timer_set(w->turn, 0);
    else if (!w->watch)
        watcher_follow(w, w->revision);
}

static void on_timeout(void *arg)
{
    struct watcher *w = arg;

    if (w->wants_bookmarks && w->watch && w->told < w->revision)
        send_bookmark(w, false);
    end(w);
}

static void on_bookmark(void *arg)
{
    struct watcher *w = arg;

    if (w->watch && w->told < w->revision)
        send_bookmark(w, false);
    loop_timer_set(w->bookmark, bookmark_ns);
}

static struct err *parse_timeout(const struct call *c, int64_t *ret_ns)
{
    int64_t seconds = 0;
    int64_t now_ns = loop_now_ns(core_loop(c->core));

    TRY(query_int(&c->query, "timeoutSeconds", 0, &seconds));
    if (seconds == 0)
        seconds = TIMEOUT_DEFAULT_S + now_ns / NS_PER_MS % TIMEOUT_DEFAULT_S;
    *ret_ns = (seconds < TIMEOUT_MAX_S ? seconds : TIMEOUT_MAX_S) * NS_PER_SEC;
    return NULL;
}

/* Starts at the present objects, or at a revision that the client names. */
static struct err *open_watch(struct call *c, struct watcher *w, int64_t *ret_from)
{
    const struct kind *kept = kind_kept(c->kind);
    const struct store_range range = {.group = kept->group, .resource = kept->plural, .ns = c->ns};
    bool sends_initial = query_bool(&c->query, "sendInitialEvents");
    const struct watch_stream_options o = {
        .on_drain = watch_on_drain, .on_close = on_close, .arg = w};

    TRY(form_parse(c, &w->form));
    TRY(selection_parse(c, &w->selection));
    TRY(version_parse(c, ret_from));
    TRY(watch_stream_new(c, &o, &w->stream));
    w->wants_bookmarks = query_bool(&c->query, "allowWatchBookmarks");
    w->wants_initial_end = sends_initial && w->wants_bookmarks;
    if (*ret_from == 0 && query_get(&c->query, "sendInitialEvents") && !sends_initial)
        *ret_from = store_revision(core_store(c->core));
    if (*ret_from > 0 && !sends_initial)
        return NULL;
    TRY(version_check_reached(c, *ret_from));
    *ret_from = 0;
    return store_list(core_store(c->core), &range, NULL, NULL, 0, 0, &w->initial);
}

static void watcher_start(struct watcher *w, int64_t from, int64_t timeout_ns)
{
    struct loop *loop = core_loop(w->core);

    w->turn = loop_timer_new(loop, run_initial, w);
    w->timeout = loop_timer_new(loop, on_timeout, w);
    loop_timer_set(w->timeout, timeout_ns);
    if (w->wants_bookmarks) {
        w->bookmark = loop_timer_new(loop, on_bookmark, w);
        loop_timer_set(w->bookmark, bookmark_ns);
    }
    watch_stream_begin(w->stream);
    w->has_initial = from > 0;
    w->told = from;
    if (from > 0)
        go_live(w, from);
    else
        run_initial(w);
}

struct err *handle_watch(struct call *c)
{
    struct watcher *w = mem_alloc(sizeof(*w));
    int64_t timeout_ns = 0;
    int64_t from = 0;
    struct err *e;

    w->core = c->core;
    w->kinds_seen = kinds_generation();
    w->ns = c->ns ? mem_strdup(c->ns) : NULL;
    e = open_watch(c, w, &from);
    if (!e)
        e = parse_timeout(c, &timeout_ns);
    if (e) {
        watcher_free(w);
        return e;
    }
    watcher_start(w, from, timeout_ns);
    return NULL;
}
