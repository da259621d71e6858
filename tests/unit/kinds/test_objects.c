/* test_objects.c - creating, updating and patching objects */

#include "base/mem.h"
#include "mem_storage.h"
#include "test.h"
#include "world.h"

#define CONFIG(n) ((struct target){.kind = "configmaps", .name = (n)})

static const char *text_at(const json_t *tree, const char *key)
{
    const char *text = json_text_at(tree, "metadata", key, NULL);

    return text ? text : "";
}

static void gives_a_new_object_its_metadata(void **state)
{
    AUTO(json_freep) json_t *made = NULL;
    AUTO(json_freep) json_t *read = NULL;
    struct world w;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, CONFIG(NULL),
                            "{'apiVersion':'v1','kind':'ConfigMap','data':{'k':'v'},"
                            "'metadata':{'name':'a','uid':'mine','generation':7,'selfLink':'x',"
                            "'creationTimestamp':'2001-01-01T00:00:00Z','managedFields':[{}],"
                            "'deletionTimestamp':'2001-01-01T00:00:00Z'}}",
                            &made));
    assert_int_equal(strlen(text_at(made, "uid")), 36);
    assert_int_equal(text_at(made, "uid")[14], '4');
    assert_non_null(strchr("89ab", text_at(made, "uid")[19]));
    assert_string_equal(text_at(made, "creationTimestamp"), "2026-01-01T00:00:01Z");
    assert_string_equal(text_at(made, "namespace"), "default");
    assert_string_equal(text_at(made, "deletionTimestamp"), "");
    assert_null(json_at(made, "metadata", "managedFields", NULL));
    assert_null(json_at(made, "metadata", "selfLink", NULL));
    read = world_get(&w, CONFIG("a"));
    assert_true(json_equal(made, read));
    world_done(&w);
}

static void stores_bytes_that_are_sent_with_their_version(void **state)
{
    AUTO(json_freep) json_t *tree = NULL;
    AUTO(json_freep) json_t *sent = NULL;
    const struct store_object *o;
    struct buf text = {0};
    struct world w;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, CONFIG(NULL),
                            "{'data':{'metadata':'\\\"metadata\\\":{'},'metadata':{'name':'a'}}",
                            NULL));
    o = store_get(w.store, objects_key(kind_find("", "configmaps"), "default", "a"));
    assert_true(str_starts_with(
        o->bytes, STR("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{")));
    objects_format(o, &text);
    world_must(json_parse((struct str){text.at, text.size}, &sent));
    world_must(objects_decode(o, &tree));
    assert_true(json_equal(tree, sent));
    buf_done(&text);
    world_done(&w);
}

static void refuses_to_create(void **state)
{
    static const struct {
        struct target target;
        const char *text;
        int http;
        const char *message;
    } cases[] = {
        {{.kind = "configmaps", .ns = "nowhere"},
         "{'metadata':{'name':'a'}}",
         404,
         "namespaces \"nowhere\" not found"},
        {{.kind = "configmaps"},
         "{'metadata':{'name':'taken'}}",
         409,
         "configmaps \"taken\" already exists"},
        {{.kind = "configmaps"},
         "{'metadata':{'name':'a','namespace':'other'}}",
         400,
         "the namespace of the provided object does not match the namespace sent on the request"},
        {{.kind = "configmaps"},
         "{'metadata':{'name':'a','resourceVersion':'5'}}",
         400,
         "resourceVersion should not be set on objects to be created"},
        {{.kind = "configmaps"},
         "{'metadata':{}}",
         422,
         "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is "
         "required"},
        {{.kind = "configmaps"},
         "{'metadata':{'name':'a','annotations':{'mete.dev/devices':'x'}}}",
         422,
         "ConfigMap \"a\" is invalid: metadata.annotations[mete.dev/devices]: Forbidden: names "
         "under mete.dev/ are set by the system only"},
        {{.kind = "configmaps"},
         "{'metadata':{'name':'a','ownerReferences':["
         "{'apiVersion':'v1','kind':'Pod','name':'p','uid':'1','controller':true},"
         "{'apiVersion':'v1','kind':'Pod','name':'q','uid':'2','controller':true}]}}",
         422,
         "ConfigMap \"a\" is invalid: metadata.ownerReferences: Forbidden: Only one reference can "
         "have Controller set to true. Found \"true\" in references for p and q"},
        {{.kind = "namespaces"},
         "{'metadata':{'name':'a','namespace':'b'}}",
         422,
         "Namespace \"a\" is invalid: metadata.namespace: Forbidden: not allowed on this type"},
        {{.kind = "configmaps", .sub = "status"},
         "{'metadata':{'name':'a'}}",
         404,
         "the server could not find the requested resource"},
        {{.kind = "configmaps"},
         "[]",
         400,
         "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: want a JSON object"},
    };
    struct world w;
    int64_t revision;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, CONFIG(NULL), "{'metadata':{'name':'taken'}}", NULL));
    revision = store_applied_revision(w.store);
    for (size_t i = 0; i < COUNT(cases); i++)
        world_refused(world_create(&w, cases[i].target, cases[i].text, NULL), cases[i].http,
                      cases[i].message);
    assert_int_equal(store_applied_revision(w.store), revision);
    world_done(&w);
}

