/* test_dra.c - the documents and files of the driver of claims */

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "kubelet/dra/dra_pool.h"
#include "kubelet/dra/dra_store.h"
#include "test.h"

static struct gpu gpu_made(int index, enum gpu_health health)
{
    struct gpu g = GPU_UNKNOWN(index);

    (void)snprintf(g.uuid, sizeof(g.uuid), "GPU-%d", index);
    (void)snprintf(g.product, sizeof(g.product), "NVIDIA H100 80GB HBM3");
    (void)snprintf(g.pci, sizeof(g.pci), "00000000:1B:00.0");
    g.health = health;
    g.memory_bytes = INT64_C(80) << 30;
    return g;
}

static void devices_made(size_t n, size_t sick, struct dra_devices *ret)
{
    const struct claim_versions v = {.driver = "550.54.05", .cuda = "12.4"};

    for (size_t i = 0; i < n; i++) {
        struct gpu g = gpu_made((int)i, i == sick ? GPU_LOST : GPU_HEALTHY);

        dra_devices_make(&g, 1, &v, ret);
    }
}

static void a_pool_is_divided_into_slices_of_64_devices(void **state)
{
    struct dra_devices d = {0};
    AUTO(json_freep) json_t *specs = NULL;

    (void)state;
    devices_made(130, 200, &d);
    specs = dra_pool_specs("n1", &d, DRA_V1, true);
    assert_int_equal(json_array_size(specs), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *spec = json_array_get(specs, i);

        assert_int_equal(json_array_size(json_object_get(spec, "devices")), i < 2 ? 64 : 2);
        assert_int_equal(json_int_at(spec, "pool", "resourceSliceCount", NULL), 3);
        assert_string_equal(json_text_at(spec, "pool", "name", NULL), "n1");
    }
    dra_devices_done(&d);
}

static void a_node_without_gpus_has_an_empty_slice(void **state)
{
    struct dra_devices d = {0};
    AUTO(json_freep) json_t *specs = dra_pool_specs("n1", &d, DRA_V1, true);

    (void)state;
    assert_int_equal(json_array_size(specs), 1);
    assert_null(json_object_get(json_array_get(specs, 0), "devices"));
}

static void a_sick_device_has_a_taint_or_is_left_out(void **state)
{
    struct dra_devices d = {0};
    AUTO(json_freep) json_t *tainted = NULL;
    AUTO(json_freep) json_t *left = NULL;
    const json_t *list = NULL;

    (void)state;
    devices_made(2, 1, &d);
    tainted = dra_pool_specs("n1", &d, DRA_V1BETA1, true);
    left = dra_pool_specs("n1", &d, DRA_V1, false);
    list = json_object_get(json_array_get(tainted, 0), "devices");
    assert_string_equal(json_text_at(json_array_get(list, 0), "basic", "attributes",
                                     "resource.kubernetes.io/pciBusID", "string", NULL),
                        "0000:1b:00.0");
    assert_string_equal(json_text_at(json_array_get(list, 0), "basic", "attributes",
                                     "driverVersion", "version", NULL),
                        "550.54.5");
    assert_null(json_at(json_array_get(list, 0), "basic", "taints", NULL));
    assert_int_equal(json_array_size(json_at(json_array_get(list, 1), "basic", "taints", NULL)), 1);
    assert_true(dra_pool_lost_taints(json_array_get(tainted, 0), json_array_get(left, 0)));
    assert_false(dra_pool_lost_taints(json_array_get(left, 0), json_array_get(left, 0)));
    assert_int_equal(json_array_size(json_object_get(json_array_get(left, 0), "devices")), 1);
    dra_devices_done(&d);
}

