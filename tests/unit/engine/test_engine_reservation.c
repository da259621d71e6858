/* test_engine_reservation.c - advance reservations and maintenance windows */

#include "engine/state.h"
#include "engine_one.h"
#include "prop.h"

/* A reservation for user "bob", or a maintenance window. */
struct spec {
    const char *name;
    int64_t from_s;
    int64_t to_s;
    const char *node; /* NULL: picked gpus */
    uint32_t gpus;
    const char *user;  /* NULL: "bob" */
    const char *queue; /* in place of a user */
    const char *model;
    bool is_maintenance;
};

static enum mete_result backfill(struct mete_engine *e, struct spec s)
{
    const char *user = s.user ? s.user : "bob";

    return mete_reservation_set(e, &(struct mete_reservation){
                                       .name = s.name,
                                       .start_ns = s.from_s * SECOND,
                                       .end_ns = s.to_s * SECOND,
                                       .nodes = &s.node,
                                       .n_nodes = s.node ? 1 : 0,
                                       .gpus = s.gpus,
                                       .gpu_models = &s.model,
                                       .n_gpu_models = s.model ? 1 : 0,
                                       .users = &user,
                                       .n_users = s.is_maintenance || s.queue ? 0 : 1,
                                       .queues = &s.queue,
                                       .n_queues = s.queue ? 1 : 0,
                                       .is_maintenance = s.is_maintenance,
                                   });
}

#define RESERVE(...) OK(backfill(engine, (struct spec){__VA_ARGS__}))

static const char *why(uint64_t id, int64_t now_s)
{
    struct mete_reason r = {0};

    OK(mete_why(engine, id, now_s * SECOND, &r));
    (void)snprintf(text, sizeof(text), "%s: %s", r.code_text, r.message);
    for (size_t i = 0; i < r.n_would_start_if; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), " | %s",
                       r.would_start_if[i]);
    return text;
}

static void lets_nobody_else_in_who_could_still_run_at_its_start(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    RESERVE(.name = "night", .from_s = 1000, .to_s = 2000, .node = "a");
    JOB(.id = 1, .gpus = 1);
    JOB(.id = 2, .gpus = 1, .limit_s = 991);
    JOB(.id = 3, .gpus = 1, .limit_s = 990);
    JOB(.id = 4, .gpus = 0);
    JOB(.id = 5, .gpus = 1, .user = "bob");
    CYCLE(10, "3:a(0) 5:a(1)");
    assert_string_equal(
        why(1, 10),
        "Reserved: needs 1 gpu; a is reserved from 1970-01-01T00:16:40Z to 1970-01-01T00:33:20Z "
        "(night); the job might still run then | its time limit is at most 16m");
    END(3);
    CYCLE(999, "");
    CYCLE(1000, "");
    assert_string_equal(why(2, 1000), "Reserved: needs 1 gpu; a is reserved until "
                                      "1970-01-01T00:33:20Z (night)");
    JOB(.id = 6, .gpus = 2, .user = "bob");
    CYCLE(1500, "6:a(2,3)");
    CYCLE(1999, "");
    CYCLE(2000, "1:a(0) 2:a(4) 4:a");
    assert_int_equal(mete_reservation_count(engine), 0);
}

static void keeps_everybody_out_for_maintenance(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    NODE(.name = "b", .gpus = 8);
    RESERVE(.name = "fans", .from_s = 100, .to_s = 200, .node = "a", .is_maintenance = true);
    JOB(.id = 1, .gpus = 8, .node = "a", .user = "bob");
    JOB(.id = 2, .gpus = 8, .limit_s = 90);
    JOB(.id = 3, .gpus = 8, .limit_s = 90);
    CYCLE(10, "2:a(0,1,2,3,4,5,6,7) 3:b(0,1,2,3,4,5,6,7)");
    END(2);
    CYCLE(150, "");
    assert_string_equal(why(1, 150), "Reserved: needs 8 gpus; a is in maintenance until "
                                     "1970-01-01T00:03:20Z (fans)");
    OK(mete_reservation_remove(engine, "fans"));
    CYCLE(150, "1:a(0,1,2,3,4,5,6,7)");
    assert_int_equal(mete_reservation_remove(engine, "fans"), METE_NOT_FOUND);
    assert_string_equal(mete_last_error(engine), "there is no reservation 'fans'");
}

