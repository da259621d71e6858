/* test_api_read.c - gets and lists: forms, selectors, pages, versions */

#include "api/openapi_v2.h"
#include "api/token.h"
#include "api_world.h"
#include "base/mem.h"
#include "test.h"

static const char table[] = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

static void add_map(struct api_world *a, const char *ns, const char *name, const char *label)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'%s','labels':{'app':'%s'}}}", name, label);

    world_must(world_create(&a->w, (struct target){.kind = "configmaps", .ns = ns}, text, NULL));
}

/* Returns the names in a list: "a,b,c". */
static char *names_of(const json_t *list)
{
    AUTO(buf_done) struct buf b = {0};
    size_t i;
    json_t *item;

    json_array_foreach (json_object_get(list, "items"), i, item) {
        buf_printf(&b, "%s%s", i > 0 ? "," : "", json_text_at(item, "metadata", "name", NULL));
    }
    return buf_steal(&b);
}

static void expect_names(struct api_world *a, const char *target, const char *names)
{
    AUTO(json_freep) json_t *list = api_expect(a, 200, (struct question){.target = target});
    AUTO_FREE char *got = names_of(list);

    assert_string_equal(got, names);
}

static void expect_message(struct api_world *a, const char *target, int status, const char *message)
{
    AUTO(json_freep) json_t *got = api_expect(a, status, (struct question){.target = target});

    assert_string_equal(json_text(got, "kind"), "Status");
    assert_string_equal(json_text(got, "status"), "Failure");
    assert_non_null(json_object_get(got, "details"));
    assert_int_equal(json_int(got, "code", 0), status);
    assert_string_equal(json_text(got, "message"), message);
}

static void lists_what_is_selected(void **state)
{
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    add_map(&a, "default", "a", "x");
    add_map(&a, "default", "b", "y");
    add_map(&a, "kube-system", "c", "x");
    expect_names(&a, "/api/v1/namespaces/default/configmaps", "a,b");
    expect_names(&a, "/api/v1/configmaps", "a,b,c");
    expect_names(&a, "/api/v1/configmaps?labelSelector=app%3Dx", "a,c");
    expect_names(&a, "/api/v1/configmaps?labelSelector=app%21%3Dx", "b");
    expect_names(
        &a,
        "/api/v1/"
        "configmaps?labelSelector=app+in+(x,z)&fieldSelector=metadata.namespace%21%3Ddefault",
        "c");
    expect_names(&a, "/api/v1/configmaps?fieldSelector=metadata.name%3Db", "b");
    expect_names(&a, "/api/v1/namespaces/none/configmaps", "");
    expect_names(&a, "/api/v1/configmaps?resourceVersion=0", "a,b,c");
    expect_message(&a, "/api/v1/configmaps?fieldSelector=data.x%3Db", 400,
                   "field label not supported: data.x");
    expect_message(&a, "/api/v1/configmaps?resourceVersion=x", 400,
                   "resourceVersion: Invalid value: \"x\": want a number");
    expect_message(&a, "/api/v1/configmaps?limit=-1", 400,
                   "query parameter 'limit': '-1' is not a number of at least 0");
    expect_message(&a, "/api/v1/namespaces/default/configmaps/none", 404,
                   "configmaps \"none\" not found");
    api_world_done(&a);
}

