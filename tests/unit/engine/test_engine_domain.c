/*
 * test_engine_domain.c - gangs in one domain, also against a naive placer
 *
 * Small cases; then random clusters with blocks, racks and NVLink domains against a naive placer,
 * which tries every domain in the same order with the same fill. A failing seed is printed;
 * PROP_SEED=N replays it.
 */

#include "base/attr.h"
#include "base/err.h"
#include "engine/state.h"
#include "engine_build.h"
#include "prop.h"
#include "test.h"

enum {
    NODES = 12,
    JOBS = 30,
    STEPS = 50,
    GPUS = 4,
    KEYS = 3,
    PODS = 8,
};

static const char *const keys[KEYS] = {"clique", "rack", "block"};

struct place {
    const char *name;
    unsigned gpus;
    const char *labels[KEYS]; /* NULL: no label */
    bool is_cordoned;
    unsigned sick;
    int64_t cpu; /* milli; 0: 64 cpus */
};

static enum mete_result put(struct mete_engine *e, struct place p)
{
    const struct mete_amount capacity[] = {{"cpu", p.cpu ? p.cpu : 64000}, {"pods", 32}};
    struct mete_label labels[KEYS];
    struct mete_gpu gpus[8];
    char uuids[8][64];
    size_t n = 0;

    for (size_t i = 0; i < KEYS; i++)
        if (p.labels[i])
            labels[n++] = (struct mete_label){keys[i], p.labels[i]};
    for (unsigned i = 0; i < p.gpus; i++) {
        (void)snprintf(uuids[i], sizeof(uuids[i]), "%s-%u", p.name, i);
        gpus[i] = (struct mete_gpu){.uuid = uuids[i],
                                    .model = "h100",
                                    .numa_node = -1,
                                    .link_group = -1,
                                    .is_healthy = !(p.sick >> i & 1)};
    }
    return mete_node_set(e, &(struct mete_node){.name = p.name,
                                                .capacity = capacity,
                                                .n_capacity = 2,
                                                .labels = labels,
                                                .n_labels = n,
                                                .gpus = gpus,
                                                .n_gpus = p.gpus,
                                                .is_ready = true,
                                                .is_cordoned = p.is_cordoned});
}

struct gang {
    uint64_t id;
    uint32_t pods;
    uint32_t gpus;
    struct mete_domain domains[KEYS];
    size_t n_domains;
    struct mete_domain set_domains[KEYS]; /* of each set */
    size_t n_set_domains;
    uint32_t second; /* pods of a second set, of one gpu; 0: none */
    int64_t limit_s;
    const char *queue;
    int32_t priority;
    bool is_preemptible;
};

static enum mete_result add(struct mete_engine *e, struct gang g)
{
    const struct mete_amount requests[] = {{"cpu", 1000}, {"pods", 1}};
    struct mete_pod_set sets[2] = {
        {.name = "a", .count = g.pods, .gpus = g.gpus},
        {.name = "b", .count = g.second, .gpus = 1},
    };
    char name[32];

    (void)snprintf(name, sizeof(name), "team/gang-%u", (unsigned)g.id);
    for (size_t i = 0; i < 2; i++) {
        sets[i].requests = requests;
        sets[i].n_requests = 2;
        sets[i].domains = g.set_domains;
        sets[i].n_domains = g.n_set_domains;
    }
    return mete_workload_add(e, &(struct mete_workload){.id = g.id,
                                                        .name = name,
                                                        .queue = g.queue ? g.queue : "default",
                                                        .user = "ann",
                                                        .priority = g.priority,
                                                        .is_preemptible = g.is_preemptible,
                                                        .submit_ns = (int64_t)g.id * SECOND,
                                                        .time_limit_ns = g.limit_s * SECOND,
                                                        .pod_sets = sets,
                                                        .n_pod_sets = g.second > 0 ? 2 : 1,
                                                        .domains = g.domains,
                                                        .n_domains = g.n_domains});
}

/* Two blocks of two racks of two nodes of 4 gpus: a0 a1 | b0 b1 || c0 c1 | d0 d1. */
static struct mete_engine *cluster(void)
{
    const struct mete_options options = {.reserve_depth = METE_RESERVE_NONE};
    struct mete_engine *e = mete_engine_new(&options);
    static const char *const names[] = {"a0", "a1", "b0", "b1", "c0", "c1", "d0", "d1"};
    static const char *const racks[] = {"r1", "r2", "r3", "r4"};

