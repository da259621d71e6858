/*
 * test_engine_linked.c - pods whose gpus must be in one link group
 *
 * Small cases; then random nodes and jobs against a naive count. A failing seed is printed;
 * PROP_SEED=N replays it.
 */

#include "base/attr.h"
#include "base/err.h"
#include "engine/plan/backfill.h"
#include "engine/state.h"
#include "engine_build.h"
#include "prop.h"
#include "test.h"

enum {
    NODES = 4,
    JOBS = 24,
    STEPS = 60,
    GPUS = 8
};

static const struct mete_options no_reservations = {.reserve_depth = METE_RESERVE_NONE};

static const char *cycle(struct mete_engine *e)
{
    static char text[256];

    (void)cycle_text(e, 100, text, sizeof(text));
    assert_null(mete_engine_check(e));
    return text;
}

static void hold(struct mete_engine *e, uint64_t id, unsigned first, unsigned gpus)
{
    assert_int_equal(
        restore_job(
            e, (struct job_spec){.id = id, .gpus = gpus, .restored_on = "a", .restored_at = first},
            1),
        METE_OK);
}

static void all_gpus_are_of_one_group(void **state)
{
    struct mete_engine *e = mete_engine_new(&no_reservations);
    struct mete_reason r;

    (void)state;
    assert_int_equal(set_node(e, (struct node_spec){.name = "a", .gpus = 8}), METE_OK);
    hold(e, 1, 0, 2);
    hold(e, 2, 4, 3); /* free: 2 3 | 7 */
    assert_int_equal(add_job(e, (struct job_spec){.id = 11, .gpus = 3, .is_linked = true}),
                     METE_OK);
    assert_string_equal(cycle(e), "");
    assert_int_equal(mete_why(e, 11, 100 * SECOND, &r), METE_OK);
    assert_string_equal(r.message, "needs 3 linked gpus on one node; most free is 2 (a)");
    assert_string_equal(r.nodes[0].text, "1 short; job 2 holds 3, job 1 holds 2");
    assert_int_equal(r.n_would_start_if, 4);
    assert_string_equal(r.would_start_if[0], "it asks for 2 linked gpus, not 3 (on a)");
    assert_string_equal(r.would_start_if[1], "its gpus need not be linked (on a)");
    assert_string_equal(r.would_start_if[2], "job 2 ends");
    assert_int_equal(add_job(e, (struct job_spec){.id = 12, .gpus = 2, .is_linked = true}),
                     METE_OK);
    assert_string_equal(cycle(e), "12:a(2,3)");
    assert_int_equal(mete_workload_remove(e, 2), METE_OK);
    assert_string_equal(cycle(e), "11:a(4,5,6)");
    mete_engine_free(e);
}

static void more_than_a_group_has_never_fits(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);
    struct mete_reason r;

    (void)state;
    assert_int_equal(set_node(e, (struct node_spec){.name = "a", .gpus = 8}), METE_OK);
    assert_int_equal(set_node(e, (struct node_spec){.name = "b", .gpus = 8, .has_no_links = true}),
                     METE_OK);
    assert_int_equal(add_job(e, (struct job_spec){.id = 11, .gpus = 5, .is_linked = true}),
                     METE_OK);
    assert_string_equal(cycle(e), "");
    assert_int_equal(mete_why(e, 11, 100 * SECOND, &r), METE_OK);
    assert_int_equal(r.code, METE_REASON_NEVER_FITS);
    assert_string_equal(r.message, "needs 5 linked gpus on one node; the largest has 4 (a)");
    assert_int_equal(
        add_job(e, (struct job_spec){.id = 12, .gpus = 1, .is_linked = true, .node = "b"}),
        METE_OK); /* a single gpu always is linked */
    assert_string_equal(cycle(e), "12:b(0)");
    mete_engine_free(e);
}

static void parts_of_gpus_are_not_linked(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);

    (void)state;
    assert_int_equal(
        add_job(e, (struct job_spec){.id = 1, .gpus = 2, .milli = 500, .is_linked = true}),
        METE_INVALID);
    assert_string_equal(mete_last_error(e), "only whole gpus of one kind can be linked");
    mete_engine_free(e);
}

