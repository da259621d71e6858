/* test_node_usage.c - tests of usage and cgroup statistics */

#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "node/runtime/cgroup_stuck.h"
#include "node/runtime/usage.h"
#include "test.h"

#define KIB INT64_C(1024)

/* ---- cgroups ---- */

struct tree {
    char dir[64];
};

static void tree_init(struct tree *t)
{
    (void)snprintf(t->dir, sizeof(t->dir), "/tmp/mete-test-cgroup-XXXXXX");
    assert_non_null(mkdtemp(t->dir));
}

static void tree_done(struct tree *t)
{
    assert_null(dir_remove(t->dir));
}

static void put_file(const struct tree *t, const char *dir, const char *name, const char *text)
{
    AUTO_FREE char *at = mem_format("%s%s", t->dir, dir);
    AUTO_FREE char *path = mem_format("%s/%s", at, name);

    assert_null(dir_make(at, 0755));
    assert_null(file_write(path, 0644, str_of(text)));
}

static void finds_the_process_that_waits_in_the_kernel(void **state)
{
    struct tree cgroups;
    struct tree proc;
    AUTO_FREE char *waits = NULL;
    AUTO_FREE char *sleeps = NULL;

    (void)state;
    tree_init(&cgroups);
    tree_init(&proc);
    put_file(&cgroups, "/mete/x", "cgroup.procs", "7\n4711\n");
    put_file(&cgroups, "/pids/mete/y", "cgroup.procs", "7\n"); /* v1 */
    put_file(&proc, "/7", "stat", "7 (a) b) S 1 1\n");
    put_file(&proc, "/7", "comm", "a) b\n");
    put_file(&proc, "/4711", "stat", "4711 (python) D 1 1\n");
    put_file(&proc, "/4711", "comm", "python\n");
    put_file(&proc, "/4711", "wchan", "nvidia_ioctl");
    waits = cgroup_stuck(cgroups.dir, proc.dir, "/mete/x");
    sleeps = cgroup_stuck(cgroups.dir, proc.dir, "/mete/y");
    assert_string_equal(waits, "process 4711 (python) waits in the kernel, at nvidia_ioctl");
    assert_string_equal(sleeps, "process 7 (a) b) is in state S");
    assert_null(cgroup_stuck(cgroups.dir, proc.dir, "/mete/z"));
    tree_done(&cgroups);
    tree_done(&proc);
}

static void reads_both_layouts(void **state)
{
    struct cgroup_stats s = {0};
    struct tree v1;
    struct tree v2;

    (void)state;
    tree_init(&v1);
    put_file(&v1, "/cpuacct/mete/x", "cpuacct.usage", "123456789\n");
    put_file(&v1, "/memory/mete/x", "memory.usage_in_bytes", "5000\n");
    put_file(&v1, "/memory/mete/x", "memory.max_usage_in_bytes", "9000\n");
    put_file(&v1, "/memory/mete/x", "memory.stat",
             "cache 4000\ninactive_file 1\ntotal_inactive_file 3000\n");
    assert_null(cgroup_stats_read(v1.dir, "/mete/x", &s));
    assert_int_equal(s.cpu_ns, 123456789);
    assert_int_equal(s.memory_bytes, 2000);
    assert_int_equal(s.memory_peak_bytes, 9000);
    tree_done(&v1);
    tree_init(&v2);
    put_file(&v2, "", "cgroup.controllers", "cpu memory\n");
    put_file(&v2, "/mete/x", "cpu.stat", "usage_usec 1500\nuser_usec 1000\n");
    put_file(&v2, "/mete/x", "memory.current", "5000\n");
    put_file(&v2, "/mete/x", "memory.stat", "anon 1\ninactive_file 6000\n");
    assert_null(cgroup_stats_read(v2.dir, "/mete/x", &s));
    assert_int_equal(s.cpu_ns, 1500000);
    assert_int_equal(s.memory_bytes, 0);
    assert_int_equal(s.memory_peak_bytes, -1); /* an older kernel: unknown, not 0 */
    tree_done(&v2);
}

