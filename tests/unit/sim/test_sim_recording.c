/*
 * test_sim_recording.c - recordings of an engine's calls: replay and folding
 *
 * A replayed recording gives the same decisions; a folded one gives the same state. A failing seed
 * is printed; PROP_SEED=N replays it.
 */

#include "base/err.h"
#include "engine/record/record_fold.h"
#include "prop.h"
#include "sim/recording.h"
#include "slices_build.h"
#include "test.h"

enum {
    NODES = 3,
    QUEUES = 4,
    JOBS = 24,
    STEPS = 80
};

static const char *const node_names[NODES] = {"n0", "n1", "n2"};
static const char *const queue_names[QUEUES] = {"q0", "q1", "q2", "q3"};
static const char *const users[] = {"ann", "bob \"x\" \\ \n eve"};

struct world {
    struct mete_engine *engine;
    struct buf recording;
    struct prop prop;
    int64_t now_s;
    bool is_there[JOBS + 1];
    bool is_placed[JOBS + 1];
};

static void on_line(void *arg, const char *text, size_t size)
{
    struct world *w = arg;

    buf_add(&w->recording, text, size);
}

/* Sets a node with gpus in slices and replicas, either the driver's or the requested ones. */
static void put_sliced_node(struct world *w)
{
    const struct gpu_spec gpus[] = {
        {.model = "h100", .gib = 80, .is_flexible = true},
        {.model = "h100", .gib = 80, .profiles = {"1g.10gb", "3g.40gb"}, .starts = {0, 4}},
        {.model = "h100", .gib = 80},
        {.model = "t4", .gib = 16, .replicas = 3},
        {0}};

    assert_int_equal(set_sliced(w->engine, node_names[2], gpus), METE_OK);
}

static void put_node(struct world *w)
{
    size_t i = prop_below(&w->prop, NODES);

    if (i == 2 && prop_chance(&w->prop, 60)) {
        put_sliced_node(w);
        return;
    }
    assert_int_equal(set_node(w->engine,
                              (struct node_spec){
                                  .name = node_names[i],
                                  .gpus = 2 + 2 * (unsigned)i,
                                  .model = i == 1 ? "t4" : "h100",
                                  .sick = prop_chance(&w->prop, 10),
                                  .label = prop_chance(&w->prop, 50) ? "ssd" : NULL,
                                  .taint = prop_chance(&w->prop, 10) ? "ml" : NULL,
                                  .is_cordoned = prop_chance(&w->prop, 10),
                              }),
                     METE_OK);
}

static void put_queue(struct world *w)
{
    size_t i = prop_below(&w->prop, QUEUES);
    const struct mete_quota quota = {
        .resource = "gpu",
        .nominal = 1000 * (int64_t)prop_below(&w->prop, 6),
        .borrow_limit =
            prop_chance(&w->prop, 50) ? METE_UNLIMITED : 1000 * (int64_t)prop_below(&w->prop, 3),
        .lend_limit = METE_UNLIMITED,
    };

    /* A missing parent or a cycle is refused, also in the replay. */
    (void)mete_queue_set(
        w->engine,
        &(struct mete_queue){
            .name = queue_names[i],
            .parent = i == 3 ? "q0" : NULL,
            .weight = (uint32_t)prop_below(&w->prop, 3),
            .quotas = &quota,
            .n_quotas = 1,
            .user_limits = {.running = (uint32_t)prop_below(&w->prop, 4)},
            .reclaim = (enum mete_preempt)prop_below(&w->prop, 3),
            .within = prop_chance(&w->prop, 50) ? METE_PREEMPT_LOWER_PRIORITY : METE_PREEMPT_NEVER,
        });
}

static void put_asks(struct world *w, uint64_t id)
{
    struct ask_job job = {.id = id,
                          .queue = queue_names[prop_below(&w->prop, QUEUES)],
                          .priority = (int32_t)prop_below(&w->prop, 3) - 1,
                          .is_preemptible = prop_chance(&w->prop, 80),
                          .asks = {{.count = 1 + (uint32_t)prop_below(&w->prop, 2),
                                    .profile = prop_chance(&w->prop, 60) ? "1g.10gb" : "3g.40gb"}}};

    if (prop_chance(&w->prop, 20))
        job.asks[0] = (struct mete_gpu_ask){.count = 1, .is_replica = true};
    if (prop_chance(&w->prop, 20))
        job.asks[1] = (struct mete_gpu_ask){.count = 1, .gpu_milli = 400};
    assert_int_equal(add_asks(w->engine, job), METE_OK);
}

