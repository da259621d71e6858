/* test_step.c - steps: the spread of tasks, plans and frames of the manager, binding, --multi-prog
 */

#include "base/mem.h"
#include "prop.h"
#include "slurm/multi_prog.h"
#include "slurm/step_bind.h"
#include "slurm/step_frame.h"
#include "slurm/step_layout.h"
#include "slurm/step_plan.h"
#include "test.h"

/* ---- layout ---- */

static char *layout_text(const struct step_layout *l)
{
    struct buf out = {0};

    VEC_EACH (&l->nodes, node) {
        buf_add_text(&out, out.size > 0 ? "|" : "");
        VEC_EACH (&node->ranks, rank)
            buf_printf(&out, "%s%u", rank == node->ranks.at ? "" : ",", *rank);
    }
    return buf_steal(&out);
}

static void spreads_tasks_as_the_options_say(void **state)
{
    static const int64_t cpus[] = {4, 4, 2};
    static const size_t arbitrary[] = {2, 0, 0, 1};
    static const struct {
        struct step_request r;
        const char *want; /* ranks of each node; NULL: they do not fit */
        const char *counts;
    } cases[] = {
        {{.tasks = 4}, "0,1|2|3", "2,1(x2)"},
        {{.tasks = 10}, "0,1,2,3|4,5,6,7|8,9", "4(x2),2"},
        {{.tasks = 4, .distribution = STEP_CYCLIC}, "0,3|1|2", "2,1(x2)"},
        {{.tasks = 10, .distribution = STEP_CYCLIC}, "0,3,6,8|1,4,7,9|2,5", "4(x2),2"},
        {{.tasks = 7, .distribution = STEP_PLANE, .plane_size = 2}, "0,1,6|2,3|4,5", "3,2(x2)"},
        {{.tasks = 4, .distribution = STEP_ARBITRARY, .arbitrary = arbitrary},
         "1,2|3|0",
         "2,1(x2)"},
        {{.tasks = 3, .cpus_per_task = 2}, "0|1|2", "1(x3)"},
        {{.tasks = 6, .tasks_per_node = 2}, "0,1|2,3|4,5", "2(x3)"},
        {{.tasks = 30, .is_overcommitted = true}, NULL, "10(x3)"},
        {{.tasks = 11}, NULL, NULL},
        {{.tasks = 6, .cpus_per_task = 2}, NULL, NULL},
        {{.tasks = 0}, NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct step_request r = cases[i].r;
        AUTO(step_layout_done) struct step_layout l = {0};
        AUTO(err_freep) struct err *e = NULL;
        AUTO_FREE char *text = NULL;
        AUTO_FREE char *counts = NULL;

        r.cpus = cpus;
        r.nodes = COUNT(cpus);
        r.cpus_per_task = r.cpus_per_task > 0 ? r.cpus_per_task : 1;
        e = step_layout_make(&r, &l);
        if ((e == NULL) != (cases[i].counts != NULL))
            fail_msg("case %zu: %s", i, e ? err_message(e) : "no error");
        if (e)
            continue;
        text = layout_text(&l);
        counts = step_layout_counts(&l);
        if (cases[i].want)
            assert_string_equal(text, cases[i].want);
        assert_string_equal(counts, cases[i].counts);
    }
}

/* Each rank has one place, no node has more than it takes, ranks of a node ascend. */
static void spreads_each_task_once(void **state)
{
    struct prop_seeds seeds = prop_seeds(300);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct prop p = {seed};
        int64_t cpus[8];
        bool seen[64] = {false};
        int64_t n_seen = 0;
        struct step_request r = {.cpus = cpus,
                                 .nodes = 1 + prop_below(&p, 8),
                                 .tasks = 1 + (int64_t)prop_below(&p, 60),
                                 .cpus_per_task = 1 + (int64_t)prop_below(&p, 3),
                                 .tasks_per_node = (int64_t)prop_below(&p, 6),
                                 .distribution = (enum step_distribution)prop_below(&p, 3),
                                 .plane_size = 1 + (int64_t)prop_below(&p, 4)};
        AUTO(step_layout_done) struct step_layout l = {0};
        AUTO(err_freep) struct err *e = NULL;

        for (size_t i = 0; i < r.nodes; i++)
            cpus[i] = (int64_t)prop_below(&p, 12);
        e = step_layout_make(&r, &l);
        if (e)
            continue;
        assert_int_equal(l.nodes.n, r.nodes);
        for (size_t i = 0; i < r.nodes; i++) {
            size_t n = l.nodes.at[i].ranks.n;

            assert_true((int64_t)n * r.cpus_per_task <= cpus[i]);
            assert_true(r.tasks_per_node == 0 || (int64_t)n <= r.tasks_per_node);
            for (size_t k = 0; k < n; k++) {
                uint32_t rank = l.nodes.at[i].ranks.at[k];

                assert_true(rank < (uint64_t)r.tasks && !seen[rank]);
                assert_true(k == 0 || l.nodes.at[i].ranks.at[k - 1] < rank);
                seen[rank] = true;
                n_seen++;
            }
        }
        if (n_seen != r.tasks)
            fail_msg("seed %llu: %lld of %lld tasks", (unsigned long long)seed, (long long)n_seen,
                     (long long)r.tasks);
    }
}

