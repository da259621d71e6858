/* test_gpu_charge.c - what attempts are charged for from one sample of a gpu to the next */

#include "base/mem.h"
#include "base/stamp.h"
#include "node/gpu_charge.h"
#include "node_world.h"
#include "prop.h"
#include "test.h"

#define S NS_PER_SEC

/* ---- arithmetic ---- */

static void busy_time_is_at_most_the_part_held(void **state)
{
    static const struct {
        struct gpu_part_held part;
        int64_t held_ns;
        int64_t busy_ns;
    } cases[] = {
        {{10 * S, 1000, 250, 1000, 1000}, 10 * S, 2500 * NS_PER_MS},          /* a whole gpu */
        {{10 * S, 300, 100, 1000, 1000}, 3 * S, S},                           /* a capped share */
        {{10 * S, 250, 900, 1000, 1000}, 2500 * NS_PER_MS, 2500 * NS_PER_MS}, /* a replica */
        {{7 * S, 428, 500, 428, 428}, 2996 * NS_PER_MS, 1498 * NS_PER_MS},    /* half of a slice */
        {{10 * S, 1000, -1, 1000, 1000}, 10 * S, -1},                         /* unknown */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(gpu_part_ns(&cases[i].part), cases[i].held_ns);
        assert_int_equal(gpu_part_busy_ns(&cases[i].part), cases[i].busy_ns);
    }
}

static void energy_follows_the_work_or_the_parts(void **state)
{
    const struct gpu_part_held works = {S, 300, 600, 1000, 1000};
    const struct gpu_part_held waits = {S, 500, 0, 1000, 1000};
    const struct gpu_part_held dark = {S, 500, -1, 1000, 1000};
    const struct gpu_part_held both[] = {works, waits};
    const struct gpu_part_held idle[] = {{S, 300, 0, 1000, 1000}, waits};
    const struct gpu_part_held unknown[] = {works, dark};
    int64_t mj[2];

    (void)state;
    gpu_energy_divide(1000, 0, both, 2, mj);
    assert_int_equal(mj[0], 1000);
    assert_int_equal(mj[1], 0);
    gpu_energy_divide(1000, 200, both, 2, mj); /* a quarter of the work is foreign */
    assert_int_equal(mj[0], 750);
    gpu_energy_divide(1000, 0, idle, 2, mj);
    assert_int_equal(mj[0], 375);
    assert_int_equal(mj[1], 625);
    gpu_energy_divide(1000, 0, unknown, 2, mj); /* by the parts held */
    assert_int_equal(mj[0], 375);
    assert_int_equal(mj[1], 625);
}

static void parts_add_up(uint64_t seed)
{
    struct prop p = {seed};
    struct gpu_part_held parts[8];
    size_t n = 1 + prop_below(&p, 8);
    int64_t energy_mj = (int64_t)prop_below(&p, 1000000);
    int64_t mj[8];
    int64_t sum_mj = 0;

    for (size_t i = 0; i < n; i++) {
        int64_t size = 1 + (int64_t)prop_below(&p, 1000);

        parts[i] = (struct gpu_part_held){.ns = (int64_t)prop_below(&p, 30 * S),
                                          .held_milli = 1 + (int64_t)prop_below(&p, 1000),
                                          .sm_milli = (int64_t)prop_below(&p, 1001),
                                          .full_milli = size,
                                          .size_milli = size};
        assert_in_range(gpu_part_busy_ns(&parts[i]), 0, gpu_part_ns(&parts[i]));
    }
    gpu_energy_divide(energy_mj, 0, parts, n, mj);
    for (size_t i = 0; i < n; i++) {
        assert_true(mj[i] >= 0);
        sum_mj += mj[i];
    }
    if (sum_mj != energy_mj)
        fail_msg("seed %llu: the parts are not the whole", (unsigned long long)seed);
}

/* Busy time is within the time held, and the parts of the energy are the gpu's. */
static void the_parts_always_add_up(void **state)
{
    struct prop_seeds seeds = prop_seeds(1000);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        parts_add_up(seed);
}

/* ---- rounds ---- */

/* A node with one gpu, whose runtime notes what is charged. */
struct bench {
    struct node_world w;
    struct runtime_ops ops;
    struct gpu_marks marks;
};

static struct gpu_used charged[2]; /* of the pods "u0" and "u1" */

static void note_gpus(void *self, const char *id, const struct gpu_used *g)
{
    (void)self;
    assert_true(id[0] == 'u' && (id[1] == '0' || id[1] == '1'));
    charged[id[1] - '0'] = *g;
}

