/*
 * test_engine_prop.c - random clusters and operations against a naive model
 *
 * A naive model checks the engine after each operation: held gpus, jobs that fit, reasons. A
 * failing seed is printed; PROP_SEED=N replays it.
 */

#include "base/attr.h"
#include "base/err.h"
#include "engine/plan/claim.h"
#include "engine_build.h"
#include "prop.h"
#include "test.h"

enum {
    NODES = 6,
    JOBS = 24,
    STEPS = 60,
    GPUS = 8,
};

#define GPU_BYTES (INT64_C(80) << 30)

static const char *const node_names[NODES] = {"n0", "n1", "n2", "n3", "n4", "n5"};

struct model_job {
    struct job_spec spec;
    bool is_there;
    bool is_placed;
    int node[4];      /* of each pod */
    unsigned gpus[4]; /* bits */
};

struct model {
    struct mete_engine *engine;
    struct prop prop;
    uint64_t seed;
    uint64_t hash; /* of all decisions so far */
    int64_t now_s;
    struct node_spec nodes[NODES];
    bool has_node[NODES];
    struct model_job jobs[JOBS + 1]; /* by id */
};

static unsigned bits_of(unsigned set)
{
    return (unsigned)__builtin_popcount(set);
}

static unsigned held_on(const struct model *m, int node)
{
    unsigned held = 0;

    for (int id = 1; id <= JOBS; id++)
        for (unsigned k = 0; m->jobs[id].is_placed && k < m->jobs[id].spec.pods; k++)
            if (m->jobs[id].node[k] == node)
                held |= m->jobs[id].gpus[k];
    return held;
}

/* The used compute of a gpu: whole, or the sum over its shares. */
static unsigned milli_used(const struct model *m, int node, unsigned bit)
{
    unsigned used = 0;

    for (int id = 1; id <= JOBS; id++)
        for (unsigned k = 0; m->jobs[id].is_placed && k < m->jobs[id].spec.pods; k++)
            if (m->jobs[id].node[k] == node && (m->jobs[id].gpus[k] >> bit & 1))
                used += m->jobs[id].spec.milli ? m->jobs[id].spec.milli : MILLI;
    return used;
}

/* The used memory of 80 GiB, rounded up. A share without bytes has memory in proportion. */
static int64_t memory_used(const struct model *m, int node, unsigned bit)
{
    int64_t bytes = 0;
    int64_t milli = 0;

    for (int id = 1; id <= JOBS; id++)
        for (unsigned k = 0; m->jobs[id].is_placed && k < m->jobs[id].spec.pods; k++) {
            const struct job_spec *job = &m->jobs[id].spec;

            if (m->jobs[id].node[k] != node || !(m->jobs[id].gpus[k] >> bit & 1))
                continue;
            bytes += job->milli ? job->gpu_bytes : 0;
            milli += job->milli && job->gpu_bytes ? 0 : job->milli ? job->milli : MILLI;
        }
    return bytes + (milli * GPU_BYTES + MILLI - 1) / MILLI;
}

static bool has_room(const struct model *m, int node, unsigned bit, const struct job_spec *job)
{
    int64_t by_part = (job->milli * GPU_BYTES + MILLI - 1) / MILLI;
    unsigned milli = job->milli ? job->milli : MILLI;

    if (m->nodes[node].sick >> bit & 1 || milli_used(m, node, bit) + milli > MILLI)
        return false;
    return job->milli == 0 ||
           memory_used(m, node, bit) + (job->gpu_bytes ? job->gpu_bytes : by_part) <= GPU_BYTES;
}

static unsigned gpus_free(const struct model *m, int node, const struct job_spec *job)
{
    unsigned count = 0;

    for (unsigned bit = 0; bit < m->nodes[node].gpus; bit++)
        count += has_room(m, node, bit, job);
    return count;
}