    for (size_t i = 0; i < 8; i++)
        assert_int_equal(
            put(e, (struct place){.name = names[i],
                                  .gpus = 4,
                                  .labels = {NULL, racks[i / 2], i < 4 ? "b1" : "b2"}}),
            METE_OK);
    return e;
}

static void hold(struct mete_engine *e, uint64_t id, const char *node, unsigned gpus)
{
    assert_int_equal(
        restore_job(e, (struct job_spec){.id = id, .gpus = gpus, .restored_on = node}, 1), METE_OK);
}

static const char *cycle(struct mete_engine *e)
{
    static char text[1024];

    (void)cycle_text(e, 100, text, sizeof(text));
    assert_null(mete_engine_check(e));
    return text;
}

static void takes_the_tightest_domain_that_holds_all(void **state)
{
    struct mete_engine *e = cluster();

    (void)state;
    hold(e, 1, "a0", 4); /* r1 has 4 left */
    hold(e, 2, "c0", 2); /* r3 has 6 */
    assert_int_equal(
        add(e,
            (struct gang){
                .id = 11, .pods = 3, .gpus = 2, .domains = {{"rack", true}}, .n_domains = 1}),
        METE_OK);
    assert_string_equal(cycle(e), "11:c0(2,3) 11:c1(0,1) 11:c1(2,3)");
    assert_int_equal(
        add(e,
            (struct gang){
                .id = 12, .pods = 4, .gpus = 1, .domains = {{"rack", true}}, .n_domains = 1}),
        METE_OK);
    assert_string_equal(cycle(e), "12:a1(0) 12:a1(1) 12:a1(2) 12:a1(3)");
    mete_engine_free(e);
}

static void a_preferred_rack_in_a_required_block(void **state)
{
    struct mete_engine *e = cluster();
    const struct gang g = {.id = 11,
                           .pods = 3,
                           .gpus = 4,
                           .domains = {{"rack", false}, {"block", true}},
                           .n_domains = 2};

    (void)state;
    hold(e, 1, "a0", 1);
    assert_int_equal(add(e, g),
                     METE_OK); /* no rack has three nodes; block b1 has three free nodes */
    assert_string_equal(cycle(e), "11:a1(0,1,2,3) 11:b0(0,1,2,3) 11:b1(0,1,2,3)");
    hold(e, 2, "c0", 1);
    hold(e, 3, "d0", 1);
    assert_int_equal(add(e, (struct gang){.id = 12,
                                          .pods = 3,
                                          .gpus = 4,
                                          .domains = {{"rack", false}, {"block", true}},
                                          .n_domains = 2}),
                     METE_OK);
    assert_string_equal(cycle(e), "");
    mete_engine_free(e);
}

static void a_preferred_domain_is_left_where_it_is_full(void **state)
{
    struct mete_engine *e = cluster();

    (void)state;
    assert_int_equal(add(e, (struct gang){.id = 11,
                                          .pods = 5,
                                          .gpus = 4,
                                          .domains = {{"rack", false}, {"block", false}},
                                          .n_domains = 2}),
                     METE_OK);
    assert_string_equal(
        cycle(e), "11:a0(0,1,2,3) 11:a1(0,1,2,3) 11:b0(0,1,2,3) 11:b1(0,1,2,3) 11:c0(0,1,2,3)");
    mete_engine_free(e);
}

static void each_set_in_its_rack_all_in_one_block(void **state)
{
    struct mete_engine *e = cluster();

    (void)state;
    hold(e, 1, "a0", 3);
    hold(e, 2, "b0", 3); /* 5 gpus are free in each rack of b1 */
    assert_int_equal(add(e, (struct gang){.id = 11,
                                          .pods = 2,
                                          .gpus = 4,
                                          .second = 5,
                                          .domains = {{"block", true}},
                                          .n_domains = 1,
                                          .set_domains = {{"rack", true}},
                                          .n_set_domains = 1}),
                     METE_OK);
    assert_string_equal(cycle(e), "11:c0(0,1,2,3) 11:c1(0,1,2,3) 11:d0(0) 11:d0(1) 11:d0(2) "
                                  "11:d0(3) 11:d1(0)");
    mete_engine_free(e);
}

