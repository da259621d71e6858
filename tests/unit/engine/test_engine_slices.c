/* test_engine_slices.c - slices, replicas and several kinds of devices in one pod */

#include "base/attr.h"
#include "base/mem.h"
#include "engine/state.h"
#include "slices_build.h"
#include "test.h"

#define H100_FLEXIBLE .model = "h100", .gib = 80, .is_flexible = true

static void assert_sound(struct mete_engine *e)
{
    const char *wrong = mete_engine_check(e);

    if (wrong)
        fail_msg("%s", wrong);
}

#define ASSERT_CYCLE(e, want)                                                  \
    do {                                                                       \
        char text_[512];                                                       \
        assert_string_equal(devices_text(e, 100, text_, sizeof(text_)), want); \
        assert_sound(e);                                                       \
    } while (0)

static void cuts_a_gpu_so_that_large_slices_stay_possible(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);

    (void)state;
    assert_int_equal(set_sliced(e, "a", (struct gpu_spec[]){{H100_FLEXIBLE}, {0}}), METE_OK);
    add_asks(e, (struct ask_job){.id = 1, .asks = {{.count = 1, .profile = "1g.10gb"}}});
    add_asks(e, (struct ask_job){.id = 2, .asks = {{.count = 1, .profile = "mig-1g.10gb"}}});
    ASSERT_CYCLE(e, "1:a(0:1g.10gb@6+) 2:a(0:1g.10gb@4+)");
    add_asks(e, (struct ask_job){.id = 3, .asks = {{.count = 1, .profile = "3g.40gb"}}});
    ASSERT_CYCLE(e, "3:a(0:3g.40gb@0+)");
    add_asks(e, (struct ask_job){.id = 4, .asks = {{.count = 1, .profile = "4g.40gb"}}});
    ASSERT_CYCLE(e, "");
    assert_int_equal(mete_workload_remove(e, 3), METE_OK);
    ASSERT_CYCLE(e, "4:a(0:4g.40gb@0+)");
    mete_engine_free(e);
}

static void gives_the_instances_that_there_are_by_name(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);
    const struct gpu_spec fixed[] = {{.model = "h100",
                                      .gib = 80,
                                      .profiles = {"1g.10gb", "1g.10gb", "3g.40gb"},
                                      .starts = {0, 2, 4}},
                                     {0}};

    (void)state;
    assert_int_equal(set_sliced(e, "a", fixed), METE_OK);
    add_asks(e, (struct ask_job){.id = 1, .asks = {{.count = 2, .profile = "1g.10gb"}}});
    add_asks(e, (struct ask_job){.id = 2, .asks = {{.count = 1, .profile = "2g.20gb"}}});
    add_asks(e, (struct ask_job){.id = 3, .asks = {{.count = 1, .profile = "1g.10gb"}}});
    add_job(e, (struct job_spec){.id = 4, .gpus = 1});
    add_job(e, (struct job_spec){.id = 5, .gpus = 1, .milli = 100});
    ASSERT_CYCLE(e, "1:a(0:1g.10gb@0=MIG-a-0-0 0:1g.10gb@2=MIG-a-0-2)");
    assert_int_equal(mete_workload_remove(e, 1), METE_OK);
    ASSERT_CYCLE(e, "3:a(0:1g.10gb@0=MIG-a-0-0)");
    mete_engine_free(e);
}

static void what_nobody_holds_gives_way_and_what_is_held_stays(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);
    const struct gpu_spec cut[] = {
        {H100_FLEXIBLE, .profiles = {"1g.10gb", "1g.10gb", "2g.20gb"}, .starts = {0, 1, 4}}, {0}};
    struct mete_slice_view views[8];

    (void)state;
    assert_int_equal(set_sliced(e, "a", cut), METE_OK);
    /* the engine takes an existing instance unless a new one is better */
    add_asks(e, (struct ask_job){.id = 1, .asks = {{.count = 1, .profile = "2g.20gb"}}});
    ASSERT_CYCLE(e, "1:a(0:2g.20gb@4=MIG-a-0-4)");
    assert_int_equal(mete_gpu_slices(e, "a-0", views, 8), 3);
    assert_string_equal(views[2].slice, "MIG-a-0-4");
    assert_int_equal(views[2].holder, 1);
    add_asks(e, (struct ask_job){.id = 2, .asks = {{.count = 1, .profile = "4g.40gb"}}});
    ASSERT_CYCLE(e, "2:a(0:4g.40gb@0+)");
    assert_int_equal(mete_gpu_slices(e, "a-0", views, 8), 2);
    assert_int_equal(views[0].holder, 2);
    assert_null(views[0].slice);
    /* the driver has made the change */
    assert_int_equal(
        set_sliced(e, "a",
                   (struct gpu_spec[]){
                       {H100_FLEXIBLE, .profiles = {"4g.40gb", "2g.20gb"}, .starts = {0, 4}}, {0}}),
        METE_OK);
    assert_int_equal(mete_gpu_slices(e, "a-0", views, 8), 2);
    assert_string_equal(views[0].slice, "MIG-a-0-0");
    assert_sound(e);
    mete_engine_free(e);
}

