/*
 * top.c - mete top: GPUs, jobs, queues, nodes and events, live
 *
 * The time between two refreshes grows with what a refresh costs, so that the program takes at most
 * one fortieth of a processor, whatever the size of the cluster.
 */

#include <curses.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/term/output.h"
#include "cli/term/terminal.h"
#include "cli/term/text_escape.h"
#include "cli/top/top_private.h"

enum {
    COST_FACTOR = 40,
    ONCE_JOBS = 100
};

static const int64_t local_patience_ns = 15 * NS_PER_SEC;

static int64_t cpu_ns(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* cannot fail */
    return (int64_t)t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

/* ---- what is shown ---- */

static bool event_matches(const struct top *t, const struct top_row *r)
{
    const char *filter = t->look.filter[TOP_EVENTS];

    if (!*filter)
        return true;
    for (size_t i = 0; i < TOP_COLUMNS; i++)
        if (r->cells[i] && strcasestr(r->cells[i], filter))
            return true;
    return false;
}

/* The events that match the filter, as a page. */
static const struct top_page *event_page_of(struct top *t)
{
    size_t n = t->events ? top_events_count(t->events) : 0;
    struct top_page *p = &t->event_page;

    p->screen = TOP_EVENTS;
    vec_clear(&p->rows);
    for (size_t i = 0; i < n; i++)
        if (event_matches(t, top_events_at(t->events, i)))
            vec_add(&p->rows, *top_events_at(t->events, i));
    p->total = (int64_t)p->rows.n;
    return p;
}

static const struct top_page *page_of(struct top *t)
{
    return t->look.screen == TOP_EVENTS ? event_page_of(t) : &t->page;
}

const struct top_row *top_selected(struct top *t)
{
    enum top_screen screen = t->look.screen;
    const struct top_page *p = page_of(t);
    int64_t i = t->look.selected[screen] - p->offset;

    if (screen >= TOP_JOB)
        return t->opened.name ? &t->opened : NULL;
    return p->screen == screen && i >= 0 && i < (int64_t)p->rows.n ? &p->rows.at[i] : NULL;
}

void top_show(struct top *t)
{
    enum top_screen screen = t->look.screen;
    const struct top_show s = {
        .view = &t->view,
        .page = page_of(t),
        .lines = screen == TOP_PAPER           ? &t->paper
                 : screen == TOP_JOB && t->job ? top_job_facts(t->job)
                                               : NULL,
        .log = screen == TOP_JOB && t->job ? top_job_log(t->job) : NULL,
        .estimate = screen == TOP_QUEUE ? top_estimate_text(t->estimate, top_selected(t)) : "",
        .is_tagged = top_is_tagged,
        .arg = t};

    if (screen == TOP_QUEUE && t->estimate)
        top_estimate_want(t->estimate, top_selected(t));
    if (!top_run_has_terminal(t->run))
        top_draw(&s, &t->look, loop_wall_ns(t->loop));
}

void top_say(struct top *t, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vformat(fmt, ap);
    va_end(ap);
    (void)snprintf(t->look.message, sizeof(t->look.message), "%.*s",
                   (int)text_escape_fit(text, sizeof(t->look.message) / 4), text);
}

/* ---- asking ---- */

static struct top_wish wish_of(const struct top *t)
{
    enum top_screen screen = t->look.screen;

    return (struct top_wish){.screen = screen,
                             .offset = t->look.first[screen],
                             .limit = top_draw_rows(&t->look),
                             .filter = t->look.filter[screen],
                             .states = t->look.states,
                             .user = t->user,
                             .queue = t->queue,
                             .sort = t->look.sort[screen],
                             .is_backwards = t->look.is_backwards[screen]};
}

/* The next refresh comes after at least forty times what this one cost. */
static void top_rest(struct top *t)
{
    int64_t cost_ns = (cpu_ns() - t->begun_cpu_ns) * COST_FACTOR;

    t->look.refresh_ns = cost_ns > NS_PER_SEC ? cost_ns : NS_PER_SEC;
    loop_timer_set(t->timer, t->look.refresh_ns);
}

static void top_take_error(struct top *t, const struct err *e)
{
    AUTO_FREE char *text = e ? text_escape(str_of(err_message(e)), TEXT_ESCAPE_LINE) : NULL;

    (void)snprintf(t->look.trouble, sizeof(t->look.trouble), "%.150s", text_or_empty(text));
}

static void top_on_refreshed(void *arg, const struct err *e, struct top_view *view,
                             struct top_page *page)
{
    struct top *t = arg;

    top_take_error(t, e);
    if (view) {
        top_view_done(&t->view);
        t->view = *view;
        *view = (struct top_view){0};
    }
    if (page) {
        top_page_done(&t->page);
        t->page = *page;
        *page = (struct top_page){0};
    }
    top_rest(t);
    top_show(t);
}

static void top_on_job(void *arg, const struct err *e)
{
    struct top *t = arg;

    if (e)
        top_take_error(t, e);
    top_show(t);
}

static void top_on_lines(void *arg)
{
    top_show(arg);
}

static void top_on_events(void *arg, const struct err *e)
{
    struct top *t = arg;

    if (e)
        top_take_error(t, e);
    if (t->look.screen == TOP_EVENTS)
        top_show(t);
}

static void top_on_local(void *arg)
{
    struct top *t = arg;
    struct top_view view = top_local_view(t->local);

    (void)snprintf(t->look.trouble, sizeof(t->look.trouble), "%.150s", top_local_problem(t->local));
    top_view_done(&t->view);
    t->view = view;
    top_show(t);
}

void top_ask_now(struct top *t)
{
    const struct top_wish wish = wish_of(t);

    if (!t->feed || top_run_has_terminal(t->run))
        return;
    t->begun_cpu_ns = cpu_ns();
    top_feed_refresh(t->feed, &wish);
    if (t->job && t->look.screen == TOP_JOB)
        top_job_refresh(t->job);
}

static void top_on_time(void *arg)
{
    top_ask_now(arg);
}

static void top_on_clock(void *arg)
{
    struct top *t = arg;

    loop_timer_set(t->clock, NS_PER_SEC);
    top_show(t);
}

/* ---- screens ---- */

void top_go(struct top *t, enum top_screen screen)
{
    if (t->look.is_local && screen != TOP_WALL && screen != TOP_PAPER) {
        top_say(t, "--local shows the GPUs of this machine only");
        return;
    }
    if (t->look.screen < TOP_JOB)
        t->look.behind = t->look.screen;
    if (screen == TOP_PAPER && t->look.screen != TOP_PAPER)
        t->look.behind_paper = t->look.screen;
    if (screen == TOP_PAPER)
        t->look.first[TOP_PAPER] = 0;
    if (screen != TOP_JOB && screen != TOP_PAPER) {
        top_job_free(t->job);
        t->job = NULL;
    }
    if (screen == TOP_EVENTS && !t->events)
        t->events = top_events_new(t->session, top_on_events, t);
    t->look.screen = screen;
    top_ask_now(t);
}

void top_open_job(struct top *t, const struct top_row *row)
{
    struct top_row copy = {.id = row->id ? mem_strdup(row->id) : NULL,
                           .ns = mem_strdup(row->ns),
                           .name = mem_strdup(row->name),
                           .object = mem_strdup(row->object)};

    top_row_done(&t->opened);
    t->opened = copy;
    top_job_free(t->job);
    t->job = top_job_new(&(struct top_job_options){.session = t->session,
                                                   .ns = copy.ns,
                                                   .name = copy.name,
                                                   .is_batch = text_equal(copy.object, "job"),
                                                   .is_utf8 = t->look.is_utf8,
                                                   .on_change = top_on_lines,
                                                   .on_refreshed = top_on_job,
                                                   .arg = t});
    t->look.first[TOP_JOB] = 0;
    t->look.is_log_only = false;
    top_go(t, TOP_JOB);
}

void top_quit(struct top *t)
{
    loop_linux_stop(t->loop);
}

void top_use_terminal(struct top *t, bool is_ours)
{
    loop_io_want(t->keys, is_ours, false);
    t->is_terminal_lent = !is_ours;
    if (is_ours)
        top_draw_resize();
    else
        top_draw_end();
}

static void top_on_resize(void *arg)
{
    struct top *t = arg;

    if (top_run_has_terminal(t->run))
        return;
    top_draw_resize();
    top_ask_now(t);
    top_show(t);
}

static void top_on_key(void *arg, int fd, bool readable, bool writable)
{
    struct top *t = arg;
    int64_t first = t->look.first[t->look.screen];
    int key;
    int n = 0;

    (void)fd;
    (void)readable;
    (void)writable;
    while (!top_run_has_terminal(t->run) && (key = top_draw_key()) >= 0) {
        n++;
        if (key != KEY_RESIZE)
            top_press(t, key);
    }
    if (n == 0) /* the terminal has gone */
        top_quit(t);
    top_show(t);
    if (t->look.first[t->look.screen] != first)
        top_ask_now(t); /* other lines of the list */
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

/* What --once has asked for. */
struct top_once {
    struct top *top;
    struct loop_timer *patience; /* of --local */
    json_t *jobs;
    struct err *failed;
};

static struct err *top_print_once(struct cli *c, const struct top_view *v, const json_t *jobs)
{
    enum output_format format = output_format_of(c->in);
    AUTO(json_freep) json_t *whole = top_view_json(v, jobs);
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

static void once_on_view(void *arg, const struct err *e, struct top_view *view,
                         struct top_page *page)
{
    struct top_once *o = arg;

    (void)page;
    o->failed = e ? err_new(err_code(e), "%s", err_message(e)) : NULL;
    if (view) {
        o->top->view = *view;
        *view = (struct top_view){0};
    }
    top_quit(o->top);
}

static struct err *top_once_remote(struct top *t)
{
    struct top_once o = {.top = t};
    const struct top_wish wish = {.screen = TOP_WALL, .filter = ""};
    AUTO(top_feed_freep) struct top_feed *feed = top_feed_new(t->session, once_on_view, &o);
    AUTO_FREE char *path =
        mem_format("/apis/mete.dev/v1/jobs?limit=%d&sort=-state&state=" TOP_ACTIVE, ONCE_JOBS);
    AUTO(json_freep) json_t *jobs = NULL;

    top_feed_refresh(feed, &wish);
    TRY(session_run(t->session));
    if (o.failed)
        return session_explain(t->session, o.failed);
    TRY(session_get(t->session, path, &jobs));
    return top_print_once(t->cli, &t->view, jobs);
}

static void once_on_local(void *arg)
{
    struct top_once *o = arg;

    if (top_local_is_ready(o->top->local))
        top_quit(o->top);
}

/* A gpu that does not answer is shown as such after its deadline. */
static void once_on_patience(void *arg)
{
    struct top_once *o = arg;

    top_quit(o->top);
}

static struct err *top_once_local(struct top *t)
{
    struct top_once o = {.top = t};
    struct err *e;

    TRY(top_local_new(t->loop, t->cli, once_on_local, &o, &t->local));
    o.patience = loop_timer_new(t->loop, once_on_patience, &o);
    loop_timer_set(o.patience, local_patience_ns);
    e = loop_linux_run(t->loop);
    loop_timer_free(o.patience);
    if (!e && *top_local_problem(t->local))
        return err_new(ERR_NOT_FOUND, "%s", top_local_problem(t->local));
    t->view = top_local_view(t->local);
    return e ? e : top_print_once(t->cli, &t->view, NULL);
}

static void top_look_init(struct top *t)
{
    t->look.refresh_ns = NS_PER_SEC;
    t->look.is_local = t->session == NULL;
    t->look.is_utf8 = terminal_is_utf8();
    t->look.is_backwards[TOP_JOBS] = true; /* by state: what runs comes first */
    (void)snprintf(t->look.states, sizeof(t->look.states), "%s", TOP_ACTIVE);
}

/* Shows the screens until the user quits. */
static struct err *top_live(struct top *t)
{
    struct err *e;

    top_look_init(t);
    t->run = top_run_new(&(struct top_run_options){
        .loop = t->loop, .cli = t->cli, .on_end = top_on_run_end, .arg = t});
    if (t->session) {
        t->feed = top_feed_new(t->session, top_on_refreshed, t);
        t->estimate = top_estimate_new(t->session, top_on_lines, t);
    } else {
        TRY(top_local_new(t->loop, t->cli, top_on_local, t, &t->local));
    }
    TRY(top_draw_begin(t->cli->terminal.has_colour));
    t->timer = loop_timer_new(t->loop, top_on_time, t);
    t->clock = loop_timer_new(t->loop, top_on_clock, t);
    t->keys = loop_io_new(t->loop, STDIN_FILENO, top_on_key, t);
    loop_io_want(t->keys, true, false);
    loop_linux_on_signal(t->loop, SIGWINCH, top_on_resize, t);
    loop_timer_set(t->timer, 0);
    loop_timer_set(t->clock, NS_PER_SEC);
    e = loop_linux_run(t->loop);
    top_draw_end();
    return e;
}

static void top_done(struct top *t)
{
    loop_io_free(t->keys);
    loop_timer_free(t->timer);
    loop_timer_free(t->clock);
    top_run_free(t->run);
    top_estimate_free(t->estimate);
    top_events_free(t->events);
    top_job_free(t->job);
    top_feed_free(t->feed);
    top_local_free(t->local);
    top_view_done(&t->view);
    top_page_done(&t->page);
    vec_done(&t->event_page.rows);
    top_row_done(&t->opened);
    top_act_done(t);
    if (!t->session)
        loop_linux_free(t->loop);
    session_free(t->session);
}

static struct err *top_run_command(struct cli *c)
{
    struct top t = {.cli = c, .is_readonly = flag_switch(c->in, "readonly")};
    bool is_once = flag_switch(c->in, "once");
    struct err *e = NULL;

    if (!is_once && (!c->terminal.out || !c->terminal.in))
        return cli_usage(c, "top needs a terminal; --once prints and ends");
    if (!flag_switch(c->in, "local"))
        TRY(session_open(c, &t.session));
    t.loop = t.session ? session_loop(t.session) : loop_linux_new();
    if (!is_once)
        e = top_live(&t);
    else
        e = t.session ? top_once_remote(&t) : top_once_local(&t);
    top_done(&t);
    return e;
}

static const struct flag top_flags[] = {
    {.name = "local",
     .type = FLAG_SWITCH,
     .doc = "ask this machine's driver for its GPUs, without a server"},
    {.name = "once", .type = FLAG_SWITCH, .doc = "print what the first screen shows, and end"},
    {.name = "readonly", .type = FLAG_SWITCH, .doc = "refuse actions"},
    {0},
};

const struct command command_top = {
    .name = "top",
    .summary = "watch GPUs, jobs, queues, nodes and events on the terminal",
    .doc = "1 shows a cell for each GPU or slice with its load, memory and state (- free, H held, "
           "i held but idle), 2 the jobs, 3 a queue in the order of the scheduler, 4 the nodes, 5 "
           "the events; Enter one job with why it waits, its GPUs and its log. ? lists the keys, "
           "among them / filter, s sort, Space mark, Ctrl-d cancel and : for commands; actions ask "
           "first.",
    .examples = {{"top", "shows the wall of GPUs"},
                 {"top --local", "shows the GPUs of this machine, where no Mete runs, too"},
                 {"top --once -o json", "prints the GPUs and the first jobs as JSON"},
                 {0}},
    .flags = top_flags,
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE | FLAGS_OUTPUT,
    .n_max = 0,
    .run = top_run_command,
};
