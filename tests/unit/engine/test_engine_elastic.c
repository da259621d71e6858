/* test_engine_elastic.c - workloads that start with fewer pods, grow and shrink */

#include "prop.h"
#include "engine/state.h"
#include "engine_one.h"

static void starts_with_what_it_needs_and_what_fits(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 4);
    NODE(.name = "b", .gpus = 4);
    JOB(.id = 1, .gpus = 2, .node = "b");
    CYCLE(10, "1:b(0,1)");
    JOB(.id = 2, .gpus = 2, .pods = 6, .least = 2);
    CYCLE(11, "2:b(2,3) 2:a(0,1) 2:a(2,3)");
    END(1);
    CYCLE(12, "2:b(0,1)");
    CYCLE(13, "");
    NODE(.name = "c", .gpus = 8);
    CYCLE(14, "2:c(0,1) 2:c(2,3)");
    CYCLE(15, "");
}

static void waits_for_its_least_and_no_more(void **state)
{
    struct mete_reason r = {0};

    (void)state;
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 1, .gpus = 3);
    CYCLE(10, "1:a(0,1,2)");
    JOB(.id = 2, .gpus = 1, .pods = 100, .least = 2);
    CYCLE(11, "");
    OK(mete_why(engine, 2, 11 * SECOND, &r));
    assert_string_equal(r.message, "needs 2 x 1 gpu at once; there is room for 1");
    assert_int_equal(r.waiting, 1);
    END(1);
    CYCLE(12, "2:a(0) 2:a(1) 2:a(2) 2:a(3)");
}

/* All other workloads in the queue come first. */
static void grows_only_into_what_is_left_over(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 1, .gpus = 1, .pods = 4, .least = 1, .priority = 9);
    JOB(.id = 2, .gpus = 2);
    CYCLE(10, "1:a(0) 2:a(2,3) 1:a(1)");
    JOB(.id = 3, .gpus = 4);
    END(2);
    CYCLE(11, ""); /* the room is for job 3 */
    JOB(.id = 4, .gpus = 2);
    CYCLE(12, "");
}

static void gives_one_pod_back_and_takes_it_again(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 1, .gpus = 1, .pods = 3, .least = 1);
    CYCLE(10, "1:a(0) 1:a(1) 1:a(2)");
    OK(mete_workload_shrink(engine, 1, 0, 2));
    assert_int_equal(mete_gpu_holder(engine, "a-1"), 1);
    assert_int_equal(mete_gpu_holder(engine, "a-2"), 0);
    assert_int_equal(mete_workload_shrink(engine, 1, 0, 2), METE_NOT_FOUND);
    assert_string_equal(mete_last_error(engine), "workload 1: pod 2 of pod set 0 is not placed");
    assert_int_equal(mete_workload_shrink(engine, 1, 0, 0), METE_INVALID);
    assert_string_equal(mete_last_error(engine),
                        "workload 1: pod 0 of pod set 0 is not beyond its min_count");
    assert_int_equal(mete_workload_shrink(engine, 2, 0, 0), METE_NOT_FOUND);
    CYCLE(11, "1:a(2)");
    OK(mete_workload_unplace(engine, 1));
    assert_int_equal(mete_gpu_holder(engine, "a-1"), 0);
    CYCLE(12, "1:a(0) 1:a(1) 1:a(2)");
    END(1);
}

/* The engine evicts an elastic pod, not the job with the lowest priority. */
static void shrinks_before_others_are_evicted(void **state)
{
    const struct mete_quota quota = {"gpu", 4000, 0, METE_UNLIMITED};
    struct mete_decisions d;

    (void)state;
    OK(mete_queue_set(engine, &(struct mete_queue){.name = "q",
                                                   .quotas = &quota,
                                                   .n_quotas = 1,
                                                   .within = METE_PREEMPT_LOWER_PRIORITY}));
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 1, .gpus = 1, .pods = 3, .least = 1, .queue = "q", .priority = 5);
    JOB(.id = 2, .gpus = 1, .queue = "q", .priority = 1, .is_preemptible = true);
    CYCLE(10, "1:a(0) 2:a(1) 1:a(2) 1:a(3)");
    JOB(.id = 3, .gpus = 1, .queue = "q", .priority = 3);
    mete_cycle(engine, 11 * SECOND, 0, &d);
    assert_int_equal(d.n_evictions, 1);
    assert_int_equal(d.evictions[0].workload, 1);
    assert_true(d.evictions[0].is_of_pod);
    assert_int_equal(d.evictions[0].by, 3);
    OK(mete_workload_shrink(engine, 1, d.evictions[0].pod_set, d.evictions[0].pod));
    assert_true(strncmp(cycle_text(engine, 12, text, sizeof(text)), "3:a(", 4) == 0);
    CYCLE(13, "");
    assert_int_equal(mete_queue_count(engine), 2);
    {
        struct mete_queue_view v;

        OK(mete_queue_view(engine, 1, &v));
        assert_int_equal(v.running, 3);
        assert_int_equal(v.waiting, 0);
        assert_int_equal(v.quotas[0].held, 4000);
    }
}

