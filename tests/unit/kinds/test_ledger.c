/* test_ledger.c - bindings of pods to nodes and gpus, and their release */

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/account/account.h"
#include "kinds/ledger.h"
#include "test.h"
#include "world.h"

#define POD(n)    ((struct target){.kind = "pods", .name = (n)})
#define STATUS(n) ((struct target){.kind = "pods", .name = (n), .sub = "status", .who = &ours})

static char *uid_of(struct world *w, const char *name)
{
    AUTO(json_freep) json_t *pod = world_get(w, POD(name));

    assert_non_null(pod);
    return mem_strdup(json_text_at(pod, "metadata", "uid", NULL));
}

/* The pod's devices, as the text of its annotation; "": none. The caller frees it. */
static char *devices_of(struct world *w, const char *name)
{
    AUTO(json_freep) json_t *pod = world_get(w, POD(name));
    const char *text = json_text_at(pod, "metadata", "annotations", "mete.dev/devices", NULL);

    return mem_strdup(text ? text : "");
}

struct member {
    const char *pod;
    const char *node;
    const char *gpus[2]; /* devices, by their texts */
};

static struct err *bind(struct world *w, const char *workload, const struct member *members,
                        size_t n)
{
    struct ledger_container containers[4] = {0};
    struct device devices[4][2] = {0};
    struct ledger_pod pods[4] = {0};
    char *uids[4] = {0};
    struct ledger_placement p = {.ns = "default",
                                 .workload = workload,
                                 .pods = pods,
                                 .n_pods = n,
                                 .now_ns = loop_wall_ns(w->loop)};
    struct err *e;

    assert_in_range(n, 0, 4);
    for (size_t i = 0; i < n; i++) {
        AUTO(json_freep) json_t *pod = world_get(w, POD(members[i].pod));
        size_t n_gpus = members[i].gpus[0] ? members[i].gpus[1] ? 2 : 1 : 0;

        uids[i] = pod ? uid_of(w, members[i].pod) : mem_strdup("none");
        for (size_t k = 0; k < n_gpus; k++)
            world_must(device_parse(members[i].gpus[k], &devices[i][k]));
        containers[i] =
            (struct ledger_container){.name = "main", .devices = devices[i], .n_devices = n_gpus};
        pods[i] = (struct ledger_pod){.name = members[i].pod,
                                      .uid = uids[i],
                                      .node = members[i].node,
                                      .containers = &containers[i],
                                      .n_containers = 1};
    }
    e = ledger_bind(w->store, &p, NULL, NULL);
    sim_loop_run(w->loop);
    for (size_t i = 0; i < n; i++)
        free(uids[i]);
    return e;
}

static const struct store_object *placement(struct world *w, const char *name)
{
    return store_get(w->store, (struct store_key){.group = "mete.dev",
                                                  .resource = "placements",
                                                  .ns = "default",
                                                  .name = name});
}

static void setup(struct world *w)
{
    world_init(w, 1);
    world_add_node(w, "n1", 2);
    world_add_node(w, "n2", 2);
    world_must(world_add_pod(w, "default", "a", 1));
    world_must(world_add_pod(w, "default", "b", 1));
}

static void a_gang_is_bound_in_one_transaction(void **state)
{
    static const struct member gang[] = {{"a", "n1", {"GPU-n1-0", "GPU-n1-1"}},
                                         {"b", "n2", {"GPU-n2-1"}}};
    AUTO(json_freep) json_t *pod = NULL;
    AUTO_FREE char *devices = NULL;
    AUTO_FREE char *holder = NULL;
    struct world w;
    int64_t revision;

    (void)state;
    setup(&w);
    revision = store_revision(w.store);
    world_must(bind(&w, "gang", gang, 2));
    assert_int_equal(store_revision(w.store), revision + 1);
    pod = world_get(&w, POD("a"));
    assert_string_equal(json_text_at(pod, "spec", "nodeName", NULL), "n1");
    devices = devices_of(&w, "a");
    assert_string_equal(devices, "{\"containers\":{\"main\":[\"GPU-n1-0\",\"GPU-n1-1\"]}}");
    holder = ledger_holder(w.store, "GPU-n2-1");
    assert_string_equal(holder, "default/b");
    assert_null(ledger_holder(w.store, "GPU-n2-0"));
    world_must(ledger_check(w.store));
    world_done(&w);
}

