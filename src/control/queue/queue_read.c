/* queue_read.c - the members of Queue objects */

#include "control/queue/queue_read.h"

#include "base/num.h"
#include "kinds/queue.h"

/* 0: missing. Validation has rejected malformed durations. */
static int64_t duration_at(const json_t *from, const char *key)
{
    const char *text = json_text(from, key);
    int64_t ns = 0;
    AUTO(err_freep) struct err *e = text ? num_parse_duration(str_of(text), &ns) : NULL;

    return e ? 0 : ns;
}

static int64_t amount_at(const json_t *from, const char *resource, const char *key, int64_t absent)
{
    const char *text = json_text(from, key);
    int64_t amount = absent;
    AUTO(err_freep) struct err *e = text ? queue_amount(resource, text, &amount) : NULL;

    return e ? absent : amount;
}

static enum mete_preempt preempt_of(const char *text)
{
    if (text_equal(text, "Any"))
        return METE_PREEMPT_ANY;
    if (text_equal(text, "Later"))
        return METE_PREEMPT_LATER;
    return text_equal(text, "LowerPriority") ? METE_PREEMPT_LOWER_PRIORITY : METE_PREEMPT_NEVER;
}

static struct mete_limits limits_of(const json_t *limits)
{
    return (struct mete_limits){.gpu_milli = amount_at(limits, "gpu", "gpus", 0),
                                .running = (uint32_t)json_int(limits, "running", 0)};
}

static void read_quotas(struct arena *a, const json_t *list, struct mete_queue *ret)
{
    struct mete_quota *quotas = arena_alloc(a, (json_array_size(list) + 1) * sizeof(*quotas));

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *quota = json_array_get(list, i);
        const char *resource = json_text(quota, "resource");

        quotas[i] = (struct mete_quota){
            .resource = resource,
            .nominal = amount_at(quota, resource, "nominal", 0),
            .borrow_limit = amount_at(quota, resource, "borrowLimit", METE_UNLIMITED),
            .lend_limit = amount_at(quota, resource, "lendLimit", METE_UNLIMITED),
        };
    }
    ret->quotas = quotas;
    ret->n_quotas = json_array_size(list);
}

const char *queue_read_parent(const json_t *object)
{
    const char *parent = json_text_at(object, "spec", "parent", NULL);

    return parent && *parent && !text_equal(parent, QUEUE_ROOT) ? parent : NULL;
}

void queue_read(struct arena *a, const char *name, const json_t *object, struct mete_queue *ret)
{
    const json_t *spec = json_object_get(object, "spec");

    *ret = (struct mete_queue){
        .name = name,
        .parent = queue_read_parent(object),
        .weight = (uint32_t)json_int(spec, "weight", 1),
        .limits = limits_of(json_object_get(spec, "limits")),
        .user_limits = limits_of(json_object_get(spec, "userLimits")),
        .time_limit_ns = duration_at(spec, "timeLimit"),
        .reclaim = preempt_of(json_text_at(spec, "preemption", "reclaim", NULL)),
        .within = preempt_of(json_text_at(spec, "preemption", "within", NULL)),
        .min_run_ns = duration_at(spec, "minRunTime"),
        .is_stopped = json_bool(spec, "stopped", false),
        .reserve_depth = (uint32_t)json_int(spec, "reserveDepth", 0),
    };
    read_quotas(a, json_object_get(spec, "quotas"), ret);
}

void queue_read_fairness(const json_t *root, struct mete_fairness *ret)
{
    const json_t *said = root ? json_at(root, "spec", "fairness", NULL) : NULL;
    const json_t *factors = json_object_get(said, "factors");

    *ret = (struct mete_fairness){
        .order = text_equal(json_text(said, "order"), "Priority") ? METE_ORDER_PRIORITY
                                                                  : METE_ORDER_SHARES,
        .formula =
            text_equal(json_text(said, "formula"), "FairTree") ? METE_FAIR_TREE : METE_FAIR_CLASSIC,
        .factors = {.class_points = (int32_t)json_int(factors, "class", 0),
                    .age_points = (int32_t)json_int(factors, "age", 0),
                    .fair_share_points = (int32_t)json_int(factors, "fairShare", 0),
                    .size_points = (int32_t)json_int(factors, "size", 0),
                    .favors_small = json_bool(factors, "favorsSmall", false),
                    .age_max_ns = duration_at(factors, "ageMax")},
        .half_life_ns = duration_at(said, "halfLife"),
        .period_ns = duration_at(said, "period"),
        .by_size = json_bool(said, "bySize", false),
    };
}

void queue_read_moves(const json_t *root, struct mete_moves *ret)
{
    const json_t *said = root ? json_at(root, "spec", "moves", NULL) : NULL;

    *ret = (struct mete_moves){
        .horizon_ns = duration_at(said, "horizon"),
        .restart_ns = duration_at(said, "restart"),
        .moves_max = (uint32_t)json_int(said, "max", 0),
    };
}
