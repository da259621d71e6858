/* top_keys.c - the keys of `mete top` */

#include <curses.h>
#include <stdio.h>

#include "cli/top/top_private.h"

enum {
    KEY_ESCAPE = 27,
    KEY_CTRL_D = 4,
    KEY_DELETE_LEFT = 127
};

/* For the narrowest screen: lines of 60 columns. */
static const char help_text[] = "1 wall    a cell for each GPU or slice: load, memory, state\n"
                                "          - free, H held, i held and idle, else the trouble\n"
                                "2 jobs    what waits and runs; GPU% of the job's own GPUs\n"
                                "3 queue   in the scheduler's order; Tab: the next queue\n"
                                "4 nodes   free GPUs, hottest GPU, errors, last message\n"
                                "5 events  the newest first\n"
                                "Enter     one job: why, times, GPUs in the last 2 min, log\n"
                                "\n"
                                "arrows j k PgUp PgDn Home End  select, or move in a text\n"
                                "/ filter  s sort  S turn the order around\n"
                                "Esc back, or no filter\n"
                                "Space mark  w why  y YAML  l log alone  e shell in the job\n"
                                "Ctrl-d cancel, asks first  ? help  q quit\n"
                                "\n"
                                ": then  wall jobs queue [NAME|all] nodes events quit\n"
                                "        state STATE,...|all  user NAME|all\n"
                                "        sort ORDER|-ORDER  why yaml exec\n"
                                "  of marked jobs, else of the selected one:\n"
                                "        cancel hold release requeue move QUEUE\n"
                                "  of the selected GPU or node:\n"
                                "        drain REASON  resume\n";

/* ---- typing ---- */

static void typing_end(struct top *t)
{
    char line[TOP_REASON];
    enum top_typing was = t->look.typing;

    t->look.typing = TOP_TYPES_NOTHING;
    (void)snprintf(line, sizeof(line), "%s", t->look.line);
    *t->look.line = '\0';
    if (was == TOP_TYPES_COMMAND)
        top_command(t, line);
}

/* The filter holds while it is typed. */
static void typing_changed(struct top *t)
{
    enum top_screen screen = t->look.screen;

    if (t->look.typing != TOP_TYPES_FILTER)
        return;
    (void)snprintf(t->look.filter[screen], TOP_TEXT, "%.63s", t->look.line);
    t->look.selected[screen] = t->look.first[screen] = 0;
    top_ask_now(t);
}

static void top_type(struct top *t, int key)
{
    size_t size = strlen(t->look.line);
    size_t room = t->look.typing == TOP_TYPES_FILTER ? TOP_TEXT : TOP_REASON;

    if (key == '\n' || key == '\r' || key == KEY_ENTER) {
        typing_end(t);
    } else if (key == KEY_ESCAPE) {
        *t->look.line = '\0';
        typing_changed(t);
        t->look.typing = TOP_TYPES_NOTHING;
    } else if ((key == KEY_BACKSPACE || key == KEY_DELETE_LEFT || key == '\b') && size > 0) {
        t->look.line[size - 1] = '\0';
        typing_changed(t);
    } else if (key >= ' ' && key < KEY_DELETE_LEFT && size + 1 < room) {
        t->look.line[size] = (char)key;
        t->look.line[size + 1] = '\0';
        typing_changed(t);
    }
}

static void typing_begin(struct top *t, enum top_typing what)
{
    enum top_screen screen = t->look.screen;

    if (what == TOP_TYPES_FILTER && (screen >= TOP_JOB || screen == TOP_QUEUE)) {
        top_say(t, screen == TOP_QUEUE ? "the queue is shown whole: 2 jobs has a filter"
                                       : "this screen has no filter");
        return;
    }
    t->look.typing = what;
    (void)snprintf(t->look.line, sizeof(t->look.line), "%s",
                   what == TOP_TYPES_FILTER ? t->look.filter[screen] : "");
}

/* ---- moving ---- */

static void top_move(struct top *t, int64_t by)
{
    enum top_screen screen = t->look.screen;
    int64_t *at = &t->look.selected[screen];

    if (screen == TOP_PAPER) {
        t->look.first[screen] += by;
    } else if (screen == TOP_JOB) { /* its lines are counted from the end */
        t->look.first[screen] -= by;
    } else {
        *at = *at + by < 0 ? 0 : *at + by;
    }
}

