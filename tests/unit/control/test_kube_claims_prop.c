/*
 * test_kube_claims_prop.c - pods with ResourceClaims over a model of a kube-apiserver, at random
 *
 * Requests and answers are lost or late, watches are cut, the server is away, the scheduler is
 * killed, users delete pods, another scheduler allocates claims, pods share claims. A model of
 * kube-controller-manager takes ended pods out of claims, and devices from claims without users. At
 * each write of the scheduler: it gives no device to two claims, binds no pod before its claims
 * have devices on its node and the pod as a user, never changes devices that a claim has, and takes
 * none from a claim that a bound pod uses. Once the faults are over every pod starts and ends, and
 * no claim has devices.
 */

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "control/kube/kube_instance.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "kube_server.h"
#include "prop.h"
#include "sim_loop.h"
#include "test.h"

/* The longest that the scheduler does not hear of another scheduler's write. */
#define LATE_NS (180 * NS_PER_SEC)

enum {
    CASES = 100,
    STEPS = 40,
    NODES = 2,
    GPUS_EACH = 3,
    PODS_MAX = 16,
    ROUNDS = 60
};

struct claims_prop {
    uint64_t seed;
    struct prop p;
    struct loop *loop;
    struct kube_server *server;
    struct client *client;
    struct kube_instance *instance; /* NULL: killed */
    int64_t killed_ns;              /* monotonic */
    int n_pods;
    bool is_patient; /* pods run on */
};

/* ---- what must hold at each write ---- */

static const json_t *results_of(const json_t *claim)
{
    return json_at(claim, "status", "allocation", "devices", "results", NULL);
}

static const char *uid_of(const json_t *object)
{
    return json_text_at(object, "metadata", "uid", NULL);
}

static bool is_live(const json_t *pod)
{
    return *pod_node(pod) && !pod_is_terminal(pod);
}

static bool is_user(const json_t *claim, const json_t *pod)
{
    const json_t *users = json_at(claim, "status", "reservedFor", NULL);

    for (size_t i = 0; i < json_array_size(users); i++)
        if (text_equal(json_text(json_array_get(users, i), "uid"), uid_of(pod)))
            return true;
    return false;
}

struct claim_look {
    struct claims_prop *w;
    const json_t *claim;
    size_t n;
};

/* A claim of another scheduler has the label "since". */
static bool is_late(struct claims_prop *w, const json_t *claim)
{
    const char *since = json_text_at(claim, "metadata", "labels", "since", NULL);

    return since && stamp_or(since, 0) > kube_server_now_ns(w->server) - LATE_NS;
}

static void check_disjoint(void *arg, const json_t *other)
{
    struct claim_look *l = arg;
    const json_t *own = results_of(l->claim);
    const json_t *theirs = results_of(other);

    if (text_equal(uid_of(other), uid_of(l->claim)) || is_late(l->w, other))
        return;
    for (size_t i = 0; i < json_array_size(own); i++)
        for (size_t k = 0; k < json_array_size(theirs); k++)
            CHECK(l->w, !text_equal(json_text(json_array_get(own, i), "device"),
                                    json_text(json_array_get(theirs, k), "device")));
}

static void count_bound_users(void *arg, const json_t *pod)
{
    struct claim_look *l = arg;

    l->n += is_live(pod) && is_user(l->claim, pod);
}

static void check_claim(struct claims_prop *w, const json_t *before, const json_t *after)
{
    struct claim_look l = {.w = w, .claim = after};

    if (!results_of(after)) {
        l.claim = before;
        kube_server_each(w->server, "pods", count_bound_users, &l);
        CHECK(w, !results_of(before) || l.n == 0);
        return;
    }
    CHECK(w, !results_of(before) || json_equal(results_of(before), results_of(after)));
    if (!results_of(before))
        kube_server_each(w->server, "resourceclaims", check_disjoint, &l);
}

