/* test_gc.c - garbage collection of objects, namespaces, events and lost pods */

#include "base/mem.h"
#include "control/gc/gc.h"
#include "kinds/ledger.h"
#include "test.h"
#include "world.h"

#define SEC INT64_C(1000000000)

#define CONFIG(n) ((struct target){.kind = "configmaps", .name = (n)})
#define POD(n)    ((struct target){.kind = "pods", .name = (n)})

struct checks {
    size_t n_right;
    size_t n_wrong;
};

static void on_ledger(void *arg, const struct err *e)
{
    struct checks *c = arg;

    if (e)
        c->n_wrong++;
    else
        c->n_right++;
}

static struct gc *start(struct world *w, struct checks *checks)
{
    struct gc_options options = {.loop = w->loop, .objects = w->objects};
    struct gc *gc = NULL;

    if (checks) {
        options.on_ledger = on_ledger;
        options.arg = checks;
    }
    world_must(gc_new(&options, &gc));
    sim_loop_run(w->loop);
    return gc;
}

static void add(struct world *w, const char *name, const char *owner, const char *more)
{
    AUTO(json_freep) json_t *there = owner ? world_get(w, CONFIG(owner)) : NULL;
    AUTO_FREE char *reference = NULL;
    AUTO_FREE char *text = NULL;

    if (owner)
        reference =
            mem_format("{'apiVersion':'v1','kind':'ConfigMap','name':'%s','uid':'%s'%s}", owner,
                       there ? json_text_at(there, "metadata", "uid", NULL) : "gone", more);
    text = mem_format("{'metadata':{'name':'%s','ownerReferences':[%s]}}", name,
                      reference ? reference : "");
    world_must(world_create(w, CONFIG(NULL), text, NULL));
}

static bool is_there(struct world *w, const char *name)
{
    AUTO(json_freep) json_t *object = world_get(w, CONFIG(name));

    return object != NULL;
}

static void drop(struct world *w, const char *name, const char *propagation)
{
    struct delete_options options = {.grace_seconds = -1, .propagation = propagation};

    world_must(world_delete(w, CONFIG(name), &options, NULL));
    sim_loop_run(w->loop);
}

static void what_is_owned_goes_with_its_owner(void **state)
{
    struct world w;
    struct gc *gc;

    (void)state;
    world_init(&w, 1);
    gc = start(&w, NULL);
    add(&w, "top", NULL, "");
    add(&w, "middle", "top", "");
    add(&w, "leaf", "middle", "");
    add(&w, "other", NULL, "");
    drop(&w, "top", NULL);
    assert_false(is_there(&w, "middle"));
    assert_false(is_there(&w, "leaf"));
    assert_true(is_there(&w, "other"));
    gc_free(gc);
    world_done(&w);
}

static void what_was_orphaned_while_nobody_looked_goes_at_the_start(void **state)
{
    struct world w;
    struct gc *gc;

    (void)state;
    world_init(&w, 1);
    add(&w, "top", NULL, "");
    add(&w, "leaf", "top", "");
    drop(&w, "top", NULL);
    assert_true(is_there(&w, "leaf"));
    gc = start(&w, NULL);
    assert_false(is_there(&w, "leaf"));
    add(&w, "late", "top", ""); /* the owner is gone already */
    sim_loop_run(w.loop);
    assert_false(is_there(&w, "late"));
    gc_free(gc);
    world_done(&w);
}

static void an_object_stays_while_one_owner_stays(void **state)
{
    AUTO(json_freep) json_t *leaf = NULL;
    AUTO(json_freep) json_t *one = NULL;
    AUTO(json_freep) json_t *two = NULL;
    AUTO_FREE char *text = NULL;
    struct world w;
    struct gc *gc;

    (void)state;
    world_init(&w, 1);
    gc = start(&w, NULL);
    add(&w, "one", NULL, "");
    add(&w, "two", NULL, "");
    one = world_get(&w, CONFIG("one"));
    two = world_get(&w, CONFIG("two"));
    text = mem_format("{'metadata':{'name':'leaf','ownerReferences':["
                      "{'apiVersion':'v1','kind':'ConfigMap','name':'one','uid':'%s'},"
                      "{'apiVersion':'v1','kind':'ConfigMap','name':'two','uid':'%s'}]}}",
                      json_text_at(one, "metadata", "uid", NULL),
                      json_text_at(two, "metadata", "uid", NULL));
    world_must(world_create(&w, CONFIG(NULL), text, NULL));
    drop(&w, "one", NULL);
    leaf = world_get(&w, CONFIG("leaf"));
    assert_non_null(leaf);
    assert_int_equal(json_array_size(json_at(leaf, "metadata", "ownerReferences", NULL)), 1);
    drop(&w, "two", NULL);
    assert_false(is_there(&w, "leaf"));
    gc_free(gc);
    world_done(&w);
}

