/* test_gpu_wish.c - tests of the wanted mode of a gpu */

#include "base/mem.h"
#include "gpu/gpu_wish.h"
#include "test.h"

static void formats_what_it_parsed(void **state)
{
    static const char *const texts[] = {
        "whole",    "replicas=4", "replicas=256,renamed",         "mps=4", "mps=2,renamed",
        "flexible", "slices=",    "slices=1g.10gb+me:1,2g.20gb:3"};

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct gpu_wish w = {0};
        char text[GPU_WISH_TEXT_SIZE];
        AUTO(err_freep) struct err *e = gpu_wish_parse(texts[i], &w);

        assert_null(e);
        gpu_wish_format(&w, text);
        assert_string_equal(text, texts[i]);
    }
}

static void says_what_is_wrong(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"half",
         "mode 'half': want whole, replicas=N, mps=N, slices=PROFILE:COUNT,... or flexible"},
        {"mps=1", "mode 'mps=1': mps: number '1': want an integer from 2 to 256"},
        {"whole=1",
         "mode 'whole=1': want whole, replicas=N, mps=N, slices=PROFILE:COUNT,... or flexible"},
        {"replicas",
         "mode 'replicas': want whole, replicas=N, mps=N, slices=PROFILE:COUNT,... or flexible"},
        {"replicas=1", "mode 'replicas=1': replicas: number '1': want an integer from 2 to 256"},
        {"replicas=2,x", "mode 'replicas=2,x': 'x' after the number of replicas: want renamed"},
        {"slices=1g.10gb,,", "mode 'slices=1g.10gb,,': '' is not a profile such as 1g.10gb"},
        {"slices=1g.10gb,1g.10gb", "mode 'slices=1g.10gb,1g.10gb': 1g.10gb is named twice"},
        {"slices=1g.10gb:0",
         "mode 'slices=1g.10gb:0': 1g.10gb: number '0': want an integer from 1 to 16"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct gpu_wish w = {.replicas = 42};
        AUTO(err_freep) struct err *e = gpu_wish_parse(cases[i].text, &w);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(w.replicas, 42);
    }
}

static void the_annotation_comes_before_the_configuration(void **state)
{
    static const struct sharing_config config = {.replicas = 4, .is_renamed = true};
    const struct gpu a = {.uuid = "GPU-a"};
    const struct gpu b = {.uuid = "GPU-b"};
    AUTO(json_freep) json_t *modes = json_pack("{s:s}", "GPU-a", "whole");
    AUTO(json_freep) json_t *bad = json_pack("{s:i}", "GPU-a", 4);
    struct gpu_wish w = {.kind = GPU_WISH_FLEXIBLE};
    AUTO(err_freep) struct err *e = gpu_wish_of(&a, modes, &config, &w);
    AUTO(err_freep) struct err *refused = NULL;

    (void)state;
    assert_null(e);
    assert_int_equal(w.kind, GPU_WISH_WHOLE);
    e = gpu_wish_of(&b, modes, &config, &w);
    assert_null(e);
    assert_int_equal(w.kind, GPU_WISH_REPLICAS);
    assert_int_equal(w.replicas, 4);
    assert_true(w.is_renamed);
    refused = gpu_wish_of(&a, bad, NULL, &w);
    assert_string_equal(err_message(refused), "GPU-a: want a string");
}

static struct gpu_holding holding(const char *text)
{
    struct gpu_holding h = {.pod = "default/train-0"};
    AUTO(err_freep) struct err *e = device_parse(text, &h.device);

    assert_null(e);
    return h;
}

static void holders_keep_the_mode(void **state)
{
    static const struct {
        const char *wish;
        const char *held; /* NULL: nothing */
        enum gpu_mode mode;
        unsigned replicas;
        const char *problem;
    } cases[] = {
        {"replicas=4", NULL, GPU_MODE_REPLICAS, 4, ""},
        {"replicas=4", "GPU-a/replica:4", GPU_MODE_REPLICAS, 4, ""},
        {"mps=4", "GPU-a/replica:4", GPU_MODE_REPLICAS, 4, ""},
        {"mps=4", "GPU-a", GPU_MODE_WHOLE, 0, "mps=4 waits for the end of default/train-0"},
        {"replicas=4", "GPU-a/replica:2", GPU_MODE_REPLICAS, 2,
         "replicas=4 waits for the end of default/train-0"},
        {"whole", "GPU-a/replica:2", GPU_MODE_REPLICAS, 2,
         "whole waits for the end of default/train-0"},
        {"replicas=4", "GPU-a", GPU_MODE_WHOLE, 0,
         "replicas=4 waits for the end of default/train-0"},
        {"replicas=4", "GPU-a/share:500,1000", GPU_MODE_WHOLE, 0,
         "replicas=4 waits for the end of default/train-0"},
        {"replicas=4", "GPU-b", GPU_MODE_REPLICAS, 4, ""},
        {"whole", "GPU-a", GPU_MODE_WHOLE, 0, ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct gpu g = GPU_UNKNOWN(0);
        struct gpu_wish w = {0};
        const struct gpu_holding h =
            cases[i].held ? holding(cases[i].held) : (struct gpu_holding){0};
        AUTO(err_freep) struct err *e = gpu_wish_parse(cases[i].wish, &w);

        assert_null(e);
        memcpy(g.uuid, "GPU-a", 6);
        gpu_wish_apply(&w, &h, cases[i].held ? 1 : 0, &g);
        assert_int_equal(g.mode, cases[i].mode);
        assert_int_equal(g.replicas, cases[i].replicas);
        assert_string_equal(g.mode_problem, cases[i].problem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_what_it_parsed),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(the_annotation_comes_before_the_configuration),
        cmocka_unit_test(holders_keep_the_mode),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
