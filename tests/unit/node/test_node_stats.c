/* test_node_stats.c - tests of usage samples sent to the server */

#include "base/mem.h"
#include "base/stamp.h"
#include "client/frames.h"
#include "node/stats.h"
#include "node_world.h"
#include "test.h"

#define ONE \
    "{'restartPolicy':'OnFailure','containers':[{'name':'m','image':'host','command':['x']}]}"

/* The body of the last request whose path ends with `end`; NULL: none. */
static const json_t *last_body(const struct node_world *w, const char *end)
{
    const json_t *body = NULL;

    for (size_t i = 0; i < w->requests.n; i++)
        if (text_ends_with(w->requests.at[i].path, end))
            body = w->requests.at[i].body;
    return body;
}

static void put(struct node_world *w)
{
    AUTO_FREE char *spec = mem_strdup(ONE);
    AUTO(json_freep) json_t *pod = NULL;

    for (char *c = spec; *c; c++)
        if (*c == '\'')
            *c = '"';
    pod = node_world_pod(spec, "{}");
    node_world_put(w, pod);
}

static void end_using(struct node_world *w, const char *id, int code, int64_t cpu_ns)
{
    struct fake_container *c = node_world_container(w, id);

    assert_non_null(c);
    c->exit.has_usage = true;
    c->exit.usage = (struct account_usage){cpu_ns, -1, 7, 8, 9, 10, -1};
    node_world_end(w, id, code);
}

static json_t *annotation(const struct node_world *w)
{
    const char *text =
        json_text_at(last_body(w, "/pods/p/status"), "metadata", "annotations", POD_USAGE, NULL);
    json_t *usage = NULL;

    assert_non_null(text);
    assert_null(json_parse(str_of(text), &usage));
    return usage;
}

static void the_status_carries_what_ended_attempts_used(void **state)
{
    AUTO(json_freep) json_t *first = NULL;
    AUTO(json_freep) json_t *both = NULL;
    struct node_world w;

    (void)state;
    node_world_init(&w);
    put(&w);
    assert_null(json_text_at(last_body(&w, "/pods/p/status"), "metadata", "annotations", POD_USAGE,
                             NULL)); /* no container has ended yet */
    end_using(&w, "u1-m-0", 1, 100);
    first = annotation(&w);
    assert_int_equal(json_int_at(first, "containers", "m", "0", "cpuNs", NULL), 100);
    assert_int_equal(json_int_at(first, "containers", "m", "0", "memoryPeakBytes", NULL), 7);
    assert_null(json_at(first, "containers", "m", "0", "memoryKibSeconds", NULL)); /* unknown */
    assert_int_equal(json_int_at(first, "containers", "m", "0", "gpuBusyNs", NULL), 8);
    assert_int_equal(json_int_at(first, "containers", "m", "0", "gpuIdleNs", NULL), 9);
    assert_int_equal(json_int_at(first, "containers", "m", "0", "gpuEnergyMj", NULL), 10);
    assert_null(json_at(first, "containers", "m", "0", "gpuMemoryPeakBytes", NULL));
    end_using(&w, "u1-m-1", 0, 200);
    both = annotation(&w);
    assert_int_equal(json_int_at(both, "containers", "m", "0", "cpuNs", NULL), 100);
    assert_int_equal(json_int_at(both, "containers", "m", "1", "cpuNs", NULL), 200);
    node_world_done(&w);
}

/* ---- samples ---- */

static struct err *load(struct machine_load *ret)
{
    *ret = (struct machine_load){.cpu_ns = 5 * NS_PER_SEC, .memory_bytes = 4096};
    return NULL;
}

static bool usage(void *self, const char *id, struct usage *ret)
{
    (void)self;
    (void)id;
    *ret =
        (struct usage){.is_known = true,
                       .total = {.cpu_ns = 50, .memory_kib_seconds = 60, .memory_peak_bytes = 70},
                       .memory_bytes = 80,
                       .rate_nano = 90,
                       .window_ns = 10 * NS_PER_SEC};
    return true;
}