static void refuses_to_bind_and_changes_nothing(void **state)
{
    static const struct {
        struct member members[2];
        size_t n;
        const char *message;
    } cases[] = {
        {{{"c", "n1", {NULL}}}, 1, "pod c is gone"},
        {{{"held", "n1", {"GPU-n1-1"}}}, 1, "pod held is already assigned to node \"n1\""},
        {{{"a", "n1", {"GPU-n1-0"}}}, 1, "gpu GPU-n1-0 is held by pod default/held"},
        {{{"a", "n1", {"GPU-n2-0"}}}, 1, "node \"n1\" has no gpu GPU-n2-0"},
        {{{"a", "n3", {NULL}}}, 1, "node \"n3\" is gone"},
        {{{"a", "n1", {"GPU-n1-1", "GPU-n1-1"}}}, 1, "gpu GPU-n1-1 is given twice to pod a"},
        {{{"a", "n1", {"GPU-n1-1"}}, {"b", "n1", {"GPU-n1-1"}}},
         2,
         "gpu GPU-n1-1 is given to two pods of the placement"},
        {{{"a", "n1", {"GPU-n1-1"}}, {"a", "n1", {NULL}}},
         2,
         "pod a is named twice in the placement"},
        {{{"a", "n1", {"GPU-n1-1"}}, {"b", "n1", {"GPU-n1-0"}}},
         2,
         "gpu GPU-n1-0 is held by pod default/held"},
        {{{"ended", "n1", {NULL}}}, 1, "pod ended has ended"},
        {{{"going", "n1", {NULL}}}, 1, "pod going is being deleted, cannot be assigned to a host"},
    };
    static const struct member held = {"held", "n1", {"GPU-n1-0"}};
    struct world w;
    int64_t revision;

    (void)state;
    setup(&w);
    world_must(world_add_pod(&w, "default", "held", 1));
    world_must(world_add_pod(&w, "default", "ended", 0));
    world_must(world_add_pod(&w, "default", "going", 0));
    world_must(world_patch(&w, STATUS("ended"), "{'status':{'phase':'Failed'}}", NULL));
    world_must(world_patch(&w, POD("going"), "{'metadata':{'finalizers':['x.io/y']}}", NULL));
    world_must(world_delete(&w, POD("going"), NULL, NULL));
    world_must(bind(&w, "held", &held, 1));
    revision = store_revision(w.store);
    for (size_t i = 0; i < COUNT(cases); i++)
        world_refused(bind(&w, "x", cases[i].members, cases[i].n), 409, cases[i].message);
    assert_int_equal(store_revision(w.store), revision);
    world_must(ledger_check(w.store));
    world_done(&w);
}

static void a_placement_shrinks_with_its_pods_and_goes_with_the_last(void **state)
{
    static const struct member gang[] = {{"a", "n1", {"GPU-n1-0"}}, {"b", "n2", {"GPU-n2-0"}}};
    struct world w;

    (void)state;
    setup(&w);
    world_must(bind(&w, "gang", gang, 2));
    world_must(world_patch(&w, STATUS("a"), "{'status':{'phase':'Succeeded'}}", NULL));
    assert_true(ledger_is_free(w.store, "GPU-n1-0"));
    assert_non_null(placement(&w, "gang"));
    world_must(ledger_check(w.store));
    world_must(world_patch(&w, STATUS("b"), "{'status':{'phase':'Failed'}}", NULL));
    assert_null(placement(&w, "gang"));
    world_must(ledger_check(w.store));
    world_done(&w);
}