/* The first set would take the rack that the second set needs. */
static void an_earlier_set_makes_way(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);

    (void)state;
    assert_int_equal(put(e, (struct place){.name = "a", .gpus = 8, .labels = {NULL, "r1", NULL}}),
                     METE_OK);
    assert_int_equal(
        put(e, (struct place){.name = "b", .gpus = 8, .labels = {NULL, "r2", NULL}, .cpu = 4000}),
        METE_OK);
    hold(e, 1, "a", 2);
    assert_int_equal(add(e, (struct gang){.id = 11,
                                          .pods = 1,
                                          .gpus = 4,
                                          .second = 6,
                                          .set_domains = {{"rack", true}},
                                          .n_set_domains = 1}),
                     METE_OK);
    assert_string_equal(cycle(e), "11:b(0,1,2,3) 11:a(2) 11:a(3) 11:a(4) 11:a(5) 11:a(6) 11:a(7)");
    mete_engine_free(e);
}

static struct mete_reason why(struct mete_engine *e, uint64_t id)
{
    struct mete_reason r;

    assert_int_equal(mete_why(e, id, 100 * SECOND, &r), METE_OK);
    return r;
}

static void says_what_one_domain_has_and_what_relaxing_it_would_do(void **state)
{
    struct mete_engine *e = cluster();
    struct mete_reason r;

    (void)state;
    hold(e, 1, "a0", 1);
    hold(e, 2, "b0", 2);
    hold(e, 3, "c0", 3);
    hold(e, 4, "d0", 3);
    assert_int_equal(
        add(e,
            (struct gang){
                .id = 11, .pods = 4, .gpus = 2, .domains = {{"rack", true}}, .n_domains = 1}),
        METE_OK);
    assert_string_equal(cycle(e), "");
    r = why(e, 11);
    assert_int_equal(r.code, METE_REASON_TOPOLOGY_SPLIT);
    assert_string_equal(r.code_text, "TopologySplit");
    assert_string_equal(r.class_text, "place");
    assert_string_equal(r.message, "needs 8 gpus in one rack; the most free in one is 7 (r1)");
    assert_int_equal(r.n_would_start_if, 7);
    assert_string_equal(r.would_start_if[0], "its pods may be in more than one rack");
    assert_string_equal(r.would_start_if[1], "it asks for 1 gpu, not 2 (on c0)");
    assert_string_equal(r.would_start_if[2], "it asks for 3 pods, not 4");
    assert_string_equal(r.would_start_if[3], "job 1 ends");
    assert_int_equal(mete_workload_remove(e, 1), METE_OK);
    assert_string_equal(cycle(e), "11:a0(0,1) 11:a0(2,3) 11:a1(0,1) 11:a1(2,3)");
    mete_engine_free(e);
}

static void says_that_free_gpus_of_a_domain_lie_apart(void **state)
{
    struct mete_engine *e = cluster();
    static const char *const nodes[] = {"a0", "b0", "c0", "d0"};

    (void)state;
    for (uint64_t i = 0; i < 4; i++)
        hold(e, i + 1, nodes[i], 1);
    assert_int_equal(add(e, (struct gang){.id = 11,
                                          .pods = 2,
                                          .gpus = 3,
                                          .domains = {{"example.com/rack", true}},
                                          .n_domains = 1}),
                     METE_OK);
    assert_string_equal(cycle(e), "");
    assert_string_equal(why(e, 11).message,
                        "needs 2 x 3 gpus in one rack; no node has the label example.com/rack");
    assert_int_equal(why(e, 11).code, METE_REASON_NEVER_FITS);
    hold(e, 5, "a1", 1);
    hold(e, 6, "b1", 1);
    assert_int_equal(add(e, (struct gang){.id = 12,
                                          .pods = 4,
                                          .gpus = 2,
                                          .domains = {{"rack", true}, {"block", true}},
                                          .n_domains = 2}),
                     METE_OK);
    assert_int_equal(
        add(e,
            (struct gang){
                .id = 13, .pods = 9, .gpus = 1, .domains = {{"rack", true}}, .n_domains = 1}),
        METE_OK);
    assert_string_equal(cycle(e), "");
    assert_string_equal(why(e, 12).message,
                        "needs 8 gpus in one rack; the most free in one is 7 (r3)");
    assert_int_equal(why(e, 13).code, METE_REASON_NEVER_FITS);
    assert_string_equal(why(e, 13).message,
                        "needs 9 gpus in one rack; the most there are in one is 8 (r1)");
    assert_int_equal(
        add(e, (struct gang){.id = 14,
                             .pods = 2,
                             .gpus = 3,
                             .domains = {{"kubernetes.io/hostname", false}, {"rack", true}},
                             .n_domains = 2}),
        METE_OK);
    assert_string_equal(cycle(e), "14:a0(1,2,3) 14:a1(1,2,3)");
    hold(e, 7, "c1", 2);
    hold(e, 8, "d1", 2);
    assert_int_equal(
        add(e,
            (struct gang){
                .id = 15, .pods = 2, .gpus = 3, .domains = {{"rack", true}}, .n_domains = 1}),
        METE_OK);
    assert_string_equal(cycle(e), "15:b0(1,2,3) 15:b1(1,2,3)");
    assert_int_equal(
        add(e,
            (struct gang){
                .id = 16, .pods = 2, .gpus = 3, .domains = {{"rack", true}}, .n_domains = 1}),
        METE_OK);
    assert_string_equal(cycle(e), "");
    assert_string_equal(why(e, 16).code_text, "TopologySplit");
    assert_string_equal(why(e, 16).message,
                        "needs 6 gpus in one rack; the most free in one is 5 (r3)");
    mete_engine_free(e);
}

