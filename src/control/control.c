/* control.c - the control loops of the server, and the views of them */

#include "control/control.h"

#include "base/mem.h"
#include "control/control_cluster.h"
#include "control/control_scheduler.h"
#include "control/report/free.h"
#include "control/report/inventory.h"
#include "control/report/queue_metrics.h"
#include "control/report/views.h"
#include "control/report/waiting.h"
#include "control/report/what_if.h"
#include "control/slurm/slurm_report.h"

struct control {
    struct cluster *cluster; /* over the store */
    struct control_scheduler *scheduler;
    struct control_cluster *loops;
    struct views views;
    struct inventory *inventory;
};

static struct err *control_start(struct control *c, const struct control_options *o)
{
    struct control_scheduler_options scheduler = {.loop = o->loop,
                                                  .cluster = o->cluster,
                                                  .policy = o->policy,
                                                  .scheduler_names = o->scheduler_names,
                                                  .observer = o->observer};
    struct control_cluster_options loops = {.loop = o->loop,
                                            .store = o->store,
                                            .objects = o->objects,
                                            .node_grace_ns = o->node_grace_ns,
                                            .event_ttl_ns = o->event_ttl_ns,
                                            .service_network = o->service_network,
                                            .gateway = o->gateway,
                                            .api_port = o->api_port,
                                            .ca = o->ca,
                                            .samples = {.container_load = o->container_load,
                                                        .container_gpu = o->container_gpu,
                                                        .gpu_sample = o->gpu_sample,
                                                        .arg = o->gpu_sample_arg}};

    c->cluster = cluster_store_new(o->store, o->objects);
    if (!scheduler.cluster)
        scheduler.cluster = c->cluster;
    TRY(control_scheduler_new(&scheduler, &c->scheduler));
    loops.cluster = c->cluster;
    loops.seen = scheduler.cluster;
    loops.scheduler = c->scheduler;
    TRY(control_cluster_new(&loops, &c->loops));
    c->inventory = inventory_new(o->store, c->scheduler->scheduler);
    c->views = (struct views){.loop = o->loop,
                              .objects = o->objects,
                              .scheduler = c->scheduler->scheduler,
                              .gpu_sample = o->gpu_sample,
                              .container_gpu = o->container_gpu,
                              .gpu_sample_arg = o->gpu_sample_arg};
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
    inventory_free(c->inventory);
    control_cluster_free(c->loops);
    control_scheduler_free(c->scheduler);
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

struct err *control_waiting_begin(void *control, const struct report_question *q,
                                  report_done_fn done, void *done_arg, struct report **ret)
{
    struct control *c = control;

    return waiting_begin(&c->views, q, done, done_arg, ret);
}

void control_waiting_cancel(struct report *r)
{
    waiting_cancel(r);
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

struct err *control_slurm_begin(void *control, const struct report_question *q, report_done_fn done,
                                void *done_arg, struct report **ret)
{
    struct control *c = control;

    return slurm_report_begin(control_cluster_slurm(c->loops), q, done, done_arg, ret);
}

uint64_t control_slurm_stamp(void *control, const struct report_question *q)
{
    struct control *c = control;

    return slurm_report_stamp(control_cluster_slurm(c->loops), q);
}

void control_slurm_cancel(struct report *r)
{
    slurm_report_cancel(r);
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

    return recorder_report(c->scheduler->recorder, q, done, done_arg, ret);
}

void control_cancel_recording(struct report *r)
{
    recorder_cancel(r);
}

void control_each_device(void *control, device_row_fn fn, void *fn_arg)
{
    struct control *c = control;

    inventory_each(c->inventory, fn, fn_arg);
}

void control_each_node(void *control, node_row_fn fn, void *fn_arg)
{
    struct control *c = control;

    inventory_each_node(c->inventory, fn, fn_arg);
}

void control_write_metrics(void *control, struct exposition *x, const struct metrics_question *q)
{
    struct control *c = control;

    (void)q; /* no family of ours has users */
    queue_metrics_write(c->scheduler->scheduler, loop_wall_ns(c->views.loop), x);
    inventory_write(c->inventory, x);
}

struct arrivals *control_arrivals(struct control *c)
{
    return c->scheduler->arrivals;
}

struct mete_engine *control_engine(struct control *c)
{
    return scheduler_engine(c->scheduler->scheduler);
}

void control_set_learned(struct control *c, uint64_t pods, int64_t at_ns)
{
    c->views.learned_pods = pods;
    c->views.learned_ns = at_ns;
}