/* The caller submits elastic pods as workloads with own ids. */
static void elastic_of_the_callers_wait_behind_all_and_go_before_all(void **state)
{
    const struct mete_quota quota = {"gpu", 4000, 0, METE_UNLIMITED};
    struct mete_reason r = {0};
    struct mete_decisions d;
    struct mete_queue_view v;

    (void)state;
    OK(mete_queue_set(engine, &(struct mete_queue){.name = "q",
                                                   .quotas = &quota,
                                                   .n_quotas = 1,
                                                   .limits = {.running = 2},
                                                   .within = METE_PREEMPT_LOWER_PRIORITY}));
    NODE(.name = "a", .gpus = 4);
    JOB(.id = 5, .gpus = 1, .queue = "q", .priority = 9, .is_preemptible = true, .is_extra = true);
    JOB(.id = 6, .gpus = 4, .queue = "q", .priority = 9, .is_extra = true);
    JOB(.id = 1, .gpus = 1, .queue = "q", .priority = 1, .is_preemptible = true);
    JOB(.id = 7, .gpus = 1, .queue = "q", .min_run_s = 1000, .is_preemptible = true,
        .is_extra = true);
    CYCLE(10, "1:a(0) 5:a(1) 7:a(2)");
    OK(mete_why(engine, 6, 11 * SECOND, &r));
    assert_string_equal(r.code_text, "QuotaExceeded");
    OK(mete_queue_view(engine, 1, &v));
    assert_int_equal(v.running, 1); /* of two; elastic pods do not count */
    JOB(.id = 3, .gpus = 2, .queue = "q");
    mete_cycle(engine, 12 * SECOND, 0, &d);
    assert_int_equal(d.n_evictions, 1);
    assert_true(d.evictions[0].workload == 5 || d.evictions[0].workload == 7);
    assert_false(d.evictions[0].is_of_pod);
    OK(mete_workload_unplace(engine, d.evictions[0].workload));
    assert_true(strncmp(cycle_text(engine, 13, text, sizeof(text)), "3:a(", 4) == 0);
    CYCLE(14, ""); /* an elastic pod evicts no workload */
}

static void comes_back_with_the_pods_that_it_had(void **state)
{
    const char *const gpus[] = {"a-0", "a-2"};
    const struct mete_pod_placement pods[] = {
        {.pod = 0, .node = "a", .gpus = &gpus[0], .n_gpus = 1},
        {.pod = 2, .node = "a", .gpus = &gpus[1], .n_gpus = 1},
    };
    struct mete_placement placement = {
        .workload = 1, .pods = pods, .n_pods = 2, .started_ns = 5 * SECOND};
    struct job_parts parts;

    (void)state;
    NODE(.name = "a", .gpus = 4);
    OK(mete_workload_restore(
        engine, job_parts((struct job_spec){.id = 1, .gpus = 1, .pods = 3, .least = 1}, &parts),
        &placement));
    assert_int_equal(mete_gpu_holder(engine, "a-0"), 1);
    assert_int_equal(mete_gpu_holder(engine, "a-2"), 1);
    CYCLE(10, "1:a(1)");
    END(1);
    placement.pods = &pods[1];
    placement.n_pods = 1;
    assert_int_equal(
        mete_workload_restore(
            engine, job_parts((struct job_spec){.id = 1, .gpus = 1, .pods = 3, .least = 1}, &parts),
            &placement),
        METE_INVALID);
    assert_string_equal(mete_last_error(engine), "workload 1 has 1 pods, 0 of them placed");
}

