/* test_objects_delete.c - deletion: grace, finalizers, owners */

#include <stdio.h>

#include "base/mem.h"
#include "kinds/ledger.h"
#include "test.h"
#include "world.h"

#define POD(n)     ((struct target){.kind = "pods", .name = (n)})
#define OURPOD(n)  ((struct target){.kind = "pods", .name = (n), .who = &ours})
#define STATUS(n)  ((struct target){.kind = "pods", .name = (n), .sub = "status", .who = &ours})
#define CONFIG(n)  ((struct target){.kind = "configmaps", .name = (n)})
#define GRACE(sec) (&(const struct delete_options){.grace_seconds = (sec)})

static void add_running(struct world *w, const char *name)
{
    world_must(world_add_pod(w, "default", name, 1));
    world_must(world_bind(w, "default", name, "n1"));
    world_must(world_patch(w, STATUS(name), "{'status':{'phase':'Running'}}", NULL));
}

static const char *stamp_of(struct world *w, const char *name, int64_t *ret_grace)
{
    AUTO(json_freep) json_t *pod = world_get(w, POD(name));
    static char text[64];
    const char *stamp = json_text_at(pod, "metadata", "deletionTimestamp", NULL);

    assert_non_null(pod);
    *ret_grace = json_int_at(pod, "metadata", "deletionGracePeriodSeconds", NULL);
    (void)snprintf(text, sizeof(text), "%s", stamp ? stamp : "");
    return text;
}

static void a_pod_without_a_node_goes_at_once(void **state)
{
    struct world w;
    bool is_gone = false;

    (void)state;
    world_init(&w, 1);
    world_must(world_add_pod(&w, "default", "p", 1));
    world_must(world_delete(&w, POD("p"), NULL, &is_gone));
    assert_true(is_gone);
    assert_null(world_get(&w, POD("p")));
    world_refused(world_delete(&w, POD("p"), NULL, NULL), 404, "pods \"p\" not found");
    world_done(&w);
}

static void a_pod_on_a_node_waits_for_its_node(void **state)
{
    struct world w;
    bool is_gone = true;
    int64_t grace = 0;

    (void)state;
    world_init(&w, 1);
    world_add_node(&w, "n1", 1);
    add_running(&w, "p");
    world_must(world_delete(&w, POD("p"), NULL, &is_gone));
    assert_false(is_gone);
    assert_string_equal(stamp_of(&w, "p", &grace), "2026-01-01T00:00:31Z");
    assert_int_equal(grace, 30);
    /* A user's forced deletion reaches the node, and frees nothing. */
    world_must(world_delete(&w, POD("p"), GRACE(0), &is_gone));
    assert_false(is_gone);
    assert_string_equal(stamp_of(&w, "p", &grace), "2026-01-01T00:00:01Z");
    assert_int_equal(grace, 0);
    assert_false(ledger_is_free(w.store, "GPU-n1-0"));
    /* The node reports the end. */
    world_must(world_delete(&w, OURPOD("p"), GRACE(0), &is_gone));
    assert_true(is_gone);
    assert_true(ledger_is_free(w.store, "GPU-n1-0"));
    world_must(ledger_check(w.store));
    world_done(&w);
}

static void a_second_deletion_only_shortens(void **state)
{
    static const struct {
        int64_t asked;
        int64_t grace;
        const char *stamp;
    } cases[] = {
        {10, 10, "2026-01-01T00:00:11Z"}, {20, 10, "2026-01-01T00:00:11Z"},
        {-1, 10, "2026-01-01T00:00:11Z"}, {3, 3, "2026-01-01T00:00:04Z"},
        {0, 0, "2026-01-01T00:00:01Z"},   {5, 0, "2026-01-01T00:00:01Z"},
    };
    struct world w;

    (void)state;
    world_init(&w, 1);
    world_add_node(&w, "n1", 1);
    add_running(&w, "p");
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t grace = 0;

        world_must(world_delete(&w, POD("p"), GRACE(cases[i].asked), NULL));
        assert_string_equal(stamp_of(&w, "p", &grace), cases[i].stamp);
        assert_int_equal(grace, cases[i].grace);
        if (i == 0)
            sim_loop_advance(w.loop, 2000000000);
    }
    world_done(&w);
}

