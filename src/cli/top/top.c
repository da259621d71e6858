/*
 * top.c - mete top: GPUs and jobs, live
 *
 * The time between two refreshes grows with what a refresh costs, so that the program takes at most
 * one fortieth of a processor, whatever the size of the cluster.
 */

#include <ctype.h>
#include <curses.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/term/output.h"
#include "cli/top/top_draw.h"
#include "cli/top/top_feed.h"

enum {
    KEY_ESCAPE = 27,
    COST_FACTOR = 40
};

struct top {
    struct cli *cli;
    struct session *session;
    struct top_feed *feed;
    struct loop_timer *timer;
    struct loop_timer *clock; /* draws each second, also while the server is silent */
    struct loop_io *keys;
    struct top_view view;
    struct top_look look;
    struct err *failed; /* of --once */
    int64_t begun_cpu_ns;
    bool is_once;
};

static int64_t cpu_ns(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* cannot fail */
    return (int64_t)t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

static void top_show(struct top *t)
{
    top_draw(&t->view, &t->look, loop_wall_ns(session_loop(t->session)));
}

static void top_on_refreshed(void *arg, const struct err *e, struct top_view *view)
{
    struct top *t = arg;
    int64_t cost_ns = (cpu_ns() - t->begun_cpu_ns) * COST_FACTOR;

    if (view) {
        top_view_done(&t->view);
        t->view = *view;
        *view = (struct top_view){0};
        *t->look.message = '\0';
    }
    if (t->is_once) {
        t->failed = e ? err_new(err_code(e), "%s", err_message(e)) : NULL;
        session_stop(t->session);
        return;
    }
    if (e)
        (void)snprintf(t->look.message, sizeof(t->look.message), "%.120s", err_message(e));
    t->look.refresh_ns = cost_ns > NS_PER_SEC ? cost_ns : NS_PER_SEC;
    loop_timer_set(t->timer, t->look.refresh_ns);
    top_show(t);
}

static void top_on_time(void *arg)
{
    struct top *t = arg;

    t->begun_cpu_ns = cpu_ns();
    top_feed_refresh(t->feed);
}

static void top_on_clock(void *arg)
{
    struct top *t = arg;

    loop_timer_set(t->clock, NS_PER_SEC);
    top_show(t);
}

static void top_on_resize(void *arg)
{
    top_draw_resize();
    top_show(arg);
}

/* ---- keys ---- */

static void top_type(struct top *t, int key)
{
    size_t size = strlen(t->look.filter);

    if (key == '\n' || key == KEY_ENTER || key == KEY_ESCAPE) {
        t->look.is_typing = false;
        if (key == KEY_ESCAPE)
            *t->look.filter = '\0';
    } else if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && size > 0) {
        t->look.filter[size - 1] = '\0';
    } else if (key >= ' ' && key < 127 && size + 1 < sizeof(t->look.filter)) {
        t->look.filter[size] = (char)key;
        t->look.filter[size + 1] = '\0';
    }
}

static void top_move(struct top *t, int64_t by)
{
    size_t *at = &t->look.selected[t->look.screen];

    if (by < 0 && *at < (size_t)-by)
        *at = 0;
    else
        *at = (size_t)((int64_t)*at + by);
}

static void top_press(struct top *t, int key)
{
    int64_t columns = (int64_t)top_draw_columns(&t->look);

    *t->look.message = '\0';
    switch (key) {
    case '1':
    case '2':
        t->look.screen = key == '1' ? TOP_WALL : TOP_JOBS;
        break;
    case '/':
        t->look.is_typing = true;
        break;
    case KEY_ESCAPE:
        *t->look.filter = '\0';
        break;
    case KEY_LEFT:
    case 'h':
        top_move(t, -1);
        break;
    case KEY_RIGHT:
    case 'l':
        top_move(t, 1);
        break;
    case KEY_UP:
    case 'k':
        top_move(t, -columns);
        break;
    case KEY_DOWN:
    case 'j':
        top_move(t, columns);
        break;
    case 'q':
    case 'Q':
        session_stop(t->session);
        break;
    default:
        (void)snprintf(t->look.message, sizeof(t->look.message),
                       "no such key: 1 wall, 2 jobs, / filter, Esc all, arrows or hjkl, q quit");
    }
}

static void top_on_key(void *arg, int fd, bool readable, bool writable)
{
    struct top *t = arg;
    int key;
    int n = 0;

    (void)fd;
    (void)readable;
    (void)writable;
    while ((key = top_draw_key()) >= 0) {
        n++;
        if (key == KEY_RESIZE)
            continue;
        if (t->look.is_typing)
            top_type(t, key);
        else
            top_press(t, key);
    }
    if (n == 0) /* the terminal has gone */
        session_stop(t->session);
    top_show(t);
}

/* ---- the command ---- */

