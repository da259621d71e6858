/* record_apply.c - a recorded call, made again on an engine */

#include "engine/record/record.h"
#include "engine/state.h"

enum mete_result record_apply(struct mete_engine *e, enum record_call call, const void *args,
                              struct mete_decisions *ret)
{
    const struct record_restore *restore = args;
    const struct record_estimate *estimate = args;
    const struct record_points *points = args;
    const struct record_demand *demand = args;
    const struct record_values *values = args;
    const struct record_cycle *cycle = args;
    const struct record_name *name = args;
    const struct record_hold *hold = args;
    const struct record_label *label = args;
    const struct record_unreserved *unreserved = args;
    const struct record_id *id = args;

    switch (call) {
    case RECORD_NODE_SET:
        return mete_node_set(e, args);
    case RECORD_NODE_REMOVE:
        return mete_node_remove(e, name->name);
    case RECORD_DEMAND_SET:
        return mete_demand_set(e, demand->demand, demand->n, demand->total);
    case RECORD_VALUES_SET:
        return mete_values_set(e, values->values);
    case RECORD_QUEUE_SET:
        return mete_queue_set(e, args);
    case RECORD_QUEUE_REMOVE:
        return mete_queue_remove(e, name->name);
    case RECORD_FAIRNESS_SET:
        return mete_fairness_set(e, args);
    case RECORD_MOVES_SET:
        return mete_moves_set(e, args);
    case RECORD_EVICT_RULES_SET:
        return mete_evict_rules_set(e, args);
    case RECORD_RESERVATION_SET:
        return mete_reservation_set(e, args);
    case RECORD_RESERVATION_REMOVE:
        return mete_reservation_remove(e, name->name);
    case RECORD_USAGE_ADD:
        return mete_usage_add(e, args);
    case RECORD_WORKLOAD_ADD:
        return mete_workload_add(e, args);
    case RECORD_WORKLOAD_RESTORE:
        return mete_workload_restore(e, restore->workload, restore->placement);
    case RECORD_WORKLOAD_UNPLACE:
        return mete_workload_unplace(e, id->id);
    case RECORD_WORKLOAD_REMOVE:
        return mete_workload_remove(e, id->id);
    case RECORD_WORKLOAD_ESTIMATE:
        return mete_workload_estimate(e, estimate->id, estimate->estimate_ns);
    case RECORD_WORKLOAD_POINTS:
        return mete_workload_points(e, points->id, points->points);
    case RECORD_WORKLOAD_HOLD:
        return mete_workload_hold(e, hold->id, hold->hold, hold->text);
    case RECORD_WORKLOAD_UNRESERVED:
        return mete_workload_unreserved(e, unreserved->id, unreserved->is_unreserved);
    case RECORD_WORKLOAD_SUSPENDED:
        return mete_workload_suspended(e, id->id);
    case RECORD_WORKLOAD_LABEL:
        return mete_workload_label(e, label->id, label->sets, label->n);
    case RECORD_CYCLE:
        e->cut_after = cycle->cut_after;
        mete_cycle(e, cycle->now_ns, 0, ret);
        e->cut_after = 0;
        return METE_OK;
    case RECORD_ENGINE:
    case RECORD_DECIDED:
    case RECORD_CALLS:
        break;
    }
    return METE_OK;
}
