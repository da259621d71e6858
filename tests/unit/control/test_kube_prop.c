/*
 * test_kube_prop.c - two instances of the scheduler over a model of a kube-apiserver, at random
 *
 * Watches are cut and get 410, requests get 429 and 500, requests and answers are lost or late, the
 * server is away for a minute, instances are killed and stopped, the wall clock steps, another
 * scheduler binds into the same nodes, a node vanishes and comes back, users delete pods,
 * controllers make gangs' pods anew. At each change of the server: one instance leads at most, no
 * device is given to two pods by us, no limit of a queue is exceeded, and a pod that we delete was
 * preempted or is part of a gang. Once the faults are over: every gang was bound whole, or is
 * undone; no kubelet has to refuse a pod; each pod that can start does.
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

/* The longest that a leader does not hear of an end. */
#define LATE_NS (180 * NS_PER_SEC)

enum {
    CASES = 150,
    STEPS = 45,
    INSTANCES = 2,
    NODES = 3,
    GPUS_EACH = 4,
    GROUPS = 4,
    GROUP_PODS = 4,
    SINGLES = 20,
    LIMIT = 3, /* gpus of the queue "small" */
    ROUNDS = 80
};

struct candidate {
    struct kube_world *world;
    struct client *client;
    struct kube_instance *instance; /* NULL: killed */
    bool works;
    bool is_over;
};

/* A group of pods that a controller keeps: pods that failed or were deleted are made anew. */
struct gang {
    int min;
    int n_pods;
    bool was_whole;  /* since no pod of it was bound */
    int64_t lost_ns; /* when a user, a node or a kubelet last ended a bound pod of it */
};

struct kube_world {
    uint64_t seed;
    struct prop p;
    struct loop *loop;
    struct kube_server *server;
    struct candidate candidates[INSTANCES];
    bool is_node[NODES];
    struct gang gangs[GROUPS];
    int n_gangs;
    int n_singles;
    int n_others;
    const char *node; /* of the binding that is looked at */
    bool is_calm;     /* nothing has gone wrong for long */
    bool is_patient;  /* pods run on */
};

/* ---- what must hold at each change ---- */

static bool is_live(const json_t *pod)
{
    return *pod_node(pod) && !pod_is_terminal(pod);
}

static int64_t gpus_of(const json_t *pod)
{
    const char *text = json_text_at(pod, "metadata", "labels", "gpus", NULL);

    return text ? text[0] - '0' : 0;
}

static bool is_of(const json_t *pod, const char *queue)
{
    return text_equal(json_text_at(pod, "metadata", "labels", "mete.dev/queue", NULL), queue);
}

struct looking {
    struct kube_world *w;
    const json_t *pod;
    const char *device;
    const char *node;
    const char *bound;
    int64_t gpus;
    int n;
    int n_there;
};

static bool compare_device(void *arg, const char *container, const struct device *d)
{
    struct looking *l = arg;

    (void)container;
    l->n += text_equal(d->gpu, l->device);
    return true;
}

static void count_device(void *arg, const json_t *pod)
{
    if (is_live(pod))
        pod_each_device(pod, compare_device, arg);
}

/* The pods of a node, for a reader of the failure. */
static void tell_pod(void *arg, const json_t *pod)
{
    const struct looking *l = arg;

    if (text_equal(pod_node(pod), l->node))
        print_message(
            "# %s %s%s since %s: %s\n", json_text_at(pod, "metadata", "name", NULL),
            json_text_at(pod, "status", "phase", NULL), pod_is_deleting(pod) ? " deleting" : "",
            json_text(object_condition(pod, "PodScheduled"), "lastTransitionTime"),
            text_or_empty(json_text_at(pod, "metadata", "annotations", POD_DEVICES, NULL)));
}

