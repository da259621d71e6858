/*
 * test_engine_queue_prop.c - random trees of queues against sums made anew
 *
 * After each step the test checks: no limit is exceeded, victims may be evicted, evictions come to
 * an end, reasons and their lines are true, queues get their nominal quotas. A failing seed is
 * printed; PROP_SEED=N replays it.
 */

#include "base/attr.h"
#include "base/err.h"
#include "engine/place/place.h"
#include "engine_build.h"
#include "prop.h"
#include "test.h"

enum {
    NODES = 4,
    QUEUES = 7,
    JOBS = 30,
    STEPS = 60,
    USERS = 3,
    ROUNDS_MAX = 300,
};

static const char *const node_names[NODES] = {"n0", "n1", "n2", "n3"};
static const char *const queue_names[QUEUES] = {"q0", "q1", "q2", "q3", "q4", "q5", "q6"};
static const char *const users[USERS] = {"ann", "bob", "eve"};

struct model_queue {
    bool is_there;
    int parent; /* -1: none */
    bool has_quota;
    int64_t nominal;   /* gpus */
    int64_t borrow;    /* -1: unlimited */
    int64_t lend;      /* -1: all */
    int64_t user_gpus; /* 0: no limit */
    uint32_t running;
    enum mete_preempt reclaim;
    bool within;
    int64_t min_run_s;
};

struct model_job {
    struct job_spec spec;
    int queue;
    int user;
    bool is_there;
    bool is_placed;
    bool is_evicted;
    bool is_held;
    uint64_t evicted_by;
    bool is_moved;
    bool is_suspending; /* evicted, but it stays placed */
    bool is_suspended;
    int nodes[3]; /* of its pods, when placed */
    int64_t started_s;
};

struct model {
    struct mete_engine *engine;
    struct prop prop;
    struct prop holds; /* a separate generator: the other steps are the same without holds */
    bool has_holds;
    struct prop classes; /* draws the classes of jobs */
    bool has_classes;
    bool suspends; /* jobs of the classes 1 and 2 are suspended, and cpus are scarce */
    uint64_t seed;
    uint64_t hash; /* of all decisions */
    int64_t now_s;
    bool moves;
    struct model_queue queues[QUEUES];
    struct model_job jobs[JOBS + 1]; /* by id */
};

static void note(struct model *m, uint64_t value)
{
    m->hash = (m->hash ^ value) * UINT64_C(0x100000001b3);
}

static int64_t gpus_of(const struct model_job *job)
{
    return (int64_t)job->spec.gpus * (job->spec.pods ? job->spec.pods : 1);
}

static bool is_in(const struct model *m, int queue, int top)
{
    while (queue >= 0 && queue != top)
        queue = m->queues[queue].parent;
    return queue == top;
}

static int64_t held_in(const struct model *m, int queue, int user)
{
    int64_t sum = 0;

    for (int id = 1; id <= JOBS; id++) {
        const struct model_job *job = &m->jobs[id];

        if (job->is_placed && is_in(m, job->queue, queue) && (user < 0 || job->user == user))
            sum += gpus_of(job);
    }
    return sum;
}

static uint32_t running_in(const struct model *m, int queue)
{
    uint32_t n = 0;

    for (int id = 1; id <= JOBS; id++)
        n += m->jobs[id].is_placed && is_in(m, m->jobs[id].queue, queue);
    return n;
}

static bool has_children(const struct model *m, int queue)
{
    for (int i = 0; i < QUEUES; i++)
        if (m->queues[i].is_there && m->queues[i].parent == queue)
            return true;
    return false;
}

/* A started job is within the limits of all its queues. */
static void check_start(struct model *m, const struct model_job *job)
{
    CHECK(m, m->queues[job->queue].is_there && !has_children(m, job->queue));
    for (int q = job->queue; q >= 0; q = m->queues[q].parent) {
        const struct model_queue *here = &m->queues[q];

        if (gpus_of(job) > 0 && here->has_quota && here->borrow >= 0)
            CHECK(m, held_in(m, q, -1) <= here->nominal + here->borrow);
        if (gpus_of(job) > 0 && here->user_gpus > 0)
            CHECK(m, held_in(m, q, job->user) <= here->user_gpus);
        if (here->running > 0)
            CHECK(m, running_in(m, q) <= here->running);
    }
}

