/*
 * volcano.c - Queues for Volcano's Queues
 *
 * `deserved` is the nominal quota (without it `guarantee`), `capability` the limit, and `guarantee`
 * is not lent. Volcano's actions reclaim and preempt are off unless its configuration names them:
 * queues with a nominal quota reclaim, and no queue evicts its own.
 */

#include "base/mem.h"
#include "control/queue/foreign_private.h"
#include "control/queue/foreign_queue.h"
#include "kinds/queue.h"

#define NEVER_EVICTED "36500d"

/* Reads a resource of a list; `absent` if it is not there. */
static struct err *volcano_amount(const json_t *list, const char *name, const char *resource,
                                  int64_t absent, int64_t *ret)
{
    const json_t *quantity = json_object_get(list, name);

    *ret = absent;
    return quantity ? foreign_amount(resource, quantity, ret) : NULL;
}

/* A resource that one of the lists names. */
static struct err *volcano_quota(const json_t *spec, const char *name, struct mete_quota *ret)
{
    int64_t capability = 0;
    int64_t guarantee = 0;

    *ret = (struct mete_quota){.borrow_limit = METE_UNLIMITED, .lend_limit = METE_UNLIMITED};
    TRY(foreign_resource(name, &ret->resource));
    TRY(volcano_amount(json_object_get(spec, "capability"), name, ret->resource, METE_UNLIMITED,
                       &capability));
    TRY(volcano_amount(json_at(spec, "guarantee", "resource", NULL), name, ret->resource, 0,
                       &guarantee));
    TRY(volcano_amount(json_object_get(spec, "deserved"), name, ret->resource, guarantee,
                       &ret->nominal));
    ret->nominal = ret->nominal < guarantee ? guarantee : ret->nominal;
    ret->nominal = ret->nominal > capability ? capability : ret->nominal;
    if (capability != METE_UNLIMITED)
        ret->borrow_limit = capability - ret->nominal;
    if (guarantee > 0)
        ret->lend_limit = ret->nominal > guarantee ? ret->nominal - guarantee : 0;
    return NULL;
}

static void volcano_quotas(json_t *queue, const json_t *spec)
{
    const json_t *const lists[] = {json_object_get(spec, "deserved"),
                                   json_at(spec, "guarantee", "resource", NULL),
                                   json_object_get(spec, "capability")};
    AUTO(json_freep) json_t *seen = json_object();
    bool has_nominal = false;

    for (size_t i = 0; i < COUNT(lists); i++) {
        const char *name;
        json_t *value;

        json_object_foreach ((json_t *)(uintptr_t)lists[i], name, value) {
            struct mete_quota quota;
            AUTO(err_freep) struct err *e = NULL;

            if (json_object_get(seen, name))
                continue;
            json_put(seen, name, json_true());
            e = volcano_quota(spec, name, &quota);
            if (e) {
                foreign_queue_refuse(queue, "%s", err_message(e));
                return;
            }
            foreign_queue_quota(queue, &quota);
            has_nominal = has_nominal || quota.nominal > 0;
        }
    }
    json_put_text(json_object_at(json_object_at(queue, "spec"), "preemption"), "reclaim",
                  has_nominal ? "Any" : "Never");
}

static void volcano_affinity(json_t *queue, const json_t *spec)
{
    static const char *const sides[] = {"nodeGroupAffinity", "nodeGroupAntiAffinity"};
    static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";

    for (size_t i = 0; i < COUNT(sides); i++) {
        const json_t *side = json_at(spec, "affinity", sides[i], NULL);

        if (json_array_size(json_object_get(side, required)) > 0)
            foreign_queue_refuse(queue, "affinity.%s.%s: Mete's queues have no groups of nodes",
                                 sides[i], required);
        else if (json_object_size(side) > 0)
            foreign_queue_note(queue, "affinity.%s is not read", sides[i]);
    }
}

/* A queue without a parent is below Volcano's root, where there is one. */
static void volcano_parent(const struct foreign *f, const json_t *native, const char *name,
                           const json_t *spec, json_t *queue)
{
    const char *parent = json_text_filled(spec, "parent");
    AUTO_FREE char *above = NULL;

    if (text_equal(name, QUEUE_ROOT) || (!parent && !json_object_get(f->volcano, QUEUE_ROOT)))
        return;
    if (text_equal(parent, QUEUE_ROOT) && !json_object_get(f->volcano, QUEUE_ROOT))
        return;
    above = volcano_queue_name(f, native, parent ? parent : QUEUE_ROOT);
    json_put_text(json_object_at(queue, "spec"), "parent", above);
}

static void volcano_queue(const struct foreign *f, const json_t *native, const char *name,
                          const json_t *object, json_t *queues)
{
    const json_t *spec = json_object_get(object, "spec");
    const char *state = json_text_at(object, "status", "state", NULL);
    AUTO_FREE char *queue_name = volcano_queue_name(f, native, name);
    AUTO_FREE char *source = mem_format("Queue." VOLCANO_GROUP " %s", name);
    json_t *queue = foreign_queue_new(queue_name, source);
    json_t *ours = json_object_at(queue, "spec");
    int64_t weight = json_int(spec, "weight", 1);

    json_put_int(ours, "weight", weight > 0 ? weight : 1);
    volcano_parent(f, native, name, spec, queue);
    volcano_quotas(queue, spec);
    volcano_affinity(queue, spec);
    if (!json_bool(spec, "reclaimable", true))
        json_put_text(ours, "minRunTime", NEVER_EVICTED);
    if (text_equal(state, "Closed") || text_equal(state, "Closing"))
        json_put_bool(ours, "stopped", true);
    if (json_int(spec, "priority", 0) != 0)
        foreign_queue_note(queue, "priority is not read: queues are ordered by their shares");
    json_put(queues, queue_name, queue);
}

void volcano_queues(const struct foreign *f, const json_t *native, json_t *queues)
{
    const char *name;
    json_t *object;

    json_object_foreach (f->volcano, name, object)
        if (!json_object_get(native, name))
            volcano_queue(f, native, name, object, queues);
}
