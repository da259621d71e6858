/* fake_exec.c - the commands of fake_exec.h */

#include "fake_exec.h"

#include <assert.h>

#include "base/mem.h"

static void over(struct fake_exec *x)
{
    assert(!x->is_over);
    x->is_over = true;
    loop_timer_stop(x->timer);
}

static void end(struct fake_exec *x, const struct err *e, int code)
{
    over(x);
    x->asked.end(x->asked.arg, e, code);
}

static void on_timer(void *arg)
{
    struct fake_exec *x = arg;
    AUTO(err_freep) struct err *e = NULL;

    if (x->set->is_held)
        e = err_new(ERR_TIMEOUT, "the command did not end in time");
    else if (x->set->error)
        e = err_new(ERR_NOT_FOUND, "%s", x->set->error);
    else if (x->set->output)
        fake_exec_output(x, 1, x->set->output);
    if (!x->is_over)
        end(x, e, e ? 0 : x->set->code);
}

static struct fake_exec *of(struct exec *x)
{
    return (struct fake_exec *)x;
}

static void fake_input(struct exec *x, struct str bytes)
{
    assert(!of(x)->is_over && !of(x)->is_input_ended);
    buf_add(&of(x)->input, bytes.at, bytes.size);
}

static size_t fake_backlog(const struct exec *x)
{
    return ((const struct fake_exec *)x)->backlog;
}

static void fake_input_end(struct exec *x)
{
    assert(!of(x)->is_over);
    of(x)->is_input_ended = true;
}

static void fake_resize(struct exec *x, uint16_t columns, uint16_t rows)
{
    assert(!of(x)->is_over);
    of(x)->columns = columns;
    of(x)->rows = rows;
}

static void fake_pause(struct exec *x, bool is_paused)
{
    assert(!of(x)->is_over);
    of(x)->is_paused = is_paused;
}

static void fake_cancel(struct exec *x)
{
    over(of(x));
    of(x)->is_cancelled = true;
}

static const struct exec_ops fake_ops = {.input = fake_input,
                                         .backlog = fake_backlog,
                                         .input_end = fake_input_end,
                                         .resize = fake_resize,
                                         .pause = fake_pause,
                                         .cancel = fake_cancel};

struct exec *fake_exec_new(struct fake_execs *f, const struct runtime_exec *e, bool is_attach)
{
    struct fake_exec *x = mem_alloc(sizeof(*x));

    *x = (struct fake_exec){.exec.ops = &fake_ops,
                            .set = f,
                            .asked = *e,
                            .id = mem_strdup(e->id),
                            .process = json_deep_copy(e->process),
                            .is_attach = is_attach,
                            .columns = e->columns,
                            .rows = e->rows};
    vec_add(&f->all, x);
    x->timer = loop_timer_new(f->loop, on_timer, x);
    if (!f->is_held)
        loop_timer_set(x->timer, 0);
    else if (e->deadline_ns > 0)
        loop_timer_set(x->timer, e->deadline_ns);
    return &x->exec;
}

struct exec *fake_exec_forward(struct fake_execs *f, const struct runtime_forward *o)
{
    struct runtime_exec e = {.has_stdin = true,
                             .output = o->output,
                             .drained = o->drained,
                             .end = o->end,
                             .arg = o->arg};
    struct exec *x;

    for (size_t i = 0; o->ids[i]; i++)
        e.id = o->ids[i];
    x = fake_exec_new(f, &e, false);
    of(x)->port = o->port;
    of(x)->output_end = o->output_end;
    return x;
}

void fake_exec_output(struct fake_exec *x, int fd, const char *text)
{
    assert(!x->is_over);
    x->asked.output(x->asked.arg, fd, str_of(text));
}

void fake_exec_end(struct fake_exec *x, int code)
{
    end(x, NULL, code);
}

void fake_execs_done(struct fake_execs *f)
{
    for (size_t i = 0; i < f->all.n; i++) {
        struct fake_exec *x = f->all.at[i];

        loop_timer_free(x->timer);
        buf_done(&x->input);
        json_decref(x->process);
        free(x->id);
        free(x);
    }
    vec_done(&f->all);
}