static void take_placement(struct model *m, const struct mete_placement *p)
{
    struct model_job *job = &m->jobs[p->workload];

    CHECK(m, job->is_there && !job->is_placed && !job->is_held);
    job->is_placed = true;
    job->started_s = m->now_s;
    note(m, p->workload);
    for (size_t i = 0; i < p->n_pods; i++)
        note(m, (uint64_t)(p->pods[i].node[1] - '0') << 8 | p->pods[i].n_gpus);
    for (size_t i = 0; i < p->n_pods; i++)
        job->nodes[i] = p->pods[i].node[1] - '0';
    check_start(m, job);
}

/* The cpus of the jobs on the node that run, or of all; with `class` only of those that such a job
 * may suspend. */
static int64_t cpus_on(const struct model *m, int node, bool with_suspended, uint32_t class)
{
    int64_t sum = 0;

    for (int id = 1; id <= JOBS; id++) {
        const struct model_job *job = &m->jobs[id];
        uint32_t pods = job->spec.pods ? job->spec.pods : 1;

        if (!job->is_placed || (job->is_suspended && !with_suspended) ||
            (class > 0 && job->spec.evict_class >= class))
            continue;
        for (uint32_t i = 0; i < pods; i++)
            sum += job->nodes[i] == node ? job->spec.cpu : 0;
    }
    return sum;
}

enum {
    SCARCE_CPU = 8000
};

/* Running jobs never use more cpus than there are, and jobs of no class never those of a suspended
 * one. */
static void check_cpus(const struct model *m)
{
    for (int node = 0; m->suspends && node < NODES; node++) {
        int64_t without = 0;

        CHECK(m, cpus_on(m, node, false, 0) <= SCARCE_CPU);
        for (int id = 1; id <= JOBS; id++) {
            const struct model_job *job = &m->jobs[id];

            for (uint32_t i = 0; job->is_placed && i < (job->spec.pods ? job->spec.pods : 1); i++)
                if (job->nodes[i] == node && (job->spec.evict_class == 0 || job->is_suspended) &&
                    job->spec.evict_class < 2)
                    without += job->spec.cpu;
        }
        CHECK(m, without <= SCARCE_CPU); /* class 1 does not borrow either */
    }
}

/* The gpus of the queue's preemptors, which wait for their victims. */
static int64_t promised_in(const struct model *m, int queue)
{
    bool is_counted[JOBS + 1] = {false};
    int64_t sum = 0;

    for (int id = 1; id <= JOBS; id++) {
        uint64_t by = m->jobs[id].is_evicted ? m->jobs[id].evicted_by : 0;

        if (by == 0 || is_counted[by] || m->jobs[by].is_placed || !m->jobs[by].is_there)
            continue;
        is_counted[by] = true;
        sum += is_in(m, m->jobs[by].queue, queue) ? gpus_of(&m->jobs[by]) : 0;
    }
    return sum;
}

static bool is_above_nominal(const struct model *m, const struct model_job *job)
{
    for (int q = job->queue; q >= 0; q = m->queues[q].parent)
        if (!m->queues[q].has_quota || held_in(m, q, -1) + promised_in(m, q) > m->queues[q].nominal)
            return true;
    return false;
}

/* Class 3 evicts 1 and 2, and class 2 evicts 1. */
static const struct mete_evict_pair class_pairs[] = {{3, 2}, {3, 1}, {2, 1}};

static bool may_evict_class(uint32_t by, uint32_t victim)
{
    return victim > 0 && by > victim;
}