static void an_ended_pod_goes_at_once(void **state)
{
    struct world w;
    bool is_gone = false;

    (void)state;
    world_init(&w, 1);
    world_add_node(&w, "n1", 1);
    add_running(&w, "p");
    world_must(world_patch(&w, STATUS("p"), "{'status':{'phase':'Succeeded'}}", NULL));
    assert_true(ledger_is_free(w.store, "GPU-n1-0"));
    world_must(ledger_check(w.store));
    world_must(world_delete(&w, POD("p"), NULL, &is_gone));
    assert_true(is_gone);
    world_done(&w);
}

static void finalizers_keep_what_is_deleted(void **state)
{
    struct world w;
    bool is_gone = true;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(
        &w, CONFIG(NULL), "{'metadata':{'name':'a','finalizers':['x.io/one','x.io/two']}}", NULL));
    world_must(world_delete(&w, CONFIG("a"), NULL, &is_gone));
    assert_false(is_gone);
    world_refused(world_patch(&w, CONFIG("a"),
                              "{'metadata':{'finalizers':['x.io/one','x.io/new','x.io/more']}}",
                              NULL),
                  422,
                  "ConfigMap \"a\" is invalid: metadata.finalizers: Forbidden: no new finalizers "
                  "can be added "
                  "if the object is being deleted, found new finalizers []string{\"x.io/new\", "
                  "\"x.io/more\"}");
    world_must(world_patch(&w, CONFIG("a"), "{'metadata':{'deletionTimestamp':null}}", NULL));
    world_must(world_patch(&w, CONFIG("a"), "{'metadata':{'finalizers':['x.io/two']}}", NULL));
    {
        AUTO(json_freep) json_t *there = world_get(&w, CONFIG("a"));

        assert_non_null(json_text_at(there, "metadata", "deletionTimestamp", NULL));
    }
    world_must(world_patch(&w, CONFIG("a"), "{'metadata':{'finalizers':[]}}", NULL));
    assert_null(world_get(&w, CONFIG("a")));
    world_done(&w);
}

static void finalizers_of_a_running_pod_do_not_free_its_gpus(void **state)
{
    struct world w;
    bool is_gone = true;

    (void)state;
    world_init(&w, 1);
    world_add_node(&w, "n1", 1);
    add_running(&w, "p");
    world_must(world_patch(&w, POD("p"), "{'metadata':{'finalizers':['x.io/one']}}", NULL));
    world_must(world_delete(&w, POD("p"), GRACE(0), &is_gone));
    world_must(world_patch(&w, POD("p"), "{'metadata':{'finalizers':[]}}", NULL));
    assert_false(ledger_is_free(w.store, "GPU-n1-0"));
    world_must(ledger_check(w.store));
    world_must(world_delete(&w, OURPOD("p"), GRACE(0), &is_gone));
    assert_true(is_gone);
    world_done(&w);
}

static void a_pod_that_its_node_gave_up_ends_though_finalizers_keep_it(void **state)
{
    AUTO(json_freep) json_t *there = NULL;
    struct world w;
    bool is_gone = true;

    (void)state;
    world_init(&w, 1);
    world_add_node(&w, "n1", 1);
    add_running(&w, "p");
    world_must(world_patch(&w, POD("p"), "{'metadata':{'finalizers':['x.io/one']}}", NULL));
    world_must(world_delete(&w, OURPOD("p"), GRACE(0), &is_gone));
    assert_false(is_gone);
    there = world_get(&w, POD("p"));
    assert_string_equal(json_text_at(there, "status", "phase", NULL), "Failed");
    assert_true(ledger_is_free(w.store, "GPU-n1-0"));
    world_must(ledger_check(w.store));
    world_must(world_patch(&w, POD("p"), "{'metadata':{'finalizers':[]}}", NULL));
    assert_null(world_get(&w, POD("p")));
    world_done(&w);
}

