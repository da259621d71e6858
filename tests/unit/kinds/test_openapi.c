/* test_openapi.c - the OpenAPI documents that kubectl reads */

#include "base/mem.h"
#include "kinds/kind/kind.h"
#include "test.h"

static bool has_parameter(const json_t *operation, const char *name)
{
    const json_t *parameters = json_object_get(operation, "parameters");

    for (size_t i = 0; i < json_array_size(parameters); i++)
        if (text_equal(json_text(json_array_get(parameters, i), "name"), name))
            return true;
    return false;
}

static void index_names_a_document_a_group(void **state)
{
    AUTO(json_freep) json_t *index = openapi_index();
    AUTO(json_freep) json_t *again = openapi_index();
    const json_t *paths = json_object_get(index, "paths");

    (void)state;
    assert_true(json_equal(index, again));
    for (size_t i = 0; i < kinds_count; i++) {
        AUTO_FREE char *path =
            mem_format("%s/%s", *kinds[i]->group ? "apis" : "api", kinds[i]->api_version);

        assert_non_null(json_object_get(paths, path));
    }
    assert_true(text_starts_with(json_text_at(paths, "api/v1", "serverRelativeURL", NULL),
                                 "/openapi/v3/api/v1?hash="));
    assert_true(text_starts_with(json_text_at(paths, "apis/mete.dev/v1", "serverRelativeURL", NULL),
                                 "/openapi/v3/apis/mete.dev/v1?hash="));
}

static void kubectl_finds_its_validation_parameter(void **state)
{
    AUTO(json_freep) json_t *document = openapi_document("", "v1");
    const json_t *paths = json_object_get(document, "paths");
    const json_t *create = json_at(paths, "/api/v1/namespaces/{namespace}/pods", "post", NULL);
    const json_t *patch =
        json_at(paths, "/api/v1/namespaces/{namespace}/pods/{name}", "patch", NULL);
    const json_t *of_node = json_at(paths, "/api/v1/nodes/{name}", "patch", NULL);

    (void)state;
    assert_true(has_parameter(create, "fieldValidation"));
    assert_true(has_parameter(patch, "fieldValidation"));
    assert_true(has_parameter(of_node, "fieldValidation"));
    assert_string_equal(json_text_at(patch, "x-kubernetes-group-version-kind", "kind", NULL),
                        "Pod");
    assert_null(json_at(paths, "/api/v1/pods", "post", NULL));
    assert_non_null(json_at(paths, "/api/v1/pods", "get", NULL));
}

static void explain_has_something_to_say_of_every_field(void **state)
{
    AUTO(json_freep) json_t *document = openapi_document("", "v1");
    const json_t *schemas = json_at(document, "components", "schemas", NULL);
    const json_t *pod = json_object_get(schemas, "io.k8s.api.core.v1.Pod");
    const json_t *gvk = json_array_get(json_object_get(pod, "x-kubernetes-group-version-kind"), 0);
    const json_t *spec = json_at(pod, "properties", "spec", "properties", NULL);
    const json_t *containers = json_object_get(spec, "containers");

    (void)state;
    assert_string_equal(json_text(gvk, "kind"), "Pod");
    assert_string_equal(json_text_at(spec, "restartPolicy", "default", NULL), "Always");
    assert_string_equal(json_text(containers, "x-kubernetes-patch-merge-key"), "name");
    assert_string_equal(json_text_at(containers, "items", "properties", "image", "type", NULL),
                        "string");
    assert_non_null(json_at(spec, "readinessGates", "description", NULL));
    assert_true(text_ends_with(json_text_at(spec, "readinessGates", "description", NULL),
                               "Not implemented by mete yet: refused."));
}

static void views_are_read_only(void **state)
{
    AUTO(json_freep) json_t *document = openapi_document("mete.dev", "v1");
    const json_t *paths = json_object_get(document, "paths");

    (void)state;
    assert_non_null(json_at(paths, "/apis/mete.dev/v1/gpus", "get", NULL));
    assert_null(json_at(paths, "/apis/mete.dev/v1/gpus", "post", NULL));
    assert_null(json_at(paths, "/apis/mete.dev/v1/gpus/{name}", "delete", NULL));
    assert_null(openapi_document("other.dev", "v1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index_names_a_document_a_group),
        cmocka_unit_test(kubectl_finds_its_validation_parameter),
        cmocka_unit_test(explain_has_something_to_say_of_every_field),
        cmocka_unit_test(views_are_read_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