static void take_eviction(struct model *m, const struct mete_eviction *d)
{
    struct model_job *victim = &m->jobs[d->workload];
    const struct model_job *by = &m->jobs[d->by];
    const struct model_queue *q = &m->queues[victim->queue];
    int64_t min_s = q->min_run_s > victim->spec.min_run_s ? q->min_run_s : victim->spec.min_run_s;

    CHECK(m, by->is_there && !by->is_placed && !by->is_held);
    CHECK(m, victim->is_placed && !victim->is_evicted && victim->spec.is_preemptible);
    CHECK(m, m->now_s >= victim->started_s + min_s);
    victim->is_moved = d->reason == METE_EVICTED_MOVE;
    victim->is_suspending = d->reason == METE_EVICTED_SUSPEND;
    if (victim->is_suspending) {
        CHECK(m, m->suspends && !victim->is_suspended && victim->spec.evict_class < 3);
        CHECK(m, may_evict_class(by->spec.evict_class, victim->spec.evict_class));
    } else if (d->reason == METE_EVICTED_MOVE) {
        CHECK(m, m->moves && victim->spec.priority <= by->spec.priority);
    } else if (d->reason == METE_EVICTED_CLASS) {
        CHECK(m, may_evict_class(by->spec.evict_class, victim->spec.evict_class));
    } else if (d->reason == METE_EVICTED_PRIORITY) {
        CHECK(m, by->spec.evict_class == 0);
        CHECK(m, victim->queue == by->queue && q->within);
        CHECK(m, victim->spec.priority < by->spec.priority);
    } else {
        CHECK(m, victim->queue != by->queue);
        CHECK(m, m->queues[by->queue].reclaim != METE_PREEMPT_NEVER);
        if (m->queues[by->queue].reclaim == METE_PREEMPT_LOWER_PRIORITY)
            CHECK(m, victim->spec.priority < by->spec.priority);
        CHECK(m, is_above_nominal(m, victim));
    }
    note(m, d->workload << 32 | d->by);
    victim->is_evicted = true;
    victim->evicted_by = d->by;
}

static void run_cycle(struct model *m, bool may_cut)
{
    struct mete_decisions d = {.is_cut = true};
    uint64_t budget = may_cut && prop_chance(&m->prop, 30) ? 1 + prop_below(&m->prop, 20) : 0;

    m->now_s++;
    for (int i = 0; d.is_cut; i++) {
        CHECK(m, i < 1000);
        mete_cycle(m->engine, m->now_s * SECOND, budget, &d);
        for (size_t k = 0; k < d.n_placements; k++)
            take_placement(m, &d.placements[k]);
        for (size_t k = 0; k < d.n_evictions; k++)
            take_eviction(m, &d.evictions[k]);
        for (size_t k = 0; k < d.n_resumes; k++) {
            struct model_job *job = &m->jobs[d.resumes[k].workload];

            CHECK(m, job->is_placed && job->is_suspended);
            job->is_suspended = false;
            note(m, d.resumes[k].workload << 8 | 1);
        }
        check_cpus(m);
    }
}

