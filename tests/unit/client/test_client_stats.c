/* test_client_stats.c - tests of the messages of a node's samples */

#include <stdio.h>

#include "client/node_stats.h"
#include "test.h"

#define NODE_RECORD "\x01\x00\x28"

static void fill(struct node_stats *s, size_t n_containers)
{
    struct container_sample c = {.pod_uid = "u1",
                                 .attempt = 3,
                                 .load = {90, 80, 70},
                                 .usage = {-1, INT64_MAX, 1, 2, 3, 4, 5},
                                 .gpu_idle_for_ns = 6};

    struct gpu_sample g = GPU_SAMPLE_UNKNOWN;

    *s = (struct node_stats){.at_ns = 5, .parts = STATS_LOADS | STATS_GPUS, .load = {-1, 4096, 0}};
    memcpy(g.uuid, "GPU-0", sizeof("GPU-0"));
    g.value[GPU_FIELD_MEMORY_USED_BYTES] = INT64_C(1) << 40;
    g.value[GPU_FIELD_PROCESSES] = 2;
    vec_add(&s->gpus, g);
    memcpy(g.uuid, "MIG-0", sizeof("MIG-0"));
    memcpy(g.parent, "GPU-0", sizeof("GPU-0"));
    vec_add(&s->gpus, g);
    vec_add(&s->container_gpus, (struct container_gpu){.pod_uid = "u1",
                                                       .name = "c0",
                                                       .attempt = 3,
                                                       .device = "MIG-0",
                                                       .memory_bytes = 11,
                                                       .sm_milli = -1,
                                                       .n_processes = 2});
    vec_add(&s->container_gpus, (struct container_gpu){.attempt = -1, .device = "GPU-0"});
    for (size_t i = 0; i < n_containers; i++) {
        (void)snprintf(c.name, sizeof(c.name), "c%zu", i);
        vec_add(&s->containers, c);
    }
}

static void a_message_is_read_back(void **state)
{
    AUTO(buf_done) struct buf b = {0};
    struct node_stats in = {0};
    struct node_stats out = {0};
    size_t size = 0;

    (void)state;
    fill(&in, 2);
    node_stats_format(&b, &in);
    for (size_t n = 0; n < b.size; n++) { /* a part is not a message yet */
        assert_null(node_stats_parse((struct str){b.at, n}, &out, &size));
        assert_int_equal(size, 0);
    }
    buf_add_text(&b, "next");
    assert_null(node_stats_parse((struct str){b.at, b.size}, &out, &size));
    assert_int_equal(size, b.size - 4);
    assert_int_equal(out.at_ns, 5);
    assert_int_equal(out.load.cpu_nano, -1);
    assert_int_equal(out.load.memory_bytes, 4096);
    assert_int_equal(out.parts, STATS_LOADS | STATS_GPUS);
    assert_int_equal(out.gpus.n, 2);
    assert_string_equal(out.gpus.at[0].uuid, "GPU-0");
    assert_string_equal(out.gpus.at[0].parent, "");
    assert_int_equal(out.gpus.at[0].at_ns, 5);
    assert_int_equal(out.gpus.at[0].value[GPU_FIELD_MEMORY_USED_BYTES], INT64_C(1) << 40);
    assert_int_equal(out.gpus.at[0].value[GPU_FIELD_POWER_MW], -1);
    assert_string_equal(out.gpus.at[1].parent, "GPU-0");
    assert_int_equal(out.gpus.at[1].value[GPU_FIELD_PROCESSES], 2);
    assert_int_equal(out.container_gpus.n, 2);
    assert_memory_equal(&out.container_gpus.at[0], &in.container_gpus.at[0],
                        sizeof(in.container_gpus.at[0]));
    assert_memory_equal(&out.container_gpus.at[1], &in.container_gpus.at[1],
                        sizeof(in.container_gpus.at[1]));
    assert_int_equal(out.containers.n, 2);
    assert_string_equal(out.containers.at[1].pod_uid, "u1");
    assert_string_equal(out.containers.at[1].name, "c1");
    assert_int_equal(out.containers.at[1].attempt, 3);
    assert_int_equal(out.containers.at[1].load.window_ns, 70);
    assert_memory_equal(&out.containers.at[1].usage, &in.containers.at[1].usage,
                        sizeof(in.containers.at[1].usage));
    assert_int_equal(out.containers.at[1].gpu_idle_for_ns, 6);
    node_stats_done(&in);
    node_stats_done(&out);
}

static void more_containers_than_a_message_holds_are_left_out(void **state)
{
    AUTO(buf_done) struct buf b = {0};
    struct node_stats in = {0};
    struct node_stats out = {0};
    size_t size = 0;

    (void)state;
    fill(&in, 30000);
    node_stats_format(&b, &in);
    assert_true(b.size <= STATS_HEAD_SIZE + STATS_MAX);
    assert_null(node_stats_parse((struct str){b.at, b.size}, &out, &size));
    assert_int_equal(size, b.size);
    assert_true(out.containers.n > 5000 && out.containers.n < 30000);
    node_stats_done(&in);
    node_stats_done(&out);
}