static void check_binding(struct claims_prop *w, const json_t *pod)
{
    const char *name = json_text(json_array_get(json_at(pod, "spec", "resourceClaims", NULL), 0),
                                 "resourceClaimName");
    const json_t *claim = kube_server_get(w->server, "resourceclaims", "default", name);
    const json_t *one = json_array_get(results_of(claim), 0);

    CHECK(w, one && is_user(claim, pod));
    CHECK(w, text_equal(json_text(one, "pool"), pod_node(pod)));
}

static void on_changed(void *arg, int who, const char *plural, const json_t *before,
                       const json_t *after)
{
    struct claims_prop *w = arg;

    if (who < 0)
        return;
    if (text_equal(plural, "resourceclaims"))
        check_claim(w, before, after);
    if (text_equal(plural, "pods") && after && *pod_node(after) && !*pod_node(before))
        check_binding(w, after);
}

/* ---- the scheduler ---- */

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

static void scheduler_begin(struct claims_prop *w)
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
}

static void scheduler_kill(struct claims_prop *w)
{
    if (!w->instance)
        return;
    kube_instance_free(TAKE(w->instance));
    kube_client_end(TAKE(w->client));
    w->killed_ns = loop_now_ns(w->loop);
}

/* The next one begins when no request of the last one can arrive, as with a Lease. */
static void scheduler_revive(struct claims_prop *w)
{
    if (!w->instance && loop_now_ns(w->loop) - w->killed_ns > 10 * NS_PER_SEC)
        scheduler_begin(w);
}

/* ---- the rest of the cluster ---- */

static void add_node(struct claims_prop *w, int n)
{
    struct buf text = {0};

    buf_printf(&text,
               "{'metadata':{'name':'n%d'},'status':{'allocatable':{'cpu':'64','memory':'9Gi',"
               "'pods':'100'},'conditions':[{'type':'Ready','status':'True'}]}}",
               n);
    kube_server_put(w->server, "nodes", text.at);
    buf_clear(&text);
    buf_printf(&text,
               "{'metadata':{'name':'s%d'},'spec':{'driver':'gpu.nvidia.com','nodeName':'n%d',"
               "'pool':{'name':'n%d','generation':1,'resourceSliceCount':1},'devices':[",
               n, n, n);
    for (int i = 0; i < GPUS_EACH; i++)
        buf_printf(&text,
                   "%s{'name':'gpu-%d-%d','attributes':{'type':{'string':'gpu'},'uuid':{'string':"
                   "'GPU-%d-%d'}}}",
                   i > 0 ? "," : "", n, i, n, i);
    buf_add_text(&text, "]}}");
    kube_server_put(w->server, "resourceslices", text.at);
    buf_done(&text);
}

static void add_claim(struct claims_prop *w, const char *name, size_t count)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'namespace':'default','name':'%s','labels':{}},'spec':{'devices':{"
                   "'requests':[{'name':'gpu','exactly':{'deviceClassName':'gpu','count':%zu}}]}}}",
                   name, count);

    kube_server_put(w->server, "resourceclaims", text);
}

/* A pod with a claim of its own, or with that of an earlier pod. */
static void add_pod(struct claims_prop *w)
{
    int i = w->n_pods++;
    int of = i > 0 && prop_chance(&w->p, 30) ? (int)prop_below(&w->p, (size_t)i) : i;
    AUTO_FREE char *claim = mem_format("c%d", of);
    AUTO_FREE char *text = mem_format(
        "{'metadata':{'namespace':'default','name':'p%d'},'spec':{'schedulerName':'mete',"
        "'resourceClaims':[{'name':'c','resourceClaimName':'%s'}],'containers':[{'name':'main',"
        "'resources':{'claims':[{'name':'c'}]}}]},'status':{'phase':'Pending'}}",
        i, claim);

    if (of == i || !kube_server_get(w->server, "resourceclaims", "default", claim))
        add_claim(w, claim, 1 + prop_below(&w->p, GPUS_EACH));
    kube_server_put(w->server, "pods", text);
}

static void kubelet_act(void *arg, const json_t *pod)
{
    struct claims_prop *w = arg;

    if (!*pod_node(pod) || pod_is_terminal(pod))
        return;
    if (pod_is_deleting(pod))
        kube_server_remove(w->server, "pods", pod);
    else if (!w->is_patient && prop_chance(&w->p, 30))
        kube_server_patch(w->server, "pods", pod, "{'status':{'phase':'Succeeded'}}");
}