static void a_gpu_is_whole_again_once_nobody_holds_a_slice(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);
    struct mete_slice_view views[8];

    (void)state;
    assert_int_equal(set_sliced(e, "a",
                                (struct gpu_spec[]){
                                    {H100_FLEXIBLE, .profiles = {"1g.10gb"}, .starts = {6}}, {0}}),
                     METE_OK);
    add_asks(e, (struct ask_job){.id = 1, .asks = {{.count = 1, .profile = "1g.10gb"}}});
    ASSERT_CYCLE(e, "1:a(0:1g.10gb@6=MIG-a-0-6)");
    add_job(e, (struct job_spec){.id = 2, .gpus = 1});
    add_job(e, (struct job_spec){.id = 3, .gpus = 1, .milli = 500});
    ASSERT_CYCLE(e, "");
    assert_int_equal(mete_workload_remove(e, 1), METE_OK);
    ASSERT_CYCLE(e, "2:a(0)");
    assert_int_equal(mete_gpu_slices(e, "a-0", views, 8), 0);
    assert_int_equal(mete_workload_remove(e, 2), METE_OK);
    ASSERT_CYCLE(e, "3:a(0:500,40Gi)");
    add_asks(e, (struct ask_job){.id = 4, .asks = {{.count = 1, .profile = "1g.10gb"}}});
    ASSERT_CYCLE(e, "");
    assert_int_equal(mete_workload_remove(e, 3), METE_OK);
    ASSERT_CYCLE(e, "4:a(0:1g.10gb@6+)");
    mete_engine_free(e);
}

/* Its MIG goes off with a reset only: slices come and go, the gpu is never whole. */
static void a_gpu_that_keeps_mig_is_given_in_slices_only(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);
    const struct gpu_spec kept[] = {{H100_FLEXIBLE, .is_sliced = true, .keeps_mig = true}, {0}};

    (void)state;
    assert_int_equal(set_sliced(e, "a", kept), METE_OK);
    add_job(e, (struct job_spec){.id = 1, .gpus = 1});
    add_job(e, (struct job_spec){.id = 2, .gpus = 1, .milli = 500});
    ASSERT_CYCLE(e, "");
    add_asks(e, (struct ask_job){.id = 3, .asks = {{.count = 1, .profile = "3g.40gb"}}});
    ASSERT_CYCLE(e, "3:a(0:3g.40gb@4+)");
    assert_int_equal(mete_workload_remove(e, 3), METE_OK);
    ASSERT_CYCLE(e, "");
    assert_sound(e);
    mete_engine_free(e);
}

static void several_kinds_in_one_pod(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);
    static const char *const h100[] = {"h100"};
    const struct gpu_spec mixed[] = {{H100_FLEXIBLE},
                                     {.model = "h100", .gib = 80},
                                     {.model = "t4", .gib = 16, .replicas = 2},
                                     {.model = "t4", .gib = 16},
                                     {0}};

    (void)state;
    assert_int_equal(set_sliced(e, "a", mixed), METE_OK);
    add_asks(e, (struct ask_job){.id = 1,
                                 .asks = {{.count = 2, .profile = "1g.10gb"},
                                          {.count = 1, .models = h100, .n_models = 1},
                                          {.count = 1, .profile = "3g.40gb"},
                                          {.count = 1, .gpu_milli = 300}}});
    ASSERT_CYCLE(e, "1:a(0:1g.10gb@0+ 0:1g.10gb@1+ 1 0:3g.40gb@4+ 3:300,4.8Gi)");
    add_asks(e, (struct ask_job){.id = 2, .asks = {{.count = 1, .is_replica = true}}});
    add_asks(e, (struct ask_job){.id = 3, .asks = {{.count = 1, .is_replica = true}}});
    add_asks(e, (struct ask_job){.id = 4, .asks = {{.count = 1, .is_replica = true}}});
    add_job(e, (struct job_spec){.id = 5, .gpus = 1, .milli = 700});
    ASSERT_CYCLE(e, "2:a(2/2) 3:a(2/2) 5:a(3:700,11.2Gi)");
    assert_int_equal(mete_workload_remove(e, 2), METE_OK);
    ASSERT_CYCLE(e, "4:a(2/2)");
    for (uint64_t id = 1; id <= 5; id++)
        if (id != 2)
            assert_int_equal(mete_workload_remove(e, id), METE_OK);
    assert_sound(e);
    mete_engine_free(e);
}

static void chooses_among_the_named_gpus_only(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);
    static const char *const last[] = {"a-2", "b-7"};
    const struct gpu_spec wholes[] = {{.model = "h100", .gib = 80},
                                      {.model = "h100", .gib = 80},
                                      {.model = "h100", .gib = 80},
                                      {0}};
    struct mete_reason why;

    (void)state;
    assert_int_equal(set_sliced(e, "a", wholes), METE_OK);
    add_asks(e, (struct ask_job){.id = 1, .asks = {{.count = 1, .uuids = last, .n_uuids = 2}}});
    ASSERT_CYCLE(e, "1:a(2)");
    add_asks(e, (struct ask_job){.id = 2, .asks = {{.count = 1, .uuids = last, .n_uuids = 2}}});
    ASSERT_CYCLE(e, "");
    assert_int_equal(mete_why(e, 2, 0, &why), METE_OK);
    assert_non_null(strstr(why.message, "1 gpu out of 2 chosen gpus"));
    add_asks(e, (struct ask_job){.id = 3, .asks = {{.count = 1}}});
    ASSERT_CYCLE(e, "3:a(0)");
    assert_int_equal(mete_workload_remove(e, 1), METE_OK);
    ASSERT_CYCLE(e, "2:a(2)");
    assert_sound(e);
    mete_engine_free(e);
}

