/* test_loop.c - timers, descriptors and signals of the real loop */

#include <signal.h>
#include <unistd.h>

#include "base/file.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "test.h"

struct world {
    struct loop *loop;
    struct loop_timer *timer;
    struct loop_io *io;
    int64_t fired_ns;
    int calls;
    char byte;
};

static void count_and_stop(void *arg)
{
    struct world *w = arg;

    w->calls++;
    w->fired_ns = loop_now_ns(w->loop);
    loop_linux_stop(w->loop);
}

static void count_and_rearm(void *arg)
{
    struct world *w = arg;

    if (++w->calls < 5)
        loop_timer_set(w->timer, 0);
    else
        loop_linux_stop(w->loop);
}

static void read_byte(void *arg, int fd, bool readable, bool writable)
{
    struct world *w = arg;

    assert_true(readable);
    assert_false(writable);
    assert_int_equal(read(fd, &w->byte, 1), 1);
    w->calls++;
    loop_io_free(w->io);
    w->io = NULL;
    loop_linux_stop(w->loop);
}

static void write_byte(void *arg, int fd, bool readable, bool writable)
{
    const struct world *w = arg;

    assert_false(readable);
    assert_true(writable);
    assert_int_equal(write(fd, "x", 1), 1);
    loop_io_want(w->io, false, false);
    loop_timer_set(w->timer, 5 * NS_PER_MS);
}

static void a_timer_fires_once_and_never_early(void **state)
{
    struct world w = {.loop = loop_linux_new()};

    (void)state;
    w.timer = loop_timer_new(w.loop, count_and_stop, &w);
    for (int i = 0; i < 20; i++) {
        int64_t due_ns = loop_now_ns(w.loop) + NS_PER_MS / 3;

        loop_timer_set(w.timer, NS_PER_MS / 3);
        assert_null(loop_linux_run(w.loop));
        assert_true(w.fired_ns >= due_ns);
    }
    assert_int_equal(w.calls, 20);
    loop_timer_free(w.timer);
    loop_linux_free(w.loop);
}

static void a_timer_can_set_itself_again(void **state)
{
    struct world w = {.loop = loop_linux_new()};

    (void)state;
    w.timer = loop_timer_new(w.loop, count_and_rearm, &w);
    loop_timer_set(w.timer, -1);
    assert_null(loop_linux_run(w.loop));
    assert_int_equal(w.calls, 5);
    loop_timer_free(w.timer);
    loop_linux_free(w.loop);
}

static void a_stopped_timer_does_not_fire(void **state)
{
    struct world w = {.loop = loop_linux_new()};
    struct loop_timer *never = loop_timer_new(w.loop, count_and_stop, &w);
    struct loop_timer *end = loop_timer_new(w.loop, count_and_stop, &w);

    (void)state;
    loop_timer_set(never, 0);
    loop_timer_stop(never);
    loop_timer_set(end, 2 * NS_PER_MS);
    assert_null(loop_linux_run(w.loop));
    assert_int_equal(w.calls, 1);
    loop_timer_free(never);
    loop_timer_free(end);
    loop_timer_free(NULL);
    loop_linux_free(w.loop);
}

static void a_descriptor_is_watched_for_what_is_wanted(void **state)
{
    struct world reader = {.loop = loop_linux_new()};
    struct world writer = {.loop = reader.loop};
    int fds[2];

    (void)state;
    assert_int_equal(pipe(fds), 0);
    reader.io = loop_io_new(reader.loop, fds[0], read_byte, &reader);
    loop_io_want(reader.io, true, false);
    writer.io = loop_io_new(writer.loop, fds[1], write_byte, &writer);
    writer.timer = loop_timer_new(writer.loop, count_and_stop, &writer);
    loop_io_want(writer.io, false, true);
    assert_null(loop_linux_run(reader.loop));
    assert_int_equal(reader.byte, 'x');
    assert_null(reader.io); /* the callback freed it */
    assert_null(loop_linux_run(reader.loop));
    assert_int_equal(writer.calls, 1);
    loop_io_free(writer.io);
    loop_io_free(NULL);
    loop_timer_free(writer.timer);
    loop_linux_free(reader.loop);
    fd_close(fds[0]);
    fd_close(fds[1]);
}

static void a_signal_is_an_event(void **state)
{
    struct world w = {.loop = loop_linux_new()};

    (void)state;
    loop_linux_on_signal(w.loop, SIGUSR1, count_and_stop, &w);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_null(loop_linux_run(w.loop));
    assert_int_equal(w.calls, 1);
    loop_linux_free(w.loop);
}

static void stopping_before_running_is_kept(void **state)
{
    struct loop *l = loop_linux_new();

    (void)state;
    loop_linux_stop(l);
    assert_null(loop_linux_run(l));
    assert_true(loop_wall_ns(l) > INT64_C(1700000000) * NS_PER_SEC);
    loop_linux_free(l);
    loop_linux_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timer_fires_once_and_never_early),
        cmocka_unit_test(a_timer_can_set_itself_again),
        cmocka_unit_test(a_stopped_timer_does_not_fire),
        cmocka_unit_test(a_descriptor_is_watched_for_what_is_wanted),
        cmocka_unit_test(a_signal_is_an_event),
        cmocka_unit_test(stopping_before_running_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
