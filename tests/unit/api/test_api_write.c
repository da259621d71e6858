/* test_api_write.c - create, update, patch and delete */

#include "api_world.h"
#include "base/mem.h"
#include "mem_storage.h"
#include "test.h"

#define PODS "/api/v1/namespaces/default/pods"
#define MAPS "/api/v1/namespaces/default/configmaps"

static const char pod[] =
    "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p'},'spec':{'containers':"
    "[{'name':'c','image':'host'}]}}";

static void a_write_is_answered_when_it_is_durable(void **state)
{
    AUTO(json_freep) json_t *made = NULL;
    AUTO(json_freep) json_t *got = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    made = api_expect(&a, 201, (struct question){.method = "POST", .target = PODS, .body = pod});
    assert_string_equal(json_text(made, "kind"), "Pod");
    assert_non_null(json_text_at(made, "metadata", "uid", NULL));
    got = api_expect(&a, 200, (struct question){.target = PODS "/p"});
    assert_true(json_equal(made, got));
    api_world_done(&a);
}

static void a_full_disk_refuses_writes_and_lets_reads_go_on(void **state)
{
    AUTO(json_freep) json_t *list = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    mem_storage_set_full(a.w.disk, true);
    for (int i = 0; i < 2; i++) {
        AUTO(asked_freep)
        struct asked *k =
            api_ask(&a, (struct question){.method = "POST", .target = PODS, .body = pod});

        assert_true(k->status == 0 ||
                    k->status == 507); /* waits for durability, or is refused: never acknowledged */
    }
    list = api_expect(&a, 200, (struct question){.target = PODS});
    assert_int_equal(json_array_size(json_object_get(list, "items")), 0);
    mem_storage_set_full(a.w.disk, false);
    sim_loop_run(a.w.loop);
    api_world_done(&a);
}

static void a_client_that_leaves_does_not_stop_its_write(void **state)
{
    AUTO(json_freep) json_t *got = NULL;
    struct asked *k;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    k = api_ask(&a, (struct question){.method = "POST", .target = PODS, .body = pod});
    asked_free(k);
    got = api_expect(&a, 200, (struct question){.target = PODS "/p"});
    api_world_done(&a);
}

struct refusal {
    const char *method;
    const char *target;
    const char *body;
    const char *type;
    int status;
    const char *message; /* start of the message */
};