static void a_plain_ask_is_a_plain_pod_set(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);

    (void)state;
    assert_int_equal(set_node(e, (struct node_spec){.name = "a", .gpus = 4}), METE_OK);
    add_asks(e, (struct ask_job){.id = 1, .asks = {{.count = 2}}});
    add_job(e, (struct job_spec){.id = 2, .gpus = 2});
    add_asks(e, (struct ask_job){.id = 3, .asks = {{.count = 1, .gpu_milli = 500}}});
    ASSERT_CYCLE(e, "1:a(0 1) 2:a(2 3)");
    mete_engine_free(e);
}

/* The first ask would take the only instance with the memory of the second ask. */
static void tries_another_way_where_the_first_does_not_serve_all(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);
    const struct gpu_spec fixed[] = {
        {.model = "h100", .gib = 80, .profiles = {"1g.10gb"}, .starts = {0}},
        {.model = "h100", .gib = 72, .profiles = {"1g.10gb"}, .starts = {0}},
        {0}};

    (void)state;
    assert_int_equal(set_sliced(e, "a", fixed), METE_OK);
    add_asks(e, (struct ask_job){
                    .id = 1,
                    .asks = {{.count = 1, .profile = "1g.10gb"},
                             {.count = 1, .profile = "1g.10gb", .memory_bytes = 9 * GIB + 1}}});
    ASSERT_CYCLE(e, "1:a(1:1g.10gb@0=MIG-a-1-0 0:1g.10gb@0=MIG-a-0-0)");
    mete_engine_free(e);
}

static void deals_the_large_slices_of_a_pod_first(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);

    (void)state;
    assert_int_equal(set_sliced(e, "a", (struct gpu_spec[]){{H100_FLEXIBLE}, {0}}), METE_OK);
    add_asks(e, (struct ask_job){.id = 1,
                                 .asks = {{.count = 1, .profile = "1g.10gb"},
                                          {.count = 1, .profile = "2g.20gb"},
                                          {.count = 1, .profile = "4g.40gb"}}});
    ASSERT_CYCLE(e, "1:a(0:1g.10gb@6+ 0:2g.20gb@4+ 0:4g.40gb@0+)");
    assert_int_equal(mete_workload_remove(e, 1), METE_OK);
    add_asks(e, (struct ask_job){.id = 2,
                                 .asks = {{.count = 4, .profile = "1g.10gb"},
                                          {.count = 1, .profile = "1g.10gb+me"},
                                          {.count = 1, .profile = "2g.20gb"}}});
    ASSERT_CYCLE(e, "2:a(0:1g.10gb@6+ 0:1g.10gb@0+ 0:1g.10gb@1+ 0:1g.10gb@2+ 0:1g.10gb+me@3+ "
                    "0:2g.20gb@4+)");
    mete_engine_free(e);
}

static void counts_slices_and_replicas_for_quotas(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);
    const struct mete_quota quota = {
        .resource = "gpu", .nominal = 500, .borrow_limit = 0, .lend_limit = METE_UNLIMITED};
    struct mete_gpu_sums sums;
    struct mete_queue_view view;

    (void)state;
    assert_int_equal(
        mete_queue_set(e, &(struct mete_queue){.name = "q", .quotas = &quota, .n_quotas = 1}),
        METE_OK);
    assert_int_equal(
        set_sliced(
            e, "a",
            (struct gpu_spec[]){{H100_FLEXIBLE}, {.model = "t4", .gib = 16, .replicas = 5}, {0}}),
        METE_OK);
    for (uint64_t id = 1; id <= 4; id++)
        add_asks(e, (struct ask_job){
                        .id = id, .queue = "q", .asks = {{.count = 1, .profile = "1g.10gb"}}});
    ASSERT_CYCLE(e, "1:a(0:1g.10gb@6+) 2:a(0:1g.10gb@4+) 3:a(0:1g.10gb@5+)");
    mete_gpu_sums(e, &sums);
    assert_int_equal(sums.used, 3 * 142);
    assert_int_equal(sums.capacity, 2000);
    assert_int_equal(mete_workload_remove(e, 4), METE_OK);
    /* 426 and 200 are more than 500, which shows once the replica's gpu is known */
    add_asks(e,
             (struct ask_job){.id = 5, .queue = "q", .asks = {{.count = 1, .is_replica = true}}});
    ASSERT_CYCLE(e, "");
    assert_int_equal(mete_workload_remove(e, 1), METE_OK);
    ASSERT_CYCLE(e, "5:a(1/5)");
    for (size_t i = 0; i < mete_queue_count(e); i++) {
        assert_int_equal(mete_queue_view(e, i, &view), METE_OK);
        if (strcmp(view.name, "q") == 0)
            assert_int_equal(view.quotas[0].held, 2 * 142 + 200);
    }
    mete_gpu_sums(e, &sums);
    assert_int_equal(sums.used, 2 * 142 + 200);
    mete_engine_free(e);
}

