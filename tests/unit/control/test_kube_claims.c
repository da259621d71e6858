/* test_kube_claims.c - ResourceClaims of pods that the scheduler places over a model of a
 * kube-apiserver */

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "control/kube/kube_instance.h"
#include "kinds/pod/pod_claims.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "kube_server.h"
#include "sim_loop.h"
#include "test.h"

/* Texts with ' for " are JSON, so these strings have \\". */
#define FACTS "device.attributes[\\\"gpu.nvidia.com\\\"]"

struct claims_world {
    struct loop *loop;
    struct kube_server *server;
    struct client *client;
    struct kube_instance *instance;
    const char *refused; /* a pod that is deleted once its claim has devices */
    int n_writes;        /* of claims, by the scheduler */
};

static struct err *on_works(void *arg, struct cluster *c, struct control_scheduler *s)
{
    (void)arg;
    (void)c;
    (void)s;
    return NULL;
}

static void on_rests(void *arg)
{
    (void)arg;
}

static void on_failed(void *arg, struct err *e)
{
    (void)arg;
    fail_msg("%s", err_message(e));
}

static const json_t *get(const struct claims_world *w, const char *plural, const char *name)
{
    return kube_server_get(w->server, plural,
                           text_equal(plural, "nodes") || text_equal(plural, "resourceslices") ||
                                   text_equal(plural, "deviceclasses")
                               ? ""
                               : "default",
                           name);
}

static const json_t *allocation(const struct claims_world *w, const char *claim)
{
    return json_at(get(w, "resourceclaims", claim), "status", "allocation", NULL);
}

/* The devices of a claim: "gpu-0,gpu-1"; "" for none. The caller frees the text. */
static char *devices_of(const struct claims_world *w, const char *claim)
{
    const json_t *results = json_at(allocation(w, claim), "devices", "results", NULL);
    struct buf text = {0};

    buf_add_text(&text, "");
    for (size_t i = 0; i < json_array_size(results); i++)
        buf_printf(&text, "%s%s", i > 0 ? "," : "",
                   json_text(json_array_get(results, i), "device"));
    return buf_steal(&text);
}

/* The same of its pods, in their order. */
static char *users_of(const struct claims_world *w, const char *claim)
{
    const json_t *users = json_at(get(w, "resourceclaims", claim), "status", "reservedFor", NULL);
    struct buf text = {0};

    buf_add_text(&text, "");
    for (size_t i = 0; i < json_array_size(users); i++)
        buf_printf(&text, "%s%s", i > 0 ? "," : "", json_text(json_array_get(users, i), "name"));
    return buf_steal(&text);
}

static const char *node_of(const struct claims_world *w, const char *pod)
{
    return pod_node(get(w, "pods", pod));
}

static const char *reason_of(const struct claims_world *w, const char *pod)
{
    return text_or_empty(
        json_text(object_condition(get(w, "pods", pod), "PodScheduled"), "message"));
}

static void check_binding(const struct claims_world *w, const json_t *pod)
{
    const json_t *entries = json_at(pod, "spec", "resourceClaims", NULL);

    for (size_t i = 0; i < json_array_size(entries); i++) {
        const char *claim = json_text(json_array_get(entries, i), "resourceClaimName");

        if (claim)
            assert_non_null(allocation(w, claim)); /* before the binding */
    }
}

static void on_changed(void *arg, int who, const char *plural, const json_t *before,
                       const json_t *after)
{
    struct claims_world *w = arg;

    if (who >= 0 && text_equal(plural, "pods") && after && *pod_node(after) && !*pod_node(before))
        check_binding(w, after);
    if (who < 0 || !text_equal(plural, "resourceclaims"))
        return;
    w->n_writes++;
    if (w->refused && json_at(after, "status", "allocation", NULL) && get(w, "pods", w->refused))
        kube_server_remove(w->server, "pods", get(w, "pods", w->refused));
}

static void put_class(struct claims_world *w, const char *name, const char *expression)
{
    AUTO_FREE char *text = mem_format(
        "{'apiVersion':'resource.k8s.io/v1','kind':'DeviceClass','metadata':{'name':'%s'},"
        "'spec':{'selectors':[{'cel':{'expression':'%s'}}]}}",
        name, expression);

    kube_server_put(w->server, "deviceclasses", text);
}

