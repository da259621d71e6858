/* sched_world.c - the world of sched_world.h */

#include "sched_world.h"

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/ledger.h"
#include "kinds/pod/pod_state.h"
#include "test.h"

enum {
    LATE_TURNS = 12
};

struct cluster *sched_world_cluster(struct world *w)
{
    const char *name = getenv("METE_TEST_CLUSTER");
    const struct mem_cluster_options late = {
        .world = w, .seed = world_random(w), .turns_max = LATE_TURNS};

    if (!name)
        return NULL;
    assert_string_equal(name, "late");
    return mem_cluster_new(&late);
}

static struct cluster *make_cluster(struct sched_world *s)
{
    struct mem_cluster_options late = s->faults;

    if (late.turns_max == 0)
        return sched_world_cluster(&s->w);
    late.world = &s->w;
    late.seed = world_random(&s->w);
    return mem_cluster_new(&late);
}

void sched_world_start(struct sched_world *s)
{
    struct control_options options = {.loop = s->w.loop,
                                      .store = s->w.store,
                                      .objects = s->w.objects,
                                      .node_grace_ns = 3600 * NS_PER_SEC};

    s->cluster = make_cluster(s);
    options.cluster = s->cluster;
    world_must(control_new(&options, &s->control));
    sim_loop_run(s->w.loop);
}

static void free_loops(struct sched_world *s)
{
    control_free(s->control);
    cluster_free(s->cluster);
    s->control = NULL;
    s->cluster = NULL;
}

void sched_world_init(struct sched_world *s, uint64_t seed)
{
    world_init(&s->w, seed);
    sched_world_start(s);
}

void sched_world_done(struct sched_world *s)
{
    free_loops(s);
    world_must(ledger_check(s->w.store));
    world_done(&s->w);
}

void sched_world_stop(struct sched_world *s)
{
    free_loops(s);
    world_restart(&s->w);
}

void sched_world_restart(struct sched_world *s)
{
    sched_world_stop(s);
    sched_world_start(s);
}

void sched_world_advance(struct sched_world *s, int64_t seconds)
{
    sim_loop_advance(s->w.loop, seconds * NS_PER_SEC);
}

void sched_world_add_node(struct sched_world *s, const char *name, int gpus)
{
    world_add_node(&s->w, name, gpus);
    world_must(world_patch(
        &s->w, (struct target){.kind = "nodes", .name = name, .sub = "status", .who = &ours},
        "{'status':{'allocatable':{'cpu':'64','memory':'512Gi','pods':'200'},"
        "'conditions':[{'type':'Ready','status':'True','lastHeartbeatTime':'2099-01-01T00:00:01Z'}]"
        "}}",
        NULL));
    sim_loop_run(s->w.loop);
}

void sched_world_create(struct sched_world *s, struct target t, const char *text)
{
    world_must(world_create(&s->w, t, text, NULL));
    sim_loop_run(s->w.loop);
}

void sched_world_add_pod(struct sched_world *s, const struct pod_ask *a)
{
    AUTO_FREE char *class =
        a->class ? mem_format("'priorityClassName':'%s',", a->class) : mem_strdup("");
    AUTO_FREE char *group =
        a->group ? mem_format(",'labels':{'scheduling.x-k8s.io/pod-group':'%s'}", a->group)
                 : mem_strdup("");
    AUTO_FREE char *text =
        mem_format("{'metadata':{'name':'%s'%s,'annotations':{%s}},'spec':{%s'restartPolicy':"
                   "'Never','terminationGracePeriodSeconds':20,'containers':[{'name':'main',"
                   "'image':'host','resources':{'limits':{'nvidia.com/gpu':'%d'}}}]}}",
                   a->name, group, a->annotation ? a->annotation : "", class, a->gpus);

    sched_world_create(s, (struct target){.kind = "pods", .who = a->who}, text);
}

json_t *sched_world_pod(struct sched_world *s, const char *name)
{
    return world_get(&s->w, (struct target){.kind = "pods", .name = name});
}

char *sched_world_node_of(struct sched_world *s, const char *name)
{
    AUTO(json_freep) json_t *pod = sched_world_pod(s, name);

    return mem_strdup(pod ? pod_node(pod) : "gone");
}

void sched_world_assert_waits(struct sched_world *s, const char *name, const char *message)
{
    AUTO(json_freep) json_t *pod = sched_world_pod(s, name);
    const json_t *condition = object_condition(pod, "PodScheduled");

    assert_non_null(pod);
    assert_string_equal(pod_node(pod), "");
    assert_string_equal(json_text(condition, "status"), "False");
    assert_string_equal(json_text(condition, "message"), message);
}

void sched_world_assert_on(struct sched_world *s, const char *name, const char *node)
{
    AUTO_FREE char *is = sched_world_node_of(s, name);

    assert_string_equal(is, node);
}

static void set_phase(struct sched_world *s, const char *name, const char *phase)
{
    AUTO_FREE char *text = mem_format("{'status':{'phase':'%s'}}", phase);

    world_must(world_patch(
        &s->w, (struct target){.kind = "pods", .name = name, .sub = "status", .who = &ours}, text,
        NULL));
    sim_loop_run(s->w.loop);
}

void sched_world_run_pod(struct sched_world *s, const char *name)
{
    set_phase(s, name, "Running");
}

void sched_world_end_pod(struct sched_world *s, const char *name, const char *phase)
{
    set_phase(s, name, phase);
}

void sched_world_finish_deletion(struct sched_world *s, const char *name)
{
    const struct delete_options now = {.grace_seconds = 0};
    AUTO(json_freep) json_t *pod = sched_world_pod(s, name);

    assert_non_null(pod);
    assert_true(pod_is_deleting(pod));
    world_must(world_delete(&s->w, (struct target){.kind = "pods", .name = name, .who = &ours},
                            &now, NULL));
    sim_loop_run(s->w.loop);
}
