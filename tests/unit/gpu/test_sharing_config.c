/* test_sharing_config.c - tests of the device plugin's configuration */

#include "base/mem.h"
#include "base/yaml.h"
#include "gpu/sharing_config.h"
#include "test.h"

static struct err *read_config(const char *text, json_t *warnings, struct sharing_config *ret)
{
    AUTO(json_freep) json_t *documents = NULL;

    TRY(yaml_parse("config.yaml", str_of(text), &documents));
    return sharing_config_parse(json_array_get(documents, 0), warnings, ret);
}

static void reads_time_slicing(void **state)
{
    static const struct gpu first = {.uuid = "GPU-a", .index = 0};
    static const struct gpu third = {.uuid = "GPU-c", .index = 2};
    struct sharing_config c = {0};
    AUTO(err_freep)
    struct err *e = read_config("version: v1\n"
                                "flags: {migStrategy: mixed}\n"
                                "sharing:\n"
                                "  timeSlicing:\n"
                                "    renameByDefault: true\n"
                                "    failRequestsGreaterThanOne: true\n"
                                "    resources:\n"
                                "    - name: nvidia.com/gpu\n"
                                "      replicas: 4\n"
                                "      devices: [0, GPU-b]\n",
                                NULL, &c);

    (void)state;
    assert_null(e);
    assert_int_equal(c.strategy, MIG_STRATEGY_MIXED);
    assert_int_equal(c.replicas, 4);
    assert_true(c.is_renamed);
    assert_true(c.is_single);
    assert_true(sharing_config_has(&c, &first));
    assert_false(sharing_config_has(&c, &third));
}

static void all_gpus_are_the_default_and_a_count_takes_the_first(void **state)
{
    static const struct gpu third = {.uuid = "GPU-c", .index = 2};
    struct sharing_config all = {0};
    struct sharing_config two = {0};
    AUTO(err_freep)
    struct err *e = read_config("{version: v1, sharing: {timeSlicing: {resources: [{name: gpu, "
                                "replicas: 2}]}}}",
                                NULL, &all);
    AUTO(err_freep)
    struct err *other = read_config("{version: v1, sharing: {timeSlicing: {resources: [{name: gpu, "
                                    "replicas: 2, devices: 2}]}}}",
                                    NULL, &two);

    (void)state;
    assert_null(e);
    assert_null(other);
    assert_true(sharing_config_has(&all, &third));
    assert_false(sharing_config_has(&two, &third));
    assert_false(all.is_renamed);
}

static void warns_of_settings_without_effect(void **state)
{
    struct sharing_config c = {0};
    AUTO(json_freep) json_t *warnings = json_array();
    AUTO(err_freep)
    struct err *e = read_config("version: v1\n"
                                "flags: {migStrategy: none, failOnInitError: true, plugin: null}\n"
                                "sharing: {timeSlicing: {}}\n"
                                "imex: {}\n",
                                warnings, &c);
    AUTO_FREE char *text = json_format(warnings);

    (void)state;
    assert_null(e);
    assert_string_equal(text,
                        "[\"imex: not used by mete\",\"flags.failOnInitError: not used by mete\"]");
    assert_int_equal(c.replicas, 0);
}

static void says_where_and_what_is_wrong(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"[]", "want an object with version: v1"},
        {"{}", "version: nothing: want v1"},
        {"{version: v2}", "version: \"v2\": want v1"},
        {"{version: v1, flags: {migStrategy: both}}",
         "flags.migStrategy: \"both\": want none, single or mixed"},
        {"{version: v1, sharing: 3}", "sharing: 3: want an object"},
        {"{version: v1, sharing: {mps: {resources: []}}}",
         "sharing.mps.resources: []: want a list with a resource"},
        {"{version: v1, sharing: {mps: {resources: [{name: gpu, replicas: 2}]}, timeSlicing: "
         "{resources: [{name: gpu, replicas: 2}]}}}",
         "sharing.mps: timeSlicing is set, too: want one of them"},
        {"{version: v1, sharing: {timeSlicing: {renameByDefault: 1}}}",
         "sharing.timeSlicing.renameByDefault: 1: want true or false"},
        {"{version: v1, sharing: {timeSlicing: {resources: {}}}}",
         "sharing.timeSlicing.resources: {}: want a list with a resource"},
        {"{version: v1, sharing: {timeSlicing: {resources: [{name: nvidia.com/mig-1g.5gb, "
         "replicas: 2}]}}}",
         "sharing.timeSlicing.resources[0].name: \"nvidia.com/mig-1g.5gb\": want nvidia.com/gpu; "
         "replicas of other resources are not supported by mete"},
        {"{version: v1, sharing: {timeSlicing: {resources: [{name: gpu, replicas: 1}]}}}",
         "sharing.timeSlicing.resources[0].replicas: 1: want a number from 2 to 256"},
        {"{version: v1, sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2, rename: "
         "x}]}}}",
         "sharing.timeSlicing.resources[0].rename: \"x\": want nvidia.com/gpu.shared; other names "
         "are not supported by mete"},
        {"{version: v1, sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2, devices: "
         "[0, x]}]}}}",
         "sharing.timeSlicing.resources[0].devices[1]: \"x\": want the index or the UUID of a gpu"},
        {"{version: v1, sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}, {name: gpu, "
         "replicas: 3}]}}}",
         "sharing.timeSlicing.resources[1].name: \"gpu\": want each resource once"},
        {"{version: v1, resources: {gpus: [{pattern: '*', name: big}]}}",
         "resources.gpus[0].name: \"big\": want nvidia.com/gpu; other names are not supported by "
         "mete"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct sharing_config c = {.count = 42};
        AUTO(err_freep) struct err *e = read_config(cases[i].text, NULL, &c);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(c.count, 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_time_slicing),
        cmocka_unit_test(all_gpus_are_the_default_and_a_count_takes_the_first),
        cmocka_unit_test(warns_of_settings_without_effect),
        cmocka_unit_test(says_where_and_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
