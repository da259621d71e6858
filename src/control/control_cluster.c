/* control_cluster.c - starts, stops and connects the loops over our own store */

#include "control/control_cluster.h"

#include "base/mem.h"
#include "control/accounts.h"
#include "control/apps/deployments.h"
#include "control/apps/podsets.h"
#include "control/autoscale/autoscale.h"
#include "control/boot.h"
#include "control/budgets.h"
#include "control/claims/claims.h"
#include "control/gc/gc.h"
#include "control/gpu_config.h"
#include "control/jobs/cronjobs.h"
#include "control/jobs/jobs.h"
#include "control/node_monitor.h"
#include "control/queue/past_usage.h"
#include "control/requeue.h"
#include "control/services/cluster_services.h"
#include "control/services/services.h"
#include "control/slurm/slurm_fair.h"
#include "control/slurm/slurm_jobs.h"
#include "control/taints.h"
#include "control/volumes/volumes.h"

struct control_cluster {
    struct scheduler *scheduler;
    struct boot *boot;
    struct node_monitor *monitor;
    struct gc *gc;
    struct jobs *jobs;
    struct cronjobs *cronjobs;
    struct podsets *podsets;
    struct deployments *deployments;
    struct autoscale *autoscale;
    struct slurm_fair *slurm_fair;
    struct slurm_jobs *slurm_jobs;
    struct budgets *budgets;
    struct requeue *requeue;
    struct taints *taints;
    struct gpu_config *gpu_config;
    struct claims *claims;
    struct volumes_loop *volumes;
    struct accounts *accounts;
    struct services *services;
    struct cluster_services *cluster_services;
    struct past_usage *past_usage;
};

/* While the ledger and the pods disagree, the scheduler places nothing. */
static void on_ledger(void *arg, const struct err *e)
{
    struct control_cluster *c = arg;

    scheduler_hold(c->scheduler, e ? err_message(e) : NULL);
}

static struct err *start_jobs(struct control_cluster *c, const struct control_cluster_options *o)
{
    const struct jobs_options jobs = {
        .loop = o->loop, .cluster = o->cluster, .events = o->scheduler->events};
    const struct cronjobs_options cronjobs = {
        .loop = o->loop, .cluster = o->cluster, .events = o->scheduler->events};
    const struct slurm_fair_options fair = {.loop = o->loop,
                                            .cluster = o->cluster,
                                            .store = o->store,
                                            .scheduler = o->scheduler->scheduler};
    struct slurm_jobs_options slurm = {.loop = o->loop,
                                       .cluster = o->cluster,
                                       .events = o->scheduler->events,
                                       .scheduler = o->scheduler->scheduler,
                                       .objects = o->objects};

    TRY(jobs_new(&jobs, &c->jobs));
    TRY(cronjobs_new(&cronjobs, &c->cronjobs));
    TRY(slurm_fair_new(&fair, &c->slurm_fair));
    slurm.fair = c->slurm_fair;
    return slurm_jobs_new(&slurm, &c->slurm_jobs);
}

static struct err *start_apps(struct control_cluster *c, const struct control_cluster_options *o)
{
    const struct podsets_options podsets = {
        .loop = o->loop, .cluster = o->cluster, .events = o->scheduler->events};
    const struct deployments_options deployments = {
        .loop = o->loop, .cluster = o->cluster, .events = o->scheduler->events};
    const struct autoscale_options autoscale = {.loop = o->loop,
                                                .objects = o->objects,
                                                .events = o->scheduler->events,
                                                .samples = o->samples};

    TRY(podsets_new(&podsets, &c->podsets));
    TRY(deployments_new(&deployments, &c->deployments));
    return autoscale_new(&autoscale, &c->autoscale);
}