static int64_t cpu_used(const struct model *m, int node)
{
    int64_t used = 0;

    for (int id = 1; id <= JOBS; id++)
        for (unsigned k = 0; m->jobs[id].is_placed && k < m->jobs[id].spec.pods; k++)
            if (m->jobs[id].node[k] == node)
                used += m->jobs[id].spec.cpu;
    return used;
}

static bool is_of_kind(const struct model *m, int node, const struct job_spec *job)
{
    const struct node_spec *n = &m->nodes[node];

    if (!m->has_node[node])
        return false;
    if (job->label && (!n->label || strcmp(job->label, n->label) != 0))
        return false;
    if (n->taint && (!job->tolerates || strcmp(job->tolerates, n->taint) != 0))
        return false;
    return !(job->gpus > 0 && job->model && strcmp(job->model, n->model) != 0);
}

static bool fits_empty(const struct model *m, int node, const struct job_spec *job)
{
    return is_of_kind(m, node, job) && job->gpus <= m->nodes[node].gpus &&
           job->cpu <= m->nodes[node].cpu;
}

static bool fits_now(const struct model *m, int node, const struct job_spec *job)
{
    const struct node_spec *n = &m->nodes[node];

    return fits_empty(m, node, job) && !n->is_cordoned && !n->is_not_ready &&
           (job->gpus == 0 || job->gpus <= gpus_free(m, node, job)) &&
           job->cpu <= n->cpu - cpu_used(m, node);
}

static int node_index(const char *name)
{
    for (int i = 0; i < NODES; i++)
        if (strcmp(node_names[i], name) == 0)
            return i;
    fail_msg("no node %s", name);
    return -1;
}

static void note(struct model *m, uint64_t value)
{
    m->hash = (m->hash ^ value) * UINT64_C(0x100000001b3);
}

/* Checks that each pod of a decision fits at that point, and places it in the model. */
static void take_decision(struct model *m, const struct mete_placement *p)
{
    struct model_job *job = &m->jobs[p->workload];

    CHECK(m, job->is_there && !job->is_placed);
    CHECK(m, p->n_pods == job->spec.pods);
    note(m, p->workload);
    for (size_t k = 0; k < p->n_pods; k++) {
        int node = node_index(p->pods[k].node);
        unsigned gpus = 0;

        CHECK(m, p->pods[k].pod == k || p->n_pods > 1);
        for (size_t g = 0; g < p->pods[k].n_gpus; g++) {
            const char *uuid = p->pods[k].gpus[g];
            unsigned bit = (unsigned)(uuid[3] - '0');

            CHECK(m, strncmp(uuid, node_names[node], 2) == 0);
            CHECK(m, !(gpus >> bit & 1) && bit < m->nodes[node].gpus);
            CHECK(m, has_room(m, node, bit, &job->spec));
            gpus |= 1u << bit;
        }
        CHECK(m, bits_of(gpus) == job->spec.gpus);
        job->node[k] = node;
        job->gpus[k] = gpus;
        note(m, (uint64_t)node << 32 | gpus);
    }
    job->is_placed = true;
    for (size_t k = 0; k < p->n_pods; k++) {
        int node = job->node[k];

        CHECK(m, is_of_kind(m, node, &job->spec));
        CHECK(m, !m->nodes[node].is_cordoned && !m->nodes[node].is_not_ready);
        CHECK(m, cpu_used(m, node) <= m->nodes[node].cpu);
    }
}

static bool is_before(const struct model_job *a, const struct model_job *b)
{
    if (a->spec.priority != b->spec.priority)
        return a->spec.priority > b->spec.priority;
    return a->spec.id < b->spec.id; /* ids are in the order of submission */
}

/* Does the job wait for the later start of its claim, because others' claims have the free room? */
static bool waits_by_plan(struct model *m, uint64_t id)
{
    const struct workload *w = engine_workload(m->engine, id);
    struct mete_reason r;

    if (!w->claim || w->claim->start_ns <= m->now_s * SECOND)
        return false;
    CHECK(m, mete_why(m->engine, id, m->now_s * SECOND, &r) == METE_OK);
    return r.code == METE_REASON_RESERVED;
}

