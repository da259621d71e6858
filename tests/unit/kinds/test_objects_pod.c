/* test_objects_pod.c - rules of pods: job numbers, users, the image `host` */

#include "base/mem.h"
#include "mem_storage.h"
#include "test.h"
#include "world.h"

#define POD(n)    ((struct target){.kind = "pods", .name = (n)})
#define STATUS(n) ((struct target){.kind = "pods", .name = (n), .sub = "status", .who = &ours})

static int64_t job_id(const json_t *pod)
{
    const char *text = json_text_at(pod, "metadata", "labels", "mete.dev/job-id", NULL);
    int64_t id = 0;

    assert_non_null(text);
    for (; *text; text++) {
        assert_in_range(*text, '0', '9');
        id = id * 10 + (*text - '0');
    }
    return id;
}

static int64_t add(struct world *w, const char *name)
{
    AUTO(json_freep) json_t *pod = NULL;

    world_must(world_add_pod(w, "default", name, 0));
    pod = world_get(w, POD(name));
    assert_string_equal(json_text_at(pod, "metadata", "annotations", "mete.dev/user", NULL), "ann");
    return job_id(pod);
}

static void job_ids_only_grow_across_restarts(void **state)
{
    struct world w;
    int64_t last = 0;

    (void)state;
    world_init(&w, 1);
    for (int i = 0; i < 100; i++) {
        AUTO_FREE char *name = mem_format("p%d", i);
        int64_t id = add(&w, name);

        assert_true(id > last);
        if (i % 30 != 0) /* only a restart leaves a gap */
            assert_int_equal(id, last + 1);
        last = id;
        if (i % 30 == 29)
            world_restart(&w);
    }
    assert_in_range(last, 100, 100 + 4 * 32);
    world_done(&w);
}

static void a_job_id_is_not_spent_on_what_is_refused(void **state)
{
    struct world w;
    int64_t first;

    (void)state;
    world_init(&w, 1);
    first = add(&w, "a");
    world_refused(world_add_pod(&w, "default", "a", 0), 409, "pods \"a\" already exists");
    world_must(world_create(&w, (struct target){.kind = "pods", .is_dry_run = true},
                            "{'metadata':{'name':'b'},'spec':{'containers':[{'name':'c','image':"
                            "'host'}]}}",
                            NULL));
    assert_int_equal(add(&w, "c"), first + 1);
    world_done(&w);
}

/* A mark that a full disk refused must not count: the same numbers would come again. */
static void a_full_disk_takes_no_job_ids_back(void **state)
{
    struct world w;
    int64_t before;

    (void)state;
    world_init(&w, 1);
    mem_storage_set_full(w.disk, true);
    world_must(world_add_pod(&w, "default", "lost", 0));
    assert_int_equal(w.n_failed, 1);
    mem_storage_set_full(w.disk, false);
    sim_loop_advance(w.loop, INT64_C(60000000000));
    before = add(&w, "a");
    world_restart(&w);
    assert_true(add(&w, "b") > before);
    world_done(&w);
}

/* A caller without a uid: 0 must not mean root. */
static const struct kind_context zero = {.user = "zero"};

