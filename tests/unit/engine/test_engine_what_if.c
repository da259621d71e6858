/*
 * test_engine_what_if.c - what-if questions, also against the real change
 *
 * Small cases; then random clusters, on which the test makes each change after the question. A
 * failing seed is printed; PROP_SEED=N replays it.
 */

#include "base/attr.h"
#include "base/err.h"
#include "engine/state.h"
#include "engine_build.h"
#include "prop.h"
#include "test.h"

enum {
    NODES = 4,
    GPUS = 4,
    JOBS = 30,
};

static const char *const node_names[NODES] = {"n0", "n1", "n2", "n3"};

/* "2 3 | 1": jobs that start, then displaced jobs; in brackets those that can start elsewhere. */
static const char *text_of(const struct mete_what_if *w, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < w->n_started && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%u", i > 0 ? " " : "",
                                 (unsigned)w->started[i]);
    for (size_t i = 0; i < w->n_displaced && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, i < w->n_restarted ? "%s(%u)" : "%s%u",
                                 i > 0 ? " " : " | ", (unsigned)w->displaced[i]);
    return text;
}

static void says_who_would_start(void **state)
{
    const struct mete_amount capacity[] = {{"cpu", 64000}, {"pods", 16}};
    const struct mete_gpu gpu = {.uuid = "x", .model = "h100", .is_healthy = true};
    const struct mete_node like = {.name = "n0",
                                   .capacity = capacity,
                                   .n_capacity = 2,
                                   .gpus = &gpu,
                                   .n_gpus = 1,
                                   .is_ready = true};
    const struct {
        struct mete_change change[2];
        size_t n;
        const char *text;
    } cases[] = {
        {{{0}}, 0, ""},
        {{{.kind = METE_CHANGE_END, .workload = 1}}, 1, "3"},
        {{{.kind = METE_CHANGE_END, .workload = 1}, {.kind = METE_CHANGE_END, .workload = 2}},
         2,
         "3 4"},
        {{{.kind = METE_CHANGE_END, .workload = 3}}, 1, ""}, /* job 4 has its turn before job 5 */
        {{{.kind = METE_CHANGE_RESUME, .node = "n2"}}, 1, "3 4 5"},
        {{{.kind = METE_CHANGE_ADD, .like = &like, .count = 2}}, 1, ""}, /* no node has four gpus */
        {{{.kind = METE_CHANGE_DRAIN, .node = "n0"}}, 1, " | 1"},
        {{{.kind = METE_CHANGE_DRAIN, .node = "n0"}, {.kind = METE_CHANGE_RESUME, .node = "n2"}},
         2,
         "3 | (1)"},
    };
    struct mete_engine *e = mete_engine_new(NULL);
    struct mete_what_if w;
    uint64_t before;
    char text[256];

    (void)state;
    (void)set_node(e, (struct node_spec){.name = "n0", .gpus = 4});
    (void)set_node(e, (struct node_spec){.name = "n1", .gpus = 4});
    (void)set_node(e, (struct node_spec){.name = "n2", .gpus = 8, .is_cordoned = true});
    (void)add_job(e, (struct job_spec){.id = 1, .gpus = 4});
    (void)add_job(e, (struct job_spec){.id = 2, .gpus = 3});
    (void)add_job(e, (struct job_spec){.id = 3, .gpus = 4});
    (void)add_job(e, (struct job_spec){.id = 4, .gpus = 4});
    (void)add_job(e, (struct job_spec){.id = 5, .gpus = 1});
    assert_string_equal(cycle_text(e, 10, text, sizeof(text)), "1:n0(0,1,2,3) 2:n1(0,1,2)");
    before = engine_hash(e);
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(mete_what_if(e, cases[i].change, cases[i].n, 11 * SECOND, &w), METE_OK);
        assert_string_equal(text_of(&w, text, sizeof(text)), cases[i].text);
        assert_int_equal(engine_hash(e), before);
        assert_null(mete_engine_check(e));
    }
    mete_engine_free(e);
}

static void refuses_what_is_not_there(void **state)
{
    const struct mete_change cases[] = {
        {.kind = METE_CHANGE_END, .workload = 9},
        {.kind = METE_CHANGE_DRAIN, .node = "nowhere"},
        {.kind = METE_CHANGE_RESUME},
        {.kind = METE_CHANGE_ADD, .count = 1},
        {.kind = (enum mete_change_kind)17},
    };
    struct mete_engine *e = mete_engine_new(NULL);
    struct mete_what_if w;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_not_equal(mete_what_if(e, &cases[i], 1, 0, &w), METE_OK);
        assert_true(strlen(mete_last_error(e)) > 0);
    }
    mete_engine_free(e);
}

struct world {
    struct mete_engine *engine;
    struct prop prop;
    uint64_t seed;
    int64_t now_s;
    bool is_there[JOBS + 1];
    bool is_placed[JOBS + 1];
    bool is_cordoned[NODES];
    bool is_exact; /* no job has a claim, which a change could move */
};