static void on_release(void *arg, const struct err *e, int64_t revision)
{
    (void)arg;
    (void)revision;
    assert_null(e);
}

/* Takes the finalizer of the pod `p` in a transaction that may remove the pod. */
static struct err *release(struct world *w, bool *ret_is_gone)
{
    AUTO(json_freep)
    json_t *patch =
        json_pack("{s:{s:[s]}}", "metadata", "$deleteFromPrimitiveList/finalizers", "x.io/one");
    const struct objects_write write = {
        .request = {.kind = kind_find("", "pods"), .ns = "default", .name = "p", .who = ours},
        .type = WRITE_PATCH,
        .tree = patch,
        .must_change = true,
        .ret_is_gone = ret_is_gone};
    int64_t revision = 0;

    TRY(objects_write_all(w->objects, &write, 1, on_release, NULL, &revision));
    sim_loop_run(w->loop);
    return NULL;
}

static void the_last_finalizer_may_take_an_ended_pod_along(void **state)
{
    static const struct {
        const char *quota; /* NULL: none */
        const char *phase;
        bool is_gone;
    } cases[] = {
        {NULL, "Running", false},
        {NULL, "Succeeded", true},
        {"{'metadata':{'name':'q'},'spec':{'hard':{'count/pods':'9'}}}", "Succeeded", false},
        {"{'metadata':{'name':'q'},'spec':{'hard':{'pods':'9'}}}", "Succeeded", true}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *there = NULL;
        AUTO_FREE char *status = mem_format("{'status':{'phase':'%s'}}", cases[i].phase);
        bool is_gone = true;
        struct world w;

        world_init(&w, 1);
        world_add_node(&w, "n1", 1);
        if (cases[i].quota)
            world_must(
                world_create(&w, (struct target){.kind = "resourcequotas"}, cases[i].quota, NULL));
        add_running(&w, "p");
        world_must(world_patch(&w, POD("p"), "{'metadata':{'finalizers':['x.io/one']}}", NULL));
        world_must(world_patch(&w, STATUS("p"), status, NULL));
        world_must(release(&w, &is_gone));
        assert_int_equal(is_gone, cases[i].is_gone);
        there = world_get(&w, POD("p"));
        assert_int_equal(there == NULL, cases[i].is_gone);
        assert_int_equal(json_array_size(json_at(there, "metadata", "finalizers", NULL)), 0);
        world_must(ledger_check(w.store));
        err_free(release(&w, &is_gone)); /* nothing is left to release */
        assert_false(is_gone);
        world_done(&w);
    }
}

static void preconditions_protect_what_came_after(void **state)
{
    AUTO(json_freep) json_t *made = NULL;
    AUTO_FREE char *message = NULL;
    struct delete_options by_version = {.grace_seconds = -1, .if_version = 1};
    struct delete_options by_uid = {.grace_seconds = -1, .if_uid = "other"};
    struct world w;
    bool is_gone = false;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, CONFIG(NULL), "{'metadata':{'name':'a'}}", &made));
    message = mem_format("Operation cannot be fulfilled on configmaps \"a\": the UID in the "
                         "precondition (other) does not match the UID in record (%s). The object "
                         "might have been deleted and then recreated",
                         json_text_at(made, "metadata", "uid", NULL));
    world_refused(world_delete(&w, CONFIG("a"), &by_uid, NULL), 409, message);
    world_refused(world_delete(&w, CONFIG("a"), &by_version, NULL), 409,
                  "Operation cannot be fulfilled on configmaps \"a\": the ResourceVersion in the "
                  "precondition (1) does not match the ResourceVersion in record (3). The object "
                  "might have been modified");
    by_uid.if_uid = json_text_at(made, "metadata", "uid", NULL);
    by_uid.if_version = 3;
    world_must(world_delete(&w, CONFIG("a"), &by_uid, &is_gone));
    assert_true(is_gone);
    world_done(&w);
}