static void put_queue(struct model *m, int i)
{
    struct model_queue *q = &m->queues[i];
    struct mete_quota quota = {.resource = "gpu"};
    int parent = i > 0 && prop_chance(&m->prop, 40) ? (int)prop_below(&m->prop, (size_t)i) : -1;

    if (parent >= 0 && !m->queues[parent].is_there)
        parent = -1; /* a parent has a lower number, so there are no cycles */
    *q = (struct model_queue){.is_there = true, .parent = parent};
    q->has_quota = prop_chance(&m->prop, 75);
    q->nominal = (int64_t)prop_below(&m->prop, 9);
    q->borrow = prop_chance(&m->prop, 50) ? (int64_t)prop_below(&m->prop, 6) : -1;
    q->lend = prop_chance(&m->prop, 30) ? (int64_t)prop_below(&m->prop, 4) : -1;
    q->user_gpus = prop_chance(&m->prop, 15) ? 1 + (int64_t)prop_below(&m->prop, 4) : 0;
    q->running = prop_chance(&m->prop, 15) ? 1 + (uint32_t)prop_below(&m->prop, 5) : 0;
    q->reclaim = (enum mete_preempt)prop_below(&m->prop, 3);
    q->within = prop_chance(&m->prop, 50);
    q->min_run_s = prop_chance(&m->prop, 20) ? (int64_t)prop_below(&m->prop, 10) : 0;
    quota.nominal = q->nominal * 1000;
    quota.borrow_limit = q->borrow < 0 ? METE_UNLIMITED : q->borrow * 1000;
    quota.lend_limit = q->lend < 0 ? METE_UNLIMITED : q->lend * 1000;
    CHECK(m, mete_queue_set(m->engine, &(struct mete_queue){
                                           .name = queue_names[i],
                                           .parent = parent < 0 ? NULL : queue_names[parent],
                                           .weight = (uint32_t)prop_below(&m->prop, 4),
                                           .quotas = &quota,
                                           .n_quotas = q->has_quota,
                                           .limits = {.running = q->running},
                                           .user_limits = {.gpu_milli = q->user_gpus * 1000},
                                           .reclaim = q->reclaim,
                                           .within = q->within ? METE_PREEMPT_LOWER_PRIORITY
                                                               : METE_PREEMPT_NEVER,
                                           .min_run_ns = q->min_run_s * SECOND,
                                       }) == METE_OK);
}

static void remove_queue(struct model *m, int i)
{
    enum mete_result result = mete_queue_remove(m->engine, queue_names[i]);

    if (!m->queues[i].is_there) {
        CHECK(m, result == METE_NOT_FOUND);
    } else if (has_children(m, i)) {
        CHECK(m, result == METE_CONFLICT);
    } else {
        CHECK(m, result == METE_OK);
        m->queues[i] = (struct model_queue){.parent = -1};
    }
}

static void put_node(struct model *m, int i)
{
    CHECK(m, set_node(m->engine, (struct node_spec){
                                     .name = node_names[i],
                                     .gpus = 2 + (unsigned)i * 2,
                                     .model = i == 1 ? "t4" : "h100",
                                     .cpu = m->suspends ? SCARCE_CPU : 0,
                                     .is_cordoned = prop_chance(&m->prop, 10),
                                 }) == METE_OK);
}

static void put_job(struct model *m, uint64_t id)
{
    struct model_job *job = &m->jobs[id];

    *job = (struct model_job){.is_there = true,
                              .queue = (int)prop_below(&m->prop, QUEUES),
                              .user = (int)prop_below(&m->prop, USERS)};
    job->spec = (struct job_spec){
        .id = id,
        .gpus = (uint32_t)prop_below(&m->prop, 4),
        .model = prop_chance(&m->prop, 20) ? "h100" : NULL,
        .priority = (int32_t)prop_below(&m->prop, 3),
        .submit_s = m->now_s,
        .pods = prop_chance(&m->prop, 20) ? 2 + (uint32_t)prop_below(&m->prop, 2) : 0,
        .queue = queue_names[job->queue],
        .user = users[job->user],
        .is_preemptible = prop_chance(&m->prop, 80),
        .min_run_s = prop_chance(&m->prop, 20) ? (int64_t)prop_below(&m->prop, 10) : 0,
        .limit_s = prop_chance(&m->prop, 20) ? 1 + (int64_t)prop_below(&m->prop, 20) : 0,
    };
    if (m->suspends) {
        job->spec.cpu = 1000 + 1000 * (int64_t)prop_below(&m->classes, 8);
        job->spec.gpus = job->spec.gpus > 1 ? 0 : job->spec.gpus;
    }
    job->spec.evict_class = m->has_classes ? (uint32_t)prop_below(&m->classes, 4) : 0;
    CHECK(m, add_job(m->engine, job->spec) == METE_OK);
}