static void put_node(struct claims_world *w, const char *name)
{
    AUTO_FREE char *text =
        mem_format("{'apiVersion':'v1','kind':'Node','metadata':{'name':'%s'},'status':{"
                   "'allocatable':{'cpu':'64','memory':'256Gi','pods':'100'},"
                   "'conditions':[{'type':'Ready','status':'True'}]}}",
                   name);

    kube_server_put(w->server, "nodes", text);
}

/* The slice of a node with `n` gpus; `more` is added to each device. */
static void put_slice(struct claims_world *w, const char *node, int n, const char *more)
{
    struct buf text = {0};

    buf_printf(&text,
               "{'apiVersion':'resource.k8s.io/v1','kind':'ResourceSlice','metadata':{'name':"
               "'%s-gpus'},'spec':{'driver':'gpu.nvidia.com','nodeName':'%s','pool':{'name':"
               "'pool-of-%s','generation':1,'resourceSliceCount':1},'devices':[",
               node, node, node);
    for (int i = 0; i < n; i++)
        buf_printf(&text,
                   "%s{'name':'gpu-%d','attributes':{'type':{'string':'gpu'},'uuid':{'string':"
                   "'GPU-%s-%d'},'index':{'int':%d},'productName':{'string':'NVIDIA H100 80GB "
                   "HBM3'}},'capacity':{'memory':{'value':'80Gi'}}%s}",
                   i > 0 ? "," : "", i, node, i, i, more);
    buf_add_text(&text, "]}}");
    kube_server_put(w->server, "resourceslices", text.at);
    buf_done(&text);
}

/* A claim with one request, `ask` its members after the class. */
static void put_claim(struct claims_world *w, const char *name, const char *ask)
{
    AUTO_FREE char *text = mem_format(
        "{'apiVersion':'resource.k8s.io/v1','kind':'ResourceClaim','metadata':{'namespace':"
        "'default','name':'%s'},'spec':{'devices':{'requests':[{'name':'gpu','exactly':{"
        "'deviceClassName':'gpu.nvidia.com'%s}}]}}}",
        name, ask);

    kube_server_put(w->server, "resourceclaims", text);
}

/* A pod with a claim; `source`: 'resourceClaimName':'one'. */
static void put_pod(struct claims_world *w, const char *name, const char *source)
{
    AUTO_FREE char *text = mem_format(
        "{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'default','name':'%s'},'spec':{"
        "'schedulerName':'mete','resourceClaims':[{'name':'c',%s}],'containers':[{'name':'main',"
        "'image':'x','resources':{'claims':[{'name':'c'}]}}]},'status':{'phase':'Pending'}}",
        name, source);

    kube_server_put(w->server, "pods", text);
}

/* Long enough for a changed reason: these are written each minute at most. */
static void wait_some(struct claims_world *w)
{
    sim_loop_advance(w->loop, 90 * NS_PER_SEC);
}

static void scheduler_begin(struct claims_world *w)
{
    w->client = kube_client_new(w->server, 0);
    w->instance = kube_instance_new(&(struct kube_instance_options){.loop = w->loop,
                                                                    .client = w->client,
                                                                    .scheduler_names = "mete",
                                                                    .foreign = KUBE_FOREIGN_READ,
                                                                    .works = on_works,
                                                                    .rests = on_rests,
                                                                    .failed = on_failed,
                                                                    .arg = w});
    wait_some(w);
}

static void scheduler_end(struct claims_world *w)
{
    kube_instance_free(TAKE(w->instance));
    kube_client_end(TAKE(w->client));
}

/* One node with two gpus for claims. */
static void world_init(struct claims_world *w)
{
    *w = (struct claims_world){.loop = sim_loop_new()};
    w->server = kube_server_new(
        &(struct kube_server_options){.loop = w->loop, .seed = 7, .changed = on_changed, .arg = w});
    put_class(w, "gpu.nvidia.com", FACTS ".type == \\\"gpu\\\"");
    put_node(w, "n1");
    put_slice(w, "n1", 2, "");
    scheduler_begin(w);
}

