/* test_pod_asks.c - the resources and devices that a pod asks for */

#include "base/attr.h"
#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_claims.h"
#include "test.h"

/* JSON with ' for ". */
static json_t *read_json(const char *text)
{
    AUTO_FREE char *copy = mem_strdup(text);
    json_t *j = NULL;
    struct err *e;

    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    e = json_parse(str_of(copy), &j);
    if (e)
        fail_msg("%s: %s", text, err_message(e));
    return j;
}

static json_t *pod_with(const char *limits)
{
    AUTO_FREE char *text =
        mem_format("{'spec':{'containers':[{'name':'main','resources':{'limits':{%s}}}]}}", limits);

    return read_json(text);
}

static void requests_are_the_sum_or_the_largest_init_container(void **state)
{
    AUTO(json_freep)
    json_t *pod =
        read_json("{'spec':{'containers':[{'resources':{'requests':{'cpu':'500m','memory':"
                  "'1Gi','nvidia.com/gpu':'2'}}},{'resources':{'limits':{'cpu':'1',"
                  "'nvidia.com/gpu':'1','example.com/x':'4','ephemeral-storage':'1k'}}}],"
                  "'initContainers':[{'resources':{'requests':{'cpu':'100m','memory':'4Gi',"
                  "'nvidia.com/gpu':'1','example.com/x':'9'}}}]}}");
    struct pod_asks asks = pod_asks(pod);

    (void)state;
    assert_int_equal(asks.cpu_milli, 1500);
    assert_int_equal(asks.memory_bytes, INT64_C(4) << 30);
    assert_int_equal(asks.ephemeral_bytes, 1000);
    assert_int_equal(asks.gpus.n, 1);
    assert_int_equal(asks.gpus.at[0].kind, DEVICE_WHOLE);
    assert_int_equal(asks.gpus.at[0].count, 3);
    assert_int_equal(asks.n_others, 1);
    assert_string_equal(asks.others[0].name, "example.com/x");
    assert_int_equal(asks.others[0].amount, 9);
}

static void sums_of_a_pods_requests_saturate(void **state)
{
    AUTO(json_freep) json_t *pod = json_object();
    json_t *containers = json_array_at(json_object_at(pod, "spec"), "containers");

    (void)state;
    for (int i = 0; i < 3000; i++)
        (void)json_array_append_new(containers,
                                    read_json("{'resources':{'requests':{'cpu':'9223372036854775',"
                                              "'nvidia.com/gpu':'9223372036854775'}}}"));
    assert_true(pod_asks(pod).cpu_milli == INT64_MAX);
    assert_true(pod_asks(pod).gpus.at[0].count == INT64_MAX);
}

