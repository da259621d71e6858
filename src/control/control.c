/* control.c - starts, stops and connects the control loops */

#include "control/control.h"

#include "base/log.h"
#include "base/mem.h"
#include "control/accounts.h"
#include "control/boot.h"
#include "control/budgets.h"
#include "control/gc/gc.h"
#include "control/jobs/cronjobs.h"
#include "control/jobs/jobs.h"
#include "control/node_monitor.h"
#include "control/queue/past_usage.h"
#include "control/report/arrivals.h"
#include "control/report/free.h"
#include "control/report/recorder.h"
#include "control/report/views.h"
#include "control/report/what_if.h"
#include "control/requeue.h"
#include "control/taints.h"

struct control {
    struct cluster *cluster;
    struct events *events;
    struct arrivals *arrivals;
    struct recorder *recorder;
    struct scheduler *scheduler;
    struct boot *boot;
    struct node_monitor *monitor;
    struct gc *gc;
    struct jobs *jobs;
    struct cronjobs *cronjobs;
    struct budgets *budgets;
    struct requeue *requeue;
    struct taints *taints;
    struct accounts *accounts;
    struct past_usage *past_usage;
    struct views views;
};

/* While the ledger and the pods disagree, the scheduler places nothing. */
static void on_ledger(void *arg, const struct err *e)
{
    struct control *c = arg;

    scheduler_hold(c->scheduler, e ? err_message(e) : NULL);
}

static struct err *start_requeue(struct control *c, const struct control_options *o)
{
    const struct requeue_options options = {
        .loop = o->loop, .objects = o->objects, .cluster = c->cluster, .events = c->events};

    return requeue_new(&options, &c->requeue);
}

static struct err *start_taints(struct control *c, const struct control_options *o)
{
    const struct taints_options options = {
        .loop = o->loop, .cluster = c->cluster, .events = c->events};

    return taints_new(&options, &c->taints);
}

/* A record line of the engine: input or a decision. */
static void on_line(void *arg, const char *text, size_t size)
{
    struct control *c = arg;

    recorder_line(c->recorder, text, size);
    arrivals_line(c->arrivals, text, size);
}

static struct err *control_start(struct control *c, const struct control_options *o)
{
    const struct boot_options boot = {.loop = o->loop, .objects = o->objects};
    const struct node_monitor_options monitor = {
        .loop = o->loop, .objects = o->objects, .node_grace_ns = o->node_grace_ns};
    const struct gc_options gc = {.loop = o->loop,
                                  .objects = o->objects,
                                  .event_ttl_ns = o->event_ttl_ns,
                                  .on_ledger = on_ledger,
                                  .arg = c};
    const struct accounts_options accounts = {.loop = o->loop, .objects = o->objects, .ca = o->ca};
    struct jobs_options jobs = {.loop = o->loop};
    struct cronjobs_options cronjobs = {.loop = o->loop};
    struct scheduler_options scheduler = {
        .loop = o->loop, .policy = o->policy, .scheduler_names = o->scheduler_names};

    struct past_usage_options past = {.loop = o->loop, .store = o->store};

    c->cluster = cluster_store_new(o->store, o->objects);
    c->events = events_new(o->loop, c->cluster);
    scheduler.cluster = c->cluster;
    scheduler.events = c->events;
    c->recorder = recorder_new(o->loop, &(struct recorder_options){0});
    c->arrivals = arrivals_new();
    scheduler.record = on_line;
    scheduler.record_arg = c;
    TRY(scheduler_new(&scheduler, &c->scheduler));
    past.engine = scheduler_engine(c->scheduler);
    c->past_usage = past_usage_new(&past);
    TRY(boot_new(&boot, &c->boot));
    TRY(node_monitor_new(&monitor, &c->monitor));
    TRY(gc_new(&gc, &c->gc));
    jobs.cluster = c->cluster;
    jobs.events = c->events;
    TRY(jobs_new(&jobs, &c->jobs));
    cronjobs.cluster = c->cluster;
    cronjobs.events = c->events;
    TRY(cronjobs_new(&cronjobs, &c->cronjobs));
    TRY(budgets_new(o->loop, o->objects, &c->budgets));
    TRY(start_requeue(c, o));
    TRY(start_taints(c, o));
    TRY(accounts_new(&accounts, &c->accounts));
    c->views = (struct views){.loop = o->loop, .objects = o->objects, .scheduler = c->scheduler};
    return NULL;
}

struct err *control_new(const struct control_options *o, struct control **ret)
{
    struct control *c = mem_alloc(sizeof(*c));
    struct err *e = control_start(c, o);

    if (e) {
        control_free(c);
        return e;
    }
    *ret = c;
    return NULL;
}

void control_free(struct control *c)
{
    if (!c)
        return;
    accounts_free(c->accounts);
    taints_free(c->taints);
    requeue_free(c->requeue);
    budgets_free(c->budgets);
    cronjobs_free(c->cronjobs);
    jobs_free(c->jobs);
    gc_free(c->gc);
    node_monitor_free(c->monitor);
    boot_free(c->boot);
    past_usage_free(c->past_usage);
    scheduler_free(c->scheduler);
    recorder_free(c->recorder);
    arrivals_free(c->arrivals);
    events_free(c->events);
    cluster_free(c->cluster);
    free(c);
}

struct err *control_free_begin(void *control, const struct report_question *q, report_done_fn done,
                               void *done_arg, struct report **ret)
{
    struct control *c = control;

    return free_begin(&c->views, q, done, done_arg, ret);
}

void control_free_cancel(struct report *r)
{
    free_cancel(r);
}

struct err *control_what_if_begin(void *control, const struct report_question *q,
                                  report_done_fn done, void *done_arg, struct report **ret)
{
    struct control *c = control;

    return what_if_begin(&c->views, q, done, done_arg, ret);
}

void control_what_if_cancel(struct report *r)
{
    what_if_cancel(r);
}

json_t *control_workloads(void *control, const char *ns)
{
    struct control *c = control;

    return views_workloads(&c->views, ns);
}

json_t *control_workload(void *control, const char *ns, const char *name)
{
    struct control *c = control;

    return views_workload(&c->views, ns, name);
}

json_t *control_gpus(void *control, const char *ns)
{
    struct control *c = control;

    (void)ns; /* gpus are cluster-wide */
    return views_gpus(&c->views);
}

json_t *control_gpu(void *control, const char *ns, const char *name)
{
    struct control *c = control;

    (void)ns;
    return views_gpu(&c->views, name);
}

struct err *control_recording(void *control, const struct report_question *q, report_done_fn done,
                              void *done_arg, struct report **ret)
{
    struct control *c = control;

    return recorder_report(c->recorder, q, done, done_arg, ret);
}

void control_cancel_recording(struct report *r)
{
    recorder_cancel(r);
}

struct arrivals *control_arrivals(struct control *c)
{
    return c->arrivals;
}

struct mete_engine *control_engine(struct control *c)
{
    return scheduler_engine(c->scheduler);
}

void control_set_learned(struct control *c, uint64_t pods, int64_t at_ns)
{
    c->views.learned_pods = pods;
    c->views.learned_ns = at_ns;
}