/* ---- frames ---- */

static void reads_frames_from_pieces(void **state)
{
    AUTO(buf_done) struct buf all = {0};
    AUTO_FREE char *large = mem_alloc(STEP_FRAME_MAX + 10);
    struct step_frame f;
    size_t size = 0;
    size_t taken = 0;
    size_t n = 0;

    (void)state;
    memset(large, 'x', STEP_FRAME_MAX + 10);
    step_frame_add(&all, STEP_OUTPUT, 7, STR("one"));
    step_frame_add(&all, STEP_INPUT, STEP_ALL_RANKS, (struct str){0});
    step_frame_add(&all, STEP_OUTPUT, 258, (struct str){large, STEP_FRAME_MAX + 10});
    for (size_t i = 0; i < 12; i++) { /* a frame is whole or not there */
        assert_null(step_frame_read((struct str){all.at, i}, &f, &size));
        assert_int_equal(size, 0);
    }
    while (taken < all.size) {
        assert_null(step_frame_read((struct str){all.at + taken, all.size - taken}, &f, &size));
        assert_true(size > 0);
        taken += size;
        n++;
    }
    assert_int_equal(n, 4);
    assert_int_equal(f.rank, 258);
    assert_int_equal(f.payload.size, 10);
}

static void refuses_frames_that_are_none(void **state)
{
    struct step_frame f;
    size_t size = 0;
    AUTO(err_freep) struct err *unknown = step_frame_read(STR("?"), &f, &size);
    AUTO(err_freep)
    struct err *large = step_frame_read(STR("o\0\0\0\0\xff\xff\xff\xff"), &f, &size);

    (void)state;
    assert_non_null(unknown);
    assert_non_null(large);
    assert_int_equal(err_code(large), ERR_INVALID);
}

/* ---- plans ---- */

static const char plan_text[] =
    "{\"env\":[\"A=1\"],\"argv\":[\"sh\",\"-c\",\"x\"],\"cwd\":\"/tmp\",\"umask\":18,"
    "\"pty\":{\"columns\":80,\"rows\":24},\"tasks\":[{\"rank\":3,\"env\":[\"B=2\"],\"gpus\":[1,0],"
    "\"cpus\":[2],\"stdout\":\"/tmp/o\"},{\"rank\":5,\"argv\":[\"true\"],\"stdin\":\"-\"}]}";

static void reads_plans(void **state)
{
    AUTO(step_plan_done) struct step_plan p = {0};

    (void)state;
    assert_null(step_plan_read(str_of(plan_text), &p));
    assert_int_equal(p.tasks.n, 2);
    assert_true(p.has_terminal);
    assert_int_equal(p.columns, 80);
    assert_int_equal(p.tasks.at[0].rank, 3);
    assert_string_equal(p.tasks.at[0].argv[2], "x");
    assert_string_equal(p.tasks.at[0].env[1], "B=2");
    assert_null(p.tasks.at[0].env[2]);
    assert_int_equal(p.tasks.at[0].gpus.at[0], 1);
    assert_string_equal(p.tasks.at[0].output, "/tmp/o");
    assert_string_equal(p.tasks.at[1].argv[0], "true");
    assert_false(p.tasks.at[1].has_gpus);
    assert_string_equal(p.tasks.at[1].input, "-");
}

static void refuses_plans_that_are_none(void **state)
{
    static const char *const wrong[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"tasks\":[]}",
        "{\"tasks\":[{}],\"cwd\":\"/\"}",
        "{\"tasks\":[{\"rank\":-1}],\"cwd\":\"/\",\"argv\":[\"x\"]}",
        "{\"tasks\":[{\"rank\":0}],\"cwd\":\"here\",\"argv\":[\"x\"]}",
        "{\"tasks\":[{\"rank\":0}],\"cwd\":\"/\",\"argv\":[]}",
        "{\"tasks\":[{\"rank\":0}],\"cwd\":\"/\",\"argv\":[1]}",
        "{\"tasks\":[{\"rank\":0}],\"cwd\":\"/\",\"argv\":[\"x\"],\"umask\":512}",
        "{\"tasks\":[{\"rank\":0,\"gpus\":[-1]}],\"cwd\":\"/\",\"argv\":[\"x\"]}",
        "{\"tasks\":[{\"rank\":0,\"stdin\":1}],\"cwd\":\"/\",\"argv\":[\"x\"]}",
        "{\"tasks\":[{\"rank\":0}],\"cwd\":\"/\",\"argv\":[\"x\"],\"pty\":1}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct step_plan p = {0};
        AUTO(err_freep) struct err *e = step_plan_read(str_of(wrong[i]), &p);

        if (!e)
            fail_msg("%s was accepted", wrong[i]);
    }
}