static void put_job(struct world *w, uint64_t id)
{
    w->is_there[id] = true;
    w->is_placed[id] = false;
    if (prop_chance(&w->prop, 30)) {
        put_asks(w, id);
        return;
    }
    assert_int_equal(add_job(w->engine,
                             (struct job_spec){
                                 .id = id,
                                 .gpus = (uint32_t)prop_below(&w->prop, 4),
                                 .model = prop_chance(&w->prop, 20) ? "h100" : NULL,
                                 .priority = (int32_t)prop_below(&w->prop, 3) - 1,
                                 .submit_s = w->now_s,
                                 .pods = 1 + (uint32_t)prop_below(&w->prop, 3),
                                 .is_extra = prop_chance(&w->prop, 30),
                                 .limit_s = (int64_t)prop_below(&w->prop, 30),
                                 .queue = queue_names[prop_below(&w->prop, QUEUES)],
                                 .user = users[prop_below(&w->prop, 2)],
                                 .is_preemptible = prop_chance(&w->prop, 80),
                             }),
                     METE_OK);
}

static void run_cycle(struct world *w)
{
    struct mete_decisions d;

    w->now_s += (int64_t)prop_below(&w->prop, 5);
    mete_cycle(w->engine, w->now_s * SECOND, prop_below(&w->prop, 10), &d);
    for (size_t i = 0; i < d.n_placements; i++)
        w->is_placed[d.placements[i].workload] = true;
}

static void ask(struct world *w)
{
    struct mete_reason r;

    struct mete_reservation_view v;

    for (uint64_t id = 1; id <= JOBS; id++)
        if (w->is_there[id])
            assert_int_equal(mete_why(w->engine, id, w->now_s * SECOND, &r), METE_OK);
    for (size_t i = 0; i < mete_reservation_count(w->engine); i++)
        assert_int_equal(mete_reservation_view(w->engine, i, &v), METE_OK);
}

static void step_job(struct world *w)
{
    uint64_t id = 1 + prop_below(&w->prop, JOBS);

    if (!w->is_there[id]) {
        put_job(w, id);
    } else if (w->is_placed[id] && prop_chance(&w->prop, 30)) {
        assert_int_equal(mete_workload_unplace(w->engine, id), METE_OK);
        w->is_placed[id] = false;
    } else if (w->is_placed[id] && prop_chance(&w->prop, 20)) {
        assert_int_equal(mete_workload_estimate(w->engine, id, w->now_s * SECOND), METE_OK);
    } else if (prop_chance(&w->prop, 15)) {
        assert_int_equal(
            mete_workload_points(w->engine, id, (int64_t)prop_below(&w->prop, 5) * 1000 - 2000),
            METE_OK);
    } else if (prop_chance(&w->prop, 10)) {
        assert_int_equal(mete_workload_unreserved(w->engine, id, prop_chance(&w->prop, 50)),
                         METE_OK);
    } else if (prop_chance(&w->prop, 20)) {
        assert_int_equal(
            mete_workload_hold(w->engine, id, (enum mete_hold)prop_below(&w->prop, 3), "\"wait\""),
            METE_OK);
    } else if (prop_chance(&w->prop, 40)) {
        assert_int_equal(mete_workload_remove(w->engine, id), METE_OK);
        w->is_there[id] = false;
    }
}

static void put_reservation(struct world *w)
{
    const char *const queue = "q1";
    const bool has_gpus = prop_chance(&w->prop, 50);

    if (prop_chance(&w->prop, 30)) {
        (void)mete_reservation_remove(w->engine, "r0");
        return;
    }
    (void)mete_reservation_set(
        w->engine, &(struct mete_reservation){
                       .name = prop_chance(&w->prop, 50) ? "r0" : "r1",
                       .start_ns = (w->now_s + (int64_t)prop_below(&w->prop, 20)) * SECOND,
                       .end_ns = (w->now_s + 20 + (int64_t)prop_below(&w->prop, 20)) * SECOND,
                       .nodes = node_names,
                       .n_nodes = !has_gpus,
                       .gpus = has_gpus ? 2 : 0,
                       .queues = &queue,
                       .n_queues = 1,
                   });
}