static void picks_gpus_that_are_free_by_then_on_few_nodes(void **state)
{
    struct mete_reservation_view v;

    (void)state;
    NODE(.name = "a", .gpus = 8);
    NODE(.name = "b", .gpus = 4);
    NODE(.name = "c", .gpus = 8);
    JOB(.id = 1, .gpus = 4, .node = "a", .limit_s = 2000);
    JOB(.id = 2, .gpus = 4, .node = "c", .limit_s = 100);
    CYCLE(10, "1:a(0,1,2,3) 2:c(0,1,2,3)");
    RESERVE(.name = "demo", .from_s = 1000, .to_s = 2000, .gpus = 10);
    OK(mete_reservation_view(engine, 0, &v));
    assert_int_equal(v.gpus_kept, 10);
    assert_int_equal(v.gpus_late, 0);
    assert_int_equal(v.n_nodes, 2);
    assert_string_equal(v.nodes[0], "c");
    assert_string_equal(v.nodes[1], "a");
    RESERVE(.name = "more", .from_s = 1000, .to_s = 2000, .gpus = 8, .user = "cat");
    OK(mete_reservation_view(engine, 1, &v));
    assert_int_equal(v.gpus_kept, 8); /* the free gpus of a, all of b, and two that may be late */
    assert_int_equal(v.gpus_late, 2);
    JOB(.id = 3, .gpus = 1, .node = "b");
    JOB(.id = 4, .gpus = 1, .node = "c");
    CYCLE(11, ""); /* "more" keeps job 3 out, "demo" job 4 */
    RESERVE(.name = "demo", .from_s = 1000, .to_s = 2000, .gpus = 2);
    CYCLE(12, "4:c(4)");
    OK(mete_reservation_remove(engine, "more"));
    OK(mete_reservation_remove(engine, "demo"));
}

static void picks_again_when_a_gpu_is_lost(void **state)
{
    struct mete_reservation_view v;

    (void)state;
    NODE(.name = "a", .gpus = 4);
    RESERVE(.name = "demo", .from_s = 1000, .to_s = 2000, .gpus = 2);
    OK(mete_reservation_view(engine, 0, &v));
    assert_int_equal(v.n_gpu_uuids, 2);
    assert_string_equal(v.gpu_uuids[0], "a-0");
    NODE(.name = "a", .gpus = 4, .sick = 1);
    OK(mete_reservation_view(engine, 0, &v));
    assert_int_equal(v.gpus_kept, 2);
    assert_string_equal(v.gpu_uuids[0], "a-1");
    OK(mete_node_remove(engine, "a"));
    OK(mete_reservation_view(engine, 0, &v));
    assert_int_equal(v.gpus_kept, 0);
    NODE(.name = "b", .gpus = 1);
    OK(mete_reservation_view(engine, 0, &v));
    assert_int_equal(v.gpus_kept, 1);
    assert_string_equal(v.gpu_uuids[0], "b-0");
}

static void runs_those_who_name_it_in_it_alone(void **state)
{
    (void)state;
    NODE(.name = "a", .gpus = 8);
    NODE(.name = "b", .gpus = 8);
    JOB(.id = 1, .gpus = 1, .user = "bob", .reservation = "demo");
    JOB(.id = 2, .gpus = 1, .user = "ann", .reservation = "demo");
    JOB(.id = 3, .gpus = 1, .user = "bob", .reservation = "demo", .limit_s = 1000);
    JOB(.id = 4, .gpus = 5, .user = "bob", .reservation = "demo");
    CYCLE(10, "");
    assert_string_equal(why(1, 10),
                        "Reserved: waits for the reservation demo, which does not exist");
    RESERVE(.name = "demo", .from_s = 100, .to_s = 900, .gpus = 4);
    CYCLE(11, "");
    assert_string_equal(why(1, 11), "Reserved: waits for the reservation demo, which begins at "
                                    "1970-01-01T00:01:40Z");
    assert_string_equal(why(2, 11), "Reserved: the reservation demo is not for its queue or user");
    CYCLE(100, "1:a(0)");
    assert_string_equal(why(3, 100), "Reserved: the reservation demo ends at 1970-01-01T00:15:00Z, "
                                     "before its time limit would");
    assert_string_equal(why(4, 100), "NoNodeFits: needs 5 gpus on one node; most free is 3 (a) | "
                                     "it asks for 3 gpus, not 5 (on a)");
    JOB(.id = 5, .gpus = 8, .priority = -1);
    JOB(.id = 6, .gpus = 4, .priority = 1);
    CYCLE(101, "6:a(4,5,6,7) 5:b(0,1,2,3,4,5,6,7)"); /* beside the reservation on the node */
}

