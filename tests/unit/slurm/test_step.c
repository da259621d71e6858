/*
 * test_step.c - steps: the spread of tasks, plans and frames of the manager, binding, --multi-prog,
 * PMI, messages of PMIx
 */

#include "base/mem.h"
#include "prop.h"
#include "slurm/multi_prog.h"
#include "slurm/pmi_server.h"
#include "slurm/pmix_message.h"
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
        {{.tasks = 7}, "0,1,2|3,4|5,6", "3,2(x2)"},
        {{.tasks = 6, .distribution = STEP_PLANE, .plane_size = 4}, "0,1,2,3|4|5", "4,1(x2)"},
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

static void maps_ranks_to_nodes_as_mpich_reads_it(void **state)
{
    static const struct {
        struct step_request r;
        const char *want;
    } cases[] = {
        {{.nodes = 1, .tasks = 1}, "(vector,(0,1,1))"},
        {{.nodes = 1, .tasks = 4}, "(vector,(0,1,4))"},
        {{.nodes = 2, .tasks = 8}, "(vector,(0,2,4))"},
        {{.nodes = 2, .tasks = 7}, "(vector,(0,1,4),(1,1,3))"},
        {{.nodes = 2, .tasks = 8, .distribution = STEP_CYCLIC}, "(vector,(0,2,1))"},
        {{.nodes = 2, .tasks = 7, .distribution = STEP_CYCLIC}, "(vector,(0,2,1))"},
        {{.nodes = 2, .tasks = 6, .distribution = STEP_PLANE, .plane_size = 2}, "(vector,(0,2,2))"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        static const int64_t cpus[] = {4, 4};
        struct step_request r = cases[i].r;
        AUTO(step_layout_done) struct step_layout l = {0};
        AUTO_FREE char *text = NULL;

        r.cpus = cpus;
        r.cpus_per_task = 1;
        assert_null(step_layout_make(&r, &l));
        text = step_layout_mapping(&l);
        assert_string_equal(text, cases[i].want);
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

static struct err *count_until_error(void *arg, const struct step_frame *f)
{
    size_t *n = arg;

    (*n)++;
    return f->kind == STEP_ABORT ? err_new(ERR_CONFLICT, "stop") : NULL;
}

static void takes_whole_frames_and_keeps_the_rest(void **state)
{
    AUTO(buf_done) struct buf all = {0};
    size_t n = 0;
    struct err *e;

    (void)state;
    step_frame_add(&all, STEP_OUTPUT, 0, STR("one"));
    step_frame_add(&all, STEP_ABORT, 1, STR("two"));
    step_frame_add(&all, STEP_OUTPUT, 2, STR("three"));
    buf_add_text(&all, "o"); /* the begin of a fourth */
    e = step_frames_take(&all, count_until_error, &n);
    assert_int_equal(err_code(e), ERR_CONFLICT);
    err_free(e);
    assert_int_equal(n, 2); /* behind the one that failed */
    assert_null(step_frames_take(&all, count_until_error, &n));
    assert_int_equal(n, 3);
    assert_int_equal(all.size, 1);
    assert_null(step_frames_take(&all, count_until_error, &n));
    buf_clear(&all);
    buf_add_text(&all, "?");
    e = step_frames_take(&all, count_until_error, &n);
    assert_int_equal(err_code(e), ERR_INVALID);
    err_free(e);
    assert_int_equal(n, 3);
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

/* ---- messages of PMIx ---- */

static void reads_messages_of_pmix_from_pieces(void **state)
{
    const struct pmix_message told = {.kind = PMIX_MESSAGE_TELL,
                                      .rank = 1,
                                      .number = 0xfffefdfc,
                                      .status = -46,
                                      .payload = STR("v\0w")};
    const struct pmix_message ready = {.kind = PMIX_MESSAGE_READY};
    AUTO(buf_done) struct buf all = {0};
    struct pmix_message m = {0};
    size_t size = 0;

    (void)state;
    pmix_message_add(&all, &told);
    pmix_message_add(&all, &ready);
    for (size_t i = 0; i < PMIX_MESSAGE_HEAD_SIZE + 3; i++) { /* a message is whole or not there */
        assert_null(pmix_message_read((struct str){all.at, i}, &m, &size));
        assert_int_equal(size, 0);
    }
    assert_null(pmix_message_read((struct str){all.at, all.size}, &m, &size));
    assert_int_equal(m.kind, PMIX_MESSAGE_TELL);
    assert_int_equal(m.number, 0xfffefdfc);
    assert_int_equal(m.status, -46);
    assert_true(str_equal(m.payload, STR("v\0w")));
    buf_consume(&all, size);
    assert_null(pmix_message_read((struct str){all.at, all.size}, &m, &size));
    assert_int_equal(m.kind, PMIX_MESSAGE_READY);
    assert_int_equal(m.payload.size, 0);
}

static void splits_a_fence_of_pmix(void **state)
{
    AUTO(buf_done) struct buf payload = {0};
    struct pmix_message m = {.kind = PMIX_MESSAGE_FENCE, .number = 2};
    struct str ranks = {0};
    struct str data = {0};
    struct err *e;

    (void)state;
    pmix_fence_rank_add(&payload, 3);
    pmix_fence_rank_add(&payload, 65535);
    buf_add_text(&payload, "data");
    m.payload = (struct str){payload.at, payload.size};
    assert_null(pmix_fence_read(&m, &ranks, &data));
    assert_int_equal(pmix_fence_rank(ranks, 0), 3);
    assert_int_equal(pmix_fence_rank(ranks, 1), 65535);
    assert_true(str_equal(data, STR("data")));
    m.number = UINT32_MAX;
    e = pmix_fence_read(&m, &ranks, &data);
    assert_string_equal(err_message(e), "a fence of 4294967295 ranks has 12 bytes");
    err_free(e);
}

static struct err *count_messages(void *arg, const struct pmix_message *m)
{
    size_t *n = arg;

    (*n)++;
    return m->kind == PMIX_MESSAGE_ABORT ? err_new(ERR_CONFLICT, "stop") : NULL;
}

static void takes_whole_messages_of_pmix(void **state)
{
    const struct pmix_message ready = {.kind = PMIX_MESSAGE_READY};
    const struct pmix_message abort = {.kind = PMIX_MESSAGE_ABORT, .payload = STR("no more")};
    AUTO(buf_done) struct buf all = {0};
    size_t n = 0;
    struct err *e;

    (void)state;
    pmix_message_add(&all, &ready);
    pmix_message_add(&all, &abort);
    pmix_message_add(&all, &ready);
    buf_add(&all, "f\0\0", 3);
    e = pmix_messages_take(&all, count_messages, &n);
    assert_int_equal(err_code(e), ERR_CONFLICT);
    err_free(e);
    assert_int_equal(n, 2); /* behind the one that failed */
    assert_null(pmix_messages_take(&all, count_messages, &n));
    assert_int_equal(n, 3);
    assert_int_equal(all.size, 3);
    buf_clear(&all);
    buf_add(&all, "f\0\0\0\0\0\0\0\0\0\0\0\0\x7f\0\0\0", PMIX_MESSAGE_HEAD_SIZE);
    e = pmix_messages_take(&all, count_messages, &n);
    assert_string_equal(err_message(e), "PMIx of the step has a message of 2130706432 bytes");
    err_free(e);
    buf_clear(&all);
    buf_add_text(&all, "?");
    e = pmix_messages_take(&all, count_messages, &n);
    assert_string_equal(err_message(e), "PMIx of the step has an unknown message");
    err_free(e);
    assert_int_equal(n, 3);
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
        "{\"tasks\":[{\"rank\":0}],\"cwd\":\"/\",\"argv\":[\"x\"],\"pmix\":1}",
        "{\"tasks\":[{\"rank\":0}],\"cwd\":\"/\",\"argv\":[\"x\"],\"pmix\":{},\"pmi\":{}}",
        "{\"tasks\":[{\"rank\":0}],\"cwd\":\"/\",\"argv\":[\"x\"],\"prologs\":[\"here\"]}",
        "{\"tasks\":[{\"rank\":0}],\"cwd\":\"/\",\"argv\":[\"x\"],\"epilogs\":{}}",
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

/* ---- PMI ---- */

/* Two nodes with two tasks each; `told` has what a node's fence gave to the others. */
struct pmi_world {
    struct pmi_server *nodes[2];
    struct buf answers[4];
    struct buf told[2];
    bool is_fenced[2];
    char *abort;
};

struct pmi_place {
    struct pmi_world *world;
    size_t node;
};

static void world_answer(void *arg, size_t task, struct str bytes)
{
    const struct pmi_place *p = arg;

    buf_add(&p->world->answers[p->node * 2 + task], bytes.at, bytes.size);
}

static void world_fence(void *arg, struct str data)
{
    const struct pmi_place *p = arg;

    buf_add(&p->world->told[p->node], data.at, data.size);
    p->world->is_fenced[p->node] = true;
}

static void world_abort(void *arg, size_t task, struct str message)
{
    const struct pmi_place *p = arg;

    free(p->world->abort);
    p->world->abort = mem_format("%zu: " STR_FMT, p->node * 2 + task, STR_ARG(message));
}

static void world_open(struct pmi_world *w, struct pmi_place places[2])
{
    static const uint32_t ranks[] = {0, 1, 2, 3};

    *w = (struct pmi_world){0};
    for (size_t i = 0; i < 2; i++) {
        const struct pmi_options o = {.size = 4,
                                      .ranks = ranks + 2 * i,
                                      .n_ranks = 2,
                                      .job = "12.0",
                                      .mapping = "(vector,(0,2,2))",
                                      .answer = world_answer,
                                      .fence = world_fence,
                                      .abort = world_abort,
                                      .arg = &places[i]};

        places[i] = (struct pmi_place){w, i};
        w->nodes[i] = pmi_server_new(&o);
    }
}

static void world_close(struct pmi_world *w)
{
    for (size_t i = 0; i < 2; i++) {
        pmi_server_free(w->nodes[i]);
        buf_done(&w->told[i]);
    }
    for (size_t i = 0; i < 4; i++)
        buf_done(&w->answers[i]);
    free(w->abort);
}

/* The part of srun: once all nodes have fenced, each gets the values of all. */
static void world_release(struct pmi_world *w)
{
    AUTO(buf_done) struct buf all = {0};

    if (!w->is_fenced[0] || !w->is_fenced[1])
        return;
    for (size_t i = 0; i < 2; i++) {
        buf_add(&all, w->told[i].at, w->told[i].size);
        buf_clear(&w->told[i]);
        w->is_fenced[i] = false;
    }
    for (size_t i = 0; i < 2; i++)
        assert_null(pmi_server_release(w->nodes[i], (struct str){all.at, all.size}));
}

/* The task sends `text`, in the wire's frame, and has exactly `want` as its answer; "" none yet. */
static void pmi_says(struct pmi_world *w, size_t rank, const char *text, const char *want)
{
    struct buf *answers = &w->answers[rank];

    if (*text)
        assert_null(pmi_server_take(w->nodes[rank / 2], rank % 2, str_of(text)));
    world_release(w);
    assert_string_equal(answers->at ? answers->at : "", want);
    buf_clear(answers);
}

static void pmi_begins(struct pmi_world *w)
{
    for (size_t rank = 0; rank < 3; rank++)
        pmi_says(w, rank, "cmd=init pmi_version=1 pmi_subversion=1\n",
                 "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    pmi_says(w, 3, "cmd=init pmi_version=2 pmi_subversion=0\n",
             "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n");
    pmi_says(w, 3, "    38cmd=fullinit;pmirank=3;threaded=FALSE;",
             "   113cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=3;size=4;appnum=0;"
             "debugged=FALSE;pmiverbose=FALSE;rc=0;");
}

static void pmi_gives_what_tasks_of_other_nodes_have_put(void **state)
{
    struct pmi_world w;
    struct pmi_place places[2];

    (void)state;
    world_open(&w, places);
    pmi_begins(&w);
    pmi_says(&w, 0, "cmd=get_maxes\n",
             "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\n");
    pmi_says(&w, 0, "cmd=get_my_kvsname\n", "cmd=my_kvsname rc=0 kvsname=12.0\n");
    pmi_says(&w, 0, "cmd=get kvsname=12.0 key=PMI_process_mapping\n",
             "cmd=get_result rc=0 value=(vector,(0,2,2))\n");
    pmi_says(&w, 0, "cmd=put kvsname=12.0 key=a value=x=1\n", "cmd=put_result rc=0\n");
    pmi_says(&w, 3, "    39cmd=kvs-put;thrid=t;key=b;value=1;;2;;;",
             "    34cmd=kvs-put-response;thrid=t;rc=0;");
    pmi_says(&w, 2, "cmd=get kvsname=12.0 key=a\n",
             "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
    for (size_t rank = 0; rank < 3; rank++)
        pmi_says(&w, rank, "cmd=barrier_in\n", "");
    pmi_says(&w, 3, "    22cmd=kvs-fence;thrid=t;", "    36cmd=kvs-fence-response;thrid=t;rc=0;");
    for (size_t rank = 0; rank < 3; rank++)
        pmi_says(&w, rank, "", "cmd=barrier_out rc=0\n");
    pmi_says(&w, 2, "cmd=get kvsname=12.0 key=a\n", "cmd=get_result rc=0 value=x=1\n");
    pmi_says(&w, 0, "cmd=get kvsname=12.0 key=b\n", "cmd=get_result rc=0 value=1;2;\n");
    pmi_says(&w, 3, "    18cmd=kvs-get;key=b;",
             "    50cmd=kvs-get-response;rc=0;found=TRUE;value=1;;2;;;");
    pmi_says(&w, 3, "    18cmd=kvs-get;key=c;", "    38cmd=kvs-get-response;rc=0;found=FALSE;");
    pmi_says(&w, 0, "cmd=finalize\n", "cmd=finalize_ack rc=0\n");
    world_close(&w);
}

/* A task that sends on while it waits is read behind its answer. */
static void pmi_keeps_the_order_of_requests(void **state)
{
    struct pmi_world w;
    struct pmi_place places[2];

    (void)state;
    world_open(&w, places);
    pmi_begins(&w);
    pmi_says(&w, 0, "cmd=barrier_in\ncmd=get_appnum\ncmd=bar", "");
    pmi_says(&w, 0, "rier_in\n", "");
    pmi_says(&w, 1, "cmd=barrier_in\n", "");
    pmi_says(&w, 2, "cmd=barrier_in\n", "");
    pmi_says(&w, 3, "    14cmd=kvs-fence;", "    28cmd=kvs-fence-response;rc=0;");
    pmi_says(&w, 0, "", "cmd=barrier_out rc=0\ncmd=appnum rc=0 appnum=0\n");
    pmi_says(&w, 1, "cmd=barrier_in\n", "cmd=barrier_out rc=0\n");
    assert_true(w.is_fenced[0]); /* of the second fence */
    assert_false(w.is_fenced[1]);
    world_close(&w);
}

static void pmi_refuses_by_name(void **state)
{
    struct pmi_world w;
    struct pmi_place places[2];
    AUTO(err_freep) struct err *release = NULL;
    AUTO(err_freep) struct err *unknown = NULL;
    AUTO(err_freep) struct err *again = NULL;
    AUTO(err_freep) struct err *early = NULL;

    (void)state;
    world_open(&w, places);
    early = pmi_server_take(w.nodes[0], 0, STR("cmd=get_maxes\n"));
    assert_string_equal(err_message(early), "PMI begins with init, not with 'get_maxes'");
    world_close(&w);
    world_open(&w, places);
    pmi_begins(&w);
    pmi_says(&w, 0, "mcmd=spawn\nnprocs=1\nexecname=x\nendcmd\n",
             "cmd=spawn_result rc=-1 msg=not_supported\n");
    pmi_says(&w, 3, "    31cmd=name-publish;name=a;port=b;",
             "    52cmd=name-publish-response;rc=1;errmsg=not_supported;");
    pmi_says(&w, 0, "cmd=put kvsname=12.0 key= value=1\n",
             "cmd=put_result rc=-1 msg=the_key_is_empty_or_too_long\n");
    pmi_says(&w, 2, "cmd=abort exitcode=1 message=stop\n", "");
    assert_string_equal(w.abort, "2: stop");
    unknown = pmi_server_take(w.nodes[0], 0, STR("cmd=nonsense\n"));
    assert_string_equal(err_message(unknown), "PMI has no request 'nonsense'");
    again = pmi_server_take(w.nodes[0], 0, STR("cmd=get_maxes\n"));
    assert_non_null(again);
    release = pmi_server_release(w.nodes[0], (struct str){0});
    assert_string_equal(err_message(release), "no fence of the tasks is open");
    world_close(&w);
}

/* The server answers or refuses whatever a task sends, in pieces of any size. */
static void pmi_survives_hostile_tasks(void **state)
{
    static const char *const words[] = {"cmd=init pmi_version=1 pmi_subversion=1\n",
                                        "cmd=init pmi_version=2\n",
                                        "cmd=put key=a value=b\n",
                                        "cmd=get key=a\n",
                                        "cmd=barrier_in\n",
                                        "mcmd=spawn\nendcmd\n",
                                        "cmd=finalize\n",
                                        "\n",
                                        "=",
                                        ";;",
                                        " ",
                                        "    14cmd=kvs-fence;",
                                        "    26cmd=kvs-put;key=a;value=b;",
                                        "    37cmd=info-getnodeattr;key=a;wait=TRUE;",
                                        "    35cmd=info-putnodeattr;key=a;value=b;",
                                        "     0",
                                        "999999",
                                        "cmd=abort\n"};
    struct prop_seeds seeds = prop_seeds(2000);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct prop p = {seed};
        struct pmi_world w;
        struct pmi_place places[2];

        world_open(&w, places);
        for (size_t i = 0; i < 40; i++) {
            size_t rank = prop_below(&p, 4);
            struct str word =
                str_of(words[i < 4 ? prop_below(&p, 2) : prop_below(&p, COUNT(words))]);
            AUTO(err_freep) struct err *e = NULL;

            if (prop_chance(&p, 5))
                word.size = prop_below(&p, word.size + 1);
            e = pmi_server_take(w.nodes[rank / 2], rank % 2, word);
            world_release(&w);
        }
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spreads_tasks_as_the_options_say),
        cmocka_unit_test(maps_ranks_to_nodes_as_mpich_reads_it),
        cmocka_unit_test(spreads_each_task_once),
        cmocka_unit_test(reads_frames_from_pieces),
        cmocka_unit_test(takes_whole_frames_and_keeps_the_rest),
        cmocka_unit_test(refuses_frames_that_are_none),
        cmocka_unit_test(reads_messages_of_pmix_from_pieces),
        cmocka_unit_test(splits_a_fence_of_pmix),
        cmocka_unit_test(takes_whole_messages_of_pmix),
        cmocka_unit_test(reads_plans),
        cmocka_unit_test(refuses_plans_that_are_none),
        cmocka_unit_test(survives_hostile_plans),
        cmocka_unit_test(binds_gpus),
        cmocka_unit_test(reads_programs),
        cmocka_unit_test(pmi_gives_what_tasks_of_other_nodes_have_put),
        cmocka_unit_test(pmi_keeps_the_order_of_requests),
        cmocka_unit_test(pmi_refuses_by_name),
        cmocka_unit_test(pmi_survives_hostile_tasks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