/* Checks that the first job in order does not wait if it fits, unless by the plan. */
static void check_first(struct model *m)
{
    const struct model_job *first = NULL;

    for (int id = 1; id <= JOBS; id++) {
        const struct model_job *job = &m->jobs[id];

        if (job->is_there && !job->is_placed && (!first || is_before(job, first)))
            first = job;
    }
    for (int i = 0; first && first->spec.pods == 1 && i < NODES; i++)
        CHECK(m, !fits_now(m, i, &first->spec) || waits_by_plan(m, first->spec.id));
}

static void run_cycle(struct model *m)
{
    struct mete_decisions d = {.is_cut = true};
    uint64_t budget = prop_chance(&m->prop, 30) ? 1 + prop_below(&m->prop, 20) : 0;

    m->now_s++;
    for (int i = 0; d.is_cut; i++) {
        CHECK(m, i < 1000);
        mete_cycle(m->engine, m->now_s * SECOND, budget, &d);
        for (size_t k = 0; k < d.n_placements; k++)
            take_decision(m, &d.placements[k]);
    }
    check_first(m);
}

static void put_node(struct model *m, int i)
{
    struct node_spec *n = &m->nodes[i];

    if (!m->has_node[i]) {
        *n = (struct node_spec){.name = node_names[i]};
        n->gpus = prop_chance(&m->prop, 20) ? 0 : 2 + (unsigned)prop_below(&m->prop, GPUS - 1);
        n->model = prop_chance(&m->prop, 70) ? "h100" : "t4";
        n->cpu = 2000 + (int64_t)prop_below(&m->prop, 16) * 1000;
        n->label = prop_chance(&m->prop, 40) ? "ssd" : NULL;
        n->taint = prop_chance(&m->prop, 15) ? "ml" : NULL;
        n->has_no_links = prop_chance(&m->prop, 30);
        m->has_node[i] = true;
    }
    n->sick = prop_chance(&m->prop, 20) ? (unsigned)prop_below(&m->prop, 1u << GPUS) : 0;
    n->is_cordoned = prop_chance(&m->prop, 15);
    n->is_not_ready = prop_chance(&m->prop, 10);
    CHECK(m, set_node(m->engine, *n) == METE_OK);
}

static void remove_job(struct model *m, uint64_t id)
{
    CHECK(m, mete_workload_remove(m->engine, id) == METE_OK);
    m->jobs[id] = (struct model_job){0};
}

static void put_job(struct model *m, uint64_t id)
{
    static const uint32_t parts[] = {100, 250, 333, 500, 810};
    struct model_job *job = &m->jobs[id];
    uint32_t milli = prop_chance(&m->prop, 35) ? parts[prop_below(&m->prop, 5)] : 0;

    *job = (struct model_job){.is_there = true};
    job->spec = (struct job_spec){
        .id = id,
        .gpus = (uint32_t)prop_below(&m->prop, prop_chance(&m->prop, 70) ? 5 : GPUS + 2),
        .milli = milli,
        .gpu_bytes =
            milli && prop_chance(&m->prop, 40) ? (1 + (int64_t)prop_below(&m->prop, 50)) << 30 : 0,
        .model = prop_chance(&m->prop, 30) ? (prop_chance(&m->prop, 60) ? "h100" : "t4") : NULL,
        .cpu = 1000 + (int64_t)prop_below(&m->prop, 6) * 1000,
        .priority = (int32_t)prop_below(&m->prop, 3),
        .limit_s = prop_chance(&m->prop, 40) ? 1 + (int64_t)prop_below(&m->prop, 30) : 0,
        .pods = prop_chance(&m->prop, 15) ? 2 + (uint32_t)prop_below(&m->prop, 3) : 1,
        .label = prop_chance(&m->prop, 15) ? "ssd" : NULL,
        .tolerates = prop_chance(&m->prop, 30) ? "ml" : NULL,
    };
    CHECK(m, add_job(m->engine, job->spec) == METE_OK);
}

