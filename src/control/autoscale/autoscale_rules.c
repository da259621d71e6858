/* autoscale_rules.c - bounds of a change of the number of pods */

#include "control/autoscale/autoscale_rules.h"

#include "base/mem.h"
#include "base/stamp.h"
#include "control/autoscale/autoscale_count.h"
#include "kinds/apps/autoscaler.h"
#include "kinds/kind/value.h"
#include "model/quantity.h"

enum {
    DOWN_WINDOW_S = 300,
    UP_FACTOR = 2,
    UP_LEAST = 4
};

/* ---- spec.behavior ---- */

static enum autoscale_select select_of(const json_t *rules)
{
    const char *text = value_text(rules, "selectPolicy");

    if (text_equal(text, "Disabled"))
        return AUTOSCALE_DISABLED;
    return text_equal(text, "Min") ? AUTOSCALE_MIN : AUTOSCALE_MAX;
}

static int64_t tolerance_of(const json_t *rules)
{
    const char *text = json_text(rules, "tolerance");
    struct quantity q = {.milli = AUTOSCALE_TOLERANCE_MILLI};

    if (text)
        err_free(quantity_parse(str_of(text), &q)); /* the schema has checked the form */
    return q.milli;
}

static void rules_read(const json_t *rules, int64_t window_s, struct autoscale_rules *ret)
{
    const json_t *policies = json_object_get(rules, "policies");

    *ret = (struct autoscale_rules){
        .window_ns = json_int(rules, "stabilizationWindowSeconds", window_s) * NS_PER_SEC,
        .select = select_of(rules),
        .tolerance_milli = tolerance_of(rules)};
    for (size_t i = 0; i < json_array_size(policies); i++) {
        const json_t *p = json_array_get(policies, i);
        const struct autoscale_policy policy = {
            .is_percent = text_equal(value_text(p, "type"), "Percent"),
            .value = json_int(p, "value", 0),
            .period_ns = json_int(p, "periodSeconds", 0) * NS_PER_SEC};

        vec_add(&ret->policies, policy);
    }
}

void autoscale_behavior_read(const json_t *behavior, struct autoscale_behavior *ret)
{
    ret->is_given = behavior != NULL;
    rules_read(json_object_get(behavior, "scaleUp"), 0, &ret->up);
    rules_read(json_object_get(behavior, "scaleDown"), DOWN_WINDOW_S, &ret->down);
}

void autoscale_behavior_done(struct autoscale_behavior *b)
{
    vec_done(&b->up.policies);
    vec_done(&b->down.policies);
    *b = (struct autoscale_behavior){0};
}

/* ---- history ---- */

void autoscale_history_done(struct autoscale_history *h)
{
    vec_done(&h->recommended);
    vec_done(&h->changed);
    *h = (struct autoscale_history){0};
}

/* Marks older than any window or period are dropped. */
static size_t n_old(const struct autoscale_mark *marks, size_t n, int64_t now_ns, int64_t most_s)
{
    size_t i = 0;

    while (i < n && marks[i].at_ns < now_ns - most_s * NS_PER_SEC)
        i++;
    return i;
}

void autoscale_recommend(struct autoscale_history *h, int64_t replicas, int64_t now_ns)
{
    const struct autoscale_mark mark = {replicas, now_ns};

    for (size_t old = n_old(h->recommended.at, h->recommended.n, now_ns, AUTOSCALER_WINDOW_MAX_S);
         old > 0; old--)
        vec_remove(&h->recommended, 0);
    vec_add(&h->recommended, mark);
}

void autoscale_changed(struct autoscale_history *h, int64_t by, int64_t now_ns)
{
    const struct autoscale_mark mark = {by, now_ns};

    for (size_t old = n_old(h->changed.at, h->changed.n, now_ns, AUTOSCALER_PERIOD_MAX_S); old > 0;
         old--)
        vec_remove(&h->changed, 0);
    vec_add(&h->changed, mark);
}

/* ---- the stabilization windows ---- */

static int64_t stabilize(const struct autoscale_history *h, const struct autoscale_behavior *b,
                         int64_t present, int64_t wanted, int64_t now_ns)
{
    int64_t least = wanted; /* of the window for more pods */
    int64_t most = wanted;  /* of the window for fewer */

    for (size_t i = 0; i < h->recommended.n; i++) {
        const struct autoscale_mark *m = &h->recommended.at[i];

        if (m->at_ns > now_ns - b->up.window_ns && m->replicas < least)
            least = m->replicas;
        if (m->at_ns > now_ns - b->down.window_ns && m->replicas > most)
            most = m->replicas;
    }
    if (!b->is_given)
        return most;
    if (present < least)
        return least;
    return present > most ? most : present;
}

