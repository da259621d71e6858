/*
 * test_gpu_watch.c - the watch over real helper processes and the emulated driver
 *
 * This program is also the helper.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/num.h"
#include "gpu/emulated.h"
#include "gpu/gpu_watch.h"
#include "gpu/gpusim_machine.h"
#include "made_sysfs.h"
#include "test.h"

#define DEADLINE_NS INT64_C(20000000000)

struct fixture {
    struct loop *loop;
    struct gpu_watch *watch;
    struct gpusim_machine *machine; /* the helpers' machine */
    char dir[64];
    char path[128];
    char root[128];  /* of the driver */
    const char *sys; /* AMD's and Intel's gpus; NULL: none */
    bool (*is_done)(const struct fixture *);
    bool was_late;
};

static char self[4096];

static void on_change(void *arg)
{
    struct fixture *f = arg;

    if (f->is_done && f->is_done(f))
        loop_linux_stop(f->loop);
}

static void on_late(void *arg)
{
    struct fixture *f = arg;

    f->was_late = true;
    loop_linux_stop(f->loop);
}

struct poll {
    struct fixture *f;
    struct loop_timer *timer;
};

static void poll_again(void *arg)
{
    struct poll *p = arg;

    on_change(p->f);
    loop_timer_set(p->timer, INT64_C(10000000));
}

/* Runs the loop until `is_done`, checked at changes and every 10 ms. */
static void until(struct fixture *f, bool (*is_done)(const struct fixture *))
{
    struct poll p = {.f = f};
    struct loop_timer *late = loop_timer_new(f->loop, on_late, f);

    p.timer = loop_timer_new(f->loop, poll_again, &p);
    f->is_done = is_done;
    loop_timer_set(p.timer, 0);
    loop_timer_set(late, DEADLINE_NS);
    assert_null(loop_linux_run(f->loop));
    loop_timer_free(late);
    loop_timer_free(p.timer);
    f->is_done = NULL;
    assert_false(f->was_late);
}

/* Installs the emulated driver in a root of the test's own. */
static void install(const char *root)
{
    AUTO_FREE char *dir = mem_format("%s/usr/lib64", root);
    AUTO_FREE char *path = mem_format("%s/libnvidia-ml.so.570.124.06", dir);
    AUTO_FREE char *link = mem_format("%s/libnvidia-ml.so.1", dir);
    AUTO(buf_done) struct buf bytes = {0};

    assert_null(dir_make(dir, 0755));
    assert_null(file_read(getenv("METE_TEST_NVML"), 64 << 20, &bytes));
    assert_null(file_write(path, 0755, (struct str){bytes.at, bytes.size}));
    assert_int_equal(symlink("libnvidia-ml.so.570.124.06", link), 0);
}

