/*
 * test_objects_prop.c - several actors that write at once over a store with a slow disk
 *
 * In any order of their writes: a gpu is in one pod at most, the ledger agrees with the pods,
 * revisions grow, an object never goes backwards.
 *
 * PROP_SEED=N runs that seed alone, PROP_CASES=N sets the number of cases.
 */

#include <stdio.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/vec.h"
#include "kinds/ledger.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "prop.h"
#include "test.h"
#include "world.h"

enum {
    SEEDS = 400,
    STEPS = 60,
    NAMES = 6,
    NODES = 2,
    GPUS = 3
};

static const char *const names[NAMES] = {"a", "b", "c", "d", "e", "f"};
static const char *const nodes[NODES] = {"n0", "n1"};
static const char *const phases[] = {"Running", "Succeeded", "Failed", "Pending"};

struct run {
    struct world w;
    struct store_watch *watch;
    int64_t revision; /* of the last change seen */
    int64_t last_job;
    size_t n_accepted;
    size_t n_told;
    uint64_t seed;
};

static void on_done(void *arg, const struct err *e, int64_t revision)
{
    struct run *r = arg;

    (void)revision;
    assert_null(e);
    r->n_told++;
}

static void check_change(struct run *r, const struct store_change *change)
{
    AUTO(json_freep) json_t *before = NULL;
    AUTO(json_freep) json_t *after = NULL;

    assert_true(change->revision >= r->revision);
    if (!text_equal(change->object->key.resource, "pods") || !change->before)
        return;
    world_must(objects_decode(change->before, &before));
    world_must(objects_decode(change->object, &after));
    assert_string_equal(json_text_at(before, "metadata", "uid", NULL),
                        json_text_at(after, "metadata", "uid", NULL));
    if (*pod_node(before))
        assert_string_equal(pod_node(before), pod_node(after));
    if (pod_is_terminal(before))
        assert_string_equal(pod_phase(before), pod_phase(after));
    if (pod_is_deleting(before))
        assert_true(pod_is_deleting(after));
}

static void on_change(void *arg, const struct store_change *change, int64_t revision)
{
    struct run *r = arg;

    if (change)
        check_change(r, change);
    assert_true(revision >= r->revision);
    r->revision = revision;
}

static struct objects_request request(struct run *r, const char *sub, bool is_ours)
{
    return (struct objects_request){.kind = kind_find("", "pods"),
                                    .ns = "default",
                                    .name = names[world_pick(&r->w, NAMES)],
                                    .subresource = sub,
                                    .who = is_ours ? ours : ann};
}

/* Takes the result; every error must be one of the rules' errors. */
static void settle(struct run *r, struct err *e, json_t *result)
{
    AUTO(err_freep) struct err *mine = e;

    json_decref(result);
    if (!mine) {
        r->n_accepted++;
        return;
    }
    if (err_http(mine) != 404 && err_http(mine) != 409 && err_http(mine) != 422 &&
        err_http(mine) != 403)
        fail_msg("seed %llu: %d %s", (unsigned long long)r->seed, err_http(mine),
                 err_message(mine));
}

static void do_create(struct run *r)
{
    struct objects_request q = request(r, NULL, false);
    AUTO_FREE char *text = mem_format(
        "{'metadata':{'name':'%s'%s},'spec':{'containers':[{'name':'main','image':'host',"
        "'resources':{'limits':{'nvidia.com/gpu':%zu}}}]}}",
        q.name, world_pick(&r->w, 4) == 0 ? ",'finalizers':['x.io/keep']" : "",
        world_pick(&r->w, GPUS + 1));
    AUTO(json_freep) json_t *pod = manifest(text);
    json_t *result = NULL;
    struct err *e;

    q.name = NULL;
    e = objects_create(r->w.objects, &q, pod, on_done, r, &result);
    if (!e) {
        const char *id = json_text_at(result, "metadata", "labels", "mete.dev/job-id", NULL);
        int64_t job = 0;

        world_must(num_parse_int64(str_of(id), 1, INT64_MAX, &job));
        assert_true(job > r->last_job);
        r->last_job = job;
    }
    settle(r, e, result);
}

static void do_bind(struct run *r)
{
    struct objects_request q = request(r, "binding", true);
    AUTO_FREE char *text = mem_format("{'target':{'name':'%s'}}", nodes[world_pick(&r->w, NODES)]);
    AUTO(json_freep) json_t *binding = manifest(text);
    json_t *result = NULL;
    struct err *e = objects_create(r->w.objects, &q, binding, on_done, r, &result);

    settle(r, e, result);
}

static void do_status(struct run *r)
{
    struct objects_request q = request(r, "status", world_pick(&r->w, 4) > 0);
    AUTO_FREE char *text =
        mem_format("{'status':{'phase':'%s'}}", phases[world_pick(&r->w, COUNT(phases))]);
    AUTO(json_freep) json_t *patch = manifest(text);
    json_t *result = NULL;
    struct err *e = objects_patch(r->w.objects, &q, PATCH_MERGE, patch, on_done, r, &result);

    settle(r, e, result);
}