static void says_what_is_wrong(void **state)
{
    const struct mete_domain rack = {.key = "rack", .is_required = true};
    struct job_parts parts;

    (void)state;
    assert_int_equal(add_job(engine, (struct job_spec){.id = 1, .pods = 2, .least = 3}),
                     METE_INVALID);
    assert_string_equal(mete_last_error(engine), "pod set 0: min_count 3 is over its count 2");
    (void)job_parts((struct job_spec){.id = 1, .pods = 3, .least = 2}, &parts);
    parts.workload.domains = &rack;
    parts.workload.n_domains = 1;
    assert_int_equal(mete_workload_add(engine, &parts.workload), METE_INVALID);
    assert_string_equal(mete_last_error(engine),
                        "pod set 0: min_count 2 of 3: elastic pods are not implemented "
                        "within domains");
    parts.workload.n_domains = 0;
    parts.workload.is_extra = true;
    assert_int_equal(mete_workload_add(engine, &parts.workload), METE_INVALID);
    assert_string_equal(mete_last_error(engine),
                        "pod set 0: min_count 2 of 3: all pods of an extra "
                        "are beyond the minimum");
    parts.workload.is_extra = false;
    parts.workload.id = UINT64_C(1) << 63;
    assert_int_equal(mete_workload_add(engine, &parts.workload), METE_INVALID);
}

/* Random elastic jobs and others in two queues: each has from the least to the most pods, never a
 * pod twice, and victims end. */
enum {
    JOBS = 16,
    PODS = 5,
    NODES = 3,
};

struct world {
    struct mete_engine *engine;
    struct prop prop;
    uint64_t seed;
    int64_t now_s;
    bool is_there[JOBS + 1];
    uint32_t least[JOBS + 1];
    uint32_t most[JOBS + 1];
    unsigned placed[JOBS + 1]; /* bits */
    unsigned n_shrunk;         /* elastic pods evicted for other jobs */
};

