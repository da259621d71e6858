/* test_log.c - formats of log lines */

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "test.h"

static char *format(const char *process, const struct log_pair *pairs, bool is_json)
{
    return log_format(
        &(struct log_line){
            .process = process, .level = LOG_INFO, .message = "pod bound", .pairs = pairs},
        is_json);
}

static void writes_one_line_an_event(void **state)
{
    const struct log_pair pairs[] = {
        S("pod", "team-a/train-0"),
        U("gpus", 2u),
        S("why", "two words"),
        S("none", NULL),
        S("empty", ""),
        S("quote", "\"\n"),
        U("less", -1),
        {0},
    };
    AUTO_FREE char *text = format("server", pairs, false);
    AUTO_FREE char *json = format(NULL, pairs, true);

    (void)state;
    assert_string_equal(text, "time=1970-01-01T00:00:00.000000Z level=info process=server "
                              "msg=\"pod bound\" pod=team-a/train-0 gpus=2 why=\"two words\" "
                              "none=null empty=\"\" quote=\"\\\"\\n\" less=-1\n");
    assert_string_equal(json, "{\"time\":\"1970-01-01T00:00:00.000000Z\",\"level\":\"info\","
                              "\"msg\":\"pod bound\",\"pod\":\"team-a/train-0\",\"gpus\":2,"
                              "\"why\":\"two words\",\"none\":null,\"empty\":\"\","
                              "\"quote\":\"\\\"\\n\",\"less\":-1}\n");
}

static void cuts_long_values_between_characters(void **state)
{
    char value[6000];
    const struct log_pair pairs[] = {S("v", value), {0}};
    AUTO_FREE char *text = NULL;

    (void)state;
    for (size_t i = 0; i + 2 < sizeof(value); i += 2) {
        value[i + 1] = '\xc3';
        value[i + 2] = '\xa9';
    }
    value[0] = 'x';
    value[sizeof(value) - 1] = '\0';
    text = format(NULL, pairs, false);
    assert_true(strlen(text) < 4200);
    assert_string_equal(text + strlen(text) - 3, "\xc3\xa9\n");
}

static void goes_out_with_what_is_least(void **state)
{
    AUTO(err_freep) struct err *e = err_new(ERR_BUSY, "later");

    (void)state;
    log_setup("test", LOG_ERROR, false);
    LOG(WARN, "not shown");
    LOG(ERROR, "shown", E(e), U("n", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_one_line_an_event),
        cmocka_unit_test(cuts_long_values_between_characters),
        cmocka_unit_test(goes_out_with_what_is_least),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