static bool has_line(const struct mete_reason *r, const char *line)
{
    for (size_t i = 0; i < r->n_would_start_if; i++)
        if (strcmp(r->would_start_if[i], line) == 0)
            return true;
    return false;
}

static void says_that_a_gpu_is_free_in_pieces(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);
    struct mete_reason r;
    uint64_t hash;

    (void)state;
    assert_int_equal(set_sliced(e, "gpu-01", (struct gpu_spec[]){{H100_FLEXIBLE}, {0}}), METE_OK);
    /* the fixed start is that of a restore */
    for (uint64_t id = 1; id <= 2; id++) {
        struct ask_job job = {.id = id, .asks = {{.count = 1, .profile = "1g.10gb"}}};
        const char *gpus[] = {"gpu-01-0"};
        const struct mete_device d = {
            .gpu = gpus[0], .profile = "1g.10gb", .start = id == 1 ? 2 : 6};
        const struct mete_pod_placement pod = {
            .node = "gpu-01", .gpus = gpus, .n_gpus = 1, .devices = &d, .n_devices = 1};
        struct ask_parts parts;

        assert_int_equal(mete_workload_restore(
                             e, ask_parts(&job, &parts),
                             &(struct mete_placement){.workload = id, .pods = &pod, .n_pods = 1}),
                         METE_OK);
    }
    add_asks(e, (struct ask_job){.id = 3, .asks = {{.count = 1, .profile = "3g.40gb"}}});
    add_asks(e, (struct ask_job){.id = 4, .asks = {{.count = 1, .profile = "7g.80gb"}}});
    ASSERT_CYCLE(e, "");
    hash = engine_hash(e);
    assert_int_equal(mete_why(e, 3, 200 * SECOND, &r), METE_OK);
    assert_int_equal(engine_hash(e), hash);
    assert_string_equal(r.code_text, "Fragmented");
    assert_string_equal(r.class_text, "place");
    assert_string_equal(r.message,
                        "needs mig 3g.40gb; no gpu has 4 free memory slices at a start the driver "
                        "allows: gpu-01/0 has 6 free in pieces of 2, 3 and 1");
    assert_true(has_line(&r, "it asks for mig 2g.20gb, not mig 3g.40gb (on gpu-01)"));
    assert_true(has_line(&r, "job 1 ends"));
    assert_true(has_line(&r, "job 2 ends"));
    assert_false(has_line(&r, "it asks for 1 gpu, not mig 3g.40gb (on gpu-01)"));
    assert_string_equal(r.nodes[0].resource, "nvidia.com/mig-3g.40gb");
    assert_int_equal(mete_why(e, 4, 200 * SECOND, &r), METE_OK);
    assert_string_equal(r.code_text, "NoNodeFits");
    assert_string_equal(r.message, "needs mig 7g.80gb; no such device is free");
    assert_sound(e);
    mete_engine_free(e);
}

static void says_what_else_would_start(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);
    const struct gpu_spec gpus[] = {
        {.model = "h100", .gib = 80, .profiles = {"3g.40gb", "2g.20gb"}, .starts = {0, 4}},
        {.model = "h100", .gib = 80},
        {0}};
    struct mete_reason r;

    (void)state;
    assert_int_equal(set_sliced(e, "a", gpus), METE_OK);
    add_asks(e, (struct ask_job){.id = 1, .asks = {{.count = 1, .profile = "3g.40gb"}}});
    add_asks(e, (struct ask_job){.id = 2, .asks = {{.count = 1, .profile = "3g.40gb"}}});
    ASSERT_CYCLE(e, "1:a(0:3g.40gb@0=MIG-a-0-0)");
    assert_int_equal(mete_why(e, 2, 200 * SECOND, &r), METE_OK);
    assert_string_equal(r.code_text, "NoNodeFits");
    assert_true(has_line(&r, "it asks for mig 2g.20gb, not mig 3g.40gb (on a)"));
    assert_true(has_line(&r, "it asks for 1 gpu, not mig 3g.40gb (on a)"));
    assert_true(has_line(&r, "job 1 ends"));
    assert_sound(e);
    mete_engine_free(e);
}

static void says_what_no_node_could_ever_hold(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);
    struct mete_reason r;

    (void)state;
    assert_int_equal(
        set_sliced(e, "a",
                   (struct gpu_spec[]){{.model = "a30", .gib = 24, .is_flexible = true}, {0}}),
        METE_OK);
    add_asks(e, (struct ask_job){.id = 1, .asks = {{.count = 1, .profile = "3g.40gb"}}});
    add_asks(e, (struct ask_job){.id = 2,
                                 .asks = {{.count = 3, .profile = "1g.6gb"},
                                          {.count = 1, .profile = "2g.12gb"}}});
    ASSERT_CYCLE(e, "");
    for (uint64_t id = 1; id <= 2; id++) {
        assert_int_equal(mete_why(e, id, 200 * SECOND, &r), METE_OK);
        assert_string_equal(r.code_text, "NeverFits");
    }
    assert_string_equal(r.message, "needs 3 x mig 1g.6gb and mig 2g.12gb on one node; no node that "
                                   "matches has that, even empty");
    mete_engine_free(e);
}

