/*
 * test_mps_watch.c - the watch over real processes
 *
 * This program is also the helper, the daemon and its commands: NVIDIA's nvidia-cuda-mps-control
 * takes the same arguments.
 */

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "gpu/mps_process.h"
#include "gpu/mps_watch.h"
#include "test.h"

#define DEADLINE_NS  (60 * NS_PER_SEC)
#define POLL_NS      (10 * NS_PER_MS)
#define COMMANDS_MAX 4096
#define CHILDREN_MAX 4096

static char self[4096];

/* ---- the other processes ---- */

/* A file beside the daemons' folders. */
static char *shared_path(const char *name)
{
    return mem_format("%s/../../%s", getenv("CUDA_MPS_PIPE_DIRECTORY"), name);
}

/* The daemon ends by itself, should the test die. */
static int run_daemon(void)
{
    AUTO_FREE char *path = mem_format("%s/pid", getenv("CUDA_MPS_PIPE_DIRECTORY"));
    AUTO_FREE char *pid = mem_format("%d", (int)getpid());
    AUTO(err_freep) struct err *e = file_write(path, 0600, str_of(pid));

    (void)alarm(120);
    while (!e)
        (void)pause();
    return 1;
}

static int64_t pid_in(const char *dir)
{
    AUTO_FREE char *path = mem_format("%s/pipe/pid", dir);
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(path, 64, &text);
    int64_t pid = -1;

    if (!e)
        e = num_parse_int64((struct str){text.at, text.size}, 1, INT32_MAX, &pid);
    return e ? -1 : pid;
}