static void what_is_free_again_is_given_again(void **state)
{
    static const struct member first = {"a", "n1", {"GPU-n1-0"}};
    static const struct member second = {"b", "n1", {"GPU-n1-0"}};
    struct world w;

    (void)state;
    setup(&w);
    world_must(bind(&w, "a", &first, 1));
    world_must(world_patch(&w, STATUS("a"), "{'status':{'phase':'Succeeded'}}", NULL));
    world_must(bind(&w, "b", &second, 1));
    /* The first pod goes, and must not take the gpu from the second. */
    world_must(world_delete(&w, POD("a"), NULL, NULL));
    assert_false(ledger_is_free(w.store, "GPU-n1-0"));
    world_must(ledger_check(w.store));
    world_done(&w);
}

static void a_pod_that_ended_does_not_free_what_another_holds_now(void **state)
{
    static const struct member first = {"a", "n1", {"GPU-n1-0"}};
    static const struct member second = {"b", "n1", {"GPU-n1-0"}};
    AUTO_FREE char *holder = NULL;
    struct world w;

    (void)state;
    setup(&w);
    world_must(bind(&w, "a", &first, 1));
    world_must(world_patch(&w, STATUS("a"), "{'status':{'phase':'Failed'}}", NULL));
    assert_true(ledger_is_free(w.store, "GPU-n1-0"));
    world_must(bind(&w, "b", &second, 1));
    world_must(world_delete(&w, POD("a"), NULL, NULL));
    holder = ledger_holder(w.store, "GPU-n1-0");
    assert_string_equal(holder, "default/b");
    world_must(ledger_check(w.store));
    world_done(&w);
}

static struct err *put_raw(struct world *w, const char *resource, const char *ns, const char *name,
                           const char *text)
{
    struct store_op op = {
        .type = STORE_PUT,
        .key = {.group = *ns ? "" : "mete.dev", .resource = resource, .ns = ns, .name = name},
        .bytes = str_of(text),
        .if_version = STORE_ANY};
    struct err *e = store_commit(w->store, &op, 1, NULL, NULL, NULL);

    sim_loop_run(w->loop);
    return e;
}

