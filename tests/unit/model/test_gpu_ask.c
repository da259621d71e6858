/* test_gpu_ask.c - the text form of devices that a pod asks for */

#include <stdio.h>

#include "base/attr.h"
#include "model/gpu_ask.h"
#include "prop.h"
#include "test.h"

#define GIB (INT64_C(1) << 30)

static void reads_and_writes_each_form(void **state)
{
    static const struct {
        const char *text;
        struct gpu_ask ask;
        const char *again; /* NULL: the same text */
    } cases[] = {
        {"0", {.count = 0}, NULL},
        {"8", {.count = 8}, NULL},
        {"0.5", {.kind = DEVICE_SHARE, .count = 1, .milli = 500}, NULL},
        {"0.500", {.kind = DEVICE_SHARE, .count = 1, .milli = 500}, "0.5"},
        {"2x0.125", {.kind = DEVICE_SHARE, .count = 2, .milli = 125}, NULL},
        {"20Gi", {.kind = DEVICE_SHARE, .count = 1, .bytes = 20 * GIB}, NULL},
        {"20480Mi", {.kind = DEVICE_SHARE, .count = 1, .bytes = 20 * GIB}, "20Gi"},
        {"2x512Mi", {.kind = DEVICE_SHARE, .count = 2, .bytes = GIB / 2}, NULL},
        {"1G", {.kind = DEVICE_SHARE, .count = 1, .bytes = INT64_C(954) << 20}, "954Mi"},
        {"0.3,20Gi", {.kind = DEVICE_SHARE, .count = 1, .milli = 300, .bytes = 20 * GIB}, NULL},
        {"shared", {.kind = DEVICE_REPLICA, .count = 1}, NULL},
        {"3xshared", {.kind = DEVICE_REPLICA, .count = 3}, NULL},
        {"mig-1g.10gb", {.kind = DEVICE_SLICE, .count = 1, .profile = "1g.10gb"}, NULL},
        {"2xmig-1g.10gb.me",
         {.kind = DEVICE_SLICE, .count = 2, .profile = "1g.10gb+me"},
         "2xmig-1g.10gb+me"},
        {"amd", {.vendor = GPU_AMD, .count = 1}, NULL},
        {"8xamd", {.vendor = GPU_AMD, .count = 8}, NULL},
        {"1xi915", {.vendor = GPU_INTEL_I915, .count = 1}, "i915"},
        {"2xxe", {.vendor = GPU_INTEL_XE, .count = 2}, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[GPU_ASK_TEXT_SIZE];
        struct gpu_ask ask;
        AUTO(err_freep) struct err *e = gpu_ask_parse(cases[i].text, &ask);

        if (e)
            fail_msg("%s", err_message(e));
        assert_true(gpu_ask_is_like(&ask, &cases[i].ask));
        assert_int_equal(ask.count, cases[i].ask.count);
        gpu_ask_format(&ask, text);
        assert_string_equal(text, cases[i].again ? cases[i].again : cases[i].text);
    }
}

static void says_what_is_right(void **state)
{
    static const char *const texts[] = {
        "",     "-1",    "1.5",      "0.0",       "0.0001",  ".5",    "0x0.5",  "x",
        "2x",   "2x2",   "20Gi,0.3", "0.5,20",    "0.5,0Gi", "65537", "mig-",   "mig-10gb",
        "half", "0.5x2", "2shared",  "0.305,1Gi", "-20Gi",   "0.5,",  "1e3Gi,", "99999999999999999",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct gpu_ask ask = {.count = 77};
        AUTO(err_freep) struct err *e = gpu_ask_parse(texts[i], &ask);

        if (!e)
            fail_msg("\"%s\" was read", texts[i]);
        assert_int_equal(err_code(e), ERR_INVALID);
        assert_non_null(strstr(err_message(e), "want a number of gpus or a part of one: 2, 0.5"));
        assert_int_equal(ask.count, 77);
    }
}

static void writes_what_it_reads(void **state)
{
    struct prop_seeds seeds = prop_seeds(1000);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct prop p = {seed};
        struct gpu_ask ask = {.kind = (enum device_kind)prop_below(&p, 4),
                              .count = 1 + (int64_t)prop_below(&p, GPU_ASK_COUNT_MAX)};
        struct gpu_ask again;
        char text[GPU_ASK_TEXT_SIZE];

        if (ask.kind == DEVICE_SHARE && prop_chance(&p, 60))
            ask.milli = 1 + (uint32_t)prop_below(&p, 999);
        if (ask.kind == DEVICE_SHARE && (ask.milli == 0 || (ask.milli % 10 == 0)))
            ask.bytes = (1 + (int64_t)prop_below(&p, 1 << 20)) << 20;
        if (ask.kind == DEVICE_SLICE)
            (void)snprintf(ask.profile, sizeof(ask.profile), "%ug.%ugb%s",
                           1 + (unsigned)prop_below(&p, 7), 1 + (unsigned)prop_below(&p, 180),
                           prop_chance(&p, 30) ? "+me" : "");
        gpu_ask_format(&ask, text);
        if (gpu_ask_parse(text, &again))
            fail_msg("seed %llu: %s", (unsigned long long)seed, text);
        if (!gpu_ask_is_like(&ask, &again) || ask.count != again.count)
            fail_msg("seed %llu: %s", (unsigned long long)seed, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_writes_each_form),
        cmocka_unit_test(says_what_is_right),
        cmocka_unit_test(writes_what_it_reads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