static void an_owner_of_an_unknown_kind_counts_as_there(void **state)
{
    struct world w;
    struct gc *gc;

    (void)state;
    world_init(&w, 1);
    gc = start(&w, NULL);
    world_must(
        world_create(&w, CONFIG(NULL),
                     "{'metadata':{'name':'a','ownerReferences':[{'apiVersion':'example.com/v1',"
                     "'kind':'Widget','name':'j','uid':'1'}]}}",
                     NULL));
    sim_loop_advance(w.loop, 60 * SEC);
    assert_true(is_there(&w, "a"));
    gc_free(gc);
    world_done(&w);
}

static void orphaning_cuts_the_references(void **state)
{
    AUTO(json_freep) json_t *leaf = NULL;
    struct world w;
    struct gc *gc;

    (void)state;
    world_init(&w, 1);
    gc = start(&w, NULL);
    add(&w, "top", NULL, "");
    add(&w, "leaf", "top", "");
    drop(&w, "top", "Orphan");
    assert_false(is_there(&w, "top"));
    leaf = world_get(&w, CONFIG("leaf"));
    assert_non_null(leaf);
    assert_null(json_at(leaf, "metadata", "ownerReferences", NULL)); /* not even an empty list */
    gc_free(gc);
    world_done(&w);
}

static void foreground_waits_for_what_blocks(void **state)
{
    struct world w;
    struct gc *gc;

    (void)state;
    world_init(&w, 1);
    gc = start(&w, NULL);
    add(&w, "top", NULL, "");
    add(&w, "leaf", "top", ",'blockOwnerDeletion':true");
    world_must(world_patch(&w, CONFIG("leaf"), "{'metadata':{'finalizers':['x.io/y']}}", NULL));
    drop(&w, "top", "Foreground");
    sim_loop_advance(w.loop, 60 * SEC);
    assert_true(is_there(&w, "top"));
    assert_true(is_there(&w, "leaf"));
    world_must(world_patch(&w, CONFIG("leaf"), "{'metadata':{'finalizers':[]}}", NULL));
    sim_loop_run(w.loop);
    assert_false(is_there(&w, "leaf"));
    assert_false(is_there(&w, "top"));
    gc_free(gc);
    world_done(&w);
}

static void foreground_does_not_wait_for_the_others(void **state)
{
    struct world w;
    struct gc *gc;

    (void)state;
    world_init(&w, 1);
    gc = start(&w, NULL);
    add(&w, "top", NULL, "");
    add(&w, "leaf", "top", "");
    drop(&w, "top", "Foreground");
    assert_false(is_there(&w, "top"));
    assert_false(is_there(&w, "leaf"));
    gc_free(gc);
    world_done(&w);
}

/* Adds an owner to an object that exists. */
static void own(struct world *w, const char *name, const char *owner)
{
    AUTO(json_freep) json_t *there = world_get(w, CONFIG(owner));
    AUTO_FREE char *patch = mem_format(
        "{'metadata':{'ownerReferences':[{'apiVersion':'v1','kind':'ConfigMap','name':'%s',"
        "'uid':'%s','blockOwnerDeletion':true}]}}",
        owner, json_text_at(there, "metadata", "uid", NULL));

    world_must(world_patch(w, CONFIG(name), patch, NULL));
}

static void objects_that_own_each_other_go(void **state)
{
    static const char *const names[] = {"a", "b", "c"};

    (void)state;
    for (size_t n = 1; n <= 3; n++) { /* of `n` objects, `deleted` are deleted by the user */
        for (size_t deleted = 1; deleted <= n; deleted++) {
            struct world w;
            struct gc *gc;

            world_init(&w, 1);
            gc = start(&w, NULL);
            for (size_t i = 0; i < n; i++)
                add(&w, names[i], NULL, "");
            for (size_t i = 0; i < n; i++)
                own(&w, names[i], names[(i + n - 1) % n]);
            for (size_t i = 0; i < deleted && is_there(&w, names[i]); i++)
                drop(&w, names[i], "Foreground");
            sim_loop_run(w.loop);
            for (size_t i = 0; i < n; i++)
                assert_false(is_there(&w, names[i]));
            gc_free(gc);
            world_done(&w);
        }
    }
}