static bool check_device(void *arg, const char *container, const struct device *d)
{
    struct looking l = {.w = arg, .device = d->gpu};

    (void)container;
    kube_server_each(l.w->server, "pods", count_device, &l);
    l.node = l.w->node;
    if (l.n != 1)
        kube_server_each(l.w->server, "pods", tell_pod, &l);
    CHECK(l.w, l.n == 1);
    return true;
}

static void add_limited(void *arg, const json_t *pod)
{
    struct looking *l = arg;

    if (is_live(pod) && is_of(pod, "small"))
        l->gpus += gpus_of(pod);
}

static void check_binding(struct kube_world *w, const json_t *pod)
{
    struct looking l = {.w = w};

    w->node = pod_node(pod);
    pod_each_device(pod, check_device, w);
    if (!is_of(pod, "small"))
        return;
    kube_server_each(w->server, "pods", add_limited, &l);
    CHECK(w, l.gpus <= LIMIT);
}

static int gang_of_pod(const json_t *pod)
{
    const char *group =
        json_text_at(pod, "metadata", "labels", "scheduling.x-k8s.io/pod-group", NULL);

    return group ? group[1] - '0' : -1;
}

static void check_deletion(struct kube_world *w, const json_t *before)
{
    const json_t *condition = object_condition(before, "DisruptionTarget");

    CHECK(w, condition || gang_of_pod(before) >= 0);
}

static void count_gang(void *arg, const json_t *pod)
{
    struct looking *l = arg;

    if (gang_of_pod(pod) == l->n && *pod_node(pod) && !pod_is_deleting(pod))
        l->n_there++;
}

static int gang_there(struct kube_world *w, int g)
{
    struct looking l = {.w = w, .n = g};

    kube_server_each(w->server, "pods", count_gang, &l);
    return l.n_there;
}

static void note_gang(struct kube_world *w, int g)
{
    int there = g >= 0 ? gang_there(w, g) : 0;

    if (g < 0)
        return;
    if (there >= w->gangs[g].min)
        w->gangs[g].was_whole = true;
    else if (there == 0)
        w->gangs[g].was_whole = false;
}

/* Others than we end a bound pod. */
static bool is_loss(const json_t *before, const json_t *after)
{
    return before && is_live(before) && !pod_is_deleting(before) &&
           (!after || pod_is_deleting(after) ||
            text_equal(json_text_at(after, "status", "phase", NULL), "Failed"));
}

static void on_changed(void *arg, int who, const char *plural, const json_t *before,
                       const json_t *after)
{
    struct kube_world *w = arg;

    if (!text_equal(plural, "pods"))
        return;
    if (who >= 0 && after && *pod_node(after) && !*pod_node(before))
        check_binding(w, after);
    if (who >= 0 && (!after || (pod_is_deleting(after) && !pod_is_deleting(before))))
        check_deletion(w, before);
    if (who < 0 && is_loss(before, after) && gang_of_pod(before) >= 0)
        w->gangs[gang_of_pod(before)].lost_ns = kube_server_now_ns(w->server);
    note_gang(w, gang_of_pod(before ? before : after));
}

/* ---- instances ---- */

static struct err *on_works(void *arg, struct cluster *c, struct control_scheduler *s)
{
    struct candidate *mine = arg;

    (void)c;
    (void)s;
    for (size_t i = 0; i < INSTANCES; i++)
        CHECK(mine->world, !mine->world->candidates[i].works);
    mine->works = true;
    return NULL;
}

static void on_rests(void *arg)
{
    ((struct candidate *)arg)->works = false;
}

static void on_failed(void *arg, struct err *e)
{
    struct candidate *c = arg;

    err_free(e);
    c->is_over = true;
}

static void on_stopped(void *arg)
{
    ((struct candidate *)arg)->is_over = true;
}

