/* free.c - the report of jobs that could start now */

#include "control/report/free.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "control/scheduler/scheduler_private.h"
#include "kinds/queue.h"

enum {
    SIZES_MAX = 16,
    GPUS_MAX = 64,    /* as many as a node has */
    STARTS_MAX = 256, /* jobs counted of one size; more are reported as "or more" */
    MODELS_MAX = 32,
    RESERVATION_NAME_SIZE = 254
};

/* Free gpus that are kept for a waiting job or a later reservation serve a job of this length. */
static const int64_t brief_ns = 60 * NS_PER_SEC;

/* The gpus of one model over all nodes. */
struct stock {
    const char *model; /* borrowed from the view */
    int64_t n_gpus;
    int64_t n_free;
    int64_t most_free; /* free gpus of the best node */
    const char *node;  /* the best node */

    int64_t n_kept;                      /* free gpus that reservations of others keep */
    char kept_by[RESERVATION_NAME_SIZE]; /* the first of these */
    int64_t kept_until_ns;

    const char *here; /* the node that is being counted */
    int64_t free_here;
    bool takes_pods;
};

struct stocks {
    struct stock at[MODELS_MAX];
    size_t n;
    VEC(const json_t *) free; /* the gpus that count as free; borrowed from the view */
};

struct report {
    struct views *views;
    struct loop_timer *timer;
    report_done_fn done;
    void *arg;
    char *queue;
    char *user;
    int64_t time_limit_ns;
    char *ns;
    struct gpu_ask sizes[SIZES_MAX];
    bool is_exact; /* only gpus of the size's vendor count */
    size_t n_sizes;
};

/* ---- the question ---- */

static struct err *read_sizes(const char *text, struct report *r)
{
    struct str rest = str_of(text ? text : "1,2,4,8");

    while (rest.at && rest.size > 0) {
        struct str one = str_cut(&rest, ',');
        int64_t n = 0;
        struct err *e = num_parse_int64(one, 1, GPUS_MAX, &n);

        if (e)
            return err_wrap(e, "parameter gpus");
        if (r->n_sizes == SIZES_MAX)
            return err_new(ERR_BAD_REQUEST, "parameter gpus: over %d sizes", SIZES_MAX);
        r->sizes[r->n_sizes++] = (struct gpu_ask){.count = n, .is_several = n > 1};
    }
    return NULL;
}

/* One size: a part of a gpu, or several. */
static struct err *read_part(const char *text, struct report *r)
{
    struct err *e = gpu_ask_parse(text, &r->sizes[0]);

    if (!e && r->sizes[0].count == 0)
        e = err_new(ERR_BAD_REQUEST, "want at least one");
    r->sizes[0].is_several = r->sizes[0].count > 1;
    r->n_sizes = 1;
    r->is_exact = true;
    return e ? err_wrap(e, "parameter part") : NULL;
}

static struct err *read_time(const char *text, struct report *r)
{
    struct err *e = text && *text ? num_parse_duration(str_of(text), &r->time_limit_ns) : NULL;

    return e ? err_wrap(e, "parameter time") : NULL;
}

/* The queue of pods in the namespace that name none. */
static char *queue_of_namespace(const struct views *v, const char *ns)
{
    AUTO(json_freep) json_t *object = views_get(v, "namespaces", "", ns);
    const char *queue = json_text_at(object, "metadata", "labels", QUEUE_LABEL, NULL);

    if (!queue || !*queue)
        queue = json_text_at(object, "metadata", "annotations", QUEUE_LABEL, NULL);
    return mem_strdup(queue && *queue ? queue : QUEUE_DEFAULT);
}

static struct err *read_queue(const struct views *v, const struct report_question *q,
                              struct report *r)
{
    const char *queue = json_text(q->parameters, "queue");
    const char *ns = json_text(q->parameters, "namespace");

    if (!ns || !*ns)
        ns = "default";
    if (!report_may_show(q->namespaces, ns))
        return err_new(ERR_FORBIDDEN,
                       "free capacity for namespace \"%.64s\" is forbidden for user "
                       "\"%.64s\"",
                       ns, q->user);
    if (queue && *queue && q->namespaces && !queue_tree_let_in(v->scheduler->queues, queue, ns))
        return err_new(ERR_FORBIDDEN,
                       "free capacity of queue \"%.64s\" is forbidden for user \"%.64s\": "
                       "namespace %.64s may not use queue %.64s",
                       queue, q->user, ns, queue);
    r->queue = queue && *queue ? mem_strdup(queue) : queue_of_namespace(v, ns);
    r->ns = mem_strdup(ns);
    return NULL;
}

/* ---- the answer ---- */

