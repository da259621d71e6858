/* test_grpc_text.c - frames, escapes and statuses of gRPC */

#include "kubelet/grpc/grpc_text.h"
#include "prop.h"
#include "test.h"

static void frames_are_read_back_and_wait_for_their_rest(void **state)
{
    struct prop_seeds seeds = prop_seeds(500);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct prop p = {seed};
        AUTO(buf_done) struct buf sent = {0};
        char bytes[64];
        size_t size = prop_below(&p, sizeof(bytes) + 1);
        size_t cut = 0;
        struct str got = {0};
        size_t taken = 99;

        for (size_t k = 0; k < size; k++)
            bytes[k] = (char)prop_below(&p, 256);
        grpc_message_format(&sent, (struct str){.at = bytes, .size = size});
        assert_int_equal(sent.size, size + GRPC_HEAD_SIZE);
        cut = prop_below(&p, sent.size);
        assert_null(grpc_message_parse((struct str){.at = sent.at, .size = cut}, 64, &got, &taken));
        assert_int_equal(taken, 0);
        buf_add(&sent, "rest", 4);
        assert_null(
            grpc_message_parse((struct str){.at = sent.at, .size = sent.size}, 64, &got, &taken));
        assert_int_equal(taken, size + GRPC_HEAD_SIZE);
        assert_true(str_equal(got, (struct str){.at = bytes, .size = size}));
    }
}

static void refuses_what_nobody_offered(void **state)
{
    static const struct {
        struct str bytes;
        const char *message;
    } cases[] = {
        {STR("\1\0\0\0\0"), "gRPC message: flag 1: want 0, no compression"},
        {STR("\0\0\0\0\11"), "gRPC message of 9 bytes: want at most 8"},
        {STR("\0\377\377\377\377"), "gRPC message of 4294967295 bytes: want at most 8"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str got = {0};
        size_t taken = 0;
        AUTO(err_freep) struct err *e = grpc_message_parse(cases[i].bytes, 8, &got, &taken);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
    }
}

static void messages_survive_the_escape(void **state)
{
    static const struct {
        const char *text;
        const char *escaped;
    } cases[] = {
        {"", ""},
        {"no device", "no device"},
        {"100 %\n", "100 %25%0A"},
        {"caf\303\251", "caf%C3%A9"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(buf_done) struct buf escaped = {0};
        AUTO(buf_done) struct buf back = {0};

        grpc_escape(&escaped, cases[i].text);
        assert_string_equal(text_or_empty(escaped.at), cases[i].escaped);
        grpc_unescape(&back, str_of(text_or_empty(escaped.at)));
        assert_string_equal(text_or_empty(back.at), cases[i].text);
    }
}

static void malformed_escapes_stay_as_they_are(void **state)
{
    static const char *const texts[] = {"%", "%4", "50 %", "%zz", "a%4g"};

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        AUTO(buf_done) struct buf got = {0};

        grpc_unescape(&got, str_of(texts[i]));
        assert_string_equal(got.at, texts[i]);
    }
}

static void statuses_become_errors(void **state)
{
    static const struct {
        int status;
        enum err_code code;
    } cases[] = {{3, ERR_INVALID},          {5, ERR_NOT_FOUND}, {12, ERR_UNIMPLEMENTED},
                 {14, ERR_UNAVAILABLE},     {1, ERR_INTERNAL},  {2, ERR_INTERNAL},
                 {16, ERR_UNAUTHENTICATED}, {99, ERR_INTERNAL}, {-1, ERR_INTERNAL}};

    (void)state;
    assert_null(grpc_status_error(0, "well"));
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(err_freep) struct err *e = grpc_status_error(cases[i].status, "why");

        assert_int_equal(err_code(e), cases[i].code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_read_back_and_wait_for_their_rest),
        cmocka_unit_test(refuses_what_nobody_offered),
        cmocka_unit_test(messages_survive_the_escape),
        cmocka_unit_test(malformed_escapes_stay_as_they_are),
        cmocka_unit_test(statuses_become_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
