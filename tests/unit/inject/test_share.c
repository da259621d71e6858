/* test_share.c - what the processes of a share hold together, and what a measurement does */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "inject/share.h"
#include "inject/table.h"
#include "test.h"

#define GIB (UINT64_C(1) << 30)

struct files {
    char dir[64];
    struct share_limits *limits;
    struct share_state *state;
};

static void *files_map(const struct files *f, const char *name, size_t size)
{
    AUTO_FREE char *path = mem_format("%s/%s", f->dir, name);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *at;

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(at != MAP_FAILED);
    (void)close(fd);
    return at;
}

static void files_remove(const struct files *f, const char *name)
{
    AUTO_FREE char *path = mem_format("%s/%s", f->dir, name);

    assert_int_equal(unlink(path), 0);
}

/* A share of 20 GiB and 30 % of one gpu. */
static int files_setup(void **state)
{
    struct files *f = mem_alloc(sizeof(*f));

    *f = (struct files){.dir = "/tmp/mete-share-XXXXXX"};
    assert_non_null(mkdtemp(f->dir));
    f->limits = files_map(f, "limits", sizeof(*f->limits));
    f->state = files_map(f, "state", sizeof(*f->state));
    *f->limits = (struct share_limits){
        .magic = SHARE_LIMITS_MAGIC,
        .version = SHARE_VERSION,
        .n_gpus = 1,
        .gpus = {{.uuid = "GPU-one", .memory_bytes = 20 * GIB, .gpu_milli = 300}}};
    f->state->magic = SHARE_STATE_MAGIC;
    f->state->version = SHARE_VERSION;
    assert_int_equal(setenv("METE_TEST_SHARE", f->dir, 1), 0);
    *state = f;
    return 0;
}

static int files_teardown(void **state)
{
    struct files *f = *state;

    (void)munmap(f->limits, sizeof(*f->limits));
    (void)munmap(f->state, sizeof(*f->state));
    files_remove(f, "limits");
    files_remove(f, "state");
    assert_int_equal(rmdir(f->dir), 0);
    free(f);
    return 0;
}

static int child_code(pid_t pid)
{
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/*
 * Runs `fn` in a process of its own, whose exit code says how far it came. The test's process never
 * opens a share: the library keeps the first one that it opened.
 */
static pid_t child_start(int (*fn)(int pipe), int *ret_pipe)
{
    int ends[2];
    pid_t pid;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(ends[0]);
        _exit(fn(ends[1]));
    }
    (void)close(ends[1]);
    *ret_pipe = ends[0];
    return pid;
}

/* Waits until the child wrote its byte. */
static void child_await(int pipe)
{
    char byte = 0;

    assert_int_equal(read(pipe, &byte, 1), 1);
}

static void child_tell(int pipe)
{
    if (write(pipe, "x", 1) != 1)
        _exit(99);
}

static int hold_half(int pipe)
{
    int gpu = share_find("one");

    if (!share_charge(gpu, 12 * GIB))
        return 1;
    child_tell(pipe);
    (void)pause();
    return 2;
}

static int take_half_twice(int pipe)
{
    int gpu = share_find("one");

    (void)pipe;
    if (share_charge(gpu, 12 * GIB))
        return 1;
    if (!share_charge(gpu, 8 * GIB))
        return 2;
    if (share_used_bytes(gpu) != 20 * GIB)
        return 3;
    share_release(gpu, 8 * GIB);
    return share_used_bytes(gpu) == 12 * GIB ? 0 : 4;
}

static int find_nothing_held(int pipe)
{
    (void)pipe;
    return share_used_bytes(share_find("one")) == 0 ? 0 : 1;
}

static void child_must(int (*fn)(int pipe))
{
    int pipe;
    pid_t child = child_start(fn, &pipe);

    assert_int_equal(child_code(child), 0);
    (void)close(pipe);
}

static void processes_count_together_and_a_killed_one_gives_back(void **state)
{
    int pipe;
    pid_t holder = child_start(hold_half, &pipe);

    (void)state;
    child_await(pipe);
    child_must(take_half_twice);
    assert_int_equal(kill(holder, SIGKILL), 0);
    assert_int_equal(child_code(holder), 128 + SIGKILL);
    (void)close(pipe);
    child_must(find_nothing_held);
}

/* A program that closes all descriptors drops our locks, too: others may think that it ended. */
static int close_all_and_go_on(int pipe)
{
    int gpu = share_find("one");
    pid_t other;
    int other_pipe;

    (void)pipe;
    if (!share_charge(gpu, 12 * GIB))
        return 1;
    for (int fd = 3; fd < 64; fd++)
        (void)close(fd);
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
        return 2;
    if (!share_charge(gpu, 1 * GIB)) /* opens the state anew */
        return 3;
    other = child_start(take_half_twice, &other_pipe);
    if (child_code(other) != 2) /* 13 GiB are held: 8 GiB do not fit */
        return 4;
    return share_used_bytes(gpu) == 13 * GIB ? 0 : 5;
}

static void a_program_that_closes_all_descriptors_keeps_what_it_holds(void **state)
{
    (void)state;
    child_must(close_all_and_go_on);
}

