/* test_gpu_partitions.c - changes of MIG instances, with a driver and a server played by the test
 */

#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "kinds/pod/pod_state.h"
#include "node/gpu_partitions.h"
#include "sim_loop.h"
#include "test.h"

static struct {
    struct loop *loop;
    struct client client;
    struct client_call call;
    client_done_fn asked; /* the question for pods; NULL: none */
    void *asked_arg;
    struct gpu_partitions *partitions;
    char dir[64];
    struct gpu gpu; /* as the driver has it */
    uint64_t n_lists;
    struct partition_plan plan;                   /* under way */
    void (*done)(void *arg, const struct err *e); /* of the plan; NULL: none */
    void *done_arg;
    unsigned n_changed;
} w;

static struct client_call *on_ask(void *self, const struct client_request *r, client_data_fn data,
                                  client_done_fn done, void *arg)
{
    (void)self;
    (void)data;
    assert_string_equal(r->method, "GET");
    assert_string_equal(r->path, "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1");
    assert_null(w.asked);
    w.asked = done;
    w.asked_arg = arg;
    return &w.call;
}

static void on_cancel(struct client_call *call)
{
    (void)call;
    w.asked = NULL;
}

static const struct client_ops ops = {.start = on_ask, .cancel = on_cancel};

static void answer_pods(const char *text)
{
    AUTO(buf_done) struct buf body = {0};
    AUTO_FREE char *full = mem_strdup(text);
    client_done_fn asked = w.asked;
    struct client_reply reply = {.status = 200};

    for (char *at = full; *at; at++)
        if (*at == '\'')
            *at = '"';
    for (const char *at = full; *at; at++) /* ` is a quote within a text */
        buf_printf(&body, "%s%c", *at == '`' ? "\\" : "", *at == '`' ? '"' : *at);
    reply.body = (struct str){.at = body.at, .size = body.size};
    assert_non_null(asked);
    w.asked = NULL;
    asked(w.asked_arg, NULL, &reply);
}

static struct err *on_start(void *self, const char *uuid, const struct partition_plan *plan,
                            void (*done)(void *arg, const struct err *e), void *arg)
{
    (void)self;
    assert_string_equal(uuid, "GPU-a");
    assert_null(w.done);
    w.plan = *plan;
    w.done = done;
    w.done_arg = arg;
    return NULL;
}

static uint64_t on_list_number(void *self)
{
    (void)self;
    return w.n_lists;
}

static void on_changed(void *arg)
{
    (void)arg;
    w.n_changed++;
}

static void begin(void)
{
    const struct gpu_partitions_options o = {.loop = w.loop,
                                             .client = &w.client,
                                             .node = "n1",
                                             .dir = w.dir,
                                             .driver = {on_start, on_list_number, NULL},
                                             .changed = on_changed};

    assert_null(gpu_partitions_new(&o, &w.partitions));
}

/* The process of the node ends and starts again. */
static void restart(void)
{
    gpu_partitions_free(w.partitions);
    w.done = NULL;
    begin();
}

static int setup(void **state)
{
    (void)state;
    memset(&w, 0, sizeof(w));
    w.loop = sim_loop_new();
    w.client = (struct client){&ops, NULL};
    w.call.ops = &ops;
    (void)snprintf(w.dir, sizeof(w.dir), "/tmp/mete-partitions-XXXXXX");
    assert_non_null(mkdtemp(w.dir));
    w.gpu = (struct gpu)GPU_UNKNOWN(0);
    (void)snprintf(w.gpu.uuid, sizeof(w.gpu.uuid), "GPU-a");
    (void)snprintf(w.gpu.model, sizeof(w.gpu.model), "h100");
    w.gpu.memory_bytes = INT64_C(81559) << 20;
    w.gpu.mig_mode = 0;
    begin();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    gpu_partitions_free(w.partitions);
    sim_loop_free(w.loop);
    return dir_remove(w.dir) ? 1 : 0;
}

