/*
 * test_kube_election.c - candidates for a Lease on a model of a kube-apiserver that loses requests
 * and answers, and is slow: never two lead, and one leads in the end
 */

#include "base/json.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "control/kube/kube_election.h"
#include "prop.h"
#include "sim_loop.h"
#include "test.h"

enum {
    CANDIDATES = 3
};

struct lease_call {
    struct client_call call; /* first */
    struct lease_call *prev;
    struct lease_call *next;
    struct lease_world *world;
    struct loop_timer *timer;
    char *method;
    json_t *body;
    char *text;    /* of the answer; NULL: not served yet */
    int status;    /* 0: the answer is lost */
    bool is_alone; /* the client has gone */
    client_done_fn done;
    void *arg;
};

struct candidate {
    struct lease_world *world;
    struct kube_election *election; /* NULL: killed */
    bool leads;
    bool has_lost;
};

struct lease_world {
    uint64_t seed;
    struct prop p;
    struct loop *loop;
    struct client client;
    struct lease_call *calls;
    json_t *lease; /* NULL: there is none */
    int version;
    unsigned faults_pct;
    int64_t slow_ns; /* the longest way */
    struct candidate candidates[CANDIDATES];
    int n_elected;
};

static void lease_call_free(struct lease_call *call)
{
    LIST_REMOVE(call->world->calls, call);
    loop_timer_free(call->timer);
    json_decref(call->body);
    free(call->method);
    free(call->text);
    free(call);
}

/* A request that is on its way reaches the server also when its client has gone. */
static void lease_call_cancel(struct client_call *c)
{
    ((struct lease_call *)c)->is_alone = true;
}

static void call_serve(struct lease_call *call)
{
    struct lease_world *w = call->world;
    const char *seen = json_text_at(call->body, "metadata", "resourceVersion", NULL);
    bool is_create = text_equal(call->method, "POST");
    char version[16];

    if (is_create ? w->lease != NULL : !w->lease) {
        call->status = is_create ? 409 : 404;
        call->text =
            mem_strdup(is_create ? "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\",\"code\":409}"
                                 : "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404}");
        return;
    }
    if (text_equal(call->method, "PUT") &&
        !text_equal(seen, json_text_at(w->lease, "metadata", "resourceVersion", NULL))) {
        call->status = 409;
        call->text = mem_strdup("{\"kind\":\"Status\",\"reason\":\"Conflict\",\"code\":409}");
        return;
    }
    if (call->body) {
        (void)snprintf(version, sizeof(version), "%d", ++w->version);
        json_put_text(json_object_at(call->body, "metadata"), "resourceVersion", version);
        json_decref(w->lease);
        w->lease = json_incref(call->body);
    }
    call->status = is_create ? 201 : 200;
    call->text = json_format(w->lease);
}

static void call_end(struct lease_call *call)
{
    const client_done_fn done = call->done;
    void *const arg = call->arg;
    AUTO_FREE char *text = TAKE(call->text);
    const struct client_reply reply = {.status = call->status, .body = str_of(text)};
    AUTO(err_freep)
    struct err *e = reply.status ? NULL : err_new(ERR_UNAVAILABLE, "the connection was cut");
    bool is_alone = call->is_alone;

    lease_call_free(call);
    if (!is_alone)
        done(arg, e, e ? NULL : &reply);
}

static void on_way(void *arg)
{
    struct lease_call *call = arg;
    struct lease_world *w = call->world;

    if (!call->text) {
        bool is_lost = prop_chance(&w->p, w->faults_pct);

        if (!is_lost)
            call_serve(call);
        if (!is_lost && prop_chance(&w->p, w->faults_pct)) {
            call->status = 0;
            free(TAKE(call->text));
        }
        if (call->status) {
            loop_timer_set(call->timer, (int64_t)prop_below(&w->p, (size_t)w->slow_ns));
            return;
        }
    }
    call_end(call);
}

static const struct client_ops lease_ops;

static struct client_call *lease_start(void *self, const struct client_request *r,
                                       client_data_fn data, client_done_fn done, void *arg)
{
    struct lease_world *w = self;
    struct lease_call *call = mem_alloc(sizeof(*call));

    assert_null(data);
    *call = (struct lease_call){.call = {.ops = &lease_ops},
                                .world = w,
                                .method = mem_strdup(r->method),
                                .done = done,
                                .arg = arg};
    if (r->body.size > 0)
        assert_null(json_parse(r->body, &call->body));
    LIST_ADD(w->calls, call);
    call->timer = loop_timer_new(w->loop, on_way, call);
    loop_timer_set(call->timer, (int64_t)prop_below(&w->p, (size_t)w->slow_ns));
    return &call->call;
}

static const struct client_ops lease_ops = {.start = lease_start, .cancel = lease_call_cancel};

static void on_candidate_elected(void *arg)
{
    struct candidate *c = arg;
    struct lease_world *w = c->world;

    for (size_t i = 0; i < CANDIDATES; i++)
        CHECK(w, !w->candidates[i].leads);
    c->leads = true;
    w->n_elected++;
}

static void on_candidate_lost(void *arg, const struct err *why)
{
    struct candidate *c = arg;

    CHECK(c->world, c->leads && why);
    c->leads = false;
    c->has_lost = true;
}

static void candidate_stand(struct lease_world *w, size_t i)
{
    char name[] = {(char)('a' + i), 0};

    w->candidates[i] = (struct candidate){.world = w};
    w->candidates[i].election =
        kube_election_new(&(struct kube_election_options){.loop = w->loop,
                                                          .client = &w->client,
                                                          .ns = "kube-system",
                                                          .name = "mete-scheduler",
                                                          .identity = name,
                                                          .elected = on_candidate_elected,
                                                          .lost = on_candidate_lost,
                                                          .arg = &w->candidates[i]});
}

