/*
 * test_scheduler_prop.c - pods and gangs of several priorities on three small nodes, at random
 *
 * One node has a gpu in replicas, a gpu that is cut into slices, and one for shares. Containers
 * end, nodes are slow to end them, users delete pods, and the server restarts between any two
 * steps. After each step no gpu is held twice and no gang is there in part; at the end no accepted
 * pod is lost. The same holds over a cluster that is late by seconds and loses answers, bindings
 * and evictions.
 */

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/ledger.h"
#include "kinds/object/requeue.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "prop.h"
#include "sched_world.h"
#include "test.h"

enum {
    CASES = 25,
    STEPS = 70,
    ROUNDS = 60,
    GROUPS = 6,
    GROUP_PODS = 4,
    SINGLES = 24,
    NAME_SIZE = 32
};

struct group {
    int min;
    int n_pods; /* submitted */
    bool has_started;
};

struct run {
    struct sched_world s;
    struct prop prop;
    struct store_watch *watch;
    struct group groups[GROUPS];
    size_t n_groups;
    size_t n_singles;
    bool is_dropped[GROUPS * GROUP_PODS + SINGLES]; /* by its user, or with requeue: never */
    bool is_bound[GROUPS * GROUP_PODS];             /* as the watch reports */
    int64_t revision;
    int bound_at[GROUPS]; /* number of pods bound in that revision, for groups without bound pods
                             before */
};

static void name_of(size_t i, char ret[NAME_SIZE])
{
    if (i < (size_t)GROUPS * GROUP_PODS)
        (void)snprintf(ret, NAME_SIZE, "g%zu-%zu", i / GROUP_PODS, i % GROUP_PODS);
    else
        (void)snprintf(ret, NAME_SIZE, "p%zu", i - (size_t)GROUPS * GROUP_PODS);
}

/* The index of a group's member; -1: no member. */
static int member_of(const char *name)
{
    return name[0] == 'g' ? (name[1] - '0') * GROUP_PODS + (name[3] - '0') : -1;
}

/* Checks that the first binding of a group binds at least its minimum. */
static void check_revision(struct run *r)
{
    for (size_t g = 0; g < r->n_groups; g++) {
        if (r->bound_at[g] == 0)
            continue;
        assert_true(r->bound_at[g] >= r->groups[g].min);
        r->groups[g].has_started = true;
        r->bound_at[g] = 0;
    }
}

static void on_change(void *arg, const struct store_change *change, int64_t revision)
{
    struct run *r = arg;
    AUTO(json_freep) json_t *pod = NULL;
    int member;

    if (revision != r->revision)
        check_revision(r);
    r->revision = revision;
    member = change ? member_of(change->object->key.name) : -1;
    if (member < 0)
        return;
    world_must(objects_decode(change->object, &pod));
    if (change->type != STORE_DELETED && *pod_node(pod)) {
        r->bound_at[member / GROUP_PODS] +=
            !r->is_bound[member] && !r->groups[member / GROUP_PODS].has_started;
        r->is_bound[member] = true;
    } else {
        r->is_bound[member] = false;
    }
}

static void begin_watch(struct run *r)
{
    const struct store_range range = {.group = "", .resource = "pods"};

    world_must(store_watch_new(r->s.w.store, &range, store_revision(r->s.w.store), on_change, r,
                               &r->watch));
}

static void end_watch(struct run *r)
{
    sim_loop_run(r->s.w.loop);
    check_revision(r);
    store_watch_free(TAKE(r->watch));
}

static void restart(struct run *r)
{
    end_watch(r);
    sched_world_stop(&r->s);
    begin_watch(r);
    sched_world_start(&r->s);
}

/* A pod's annotation and limits: whole gpus, or a part of one. */
struct asked {
    const char *annotation;
    const char *limits;
};

static struct asked part_of_gpu(struct run *r)
{
    static const struct asked parts[] = {
        {"'gpu-fraction':'0.3'", ""},
        {"'gpu-memory':'30000'", ""},
        {"", "'nvidia.com/gpumem':'10000','nvidia.com/gpucores':'50'"},
        {"", "'nvidia.com/gpu.shared':'1'"},
        {"", "'nvidia.com/mig-1g.10gb':'2'"},
        {"", "'nvidia.com/mig-3g.40gb':'1','nvidia.com/gpu.shared':'1'"},
    };

    return parts[prop_below(&r->prop, COUNT(parts))];
}

