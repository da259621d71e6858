/*
 * scheduler_work.c - single pods and gangs as the engine's workloads
 *
 * A placed gang that loses a pod is replaced in the engine without that pod. An evicted gang is
 * not: the engine keeps all its resources together, for the workload that evicts it, until its last
 * pod is gone. A replacement names all pods, so a large gang that loses pods one by one is replaced
 * at intervals only.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/num.h"
#include "control/scheduler/scheduler_private.h"

bool sched_name_is_gang(const char *placement)
{
    return placement && strchr(placement, ':') != NULL; /* no pod's name has a colon */
}

struct sched_work *scheduler_find_gang(const struct scheduler *s, const char *ns, const char *name)
{
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct sched_work *w = NULL;

    map_find_text(by_key, s->gangs, key, w);
    return w;
}

enum {
    PODS_AT_ONCE = 64 /* a gang below this size is replaced at each loss */
};
#define SHRINK_NS NS_PER_SEC

/* A start time long ago: no minimum run time protects the workload, and its loss is the largest. */
#define LONG_AGO_NS INT64_C(1)

struct sched_work *scheduler_find_work(const struct scheduler *s, uint64_t id)
{
    struct sched_work *w = NULL;

    map_find(handle, s->works, &id, sizeof(id), w);
    return w;
}

/* The job's number if no other workload has it, else an unnamed id. */
static uint64_t id_for(struct scheduler *s, const struct sched_work *w)
{
    int64_t job_id = w->pods.at[0]->job_id;

    if (job_id > 0 && !scheduler_find_work(s, (uint64_t)job_id))
        return (uint64_t)job_id;
    return METE_ID_UNNAMED + ++s->next_unnamed;
}

struct sched_work *sched_work_new(struct scheduler *s, const struct sched_work_name *name,
                                  struct sched_pod *const *pods, size_t n)
{
    struct sched_work *w = mem_alloc(sizeof(*w));

    w->key = mem_format("%s/%s", name->ns, name->name);
    w->ns = mem_strdup(name->ns);
    w->name = mem_strdup(name->name);
    w->is_gang = name->is_gang;
    w->is_extra = name->is_extra;
    w->priority = name->priority;
    w->has_priority = name->has_priority;
    for (size_t i = 0; i < n; i++) {
        vec_add(&w->pods, pods[i]);
        pods[i]->work = w;
    }
    w->id = id_for(s, w);
    map_add(handle, s->works, &w->id, sizeof(w->id), w);
    return w;
}

/* Resources that the workload holds in the engine stay held. */
static void work_free(struct scheduler *s, struct sched_work *w)
{
    VEC_EACH (&w->pods, p) {
        (*p)->work = NULL;
    }
    if (w->is_keyed)
        map_remove(by_key, s->gangs, w);
    sched_work_answered(s, w);
    map_remove(handle, s->works, w);
    vec_done(&w->pods);
    free(w->hold_text);
    free(w->topology);
    free(w->evicted_because);
    free(w->suspended_for);
    free(w->key);
    free(w->ns);
    free(w->name);
    free(w);
}

void sched_works_free(struct scheduler *s)
{
    while (s->works)
        work_free(s, s->works);
}

/* The number at the end of "partition-cpus/gpu/2", which is ours. */
static int64_t partition_cpus_of(const char *resource)
{
    int64_t count = 0;

    err_free(num_parse_int64(str_of(strrchr(resource, '/') + 1), 0, INT32_MAX, &count));
    return count;
}

static void add_node_resources(struct scheduler *s, const struct mete_pod_set *set)
{
    for (size_t i = 0; i < set->n_requests; i++)
        if (text_starts_with(set->requests[i].resource, "hostport/"))
            scheduler_add_node_resource(s, set->requests[i].resource, 1);
        else if (text_starts_with(set->requests[i].resource, SCHED_PARTITION_CPUS))
            scheduler_add_node_resource(s, set->requests[i].resource,
                                        partition_cpus_of(set->requests[i].resource));
}