/* The server's end of the stream. */
struct ear {
    struct node_world w;
    struct runtime_ops ops;
    struct stream_out out;
    struct stats *stats;
    struct stream_service service;
    struct buf heard; /* bytes of stream 1 */
    unsigned n_pieces;
    int ended; /* code of a refused stream */
    bool is_full;
};

static void ear_data(void *arg, uint32_t id, struct str bytes)
{
    struct ear *ear = arg;

    assert_int_equal(id, 1);
    assert_true(bytes.size <= FRAME_PAYLOAD_MAX);
    buf_add(&ear->heard, bytes.at, bytes.size);
    ear->n_pieces++;
}

static void ear_end(void *arg, uint32_t id, int code, const char *message)
{
    struct ear *ear = arg;

    (void)message;
    assert_int_equal(id, 2);
    ear->ended = code;
}

static bool ear_is_full(void *arg)
{
    return ((struct ear *)arg)->is_full;
}

static void ear_init(struct ear *ear)
{
    struct stats_options o = {.load = load};

    *ear = (struct ear){0};
    node_world_init(&ear->w);
    ear->ops = *ear->w.runtime.ops;
    ear->ops.usage = usage;
    ear->w.runtime.ops = &ear->ops;
    ear->out =
        (struct stream_out){.data = ear_data, .end = ear_end, .is_full = ear_is_full, .arg = ear};
    o.loop = ear->w.loop;
    o.pods = ear->w.pods;
    o.out = &ear->out;
    ear->stats = stats_new(&o);
    ear->service = stats_service(ear->stats);
    put(&ear->w);
    node_world_run(&ear->w);
}

static void ear_done(struct ear *ear)
{
    stats_free(ear->stats);
    node_world_done(&ear->w);
    buf_done(&ear->heard);
}

/* Takes the one message that was heard. */
static void ear_take(struct ear *ear, struct node_stats *ret)
{
    size_t size = 0;

    assert_null(node_stats_parse((struct str){ear->heard.at, ear->heard.size}, ret, &size));
    assert_true(size > 0);
    assert_int_equal(size, ear->heard.size);
    buf_clear(&ear->heard);
}

static void samples_are_of_what_runs(void **state)
{
    struct node_stats s = {0};
    struct ear ear;

    (void)state;
    ear_init(&ear);
    assert_int_equal(ear.heard.size, 0); /* the server does not listen yet */
    ear.service.open(ear.service.self, 1, NULL);
    node_world_run(&ear.w);
    ear_take(&ear, &s);
    assert_int_equal(s.load.cpu_nano, -1); /* one sample has no rate */
    node_stats_done(&s);
    node_world_advance(&ear.w, 10 * NS_PER_SEC);
    ear_take(&ear, &s);
    assert_int_equal(s.load.cpu_nano, 0);
    assert_int_equal(s.load.memory_bytes, 4096);
    assert_int_equal(s.parts, STATS_LOADS);
    assert_int_equal(s.containers.n, 1);
    assert_string_equal(s.containers.at[0].pod_uid, "u1");
    assert_string_equal(s.containers.at[0].name, "m");
    assert_int_equal(s.containers.at[0].load.cpu_nano, 90);
    assert_int_equal(s.containers.at[0].usage.cpu_ns, 50);
    node_stats_done(&s);
    end_using(&ear.w, "u1-m-0", 0, 1);
    node_world_advance(&ear.w, 10 * NS_PER_SEC);
    ear_take(&ear, &s);
    assert_int_equal(s.containers.n, 0);
    node_stats_done(&s);
    ear_done(&ear);
}

static void a_full_connection_gets_one_message_not_many(void **state)
{
    struct node_stats s = {0};
    struct ear ear;

    (void)state;
    ear_init(&ear);
    ear.is_full = true;
    ear.service.open(ear.service.self, 1, NULL);
    node_world_advance(&ear.w, 100 * NS_PER_SEC);
    assert_int_equal(ear.heard.size, 0);
    ear.is_full = false;
    ear.service.drained(ear.service.self);
    ear_take(&ear, &s); /* one message, the first: later samples found no room */
    node_stats_done(&s);
    node_world_advance(&ear.w, 10 * NS_PER_SEC);
    ear_take(&ear, &s);
    node_stats_done(&s);
    ear_done(&ear);
}