static void step_job(struct model *m)
{
    uint64_t id = 1 + prop_below(&m->prop, JOBS);
    struct model_job *job = &m->jobs[id];

    if (!job->is_there) {
        put_job(m, id);
    } else if (job->is_placed && prop_chance(&m->prop, 15)) {
        CHECK(m, mete_workload_unplace(m->engine, id) == METE_OK);
        job->is_placed = false;
    } else if (job->is_placed ? prop_chance(&m->prop, 50) : prop_chance(&m->prop, 10)) {
        remove_job(m, id);
    }
}

static void step(struct model *m)
{
    size_t kind = prop_below(&m->prop, 100);
    int node = (int)prop_below(&m->prop, NODES);

    if (kind < 55) {
        step_job(m);
    } else if (kind < 65) {
        put_node(m, node);
    } else if (kind < 67 && m->has_node[node] && held_on(m, node) == 0 && cpu_used(m, node) == 0) {
        CHECK(m, mete_node_remove(m->engine, node_names[node]) == METE_OK);
        m->has_node[node] = false;
    } else {
        run_cycle(m);
    }
}

static void check_all(struct model *m)
{
    const char *wrong = mete_engine_check(m->engine);

    if (wrong)
        fail_msg("seed %llu: %s", (unsigned long long)m->seed, wrong);
    for (int id = 1; id <= JOBS; id++)
        for (unsigned k = 0; m->jobs[id].is_placed && k < m->jobs[id].spec.pods; k++)
            for (unsigned bit = 0; bit < GPUS; bit++)
                if (m->jobs[id].gpus[k] >> bit & 1) {
                    char uuid[16];

                    (void)snprintf(uuid, sizeof(uuid), "%s-%u", node_names[m->jobs[id].node[k]],
                                   bit);
                    CHECK(m, mete_gpu_holder(m->engine, uuid) ==
                                 (m->jobs[id].spec.milli ? 0 : (uint64_t)id));
                }
}

/* Questions change nothing: they undo all their trials. */
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

static bool never_fits(const struct model *m, const struct job_spec *job)
{
    for (int i = 0; i < NODES; i++)
        if (fits_empty(m, i, job))
            return false;
    return true;
}

static bool starts(struct model *m, uint64_t id)
{
    run_cycle(m);
    return m->jobs[id].is_placed;
}

static void heal(struct model *m, bool gpus, bool nodes)
{
    for (int i = 0; i < NODES; i++) {
        if (!m->has_node[i])
            continue;
        if (gpus)
            m->nodes[i].sick = 0;
        if (nodes)
            m->nodes[i].is_cordoned = m->nodes[i].is_not_ready = false;
        CHECK(m, set_node(m->engine, m->nodes[i]) == METE_OK);
    }
}

static void remove_holders(struct model *m, int node)
{
    for (uint64_t id = 1; id <= JOBS; id++)
        for (unsigned k = 0; m->jobs[id].is_placed && k < m->jobs[id].spec.pods; k++)
            if (m->jobs[id].node[k] == node) {
                remove_job(m, id);
                break;
            }
}

/* Checks that the named cause is the cause: without it the job starts, without another cause it
 * does not. */
