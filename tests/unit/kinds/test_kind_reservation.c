/* test_kind_reservation.c - reservations: validation */

#include "base/mem.h"
#include "kinds/kind/kind.h"
#include "test.h"

static void says_what_is_wrong_with_a_reservation(void **state)
{
#define TIMES "\"startTime\":\"2026-11-22T08:00:00Z\",\"endTime\":\"2026-11-22T09:00:00Z\""
    static const struct {
        const char *spec;
        const char *cause; /* NULL: none */
    } cases[] = {
        {"{" TIMES ",\"nodes\":[\"a\"],\"users\":[\"ann\"]}", NULL},
        {"{" TIMES ",\"gpus\":4,\"gpuModels\":[\"h100\"],\"queues\":[\"q\"]}", NULL},
        {"{" TIMES ",\"nodes\":[\"a\",\"b\"],\"maintenance\":true}", NULL},
        {"{" TIMES ",\"users\":[\"ann\"]}", "spec.nodes: Required value: set either nodes or gpus"},
        {"{" TIMES ",\"nodes\":[\"a\"],\"gpus\":1,\"users\":[\"ann\"]}",
         "spec.nodes: Required value: set either nodes or gpus"},
        {"{" TIMES ",\"nodes\":[\"a\"],\"gpuModels\":[\"h100\"],\"users\":[\"ann\"]}",
         "spec.gpuModels: Forbidden: goes with gpus only"},
        {"{" TIMES ",\"nodes\":[\"a\"]}",
         "spec.queues: Required value: name queues or users, or set maintenance"},
        {"{" TIMES ",\"nodes\":[\"a\"],\"maintenance\":true,\"users\":[\"ann\"]}",
         "spec.maintenance: Forbidden: leave out queues and users"},
        {"{" TIMES ",\"gpus\":0,\"users\":[\"ann\"]}",
         "spec.gpus: Invalid value: 0: must be between 1 and 16384, inclusive"},
        {"{\"startTime\":\"2026-11-22T08:00:00Z\",\"endTime\":\"2026-11-22T08:00:00Z\",\"nodes\":"
         "[\"a\"],\"users\":[\"ann\"]}",
         "spec.endTime: Invalid value: \"2026-11-22T08:00:00Z\": must be after startTime"},
        {"{\"nodes\":[\"a\"],\"users\":[\"ann\"]}",
         "[spec.startTime: Required value, spec.endTime: Required value]"},
    };
#undef TIMES

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct kind *k = kind_find("mete.dev", "reservations");
        AUTO_FREE char *text =
            mem_format("{\"metadata\":{\"name\":\"r\"},\"spec\":%s}", cases[i].spec);
        AUTO_FREE char *want = mem_format("Reservation.mete.dev \"r\" is invalid: %s",
                                          cases[i].cause ? cases[i].cause : "");
        AUTO(json_freep) json_t *object = NULL;
        AUTO(err_freep) struct err *e = json_parse(str_of(text), &object);

        assert_null(e);
        e = kind_decode(k, object, VALIDATION_STRICT, NULL);
        if (!e)
            e = kind_validate(k, object);
        if (!cases[i].cause && e)
            fail_msg("%s: %s", cases[i].spec, err_message(e));
        if (cases[i].cause)
            assert_string_equal(e ? err_message(e) : "", want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(says_what_is_wrong_with_a_reservation)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
