/* kube_pods.c - who has which gpu of this machine, as the kubelet says */

#include "cli/kube/kube_pods.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"

#define ASK_EVERY_NS (10 * NS_PER_SEC)

struct kube_pods {
    struct kube_pods_options o;
    struct pod_resources *resources;
    struct pod_resource_list last;
    VEC(struct gpu_holding) holdings;
    VEC(char *) names; /* of pods, in `holdings` */
    kube_pods_fn fn;   /* waits for the next answer; NULL: nobody does */
    void *fn_arg;
    struct loop_timer *timer; /* of the next question */
    bool is_asked;            /* a question is under way: `fn` wants the one after it */
    bool is_late;
    bool is_silent; /* the kubelet did not answer */
};

bool kube_pods_device(const struct gpu *g, const char *uuid, struct device *ret)
{
    *ret = device_whole(g->uuid);
    if (text_equal(g->uuid, uuid)) {
        if (g->mode == GPU_MODE_REPLICAS) {
            ret->kind = DEVICE_REPLICA;
            ret->replicas = g->replicas;
        }
        return true;
    }
    for (size_t i = 0; i < g->n_slices; i++) {
        if (!text_equal(g->slices[i].uuid, uuid))
            continue;
        ret->kind = DEVICE_SLICE;
        ret->start = g->slices[i].start;
        (void)snprintf(ret->profile, sizeof(ret->profile), "%s", g->slices[i].profile);
        (void)snprintf(ret->instance, sizeof(ret->instance), "%s", uuid);
        return true;
    }
    return false;
}

const struct pod_resource_list *kube_pods_list(const struct kube_pods *p)
{
    return &p->last;
}

static void holdings_clear(struct kube_pods *p)
{
    VEC_EACH (&p->names, name)
        free(*name);
    vec_clear(&p->names);
    vec_clear(&p->holdings);
}

const struct gpu_holding *kube_pods_holdings(struct kube_pods *p, size_t *ret_count)
{
    size_t n = 0;
    const struct gpu *list = p->o.list(p->o.arg, &n);

    holdings_clear(p);
    VEC_EACH (&p->last.all, r)
        for (size_t i = 0; i < n; i++) {
            struct gpu_holding h = {0};

            if (!kube_pods_device(&list[i], r->uuid, &h.device))
                continue;
            vec_add(&p->names, mem_format("%s/%s", r->ns, r->pod));
            h.pod = p->names.at[p->names.n - 1];
            vec_add(&p->holdings, h);
        }
    *ret_count = p->holdings.n;
    return p->holdings.at;
}

static bool is_same(const struct pod_resource_list *a, const struct pod_resource_list *b)
{
    bool same = a->all.n == b->all.n;

    for (size_t i = 0; same && i < a->all.n; i++) {
        const struct pod_resource *x = &a->all.at[i];
        const struct pod_resource *y = &b->all.at[i];

        same = text_equal(x->ns, y->ns) && text_equal(x->pod, y->pod) &&
               text_equal(x->container, y->container) && text_equal(x->uuid, y->uuid);
    }
    return same;
}

static void pods_take(struct kube_pods *p, const struct pod_resource_list *list)
{
    pod_resource_list_done(&p->last);
    VEC_EACH (&list->all, r) {
        struct pod_resource copy = *r;

        copy.ns = mem_strdup(r->ns);
        copy.pod = mem_strdup(r->pod);
        copy.container = mem_strdup(r->container);
        vec_add(&p->last.all, copy);
    }
}

static void pods_tell(struct kube_pods *p, const struct err *e)
{
    kube_pods_fn fn = TAKE(p->fn);
    size_t n = 0;
    const struct gpu_holding *list = e ? NULL : kube_pods_holdings(p, &n);

    if (fn)
        fn(p->fn_arg, e, list, n);
}

static void pods_question(struct kube_pods *p)
{
    p->is_asked = true;
    p->is_late = false;
    pod_resources_ask(p->resources);
}

static void on_answer(void *arg, const struct err *e, const struct pod_resource_list *list)
{
    struct kube_pods *p = arg;
    bool has_changed = !e && !is_same(&p->last, list);

    p->is_asked = false;
    loop_timer_set(p->timer, ASK_EVERY_NS);
    if (e && !p->is_silent)
        LOG(WARN, "kubelet does not tell the pods of gpus", E(e));
    p->is_silent = e != NULL;
    if (has_changed)
        pods_take(p, list);
    if (p->is_late)
        pods_question(p);
    else
        pods_tell(p, e);
    if (has_changed)
        p->o.changed(p->o.arg);
}

static void on_ask_time(void *arg)
{
    struct kube_pods *p = arg;

    if (!p->is_asked)
        pods_question(p);
}

void kube_pods_ask(struct kube_pods *p, kube_pods_fn fn, void *arg)
{
    p->fn = fn;
    p->fn_arg = arg;
    if (p->is_asked)
        p->is_late = true; /* that answer may be from before this moment */
    else
        pods_question(p);
}

struct kube_pods *kube_pods_new(const struct kube_pods_options *o)
{
    struct kube_pods *p = mem_alloc(sizeof(*p));

    p->o = *o;
    p->resources = pod_resources_new(&(struct pod_resources_options){
        .loop = o->loop, .kubelet_dir = o->kubelet_dir, .answered = on_answer, .arg = p});
    p->timer = loop_timer_new(o->loop, on_ask_time, p);
    loop_timer_set(p->timer, 0);
    return p;
}

void kube_pods_free(struct kube_pods *p)
{
    if (!p)
        return;
    pod_resources_free(p->resources);
    loop_timer_free(p->timer);
    pod_resource_list_done(&p->last);
    holdings_clear(p);
    vec_done(&p->names);
    vec_done(&p->holdings);
    free(p);
}