static void check_cause(struct model *m, uint64_t id, enum mete_reason_code code, int nearest)
{
    switch (code) {
    case METE_REASON_NONE:
    case METE_REASON_NO_SUCH_QUEUE:
    case METE_REASON_OVER_MAX:
    case METE_REASON_NOT_ALLOWED:
    case METE_REASON_HELD_BY_YOU:
    case METE_REASON_HELD_BY_ADMIN:
    case METE_REASON_SCHEDULING_GATED:
    case METE_REASON_NOT_BEFORE:
    case METE_REASON_QUEUE_STOPPED:
    case METE_REASON_QUOTA:
    case METE_REASON_USER_LIMIT:
    case METE_REASON_FRAGMENTED:
    case METE_REASON_PREEMPTING:
    case METE_REASON_TOPOLOGY_SPLIT:
    case METE_REASON_NOT_YET_EVALUATED:
        fail_msg("seed %llu: a job waits without a cause after a cycle",
                 (unsigned long long)m->seed);
        break;
    case METE_REASON_NEVER_FITS:
        heal(m, true, true);
        for (int i = 0; i < NODES; i++)
            remove_holders(m, i);
        CHECK(m, !starts(m, id));
        break;
    case METE_REASON_NO_NODE_FITS:
        CHECK(m, !starts(m, id));
        if (nearest >= 0) {
            remove_holders(m, nearest);
            CHECK(m, starts(m, id));
        }
        break;
    case METE_REASON_GPUS_UNHEALTHY:
        CHECK(m, !starts(m, id));
        heal(m, true, false);
        CHECK(m, starts(m, id));
        break;
    case METE_REASON_NODES_DRAINING:
        CHECK(m, !starts(m, id));
        heal(m, false, true);
        CHECK(m, starts(m, id));
        break;
    case METE_REASON_RESERVED:
    case METE_REASON_HIGHER_PRIORITY:
        CHECK(m, starts(m, id)); /* the caller removed the jobs before it */
        break;
    }
}

static bool says_end(const char *line, uint64_t *ret)
{
    unsigned long long id = 0;
    char word[8];

    /* NOLINTNEXTLINE(cert-err34-c): the engine wrote it, of a small number */
    if (sscanf(line, "job %llu %7s", &id, word) != 2 || strcmp(word, "ends") != 0)
        return false;
    *ret = id;
    return true;
}

/* Makes the change of a "would start if" line. False: the test does not know the line. */
static bool do_line(struct model *m, uint64_t id, const char *line)
{
    struct job_spec spec = m->jobs[id].spec;
    unsigned gpus = 0;
    uint64_t other = 0;
    char node[8];

    if (says_end(line, &other)) {
        remove_job(m, other);
        return true;
    }
    if (sscanf(line, "node %2s is uncordoned", node) == 1) {
        int i = node_index(node);

        m->nodes[i].is_cordoned = false;
        CHECK(m, set_node(m->engine, m->nodes[i]) == METE_OK);
        return true;
    }
    if (strncmp(line, "it takes gpus of any model", 26) == 0)
        spec.model = NULL;
    else if (strncmp(line, "it does not ask for the label", 29) == 0)
        spec.label = NULL;
    else if (strncmp(line, "it tolerates", 12) == 0)
        spec.tolerates = "ml";
    else if (spec.gpus > 0 && !strstr(line, "pods") && !strstr(line, "cpu") &&
             /* NOLINTNEXTLINE(cert-err34-c): as above */
             sscanf(line, "it asks for %u", &gpus) == 1)
        spec.gpus = gpus;
    else
        return false;
    remove_job(m, id);
    m->jobs[id] = (struct model_job){.is_there = true, .spec = spec};
    CHECK(m, add_job(m->engine, spec) == METE_OK);
    return true;
}

static void remove_other_waiting(struct model *m, uint64_t id)
{
    for (uint64_t other = 1; other <= JOBS; other++)
        if (other != id && m->jobs[other].is_there && !m->jobs[other].is_placed)
            remove_job(m, other);
}

