/* learning.c - runs `mete learn-values` in the background, and uses its tables */

#include "cli/role/learning.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/stamp.h"
#include "cli/role/learn_files.h"
#include "control/report/arrivals.h"
#include "sim/value_table.h"

enum {
    FILE_MODE = 0600,
    DIR_MODE = 0700,
    FILE_MAX = 16 << 20
};

#define DEADLINE_NS (INT64_C(1800) * NS_PER_SEC)
#define SAVE_NS     (INT64_C(60) * NS_PER_SEC)

struct learning {
    struct learning_options options;
    char *dir;
    char *self_path;
    struct arrivals *arrivals;
    struct loop_timer *learn_timer;
    struct loop_timer *save_timer;
    struct proc *child;     /* NULL: none */
    uint64_t learned_total; /* number of arrivals at the last learning */
    uint64_t child_total;   /* when the child was started */
    uint64_t child_pods;    /* pods that the child learns from */
    uint64_t saved_total;
    uint64_t pods; /* pods that the present table was learned from */
    int64_t at_ns; /* time of the present table */
};

static char *path_of(const struct learning *l, const char *name)
{
    return mem_format("%s/%s", l->dir, name);
}

static struct err *write_file(const struct learning *l, const char *name, const struct buf *text)
{
    AUTO_FREE char *path = path_of(l, name);

    if (text->overflow)
        return err_new(ERR_TOO_LARGE, "%s would be too large", path);
    return file_write(path, FILE_MODE, (struct str){text->at, text->size});
}

static void learning_save(struct learning *l)
{
    AUTO(json_freep) json_t *state = arrivals_save(l->arrivals);
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *path = path_of(l, LEARN_STATE);
    AUTO(err_freep) struct err *e = NULL;

    json_put_int(state, "learnedTotal", (int64_t)l->learned_total);
    json_put_int(state, "learnedPods", (int64_t)l->pods);
    json_put_int(state, "learnedAtNs", l->at_ns);
    text = json_format(state);
    e = file_write(path, FILE_MODE, str_of(text));
    if (e)
        LOG(WARN, "arrivals were not saved", E(e));
    l->saved_total = arrivals_total(l->arrivals);
}

static void on_save(void *arg)
{
    struct learning *l = arg;

    if (arrivals_total(l->arrivals) != l->saved_total)
        learning_save(l);
    loop_timer_set(l->save_timer, SAVE_NS);
}

static struct err *load_state(struct learning *l)
{
    AUTO_FREE char *path = path_of(l, LEARN_STATE);
    AUTO(buf_done) struct buf text = {0};
    AUTO(json_freep) json_t *state = NULL;

    TRY(file_read(path, FILE_MAX, &text));
    TRY(json_parse((struct str){text.at, text.size}, &state));
    TRY(arrivals_load(l->arrivals, state));
    l->learned_total = (uint64_t)json_int(state, "learnedTotal", 0);
    l->pods = (uint64_t)json_int(state, "learnedPods", 0);
    l->at_ns = json_int(state, "learnedAtNs", 0);
    l->saved_total = arrivals_total(l->arrivals);
    return NULL;
}

/* Gives the table to the engine, which places with it from now on. */
static struct err *use_values(struct learning *l, const char *name)
{
    struct mete_engine *e = control_engine(l->options.control);
    AUTO_FREE char *path = path_of(l, name);
    AUTO(value_table_freep) struct value_table *table = NULL;
    AUTO(buf_done) struct buf text = {0};
    struct mete_values view;

    TRY(file_read(path, FILE_MAX, &text));
    TRY(value_table_parse(path, (struct str){text.at, text.size}, &table));
    view = value_table_view(table);
    if (arrivals_tell(l->arrivals, e) != METE_OK || mete_values_set(e, &view) != METE_OK)
        return err_new(ERR_INVALID, "%s: %s", path, mete_last_error(e));
    control_set_learned(l->options.control, l->pods, l->at_ns);
    LOG(INFO, "learned placement values are in use", S("table", table->id), U("pods", l->pods));
    return NULL;
}

