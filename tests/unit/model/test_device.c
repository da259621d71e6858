/* test_device.c - devices and their text form; what is held of a gpu */
#include "model/device.h"
#include "prop.h"
#include "test.h"

static void reads_what_it_writes(void **state)
{
    static const struct {
        const char *text;
        struct device d;
        uint32_t milli;
    } cases[] = {
        {"GPU-1", {.gpu = "GPU-1", .kind = DEVICE_WHOLE}, 1000},
        {"GPU-1/share:300,21474836480",
         {.gpu = "GPU-1", .kind = DEVICE_SHARE, .milli = 300, .bytes = 21474836480},
         300},
        {"GPU-1/replica:4", {.gpu = "GPU-1", .kind = DEVICE_REPLICA, .replicas = 4}, 250},
        {"GPU-1/slice:3g.40gb@4",
         {.gpu = "GPU-1", .kind = DEVICE_SLICE, .profile = "3g.40gb", .start = 4},
         428},
        {"GPU-1/slice:1g.10gb+me@0,MIG-9",
         {.gpu = "GPU-1", .kind = DEVICE_SLICE, .profile = "1g.10gb+me", .instance = "MIG-9"},
         142},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[DEVICE_TEXT_SIZE];
        struct device d = {0};

        assert_null(device_parse(cases[i].text, &d));
        assert_true(device_equal(&d, &cases[i].d));
        device_format(&d, text);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(device_milli(&d), cases[i].milli);
    }
}

static void says_what_is_wrong_and_leaves_the_device_alone(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "device '': want a gpu's uuid first"},
        {"/share:1,1", "device '/share:1,1': want a gpu's uuid first"},
        {"G 1", "device 'G 1': want a gpu's uuid first"},
        {"G/", "device 'G/': '' is not one of share, replica, slice"},
        {"G/part:1", "device 'G/part:1': 'part' is not one of share, replica, slice"},
        {"G/slice:@1", "device 'G/slice:@1': a slice has a profile, as in slice:2g.20gb@4"},
        {"G/slice:1g@1,", "device 'G/slice:1g@1,': the uuid of the MIG instance is no uuid"},
    };
    static const char *const numbers[] = {
        "G/share:0,1", "G/share:1000,1", "G/share:5",     "G/share:5,0",   "G/share:5,x",
        "G/replica:0", "G/replica:257",  "G/slice:1g@12", "G/slice:1g@-1", "G/slice:1g"};
    struct device d = device_whole("kept");

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(err_freep) struct err *e = device_parse(cases[i].text, &d);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
    }
    for (size_t i = 0; i < COUNT(numbers); i++) {
        AUTO(err_freep) struct err *e = device_parse(numbers[i], &d);

        assert_non_null(e);
        assert_int_equal(err_code(e), ERR_INVALID);
    }
    assert_string_equal(d.gpu, "kept");
}

static struct gpu h100(void)
{
    return (struct gpu){.model = "h100", .memory_bytes = INT64_C(80) << 30};
}

static void holds_devices_beside_each_other_as_they_fit(void **state)
{
    static const struct {
        const char *held[3];
        const char *refused;
        const char *message;
    } cases[] = {
        {{"G"}, "G", "gpu G is held whole"},
        {{"G"}, "G/share:1,1", "gpu G is held whole"},
        {{"G/share:300,1", "G/share:600,1"},
         "G/share:101,1",
         "gpu G: 900/1000 of its compute are held, the share is 101/1000"},
        {{"G/share:1,85899345919"},
         "G/share:1,2",
         "gpu G: 85899345919 bytes of its memory are held, the share is 2"},
        {{"G/share:1,1"}, "G", "gpu G is held in shares"},
        {{"G/replica:2", "G/replica:2"}, "G/replica:2", "gpu G: all 2 replicas are held"},
        {{"G/replica:2"}, "G/replica:3", "gpu G is held in 2 replicas, the device is one of 3"},
        {{"G/slice:3g.40gb@4", "G/slice:2g.20gb@0"},
         "G/slice:1g.10gb@1",
         "gpu G: a slice 1g.10gb cannot start at 1"},
        {{"G/slice:3g.40gb@4"}, "G/slice:9g.90gb@0", "gpu G has no MIG profile 9g.90gb"},
    };
    const struct gpu gpu = h100();

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct device_load load = {0};
        struct device d = {0};
        AUTO(err_freep) struct err *e = NULL;

        for (size_t k = 0; k < 3 && cases[i].held[k]; k++) {
            assert_null(device_parse(cases[i].held[k], &d));
            assert_null(device_load_add(&load, &d, &gpu));
        }
        assert_null(device_parse(cases[i].refused, &d));
        e = device_load_add(&load, &d, &gpu);
        assert_non_null(e);
        assert_int_equal(err_code(e), ERR_CONFLICT);
        assert_string_equal(err_message(e), cases[i].message);
    }
}

/* The sums of what one seed's shares hold stay within the gpu. */
static void hold_shares(uint64_t seed, const struct gpu *gpu)
{
    struct prop p = {seed};
    struct device_load load = {0};
    uint32_t milli = 0;
    int64_t bytes = 0;

    for (int i = 0; i < 40; i++) {
        const struct device d = {.gpu = "G",
                                 .kind = DEVICE_SHARE,
                                 .milli = 1 + (uint32_t)prop_below(&p, 400),
                                 .bytes = 1 + (int64_t)prop_below(&p, (size_t)1 << 35)};
        struct err *e = device_load_add(&load, &d, gpu);

        milli += e ? 0 : d.milli;
        bytes += e ? 0 : d.bytes;
        err_free(e);
    }
    if (milli == 0 || milli > 1000 || bytes > gpu->memory_bytes || load.milli != milli)
        fail_msg("seed %llu: %u/1000 and %lld bytes are held", (unsigned long long)seed, milli,
                 (long long)bytes);
}

static void never_holds_more_than_the_gpu_has(void **state)
{
    const struct prop_seeds seeds = prop_seeds(1000);
    const struct gpu gpu = h100();

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        hold_shares(seed, &gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_writes),
        cmocka_unit_test(says_what_is_wrong_and_leaves_the_device_alone),
        cmocka_unit_test(holds_devices_beside_each_other_as_they_fit),
        cmocka_unit_test(never_holds_more_than_the_gpu_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
