/* record_types.c - the tables of record_types.h */

#include "engine/record/record_types.h"

#include "base/attr.h"

#define SIZE(of, member) (uint32_t)sizeof(((of *)0)->member)
#define EACH(of, member) (uint32_t)sizeof(*((of *)0)->member)
#define AT(of, member)   (uint32_t) offsetof(of, member)

#define BOOL(of, member)                                                \
    {                                                                   \
#member, RECORD_BOOL, AT(of, member), SIZE(of, member), 0, NULL \
    }
#define INT(of, member)                                                \
    {                                                                  \
#member, RECORD_INT, AT(of, member), SIZE(of, member), 0, NULL \
    }
#define UINT(of, member)                                                \
    {                                                                   \
#member, RECORD_UINT, AT(of, member), SIZE(of, member), 0, NULL \
    }
#define TEXT(of, member)                                                \
    {                                                                   \
#member, RECORD_TEXT, AT(of, member), SIZE(of, member), 0, NULL \
    }
#define STRUCT(of, member, type)                                          \
    {                                                                     \
#member, RECORD_STRUCT, AT(of, member), SIZE(of, member), 0, type \
    }
#define ONE(of, member, type)                                          \
    {                                                                  \
#member, RECORD_ONE, AT(of, member), SIZE(of, member), 0, type \
    }
#define LIST(of, member, n, type)                                               \
    {                                                                           \
#member, RECORD_LIST, AT(of, member), EACH(of, member), AT(of, n), type \
    }
#define TEXTS(of, member, n)                                                     \
    {                                                                            \
#member, RECORD_TEXTS, AT(of, member), EACH(of, member), AT(of, n), NULL \
    }
#define NUMBERS(of, member, n)                                                     \
    {                                                                              \
#member, RECORD_NUMBERS, AT(of, member), EACH(of, member), AT(of, n), NULL \
    }
#define TABLE(of, member, n)                                                     \
    {                                                                            \
#member, RECORD_TABLE, AT(of, member), EACH(of, member), AT(of, n), NULL \
    }

/*
 * Defines the table of a struct. When the size changes, a member came or went: add or remove its
 * line in the table, then put the new size here. Else recordings lack the member and replays
 * differ.
 */