static void tell_stabilized(struct autoscale_choice *c, bool is_changed, bool is_up)
{
    if (!is_changed) {
        c->able_reason = "ReadyForNewScale";
        c->able_message = "recommended size matches current size";
    } else if (is_up) {
        c->able_reason = "ScaleUpStabilized";
        c->able_message = "recent recommendations were lower than current one, applying the lowest "
                          "recent recommendation";
    } else {
        c->able_reason = "ScaleDownStabilized";
        c->able_message = "recent recommendations were higher than current one, applying the "
                          "highest recent recommendation";
    }
}

/* ---- policies ---- */

/* The number of pods at the begin of the policy's period. */
static int64_t count_before(const struct autoscale_history *h, const struct autoscale_policy *p,
                            int64_t present, int64_t now_ns)
{
    for (size_t i = 0; i < h->changed.n; i++)
        if (h->changed.at[i].at_ns > now_ns - p->period_ns)
            present -= h->changed.at[i].replicas;
    return present < 0 ? 0 : present;
}

/* The number of pods that the policy allows; percentages are rounded so that they allow more. */
static int64_t policy_limit(const struct autoscale_policy *p, int64_t before, bool is_up)
{
    int64_t by = p->is_percent ? (before * p->value + 99) / 100 : p->value;

    return is_up ? before + by : before - by;
}

/* The number of pods that the rules of one direction allow. */
static int64_t rules_limit(const struct autoscale_history *h, const struct autoscale_rules *r,
                           int64_t present, bool is_up, int64_t now_ns)
{
    bool wants_larger = (r->select == AUTOSCALE_MAX) == is_up;
    int64_t limit = present;

    if (r->select == AUTOSCALE_DISABLED)
        return present;
    for (size_t i = 0; i < r->policies.n; i++) {
        const struct autoscale_policy *p = &r->policies.at[i];
        int64_t one = policy_limit(p, count_before(h, p, present, now_ns), is_up);

        if (i == 0 || (wants_larger ? one > limit : one < limit))
            limit = one;
    }
    /* A policy never undoes a change that another client made meanwhile. */
    if (is_up)
        return limit > present ? limit : present;
    return limit < present ? limit : present;
}

static int64_t limit_up(struct autoscale_choice *c, int64_t wanted, int64_t rate, int64_t max)
{
    int64_t limit = rate < max ? rate : max;

    if (wanted <= limit)
        return wanted;
    c->limit_reason = rate < max ? "ScaleUpLimit" : "TooManyReplicas";
    c->limit_message = rate < max
                           ? "the desired replica count is increasing faster than the maximum "
                             "scale rate"
                           : "the desired replica count is more than the maximum replica count";
    return limit;
}

static int64_t limit_down(struct autoscale_choice *c, int64_t wanted, int64_t rate, int64_t min)
{
    int64_t limit = rate > min ? rate : min;

    if (wanted >= limit)
        return wanted;
    c->limit_reason = rate > min ? "ScaleDownLimit" : "TooFewReplicas";
    c->limit_message = rate > min
                           ? "the desired replica count is decreasing faster than the maximum "
                             "scale rate"
                           : "the desired replica count is less than the minimum replica count";
    return limit;
}

/* Without spec.behavior: at most twice the pods, or 4; down to the minimum at once. */
static int64_t limit_simply(struct autoscale_choice *c, struct autoscale_bounds bounds,
                            int64_t wanted)
{
    int64_t rate = UP_FACTOR * bounds.present;

    if (wanted < bounds.min)
        return limit_down(c, wanted, INT64_MIN, bounds.min);
    return limit_up(c, wanted, rate > UP_LEAST ? rate : UP_LEAST, bounds.max);
}

static int64_t limit_by_rules(struct autoscale_choice *c, const struct autoscale_history *h,
                              const struct autoscale_behavior *b, struct autoscale_bounds bounds,
                              int64_t wanted, int64_t now_ns)
{
    if (wanted > bounds.present)
        return limit_up(c, wanted, rules_limit(h, &b->up, bounds.present, true, now_ns),
                        bounds.max);
    if (wanted < bounds.present)
        return limit_down(c, wanted, rules_limit(h, &b->down, bounds.present, false, now_ns),
                          bounds.min);
    return wanted;
}

struct autoscale_choice autoscale_choose(struct autoscale_history *h,
                                         const struct autoscale_behavior *b,
                                         struct autoscale_bounds bounds, int64_t wanted,
                                         int64_t now_ns)
{
    int64_t stable = stabilize(h, b, bounds.present, wanted, now_ns);
    struct autoscale_choice c = {.limit_reason = "DesiredWithinRange",
                                 .limit_message =
                                     "the desired count is within the acceptable range"};

    autoscale_recommend(h, wanted, now_ns);
    tell_stabilized(&c, stable != wanted, b->is_given && wanted >= bounds.present);
    c.replicas = b->is_given ? limit_by_rules(&c, h, b, bounds, stable, now_ns)
                             : limit_simply(&c, bounds, stable);
    c.is_limited = c.replicas != stable;
    return c;
}