static void world_done(struct claims_world *w)
{
    scheduler_end(w);
    kube_server_free(w->server);
    sim_loop_free(w->loop);
}

static void check_devices(const struct claims_world *w, const char *claim, const char *devices,
                          const char *users)
{
    AUTO_FREE char *has = devices_of(w, claim);
    AUTO_FREE char *pods = users_of(w, claim);

    assert_string_equal(has, devices);
    assert_string_equal(pods, users);
}

static void check_request(const struct claims_world *w, const char *claim, const char *request)
{
    const json_t *results = json_at(allocation(w, claim), "devices", "results", NULL);

    assert_true(json_array_size(results) > 0);
    assert_string_equal(json_text(json_array_get(results, 0), "request"), request);
}

/* ---- tests ---- */

static void a_claim_gets_its_device_and_then_its_pod_a_node(void **state)
{
    struct claims_world w;
    const json_t *one;
    const json_t *pod;

    (void)state;
    world_init(&w);
    put_claim(&w, "one", "");
    put_pod(&w, "p", "'resourceClaimName':'one'");
    wait_some(&w);
    assert_string_equal(node_of(&w, "p"), "n1");
    check_devices(&w, "one", "gpu-0", "p");
    one = json_array_get(json_at(allocation(&w, "one"), "devices", "results", NULL), 0);
    assert_string_equal(json_text(one, "request"), "gpu");
    assert_string_equal(json_text(one, "driver"), "gpu.nvidia.com");
    assert_string_equal(json_text(one, "pool"), "pool-of-n1");
    assert_string_equal(
        json_string_value(json_array_get(
            json_at(get(&w, "resourceclaims", "one"), "metadata", "finalizers", NULL), 0)),
        "resource.kubernetes.io/delete-protection");
    pod = get(&w, "pods", "p");
    assert_string_equal(json_text_at(pod, "metadata", "annotations", POD_DEVICES, NULL),
                        "{\"containers\":{\"main\":[\"GPU-n1-0\"]}}");
    assert_int_equal(w.n_writes, 2); /* its finalizer, its status */
    world_done(&w);
}

static void pods_wait_for_devices_and_say_so(void **state)
{
    struct claims_world w;

    (void)state;
    world_init(&w);
    put_claim(&w, "both", ",'count':2");
    put_claim(&w, "three", ",'count':3");
    put_claim(&w, "late", "");
    put_pod(&w, "p", "'resourceClaimName':'both'");
    put_pod(&w, "q", "'resourceClaimName':'three'");
    put_pod(&w, "r", "'resourceClaimName':'missing'");
    wait_some(&w);
    put_pod(&w, "s", "'resourceClaimName':'late'");
    wait_some(&w);
    check_devices(&w, "both", "gpu-0,gpu-1", "p");
    assert_string_equal(reason_of(&w, "q"), "request gpu of ResourceClaim three: asks for 3 "
                                            "devices, 2 of class gpu.nvidia.com match");
    assert_string_equal(reason_of(&w, "r"), "there is no ResourceClaim missing");
    assert_string_equal(node_of(&w, "s"), "");
    assert_string_equal(reason_of(&w, "s"), "needs 1 H100 (CLAIMS); none of 2 is free");
    world_done(&w);
}

static void a_pod_that_goes_gives_its_devices_back(void **state)
{
    struct claims_world w;

    (void)state;
    world_init(&w);
    w.refused = "p";
    put_claim(&w, "both", ",'count':2");
    put_claim(&w, "next", "");
    put_pod(&w, "p", "'resourceClaimName':'both'");
    wait_some(&w);
    assert_null(get(&w, "pods", "p"));
    check_devices(&w, "both", "", "");
    put_pod(&w, "q", "'resourceClaimName':'next'");
    wait_some(&w);
    assert_string_equal(node_of(&w, "q"), "n1");
    world_done(&w);
}