/* ledger_check finds each way in which the ledger and the pods can differ. */
static void the_check_finds_what_is_wrong(void **state)
{
    static const struct {
        const char *pod;   /* bytes of default/p, or NULL */
        const char *entry; /* bytes of ledger//G, or NULL */
        const char *message;
    } cases[] = {
        {NULL, "{\"pod\":\"default/p\",\"podUid\":\"u\",\"node\":\"n\"}",
         "ledger: gpu G is held by default/p, which is no live pod with gpus"},
        {"{\"metadata\":{\"uid\":\"u\",\"annotations\":{\"mete.dev/devices\":"
         "\"{\\\"containers\\\":{\\\"c\\\":[\\\"G\\\"]}}\"}},\"spec\":{\"nodeName\":\"n\"}}",
         NULL, "ledger: pod default/p has 1 gpus, 0 of them in the ledger"},
        {"{\"metadata\":{\"uid\":\"u\",\"annotations\":{\"mete.dev/devices\":"
         "\"{\\\"containers\\\":{\\\"c\\\":[\\\"G\\\"]}}\"}},\"spec\":{\"nodeName\":\"n\"}}",
         "{\"pod\":\"default/p\",\"podUid\":\"u\",\"node\":\"m\"}",
         "ledger: gpu G is held on node m, its pod default/p is on n"},
        {"{\"metadata\":{\"uid\":\"u\",\"annotations\":{\"mete.dev/devices\":"
         "\"{\\\"containers\\\":{\\\"c\\\":[\\\"H\\\"]}}\"}},\"spec\":{\"nodeName\":\"n\"}}",
         "{\"pod\":\"default/p\",\"podUid\":\"u\",\"node\":\"n\"}",
         "ledger: gpu G is held by pod default/p, which does not list it"},
        {"{\"metadata\":{\"uid\":\"u\",\"annotations\":{\"mete.dev/devices\":"
         "\"{\\\"containers\\\":{\\\"c\\\":[\\\"G\\\"]}}\"}},\"spec\":{\"nodeName\":\"n\"},"
         "\"status\":{\"phase\":\"Failed\"}}",
         "{\"pod\":\"default/p\",\"podUid\":\"u\",\"node\":\"n\"}",
         "ledger: gpu G is held by default/p, which is no live pod with gpus"},
        {"{\"metadata\":{\"uid\":\"u\",\"annotations\":{\"mete.dev/devices\":"
         "\"{\\\"containers\\\":{\\\"c\\\":[\\\"G\\\"]}}\"}},\"spec\":{\"nodeName\":\"n\"}}",
         "{\"pod\":\"default/q\",\"podUid\":\"u\",\"node\":\"n\"}",
         "ledger: gpu G is held by default/q under the uid of pod default/p"},
        {"{\"metadata\":{\"uid\":\"u\",\"annotations\":{\"mete.dev/devices\":"
         "\"{\\\"containers\\\":{\\\"c\\\":[\\\"G\\\"]}}\"}},\"spec\":{\"nodeName\":\"n\"}}",
         "{\"pod\":\"default/p\",\"podUid\":\"u\",\"node\":\"n\"}", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct world w;

        world_init(&w, 1);
        if (cases[i].pod)
            world_must(put_raw(&w, "pods", "default", "p", cases[i].pod));
        if (cases[i].entry)
            world_must(put_raw(&w, "ledger", "", "G", cases[i].entry));
        if (cases[i].message)
            world_refused(ledger_check(w.store), 500, cases[i].message);
        else
            world_must(ledger_check(w.store));
        world_done(&w);
    }
}

/* A node "h" with one H100 of 80 GiB, GPU-h. */
static void add_h100(struct world *w)
{
    world_must(
        world_create(w, (struct target){.kind = "nodes", .who = &ours},
                     "{'metadata':{'name':'h','annotations':{'mete.dev/gpus':"
                     "'[{\\\"uuid\\\":\\\"GPU-h\\\",\\\"index\\\":0,\\\"health\\\":\\\"healthy\\\","
                     "\\\"model\\\":\\\"h100\\\",\\\"memoryBytes\\\":85899345920}]'}}}",
                     NULL));
}

static void parts_of_a_gpu_are_held_beside_each_other(void **state)
{
    static const struct {
        const char *held[2];
        const char *third;
        const char *refused;
    } cases[] = {
        {{"GPU-h/share:300,21474836480", "GPU-h/share:700,42949672960"},
         "GPU-h/share:300,1",
         "gpu GPU-h: 1000/1000 of its compute are held, the share is 300/1000"},
        {{"GPU-h/slice:3g.40gb@4", "GPU-h/slice:2g.20gb@0"},
         "GPU-h/slice:3g.40gb@4",
         "gpu GPU-h: a slice 3g.40gb cannot start at 4"},
        {{"GPU-h/replica:2", "GPU-h/replica:2"},
         "GPU-h/replica:2",
         "gpu GPU-h: all 2 replicas are held"},
        {{"GPU-h/share:300,21474836480", "GPU-h/share:100,1"},
         "GPU-h",
         "gpu GPU-h is held by pod default/a"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct member gang[] = {{"a", "h", {cases[i].held[0]}},
                                      {"b", "h", {cases[i].held[1]}}};
        const struct member third = {"c", "h", {cases[i].third}};
        const struct member again = {"c", "h", {cases[i].held[0]}};
        AUTO_FREE char *annotation =
            mem_format("{\"containers\":{\"main\":[\"%s\"]}}", cases[i].held[0]);
        AUTO_FREE char *devices = NULL;
        AUTO(json_freep) json_t *pod = NULL;
        struct world w;

        setup(&w);
        add_h100(&w);
        world_must(world_add_pod(&w, "default", "c", 1));
        world_must(bind(&w, "gang", gang, 2));
        world_restart(&w);
        devices = devices_of(&w, "a");
        assert_string_equal(devices, annotation);
        world_refused(bind(&w, "c", &third, 1), 409, cases[i].refused);
        world_must(ledger_check(w.store));
        world_must(account_check(w.store, 0, objects_now_ns(w.objects)));
        sim_loop_advance(w.loop, 10 * NS_PER_SEC);
        world_must(world_patch(&w, STATUS("a"), "{'status':{'phase':'Succeeded'}}", NULL));
        assert_false(ledger_is_free(w.store, "GPU-h"));
        world_must(bind(&w, "c", &again, 1));
        world_must(world_patch(&w, STATUS("b"), "{'status':{'phase':'Failed'}}", NULL));
        world_must(world_patch(&w, STATUS("c"), "{'status':{'phase':'Failed'}}", NULL));
        world_restart(&w);
        assert_true(ledger_is_free(w.store, "GPU-h"));
        world_must(ledger_check(w.store));
        world_must(account_check(w.store, 0, objects_now_ns(w.objects)));
        world_done(&w);
    }
}

static json_t *first_row(struct world *w)
{
    const struct store_range range = account_rows();
    struct store_list list = {0};
    json_t *row = NULL;

    world_must(store_list(w->store, &range, NULL, NULL, 0, 0, &list));
    assert_int_not_equal(list.n, 0);
    world_must(json_parse(list.at[0]->bytes, &row));
    store_list_done(&list);
    return row;
}

static void a_row_says_which_part_of_a_gpu_was_held(void **state)
{
    static const struct member share = {"a", "h", {"GPU-h/share:300,21474836480"}};
    AUTO(json_freep) json_t *row = NULL;
    const json_t *gpu;
    struct world w;

    (void)state;
    setup(&w);
    add_h100(&w);
    world_must(bind(&w, "a", &share, 1));
    world_must(world_patch(&w, STATUS("a"), "{'status':{'phase':'Succeeded'}}", NULL));
    world_restart(&w);
    row = first_row(&w);
    gpu = json_array_get(json_object_get(row, "gpus"), 0);
    assert_string_equal(json_text(gpu, "uuid"), "GPU-h");
    assert_string_equal(json_text(gpu, "model"), "h100");
    assert_string_equal(json_text(gpu, "device"), share.gpus[0]);
    assert_int_equal(account_gpu_milli(gpu), 300);
    world_done(&w);
}

/* A pod whose claim has the uid "c-1"; `line`: the rest of the claim's line. */
static void add_claimant(struct world *w, const char *name, const char *line)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'%s','annotations':{'mete.dev/claims':"
                   "'ready\\ngpu r c-1 %s\\n'}},'spec':{'resourceClaims':[{'name':'gpu',"
                   "'resourceClaimName':'one'}],'containers':[{'name':'main','image':'i',"
                   "'resources':{'claims':[{'name':'gpu'}]}}]}}",
                   name, line);

    world_must(world_create(w, (struct target){.kind = "pods", .who = &ours}, text, NULL));
}

/* The gpu time in the rows of a pod that has ended. */
static int64_t gpu_ns_of(struct world *w, const char *pod)
{
    const struct store_range range = account_rows();
    struct store_list list = {0};
    int64_t sum_ns = 0;

    world_must(store_list(w->store, &range, NULL, NULL, 0, 0, &list));
    for (size_t i = 0; i < list.n; i++) {
        AUTO(json_freep) json_t *tree = NULL;
        struct account_row row;

        world_must(json_parse(list.at[i]->bytes, &tree));
        assert_true(account_row_read(tree, &row));
        for (size_t k = 0; text_equal(row.pod, pod) && k < json_array_size(row.gpus); k++)
            sum_ns += row.to_ns - account_gpu_from_ns(&row, json_array_get(row.gpus, k));
    }
    store_list_done(&list);
    return sum_ns;
}

static void a_device_of_a_claim_counts_for_one_pod_at_a_time(void **state)
{
    static const char *const names[] = {"p", "q", "r"};
    struct world w;

    (void)state;
    setup(&w);
    add_claimant(&w, "p", "1 *");
    add_claimant(&w, "q", "held GPU-n1-0");
    add_claimant(&w, "r", "held GPU-n1-0");
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct member one = {names[i], "n1", {i == 0 ? "GPU-n1-0" : NULL}};

        world_must(bind(&w, names[i], &one, 1));
        sim_loop_advance(w.loop, NS_PER_SEC);
    }
    world_must(account_check(w.store, 0, objects_now_ns(w.objects)));
    for (size_t i = 0; i < COUNT(names); i++) {
        world_must(world_patch(&w, STATUS(names[i]), "{'status':{'phase':'Succeeded'}}", NULL));
        world_must(ledger_check(w.store));
        world_must(account_check(w.store, 0, objects_now_ns(w.objects)));
        sim_loop_advance(w.loop, 10 * NS_PER_SEC);
    }
    assert_true(ledger_is_free(w.store, "GPU-n1-0"));
    assert_int_equal(gpu_ns_of(&w, "p"), 3 * NS_PER_SEC);
    assert_int_equal(gpu_ns_of(&w, "q"), 10 * NS_PER_SEC);
    assert_int_equal(gpu_ns_of(&w, "r"), 10 * NS_PER_SEC);
    world_done(&w);
}