/* A node with link groups of gpus 0 to 3 and 4 to 7, and two held gpus in each. */
static struct mete_engine *two_halves(const struct mete_moves *moves, int64_t first_limit_s,
                                      int64_t second_limit_s)
{
    struct mete_engine *e = mete_engine_new(NULL);

    assert_int_equal(mete_queue_set(e, &(struct mete_queue){.name = "default"}), METE_OK);
    assert_int_equal(mete_moves_set(e, moves), METE_OK);
    assert_int_equal(set_node(e, (struct node_spec){.name = "a", .gpus = 8}), METE_OK);
    for (uint64_t id = 1; id <= 2; id++)
        assert_int_equal(
            restore_job(e,
                        (struct job_spec){.id = id,
                                          .gpus = 2,
                                          .restored_on = "a",
                                          .restored_at = id == 1 ? 0 : 4,
                                          .is_preemptible = true,
                                          .limit_s = id == 1 ? first_limit_s : second_limit_s},
                        1),
            METE_OK);
    return e;
}

static void room_is_kept_in_the_group_that_is_free_first(void **state)
{
    struct mete_engine *e = two_halves(&(struct mete_moves){0}, 500, 300);
    const struct workload *w;

    (void)state;
    assert_int_equal(add_job(e, (struct job_spec){.id = 11, .gpus = 4, .is_linked = true}),
                     METE_OK);
    assert_int_equal(add_job(e, (struct job_spec){.id = 12, .gpus = 1, .limit_s = 200}), METE_OK);
    assert_int_equal(add_job(e, (struct job_spec){.id = 13, .gpus = 2}), METE_OK);
    assert_int_equal(add_job(e, (struct job_spec){.id = 14, .gpus = 1}), METE_OK);
    assert_string_equal(cycle(e), "12:a(2) 14:a(3)"); /* job 13 would be in the way */
    w = engine_workload(e, 11);
    assert_int_equal(backfill_of(e, w)->start_ns, 301 * SECOND);
    assert_int_equal(backfill_of(e, w)->nodes[0].gpus, 0xf0);
    assert_int_equal(mete_workload_remove(e, 2), METE_OK);
    assert_string_equal(cycle(e), "11:a(4,5,6,7)");
    mete_engine_free(e);
}

static void others_move_out_of_a_group(void **state)
{
    struct mete_engine *e = two_halves(&(struct mete_moves){.horizon_ns = 3600 * SECOND}, 0, 0);

    (void)state;
    assert_int_equal(add_job(e, (struct job_spec){.id = 11, .gpus = 4, .is_linked = true}),
                     METE_OK);
    assert_string_equal(cycle(e), "1 for 11");
    assert_int_equal(mete_workload_unplace(e, 1), METE_OK);
    assert_string_equal(cycle(e), "11:a(0,1,2,3) 1:a(6,7)");
    mete_engine_free(e);
}

/* --- against a naive count --- */

struct model {
    struct mete_engine *engine;
    struct prop prop;
    uint64_t seed;
    int links[NODES][GPUS]; /* the group of each gpu; -1 */
    unsigned held[NODES];
    struct job_spec jobs[JOBS + 1];
    bool is_there[JOBS + 1];
    int node[JOBS + 1]; /* -1: the job waits */
    unsigned gpus[JOBS + 1];
};

static const char *const names[NODES] = {"n0", "n1", "n2", "n3"};

static void add_random_node(struct model *m, int node)
{
    const struct mete_amount capacity[] = {{"cpu", 64000}, {"pods", 16}};
    struct mete_gpu gpus[GPUS];
    char uuids[GPUS][16];
    int size = 1 << prop_below(&m->prop, 4);

    for (int i = 0; i < GPUS; i++) {
        m->links[node][i] = prop_chance(&m->prop, 15) ? -1 : i / size;
        (void)snprintf(uuids[i], sizeof(uuids[i]), "%s-%d", names[node], i);
        gpus[i] = (struct mete_gpu){.uuid = uuids[i],
                                    .model = i < 4 ? "h100" : "a100",
                                    .numa_node = i / 4,
                                    .link_group = m->links[node][i],
                                    .is_healthy = true};
    }
    CHECK(m, mete_node_set(m->engine, &(struct mete_node){.name = names[node],
                                                          .capacity = capacity,
                                                          .n_capacity = 2,
                                                          .gpus = gpus,
                                                          .n_gpus = GPUS,
                                                          .is_ready = true}) == METE_OK);
}

