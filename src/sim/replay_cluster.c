/* replay_cluster.c - replays on a cluster's own nodes and queues */

#include "sim/replay_cluster.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "sim/replay_private.h"

/* The ids of the trace's jobs begin here: larger than the ids of a running Mete. */
#define FIRST_ID (UINT64_C(1) << 61)

static const char *const orders[] = {"engine", "priority", "fifo", "sjf"};
static const char default_placement[] = "binpack";

struct live_pod {
    struct replay r; /* without a pool */
    const struct cluster_replay *asked;
    struct mete_engine *engine;
    struct replay_run *runs;  /* of each job */
    struct heap waiting;      /* of the strict orders: jobs not yet in the engine */
    struct heap others;       /* jobs of the cluster itself, by end */
    struct cluster_job *jobs; /* the cluster's jobs */
    size_t n_jobs;
    size_t n_others; /* of these, running jobs */
    bool has_head;   /* of the strict orders: a job waits in the engine */
    int64_t now_s;
    int64_t base_ns; /* the time of second 0 */
};

struct err *cluster_policy_parse(struct str text, struct cluster_policy *ret)
{
    struct str placement = text;
    struct str order = str_cut(&placement, ':');

    if (placement.at && (placement.size == 0 || placement.size >= sizeof(ret->placement)))
        return err_new(ERR_INVALID, "policy '" STR_FMT "': want ORDER:PLACEMENT", STR_ARG(text));
    for (size_t i = 0; i < COUNT(orders); i++) {
        if (!str_equal(order, str_of(orders[i])))
            continue;
        *ret = (struct cluster_policy){.order = (enum cluster_order)i};
        (void)snprintf(ret->placement, sizeof(ret->placement), "%.*s",
                       placement.at ? (int)placement.size : (int)strlen(default_placement),
                       placement.at ? placement.at : default_placement);
        return NULL;
    }
    return err_new(ERR_INVALID,
                   "policy '" STR_FMT "': on a cluster want engine, priority, fifo or "
                   "sjf, optionally with :PLACEMENT",
                   STR_ARG(text));
}

static bool is_strict(const struct live_pod *l)
{
    return l->asked->policy.order == CLUSTER_FIFO || l->asked->policy.order == CLUSTER_SJF;
}

static int64_t ns_of(const struct live_pod *l, int64_t s)
{
    return l->base_ns + replay_ns(s - l->r.options->jobs[0].submit_s);
}

/* The job's pods: as the trace gives them, else whole nodes and a pod for the rest. */
static size_t list_sets(const struct live_pod *l, const struct sim_job *j,
                        const struct sim_ask *ask, struct mete_pod_set sets[2])
{
    if (*ask->mig && ask->pods == 0) {
        sets[0] = (struct mete_pod_set){.name = "slices", .count = 1, .gpus = j->gpus};
        return 1;
    }
    if (ask->pods > 0) {
        sets[0] =
            (struct mete_pod_set){.name = "pods", .count = ask->pods, .gpus = j->gpus / ask->pods};
        return 1;
    }
    return replay_pod_sets(j->gpus, sim_cluster_gpus_most(l->asked->cluster), sets);
}

static struct err *refused(const struct live_pod *l, uint32_t job, const char *why)
{
    return err_new(ERR_INVALID, "the job submitted at %" PRId64 " s, of %u gpus: %s",
                   l->r.options->jobs[job].submit_s, l->r.options->jobs[job].gpus, why);
}

static struct err *cluster_submit(struct live_pod *l, uint32_t job)
{
    const struct sim_job *j = &l->r.options->jobs[job];
    const struct sim_ask *ask = &job_trace_asks(l->asked->trace)[j->ask];
    const struct mete_amount requests[] = {{"cpu", ask->cpu_milli}, {"memory", ask->memory_bytes}};
    struct mete_gpu_ask slices = {.profile = ask->mig, .models = &ask->model};
    struct mete_pod_set sets[2];
    size_t n = list_sets(l, j, ask, sets);
    char name[32];