static void top_columns(struct listing *l)
{
    static const char *const names[] = {"GPU",   "MODEL",  "STATE",  "#UTIL", "%MEMORY",
                                        "#TEMP", "#POWER", "HOLDER", "!USER", "!HEALTH"};

    for (size_t i = 0; i < COUNT(names); i++)
        listing_column(l, names[i]);
}

static json_t *unit_cell(int64_t n, const char *unit)
{
    AUTO_FREE char *text = n >= 0 ? mem_format("%lld%s", (long long)n, unit) : NULL;

    return json_text_new(text);
}

static json_t *top_row(const struct top_gpu *g)
{
    json_t *row = json_array();
    AUTO_FREE char *name = g->slice >= 0 ? mem_format("%s/%lld.%lld", g->node, (long long)g->index,
                                                      (long long)g->slice)
                                         : mem_format("%s/%lld", g->node, (long long)g->index);

    (void)json_array_append_new(row, json_text_new(name));
    (void)json_array_append_new(row, json_text_new(g->model));
    (void)json_array_append_new(row, json_text_new(top_state_name(g->state)));
    (void)json_array_append_new(row, unit_cell(g->utilization_pct, "%"));
    (void)json_array_append_new(row, g->memory_used_bytes >= 0 ? json_integer(g->memory_used_bytes)
                                                               : json_null());
    (void)json_array_append_new(row, unit_cell(g->temperature_c, "C"));
    (void)json_array_append_new(row, unit_cell(g->power_mw < 0 ? -1 : g->power_mw / 1000, "W"));
    (void)json_array_append_new(row, json_text_new(*g->holder ? g->holder : NULL));
    (void)json_array_append_new(row, json_text_new(*g->user ? g->user : NULL));
    (void)json_array_append_new(row, json_text_new(g->health));
    return row;
}

static struct err *top_print(struct cli *c, const struct top_view *v)
{
    enum output_format format = output_format_of(c->in);
    AUTO(json_freep) json_t *whole = top_view_json(v);
    json_t *gpus = json_object_get(whole, "gpus");
    struct listing l;
    struct err *e;

    listing_init(&l, "Top");
    if (format == OUTPUT_JSON || format == OUTPUT_YAML) {
        l.is_single = true;
        listing_add(&l, json_array(), whole);
    } else {
        top_columns(&l);
        for (size_t i = 0; i < v->gpus.n; i++)
            listing_add(&l, top_row(&v->gpus.at[i]), json_array_get(gpus, i));
    }
    e = listing_print(c, &l);
    listing_done(&l);
    return e;
}

/* Shows the screens until the user quits. */
static struct err *top_live(struct top *t)
{
    struct loop *loop = session_loop(t->session);
    struct err *e;

    TRY(top_draw_begin());
    t->timer = loop_timer_new(loop, top_on_time, t);
    t->clock = loop_timer_new(loop, top_on_clock, t);
    t->keys = loop_io_new(loop, STDIN_FILENO, top_on_key, t);
    loop_io_want(t->keys, true, false);
    session_on_signal(t->session, SIGWINCH, top_on_resize, t);
    t->look.refresh_ns = NS_PER_SEC;
    loop_timer_set(t->timer, 0);
    loop_timer_set(t->clock, NS_PER_SEC);
    e = session_run(t->session);
    top_draw_end();
    loop_io_free(t->keys);
    loop_timer_free(t->timer);
    loop_timer_free(t->clock);
    return e;
}

static struct err *top_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(top_feed_freep) struct top_feed *feed = NULL;
    struct top t = {.cli = c, .is_once = flag_switch(c->in, "once")};
    struct err *e;

    if (!t.is_once && (!c->terminal.out || !c->terminal.in))
        return cli_usage(c, "top needs a terminal; --once prints and ends");
    TRY(session_open(c, &s));
    feed = top_feed_new(s, top_on_refreshed, &t);
    t.session = s;
    t.feed = feed;
    if (t.is_once) {
        top_feed_refresh(feed);
        e = session_run(s);
        if (!e && t.failed)
            e = session_explain(s, t.failed);
        if (!e)
            e = top_print(c, &t.view);
    } else {
        e = top_live(&t);
    }
    top_view_done(&t.view);
    return e;
}

static const struct flag top_flags[] = {
    {.name = "once", .type = FLAG_SWITCH, .doc = "print what the first screen shows, and end"},
    {0},
};

const struct command command_top = {
    .name = "top",
    .summary = "watch GPUs and jobs on the terminal",
    .doc =
        "1 shows a cell for each GPU or slice with its load, memory and state (- free, H held, i "
        "held but idle), 2 the jobs. Keys: / filters, arrows select, q quits.",
    .examples = {{"top", "shows the wall of GPUs"},
                 {"top --once -o json", "prints the same as JSON"},
                 {0}},
    .flags = top_flags,
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE | FLAGS_OUTPUT,
    .n_max = 0,
    .run = top_run,
};
