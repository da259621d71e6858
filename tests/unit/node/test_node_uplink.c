/* test_node_uplink.c - tests of the node's end of the reverse stream, over a fake connection */

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/client.h"
#include "client/frames.h"
#include "client/stream.h"
#include "node/session/uplink.h"
#include "sim_loop.h"
#include "test.h"

struct wire {
    struct loop *loop;
    struct client client;
    struct stream stream;
    struct stream_options options; /* of the open connection */
    unsigned n_opened;
    bool is_open;
    struct buf sent; /* by the node */
    size_t read;
    size_t backlog;
    struct uplink *uplink;
    struct buf heard; /* by the service: "open 1|data 1 abc|..." */
};

/* ---- the connection ---- */

static void wire_send(void *self, struct str bytes)
{
    struct wire *w = self;

    buf_add(&w->sent, bytes.at, bytes.size);
}

static size_t wire_backlog(const void *self)
{
    return ((const struct wire *)self)->backlog;
}

static void wire_free(void *self)
{
    ((struct wire *)self)->is_open = false;
}

static const struct stream_ops wire_stream = {
    .send = wire_send, .backlog = wire_backlog, .free = wire_free};

static struct err *wire_upgrade(void *self, const struct stream_options *o, struct stream **ret)
{
    struct wire *w = self;

    assert_false(w->is_open);
    assert_string_equal(o->path, "/mete.dev/v1/nodes/n1/stream");
    w->options = *o;
    w->n_opened++;
    w->is_open = true;
    w->stream = (struct stream){.ops = &wire_stream, .self = w};
    buf_clear(&w->sent);
    w->read = 0;
    *ret = &w->stream;
    return NULL;
}

static const struct client_ops wire_client = {.upgrade = wire_upgrade};

/* ---- the service ---- */

static void on_open(void *self, uint32_t id, const json_t *question)
{
    struct wire *w = self;

    buf_printf(&w->heard, "open %u %s|", (unsigned)id, json_text(question, "op"));
}

static void on_data(void *self, uint32_t id, struct str bytes)
{
    struct wire *w = self;

    buf_printf(&w->heard, "data %u %zu|", (unsigned)id, bytes.size);
}

static void on_end(void *self, uint32_t id)
{
    buf_printf(&((struct wire *)self)->heard, "end %u|", (unsigned)id);
}

static void on_credit(void *self, uint32_t id, uint32_t bytes)
{
    buf_printf(&((struct wire *)self)->heard, "credit %u %u|", (unsigned)id, (unsigned)bytes);
}

static void on_cancel(void *self, uint32_t id)
{
    buf_printf(&((struct wire *)self)->heard, "cancel %u|", (unsigned)id);
}

static void on_drained(void *self)
{
    buf_add_text(&((struct wire *)self)->heard, "drained|");
}

static void on_cancel_all(void *self)
{
    buf_add_text(&((struct wire *)self)->heard, "all|");
}

/* ---- both ---- */

static void wire_init(struct wire *w, bool takes_data)
{
    static const char *const ops[] = {"do", "undo", NULL};
    struct stream_service service = {.ops = ops,
                                     .open = on_open,
                                     .data = takes_data ? on_data : NULL,
                                     .end = on_end,
                                     .credit = on_credit,
                                     .cancel = on_cancel,
                                     .drained = on_drained,
                                     .cancel_all = on_cancel_all,
                                     .self = w};

    *w = (struct wire){.loop = sim_loop_new(), .client = {.ops = &wire_client, .self = w}};
    log_setup("test", LOG_ERROR, false);
    w->uplink = uplink_new(w->loop, &w->client, "n1");
    uplink_serve(w->uplink, &service);
    sim_loop_run(w->loop);
    assert_true(w->is_open);
    w->options.on_open(w->options.arg);
}

static void wire_done(struct wire *w)
{
    uplink_free(w->uplink);
    assert_false(w->is_open);
    sim_loop_free(w->loop);
    buf_done(&w->sent);
    buf_done(&w->heard);
}

static void server_sends(struct wire *w, uint32_t id, enum frame_type type, struct str payload)
{
    AUTO(buf_done) struct buf b = {0};

    frame_format(&b, id, type, payload);
    for (size_t i = 0; i < b.size; i += 1000)
        w->options.on_data(w->options.arg,
                           (struct str){b.at + i, b.size - i < 1000 ? b.size - i : 1000});
}

static void heard(struct wire *w, const char *want)
{
    assert_string_equal(w->heard.at ? w->heard.at : "", want);
    buf_clear(&w->heard);
}

static struct frame next_sent(struct wire *w, enum frame_type type)
{
    struct frame f = {0};
    size_t size = 0;

    assert_null(frame_parse((struct str){w->sent.at + w->read, w->sent.size - w->read}, &f, &size));
    assert_true(size > 0);
    assert_int_equal(f.type, type);
    w->read += size;
    return f;
}