static void refused_writes_say_what_is_wrong(void **state)
{
    static const struct refusal cases[] = {
        {"POST", PODS, NULL, NULL, 400, "request body is empty"},
        {"POST", PODS, "[]", NULL, 400, "request body: want a JSON object"},
        {"POST", PODS, "{", NULL, 400, ""},
        {"POST", PODS, "a: b", "application/x-yaml", 415,
         "the body of the request was in an unknown format - accepted media types include: "
         "application/json, application/yaml"},
        {"POST", PODS, "kind: Node\napiVersion: v1", "application/yaml", 400,
         "the request body is a v1 Node: want v1 Pod"},
        {"POST", PODS, "kind: Pod\nmetadata: [", "application/yaml", 400,
         "manifest:3:1: did not find"},
        {"POST", PODS, "a: 1\n---\nb: 2", "application/yaml", 400,
         "request body: want one YAML document with an object"},
        {"POST", PODS, "{'kind':'Node','apiVersion':'v1'}", NULL, 400,
         "the request body is a v1 Node: want v1 Pod"},
        {"POST", PODS, "{'kind':'Pod','apiVersion':'v2'}", NULL, 400,
         "the request body is a v2 Pod: want v1 Pod"},
        {"POST", PODS, "{'metadata':{'name':'p','namespace':'other'}}", NULL, 400,
         "the namespace of the provided object does not match the namespace sent on the request"},
        {"POST", "/api/v1/pods", pod, NULL, 405, "the server does not allow this method"},
        {"POST", PODS "?fieldValidation=Maybe", pod, NULL, 400,
         "fieldValidation: Unsupported value: \"Maybe\""},
        {"POST", PODS "?dryRun=Some", pod, NULL, 400,
         "dryRun: Unsupported value: \"Some\": want All"},
        {"PUT", MAPS "/m", "{'metadata':{'name':'other'}}", NULL, 400,
         "the name of the object (other) does not match the name on the URL (m)"},
        {"PUT", MAPS "/none", "{'metadata':{'name':'none'}}", NULL, 404,
         "configmaps \"none\" not found"},
        {"PUT", MAPS "/m", "{'metadata':{'name':'m','resourceVersion':'1'}}", NULL, 409,
         "Operation cannot be fulfilled"},
        {"PATCH", MAPS "/m", "{}", "application/json-patch+json", 400,
         "JSON patch: want a JSON array of operations"},
        {"PATCH", MAPS "/m", "{}", "application/apply-patch+yaml", 422,
         "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value"},
        {"PATCH", MAPS "/m", "{}", "application/apply-patch+cbor", 415, "the body of the request"},
        {"PATCH", MAPS "/m", "{}", "application/json", 415, "the body of the request"},
        {"PATCH", MAPS "/m", "[1]", "application/merge-patch+json", 400,
         "want a JSON object as the patch"},
        {"PATCH", MAPS "/none", "{}", "application/merge-patch+json", 404,
         "configmaps \"none\" not found"},
        {"DELETE", MAPS "/none", NULL, NULL, 404, "configmaps \"none\" not found"},
        {"DELETE", MAPS "/m", "{'kind':'Pod'}", NULL, 400,
         "request body is a Pod: want DeleteOptions"},
        {"DELETE", MAPS "/m", "{'gracePeriodSeconds':-1}", NULL, 400,
         "gracePeriodSeconds: want a number"},
        {"DELETE", MAPS "/m", "{'propagationPolicy':'Sideways'}", NULL, 400,
         "propagationPolicy: want"},
        {"DELETE", MAPS "/m", "{'preconditions':{'uid':'other'}}", NULL, 409, ""},
        {"DELETE", MAPS, "{'preconditions':{'uid':'other'}}", NULL, 400,
         "preconditions are for one object"},
        {"POST", MAPS "/m", NULL, NULL, 405, "the server does not allow this method"},
        {"POST", PODS "/none/exec?command=ls", NULL, NULL, 404, "pods \"none\" not found"},
        {"POST", PODS "/none/eviction", "{}", NULL, 404, "pods \"none\" not found"},
        {"POST", PODS "/p/nothing", "{}", NULL, 404,
         "the server could not find the requested resource"},
    };
    AUTO(json_freep) json_t *m = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    m = api_expect(
        &a, 201,
        (struct question){.method = "POST", .target = MAPS, .body = "{'metadata':{'name':'m'}}"});
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep)
        json_t *got = api_expect(&a, cases[i].status,
                                 (struct question){.method = cases[i].method,
                                                   .target = cases[i].target,
                                                   .body = cases[i].body,
                                                   .content_type = cases[i].type});
        const char *message = json_text(got, "message");

        assert_string_equal(json_text(got, "kind"), "Status");
        if (strncmp(message, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("%s %s: %s", cases[i].method, cases[i].target, message);
    }
    api_world_done(&a);
}

static void tells_every_cause_of_an_invalid_object(void **state)
{
    AUTO(json_freep) json_t *got = NULL;
    const json_t *details;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    got =
        api_expect(&a, 422,
                   (struct question){
                       .method = "POST",
                       .target = PODS,
                       .body = "{'metadata':{'name':'P_'},'spec':{'containers':[{'name':'c'}]}}"});
    details = json_object_get(got, "details");
    assert_string_equal(json_text(details, "kind"), "Pod");
    assert_string_equal(json_text(details, "name"), "P_");
    assert_int_equal(json_array_size(json_object_get(details, "causes")), 2);
    assert_string_equal(json_text(json_array_get(json_object_get(details, "causes"), 1), "field"),
                        "spec.containers[0].image");
    api_world_done(&a);
}

static void warns_about_unknown_fields_or_refuses_them(void **state)
{
    static const char body[] = "{'metadata':{'name':'m'},'foo':1}";
    AUTO(json_freep) json_t *refused = NULL;
    AUTO(asked_freep) struct asked *k = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    refused =
        api_expect(&a, 400,
                   (struct question){
                       .method = "POST", .target = MAPS "?fieldValidation=Strict", .body = body});
    assert_non_null(
        strstr(json_text(refused, "message"), "strict decoding error: unknown field \"foo\""));
    k = api_ask(&a, (struct question){.method = "POST", .target = MAPS, .body = body});
    assert_int_equal(k->status, 201);
    assert_int_equal(json_array_size(k->warnings), 1);
    assert_string_equal(json_string_value(json_array_get(k->warnings, 0)), "unknown field \"foo\"");
    api_world_done(&a);
}

