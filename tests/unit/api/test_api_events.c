/* test_api_events.c - Events in both API groups */

#include "api_world.h"
#include "base/mem.h"
#include "test.h"

#define OLD "/api/v1/namespaces/default/events"
#define NEW "/apis/events.k8s.io/v1/namespaces/default/events"

static const char new_event[] =
    "{'apiVersion':'events.k8s.io/v1','kind':'Event','metadata':{'name':'e'},"
    "'eventTime':'2026-01-02T03:04:05.678901Z','reportingController':'example.com/c',"
    "'reportingInstance':'c-0','action':'Try','reason':'Tried','type':'Normal','note':'why',"
    "'regarding':{'kind':'Pod','namespace':'default','name':'p'}}";

static const char old_event[] =
    "{'apiVersion':'v1','kind':'Event','metadata':{'name':'o'},'reason':'Seen','type':'Warning',"
    "'involvedObject':{'kind':'Pod','namespace':'default','name':'q'},'message':'hm','count':3,"
    "'source':{'component':'c'},'firstTimestamp':'2026-01-02T03:04:05Z'}";

static void post(struct api_world *a, const char *target, const char *body)
{
    AUTO(json_freep)
    json_t *made =
        api_expect(a, 201, (struct question){.method = "POST", .target = target, .body = body});

    assert_non_null(json_text_at(made, "metadata", "uid", NULL));
}

static void an_event_has_two_forms(void **state)
{
    AUTO(json_freep) json_t *kept = NULL;
    AUTO(json_freep) json_t *now = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    post(&a, NEW, new_event);
    kept = api_expect(&a, 200, (struct question){.target = OLD "/e"});
    assert_string_equal(json_text(kept, "apiVersion"), "v1");
    assert_string_equal(json_text(kept, "message"), "why");
    assert_string_equal(json_text(kept, "reportingComponent"), "example.com/c");
    assert_string_equal(json_text(kept, "eventTime"), "2026-01-02T03:04:05.678901Z");
    assert_string_equal(json_text_at(kept, "involvedObject", "name", NULL), "p");
    assert_null(json_object_get(kept, "regarding"));
    post(&a, OLD, old_event);
    now = api_expect(&a, 200, (struct question){.target = NEW "/o"});
    assert_string_equal(json_text(now, "apiVersion"), "events.k8s.io/v1");
    assert_string_equal(json_text(now, "note"), "hm");
    assert_int_equal(json_int(now, "deprecatedCount", 0), 3);
    assert_string_equal(json_text_at(now, "deprecatedSource", "component", NULL), "c");
    assert_string_equal(json_text(now, "deprecatedFirstTimestamp"), "2026-01-02T03:04:05Z");
    assert_string_equal(json_text_at(now, "regarding", "name", NULL), "q");
    api_world_done(&a);
}

static void a_list_selects_by_the_newer_names(void **state)
{
    static const char *const targets[] = {
        NEW "?fieldSelector=regarding.name%3Dq", OLD "?fieldSelector=involvedObject.name%3Dq",
        "/apis/events.k8s.io/v1/events?fieldSelector=type%3DWarning"};
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    post(&a, NEW, new_event);
    post(&a, OLD, old_event);
    for (size_t i = 0; i < COUNT(targets); i++) {
        AUTO(json_freep)
        json_t *list = api_expect(&a, 200, (struct question){.target = targets[i]});
        const json_t *items = json_object_get(list, "items");

        assert_string_equal(json_text(list, "kind"), "EventList");
        assert_int_equal(json_array_size(items), 1);
        assert_string_equal(json_text_at(json_array_get(items, 0), "metadata", "name", NULL), "o");
    }
    json_decref(api_expect(
        &a, 400, (struct question){.target = NEW "?fieldSelector=involvedObject.name%3Dq"}));
    api_world_done(&a);
}

static void a_watch_of_each_form_tells_the_writes_of_the_other(void **state)
{
    struct asked *old = NULL;
    struct asked *now = NULL;
    AUTO(json_freep) json_t *first = NULL;
    AUTO(json_freep) json_t *second = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    old = api_ask(&a, (struct question){.target = OLD "?watch=1"});
    now = api_ask(&a, (struct question){.target = NEW "?watch=1"});
    post(&a, NEW, new_event);
    post(&a, OLD, old_event);
    first = asked_event(old, 0);
    second = asked_event(now, 1);
    assert_string_equal(json_text_at(first, "object", "message", NULL), "why");
    assert_string_equal(json_text_at(second, "object", "note", NULL), "hm");
    assert_string_equal(json_text_at(second, "object", "apiVersion", NULL), "events.k8s.io/v1");
    asked_free(old);
    asked_free(now);
    api_world_done(&a);
}

static void a_series_is_patched_in_the_newer_form(void **state)
{
    static const char patch[] =
        "{'series':{'count':2,'lastObservedTime':'2026-01-02T03:05:00.5Z'}}";
    AUTO(json_freep) json_t *patched = NULL;
    AUTO(json_freep) json_t *kept = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    post(&a, NEW, new_event);
    patched =
        api_expect(&a, 200,
                   (struct question){.method = "PATCH",
                                     .target = NEW "/e",
                                     .body = patch,
                                     .content_type = "application/strategic-merge-patch+json"});
    assert_string_equal(json_text(patched, "note"), "why");
    kept = api_expect(&a, 200, (struct question){.target = OLD "/e"});
    assert_int_equal(json_int_at(kept, "series", "count", NULL), 2);
    api_world_done(&a);
}

static void the_newer_form_wants_to_know_who_did_what(void **state)
{
    static const char *const wanted[] = {
        "eventTime", "reportingController", "reportingInstance", "action", "reason", "type"};
    AUTO(json_freep) json_t *status = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    status = api_expect(
        &a, 422,
        (struct question){.method = "POST",
                          .target = NEW,
                          .body = "{'metadata':{'generateName':'x-'},"
                                  "'regarding':{'kind':'Pod','namespace':'default','name':'p'}}"});
    for (size_t i = 0; i < COUNT(wanted); i++) {
        AUTO_FREE char *cause = mem_format("%s: Required value", wanted[i]);

        assert_non_null(strstr(json_text(status, "message"), cause));
    }
    assert_null(strstr(json_text(status, "message"), "metadata.name"));
    api_world_done(&a);
}

static void a_collection_of_the_newer_form_is_deleted(void **state)
{
    AUTO(json_freep) json_t *list = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    post(&a, NEW, new_event);
    post(&a, OLD, old_event);
    json_decref(api_expect(&a, 200, (struct question){.method = "DELETE", .target = NEW}));
    list = api_expect(&a, 200, (struct question){.target = OLD});
    assert_int_equal(json_array_size(json_object_get(list, "items")), 0);
    api_world_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_has_two_forms),
        cmocka_unit_test(a_list_selects_by_the_newer_names),
        cmocka_unit_test(a_watch_of_each_form_tells_the_writes_of_the_other),
        cmocka_unit_test(a_series_is_patched_in_the_newer_form),
        cmocka_unit_test(the_newer_form_wants_to_know_who_did_what),
        cmocka_unit_test(a_collection_of_the_newer_form_is_deleted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