static void propagation_becomes_a_finalizer(void **state)
{
    static const struct {
        const char *policy;
        const char *finalizer; /* NULL: gone */
    } cases[] = {
        {NULL, NULL},
        {"Background", NULL},
        {"Foreground", "foregroundDeletion"},
        {"Orphan", "orphan"},
    };
    struct world w;

    (void)state;
    world_init(&w, 1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *there = NULL;
        struct delete_options options = {.grace_seconds = -1, .propagation = cases[i].policy};
        AUTO_FREE char *name = mem_format("c%zu", i);
        AUTO_FREE char *text = mem_format("{'metadata':{'name':'%s'}}", name);

        world_must(world_create(&w, CONFIG(NULL), text, NULL));
        world_must(world_delete(&w, CONFIG(name), &options, NULL));
        there = world_get(&w, CONFIG(name));
        if (!cases[i].finalizer) {
            assert_null(there);
            continue;
        }
        assert_string_equal(
            json_string_value(json_array_get(json_at(there, "metadata", "finalizers", NULL), 0)),
            cases[i].finalizer);
    }
    world_must(world_create(&w, CONFIG(NULL), "{'metadata':{'name':'x'}}", NULL));
    world_refused(
        world_delete(&w, CONFIG("x"),
                     &(struct delete_options){.grace_seconds = -1, .propagation = "Maybe"}, NULL),
        422,
        "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: "
        "\"Maybe\": supported values: \"Foreground\", \"Background\", \"Orphan\"");
    world_done(&w);
}

static void a_namespace_terminates_first(void **state)
{
    struct target ns = {.kind = "namespaces", .name = "team"};
    struct target finish = {.kind = "namespaces", .name = "team", .sub = "finalize", .who = &ours};
    AUTO(json_freep) json_t *there = NULL;
    struct world w;
    bool is_gone = true;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, ns, "{'metadata':{'name':'team'}}", NULL));
    world_must(world_patch(&w, ns, "{'spec':{'finalizers':[]}}",
                           NULL)); /* users cannot change the finalizers */
    world_must(world_delete(&w, ns, NULL, &is_gone));
    assert_false(is_gone);
    there = world_get(&w, ns);
    assert_string_equal(json_text_at(there, "status", "phase", NULL), "Terminating");
    world_refused(world_add_pod(&w, "team", "p", 0), 403,
                  "pods \"p\" is forbidden: unable to create new content in namespace team because "
                  "it is being terminated");
    world_must(world_patch(&w, finish, "{'spec':{'finalizers':[]}}", NULL));
    assert_null(world_get(&w, ns));
    world_refused(world_add_pod(&w, "team", "p", 0), 404, "namespaces \"team\" not found");
    world_refused(
        world_delete(&w, (struct target){.kind = "namespaces", .name = "default"}, NULL, NULL), 403,
        "namespaces \"default\" is forbidden: this namespace may not be deleted");
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_without_a_node_goes_at_once),
        cmocka_unit_test(a_pod_on_a_node_waits_for_its_node),
        cmocka_unit_test(a_second_deletion_only_shortens),
        cmocka_unit_test(an_ended_pod_goes_at_once),
        cmocka_unit_test(finalizers_keep_what_is_deleted),
        cmocka_unit_test(finalizers_of_a_running_pod_do_not_free_its_gpus),
        cmocka_unit_test(a_pod_that_its_node_gave_up_ends_though_finalizers_keep_it),
        cmocka_unit_test(the_last_finalizer_may_take_an_ended_pod_along),
        cmocka_unit_test(preconditions_protect_what_came_after),
        cmocka_unit_test(propagation_becomes_a_finalizer),
        cmocka_unit_test(a_namespace_terminates_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
