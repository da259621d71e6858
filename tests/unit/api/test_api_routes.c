/* test_api_routes.c - routes, queries and discovery */

#include "api/routes.h"
#include "api_world.h"
#include "base/mem.h"
#include "test.h"

static void paths_mean_what_kubernetes_says(void **state)
{
    static const struct {
        const char *method;
        const char *path;
        const char
            *meaning; /* "plural ns name sub verb"; "-" for none; "404", "405 ALLOW", "400" */
    } cases[] = {
        {"GET", "/api/v1/pods", "pods - - - list"},
        {"GET", "/api/v1/namespaces/a/pods", "pods a - - list"},
        {"GET", "/api/v1/namespaces/a/pods/", "pods a - - list"},
        {"GET", "/api/v1/namespaces/a/pods/p", "pods a p - get"},
        {"GET", "/api/v1/namespaces/a/pods/p%2Dq", "pods a p-q - get"},
        {"GET", "/api/v1/namespaces/a/pods/p/log", "pods a p log get"},
        {"POST", "/api/v1/namespaces/a/pods/p/binding", "pods a p binding create"},
        {"GET", "/api/v1/namespaces", "namespaces - - - list"},
        {"GET", "/api/v1/namespaces/a", "namespaces - a - get"},
        {"PUT", "/api/v1/namespaces/a/finalize", "namespaces - a finalize update"},
        {"GET", "/api/v1/namespaces/a/status", "namespaces - a status get"},
        {"GET", "/api/v1/nodes/n", "nodes - n - get"},
        {"PATCH", "/api/v1/nodes/n/status", "nodes - n status patch"},
        {"GET", "/apis/mete.dev/v1/gpus", "gpus - - - list"},
        {"GET", "/apis/mete.dev/v1/namespaces/a/workloads/w", "workloads a w - get"},
        {"PUT", "/api/v1/namespaces/a/pods", "405 GET, POST, DELETE"},
        {"POST", "/api/v1/nodes/n", "405 GET, PUT, PATCH, DELETE"},
        {"POST", "/healthz", "405 GET"},
        {"GET", "/api/v1/pods/p", "404"}, /* a namespaced object without its namespace */
        {"GET", "/api/v1/namespaces/a/nodes/n", "404"}, /* the other way round */
        {"GET", "/api/v1/namespaces/a/pods/p/log/more", "404"},
        {"GET", "/api/v1/namespaces/a/configmaps/p/log", "404"},
        {"GET", "/api/v1/namespaces/a/nothing", "404"},
        {"GET", "/api/v2/pods", "404"},
        {"GET", "/apis/mete.dev/v2/gpus", "404"},
        {"GET", "/apis//v1/gpus", "400"},
        {"GET", "/api/v1/placements", "404"},
        {"GET", "/api/v1/ledger", "404"},
        {"GET", "/nope", "404"},
        {"GET", "/openapi/v1", "404"},
        {"GET", "/healthz/etcd", "404"},
        {"GET", "/", "404"},
        {"GET", "/api/v1/namespaces/../pods", "400"},
        {"GET", "/api/v1/namespaces/%2e%2e/pods", "400"},
        {"GET", "/api/v1/namespaces/a%2Fb/pods", "400"},
        {"GET", "/api/v1/namespaces/a%00b/pods", "400"},
        {"GET", "/api/v1/namespaces/a%0ab/pods", "400"},
        {"GET", "/api/v1/nodes/%", "400"},
        {"GET", "/api/v1/nodes/%4", "400"},
        {"GET", "/api/v1/nodes/%zz", "400"},
        {"GET", "//api", "400"},
        {"GET", "/a/b/c/d/e/f/g/h/i/j/k", "400"},
    };
    struct arena *arena = arena_new();

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(buf_done) struct buf got = {0};
        struct request_target t = {0};
        struct route_match m = {0};
        const struct route *r = NULL;
        const char *allow = "";
        struct err *e = target_parse(arena, cases[i].path, &t);

        if (!e)
            e = routes_find(arena, cases[i].method, &t, &m, &r, &allow);
        if (e)
            buf_printf(&got, "%d", err_http(e));
        else if (!r)
            buf_printf(&got, "405 %s", allow);
        else
            buf_printf(&got, "%s %s %s %s %s", m.kind->plural, m.ns ? m.ns : "-",
                       m.name ? m.name : "-", m.subresource ? m.subresource : "-", r->verb);
        err_free(e);
        if (strcmp(got.at, cases[i].meaning) != 0)
            fail_msg("%s %s: %s, not %s", cases[i].method, cases[i].path, got.at, cases[i].meaning);
    }
    arena_free(arena);
}