static void candidate_kill(struct candidate *c)
{
    kube_election_free(TAKE(c->election));
    c->leads = false;
}

static void on_candidate_released(void *arg)
{
    struct candidate *c = arg;

    c->has_lost = true;
}

static void candidate_release(struct candidate *c)
{
    c->leads = false; /* its work ends before */
    kube_election_release(c->election, on_candidate_released, c);
}

static void lease_world_init(struct lease_world *w, uint64_t seed)
{
    *w = (struct lease_world){.seed = seed, .p = {seed}, .loop = sim_loop_new()};
    w->client = (struct client){.ops = &lease_ops, .self = w};
    w->slow_ns = 10 * NS_PER_MS;
    for (size_t i = 0; i < CANDIDATES; i++)
        candidate_stand(w, i);
}

static void lease_world_done(struct lease_world *w)
{
    for (size_t i = 0; i < CANDIDATES; i++)
        kube_election_free(w->candidates[i].election);
    while (w->calls)
        lease_call_free(w->calls);
    json_decref(w->lease);
    sim_loop_free(w->loop);
}

/* The leader, or one that does not lead. */
static struct candidate *leader_of(struct lease_world *w)
{
    size_t i = 0;

    while (i < CANDIDATES - 1 && !w->candidates[i].leads)
        i++;
    return &w->candidates[i];
}

/* Candidates that have lost or were killed begin anew, as their supervisor has them. */
static void revive(struct lease_world *w)
{
    for (size_t i = 0; i < CANDIDATES; i++) {
        struct candidate *c = &w->candidates[i];

        if (c->election && !c->has_lost)
            continue;
        kube_election_free(c->election);
        candidate_stand(w, i);
    }
}

static void disturb(struct lease_world *w)
{
    struct candidate *c = &w->candidates[prop_below(&w->p, CANDIDATES)];
    size_t what = prop_below(&w->p, 100);

    if (what < 20 && c->election)
        candidate_kill(c);
    else if (what < 30 && c->election && !c->has_lost)
        candidate_release(c);
    else if (what < 50)
        w->faults_pct = (unsigned)prop_below(&w->p, 100);
    else if (what < 60)
        w->slow_ns = (int64_t)(1 + prop_below(&w->p, 12000)) * NS_PER_MS;
    else if (what < 65)
        sim_loop_step_wall(w->loop, ((int64_t)prop_below(&w->p, 7200) - 3600) * NS_PER_SEC);
    else if (what < 80)
        revive(w);
}

static void never_two_lead_and_one_in_the_end(void **state)
{
    struct prop_seeds seeds = prop_seeds(800);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct lease_world w;

        lease_world_init(&w, seed);
        for (int i = 0; i < 60; i++) {
            sim_loop_advance(w.loop, (int64_t)prop_below(&w.p, 4000) * NS_PER_MS);
            disturb(&w);
        }
        w.faults_pct = 0;
        w.slow_ns = 10 * NS_PER_MS;
        revive(&w);
        sim_loop_advance(w.loop, 60 * NS_PER_SEC);
        CHECK(&w, leader_of(&w)->leads);
        lease_world_done(&w);
    }
}

static void a_released_lease_is_taken_at_once(void **state)
{
    struct lease_world w;
    struct candidate *first;

    (void)state;
    lease_world_init(&w, 1);
    sim_loop_advance(w.loop, 3 * NS_PER_SEC);
    first = leader_of(&w);
    assert_true(first->leads);
    candidate_release(first);
    sim_loop_advance(w.loop, 3 * NS_PER_SEC);
    assert_true(first->has_lost);
    assert_true(leader_of(&w)->leads);
    assert_ptr_not_equal(leader_of(&w), first);
    lease_world_done(&w);
}

static void the_lease_of_a_dead_leader_is_taken_after_15_s(void **state)
{
    struct lease_world w;

    (void)state;
    lease_world_init(&w, 1);
    sim_loop_advance(w.loop, 3 * NS_PER_SEC);
    candidate_kill(leader_of(&w));
    sim_loop_advance(w.loop, 12 * NS_PER_SEC);
    assert_false(leader_of(&w)->leads);
    sim_loop_advance(w.loop, 8 * NS_PER_SEC);
    assert_true(leader_of(&w)->leads);
    assert_int_equal(json_int_at(w.lease, "spec", "leaseTransitions", NULL), 1);
    lease_world_done(&w);
}

static void a_deleted_lease_ends_its_leader_before_another_begins(void **state)
{
    struct lease_world w;
    struct candidate *first;

    (void)state;
    lease_world_init(&w, 1);
    sim_loop_advance(w.loop, 30 * NS_PER_SEC);
    first = leader_of(&w);
    json_decref(TAKE(w.lease));
    sim_loop_advance(w.loop, 60 * NS_PER_SEC);
    assert_true(first->has_lost);
    assert_true(leader_of(&w)->leads);
    assert_int_equal(w.n_elected, 2);
    lease_world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_two_lead_and_one_in_the_end),
        cmocka_unit_test(a_released_lease_is_taken_at_once),
        cmocka_unit_test(the_lease_of_a_dead_leader_is_taken_after_15_s),
        cmocka_unit_test(a_deleted_lease_ends_its_leader_before_another_begins),
    };

    log_setup("test", LOG_ERROR, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