static void a_decision_by_other_claims_is_refused(void **state)
{
    const struct device d = device_whole("GPU-n1-0");
    const struct ledger_container main = {.name = "main", .devices = &d, .n_devices = 1};
    struct ledger_pod pod = {.name = "p",
                             .node = "n1",
                             .containers = &main,
                             .n_containers = 1,
                             .claims = "ready\ngpu r c-1 1 GPU-n1-0\n"};
    struct ledger_placement p = {.ns = "default", .workload = "p", .pods = &pod, .n_pods = 1};
    AUTO_FREE char *uid = NULL;
    struct world w;

    (void)state;
    setup(&w);
    add_claimant(&w, "p", "1 *");
    uid = uid_of(&w, "p");
    pod.uid = uid;
    p.now_ns = loop_wall_ns(w.loop);
    world_refused(ledger_bind(w.store, &p, NULL, NULL), 409,
                  "the claims of pod p have other devices now");
    pod.claims = "ready\ngpu r c-1 1 *\n";
    world_must(ledger_bind(w.store, &p, NULL, NULL));
    sim_loop_run(w.loop);
    world_must(ledger_check(w.store));
    world_done(&w);
}

/* A ledger object as it was before gpus were held in parts. */
static void an_older_holder_keeps_the_whole_gpu(void **state)
{
    static const struct member other = {"b", "n1", {"GPU-n1-0"}};
    static const struct member first = {"a", "n1", {"GPU-n1-0"}};
    AUTO_FREE char *uid = NULL;
    AUTO_FREE char *old = NULL;
    struct world w;

    (void)state;
    setup(&w);
    world_must(bind(&w, "a", &first, 1));
    uid = uid_of(&w, "a");
    old = mem_format(
        "{\"placement\":\"default/a\",\"pod\":\"default/a\",\"podUid\":\"%s\",\"node\":\"n1\"}",
        uid);
    world_must(put_raw(&w, "ledger", "", "GPU-n1-0", old));
    world_must(ledger_check(w.store));
    world_refused(bind(&w, "b", &other, 1), 409, "gpu GPU-n1-0 is held by pod default/a");
    world_must(world_patch(&w, STATUS("a"), "{'status':{'phase':'Succeeded'}}", NULL));
    assert_true(ledger_is_free(w.store, "GPU-n1-0"));
    world_done(&w);
}