static void a_slice_may_ask_for_its_memory(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);

    (void)state;
    /* the gpu has 72 usable GiB: a slice of a seventh has 9 GiB, not 9.75 */
    assert_int_equal(
        set_sliced(e, "a",
                   (struct gpu_spec[]){{.model = "h100", .gib = 72, .is_flexible = true}, {0}}),
        METE_OK);
    add_asks(
        e, (struct ask_job){
               .id = 1, .asks = {{.count = 1, .profile = "1g.10gb", .memory_bytes = 9 * GIB + 1}}});
    add_asks(
        e, (struct ask_job){.id = 2,
                            .asks = {{.count = 1, .profile = "1g.10gb", .memory_bytes = 9 * GIB}}});
    ASSERT_CYCLE(e, "2:a(0:1g.10gb@6+)");
    mete_engine_free(e);
}

static void spreads_where_the_policy_says_so(void **state)
{
    struct mete_engine *e = mete_engine_new(&(struct mete_options){.policy = "spread"});
    const struct gpu_spec two[] = {{H100_FLEXIBLE}, {H100_FLEXIBLE}, {0}};

    (void)state;
    assert_int_equal(set_sliced(e, "a", two), METE_OK);
    for (uint64_t id = 1; id <= 3; id++)
        add_asks(e, (struct ask_job){.id = id, .asks = {{.count = 1, .profile = "1g.10gb"}}});
    ASSERT_CYCLE(e, "1:a(0:1g.10gb@6+) 2:a(1:1g.10gb@6+) 3:a(0:1g.10gb@4+)");
    mete_engine_free(e);
}

static void evicts_for_a_slice(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);

    (void)state;
    assert_int_equal(
        mete_queue_set(e, &(struct mete_queue){.name = "q", .within = METE_PREEMPT_LOWER_PRIORITY}),
        METE_OK);
    assert_int_equal(set_sliced(e, "a", (struct gpu_spec[]){{H100_FLEXIBLE}, {0}}), METE_OK);
    for (uint64_t id = 1; id <= 7; id++)
        add_asks(e, (struct ask_job){.id = id,
                                     .queue = "q",
                                     .is_preemptible = true,
                                     .asks = {{.count = 1, .profile = "1g.10gb"}}});
    ASSERT_CYCLE(e, "1:a(0:1g.10gb@6+) 2:a(0:1g.10gb@4+) 3:a(0:1g.10gb@5+) 4:a(0:1g.10gb@0+) "
                    "5:a(0:1g.10gb@1+) 6:a(0:1g.10gb@2+) 7:a(0:1g.10gb@3+)");
    add_asks(
        e, (struct ask_job){
               .id = 8, .queue = "q", .priority = 9, .asks = {{.count = 1, .profile = "2g.20gb"}}});
    ASSERT_CYCLE(e, "2 for 8 3 for 8");
    assert_int_equal(mete_workload_unplace(e, 2), METE_OK);
    assert_int_equal(mete_workload_unplace(e, 3), METE_OK);
    ASSERT_CYCLE(e, "8:a(0:2g.20gb@4+)");
    mete_engine_free(e);
}

static void replicas_serve_for_whole_gpus_unless_renamed(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);
    const struct gpu_spec mixed[] = {
        {.model = "h100", .gib = 80},
        {.model = "h100", .gib = 80, .replicas = 2},
        {.model = "h100", .gib = 80, .replicas = 2, .is_renamed = true},
        {0}};
    const struct mete_gpu_ask any = {.count = 1, .or_replica = true};
    struct mete_reason r;

    (void)state;
    assert_int_equal(set_sliced(e, "a", mixed), METE_OK);
    add_asks(e, (struct ask_job){.id = 1, .asks = {any}});
    add_asks(e, (struct ask_job){.id = 2, .asks = {any}});
    add_asks(e, (struct ask_job){.id = 3, .asks = {any}});
    add_asks(e, (struct ask_job){.id = 4, .asks = {any}});
    ASSERT_CYCLE(e, "1:a(0) 2:a(1/2) 3:a(1/2)");
    assert_int_equal(mete_why(e, 4, 100 * SECOND, &r), METE_OK);
    assert_int_equal(r.code, METE_REASON_NO_NODE_FITS);
    assert_string_equal(r.message, "needs 1 gpu; no such device is free");
    assert_int_equal(r.nodes[0].free, 0);
    assert_int_equal(r.nodes[0].capacity, 3); /* a whole gpu and two replicas */
    assert_int_equal(mete_workload_remove(e, 2), METE_OK);
    add_asks(e, (struct ask_job){.id = 5, .asks = {{.count = 1, .is_replica = true}}});
    ASSERT_CYCLE(e, "4:a(1/2) 5:a(2/2)");
    add_asks(e, (struct ask_job){.id = 6, .asks = {{.count = 4, .or_replica = true}}});
    assert_int_equal(mete_why(e, 6, 100 * SECOND, &r), METE_OK);
    assert_int_equal(r.code, METE_REASON_NEVER_FITS);
    mete_engine_free(e);
}