static void step(struct world *w)
{
    size_t kind = prop_below(&w->prop, 100);

    if (kind < 50)
        step_job(w);
    else if (kind < 56)
        put_node(w);
    else if (kind < 60)
        put_queue(w);
    else if (kind < 62)
        (void)mete_node_remove(w->engine, node_names[prop_below(&w->prop, NODES)]);
    else if (kind < 63)
        (void)mete_queue_remove(w->engine, queue_names[prop_below(&w->prop, QUEUES)]);
    else if (kind < 65)
        ask(w);
    else if (kind < 67)
        put_reservation(w);
    else
        run_cycle(w);
}

static void run(struct world *w, uint64_t seed)
{
    *w = (struct world){.prop = {seed}, .now_s = 1000};
    w->engine = mete_engine_new(
        &(struct mete_options){.policy = "bestfit",
                               .reserve_depth = seed % 3 == 0 ? METE_RESERVE_ALL : 0,
                               .record = on_line,
                               .record_arg = w});
    if (prop_chance(&w->prop, 30))
        assert_int_equal(
            mete_fairness_set(w->engine,
                              &(struct mete_fairness){
                                  .formula = METE_FAIR_TREE,
                                  .factors = {.age_points = 10, .fair_share_points = 100},
                                  .half_life_ns = 100 * SECOND,
                              }),
            METE_OK);
    if (prop_chance(&w->prop, 30))
        assert_int_equal(
            mete_moves_set(w->engine, &(struct mete_moves){.horizon_ns = 1000 * SECOND}), METE_OK);
    for (int i = 0; i < STEPS; i++)
        step(w);
}

static void world_done(struct world *w)
{
    mete_engine_free(w->engine);
    buf_done(&w->recording);
}

/* Compares the held slices. Free instances may have given way in one of the engines. */
static void check_same_slices(uint64_t seed, struct mete_engine *a, struct mete_engine *b,
                              const char *uuid)
{
    struct mete_slice_view x[12];
    struct mete_slice_view y[12];
    size_t n_x = mete_gpu_slices(a, uuid, x, COUNT(x));
    size_t n_y = mete_gpu_slices(b, uuid, y, COUNT(y));
    size_t k = 0;

    for (size_t i = 0; i < n_x; i++) {
        if (x[i].holder == 0)
            continue;
        while (k < n_y && y[k].holder == 0)
            k++;
        if (k == n_y || y[k].holder != x[i].holder || y[k].start != x[i].start ||
            strcmp(y[k].profile, x[i].profile) != 0)
            fail_msg("seed %llu: another slice of %s", (unsigned long long)seed, uuid);
        k++;
    }
    while (k < n_y)
        assert_int_equal(y[k++].holder, 0);
}

static void check_same_holders(uint64_t seed, struct mete_engine *a, struct mete_engine *b)
{
    for (size_t n = 0; n < NODES; n++)
        for (int i = 0; i < 8; i++) {
            char uuid[16];

            (void)snprintf(uuid, sizeof(uuid), "%s-%d", node_names[n], i);
            if (mete_gpu_holder(a, uuid) != mete_gpu_holder(b, uuid))
                fail_msg("seed %llu: another holder of %s", (unsigned long long)seed, uuid);
            check_same_slices(seed, a, b, uuid);
        }
    assert_int_equal(mete_queue_count(a), mete_queue_count(b));
    for (size_t i = 0; i < mete_queue_count(a); i++) {
        struct mete_queue_view x;
        struct mete_queue_view y;

        assert_int_equal(mete_queue_view(a, i, &x), METE_OK);
        assert_int_equal(mete_queue_view(b, i, &y), METE_OK);
        assert_string_equal(x.name, y.name);
        assert_int_equal(x.waiting, y.waiting);
        assert_int_equal(x.running, y.running);
    }
}

static void gives_the_same_decisions(void **state)
{
    const struct prop_seeds seeds = prop_seeds(200);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct recording_report r = {0};
        struct mete_engine *again = NULL;
        struct world w;

        run(&w, seed);
        assert_null(
            recording_play("r", (struct str){w.recording.at, w.recording.size}, &r, &again));
        if (r.differing > 0)
            fail_msg("seed %llu: line %llu: %s, then %s", (unsigned long long)seed,
                     (unsigned long long)r.first.line, r.first.now, r.first.then);
        check_same_holders(seed, w.engine, again);
        recording_report_done(&r);
        mete_engine_free(again);
        world_done(&w);
    }
}