static void a_dry_run_leaves_nothing(void **state)
{
    AUTO(json_freep) json_t *made = NULL;
    AUTO(json_freep) json_t *gone = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    made = api_expect(
        &a, 201, (struct question){.method = "POST", .target = PODS "?dryRun=All", .body = pod});
    assert_string_equal(json_text(made, "kind"), "Pod");
    gone = api_expect(&a, 404, (struct question){.target = PODS "/p"});
    assert_string_equal(json_text_at(gone, "details", "name", NULL), "p");
    assert_string_equal(json_text_at(gone, "details", "kind", NULL), "pods");
    api_world_done(&a);
}

static void answers_metadata_where_asked_to(void **state)
{
    static const char only[] = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    AUTO(json_freep) json_t *made = NULL;
    AUTO(json_freep) json_t *gone = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    made = api_expect(
        &a, 201, (struct question){.method = "POST", .target = PODS, .body = pod, .accept = only});
    assert_string_equal(json_text(made, "kind"), "PartialObjectMetadata");
    assert_string_equal(json_text_at(made, "metadata", "name", NULL), "p");
    assert_null(json_object_get(made, "spec"));
    gone = api_expect(&a, 200,
                      (struct question){.method = "DELETE", .target = PODS "/p", .accept = only});
    assert_string_equal(json_text(gone, "kind"), "Status");
    api_world_done(&a);
}

static void deletes_a_collection_and_nothing_else(void **state)
{
    AUTO(json_freep) json_t *done = NULL;
    AUTO(json_freep) json_t *left = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    for (int i = 0; i < 150; i++) { /* more than one turn */
        AUTO_FREE char *text =
            mem_format("{'metadata':{'name':'m%03d','labels':{'app':'%s'}}}", i, i % 3 ? "x" : "y");

        world_must(
            world_create(&a.w, (struct target){.kind = "configmaps", .ns = "default"}, text, NULL));
    }
    done = api_expect(
        &a, 200, (struct question){.method = "DELETE", .target = MAPS "?labelSelector=app%3Dx"});
    assert_string_equal(json_text(done, "status"), "Success");
    left = api_expect(&a, 200, (struct question){.target = MAPS});
    assert_int_equal(json_array_size(json_object_get(left, "items")), 50);
    api_world_done(&a);
}

static void a_bound_pod_is_marked_an_unbound_one_goes(void **state)
{
    AUTO(json_freep) json_t *marked = NULL;
    AUTO(json_freep) json_t *gone = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    world_add_node(&a.w, "n1", 2);
    world_must(world_add_pod(&a.w, "default", "bound", 1));
    world_must(world_bind(&a.w, "default", "bound", "n1"));
    world_must(world_add_pod(&a.w, "default", "free", 0));
    marked = api_expect(&a, 200, (struct question){.method = "DELETE", .target = PODS "/bound"});
    assert_string_equal(json_text(marked, "kind"), "Pod");
    assert_non_null(json_text_at(marked, "metadata", "deletionTimestamp", NULL));
    gone = api_expect(&a, 200, (struct question){.method = "DELETE", .target = PODS "/free"});
    assert_string_equal(json_text(gone, "status"), "Success");
    assert_non_null(json_text_at(gone, "details", "uid", NULL));
    api_world_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_is_answered_when_it_is_durable),
        cmocka_unit_test(a_full_disk_refuses_writes_and_lets_reads_go_on),
        cmocka_unit_test(a_client_that_leaves_does_not_stop_its_write),
        cmocka_unit_test(refused_writes_say_what_is_wrong),
        cmocka_unit_test(tells_every_cause_of_an_invalid_object),
        cmocka_unit_test(warns_about_unknown_fields_or_refuses_them),
        cmocka_unit_test(a_dry_run_leaves_nothing),
        cmocka_unit_test(answers_metadata_where_asked_to),
        cmocka_unit_test(deletes_a_collection_and_nothing_else),
        cmocka_unit_test(a_bound_pod_is_marked_an_unbound_one_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