static void put_node(struct world *w, int i)
{
    CHECK(w, set_node(w->engine, (struct node_spec){.name = node_names[i],
                                                    .gpus = GPUS,
                                                    .is_cordoned = w->is_cordoned[i]}) == METE_OK);
}

static void run_cycle(struct world *w, bool *started)
{
    struct mete_decisions d;

    w->now_s++;
    mete_cycle(w->engine, w->now_s * SECOND, 0, &d);
    for (size_t i = 0; i < d.n_placements; i++) {
        w->is_placed[d.placements[i].workload] = true;
        started[d.placements[i].workload] = true;
    }
}

static void remove_job(struct world *w, uint64_t id)
{
    CHECK(w, mete_workload_remove(w->engine, id) == METE_OK);
    w->is_there[id] = w->is_placed[id] = false;
}

static void step(struct world *w)
{
    uint64_t id = 1 + prop_below(&w->prop, JOBS);

    if (w->is_placed[id]) {
        remove_job(w, id);
    } else if (!w->is_there[id]) {
        CHECK(w, add_job(w->engine, (struct job_spec){
                                        .id = id,
                                        .gpus = (uint32_t)prop_below(&w->prop, 5),
                                        .pods = prop_chance(&w->prop, 20) ? 2 : 0,
                                        .priority = (int32_t)prop_below(&w->prop, 2),
                                        .submit_s = w->now_s,
                                        .queue = prop_chance(&w->prop, 50) ? "a" : "b",
                                        .limit_s = prop_chance(&w->prop, 30) ? 30 : 0,
                                    }) == METE_OK);
        w->is_there[id] = true;
    }
}

/* Chooses a change that the test can make afterwards. */
static struct mete_change choose(struct world *w)
{
    uint64_t id = 1 + prop_below(&w->prop, JOBS);
    int node = (int)prop_below(&w->prop, NODES);

    if (w->is_there[id] && prop_chance(&w->prop, 70))
        return (struct mete_change){.kind = METE_CHANGE_END, .workload = id};
    return (struct mete_change){.kind = METE_CHANGE_RESUME, .node = node_names[node]};
}

static void make(struct world *w, const struct mete_change *c)
{
    for (int i = 0; c->kind == METE_CHANGE_RESUME && i < NODES; i++)
        if (strcmp(c->node, node_names[i]) == 0) {
            w->is_cordoned[i] = false;
            put_node(w, i);
        }
    if (c->kind == METE_CHANGE_END && w->is_there[c->workload])
        remove_job(w, c->workload);
}

static void ask_and_try(struct world *w)
{
    uint64_t before = engine_hash(w->engine);
    const struct mete_change changes[2] = {choose(w), choose(w)};
    bool would[JOBS + 1] = {false};
    bool started[JOBS + 1] = {false};
    struct mete_what_if ret;

    CHECK(w, mete_what_if(w->engine, changes, 2, (w->now_s + 1) * SECOND, &ret) == METE_OK);
    for (size_t i = 0; i < ret.n_started; i++)
        would[ret.started[i]] = true;
    CHECK(w, engine_hash(w->engine) == before);
    CHECK(w, mete_engine_check(w->engine) == NULL);
    make(w, &changes[0]);
    make(w, &changes[1]);
    run_cycle(w, started);
    for (uint64_t id = 1; id <= JOBS && w->is_exact; id++)
        CHECK(w, !would[id] || started[id]);
}

static void run_seed(uint64_t seed)
{
    const struct mete_options options = {.reserve_depth = seed % 3 == 0 ? METE_RESERVE_NONE
                                                                        : (uint32_t)(seed % 3)};
    const struct mete_quota quota = {"gpu", 4000, 6000, METE_UNLIMITED};
    struct world w = {
        .seed = seed, .prop = {seed}, .now_s = 100, .is_exact = options.reserve_depth != 2};
    bool started[JOBS + 1];

    w.engine = mete_engine_new(&options);
    CHECK(&w, mete_queue_set(w.engine,
                             &(struct mete_queue){.name = "a", .quotas = &quota, .n_quotas = 1}) ==
                  METE_OK);
    CHECK(&w, mete_queue_set(w.engine, &(struct mete_queue){.name = "b"}) == METE_OK);
    for (int i = 0; i < NODES; i++) {
        w.is_cordoned[i] = prop_chance(&w.prop, 30);
        put_node(&w, i);
    }
    for (int i = 0; i < 30; i++) {
        for (size_t k = prop_below(&w.prop, 6); k > 0; k--)
            step(&w);
        run_cycle(&w, started);
        ask_and_try(&w);
    }
    mete_engine_free(w.engine);
}

static void those_listed_do_start(void **state)
{
    struct prop_seeds seeds = prop_seeds(1000);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        run_seed(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_who_would_start),
        cmocka_unit_test(refuses_what_is_not_there),
        cmocka_unit_test(those_listed_do_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