/* The third node. */
static void add_cut_node(struct run *r)
{
    static const char gpus[] =
        "[{\"uuid\":\"GPU-c-0\",\"index\":0,\"health\":\"healthy\",\"model\":\"t4\","
        "\"memoryBytes\":17179869184,\"mode\":\"replicas\",\"replicas\":3},"
        "{\"uuid\":\"GPU-c-1\",\"index\":1,\"health\":\"healthy\",\"model\":\"h100\","
        "\"memoryBytes\":85899345920,\"flexible\":true},"
        "{\"uuid\":\"GPU-c-2\",\"index\":2,\"health\":\"healthy\",\"model\":\"h100\","
        "\"memoryBytes\":85899345920}]";
    AUTO(json_freep) json_t *node = json_object();
    json_t *metadata = json_object_at(node, "metadata");
    AUTO_FREE char *text = NULL;

    sched_world_add_node(&r->s, "c", 0);
    json_put_text(json_object_at(metadata, "annotations"), NODE_GPUS, gpus);
    text = json_format(node);
    world_must(world_patch(&r->s.w, (struct target){.kind = "nodes", .name = "c", .who = &ours},
                           text, NULL));
    sim_loop_run(r->s.w.loop);
}

static void submit(struct run *r, size_t i, int gpus)
{
    static const char *const classes[] = {"", "'priorityClassName':'high',",
                                          "'priorityClassName':'polite',"};
    bool is_single = i >= (size_t)GROUPS * GROUP_PODS;
    bool is_never = is_single && prop_chance(&r->prop, 15);
    AUTO_FREE char *whole = mem_format("'nvidia.com/gpu':'%d'", gpus);
    struct asked asked =
        is_single && prop_chance(&r->prop, 60) ? part_of_gpu(r) : (struct asked){"", whole};
    AUTO_FREE char *label = NULL;
    AUTO_FREE char *text = NULL;
    char name[NAME_SIZE];

    name_of(i, name);
    label = name[0] == 'g' ? mem_format("'scheduling.x-k8s.io/pod-group':'g%c'", name[1])
                           : mem_strdup("");
    r->is_dropped[i] = is_never;
    text = mem_format(
        "{'metadata':{'name':'%s','labels':{%s},'annotations':{%s%s%s}},'spec':{%s'containers':["
        "{'name':'main','image':'host','resources':{'limits':{%s}}}]}}",
        name, label, is_never ? "'mete.dev/requeue':'never'" : "",
        is_never && *asked.annotation ? "," : "", asked.annotation,
        classes[prop_below(&r->prop, COUNT(classes))], asked.limits);
    world_must(world_create(&r->s.w, (struct target){.kind = "pods"}, text, NULL));
}

static void add_group(struct run *r)
{
    struct group *g = &r->groups[r->n_groups];
    AUTO_FREE char *text = NULL;

    if (r->n_groups == GROUPS)
        return;
    g->min = 1 + (int)prop_below(&r->prop, 4);
    text = mem_format("{'metadata':{'name':'g%zu'},'spec':{'minMember':%d}}", r->n_groups, g->min);
    world_must(world_create(
        &r->s.w, (struct target){.group = "scheduling.x-k8s.io", .kind = "podgroups"}, text, NULL));
    r->n_groups++;
}

static void add_members(struct run *r)
{
    size_t g;

    if (r->n_groups == 0)
        return;
    g = prop_below(&r->prop, r->n_groups);
    for (size_t n = 1 + prop_below(&r->prop, GROUP_PODS); n > 0 && r->groups[g].n_pods < GROUP_PODS;
         n--)
        submit(r, g * GROUP_PODS + (size_t)r->groups[g].n_pods++, 1 + (int)prop_below(&r->prop, 2));
}

static void add_single(struct run *r)
{
    if (r->n_singles < SINGLES)
        submit(r, (size_t)GROUPS * GROUP_PODS + r->n_singles++, 1 + (int)prop_below(&r->prop, 4));
}

/* Acts as the node on one of its pods. */
static void act(struct run *r, const json_t *pod, bool is_patient)
{
    const char *name = json_text_at(pod, "metadata", "name", NULL);
    const struct delete_options now = {.grace_seconds = 0,
                                       .if_uid = json_text_at(pod, "metadata", "uid", NULL)};
    AUTO_FREE char *text = NULL;

    if (!*pod_node(pod))
        return;
    if (pod_is_deleting(pod)) {
        world_must(world_delete(
            &r->s.w, (struct target){.kind = "pods", .name = name, .who = &ours}, &now, NULL));
        return;
    }
    if (pod_is_terminal(pod) || is_patient)
        return;
    text =
        mem_format("{'status':{'phase':'%s'}}", prop_chance(&r->prop, 70) ? "Succeeded" : "Failed");
    world_must(world_patch(
        &r->s.w, (struct target){.kind = "pods", .name = name, .sub = "status", .who = &ours}, text,
        NULL));
}

static size_t index_of(const char *name)
{
    int member = member_of(name);

    return member >= 0 ? (size_t)member
                       : (size_t)GROUPS * GROUP_PODS + (size_t)strtoul(name + 1, NULL, 10);
}

static void delete_by_hand(struct run *r, const json_t *pod)
{
    const char *name = json_text_at(pod, "metadata", "name", NULL);

    r->is_dropped[index_of(name)] = true;
    world_must(world_delete(&r->s.w, (struct target){.kind = "pods", .name = name}, NULL, NULL));
}