static void a_share_by_memory_has_compute_in_proportion(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);
    const struct mete_gpu_ask by_memory = {
        .count = 1, .is_by_memory = true, .memory_bytes = 30 * GIB};

    (void)state;
    assert_int_equal(set_sliced(e, "a", (struct gpu_spec[]){{.model = "h100", .gib = 80}, {0}}),
                     METE_OK);
    add_asks(e, (struct ask_job){.id = 1, .asks = {by_memory}});
    add_asks(e, (struct ask_job){.id = 2, .asks = {by_memory}});
    add_job(e, (struct job_spec){.id = 5, .gpus = 1, .milli = 250});
    add_asks(e, (struct ask_job){.id = 6, .asks = {by_memory}});
    ASSERT_CYCLE(e, "1:a(0:375,30Gi) 2:a(0:375,30Gi) 5:a(0:250,20Gi)");
    assert_int_equal(mete_workload_remove(e, 1), METE_OK);
    /* its shares keep their compute when the gpu's memory is told anew */
    assert_int_equal(set_sliced(e, "a", (struct gpu_spec[]){{.model = "h100", .gib = 90}, {0}}),
                     METE_OK);
    ASSERT_CYCLE(e, "6:a(0:375,30Gi)");
    assert_int_equal(mete_workload_remove(e, 2), METE_OK);
    assert_sound(e);
    mete_engine_free(e);
}

static void a_fence_keeps_the_shares_of_one_namespace_together(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);
    struct gpu_spec gpus[] = {{.model = "h100", .gib = 80, .is_fenced = true},
                              {.model = "h100", .gib = 80, .replicas = 2, .is_fenced = true},
                              {0}};
    const struct mete_gpu_ask half = {.count = 1, .gpu_milli = 400};
    const struct mete_gpu_ask replica = {.count = 1, .is_replica = true};
    struct mete_reason r;

    (void)state;
    assert_int_equal(set_sliced(e, "a", gpus), METE_OK);
    add_asks(e, (struct ask_job){.id = 1, .ns = "blue", .asks = {half}});
    add_asks(e, (struct ask_job){.id = 2, .ns = "blue", .asks = {replica}});
    ASSERT_CYCLE(e, "1:a(0:400,32Gi) 2:a(1/2)");
    add_asks(e, (struct ask_job){.id = 3, .ns = "green", .asks = {half}});
    add_asks(e, (struct ask_job){.id = 4, .ns = "green", .asks = {replica}});
    ASSERT_CYCLE(e, "");
    assert_int_equal(mete_why(e, 3, 100 * SECOND, &r), METE_OK);
    assert_string_equal(r.message, "needs 0.4 of a gpu; none of 1 is free; free ones are "
                                   "for pods of another namespace only");
    assert_int_equal(mete_why(e, 4, 100 * SECOND, &r), METE_OK);
    assert_string_equal(r.message, "needs 1 replica; no such device is free; free ones are for "
                                   "pods of another namespace only");
    assert_int_equal(mete_workload_remove(e, 1), METE_OK);
    assert_int_equal(mete_workload_remove(e, 2), METE_OK);
    ASSERT_CYCLE(e, "3:a(0:400,32Gi) 4:a(1/2)");
    /* without the fence namespaces mix; with it again, nobody joins until all have left */
    gpus[0].is_fenced = false;
    assert_int_equal(set_sliced(e, "a", gpus), METE_OK);
    add_asks(e, (struct ask_job){.id = 5, .ns = "blue", .asks = {half}});
    ASSERT_CYCLE(e, "5:a(0:400,32Gi)");
    gpus[0].is_fenced = true;
    assert_int_equal(set_sliced(e, "a", gpus), METE_OK);
    assert_int_equal(mete_workload_remove(e, 3), METE_OK);
    add_asks(e, (struct ask_job){.id = 6, .ns = "blue", .asks = {half}});
    ASSERT_CYCLE(e, "");
    assert_int_equal(mete_workload_remove(e, 5), METE_OK);
    ASSERT_CYCLE(e, "6:a(0:400,32Gi)");
    mete_engine_free(e);
}

/* As after a restart: pods are read before their node tells of its gpus. */
static void a_share_by_memory_fits_beside_one_restored_before_its_node(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);
    const struct mete_gpu_ask by_memory = {
        .count = 1, .is_by_memory = true, .memory_bytes = 50 * GIB};

    (void)state;
    assert_int_equal(
        restore_job(e, (struct job_spec){.id = 1, .gpus = 1, .milli = 250, .restored_on = "a"}, 1),
        METE_OK);
    assert_int_equal(set_sliced(e, "a", (struct gpu_spec[]){{.model = "h100", .gib = 80}, {0}}),
                     METE_OK);
    add_asks(e, (struct ask_job){.id = 2, .asks = {by_memory}});
    ASSERT_CYCLE(e, "2:a(0:625,50Gi)");
    assert_int_equal(set_sliced(e, "a", (struct gpu_spec[]){{.model = "h100", .gib = 90}, {0}}),
                     METE_OK);
    assert_int_equal(mete_workload_remove(e, 2), METE_OK);
    assert_sound(e);
    mete_engine_free(e);
}