/* The most of these gpus in one link group. */
static unsigned most_linked(const struct model *m, int node, unsigned gpus)
{
    unsigned most = 0;

    for (int group = 0; group < GPUS; group++) {
        unsigned here = 0;

        for (int i = 0; i < GPUS; i++)
            here += (gpus >> i & 1) && m->links[node][i] == group;
        most = here > most ? here : most;
    }
    return most;
}

static bool naive_fits(const struct model *m, const struct job_spec *job)
{
    for (int node = 0; node < NODES; node++) {
        unsigned kind = !job->model ? 0xff : job->model[0] == 'h' ? 0x0f : 0xf0;
        unsigned free = kind & ~m->held[node];
        bool is_linked = job->is_linked && job->gpus > 1;

        if ((is_linked ? most_linked(m, node, free) : (unsigned)__builtin_popcount(free)) >=
            job->gpus)
            return true;
    }
    return false;
}

static void note_placed(struct model *m, const struct mete_placement *p)
{
    uint64_t id = p->workload;
    const struct job_spec *job = &m->jobs[id];

    m->node[id] = p->pods[0].node[1] - '0';
    m->gpus[id] = 0;
    for (size_t i = 0; i < p->pods[0].n_gpus; i++)
        m->gpus[id] |= 1U << (strrchr(p->pods[0].gpus[i], '-')[1] - '0');
    CHECK(m, (unsigned)__builtin_popcount(m->gpus[id]) == job->gpus);
    CHECK(m, (m->held[m->node[id]] & m->gpus[id]) == 0);
    if (job->is_linked && job->gpus > 1)
        CHECK(m, most_linked(m, m->node[id], m->gpus[id]) == job->gpus);
    m->held[m->node[id]] |= m->gpus[id];
}

static void step(struct model *m)
{
    uint64_t id = 1 + prop_below(&m->prop, JOBS);
    static const char *const models[] = {NULL, NULL, "h100", "a100"};
    struct mete_decisions d;

    if (m->is_there[id]) {
        CHECK(m, mete_workload_remove(m->engine, id) == METE_OK);
        if (m->node[id] >= 0)
            m->held[m->node[id]] &= ~m->gpus[id];
        m->is_there[id] = false;
    } else {
        m->jobs[id] = (struct job_spec){.id = id,
                                        .gpus = 1 + (uint32_t)prop_below(&m->prop, 6),
                                        .model = models[prop_below(&m->prop, 4)],
                                        .is_linked = prop_chance(&m->prop, 60)};
        CHECK(m, add_job(m->engine, m->jobs[id]) == METE_OK);
        m->is_there[id] = true;
        m->node[id] = -1;
    }
    mete_cycle(m->engine, SECOND, 0, &d);
    for (size_t i = 0; i < d.n_placements; i++)
        note_placed(m, &d.placements[i]);
    if (mete_engine_check(m->engine))
        fail_msg("seed %llu: %s", (unsigned long long)m->seed, mete_engine_check(m->engine));
    for (id = 1; id <= JOBS; id++)
        CHECK(m, !m->is_there[id] || m->node[id] >= 0 || !naive_fits(m, &m->jobs[id]));
}

static void finds_linked_gpus_wherever_there_are_some(void **state)
{
    static const char *const policies[] = {"binpack", "spread", "fgd", "random", "bestfit"};
    struct prop_seeds seeds = prop_seeds(1000);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        const struct mete_options options = {.policy = policies[seed % 5],
                                             .reserve_depth = METE_RESERVE_NONE};
        struct model m = {.prop = {seed}, .seed = seed};

        m.engine = mete_engine_new(&options);
        for (int i = 0; i < NODES; i++)
            add_random_node(&m, i);
        for (int i = 0; i < STEPS; i++)
            step(&m);
        mete_engine_free(m.engine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_gpus_are_of_one_group),
        cmocka_unit_test(more_than_a_group_has_never_fits),
        cmocka_unit_test(parts_of_gpus_are_not_linked),
        cmocka_unit_test(room_is_kept_in_the_group_that_is_free_first),
        cmocka_unit_test(others_move_out_of_a_group),
        cmocka_unit_test(finds_linked_gpus_wherever_there_are_some),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