static void says_that_there_is_no_cgroup(void **state)
{
    struct cgroup_stats s = {1, 2, 3};
    struct tree t;

    (void)state;
    tree_init(&t);
    for (int i = 0; i < 2; i++) {
        AUTO(err_freep) struct err *e = cgroup_stats_read(t.dir, "/mete/x", &s);

        assert_non_null(e);
        assert_int_equal(err_http(e), 404);
        put_file(&t, "", "cgroup.controllers", "");
    }
    tree_done(&t);
}

static void reads_the_machine(void **state)
{
    struct machine_load l = {0};
    struct tree t;

    (void)state;
    tree_init(&t);
    put_file(&t, "", "stat", "cpu  10 20 30 4000 500 6 7 8 900 0\ncpu0 1 1 1 1\n");
    put_file(&t, "", "meminfo",
             "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    400 kB\n");
    assert_null(machine_load_read(t.dir, &l));
    assert_int_equal(l.cpu_ns, (10 + 20 + 30 + 6 + 7 + 8) * (NS_PER_SEC / 100));
    assert_int_equal(l.memory_bytes, 600 * KIB);
    put_file(&t, "", "meminfo", "MemTotal: 5 kB\n");
    {
        AUTO(err_freep) struct err *e = machine_load_read(t.dir, &l);

        assert_non_null(e);
        assert_int_equal(l.memory_bytes, 600 * KIB); /* untouched */
    }
    tree_done(&t);
}

/* ---- sums ---- */

static struct cgroup_stats stats(int64_t cpu_ns, int64_t memory_bytes, int64_t peak_bytes)
{
    return (struct cgroup_stats){cpu_ns, memory_bytes, peak_bytes};
}

static void memory_counts_from_sample_to_sample(void **state)
{
    const struct cgroup_stats first = stats(1000, 10 * KIB, 20 * KIB);
    const struct cgroup_stats second = stats(3 * NS_PER_SEC, 100 * KIB, 100 * KIB);
    const struct cgroup_stats end = stats(4 * NS_PER_SEC, 0, 150 * KIB);
    struct usage u = USAGE_UNKNOWN;

    (void)state;
    usage_add(&u, &first, 0, 10 * NS_PER_SEC); /* 10 KiB since the start */
    assert_int_equal(u.total.memory_kib_seconds, 100);
    usage_add(&u, &second, 0, 20 * NS_PER_SEC); /* 10 KiB for 10 s more */
    assert_int_equal(u.total.memory_kib_seconds, 200);
    assert_int_equal(u.window_ns, 10 * NS_PER_SEC);
    assert_int_equal(u.rate_nano, 299999900); /* of a core: 3 s less 1 us in 10 s */
    usage_end(&u, &end, 0, 21 * NS_PER_SEC);  /* 100 KiB for the last second */
    assert_int_equal(u.total.memory_kib_seconds, 300);
    assert_int_equal(u.total.cpu_ns, 4 * NS_PER_SEC);
    assert_int_equal(u.total.memory_peak_bytes, 150 * KIB);
}

static void what_was_never_sampled_counts_its_peak(void **state)
{
    const struct cgroup_stats end = stats(5, 0, 8 * KIB);
    struct usage u = USAGE_UNKNOWN;

    (void)state;
    usage_end(&u, &end, NS_PER_SEC, 3 * NS_PER_SEC);
    assert_int_equal(u.total.memory_kib_seconds, 16);
    assert_int_equal(u.total.cpu_ns, 5);
}

static void parts_of_a_second_are_not_lost(void **state)
{
    const struct cgroup_stats s = stats(0, KIB, KIB);
    struct usage u = USAGE_UNKNOWN;

    (void)state;
    for (int64_t i = 1; i <= 30; i++)
        usage_add(&u, &s, 0, i * 100 * NS_PER_MS);
    assert_int_equal(u.total.memory_kib_seconds, 3);
}