/* A gang with this many sets gets no further sets for labels alone. */
enum {
    LABELED_SETS_MAX = 32
};

/* Pods with equal requests and labels form one set, which numbers them. */
static void put_in_set(struct sched_pod *p, struct mete_pod_set *sets, const char **podsets,
                       size_t *n, const struct sched_ask *asked)
{
    for (size_t i = 0; i < *n; i++) {
        if (!text_equal(podsets[i], asked->podset) || !sched_set_equal(&sets[i], &asked->set) ||
            (*n < LABELED_SETS_MAX && !scheduler_labels_same(&sets[i], &asked->set)))
            continue;
        p->set = (uint32_t)i;
        p->index = sets[i].count++;
        return;
    }
    p->set = (uint32_t)*n;
    p->index = 0;
    sets[*n] = asked->set;
    podsets[*n] = asked->podset;
    sets[*n].name = *n == 0 ? "main" : p->name;
    sets[(*n)++].count = 1;
}

/*
 * A gang waits since its oldest pod was created. Its priority is the lowest of its pods unless the
 * gang has its own. A gang has a time limit, the longest, if all pods have one; it is preemptible
 * if all pods are, and preempts if all pods may.
 */
static void workload_join(struct mete_workload *all, const struct mete_workload *one)
{
    all->priority = one->priority < all->priority ? one->priority : all->priority;
    all->is_preemptible = all->is_preemptible && one->is_preemptible;
    all->never_preempts = all->never_preempts || one->never_preempts;
    all->submit_ns = one->submit_ns < all->submit_ns ? one->submit_ns : all->submit_ns;
    if (all->time_limit_ns != 0 && one->time_limit_ns != 0)
        all->time_limit_ns =
            one->time_limit_ns > all->time_limit_ns ? one->time_limit_ns : all->time_limit_ns;
    else
        all->time_limit_ns = 0;
}

/* The workload ends anyway: it is the engine's first choice as a victim. */
static void put_going(struct sched_work *w, struct mete_workload *all)
{
    all->priority = INT32_MIN;
    all->is_preemptible = true;
    all->min_run_ns = 0;
    all->checkpoint_ns = INT64_MAX; /* an eviction loses no further work */
    all->time_limit_ns = w->gone_ns > LONG_AGO_NS ? w->gone_ns - LONG_AGO_NS : 0;
    w->started_ns = LONG_AGO_NS;
}