static int set_up(void **state)
{
    struct fixture *f = mem_alloc(sizeof(*f));
    AUTO_FREE struct gpusim_machine *m = mem_alloc(sizeof(*m));
    AUTO(fd_closep) int fd = -1;

    (void)snprintf(f->dir, sizeof(f->dir), "/tmp/mete-test-gpu-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    (void)snprintf(f->path, sizeof(f->path), "%s/machine.bin", f->dir);
    assert_null(emulated_compile("4xH100", NULL, "test", m));
    assert_null(file_write(f->path, 0644, (struct str){.at = (const char *)m, .size = sizeof(*m)}));
    (void)snprintf(f->root, sizeof(f->root), "%s/root", f->dir);
    install(f->root);
    fd = open(f->path, O_RDWR | O_CLOEXEC);
    f->machine = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(f->machine, MAP_FAILED);
    f->loop = loop_linux_new();
    *state = f;
    return 0;
}

static bool has_no_children(const struct fixture *f)
{
    siginfo_t info;

    (void)f;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    gpu_watch_free(f->watch);
    f->watch = NULL;
    until(f, has_no_children); /* the loop reaps the helpers, whose input has ended */
    loop_linux_free(f->loop);
    (void)munmap(f->machine, sizeof(*f->machine));
    assert_null(dir_remove(f->dir));
    free(f);
    return 0;
}

static void watch(struct fixture *f, const char *root, int64_t deadline_ns)
{
    struct gpu_watch *w = NULL;

    assert_null(gpu_watch_new(&(struct gpu_watch_options){.loop = f->loop,
                                                          .self_path = self,
                                                          .driver_root = root,
                                                          .machine = f->path,
                                                          .sys = f->sys,
                                                          .sample_every_ns = 20000000,
                                                          .deadline_ns = deadline_ns,
                                                          .on_change = on_change,
                                                          .arg = f},
                              &w));
    f->watch = w;
}

static bool is_ready(const struct fixture *f)
{
    return gpu_watch_is_ready(f->watch);
}

static bool has_sample(const struct fixture *f)
{
    const struct gpu_sample *s = gpu_watch_sample(f->watch, f->machine->gpus[1].uuid);

    return s && s->value[GPU_FIELD_UTILIZATION_PCT] == 87;
}

static void lists_and_samples_what_the_driver_shows(void **state)
{
    struct fixture *f = *state;
    const struct gpu *gpus;
    size_t n = 0;

    watch(f, f->root, 0);
    until(f, is_ready);
    gpus = gpu_watch_list(f->watch, &n);
    assert_int_equal(n, 4);
    assert_string_equal(gpus[2].uuid, f->machine->gpus[2].uuid);
    assert_string_equal(gpus[2].model, "h100");
    assert_int_equal(gpus[2].minor, 2);
    assert_int_equal(gpus[2].link_group, 0);
    assert_true(gpus[2].is_emulated);
    assert_int_equal(gpus[2].health, GPU_HEALTHY);
    assert_string_equal(gpu_watch_info(f->watch)->cuda_version, "12.8");
    f->machine->gpus[1].utilization_pct = 87;
    until(f, has_sample);
}

static void tells_the_files_of_the_driver(void **state)
{
    struct fixture *f = *state;
    const struct driver_root *root = NULL;

    watch(f, f->root, 0);
    until(f, is_ready);
    root = gpu_watch_root(f->watch);
    assert_non_null(root);
    assert_string_equal(root->version, "570.124.06");
    assert_true(root->is_emulated);
    assert_int_equal(root->files.n, 3); /* the library by two names, and the machine */
    assert_string_equal(root->files.at[0].name, "libnvidia-ml.so.1");
    assert_true(text_ends_with(root->files.at[0].path, "/libnvidia-ml.so.570.124.06"));
    assert_string_equal(root->files.at[2].name, GPUSIM_MACHINE_PATH);
    assert_string_equal(root->files.at[2].path, f->path);
}

static bool first_is_lost(const struct fixture *f)
{
    size_t n = 0;

    return gpu_watch_list(f->watch, &n)[0].health == GPU_LOST;
}

/* The event helper subscribes at an unknown time: repeat the report until it arrives. */
static bool hears_xid_48(const struct fixture *f)
{
    struct gpusim_gpu *g = &f->machine->gpus[2];
    struct gpu_xid x = {0};
    uint64_t n_dropped = 0;

    g->xids[g->n_xids % GPUSIM_XIDS_MAX] = 48;
    g->n_xids++;
    while (gpu_watch_next_xid(f->watch, &x, &n_dropped))
        if (x.xid == 48 && strcmp(x.uuid, g->uuid) == 0)
            return true;
    return false;
}

static void tells_of_xids_and_lost_gpus_and_keeps_the_others(void **state)
{
    struct fixture *f = *state;
    size_t n = 0;

    watch(f, f->root, 0);
    until(f, is_ready);
    until(f, hears_xid_48);
    f->machine->gpus[0].is_lost = 1;
    until(f, first_is_lost);
    assert_int_equal(gpu_watch_list(f->watch, &n)[1].health, GPU_HEALTHY);
    assert_int_equal(gpu_watch_list(f->watch, &n)[3].health, GPU_HEALTHY);
}

static bool all_are_healthy(const struct fixture *f)
{
    size_t n = 0;
    const struct gpu *gpus = gpu_watch_list(f->watch, &n);

    for (size_t i = 0; i < n; i++)
        if (gpus[i].health != GPU_HEALTHY)
            return false;
    return n == 4;
}

static void a_gpu_that_answers_again_is_healthy_again(void **state)
{
    struct fixture *f = *state;
    size_t n = 0;

    watch(f, f->root, 0);
    until(f, is_ready);
    for (int i = 0; i < 2; i++) {
        f->machine->gpus[0].is_lost = 1;
        until(f, first_is_lost);
        assert_string_not_equal(gpu_watch_list(f->watch, &n)[0].health_reason, "");
        f->machine->gpus[0].is_lost = 0;
        until(f, all_are_healthy);
        assert_string_equal(gpu_watch_list(f->watch, &n)[0].health_reason, "");
    }
}

enum {
    BURST = 12
};

static int64_t heard[BURST];
static size_t n_heard;

/* XIDs 1000, 1001 ... of the fourth gpu, which leave the gpu in service. */
static bool hears_the_burst(const struct fixture *f)
{
    struct gpu_xid x = {0};
    uint64_t n_dropped = 0;

    while (gpu_watch_next_xid(f->watch, &x, &n_dropped)) {
        assert_string_equal(x.uuid, f->machine->gpus[3].uuid);
        assert_int_equal(n_dropped, 0);
        if (x.xid >= 1000) {
            assert_true(n_heard < BURST);
            heard[n_heard++] = x.xid;
        }
    }
    return n_heard == BURST;
}

static void add_xid(struct gpusim_gpu *g, uint64_t xid)
{
    g->xids[g->n_xids % GPUSIM_XIDS_MAX] = xid;
    g->n_xids++;
}

static bool hears_any(const struct fixture *f)
{
    struct gpu_xid x = {0};
    uint64_t n_dropped = 0;

    add_xid(&f->machine->gpus[3], 13);
    return gpu_watch_next_xid(f->watch, &x, &n_dropped);
}

static bool shows_the_last_xid(const struct fixture *f)
{
    const struct gpu_sample *s = gpu_watch_sample(f->watch, f->machine->gpus[3].uuid);

    return s && s->value[GPU_FIELD_UTILIZATION_PCT] == 99; /* a sample after the burst */
}

static void no_xid_of_a_burst_is_lost_also_of_a_gpu_that_is(void **state)
{
    struct fixture *f = *state;
    struct gpusim_gpu *g = &f->machine->gpus[3];

    n_heard = 0;
    watch(f, f->root, 0);
    until(f, is_ready);
    until(f, hears_any);
    g->is_lost = 1; /* as with XID 79: the driver no longer gives the gpu's UUID */
    for (uint64_t i = 0; i < BURST; i++)
        add_xid(g, 1000 + i);
    until(f, hears_the_burst);
    for (int i = 0; i < BURST; i++)
        assert_int_equal(heard[i], 1000 + i);
    g->is_lost = 0;
    g->utilization_pct = 99;
    until(f, shows_the_last_xid);
    assert_int_equal(gpu_watch_sample(f->watch, g->uuid)->value[GPU_FIELD_XID_LAST],
                     1000 + BURST - 1);
}

/* SIGKILL ends the helpers: their successors list the gpus again. */
static void signal_helpers(int signal)
{
    char path[64];
    AUTO(buf_done) struct buf text = {0};
    struct str rest = {0};

    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    assert_null(file_read(path, 4096, &text));
    rest = (struct str){text.at, text.size};
    while (rest.at && rest.size > 0) {
        int64_t pid = 0;
        struct err *e = num_parse_int64(str_cut(&rest, ' '), 1, INT32_MAX, &pid);

        if (!e)
            assert_int_equal(kill((pid_t)pid, signal), 0);
        err_free(e);
    }
}

static bool is_the_order_new(const struct fixture *f)
{
    size_t n = 0;

    return strcmp(gpu_watch_list(f->watch, &n)[2].uuid, f->machine->gpus[2].uuid) == 0;
}

static bool knows_the_xid_of_the_fourth(const struct fixture *f)
{
    const struct gpu_sample *third = gpu_watch_sample(f->watch, f->machine->gpus[2].uuid);
    const struct gpu_sample *fourth = gpu_watch_sample(f->watch, f->machine->gpus[3].uuid);

    return third && fourth && fourth->value[GPU_FIELD_XID_LAST] == 48;
}

static void an_xid_stays_with_its_gpu_when_the_driver_counts_anew(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE struct gpusim_gpu *other = mem_alloc(sizeof(*other));
    const struct gpu *gpus = NULL;
    size_t n = 0;

    watch(f, f->root, 0);
    until(f, is_ready);
    until(f, hears_xid_48);
    signal_helpers(SIGSTOP); /* no helper reads the machine while two of its gpus are the same */
    *other = f->machine->gpus[2];
    f->machine->gpus[2] = f->machine->gpus[3];
    f->machine->gpus[3] = *other;
    signal_helpers(SIGKILL);
    until(f, is_the_order_new);
    gpus = gpu_watch_list(f->watch, &n);
    assert_string_equal(gpus[3].uuid, other->uuid);
    until(f, knows_the_xid_of_the_fourth);
    assert_int_equal(gpu_watch_sample(f->watch, gpus[2].uuid)->value[GPU_FIELD_XID_LAST], 0);
}

static bool second_does_not_answer_and_others_do(const struct fixture *f)
{
    size_t n = 0;
    const struct gpu *gpus = gpu_watch_list(f->watch, &n);
    const struct gpu_sample *s = gpu_watch_sample(f->watch, gpus[3].uuid);

    return n == 4 && gpus[1].health == GPU_NOT_ANSWERING && gpus[3].health == GPU_HEALTHY && s &&
           s->value[GPU_FIELD_UTILIZATION_PCT] == 55;
}

static void gives_up_on_a_gpu_that_hangs_and_goes_on_with_the_rest(void **state)
{
    struct fixture *f = *state;

    watch(f, f->root, INT64_C(300000000));
    until(f, is_ready);
    f->machine->gpus[1].hang_ms = 60000;
    f->machine->gpus[3].utilization_pct = 55;
    until(f, second_does_not_answer_and_others_do);
    f->machine->gpus[1].hang_ms = 0; /* lets the abandoned helper end */
}

static bool amd_has_samples(const struct fixture *f)
{
    size_t n = 0;
    const struct gpu *gpus = gpu_watch_list(f->watch, &n);

    return n == 6 && gpu_watch_sample(f->watch, gpus[5].uuid);
}

static bool sixth_does_not_answer_and_others_do(const struct fixture *f)
{
    size_t n = 0;
    const struct gpu *gpus = gpu_watch_list(f->watch, &n);
    const struct gpu_sample *s = gpu_watch_sample(f->watch, gpus[4].uuid);

    return n == 6 && gpus[5].health == GPU_NOT_ANSWERING && gpus[4].health == GPU_HEALTHY &&
           gpus[0].health == GPU_HEALTHY && s && s->value[GPU_FIELD_UTILIZATION_PCT] == 55;
}

/* A file of /sys that does not answer is a pipe without a writer. */
static void gives_up_on_a_gpu_of_amd_that_hangs(void **state)
{
    static const char busy[] = "bus/pci/devices/0000:15:00.0/gpu_busy_percent";
    struct fixture *f = *state;
    struct made_amd b = {.card = 1,
                         .render = 128,
                         .node = 2,
                         .bus = 5,
                         .device = 0x74a1,
                         .unique_id = 77,
                         .memory_bytes = INT64_C(192) << 30,
                         .simds = 1216,
                         .gfx = 90402,
                         .partitions = 1};
    struct made_tree tree;
    AUTO_FREE char *path = NULL;
    AUTO(fd_closep) int fd = -1;

    tree_init(&tree);
    path = mem_format("%s/%s", tree.dir, busy);
    sys_amd(&tree, &b);
    b = (struct made_amd){.card = 2,
                          .render = 129,
                          .node = 3,
                          .bus = 0x15,
                          .device = 0x74a1,
                          .unique_id = 78,
                          .memory_bytes = INT64_C(192) << 30,
                          .simds = 1216,
                          .gfx = 90402,
                          .partitions = 1};
    sys_amd(&tree, &b);
    f->sys = tree.dir;
    watch(f, f->root, INT64_C(1000000000));
    until(f, amd_has_samples);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    sys_put(&tree, "bus/pci/devices/0000:05:00.0", "gpu_busy_percent", "55");
    until(f, sixth_does_not_answer_and_others_do);
    fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC); /* lets the abandoned helper end */
    assert_true(fd >= 0);
    tree_done(&tree);
}

