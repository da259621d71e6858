/* kube_partitions.c - changes MIG instances beside a kubelet */

#include "cli/kube/kube_partitions.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "gpu/partition_run.h"

/* An allocation that the kubelet began before it knew that the gpu is unhealthy is in its list of
 * pods after this time. */
#define HIDDEN_NS (2 * NS_PER_SEC)

enum {
    HIDDEN_MAX = 64
};

/* A gpu that waits for its change. */
struct hidden_gpu {
    char uuid[GPU_TEXT_SIZE];
    int64_t since_ns; /* monotonic */
    int64_t asked_ns;
};

struct kube_partitions {
    struct kube_partitions_options o;
    struct partition_run *run;
    struct gpu_partitions *partitions;
    struct hidden_gpu hidden[HIDDEN_MAX];
    size_t n;
    struct loop_timer *timer; /* the end of HIDDEN_NS */
};

static struct err *start_plan(void *self, const char *uuid, const struct partition_plan *plan,
                              void (*done)(void *arg, const struct err *e), void *arg)
{
    const struct kube_partitions *p = self;

    return partition_run_start(p->run, uuid, plan, done, arg);
}

static uint64_t number_of_list(void *self)
{
    const struct kube_partitions *p = self;

    return gpu_watch_list_number(p->o.gpus);
}

static struct hidden_gpu *hidden_of(struct kube_partitions *p, const char *uuid)
{
    for (size_t i = 0; i < p->n; i++)
        if (text_equal(p->hidden[i].uuid, uuid))
            return &p->hidden[i];
    if (p->n == HIDDEN_MAX)
        return NULL;
    p->hidden[p->n] = (struct hidden_gpu){0};
    (void)snprintf(p->hidden[p->n].uuid, sizeof(p->hidden[p->n].uuid), "%s", uuid);
    return &p->hidden[p->n++];
}

/* A gpu for which nobody asked for a while has begun to wait anew. */
static bool is_hidden(void *self, const char *uuid)
{
    struct kube_partitions *p = self;
    struct hidden_gpu *h = hidden_of(p, uuid);
    int64_t now_ns = loop_now_ns(p->o.loop);

    if (!h)
        return false;
    if (h->since_ns == 0 || now_ns - h->asked_ns > 5 * HIDDEN_NS)
        h->since_ns = now_ns;
    h->asked_ns = now_ns;
    if (now_ns - h->since_ns >= HIDDEN_NS)
        return true;
    loop_timer_set(p->timer, h->since_ns + HIDDEN_NS - now_ns);
    return false;
}

static void on_hidden(void *arg)
{
    kube_partitions_advance(arg);
}

static void ask_kubelet(void *self,
                        void (*done)(void *arg, const struct err *e, const struct gpu_holding *list,
                                     size_t n),
                        void *arg)
{
    const struct kube_partitions *p = self;

    kube_pods_ask(p->o.pods, done, arg);
}

struct gpu_partitions *kube_partitions_get(struct kube_partitions *p)
{
    return p->partitions;
}

void kube_partitions_advance(struct kube_partitions *p)
{
    gpu_partitions_advance(p->partitions, NULL);
}

struct err *kube_partitions_new(const struct kube_partitions_options *o,
                                struct kube_partitions **ret)
{
    struct kube_partitions *p = mem_alloc(sizeof(*p));
    struct err *e = NULL;

    p->o = *o;
    p->timer = loop_timer_new(o->loop, on_hidden, p);
    p->run = partition_run_new(&(struct partition_run_options){.loop = o->loop,
                                                               .watch = o->gpus,
                                                               .self_path = o->self_path,
                                                               .driver_root = o->driver_root,
                                                               .machine = o->machine});
    e = gpu_partitions_new(
        &(struct gpu_partitions_options){.loop = o->loop,
                                         .holders = {is_hidden, ask_kubelet, p},
                                         .dir = o->dir,
                                         .driver = {start_plan, number_of_list, p},
                                         .changed = o->changed,
                                         .arg = o->arg},
        &p->partitions);
    if (e) {
        kube_partitions_free(p);
        return e;
    }
    *ret = p;
    return NULL;
}

void kube_partitions_free(struct kube_partitions *p)
{
    if (!p)
        return;
    gpu_partitions_free(p->partitions);
    partition_run_free(p->run);
    loop_timer_free(p->timer);
    free(p);
}