static void pods_that_name_one_claim_go_where_its_devices_are(void **state)
{
    struct claims_world w;

    (void)state;
    world_init(&w);
    put_claim(&w, "one", "");
    put_pod(&w, "p", "'resourceClaimName':'one'");
    put_pod(&w, "q", "'resourceClaimName':'one'");
    wait_some(&w);
    put_node(&w, "n2");
    put_slice(&w, "n2", 2, "");
    put_pod(&w, "r", "'resourceClaimName':'one'");
    wait_some(&w);
    check_devices(&w, "one", "gpu-0", "p,q,r");
    assert_string_equal(node_of(&w, "q"), "n1");
    assert_string_equal(node_of(&w, "r"), "n1");
    scheduler_end(&w);
    scheduler_begin(&w); /* what claims have is known from the server */
    put_claim(&w, "two", ",'count':2");
    put_pod(&w, "s", "'resourceClaimName':'two'");
    wait_some(&w);
    assert_string_equal(node_of(&w, "s"), "n2");
    world_done(&w);
}

static void devices_of_other_schedulers_claims_are_not_given(void **state)
{
    struct claims_world w;

    (void)state;
    world_init(&w);
    put_claim(&w, "theirs", "");
    kube_server_patch(w.server, "resourceclaims", get(&w, "resourceclaims", "theirs"),
                      "{'status':{'allocation':{'devices':{'results':[{'request':'gpu','driver':"
                      "'gpu.nvidia.com','pool':'pool-of-n1','device':'gpu-0'}]}}}}");
    put_claim(&w, "ours", "");
    put_claim(&w, "more", "");
    put_pod(&w, "p", "'resourceClaimName':'ours'");
    wait_some(&w);
    put_pod(&w, "q", "'resourceClaimName':'more'");
    wait_some(&w);
    check_devices(&w, "ours", "gpu-1", "p");
    check_devices(&w, "more", "", "");
    kube_server_patch(w.server, "resourceclaims", get(&w, "resourceclaims", "theirs"),
                      "{'status':{'allocation':null}}");
    wait_some(&w);
    check_devices(&w, "more", "gpu-0", "q");
    world_done(&w);
}

static void of_several_ways_the_first_open_one_is_taken(void **state)
{
    struct claims_world w;

    (void)state;
    world_init(&w);
    put_node(&w, "n2");
    put_slice(&w, "n2", 1, "");
    kube_server_put(
        w.server, "resourceclaims",
        "{'apiVersion':'resource.k8s.io/v1','kind':'ResourceClaim','metadata':{'namespace':"
        "'default','name':'some'},'spec':{'devices':{'requests':[{'name':'gpu','firstAvailable':["
        "{'name':'three','deviceClassName':'gpu.nvidia.com','count':3},"
        "{'name':'two','deviceClassName':'gpu.nvidia.com','count':2},"
        "{'name':'one','deviceClassName':'gpu.nvidia.com','count':1}]}]}}}");
    put_claim(&w, "all", ",'allocationMode':'All'");
    put_claim(&w, "seen", ",'allocationMode':'All','adminAccess':true");
    put_claim(&w, "first", "");
    put_pod(&w, "p", "'resourceClaimName':'first'");
    wait_some(&w);
    put_pod(&w, "q", "'resourceClaimName':'all'");
    wait_some(&w);
    assert_string_not_equal(node_of(&w, "p"), node_of(&w, "q")); /* on the node that is free */
    put_pod(&w, "r", "'resourceClaimName':'seen'");
    put_pod(&w, "s", "'resourceClaimName':'some'");
    wait_some(&w);
    assert_string_equal(node_of(&w, "r"), "n1");
    check_devices(&w, "seen", "gpu-0,gpu-1", "r");
    kube_server_remove(w.server, "pods", get(&w, "pods", "q"));
    kube_server_patch(w.server, "resourceclaims", get(&w, "resourceclaims", "all"),
                      "{'status':null}");
    wait_some(&w);
    check_request(&w, "some", text_equal(node_of(&w, "s"), "n1") ? "gpu/two" : "gpu/one");
    world_done(&w);
}