static void remove_job(struct model *m, uint64_t id)
{
    CHECK(m, mete_workload_remove(m->engine, id) == METE_OK);
    m->jobs[id] = (struct model_job){0};
}

/* The caller carries an eviction out. */
static void unplace(struct model *m, uint64_t id)
{
    if (m->jobs[id].is_suspending) {
        CHECK(m, mete_workload_suspended(m->engine, id) == METE_OK);
        m->jobs[id].is_suspended = true;
        m->jobs[id].is_suspending = false;
        m->jobs[id].is_evicted = false;
        m->jobs[id].evicted_by = 0;
        return;
    }
    CHECK(m, mete_workload_unplace(m->engine, id) == METE_OK);
    m->jobs[id].is_placed = false;
    m->jobs[id].is_evicted = false;
    m->jobs[id].is_moved = false;
    m->jobs[id].evicted_by = 0;
}

static void step_job(struct model *m)
{
    uint64_t id = 1 + prop_below(&m->prop, JOBS);
    const struct model_job *job = &m->jobs[id];

    if (!job->is_there)
        put_job(m, id);
    else if (job->is_evicted)
        unplace(m, id);
    else if (job->is_placed ? prop_chance(&m->prop, 40) : prop_chance(&m->prop, 10))
        remove_job(m, id);
}

static void step(struct model *m)
{
    size_t kind = prop_below(&m->prop, 100);

    if (kind < 60)
        step_job(m);
    else if (kind < 63)
        put_node(m, (int)prop_below(&m->prop, NODES));
    else if (kind < 66)
        put_queue(m, (int)prop_below(&m->prop, QUEUES));
    else if (kind < 68)
        remove_queue(m, (int)prop_below(&m->prop, QUEUES));
    else
        run_cycle(m, true);
}

static void hold(struct model *m, uint64_t id, enum mete_hold how)
{
    CHECK(m, mete_workload_hold(m->engine, id, how, NULL) == METE_OK);
    m->jobs[id].is_held = how != METE_HOLD_NONE;
}

/* Puts a random job on hold, or releases it. */
static void step_hold(struct model *m)
{
    uint64_t id = 1 + prop_below(&m->holds, JOBS);

    if (!m->has_holds || !m->jobs[id].is_there || !prop_chance(&m->holds, 25))
        return;
    hold(m, id,
         m->jobs[id].is_held ? METE_HOLD_NONE
                             : (enum mete_hold)(1 + prop_below(&m->holds, METE_HOLD_NOT_BEFORE)));
}

/* Does a job wait for its victims, or for its turn after they ended? */
static bool has_evicted(struct model *m)
{
    struct mete_reason r;

    for (uint64_t id = 1; id <= JOBS; id++) {
        if (!m->jobs[id].is_there || m->jobs[id].is_placed)
            continue;
        CHECK(m, mete_why_brief(m->engine, id, m->now_s * SECOND, &r) == METE_OK);
        if (r.code == METE_REASON_PREEMPTING || r.code == METE_REASON_NOT_YET_EVALUATED)
            return true;
    }
    return false;
}

static void check_all(struct model *m)
{
    const char *wrong = mete_engine_check(m->engine);
    bool counts_more = has_evicted(m);
    struct mete_queue_view v;

    if (wrong)
        fail_msg("seed %llu: %s", (unsigned long long)m->seed, wrong);
    for (size_t i = 0; i < mete_queue_count(m->engine); i++) {
        CHECK(m, mete_queue_view(m->engine, i, &v) == METE_OK);
        if (v.name[0] == 'q' && v.n_quotas > 0)
            CHECK(m, v.quotas[0].held >= 1000 * held_in(m, v.name[1] - '0', -1));
        if (v.name[0] == 'q' && v.n_quotas > 0 && !counts_more)
            CHECK(m, v.quotas[0].held == 1000 * held_in(m, v.name[1] - '0', -1));
    }
}