static void gives_a_stream_to_its_service(void **state)
{
    const struct stream_out *out;
    struct wire w;

    (void)state;
    wire_init(&w, true);
    out = uplink_out(w.uplink);
    server_sends(&w, 1, FRAME_OPEN, STR("{\"op\":\"undo\"}"));
    server_sends(&w, 1, FRAME_DATA, STR("abc"));
    server_sends(&w, 1, FRAME_CREDIT, (struct str){"\0\1\0\2", 4});
    server_sends(&w, 1, FRAME_END, STR(""));
    heard(&w, "open 1 undo|data 1 3|credit 1 65538|end 1|");
    out->taken(out->arg, 1, 3);
    assert_memory_equal(next_sent(&w, FRAME_CREDIT).payload.at, "\0\0\0\3", 4);
    out->data(out->arg, 1, STR("answer"));
    assert_true(str_equal(next_sent(&w, FRAME_DATA).payload, STR("answer")));
    out->end(out->arg, 1, 200, "");
    assert_true(
        str_equal(next_sent(&w, FRAME_END).payload, STR("{\"code\":200,\"message\":\"\"}")));
    server_sends(&w, 1, FRAME_CREDIT,
                 (struct str){"\0\0\0\1", 4}); /* the server does not know of the end yet */
    server_sends(&w, 3, FRAME_OPEN, STR("{\"op\":\"do\"}"));
    server_sends(&w, 3, FRAME_CANCEL, STR(""));
    server_sends(&w, 3, FRAME_DATA, STR("late"));
    w.options.on_drain(w.options.arg);
    heard(&w, "open 3 do|cancel 3|drained|");
    wire_done(&w);
}

static void refuses_what_nobody_answers(void **state)
{
    static const struct {
        const char *question;
        const char *want;
    } cases[] = {
        {"{\"op\":\"other\"}",
         "{\"code\":400,\"message\":\"op 'other' is not supported by this node\"}"},
        {"{}", "{\"code\":400,\"message\":\"op '' is not supported by this node\"}"},
    };
    struct wire w;

    (void)state;
    wire_init(&w, true);
    for (size_t i = 0; i < COUNT(cases); i++) {
        server_sends(&w, (uint32_t)(2 * i + 1), FRAME_OPEN, str_of(cases[i].question));
        assert_true(str_equal(next_sent(&w, FRAME_END).payload, str_of(cases[i].want)));
    }
    heard(&w, "");
    wire_done(&w);
}

static void who_breaks_the_rules_is_left(void **state)
{
    static const char filler[FRAME_PAYLOAD_MAX];
    static const struct {
        enum frame_type type;
        struct str payload;
        int times;
        bool takes_no_data;
    } cases[] = {
        {FRAME_OPEN, {"{\"op\":\"do\"}", 11}, 1, false}, /* the stream's id is in use */
        {FRAME_CREDIT, {"\0\0\1", 3}, 1, false},
        {FRAME_DATA, {filler, sizeof(filler)}, 5, false}, /* five frames exceed the credit */
        {FRAME_DATA, {"x", 1}, 1, true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct wire w;

        wire_init(&w, !cases[i].takes_no_data);
        server_sends(&w, 1, FRAME_OPEN, STR("{\"op\":\"do\"}"));
        for (int n = 0; n < cases[i].times; n++)
            server_sends(&w, 1, cases[i].type, cases[i].payload);
        assert_true(text_ends_with(w.heard.at, "all|"));
        assert_true(uplink_out(w.uplink)->is_full(uplink_out(w.uplink)->arg));
        sim_loop_advance(w.loop, NS_PER_SEC);
        assert_int_equal(w.n_opened, 2); /* the node connected again */
        wire_done(&w);
    }
}

static void connects_again_with_nothing_left(void **state)
{
    struct wire w;

    (void)state;
    wire_init(&w, true);
    server_sends(&w, 1, FRAME_OPEN, STR("{\"op\":\"do\"}"));
    w.options.on_close(w.options.arg, NULL);
    heard(&w, "open 1 do|all|");
    uplink_out(w.uplink)->data(uplink_out(w.uplink)->arg, 1, STR("into the void"));
    sim_loop_advance(w.loop, NS_PER_SEC);
    assert_int_equal(w.n_opened, 2);
    assert_int_equal(w.sent.size, 0);
    w.options.on_open(w.options.arg);
    server_sends(&w, 1, FRAME_OPEN, STR("{\"op\":\"do\"}")); /* the id is free again */
    heard(&w, "open 1 do|");
    w.backlog = 2 << 20;
    assert_true(uplink_out(w.uplink)->is_full(uplink_out(w.uplink)->arg));
    wire_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_a_stream_to_its_service),
        cmocka_unit_test(refuses_what_nobody_answers),
        cmocka_unit_test(who_breaks_the_rules_is_left),
        cmocka_unit_test(connects_again_with_nothing_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