static void openapi_v2_has_the_form_that_the_client_prefers(void **state)
{
#define OLD "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    static const struct {
        const char *accept;
        enum openapi_form form;
    } cases[] = {
        {NULL, OPENAPI_JSON},
        {"", OPENAPI_JSON},
        {"application/json", OPENAPI_JSON},
        {"application/json, */*", OPENAPI_JSON},
        {"*/*", OPENAPI_JSON},
        {OLD, OPENAPI_PROTOBUF},
        {"application/com.github.proto-openapi.spec.v2.v1.0+protobuf", OPENAPI_PROTOBUF},
        {"application/json," OLD, OPENAPI_JSON},
        {OLD ", application/json", OPENAPI_PROTOBUF},
        {"application/json;q=0.5, " OLD ";q=0.9", OPENAPI_PROTOBUF},
        {"application/json ; q=0.95," OLD ";q=0.9", OPENAPI_JSON},
        {OLD ";q=0, Application/JSON;q=0.001", OPENAPI_JSON},
        {"application/json;q=0", OPENAPI_NEITHER},
        {"text/html, application/yaml", OPENAPI_NEITHER},
        {"text/html, */*;q=0.1", OPENAPI_JSON},
        {"application/json;q=junk," OLD, OPENAPI_JSON},
        {",;,", OPENAPI_NEITHER},
    };
    AUTO(json_freep) json_t *refused = NULL;
    AUTO(json_freep) json_t *json = NULL;
    struct api_world a;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        if (openapi_v2_form(cases[i].accept) != cases[i].form)
            fail_msg("%s", cases[i].accept);
    api_world_init(&a, NULL);
    refused = api_expect(&a, 406, (struct question){.target = "/openapi/v2", .accept = "text/x"});
    json = api_expect(&a, 200, (struct question){.target = "/openapi/v2"});
    assert_string_equal(json_text(json, "swagger"), "2.0");
    assert_non_null(json_at(json, "definitions", "io.k8s.api.core.v1.Pod", "properties", "spec",
                            "properties", "containers", NULL));
    assert_string_equal(json_text_at(json, "paths", "/api/v1/nodes/{name}", "get", "responses",
                                     "200", "schema", "$ref", NULL),
                        "#/definitions/io.k8s.api.core.v1.Node");
    api_world_done(&a);
#undef OLD
}

static json_t *page(struct api_world *a, const char *more, const char *token)
{
    AUTO_FREE char *target = mem_format("/api/v1/configmaps?limit=2%s%s%s", more,
                                        token ? "&continue=" : "", token ? token : "");

    return api_expect(a, 200, (struct question){.target = target});
}

static void pages_show_one_snapshot(void **state)
{
    AUTO_FREE char *first_names = NULL;
    AUTO_FREE char *second_names = NULL;
    AUTO(json_freep) json_t *first = NULL;
    AUTO(json_freep) json_t *second = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    add_map(&a, "default", "a", "x");
    add_map(&a, "default", "c", "x");
    add_map(&a, "default", "e", "x");
    first = page(&a, "", NULL);
    first_names = names_of(first);
    assert_string_equal(first_names, "a,c");
    assert_non_null(json_text_at(first, "metadata", "continue", NULL));
    assert_int_equal(json_int_at(first, "metadata", "remainingItemCount", NULL), 1);

    add_map(&a, "default", "d", "x"); /* after the snapshot */
    second = page(&a, "", json_text_at(first, "metadata", "continue", NULL));
    second_names = names_of(second);
    assert_string_equal(second_names, "e");
    assert_null(json_text_at(second, "metadata", "continue", NULL));
    assert_string_equal(json_text_at(second, "metadata", "resourceVersion", NULL),
                        json_text_at(first, "metadata", "resourceVersion", NULL));
    api_world_done(&a);
}

static void pages_count_what_is_selected(void **state)
{
    AUTO_FREE char *names = NULL;
    AUTO(json_freep) json_t *first = NULL;
    AUTO(json_freep) json_t *second = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    for (int c = 'a'; c <= 'g'; c++)
        add_map(&a, "default", (char[]){(char)c, '\0'},
                c % 2 ? "odd" : "even"); /* a c e g are odd */
    first = page(&a, "&labelSelector=app%3Dodd", NULL);
    assert_null(json_at(first, "metadata", "remainingItemCount", NULL)); /* nobody has counted */
    second =
        page(&a, "&labelSelector=app%3Dodd", json_text_at(first, "metadata", "continue", NULL));
    names = names_of(second);
    assert_string_equal(names, "e,g");
    api_world_done(&a);
}

static void refuses_tokens_that_it_did_not_make(void **state)
{
    static const char *const texts[] = {"x", "!!!!", "e30", "bnVsbA", "eyJydiI6MSwibnMiOjF9"};
    const struct token future = {.revision = 1000000, .ns = "default", .name = "a"};
    AUTO_FREE char *token = token_format(&future);
    AUTO_FREE char *target = mem_format("/api/v1/configmaps?limit=1&continue=%s", token);
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    for (size_t i = 0; i < COUNT(texts); i++) {
        AUTO_FREE char *bad = mem_format("/api/v1/configmaps?limit=1&continue=%s", texts[i]);

        expect_message(&a, bad, 400, "continue key is not valid");
    }
    expect_message(&a, target, 400, "continue key is not valid");
    api_world_done(&a);
}