static void do_patch(struct run *r)
{
    static const char *const patches[] = {
        "{'metadata':{'labels':{'x':'1'}}}",
        "{'metadata':{'labels':{'x':null}}}",
        "{'metadata':{'finalizers':[]}}",
        "{'metadata':{'finalizers':['x.io/keep']}}",
        "{'metadata':{'annotations':{'mete.dev/devices':null}}}",
        "{'metadata':{'annotations':null}}",
        "{'spec':{'nodeName':'n1'}}",
        "{'metadata':{'resourceVersion':'3'}}",
        "{'spec':{'containers':[{'name':'main','image':'y'}]}}",
    };
    struct objects_request q = request(r, NULL, world_pick(&r->w, 2) == 0);
    AUTO(json_freep) json_t *patch = manifest(patches[world_pick(&r->w, COUNT(patches))]);
    json_t *result = NULL;
    struct err *e = objects_patch(r->w.objects, &q, PATCH_MERGE, patch, on_done, r, &result);

    settle(r, e, result);
}

/* Updates from an old read: most updates conflict. */
static void do_update(struct run *r)
{
    struct objects_request q = request(r, NULL, false);
    const struct store_object *o = store_get(r->w.store, objects_key(q.kind, q.ns, q.name));
    AUTO(json_freep) json_t *pod = NULL;
    json_t *result = NULL;
    struct err *e;

    if (!o)
        return;
    world_must(objects_decode(o, &pod));
    json_put_text(json_object_at(json_object_get(pod, "metadata"), "labels"), "y",
                  phases[world_pick(&r->w, COUNT(phases))]);
    e = objects_update(r->w.objects, &q, pod, on_done, r, &result);
    settle(r, e, result);
}

static void do_delete(struct run *r)
{
    static const int64_t graces[] = {-1, 0, 0, 5};
    struct objects_request q = request(r, NULL, world_pick(&r->w, 2) == 0);
    struct delete_options d = {.grace_seconds = graces[world_pick(&r->w, COUNT(graces))]};
    json_t *result = NULL;
    bool is_gone = false;
    struct err *e = objects_delete(r->w.objects, &q, &d, on_done, r, &result, &is_gone);

    settle(r, e, result);
}

static void (*const actions[])(struct run *) = {
    do_create, do_create, do_create, do_bind,   do_bind,   do_bind,
    do_status, do_status, do_patch,  do_update, do_delete, do_delete,
};

struct held {
    VEC(char *) gpus;
};

static bool add_held(void *arg, const char *container, const struct device *d)
{
    struct held *h = arg;

    (void)container;
    for (size_t i = 0; i < h->gpus.n; i++) {
        if (text_equal(h->gpus.at[i], d->gpu))
            fail_msg("gpu %s is in two pods", d->gpu);
    }
    vec_add(&h->gpus, mem_strdup(d->gpu));
    return true;
}

/* Checks the invariant in another way than ledger_check: from the durable pods alone. */
static void check_once_each(struct run *r)
{
    struct held held = {0};

    for (size_t i = 0; i < NAMES; i++) {
        AUTO(json_freep)
        json_t *pod = world_get(&r->w, (struct target){.kind = "pods", .name = names[i]});

        if (pod && *pod_node(pod) && !pod_is_terminal(pod))
            pod_each_device(pod, add_held, &held);
    }
    for (size_t i = 0; i < held.gpus.n; i++)
        free(held.gpus.at[i]);
    vec_done(&held.gpus);
}

static void check(struct run *r)
{
    struct err *e = ledger_check(r->w.store);

    if (e)
        fail_msg("seed %llu: %s", (unsigned long long)r->seed, err_message(e));
    check_once_each(r);
}

static void run_seed(uint64_t seed)
{
    struct run r = {.seed = seed};
    struct store_range pods = {.group = "", .resource = "pods"};

    world_init(&r.w, seed);
    for (size_t i = 0; i < NODES; i++)
        world_add_node(&r.w, nodes[i], GPUS);
    r.revision = store_revision(r.w.store);
    world_must(store_watch_new(r.w.store, &pods, r.revision, on_change, &r, &r.watch));
    for (int i = 0; i < STEPS; i++) {
        actions[world_pick(&r.w, COUNT(actions))](&r);
        if (world_pick(&r.w, 3) == 0) /* otherwise the disk stays behind */
            (void)sim_loop_step(r.w.loop);
        check(&r);
    }
    sim_loop_run(r.w.loop);
    check(&r);
    assert_int_equal(r.n_told, r.n_accepted);
    assert_true(r.n_accepted > 0);
    store_watch_free(r.watch);
    world_restart(&r.w);
    check(&r);
    world_done(&r.w);
}

static void a_gpu_is_never_in_two_pods(void **state)
{
    struct prop_seeds seeds = prop_seeds(SEEDS);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        run_seed(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_is_never_in_two_pods),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
