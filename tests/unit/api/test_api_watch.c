/* test_api_watch.c - watches: events, selectors, resumption, slow clients */

#include "api_world.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "test.h"

static void add_map(struct api_world *a, const char *name, const char *label)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'%s','labels':{'app':'%s'}}}", name, label);

    world_must(
        world_create(&a->w, (struct target){.kind = "configmaps", .ns = "default"}, text, NULL));
}

static void relabel(struct api_world *a, const char *name, const char *label)
{
    AUTO_FREE char *text = mem_format("{'metadata':{'labels':{'app':'%s'}}}", label);

    world_must(world_patch(
        &a->w, (struct target){.kind = "configmaps", .ns = "default", .name = name}, text, NULL));
}

static void remove_map(struct api_world *a, const char *name)
{
    world_must(world_delete(
        &a->w, (struct target){.kind = "configmaps", .ns = "default", .name = name}, NULL, NULL));
}

/* Returns the events of a watch: "ADDED a,DELETED b". */
static char *told(const struct asked *k)
{
    AUTO(buf_done) struct buf b = {0};

    for (size_t i = 0;; i++) {
        AUTO(json_freep) json_t *event = asked_event(k, i);
        const char *name;

        if (!event)
            return buf_steal(&b);
        name = json_text_at(event, "object", "metadata", "name", NULL);
        buf_printf(&b, "%s%s %s", i > 0 ? "," : "", json_text(event, "type"), name ? name : "-");
    }
}

static void expect_told(const struct asked *k, const char *want)
{
    AUTO_FREE char *got = told(k);

    assert_string_equal(got, want);
}

static struct asked *watch(struct api_world *a, const char *more)
{
    AUTO_FREE char *target = mem_format("/api/v1/namespaces/default/configmaps?watch=true%s", more);

    return api_ask(a, (struct question){.target = target});
}

static void begins_with_what_is_there(void **state)
{
    AUTO(asked_freep) struct asked *k = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    add_map(&a, "a", "x");
    k = watch(&a, "&resourceVersion=0");
    add_map(&a, "b", "x");
    relabel(&a, "a", "y");
    remove_map(&a, "a");
    sim_loop_run(a.w.loop);
    expect_told(k, "ADDED a,ADDED b,MODIFIED a,DELETED a");
    asked_close(k);
    api_world_done(&a);
}

/* Ruby's kubeclient, and so fluentd, opens watches this way. */
static void old_paths_of_watches_are_served(void **state)
{
    static const struct {
        const char *target;
        int status;
        const char *told; /* names of the events */
    } cases[] = {
        {"/api/v1/watch/configmaps", 200, "\"name\":\"b\""},
        {"/api/v1/watch/namespaces/default/configmaps?watch=false", 200, "\"name\":\"b\""},
        {"/api/v1/watch/namespaces/default/configmaps/a", 200, "\"name\":\"a\""},
        {"/apis/batch/v1/watch/jobs", 200, NULL},
        {"/api/v1/watch", 404, NULL},
        {"/api/v1/watch/watch/pods", 404, NULL},
        {"/x/y/z/watch/pods", 404, NULL},
    };
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    add_map(&a, "a", "x");
    add_map(&a, "b", "x");
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(asked_freep)
        struct asked *k = api_ask(&a, (struct question){.target = cases[i].target});

        if (k->status != cases[i].status)
            fail_msg("%s: %d, want %d", cases[i].target, k->status, cases[i].status);
        assert_int_equal(k->is_stream, k->status == 200);
        if (cases[i].told)
            assert_non_null(strstr(k->body.at, cases[i].told));
        if (strstr(cases[i].target, "maps/a"))
            assert_null(k->body.at ? strstr(k->body.at, "\"name\":\"b\"") : NULL);
        asked_close(k);
    }
    json_decref(api_expect(
        &a, 404, (struct question){.method = "DELETE", .target = "/api/v1/watch/configmaps"}));
    api_world_done(&a);
}

static void resumes_after_a_revision(void **state)
{
    AUTO(asked_freep) struct asked *k = NULL;
    AUTO(json_freep) json_t *last = NULL;
    AUTO_FREE char *from = NULL;
    AUTO_FREE char *now = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    add_map(&a, "a", "x");
    from = mem_format("&resourceVersion=%ld", (long)store_revision(a.w.store));
    relabel(&a, "a", "y");
    remove_map(&a, "a");
    now = mem_format("%ld", (long)store_revision(a.w.store));
    k = watch(&a, from);
    expect_told(k, "MODIFIED a,DELETED a");
    /* The deletion's own revision, so that the client resumes after it. */
    last = asked_event(k, 1);
    assert_string_equal(json_text_at(last, "object", "metadata", "resourceVersion", NULL), now);
    asked_close(k);
    api_world_done(&a);
}