static void reads_every_way_to_ask_for_gpus(void **state)
{
    static const struct {
        const char *limits;
        const char *text;
    } cases[] = {
        {"", "0"},
        {"'nvidia.com/gpu':'0'", "0"},
        {"'nvidia.com/gpu':'2'", "2"},
        {"'nvidia.com/gpu':2", "2"},
        {"'nvidia.com/gpu.shared':'3'", "3xshared"},
        {"'nvidia.com/mig-1g.10gb':'1'", "mig-1g.10gb"},
        {"'nvidia.com/mig-1g.10gb.me':'2','nvidia.com/mig-3g.40gb':'1'",
         "2xmig-1g.10gb+me+mig-3g.40gb"},
        {"'nvidia.com/gpu':'1','nvidia.com/gpumem':'20480'", "20Gi"},
        {"'nvidia.com/gpumem':'4096'", "4Gi"},
        {"'nvidia.com/gpu':'2','nvidia.com/gpumem':'4096','nvidia.com/gpucores':'30'", "2x0.3,4Gi"},
        {"'nvidia.com/gpu':'1','nvidia.com/gpu.shared':'1','nvidia.com/mig-1g.10gb':'1'",
         "1+shared+mig-1g.10gb"},
        {"'amd.com/gpu':'8'", "8xamd"},
        {"'gpu.intel.com/i915':'1'", "i915"},
        {"'gpu.intel.com/xe':'2'", "2xxe"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *pod = pod_with(cases[i].limits);
        struct gpu_asks asks = pod_gpu_asks(pod);
        AUTO_FREE char *text = gpu_asks_format(&asks);

        assert_string_equal(text, cases[i].text);
        assert_int_equal(pod_asks(pod).n_others, 0);
    }
}

static void reads_the_annotations_of_fractions(void **state)
{
    static const struct {
        const char *annotations;
        const char *text;
    } cases[] = {
        {"'gpu-fraction':'0.5'", "0.5"},
        {"'gpu-memory':'2048'", "2Gi"},
        {"'gpu-fraction':'0.25','gpu-fraction-num-devices':'2'", "2x0.25"},
        {"'gpu-fraction':'2'", "0"},
        {"'gpu-fraction-num-devices':'2'", "0"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text = mem_format(
            "{'metadata':{'annotations':{%s}},'spec':{'containers':[{'name':'a'},{'name':'b'}]}}",
            cases[i].annotations);
        AUTO(json_freep) json_t *pod = read_json(text);
        struct gpu_asks asks = pod_gpu_asks(pod);
        AUTO_FREE char *found = gpu_asks_format(&asks);

        assert_string_equal(found, cases[i].text);
    }
}

static void list_part(void *arg, const struct pod_part *part)
{
    struct buf *b = arg;

    buf_printf(b, "%s%s%s:%u+%u", b->size > 0 ? " " : "", part->container,
               part->is_init ? "(init)" : "", part->first, part->count);
}

static void splits_the_devices_among_the_containers(void **state)
{
    AUTO(json_freep)
    json_t *pod = read_json(
        "{'spec':{'initContainers':[{'name':'i','resources':{'limits':{'nvidia.com/gpu':'1',"
        "'nvidia.com/mig-1g.10gb':'3'}}}],"
        "'containers':[{'name':'a','resources':{'limits':{'nvidia.com/gpu':'2'}}},{'name':'x'},"
        "{'name':'b','resources':{'limits':{'nvidia.com/mig-1g.10gb':'1','nvidia.com/gpu':'1'}}},"
        "{'name':'c','resources':{'limits':{'nvidia.com/mig-1g.10gb':'1'}}}]}}");
    AUTO(json_freep)
    json_t *named = read_json("{'metadata':{'annotations':{'gpu-fraction':'0.5',"
                              "'gpu-fraction-container-name':'b'}},"
                              "'spec':{'containers':[{'name':'a'},{'name':'b'}]}}");
    AUTO(buf_done) struct buf parts = {0};
    AUTO(buf_done) struct buf of_named = {0};

    (void)state;
    /* whole gpus are devices 0 to 2, slices 3 to 5 */
    pod_each_part(pod, list_part, &parts);
    assert_string_equal(parts.at, "i(init):0+1 i(init):3+3 a:0+2 b:2+1 b:3+1 c:4+1");
    pod_each_part(named, list_part, &of_named);
    assert_string_equal(of_named.at, "b:0+1");
}

static void a_manifest_asks_for_what_it_is_made_for(void **state)
{
    static const char *const texts[] = {"2",        "0.5",         "2x0.125",          "20Gi",
                                        "0.3,20Gi", "2xshared",    "mig-1g.10gb",      "3x512Mi",
                                        "0.999",    "2x0.99,80Gi", "4xmig-1g.10gb+me", "2xamd",
                                        "i915",     "xe"};

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        AUTO(json_freep) json_t *pod = pod_with("");
        json_t *container = json_array_get(json_at(pod, "spec", "containers", NULL), 0);
        AUTO(causes_done) struct causes causes = {0};
        AUTO_FREE char *text = NULL;
        struct gpu_ask ask;
        struct gpu_asks asks;

        assert_null(gpu_ask_parse(texts[i], &ask));
        pod_ask_for(pod, container, &ask);
        asks = pod_gpu_asks(pod);
        text = gpu_asks_format(&asks);
        assert_string_equal(text, texts[i]);
        container_validate_gpus(container, PATH(NULL, "resources"), &causes);
        pod_validate_gpus(pod, NULL, &causes);
        assert_int_equal(causes.n, 0);
    }
}

static void asks_for_gpus_multiply_by_the_number_of_pods(void **state)
{
    AUTO(json_freep) json_t *pod = pod_with("'nvidia.com/gpu':'2','nvidia.com/gpu.shared':'1'");
    struct gpu_asks asks = pod_gpu_asks(pod);
    AUTO_FREE char *text = NULL;

    (void)state;
    gpu_asks_multiply(&asks, 3);
    text = gpu_asks_format(&asks);
    assert_string_equal(text, "6+3xshared");
    assert_int_equal(gpu_asks_count(&asks), 9);
    gpu_asks_multiply(&asks, 0);
    assert_int_equal(asks.n, 0);
}

static void contradicting_asks_have_their_causes(void **state)
{
    static const struct {
        const char *limits;
        const char *causes;
    } cases[] = {
        {"'nvidia.com/gpu':'1','nvidia.com/gpumem':'1024','nvidia.com/gpucores':'50'", ""},
        {"'nvidia.com/gpu':'1','nvidia.com/gpucores':'50'",
         "resources.limits[nvidia.com/gpumem]: Required value: a share by gpucores needs its "
         "memory, in MiB"},
        {"'nvidia.com/gpumem':'1024','nvidia.com/gpucores':'100'",
         "resources.limits[nvidia.com/gpucores]: Invalid value: 100: must be between 1 and 99, in "
         "percent: for all of a gpu leave out gpucores and gpumem"},
        {"'nvidia.com/gpu':'0','nvidia.com/gpumem':'1024'",
         "resources.limits[nvidia.com/gpu]: Invalid value: 0: must be at least 1 with gpumem: the "
         "number of shares"},
        {"'nvidia.com/gpumem':'0'",
         "resources.limits[nvidia.com/gpumem]: Invalid value: 0: must be at least 1, in MiB"},
        {"'nvidia.com/gpumem':'1024','nvidia.com/gpu.shared':'1'",
         "resources.limits[nvidia.com/gpumem]: Forbidden: gpumem and gpucores are about "
         "nvidia.com/gpu only: a replica has no memory of its own, and a slice has that of its "
         "profile"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *pod = pod_with(cases[i].limits);
        AUTO(causes_done) struct causes causes = {0};

        container_validate_gpus(json_array_get(json_at(pod, "spec", "containers", NULL), 0),
                                PATH(NULL, "resources"), &causes);
        assert_string_equal(causes.n > 0 ? causes.text.at : "", cases[i].causes);
    }
}

static void a_pod_asks_for_gpus_of_one_vendor(void **state)
{
    static const struct {
        const char *limits;
        size_t n;
    } cases[] = {
        {"'amd.com/gpu':'1'", 0},
        {"'amd.com/gpu':'1','nvidia.com/gpu':'0'", 0},
        {"'amd.com/gpu':'1','nvidia.com/gpu':'1'", 1},
        {"'gpu.intel.com/i915':'1','gpu.intel.com/xe':'1'", 1},
        {"'amd.com/gpu':'1','nvidia.com/mig-1g.10gb':'1'", 1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *pod = pod_with(cases[i].limits);
        AUTO(causes_done) struct causes causes = {0};

        pod_validate_gpus(pod, NULL, &causes);
        assert_int_equal(causes.n, cases[i].n);
        if (causes.n > 0)
            assert_string_equal(causes.text.at,
                                "spec.containers: Forbidden: a pod asks for gpus of one vendor "
                                "only: nvidia.com/..., amd.com/gpu, gpu.intel.com/i915 or "
                                "gpu.intel.com/xe");
    }
}

static void contradicting_annotations_have_their_causes(void **state)
{
    static const struct {
        const char *annotations;
        const char *limits;
        const char *causes;
    } cases[] = {
        {"'gpu-fraction':'0.5'", "'cpu':'1'", ""},
        {"'gpu-fraction':'1'", "",
         "metadata.annotations[gpu-fraction]: Invalid value: \"1\": must be between 0.001 and "
         "0.999: for whole gpus use the resource nvidia.com/gpu"},
        {"'gpu-memory':'20Gi'", "",
         "metadata.annotations[gpu-memory]: Invalid value: \"20Gi\": must be a number of MiB, at "
         "least 1"},
        {"'gpu-fraction':'0.5','gpu-memory':'1024'", "",
         "metadata.annotations[gpu-memory]: Forbidden: a share is either a gpu-fraction or a "
         "gpu-memory"},
        {"'gpu-fraction':'0.5'", "'nvidia.com/gpu':'1'",
         "metadata.annotations[gpu-fraction]: Forbidden: a container of the pod asks for gpus "
         "among its resources: leave out either the annotation or these"},
        {"'gpu-fraction':'0.5','gpu-fraction-num-devices':'0'", "",
         "metadata.annotations[gpu-fraction-num-devices]: Invalid value: \"0\": must be a number "
         "between 1 and 64"},
        {"'gpu-fraction':'0.5','gpu-fraction-container-name':'other'", "",
         "metadata.annotations[gpu-fraction-container-name]: Not found: \"other\""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text =
            mem_format("{'metadata':{'annotations':{%s}},'spec':{'containers':[{'name':'main',"
                       "'resources':{'limits':{%s}}}]}}",
                       cases[i].annotations, cases[i].limits);
        AUTO(json_freep) json_t *pod = read_json(text);
        AUTO(causes_done) struct causes causes = {0};

        pod_validate_gpus(pod, NULL, &causes);
        assert_string_equal(causes.n > 0 ? causes.text.at : "", cases[i].causes);
    }
}

static json_t *pod_with_claims(const char *annotation)
{
    json_t *pod = read_json(
        "{'metadata':{'annotations':{}},'spec':{'resourceClaims':[{'name':'gpu'},{'name':'half'}],"
        "'containers':[{'name':'a','resources':{'claims':[{'name':'gpu'}]}},{'name':'b',"
        "'resources':{'claims':[{'name':'gpu','request':'r'},{'name':'half'}]}}]}}");

    json_put_text(json_at(pod, "metadata", "annotations", NULL), POD_CLAIMS, annotation);
    return pod;
}

static void list_claim_part(void *arg, const struct pod_part *part)
{
    buf_printf(arg, "%s:%u+%u ", part->container, part->first, part->count);
}

static void containers_that_name_one_claim_share_its_devices(void **state)
{
    AUTO(json_freep)
    json_t *pod = pod_with_claims("ready\ngpu r U1 2 GPU-a,GPU-b\nhalf h U2 0.5 *\n");
    struct gpu_asks asks = pod_gpu_asks(pod);
    struct buf parts = {0};

    (void)state;
    assert_int_equal(asks.n, 2);
    assert_int_equal(asks.at[0].count, 2);
    assert_true(str_equal(asks.at[0].gpus, STR("GPU-a,GPU-b")));
    assert_int_equal(asks.at[1].milli, 500);
    assert_int_equal(asks.at[1].gpus.size, 0);
    pod_each_part(pod, list_claim_part, &parts);
    assert_string_equal(parts.at, "a:0+2 b:0+2 b:2+1 ");
    buf_done(&parts);
    assert_null(pod_claims_wait(pod));
}

static void a_held_claim_asks_for_nothing_and_names_its_node(void **state)
{
    AUTO(json_freep)
    json_t *pod = pod_with_claims("ready n1\ngpu r U1 held GPU-a;GPU-b/share:500,1024\n");
    AUTO_FREE char *node = pod_claims_node(pod);
    struct device d = device_whole("GPU-a");

    (void)state;
    assert_int_equal(pod_gpu_asks(pod).n, 0);
    assert_string_equal(node, "n1");
    assert_int_equal(
        container_held_count(pod, json_array_get(json_at(pod, "spec", "containers", NULL), 1)), 2);
    assert_true(pod_shares_device(pod, &d));
    d = device_whole("GPU-b");
    assert_false(pod_shares_device(pod, &d));
}

static void waits_until_its_claims_are_read(void **state)
{
    AUTO(json_freep) json_t *unread = pod_with_claims(NULL);
    AUTO(json_freep) json_t *waiting = pod_with_claims("wait there is no ResourceClaim x");

    (void)state;
    assert_string_equal(pod_claims_wait(unread), "waits until its resource claims are read");
    assert_string_equal(pod_claims_wait(waiting), "there is no ResourceClaim x");
    assert_int_equal(pod_gpu_asks(waiting).n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_the_sum_or_the_largest_init_container),
        cmocka_unit_test(sums_of_a_pods_requests_saturate),
        cmocka_unit_test(reads_every_way_to_ask_for_gpus),
        cmocka_unit_test(reads_the_annotations_of_fractions),
        cmocka_unit_test(splits_the_devices_among_the_containers),
        cmocka_unit_test(a_manifest_asks_for_what_it_is_made_for),
        cmocka_unit_test(asks_for_gpus_multiply_by_the_number_of_pods),
        cmocka_unit_test(contradicting_asks_have_their_causes),
        cmocka_unit_test(a_pod_asks_for_gpus_of_one_vendor),
        cmocka_unit_test(contradicting_annotations_have_their_causes),
        cmocka_unit_test(containers_that_name_one_claim_share_its_devices),
        cmocka_unit_test(a_held_claim_asks_for_nothing_and_names_its_node),
        cmocka_unit_test(waits_until_its_claims_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