static void refuses_what_is_too_large(void **state)
{
    struct world w;
    struct buf text = {0};
    AUTO(err_freep) struct err *e = NULL;

    (void)state;
    world_init(&w, 1);
    buf_add_text(&text, "{'metadata':{'name':'a'},'data':{");
    for (int i = 0; i < 60; i++) {
        buf_printf(&text, "%s'k%d':'", i > 0 ? "," : "", i);
        for (int n = 0; n < 30000; n++)
            buf_add_char(&text, 'x');
        buf_add_text(&text, "'");
    }
    buf_add_text(&text, "}}");
    e = world_create(&w, CONFIG(NULL), text.at, NULL);
    assert_non_null(e);
    assert_in_range(err_http(e), 413, 422);
    buf_done(&text);
    world_done(&w);
}

static void makes_names_from_a_prefix(void **state)
{
    AUTO(json_freep) json_t *one = NULL;
    AUTO(json_freep) json_t *other = NULL;
    AUTO(json_freep) json_t *cut = NULL;
    const char *name;
    struct world w;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, CONFIG(NULL), "{'metadata':{'generateName':'job-'}}", &one));
    world_must(world_create(&w, CONFIG(NULL), "{'metadata':{'generateName':'job-'}}", &other));
    name = strchr(text_at(one, "name"), '-');
    assert_non_null(name);
    assert_true(text_starts_with(text_at(one, "name"), "job-"));
    assert_int_equal(strlen(text_at(one, "name")), 9);
    assert_int_equal(strspn(name + 1, "bcdfghjklmnpqrstvwxz2456789"), 5);
    assert_string_not_equal(text_at(one, "name"), text_at(other, "name"));
    world_must(
        world_create(&w, CONFIG(NULL),
                     "{'metadata':{'generateName':"
                     "'aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggg'}}",
                     &cut));
    assert_int_equal(strlen(text_at(cut, "name")), 63);
    world_done(&w);
}

static void a_name_made_twice_is_made_again(void **state)
{
    AUTO(json_freep) json_t *one = NULL;
    AUTO(json_freep) json_t *other = NULL;
    struct world w;
    uint64_t random;

    (void)state;
    world_init(&w, 1);
    random = w.random;
    world_must(world_create(&w, CONFIG(NULL), "{'metadata':{'generateName':'job-'}}", &one));
    w.random = random; /* repeats the same bytes */
    world_must(world_create(&w, CONFIG(NULL), "{'metadata':{'generateName':'job-'}}", &other));
    assert_string_not_equal(text_at(one, "name"), text_at(other, "name"));
    world_done(&w);
}

static void a_dry_run_writes_nothing(void **state)
{
    AUTO(json_freep) json_t *made = NULL;
    AUTO(json_freep) json_t *there = NULL;
    struct target dry = {.kind = "configmaps", .is_dry_run = true};
    struct world w;
    bool is_gone = false;
    int64_t revision;

    (void)state;
    world_init(&w, 1);
    revision = store_applied_revision(w.store);
    world_must(world_create(&w, dry, "{'metadata':{'name':'a'}}", &made));
    assert_string_equal(text_at(made, "name"), "a");
    assert_null(world_get(&w, CONFIG("a")));
    assert_int_equal(store_applied_revision(w.store), revision);
    world_must(world_create(&w, CONFIG(NULL), "{'metadata':{'name':'a'}}", NULL));
    dry.name = "a";
    world_must(world_patch(&w, dry, "{'data':{'k':'v'}}", NULL));
    world_must(world_delete(&w, dry, NULL, &is_gone));
    assert_true(is_gone);
    there = world_get(&w, CONFIG("a"));
    assert_non_null(there);
    assert_null(json_object_get(there, "data"));
    world_done(&w);
}