static void an_object_enters_and_leaves_a_selection(void **state)
{
    AUTO(asked_freep) struct asked *k = NULL;
    AUTO(json_freep) json_t *left = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    add_map(&a, "a", "x");
    k = watch(&a, "&labelSelector=app%3Dy");
    add_map(&a, "b", "x"); /* never selected */
    relabel(&a, "a", "y");
    relabel(&a, "a", "x");
    relabel(&a, "a", "z");
    remove_map(&a, "a");
    sim_loop_run(a.w.loop);
    expect_told(k, "ADDED a,DELETED a");
    left = asked_event(k, 1);
    assert_string_equal(json_text_at(left, "object", "metadata", "labels", "app", NULL), "y");
    asked_close(k);
    api_world_done(&a);
}

static void one_object_is_watched_by_its_name(void **state)
{
    AUTO(asked_freep) struct asked *by_path = NULL;
    AUTO(asked_freep) struct asked *by_field = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    by_path =
        api_ask(&a, (struct question){.target = "/api/v1/namespaces/default/configmaps/b?watch=1"});
    by_field = watch(&a, "&fieldSelector=metadata.name%3Db");
    add_map(&a, "a", "x");
    add_map(&a, "b", "x");
    sim_loop_run(a.w.loop);
    expect_told(by_path, "ADDED b");
    expect_told(by_field, "ADDED b");
    asked_close(by_path);
    asked_close(by_field);
    api_world_done(&a);
}

static void says_410_for_what_is_forgotten(void **state)
{
    AUTO(asked_freep) struct asked *k = NULL;
    AUTO(json_freep) json_t *event = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    add_map(&a, "a", "x");
    add_map(&a, "b", "x");
    store_compact(a.w.store, store_revision(a.w.store));
    sim_loop_run(a.w.loop);
    k = watch(&a, "&resourceVersion=1");
    assert_int_equal(k->status, 200);
    assert_true(k->is_over);
    event = asked_event(k, 0);
    assert_string_equal(json_text(event, "type"), "ERROR");
    assert_int_equal(json_int(json_object_get(event, "object"), "code", 0), 410);
    assert_string_equal(json_text_at(event, "object", "reason", NULL), "Expired");
    api_world_done(&a);
}

static void ends_at_its_time_with_a_bookmark(void **state)
{
    AUTO(asked_freep) struct asked *k = NULL;
    AUTO(json_freep) json_t *event = NULL;
    AUTO_FREE char *now = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    k = watch(&a, "&allowWatchBookmarks=true&timeoutSeconds=30&labelSelector=app%3Dnone");
    add_map(&a, "a", "x"); /* not selected, but its revision is sent */
    now = mem_format("%ld", (long)store_revision(a.w.store));
    sim_loop_advance(a.w.loop, 29 * NS_PER_SEC);
    assert_false(k->is_over);
    assert_null(asked_event(k, 0));
    sim_loop_advance(a.w.loop, 2 * NS_PER_SEC);
    assert_true(k->is_over);
    assert_false(k->is_cut);
    event = asked_event(k, 0);
    assert_string_equal(json_text(event, "type"), "BOOKMARK");
    assert_string_equal(json_text_at(event, "object", "metadata", "resourceVersion", NULL), now);
    api_world_done(&a);
}

static void bookmarks_come_every_minute_where_there_is_news(void **state)
{
    AUTO(asked_freep) struct asked *k = NULL;
    AUTO_FREE char *more = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    more = mem_format("&allowWatchBookmarks=true&labelSelector=app%%3Dnone&resourceVersion=%ld",
                      (long)store_revision(a.w.store));
    k = watch(&a, more);
    sim_loop_advance(a.w.loop, 61 * NS_PER_SEC);
    expect_told(k, "");
    add_map(&a, "a", "x");
    sim_loop_advance(a.w.loop, 180 * NS_PER_SEC);
    expect_told(k, "BOOKMARK -");
    asked_close(k);
    api_world_done(&a);
}