static void bench_put(struct bench *b, const char *uid, const char *device)
{
    AUTO(json_freep)
    json_t *pod = node_world_pod(
        "{\"containers\":[{\"name\":\"m\",\"image\":\"host\",\"command\":[\"x\"]}]}", "{}");
    json_t *meta = json_object_at(pod, "metadata");
    AUTO_FREE char *devices = mem_format("{\"containers\":{\"m\":[\"%s\"]}}", device);

    json_put_text(meta, "uid", uid);
    json_put_text(meta, "name", uid);
    json_put_text(json_object_at(meta, "annotations"), "mete.dev/devices", devices);
    json_put(json_array_get(json_at(pod, "spec", "containers", NULL), 0), "resources",
             json_pack("{s:{s:i}}", "limits", "nvidia.com/gpu", 1));
    node_world_put(&b->w, pod);
    assert_int_equal(node_world_container(&b->w, uid[1] == '0' ? "u0-m-0" : "u1-m-0")->state,
                     RUNTIME_RUNNING);
}

static void bench_init(struct bench *b)
{
    *b = (struct bench){0};
    node_world_init(&b->w);
    b->ops = *b->w.runtime.ops;
    b->ops.add_gpus = note_gpus;
    b->w.runtime.ops = &b->ops;
    memset(charged, 0, sizeof(charged));
}

static void bench_done(struct bench *b)
{
    gpu_marks_done(&b->marks);
    node_world_done(&b->w);
}

/* One round: the gpu's counter of energy, and what "u0" uses (-2: no process). */
static void bench_round(struct bench *b, int64_t energy_mj, int64_t sm_milli)
{
    struct node_stats s = {0};
    struct gpu_sample g = GPU_SAMPLE_UNKNOWN;

    (void)snprintf(g.uuid, sizeof(g.uuid), "GPU-2");
    g.at_ns = loop_now_ns(b->w.loop);
    g.value[GPU_FIELD_ENERGY_MJ] = energy_mj;
    g.value[GPU_FIELD_PROCESSES] = sm_milli > -2;
    vec_add(&s.gpus, g);
    if (sm_milli > -2)
        vec_add(&s.container_gpus, (struct container_gpu){.pod_uid = "u0",
                                                          .name = "m",
                                                          .device = "GPU-2",
                                                          .memory_bytes = 500,
                                                          .sm_milli = sm_milli,
                                                          .n_processes = 1});
    gpu_charge(&b->marks, b->w.pods, &s);
    node_stats_done(&s);
}

static void holders_are_charged_from_sample_to_sample(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    bench_put(&b, "u0", "GPU-2/share:300,1073741824");
    bench_put(&b, "u1", "GPU-2/share:300,1073741824");
    node_world_advance(&b.w, 5 * S);
    bench_round(&b, 1000, 150);
    assert_int_equal(charged[0].ns, 0); /* nothing is known of the time before */
    node_world_advance(&b.w, 2 * S);
    bench_round(&b, 1600, 150);
    assert_int_equal(charged[0].busy_ns, 300 * NS_PER_MS);
    assert_int_equal(charged[0].idle_ns, 300 * NS_PER_MS);
    assert_int_equal(charged[0].energy_mj, 600);
    assert_int_equal(charged[0].memory_bytes, 500);
    assert_true(charged[0].is_busy);
    assert_int_equal(charged[1].busy_ns, 0); /* a holder without a process */
    assert_int_equal(charged[1].idle_ns, 600 * NS_PER_MS);
    assert_int_equal(charged[1].memory_bytes, 0);
    assert_true(charged[1].is_judged && !charged[1].is_busy);
    node_world_advance(&b.w, S);
    bench_round(&b, 100, -1); /* the counter began anew, and there is no power */
    assert_int_equal(charged[0].busy_ns + charged[0].idle_ns, 0);
    assert_int_equal(charged[0].energy_mj, -1);
    assert_false(charged[0].is_judged);
    memset(charged, 0, sizeof(charged));
    node_world_advance(&b.w, 60 * S);
    bench_round(&b, 200, 0);
    assert_int_equal(charged[0].ns, 0); /* too long a gap is unknown */
    bench_done(&b);
}

static void a_container_counts_from_its_start(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    bench_round(&b, 0, -2);
    node_world_advance(&b.w, 3 * S);
    bench_put(&b, "u0", "GPU-2/share:300,1073741824");
    node_world_advance(&b.w, S);
    bench_round(&b, 50, -2);
    assert_int_equal(charged[0].ns, S);
    assert_int_equal(charged[0].idle_ns, 300 * NS_PER_MS);
    bench_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busy_time_is_at_most_the_part_held),
        cmocka_unit_test(energy_follows_the_work_or_the_parts),
        cmocka_unit_test(the_parts_always_add_up),
        cmocka_unit_test(holders_are_charged_from_sample_to_sample),
        cmocka_unit_test(a_container_counts_from_its_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