static void foreground_goes_up_a_chain(void **state)
{
    struct world w;
    struct gc *gc;

    (void)state;
    world_init(&w, 1);
    gc = start(&w, NULL);
    add(&w, "top", NULL, "");
    add(&w, "upper", "top", ",'blockOwnerDeletion':true");
    add(&w, "lower", "upper", ",'blockOwnerDeletion':true");
    add(&w, "leaf", "lower", ",'blockOwnerDeletion':true");
    world_must(world_patch(&w, CONFIG("leaf"), "{'metadata':{'finalizers':['x.io/y']}}", NULL));
    drop(&w, "top", "Foreground");
    sim_loop_advance(w.loop, 60 * SEC);
    assert_true(is_there(&w, "top") && is_there(&w, "upper") && is_there(&w, "lower"));
    world_must(world_patch(&w, CONFIG("leaf"), "{'metadata':{'finalizers':[]}}", NULL));
    sim_loop_run(w.loop);
    assert_false(is_there(&w, "lower") || is_there(&w, "upper") || is_there(&w, "top"));
    gc_free(gc);
    world_done(&w);
}

static void a_namespace_goes_when_it_is_empty(void **state)
{
    struct target ns = {.kind = "namespaces", .name = "team"};
    struct target pod = {.kind = "pods", .ns = "team", .name = "p", .who = &ours};
    struct world w;
    struct gc *gc;

    (void)state;
    world_init(&w, 1);
    gc = start(&w, NULL);
    world_add_node(&w, "n1", 1);
    world_must(world_create(&w, ns, "{'metadata':{'name':'team'}}", NULL));
    world_must(world_add_pod(&w, "team", "p", 1));
    world_must(world_bind(&w, "team", "p", "n1"));
    for (int i = 0; i < 600; i++) { /* more than one turn deletes */
        AUTO_FREE char *text = mem_format("{'metadata':{'name':'c%d'}}", i);

        world_must(
            world_create(&w, (struct target){.kind = "configmaps", .ns = "team"}, text, NULL));
    }
    world_must(world_delete(&w, ns, NULL, NULL));
    sim_loop_advance(w.loop, 60 * SEC);
    {
        AUTO(json_freep) json_t *there = world_get(&w, ns);
        AUTO(json_freep) json_t *last = world_get(&w, pod);
        struct store_range rest = {.group = "", .resource = "configmaps", .ns = "team"};
        struct store_list list = {0};

        assert_non_null(there); /* the pod runs until its node reports the end */
        assert_non_null(json_text_at(last, "metadata", "deletionTimestamp", NULL));
        world_must(store_list(w.store, &rest, NULL, NULL, 0, 0, &list));
        assert_int_equal(list.n, 0);
        store_list_done(&list);
    }
    world_must(world_delete(&w, pod, &(struct delete_options){.grace_seconds = 0}, NULL));
    sim_loop_run(w.loop);
    assert_null(world_get(&w, ns));
    world_must(ledger_check(w.store));
    gc_free(gc);
    world_done(&w);
}

static void old_events_go(void **state)
{
    struct target event = {.kind = "events", .name = "old"};
    struct world w;
    struct gc *gc;

    (void)state;
    world_init(&w, 1);
    gc = start(&w, NULL);
    world_must(world_create(&w, (struct target){.kind = "events"},
                            "{'metadata':{'name':'old'},'involvedObject':{'namespace':'default'},"
                            "'reason':'R','lastTimestamp':'2026-01-01T00:00:00Z'}",
                            NULL));
    world_must(world_create(&w, (struct target){.kind = "events"},
                            "{'metadata':{'name':'new'},'involvedObject':{'namespace':'default'},"
                            "'reason':'R','lastTimestamp':'2026-01-01T00:50:00Z'}",
                            NULL));
    sim_loop_advance(w.loop, INT64_C(59) * 60 * SEC);
    {
        AUTO(json_freep) json_t *there = world_get(&w, event);

        assert_non_null(there);
    }
    sim_loop_advance(w.loop, INT64_C(2) * 60 * SEC);
    assert_null(world_get(&w, event));
    event.name = "new";
    {
        AUTO(json_freep) json_t *there = world_get(&w, event);

        assert_non_null(there);
    }
    gc_free(gc);
    world_done(&w);
}

static void start_pod(struct world *w, const char *name, const char *node)
{
    world_must(world_add_pod(w, "default", name, 1));
    world_must(world_bind(w, "default", name, node));
    world_must(
        world_patch(w, (struct target){.kind = "pods", .name = name, .sub = "status", .who = &ours},
                    "{'status':{'phase':'Running'}}", NULL));
}

static void remove_node(struct world *w, const char *name)
{
    world_must(
        world_delete(w, (struct target){.kind = "nodes", .name = name, .who = &root}, NULL, NULL));
}

static const char *phase_of(struct world *w, const char *name, char text[32])
{
    AUTO(json_freep) json_t *pod = world_get(w, POD(name));
    const char *phase = pod ? json_text_at(pod, "status", "phase", NULL) : "gone";
    size_t size = strlen(phase);

    assert_in_range(size, 1, 31);
    memcpy(text, phase, size + 1);
    return text;
}