static void fold(struct str text, struct buf *ret)
{
    AUTO(record_fold_freep) struct record_fold *f = record_fold_new();

    while (text.at) {
        struct str line = str_cut(&text, '\n');

        if (line.size > 0)
            assert_null(record_fold_line(f, line));
    }
    record_fold_format(f, ret);
}

static void folds_to_what_is_held(void **state)
{
    const struct prop_seeds seeds = prop_seeds(200);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct recording_report r = {0};
        struct mete_engine *again = NULL;
        AUTO(buf_done) struct buf folded = {0};
        AUTO(buf_done) struct buf twice = {0};
        struct world w;

        run(&w, seed);
        fold((struct str){w.recording.at, w.recording.size}, &folded);
        fold((struct str){folded.at, folded.size}, &twice);
        assert_string_equal(folded.at, twice.at);
        assert_null(recording_play("r", (struct str){folded.at, folded.size}, &r, &again));
        check_same_holders(seed, w.engine, again);
        if (mete_engine_check(again))
            fail_msg("seed %llu: %s", (unsigned long long)seed, mete_engine_check(again));
        recording_report_done(&r);
        mete_engine_free(again);
        world_done(&w);
    }
}

static void says_where_it_differs(void **state)
{
    static const char text[] =
        "# a comment\n"
        "engine policy=\"binpack\"\n"
        "node_set name=\"a\" gpus=[{uuid=\"G0\" model=\"t4\" is_healthy=1}] is_ready=1\n"
        "workload_add id=7 name=\"x/y\" pod_sets=[{count=1 gpus=1}]\n"
        "cycle now_ns=5\n"
        "decided placements=[{workload=7 pods=[{node=\"b\" gpus=[\"G0\"]}]}]\n"
        "cycle now_ns=6\n";
    struct recording_report r = {0};

    (void)state;
    assert_null(recording_play("r", STR(text), &r, NULL));
    assert_int_equal(r.calls, 5);
    assert_int_equal(r.cycles, 2);
    assert_int_equal(r.decisions, 1);
    assert_int_equal(r.differing, 1);
    assert_int_equal(r.first.line, 5);
    assert_string_equal(r.first.now,
                        "decided placements=[{workload=7 pods=[{node=\"a\" gpus=[\"G0\"]}]}]");
    assert_int_equal(r.first_ns, 5);
    assert_int_equal(r.last_ns, 6);
    recording_report_done(&r);
}

static void says_what_is_wrong(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "r: no recording: want the line 'engine' first"},
        {"cycle now_ns=1\n", "r:1: want the line 'engine' first"},
        {"engine policy=\"chess\"\n", "r:1: there is no policy 'chess'"},
        {"engine\nengine\n", "r:2: a second line 'engine'"},
        {"engine\nfly\n", "r:2: 'fly' is no call of the engine"},
        {"engine\ncycle now_ns=x\n",
         "r:2: cycle: now_ns: number 'x': want an integer from -9223372036854775808 to "
         "9223372036854775807"},
        {"engine\ncycle then_ns=1\n",
         "r:2: cycle: 'then_ns' at byte 6 is an unknown member, or out of order"},
        {"engine\ncycle cut_after=1 now_ns=1\n",
         "r:2: cycle: 'now_ns' at byte 18 is an unknown member, or out of order"},
        {"engine\nnode_remove name=\"a\n", "r:2: node_remove: name: want '\"' at byte 19"},
        {"engine\nnode_remove name=\"\\q\"\n",
         "r:2: node_remove: name: want \\\\, \\\" or \\xHH at byte 19"},
        {"engine\nnode_set gpus=[{}\n", "r:2: node_set: gpus: want ' ' at byte 17"},
        {"engine\nvalues_set values={idle=[1]}\n",
         "r:2: values_set: values: idle: idle has 1 numbers: want as many as 0 steps need"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct recording_report r = {0};
        AUTO(err_freep) struct err *e = recording_play("r", str_of(cases[i].text), &r, NULL);

        assert_string_equal(err_message(e), cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_same_decisions),
        cmocka_unit_test(folds_to_what_is_held),
        cmocka_unit_test(says_where_it_differs),
        cmocka_unit_test(says_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