#define TYPE(name, of, size)                                                            \
    _Static_assert(sizeof(of) == (size), #of ": a member came or went: see its table"); \
    static const struct record_type name = {sizeof(of), name##_fields, COUNT(name##_fields)}

static const struct record_field amount_fields[] = {TEXT(struct mete_amount, resource),
                                                    INT(struct mete_amount, amount)};
TYPE(amount, struct mete_amount, 16);

static const struct record_field label_fields[] = {TEXT(struct mete_label, key),
                                                   TEXT(struct mete_label, value)};
TYPE(label, struct mete_label, 16);

static const struct record_field taint_fields[] = {
    TEXT(struct mete_taint, key), TEXT(struct mete_taint, value), INT(struct mete_taint, effect)};
TYPE(taint, struct mete_taint, 24);

static const struct record_field toleration_fields[] = {
    TEXT(struct mete_toleration, key),       TEXT(struct mete_toleration, value),
    BOOL(struct mete_toleration, is_exists), BOOL(struct mete_toleration, any_effect),
    INT(struct mete_toleration, effect),
};
TYPE(toleration, struct mete_toleration, 24);

static const struct record_field slice_fields[] = {TEXT(struct mete_slice, profile),
                                                   UINT(struct mete_slice, start),
                                                   TEXT(struct mete_slice, uuid)};
TYPE(slice, struct mete_slice, 24);

static const struct record_field gpu_fields[] = {
    TEXT(struct mete_gpu, uuid),
    TEXT(struct mete_gpu, model),
    INT(struct mete_gpu, memory_bytes),
    INT(struct mete_gpu, numa_node),
    INT(struct mete_gpu, link_group),
    BOOL(struct mete_gpu, is_healthy),
    INT(struct mete_gpu, mode),
    UINT(struct mete_gpu, replicas),
    LIST(struct mete_gpu, slices, n_slices, &slice),
    BOOL(struct mete_gpu, is_flexible),
    BOOL(struct mete_gpu, is_renamed),
    BOOL(struct mete_gpu, is_single),
    BOOL(struct mete_gpu, is_fenced),
    BOOL(struct mete_gpu, keeps_mig),
    TEXT(struct mete_gpu, out_text),
};
TYPE(gpu, struct mete_gpu, 80);

static const struct record_field node_fields[] = {
    TEXT(struct mete_node, name),
    LIST(struct mete_node, capacity, n_capacity, &amount),
    LIST(struct mete_node, labels, n_labels, &label),
    LIST(struct mete_node, taints, n_taints, &taint),
    LIST(struct mete_node, gpus, n_gpus, &gpu),
    BOOL(struct mete_node, is_ready),
    BOOL(struct mete_node, is_cordoned),
    TEXT(struct mete_node, cordon_reason),
};
TYPE(node, struct mete_node, 88);

static const struct record_field domain_fields[] = {TEXT(struct mete_domain, key),
                                                    BOOL(struct mete_domain, is_required)};
TYPE(domain, struct mete_domain, 16);

static const struct record_field ask_fields[] = {
    UINT(struct mete_gpu_ask, count),       UINT(struct mete_gpu_ask, gpu_milli),
    INT(struct mete_gpu_ask, memory_bytes), TEXT(struct mete_gpu_ask, profile),
    BOOL(struct mete_gpu_ask, is_replica),  TEXTS(struct mete_gpu_ask, models, n_models),
    BOOL(struct mete_gpu_ask, or_replica),  BOOL(struct mete_gpu_ask, is_by_memory),
    BOOL(struct mete_gpu_ask, is_several),  TEXTS(struct mete_gpu_ask, uuids, n_uuids),
    UINT(struct mete_gpu_ask, starts),
};
TYPE(ask, struct mete_gpu_ask, 72);
static const struct record_field requirement_fields[] = {
    TEXT(struct mete_requirement, key),
    INT(struct mete_requirement, op),
    TEXTS(struct mete_requirement, values, n_values),
};
TYPE(requirement, struct mete_requirement, 32);

static const struct record_field node_term_fields[] = {
    LIST(struct mete_node_term, labels, n_labels, &requirement),
    LIST(struct mete_node_term, names, n_names, &requirement),
};
TYPE(node_term, struct mete_node_term, 32);

static const struct record_field node_wish_fields[] = {
    UINT(struct mete_node_wish, weight),
    STRUCT(struct mete_node_wish, term, &node_term),
};
TYPE(node_wish, struct mete_node_wish, 40);

static const struct record_field pod_rule_fields[] = {
    INT(struct mete_pod_rule, kind),
    UINT(struct mete_pod_rule, weight),
    TEXT(struct mete_pod_rule, topology),
    LIST(struct mete_pod_rule, labels, n_labels, &requirement),
    BOOL(struct mete_pod_rule, matches_none),
    TEXTS(struct mete_pod_rule, namespaces, n_namespaces),
    BOOL(struct mete_pod_rule, any_namespace),
    UINT(struct mete_pod_rule, max_skew),
    UINT(struct mete_pod_rule, min_domains),
    BOOL(struct mete_pod_rule, counts_all_nodes),
    BOOL(struct mete_pod_rule, counts_no_tainted_nodes),
};
TYPE(pod_rule, struct mete_pod_rule, 72);

static const struct record_field pod_labels_fields[] = {
    LIST(struct mete_pod_labels, labels, n_labels, &label)};
TYPE(pod_labels, struct mete_pod_labels, 16);

static const struct record_field pod_set_fields[] = {
    TEXT(struct mete_pod_set, name),
    UINT(struct mete_pod_set, count),
    LIST(struct mete_pod_set, requests, n_requests, &amount),
    UINT(struct mete_pod_set, gpus),
    UINT(struct mete_pod_set, gpu_milli),
    INT(struct mete_pod_set, gpu_memory_bytes),
    TEXTS(struct mete_pod_set, gpu_models, n_gpu_models),
    LIST(struct mete_pod_set, selector, n_selector, &label),
    LIST(struct mete_pod_set, tolerations, n_tolerations, &toleration),
    TEXT(struct mete_pod_set, node),
    LIST(struct mete_pod_set, domains, n_domains, &domain),
    LIST(struct mete_pod_set, asks, n_asks, &ask),
    LIST(struct mete_pod_set, node_terms, n_node_terms, &node_term),
    LIST(struct mete_pod_set, node_wishes, n_node_wishes, &node_wish),
    TEXT(struct mete_pod_set, ns),
    LIST(struct mete_pod_set, labels, n_labels, &label),
    LIST(struct mete_pod_set, rules, n_rules, &pod_rule),
    BOOL(struct mete_pod_set, is_linked),
    BOOL(struct mete_pod_set, are_models_fixed),
};
TYPE(pod_set, struct mete_pod_set, 216);

static const struct record_field workload_fields[] = {
    UINT(struct mete_workload, id),
    TEXT(struct mete_workload, name),
    TEXT(struct mete_workload, queue),
    TEXT(struct mete_workload, user),
    INT(struct mete_workload, priority),
    INT(struct mete_workload, submit_ns),
    INT(struct mete_workload, time_limit_ns),
    BOOL(struct mete_workload, is_preemptible),
    BOOL(struct mete_workload, never_preempts),
    BOOL(struct mete_workload, is_extra),
    UINT(struct mete_workload, evict_class),
    INT(struct mete_workload, min_run_ns),
    INT(struct mete_workload, checkpoint_ns),
    INT(struct mete_workload, estimate_ns),
    LIST(struct mete_workload, pod_sets, n_pod_sets, &pod_set),
    TEXT(struct mete_workload, reservation),
    LIST(struct mete_workload, domains, n_domains, &domain),
};
TYPE(workload, struct mete_workload, 128);

static const struct record_field device_fields[] = {
    UINT(struct mete_device, ask),     TEXT(struct mete_device, gpu),
    TEXT(struct mete_device, profile), UINT(struct mete_device, start),
    TEXT(struct mete_device, slice),   BOOL(struct mete_device, must_create),
    INT(struct mete_device, kind),
};
TYPE(device, struct mete_device, 72);

static const struct record_field pod_placement_fields[] = {
    UINT(struct mete_pod_placement, pod_set),
    UINT(struct mete_pod_placement, pod),
    TEXT(struct mete_pod_placement, node),
    TEXTS(struct mete_pod_placement, gpus, n_gpus),
    LIST(struct mete_pod_placement, devices, n_devices, &device),
};
TYPE(pod_placement, struct mete_pod_placement, 48);

static const struct record_field placement_fields[] = {
    UINT(struct mete_placement, workload),
    LIST(struct mete_placement, pods, n_pods, &pod_placement),
    INT(struct mete_placement, started_ns),
};
TYPE(placement, struct mete_placement, 32);

static const struct record_field eviction_fields[] = {UINT(struct mete_eviction, workload),
                                                      UINT(struct mete_eviction, by),
                                                      INT(struct mete_eviction, reason)};
TYPE(eviction, struct mete_eviction, 24);

static const struct record_field resume_fields[] = {UINT(struct mete_resume, workload)};
TYPE(resume, struct mete_resume, 8);

static const struct record_field decided_fields[] = {
    LIST(struct mete_decisions, placements, n_placements, &placement),
    LIST(struct mete_decisions, evictions, n_evictions, &eviction),
    LIST(struct mete_decisions, resumes, n_resumes, &resume),
    BOOL(struct mete_decisions, is_cut),
};
TYPE(decided, struct mete_decisions, 56);

/* The options without the recorder. */
static const struct record_field options_fields[] = {
    TEXT(struct mete_options, policy),
    UINT(struct mete_options, nodes_max),
    UINT(struct mete_options, reserve_depth),
    UINT(struct mete_options, seed),
};
TYPE(options, struct mete_options, 40);

static const struct record_field demand_fields[] = {ONE(struct mete_demand, set, &pod_set),
                                                    UINT(struct mete_demand, weight)};
TYPE(demand, struct mete_demand, 16);

static const struct record_field price_fields[] = {TEXT(struct mete_price, model),
                                                   INT(struct mete_price, price_milli)};
TYPE(price, struct mete_price, 16);

static const struct record_field values_fields[] = {
    TEXT(struct mete_values, id),
    UINT(struct mete_values, pods),
    UINT(struct mete_values, fragment_milli),
    NUMBERS(struct mete_values, cpu_steps, n_cpu_steps),
    TABLE(struct mete_values, idle, n_cpu_steps),
    LIST(struct mete_values, prices, n_prices, &price),
};
TYPE(values, struct mete_values, 64);

static const struct record_field quota_fields[] = {
    TEXT(struct mete_quota, resource),
    INT(struct mete_quota, nominal),
    INT(struct mete_quota, borrow_limit),
    INT(struct mete_quota, lend_limit),
};
TYPE(quota, struct mete_quota, 32);

static const struct record_field limits_fields[] = {INT(struct mete_limits, gpu_milli),
                                                    UINT(struct mete_limits, running)};
TYPE(limits, struct mete_limits, 16);

static const struct record_field queue_fields[] = {
    TEXT(struct mete_queue, name),
    TEXT(struct mete_queue, parent),
    UINT(struct mete_queue, weight),
    LIST(struct mete_queue, quotas, n_quotas, &quota),
    STRUCT(struct mete_queue, limits, &limits),
    STRUCT(struct mete_queue, user_limits, &limits),
    INT(struct mete_queue, time_limit_ns),
    INT(struct mete_queue, reclaim),
    INT(struct mete_queue, within),
    INT(struct mete_queue, min_run_ns),
    BOOL(struct mete_queue, is_stopped),
    UINT(struct mete_queue, reserve_depth),
};
TYPE(queue, struct mete_queue, 104);

static const struct record_field factors_fields[] = {
    INT(struct mete_factors, class_points),      INT(struct mete_factors, age_points),
    INT(struct mete_factors, fair_share_points), INT(struct mete_factors, size_points),
    BOOL(struct mete_factors, favors_small),     INT(struct mete_factors, age_max_ns),
};
TYPE(factors, struct mete_factors, 32);

static const struct record_field fairness_fields[] = {
    INT(struct mete_fairness, order),
    INT(struct mete_fairness, formula),
    STRUCT(struct mete_fairness, factors, &factors),
    INT(struct mete_fairness, half_life_ns),
    INT(struct mete_fairness, period_ns),
    BOOL(struct mete_fairness, by_size),
};
TYPE(fairness, struct mete_fairness, 64);

static const struct record_field moves_fields[] = {INT(struct mete_moves, horizon_ns),
                                                   INT(struct mete_moves, restart_ns),
                                                   UINT(struct mete_moves, moves_max)};
TYPE(moves, struct mete_moves, 24);

static const struct record_field evict_pair_fields[] = {UINT(struct mete_evict_pair, by),
                                                        UINT(struct mete_evict_pair, victim)};
TYPE(evict_pair, struct mete_evict_pair, 8);

static const struct record_field evict_rules_fields[] = {
    LIST(struct mete_evict_rules, pairs, n_pairs, &evict_pair),
    UINT(struct mete_evict_rules, suspended),
};
TYPE(evict_rules, struct mete_evict_rules, 24);

static const struct record_field reservation_fields[] = {
    TEXT(struct mete_reservation, name),
    INT(struct mete_reservation, start_ns),
    INT(struct mete_reservation, end_ns),
    TEXTS(struct mete_reservation, nodes, n_nodes),
    UINT(struct mete_reservation, gpus),
    TEXTS(struct mete_reservation, gpu_models, n_gpu_models),
    TEXTS(struct mete_reservation, gpu_uuids, n_gpu_uuids),
    TEXTS(struct mete_reservation, queues, n_queues),
    TEXTS(struct mete_reservation, users, n_users),
    BOOL(struct mete_reservation, is_maintenance),
};
TYPE(reservation, struct mete_reservation, 120);

static const struct record_field used_fields[] = {
    TEXT(struct mete_used, queue),
    TEXT(struct mete_used, user),
    LIST(struct mete_used, amounts, n_amounts, &amount),
    INT(struct mete_used, from_ns),
    INT(struct mete_used, to_ns),
    INT(struct mete_used, now_ns),
};
TYPE(used, struct mete_used, 56);

static const struct record_field name_fields[] = {TEXT(struct record_name, name)};
TYPE(name, struct record_name, 8);

static const struct record_field id_fields[] = {UINT(struct record_id, id)};
TYPE(id, struct record_id, 8);

static const struct record_field estimate_fields[] = {UINT(struct record_estimate, id),
                                                      INT(struct record_estimate, estimate_ns)};
TYPE(estimate, struct record_estimate, 16);

static const struct record_field points_fields[] = {UINT(struct record_points, id),
                                                    INT(struct record_points, points)};
TYPE(points, struct record_points, 16);

static const struct record_field hold_fields[] = {
    UINT(struct record_hold, id), INT(struct record_hold, hold), TEXT(struct record_hold, text)};
TYPE(hold, struct record_hold, 24);

static const struct record_field unreserved_fields[] = {
    UINT(struct record_unreserved, id), BOOL(struct record_unreserved, is_unreserved)};
TYPE(unreserved, struct record_unreserved, 16);

static const struct record_field label_set_fields[] = {
    UINT(struct record_label, id), LIST(struct record_label, sets, n, &pod_labels)};
TYPE(label_set, struct record_label, 24);

static const struct record_field restore_fields[] = {
    ONE(struct record_restore, workload, &workload),
    ONE(struct record_restore, placement, &placement),
};
TYPE(restore, struct record_restore, 16);

static const struct record_field cycle_fields[] = {INT(struct record_cycle, now_ns),
                                                   UINT(struct record_cycle, cut_after)};
TYPE(cycle, struct record_cycle, 16);

static const struct record_field demand_set_fields[] = {
    LIST(struct record_demand, demand, n, &demand), UINT(struct record_demand, total)};
TYPE(demand_set, struct record_demand, 24);

static const struct record_field values_set_fields[] = {ONE(struct record_values, values, &values)};
TYPE(values_set, struct record_values, 8);

const char *const record_call_names[RECORD_CALLS] = {
    [RECORD_ENGINE] = "engine",
    [RECORD_NODE_SET] = "node_set",
    [RECORD_NODE_REMOVE] = "node_remove",
    [RECORD_DEMAND_SET] = "demand_set",
    [RECORD_VALUES_SET] = "values_set",
    [RECORD_QUEUE_SET] = "queue_set",
    [RECORD_QUEUE_REMOVE] = "queue_remove",
    [RECORD_FAIRNESS_SET] = "fairness_set",
    [RECORD_MOVES_SET] = "moves_set",
    [RECORD_EVICT_RULES_SET] = "evict_rules_set",
    [RECORD_RESERVATION_SET] = "reservation_set",
    [RECORD_RESERVATION_REMOVE] = "reservation_remove",
    [RECORD_USAGE_ADD] = "usage_add",
    [RECORD_WORKLOAD_ADD] = "workload_add",
    [RECORD_WORKLOAD_RESTORE] = "workload_restore",
    [RECORD_WORKLOAD_UNPLACE] = "workload_unplace",
    [RECORD_WORKLOAD_REMOVE] = "workload_remove",
    [RECORD_WORKLOAD_ESTIMATE] = "workload_estimate",
    [RECORD_WORKLOAD_POINTS] = "workload_points",
    [RECORD_WORKLOAD_HOLD] = "workload_hold",
    [RECORD_WORKLOAD_LABEL] = "workload_label",
    [RECORD_WORKLOAD_UNRESERVED] = "workload_unreserved",
    [RECORD_WORKLOAD_SUSPENDED] = "workload_suspended",
    [RECORD_CYCLE] = "cycle",
    [RECORD_DECIDED] = "decided",
};

const struct record_type *const record_call_types[RECORD_CALLS] = {
    [RECORD_ENGINE] = &options,
    [RECORD_NODE_SET] = &node,
    [RECORD_NODE_REMOVE] = &name,
    [RECORD_DEMAND_SET] = &demand_set,
    [RECORD_VALUES_SET] = &values_set,
    [RECORD_QUEUE_SET] = &queue,
    [RECORD_QUEUE_REMOVE] = &name,
    [RECORD_FAIRNESS_SET] = &fairness,
    [RECORD_MOVES_SET] = &moves,
    [RECORD_EVICT_RULES_SET] = &evict_rules,
    [RECORD_RESERVATION_SET] = &reservation,
    [RECORD_RESERVATION_REMOVE] = &name,
    [RECORD_USAGE_ADD] = &used,
    [RECORD_WORKLOAD_ADD] = &workload,
    [RECORD_WORKLOAD_RESTORE] = &restore,
    [RECORD_WORKLOAD_UNPLACE] = &id,
    [RECORD_WORKLOAD_REMOVE] = &id,
    [RECORD_WORKLOAD_ESTIMATE] = &estimate,
    [RECORD_WORKLOAD_POINTS] = &points,
    [RECORD_WORKLOAD_HOLD] = &hold,
    [RECORD_WORKLOAD_LABEL] = &label_set,
    [RECORD_WORKLOAD_UNRESERVED] = &unreserved,
    [RECORD_WORKLOAD_SUSPENDED] = &id,
    [RECORD_CYCLE] = &cycle,
    [RECORD_DECIDED] = &decided,
};