static void what_changes_nothing_is_not_written(void **state)
{
    AUTO(json_freep) json_t *first = NULL;
    AUTO(json_freep) json_t *second = NULL;
    struct world w;
    int64_t revision;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, CONFIG(NULL), "{'metadata':{'name':'a'},'data':{'k':'v'}}", NULL));
    revision = store_applied_revision(w.store);
    world_must(world_patch(&w, CONFIG("a"), "{'data':{'k':'v'}}", &first));
    world_must(world_update(&w, CONFIG("a"), first, &second));
    assert_int_equal(store_applied_revision(w.store), revision);
    assert_string_equal(text_at(first, "resourceVersion"), text_at(second, "resourceVersion"));
    world_must(world_patch(&w, CONFIG("a"), "{'data':{'k':'w'}}", NULL));
    assert_int_equal(store_applied_revision(w.store), revision + 1);
    world_done(&w);
}

static void refuses_a_patch(void **state)
{
    static const struct {
        struct target target;
        const char *patch;
        int http;
        const char *message;
    } cases[] = {
        {{.kind = "configmaps", .name = "none"}, "{}", 404, "configmaps \"none\" not found"},
        {{.kind = "configmaps", .name = "a"},
         "{'metadata':{'resourceVersion':'1'}}",
         409,
         "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please "
         "apply your changes to the latest version and try again"},
        {{.kind = "configmaps", .name = "a"},
         "{'metadata':{'resourceVersion':'new'}}",
         400,
         "resourceVersion: Invalid value: \"new\": want a number"},
        {{.kind = "configmaps", .name = "a"},
         "{'metadata':{'name':'b'}}",
         400,
         "the name of the object (b) does not match the name on the URL (a)"},
        {{.kind = "configmaps", .name = "a"},
         "{'metadata':{'namespace':'b'}}",
         400,
         "the namespace of the provided object does not match the namespace sent on the request"},
        {{.kind = "configmaps", .name = "a"},
         "{'metadata':{'deletionTimestamp':'2026-01-01T00:00:00Z'}}",
         422,
         "ConfigMap \"a\" is invalid: metadata.deletionTimestamp: Forbidden: field is immutable"},
        {{.kind = "configmaps", .name = "a"},
         "{'metadata':{'labels':{'mete.dev/job-id':'1'}}}",
         422,
         "ConfigMap \"a\" is invalid: metadata.labels[mete.dev/job-id]: Forbidden: names under "
         "mete.dev/ are set by the system only"},
        {{.kind = "configmaps", .name = "a", .sub = "status"},
         "{}",
         404,
         "the server could not find the requested resource"},
        {{.kind = "namespaces", .name = "default", .sub = "finalize"},
         "{}",
         403,
         "namespaces \"default\" is forbidden: only the garbage collector finishes a namespace"},
        {{.kind = "configmaps", .name = "a"}, "[]", 400, "want a JSON object as the patch"},
    };
    struct world w;
    int64_t revision;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, CONFIG(NULL), "{'metadata':{'name':'a'}}", NULL));
    revision = store_applied_revision(w.store);
    for (size_t i = 0; i < COUNT(cases); i++)
        world_refused(world_patch(&w, cases[i].target, cases[i].patch, NULL), cases[i].http,
                      cases[i].message);
    assert_int_equal(store_applied_revision(w.store), revision);
    world_done(&w);
}

static void an_update_of_another_uid_is_a_conflict(void **state)
{
    AUTO(json_freep) json_t *made = NULL;
    AUTO_FREE char *message = NULL;
    struct world w;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, CONFIG(NULL), "{'metadata':{'name':'a'}}", &made));
    message = mem_format("Operation cannot be fulfilled on configmaps \"a\": Precondition failed: "
                         "UID in precondition: other, UID in object meta: %s",
                         text_at(made, "uid"));
    world_refused(world_patch(&w, CONFIG("a"), "{'metadata':{'uid':'other'}}", NULL), 409, message);
    world_done(&w);
}

static void what_the_server_sets_stays(void **state)
{
    AUTO(json_freep) json_t *made = NULL;
    AUTO(json_freep) json_t *after = NULL;
    struct world w;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, CONFIG(NULL), "{'metadata':{'name':'a'}}", &made));
    world_must(world_patch(&w, CONFIG("a"),
                           "{'metadata':{'uid':null,'creationTimestamp':null,'labels':{'a':'b'},"
                           "'namespace':null,'resourceVersion':null,'managedFields':[{}]}}",
                           &after));
    assert_string_equal(text_at(after, "uid"), text_at(made, "uid"));
    assert_string_equal(text_at(after, "creationTimestamp"), text_at(made, "creationTimestamp"));
    assert_string_equal(text_at(after, "namespace"), "default");
    assert_string_equal(json_text_at(after, "metadata", "labels", "a", NULL), "b");
    assert_null(json_at(after, "metadata", "managedFields", NULL));
    world_done(&w);
}