static void what_a_kernel_does_not_tell_stays_unknown(void **state)
{
    const struct cgroup_stats s = stats(-1, -1, -1);
    struct usage u = USAGE_UNKNOWN;

    (void)state;
    usage_add(&u, &s, 0, NS_PER_SEC);
    usage_end(&u, &s, 0, 2 * NS_PER_SEC);
    assert_int_equal(u.total.cpu_ns, -1);
    assert_int_equal(u.total.memory_kib_seconds, -1);
    assert_int_equal(u.total.memory_peak_bytes, -1);
    assert_int_equal(u.rate_nano, -1);
}

static void goes_on_after_a_restart(void **state)
{
    const struct cgroup_stats s = stats(7, 3 * KIB, 5 * KIB);
    struct usage u = USAGE_UNKNOWN;
    struct usage back = {0};
    AUTO_FREE char *text = NULL;

    (void)state;
    usage_add(&u, &s, 0, 1500 * NS_PER_MS);
    text = usage_format(&u);
    usage_parse(str_of(text), &back);
    usage_add(&u, &s, 0, 20 * NS_PER_SEC);
    usage_add(&back, &s, 0, 20 * NS_PER_SEC);
    assert_int_equal(back.total.memory_kib_seconds, u.total.memory_kib_seconds);
    assert_int_equal(back.total.cpu_ns, 7);
    assert_int_equal(back.kib_ms, u.kib_ms);
    usage_parse(STR("{"), &back);
    assert_false(back.is_known);
    usage_parse(STR("[]"), &back);
    assert_false(back.is_known);
}

static struct gpu_used used(int64_t s, int64_t busy_milli, int64_t memory_bytes)
{
    return (struct gpu_used){.ns = s * NS_PER_SEC,
                             .busy_ns = s * busy_milli * NS_PER_MS,
                             .idle_ns = s * (1000 - busy_milli) * NS_PER_MS,
                             .energy_mj = 100,
                             .memory_bytes = memory_bytes,
                             .is_judged = true,
                             .is_busy = busy_milli >= 50};
}

static void gpus_add_up_and_idle_time_begins_again_after_work(void **state)
{
    const struct gpu_used all[] = {used(2, 0, 50), used(1, 500, 70), used(3, 10, 60)};
    const struct gpu_used dark = {.ns = NS_PER_SEC, .energy_mj = -1, .memory_bytes = -1};
    struct usage u = USAGE_UNKNOWN;
    struct usage back = {0};
    AUTO_FREE char *text = NULL;

    (void)state;
    usage_add_gpus(&u, &all[0]);
    assert_int_equal(u.gpu_idle_for_ns, 2 * NS_PER_SEC);
    usage_add_gpus(&u, &all[1]);
    assert_int_equal(u.gpu_idle_for_ns, 0);
    usage_add_gpus(&u, &all[2]);
    usage_add_gpus(&u, &dark); /* the driver told nothing */
    assert_int_equal(u.gpu_idle_for_ns, 3 * NS_PER_SEC);
    assert_int_equal(u.total.gpu_busy_ns, 530 * NS_PER_MS);
    assert_int_equal(u.total.gpu_idle_ns, 5470 * NS_PER_MS);
    assert_int_equal(u.total.gpu_energy_mj, 300);
    assert_int_equal(u.total.gpu_memory_peak_bytes, 70);
    assert_int_equal(u.total.cpu_ns, -1); /* no sample of the cgroup yet */
    text = usage_format(&u);
    usage_parse(str_of(text), &back);
    assert_false(back.is_known);
    assert_memory_equal(&back.total, &u.total, sizeof(u.total));
    assert_int_equal(back.gpu_idle_for_ns, 3 * NS_PER_SEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_process_that_waits_in_the_kernel),
        cmocka_unit_test(reads_both_layouts),
        cmocka_unit_test(says_that_there_is_no_cgroup),
        cmocka_unit_test(reads_the_machine),
        cmocka_unit_test(memory_counts_from_sample_to_sample),
        cmocka_unit_test(what_was_never_sampled_counts_its_peak),
        cmocka_unit_test(parts_of_a_second_are_not_lost),
        cmocka_unit_test(what_a_kernel_does_not_tell_stays_unknown),
        cmocka_unit_test(goes_on_after_a_restart),
        cmocka_unit_test(gpus_add_up_and_idle_time_begins_again_after_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