static void says_what_is_wrong(void **state)
{
    static const struct {
        struct spec spec;
        enum mete_result result;
        const char *message;
    } cases[] = {
        {{.name = "", .to_s = 1, .gpus = 1},
         METE_INVALID,
         "a reservation has no name, or one over 1024 bytes"},
        {{.name = "x", .from_s = 5, .to_s = 5, .gpus = 1},
         METE_INVALID,
         "reservation 'x': the end is not after the start"},
        {{.name = "x", .to_s = 5},
         METE_INVALID,
         "reservation 'x': needs nodes, or a number of gpus"},
        {{.name = "x", .to_s = 5, .gpus = 1, .node = "a"},
         METE_INVALID,
         "reservation 'x': needs nodes, or a number of gpus"},
        {{.name = "x", .to_s = 5, .model = "t4", .node = "a"},
         METE_INVALID,
         "reservation 'x': models go with a number of gpus, not with nodes"},
        {{.name = "x", .to_s = 5, .node = ""}, METE_INVALID, "reservation 'x': node 0 has no name"},
        {{.name = "x", .to_s = 5, .gpus = 1, .queue = "q", .is_maintenance = true},
         METE_INVALID,
         "reservation 'x': a maintenance window has no queues and no users"},
        {{.name = "x", .from_s = 10, .to_s = 15, .node = "a"},
         METE_CONFLICT,
         "reservation 'x': node 'a' is in reservation 'old' at that time"},
    };

    (void)state;
    NODE(.name = "a", .gpus = 8);
    RESERVE(.name = "old", .from_s = 10, .to_s = 20, .gpus = 1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(backfill(engine, cases[i].spec), cases[i].result);
        assert_string_equal(mete_last_error(engine), cases[i].message);
    }
    RESERVE(.name = "x", .from_s = 20, .to_s = 25, .node = "a");
    RESERVE(.name = "y", .from_s = 10, .to_s = 15, .node = "a", .is_maintenance = true);
    assert_int_equal(mete_reservation_count(engine), 3);
}

static void evicts_nobody_for_who_may_not_stay(void **state)
{
    const struct mete_quota quota = {"gpu", 8000, 8000, METE_UNLIMITED};

    (void)state;
    OK(mete_queue_set(engine, &(struct mete_queue){.name = "low",
                                                   .quotas = &quota,
                                                   .n_quotas = 1,
                                                   .within = METE_PREEMPT_LOWER_PRIORITY}));
    NODE(.name = "a", .gpus = 8);
    JOB(.id = 1, .gpus = 8, .queue = "low", .is_preemptible = true);
    CYCLE(10, "1:a(0,1,2,3,4,5,6,7)");
    RESERVE(.name = "fans", .from_s = 100, .to_s = 200, .node = "a", .is_maintenance = true);
    JOB(.id = 2, .gpus = 8, .queue = "low", .priority = 5);
    CYCLE(11, "");
    OK(mete_reservation_remove(engine, "fans"));
    CYCLE(12, "1 for 2");
}

/* Random reservations and jobs, against a naive model of each job's allowed gpus. */
enum {
    JOBS = 40,
    RESERVATIONS = 4,
    NODES = 4,
    GPUS = 4,
};

struct prop_job {
    struct job_spec spec;
    bool is_there;
    bool is_placed;
};

struct prop_reservation {
    struct spec spec;
    bool is_there;
    unsigned gpus[NODES]; /* bits */
};