/* Two instances of one gpu, in the place of the node's gpus. */
static void put_instances(struct claims_world *w)
{
    struct buf text = {0};

    buf_add_text(&text,
                 "{'apiVersion':'resource.k8s.io/v1','kind':'ResourceSlice','metadata':{'name':"
                 "'n1-gpus'},'spec':{'driver':'gpu.nvidia.com','nodeName':'n1','pool':{'name':"
                 "'pool-of-n1','generation':2,'resourceSliceCount':1},'devices':[");
    for (int i = 0; i < 2; i++)
        buf_printf(&text,
                   "%s{'name':'mig-%d','attributes':{'type':{'string':'mig'},'uuid':{'string':"
                   "'MIG-%d'},'profile':{'string':'3g.40gb'},'parentUUID':{'string':'GPU-x'},"
                   "'parentIndex':{'int':0},'start':{'int':%d},'productName':{'string':"
                   "'NVIDIA H100 80GB HBM3'}},'capacity':{'memory':{'value':'40Gi'}}}",
                   i > 0 ? "," : "", i, i, i * 4);
    buf_add_text(&text, "]}}");
    kube_server_put(w->server, "resourceslices", text.at);
    buf_done(&text);
}

static void mig_instances_are_given_one_by_one(void **state)
{
    struct claims_world w;

    (void)state;
    world_init(&w);
    put_instances(&w);
    put_class(&w, "gpu.nvidia.com", FACTS ".type == \\\"mig\\\"");
    put_claim(&w, "one", "");
    put_claim(&w, "two", "");
    put_claim(&w, "three", "");
    put_pod(&w, "p", "'resourceClaimName':'one'");
    wait_some(&w);
    put_pod(&w, "q", "'resourceClaimName':'two'");
    wait_some(&w);
    scheduler_end(&w);
    scheduler_begin(&w);
    put_pod(&w, "r", "'resourceClaimName':'three'");
    wait_some(&w);
    check_devices(&w, "one", "mig-0", "p");
    check_devices(&w, "two", "mig-1", "q");
    check_devices(&w, "three", "", "");
    assert_string_equal(
        json_text_at(get(&w, "pods", "q"), "metadata", "annotations", POD_DEVICES, NULL),
        "{\"containers\":{\"main\":[\"GPU-x/slice:3g.40gb@4,MIG-1\"]}}");
    kube_server_remove(w.server, "pods", get(&w, "pods", "p"));
    kube_server_remove(w.server, "resourceclaims", get(&w, "resourceclaims", "one"));
    wait_some(&w);
    check_devices(&w, "three", "mig-0", "r");
    world_done(&w);
}

static void claims_of_templates_are_found_by_the_pods_status(void **state)
{
    struct claims_world w;
    AUTO_FREE char *owner = NULL;

    (void)state;
    world_init(&w);
    put_pod(&w, "p", "'resourceClaimTemplateName':'t'");
    wait_some(&w);
    assert_string_equal(reason_of(&w, "p"), "waits until the ResourceClaim of template t is made");
    put_claim(&w, "p-c-x7", "");
    kube_server_patch(w.server, "pods", get(&w, "pods", "p"),
                      "{'status':{'resourceClaimStatuses':[{'name':'c','resourceClaimName':"
                      "'p-c-x7'}]}}");
    wait_some(&w);
    assert_string_equal(reason_of(&w, "p"), "ResourceClaim p-c-x7 was not made for this pod");
    owner = mem_format("{'metadata':{'ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'p',"
                       "'uid':'%s','controller':true}]}}",
                       json_text_at(get(&w, "pods", "p"), "metadata", "uid", NULL));
    kube_server_patch(w.server, "resourceclaims", get(&w, "resourceclaims", "p-c-x7"), owner);
    wait_some(&w);
    check_devices(&w, "p-c-x7", "gpu-0", "p");
    world_done(&w);
}

static void gpus_for_claims_are_for_claims_only(void **state)
{
    struct claims_world w;

    (void)state;
    world_init(&w);
    kube_server_put(w.server, "pods",
                    "{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'default','name':'p'}"
                    ",'spec':{'schedulerName':'mete','containers':[{'name':'main','image':'x',"
                    "'resources':{'limits':{'nvidia.com/gpu':'1'}}}]},'status':{'phase':"
                    "'Pending'}}");
    wait_some(&w);
    assert_string_equal(node_of(&w, "p"), "");
    world_done(&w);
}