static void says_when_a_page_is_too_old(void **state)
{
    AUTO(json_freep) json_t *first = NULL;
    AUTO_FREE char *target = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    for (int c = 'a'; c <= 'd'; c++)
        add_map(&a, "default", (char[]){(char)c, '\0'}, "x");
    first = page(&a, "", NULL);
    add_map(&a, "default", "e", "x");
    store_compact(a.w.store, store_revision(a.w.store));
    sim_loop_run(a.w.loop);
    target = mem_format("/api/v1/configmaps?limit=2&continue=%s",
                        json_text_at(first, "metadata", "continue", NULL));
    expect_message(
        &a, target, 410,
        "The provided continue parameter is too old to display a consistent list result. "
        "Start a new list without it");
    api_world_done(&a);
}

static void exact_is_the_past(void **state)
{
    AUTO_FREE char *target = NULL;
    AUTO_FREE char *far = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    add_map(&a, "default", "a", "x");
    target = mem_format("/api/v1/configmaps?resourceVersionMatch=Exact&resourceVersion=%ld",
                        (long)store_revision(a.w.store));
    add_map(&a, "default", "b", "x");
    expect_names(&a, target, "a");
    far = mem_format("Too large resource version: 99999, current: %ld",
                     (long)store_revision(a.w.store));
    expect_message(&a, "/api/v1/configmaps?resourceVersion=99999", 504, far);
    api_world_done(&a);
}