static int compare_pods(const void *left, const void *right)
{
    const struct sched_pod *a = *(struct sched_pod *const *)left;
    const struct sched_pod *b = *(struct sched_pod *const *)right;

    if (a->set != b->set)
        return a->set < b->set ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

/* "train" for "volcano:train:0b5e7a21" */
static const char *title_of(struct arena *a, const char *name)
{
    const char *first = strchr(name, ':') + 1;
    const char *last = strrchr(name, ':');

    return arena_strndup(a, first, last > first ? (size_t)(last - first) : strlen(first));
}

/*
 * The workload as the engine takes it. Also numbers the pods within their sets, and sorts them by
 * that.
 */
static struct mete_workload ask_for(struct scheduler *s, struct arena *a, struct sched_work *w)
{
    struct mete_pod_set *sets = arena_alloc(a, w->pods.n * sizeof(*sets));
    const char **podsets = arena_alloc(a, w->pods.n * sizeof(*podsets));
    struct mete_workload all = {0};

    for (size_t i = 0; i < w->pods.n; i++) {
        struct sched_pod *p = w->pods.at[i];
        struct sched_ask ask;

        scheduler_ask(s, a, p->tree, &ask);
        sched_topology_of_pod(s, a, p, &ask);
        add_node_resources(s, &ask.set);
        sched_devices_ask_again(a, p, &ask.set);
        if (w->is_gang)
            ask.set.labels = scheduler_labels(a, p->tree, true, &ask.set.n_labels);
        put_in_set(p, sets, podsets, &all.n_pod_sets, &ask);
        if (i == 0) {
            ask.workload.n_pod_sets = all.n_pod_sets;
            all = ask.workload;
            w->grace_s = ask.grace_s;
        } else {
            workload_join(&all, &ask.workload);
        }
    }
    all.id = w->id;
    all.pod_sets = sets;
    if (w->is_gang)
        sched_topology_of_group(s, a, w->pods.at[0]->group, &all);
    if (w->is_gang)
        all.name = arena_format(a, "%s/%s", w->ns, title_of(a, w->name));
    if (w->has_priority)
        all.priority = w->priority;
    all.is_extra = w->is_extra;
    w->asked_priority = w->is_extra ? INT32_MIN : all.priority;
    if (w->phase == SCHED_WORK_GOING)
        put_going(w, &all);
    else if (w->is_dear && all.time_limit_ns > 0 && w->started_ns > LONG_AGO_NS)
        all.time_limit_ns += w->started_ns - LONG_AGO_NS; /* the expected end stays the same */
    if (w->pods.n > 1)
        qsort(w->pods.at, w->pods.n, sizeof(struct sched_pod *), compare_pods);
    return all;
}

bool sched_work_wait(struct scheduler *s, struct sched_work *w)
{
    struct arena *a = arena_new();
    struct mete_workload asked = ask_for(s, a, w);
    bool is_in = mete_workload_add(s->engine, &asked) == METE_OK;

    arena_free(a);
    if (!is_in) {
        LOG(ERROR, "workload cannot be queued", S("workload", w->key),
            S("error", mete_last_error(s->engine)));
        work_free(s, w);
        return false;
    }
    sched_work_hold(s, w);
    sched_work_points(s, w);
    VEC_EACH (&w->pods, p) {
        scheduler_list_waiting(s, *p);
    }
    scheduler_poke(s);
    return true;
}

/* `sets`: as of ask_for. */
static struct mete_placement placement_of(struct arena *a, const struct sched_work *w,
                                          const struct mete_pod_set *sets)
{
    struct mete_pod_placement *pods = arena_alloc(a, w->pods.n * sizeof(*pods));

    for (size_t i = 0; i < w->pods.n; i++) {
        const struct sched_pod *p = w->pods.at[i];

        pods[i] = (struct mete_pod_placement){
            .pod_set = p->set,
            .pod = p->index,
            .node = p->node,
        };
        sched_devices_place(a, p, &sets[p->set], &pods[i]);
    }
    return (struct mete_placement){.workload = w->id,
                                   .pods = pods,
                                   .n_pods = w->pods.n,
                                   .started_ns = w->is_dear ? LONG_AGO_NS : w->started_ns};
}

void sched_work_placed(struct scheduler *s, struct sched_work *w)
{
    if (w->phase == SCHED_WORK_WAITING)
        w->phase = SCHED_WORK_PLACED;
    if (w->is_keyed || !w->is_gang || scheduler_find_gang(s, w->ns, w->name))
        return;
    w->is_keyed = true;
    map_add(by_key, s->gangs, w->key, strlen(w->key), w);
}

void sched_work_unplaced(struct scheduler *s, struct sched_work *w)
{
    (void)mete_workload_unplace(s->engine, w->id); /* placed, as the caller knows: cannot fail */
    w->phase = SCHED_WORK_WAITING;
    sched_work_unsuspend(s, w);
    w->started_ns = 0;
    if (w->is_keyed)
        map_remove(by_key, s->gangs, w);
    w->is_keyed = false;
    VEC_EACH (&w->pods, p) {
        sched_pod_unplace(s, *p);
        scheduler_list_waiting(s, *p);
    }
    sched_work_hold(s, w); /* a hold may have come meanwhile */
}

/* The ledger decides who holds the gpus of the workload's pods. */
static void work_give_up(struct scheduler *s, struct sched_work *w)
{
    while (w->pods.n > 0) {
        struct sched_pod *p = w->pods.at[--w->pods.n];

        p->work = NULL;
        p->is_refused = true;
        sched_pod_unplace(s, p);
    }
    work_free(s, w);
    loop_timer_set(s->lost_timer, NS_PER_SEC);
}

/* Another scheduler may have taken what a binding of ours, still under way, will hold: then the
 * placement is tried each second until the answer, and is told once. */
static void work_tell_refused(const struct scheduler *s, const struct sched_work *w)
{
    if (w->pods.at[0]->is_refused)
        return;
    LOG(ERROR, "placement of a workload cannot be restored", S("workload", w->key),
        S("error", mete_last_error(s->engine)));
}

bool sched_work_restore(struct scheduler *s, struct sched_work *w)
{
    struct arena *a = arena_new();
    struct mete_workload asked = ask_for(s, a, w);
    struct mete_placement at = placement_of(a, w, asked.pod_sets);
    bool is_in = mete_workload_restore(s->engine, &asked, &at) == METE_OK;

    arena_free(a);
    if (!is_in) {
        work_tell_refused(s, w);
        work_give_up(s, w);
        return false;
    }
    VEC_EACH (&w->pods, p)
        (*p)->is_refused = false;
    w->hold = METE_HOLD_NONE; /* restored without a hold */
    sched_work_placed(s, w);
    sched_work_lend(s, w);
    scheduler_poke(s);
    return true;
}

/* While pods are being read, a placed gang is incomplete: the engine gets it afterwards. */
static bool is_untold(const struct scheduler *s, const struct sched_work *w)
{
    return s->is_loading && w->is_gang && w->phase != SCHED_WORK_WAITING;
}

static void remove_from_engine(struct scheduler *s, const struct sched_work *w)
{
    if (is_untold(s, w))
        return;
    if (mete_workload_remove(s->engine, w->id) != METE_OK)
        LOG(ERROR, "workload was not in the engine", S("workload", w->key));
    scheduler_poke(s);
}

void sched_work_end(struct scheduler *s, struct sched_work *w)
{
    bool was_leaving = w->phase == SCHED_WORK_LEAVING;

    remove_from_engine(s, w);
    work_free(s, w);
    if (was_leaving)
        scheduler_check_all_held(s); /* the workload held more than its last pod did */
}

static void work_replace(struct scheduler *s, struct sched_work *w)
{
    w->is_shrunk = false;
    remove_from_engine(s, w);
    (void)sched_work_restore(s, w);
}

/* The waiting workload asks anew. */
static void work_queue_again(struct scheduler *s, struct sched_work *w)
{
    remove_from_engine(s, w);
    w->hold = METE_HOLD_NONE; /* queued without a hold */
    (void)sched_work_wait(s, w);
}

struct tree_read {
    struct scheduler *s;
    struct sched_pod *p;
};

/* A pod that is gone needs nothing: the watch says so soon. Nor does a pod that was evicted
 * meanwhile: its resources stay with the workload that evicts it. */
static void on_tree(void *arg, const json_t *object, const struct err *e)
{
    struct tree_read *r = arg;
    struct scheduler *s = r->s;
    struct sched_pod *p = r->p;

    free(r);
    p->read = NULL;
    if (e)
        LOG(WARN, "pod cannot be read", S("pod", p->key), E(e));
    if (object && p->phase == SCHED_LOST) {
        scheduler_put_pod(s, p->ns, p->name, object);
        return;
    }
    if (p->tree || !p->work || p->work->is_gang || p->work->phase == SCHED_WORK_LEAVING ||
        !text_equal(json_text_at(object, "metadata", "uid", NULL), p->uid))
        return;
    p->tree = json_incref((json_t *)(uintptr_t)object);
    if (sched_pod_is_placed(p))
        work_replace(s, p->work);
    else
        work_queue_again(s, p->work);
    json_decref(TAKE(p->tree));
}

/* A single pod's tree is not kept. */
static void read_tree(struct scheduler *s, struct sched_pod *p)
{
    struct tree_read *r;

    if (p->read)
        return;
    r = mem_alloc(sizeof(*r));
    *r = (struct tree_read){s, p};
    p->read_arg = r;
    p->read = cluster_read(s->options.cluster, "pods", p->ns, p->name,
                           (struct cluster_reader){on_tree, r});
}

void scheduler_on_lost(void *arg)
{
    struct scheduler *s = arg;
    struct sched_pod *p;
    struct sched_pod *next;

    map_each (handle, s->pods, p, next) {
        if (p->phase == SCHED_LOST)
            read_tree(s, p);
    }
}

void sched_pod_unread(struct scheduler *s, struct sched_pod *p)
{
    if (!p->read)
        return;
    cluster_unread(s->options.cluster, TAKE(p->read));
    free(p->read_arg);
}

void sched_work_again(struct scheduler *s, struct sched_work *w)
{
    if (is_untold(s, w))
        return;
    if (w->pods.at[0]->tree)
        work_replace(s, w);
    else
        read_tree(s, w->pods.at[0]);
}

void scheduler_ask_again(struct scheduler *s)
{
    struct sched_work *w;
    struct sched_work *next;

    if (!s->are_asks_old)
        return;
    s->are_asks_old = false;
    map_each (handle, s->works, w, next) {
        if (w->phase != SCHED_WORK_WAITING)
            continue;
        if (w->pods.at[0]->tree)
            work_queue_again(s, w);
        else
            read_tree(s, w->pods.at[0]);
    }
}

void sched_work_grow(struct scheduler *s, struct sched_work *w, struct sched_pod *p)
{
    vec_add(&w->pods, p);
    p->work = w;
    if (!s->is_loading)
        sched_work_again(s, w);
}

void scheduler_tell_shrunk(void *scheduler)
{
    struct scheduler *s = scheduler;
    struct sched_work *w;
    struct sched_work *next;

    if (!s->has_shrunk)
        return;
    s->has_shrunk = false;
    map_each (handle, s->works, w, next) {
        if (w->is_shrunk && w->phase != SCHED_WORK_LEAVING)
            sched_work_again(s, w);
    }
    scheduler_check_all_held(s);
}

static void work_shrink(struct scheduler *s, struct sched_work *w)
{
    if (w->pods.n < PODS_AT_ONCE) {
        sched_work_again(s, w);
        return;
    }
    w->is_shrunk = true;
    if (!s->has_shrunk)
        loop_timer_set(s->shrink_timer, SHRINK_NS);
    s->has_shrunk = true;
}

void sched_work_leave(struct scheduler *s, struct sched_pod *p)
{
    struct sched_work *w = p->work;

    for (size_t i = w->pods.n; i-- > 0;)
        if (w->pods.at[i] == p)
            vec_remove(&w->pods, i);
    p->work = NULL;
    if (w->pods.n == 0 || w->phase == SCHED_WORK_WAITING) {
        sched_work_end(s, w);
        return;
    }
    w->is_short = w->is_gang;
    if (w->phase != SCHED_WORK_LEAVING)
        work_shrink(s, w);
}

/* The group's definition may have come after the pods. */
static void sched_work_read_priority(struct scheduler *s, struct sched_work *w)
{
    struct sched_work_name name = {0};

    if (w->pods.at[0]->group)
        sched_group_read_priority(s, w->pods.at[0]->group, &name);
    w->has_priority = name.has_priority;
    w->priority = name.priority;
}

void sched_works_loaded(struct scheduler *s)
{
    struct sched_work *w;
    struct sched_work *next;

    map_each (handle, s->works, w, next) {
        if (!w->is_gang || w->phase == SCHED_WORK_WAITING)
            continue;
        sched_work_read_priority(s, w);
        (void)sched_work_restore(s, w);
    }
}