/* Questions change nothing. */
static void check_undo(struct model *m)
{
    for (uint64_t id = 1; id <= JOBS; id++) {
        uint64_t before = engine_hash(m->engine);
        struct mete_reason r;

        if (!m->jobs[id].is_there)
            continue;
        CHECK(m, mete_why(m->engine, id, m->now_s * SECOND, &r) == METE_OK);
        CHECK(m, engine_hash(m->engine) == before);
        CHECK(m, (r.code == METE_REASON_NONE) == m->jobs[id].is_placed);
    }
}

static bool carry_out(struct model *m, bool *moved)
{
    bool any = false;

    for (uint64_t id = 1; id <= JOBS; id++) {
        moved[id] = m->jobs[id].is_moved;
        if (m->jobs[id].is_evicted) {
            unplace(m, id);
            any = true;
        }
    }
    return any;
}

/* Without calls from outside the evictions end, and no state comes back. Moved jobs run again at
 * once. */
static void come_to_rest(struct model *m)
{
    bool moved[JOBS + 1] = {false};

    for (uint64_t id = 1; id <= JOBS; id++)
        m->jobs[id].is_moved = false; /* earlier moves may be out of date */
    for (int i = 0;; i++) {
        uint64_t hash = m->hash;

        if (i == ROUNDS_MAX)
            fail_msg("seed %llu: evictions go on", (unsigned long long)m->seed);
        m->now_s += 20;
        run_cycle(m, false);
        check_all(m);
        for (uint64_t id = 1; id <= JOBS; id++)
            CHECK(m, !moved[id] || m->jobs[id].is_placed || m->jobs[id].is_held);
        if (!carry_out(m, moved) && m->hash == hash)
            return;
    }
}

static void remove_other_waiting(struct model *m, uint64_t id)
{
    for (uint64_t other = 1; other <= JOBS; other++)
        if (other != id && m->jobs[other].is_there && !m->jobs[other].is_placed)
            remove_job(m, other);
}

/* Makes the change of a line about quotas. False: another line. */
static bool do_line(struct model *m, uint64_t id, const char *line)
{
    unsigned long long other = 0;
    unsigned number = 0;
    struct model_queue *q;
    double gpus = 0;
    char word[8];

    /* NOLINTNEXTLINE(cert-err34-c): the engine wrote it, of a small number */
    if (sscanf(line, "job %llu %7s", &other, word) == 2 && strcmp(word, "ends") == 0) {
        remove_job(m, other);
        return true;
    }
    if (strcmp(line, "it is released") == 0 || strcmp(line, "an administrator releases it") == 0 ||
        strcmp(line, "its scheduling gates go") == 0 || strcmp(line, "its time comes") == 0) {
        hold(m, id, METE_HOLD_NONE);
        return true;
    }
    /* NOLINTNEXTLINE(cert-err34-c): as above */
    if (sscanf(line, "queue q%u may hold %lf gpu", &number, &gpus) != 2 ||
        strstr(line, "workloads"))
        return false;
    q = &m->queues[number];
    q->borrow = (int64_t)gpus - q->nominal;
    {
        const struct mete_quota quota = {"gpu", q->nominal * 1000, q->borrow * 1000,
                                         q->lend < 0 ? METE_UNLIMITED : q->lend * 1000};

        CHECK(m,
              mete_queue_set(m->engine, &(struct mete_queue){
                                            .name = queue_names[number],
                                            .parent = q->parent < 0 ? NULL : queue_names[q->parent],
                                            .quotas = &quota,
                                            .n_quotas = 1,
                                            .limits = {.running = q->running},
                                            .user_limits = {.gpu_milli = q->user_gpus * 1000},
                                        }) == METE_OK);
        q->reclaim = METE_PREEMPT_NEVER;
        q->within = false;
        q->min_run_s = 0;
    }
    return true;
}

