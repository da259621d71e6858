/* budgets.c - counts the budgets of namespaces whose pods changed */

#include "control/budgets.h"

#include "base/log.h"
#include "base/map.h"
#include "base/stamp.h"
#include "control/writes.h"
#include "kinds/object/disruption.h"
#include "kinds/pod/pod_state.h"

/* Pods come and go in bursts: one count for all changes of this time. */
static const int64_t settle_ns = 100 * NS_PER_MS;

/* A namespace with budgets in it. */
struct budget_space {
    struct map_handle handle;
    char *ns;
    bool is_dirty;
};

struct budgets {
    struct loop *loop;
    struct objects *objects;
    struct store *store;
    const struct kind *kind;
    struct budget_space *spaces;
    struct store_watch *pods;
    struct store_watch *budgets;
    struct loop_timer *timer;
    bool is_timer_set;
    struct writes *writes;
};

static void budgets_mark(struct budgets *b, struct budget_space *space)
{
    space->is_dirty = true;
    if (!b->is_timer_set)
        loop_timer_set(b->timer, settle_ns);
    b->is_timer_set = true;
}

static struct budget_space *budgets_find(const struct budgets *b, const char *ns)
{
    struct budget_space *space = NULL;

    map_find_text(handle, b->spaces, ns, space);
    return space;
}

static void budgets_on_written(void *owner, const char *ns, uint64_t number, const struct err *e)
{
    struct budgets *b = owner;
    struct budget_space *space = e ? budgets_find(b, ns) : NULL;

    (void)number;
    if (!space)
        return;
    LOG(WARN, "status of a disruption budget was taken back", S("namespace", ns), E(e));
    budgets_mark(b, space);
}

static void budgets_on_pod(void *arg, const struct store_change *change, int64_t revision)
{
    struct budgets *b = arg;
    struct budget_space *space = change ? budgets_find(b, change->object->key.ns) : NULL;

    (void)revision;
    if (space)
        budgets_mark(b, space);
}

static void on_budget_there(struct budgets *b, const struct store_object *o)
{
    struct budget_space *space = budgets_find(b, o->key.ns);

    if (!space) {
        space = mem_alloc(sizeof(*space));
        space->ns = mem_strdup(o->key.ns);
        map_add(handle, b->spaces, space->ns, strlen(space->ns), space);
    }
    budgets_mark(b, space);
}

/* A namespace whose last budget was deleted stays known: the cost is an empty list now and then. */
static void on_budget(void *arg, const struct store_change *change, int64_t revision)
{
    (void)revision;
    if (change && change->type != STORE_DELETED)
        on_budget_there(arg, change->object);
}

static json_t *make_status(const struct budgets *b, const json_t *budget,
                           const struct disruption *d)
{
    AUTO(json_freep) json_t *copy = json_deep_copy(budget);
    json_t *status = json_object_at(copy, "status");
    bool is_allowed = d->allowed > 0;

    json_put_int(status, "observedGeneration",
                 json_int(json_object_get(budget, "metadata"), "generation", 0));
    json_put_int(status, "disruptionsAllowed", d->allowed);
    json_put_int(status, "currentHealthy", d->healthy);
    json_put_int(status, "desiredHealthy", d->desired);
    json_put_int(status, "expectedPods", d->expected);
    (void)object_set_condition(copy, "DisruptionAllowed", is_allowed ? "True" : "False",
                               is_allowed ? "SufficientPods" : "InsufficientPods", NULL,
                               loop_wall_ns(b->loop));
    return json_incref(json_object_get(copy, "status"));
}

/* Writes a budget's status. A budget that has changed meanwhile comes again by its watch. */
static struct err *budget_write_status(const struct budgets *b, const json_t *budget)
{
    const json_t *metadata = json_object_get(budget, "metadata");
    const struct objects_request r = {
        .kind = b->kind,
        .ns = json_text(metadata, "namespace"),
        .name = json_text(metadata, "name"),
        .subresource = "status",
        .who = {.user = "system:disruption-controller", .is_system = true, .host_uid = -1},
        .validation = VALIDATION_IGNORE};
    AUTO(json_freep) json_t *status = NULL;
    AUTO(json_freep) json_t *patch = json_object();
    AUTO(json_freep) json_t *result = NULL;
    struct disruption d = {0};
    struct cluster_answer a;
    struct err *e = NULL;

