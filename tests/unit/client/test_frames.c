/* test_frames.c - formatting and parsing of frames */

#include "client/frames.h"
#include "client/records.h"
#include "test.h"

static void reads_what_it_writes(void **state)
{
    AUTO(buf_done) struct buf b = {0};
    struct frame f = {0};
    size_t size = 0;

    (void)state;
    frame_format(&b, 0xfedcba98u, FRAME_DATA, STR("hello"));
    frame_format(&b, 1, FRAME_CANCEL, STR(""));
    assert_int_equal(b.size, 2 * FRAME_HEAD_SIZE + 5);
    assert_null(frame_parse((struct str){b.at, b.size}, &f, &size));
    assert_int_equal(size, FRAME_HEAD_SIZE + 5);
    assert_int_equal(f.stream, 0xfedcba98u);
    assert_int_equal(f.type, FRAME_DATA);
    assert_true(str_equal(f.payload, STR("hello")));
    assert_null(frame_parse((struct str){b.at + size, b.size - size}, &f, &size));
    assert_int_equal(size, FRAME_HEAD_SIZE);
    assert_int_equal(f.type, FRAME_CANCEL);
}

static void waits_for_the_rest_of_a_frame(void **state)
{
    AUTO(buf_done) struct buf b = {0};
    struct frame f = {.stream = 42};

    (void)state;
    frame_format(&b, 7, FRAME_END, STR("{}"));
    for (size_t n = 0; n < b.size; n++) {
        size_t size = 1;

        assert_null(frame_parse((struct str){b.at, n}, &f, &size));
        assert_int_equal(size, 0);
        assert_int_equal(f.stream, 42);
    }
}

static void refuses_frames_that_are_none(void **state)
{
    static const struct {
        unsigned char head[FRAME_HEAD_SIZE];
        const char *message;
    } cases[] = {
        {{0, 1, 0, 1, 0, 0, 0, 1, 2}, "frame of 65537 bytes: at most 65536 are allowed"},
        {{255, 255, 255, 255, 0, 0, 0, 1, 2},
         "frame of 4294967295 bytes: at most 65536 are allowed"},
        {{0, 0, 0, 0, 0, 0, 0, 1, 0}, "frame of unknown type 0"},
        {{0, 0, 0, 0, 0, 0, 0, 1, 6}, "frame of unknown type 6"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct frame f = {0};
        size_t size = 0;
        AUTO(err_freep)
        struct err *e =
            frame_parse((struct str){(const char *)cases[i].head, FRAME_HEAD_SIZE}, &f, &size);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
    }
}

static struct err *note_frame(void *arg, const struct frame *f)
{
    struct buf *noted = arg;

    buf_printf(noted, "%u:" STR_FMT ";", f->stream, STR_ARG(f->payload));
    return f->type == FRAME_CANCEL ? err_new(ERR_CONFLICT, "cancelled") : NULL;
}

static void note_record(void *arg, const struct record *r)
{
    buf_printf(arg, "%d:" STR_FMT ";", (int)r->channel, STR_ARG(r->bytes));
}

static void gives_complete_frames_and_keeps_the_rest(void **state)
{
    AUTO(buf_done) struct buf in = {0};
    AUTO(buf_done) struct buf noted = {0};
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    frame_format(&in, 1, FRAME_DATA, STR("one"));
    frame_format(&in, 2, FRAME_END, STR(""));
    buf_add(&in, "\0\0", 2);
    assert_null(frames_each(&in, note_frame, &noted));
    assert_string_equal(noted.at, "1:one;2:;");
    assert_int_equal(in.size, 2);
    buf_clear(&in);
    frame_format(&in, 3, FRAME_CANCEL, STR(""));
    frame_format(&in, 4, FRAME_DATA, STR("never"));
    e = frames_each(&in, note_frame, &noted);
    assert_non_null(e);
    assert_string_equal(err_message(e), "cancelled");
    assert_string_equal(noted.at, "1:one;2:;3:;");
}

static void gives_complete_records_and_keeps_the_rest(void **state)
{
    AUTO(buf_done) struct buf in = {0};
    AUTO(buf_done) struct buf noted = {0};
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    record_format(&in, RECORD_STDOUT, STR("out"));
    record_format(&in, RECORD_STDERR, STR("bad"));
    buf_add(&in, "\x01", 1);
    assert_null(records_each(&in, note_record, &noted));
    assert_string_equal(noted.at, "1:out;2:bad;");
    assert_int_equal(in.size, 1);
    buf_add(&in, "\xff\xff\xff\xff", 4);
    e = records_each(&in, note_record, &noted);
    assert_non_null(e);
    assert_string_equal(noted.at, "1:out;2:bad;");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_writes),
        cmocka_unit_test(waits_for_the_rest_of_a_frame),
        cmocka_unit_test(refuses_frames_that_are_none),
        cmocka_unit_test(gives_complete_frames_and_keeps_the_rest),
        cmocka_unit_test(gives_complete_records_and_keeps_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