/* Carries out the first `n` steps of the plan. */
static void carry_out(size_t n)
{
    for (size_t i = 0; i < n && i < w.plan.n; i++) {
        const struct partition_step *s = &w.plan.steps[i];
        struct gpu_slice *slice = &w.gpu.slices[w.gpu.n_slices];

        if (s->op == PARTITION_ENABLE)
            w.gpu.mig_mode = 1;
        if (s->op != PARTITION_CREATE)
            continue;
        *slice = (struct gpu_slice){.start = s->start, .gpu_instance = (int)i};
        (void)snprintf(slice->profile, sizeof(slice->profile), "%s", s->profile);
        (void)snprintf(slice->uuid, sizeof(slice->uuid), "MIG-%u", s->start);
        w.gpu.n_slices++;
    }
}

static void finish(const char *error)
{
    void (*done)(void *arg, const struct err *e) = w.done;
    AUTO(err_freep) struct err *e = error ? err_new(ERR_UNAVAILABLE, "%s", error) : NULL;

    assert_non_null(done);
    w.done = NULL;
    done(w.done_arg, e);
}

/* The gpu as the node reports it. */
static struct gpu applied(const char *mode, const struct gpu_holding *h, size_t n,
                          enum gpu_partition_state want)
{
    struct gpu g = w.gpu;
    struct gpu_wish wish = {0};
    AUTO(err_freep) struct err *e = mode ? gpu_wish_parse(mode, &wish) : NULL;

    assert_null(e);
    wish.is_asked = mode != NULL;
    assert_int_equal(gpu_partitions_apply(w.partitions, &wish, h, n, &g), want);
    return g;
}

/* The server has what the node reports. */
static void report(const struct gpu *g)
{
    AUTO(json_freep)
    json_t *list = json_pack("[{s:s, s:s}]", "uuid", g->uuid, "healthReason", g->health_reason);
    AUTO_FREE char *text = json_format(list);
    AUTO(json_freep)
    json_t *node = json_pack("{s:{s:{s:s}}}", "metadata", "annotations", NODE_GPUS, text);

    gpu_partitions_advance(w.partitions, node);
}

static bool has_journal(void)
{
    AUTO_FREE char *path = mem_format("%s/GPU-a", w.dir);

    return file_exists(path);
}

#define NO_PODS "{'items':[]}"

static void a_gpu_leaves_service_before_it_changes(void **state)
{
    struct gpu g = applied("slices=1g.10gb:2", NULL, 0, GPU_PARTITION_PENDING);

    (void)state;
    assert_int_equal(g.health, GPU_UNHEALTHY);
    report(&w.gpu); /* the server does not know it yet */
    assert_null(w.asked);
    report(&g);
    assert_null(w.done);
    answer_pods(NO_PODS);
    assert_int_equal(w.plan.n, 3);
    assert_true(has_journal());
    carry_out(3);
    finish(NULL);
    /* Until the driver's next list, the old one counts for nothing. */
    g = applied("slices=1g.10gb:2", NULL, 0, GPU_PARTITION_PENDING);
    assert_int_equal(g.health, GPU_UNHEALTHY);
    w.n_lists++;
    g = applied("slices=1g.10gb:2", NULL, 0, GPU_PARTITION_DONE);
    assert_int_equal(g.health, GPU_HEALTHY);
    assert_false(has_journal());
}

static void a_pod_that_came_first_keeps_the_gpu(void **state)
{
    struct gpu g = applied("slices=1g.10gb:2", NULL, 0, GPU_PARTITION_PENDING);
    const struct gpu_holding h = {.device = device_whole("GPU-a"), .pod = "default/p"};

    (void)state;
    report(&g);
    answer_pods("{'items':[{'metadata':{'name':'p','annotations':{'mete.dev/devices':"
                "'{`containers`:{`main`:[`GPU-a`]}}'}}}]}");
    assert_null(w.done);
    assert_false(has_journal());
    g = applied("slices=1g.10gb:2", &h, 1, GPU_PARTITION_BLOCKED);
    assert_int_equal(g.health, GPU_HEALTHY);
    assert_string_equal(g.mode_problem, "MIG on waits for the end of default/p");
}