static void gives_tables_and_metadata_where_asked(void **state)
{
    AUTO(json_freep) json_t *rows = NULL;
    AUTO(json_freep) json_t *one = NULL;
    AUTO(json_freep) json_t *meta = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    for (int i = 0; i < 70; i++) { /* more than one batch of rows */
        AUTO_FREE char *name = mem_format("m%02d", i);

        add_map(&a, "default", name, "x");
    }
    rows = api_expect(&a, 200, (struct question){.target = "/api/v1/configmaps", .accept = table});
    assert_string_equal(json_text(rows, "kind"), "Table");
    assert_int_equal(json_array_size(json_object_get(rows, "rows")), 70);
    assert_string_equal(
        json_text(json_array_get(json_object_get(rows, "columnDefinitions"), 0), "name"), "Name");
    assert_string_equal(
        json_string_value(json_array_get(
            json_object_get(json_array_get(json_object_get(rows, "rows"), 69), "cells"), 0)),
        "m69");
    one = api_expect(&a, 200,
                     (struct question){
                         .target = "/api/v1/namespaces/default/configmaps/m07?includeObject=Object",
                         .accept = table});
    assert_string_equal(
        json_text_at(json_array_get(json_object_get(one, "rows"), 0), "object", "kind", NULL),
        "ConfigMap");
    meta =
        api_expect(&a, 200,
                   (struct question){
                       .target = "/api/v1/namespaces/default/configmaps/m07",
                       .accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"});
    assert_string_equal(json_text(meta, "kind"), "PartialObjectMetadata");
    assert_string_equal(json_text_at(meta, "metadata", "name", NULL), "m07");
    api_world_done(&a);
}

/* A list of many megabytes is sent in pieces that wait for the client, without loss. */
static void a_large_list_waits_for_its_reader(void **state)
{
    AUTO_FREE char *filler = mem_alloc(60001);
    AUTO_FREE char *names = NULL;
    AUTO(json_freep) json_t *list = NULL;
    AUTO(asked_freep) struct asked *k = NULL;
    size_t n_turns = 0;
    struct api_world a;

    (void)state;
    (void)memset(filler, 'x', 60000);
    api_world_init(&a, NULL);
    for (int i = 0; i < 50; i++) {
        AUTO_FREE char *text =
            mem_format("{'metadata':{'name':'m%02d'},'data':{'k':'%s'}}", i, filler);

        world_must(
            world_create(&a.w, (struct target){.kind = "configmaps", .ns = "default"}, text, NULL));
    }
    k = api_ask(&a,
                (struct question){.target = "/api/v1/configmaps", .backlog = API_BACKLOG_MAX + 1});
    assert_int_equal(k->status, 200);
    assert_true(k->is_stream);
    while (!k->is_over) {
        size_t before = k->body.size;

        k->x.on_drain(k->x.arg);
        sim_loop_run(a.w.loop);
        assert_true(k->body.size - before < 262144u);
        assert_true(++n_turns < 100);
    }
    assert_true(n_turns > 10);
    list = asked_json(k);
    assert_int_equal(json_array_size(json_object_get(list, "items")), 50);
    names = names_of(list);
    assert_true(strstr(names, "m00,m01,") && strstr(names, "m48,m49"));
    api_world_done(&a);
}

static void a_reader_that_leaves_takes_its_list_along(void **state)
{
    AUTO_FREE char *filler = mem_alloc(500001);
    AUTO(asked_freep) struct asked *k = NULL;
    struct api_world a;

    (void)state;
    (void)memset(filler, 'x', 500000);
    api_world_init(&a, NULL);
    for (int i = 0; i < 4; i++) {
        AUTO_FREE char *text =
            mem_format("{'metadata':{'name':'m%02d'},'data':{'k':'%s'}}", i, filler);

        world_must(
            world_create(&a.w, (struct target){.kind = "configmaps", .ns = "default"}, text, NULL));
    }
    k = api_ask(&a,
                (struct question){.target = "/api/v1/configmaps", .backlog = API_BACKLOG_MAX + 1});
    assert_false(k->is_over);
    asked_close(k);
    sim_loop_run(a.w.loop);
    api_world_done(&a);
}

static void views_are_computed_and_read_only(void **state)
{
    AUTO(json_freep) json_t *one = NULL;
    AUTO(json_freep) json_t *refused = NULL;
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    expect_names(&a, "/apis/mete.dev/v1/gpus", "GPU-1");
    expect_names(&a, "/apis/mete.dev/v1/gpus?fieldSelector=metadata.name%3Dother", "");
    one = api_expect(&a, 200, (struct question){.target = "/apis/mete.dev/v1/gpus/GPU-1"});
    assert_string_equal(json_text(one, "kind"), "Gpu");
    expect_message(&a, "/apis/mete.dev/v1/gpus/GPU-2", 404, "gpus.mete.dev \"GPU-2\" not found");
    expect_message(&a, "/apis/mete.dev/v1/gpus?watch=1", 405,
                   "the server does not allow this method on the requested resource");
    refused = api_expect(&a, 405,
                         (struct question){.method = "POST", .target = "/apis/mete.dev/v1/gpus"});
    api_world_done(&a);
}

/* Reports that the test ends. */
struct fake_reports {
    report_done_fn done;
    void *done_arg;
    int n_begun;
    int n_cancelled;
    uint64_t stamp;
};

static struct fake_reports fake;

static struct err *fake_begin(void *arg, const struct report_question *q, report_done_fn done,
                              void *done_arg, struct report **ret)
{
    if (json_text(q->parameters, "bad"))
        return err_new(ERR_BAD_REQUEST, "bad");
    fake.done = done;
    fake.done_arg = done_arg;
    fake.n_begun++;
    *ret = arg;
    return NULL;
}

static void fake_cancel(struct report *r)
{
    (void)r;
    fake.n_cancelled++;
}

static uint64_t fake_stamp(void *arg, const struct report_question *q)
{
    const struct fake_reports *f = arg;

    return json_text(q->parameters, "fresh") ? 0 : f->stamp;
}

/* Ends the report that began last. */
static void fake_end(void)
{
    AUTO(json_freep) json_t *report = json_pack("{s:i}", "n", fake.n_begun);

    fake.done(fake.done_arg, NULL, report);
}

static void expect_report(const struct asked *k, int n)
{
    AUTO(json_freep) json_t *report = asked_json(k);

    assert_int_equal(k->status, 200);
    assert_int_equal(json_int(report, "n", 0), n);
}

static void callers_who_ask_the_same_share_a_report(void **state)
{
    static const char users[] =
        "users: [{name: ann, uid: 7, roles: [{role: view, namespace: '*'}]}]";
    const struct report_maker maker = {.path = "/apis/mete.dev/v1/slurm",
                                       .begin = fake_begin,
                                       .cancel = fake_cancel,
                                       .arg = &fake};
    const struct question jobs = {.target = "/apis/mete.dev/v1/slurm?what=jobs"};
    struct question of_ann = jobs;
    struct question bad = {.target = "/apis/mete.dev/v1/slurm?bad=1"};
    struct api_world a = {.report = &maker};
    struct asked *asked[5];

    (void)state;
    fake = (struct fake_reports){0};
    of_ann.who.uid = 7;
    api_world_init(&a, users);
    json_decref(api_expect(&a, 400, bad));
    for (size_t i = 0; i < 3; i++)
        asked[i] = api_ask(&a, jobs);
    assert_int_equal(fake.n_begun, 1); /* the second and the third wait for the next report */
    fake_end();
    expect_report(asked[0], 1);
    assert_int_equal(asked[1]->status + asked[2]->status, 0);
    assert_int_equal(fake.n_begun, 2);
    asked[3] = api_ask(&a, jobs);
    fake_end();
    expect_report(asked[1], 2);
    expect_report(asked[2], 2);
    assert_int_equal(asked[3]->status, 0);
    fake_end();
    expect_report(asked[3], 3);
    assert_int_equal(fake.n_begun, 3);
    for (size_t i = 0; i < 4; i++)
        asked_free(asked[i]);

    asked[0] = api_ask(&a, jobs);
    asked[1] = api_ask(&a, of_ann); /* other rights: a report of its own */
    assert_int_equal(fake.n_begun, 5);
    asked[2] = api_ask(&a, of_ann);
    asked[3] = api_ask(&a, of_ann);
    asked_free(asked[3]); /* the client goes while it waits */
    asked_free(asked[1]); /* the only one of the report that is made: the next one begins */
    assert_int_equal(fake.n_cancelled, 1);
    assert_int_equal(fake.n_begun, 6);
    fake_end();
    expect_report(asked[2], 6);
    assert_int_equal(asked[0]->status, 0);
    asked_free(asked[2]);
    asked_free(asked[0]);
    assert_int_equal(fake.n_cancelled, 2);
    api_world_done(&a);
}

/* Asks, and ends the report if one begins: its answer has the number `n`. */
static void expect_number(struct api_world *a, struct question q, int n)
{
    int n_begun = fake.n_begun;
    struct asked *asked = api_ask(a, q);

    if (fake.n_begun > n_begun)
        fake_end();
    expect_report(asked, n);
    asked_free(asked);
}

static void an_answer_is_given_again_while_its_maker_says_so(void **state)
{
    static const char users[] =
        "users: [{name: ann, uid: 7, roles: [{role: view, namespace: '*'}]}]";
    const struct report_maker maker = {.path = "/apis/mete.dev/v1/slurm",
                                       .begin = fake_begin,
                                       .cancel = fake_cancel,
                                       .stamp = fake_stamp,
                                       .arg = &fake};
    const struct question jobs = {.target = "/apis/mete.dev/v1/slurm?what=jobs"};
    const struct question others = {.target = "/apis/mete.dev/v1/slurm?what=nodes"};
    const struct question fresh = {.target = "/apis/mete.dev/v1/slurm?fresh=1"};
    struct question of_ann = jobs;
    struct api_world a = {.report = &maker};

    (void)state;
    fake = (struct fake_reports){.stamp = 5};
    of_ann.who.uid = 7;
    api_world_init(&a, users);
    expect_number(&a, jobs, 1);
    expect_number(&a, jobs, 1);
    expect_number(&a, of_ann, 2); /* another caller */
    expect_number(&a, others, 3);
    expect_number(&a, jobs, 1);
    fake.stamp = 6;
    expect_number(&a, jobs, 4);
    expect_number(&a, jobs, 4);
    expect_number(&a, fresh, 5);
    expect_number(&a, fresh, 6);
    api_world_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_given_again_while_its_maker_says_so),
        cmocka_unit_test(lists_what_is_selected),
        cmocka_unit_test(openapi_v2_has_the_form_that_the_client_prefers),
        cmocka_unit_test(pages_show_one_snapshot),
        cmocka_unit_test(pages_count_what_is_selected),
        cmocka_unit_test(refuses_tokens_that_it_did_not_make),
        cmocka_unit_test(says_when_a_page_is_too_old),
        cmocka_unit_test(exact_is_the_past),
        cmocka_unit_test(gives_tables_and_metadata_where_asked),
        cmocka_unit_test(a_large_list_waits_for_its_reader),
        cmocka_unit_test(a_reader_that_leaves_takes_its_list_along),
        cmocka_unit_test(views_are_computed_and_read_only),
        cmocka_unit_test(callers_who_ask_the_same_share_a_report),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