    for (size_t i = 0; i < n; i++) {
        sets[i].requests = requests;
        sets[i].n_requests = 2;
        if (*ask->mig) {
            slices.count = sets[i].gpus;
            slices.memory_bytes = ask->gpu_bytes;
            slices.n_models = *ask->model ? 1 : 0;
            sets[i].gpus = 0;
            sets[i].asks = &slices;
            sets[i].n_asks = 1;
            continue; /* a job with slices has one set */
        }
        sets[i].gpu_milli = ask->gpu_milli;
        sets[i].gpu_memory_bytes = ask->gpu_bytes;
        sets[i].gpu_models = &ask->model;
        sets[i].n_gpu_models = *ask->model ? 1 : 0;
    }
    if (ask->min_pods > 0 && ask->min_pods < ask->pods)
        return refused(l, job, "min_pods: jobs that grow and shrink are not replayed");
    (void)snprintf(name, sizeof(name), "trace/%" PRIu32, job);
    if (mete_workload_add(l->engine, &(struct mete_workload){
                                         .id = FIRST_ID + job,
                                         .name = name,
                                         .queue = *ask->queue ? ask->queue : NULL,
                                         .user = job_trace_user(l->asked->trace, j->user),
                                         .priority = is_strict(l) ? 0 : ask->priority,
                                         .submit_ns = ns_of(l, j->submit_s),
                                         .time_limit_ns = replay_ns(ask->limit_s),
                                         .estimate_ns = replay_ns(j->estimate_s),
                                         .is_preemptible = ask->is_preemptible && !is_strict(l),
                                         .pod_sets = sets,
                                         .n_pod_sets = n,
                                     }) != METE_OK)
        return refused(l, job, mete_last_error(l->engine));
    return NULL;
}

/* Submits the next job of a strict order, unless a job waits in the engine. */
static struct err *submit_head(struct live_pod *l)
{
    uint32_t job;

    if (l->has_head || !heap_first(&l->waiting))
        return NULL;
    job = heap_first(&l->waiting)->job;
    heap_drop_first(&l->waiting);
    l->has_head = true;
    return cluster_submit(l, job);
}

static struct err *cluster_arrive(struct live_pod *l, uint32_t job)
{
    const struct sim_job *j = &l->r.options->jobs[job];

    l->runs[job].remain_s = j->duration_s;
    if (!is_strict(l))
        return cluster_submit(l, job);
    heap_add(&l->waiting, l->asked->policy.order == CLUSTER_SJF ? j->duration_s : 0, job);
    return NULL;
}

static void on_end(void *arg, uint32_t job)
{
    struct live_pod *l = arg;

    (void)mete_workload_remove(l->engine,
                               FIRST_ID + job); /* the job runs in the engine: never fails */
}

static void cluster_preempt(struct live_pod *l, uint32_t job)
{
    (void)replay_preempt(&l->r, job, &l->runs[job],
                         l->now_s); /* the engine has no notion of progress */
}

static struct cluster_job *find_other(struct live_pod *l, uint64_t id)
{
    for (size_t i = 0; i < l->n_jobs; i++)
        if (l->jobs[i].id == id)
            return &l->jobs[i];
    return NULL;
}

static int64_t seconds_up(int64_t ns)
{
    return (ns + NS_PER_SEC - 1) / NS_PER_SEC;
}

static void start_other(struct live_pod *l, struct cluster_job *other)
{
    other->runs = true;
    l->n_others++;
    heap_add(&l->others, l->now_s + seconds_up(other->left_ns), (uint32_t)(other - l->jobs));
}

static void cluster_started(struct live_pod *l, uint64_t id)
{
    struct cluster_job *other;
    uint32_t job;

    if (id >= FIRST_ID && id - FIRST_ID < l->r.options->n) {
        job = (uint32_t)(id - FIRST_ID);
        l->runs[job].began_s = l->now_s;
        l->has_head = false;
        replay_note_start(&l->r, job, l->now_s, l->runs[job].remain_s);
        return;
    }
    other = find_other(l, id);
    if (other)
        start_other(l, other);
}

/* Evicts a workload. A job of the cluster itself does not return: its progress is unknown. */
static void cluster_evict(struct live_pod *l, uint64_t id)
{
    if (id >= FIRST_ID && id - FIRST_ID < l->r.options->n) {
        cluster_preempt(l, (uint32_t)(id - FIRST_ID));
        (void)mete_workload_unplace(l->engine, id); /* the job runs in the engine: never fails */
    } else {
        (void)mete_workload_remove(l->engine, id); /* the same */
    }
}

/* Runs cycles until the engine decides nothing more. Victims end at once. */
static struct err *cluster_decide(struct live_pod *l)
{
    VEC(uint64_t) evicted = {0};
    struct mete_decisions d = {.is_cut = true};
    struct err *e = NULL;