static json_t *list_pods(struct run *r)
{
    struct store_range range = {.group = "", .resource = "pods"};
    struct store_list list = {0};
    json_t *all = json_array();

    world_must(store_list(r->s.w.store, &range, NULL, NULL, 0, 0, &list));
    for (size_t i = 0; i < list.n; i++) {
        json_t *pod = NULL;

        world_must(objects_decode(list.at[i], &pod));
        (void)json_array_append_new(all, pod);
    }
    store_list_done(&list);
    return all;
}

/* Runs a few due timers, not all, so that writes stay pending. */
static void a_few_turns(struct run *r)
{
    for (size_t n = prop_below(&r->prop, 12); n > 0 && sim_loop_step(r->s.w.loop); n--)
        ;
}

static void step(struct run *r)
{
    AUTO(json_freep) json_t *pods = list_pods(r);
    size_t n = json_array_size(pods);
    const json_t *pod = n > 0 ? json_array_get(pods, prop_below(&r->prop, n)) : NULL;

    switch (prop_below(&r->prop, 12)) {
    case 0:
        restart(r);
        break;
    case 1:
        add_group(r);
        break;
    case 2:
    case 3:
        add_members(r);
        break;
    case 4:
    case 5:
        add_single(r);
        break;
    case 6:
        if (pod && prop_chance(&r->prop, 40))
            delete_by_hand(r, pod);
        break;
    case 7:
        a_few_turns(r);
        break;
    case 8:
        sched_world_advance(&r->s, (int64_t)prop_below(&r->prop, 40));
        break;
    default:
        if (pod)
            act(r, pod, prop_chance(&r->prop, 30));
        break;
    }
    world_must(ledger_check(r->s.w.store));
}

/* Ends all pods that can end. */
static void let_it_end(struct run *r)
{
    for (int i = 0; i < ROUNDS; i++) {
        AUTO(json_freep) json_t *pods = list_pods(r);
        json_t *pod;
        size_t k;

        json_array_foreach (pods, k, pod)
            act(r, pod, false);
        sched_world_advance(&r->s, 31);
        world_must(ledger_check(r->s.w.store));
    }
}

static void check_end(struct run *r)
{
    struct store_range records = {.group = "mete.dev", .resource = "requeues"};
    struct store_list list = {0};

    world_must(store_list(r->s.w.store, &records, NULL, NULL, 0, 0, &list));
    assert_int_equal(list.n, 0);
    store_list_done(&list);
    for (size_t i = 0; i < COUNT(r->is_dropped); i++) {
        bool is_submitted = i < (size_t)GROUPS * GROUP_PODS
                                ? (int)(i % GROUP_PODS) < r->groups[i / GROUP_PODS].n_pods
                                : i - (size_t)GROUPS * GROUP_PODS < r->n_singles;
        AUTO(json_freep) json_t *pod = NULL;
        char name[NAME_SIZE];

        if (!is_submitted || r->is_dropped[i])
            continue;
        name_of(i, name);
        pod = sched_world_pod(&r->s, name);
        if (!pod)
            fail_msg("%s was accepted, and is lost", name);
        if (!pod_is_terminal(pod) && i >= (size_t)GROUPS * GROUP_PODS) /* gangs may lack some */
            fail_msg("%s never ended", name);
    }
}

static void add_class(struct run *r, const char *name, const char *policy)
{
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'%s'},'value':1000,'preemptionPolicy':'%s'}", name, policy);

    sched_world_create(
        &r->s,
        (struct target){.group = "scheduling.k8s.io", .kind = "priorityclasses", .who = &root},
        text);
}

static void run_seed(uint64_t seed, const struct mem_cluster_options *faults)
{
    struct run r = {.prop = {seed}, .s = {.faults = *faults}};

    sched_world_init(&r.s, seed);
    sched_world_add_node(&r.s, "a", 4);
    sched_world_add_node(&r.s, "b", 4);
    add_cut_node(&r);
    add_class(&r, "high", "PreemptLowerPriority");
    add_class(&r, "polite", "Never");
    begin_watch(&r);
    for (int i = 0; i < STEPS; i++)
        step(&r);
    let_it_end(&r);
    end_watch(&r);
    check_end(&r);
    sched_world_done(&r.s);
}

static void nothing_is_held_twice_or_lost_and_gangs_start_whole(void **state)
{
    const struct prop_seeds seeds = prop_seeds(CASES);
    const struct mem_cluster_options none = {0};

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        print_message("# seed %llu\n", (unsigned long long)seed);
        run_seed(seed, &none);
    }
}

static void the_same_holds_when_all_is_late_and_some_is_lost(void **state)
{
    const struct prop_seeds seeds = prop_seeds(CASES);
    const struct mem_cluster_options faults = {
        .turns_max = 8, .delay_max_ns = 5 * NS_PER_SEC, .lost_pct = 15, .dropped_pct = 15};

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        print_message("# late, seed %llu\n", (unsigned long long)seed);
        run_seed(seed, &faults);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_held_twice_or_lost_and_gangs_start_whole),
        cmocka_unit_test(the_same_holds_when_all_is_late_and_some_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