static void delete_one(void *arg, const json_t *pod)
{
    struct claims_prop *w = arg;

    if (!prop_chance(&w->p, 10) || pod_is_deleting(pod))
        return;
    if (*pod_node(pod))
        kube_server_patch(w->server, "pods", pod,
                          "{'metadata':{'deletionTimestamp':'2026-01-01T00:00:00Z'}}");
    else
        kube_server_remove(w->server, "pods", pod);
}

/* kube-controller-manager: users that are gone or have ended leave, and the last one's devices. */
static void tidy_claim(void *arg, const json_t *claim)
{
    struct claims_prop *w = arg;
    const json_t *users = json_at(claim, "status", "reservedFor", NULL);
    AUTO(json_freep) json_t *kept = json_array();
    AUTO_FREE char *list = NULL;
    AUTO_FREE char *patch = NULL;

    for (size_t i = 0; i < json_array_size(users); i++) {
        json_t *one = json_array_get(users, i);
        const json_t *pod = kube_server_get(w->server, "pods", "default", json_text(one, "name"));

        if (pod && text_equal(uid_of(pod), json_text(one, "uid")) && !pod_is_terminal(pod))
            (void)json_array_append(kept, one); /* an object */
    }
    if (json_array_size(users) == 0 || json_array_size(kept) == json_array_size(users))
        return;
    list = json_format(kept);
    patch = json_array_size(kept) > 0
                ? mem_format("{'status':{'reservedFor':%s}}", list)
                : mem_strdup("{'status':{'reservedFor':null,'allocation':null}}");
    kube_server_patch_merge(w->server, "resourceclaims", claim, patch);
}

static void tidy(struct claims_prop *w)
{
    kube_server_each(w->server, "resourceclaims", tidy_claim, w);
}

struct device_use {
    const char *device;
    bool is_used;
};

static void look_for_device(void *arg, const json_t *claim)
{
    struct device_use *u = arg;

    for (size_t i = 0; i < json_array_size(results_of(claim)); i++)
        u->is_used =
            u->is_used ||
            text_equal(json_text(json_array_get(results_of(claim), i), "device"), u->device);
}

/* Another scheduler, with a true picture of the cluster, gives a claim of its own a device. */
static void allocate_other(struct claims_prop *w)
{
    int n = (int)prop_below(&w->p, NODES);
    AUTO_FREE char *device = mem_format("gpu-%d-%d", n, (int)prop_below(&w->p, GPUS_EACH));
    struct device_use u = {.device = device};
    AUTO_FREE char *patch = NULL;
    char now[STAMP_TEXT_SIZE];

    kube_server_each(w->server, "resourceclaims", look_for_device, &u);
    if (u.is_used)
        return;
    stamp_format(kube_server_now_ns(w->server), now);
    patch = mem_format("{'metadata':{'labels':{'since':'%s'}},'status':{'allocation':{'devices':{"
                       "'results':[{'request':'gpu','driver':'gpu.nvidia.com','pool':'n%d',"
                       "'device':'%s'}]}}}}",
                       now, n, device);
    add_claim(w, "theirs", 1);
    kube_server_patch_merge(w->server, "resourceclaims",
                            kube_server_get(w->server, "resourceclaims", "default", "theirs"),
                            patch);
}

static void free_other(struct claims_prop *w)
{
    const json_t *claim = kube_server_get(w->server, "resourceclaims", "default", "theirs");

    if (claim)
        kube_server_remove(w->server, "resourceclaims", claim);
}

/* ---- steps ---- */