static void check_why(struct model *m)
{
    enum mete_reason_code code;
    uint64_t id = 0;
    struct mete_reason r;
    int nearest = -1;

    run_cycle(m);
    check_undo(m);
    for (uint64_t k = 1; k <= JOBS; k++) {
        const struct model_job *job = &m->jobs[k];

        if (job->is_there && !job->is_placed && job->spec.pods == 1 &&
            (id == 0 || prop_chance(&m->prop, 30)))
            id = k;
    }
    if (id == 0)
        return;
    CHECK(m, mete_why(m->engine, id, m->now_s * SECOND, &r) == METE_OK);
    code = r.code;
    CHECK(m, (code == METE_REASON_NEVER_FITS) == never_fits(m, &m->jobs[id].spec));
    if (r.n_nodes > 0 && strstr(r.nodes[0].text, "short"))
        nearest = node_index(r.nodes[0].node);
    if (r.n_would_start_if > 0 && prop_chance(&m->prop, 50)) {
        char line[256];

        (void)snprintf(line, sizeof(line), "%s",
                       r.would_start_if[prop_below(&m->prop, r.n_would_start_if)]);
        if (!do_line(m, id, line))
            return;
        /* other waiting jobs do not fit, or have their backfill reservations */
        remove_other_waiting(m, id);
        if (!starts(m, id))
            fail_msg("seed %llu: job %llu does not start though %s", (unsigned long long)m->seed,
                     (unsigned long long)id, line);
        return;
    }
    remove_other_waiting(m, id);
    check_cause(m, id, code, nearest);
}

static void set_demand(struct model *m)
{
    const struct mete_amount cpu = {"cpu", 2000};
    const char *const model = "t4";
    const struct mete_pod_set sets[] = {
        {.requests = &cpu, .n_requests = 1},
        {.gpus = 1, .gpu_milli = 250, .requests = &cpu, .n_requests = 1},
        {.gpus = 1, .gpu_milli = 810},
        {.gpus = 1, .gpu_models = &model, .n_gpu_models = 1},
        {.gpus = 4, .requests = &cpu, .n_requests = 1},
    };
    struct mete_demand demand[5];

    for (size_t i = 0; i < 5; i++)
        demand[i] = (struct mete_demand){&sets[i], 1 + prop_below(&m->prop, 100)};
    CHECK(m, mete_demand_set(m->engine, demand, 5, 0) == METE_OK);
}

static uint64_t run_seed(uint64_t seed)
{
    struct model m = {
        .seed = seed, .prop = {seed}, .hash = UINT64_C(0xcbf29ce484222325), .now_s = 100};
    static const char *const policies[] = {"binpack",    "spread",        "dotprod", "bestfit",
                                           "gpupacking", "gpuclustering", "fgd",     "random"};
    const struct mete_options options = {
        .policy = policies[seed % (COUNT(policies))], .reserve_depth = 1 + seed % 2, .seed = seed};

    m.engine = mete_engine_new(&options);
    if (prop_chance(&m.prop, 80))
        set_demand(&m);
    for (int i = 0; i < NODES; i++)
        if (prop_chance(&m.prop, 60))
            put_node(&m, i);
    for (int i = 0; i < STEPS; i++) {
        step(&m);
        check_all(&m);
    }
    check_why(&m);
    check_all(&m);
    mete_engine_free(m.engine);
    return m.hash;
}

static void holds_its_invariants_and_says_true_causes(void **state)
{
    struct prop_seeds seeds = prop_seeds(1000);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        (void)run_seed(seed);
}

struct small_job {
    bool is_there;
    bool is_running;
    int64_t end_s; /* 0: at a random time */
};

enum {
    SMALL_JOBS = 100,
    LARGE_JOB = 1000,
    PATIENCE_S = 1000,
};

static void place_small(struct small_job *jobs, const struct mete_decisions *d, int64_t now_s,
                        bool *large)
{
    for (size_t i = 0; i < d->n_placements; i++) {
        uint64_t id = d->placements[i].workload;

        if (id == LARGE_JOB) {
            *large = true;
            continue;
        }
        jobs[id].is_running = true;
        jobs[id].end_s += jobs[id].end_s ? now_s : 0; /* until here end_s is the time limit */
    }
}