    while (!e && (d.n_placements > 0 || d.is_cut || evicted.n > 0)) {
        VEC_EACH (&evicted, id) {
            cluster_evict(l, *id);
        }
        vec_clear(&evicted);
        e = submit_head(l);
        if (e)
            break;
        mete_cycle(l->engine, ns_of(l, l->now_s), 0, &d);
        for (size_t i = 0; i < d.n_placements; i++)
            cluster_started(l, d.placements[i].workload);
        for (size_t i = 0; i < d.n_evictions; i++)
            vec_add(&evicted, d.evictions[i].workload);
    }
    vec_done(&evicted);
    return e;
}

/* Ends jobs of the cluster itself, which have no outcome. */
static void release_others(struct live_pod *l)
{
    while (heap_first(&l->others) && heap_first(&l->others)->key <= l->now_s) {
        (void)mete_workload_remove(l->engine, l->jobs[heap_first(&l->others)->job].id);
        heap_drop_first(&l->others); /* the engine refuses jobs that were evicted before */
    }
}

/* No event is left, but some jobs have not ended: the error names the first one and its reason. */
static struct err *cluster_stuck(struct live_pod *l)
{
    uint32_t job = 0;
    struct mete_reason reason;

    while (l->r.done[job].end_s >= 0)
        job++;
    if (mete_why_brief(l->engine, FIRST_ID + job, ns_of(l, l->now_s), &reason) != METE_OK)
        return refused(l, job, "never starts: one before it does not");
    return err_wrap(err_new(ERR_INVALID, "%s: %s", reason.code_text, reason.message),
                    "the job submitted at %" PRId64 " s, of %u gpus, never starts",
                    l->r.options->jobs[job].submit_s, l->r.options->jobs[job].gpus);
}

static struct err *cluster_step(struct live_pod *l)
{
    const int64_t end_s = replay_next_end(&l->r);
    const int64_t other_s = heap_first(&l->others) ? heap_first(&l->others)->key : NEVER;
    int64_t next_s = replay_next_arrival(&l->r) < end_s ? replay_next_arrival(&l->r) : end_s;

    if (other_s < next_s)
        next_s = other_s;
    if (next_s == NEVER)
        return cluster_stuck(l);
    l->now_s = next_s;
    release_others(l);
    replay_release(&l->r, l->now_s, on_end, l);
    for (; replay_next_arrival(&l->r) == l->now_s; l->r.arrived++)
        TRY(cluster_arrive(l, (uint32_t)l->r.arrived));
    return cluster_decide(l);
}

static struct err *cluster_set_up(struct live_pod *l)
{
    const struct cluster_replay *asked = l->asked;
    struct mete_fairness fairness = sim_cluster_fairness(asked->cluster);
    const struct mete_options options = {.policy = asked->policy.placement};
    const struct cluster_job *jobs = sim_cluster_jobs(asked->cluster, &l->n_jobs);

    l->engine = mete_engine_new(&options);
    if (!l->engine)
        return err_new(ERR_INVALID, "there is no placement '%s'", asked->policy.placement);
    if (asked->policy.order == CLUSTER_PRIORITY)
        fairness.order = METE_ORDER_PRIORITY;
    if (mete_fairness_set(l->engine, &fairness) != METE_OK)
        return err_new(ERR_INVALID, "%s", mete_last_error(l->engine));
    TRY(sim_cluster_apply(asked->cluster, l->engine));
    l->base_ns =
        sim_cluster_now_ns(asked->cluster) > 0 ? sim_cluster_now_ns(asked->cluster) : NS_PER_SEC;
    l->now_s = asked->options.jobs[0].submit_s;
    l->jobs = mem_alloc(l->n_jobs * sizeof(*jobs) + 1);
    if (l->n_jobs > 0)
        memcpy(l->jobs, jobs, l->n_jobs * sizeof(*jobs));
    for (size_t i = 0; i < l->n_jobs; i++)
        if (l->jobs[i].runs)
            start_other(l, &l->jobs[i]);
    return NULL;
}

struct err *cluster_replay_run(const struct cluster_replay *asked, struct replay_job *ret)
{
    const struct replay_options *o = &asked->options;
    struct live_pod l = {.asked = asked, .r = {.options = o, .done = ret}};
    struct err *e;

    l.runs = mem_alloc(o->n * sizeof(*l.runs));
    for (size_t i = 0; i < o->n; i++)
        ret[i] = (struct replay_job){.start_s = -1, .end_s = -1};
    e = cluster_set_up(&l);
    while (!e && l.r.ended < o->n)
        e = cluster_step(&l);
    mete_engine_free(l.engine);
    free(l.runs);
    free(l.jobs);
    heap_done(&l.waiting);
    heap_done(&l.others);
    heap_done(&l.r.ends);
    return e;
}