static struct err *start_services(struct control_cluster *c,
                                  const struct control_cluster_options *o)
{
    const struct services_options services = {.loop = o->loop, .cluster = o->cluster};
    const struct cluster_services_options own = {.loop = o->loop,
                                                 .objects = o->objects,
                                                 .network = o->service_network,
                                                 .gateway = o->gateway,
                                                 .api_port = o->api_port};

    TRY(services_new(&services, &c->services));
    return cluster_services_new(&own, &c->cluster_services);
}

static struct err *start_pods(struct control_cluster *c, const struct control_cluster_options *o)
{
    const struct requeue_options requeue = {.loop = o->loop,
                                            .objects = o->objects,
                                            .cluster = o->cluster,
                                            .events = o->scheduler->events};
    const struct taints_options taints = {
        .loop = o->loop, .cluster = o->seen, .events = o->scheduler->events};

    TRY(requeue_new(&requeue, &c->requeue));
    return taints_new(&taints, &c->taints);
}

static struct err *control_cluster_start(struct control_cluster *c,
                                         const struct control_cluster_options *o)
{
    const struct past_usage_options past = {
        .loop = o->loop, .store = o->store, .engine = scheduler_engine(o->scheduler->scheduler)};
    const struct boot_options boot = {.loop = o->loop, .objects = o->objects};
    const struct node_monitor_options monitor = {
        .loop = o->loop, .objects = o->objects, .node_grace_ns = o->node_grace_ns};
    const struct gc_options gc = {.loop = o->loop,
                                  .objects = o->objects,
                                  .event_ttl_ns = o->event_ttl_ns,
                                  .on_ledger = on_ledger,
                                  .arg = c};
    const struct gpu_config_options gpus = {.loop = o->loop, .cluster = o->cluster};
    const struct claims_options claims = {
        .loop = o->loop, .cluster = o->cluster, .scheduler = o->scheduler->scheduler};
    const struct volumes_options volumes = {
        .loop = o->loop, .cluster = o->cluster, .events = o->scheduler->events};
    const struct accounts_options accounts = {.loop = o->loop, .objects = o->objects, .ca = o->ca};

    c->scheduler = o->scheduler->scheduler;
    c->past_usage = past_usage_new(&past);
    TRY(boot_new(&boot, &c->boot));
    TRY(node_monitor_new(&monitor, &c->monitor));
    TRY(gc_new(&gc, &c->gc));
    TRY(start_jobs(c, o));
    TRY(start_apps(c, o));
    TRY(budgets_new(o->loop, o->objects, &c->budgets));
    TRY(start_pods(c, o));
    TRY(gpu_config_new(&gpus, &c->gpu_config));
    TRY(claims_new(&claims, &c->claims));
    TRY(volumes_loop_new(&volumes, &c->volumes));
    TRY(start_services(c, o));
    return accounts_new(&accounts, &c->accounts);
}

struct err *control_cluster_new(const struct control_cluster_options *o,
                                struct control_cluster **ret)
{
    struct control_cluster *c = mem_alloc(sizeof(*c));
    struct err *e = control_cluster_start(c, o);

    if (e) {
        control_cluster_free(c);
        return e;
    }
    *ret = c;
    return NULL;
}

struct slurm_jobs *control_cluster_slurm(struct control_cluster *c)
{
    return c->slurm_jobs;
}

void control_cluster_free(struct control_cluster *c)
{
    if (!c)
        return;
    cluster_services_free(c->cluster_services);
    services_free(c->services);
    accounts_free(c->accounts);
    volumes_loop_free(c->volumes);
    claims_free(c->claims);
    gpu_config_free(c->gpu_config);
    taints_free(c->taints);
    requeue_free(c->requeue);
    budgets_free(c->budgets);
    slurm_jobs_free(c->slurm_jobs);
    slurm_fair_free(c->slurm_fair);
    autoscale_free(c->autoscale);
    deployments_free(c->deployments);
    podsets_free(c->podsets);
    cronjobs_free(c->cronjobs);
    jobs_free(c->jobs);
    gc_free(c->gc);
    node_monitor_free(c->monitor);
    boot_free(c->boot);
    past_usage_free(c->past_usage);
    free(c);
}