struct prop_world {
    struct mete_engine *engine;
    struct prop prop;
    uint64_t seed;
    int64_t now_s;
    struct prop_job jobs[JOBS + 1];
    struct prop_reservation reservations[RESERVATIONS];
};

static const char *const node_names[NODES] = {"n0", "n1", "n2", "n3"};
static const char *const reservation_names[RESERVATIONS] = {"b0", "b1", "b2", "b3"};
static const char *const users[] = {"ann", "bob", "cat"};

/* Reads the gpus of each reservation. Picks move only when gpus are lost, which never happens
 * here. */
static void read_reservations(struct prop_world *w)
{
    for (size_t i = 0; i < mete_reservation_count(w->engine); i++) {
        struct mete_reservation_view v;
        struct prop_reservation *b;

        OK(mete_reservation_view(w->engine, i, &v));
        b = &w->reservations[v.name[1] - '0'];
        memset(b->gpus, 0, sizeof(b->gpus));
        for (size_t k = 0; k < v.n_nodes && b->spec.node; k++)
            b->gpus[v.nodes[k][1] - '0'] = (1u << GPUS) - 1;
        for (size_t k = 0; k < v.n_gpu_uuids; k++)
            b->gpus[v.gpu_uuids[k][1] - '0'] |= 1u << (v.gpu_uuids[k][3] - '0');
    }
}

static bool is_entitled(const struct prop_reservation *b, const struct job_spec *job)
{
    return !b->spec.is_maintenance && strcmp(b->spec.user, job->user) == 0;
}

static void check_pod(struct prop_world *w, const struct job_spec *job,
                      const struct mete_pod_placement *p)
{
    int64_t end_s = job->limit_s ? w->now_s + job->limit_s : INT64_MAX;
    int node = p->node[1] - '0';
    unsigned gpus = 0;

    for (size_t i = 0; i < p->n_gpus; i++)
        gpus |= 1u << (p->gpus[i][3] - '0');
    for (int i = 0; i < RESERVATIONS; i++) {
        const struct prop_reservation *b = &w->reservations[i];
        bool is_named = job->reservation && strcmp(job->reservation, reservation_names[i]) == 0;

        if (is_named &&
            !(b->is_there && is_entitled(b, job) && w->now_s >= b->spec.from_s &&
              (job->limit_s == 0 || end_s <= b->spec.to_s) && (gpus & ~b->gpus[node]) == 0))
            fail_msg("seed %llu: job %llu is outside of %s", (unsigned long long)w->seed,
                     (unsigned long long)job->id, reservation_names[i]);
        if (!b->is_there || is_entitled(b, job) || w->now_s >= b->spec.to_s ||
            end_s <= b->spec.from_s)
            continue;
        if ((gpus & b->gpus[node]) || (b->spec.node && b->gpus[node]))
            fail_msg("seed %llu: job %llu overlaps %s", (unsigned long long)w->seed,
                     (unsigned long long)job->id, reservation_names[i]);
    }
}

static void run_cycle(struct prop_world *w, int64_t later_s)
{
    struct mete_decisions d;

    w->now_s += later_s;
    mete_cycle(w->engine, w->now_s * SECOND, 0, &d);
    for (int i = 0; i < RESERVATIONS; i++)
        w->reservations[i].is_there =
            w->reservations[i].is_there && w->reservations[i].spec.to_s > w->now_s;
    for (size_t i = 0; i < d.n_placements; i++) {
        struct prop_job *job = &w->jobs[d.placements[i].workload];

        job->is_placed = true;
        for (size_t k = 0; k < d.placements[i].n_pods; k++)
            check_pod(w, &job->spec, &d.placements[i].pods[k]);
    }
}

/* No job waits while a gpu is free that no reservation keeps from it. */
static void check_first(struct prop_world *w)
{
    for (uint64_t id = 1; id <= JOBS; id++) {
        struct prop_job *job = &w->jobs[id];
        struct mete_reason r;

        if (!job->is_there || job->is_placed)
            continue;
        OK(mete_why(w->engine, id, w->now_s * SECOND, &r));
        if (r.code == METE_REASON_NONE || r.code == METE_REASON_NOT_YET_EVALUATED)
            fail_msg("seed %llu: job %llu waits though it fits", (unsigned long long)w->seed,
                     (unsigned long long)id);
    }
}

