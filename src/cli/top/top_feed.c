/*
 * top_feed.c - three requests in turn: GPUs, running jobs, waiting jobs
 *
 * The server sends at most a window of jobs, whatever their number. A user without rights in all
 * namespaces sees the jobs of the session's namespace.
 */

#include "cli/top/top_feed.h"

#include <inttypes.h>

#include "base/mem.h"
#include "cli/top/top_items.h"

enum feed_step {
    FEED_GPUS,
    FEED_RUNNING,
    FEED_WAITING,
    FEED_STEPS
};

struct top_feed {
    struct session *session;
    top_feed_fn done;
    void *arg;
    struct client_call *call;
    enum feed_step step;
    bool is_own_namespace;
    struct top_items items;
    struct top_view view; /* in the making */
    size_t before;        /* jobs before this step */
};

static void feed_ask(struct top_feed *f);

static void feed_take(void *arg, const json_t *item)
{
    struct top_feed *f = arg;

    if (f->step == FEED_GPUS)
        top_view_add_gpu(&f->view, item);
    else
        top_view_add_job(&f->view, item);
}

static void feed_on_data(void *arg, struct str piece)
{
    struct top_feed *f = arg;

    top_items_add(&f->items, piece);
}

static void feed_end(struct top_feed *f, const struct err *e)
{
    struct top_view view = f->view;

    f->view = (struct top_view){0};
    if (!e)
        top_view_end(&view, loop_wall_ns(session_loop(f->session)));
    f->done(f->arg, e, e ? NULL : &view);
    top_view_done(&view);
}

static void feed_on_done(void *arg, const struct err *failed, const struct client_reply *reply)
{
    struct top_feed *f = arg;
    AUTO(err_freep) struct err *e = client_error(failed, reply);

    f->call = NULL;
    if (!e)
        e = TAKE(f->items.failed);
    top_items_done(&f->items);
    if (e && err_code(e) == ERR_FORBIDDEN && f->step != FEED_GPUS && !f->is_own_namespace) {
        f->is_own_namespace = true;
        feed_ask(f);
        return;
    }
    if (e || f->step + 1 == FEED_STEPS) {
        f->view.has_more_jobs = f->view.jobs.n >= TOP_JOBS_WINDOW;
        feed_end(f, e);
        return;
    }
    f->step++;
    feed_ask(f);
}

static void feed_ask(struct top_feed *f)
{
    struct client_request r = {.method = "GET"};
    AUTO_FREE char *ns = path_format("/namespaces/%s", session_namespace(f->session));
    AUTO_FREE char *path = NULL;
    size_t room = TOP_JOBS_WINDOW - (f->view.jobs.n < TOP_JOBS_WINDOW ? f->view.jobs.n : 0);

    if (f->step == FEED_GPUS)
        path = path_format("/apis/mete.dev/v1/gpus");
    else
        path = mem_format("/api/v1%s/pods?limit=%zu&fieldSelector=status.phase%%3D%s",
                          f->is_own_namespace ? ns : "", room,
                          f->step == FEED_RUNNING ? "Running" : "Pending");
    f->items = (struct top_items){.take = feed_take, .arg = f};
    r.path = path;
    client_stream(session_client(f->session), &r, feed_on_data, feed_on_done, f, &f->call);
}

struct top_feed *top_feed_new(struct session *s, top_feed_fn done, void *arg)
{
    struct top_feed *f = mem_alloc(sizeof(*f));

    f->session = s;
    f->done = done;
    f->arg = arg;
    return f;
}

void top_feed_free(struct top_feed *f)
{
    if (!f)
        return;
    if (f->call)
        client_cancel(f->call);
    top_items_done(&f->items);
    top_view_done(&f->view);
    free(f);
}

void top_feed_refresh(struct top_feed *f)
{
    f->step = FEED_GPUS;
    feed_ask(f);
}