/* Does the node take pods? The engine's nodes are sorted by name. */
static bool takes_pods(struct mete_engine *e, const char *name)
{
    size_t first = 0;
    size_t end = mete_node_count(e);

    while (first < end) {
        size_t middle = first + (end - first) / 2;
        struct mete_node_view node;
        int order;

        if (mete_node_view(e, middle, &node) != METE_OK)
            return false; /* index in range: does not happen */
        order = strcmp(node.name, name);
        if (order == 0)
            return node.takes_pods;
        if (order < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return false;
}

static struct stock *find_stock(struct stocks *all, const char *model)
{
    for (size_t i = 0; i < all->n; i++)
        if (text_equal(all->at[i].model, model))
            return &all->at[i];
    if (all->n == MODELS_MAX)
        return NULL;
    all->at[all->n] = (struct stock){.model = model};
    return &all->at[all->n++];
}

/* Adds a gpu to its model's stock. The gpus come node by node. */
static void count_gpu(struct mete_engine *e, struct stocks *all, const json_t *gpu)
{
    const char *node = json_text_at(gpu, "spec", "node", NULL);
    const char *model = json_text_at(gpu, "spec", "model", NULL);
    struct stock *s = model && node ? find_stock(all, model) : NULL;

    if (!s)
        return;
    s->n_gpus++;
    if (!text_equal(s->here, node)) {
        s->here = node;
        s->free_here = 0;
        s->takes_pods = takes_pods(e, node);
    }
    if (!s->takes_pods || json_at(gpu, "status", "holder", NULL) ||
        !text_equal(json_text_at(gpu, "status", "health", NULL), "healthy"))
        return;
    vec_add(&all->free, gpu);
    s->n_free++;
    s->free_here++;
    if (s->free_here <= s->most_free)
        return;
    s->most_free = s->free_here;
    s->node = node;
}

static bool has_text(const char *const *list, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (text_equal(list[i], text))
            return true;
    return false;
}

/* Does the reservation keep this free gpu from the user's jobs? */
static bool is_kept(const struct report *r, const struct mete_reservation_view *v,
                    const json_t *gpu)
{
    if (!v->has_begun || has_text(v->users, v->n_users, r->user) ||
        has_text(v->queues, v->n_queues, r->queue))
        return false;
    if (v->gpus > 0)
        return has_text(v->gpu_uuids, v->n_gpu_uuids, json_text_at(gpu, "spec", "uuid", NULL));
    return has_text(v->nodes, v->n_nodes, json_text_at(gpu, "spec", "node", NULL));
}

static void stock_keep(struct stock *s, const struct mete_reservation_view *v)
{
    if (s->n_kept++ > 0)
        return;
    (void)snprintf(s->kept_by, sizeof(s->kept_by), "%s", v->name);
    s->kept_until_ns = v->end_ns;
}

/* Counts the free gpus that reservations keep. A gpu in two reservations counts once. */
static void count_kept(const struct report *r, struct stocks *all)
{
    struct mete_engine *e = scheduler_engine(r->views->scheduler);

    for (size_t i = 0; i < mete_reservation_count(e); i++) {
        struct mete_reservation_view v;

        if (mete_reservation_view(e, i, &v) != METE_OK)
            continue; /* index in range: does not happen */
        VEC_EACH (&all->free, gpu) {
            struct stock *s =
                *gpu ? find_stock(all, json_text_at(*gpu, "spec", "model", NULL)) : NULL;

            if (!s || !is_kept(r, &v, *gpu))
                continue;
            stock_keep(s, &v);
            *gpu = NULL;
        }
    }
}

/* The pods of a job that asks for such gpus of the model. False: no node has so many. */
static bool ask_of_model(const struct report *r, struct arena *a, const struct gpu_ask *ask,
                         const char *const *model, struct mete_pod_set *set)
{
    const struct gpu_asks asks = {.at = {*ask}, .n = 1};
    struct mete_gpu_ask *one;

    if (r->is_exact && sched_vendor_of(r->views->scheduler, *model) != ask->vendor)
        return false;
    if (!sched_devices_ask(r->views->scheduler, a, &asks, set))
        return false;
    set->gpu_models = model;
    set->n_gpu_models = 1;
    if (set->n_asks == 0)
        return true;
    one = arena_alloc(a, sizeof(*one));
    *one = set->asks[0];
    one->models = model;
    one->n_models = 1;
    set->asks = one;
    return true;
}

/* The number of jobs with such gpus of the model that could start. */
static uint32_t count_starts(const struct report *r, const char *model, const struct gpu_ask *ask,
                             int64_t time_limit_ns, uint32_t max)
{
    const struct mete_amount pods = {"pods", 1};
    struct arena *a = arena_new();
    struct mete_pod_set set = {
        .name = "main", .count = 1, .requests = &pods, .n_requests = 1, .ns = r->ns};
    const struct mete_workload job = {.id = METE_ID_UNNAMED,
                                      .name = "free",
                                      .queue = r->queue,
                                      .user = r->user,
                                      .time_limit_ns = time_limit_ns,
                                      .submit_ns = loop_wall_ns(r->views->loop),
                                      .pod_sets = &set,
                                      .n_pod_sets = 1};
    uint32_t n = 0;

    if (!ask_of_model(r, a, ask, &model, &set) ||
        mete_count_starts(scheduler_engine(r->views->scheduler), &job, max,
                          loop_wall_ns(r->views->loop), &n) != METE_OK)
        n = 0;
    arena_free(a);
    return n;
}

/* The most gpus that one job could get on one node. Replicas of held gpus serve, too. */
static int64_t largest_of(const struct report *r, const struct stock *s, int64_t time_limit_ns)
{
    int64_t most = r->views->scheduler->has_replicas ? s->n_gpus : s->most_free;
    struct gpu_ask ask = {.count = most < GPUS_MAX ? most : GPUS_MAX};

    for (; ask.count > 0; ask.count--) {
        ask.is_several = ask.count > 1;
        if (count_starts(r, s->model, &ask, time_limit_ns, 1) > 0)
            break;
    }
    return ask.count;
}

static json_t *starts_tree(const struct report *r, const struct stock *s, const struct gpu_ask *ask,
                           int64_t largest)
{
    bool is_too_large = ask->kind == DEVICE_WHOLE && ask->count > largest;
    uint32_t n =
        is_too_large ? 0 : count_starts(r, s->model, ask, r->time_limit_ns, STARTS_MAX + 1);
    json_t *o = json_object();
    char text[GPU_ASK_TEXT_SIZE];

    gpu_ask_format(ask, text);
    json_put_int(o, "gpus", ask->count);
    json_put_text(o, "devices", text);
    json_put_int(o, "jobs", n > STARTS_MAX ? STARTS_MAX : n);
    json_put_bool(o, "orMore", n > STARTS_MAX);
    return o;
}

static json_t *stock_tree(const struct report *r, const struct stock *s)
{
    json_t *o = json_object();
    json_t *starts;
    int64_t largest = largest_of(r, s, r->time_limit_ns);
    char until[STAMP_TEXT_SIZE];

    json_put_text(o, "model", s->model);
    json_put_int(o, "gpus", s->n_gpus);
    json_put_int(o, "free", s->n_free);
    json_put_int(o, "mostOnOneNode", s->most_free);
    json_put_text(o, "node", s->node);
    json_put_int(o, "largest", largest);
    if (largest < s->most_free)
        json_put_int(o, "largestBrief", largest_of(r, s, brief_ns));
    json_put_int(o, "kept", s->n_kept);
    if (s->n_kept > 0) {
        stamp_format(s->kept_until_ns, until);
        json_put_text(o, "keptBy", s->kept_by);
        json_put_text(o, "keptUntil", until);
    }
    starts = json_array_at(o, "starts");
    for (size_t i = 0; i < r->n_sizes; i++) /* a fresh object: cannot fail */
        (void)json_array_append_new(starts, starts_tree(r, s, &r->sizes[i], largest));
    return o;
}

static json_t *make_report(const struct report *r)
{
    struct mete_engine *e = scheduler_engine(r->views->scheduler);
    AUTO(json_freep) json_t *gpus = views_gpus(r->views);
    struct stocks all = {0};
    json_t *report = json_object();
    json_t *models;
    char stamp[STAMP_TEXT_SIZE];
    json_t *gpu;
    size_t i;

    json_array_foreach (gpus, i, gpu)
        count_gpu(e, &all, gpu);
    count_kept(r, &all);
    vec_done(&all.free);
    stamp_format(loop_wall_ns(r->views->loop), stamp);
    json_put_text(report, "apiVersion", "mete.dev/v1");
    json_put_text(report, "kind", "FreeReport");
    json_put_text(report, "queue", r->queue);
    json_put_text(report, "user", r->user);
    json_put(report, "timeLimitSeconds",
             r->time_limit_ns > 0 ? json_integer(r->time_limit_ns / NS_PER_SEC) : json_null());
    json_put_text(report, "at", stamp);
    models = json_array_at(report, "models");
    for (size_t k = 0; k < all.n; k++)
        (void)json_array_append_new(models, stock_tree(r, &all.at[k])); /* fresh */
    return report;
}

void free_cancel(struct report *r)
{
    loop_timer_free(r->timer);
    free(r->queue);
    free(r->user);
    free(r->ns);
    free(r);
}

static void free_on_time(void *arg)
{
    struct report *r = arg;
    AUTO(json_freep) json_t *report = make_report(r);
    report_done_fn done = r->done;
    void *done_arg = r->arg;

    free_cancel(r);
    done(done_arg, NULL, report);
}

struct err *free_begin(struct views *v, const struct report_question *q, report_done_fn done,
                       void *done_arg, struct report **ret)
{
    const char *part;
    struct report *r;
    struct err *e;

    TRY(scheduler_check_loaded(v->scheduler));
    r = mem_alloc(sizeof(*r));
    *r = (struct report){.views = v, .done = done, .arg = done_arg};
    part = json_text(q->parameters, "part");
    e = part ? read_part(part, r) : read_sizes(json_text(q->parameters, "gpus"), r);
    if (!e)
        e = read_time(json_text(q->parameters, "time"), r);
    if (!e)
        e = read_queue(v, q, r);
    if (e) {
        free_cancel(r);
        return e;
    }
    r->user = mem_strdup(q->user ? q->user : "");
    r->timer = loop_timer_new(v->loop, free_on_time, r);
    loop_timer_set(r->timer, 0);
    *ret = r;
    return NULL;
}
