/* test_advice.c - the smallest size that would do for a job */

#include "base/mem.h"
#include "meter/advice.h"
#include "test.h"

#define GIB (INT64_C(1) << 30)

/* Two nodes' gpus: an h100 that is given whole, one in slices, a flexible a100, and a t4. */
static void sizes_init(struct advice_sizes *s)
{
    static const char gpus[] =
        "[{\"model\":\"h100\",\"memoryBytes\":85899345920},"
        "{\"model\":\"h100\",\"memoryBytes\":85899345920},"
        "{\"model\":\"h100\",\"memoryBytes\":85899345920,\"mode\":\"slices\",\"slices\":["
        "{\"profile\":\"1g.10gb\",\"start\":0,\"memoryBytes\":10468982784},"
        "{\"profile\":\"3g.40gb\",\"start\":4,\"memoryBytes\":42144366592}]},"
        "{\"model\":\"a100\",\"memoryBytes\":42949672960,\"flexible\":true},"
        "{\"model\":\"t4\",\"memoryBytes\":17179869184},"
        "{\"model\":\"mi300x\",\"vendor\":\"amd\",\"memoryBytes\":206158430208}]";
    AUTO(json_freep) json_t *list = NULL;
    const json_t *gpu;
    size_t i;

    assert_null(json_parse(str_of(gpus), &list));
    json_array_foreach (list, i, gpu)
        advice_sizes_add(s, gpu);
}

struct advice_case {
    const char *model;
    enum device_kind kind;
    int64_t n_gpus;
    int64_t held_milli;
    int64_t used_milli;
    int64_t memory_bytes;
    const char *ask; /* NULL: no advice */
    int64_t cost_milli;
};

static void check_cases(const struct advice_case *cases, size_t n, const struct prices *p)
{
    struct advice_sizes sizes = {0};

    sizes_init(&sizes);
    for (size_t i = 0; i < n; i++) {
        const struct advice_need need = {.model = cases[i].model,
                                         .kind = cases[i].kind,
                                         .n_gpus = cases[i].n_gpus,
                                         .held_milli = cases[i].held_milli,
                                         .used_milli = cases[i].used_milli,
                                         .memory_bytes = cases[i].memory_bytes};
        struct advice a = {0};
        bool has_found = advice_find(&sizes, &need, p, &a);

        if (has_found != (cases[i].ask != NULL))
            fail_msg("case %zu: %s", i, has_found ? a.ask : "nothing");
        if (!has_found)
            continue;
        assert_string_equal(a.ask, cases[i].ask);
        assert_int_equal(a.cost_milli, cases[i].cost_milli);
    }
    advice_sizes_done(&sizes);
}

static void the_smallest_that_fits_is_found(void **state)
{
    static const struct advice_case cases[] = {
        {"h100", DEVICE_WHOLE, 1, 1000, 0, 3 * GIB, "4Gi", 51},
        {"h100", DEVICE_WHOLE, 1, 1000, 100, 3 * GIB, "10Gi", 126}, /* by compute */
        {"h100", DEVICE_WHOLE, 1, 1000, 113, 8 * GIB, "mig-1g.10gb", 142},
        {"h100", DEVICE_WHOLE, 1, 1000, 340, 35 * GIB, "mig-3g.40gb", 428},
        {"h100", DEVICE_WHOLE, 1, 1000, 100, 60 * GIB, NULL, 0}, /* saves too little */
        {"h100", DEVICE_WHOLE, 1, 1000, 900, GIB, NULL, 0},      /* is busy */
        {"h100", DEVICE_SHARE, 1, 500, 50, 5 * GIB, "6Gi", 76},
        {"h100", DEVICE_SHARE, 1, 80, 50, 5 * GIB, NULL, 0},
        {"h100", DEVICE_WHOLE, 8, 8000, 900, 60 * GIB, "2", 2000},
        {"h100", DEVICE_WHOLE, 8, 8000, 900, 200 * GIB, "3", 3000},
        {"h100", DEVICE_WHOLE, 2, 2000, 1500, GIB, NULL, 0},
        {"a100", DEVICE_WHOLE, 1, 1000, 113, 4 * GIB, "mig-1g.5gb", 142},
        {"v100", DEVICE_WHOLE, 1, 1000, 0, GIB, NULL, 0}, /* no such model here */
        {"mi300x", DEVICE_WHOLE, 1, 1000, 0, GIB, NULL, 0},
    };

    (void)state;
    check_cases(cases, COUNT(cases), NULL);
}

static void a_cheaper_model_is_an_offer_for_jobs_with_little_work(void **state)
{
    static const struct advice_case cases[] = {
        {"h100", DEVICE_WHOLE, 1, 1000, 200, 14 * GIB, "t4:1", 100},
        {"h100", DEVICE_WHOLE, 1, 1000, 260, 14 * GIB, "26Gi", 326}, /* too busy for a guess */
        {"h100", DEVICE_WHOLE, 1, 1000, 200, 16 * GIB, "20Gi", 251}, /* too large */
    };
    static const char text[] = "currency: EUR\ngpuHour: {h100: 4, a100: 8, t4: 0.4}\n";
    AUTO(prices_freep) struct prices *p = NULL;

    (void)state;
    assert_null(prices_parse("p", str_of(text), &p));
    check_cases(cases, COUNT(cases), p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_that_fits_is_found),
        cmocka_unit_test(a_cheaper_model_is_an_offer_for_jobs_with_little_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