static int fork_with_memory(int pipe)
{
    int gpu = share_find("one");
    pid_t child;

    (void)pipe;
    if (!share_charge(gpu, 12 * GIB))
        return 1;
    child = fork();
    if (child == 0) {
        if (!share_is_forked())
            _exit(2);
        if (!share_charge(gpu, 8 * GIB))
            _exit(3);
        _exit(share_used_bytes(gpu) == 20 * GIB ? 0 : 4);
    }
    return child_code(child) != 0 ? 10 : share_used_bytes(gpu) == 12 * GIB ? 0 : 11;
}

static void a_forked_child_has_none_of_its_parents_memory(void **state)
{
    (void)state;
    child_must(fork_with_memory);
}

static int charge_something(int pipe)
{
    (void)pipe;
    return share_charge(0, 1) ? 1 : 0;
}

static void damaged_limits_give_no_memory(void **state)
{
    struct files *f = *state;
    f->limits->magic = 1;
    child_must(charge_something);
}

static int take_the_last_gib(int pipe)
{
    (void)pipe;
    if (!share_charge(share_find("one"), 1 * GIB))
        return 1;
    return share_charge(share_find("one"), 1) ? 2 : 0;
}

static void what_the_driver_adds_counts(void **state)
{
    struct files *f = *state;

    f->limits->gpus[0].other_bytes = 19 * GIB;
    child_must(take_the_last_gib);
}

/* ---- compute, on a model of a gpu ---- */

/*
 * A share launches kernels of 1,000 threads as fast as it may. The model gpu needs 1 ms for each
 * when it is alone.
 */
static void the_rate_follows_the_measurement(void **state)
{
    struct files *f = *state;
    struct share_limit *limit = &f->limits->gpus[0];
    uint64_t rate = 0;

    for (unsigned round = 1; round <= 20; round++) {
        uint64_t kernels = rate == 0 ? 1000 : rate / 1000; /* in one second */

        if (kernels > 1000)
            kernels = 1000;
        limit->used_milli = (uint32_t)kernels; /* a kernel uses 1/1000 of a second */
        rate = share_rate(limit, rate, kernels * 1000, 1000000000);
    }
    assert_in_range(rate, 295 * 1000, 305 * 1000);
    limit->used_milli = 600; /* kernels became twice as long */
    rate = share_rate(limit, rate, 300 * 1000, 1000000000);
    rate = share_rate(limit, rate, rate, 1000000000 * 2);
    assert_true(rate < 225 * 1000);
}

/* ---- the table of allocations ---- */

static bool is_even(const struct table_entry *e, const void *arg)
{
    (void)arg;
    return e->key % 2 == 0;
}

static size_t n_taken;

static void count_taken(const struct table_entry *e)
{
    assert_int_equal(e->key % 2, 0);
    n_taken++;
}

static void the_table_keeps_what_is_put(void **state)
{
    struct table_entry e;

    (void)state;
    for (uint64_t i = 0; i < 1000; i++)
        assert_true(table_put(
            &(struct table_entry){.kind = TABLE_MEMORY, .key = i << 21 | (i & 1), .bytes = i}));
    for (uint64_t i = 0; i < 1000; i += 3) {
        assert_true(table_take(TABLE_MEMORY, i << 21 | (i & 1), &e));
        assert_int_equal(e.bytes, i);
    }
    for (uint64_t i = 0; i < 1000; i++) {
        assert_int_equal(table_get(TABLE_MEMORY, i << 21 | (i & 1), &e), i % 3 != 0);
        assert_false(table_get(TABLE_ARRAY, i << 21 | (i & 1), &e));
    }
    table_take_all(&(struct table_filter){is_even, count_taken, NULL});
    assert_int_equal(n_taken, 333);
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(table_get(TABLE_MEMORY, i << 21 | (i & 1), &e), i % 3 != 0 && i % 2 == 1);
    table_clear();
    assert_false(table_get(TABLE_MEMORY, 1 << 21 | 1, &e));
}

static void a_handle_goes_with_its_last_reference(void **state)
{
    struct table_entry e;

    (void)state;
    assert_true(
        table_put(&(struct table_entry){.kind = TABLE_HANDLE, .key = 7, .bytes = 5, .refs = 1}));
    assert_true(table_refer(TABLE_HANDLE, 7, 1, &e));
    assert_true(table_refer(TABLE_HANDLE, 7, -1, &e));
    assert_int_equal(e.refs, 1);
    assert_true(table_refer(TABLE_HANDLE, 7, -1, &e));
    assert_int_equal(e.refs, 0);
    assert_false(table_refer(TABLE_HANDLE, 7, -1, &e));
    table_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(processes_count_together_and_a_killed_one_gives_back,
                                        files_setup, files_teardown),
        cmocka_unit_test_setup_teardown(a_program_that_closes_all_descriptors_keeps_what_it_holds,
                                        files_setup, files_teardown),
        cmocka_unit_test_setup_teardown(a_forked_child_has_none_of_its_parents_memory, files_setup,
                                        files_teardown),
        cmocka_unit_test_setup_teardown(damaged_limits_give_no_memory, files_setup, files_teardown),
        cmocka_unit_test_setup_teardown(what_the_driver_adds_counts, files_setup, files_teardown),
        cmocka_unit_test_setup_teardown(the_rate_follows_the_measurement, files_setup,
                                        files_teardown),
        cmocka_unit_test(the_table_keeps_what_is_put),
        cmocka_unit_test(a_handle_goes_with_its_last_reference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