static bool all_do_not_answer(const struct fixture *f)
{
    size_t n = 0;
    const struct gpu *gpus = gpu_watch_list(f->watch, &n);

    for (size_t i = 0; i < n; i++)
        if (gpus[i].health != GPU_NOT_ANSWERING)
            return false;
    return n == 4;
}

static void asks_again_when_the_driver_lets_its_helpers_go(void **state)
{
    struct fixture *f = *state;

    watch(f, f->root, INT64_C(300000000));
    until(f, is_ready);
    for (int i = 0; i < 4; i++)
        f->machine->gpus[i].hang_ms = UINT32_MAX;
    until(f, all_do_not_answer);
    for (int i = 0; i < 4; i++)
        f->machine->gpus[i].hang_ms = 0;
    until(f, all_are_healthy);
}

static void says_why_there_is_no_driver(void **state)
{
    struct fixture *f = *state;
    size_t n = 1;

    watch(f, "/nonexistent", 0);
    until(f, is_ready);
    assert_null(gpu_watch_info(f->watch));
    assert_non_null(strstr(gpu_watch_problem(f->watch), "no nvidia driver here"));
    (void)gpu_watch_list(f->watch, &n);
    assert_int_equal(n, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lists_and_samples_what_the_driver_shows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tells_the_files_of_the_driver, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tells_of_xids_and_lost_gpus_and_keeps_the_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_gpu_that_answers_again_is_healthy_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(no_xid_of_a_burst_is_lost_also_of_a_gpu_that_is, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_xid_stays_with_its_gpu_when_the_driver_counts_anew,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(gives_up_on_a_gpu_of_amd_that_hangs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gives_up_on_a_gpu_that_hangs_and_goes_on_with_the_rest,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(asks_again_when_the_driver_lets_its_helpers_go, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(says_why_there_is_no_driver, set_up, tear_down),
    };

    if (argc > 1 && strcmp(argv[1], "gpu-helper") == 0)
        return gpu_helper_main(argc - 1, argv + 1);
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