static void decides_who_may_run_as_whom_on_the_host(void **state)
{
    static const struct {
        const struct kind_context *who;
        const char *security; /* the pod's securityContext */
        int64_t uid;          /* -1: refused */
        const char *message;
    } cases[] = {
        {&ann, "{}", 1000, NULL},
        {&ann, "{'runAsUser':1000}", 1000, NULL},
        {&ann, "{'runAsUser':0}", -1,
         "pods \"p\" is forbidden: container c: image `host` with securityContext.runAsUser 0: ann "
         "may run as 1000 only"},
        {&ann, "{'runAsUser':1001}", -1,
         "pods \"p\" is forbidden: container c: image `host` with securityContext.runAsUser 1001: "
         "ann may run as 1000 only"},
        {&ann, "{'runAsGroup':0}", -1,
         "pods \"p\" is forbidden: container c: image `host` with securityContext.runAsGroup is "
         "for "
         "administrators"},
        {&ann, "{'supplementalGroups':[0]}", -1,
         "pods \"p\" is forbidden: container c: image `host` with "
         "securityContext.supplementalGroups is for administrators"},
        {&nobody, "{}", -1,
         "pods \"p\" is forbidden: image `host` runs as the calling user, and nobody has "
         "no "
         "uid on this system; an administrator adds one to users.yaml"},
        {&nobody, "{'runAsUser':1000}", -1,
         "pods \"p\" is forbidden: container c: image `host` with securityContext.runAsUser 1000: "
         "nobody may run as -1 only"},
        {&zero, "{}", -1,
         "pods \"p\" is forbidden: image `host` runs as the calling user, and zero has no "
         "uid on this system; an administrator adds one to users.yaml"},
        {&root, "{}", 0, NULL},
        {&root, "{'runAsUser':1234,'runAsGroup':7}", 1234, NULL},
        {&ours, "{'runAsUser':1234}", 1234, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text = mem_format("{'metadata':{'name':'p'},'spec':{'securityContext':%s,"
                                          "'containers':[{'name':'c','image':'host'}]}}",
                                          cases[i].security);
        AUTO(json_freep) json_t *made = NULL;
        struct world w;
        struct err *e;

        world_init(&w, 1);
        e = world_create(&w, (struct target){.kind = "pods", .who = cases[i].who}, text, &made);
        if (cases[i].uid < 0) {
            world_refused(e, 403, cases[i].message);
        } else {
            world_must(e);
            assert_int_equal(json_int_at(made, "spec", "securityContext", "runAsUser", NULL),
                             cases[i].uid);
        }
        world_done(&w);
    }
}

static void an_init_container_on_the_host_is_no_back_door(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 1);
    world_refused(
        world_create(&w, (struct target){.kind = "pods"},
                     "{'metadata':{'name':'p'},'spec':{'initContainers':[{'name':'i','image':"
                     "'host','securityContext':{'runAsUser':0}}],'containers':[{'name':'c','image':"
                     "'host'}]}}",
                     NULL),
        403,
        "pods \"p\" is forbidden: container i: image `host` with securityContext.runAsUser 0: ann "
        "may run as 1000 only");
    world_done(&w);
}

static void refuses_to_change(void **state)
{
    static const struct {
        struct target target;
        const char *patch;
        int http;
        const char *message;
    } cases[] = {
        {{.kind = "pods", .name = "p"},
         "{'spec':{'containers':[{'name':'main','image':'host'}]}}",
         422,
         NULL},
        {{.kind = "pods", .name = "p", .who = &ours}, "{'spec':{'nodeName':'n1'}}", 422, NULL},
        {{.kind = "pods", .name = "p", .who = &ours},
         "{'metadata':{'annotations':{'mete.dev/devices':'{}'}}}",
         422,
         "Pod \"p\" is invalid: metadata.annotations: Forbidden: devices are given by the ledger"},
        {{.kind = "pods", .name = "p", .who = &ours},
         "{'metadata':{'labels':{'mete.dev/job-id':'7'}}}",
         422,
         "Pod \"p\" is invalid: metadata: Forbidden: the job id and the user of a pod do not "
         "change"},
        {{.kind = "pods", .name = "p", .who = &ours},
         "{'metadata':{'annotations':{'mete.dev/user':'root'}}}",
         422,
         "Pod \"p\" is invalid: metadata: Forbidden: the job id and the user of a pod do not "
         "change"},
        {{.kind = "pods", .name = "p", .sub = "status", .who = &root},
         "{'status':{'phase':'Succeeded'}}",
         403,
         "pods \"p\" is forbidden: only the pod's node sets status.phase"},
    };
    struct world w;

    (void)state;
    world_init(&w, 1);
    world_must(world_add_pod(&w, "default", "p", 0));
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err *e = world_patch(&w, cases[i].target, cases[i].patch, NULL);

        assert_non_null(e);
        if (cases[i].message) {
            world_refused(e, cases[i].http, cases[i].message);
        } else {
            assert_int_equal(err_http(e), cases[i].http);
            err_free(e);
        }
    }
    world_done(&w);
}

