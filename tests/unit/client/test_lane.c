/* test_lane.c - the output of a stream within its credit */

#include "base/err.h"
#include "client/lane.h"
#include "test.h"

/* A connection that takes a number of pieces, and counts them. */
struct way {
    size_t n_free; /* pieces until the connection is full */
    size_t n_pieces;
    size_t largest;
    struct buf got;
};

static void way_data(void *arg, uint32_t id, struct str bytes)
{
    struct way *w = arg;

    assert_int_equal(id, 7);
    assert_true(w->n_free > 0 && bytes.size > 0);
    w->n_free--;
    w->n_pieces++;
    w->largest = bytes.size > w->largest ? bytes.size : w->largest;
    buf_add(&w->got, bytes.at, bytes.size);
}

static bool way_is_full(void *arg)
{
    const struct way *w = arg;

    return w->n_free == 0;
}

static bool flush(struct lane *l, struct way *w)
{
    return lane_flush(l, 7, &(struct lane_way){way_data, way_is_full, w});
}

static void lane_fill(struct lane *l, size_t size)
{
    for (size_t i = 0; i < size; i++)
        buf_add_char(&l->out, (char)('a' + (i % 26)));
}

static void sends_within_the_credit_in_frames(void **state)
{
    struct lane l = lane_new();
    struct way w = {.n_free = 100};
    const size_t size = FRAME_CREDIT_FIRST + 10;

    (void)state;
    lane_fill(&l, size);
    assert_false(flush(&l, &w));
    assert_int_equal(w.got.size, FRAME_CREDIT_FIRST);
    assert_int_equal(w.n_pieces, FRAME_CREDIT_FIRST / FRAME_PAYLOAD_MAX);
    assert_int_equal(w.largest, FRAME_PAYLOAD_MAX);
    lane_take_credit(&l, 4);
    assert_false(flush(&l, &w));
    assert_int_equal(w.got.size, FRAME_CREDIT_FIRST + 4);
    lane_take_credit(&l, 100);
    assert_true(flush(&l, &w));
    assert_int_equal(l.credit, 94);
    assert_int_equal(w.got.size, size);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(w.got.at[i], 'a' + (int)(i % 26));
    buf_done(&l.out);
    buf_done(&w.got);
}

static void waits_while_the_connection_is_full(void **state)
{
    struct lane l = lane_new();
    struct way w = {.n_free = 1};

    (void)state;
    lane_fill(&l, FRAME_PAYLOAD_MAX + 1);
    assert_false(flush(&l, &w));
    assert_int_equal(w.got.size, FRAME_PAYLOAD_MAX);
    assert_false(flush(&l, &w));
    w.n_free = 1;
    assert_true(flush(&l, &w));
    assert_int_equal(w.got.size, FRAME_PAYLOAD_MAX + 1);
    assert_true(flush(&l, &w)); /* nothing waits */
    buf_done(&l.out);
    buf_done(&w.got);
}

static void credit_does_not_overflow(void **state)
{
    struct lane l = lane_new();

    (void)state;
    lane_take_credit(&l, UINT32_MAX);
    assert_int_equal(l.credit, 1 << 30);
    lane_take_credit(&l, 1);
    assert_int_equal(l.credit, 1 << 30);
}

static void credit_is_a_number_of_four_bytes(void **state)
{
    AUTO(buf_done) struct buf b = {0};
    AUTO(err_freep) struct err *e = NULL;
    struct frame f = {0};
    size_t size = 0;
    uint32_t credit = 5;

    (void)state;
    frame_format_credit(&b, 7, 0x01020304);
    assert_null(frame_parse((struct str){b.at, b.size}, &f, &size));
    assert_int_equal(f.type, FRAME_CREDIT);
    assert_null(frame_read_credit(f.payload, &credit));
    assert_int_equal(credit, 0x01020304);
    e = frame_read_credit(STR("abc"), &credit);
    assert_string_equal(err_message(e), "credit of 3 bytes");
    assert_int_equal(credit, 0x01020304);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_within_the_credit_in_frames),
        cmocka_unit_test(waits_while_the_connection_is_full),
        cmocka_unit_test(credit_does_not_overflow),
        cmocka_unit_test(credit_is_a_number_of_four_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
