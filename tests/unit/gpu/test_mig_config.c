/* test_mig_config.c - tests of mig-parted files */

#include "base/mem.h"
#include "base/yaml.h"
#include "gpu/mig_config.h"
#include "test.h"

static struct err *read_file(const char *text, const char *name, struct mig_config *ret)
{
    AUTO(json_freep) json_t *documents = NULL;

    TRY(yaml_parse("config.yaml", str_of(text), &documents));
    return mig_config_parse(json_array_get(documents, 0), name, ret);
}

static void the_last_rule_that_matches_counts(void **state)
{
    static const char text[] = "version: v1\n"
                               "mig-configs:\n"
                               "  all-disabled:\n"
                               "  - {devices: all, mig-enabled: false}\n"
                               "  custom:\n"
                               "  - devices: [0, 1]\n"
                               "    mig-enabled: true\n"
                               "    mig-devices: {1g.10gb: 2, 3g.40gb: 1}\n"
                               "  - devices: [1]\n"
                               "    device-filter: ['0x233010DE', '0x20B510DE']\n"
                               "    mig-enabled: true\n"
                               "    mig-devices: {}\n"
                               "  - devices: [2]\n"
                               "    mig-enabled: false\n";
    static const struct {
        int index;
        int64_t pci_device;
        const char *wish; /* NULL: none */
    } cases[] = {
        {0, 0x233010de, "slices=1g.10gb:2,3g.40gb:1"},
        {1, 0x233010de, "slices="},
        {1, 0x233510de, "slices=1g.10gb:2,3g.40gb:1"},
        {2, 0x233010de, "whole"},
        {3, 0x233010de, NULL},
    };
    struct mig_config c = {0};
    AUTO(err_freep) struct err *e = read_file(text, "custom", &c);

    (void)state;
    assert_null(e);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct gpu g = GPU_UNKNOWN(cases[i].index);
        struct gpu_wish w = {0};
        char wish[GPU_WISH_TEXT_SIZE];

        g.pci_device = cases[i].pci_device;
        assert_int_equal(mig_config_wish(&c, &g, &w), cases[i].wish != NULL);
        if (!cases[i].wish)
            continue;
        gpu_wish_format(&w, wish);
        assert_string_equal(wish, cases[i].wish);
        assert_true(w.is_asked);
    }
}

static void usual_configurations_follow_from_the_gpu(void **state)
{
    static const struct {
        const char *model;
        int gib; /* 0: a gpu without MIG */
        const char *name;
        const char *wish; /* NULL: none */
    } cases[] = {
        {"h100", 80, "all-disabled", "whole"},
        {"h100", 80, "all-enabled", "slices="},
        {"h100", 80, "all-1g.10gb", "slices=1g.10gb:7"},
        {"h100", 80, "all-1g.10gb.me", "slices=1g.10gb+me:1"},
        {"h100", 80, "all-2g.20gb", "slices=2g.20gb:3"},
        {"h100", 80, "all-1g.5gb", "slices=1g.5gb:1"}, /* refused by the gpu */
        {"h100", 80, "all-balanced", "slices=1g.10gb:2,2g.20gb:1,3g.40gb:1"},
        {"a30", 24, "all-balanced", "slices=1g.6gb:2,2g.12gb:1"},
        {"t4", 0, "all-balanced", NULL},
        {"t4", 0, "all-1g.10gb", NULL},
    };
    AUTO_FREE struct mig_config *c = mem_alloc(sizeof(*c));
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct gpu g = GPU_UNKNOWN(0);
        struct gpu_wish wish = {0};
        char text[GPU_WISH_TEXT_SIZE] = "";
        bool is_about;

        (void)snprintf(g.model, sizeof(g.model), "%s", cases[i].model);
        g.memory_bytes = (int64_t)cases[i].gib << 30;
        g.mig_mode = cases[i].gib > 0 ? 0 : -1;
        assert_null(mig_config_usual(cases[i].name, c));
        is_about = mig_config_wish(c, &g, &wish);
        if (is_about)
            gpu_wish_format(&wish, text);
        assert_string_equal(text, cases[i].wish ? cases[i].wish : "");
        assert_int_equal(is_about, cases[i].wish != NULL);
    }
    e = mig_config_usual("halves", c);
    assert_string_equal(err_message(e),
                        "there is no mig-parted file for 'halves': without one there are "
                        "all-disabled, all-enabled, all-balanced, and all-PROFILE");
}

static void says_where_and_what_is_wrong(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"[]", "version: nothing: want v1"},
        {"{version: v1}", "mig-configs: nothing: want an object of named configurations"},
        {"{version: v1, mig-configs: {b: [], c: []}}",
         "there is no mig-config 'a': there are b, c"},
        {"{version: v1, mig-configs: {a: {}}}",
         "mig-configs.a: {}: want a list of at most 32 rules"},
        {"{version: v1, mig-configs: {a: [{devices: all}]}}",
         "mig-configs.a[0].mig-enabled: nothing: want true or false"},
        {"{version: v1, mig-configs: {a: [{devices: 1, mig-enabled: true}]}}",
         "mig-configs.a[0].devices: 1: want all, or a list of indices"},
        {"{version: v1, mig-configs: {a: [{devices: [64], mig-enabled: true}]}}",
         "mig-configs.a[0].devices: 64: want indices from 0 to 63"},
        {"{version: v1, mig-configs: {a: [{devices: all, mig-enabled: true, mig-devices: "
         "{1c.2g.20gb: 1}}]}}",
         "mig-configs.a[0].mig-devices.1c.2g.20gb: want a profile such as 1g.10gb; compute "
         "instances smaller than their GPU instance are not supported by mete"},
        {"{version: v1, mig-configs: {a: [{devices: all, mig-enabled: true, mig-devices: "
         "{2g.20gb: 0}}]}}",
         "mig-configs.a[0].mig-devices.2g.20gb: 0: want a number from 1 to 16"},
        {"{version: v1, mig-configs: {a: [{devices: all, mig-enabled: false, mig-devices: "
         "{2g.20gb: 1}}]}}",
         "mig-configs.a[0].mig-devices: {\"2g.20gb\":1}: want none while mig-enabled is false"},
        {"{version: v1, mig-configs: {a: [{devices: all, device-filter: x, mig-enabled: true}]}}",
         "mig-configs.a[0].device-filter: \"x\": want at most 32 PCI devices such as 0x20B010DE"},
        {"{version: v1, mig-configs: {a: [{devices: all, mig-enabled: true, extra: 1}]}}",
         "mig-configs.a[0].extra: unknown member"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mig_config c = {.n = 42};
        AUTO(err_freep) struct err *e = read_file(cases[i].text, "a", &c);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(c.n, 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_rule_that_matches_counts),
        cmocka_unit_test(usual_configurations_follow_from_the_gpu),
        cmocka_unit_test(says_where_and_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