static void pods_of_a_removed_node_fail_after_a_while(void **state)
{
    char text[32];
    struct world w;
    struct gc *gc;

    (void)state;
    world_init(&w, 1);
    gc = start(&w, NULL);
    world_add_node(&w, "n1", 3);
    start_pod(&w, "runs", "n1");
    start_pod(&w, "goes", "n1");
    start_pod(&w, "done", "n1");
    world_must(world_patch(
        &w, (struct target){.kind = "pods", .name = "done", .sub = "status", .who = &ours},
        "{'status':{'phase':'Succeeded'}}", NULL));
    world_must(world_delete(&w, POD("goes"), NULL, NULL));
    remove_node(&w, "n1");
    sim_loop_advance(w.loop, 39 * SEC);
    assert_string_equal(phase_of(&w, "runs", text), "Running");
    assert_false(ledger_is_free(w.store, "GPU-n1-0"));
    sim_loop_advance(w.loop, 3 * SEC);
    assert_string_equal(phase_of(&w, "runs", text), "Failed");
    assert_string_equal(phase_of(&w, "done", text), "Succeeded");
    assert_string_equal(phase_of(&w, "goes", text), "gone");
    assert_true(ledger_is_free(w.store, "GPU-n1-0"));
    world_must(ledger_check(w.store));
    gc_free(gc);
    world_done(&w);
}

static void a_node_that_comes_back_keeps_its_pods(void **state)
{
    char text[32];
    struct world w;
    struct gc *gc;

    (void)state;
    world_init(&w, 1);
    gc = start(&w, NULL);
    world_add_node(&w, "n1", 1);
    world_add_node(&w, "n2", 1);
    start_pod(&w, "p", "n1");
    start_pod(&w, "q", "n2");
    remove_node(&w, "n1");
    sim_loop_advance(w.loop, 30 * SEC);
    remove_node(&w, "n2"); /* must not delay the first node's time */
    world_add_node(&w, "n1", 1);
    sim_loop_advance(w.loop, 60 * SEC);
    assert_string_equal(phase_of(&w, "p", text), "Running");
    assert_string_equal(phase_of(&w, "q", text), "Failed");
    gc_free(gc);
    world_done(&w);
}

static void pods_that_lost_their_node_before_the_start_fail_too(void **state)
{
    char text[32];
    struct world w;
    struct gc *gc;

    (void)state;
    world_init(&w, 1);
    world_add_node(&w, "n1", 1);
    start_pod(&w, "p", "n1");
    remove_node(&w, "n1");
    gc = start(&w, NULL);
    assert_string_equal(phase_of(&w, "p", text), "Running");
    sim_loop_advance(w.loop, 45 * SEC);
    assert_string_equal(phase_of(&w, "p", text), "Failed");
    gc_free(gc);
    world_done(&w);
}

static void a_wrong_ledger_is_told(void **state)
{
    struct store_op op = {
        .type = STORE_PUT,
        .key = {.group = "mete.dev", .resource = "ledger", .ns = "", .name = "GPU-x"},
        .bytes = STR("{\"pod\":\"default/x\",\"podUid\":\"u\",\"node\":\"n\"}"),
        .if_version = STORE_ABSENT};
    struct checks checks = {0};
    struct world w;
    struct gc *gc;

    (void)state;
    world_init(&w, 1);
    gc = start(&w, &checks);
    sim_loop_advance(w.loop, 30 * SEC);
    assert_int_equal(checks.n_right, 1);
    world_must(store_commit(w.store, &op, 1, NULL, NULL, NULL));
    sim_loop_advance(w.loop, 30 * SEC);
    assert_int_equal(checks.n_wrong, 1);
    gc_free(gc);
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_owned_goes_with_its_owner),
        cmocka_unit_test(what_was_orphaned_while_nobody_looked_goes_at_the_start),
        cmocka_unit_test(an_object_stays_while_one_owner_stays),
        cmocka_unit_test(an_owner_of_an_unknown_kind_counts_as_there),
        cmocka_unit_test(orphaning_cuts_the_references),
        cmocka_unit_test(foreground_waits_for_what_blocks),
        cmocka_unit_test(foreground_does_not_wait_for_the_others),
        cmocka_unit_test(objects_that_own_each_other_go),
        cmocka_unit_test(foreground_goes_up_a_chain),
        cmocka_unit_test(a_namespace_goes_when_it_is_empty),
        cmocka_unit_test(old_events_go),
        cmocka_unit_test(pods_of_a_removed_node_fail_after_a_while),
        cmocka_unit_test(a_node_that_comes_back_keeps_its_pods),
        cmocka_unit_test(pods_that_lost_their_node_before_the_start_fail_too),
        cmocka_unit_test(a_wrong_ledger_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