static void refuses_what_cannot_be_a_domain(void **state)
{
    struct mete_engine *e = cluster();
    struct mete_domain many[METE_DOMAINS_MAX + 1];
    const struct mete_pod_set set = {.count = 1};
    struct mete_workload w = {.id = 1, .pod_sets = &set, .n_pod_sets = 1, .domains = many};

    (void)state;
    for (size_t i = 0; i <= METE_DOMAINS_MAX; i++)
        many[i] = (struct mete_domain){"rack", false};
    w.n_domains = METE_DOMAINS_MAX + 1;
    assert_int_equal(mete_workload_add(e, &w), METE_INVALID);
    assert_string_equal(mete_last_error(e), "9 domains are asked for, at most 8");
    w.n_domains = 2;
    assert_int_equal(mete_workload_add(e, &w), METE_INVALID);
    assert_string_equal(mete_last_error(e), "domain 'rack' is asked for twice");
    many[0].key = "";
    assert_int_equal(mete_workload_add(e, &w), METE_INVALID);
    assert_string_equal(mete_last_error(e), "domain 0 has no label key");
    mete_engine_free(e);
}

static void a_new_label_moves_a_node_to_another_domain(void **state)
{
    struct mete_engine *e = cluster();
    const struct gang g = {
        .id = 11, .pods = 3, .gpus = 4, .domains = {{"rack", true}}, .n_domains = 1};

    (void)state;
    assert_int_equal(add(e, g), METE_OK);
    assert_string_equal(cycle(e), "");
    assert_int_equal(put(e, (struct place){.name = "a0", .gpus = 4, .labels = {NULL, "r4", "b1"}}),
                     METE_OK);
    assert_string_equal(cycle(e), "11:a0(0,1,2,3) 11:d0(0,1,2,3) 11:d1(0,1,2,3)");
    /* a placed workload stays, and the check accepts it */
    assert_int_equal(put(e, (struct place){.name = "a0", .gpus = 4, .labels = {NULL, "r1", "b1"}}),
                     METE_OK);
    assert_string_equal(cycle(e), "");
    mete_engine_free(e);
}

static void hold_until(struct mete_engine *e, uint64_t id, const char *node, unsigned gpus,
                       int64_t end_s)
{
    assert_int_equal(
        restore_job(
            e, (struct job_spec){.id = id, .gpus = gpus, .limit_s = end_s - 1, .restored_on = node},
            1),
        METE_OK);
}

static void room_is_kept_in_the_rack_that_is_free_first(void **state)
{
    const struct mete_options options = {.reserve_depth = 1};
    struct mete_engine *e = mete_engine_new(&options);
    static const char *const racks[] = {"r1", "r2"};
    char text[256];

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const char *const names[] = {"a0", "a1", "b0", "b1"};

        assert_int_equal(
            put(e, (struct place){.name = names[i], .gpus = 4, .labels = {NULL, racks[i / 2]}}),
            METE_OK);
    }
    hold_until(e, 1, "a0", 4, 5000);
    hold_until(e, 2, "b1", 1, 1000);
    hold_until(e, 3, "a1", 1, 200);
    assert_int_equal(
        add(e,
            (struct gang){
                .id = 11, .pods = 2, .gpus = 4, .domains = {{"rack", true}}, .n_domains = 1}),
        METE_OK);
    /* without racks b0 and a1 would be free soonest; in one rack b0 and b1, at 1000 s */
    assert_int_equal(add_job(e, (struct job_spec){.id = 12, .gpus = 3}), METE_OK);
    assert_int_equal(add_job(e, (struct job_spec){.id = 13, .gpus = 3, .limit_s = 800}), METE_OK);
    assert_int_equal(add_job(e, (struct job_spec){.id = 14, .gpus = 3, .limit_s = 950}), METE_OK);
    assert_string_equal(cycle_text(e, 100, text, sizeof(text)), "12:a1(1,2,3) 13:b1(1,2,3)");
    assert_null(mete_engine_check(e));
    assert_int_equal(mete_workload_remove(e, 2), METE_OK);
    assert_int_equal(mete_workload_remove(e, 13), METE_OK);
    assert_string_equal(cycle_text(e, 900, text, sizeof(text)), "11:b0(0,1,2,3) 11:b1(0,1,2,3)");
    assert_null(mete_engine_check(e));
    mete_engine_free(e);
}