static void queries_are_decoded(void **state)
{
    struct arena *arena = arena_new();
    struct query q = {0};
    int64_t n = 0;

    (void)state;
    assert_null(
        query_parse(arena, "a=b%3Dc&watch&x=1+2&follow=false&zero=0&limit=5&&a=second", &q));
    assert_string_equal(query_get(&q, "a"), "b=c");
    assert_string_equal(query_get(&q, "x"), "1 2");
    assert_true(query_bool(&q, "watch"));
    assert_false(query_bool(&q, "follow"));
    assert_false(query_bool(&q, "zero"));
    assert_false(query_bool(&q, "none"));
    assert_null(query_int(&q, "limit", 1, &n));
    assert_int_equal(n, 5);
    arena_free(arena);
}

static void refuses_bad_queries(void **state)
{
    static const char *const texts[] = {"a=%", "a=%0", "%zz=1", "a=b%00c"};
    struct arena *arena = arena_new();
    AUTO(buf_done) struct buf many = {0};
    struct query q = {0};

    (void)state;
    for (int i = 0; i <= QUERY_PAIRS_MAX; i++)
        buf_printf(&many, "k%d=1&", i);
    for (size_t i = 0; i <= COUNT(texts); i++) {
        AUTO(err_freep)
        struct err *e = query_parse(arena, i < COUNT(texts) ? texts[i] : many.at, &q);

        assert_non_null(e);
        assert_int_equal(err_http(e), 400);
    }
    arena_free(arena);
}

/* All paths and verbs that discovery lists have a route. */
static void discovery_tells_the_truth(void **state)
{
    static const char *const verbs[][2] = {
        {"list", "GET"},     {"create", "POST"}, {"deletecollection", "DELETE"},
        {"get", "GET"},      {"update", "PUT"},  {"patch", "PATCH"},
        {"delete", "DELETE"}};
    struct arena *arena = arena_new();
    struct api_world a;
    size_t n = 0;

    (void)state;
    api_world_init(&a, NULL);
    for (size_t g = 0; g < kinds_count; g++) {
        AUTO_FREE char *group =
            mem_format("/%s/%s", *kinds[g]->group ? "apis" : "api", kinds[g]->api_version);
        AUTO(json_freep) json_t *list = api_expect(&a, 200, (struct question){.target = group});
        size_t i;
        json_t *resource;

        json_array_foreach (json_object_get(list, "resources"), i, resource) {
            const char *name = json_text(resource, "name");
            const char *slash = strchr(name, '/');
            size_t j;
            json_t *verb;

            json_array_foreach (json_object_get(resource, "verbs"), j, verb) {
                for (size_t v = 0; v < COUNT(verbs); v++) {
                    AUTO_FREE char *path =
                        mem_format("%s/%s%.*s%s%s", group,
                                   json_bool(resource, "namespaced", false) ? "namespaces/a/" : "",
                                   (int)(slash ? slash - name : (long)strlen(name)), name,
                                   v < 3 && !slash ? "" : "/x", slash ? slash : "");
                    struct request_target t = {0};
                    struct route_match m = {0};
                    const struct route *r = NULL;
                    const char *allow = NULL;

                    if (strcmp(verbs[v][0], json_string_value(verb)) != 0)
                        continue;
                    assert_null(target_parse(arena, path, &t));
                    assert_null(routes_find(arena, verbs[v][1], &t, &m, &r, &allow));
                    assert_non_null(r);
                    assert_false(r->is_refused);
                    n++;
                }
            }
        }
    }
    assert_true(n > 50);
    api_world_done(&a);
    arena_free(arena);
}

static void answers_what_kubectl_asks_first(void **state)
{
    static const struct {
        const char *target;
        const char *kind; /* NULL: not checked */
    } cases[] = {
        {"/api", "APIVersions"},
        {"/apis", "APIGroupList"},
        {"/api/v1", "APIResourceList"},
        {"/apis/mete.dev", "APIGroup"},
        {"/apis/mete.dev/v1", "APIResourceList"},
        {"/version", NULL},
        {"/openapi/v3", NULL},
        {"/openapi/v3/api/v1?hash=1", NULL},
        {"/openapi/v3/apis/mete.dev/v1", NULL},
    };
    struct api_world a;

    (void)state;
    api_world_init(&a, NULL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep)
        json_t *got = api_expect(&a, 200, (struct question){.target = cases[i].target});

        if (cases[i].kind)
            assert_string_equal(json_text(got, "kind"), cases[i].kind);
    }
    api_world_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_mean_what_kubernetes_says),
        cmocka_unit_test(queries_are_decoded),
        cmocka_unit_test(refuses_bad_queries),
        cmocka_unit_test(discovery_tells_the_truth),
        cmocka_unit_test(answers_what_kubectl_asks_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
