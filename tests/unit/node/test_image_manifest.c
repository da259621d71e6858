/* test_image_manifest.c - tests of manifests, indexes and configs */

#include "base/mem.h"
#include "node/image/image_manifest.h"
#include "test.h"

#define D1            "sha256:1111111111111111111111111111111111111111111111111111111111111111"
#define D2            "sha256:2222222222222222222222222222222222222222222222222222222222222222"
#define MANIFEST_TYPE "application/vnd.oci.image.manifest.v1+json"
#define INDEX_TYPE    "application/vnd.oci.image.index.v1+json"
#define CONFIG_TYPE   "application/vnd.oci.image.config.v1+json"
#define LAYER_TYPE    "application/vnd.oci.image.layer.v1.tar+gzip"

static json_t *parse(const char *text)
{
    json_t *j = NULL;

    assert_null(json_parse(str_of(text), &j));
    return j;
}

static void expect(struct err *found, const char *says, const char *text)
{
    AUTO(err_freep) struct err *e = found;

    if (!says && e)
        fail_msg("refused: %s: %s", text, err_message(e));
    if (says && !e)
        fail_msg("taken: %s", text);
    if (says && !strstr(err_message(e), says))
        fail_msg("want '%s': %s", says, err_message(e));
    if (says)
        assert_int_equal(err_code(e), ERR_INVALID);
}

