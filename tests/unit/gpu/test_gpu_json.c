/* test_gpu_json.c - tests of gpus as JSON */

#include "base/mem.h"
#include "gpu/gpu_watch.h"
#include "test.h"

static struct err *parse_text(const char *text, struct gpu *ret)
{
    AUTO(json_freep) json_t *j = NULL;

    TRY(json_parse(str_of(text), &j));
    return gpu_parse_json(j, ret);
}

/* Formats, parses and formats again. The caller frees the text. */
static char *again(const struct gpu *g)
{
    AUTO(json_freep) json_t *first = gpu_format_json(g);
    struct gpu read = {0};
    AUTO(err_freep) struct err *e = gpu_parse_json(first, &read);
    AUTO(json_freep) json_t *second = gpu_format_json(&read);

    assert_null(e);
    assert_true(json_equal(first, second));
    return json_format(first);
}

static void keeps_every_mode(void **state)
{
    struct gpu whole = GPU_UNKNOWN(0);
    struct gpu replicas = GPU_UNKNOWN(1);
    struct gpu slices = GPU_UNKNOWN(2);
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *text_replicas = NULL;
    AUTO_FREE char *text_slices = NULL;

    (void)state;
    memcpy(whole.uuid, "GPU-0", 6);
    memcpy(replicas.uuid, "GPU-1", 6);
    memcpy(slices.uuid, "GPU-2", 6);
    replicas.mode = GPU_MODE_REPLICAS;
    replicas.replicas = 4;
    replicas.is_renamed = true;
    slices.mode = GPU_MODE_SLICES;
    slices.is_flexible = true;
    slices.mig_mode = 1;
    slices.n_slices = 1;
    slices.slices[0] = (struct gpu_slice){.profile = "1g.10gb",
                                          .start = 6,
                                          .uuid = "MIG-a",
                                          .gpu_instance = 13,
                                          .memory_bytes = 1 << 20,
                                          .multiprocessors = 16};
    text = again(&whole);
    text_replicas = again(&replicas);
    text_slices = again(&slices);
    assert_null(strstr(text, "\"mode\""));
    assert_null(strstr(text, "architecture"));
    assert_non_null(strstr(text_replicas, "\"mode\":\"replicas\",\"replicas\":4,\"renamed\":true"));
    assert_non_null(strstr(text_slices, "\"mode\":\"slices\",\"slices\":[{\"profile\":\"1g.10gb\","
                                        "\"start\":6,\"uuid\":\"MIG-a\",\"memoryBytes\":1048576,"
                                        "\"gi\":13,\"ci\":0,\"multiprocessors\":16,"));
    assert_non_null(strstr(text_slices, "\"flexible\":true"));
    assert_non_null(strstr(text_slices, "\"migMode\":1"));
}

static void keeps_what_gpus_of_amd_have(void **state)
{
    struct gpu g = GPU_UNKNOWN(3);
    AUTO_FREE char *text = NULL;

    (void)state;
    memcpy(g.uuid, "GPU-3", 6);
    g.vendor = GPU_AMD;
    g.amd = (struct gpu_amd){.gfx = "gfx942",
                             .compute_partition = "CPX",
                             .memory_partition = "NPS4",
                             .partition = 0,
                             .compute_units = 38,
                             .simds = 152};
    g.n_nodes = 2;
    g.nodes[0] = (struct gpu_node){"/dev/kfd", 510, 0};
    g.nodes[1] = (struct gpu_node){"/dev/dri/renderD128", 226, 128};
    text = again(&g);
    assert_non_null(strstr(text, "\"partition\":0,\"computeUnits\":38,\"simds\":152"));
    assert_non_null(strstr(text, "\"vendor\":\"amd\",\"resource\":\"amd.com/gpu\","
                                 "\"gfx\":\"gfx942\",\"computePartition\":\"CPX\","));
    assert_non_null(strstr(text, "{\"path\":\"/dev/kfd\",\"major\":510,\"minor\":0}"));
}

static void says_what_is_wrong(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"{\"uuid\":\"G\",\"health\":\"healthy\",\"mode\":\"half\"}",
         "gpu: mode 'half' is not known"},
        {"{\"uuid\":\"G\",\"health\":\"healthy\",\"mode\":\"replicas\"}",
         "gpu: replicas: want 1 to 256"},
        {"{\"uuid\":\"G\",\"health\":\"healthy\",\"mode\":\"slices\",\"slices\":[{\"start\":12}]}",
         "gpu: slice: start: want 0 to 11"},
        {"{\"uuid\":\"G\",\"health\":\"healthy\",\"mode\":\"slices\",\"slices\":[{\"start\":1}]}",
         "gpu: slice: profile is missing"},
        {"{\"uuid\":\"G\",\"health\":\"healthy\",\"resource\":\"example.com/gpu\"}",
         "gpu: resource 'example.com/gpu' is not known"},
        {"{\"uuid\":\"G\",\"health\":\"healthy\",\"nodes\":[{\"path\":\"/etc\",\"major\":1,"
         "\"minor\":1}]}",
         "gpu: node: want path, major and minor"},
        {"{\"uuid\":\"G\",\"health\":\"healthy\",\"nodes\":[1,2,3,4]}",
         "gpu: nodes: want at most 3"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct gpu g = {.index = 42};
        AUTO(err_freep) struct err *e = parse_text(cases[i].text, &g);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(g.index, 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_every_mode),
        cmocka_unit_test(keeps_what_gpus_of_amd_have),
        cmocka_unit_test(says_what_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
