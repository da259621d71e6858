/*
 * scheduler_group_status.c - a group's counts and reason onto the status of its PodGroup, in the
 * words of that API
 */
#include <inttypes.h>

#include "base/log.h"
#include "control/scheduler/scheduler_private.h"
#include "kinds/pod/pod_state.h"

enum {
    WRITES_MAX = 50 /* statuses in one turn */
};

struct counts {
    int64_t min;
    int64_t pods;
    int64_t placed;
    int64_t running;
    int64_t succeeded;
    int64_t failed;
    const char *message; /* of the first waiting pod, or NULL; valid until the engine changes */
    const char *code;
};

static void group_count(struct scheduler *s, const struct sched_group *g, struct counts *ret)
{
    struct gang_rules rules = {0};
    struct mete_reason r;

    (void)sched_group_read(s, g, &rules); /* the definition is a PodGroup: always readable */
    *ret = (struct counts){.min = rules.min, .pods = (int64_t)g->pods.n};
    VEC_EACH (&g->pods, p) {
        ret->placed += sched_pod_is_placed(*p);
        ret->running += (*p)->is_running;
        ret->succeeded += (*p)->phase == SCHED_SUCCEEDED;
        ret->failed += (*p)->phase == SCHED_FAILED;
    }
    VEC_EACH (&g->pods, p) {
        if ((*p)->phase != SCHED_WAITING || !scheduler_why(s, (*p)->key, (*p)->uid, true, &r))
            continue;
        ret->message = r.message;
        ret->code = r.code_text;
        return;
    }
}

static const char *coscheduling_phase(const struct counts *c)
{
    if (c->succeeded >= c->min)
        return "Finished";
    if (c->failed > 0 && c->failed + c->running + c->succeeded >= c->min)
        return "Failed";
    if (c->running + c->succeeded >= c->min)
        return "Running";
    return c->pods >= c->min ? "Scheduling" : "Pending";
}

static void put_coscheduling(struct scheduler *s, struct sched_group *g, const struct counts *c,
                             json_t *object)
{
    json_t *status = json_object_at(object, "status");

    (void)s;
    (void)g;
    json_put_text(status, "phase", coscheduling_phase(c));
    json_put_int(status, "scheduled", c->placed);
    json_put_int(status, "running", c->running);
    json_put_int(status, "succeeded", c->succeeded);
    json_put_int(status, "failed", c->failed);
}

/* A group without pods is Inqueue, too: Volcano's controllers make no pods while it is Pending. */
static const char *volcano_phase(const struct counts *c)
{
    if (c->pods > 0 && c->succeeded + c->failed == c->pods && c->succeeded >= c->min)
        return "Completed";
    if (c->placed + c->succeeded >= c->min && c->pods > 0)
        return "Running";
    if (c->placed > 0)
        return "Unknown";
    return "Inqueue";
}

static void put_volcano(struct scheduler *s, struct sched_group *g, const struct counts *c,
                        json_t *object)
{
    json_t *status = json_object_at(object, "status");
    bool is_scheduled = c->placed + c->succeeded >= c->min && c->pods > 0;
    int64_t now_ns = loop_wall_ns(s->options.loop);

    (void)g;
    json_put_text(status, "phase", volcano_phase(c));
    json_put_int(status, "running", c->running);
    json_put_int(status, "succeeded", c->succeeded);
    json_put_int(status, "failed", c->failed);
    if (is_scheduled)
        (void)object_set_condition(object, "Scheduled", "True",
                                   "tasks in gang are ready to be "
                                   "scheduled",
                                   NULL, now_ns);
    else if (c->message)
        (void)object_set_condition(object, "Unschedulable", "True",
                                   text_equal(c->code, "WaitingForGang") ? "NotEnoughTasks"
                                                                         : "NotEnoughResources",
                                   c->message, now_ns);
    if (is_scheduled && object_condition(object, "Unschedulable"))
        (void)object_set_condition(object, "Unschedulable", "False", NULL, NULL, now_ns);
}

/* The condition True is final: the first start counts, whatever happens later. */
static void put_native(struct scheduler *s, struct sched_group *g, const struct counts *c,
                       json_t *object)
{
    static const char *const types[] = {"PodGroupInitiallyScheduled", "PodGroupScheduled"};
    bool is_scheduled = c->placed + c->succeeded >= (c->min > 0 ? c->min : 1);

    (void)g;
    for (size_t i = 0; i < 2; i++) {
        const json_t *was = object_condition(object, types[i]);

        if (text_equal(json_text(was, "status"), "True") || (!is_scheduled && !c->message))
            continue;
        (void)object_set_condition(object, types[i], is_scheduled ? "True" : "False",
                                   is_scheduled ? "Scheduled" : "Unschedulable",
                                   is_scheduled ? NULL : c->message, loop_wall_ns(s->options.loop));
    }
}

/* A status that the store took back is written again. */
static void on_written(void *owner, const char *key, uint64_t number, const struct err *e)
{
    struct scheduler *s = owner;
    struct sched_group *g = NULL;

    (void)number;
    if (!e)
        return;
    LOG(WARN, "status of a group was taken back, written again", S("group", key), E(e));
    map_find_text(handle, s->groups, key, g);
    if (!g)
        return;
    g->is_status_old = true;
    loop_timer_set(s->status_timer, GROUP_STATUS_NS);
}

/* False: nothing to write. */
static bool group_write_status(struct scheduler *s, struct sched_group *g)
{
    static void (*const put[GANG_DOORS])(struct scheduler *, struct sched_group *,
                                         const struct counts *, json_t *) = {
        [GANG_PODGROUP] = put_native,
        [GANG_COSCHEDULING] = put_coscheduling,
        [GANG_VOLCANO] = put_volcano,
    };
    const struct sched_definition *d = sched_group_definition(s, g);
    const enum gang_door door = d ? d->door : g->ref.door;
    const struct gang_source *source = &gang_sources[door];
    const json_t *definition = d ? d->tree : NULL;
    AUTO_FREE char *resource = mem_format("%s.%s", source->plural, source->group);
    AUTO(json_freep) json_t *object = NULL;
    AUTO(json_freep) json_t *changes = json_object();
    struct cluster_target target = {.resource = resource, .ns = g->ns, .name = g->ref.name};
    struct cluster_answer a;
    AUTO(err_freep) struct err *e = NULL;
    struct counts c;

    g->is_status_old = false;
    if (!definition || !put[door])
        return false;
    group_count(s, g, &c);
    object = json_deep_copy(definition);
    put[door](s, g, &c, object);
    if (json_equal(json_object_get(object, "status"), json_object_get(definition, "status")))
        return false;
    json_put(changes, "status", json_incref(json_object_get(object, "status")));
    target.subresource = door == GANG_VOLCANO ? NULL : "status";
    a = writes_begin(s->writes, on_written, g->key, 0);
    e = writes_end(a, cluster_patch(s->options.cluster, &target, changes, a));
    if (e && err_code(e) != ERR_NOT_FOUND)
        LOG(WARN, "status of a group was not written", S("group", g->key), E(e));
    return true;
}

void scheduler_on_group_status(void *arg)
{
    struct scheduler *s = arg;
    struct sched_group *g;
    struct sched_group *next;
    size_t n = 0;

    map_each (handle, s->groups, g, next) {
        if (!g->is_status_old)
            continue;
        if (n == WRITES_MAX) {
            loop_timer_set(s->status_timer, GROUP_STATUS_NS);
            return;
        }
        n += group_write_status(s, g);
    }
}