static void a_binding_takes_free_healthy_gpus_by_index(void **state)
{
    struct world w;
    AUTO_FREE char *a = NULL;
    AUTO_FREE char *b = NULL;

    (void)state;
    world_init(&w, 1);
    world_must(world_create(
        &w, (struct target){.kind = "nodes", .who = &ours},
        "{'metadata':{'name':'n','annotations':{'mete.dev/gpus':"
        "'[{\\\"uuid\\\":\\\"G3\\\",\\\"index\\\":3,\\\"health\\\":\\\"healthy\\\"},"
        "{\\\"uuid\\\":\\\"G0\\\",\\\"index\\\":0,\\\"health\\\":\\\"unhealthy\\\"},"
        "{\\\"uuid\\\":\\\"G2\\\",\\\"index\\\":2,\\\"health\\\":\\\"healthy\\\"},"
        "{\\\"uuid\\\":\\\"G1\\\",\\\"index\\\":1,\\\"health\\\":\\\"healthy\\\"}]'}}}",
        NULL));
    world_must(
        world_create(&w, POD(NULL),
                     "{'metadata':{'name':'a'},'spec':{"
                     "'initContainers':[{'name':'i','image':'host','resources':{'limits':{'nvidia."
                     "com/gpu':1}}}],"
                     "'containers':["
                     "{'name':'one','image':'host','resources':{'limits':{'nvidia.com/gpu':1}}},"
                     "{'name':'two','image':'host','resources':{'limits':{'nvidia.com/gpu':1}}},"
                     "{'name':'none','image':'host'}]}}",
                     NULL));
    world_must(world_add_pod(&w, "default", "b", 2));
    world_must(world_bind(&w, "default", "a", "n"));
    a = devices_of(&w, "a");
    assert_string_equal(a, "{\"containers\":{\"i\":[\"G1\"],\"one\":[\"G1\"],\"two\":[\"G2\"]}}");
    world_refused(
        world_bind(&w, "default", "b", "n"), 409,
        "Operation cannot be fulfilled on pods \"b\": node \"n\" has 1 free healthy gpus, "
        "the pod asks for 2");
    b = devices_of(&w, "b");
    assert_string_equal(b, "");
    world_must(ledger_check(w.store));
    world_done(&w);
}