static void refuses_what_cannot_be(void **state)
{
    static const struct {
        struct gpu_spec gpu;
        const char *message;
    } gpus[] = {
        {{.model = "t4", .gib = 16, .is_flexible = true},
         "node 'x': gpu 'x-0' is flexible, but no MIG geometry is known of a 't4' with this "
         "memory"},
        {{.model = "h100", .gib = 80, .replicas = 1000},
         "node 'x': gpu 'x-0' has 1000 replicas, want 1 to 256"},
        {{.model = "h100", .gib = 80, .replicas = 2, .is_flexible = true},
         "node 'x': gpu 'x-0' has replicas: it cannot be flexible"},
        {{H100_FLEXIBLE, .profiles = {"3g.40gb"}, .starts = {2}},
         "gpu 'x-0': slice '3g.40gb' cannot start at 2"},
        {{H100_FLEXIBLE, .profiles = {"3g.40gb", "1g.10gb"}, .starts = {0, 3}},
         "gpu 'x-0': slice '1g.10gb' at 3 does not fit beside the others"},
        {{H100_FLEXIBLE, .profiles = {"1g.11gb"}, .starts = {0}},
         "gpu 'x-0': its model has no slice '1g.11gb'"},
        {{.model = "h100", .gib = 80, .profiles = {"huge"}, .starts = {0}},
         "gpu 'x-0': slice 0: want a profile such as '1g.10gb', a start below 12 and a uuid or "
         "none"},
        {{.model = "h100", .gib = 80, .profiles = {"1g.10gb", "1g.10gb"}, .starts = {1, 1}},
         "gpu 'x-0': two slices start at 1"},
    };
    static const struct {
        struct mete_gpu_ask ask;
        const char *message;
    } asks[] = {
        {{.count = 65}, "ask 0: count 65 is not within 1 .. 64"},
        {{.count = 1, .profile = "big"}, "ask 0: want a profile such as '1g.10gb'"},
        {{.count = 1, .profile = "1g.10gb", .gpu_milli = 5},
         "ask 0: a slice or replica has no gpu_milli"},
        {{.count = 1, .is_replica = true, .memory_bytes = 5},
         "ask 0: a replica is no slice and has no memory of its own"},
        {{.count = 1, .gpu_milli = 1001},
         "ask 0: gpu_milli is not within 0 .. 1000, or memory_bytes not within 0 .. 2^60"},
    };
    struct mete_engine *e = mete_engine_new(NULL);

    (void)state;
    for (size_t i = 0; i < COUNT(gpus); i++) {
        assert_int_equal(set_sliced(e, "x", (struct gpu_spec[]){gpus[i].gpu, {0}}), METE_INVALID);
        assert_string_equal(mete_last_error(e), gpus[i].message);
    }
    for (size_t i = 0; i < COUNT(asks); i++) {
        assert_int_equal(add_asks(e, (struct ask_job){.id = 1, .asks = {asks[i].ask}}),
                         METE_INVALID);
        assert_string_equal(mete_last_error(e), asks[i].message);
    }
    assert_int_equal(mete_node_count(e), 0);
    assert_sound(e);
    mete_engine_free(e);
}

static void refuses_parts_that_are_not_of_the_mode(void **state)
{
    static const struct mete_slice slice = {"1g.10gb", 0, "MIG-x"};
    static const struct {
        struct mete_gpu gpu;
        const char *message;
    } cases[] = {
        {{.mode = METE_GPU_SLICES + 1}, "node 'x': gpu 'x-0': 3 is not a mode"},
        {{.mode = METE_GPU_REPLICAS, .slices = &slice, .n_slices = 1},
         "node 'x': gpu 'x-0' has slices, but is not in mode slices"},
        {{.mode = METE_GPU_SLICES, .slices = &slice, .n_slices = 99},
         "node 'x': gpu 'x-0' has 99 slices, want at most 12"},
        {{.mode = METE_GPU_WHOLE, .replicas = 2},
         "node 'x': gpu 'x-0' has replicas, but is not in mode replicas"},
        {{.mode = METE_GPU_REPLICAS}, "node 'x': gpu 'x-0' has 0 replicas, want 1 to 256"},
    };
    struct mete_engine *e = mete_engine_new(NULL);

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mete_gpu gpu = cases[i].gpu;

        gpu.uuid = "x-0";
        gpu.model = "h100";
        gpu.memory_bytes = 80 * GIB;
        gpu.numa_node = -1;
        gpu.link_group = -1;
        assert_int_equal(
            mete_node_set(e, &(struct mete_node){.name = "x", .gpus = &gpu, .n_gpus = 1}),
            METE_INVALID);
        assert_string_equal(mete_last_error(e), cases[i].message);
    }
    assert_int_equal(mete_node_count(e), 0);
    mete_engine_free(e);
}