static void marks_the_end_of_the_initial_events(void **state)
{
    AUTO(asked_freep) struct asked *k = NULL;
    AUTO(json_freep) json_t *event = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    add_map(&a, "a", "x");
    k = watch(&a,
              "&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    expect_told(k, "ADDED a,BOOKMARK -");
    event = asked_event(k, 1);
    assert_string_equal(
        json_text_at(event, "object", "metadata", "annotations", "k8s.io/initial-events-end", NULL),
        "true");
    asked_close(k);
    api_world_done(&a);
}

static void a_slow_watcher_waits_and_misses_nothing(void **state)
{
    AUTO(asked_freep) struct asked *slow = NULL;
    AUTO(asked_freep) struct asked *quick = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    slow = watch(&a, "");
    quick = watch(&a, "");
    add_map(&a, "a", "x");
    slow->backlog = API_BACKLOG_MAX + 1;
    add_map(&a, "b", "x");
    add_map(&a, "c", "x");
    sim_loop_run(a.w.loop);
    assert_false(slow->is_cut);
    expect_told(slow, "ADDED a");
    expect_told(quick, "ADDED a,ADDED b,ADDED c");
    slow->backlog = 0;
    slow->x.on_drain(slow->x.arg);
    add_map(&a, "d", "x");
    sim_loop_run(a.w.loop);
    expect_told(slow, "ADDED a,ADDED b,ADDED c,ADDED d");
    asked_close(slow);
    asked_close(quick);
    api_world_done(&a);
}

static void a_watcher_that_was_too_slow_is_told_so(void **state)
{
    AUTO(asked_freep) struct asked *slow = NULL;
    AUTO(json_freep) json_t *event = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    slow = watch(&a, "");
    slow->backlog = API_BACKLOG_MAX + 1;
    add_map(&a, "a", "x");
    add_map(&a, "b", "x");
    sim_loop_run(a.w.loop);
    store_compact(a.w.store, store_revision(a.w.store)); /* the watch does not block it */
    sim_loop_run(a.w.loop);
    slow->backlog = 0;
    slow->x.on_drain(slow->x.arg);
    assert_true(slow->is_over);
    event = asked_event(slow, 0);
    assert_string_equal(json_text(event, "type"), "ERROR");
    assert_int_equal(json_int(json_object_get(event, "object"), "code", 0), 410);
    api_world_done(&a);
}

static void many_objects_at_the_beginning_wait_for_the_reader(void **state)
{
    AUTO(asked_freep) struct asked *k = NULL;
    size_t n = 0;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    for (int i = 0; i < 600; i++) {
        AUTO_FREE char *name = mem_format("m%03d", i);

        add_map(&a, name, "x");
    }
    k = api_ask(&a, (struct question){.target = "/api/v1/configmaps?watch=true",
                                      .backlog = API_BACKLOG_MAX + 1});
    add_map(&a, "late", "x"); /* while initial objects are being sent: comes after them */
    while (n < 100 && k->body.size > 0) {
        size_t before = k->body.size;

        k->x.on_drain(k->x.arg);
        sim_loop_run(a.w.loop);
        n++;
        if (k->body.size == before)
            break;
    }
    assert_true(n > 1);
    for (size_t i = 0; i < 600; i++) {
        AUTO(json_freep) json_t *event = asked_event(k, i);

        assert_string_equal(json_text(event, "type"), "ADDED");
    }
    k->backlog = 0;
    k->x.on_drain(k->x.arg);
    add_map(&a, "later", "x");
    sim_loop_run(a.w.loop);
    assert_non_null(strstr(k->body.at, "\"late\""));
    assert_non_null(strstr(k->body.at, "\"later\""));
    asked_close(k);
    api_world_done(&a);
}

static void tables_say_their_columns_once(void **state)
{
    AUTO(asked_freep) struct asked *k = NULL;
    AUTO(json_freep) json_t *first = NULL;
    AUTO(json_freep) json_t *second = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    k = api_ask(&a, (struct question){.target = "/api/v1/configmaps?watch=true",
                                      .accept = "application/json;as=Table;v=v1;g=meta.k8s.io"});
    add_map(&a, "a", "x");
    remove_map(&a, "a");
    sim_loop_run(a.w.loop);
    first = asked_event(k, 0);
    second = asked_event(k, 1);
    assert_string_equal(json_text_at(first, "object", "kind", NULL), "Table");
    assert_true(json_array_size(json_at(first, "object", "columnDefinitions", NULL)) > 0);
    assert_true(
        json_is_null(json_object_get(json_object_get(second, "object"), "columnDefinitions")));
    assert_string_equal(json_text(second, "type"), "DELETED");
    asked_close(k);
    api_world_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begins_with_what_is_there),
        cmocka_unit_test(old_paths_of_watches_are_served),
        cmocka_unit_test(resumes_after_a_revision),
        cmocka_unit_test(an_object_enters_and_leaves_a_selection),
        cmocka_unit_test(one_object_is_watched_by_its_name),
        cmocka_unit_test(says_410_for_what_is_forgotten),
        cmocka_unit_test(ends_at_its_time_with_a_bookmark),
        cmocka_unit_test(bookmarks_come_every_minute_where_there_is_news),
        cmocka_unit_test(marks_the_end_of_the_initial_events),
        cmocka_unit_test(a_slow_watcher_waits_and_misses_nothing),
        cmocka_unit_test(a_watcher_that_was_too_slow_is_told_so),
        cmocka_unit_test(many_objects_at_the_beginning_wait_for_the_reader),
        cmocka_unit_test(tables_say_their_columns_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