static void learning_load(struct learning *l)
{
    struct err *e = load_state(l);

    if (!e)
        e = use_values(l, LEARN_VALUES);
    if (e && err_code(e) != ERR_NOT_FOUND)
        LOG(WARN, "learned placement values are not used", E(e));
    err_free(e);
}

static struct err *take_new(struct learning *l)
{
    AUTO_FREE char *from = path_of(l, LEARN_NEW);
    AUTO_FREE char *to = path_of(l, LEARN_VALUES);
    AUTO(buf_done) struct buf text = {0};

    l->pods = l->child_pods;
    l->at_ns = loop_wall_ns(l->options.loop);
    TRY(use_values(l, LEARN_NEW));
    TRY(file_read(from, FILE_MAX, &text));
    return file_write(to, FILE_MODE, (struct str){text.at, text.size});
}

static void learning_on_end(void *arg, const struct proc_end *end)
{
    struct learning *l = arg;
    AUTO_FREE char *status = proc_format_status(end->status);
    AUTO(err_freep) struct err *e = NULL;

    l->child = NULL;
    l->learned_total = l->child_total;
    if (end->timed_out || (end->status != 0 && end->status != LEARN_NOT_BETTER << 8)) {
        LOG(WARN, "learning failed", S("child", end->timed_out ? "took too long" : status));
    } else if (end->status != 0) {
        LOG(INFO, "present placement values stay: the new ones are no better",
            U("arrivals", l->learned_total));
    } else {
        e = take_new(l);
        if (e)
            LOG(WARN, "learned placement values are not used", E(e));
    }
    learning_save(l);
}

static struct err *write_files(const struct learning *l)
{
    struct arrivals_files files;
    struct err *e;

    if (!arrivals_format(l->arrivals, &files))
        return err_new(ERR_NOT_FOUND, "there are no nodes with gpus, or no arrivals");
    e = write_file(l, LEARN_NODES, &files.nodes);
    if (!e)
        e = write_file(l, LEARN_PODS, &files.pods);
    arrivals_files_done(&files);
    return e;
}

static struct err *start_child(struct learning *l)
{
    const char *const argv[] = {l->self_path, "learn-values", l->dir, NULL};
    const struct proc_options o = {.argv = argv, .is_self = true, .deadline_ns = DEADLINE_NS};

    TRY(write_files(l));
    l->child_total = arrivals_total(l->arrivals);
    l->child_pods = arrivals_recent(l->arrivals);
    return proc_start(l->options.loop, &o, learning_on_end, l, &l->child);
}

static void on_learn(void *arg)
{
    struct learning *l = arg;
    const uint64_t since = arrivals_total(l->arrivals) - l->learned_total;
    AUTO(err_freep) struct err *e = NULL;

    loop_timer_set(l->learn_timer, l->options.every_ns);
    if (l->child || since < (uint64_t)l->options.after)
        return;
    e = start_child(l);
    if (e && err_code(e) != ERR_NOT_FOUND)
        LOG(WARN, "learning was not started", E(e));
}

struct learning *learning_new(const struct learning_options *o)
{
    struct learning *l = mem_alloc(sizeof(*l));
    AUTO(err_freep) struct err *e = NULL;

    l->options = *o;
    l->dir = mem_strdup(o->dir);
    l->self_path = mem_strdup(o->self_path);
    l->arrivals = control_arrivals(o->control);
    l->learn_timer = loop_timer_new(o->loop, on_learn, l);
    l->save_timer = loop_timer_new(o->loop, on_save, l);
    if (o->every_ns == 0)
        return l;
    e = dir_make(l->dir, DIR_MODE);
    if (e) {
        LOG(WARN, "learning is off", E(e));
        return l;
    }
    learning_load(l);
    loop_timer_set(l->learn_timer, o->every_ns);
    loop_timer_set(l->save_timer, SAVE_NS);
    return l;
}

void learning_free(struct learning *l)
{
    if (!l)
        return;
    if (l->child) {
        proc_kill(l->child, SIGKILL);
        proc_abandon(l->child);
    }
    if (l->options.every_ns > 0 && arrivals_total(l->arrivals) != l->saved_total)
        learning_save(l);
    loop_timer_free(l->learn_timer);
    loop_timer_free(l->save_timer);
    free(l->dir);
    free(l->self_path);
    free(l);
}
