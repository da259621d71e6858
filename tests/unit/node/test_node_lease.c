/* test_node_lease.c - tests of a node's Lease, over a client answered by the test */

#include "base/mem.h"
#include "base/stamp.h"
#include "node/lease.h"
#include "sim_loop.h"
#include "test.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

struct server {
    struct client client;
    struct client_call call;
    struct loop *loop;
    struct lease *lease;
    client_done_fn done; /* NULL: no request */
    void *arg;
    char *asked; /* "METHOD PATH" */
    json_t *body;
    unsigned n_held;    /* calls of `held` */
    unsigned n_no_node; /* calls of `no_node` */
};

static struct server *the_server(struct client_call *call)
{
    return (struct server *)(void *)((char *)call - offsetof(struct server, call));
}

static struct client_call *on_start(void *self, const struct client_request *r, client_data_fn data,
                                    client_done_fn done, void *arg)
{
    struct server *s = self;

    assert_null(data);
    assert_null(s->done);
    free(s->asked);
    json_decref(s->body);
    s->body = NULL;
    s->asked = mem_format("%s %s", r->method, r->path);
    if (r->body.size > 0)
        assert_null(json_parse(r->body, &s->body));
    s->done = done;
    s->arg = arg;
    return &s->call;
}

static void on_cancel(struct client_call *call)
{
    the_server(call)->done = NULL;
}

static const struct client_ops ops = {.start = on_start, .cancel = on_cancel};

static void on_held(void *arg)
{
    ((struct server *)arg)->n_held++;
}

static void on_no_node(void *arg)
{
    ((struct server *)arg)->n_no_node++;
}

static void server_init(struct server *s)
{
    struct lease_options o = {.node = "n1", .held = on_held, .no_node = on_no_node, .arg = s};

    *s = (struct server){.loop = sim_loop_new(), .client = {.ops = &ops, .self = s}};
    s->call.ops = &ops;
    o.loop = s->loop;
    o.client = &s->client;
    s->lease = lease_new(&o);
}

static void server_done(struct server *s)
{
    lease_free(s->lease);
    sim_loop_free(s->loop);
    free(s->asked);
    json_decref(s->body);
}

/* Lets `ns` pass, and asserts that the request comes then, not earlier. */
static void expect(struct server *s, int64_t ns, const char *asked)
{
    if (ns > 0) {
        sim_loop_advance(s->loop, ns - 1);
        assert_null(s->done);
        sim_loop_advance(s->loop, 1);
    }
    sim_loop_run(s->loop);
    assert_non_null(s->done);
    assert_string_equal(s->asked, asked);
}

static void answer(struct server *s, int status, const char *body)
{
    const struct client_reply reply = {.status = status, .body = str_of(body)};
    client_done_fn done = TAKE(s->done);

    done(s->arg, NULL, &reply);
}

static void a_missing_lease_is_made_for_the_node(void **state)
{
    const json_t *owner;
    struct server s;

    (void)state;
    server_init(&s);
    expect(&s, 0, "PATCH " LEASES "/n1");
    answer(&s, 404, "{\"code\":404,\"reason\":\"NotFound\",\"message\":\"not found\"}");
    expect(&s, 0, "GET /api/v1/nodes/n1");
    answer(&s, 404, "{\"code\":404,\"reason\":\"NotFound\",\"message\":\"not found\"}");
    assert_int_equal(s.n_no_node, 1);
    expect(&s, NS_PER_SEC, "PATCH " LEASES "/n1"); /* the Node object comes with the first report */
    answer(&s, 404, "{\"code\":404,\"reason\":\"NotFound\",\"message\":\"not found\"}");
    expect(&s, 0, "GET /api/v1/nodes/n1");
    answer(&s, 200, "{\"metadata\":{\"uid\":\"U7\"}}");
    expect(&s, 0, "POST " LEASES);
    assert_string_equal(json_text_at(s.body, "spec", "holderIdentity", NULL), "n1");
    assert_int_equal(json_int_at(s.body, "spec", "leaseDurationSeconds", NULL), 40);
    owner = json_array_get(json_at(s.body, "metadata", "ownerReferences", NULL), 0);
    assert_string_equal(json_text(owner, "uid"), "U7");
    assert_int_equal(s.n_held, 0);
    answer(&s, 201, "{}");
    assert_int_equal(s.n_held, 1);
    expect(&s, 10 * NS_PER_SEC, "PATCH " LEASES "/n1");
    server_done(&s);
}

static void a_lease_is_renewed_each_ten_seconds(void **state)
{
    AUTO_FREE char *first = NULL;
    struct server s;

    (void)state;
    server_init(&s);
    expect(&s, 0, "PATCH " LEASES "/n1");
    first = mem_strdup(json_text_at(s.body, "spec", "renewTime", NULL));
    answer(&s, 200, "{}");
    expect(&s, 10 * NS_PER_SEC, "PATCH " LEASES "/n1");
    assert_string_not_equal(json_text_at(s.body, "spec", "renewTime", NULL), first);
    answer(&s, 503, "{\"code\":503,\"reason\":\"ServiceUnavailable\",\"message\":\"away\"}");
    expect(&s, NS_PER_SEC, "PATCH " LEASES "/n1"); /* sooner, and ever later */
    answer(&s, 503, "{\"code\":503,\"reason\":\"ServiceUnavailable\",\"message\":\"away\"}");
    expect(&s, 2 * NS_PER_SEC, "PATCH " LEASES "/n1");
    answer(&s, 200, "{}");
    expect(&s, 10 * NS_PER_SEC, "PATCH " LEASES "/n1");
    server_done(&s);
}

static void a_lease_is_held_from_the_request_not_from_its_answer(void **state)
{
    struct server s;

    (void)state;
    server_init(&s);
    assert_false(lease_is_held(s.lease));
    expect(&s, 0, "PATCH " LEASES "/n1");
    sim_loop_advance(s.loop, 9 * NS_PER_SEC);
    assert_false(lease_is_held(s.lease)); /* not acknowledged */
    answer(&s, 200, "{}");
    assert_true(lease_is_held(s.lease));
    assert_int_equal(s.n_held, 1);
    expect(&s, 10 * NS_PER_SEC, "PATCH " LEASES "/n1"); /* the server does not answer */
    sim_loop_advance(s.loop, 21 * NS_PER_SEC - 1);
    assert_true(lease_is_held(s.lease));
    sim_loop_advance(s.loop, 1);
    assert_false(lease_is_held(s.lease)); /* 40 s after the first request */
    answer(&s, 200, "{}");
    assert_true(lease_is_held(s.lease)); /* 19 s of its 40 s are left */
    assert_int_equal(s.n_held, 2);
    server_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_lease_is_made_for_the_node),
        cmocka_unit_test(a_lease_is_renewed_each_ten_seconds),
        cmocka_unit_test(a_lease_is_held_from_the_request_not_from_its_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