static void candidate_begin(struct kube_world *w, int i)
{
    struct candidate *c = &w->candidates[i];
    AUTO_FREE char *identity = mem_format("%d-%d", i, (int)prop_below(&w->p, 1000000));

    *c = (struct candidate){.world = w, .client = kube_client_new(w->server, i)};
    c->instance = kube_instance_new(&(struct kube_instance_options){.loop = w->loop,
                                                                    .client = c->client,
                                                                    .ns = "kube-system",
                                                                    .name = "mete-scheduler",
                                                                    .identity = identity,
                                                                    .scheduler_names = "mete",
                                                                    .foreign = KUBE_FOREIGN_READ,
                                                                    .works = on_works,
                                                                    .rests = on_rests,
                                                                    .failed = on_failed,
                                                                    .arg = c});
}

/* The end of the program. */
static void candidate_kill(struct candidate *c)
{
    kube_instance_free(TAKE(c->instance));
    if (c->client)
        kube_client_end(TAKE(c->client));
    c->is_over = true;
}

/* Supervisors start programs that have ended. */
static void revive(struct kube_world *w)
{
    for (int i = 0; i < INSTANCES; i++) {
        if (!w->candidates[i].is_over)
            continue;
        candidate_kill(&w->candidates[i]);
        candidate_begin(w, i);
    }
}

/* ---- the rest of the cluster ---- */

static void add_node(struct kube_world *w, int i)
{
    AUTO_FREE char *text =
        mem_format("{'apiVersion':'v1','kind':'Node','metadata':{'name':'n%d'},'status':{"
                   "'capacity':{'cpu':'64','memory':'256Gi','pods':'100','nvidia.com/gpu':'%d'},"
                   "'allocatable':{'cpu':'64','memory':'256Gi','pods':'100','nvidia.com/gpu':'%d'},"
                   "'conditions':[{'type':'Ready','status':'True'}]}}",
                   i, GPUS_EACH, GPUS_EACH);

    kube_server_put(w->server, "nodes", text);
    w->is_node[i] = true;
}

static void vanish(struct kube_world *w, int i)
{
    char name[] = {'n', (char)('0' + i), 0};

    kube_server_remove(w->server, "nodes", kube_server_get(w->server, "nodes", "", name));
    w->is_node[i] = false;
}

static void add_pod(struct kube_world *w, const char *name, const char *labels, int gpus,
                    const char *scheduler, const char *class)
{
    AUTO_FREE char *text = mem_format(
        "{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'default','name':'%s','labels':{"
        "%s'gpus':'%d'}},'spec':{'schedulerName':'%s',%s'restartPolicy':'Never','containers':[{"
        "'name':'main','image':'x','resources':{'limits':{'nvidia.com/gpu':'%d'},'requests':{"
        "'nvidia.com/gpu':'%d'}}}]},'status':{'phase':'Pending'}}",
        name, labels, gpus, scheduler, class, gpus, gpus);

    kube_server_put(w->server, "pods", text);
}

static void add_single(struct kube_world *w)
{
    static const char *const classes[] = {
        "", "", "'priorityClassName':'high','priority':1000,",
        "'priorityClassName':'polite','priority':1000,'preemptionPolicy':'Never',"};
    bool is_small = prop_chance(&w->p, 40);
    AUTO_FREE char *name = NULL;

    if (w->n_singles == SINGLES)
        return;
    name = mem_format("p%d", w->n_singles++);
    add_pod(w, name, is_small ? "'mete.dev/queue':'small'," : "", 1 + (int)prop_below(&w->p, 2),
            "mete", classes[prop_below(&w->p, COUNT(classes))]);
}

static void add_gang(struct kube_world *w)
{
    struct gang *g = &w->gangs[w->n_gangs];
    AUTO_FREE char *text = NULL;

    if (w->n_gangs == GROUPS)
        return;
    g->min = 2 + (int)prop_below(&w->p, GROUP_PODS - 1);
    g->n_pods = g->min + (int)prop_below(&w->p, (size_t)(GROUP_PODS - g->min + 1));
    text = mem_format("{'apiVersion':'scheduling.x-k8s.io/v1alpha1','kind':'PodGroup','metadata':{"
                      "'namespace':'default','name':'g%d'},'spec':{'minMember':%d}}",
                      w->n_gangs, g->min);
    kube_server_put(w->server, "podgroups", text);
    w->n_gangs++;
}