/* Returns whether the key moves. */
static bool top_move_by_key(struct top *t, int key)
{
    bool is_wall = t->look.screen == TOP_WALL;
    int64_t line = is_wall ? top_draw_cells() : 1;
    int64_t page = top_draw_rows(&t->look) * line;
    const int64_t far = INT32_MAX;

    switch (key) {
    case KEY_LEFT:
        top_move(t, is_wall ? -1 : -page);
        return true;
    case KEY_RIGHT:
        top_move(t, is_wall ? 1 : page);
        return true;
    case KEY_UP:
    case 'k':
        top_move(t, -line);
        return true;
    case KEY_DOWN:
    case 'j':
        top_move(t, line);
        return true;
    case KEY_PPAGE:
        top_move(t, -page);
        return true;
    case KEY_NPAGE:
        top_move(t, page);
        return true;
    case KEY_HOME:
    case 'g':
        top_move(t, -far);
        return true;
    case KEY_END:
    case 'G':
        top_move(t, far);
        return true;
    default:
        return false;
    }
}

/* ---- the other keys ---- */

static void top_back(struct top *t)
{
    enum top_screen screen = t->look.screen;

    if (screen >= TOP_JOB) {
        top_go(t, screen == TOP_PAPER ? t->look.behind_paper : t->look.behind);
        return;
    }
    *t->look.filter[screen] = '\0';
    top_ask_now(t);
}

static void top_help(struct top *t)
{
    top_lines_done(&t->paper);
    top_lines_add(&t->paper, STR(help_text));
    top_go(t, TOP_PAPER);
}

static void top_sort(struct top *t, bool turns)
{
    const char *const *sorts = top_sorts_of(t->look.screen);
    size_t *sort = &t->look.sort[t->look.screen];

    if (!sorts[0]) {
        top_say(t, "this screen has one order");
        return;
    }
    if (turns)
        t->look.is_backwards[t->look.screen] = !t->look.is_backwards[t->look.screen];
    else
        *sort = sorts[*sort + 1] ? *sort + 1 : 0;
    top_ask_now(t);
}

static void top_next_queue(struct top *t)
{
    if (t->look.screen != TOP_QUEUE || !t->page.next_queue)
        return;
    free(t->queue);
    t->queue = mem_strdup(t->page.next_queue);
    t->look.selected[TOP_QUEUE] = t->look.first[TOP_QUEUE] = 0;
    top_ask_now(t);
}

static void top_enter(struct top *t)
{
    const struct top_row *row = top_selected(t);

    if (row && row->name)
        top_open_job(t, row);
    else if (t->look.screen < TOP_JOB)
        top_say(t, "only jobs have a screen of their own");
}

/* Keys that act on the selected job. Returns whether the key is one. */
static bool top_press_job(struct top *t, int key)
{
    static char exec[] = "exec";
    static char why[] = "why";
    static char yaml[] = "yaml";

    switch (key) {
    case '\n':
    case '\r':
    case KEY_ENTER:
        top_enter(t);
        return true;
    case ' ':
        top_toggle_tag(t);
        top_move(t, 1);
        return true;
    case 'w':
        top_command(t, why);
        return true;
    case 'y':
        top_command(t, yaml);
        return true;
    case 'e':
        top_command(t, exec);
        return true;
    case 'l':
        if (t->look.screen != TOP_JOB)
            top_enter(t);
        t->look.is_log_only = !t->look.is_log_only;
        return true;
    case KEY_CTRL_D:
        top_act(t, "cancel", NULL);
        return true;
    default:
        return false;
    }
}

static void top_press_any(struct top *t, int key)
{
    switch (key) {
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
        top_go(t, (enum top_screen)(key - '1'));
        break;
    case '/':
        typing_begin(t, TOP_TYPES_FILTER);
        break;
    case ':':
        typing_begin(t, TOP_TYPES_COMMAND);
        break;
    case '?':
        top_help(t);
        break;
    case '\t':
        top_next_queue(t);
        break;
    case 's':
    case 'S':
        top_sort(t, key == 'S');
        break;
    case KEY_ESCAPE:
        top_back(t);
        break;
    case 'q':
    case 'Q':
        top_quit(t);
        break;
    default:
        top_say(t, "no such key: ? lists them");
    }
}

void top_press(struct top *t, int key)
{
    *t->look.message = '\0';
    if (*t->look.question)
        top_answer(t, key == 'y' || key == 'Y');
    else if (t->look.typing)
        top_type(t, key);
    else if (!top_move_by_key(t, key) && !top_press_job(t, key))
        top_press_any(t, key);
}