/* Whatever bytes come, a plan is read in whole or refused. */
static void survives_hostile_plans(void **state)
{
    struct prop_seeds seeds = prop_seeds(2000);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct prop p = {seed};
        char text[sizeof(plan_text)];
        struct step_plan plan = {0};
        AUTO(err_freep) struct err *e = NULL;

        memcpy(text, plan_text, sizeof(text));
        for (size_t i = 1 + prop_below(&p, 4); i > 0; i--)
            text[prop_below(&p, sizeof(text) - 1)] = "\"[]{}:,0-9a\\\xff"[prop_below(&p, 13)];
        e = step_plan_read((struct str){text, sizeof(text) - 1 - prop_below(&p, 3)}, &plan);
        if (!e)
            assert_true(plan.tasks.n > 0 && plan.tasks.at[0].argv[0] && *plan.cwd == '/');
        step_plan_done(&plan);
    }
}

/* ---- binding ---- */

static void binds_gpus(void **state)
{
    static const struct {
        const char *text;
        const char
            *want; /* of the tasks 0 to 3 of a node with the gpus 4, 5, 6, 7; NULL: refused */
    } cases[] = {
        {"none", "4567|4567|4567|4567"},
        {"closest", "4567|4567|4567|4567"},
        {"single:1", "4|5|6|7"},
        {"single:2", "4|4|5|5"},
        {"per_task:1", "4|5|6|7"},
        {"per_task:2", "45|67|45|67"},
        {"map_gpu:3,0", "7|4|7|4"},
        {"verbose,map_gpu:1*3,2", "5|5|5|6"},
        {"mask_gpu:0x3,c", "45|67|45|67"},
        {"map_gpu:9", "|||"},
        {"single:0", NULL},
        {"map_gpu:", NULL},
        {"mask_gpu:zz", NULL},
        {"nonsense", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct step_bind bind = {0};
        AUTO(err_freep) struct err *e = step_gpu_bind_read(cases[i].text, &bind);
        struct step_numbers gpus = {0};
        AUTO(buf_done) struct buf out = {0};

        for (int64_t k = 4; k < 8; k++)
            vec_add(&gpus, k);
        for (size_t local = 0; !e && local < 4; local++) {
            struct step_numbers mine = {0};

            step_bind_gpus(&bind, local, &gpus, &mine);
            buf_add_text(&out, local > 0 ? "|" : "");
            for (size_t k = 0; k < mine.n; k++)
                buf_printf(&out, "%d", (int)mine.at[k]);
            vec_done(&mine);
        }
        if ((e != NULL) != (cases[i].want == NULL))
            fail_msg("%s: %s", cases[i].text, e ? err_message(e) : "was accepted");
        if (!e)
            assert_string_equal(out.at, cases[i].want);
        vec_done(&gpus);
        step_bind_done(&bind);
    }
}

/* ---- --multi-prog ---- */

static void reads_programs(void **state)
{
    static const struct {
        const char *text;
        const char *want; /* of three tasks; NULL: refused */
    } cases[] = {
        {"0-2 echo %t %o\n",
         "[[\"echo\",\"0\",\"0\"],[\"echo\",\"1\",\"1\"],[\"echo\",\"2\",\"2\"]]"},
        {"# first\n1 a 'b c' \"d\"\\ e\n* x\n", "[[\"x\"],[\"a\",\"b c\",\"d e\"],[\"x\"]]"},
        {"0 a \\\n b\n1-2 c", "[[\"a\",\"b\"],[\"c\"],[\"c\"]]"},
        {"0 a\n0 b\n* c\n", NULL},
        {"0 a\n", NULL},
        {"0\n* c\n", NULL},
        {"x a\n", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *all = NULL;
        AUTO(err_freep) struct err *e = multi_prog_read(str_of(cases[i].text), 3, &all);
        AUTO_FREE char *text = all ? json_format(all) : NULL;

        if ((e != NULL) != (cases[i].want == NULL))
            fail_msg("%s: %s", cases[i].text, e ? err_message(e) : "was accepted");
        if (!e)
            assert_string_equal(text, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spreads_tasks_as_the_options_say),
        cmocka_unit_test(spreads_each_task_once),
        cmocka_unit_test(reads_frames_from_pieces),
        cmocka_unit_test(refuses_frames_that_are_none),
        cmocka_unit_test(reads_plans),
        cmocka_unit_test(refuses_plans_that_are_none),
        cmocka_unit_test(survives_hostile_plans),
        cmocka_unit_test(binds_gpus),
        cmocka_unit_test(reads_programs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