/* The controllers of gangs: pods that are missing or failed are made (anew). */
static void keep_gangs(struct kube_world *w)
{
    for (int g = 0; g < w->n_gangs; g++) {
        for (int i = 0; i < w->gangs[g].n_pods; i++) {
            AUTO_FREE char *name = mem_format("g%d-%d", g, i);
            AUTO_FREE char *labels = mem_format("'scheduling.x-k8s.io/pod-group':'g%d',", g);
            const json_t *pod = kube_server_get(w->server, "pods", "default", name);

            if (pod && text_equal(json_text_at(pod, "status", "phase", NULL), "Failed")) {
                kube_server_remove(w->server, "pods", pod);
                pod = NULL;
            }
            if (!pod)
                add_pod(w, name, labels, 1 + g % 2, "mete", "");
        }
    }
}

static void add_used(void *arg, const json_t *pod)
{
    struct looking *l = arg;

    if (pod != l->pod && is_live(pod) && text_equal(pod_node(pod), l->node) &&
        (!l->n || text_equal(json_text_at(pod, "status", "phase", NULL), "Running")))
        l->gpus += gpus_of(pod);
}

/* Gpus that pods have on a node; `is_admitted`: those that its kubelet has admitted. */
static int64_t used_on(struct kube_world *w, const char *node, const json_t *but, bool is_admitted)
{
    struct looking l = {.w = w, .pod = but, .node = node, .n = is_admitted};

    kube_server_each(w->server, "pods", add_used, &l);
    return l.gpus;
}

/* Another scheduler, with a true picture of the cluster. */
static void bind_other(struct kube_world *w)
{
    AUTO_FREE char *name = mem_format("o%d", w->n_others++);
    char node[] = {'n', (char)('0' + prop_below(&w->p, NODES)), 0};

    if (!w->is_node[node[1] - '0'] || used_on(w, node, NULL, false) >= GPUS_EACH)
        return;
    add_pod(w, name, "", 1, "default-scheduler", "");
    kube_server_bind(w->server, kube_server_get(w->server, "pods", "default", name), node);
}

static void kubelet_admit(struct kube_world *w, const json_t *pod)
{
    bool fits = used_on(w, pod_node(pod), pod, true) + gpus_of(pod) <= GPUS_EACH;

    CHECK(w, fits || !w->is_calm);
    kube_server_patch(w->server, "pods", pod,
                      fits ? "{'status':{'phase':'Running'}}"
                           : "{'status':{'phase':'Failed','reason':'OutOfnvidia.com/gpu'}}");
}

/* A kubelet, or the garbage collector of pods whose node is gone, looks at a pod. */
static void kubelet_act(void *arg, const json_t *pod)
{
    struct kube_world *w = arg;
    const char *phase = json_text_at(pod, "status", "phase", NULL);

    if (!*pod_node(pod))
        return;
    if (pod_is_deleting(pod) || !w->is_node[pod_node(pod)[1] - '0'])
        kube_server_remove(w->server, "pods", pod);
    else if (text_equal(phase, "Pending"))
        kubelet_admit(w, pod);
    else if (text_equal(phase, "Running") && !w->is_patient && prop_chance(&w->p, 25))
        kube_server_patch(w->server, "pods", pod, "{'status':{'phase':'Succeeded'}}");
}

static void kubelet_may_act(void *arg, const json_t *pod)
{
    struct kube_world *w = arg;

    if (prop_chance(&w->p, 40))
        kubelet_act(arg, pod);
}

static void delete_one(void *arg, const json_t *pod)
{
    struct kube_world *w = arg;

    if (!prop_chance(&w->p, 8) || pod_is_deleting(pod))
        return;
    if (*pod_node(pod))
        kube_server_patch(w->server, "pods", pod,
                          "{'metadata':{'deletionTimestamp':'2026-01-01T00:00:00Z'}}");
    else
        kube_server_remove(w->server, "pods", pod);
}