static void may_evict(struct mete_engine *e)
{
    assert_int_equal(mete_queue_set(e, &(struct mete_queue){.name = "default",
                                                            .within = METE_PREEMPT_LOWER_PRIORITY}),
                     METE_OK);
}

static void hold_weakly(struct mete_engine *e, uint64_t id, const char *node, unsigned gpus,
                        unsigned at)
{
    assert_int_equal(restore_job(e,
                                 (struct job_spec){.id = id,
                                                   .gpus = gpus,
                                                   .is_preemptible = true,
                                                   .restored_at = at,
                                                   .restored_on = node},
                                 1),
                     METE_OK);
}

/* The two cheapest victims are in two racks; one rack has a job that stays. */
static void evicts_in_one_rack_where_that_costs_least(void **state)
{
    struct mete_engine *e = cluster();
    static const char *const nodes[] = {"a0", "a1", "b0", "b1", "c0", "c1", "d0", "d1"};

    (void)state;
    may_evict(e);
    for (uint64_t i = 0; i < 8; i++) {
        if (i == 0)
            hold(e, i + 1, nodes[i], 4); /* stays */
        else if (i == 3)                 /* two gpus: cheaper */
            hold_weakly(e, i + 1, nodes[i], 2, 0);
        else if (i != 6 && i != 7)
            hold_weakly(e, i + 1, nodes[i], 4, 0);
    }
    hold_weakly(e, 7, "d0", 3, 0);
    hold_weakly(e, 8, "d1", 2, 0);
    hold_weakly(e, 9, "d1", 2, 2);
    assert_int_equal(add(e, (struct gang){.id = 11,
                                          .pods = 2,
                                          .gpus = 4,
                                          .priority = 1,
                                          .domains = {{"rack", true}},
                                          .n_domains = 1}),
                     METE_OK);
    /* r2 costs 4 + 2 gpus, r4 3 + 2 + 2, r3 8; r1 has a job that stays */
    assert_string_equal(cycle(e), "3 for 11 4 for 11");
    assert_int_equal(mete_workload_remove(e, 3), METE_OK);
    assert_string_equal(cycle(e), "");
    assert_string_equal(why(e, 11).code_text, "WaitingForPreempted");
    assert_int_equal(mete_workload_remove(e, 4), METE_OK);
    assert_string_equal(cycle(e), "11:b0(0,1,2,3) 11:b1(0,1,2,3)");
    mete_engine_free(e);
}

static void evicts_for_each_set_in_its_rack(void **state)
{
    struct mete_engine *e = cluster();
    static const char *const nodes[] = {"a0", "a1", "b0", "b1", "c0", "c1", "d0", "d1"};

    (void)state;
    may_evict(e);
    for (uint64_t i = 0; i < 8; i++)
        if (i != 4)
            hold_weakly(e, i + 1, nodes[i], 4, 0);
    assert_int_equal(add(e, (struct gang){.id = 11,
                                          .pods = 2,
                                          .gpus = 4,
                                          .second = 3,
                                          .priority = 1,
                                          .domains = {{"block", true}},
                                          .n_domains = 1,
                                          .set_domains = {{"rack", true}},
                                          .n_set_domains = 1}),
                     METE_OK);
    assert_string_equal(cycle(e), "6 for 11 7 for 11");
    assert_int_equal(mete_workload_remove(e, 6), METE_OK);
    assert_int_equal(mete_workload_remove(e, 7), METE_OK);
    assert_string_equal(cycle(e), "11:c0(0,1,2,3) 11:c1(0,1,2,3) 11:d0(0) 11:d0(1) 11:d0(2)");
    mete_engine_free(e);
}

/* --- against a naive placer --- */