/* Whichever step is the last before the crash, and whether the wish is still there or not. */
static void a_crash_at_any_step_is_completed(void **state)
{
    for (size_t steps = 0; steps <= 3; steps++) {
        for (int is_asked = 0; is_asked < 2; is_asked++) {
            const char *wish = is_asked ? "slices=1g.10gb:2" : NULL;
            struct gpu g;

            (void)teardown(state);
            (void)setup(state);
            g = applied("slices=1g.10gb:2", NULL, 0, GPU_PARTITION_PENDING);
            report(&g);
            answer_pods(NO_PODS);
            carry_out(steps);
            restart();
            w.n_lists++;
            g = applied(wish, NULL, 0, steps < 3 ? GPU_PARTITION_PENDING : GPU_PARTITION_DONE);
            if (steps < 3) {
                report(&g);
                answer_pods(NO_PODS);
                carry_out(SIZE_MAX);
                finish(NULL);
                w.n_lists++;
                (void)applied(wish, NULL, 0, GPU_PARTITION_DONE);
            }
            assert_int_equal(w.gpu.n_slices, 2);
            assert_false(has_journal());
        }
    }
}

static void a_wish_that_was_being_written_is_forgotten(void **state)
{
    AUTO_FREE char *path = mem_format("%s/GPU-a.tmp.x1y2z3", w.dir);

    (void)state;
    assert_null(file_write(path, 0600, STR("slices=1g.")));
    restart();
    assert_false(file_exists(path));
    (void)applied(NULL, NULL, 0, GPU_PARTITION_DONE);
}

static void a_failure_is_named_and_tried_again(void **state)
{
    struct gpu g = applied("slices=1g.10gb:2", NULL, 0, GPU_PARTITION_PENDING);

    (void)state;
    report(&g);
    answer_pods(NO_PODS);
    finish("the gpu needs a reset");
    w.n_lists++;
    g = applied("slices=1g.10gb:2", NULL, 0, GPU_PARTITION_FAILED);
    assert_string_equal(g.mode_problem, "the gpu needs a reset");
    assert_int_equal(g.health, GPU_HEALTHY);
    w.n_changed = 0;
    sim_loop_advance(w.loop, INT64_C(11) * 1000000000);
    assert_true(w.n_changed > 0);
    g = applied("slices=1g.10gb:2", NULL, 0, GPU_PARTITION_PENDING);
    report(&g);
    answer_pods(NO_PODS);
    assert_non_null(w.done);
}

static void slices_of_flexible_gpus_need_no_report(void **state)
{
    struct gpu_holding h = {.pod = "default/p"};
    struct gpu g;

    (void)state;
    w.gpu.mig_mode = 1;
    assert_null(device_parse("GPU-a/slice:2g.20gb@4", &h.device));
    g = applied("flexible", &h, 1, GPU_PARTITION_PENDING);
    assert_int_equal(g.health, GPU_HEALTHY);
    gpu_partitions_advance(w.partitions, NULL);
    assert_int_equal(w.plan.n, 1);
    carry_out(1);
    finish(NULL);
    w.n_lists++;
    (void)applied("flexible", &h, 1, GPU_PARTITION_DONE);
}

/* Only a reset switches MIG on: until then no pod gets a slice. */
static void a_flexible_gpu_that_needs_a_reset_leaves_service_for_mig(void **state)
{
    struct gpu g;

    (void)state;
    w.gpu.architecture = 7;
    (void)snprintf(w.gpu.model, sizeof(w.gpu.model), "a100");
    g = applied("flexible", NULL, 0, GPU_PARTITION_PENDING);
    assert_int_equal(g.health, GPU_UNHEALTHY);
    report(&g);
    answer_pods(NO_PODS);
    assert_int_equal(w.plan.n, 1);
    finish("the gpu needs a reset");
    w.n_lists++;
    g = applied("flexible", NULL, 0, GPU_PARTITION_FAILED);
    assert_string_equal(g.mode_problem, "the gpu needs a reset");
    w.gpu.mig_mode = 1; /* after the reset */
    g = applied("flexible", NULL, 0, GPU_PARTITION_DONE);
    assert_int_equal(g.health, GPU_HEALTHY);
    assert_string_equal(g.mode_problem, "");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_gpu_leaves_service_before_it_changes),
        CASE(a_pod_that_came_first_keeps_the_gpu),
        CASE(a_crash_at_any_step_is_completed),
        CASE(a_failure_is_named_and_tried_again),
        CASE(slices_of_flexible_gpus_need_no_report),
        CASE(a_wish_that_was_being_written_is_forgotten),
        CASE(a_flexible_gpu_that_needs_a_reset_leaves_service_for_mig),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