/* ---- faults ---- */

static void faults_draw(struct kube_world *w)
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

static void faults_end(struct kube_world *w)
{
    *kube_server_faults(w->server) = (struct kube_faults){.slow_ns = 10 * NS_PER_MS};
}

/* The server is away for up to a minute and a half. */
static void be_gone(struct kube_world *w)
{
    struct kube_faults *f = kube_server_faults(w->server);

    f->is_gone = true;
    kube_server_cut(w->server);
    sim_loop_advance(w->loop, (int64_t)prop_below(&w->p, 90) * NS_PER_SEC);
    if (prop_chance(&w->p, 50))
        kube_server_compact(w->server);
    f->is_gone = false;
}

static void toggle_node(struct kube_world *w)
{
    int i = (int)prop_below(&w->p, NODES);

    if (w->is_node[i] && i > 0)
        vanish(w, i);
    else if (!w->is_node[i])
        add_node(w, i);
}

static void fault(struct kube_world *w)
{
    struct candidate *c = &w->candidates[prop_below(&w->p, INSTANCES)];

    switch (prop_below(&w->p, 9)) {
    case 0:
    case 1:
        candidate_kill(c);
        break;
    case 2:
        if (c->instance && !c->is_over)
            kube_instance_stop(c->instance, on_stopped, c);
        break;
    case 3:
        kube_server_compact(w->server);
        kube_server_cut(w->server);
        break;
    case 4:
        be_gone(w);
        break;
    case 5:
        sim_loop_step_wall(w->loop, ((int64_t)prop_below(&w->p, 7200) - 3600) * NS_PER_SEC);
        break;
    case 6:
        toggle_node(w);
        break;
    default:
        faults_draw(w);
        break;
    }
}

static void a_few_turns(struct kube_world *w)
{
    for (size_t n = prop_below(&w->p, 30); n > 0 && sim_loop_step(w->loop); n--)
        ;
}

static void step(struct kube_world *w)
{
    switch (prop_below(&w->p, 10)) {
    case 0:
    case 1:
        fault(w);
        break;
    case 2:
    case 3:
        add_single(w);
        break;
    case 4:
        add_gang(w);
        keep_gangs(w);
        break;
    case 5:
        bind_other(w);
        break;
    case 6:
        kube_server_each(w->server, "pods", delete_one, w);
        break;
    case 7:
        revive(w);
        break;
    default:
        kube_server_each(w->server, "pods", kubelet_may_act, w);
        break;
    }
    if (prop_chance(&w->p, 50))
        a_few_turns(w);
    else
        sim_loop_advance(w->loop, (int64_t)prop_below(&w->p, 4000) * NS_PER_MS);
}

/* ---- a run ---- */

static void kube_world_init(struct kube_world *w, uint64_t seed)
{
    *w = (struct kube_world){.seed = seed, .p = {seed}, .loop = sim_loop_new()};
    w->server = kube_server_new(&(struct kube_server_options){
        .loop = w->loop, .seed = prop_next(&w->p), .changed = on_changed, .arg = w});
    faults_end(w);
    kube_server_put(w->server, "namespaces", "{'metadata':{'name':'default'}}");
    kube_server_put(w->server, "queues",
                    "{'apiVersion':'mete.dev/v1','kind':'Queue','metadata':{'name':'small'},"
                    "'spec':{'limits':{'gpus':3}}}");
    kube_server_put(w->server, "priorityclasses", "{'metadata':{'name':'high'},'value':1000}");
    kube_server_put(w->server, "priorityclasses",
                    "{'metadata':{'name':'polite'},'value':1000,'preemptionPolicy':'Never'}");
    for (int i = 0; i < NODES; i++)
        add_node(w, i);
    for (int i = 0; i < INSTANCES; i++)
        candidate_begin(w, i);
}

