/* autoscale_count.c - the number of pods that one metric asks for */

#include "control/autoscale/autoscale_count.h"

__extension__ typedef __int128 wide;

/* A mean by its target: used / wanted. */
struct ratio {
    wide used;
    wide wanted; /* over 0 */
};

struct sums {
    wide value;
    wide request;
    size_t n;
};

static int64_t fit(wide value)
{
    return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

static void sums_add(struct sums *s, wide value, int64_t request)
{
    s->value += value;
    s->request += request;
    s->n++;
}

/* Whole percent, and a whole mean, as Kubernetes rounds them. */
static bool ratio_of(const struct sums *s, const struct autoscale_goal *g, struct ratio *ret)
{
    if (s->n == 0 || g->target < 1 || (g->is_utilization && s->request < 1))
        return false;
    ret->used = g->is_utilization ? s->value * 100 / s->request : s->value / (wide)s->n;
    ret->wanted = g->target;
    return true;
}

static bool is_within(struct ratio r, const struct autoscale_goal *g)
{
    return r.used * 1000 <= r.wanted * (1000 + g->up_milli) &&
           r.used * 1000 >= r.wanted * (1000 - g->down_milli);
}

/* n times the ratio, rounded up. */
static int64_t times(struct ratio r, size_t n)
{
    wide product = r.used * (wide)n;
    wide pods = product <= 0 ? 0 : (product + r.wanted - 1) / r.wanted;

    return pods > INT32_MAX ? INT32_MAX : (int64_t)pods;
}

/* The measure of a pod without one: what keeps the target from changing too much. */
static wide cautious(const struct autoscale_pod *p, const struct autoscale_goal *g, bool is_up)
{
    if (is_up)
        return 0;
    if (!g->is_utilization)
        return g->target;
    return (wide)p->request * (g->target > 100 ? g->target : 100) / 100;
}

static int64_t count_again(const struct autoscale_pod *pods, size_t n,
                           const struct autoscale_goal *g, int64_t present, struct ratio first)
{
    bool is_up = first.used > first.wanted;
    bool is_down = first.used < first.wanted;
    struct sums all = {0};
    struct ratio r = {0};
    int64_t replicas;

    for (size_t i = 0; i < n; i++) {
        if (pods[i].state == AUTOSCALE_READY)
            sums_add(&all, pods[i].value, pods[i].request);
        else if (pods[i].state == AUTOSCALE_MISSING && (is_up || is_down))
            sums_add(&all, cautious(&pods[i], g, is_up), pods[i].request);
        else if (pods[i].state == AUTOSCALE_UNREADY && is_up)
            sums_add(&all, 0, pods[i].request);
    }
    if (!ratio_of(&all, g, &r) || is_within(r, g) || (is_down && r.used > r.wanted) ||
        (is_up && r.used < r.wanted))
        return present;
    replicas = times(r, all.n);
    if ((r.used < r.wanted && replicas > present) || (r.used > r.wanted && replicas < present))
        return present;
    return replicas;
}

bool autoscale_count(const struct autoscale_pod *pods, size_t n, const struct autoscale_goal *goal,
                     int64_t present, struct autoscale_count *ret)
{
    struct autoscale_count c = {.replicas = present};
    struct sums ready = {0};
    struct ratio r = {0};
    bool is_missing = false;
    bool is_unready = false;

    for (size_t i = 0; i < n; i++) {
        is_missing = is_missing || pods[i].state == AUTOSCALE_MISSING;
        is_unready = is_unready || pods[i].state == AUTOSCALE_UNREADY;
        if (pods[i].state == AUTOSCALE_READY)
            sums_add(&ready, pods[i].value, pods[i].request);
    }
    if (!ratio_of(&ready, goal, &r))
        return false;
    if (is_missing || (is_unready && r.used > r.wanted))
        c.replicas = count_again(pods, n, goal, present, r);
    else if (!is_within(r, goal))
        c.replicas = times(r, ready.n);
    c.utilization_pct = goal->is_utilization ? fit(r.used) : 0;
    c.average = fit(ready.value / (wide)ready.n);
    *ret = c;
    return true;
}