    TRY(disruption_count(b->store, budget, &d));
    status = make_status(b, budget, &d);
    if (json_equal(status, json_object_get(budget, "status")))
        return NULL;
    json_put(patch, "status", json_incref(status));
    a = writes_begin(b->writes, budgets_on_written, r.ns, 0);
    e = writes_end(a, objects_patch(b->objects, &r, PATCH_MERGE, patch, a.done, a.arg, &result));
    if (e && (err_code(e) == ERR_CONFLICT || err_code(e) == ERR_NOT_FOUND)) {
        err_free(e);
        return NULL;
    }
    return e;
}

/* False: a status was not written; try again later. */
static bool budgets_look_at(const struct budgets *b, const struct budget_space *space)
{
    bool is_told = true;
    const struct store_range range = {
        .group = b->kind->group, .resource = b->kind->plural, .ns = space->ns};
    struct store_list list = {0};
    AUTO(err_freep) struct err *failed = store_list(b->store, &range, NULL, NULL, 0, 0, &list);

    if (failed) {
        LOG(WARN, "disruption budgets cannot be read", S("namespace", space->ns), E(failed));
        return false;
    }
    for (size_t i = 0; i < list.n; i++) {
        AUTO(json_freep) json_t *budget = NULL;
        AUTO(err_freep) struct err *e = objects_decode(list.at[i], &budget);

        if (!e)
            e = budget_write_status(b, budget);
        if (e)
            LOG(WARN, "disruption budget cannot be counted, will be tried again",
                S("namespace", space->ns), S("name", list.at[i]->key.name), E(e));
        is_told = is_told && !e;
    }
    store_list_done(&list);
    return is_told;
}

static void budgets_on_time(void *arg)
{
    struct budgets *b = arg;

    b->is_timer_set = false;
    for (struct budget_space *space = b->spaces; space; space = space->handle.next) {
        if (!space->is_dirty)
            continue;
        space->is_dirty = false;
        if (!budgets_look_at(b, space))
            budgets_mark(b, space);
    }
}

static struct err *budgets_watch(struct budgets *b)
{
    const struct store_range pods = {.group = "", .resource = "pods"};
    const struct store_range budgets = {.group = b->kind->group, .resource = b->kind->plural};
    struct store_list list = {0};

    TRY(store_list(b->store, &budgets, NULL, NULL, 0, 0, &list));
    for (size_t i = 0; i < list.n; i++)
        on_budget_there(b, list.at[i]);
    store_list_done(&list);
    TRY(store_watch_new(b->store, &budgets, list.revision, on_budget, b, &b->budgets));
    return store_watch_new(b->store, &pods, list.revision, budgets_on_pod, b, &b->pods);
}

struct err *budgets_new(struct loop *l, struct objects *objects, struct budgets **ret)
{
    struct budgets *b = mem_alloc(sizeof(*b));
    struct err *e = NULL;

    *b = (struct budgets){.loop = l,
                          .objects = objects,
                          .store = objects_store(objects),
                          .kind = kind_find("policy", "poddisruptionbudgets")};
    b->timer = loop_timer_new(l, budgets_on_time, b);
    b->writes = writes_new(b);
    e = budgets_watch(b);
    if (e) {
        budgets_free(b);
        return e;
    }
    *ret = b;
    return NULL;
}

void budgets_free(struct budgets *b)
{
    struct budget_space *space = NULL;
    struct budget_space *tmp = NULL;

    if (!b)
        return;
    store_watch_free(b->pods);
    store_watch_free(b->budgets);
    loop_timer_free(b->timer);
    writes_free(b->writes);
    map_each (handle, b->spaces, space, tmp) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
        map_remove(handle, b->spaces, space);
        free(space->ns);
        free(space);
    }
    free(b);
}