/* Notes the commands; fails while the file `refuse` is there. */
static int run_control(void)
{
    AUTO_FREE char *path = shared_path("commands");
    AUTO_FREE char *refuse = shared_path("refuse");
    AUTO_FREE char *dir = mem_format("%s/..", getenv("CUDA_MPS_PIPE_DIRECTORY"));
    AUTO(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    char text[512] = "";
    ssize_t n = read(STDIN_FILENO, text, sizeof(text) - 1);

    if (n < 0 || write(fd, text, (size_t)n) != n)
        return 2;
    if (text_equal(text, "quit\n"))
        return kill((pid_t)pid_in(dir), SIGTERM);
    return file_exists(refuse) || pid_in(dir) < 0;
}

/* ---- the world ---- */

struct fixture {
    struct loop *loop;
    struct mps_watch *watch;
    char dir[64];
    int64_t check_ns;
    bool is_stopped;
    unsigned n_ready;
    unsigned n_ended;
    char said[128]; /* how the last daemon ended */
    bool (*is_done)(struct fixture *f);
    struct loop_timer *poll;
};

static const struct mps_wish wish = {
    .gpu = "GPU-1", .ns = "team-a", .memory_bytes = INT64_C(81559) << 20, .clients = 4};

static void mps_on_told(void *arg, const char *gpu, const char *ns, const char *problem)
{
    struct fixture *f = arg;

    assert_string_equal(gpu, "GPU-1");
    assert_non_null(ns);
    f->n_ready += !problem;
    f->n_ended += problem != NULL;
    (void)snprintf(f->said, sizeof(f->said), "%s", problem ? problem : "");
}

static void watch_open(struct fixture *f)
{
    const struct mps_watch_options o = {
        .loop = f->loop, .self_path = self, .dir = f->dir, .check_ns = f->check_ns};

    f->watch = mps_watch_new(&o);
    mps_watch_listen(f->watch, mps_on_told, f);
}

static int set_up(void **state)
{
    struct fixture *f = mem_alloc(sizeof(*f));

    (void)snprintf(f->dir, sizeof(f->dir), "/tmp/mete-mps-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->loop = loop_linux_new();
    watch_open(f);
    *state = f;
    return 0;
}

static void on_late(void *arg)
{
    (void)arg;
    fail_msg("nothing happened for a minute");
}

static void on_poll(void *arg)
{
    struct fixture *f = arg;

    if (f->is_done(f))
        loop_linux_stop(f->loop);
    else
        loop_timer_set(f->poll, POLL_NS);
}

static void until(struct fixture *f, bool (*is_done)(struct fixture *f))
{
    struct loop_timer *late = loop_timer_new(f->loop, on_late, f);

    f->is_done = is_done;
    f->poll = loop_timer_new(f->loop, on_poll, f);
    loop_timer_set(f->poll, 0);
    loop_timer_set(late, DEADLINE_NS);
    assert_null(loop_linux_run(f->loop));
    loop_timer_free(late);
    loop_timer_free(f->poll);
}

static size_t count_daemons(const struct fixture *f)
{
    AUTO_FREE char *pattern = mem_format("%s/*/pipe", f->dir);
    glob_t found = {0};
    size_t n = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;

    globfree(&found);
    return n;
}

/* A command's process may outlive the daemon that it spoke to. */
static bool has_no_daemon(struct fixture *f)
{
    AUTO_FREE char *path = mem_format("/proc/self/task/%d/children", (int)getpid());
    AUTO(buf_done) struct buf children = {0};

    assert_null(file_read(path, CHILDREN_MAX, &children));
    return count_daemons(f) == 0 && children.size == 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    mps_watch_keep(f->watch, self, NULL, 0);
    until(f, has_no_daemon);
    mps_watch_free(f->watch);
    loop_linux_free(f->loop);
    assert_null(dir_remove(f->dir));
    free(f);
    return 0;
}

static bool is_ready(struct fixture *f)
{
    return f->n_ready > 0;
}

static bool has_one_daemon(struct fixture *f)
{
    return count_daemons(f) == 1;
}

static bool has_ended(struct fixture *f)
{
    return f->n_ended > 0;
}

static bool has_two_refusals(struct fixture *f)
{
    AUTO_FREE char *path = mem_format("%s/commands", f->dir);
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(path, COMMANDS_MAX, &text);
    const char *at = e ? NULL : strstr(text.at, "set_default_active");

    return at && strstr(at + 1, "set_default_active");
}

static void expect_starting(struct fixture *f, const struct mps_wish *wanted)
{
    struct mps_client client = {0};
    AUTO(err_freep) struct err *e = mps_watch_take(f->watch, self, wanted, &client);

    assert_non_null(e);
    assert_int_equal(err_code(e), ERR_UNAVAILABLE);
    assert_string_equal(err_message(e), "the MPS daemon of gpu GPU-1 is starting");
    assert_null(client.dir);
}

/* Starts the daemon of a wish; a copy of its folder's path, which the caller frees. */
static char *daemon_up(struct fixture *f, const struct mps_wish *wanted)
{
    struct mps_client client = {0};

    expect_starting(f, wanted);
    f->n_ready = 0;
    until(f, is_ready);
    assert_null(mps_watch_take(f->watch, self, wanted, &client));
    return mem_strdup(client.dir);
}

/* Kills the daemon; its pid, which no later daemon has. */
static int64_t daemon_shoot(const char *dir)
{
    AUTO_FREE char *path = mem_format("%s/pipe/pid", dir);
    const int64_t pid = pid_in(dir);

    assert_int_equal(unlink(path), 0);
    assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
    return pid;
}

/* ---- tests ---- */

static void clients_divide_memory_and_compute(void **state)
{
    static const struct {
        unsigned clients;
        int64_t mib;
        unsigned percent;
    } cases[] = {{1, 81559, 100}, {4, 20389, 25}, {3, 27186, 33}, {100, 815, 1}, {1000, 81, 1}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mps_wish w = wish;

        w.clients = cases[i].clients;
        assert_int_equal(mps_client_mib(&w), cases[i].mib);
        assert_int_equal(mps_client_percent(&w), cases[i].percent);
    }
}

static void a_daemon_serves_its_gpu_and_namespace_alone(void **state)
{
    struct fixture *f = *state;
    const struct mps_wish other = {
        .gpu = wish.gpu, .ns = "team-b", .memory_bytes = wish.memory_bytes, .clients = 2};
    AUTO_FREE char *dir = daemon_up(f, &wish);
    AUTO_FREE char *second = NULL;
    struct mps_client client = {0};

    assert_null(mps_watch_take(f->watch, self, &wish, &client));
    assert_string_equal(client.dir, dir);
    assert_int_equal(client.memory_mib, 20389);
    assert_int_equal(client.percent, 25);
    assert_int_equal(count_daemons(f), 1);
    second = daemon_up(f, &other);
    assert_string_not_equal(second, dir);
    assert_int_not_equal(pid_in(second), pid_in(dir));
    assert_int_equal(count_daemons(f), 2);
    /* Wishes that stay keep their daemon. */
    mps_watch_keep(f->watch, self, &wish, 1);
    until(f, has_one_daemon);
    assert_true(file_exists(dir));
}

static void a_daemon_is_ready_once_it_took_its_limits(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *refuse = mem_format("%s/refuse", f->dir);
    AUTO_FREE char *path = mem_format("%s/commands", f->dir);
    AUTO(buf_done) struct buf text = {0};

    assert_null(file_write(refuse, 0600, STR("")));
    expect_starting(f, &wish);
    until(f, has_two_refusals);
    assert_int_equal(f->n_ready, 0);
    expect_starting(f, &wish);
    assert_int_equal(unlink(refuse), 0);
    until(f, is_ready);
    assert_null(file_read(path, COMMANDS_MAX, &text));
    assert_true(text_starts_with(text.at, "set_default_device_pinned_mem_limit 0 20389M\n"
                                          "set_default_active_thread_percentage 25\n"));
    assert_int_equal(f->n_ended, 0);
}

static void a_daemon_that_dies_is_replaced_and_its_clients_hear_of_it(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *dir = daemon_up(f, &wish);
    struct mps_client client = {0};
    int64_t pid = 0;

    f->n_ready = 0;
    pid = daemon_shoot(dir);
    until(f, has_ended);
    assert_string_equal(f->said, "killed by SIGKILL");
    expect_starting(f, &wish);
    until(f, is_ready);
    assert_int_not_equal(pid_in(dir), pid);
    assert_null(mps_watch_take(f->watch, self, &wish, &client));
    assert_string_equal(client.dir, dir);
}

static void a_daemon_outlives_its_watch_and_is_found_again(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *dir = daemon_up(f, &wish);
    const int64_t pid = pid_in(dir);

    mps_watch_free(f->watch);
    watch_open(f);
    f->n_ready = 0;
    mps_watch_keep(f->watch, self, &wish, 1);
    until(f, is_ready);
    assert_int_equal(pid_in(dir), pid);
    /* The end of a daemon that is no child is noticed, too. */
    f->n_ready = 0;
    assert_int_equal(daemon_shoot(dir), pid);
    until(f, has_ended);
    until(f, is_ready);
    assert_int_not_equal(pid_in(dir), pid);
}

static void a_process_that_only_has_the_pid_is_no_daemon(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *dir = daemon_up(f, &wish);
    AUTO_FREE char *path = mem_format("%s/daemon", dir);
    AUTO_FREE char *ours = mem_format("%d 1\n", (int)getpid());

    mps_watch_free(f->watch);
    (void)daemon_shoot(dir);
    assert_null(file_write(path, 0600, str_of(ours)));
    watch_open(f);
    f->n_ready = 0;
    mps_watch_keep(f->watch, self, &wish, 1);
    until(f, is_ready);
    assert_int_not_equal(pid_in(dir), getpid());
}

static void a_daemon_that_does_not_answer_is_told_and_then_replaced(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *refuse = mem_format("%s/refuse", f->dir);
    AUTO_FREE char *dir = NULL;
    struct mps_client client = {0};
    AUTO(err_freep) struct err *silent = NULL;

    mps_watch_free(f->watch);
    f->check_ns = POLL_NS;
    watch_open(f);
    dir = daemon_up(f, &wish);
    assert_null(file_write(refuse, 0600, STR("")));
    until(f, has_ended);
    assert_string_equal(f->said, "does not answer");
    silent = mps_watch_take(f->watch, self, &wish, &client);
    assert_string_equal(err_message(silent), "the MPS daemon of gpu GPU-1 does not answer");
    f->n_ended = 0;
    until(f, has_ended);
    assert_string_equal(f->said, "killed by SIGKILL");
    assert_int_equal(unlink(refuse), 0);
    f->n_ready = 0;
    until(f, is_ready);
    assert_null(mps_watch_take(f->watch, self, &wish, &client));
}

static void other_limits_reach_a_daemon_that_runs(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *dir = daemon_up(f, &wish);
    AUTO_FREE char *path = mem_format("%s/commands", f->dir);
    AUTO(buf_done) struct buf text = {0};
    const int64_t pid = pid_in(dir);
    struct mps_wish fewer = wish;
    struct mps_client client = {0};

    fewer.clients = 2;
    f->n_ready = 0;
    expect_starting(f, &fewer);
    until(f, is_ready);
    assert_null(mps_watch_take(f->watch, self, &fewer, &client));
    assert_int_equal(client.memory_mib, 40779);
    assert_int_equal(client.percent, 50);
    assert_int_equal(pid_in(dir), pid);
    assert_null(file_read(path, COMMANDS_MAX, &text));
    assert_non_null(strstr(text.at, "set_default_active_thread_percentage 50\n"));
}

static void daemons_that_nobody_takes_again_end(void **state)
{
    struct fixture *f = *state;
    const struct mps_wish other = {
        .gpu = wish.gpu, .ns = "team-b", .memory_bytes = wish.memory_bytes, .clients = 2};
    AUTO_FREE char *dir = daemon_up(f, &wish);
    AUTO_FREE char *second = daemon_up(f, &other);
    struct mps_client client = {0};

    mps_watch_free(f->watch);
    watch_open(f);
    f->n_ready = 0;
    expect_starting(f, &wish);
    mps_watch_sweep(f->watch, self);
    until(f, has_one_daemon);
    until(f, is_ready);
    assert_null(mps_watch_take(f->watch, self, &wish, &client));
    assert_true(file_exists(dir));
    assert_false(file_exists(second));
}

static void on_stopped(void *arg)
{
    struct fixture *f = arg;

    f->is_stopped = true;
}

static bool is_stopped(struct fixture *f)
{
    return f->is_stopped;
}

static void tells_when_all_daemons_have_ended(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *dir = daemon_up(f, &wish);

    mps_watch_stop(f->watch, on_stopped, f);
    assert_false(f->is_stopped);
    until(f, is_stopped);
    assert_false(file_exists(dir));
    f->is_stopped = false;
    mps_watch_stop(f->watch, on_stopped, f);
    assert_true(f->is_stopped);
}

static void says_why_there_is_no_daemon(void **state)
{
    struct fixture *f = *state;
    AUTO_FREE char *far = mem_format("%s/%080d", f->dir, 0);
    const struct mps_watch_options o = {.loop = f->loop, .self_path = self, .dir = far};
    struct mps_watch *w = mps_watch_new(&o);
    struct mps_client client = {0};
    AUTO(err_freep) struct err *none = mps_watch_take(f->watch, NULL, &wish, &client);
    AUTO(err_freep) struct err *long_path = mps_watch_take(w, self, &wish, &client);

    assert_string_equal(err_message(none), "the driver has no nvidia-cuda-mps-control");
    assert_non_null(
        strstr(err_message(long_path), "the data directory's path is too long for MPS"));
    assert_int_equal(count_daemons(f), 0);
    mps_watch_free(w);
}

int main(int argc, char **argv)
{
#define MPS_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_divide_memory_and_compute),
        MPS_TEST(a_daemon_serves_its_gpu_and_namespace_alone),
        MPS_TEST(a_daemon_is_ready_once_it_took_its_limits),
        MPS_TEST(a_daemon_that_dies_is_replaced_and_its_clients_hear_of_it),
        MPS_TEST(a_daemon_outlives_its_watch_and_is_found_again),
        MPS_TEST(a_process_that_only_has_the_pid_is_no_daemon),
        MPS_TEST(a_daemon_that_does_not_answer_is_told_and_then_replaced),
        MPS_TEST(other_limits_reach_a_daemon_that_runs),
        MPS_TEST(daemons_that_nobody_takes_again_end),
        MPS_TEST(tells_when_all_daemons_have_ended),
        MPS_TEST(says_why_there_is_no_daemon),
    };

    if (argc > 4 && text_equal(argv[1], "gpu-helper")) {
        AUTO(err_freep) struct err *e = mps_process_note(argv[4]);

        (void)execl(argv[3], argv[3], "-f", (char *)NULL);
        return 1;
    }
    if (argc > 1 && text_equal(argv[1], "-f"))
        return run_daemon();
    if (getenv("CUDA_MPS_PIPE_DIRECTORY"))
        return run_control();
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
