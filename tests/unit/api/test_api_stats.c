/* test_api_stats.c - tests of the samples that a node sends over its stream */

#include "api_world.h"
#include "base/mem.h"
#include "client/frames.h"
#include "client/node_stats.h"
#include "test.h"

struct stats_world {
    struct api_world a;
    struct asked *link; /* the node's connection */
    size_t read;        /* bytes of the connection that the node has read */
    struct buf taken;   /* "NODE:TIME:CONTAINERS|" of each sample */
};

static void take(void *arg, const char *node, struct node_stats *taken)
{
    struct stats_world *w = arg;

    buf_printf(&w->taken, "%s:%d:%zu|", node, (int)taken->at_ns, taken->containers.n);
    node_stats_done(taken);
}

static struct frame next_frame(struct stats_world *w)
{
    struct frame f = {0};
    size_t size = 0;

    assert_null(frame_parse((struct str){w->link->body.at + w->read, w->link->body.size - w->read},
                            &f, &size));
    assert_true(size > 0);
    w->read += size;
    return f;
}

static void connect_node(struct stats_world *w)
{
    struct frame f;

    w->link = api_ask(&w->a, (struct question){.target = "/mete.dev/v1/nodes/n1/stream",
                                               .who = {.cert_user = "system:node:n1",
                                                       .cert_group = "system:nodes"}});
    assert_int_equal(w->link->status, 101);
    w->read = 0;
    f = next_frame(w);
    assert_int_equal(f.type, FRAME_OPEN);
    assert_int_equal(f.stream, 1);
    assert_true(str_equal(f.payload, STR("{\"op\":\"stats\"}")));
}

static void stats_world_init(struct stats_world *w)
{
    *w = (struct stats_world){.a.take_stats = take, .a.stats_arg = w};
    api_world_init(&w->a, NULL);
    connect_node(w);
}

static void stats_world_done(struct stats_world *w)
{
    asked_free(w->link);
    api_world_done(&w->a);
    buf_done(&w->taken);
}

static void node_sends(struct stats_world *w, enum frame_type type, struct str payload)
{
    AUTO(buf_done) struct buf b = {0};

    frame_format(&b, 1, type, payload);
    w->link->channel.on_data(w->link->channel.arg, (struct str){b.at, b.size});
}

static void message(struct buf *b, int64_t at_ns, size_t n_containers)
{
    const struct container_sample c = {.pod_uid = "u", .name = "main"};
    struct node_stats s = {.at_ns = at_ns};

    for (size_t i = 0; i < n_containers; i++)
        vec_add(&s.containers, c);
    node_stats_format(b, &s);
    node_stats_done(&s);
}

static void samples_are_taken_and_credited(void **state)
{
    AUTO(buf_done) struct buf b = {0};
    struct stats_world w;
    struct frame f;

    (void)state;
    stats_world_init(&w);
    message(&b, 1, 2);
    message(&b, 2, 0);
    node_sends(&w, FRAME_DATA, (struct str){b.at, b.size - 1});
    assert_string_equal(w.taken.at, "n1:1:2|");
    node_sends(&w, FRAME_DATA, (struct str){b.at + b.size - 1, 1});
    assert_string_equal(w.taken.at, "n1:1:2|n1:2:0|");
    f = next_frame(&w);
    assert_int_equal(f.type, FRAME_CREDIT);
    assert_int_equal((unsigned char)f.payload.at[3] + 256 * (unsigned char)f.payload.at[2],
                     b.size - 1);
    stats_world_done(&w);
}

static void malformed_samples_end_the_stream_not_the_connection(void **state)
{
    AUTO(buf_done) struct buf b = {0};
    struct stats_world w;

    (void)state;
    stats_world_init(&w);
    node_sends(&w, FRAME_DATA, (struct str){"\xff\xff\xff\xff", 4});
    assert_int_equal(next_frame(&w).type, FRAME_CANCEL);
    assert_false(w.link->is_cut);
    message(&b, 1, 0);
    node_sends(&w, FRAME_DATA, (struct str){b.at, b.size}); /* on its way before the cancel */
    assert_int_equal(w.taken.size, 0);
    asked_free(w.link);
    connect_node(&w);
    node_sends(&w, FRAME_DATA, (struct str){b.at, b.size});
    assert_string_equal(w.taken.at, "n1:1:0|");
    stats_world_done(&w);
}

static void a_node_without_samples_stays_connected(void **state)
{
    struct stats_world w;

    (void)state;
    stats_world_init(&w);
    node_sends(&w, FRAME_END, STR("{\"code\":400,\"message\":\"op 'stats' is not supported\"}"));
    assert_false(w.link->is_cut);
    assert_int_equal(w.taken.size, 0);
    stats_world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_taken_and_credited),
        cmocka_unit_test(malformed_samples_end_the_stream_not_the_connection),
        cmocka_unit_test(a_node_without_samples_stays_connected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