static void check_line(struct model *m)
{
    uint64_t id = 1 + prop_below(&m->prop, JOBS);
    struct mete_reason r;
    char line[256];

    for (int i = 0; i < JOBS && (!m->jobs[id].is_there || m->jobs[id].is_placed); i++)
        id = id % JOBS + 1;
    if (!m->jobs[id].is_there || m->jobs[id].is_placed)
        return;
    CHECK(m, mete_why(m->engine, id, m->now_s * SECOND, &r) == METE_OK);
    CHECK(m, r.code != METE_REASON_NONE);
    if (r.n_would_start_if == 0)
        return;
    (void)snprintf(line, sizeof(line), "%s",
                   r.would_start_if[prop_below(&m->prop, r.n_would_start_if)]);
    if (!do_line(m, id, line))
        return;
    remove_other_waiting(m, id);
    run_cycle(m, false);
    if (!m->jobs[id].is_placed)
        fail_msg("seed %llu: job %llu does not start though %s", (unsigned long long)m->seed,
                 (unsigned long long)id, line);
}

enum seed_kind {
    PLAIN,
    WITH_HOLDS,
    WITH_CLASSES,
    WITH_SUSPENSIONS
};

static size_t count_suspended(const struct model *m)
{
    size_t n = 0;

    for (uint64_t id = 1; id <= JOBS; id++)
        n += m->jobs[id].is_suspended;
    return n;
}

/* Suspended jobs go on in turns: some of them whenever all other jobs have ended. */
static void go_on_in_the_end(struct model *m)
{
    for (size_t n = count_suspended(m); n > 0;) {
        for (uint64_t id = 1; id <= JOBS; id++)
            if (m->jobs[id].is_there && !m->jobs[id].is_suspended)
                remove_job(m, id);
        come_to_rest(m);
        CHECK(m, count_suspended(m) < n);
        n = count_suspended(m);
    }
}

static uint64_t run_seed(uint64_t seed, enum seed_kind kind)
{
    const struct mete_evict_rules rules = {class_pairs, COUNT(class_pairs),
                                           kind == WITH_SUSPENSIONS ? 1U << 1 | 1U << 2 : 0};
    struct model m = {.seed = seed,
                      .prop = {seed},
                      .holds = {seed + 1},
                      .has_holds = kind == WITH_HOLDS,
                      .classes = {seed + 2},
                      .has_classes = kind >= WITH_CLASSES,
                      .suspends = kind == WITH_SUSPENSIONS,
                      .hash = 1,
                      .now_s = 100};
    const struct mete_options options = {.reserve_depth = 1 + (uint32_t)(seed % 3)};
    struct mete_fairness fairness = {.half_life_ns = seed % 2 ? 60 * SECOND : 0};

    m.engine = mete_engine_new(&options);
    if (seed % 5 == 0)
        fairness.order = METE_ORDER_PRIORITY;
    if (seed % 7 == 0) {
        fairness.factors = (struct mete_factors){
            .class_points = 100, .age_points = 50, .fair_share_points = 80, .size_points = 30};
        fairness.factors.age_max_ns = 50 * SECOND;
        fairness.period_ns = 5 * SECOND;
        fairness.formula = seed % 2 ? METE_FAIR_TREE : METE_FAIR_CLASSIC;
    }
    CHECK(&m, mete_fairness_set(m.engine, &fairness) == METE_OK);
    if (m.has_classes)
        CHECK(&m, mete_evict_rules_set(m.engine, &rules) == METE_OK);
    m.moves = seed % 4 == 3;
    if (m.moves)
        CHECK(&m, mete_moves_set(m.engine, &(struct mete_moves){.horizon_ns = 10000 * SECOND}) ==
                      METE_OK);
    for (int i = 0; i < QUEUES; i++)
        m.queues[i].parent = -1;
    for (int i = 0; i < NODES; i++)
        put_node(&m, i);
    for (int i = 0; i < QUEUES; i++)
        if (prop_chance(&m.prop, 70))
            put_queue(&m, i);
    for (int i = 0; i < STEPS; i++) {
        step(&m);
        step_hold(&m);
        check_all(&m);
    }
    come_to_rest(&m);
    check_undo(&m);
    if (m.suspends)
        go_on_in_the_end(&m);
    else
        check_line(&m);
    check_all(&m);
    mete_engine_free(m.engine);
    return m.hash;
}