struct model {
    struct mete_engine *engine;
    struct prop prop;
    uint64_t seed;
    bool evicts;
    size_t n_evicted;
    bool keeps_room; /* the engine makes backfill reservations: jobs that fit may wait */
    struct place nodes[NODES];
    bool has_node[NODES];
    struct gang gangs[JOBS + 1];
    bool is_there[JOBS + 1];
    bool is_placed[JOBS + 1];
    int node[JOBS + 1][2 * PODS];
};

static const char *const node_names[NODES] = {"n00", "n01", "n02", "n03", "n04", "n05",
                                              "n06", "n07", "n08", "n09", "n10", "n11"};
static const char *const values[] = {"u", "v", "w"};

static void set_random_node(struct model *m, size_t i)
{
    struct place *p = &m->nodes[i];

    *p = (struct place){
        .name = node_names[i],
        .gpus = GPUS,
        .sick = prop_chance(&m->prop, 10) ? 1U << prop_below(&m->prop, GPUS) : 0,
        .is_cordoned = prop_chance(&m->prop, 5),
    };
    for (size_t k = 0; k < KEYS; k++)
        if (!prop_chance(&m->prop, 8))
            p->labels[k] = values[prop_below(&m->prop, k == 2 ? 2 : 3)];
    CHECK(m, put(m->engine, *p) == METE_OK);
    m->has_node[i] = true;
}

static unsigned free_gpus(const struct model *m, const int *held, size_t node)
{
    unsigned healthy = GPUS - (unsigned)__builtin_popcount(m->nodes[node].sick);
    unsigned used = (unsigned)held[node];

    if (!m->has_node[node] || m->nodes[node].is_cordoned)
        return 0;
    return used > healthy ? 0 : healthy - used;
}

/* Nodes change only while empty, so held gpus are healthy. */
static void count_held(const struct model *m, int *held)
{
    memset(held, 0, NODES * sizeof(*held));
    for (size_t id = 1; id <= JOBS; id++)
        for (size_t k = 0; m->is_placed[id] && k < m->gangs[id].pods + m->gangs[id].second; k++)
            held[m->node[id][k]] += (int)(k < m->gangs[id].pods ? m->gangs[id].gpus : 1);
}

static bool naive_fill(const struct model *m, int *held, const bool *in, uint32_t pods,
                       uint32_t gpus)
{
    for (uint32_t k = 0; k < pods; k++) {
        size_t i = 0;

        while (i < NODES && !(in[i] && free_gpus(m, held, i) >= gpus))
            i++;
        if (i == NODES)
            return false;
        held[i] += (int)gpus;
    }
    return true;
}

static const char *value_of(const struct model *m, size_t node, const char *key)
{
    for (size_t k = 0; k < KEYS; k++)
        if (strcmp(keys[k], key) == 0)
            return m->nodes[node].labels[k];
    return NULL;
}

struct naive {
    const struct model *m;
    const struct gang *gang;
    const char *relaxed; /* a key whose domains are not required */
};

/* The nodes of `in` in the required domains of `first`. False: `first` lacks a required label. */
static bool naive_domain(const struct naive *v, const struct mete_domain *asks, size_t n,
                         const bool *in, size_t first, bool *ret)
{
    for (size_t i = 0; i < NODES; i++)
        ret[i] = in[i];
    for (size_t k = 0; k < n; k++) {
        const char *value = value_of(v->m, first, asks[k].key);

        if (!asks[k].is_required || (v->relaxed && strcmp(v->relaxed, asks[k].key) == 0))
            continue;
        if (!value)
            return false;
        for (size_t i = 0; i < NODES; i++) {
            const char *here = value_of(v->m, i, asks[k].key);

            ret[i] = ret[i] && here && strcmp(here, value) == 0;
        }
    }
    return in[first];
}

static bool naive_set(const struct naive *v, const int *held, const bool *in, int set)
{
    const struct gang *g = v->gang;

    if (set == (g->second > 0 ? 2 : 1))
        return true;
    for (size_t first = 0; first < NODES; first++) {
        bool domain[NODES];
        int copy[NODES];

        memcpy(copy, held, sizeof(copy));
        if (naive_domain(v, g->set_domains, g->n_set_domains, in, first, domain) &&
            naive_fill(v->m, copy, domain, set == 0 ? g->pods : g->second,
                       set == 0 ? g->gpus : 1) &&
            naive_set(v, copy, in, set + 1))
            return true;
    }
    return false;
}

/* Does any choice of domains have room for all sets? */
static bool naive_fits(const struct model *m, const struct gang *g, const char *relaxed)
{
    const struct naive v = {m, g, relaxed};
    int held[NODES];

    count_held(m, held);
    for (size_t first = 0; first < NODES; first++) {
        bool domain[NODES];

        if (naive_domain(&v, g->domains, g->n_domains, m->has_node, first, domain) &&
            naive_set(&v, held, domain, 0))
            return true;
    }
    return false;
}

