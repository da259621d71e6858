/* test_node_rotation.c - tests of log rotation: in the worker, one job a log at a time */

#include "base/mem.h"
#include "base/stamp.h"
#include "node/log/rotation.h"
#include "node_world.h"
#include "test.h"

#define ONE                                                                   \
    "{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"m\",\"image\":" \
    "\"host\",\"command\":[\"x\"]}]}"

/* A worker that finishes its job at the test's command. */
struct slow_worker {
    worker_work_fn work;
    worker_done_fn done;
    void *message; /* of the waiting job; NULL: none */
    unsigned n_given;
};

static void slow_give(void *self, worker_work_fn work, worker_done_fn done, void *message)
{
    struct slow_worker *s = self;

    assert_null(s->message); /* else a second job for one log at the same time */
    s->work = work;
    s->done = done;
    s->message = message;
    s->n_given++;
}

static void slow_finish(struct slow_worker *s)
{
    void *message = TAKE(s->message);
    AUTO(err_freep) struct err *e = NULL;

    assert_non_null(message);
    e = s->work(message);
    s->done(message, e);
}

static const struct worker_ops slow_ops = {.give = slow_give};

static void a_slow_disk_is_waited_for_by_the_worker_alone(void **state)
{
    struct slow_worker slow = {0};
    struct worker worker = {&slow_ops, &slow};
    struct node_world w;
    struct rotation_options o = {.worker = &worker, .max_files = 2};
    struct rotation *r = NULL;
    AUTO(json_freep) json_t *pod = node_world_pod(ONE, "{}");

    (void)state;
    node_world_init(&w);
    node_world_put(&w, pod);
    node_world_run(&w);
    o.loop = w.loop;
    o.pods = w.pods;
    r = rotation_new(&o);
    assert_int_equal(slow.n_given, 1);
    node_world_advance(&w, 5 * NS_PER_SEC); /* polls each second */
    assert_int_equal(slow.n_given, 1);
    slow_finish(&slow);
    assert_int_equal(slow.n_given, 2); /* one job for all polls meanwhile */
    slow_finish(&slow);
    assert_int_equal(slow.n_given, 2);
    node_world_end(&w, "u1-m-0", 0);
    node_world_run(&w);
    while (slow.message)
        slow_finish(&slow);
    node_world_advance(&w, 5 * NS_PER_SEC);
    assert_null(slow.message); /* no job for an ended log */
    rotation_free(r);
    node_world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_disk_is_waited_for_by_the_worker_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