static void manifests_are_read_or_refused(void **state)
{
    static const struct {
        const char *text;
        const char *says; /* NULL: success */
    } cases[] = {
        {"{\"schemaVersion\":2,\"config\":{\"mediaType\":\"" CONFIG_TYPE "\",\"digest\":\"" D1
         "\",\"size\":5},\"layers\":[{\"mediaType\":\"" LAYER_TYPE "\",\"digest\":\"" D2
         "\",\"size\":6}]}",
         NULL},
        {"{\"schemaVersion\":2,\"mediaType\":\"application/vnd.docker.distribution.manifest.v2+"
         "json\",\"config\":{\"mediaType\":\"application/vnd.docker.container.image.v1+json\","
         "\"digest\":\"" D1 "\",\"size\":5},\"layers\":[]}",
         NULL},
        {"{\"schemaVersion\":1}", "schemaVersion is not 2"},
        {"[]", "schemaVersion is not 2"},
        {"{\"schemaVersion\":2,\"mediaType\":\"" INDEX_TYPE "\"}", "mediaType"},
        {"{\"schemaVersion\":2,\"config\":{\"mediaType\":\"application/json\"}}",
         "config of type 'application/json'"},
        {"{\"schemaVersion\":2,\"config\":{\"mediaType\":\"" CONFIG_TYPE "\",\"digest\":\"" D1
         "\",\"size\":5}}",
         "0 layers: want a list"},
        {"{\"schemaVersion\":2,\"config\":{\"mediaType\":\"" CONFIG_TYPE
         "\",\"digest\":\"sha256:../../etc\",\"size\":5},\"layers\":[]}",
         "digest 'sha256:../../etc'"},
        {"{\"schemaVersion\":2,\"config\":{\"mediaType\":\"" CONFIG_TYPE "\",\"digest\":\"" D1
         "\",\"size\":-5},\"layers\":[]}",
         "size is not a number"},
        {"{\"schemaVersion\":2,\"config\":{\"mediaType\":\"" CONFIG_TYPE "\",\"digest\":\"" D1
         "\",\"size\":5},\"layers\":[{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar+gzip+"
         "encrypted\"}]}",
         "layer 1 of type"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *j = parse(cases[i].text);
        AUTO_FREE struct image_manifest *m = mem_alloc(sizeof(*m));

        expect(image_manifest_parse(j, m), cases[i].says, cases[i].text);
    }
}

#define ENTRY(digest, more) \
    "{\"mediaType\":\"" MANIFEST_TYPE "\",\"digest\":\"" digest "\",\"size\":1" more "}"
#define ARCH(arch)  ",\"platform\":{\"os\":\"linux\",\"architecture\":\"" arch "\"}"
#define NAMED(name) ",\"annotations\":{\"org.opencontainers.image.ref.name\":\"" name "\"}"

static void of_an_index_the_one_that_fits_is_chosen(void **state)
{
    static const struct {
        const char *entries;
        const char *name; /* wanted */
        const char *digest;
        const char *says;
    } cases[] = {
        {ENTRY(D1, ""), NULL, D1, NULL},
        {ENTRY(D1, ARCH("arm64")) "," ENTRY(D2, ARCH("amd64")), NULL, D2, NULL},
        {ENTRY(D1, ARCH("arm64")), NULL, NULL, "want exactly one image for linux/amd64"},
        {ENTRY(D1, NAMED("a")) "," ENTRY(D2, NAMED("b")), NULL, NULL, "found 'a', 'b'"},
        {ENTRY(D1, NAMED("x/a:1")) "," ENTRY(D2, NAMED("b")), "x/a:1", D1, NULL},
        {ENTRY(D1, NAMED("x/a")) "," ENTRY(D2, NAMED("b")), "docker.io/x/a:latest", D1, NULL},
        {ENTRY(D1, NAMED("a")), "other/name:1", D1, NULL}, /* the only image gets another name */
        {"", NULL, NULL, "index: no image"},
        {"{\"digest\":\"x\"}", NULL, NULL, "digest 'x'"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct image_choice want = {.architecture = "amd64", .name = cases[i].name};
        AUTO_FREE char *text =
            mem_format("{\"schemaVersion\":2,\"manifests\":[%s]}", cases[i].entries);
        AUTO(json_freep) json_t *j = parse(text);
        struct image_chosen chosen = {0};

        expect(image_index_choose(j, &want, &chosen), cases[i].says, text);
        if (cases[i].digest)
            assert_string_equal(chosen.blob.digest, cases[i].digest);
    }
}

static void of_a_docker_archive_one_image_is_chosen(void **state)
{
    static const char two[] = "[{\"Config\":\"a.json\",\"RepoTags\":[\"a:1\"],\"Layers\":[\"x\"]},"
                              "{\"Config\":\"b.json\",\"RepoTags\":[\"b:1\"],\"Layers\":[]}]";
    AUTO(json_freep) json_t *j = parse(two);
    AUTO(json_freep) json_t *bad = parse("[{\"Layers\":[1]}]");
    AUTO_FREE struct image_archive *a = mem_alloc(sizeof(*a));
    struct image_choice want = {.architecture = "amd64", .name = "docker.io/library/b:1"};

    (void)state;
    expect(image_archive_choose(j, &want, a), NULL, two);
    assert_string_equal(a->config, "b.json");
    want.name = NULL;
    expect(image_archive_choose(j, &want, a), "manifest.json: 2 images", two);
    expect(image_archive_choose(bad, &want, a), "want Config", "bad");
}

static void configs_are_read_or_refused(void **state)
{
    static const struct {
        const char *config;
        const char *arch;
        const char *ids;
        const char *says;
    } cases[] = {
        {"{\"User\":\"1000\",\"Env\":[\"A=b\"],\"Cmd\":[\"sh\"],\"WorkingDir\":\"/x\"}", "amd64",
         "\"" D1 "\"", NULL},
        {"{}", "amd64", "", NULL},
        {"{\"Env\":null,\"Entrypoint\":null,\"WorkingDir\":\"\"}", "amd64", "", NULL},
        {"{}", "arm64", "", "for linux/arm64, and this machine is linux/amd64"},
        {"{}", "amd64", "\"x\"", "diff_ids[0] 'x'"},
        {"{\"Env\":[\"A\"]}", "amd64", "", "env[0] is not NAME=VALUE"},
        {"{\"Env\":[1]}", "amd64", "", "env[0] is not a text"},
        {"{\"Cmd\":\"sh\"}", "amd64", "", "command is not a list"},
        {"{\"WorkingDir\":\"x\"}", "amd64", "", "workingDir 'x' is not absolute"},
        {"{\"User\":7}", "amd64", "", "user is not a text"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text = mem_format("{\"os\":\"linux\",\"architecture\":\"%s\",\"config\":%s,"
                                          "\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[%s]}}",
                                          cases[i].arch, cases[i].config, cases[i].ids);
        AUTO(json_freep) json_t *j = parse(text);
        AUTO_FREE struct image_config *c = mem_alloc(sizeof(*c));

        expect(image_config_parse(j, "amd64", c), cases[i].says, text);
        if (i == 0) {
            assert_string_equal(json_text(c->config, "user"), "1000");
            assert_string_equal(json_text(c->config, "workingDir"), "/x");
            assert_int_equal(c->n_layers, 1);
            assert_string_equal(c->diff_ids[0], D1);
        }
        image_config_done(c);
    }
}

static void texts_of_a_config_have_a_bound(void **state)
{
    AUTO(json_freep) json_t *config = json_object();
    json_t *env = json_array_at(config, "env");
    AUTO_FREE char *value = mem_alloc(4096);

    (void)state;
    memset(value, 'x', 4095);
    value[1] = '=';
    for (size_t i = 0; i < 300; i++)
        (void)json_array_append_new(env, json_string(value));
    expect(image_config_check(config), "bytes of texts", "env of 1.2 MB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(manifests_are_read_or_refused),
        cmocka_unit_test(of_an_index_the_one_that_fits_is_chosen),
        cmocka_unit_test(of_a_docker_archive_one_image_is_chosen),
        cmocka_unit_test(configs_are_read_or_refused),
        cmocka_unit_test(texts_of_a_config_have_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