#define HOLDS(w, condition)                                                               \
    do {                                                                                  \
        if (!(condition))                                                                 \
            fail_msg("seed %llu: not so: %s", (unsigned long long)(w)->seed, #condition); \
    } while (0)

static void put(struct world *w, uint64_t id)
{
    uint32_t pods = 1 + (uint32_t)prop_below(&w->prop, PODS);
    bool is_extra = prop_chance(&w->prop, 20);

    w->is_there[id] = true;
    w->placed[id] = 0;
    w->most[id] = pods;
    w->least[id] = is_extra ? pods : 1 + (uint32_t)prop_below(&w->prop, pods);
    HOLDS(w, add_job(w->engine, (struct job_spec){
                                    .id = id,
                                    .gpus = (uint32_t)prop_below(&w->prop, 4),
                                    .milli = prop_chance(&w->prop, 20) ? 300 : 0,
                                    .pods = pods,
                                    .least = w->least[id],
                                    .queue = prop_chance(&w->prop, 50) ? "q" : "r",
                                    .user = prop_chance(&w->prop, 50) ? "ann" : "bob",
                                    .priority = (int32_t)prop_below(&w->prop, 3),
                                    .limit_s = prop_chance(&w->prop, 50) ? 20 : 0,
                                    .is_preemptible = prop_chance(&w->prop, 70),
                                    .is_extra = is_extra,
                                }) == METE_OK);
}

static void take_evictions(struct world *w, const struct mete_decisions *d)
{
    struct mete_eviction list[JOBS * PODS];
    size_t n = d->n_evictions;

    HOLDS(w, n <= (size_t)JOBS * PODS);
    for (size_t i = 0; i < n; i++)
        list[i] = d->evictions[i];
    for (size_t i = 0; i < n; i++) {
        uint64_t id = list[i].workload;

        HOLDS(w, w->is_there[id]);
        if (!list[i].is_of_pod) {
            HOLDS(w, w->placed[id]);
            HOLDS(w, mete_workload_unplace(w->engine, id) == METE_OK);
            w->placed[id] = 0;
        } else if (w->placed[id]) {
            HOLDS(w, w->placed[id] >> list[i].pod & 1);
            HOLDS(w, list[i].pod >= w->least[id]);
            HOLDS(w, mete_workload_shrink(w->engine, id, 0, list[i].pod) == METE_OK);
            w->placed[id] &= ~(1u << list[i].pod);
            w->n_shrunk++;
        }
    }
}

static void run_cycle(struct world *w)
{
    struct mete_decisions d;

    mete_cycle(w->engine, ++w->now_s * SECOND, 0, &d);
    for (size_t i = 0; i < d.n_placements; i++) {
        const struct mete_placement *p = &d.placements[i];
        bool is_new = w->placed[p->workload] == 0;

        HOLDS(w, w->is_there[p->workload]);
        HOLDS(w, p->n_pods == (is_new ? w->least[p->workload] : 1));
        for (size_t k = 0; k < p->n_pods; k++) {
            HOLDS(w, p->pods[k].pod < w->most[p->workload]);
            HOLDS(w, !(w->placed[p->workload] >> p->pods[k].pod & 1));
            w->placed[p->workload] |= 1u << p->pods[k].pod;
        }
    }
    take_evictions(w, &d);
}

static void step(struct world *w)
{
    uint64_t id = 1 + prop_below(&w->prop, JOBS);
    size_t kind = prop_below(&w->prop, 100);

    if (kind < 50 && !w->is_there[id]) {
        put(w, id);
    } else if (kind < 25 && w->is_there[id]) {
        HOLDS(w, mete_workload_remove(w->engine, id) == METE_OK);
        w->is_there[id] = false;
        w->placed[id] = 0;
    } else if (kind < 35 && w->placed[id]) {
        HOLDS(w, mete_workload_unplace(w->engine, id) == METE_OK);
        w->placed[id] = 0;
    } else if (kind < 45 && w->placed[id] >> w->least[id]) {
        uint32_t pod = 31 - (uint32_t)__builtin_clz(w->placed[id]);

        HOLDS(w, mete_workload_shrink(w->engine, id, 0, pod) == METE_OK);
        w->placed[id] &= ~(1u << pod);
    } else {
        run_cycle(w);
    }
}

static unsigned run_seed(uint64_t seed)
{
    static const char *const names[NODES] = {"n0", "n1", "n2"};
    const struct mete_quota quota = {"gpu", 8000, 8000, METE_UNLIMITED};
    static const uint32_t depths[] = {1, METE_RESERVE_NONE, METE_RESERVE_ALL};
    struct world w = {.seed = seed, .prop = {seed}, .now_s = 100};
    const char *const queues[] = {"q", "r"};

    w.engine = mete_engine_new(&(struct mete_options){.reserve_depth = depths[seed % 3]});
    for (int i = 0; i < 2 && seed % 2; i++)
        OK(mete_queue_set(w.engine,
                          &(struct mete_queue){.name = queues[i],
                                               .quotas = &quota,
                                               .n_quotas = 1,
                                               .within = METE_PREEMPT_LOWER_PRIORITY,
                                               .reclaim = METE_PREEMPT_ANY,
                                               .user_limits = {.running = seed % 4 == 1 ? 3 : 0}}));
    for (int i = 0; i < 2 && seed % 2 == 0; i++)
        OK(mete_queue_set(w.engine, &(struct mete_queue){.name = queues[i]}));
    if (seed / 6 % 2)
        OK(mete_moves_set(w.engine, &(struct mete_moves){.horizon_ns = 10000 * SECOND}));
    for (int i = 0; i < NODES; i++)
        OK(set_node(w.engine, (struct node_spec){.name = names[i], .gpus = 6}));
    for (int i = 0; i < 120; i++) {
        const char *wrong;

        step(&w);
        wrong = mete_engine_check(w.engine);
        if (wrong)
            fail_msg("seed %llu: %s", (unsigned long long)seed, wrong);
        for (uint64_t id = 1; id <= JOBS; id++) {
            uint64_t before = engine_hash(w.engine);
            struct mete_reason r;

            HOLDS(&w, (w.placed[id] & ((1u << w.least[id]) - 1)) ==
                          (w.placed[id] ? (1u << w.least[id]) - 1 : 0));
            if (!w.is_there[id] || i % 10 != 0)
                continue;
            OK(mete_why(w.engine, id, w.now_s * SECOND, &r));
            HOLDS(&w, engine_hash(w.engine) == before);
        }
    }
    for (int i = 0; i < 30; i++) /* all that fits has started: no further decisions */
        run_cycle(&w);
    mete_engine_free(w.engine);
    return w.n_shrunk;
}

static void stays_between_the_least_and_the_most(void **state)
{
    struct prop_seeds seeds = prop_seeds(100);
    unsigned n_shrunk = 0;

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        n_shrunk += run_seed(seed);
    assert_true(n_shrunk > 0 || seeds.end - seeds.first < 10); /* jobs do shrink */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(starts_with_what_it_needs_and_what_fits, setup, teardown),
        cmocka_unit_test_setup_teardown(waits_for_its_least_and_no_more, setup, teardown),
        cmocka_unit_test_setup_teardown(grows_only_into_what_is_left_over, setup, teardown),
        cmocka_unit_test_setup_teardown(gives_one_pod_back_and_takes_it_again, setup, teardown),
        cmocka_unit_test_setup_teardown(shrinks_before_others_are_evicted, setup, teardown),
        cmocka_unit_test_setup_teardown(elastic_of_the_callers_wait_behind_all_and_go_before_all,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(comes_back_with_the_pods_that_it_had, setup, teardown),
        cmocka_unit_test_setup_teardown(says_what_is_wrong, setup, teardown),
        cmocka_unit_test(stays_between_the_least_and_the_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