/* Ends jobs at their time limits, and some of the others. */
static void end_small(struct mete_engine *e, struct prop *prop, struct small_job *jobs,
                      int64_t now_s)
{
    for (uint64_t id = 1; id <= SMALL_JOBS; id++) {
        bool is_over = jobs[id].end_s && now_s >= jobs[id].end_s;

        if (!jobs[id].is_running || !(is_over || prop_chance(prop, 5)))
            continue;
        assert_int_equal(mete_workload_remove(e, id), METE_OK);
        jobs[id] = (struct small_job){0};
    }
}

/* The earliest time by which a node has room for the large job, as the engine says. */
static int64_t promised_s(struct mete_engine *e, int64_t now_s)
{
    struct mete_reason r;
    int64_t first_s = INT64_MAX;

    assert_int_equal(mete_why(e, LARGE_JOB, now_s * SECOND, &r), METE_OK);
    for (size_t i = 0; i < r.n_nodes; i++)
        if (r.nodes[i].until_ns && r.nodes[i].until_ns / SECOND < first_s)
            first_s = r.nodes[i].until_ns / SECOND;
    return first_s;
}

/* Adds a job for each free id, so that some always wait. */
static void add_small(struct mete_engine *e, struct prop *prop, struct small_job *jobs,
                      int64_t now_s, bool has_limits)
{
    for (uint64_t id = 1; id <= SMALL_JOBS; id++) {
        const struct job_spec job = {.id = id,
                                     .gpus = 1 + (uint32_t)prop_below(prop, 3),
                                     .submit_s = now_s,
                                     .limit_s = has_limits ? 1 + (int64_t)prop_below(prop, 40) : 0};

        if (jobs[id].is_there)
            continue;
        jobs[id] = (struct small_job){.is_there = true, .end_s = job.limit_s};
        assert_int_equal(add_job(e, job), METE_OK);
    }
}

/*
 * A large job waits among an endless stream of small jobs. If all have time limits, the large job
 * starts by the first time told; without time limits it also starts.
 */
static void run_stream(uint64_t seed)
{
    struct small_job jobs[SMALL_JOBS + 1] = {0};
    const struct job_spec large = {.id = LARGE_JOB,
                                   .gpus = 6 + (uint32_t)(seed % 3),
                                   .submit_s = 110,
                                   .priority = seed % 4 < 2};
    struct mete_engine *e = mete_engine_new(NULL);
    int64_t deadline_s = 110 + PATIENCE_S;
    bool has_limits = seed % 2;
    struct prop prop = {seed};
    bool is_placed = false;
    struct mete_decisions d;

    for (int i = 0; i < 3; i++)
        (void)set_node(e, (struct node_spec){.name = node_names[i], .gpus = GPUS});
    for (int64_t now_s = 100; !is_placed; now_s++) {
        add_small(e, &prop, jobs, now_s, has_limits);
        if (now_s == 110)
            assert_int_equal(add_job(e, large), METE_OK);
        mete_cycle(e, now_s * SECOND, 0, &d);
        place_small(jobs, &d, now_s, &is_placed);
        if (now_s == 110 && has_limits && !is_placed && large.priority == 1)
            deadline_s = promised_s(e, now_s);
        if (!is_placed && now_s >= deadline_s)
            fail_msg("seed %llu: the large job still waits at %d", (unsigned long long)seed,
                     (int)now_s);
        end_small(e, &prop, jobs, now_s + 1);
    }
    assert_null(mete_engine_check(e));
    mete_engine_free(e);
}

static void a_large_job_is_not_starved_by_small_ones(void **state)
{
    struct prop_seeds seeds = prop_seeds(300);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        run_stream(seed);
}

/* All compilers give the same decisions, to the bit. */
static void decides_the_same_everywhere(void **state)
{
    uint64_t hash = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++)
        hash = hash * 31 + run_seed(seed);
    assert_int_equal(hash, UINT64_C(0x32ac82334b26b8c7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_its_invariants_and_says_true_causes),
        cmocka_unit_test(a_large_job_is_not_starved_by_small_ones),
        cmocka_unit_test(decides_the_same_everywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