static void put_reservation(struct prop_world *w, int i)
{
    struct prop_reservation *b = &w->reservations[i];
    enum mete_result result;
    struct spec s = {
        .name = reservation_names[i],
        .from_s = w->now_s + (int64_t)prop_below(&w->prop, 60),
        .user = users[prop_below(&w->prop, 3)],
        .is_maintenance = prop_chance(&w->prop, 30),
    };

    if (b->is_there && prop_chance(&w->prop, 50)) {
        OK(mete_reservation_remove(w->engine, s.name));
        b->is_there = false;
        return;
    }
    s.to_s = s.from_s + 1 + (int64_t)prop_below(&w->prop, 60);
    if (prop_chance(&w->prop, 50))
        s.node = node_names[prop_below(&w->prop, NODES)];
    else
        s.gpus = 1 + (uint32_t)prop_below(&w->prop, 6);
    result = backfill(w->engine, s);
    assert_true(result == METE_OK || result == METE_CONFLICT);
    if (result == METE_OK)
        *b = (struct prop_reservation){.spec = s, .is_there = true};
}

static void put_job(struct prop_world *w, uint64_t id)
{
    struct prop_job *job = &w->jobs[id];

    if (job->is_there) {
        OK(mete_workload_remove(w->engine, id));
        *job = (struct prop_job){0};
        return;
    }
    *job = (struct prop_job){
        .is_there = true,
        .spec = {.id = id,
                 .gpus = (uint32_t)prop_below(&w->prop, 4),
                 .milli = prop_chance(&w->prop, 20) ? 250 : 0,
                 .pods = 1 + (uint32_t)prop_below(&w->prop, 2),
                 .limit_s = prop_chance(&w->prop, 70) ? 1 + (int64_t)prop_below(&w->prop, 50) : 0,
                 .priority = (int32_t)prop_below(&w->prop, 3),
                 .user = users[prop_below(&w->prop, 3)],
                 .reservation = prop_chance(&w->prop, 20)
                                    ? reservation_names[prop_below(&w->prop, RESERVATIONS)]
                                    : NULL},
    };
    OK(add_job(w->engine, job->spec));
}

static void run_seed(uint64_t seed)
{
    struct prop_world w = {.seed = seed, .prop = {seed}, .now_s = 100};

    w.engine =
        mete_engine_new(&(struct mete_options){.reserve_depth = seed % 2 ? METE_RESERVE_ALL : 1});
    for (int i = 0; i < NODES; i++)
        OK(set_node(w.engine, (struct node_spec){.name = node_names[i], .gpus = GPUS}));
    for (int i = 0; i < 80; i++) {
        size_t kind = prop_below(&w.prop, 100);
        uint64_t hash;

        if (kind < 10)
            put_reservation(&w, (int)prop_below(&w.prop, RESERVATIONS));
        else if (kind < 70)
            put_job(&w, 1 + prop_below(&w.prop, JOBS));
        read_reservations(&w);
        run_cycle(&w, 1 + (int64_t)prop_below(&w.prop, 10));
        hash = engine_hash(w.engine);
        if (i % 8 == 0)
            check_first(&w);
        assert_true(engine_hash(w.engine) == hash);
        if (mete_engine_check(w.engine))
            fail_msg("seed %llu: %s", (unsigned long long)seed, mete_engine_check(w.engine));
    }
    mete_engine_free(w.engine);
}

static void no_job_overlaps_a_reservation_of_others(void **state)
{
    struct prop_seeds seeds = prop_seeds(100);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        run_seed(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lets_nobody_else_in_who_could_still_run_at_its_start, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(keeps_everybody_out_for_maintenance, setup, teardown),
        cmocka_unit_test_setup_teardown(picks_gpus_that_are_free_by_then_on_few_nodes, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(picks_again_when_a_gpu_is_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(runs_those_who_name_it_in_it_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(says_what_is_wrong, setup, teardown),
        cmocka_unit_test_setup_teardown(evicts_nobody_for_who_may_not_stay, setup, teardown),
        cmocka_unit_test(no_job_overlaps_a_reservation_of_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