static void faults_draw(struct claims_prop *w)
{
    struct kube_faults *f = kube_server_faults(w->server);

    *f = (struct kube_faults){.lost_pct = (unsigned)prop_below(&w->p, 25),
                              .silent_pct = (unsigned)prop_below(&w->p, 25),
                              .busy_pct = (unsigned)prop_below(&w->p, 15),
                              .broken_pct = (unsigned)prop_below(&w->p, 15),
                              .cut_pct = (unsigned)prop_below(&w->p, 10),
                              .expired_pct = (unsigned)prop_below(&w->p, 10),
                              .slow_ns = 10 * NS_PER_MS};
    if (prop_chance(&w->p, 30))
        f->slow_ns = (int64_t)prop_below(&w->p, 8000) * NS_PER_MS;
}

static void be_gone(struct claims_prop *w)
{
    struct kube_faults *f = kube_server_faults(w->server);

    f->is_gone = true;
    kube_server_cut(w->server);
    sim_loop_advance(w->loop, (int64_t)prop_below(&w->p, 90) * NS_PER_SEC);
    f->is_gone = false;
}

static void fault(struct claims_prop *w)
{
    switch (prop_below(&w->p, 5)) {
    case 0:
        scheduler_kill(w);
        break;
    case 1:
        be_gone(w);
        break;
    case 2:
        kube_server_compact(w->server);
        kube_server_cut(w->server);
        break;
    default:
        faults_draw(w);
        break;
    }
}

static void step(struct claims_prop *w)
{
    switch (prop_below(&w->p, 9)) {
    case 0:
    case 1:
        fault(w);
        break;
    case 2:
    case 3:
    case 4:
        if (w->n_pods < PODS_MAX)
            add_pod(w);
        break;
    case 5:
        free_other(w);
        if (prop_chance(&w->p, 50))
            allocate_other(w);
        break;
    case 6:
        kube_server_each(w->server, "pods", delete_one, w);
        break;
    case 7:
        tidy(w);
        break;
    default:
        kube_server_each(w->server, "pods", kubelet_act, w);
        break;
    }
    scheduler_revive(w);
    sim_loop_advance(w->loop, (int64_t)prop_below(&w->p, 4000) * NS_PER_MS);
}

/* ---- a run ---- */

static void check_ended(void *arg, const json_t *pod)
{
    struct claims_prop *w = arg;

    if (!pod_is_terminal(pod))
        print_message("# %s waits: %s\n", json_text_at(pod, "metadata", "name", NULL),
                      text_or_empty(json_text(object_condition(pod, "PodScheduled"), "message")));
    CHECK(w, pod_is_terminal(pod));
}

static void check_free(void *arg, const json_t *claim)
{
    CHECK((struct claims_prop *)arg, !results_of(claim));
}

/* The faults are over: all pods start and end. */
static void end(struct claims_prop *w)
{
    *kube_server_faults(w->server) = (struct kube_faults){.slow_ns = 10 * NS_PER_MS};
    kube_server_cut(w->server);
    free_other(w);
    for (int i = 0; i < ROUNDS; i++) {
        sim_loop_advance(w->loop, 31 * NS_PER_SEC);
        scheduler_revive(w);
        kube_server_each(w->server, "pods", kubelet_act, w);
        tidy(w);
    }
    kube_server_each(w->server, "pods", check_ended, w);
    kube_server_each(w->server, "resourceclaims", check_free, w);
}

static void claims_and_pods_agree_whatever_fails(void **state)
{
    struct prop_seeds seeds = prop_seeds(CASES);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct claims_prop w = {.seed = seed, .p = {seed}, .loop = sim_loop_new()};

        w.server = kube_server_new(&(struct kube_server_options){
            .loop = w.loop, .seed = prop_next(&w.p), .changed = on_changed, .arg = &w});
        kube_server_faults(w.server)->slow_ns = 10 * NS_PER_MS;
        kube_server_put(w.server, "deviceclasses", "{'metadata':{'name':'gpu'},'spec':{}}");
        for (int i = 0; i < NODES; i++)
            add_node(&w, i);
        scheduler_begin(&w);
        for (int i = 0; i < STEPS; i++)
            step(&w);
        end(&w);
        scheduler_kill(&w);
        kube_server_free(w.server);
        sim_loop_free(w.loop);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_and_pods_agree_whatever_fails),
    };

    log_setup("test", getenv("METE_TEST_LOG") ? LOG_INFO : LOG_ERROR, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
