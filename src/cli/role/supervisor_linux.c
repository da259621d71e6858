/* supervisor_linux.c - starts, restarts and ends the children of `mete up` */

#include <signal.h>

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/stamp.h"
#include "cli/role/supervisor.h"

#define QUICK_NS (10 * NS_PER_SEC)
#define STOP_NS  (10 * NS_PER_SEC)

struct child {
    struct supervisor *supervisor;
    struct child_spec spec;
    struct proc *proc; /* NULL: waiting for the restart */
    struct loop_timer *again;
    int64_t started_ns;
    unsigned quick;
    struct child *prev;
    struct child *next;
};

struct supervisor {
    struct supervisor_options options;
    struct child *children;
    struct loop_timer *deadline;
    loop_fn stopped;
    void *stopped_arg;
    bool is_stopping;
};

static void supervisor_on_end(void *arg, const struct proc_end *end);

static struct err *child_start(struct child *c)
{
    struct proc_options o = {
        .argv = c->spec.argv, .n_fds = c->spec.n_fds, .uid = c->spec.uid, .gid = c->spec.gid};
    struct err *e;

    for (size_t i = 0; i < c->spec.n_fds; i++)
        o.fds[i] = c->spec.fds[i];
    c->started_ns = loop_now_ns(c->supervisor->options.loop);
    e = proc_start(c->supervisor->options.loop, &o, supervisor_on_end, c, &c->proc);
    return e ? err_wrap(e, "start the %s", c->spec.name) : NULL;
}

static void plan_again(struct child *c, const char *how)
{
    struct supervisor *s = c->supervisor;
    bool was_quick = loop_now_ns(s->options.loop) - c->started_ns < QUICK_NS;

    c->quick = was_quick ? c->quick + 1 : 1;
    loop_timer_set(c->again, supervisor_delay_ns(c->quick));
    s->options.on_end(s->options.arg, c->spec.name, how, c->quick);
}

static void supervisor_on_again(void *arg)
{
    struct child *c = arg;
    AUTO(err_freep) struct err *e = NULL;

    if (c->supervisor->is_stopping)
        return;
    e = child_start(c);
    if (e)
        plan_again(c, err_message(e));
}

static void end_stop(struct supervisor *s)
{
    struct child *c;

    for (c = s->children; c; c = c->next)
        if (c->proc)
            return;
    loop_timer_stop(s->deadline);
    if (s->stopped)
        s->stopped(s->stopped_arg);
    s->stopped = NULL;
}

static void supervisor_on_end(void *arg, const struct proc_end *end)
{
    struct child *c = arg;
    AUTO_FREE char *how = proc_format_status(end->status);

    c->proc = NULL;
    if (c->supervisor->is_stopping)
        end_stop(c->supervisor);
    else
        plan_again(c, how);
}

static void supervisor_on_deadline(void *arg)
{
    struct supervisor *s = arg;
    struct child *c;

    for (c = s->children; c; c = c->next) {
        if (!c->proc)
            continue;
        LOG(WARN, "child did not end in time", S("child", c->spec.name));
        proc_kill(c->proc, SIGKILL);
    }
    end_stop(s);
}

struct supervisor *supervisor_new(const struct supervisor_options *o)
{
    struct supervisor *s = mem_alloc(sizeof(*s));

    s->options = *o;
    s->deadline = loop_timer_new(o->loop, supervisor_on_deadline, s);
    return s;
}

struct err *supervisor_add(struct supervisor *s, const struct child_spec *spec)
{
    struct child *c = mem_alloc(sizeof(*c));

    c->supervisor = s;
    c->spec = *spec;
    c->again = loop_timer_new(s->options.loop, supervisor_on_again, c);
    LIST_ADD(s->children, c);
    return child_start(c);
}

void supervisor_stop(struct supervisor *s, loop_fn fn, void *arg)
{
    bool is_any = false;
    struct child *c;

    s->is_stopping = true;
    s->stopped = fn;
    s->stopped_arg = arg;
    for (c = s->children; c; c = c->next) {
        loop_timer_stop(c->again);
        if (!c->proc)
            continue;
        proc_kill(c->proc, SIGTERM);
        is_any = true;
    }
    loop_timer_set(s->deadline, is_any ? STOP_NS : 0);
}

void supervisor_free(struct supervisor *s)
{
    struct child *c;

    if (!s)
        return;
    LIST_EACH (s->children, c) {
        if (c->proc)
            proc_abandon(c->proc);
        loop_timer_free(c->again);
        LIST_REMOVE(s->children, c);
        free(c);
    }
    loop_timer_free(s->deadline);
    free(s);
}