static void the_newest_known_version_is_chosen(void **state)
{
    static const struct {
        const char *text;
        int want; /* -1: none */
    } cases[] = {
        {"{\"versions\":[{\"version\":\"v1beta1\"},{\"version\":\"v1\"},{\"version\":\"v1beta2\"}]"
         "}",
         DRA_V1},
        {"{\"versions\":[{\"version\":\"v1beta1\"},{\"version\":\"v2\"}]}", DRA_V1BETA1},
        {"{\"versions\":[{\"version\":\"v1alpha3\"}]}", -1},
        {"{}", -1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *group = NULL;
        enum dra_version v = DRA_VERSIONS;

        assert_null(json_parse(str_of(cases[i].text), &group));
        assert_int_equal(dra_version_choose(group, &v) ? (int)v : -1, cases[i].want);
    }
}

static struct dra_claim *claim_made(const char *uid, const char *uuid, bool is_admin,
                                    const char *share)
{
    struct dra_claim *c = mem_alloc(sizeof(*c));

    c->uid = mem_strdup(uid);
    c->ns = mem_strdup("team");
    c->name = mem_format("claim-%s", uid);
    vec_add(&c->results, (struct dra_result){.request = mem_strdup("gpu"),
                                             .pool = mem_strdup("n1"),
                                             .device = mem_format("of-%s", uuid),
                                             .share = mem_strdup(share),
                                             .uuid = mem_strdup(uuid),
                                             .is_admin = is_admin});
    return c;
}

static void prepared_claims_stay_on_disk(void **state)
{
    char dir[] = "/tmp/mete-test-dra-XXXXXX";
    struct dra_store *s = NULL;
    AUTO_FREE char *torn = NULL;
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    assert_non_null(mkdtemp(dir));
    torn = mem_format("%s/torn.json", dir);
    assert_null(file_write(torn, 0600, STR("{\"uid\":")));
    assert_null(dra_store_new(dir, &s));
    assert_null(dra_store_add(s, claim_made("a", "GPU-1", false, "")));
    assert_null(dra_store_add(s, claim_made("b", "GPU-2", true, "")));
    e = dra_store_add(s, claim_made("../c", "GPU-3", false, ""));
    assert_non_null(e);
    dra_store_free(s);
    assert_null(dra_store_new(dir, &s));
    assert_string_equal(dra_store_find(s, "a")->results.at[0].uuid, "GPU-1");
    assert_true(dra_store_find(s, "b")->results.at[0].is_admin);
    assert_null(dra_store_find(s, "torn"));
    assert_null(dra_store_remove(s, "a"));
    assert_null(dra_store_remove(s, "a"));
    dra_store_free(s);
    assert_null(dra_store_new(dir, &s));
    assert_null(dra_store_find(s, "a"));
    dra_store_free(s);
    assert_null(dir_remove(dir));
}

static void a_device_has_one_holder(void **state)
{
    static const struct {
        bool is_admin;
        const char *uuid;
        const char *share;
        bool is_held;
    } cases[] = {
        {false, "GPU-1", "", true},       {false, "GPU-9", "", false},
        {true, "GPU-1", "", false},       {false, "GPU-2", "", false}, /* its holder only watches */
        {false, "GPU-3", "other", false}, {false, "GPU-3", "", true}};
    char dir[] = "/tmp/mete-test-dra-XXXXXX";
    struct dra_store *s = NULL;

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_null(dra_store_new(dir, &s));
    assert_null(dra_store_add(s, claim_made("a", "GPU-1", false, "")));
    assert_null(dra_store_add(s, claim_made("b", "GPU-2", true, "")));
    assert_null(dra_store_add(s, claim_made("c", "GPU-3", false, "one")));
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(dra_claim_freep)
        struct dra_claim *c = claim_made("x", cases[i].uuid, cases[i].is_admin, cases[i].share);
        const char *device = NULL;

        assert_int_equal(dra_store_holder(s, c, &device) != NULL, cases[i].is_held);
    }
    dra_store_free(s);
    assert_null(dir_remove(dir));
}

static void a_claim_on_disk_is_checked(void **state)
{
    static const char *const bad[] = {
        "{}",
        "{\"uid\":\"a\"}",
        "{\"uid\":\"../a\",\"results\":[]}",
        "{\"uid\":\"a\",\"results\":[{}]}",
        "{\"uid\":\"a\",\"results\":[{\"device\":\"gpu-0\"}]}",
        "[]",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        AUTO(json_freep) json_t *j = NULL;
        struct dra_claim *c = NULL;
        AUTO(err_freep) struct err *e = NULL;

        assert_null(json_parse(str_of(bad[i]), &j));
        e = dra_claim_parse(j, &c);
        assert_non_null(e);
        assert_null(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_is_divided_into_slices_of_64_devices),
        cmocka_unit_test(a_node_without_gpus_has_an_empty_slice),
        cmocka_unit_test(a_sick_device_has_a_taint_or_is_left_out),
        cmocka_unit_test(the_newest_known_version_is_chosen),
        cmocka_unit_test(prepared_claims_stay_on_disk),
        cmocka_unit_test(a_device_has_one_holder),
        cmocka_unit_test(a_claim_on_disk_is_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