static void the_image_stays_host(void **state)
{
    AUTO(json_freep) json_t *pod = NULL;
    json_t *container;
    struct world w;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(&w, POD(NULL),
                            "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':"
                            "'host'}]}}",
                            &pod));
    container = json_array_get(json_at(pod, "spec", "containers", NULL), 0);
    json_put_text(container, "image", "x");
    world_refused(world_update(&w, POD("p"), pod, NULL), 403,
                  "pods \"p\" is forbidden: the image `host` is chosen when the pod is created");
    json_put_text(container, "image", "host");
    world_must(world_update(&w, POD("p"), pod, NULL));
    world_done(&w);
}

static void an_ended_pod_stays_so(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 1);
    world_must(world_add_pod(&w, "default", "p", 0));
    world_must(world_patch(&w, STATUS("p"), "{'status':{'phase':'Failed'}}", NULL));
    world_refused(world_patch(&w, STATUS("p"), "{'status':{'phase':'Running'}}", NULL), 409,
                  "Operation cannot be fulfilled on pods \"p\": pod p has ended as Failed: its "
                  "phase cannot change");
    world_must(world_patch(&w, STATUS("p"), "{'status':{'message':'x'}}", NULL));
    world_done(&w);
}

static void a_pod_is_born_on_a_node_by_administrators_without_gpus(void **state)
{
    static const struct {
        const struct kind_context *who;
        const char *node;
        const char *gpus;
        int http;
        const char *message;
    } cases[] = {
        {&ann, "n1", "0", 403,
         "pods \"p\" is forbidden: spec.nodeName is for administrators; leave it out, and the "
         "scheduler chooses the node"},
        {&root, "n1", "1", 422,
         "Pod \"p\" is invalid: spec.nodeName: Forbidden: a pod that asks for gpus gets its node "
         "from the scheduler or by a Binding; leave it out"},
        {&ours, "n1", "1", 422,
         "Pod \"p\" is invalid: spec.nodeName: Forbidden: a pod that asks for gpus gets its node "
         "from the scheduler or by a Binding; leave it out"},
        {&root, "n2", "0", 404, "nodes \"n2\" not found"},
        {&root, "n1", "0", 0, NULL},
    };
    struct world w;

    (void)state;
    world_init(&w, 1);
    world_add_node(&w, "n1", 2);
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE char *text =
            mem_format("{'metadata':{'name':'p'},'spec':{'nodeName':'%s','securityContext':{'"
                       "runAsUser':1000},'containers':[{'name':'c',"
                       "'image':'host','resources':{'limits':{'nvidia.com/gpu':'%s'}}}]}}",
                       cases[i].node, cases[i].gpus);
        struct err *e =
            world_create(&w, (struct target){.kind = "pods", .who = cases[i].who}, text, NULL);

        if (cases[i].message)
            world_refused(e, cases[i].http, cases[i].message);
        else
            world_must(e);
    }
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_ids_only_grow_across_restarts),
        cmocka_unit_test(a_job_id_is_not_spent_on_what_is_refused),
        cmocka_unit_test(a_full_disk_takes_no_job_ids_back),
        cmocka_unit_test(decides_who_may_run_as_whom_on_the_host),
        cmocka_unit_test(an_init_container_on_the_host_is_no_back_door),
        cmocka_unit_test(refuses_to_change),
        cmocka_unit_test(the_image_stays_host),
        cmocka_unit_test(an_ended_pod_stays_so),
        cmocka_unit_test(a_pod_is_born_on_a_node_by_administrators_without_gpus),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