static void refuses_a_binding(void **state)
{
    static const struct {
        const char *pod;
        const char *text;
        int http;
        const char *message;
    } cases[] = {
        {"none", "{'target':{'name':'n1'}}", 404, "pods \"none\" not found"},
        {"a", "{'target':{'name':'n9'}}", 404, "nodes \"n9\" not found"},
        {"a", "{'target':{}}", 422, "Binding \"a\" is invalid: target.name: Required value"},
        {"a", "{'metadata':{'name':'b'},'target':{'name':'n1'}}", 400,
         "the name of the object (b) does not match the name on the URL (a)"},
        {"a", "{'target':{'kind':'Pod','name':'n1'}}", 422,
         "Binding \"a\" is invalid: target.kind: Unsupported value: \"Pod\": supported values: "
         "\"Node\", \"\""},
        {"b", "{'target':{'name':'n1'}}", 409,
         "Operation cannot be fulfilled on pods \"b\": pod b is already assigned to node \"n2\""},
    };
    struct world w;

    (void)state;
    setup(&w);
    world_must(world_bind(&w, "default", "b", "n2"));
    for (size_t i = 0; i < COUNT(cases); i++)
        world_refused(
            world_create(&w,
                         (struct target){
                             .kind = "pods", .name = cases[i].pod, .sub = "binding", .who = &root},
                         cases[i].text, NULL),
            cases[i].http, cases[i].message);
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gang_is_bound_in_one_transaction),
        cmocka_unit_test(refuses_to_bind_and_changes_nothing),
        cmocka_unit_test(a_placement_shrinks_with_its_pods_and_goes_with_the_last),
        cmocka_unit_test(what_is_free_again_is_given_again),
        cmocka_unit_test(a_pod_that_ended_does_not_free_what_another_holds_now),
        cmocka_unit_test(the_check_finds_what_is_wrong),
        cmocka_unit_test(parts_of_a_gpu_are_held_beside_each_other),
        cmocka_unit_test(a_row_says_which_part_of_a_gpu_was_held),
        cmocka_unit_test(a_device_of_a_claim_counts_for_one_pod_at_a_time),
        cmocka_unit_test(a_decision_by_other_claims_is_refused),
        cmocka_unit_test(an_older_holder_keeps_the_whole_gpu),
        cmocka_unit_test(a_binding_takes_free_healthy_gpus_by_index),
        cmocka_unit_test(refuses_a_binding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