static size_t random_domains(struct model *m, struct mete_domain *ret)
{
    size_t n = 0;

    for (size_t k = 0; k < KEYS; k++)
        if (prop_chance(&m->prop, 40))
            ret[n++] = (struct mete_domain){keys[k], prop_chance(&m->prop, 60)};
    return n;
}

static void add_random_gang(struct model *m, uint64_t id)
{
    struct gang *g = &m->gangs[id];

    *g = (struct gang){
        .id = id,
        .pods = 1 + (uint32_t)prop_below(&m->prop, PODS),
        .gpus = 1 + (uint32_t)prop_below(&m->prop, 3),
        .second = prop_chance(&m->prop, 30) ? 1 + (uint32_t)prop_below(&m->prop, PODS) : 0,
        .priority = m->evicts ? (int32_t)prop_below(&m->prop, 3) : 0,
        .is_preemptible = m->evicts && prop_chance(&m->prop, 80),
        .limit_s = prop_chance(&m->prop, 50) ? 1 + (int64_t)prop_below(&m->prop, 30) : 0,
    };
    g->n_domains = random_domains(m, g->domains);
    if (prop_chance(&m->prop, 40))
        g->n_set_domains = random_domains(m, g->set_domains);
    CHECK(m, add(m->engine, *g) == METE_OK);
    m->is_there[id] = true;
}

static void remove_gang(struct model *m, uint64_t id)
{
    CHECK(m, mete_workload_remove(m->engine, id) == METE_OK);
    m->is_there[id] = false;
    m->is_placed[id] = false;
}

static void note_placed(struct model *m, const struct mete_decisions *d)
{
    for (size_t i = 0; i < d->n_placements; i++) {
        const struct mete_placement *p = &d->placements[i];

        m->is_placed[p->workload] = true;
        for (size_t k = 0; k < p->n_pods; k++) {
            size_t node = 0;

            while (strcmp(node_names[node], p->pods[k].node) != 0)
                node++;
            m->node[p->workload][k] = (int)node;
        }
    }
}

/* Ends victims at once; then their preemptor starts. */
static void run_cycle(struct model *m, int64_t now_s)
{
    struct mete_decisions d;
    struct mete_eviction evictions[JOBS];
    size_t n;

    mete_cycle(m->engine, now_s * SECOND, 0, &d);
    note_placed(m, &d);
    n = d.n_evictions;
    m->n_evicted += n;
    CHECK(m, n <= JOBS && (n == 0 || m->evicts));
    for (size_t i = 0; i < n; i++)
        evictions[i] = d.evictions[i];
    for (size_t i = 0; i < n; i++)
        remove_gang(m, evictions[i].workload);
    if (n == 0)
        return;
    mete_cycle(m->engine, now_s * SECOND, 0, &d);
    note_placed(m, &d);
    for (size_t i = 0; i < n; i++)
        CHECK(m, m->is_placed[evictions[i].by]);
    for (size_t i = 0; i < d.n_evictions; i++) {
        CHECK(m, i < JOBS);
        evictions[i] = d.evictions[i];
    }
    n = d.n_evictions;
    for (size_t i = 0; i < n; i++)
        remove_gang(m, evictions[i].workload);
}

static bool all_same(const struct model *m, uint64_t id, size_t first, size_t end,
                     const struct mete_domain *asks, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const char *value = value_of(m, (size_t)m->node[id][first], asks[k].key);

        for (size_t i = first; asks[k].is_required && i < end; i++) {
            const char *here = value_of(m, (size_t)m->node[id][i], asks[k].key);

            if (!value || !here || strcmp(here, value) != 0)
                return false;
        }
    }
    return true;
}

static void check_placed(const struct model *m, uint64_t id)
{
    const struct gang *g = &m->gangs[id];
    size_t n = g->pods + g->second;

    CHECK(m, all_same(m, id, 0, n, g->domains, g->n_domains));
    CHECK(m, all_same(m, id, 0, g->pods, g->set_domains, g->n_set_domains));
    if (g->second > 0)
        CHECK(m, all_same(m, id, g->pods, n, g->set_domains, g->n_set_domains));
}