static void kube_world_done(struct kube_world *w)
{
    for (int i = 0; i < INSTANCES; i++)
        candidate_kill(&w->candidates[i]);
    kube_server_free(w->server);
    sim_loop_free(w->loop);
}

static void find_bound(void *arg, const json_t *pod)
{
    struct looking *l = arg;
    const char *bound = json_text(object_condition(pod, "PodScheduled"), "lastTransitionTime");

    if (gang_of_pod(pod) == l->n && is_live(pod) && (!l->bound || strcmp(bound, l->bound) < 0))
        l->bound = bound;
}

static void find_older(void *arg, const json_t *pod)
{
    struct looking *l = arg;

    if (gang_of_pod(pod) == l->n && !*pod_node(pod) &&
        strcmp(json_text_at(pod, "metadata", "creationTimestamp", NULL), l->bound) <= 0)
        l->n_there++;
}

/* Bound in part: pods of the rest are older than the first binding. Of a gang whose other pods were
 * made anew meanwhile nobody knows that it was never whole, and a leader that has not heard yet of
 * the end of a pod counts it. */
static bool gang_is_half(struct kube_world *w, int g)
{
    struct looking l = {.w = w, .n = g};

    if (w->gangs[g].was_whole || gang_there(w, g) == 0)
        return false;
    kube_server_each(w->server, "pods", find_bound, &l);
    if (!l.bound || w->gangs[g].lost_ns > stamp_or(l.bound, 0) - LATE_NS)
        return false;
    kube_server_each(w->server, "pods", find_older, &l);
    return l.n_there > 0;
}

/* The faults are over: what was begun ends, pods run on. */
static void settle(struct kube_world *w)
{
    faults_end(w);
    kube_server_cut(w->server);
    revive(w);
    for (int i = 0; i < NODES; i++)
        if (!w->is_node[i])
            add_node(w, i);
    w->is_patient = true;
    for (int i = 0; i < 20; i++) {
        kube_server_each(w->server, "pods", kubelet_act, w);
        keep_gangs(w);
        sim_loop_advance(w->loop, 31 * NS_PER_SEC);
        revive(w);
    }
    w->is_calm = true;
    for (int g = 0; g < w->n_gangs; g++)
        CHECK(w, !gang_is_half(w, g));
}

static void check_ended(void *arg, const json_t *pod)
{
    struct kube_world *w = arg;

    if (!pod_is_terminal(pod))
        print_message("# %s waits: %s\n", json_text_at(pod, "metadata", "name", NULL),
                      text_or_empty(json_text(object_condition(pod, "PodScheduled"), "message")));
    CHECK(w, pod_is_terminal(pod));
}

/* In calm: a new leader, new pods, and all end. */
static void end(struct kube_world *w)
{
    for (int i = 0; i < INSTANCES; i++)
        if (w->candidates[i].works)
            candidate_kill(&w->candidates[i]);
    revive(w);
    for (int i = 0; i < 4; i++)
        add_single(w);
    add_gang(w);
    w->is_patient = false;
    for (int i = 0; i < ROUNDS; i++) {
        keep_gangs(w);
        sim_loop_advance(w->loop, 31 * NS_PER_SEC);
        kube_server_each(w->server, "pods", kubelet_act, w);
    }
    kube_server_each(w->server, "pods", check_ended, w);
}

static void devices_gangs_and_limits_hold_whatever_fails(void **state)
{
    struct prop_seeds seeds = prop_seeds(CASES);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        struct kube_world w;

        kube_world_init(&w, seed);
        for (int i = 0; i < STEPS; i++)
            step(&w);
        settle(&w);
        end(&w);
        kube_world_done(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_gangs_and_limits_hold_whatever_fails),
    };

    log_setup("test", getenv("METE_TEST_LOG") ? LOG_INFO : LOG_ERROR, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