static void a_put_that_knows_nothing_of_reserved_names_keeps_them(void **state)
{
    AUTO(json_freep) json_t *after = NULL;
    AUTO(json_freep) json_t *put = manifest("{'metadata':{'name':'a'},'data':{'k':'v'}}");
    AUTO(json_freep)
    json_t *changed = manifest("{'metadata':{'name':'a','annotations':{'mete.dev/x':'2'}}}");
    struct world w;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, (struct target){.kind = "configmaps", .who = &ours},
                            "{'metadata':{'name':'a','annotations':{'mete.dev/x':'1'}}}", NULL));
    world_must(world_update(&w, CONFIG("a"), put, &after));
    assert_string_equal(json_text_at(after, "metadata", "annotations", "mete.dev/x", NULL), "1");
    world_refused(world_update(&w, CONFIG("a"), changed, NULL), 422,
                  "ConfigMap \"a\" is invalid: metadata.annotations[mete.dev/x]: Forbidden: names "
                  "under mete.dev/ are set by the system only");
    world_must(world_patch(&w, CONFIG("a"),
                           "{'metadata':{'annotations':{'mete.dev/drain-reason':'fans'}}}", NULL));
    world_refused(
        world_patch(&w, CONFIG("a"), "{'metadata':{'annotations':{'mete.dev/x':null}}}", NULL), 422,
        "ConfigMap \"a\" is invalid: metadata.annotations[mete.dev/x]: Forbidden: names under "
        "mete.dev/ are set by the system only");
    world_done(&w);
}

static void spec_and_status_are_written_apart(void **state)
{
    struct target node = {.kind = "nodes", .name = "n", .who = &ours};
    struct target status = {.kind = "nodes", .name = "n", .who = &ours, .sub = "status"};
    AUTO(json_freep) json_t *made = NULL;
    AUTO(json_freep) json_t *after = NULL;
    struct world w;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, (struct target){.kind = "nodes"},
                            "{'metadata':{'name':'n'},'status':{'phase':'x'}}", &made));
    assert_null(json_at(made, "status", "phase", NULL));
    assert_int_equal(json_int_at(made, "metadata", "generation", NULL), 1);
    world_must(
        world_patch(&w, node, "{'spec':{'unschedulable':true},'status':{'phase':'x'}}", NULL));
    world_must(world_patch(
        &w, status, "{'spec':{'unschedulable':false},'status':{'capacity':{'cpu':'2'}}}", &after));
    assert_null(json_at(after, "status", "phase", NULL));
    assert_true(json_bool_at(after, "spec", "unschedulable", NULL));
    assert_string_equal(json_text_at(after, "status", "capacity", "cpu", NULL), "2");
    assert_int_equal(json_int_at(after, "metadata", "generation", NULL), 2);
    world_done(&w);
}

static void a_full_disk_is_told_and_the_object_is_not_there(void **state)
{
    struct world w;
    struct err *e;

    (void)state;
    world_init(&w, 1);
    mem_storage_set_full(w.disk, true);
    world_must(world_create(&w, CONFIG(NULL), "{'metadata':{'name':'a'}}", NULL));
    assert_int_equal(w.n_failed, 1);
    assert_null(world_get(&w, CONFIG("a")));
    e = world_create(&w, CONFIG(NULL), "{'metadata':{'name':'b'}}", NULL);
    assert_non_null(e);
    assert_int_equal(err_http(e), 507);
    err_free(e);
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_a_new_object_its_metadata),
        cmocka_unit_test(stores_bytes_that_are_sent_with_their_version),
        cmocka_unit_test(refuses_to_create),
        cmocka_unit_test(refuses_what_is_too_large),
        cmocka_unit_test(makes_names_from_a_prefix),
        cmocka_unit_test(a_name_made_twice_is_made_again),
        cmocka_unit_test(a_dry_run_writes_nothing),
        cmocka_unit_test(what_changes_nothing_is_not_written),
        cmocka_unit_test(refuses_a_patch),
        cmocka_unit_test(an_update_of_another_uid_is_a_conflict),
        cmocka_unit_test(what_the_server_sets_stays),
        cmocka_unit_test(a_put_that_knows_nothing_of_reserved_names_keeps_them),
        cmocka_unit_test(spec_and_status_are_written_apart),
        cmocka_unit_test(a_full_disk_is_told_and_the_object_is_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