static void check_waiting(struct model *m, uint64_t id)
{
    const struct gang *g = &m->gangs[id];
    struct gang anywhere = *g;
    uint64_t hash = engine_hash(m->engine);
    struct mete_reason r;
    bool would_fit;

    if (!m->keeps_room)
        CHECK(m, !naive_fits(m, g, NULL));
    if (!prop_chance(&m->prop, 15))
        return; /* reasons are slow */
    CHECK(m, mete_why(m->engine, id, 0, &r) == METE_OK);
    CHECK(m, engine_hash(m->engine) == hash);
    anywhere.n_domains = 0;
    anywhere.n_set_domains = 0;
    would_fit = naive_fits(m, &anywhere, NULL);
    if (r.code == METE_REASON_TOPOLOGY_SPLIT)
        CHECK(m, would_fit);
    if (r.code == METE_REASON_NO_NODE_FITS && !m->keeps_room)
        CHECK(m, !would_fit);
    for (size_t k = 0; k < KEYS && !m->keeps_room; k++) {
        char line[64];
        bool is_said = false;

        (void)snprintf(line, sizeof(line), "its pods may be in more than one %s", keys[k]);
        for (size_t i = 0; i < r.n_would_start_if; i++)
            is_said = is_said || strcmp(r.would_start_if[i], line) == 0;
        CHECK(m, is_said == naive_fits(m, g, keys[k]));
    }
}

static bool is_empty(const struct model *m, size_t node)
{
    int held[NODES];

    count_held(m, held);
    return held[node] == 0;
}

static void step(struct model *m, int64_t now_s)
{
    uint64_t id = 1 + prop_below(&m->prop, JOBS);
    size_t node = prop_below(&m->prop, NODES);

    if (prop_chance(&m->prop, 10) && is_empty(m, node)) {
        if (m->has_node[node] && prop_chance(&m->prop, 30)) {
            CHECK(m, mete_node_remove(m->engine, node_names[node]) == METE_OK);
            m->has_node[node] = false;
        } else {
            set_random_node(m, node);
        }
    } else if (m->is_there[id]) {
        remove_gang(m, id);
    } else {
        add_random_gang(m, id);
    }
    run_cycle(m, now_s);
    if (mete_engine_check(m->engine))
        fail_msg("seed %llu: %s", (unsigned long long)m->seed, mete_engine_check(m->engine));
    for (id = 1; id <= JOBS; id++) {
        if (m->is_placed[id])
            check_placed(m, id);
        else if (m->is_there[id])
            check_waiting(m, id);
    }
}

/* Returns the number of evictions. */
static size_t run_seed(uint64_t seed)
{
    static const char *const policies[] = {"binpack", "spread", "mete", "random"};
    struct model m = {.prop = {seed}, .seed = seed, .keeps_room = seed % 3 == 0};
    const struct mete_options options = {.policy = policies[seed % 4],
                                         .reserve_depth = m.keeps_room ? 2 : METE_RESERVE_NONE};

    m.engine = mete_engine_new(&options);
    m.evicts = seed % 5 == 0;
    m.keeps_room = m.keeps_room || m.evicts;
    if (m.evicts)
        may_evict(m.engine);
    for (size_t i = 0; i < NODES; i++)
        set_random_node(&m, i);
    for (int64_t i = 1; i <= STEPS; i++)
        step(&m, i);
    mete_engine_free(m.engine);
    return m.n_evicted;
}

static void finds_a_domain_wherever_a_naive_search_does(void **state)
{
    struct prop_seeds seeds = prop_seeds(300);
    size_t n_evicted = 0;

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        n_evicted += run_seed(seed);
    assert_true(n_evicted > 0 || seeds.end - seeds.first < 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_tightest_domain_that_holds_all),
        cmocka_unit_test(a_preferred_rack_in_a_required_block),
        cmocka_unit_test(a_preferred_domain_is_left_where_it_is_full),
        cmocka_unit_test(each_set_in_its_rack_all_in_one_block),
        cmocka_unit_test(an_earlier_set_makes_way),
        cmocka_unit_test(says_what_one_domain_has_and_what_relaxing_it_would_do),
        cmocka_unit_test(says_that_free_gpus_of_a_domain_lie_apart),
        cmocka_unit_test(refuses_what_cannot_be_a_domain),
        cmocka_unit_test(a_new_label_moves_a_node_to_another_domain),
        cmocka_unit_test(room_is_kept_in_the_rack_that_is_free_first),
        cmocka_unit_test(evicts_in_one_rack_where_that_costs_least),
        cmocka_unit_test(evicts_for_each_set_in_its_rack),
        cmocka_unit_test(finds_a_domain_wherever_a_naive_search_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
