/*
 * kai.c - Queues for KAI's Queues
 *
 * `quota` is the nominal quota, `limit` the limit, -1 is unlimited, and what is missing is 0, as in
 * KAI. The weight is that of GPUs.
 */

#include "base/mem.h"
#include "base/num.h"
#include "control/queue/foreign_private.h"
#include "control/queue/foreign_queue.h"
#include "kinds/queue.h"

enum {
    KAI_PRIORITY = 100 /* of a queue that says nothing */
};

/* KAI's resources, and the units of an amount in those of the engine. */
static const struct kai_unit {
    const char *name;
    const char *resource;
    const char *suffix; /* of a quantity */
} kai_units[] = {{"gpu", "gpu", ""}, {"cpu", "cpu", "m"}, {"memory", "memory", "M"}};

/* Reads a number; -1: METE_UNLIMITED. */
static struct err *kai_amount(const struct kai_unit *unit, const json_t *number, int64_t *ret)
{
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *number_text = NULL;
    AUTO(json_freep) json_t *quantity = NULL;

    *ret = 0;
    if (!number)
        return NULL;
    number_text = json_format(number);
    if (number_text[0] == '-') {
        *ret = METE_UNLIMITED;
        return NULL;
    }
    text = mem_format("%s%s", number_text, unit->suffix);
    quantity = json_text_new(text);
    return foreign_amount(unit->resource, quantity, ret);
}

static struct err *kai_quota(json_t *queue, const json_t *resources, const struct kai_unit *unit)
{
    const json_t *said = json_object_get(resources, unit->name);
    const json_t *lending = json_object_get(said, "lendingLimit");
    struct mete_quota quota = {.resource = unit->resource, .lend_limit = METE_UNLIMITED};
    int64_t limit = 0;

    TRY(kai_amount(unit, json_object_get(said, "quota"), &quota.nominal));
    TRY(kai_amount(unit, json_object_get(said, "limit"), &limit));
    if (lending)
        TRY(kai_amount(unit, lending, &quota.lend_limit));
    if (limit == METE_UNLIMITED && quota.nominal == METE_UNLIMITED)
        return NULL;
    quota.nominal = quota.nominal > limit ? limit : quota.nominal;
    quota.borrow_limit = limit == METE_UNLIMITED ? METE_UNLIMITED : limit - quota.nominal;
    foreign_queue_quota(queue, &quota);
    return NULL;
}

/* Mete has one time in which no workload is evicted, whoever wants its room: the longer of both. */
static void kai_min_runtime(json_t *queue, const json_t *spec)
{
    const char *preempt = json_text_filled(spec, "preemptMinRuntime");
    const char *reclaim = json_text_filled(spec, "reclaimMinRuntime");
    int64_t preempt_ns = 0;
    int64_t reclaim_ns = 0;
    AUTO(err_freep)
    struct err *e = preempt ? num_parse_duration(str_of(preempt), &preempt_ns) : NULL;
    AUTO(err_freep)
    struct err *other = reclaim ? num_parse_duration(str_of(reclaim), &reclaim_ns) : NULL;

    if (e || other) {
        foreign_queue_refuse(queue, "%s", err_message(e ? e : other));
        return;
    }
    if (preempt_ns != reclaim_ns)
        foreign_queue_note(queue,
                           "the longer of preemptMinRuntime and reclaimMinRuntime counts for both");
    json_put_text(json_object_at(queue, "spec"), "minRunTime",
                  preempt_ns > reclaim_ns ? preempt : reclaim);
}

static void kai_queue(const struct foreign *f, const json_t *native, const char *name,
                      const json_t *object, json_t *queues)
{
    const json_t *spec = json_object_get(object, "spec");
    const json_t *resources = json_object_get(spec, "resources");
    const char *parent = json_text_filled(spec, "parentQueue");
    AUTO_FREE char *queue_name = kai_queue_name(f, native, name);
    AUTO_FREE char *above = parent ? kai_queue_name(f, native, parent) : NULL;
    AUTO_FREE char *source = mem_format("Queue." KAI_GROUP " %s", name);
    json_t *queue = foreign_queue_new(queue_name, source);
    json_t *preemption = json_object_at(json_object_at(queue, "spec"), "preemption");

    json_put_text(json_object_at(queue, "spec"), "parent", above);
    json_put_text(preemption, "reclaim", "Any");
    json_put_text(preemption, "within", "LowerPriority");
    for (size_t i = 0; i < COUNT(kai_units); i++) {
        AUTO(err_freep) struct err *e = kai_quota(queue, resources, &kai_units[i]);

        if (e)
            foreign_queue_refuse(queue, "%s", err_message(e));
    }
    foreign_queue_weight(queue, "overQuotaWeight",
                         json_at(resources, "gpu", "overQuotaWeight", NULL));
    kai_min_runtime(queue, spec);
    if (json_int(spec, "priority", KAI_PRIORITY) != KAI_PRIORITY)
        foreign_queue_note(queue, "priority is not read: queues are ordered by their shares");
    json_put(queues, queue_name, queue);
}

void kai_queues(const struct foreign *f, const json_t *native, json_t *queues)
{
    const char *name;
    json_t *object;

    json_object_foreach (f->kai, name, object)
        if (!json_object_get(native, name))
            kai_queue(f, native, name, object, queues);
}