static void devices_that_cannot_be_counted_are_not_offered(void **state)
{
    static const char *const more[] = {
        ",'allowMultipleAllocations':true",
        ",'consumesCounters':[{'counterSet':'s','counters':{}}]",
        ",'bindingConditions':['ready']",
        ",'taints':[{'key':'k','effect':'NoSchedule'}]",
    };
    struct claims_world w;

    (void)state;
    world_init(&w);
    put_claim(&w, "one", "");
    put_pod(&w, "p", "'resourceClaimName':'late'");
    wait_some(&w);
    for (size_t i = 0; i < COUNT(more); i++) {
        put_slice(&w, "n1", 2, more[i]);
        put_claim(&w, "late", "");
        wait_some(&w);
        assert_string_equal(node_of(&w, "p"), "");
        assert_string_equal(reason_of(&w, "p"), "request gpu of ResourceClaim late: no device of "
                                                "class gpu.nvidia.com matches");
    }
    put_slice(&w, "n1", 2, "");
    wait_some(&w);
    assert_string_equal(node_of(&w, "p"), "n1");
    world_done(&w);
}

static void what_is_not_implemented_is_refused_by_name(void **state)
{
    struct claims_world w;

    (void)state;
    world_init(&w);
    put_claim(&w, "amount", ",'capacity':{'requests':{'memory':'1Gi'}}");
    put_claim(&w, "other", "");
    put_claim(&w, "apart", "");
    kube_server_patch(w.server, "resourceclaims", get(&w, "resourceclaims", "apart"),
                      "{'spec':{'devices':{'constraints':[{'distinctAttribute':'x/y'}]}}}");
    put_pod(&w, "p", "'resourceClaimName':'amount'");
    put_pod(&w, "q", "'resourceClaimName':'other'},{'name':'d','resourceClaimName':'apart'");
    put_pod(&w, "r", "'resourceClaimName':'apart'");
    put_pod(&w, "s", "'resourceClaimName':'other'},{'name':'d','resourceClaimName':'other'");
    put_claim(&w, "unnamed", "");
    kube_server_put(w.server, "pods",
                    "{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'default','name':'t'}"
                    ",'spec':{'schedulerName':'mete','resourceClaims':[{'name':'c',"
                    "'resourceClaimName':'unnamed'}],'containers':[{'name':'main','image':'x'}]},"
                    "'status':{'phase':'Pending'}}");
    wait_some(&w);
    assert_string_equal(reason_of(&w, "p"),
                        "request gpu of ResourceClaim amount: capacity: not implemented yet");
    assert_string_equal(reason_of(&w, "q"), "ResourceClaim apart: a constraint without "
                                            "matchAttribute: not implemented yet");
    assert_string_equal(reason_of(&w, "r"), reason_of(&w, "q"));
    assert_string_equal(reason_of(&w, "s"),
                        "the pod names ResourceClaim other twice: not implemented yet");
    assert_string_equal(reason_of(&w, "t"),
                        "request gpu of ResourceClaim unnamed: no container names it in "
                        "resources.claims: not implemented yet");
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_gets_its_device_and_then_its_pod_a_node),
        cmocka_unit_test(pods_wait_for_devices_and_say_so),
        cmocka_unit_test(a_pod_that_goes_gives_its_devices_back),
        cmocka_unit_test(pods_that_name_one_claim_go_where_its_devices_are),
        cmocka_unit_test(devices_of_other_schedulers_claims_are_not_given),
        cmocka_unit_test(of_several_ways_the_first_open_one_is_taken),
        cmocka_unit_test(mig_instances_are_given_one_by_one),
        cmocka_unit_test(claims_of_templates_are_found_by_the_pods_status),
        cmocka_unit_test(gpus_for_claims_are_for_claims_only),
        cmocka_unit_test(devices_that_cannot_be_counted_are_not_offered),
        cmocka_unit_test(what_is_not_implemented_is_refused_by_name),
    };

    log_setup("test", LOG_ERROR, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