static void passes_no_limit_and_comes_to_rest(void **state)
{
    struct prop_seeds seeds = prop_seeds(1000);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        (void)run_seed(seed, PLAIN);
}

static void starts_nothing_that_is_held(void **state)
{
    struct prop_seeds seeds = prop_seeds(1000);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        (void)run_seed(seed, WITH_HOLDS);
}

static void evicts_by_class_and_comes_to_rest(void **state)
{
    struct prop_seeds seeds = prop_seeds(1000);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        (void)run_seed(seed, WITH_CLASSES);
}

static void suspends_lends_and_lets_go_on(void **state)
{
    struct prop_seeds seeds = prop_seeds(1000);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        (void)run_seed(seed, WITH_SUSPENSIONS);
}

static void decides_the_same_everywhere(void **state)
{
    uint64_t hash = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++)
        hash = hash * 31 + run_seed(seed, PLAIN);
    assert_int_equal(hash, UINT64_C(0x936e32585a4302ed));
}

/* A queue with enough waiting jobs gets its nominal quota in the end, whatever others hold. */
static void an_entitled_queue_gets_its_quota(void **state)
{
    struct prop_seeds seeds = prop_seeds(200);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct model m = {.seed = seed, .prop = {seed}, .hash = 1, .now_s = 100};
        int64_t left = 16;
        uint64_t id = 1;

        m.engine = mete_engine_new(NULL);
        for (int i = 0; i < NODES; i++)
            (void)set_node(m.engine, (struct node_spec){.name = node_names[i], .gpus = 4});
        for (int i = 0; i < 4; i++) {
            struct model_queue *q = &m.queues[i];
            struct mete_quota quota = {"gpu", 0, METE_UNLIMITED, METE_UNLIMITED};

            *q = (struct model_queue){.is_there = true, .parent = -1, .has_quota = true};
            q->nominal = (int64_t)prop_below(&m.prop, (size_t)left + 1);
            q->borrow = q->lend = -1;
            q->reclaim = METE_PREEMPT_ANY;
            left -= q->nominal;
            quota.nominal = q->nominal * 1000;
            CHECK(&m, mete_queue_set(m.engine, &(struct mete_queue){.name = queue_names[i],
                                                                    .quotas = &quota,
                                                                    .n_quotas = 1,
                                                                    .reclaim = METE_PREEMPT_ANY}) ==
                          METE_OK);
        }
        for (; id <= JOBS; id++) {
            struct model_job *job = &m.jobs[id];

            *job = (struct model_job){.is_there = true, .queue = (int)prop_below(&m.prop, 4)};
            job->spec = (struct job_spec){.id = id,
                                          .gpus = 1,
                                          .queue = queue_names[job->queue],
                                          .is_preemptible = true,
                                          .priority = (int32_t)prop_below(&m.prop, 3)};
            CHECK(&m, add_job(m.engine, job->spec) == METE_OK);
            if (prop_chance(&m.prop, 30))
                run_cycle(&m, false);
        }
        come_to_rest(&m);
        for (int q = 0; q < 4; q++) {
            int64_t wanted = 0;

            for (id = 1; id <= JOBS; id++)
                wanted += m.jobs[id].queue == q;
            CHECK(&m, held_in(&m, q, -1) >=
                          (wanted < m.queues[q].nominal ? wanted : m.queues[q].nominal));
        }
        mete_engine_free(m.engine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_no_limit_and_comes_to_rest),
        cmocka_unit_test(starts_nothing_that_is_held),
        cmocka_unit_test(evicts_by_class_and_comes_to_rest),
        cmocka_unit_test(suspends_lends_and_lets_go_on),
        cmocka_unit_test(an_entitled_queue_gets_its_quota),
        cmocka_unit_test(decides_the_same_everywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