static void send_gpu(struct ear *ear, const char *uuid)
{
    struct node_stats s = {0};
    struct gpu_sample g = {0};

    (void)snprintf(g.uuid, sizeof(g.uuid), "%s", uuid);
    vec_add(&s.gpus, g);
    stats_send_gpus(ear->stats, &s);
    node_stats_done(&s);
}

static void gpus_are_sent_at_once_and_never_wait_behind_others(void **state)
{
    struct node_stats s = {0};
    struct ear ear;
    size_t size = 0;

    (void)state;
    ear_init(&ear);
    send_gpu(&ear, "GPU-early");
    assert_int_equal(ear.heard.size, 0); /* the server does not listen yet */
    ear.service.open(ear.service.self, 1, NULL);
    node_world_run(&ear.w);
    ear_take(&ear, &s);
    node_stats_done(&s);
    send_gpu(&ear, "GPU-0");
    ear_take(&ear, &s);
    assert_int_equal(s.parts, STATS_GPUS);
    assert_string_equal(s.gpus.at[0].uuid, "GPU-0");
    node_stats_done(&s);
    ear.is_full = true;
    send_gpu(&ear, "GPU-1");
    send_gpu(&ear, "GPU-2");                      /* dropped */
    node_world_advance(&ear.w, 100 * NS_PER_SEC); /* one message of loads waits, too */
    ear.is_full = false;
    ear.service.drained(ear.service.self);
    assert_null(node_stats_parse((struct str){ear.heard.at, ear.heard.size}, &s, &size));
    assert_string_equal(s.gpus.at[0].uuid, "GPU-1");
    node_stats_done(&s);
    buf_consume(&ear.heard, size);
    ear_take(&ear, &s);
    assert_int_equal(s.parts, STATS_LOADS);
    node_stats_done(&s);
    ear_done(&ear);
}

static void samples_stop_when_their_credit_is_used_up(void **state)
{
    struct node_stats s = {0};
    struct ear ear;
    size_t heard = 0;

    (void)state;
    ear_init(&ear);
    ear.service.open(ear.service.self, 1, NULL);
    for (int i = 0; i < 5000; i++)
        node_world_advance(&ear.w, 10 * NS_PER_SEC);
    assert_int_equal(ear.heard.size, FRAME_CREDIT_FIRST);
    ear.service.credit(ear.service.self, 1, FRAME_CREDIT_FIRST);
    for (size_t size = 1; size > 0; heard += size) {
        assert_null(node_stats_parse((struct str){ear.heard.at + heard, ear.heard.size - heard}, &s,
                                     &size));
        if (size > 0)
            node_stats_done(&s);
    }
    assert_int_equal(heard, ear.heard.size); /* whole messages only */
    ear_done(&ear);
}

static void a_new_connection_gets_samples_at_once_and_one_stream(void **state)
{
    struct node_stats s = {0};
    struct ear ear;

    (void)state;
    ear_init(&ear);
    ear.service.open(ear.service.self, 1, NULL);
    node_world_run(&ear.w);
    ear_take(&ear, &s);
    node_stats_done(&s);
    ear.service.open(ear.service.self, 2, NULL);
    assert_int_equal(ear.ended, 409);
    ear.service.cancel_all(ear.service.self);
    node_world_advance(&ear.w, 100 * NS_PER_SEC);
    assert_int_equal(ear.heard.size, 0);
    ear.service.open(ear.service.self, 1, NULL);
    node_world_run(&ear.w);
    ear_take(&ear, &s);
    node_stats_done(&s);
    ear_done(&ear);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_status_carries_what_ended_attempts_used),
        cmocka_unit_test(samples_are_of_what_runs),
        cmocka_unit_test(a_full_connection_gets_one_message_not_many),
        cmocka_unit_test(gpus_are_sent_at_once_and_never_wait_behind_others),
        cmocka_unit_test(samples_stop_when_their_credit_is_used_up),
        cmocka_unit_test(a_new_connection_gets_samples_at_once_and_one_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
