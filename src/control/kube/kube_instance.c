/* kube_instance.c - election, cluster and scheduler of one instance */

#include "control/kube/kube_instance.h"

#include "base/mem.h"
#include "base/stamp.h"
#include "control/kube/kube_election.h"

/* A gang that is undone waits for the end of its pods (cluster_kube.h). */
#define ANSWER_NS (300 * NS_PER_SEC)
/* Shorter than what a supervisor waits before it kills. */
#define DRAIN_NS (8 * NS_PER_SEC)

struct kube_instance {
    struct kube_instance_options o;
    char *names;
    struct kube_election *election;    /* NULL: this instance is alone */
    struct cluster *cluster;           /* NULL: another instance leads */
    struct control_scheduler *control; /* NULL: no decisions */
    struct loop_timer *begin_timer;    /* of an instance that is alone */
    loop_fn stopped;
    void *stopped_arg;
    bool has_rested;
};

/* No decisions any more. */
static void instance_rest(struct kube_instance *i)
{
    if (i->control && !i->has_rested)
        i->o.rests(i->o.arg);
    i->has_rested = true;
    if (i->cluster)
        cluster_kube_set_scheduler(i->cluster, NULL);
    control_scheduler_free(TAKE(i->control));
}

static struct err *instance_work(struct kube_instance *i)
{
    i->cluster = cluster_kube_new(&(struct cluster_kube_options){
        .loop = i->o.loop, .client = i->o.client, .has_claims = true, .foreign = i->o.foreign});
    TRY(control_scheduler_new(&(struct control_scheduler_options){.loop = i->o.loop,
                                                                  .cluster = i->cluster,
                                                                  .scheduler_names = i->names,
                                                                  .has_names_alone = true,
                                                                  .binds_one_by_one = true,
                                                                  .answer_ns = ANSWER_NS},
                              &i->control));
    cluster_kube_set_scheduler(i->cluster, i->control->scheduler);
    return i->o.works(i->o.arg, i->cluster, i->control);
}

static void on_elected(void *arg)
{
    struct kube_instance *i = arg;
    struct err *e = instance_work(i);

    if (e)
        i->o.failed(i->o.arg, e);
}

/* Another instance may begin soon: nothing of this one stays under way. */
static void on_lost(void *arg, const struct err *why)
{
    struct kube_instance *i = arg;

    instance_rest(i);
    cluster_free(TAKE(i->cluster));
    i->o.failed(i->o.arg,
                err_new(err_code(why), "this instance no longer leads: %s", err_message(why)));
}

struct kube_instance *kube_instance_new(const struct kube_instance_options *o)
{
    struct kube_instance *i = mem_alloc(sizeof(*i));

    *i = (struct kube_instance){.o = *o, .names = mem_strdup(o->scheduler_names)};
    if (o->ns)
        i->election = kube_election_new(&(struct kube_election_options){.loop = o->loop,
                                                                        .client = o->client,
                                                                        .ns = o->ns,
                                                                        .name = o->name,
                                                                        .identity = o->identity,
                                                                        .elected = on_elected,
                                                                        .lost = on_lost,
                                                                        .arg = i});
    i->begin_timer = loop_timer_new(o->loop, on_elected, i);
    if (!o->ns)
        loop_timer_set(i->begin_timer, 0);
    i->o.ns = i->o.name = i->o.identity = i->o.scheduler_names = NULL; /* borrowed until now */
    return i;
}

/* A binding that is still under way may come at any time: the Lease is left to run out. */
static void on_drained(void *arg, bool is_empty)
{
    struct kube_instance *i = arg;
    const loop_fn stopped = i->stopped;
    void *const stopped_arg = i->stopped_arg;

    cluster_free(TAKE(i->cluster));
    if (i->election && is_empty)
        kube_election_release(i->election, stopped, stopped_arg);
    else
        stopped(stopped_arg);
}

void kube_instance_stop(struct kube_instance *i, loop_fn done, void *arg)
{
    if (i->stopped)
        return;
    i->stopped = done;
    i->stopped_arg = arg;
    loop_timer_stop(i->begin_timer);
    instance_rest(i);
    if (i->cluster)
        cluster_kube_drain(i->cluster, DRAIN_NS, on_drained, i);
    else
        on_drained(i, true);
}

void kube_instance_free(struct kube_instance *i)
{
    if (!i)
        return;
    instance_rest(i);
    cluster_free(i->cluster);
    kube_election_free(i->election);
    loop_timer_free(i->begin_timer);
    free(i->names);
    free(i);
}
