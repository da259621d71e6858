/* test_api_deadline.c - the query parameter `timeout`, and the answer at its end */

#include "api/deadline.h"
#include "api_world.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "sim_loop.h"
#include "test.h"

/* The events of the outer exchange and of the inner one's handler. */
struct told {
    struct exchange x;
    int status;
    size_t n_begun;
    size_t n_ended;
    size_t n_closed;
    size_t n_drained;
};

static struct told *told_of(struct exchange *x)
{
    return (struct told *)(void *)x;
}

static void on_reply(struct exchange *x, const struct api_reply *r)
{
    told_of(x)->status = r->status;
}

static void on_begin(struct exchange *x, const struct api_reply *r)
{
    (void)r;
    told_of(x)->n_begun++;
}

static void on_end(struct exchange *x)
{
    told_of(x)->n_ended++;
}

static const struct exchange_ops ops = {.reply = on_reply, .begin = on_begin, .end = on_end};

static void on_close(void *arg)
{
    ((struct told *)arg)->n_closed++;
}

static void on_drain(void *arg)
{
    ((struct told *)arg)->n_drained++;
}

static struct exchange *begin(struct told *t, struct loop *loop)
{
    struct exchange *x;

    *t = (struct told){.x = {.ops = &ops}};
    x = deadline_new(loop, &t->x, NS_PER_SEC);
    x->arg = t;
    x->on_close = on_close;
    x->on_drain = on_drain;
    return x;
}

static void a_late_answer_is_504(void **state)
{
    struct loop *loop = sim_loop_new();
    struct told t;

    (void)state;
    (void)begin(&t, loop);
    sim_loop_advance(loop, NS_PER_SEC / 2);
    assert_int_equal(t.status, 0);
    sim_loop_advance(loop, NS_PER_SEC);
    assert_int_equal(t.status, 504);
    assert_int_equal(t.n_closed, 1); /* the handler was closed */
    sim_loop_free(loop);
}

static void an_answer_in_time_is_the_only_one(void **state)
{
    const struct api_reply reply = {.status = 200};
    struct loop *loop = sim_loop_new();
    struct exchange *x;
    struct told t;

    (void)state;
    x = begin(&t, loop);
    x->ops->reply(x, &reply);
    sim_loop_advance(loop, 2 * NS_PER_SEC);
    assert_int_equal(t.status, 200);
    assert_int_equal(t.n_closed, 0);
    x = begin(&t, loop); /* a stream has no deadline */
    x->ops->begin(x, &reply);
    sim_loop_advance(loop, 2 * NS_PER_SEC);
    t.x.on_drain(t.x.arg);
    x->ops->end(x);
    assert_int_equal(t.status, 0);
    assert_int_equal(t.n_begun + t.n_ended + t.n_drained, 3);
    assert_int_equal(t.n_closed, 0);
    sim_loop_free(loop);
}

static void a_client_that_leaves_ends_it(void **state)
{
    struct loop *loop = sim_loop_new();
    struct told t;

    (void)state;
    (void)begin(&t, loop);
    t.x.on_close(t.x.arg);
    assert_int_equal(t.n_closed, 1);
    sim_loop_advance(loop, 2 * NS_PER_SEC);
    assert_int_equal(t.status, 0);
    sim_loop_free(loop);
}

static void the_parameter_is_read_on_every_route(void **state)
{
    static const struct {
        const char *target;
        int status;
    } cases[] = {
        {"/version?timeout=32s", 200},
        {"/api?timeout=1.5s", 200},
        {"/openapi/v2?timeout=1m30s", 200},
        {"/api/v1/pods?timeout=0", 200},
        {"/api/v1/pods?timeout=", 200},
        {"/api/v1/pods?timeout=9000h", 200},
        {"/api/v1/pods?timeout=-5s", 400},
        {"/api/v1/pods?timeout=5", 400},
        {"/apis?timeout=soon", 400},
        {"/api/v1/pods?watch=true&timeout=5", 200}, /* long-running, as in Kubernetes */
    };
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(asked_freep)
        struct asked *k = api_ask(&a, (struct question){.target = cases[i].target});

        if (k->status != cases[i].status)
            fail_msg("%s: %d, want %d", cases[i].target, k->status, cases[i].status);
        if (k->status == 400)
            assert_non_null(
                strstr(k->body.at, "\"message\":\"invalid timeout specified in the request URL"));
    }
    api_world_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_answer_is_504),
        cmocka_unit_test(an_answer_in_time_is_the_only_one),
        cmocka_unit_test(a_client_that_leaves_ends_it),
        cmocka_unit_test(the_parameter_is_read_on_every_route),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
