/* crun_command_linux.c - runs of crun or runc, and answers given from the loop */

#include "base/list.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "node/runtime/crun_attempt_linux.h"

static const int64_t COMMAND_DEADLINE_NS = 60 * NS_PER_SEC;
static const int64_t KILL_LATER_NS = 50 * NS_PER_MS;

/* ---- answers ---- */

void deferred_free(struct deferred *d)
{
    LIST_REMOVE(d->r->deferred, d);
    err_free(d->e);
    loop_timer_free(d->timer);
    free(d->kill_id);
    free(d);
}

static void on_deferred(void *arg)
{
    struct deferred *d = arg;

    if (d->kill_id)
        d->r->runtime.ops->kill(d->r, d->kill_id, d->kill_signal, d->done, d->arg);
    else
        d->done(d->arg, d->e);
    deferred_free(d);
}

static void deferred_new(struct deferred from, int64_t delay_ns)
{
    struct deferred *d = mem_alloc(sizeof(*d));

    *d = from;
    LIST_ADD(d->r->deferred, d);
    d->timer = loop_timer_new(d->r->o.loop, on_deferred, d);
    loop_timer_set(d->timer, delay_ns);
}

void crun_defer(struct crun *r, runtime_done_fn done, void *arg, struct err *e)
{
    deferred_new((struct deferred){.r = r, .done = done, .arg = arg, .e = e}, 0);
}

void crun_kill_later(struct crun *r, const char *id, int signal, runtime_done_fn done, void *arg)
{
    deferred_new(
        (struct deferred){
            .r = r, .done = done, .arg = arg, .kill_id = mem_strdup(id), .kill_signal = signal},
        KILL_LATER_NS);
}

/* ---- crun as a command ---- */

void command_free(struct command *c)
{
    LIST_REMOVE(c->r->commands, c);
    free(c->id);
    free(c);
}

const char *attempt_program(const struct crun_attempt *b)
{
    const char *path = b->r->oci.paths[b->kind];

    return path ? path : oci_name(b->kind); /* if missing, its start reports that */
}

static struct err *command_error(const char *program, const struct proc_end *end)
{
    AUTO_FREE char *how = NULL;
    struct str text = end->output;

    if (end->status == 0)
        return NULL;
    while (text.size > 0 && (text.at[text.size - 1] == '\n' || text.at[text.size - 1] == ' '))
        text.size--;
    how = end->timed_out ? mem_strdup("did not answer") : proc_format_status(end->status);
    return err_new(ERR_UNAVAILABLE, "%s %s: " STR_FMT, program, how, STR_ARG(text));
}

static void on_command_end(void *arg, const struct proc_end *end)
{
    struct command *c = arg;
    struct crun_attempt *b = crun_find(c->r, c->id);
    AUTO(err_freep) struct err *e = command_error(oci_name(b ? b->kind : c->r->oci.kind), end);

    if (c->then && b)
        c->then(b, e, c->arg);
    if (c->done)
        c->done(c->arg, e);
    command_free(c);
}

/* `words` live as long as this call. */
void crun_run(struct crun *r, const char *const words[4], struct command *c)
{
    struct crun_attempt *b = crun_find(r, c->id);
    const char *argv[8] = {b ? attempt_program(b) : r->oci.paths[r->oci.kind], "--root", r->root};
    struct proc_options o = {
        .argv = argv, .has_output = true, .is_session = true, .deadline_ns = COMMAND_DEADLINE_NS};
    struct err *e = NULL;

    LIST_ADD(r->commands, c);
    for (size_t i = 0; i < 4 && words[i]; i++)
        argv[3 + i] = words[i];
    e = proc_start(r->o.loop, &o, on_command_end, c, &c->proc);
    if (!e)
        return;
    if (c->then) { /* its retry uses a timer, so calling back at once is safe */
        if (b)
            c->then(b, e, c->arg);
        err_free(e);
    } else {
        crun_defer(r, c->done, c->arg, e);
    }
    command_free(c);
}