static enum mete_result restore_slice(struct mete_engine *e, uint64_t id, const char *profile,
                                      uint32_t start, uint32_t ask)
{
    struct ask_job job = {.id = id, .asks = {{.count = 1, .profile = profile}}};
    const char *gpus[] = {"a-0"};
    const struct mete_device d = {.ask = ask, .gpu = "a-0", .profile = profile, .start = start};
    const struct mete_pod_placement pod = {
        .node = "a", .gpus = gpus, .n_gpus = 1, .devices = &d, .n_devices = 1};
    struct ask_parts parts;

    return mete_workload_restore(
        e, ask_parts(&job, &parts),
        &(struct mete_placement){.workload = id, .pods = &pod, .n_pods = 1});
}

static void takes_back_what_was_held_before_a_restart(void **state)
{
    struct mete_engine *e = mete_engine_new(NULL);

    (void)state;
    assert_int_equal(restore_slice(e, 1, "3g.40gb", 4, 0), METE_OK); /* before its node is set */
    assert_sound(e);
    assert_int_equal(set_sliced(e, "a", (struct gpu_spec[]){{H100_FLEXIBLE}, {0}}), METE_OK);
    assert_sound(e);
    assert_int_equal(restore_slice(e, 2, "1g.10gb", 5, 0), METE_CONFLICT);
    assert_string_equal(mete_last_error(e),
                        "gpu 'a-0': the slice at 4, held by workload 1, overlaps a slice at 5");
    assert_int_equal(restore_slice(e, 2, "1g.10gb", 3, 1), METE_INVALID);
    assert_int_equal(restore_slice(e, 2, "1g.10gb", 3, 0), METE_OK);
    assert_int_equal(restore_job(e, (struct job_spec){.id = 3, .gpus = 1, .restored_on = "a"}, 1),
                     METE_CONFLICT);
    assert_sound(e);
    add_asks(e, (struct ask_job){.id = 4, .asks = {{.count = 1, .profile = "2g.20gb"}}});
    ASSERT_CYCLE(e, "4:a(0:2g.20gb@0+)");
    /* the gpu is set to whole: holders keep their slices, and no further pod gets a part */
    assert_int_equal(set_sliced(e, "a", (struct gpu_spec[]){{.model = "h100", .gib = 80}, {0}}),
                     METE_OK);
    add_job(e, (struct job_spec){.id = 5, .gpus = 1});
    add_asks(e, (struct ask_job){.id = 6, .asks = {{.count = 1, .profile = "1g.10gb"}}});
    ASSERT_CYCLE(e, "");
    for (uint64_t id = 1; id <= 4; id++)
        if (id != 3)
            assert_int_equal(mete_workload_remove(e, id), METE_OK);
    ASSERT_CYCLE(e, "5:a(0)");
    mete_engine_free(e);
    e = mete_engine_new(NULL);
    assert_int_equal(set_sliced(e, "a", (struct gpu_spec[]){{.model = "h100", .gib = 80}, {0}}),
                     METE_OK);
    assert_int_equal(restore_slice(e, 1, "3g.40gb", 4, 0), METE_OK); /* a slice of a whole gpu */
    assert_sound(e);
    add_job(e, (struct job_spec){.id = 2, .gpus = 1});
    ASSERT_CYCLE(e, "");
    assert_int_equal(mete_workload_remove(e, 1), METE_OK);
    ASSERT_CYCLE(e, "2:a(0)");
    mete_engine_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_a_gpu_so_that_large_slices_stay_possible),
        cmocka_unit_test(gives_the_instances_that_there_are_by_name),
        cmocka_unit_test(what_nobody_holds_gives_way_and_what_is_held_stays),
        cmocka_unit_test(a_gpu_is_whole_again_once_nobody_holds_a_slice),
        cmocka_unit_test(a_gpu_that_keeps_mig_is_given_in_slices_only),
        cmocka_unit_test(several_kinds_in_one_pod),
        cmocka_unit_test(chooses_among_the_named_gpus_only),
        cmocka_unit_test(a_plain_ask_is_a_plain_pod_set),
        cmocka_unit_test(tries_another_way_where_the_first_does_not_serve_all),
        cmocka_unit_test(deals_the_large_slices_of_a_pod_first),
        cmocka_unit_test(counts_slices_and_replicas_for_quotas),
        cmocka_unit_test(says_that_a_gpu_is_free_in_pieces),
        cmocka_unit_test(says_what_else_would_start),
        cmocka_unit_test(says_what_no_node_could_ever_hold),
        cmocka_unit_test(a_slice_may_ask_for_its_memory),
        cmocka_unit_test(spreads_where_the_policy_says_so),
        cmocka_unit_test(evicts_for_a_slice),
        cmocka_unit_test(replicas_serve_for_whole_gpus_unless_renamed),
        cmocka_unit_test(a_share_by_memory_has_compute_in_proportion),
        cmocka_unit_test(a_fence_keeps_the_shares_of_one_namespace_together),
        cmocka_unit_test(a_share_by_memory_fits_beside_one_restored_before_its_node),
        cmocka_unit_test(refuses_what_cannot_be),
        cmocka_unit_test(refuses_parts_that_are_not_of_the_mode),
        cmocka_unit_test(takes_back_what_was_held_before_a_restart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
