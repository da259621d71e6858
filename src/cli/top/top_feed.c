/* top_feed.c - two requests in turn: all gpus for the wall, else their counts; a page of a list */

#include "cli/top/top_feed.h"

#include "base/mem.h"
#include "cli/top/top_items.h"

struct top_feed {
    struct session *session;
    top_feed_fn done;
    void *arg;
    struct client_call *call;
    struct top_wish wish;
    char *page_path; /* NULL: the screen has no page */
    struct top_items items;
    struct top_view view; /* in the making */
};

static void feed_take(void *arg, const json_t *item)
{
    struct top_feed *f = arg;

    top_view_add_gpu(&f->view, item);
}

static void feed_on_data(void *arg, struct str piece)
{
    struct top_feed *f = arg;

    top_items_add(&f->items, piece);
}

static int64_t feed_now_ns(const struct top_feed *f)
{
    return loop_wall_ns(session_loop(f->session));
}

/* Takes the page. */
static void feed_end(struct top_feed *f, const struct err *e, struct top_page *page)
{
    struct top_view view = f->view;
    struct top_page none = {0};

    f->view = (struct top_view){0};
    f->done(f->arg, e, e ? NULL : &view, e || !page ? NULL : page);
    top_view_done(&view);
    top_page_done(page ? page : &none);
}

static void feed_on_page(void *arg, const struct err *failed, const struct client_reply *reply)
{
    struct top_feed *f = arg;
    AUTO(err_freep) struct err *e = client_error(failed, reply);
    AUTO(json_freep) json_t *answer = NULL;
    struct top_page page = {0};

    f->call = NULL;
    if (!e)
        e = json_parse(reply->body, &answer);
    if (!e)
        top_page_read(&page, &f->wish, answer, feed_now_ns(f));
    feed_end(f, e, &page);
}

static void feed_ask_page(struct top_feed *f)
{
    const struct client_request r = {.method = "GET", .path = f->page_path};

    if (f->page_path)
        client_send(session_client(f->session), &r, feed_on_page, f, &f->call);
    else
        feed_end(f, NULL, NULL);
}

static void feed_on_gpus(void *arg, const struct err *failed, const struct client_reply *reply)
{
    struct top_feed *f = arg;
    AUTO(err_freep) struct err *e = client_error(failed, reply);

    f->call = NULL;
    if (!e)
        e = TAKE(f->items.failed);
    top_items_done(&f->items);
    if (!e)
        top_view_end(&f->view, feed_now_ns(f));
    if (e)
        feed_end(f, e, NULL);
    else
        feed_ask_page(f);
}

static void feed_on_counts(void *arg, const struct err *failed, const struct client_reply *reply)
{
    struct top_feed *f = arg;
    AUTO(err_freep) struct err *e = client_error(failed, reply);
    AUTO(json_freep) json_t *answer = NULL;

    f->call = NULL;
    if (!e)
        e = json_parse(reply->body, &answer);
    if (e) {
        feed_end(f, e, NULL);
        return;
    }
    top_view_take_counts(&f->view, json_object_get(answer, "counts"));
    f->view.at_ns = feed_now_ns(f);
    feed_ask_page(f);
}

static void feed_ask_gpus(struct top_feed *f, const char *filter)
{
    bool is_wall = f->wish.screen == TOP_WALL;
    struct client_request r = {.method = "GET"};
    AUTO(buf_done) struct buf path = {0};

    buf_printf(&path, "/apis/mete.dev/v1/wall%s", is_wall ? "" : "?limit=0");
    if (is_wall && *filter) {
        buf_add_text(&path, "?q=");
        client_add_escaped(&path, str_of(filter));
    }
    r.path = path.at;
    f->items = (struct top_items){.take = feed_take, .arg = f};
    if (is_wall)
        client_stream(session_client(f->session), &r, feed_on_data, feed_on_gpus, f, &f->call);
    else
        client_send(session_client(f->session), &r, feed_on_counts, f, &f->call);
}

struct top_feed *top_feed_new(struct session *s, top_feed_fn done, void *arg)
{
    struct top_feed *f = mem_alloc(sizeof(*f));

    f->session = s;
    f->done = done;
    f->arg = arg;
    return f;
}

/* Ends the refresh that is under way. */
static void feed_stop(struct top_feed *f)
{
    if (f->call)
        client_cancel(f->call);
    f->call = NULL;
    top_items_done(&f->items);
    top_view_done(&f->view);
    free(f->page_path);
    f->page_path = NULL;
}

void top_feed_free(struct top_feed *f)
{
    if (!f)
        return;
    feed_stop(f);
    free(f);
}

void top_feed_refresh(struct top_feed *f, const struct top_wish *w)
{
    feed_stop(f);
    f->view = (struct top_view){0};
    f->wish = *w;
    f->page_path = top_page_path(w);
    feed_ask_gpus(f, w->filter);
}