/* A message of the node's record with the time 9, then `more`. */
static void message(struct buf *b, const char *more, size_t n_more)
{
    static const char record[] = NODE_RECORD "\0\0\0\0\0\0\0\x09"
                                             "\0\0\0\0\0\0\0\x07"
                                             "\xff\xff\xff\xff\xff\xff\xff\xfe"
                                             "\0\0\0\0\0\0\0\x01"
                                             "\0\0\0\0\0\0\0\x02";
    size_t size = sizeof(record) - 1 + 1 + n_more;

    buf_clear(b);
    for (int i = 3; i >= 0; i--)
        buf_add_char(b, (char)(unsigned char)(size >> (8 * i)));
    buf_add_char(b, STATS_VERSION);
    buf_add(b, record, sizeof(record) - 1);
    buf_add(b, more, n_more);
}

/* A writer with one field, and one with more than ours. */
static void fields_that_one_side_lacks_are_unknown_or_skipped(void **state)
{
    static const char one[] = "\x02\x00\x0c\x01"
                              "a\0\x01\0\0\0\0\0\0\0\x05";
    char more[3 + 4 + 8 * (GPU_FIELD_COUNT + 1)] = "\x02";
    AUTO(buf_done) struct buf b = {0};
    struct node_stats s = {0};
    size_t size = 0;

    (void)state;
    message(&b, one, sizeof(one) - 1);
    assert_null(node_stats_parse((struct str){b.at, b.size}, &s, &size));
    assert_int_equal(s.gpus.at[0].value[0], 5);
    assert_int_equal(s.gpus.at[0].value[1], -1);
    node_stats_done(&s);
    more[1] = (sizeof(more) - 3) >> 8;
    more[2] = (char)(unsigned char)((sizeof(more) - 3) & 0xff);
    more[3] = 1;
    more[4] = 'a';
    more[6] = GPU_FIELD_COUNT + 1;
    more[6 + 8 * GPU_FIELD_COUNT] = 9;
    message(&b, more, sizeof(more));
    assert_null(node_stats_parse((struct str){b.at, b.size}, &s, &size));
    assert_int_equal(s.gpus.n, 1);
    assert_int_equal(s.gpus.at[0].value[GPU_FIELD_COUNT - 1], 9);
    node_stats_done(&s);
}

static void unknown_records_are_skipped_and_low_numbers_unknown(void **state)
{
    static const char more[] = "\x09\x00\x02zz";
    AUTO(buf_done) struct buf b = {0};
    struct node_stats s = {0};
    size_t size = 0;

    (void)state;
    message(&b, more, sizeof(more) - 1);
    assert_null(node_stats_parse((struct str){b.at, b.size}, &s, &size));
    assert_int_equal(s.at_ns, 9);
    assert_int_equal(s.parts, STATS_LOADS | STATS_GPUS); /* 7 */
    assert_int_equal(s.load.cpu_nano, -1);               /* -2 */
    assert_int_equal(s.gpus.n + s.containers.n, 0);
    node_stats_done(&s);
}

static void malformed_messages_are_refused(void **state)
{
    static const struct {
        const char *more;
        size_t size;
    } cases[] = {
        {"\x02", 1}, /* half a head */
        {"\x02\x00\x05"
         "abc",
         6},                     /* shorter than it says */
        {"\x02\x00\x01\x00", 4}, /* no uuid */
        {"\x02\x00\x03\x02"
         "a\n",
         6}, /* a control byte */
        {"\x02\x00\x02\x01"
         "a",
         5}, /* no parent */
        {"\x02\x00\x04\x01"
         "a\0\x01",
         7}, /* fewer numbers than it says */
        {"\x04\x00\x24\x01"
         "u\0\x01"
         "d\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
         40}, /* a pod without a container */
        {"\x03\x00\x04\x01"
         "u\x01n",
         7},              /* no numbers */
        {NODE_RECORD, 3}, /* the node again */
    };
    AUTO(buf_done) struct buf b = {0};
    struct node_stats s = {0};
    size_t size = 7;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        message(&b, cases[i].more, cases[i].size);
        AUTO(err_freep) struct err *e = node_stats_parse((struct str){b.at, b.size}, &s, &size);

        assert_non_null(e);
        assert_string_equal(err_message(e), "samples: malformed record");
        assert_int_equal(err_http(e), 400);
        assert_int_equal(s.at_ns, 0);
    }
    {
        AUTO(err_freep) struct err *e = node_stats_parse(STR("\x7f\xff\xff\xff"), &s, &size);

        assert_string_equal(err_message(e),
                            "samples of 2147483647 bytes: at most 1048576 are allowed");
    }
    {
        AUTO(err_freep) struct err *e = node_stats_parse((struct str){"\0\0\0\1\7", 5}, &s, &size);

        assert_string_equal(err_message(e), "samples of version 7: want version 2");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_read_back),
        cmocka_unit_test(more_containers_than_a_message_holds_are_left_out),
        cmocka_unit_test(fields_that_one_side_lacks_are_unknown_or_skipped),
        cmocka_unit_test(unknown_records_are_skipped_and_low_numbers_unknown),
        cmocka_unit_test(malformed_messages_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
