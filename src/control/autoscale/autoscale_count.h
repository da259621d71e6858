/*
 * autoscale_count.h - the number of pods that one metric asks for, as Kubernetes' horizontal pod
 * autoscaler computes it
 *
 * Plain arithmetic on what was measured: no objects, no clock. The ratio of a metric is its mean
 * over the pods by its target; a target asks for that many times the pods it has. Pods without a
 * measure, and pods that are not ready, make the change smaller, never larger, and never turn it
 * around.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    AUTOSCALE_TOLERANCE_MILLI = 100 /* a tenth */
};

enum autoscale_pod_state {
    AUTOSCALE_READY,   /* `value` counts */
    AUTOSCALE_UNREADY, /* pending, or not ready for long enough: its value does not count */
    AUTOSCALE_MISSING, /* it runs without a measure */
    AUTOSCALE_GONE     /* it ends or has failed */
};

/* A pod of the target. Amounts are in thousandths of the metric's unit. */
struct autoscale_pod {
    enum autoscale_pod_state state;
    int64_t value;
    int64_t request; /* of a metric in percent of requests */
};

struct autoscale_goal {
    int64_t target;      /* percent, or an amount in thousandths */
    bool is_utilization; /* percent of what the pods request */
    int64_t up_milli;    /* tolerances: parts of the target in 1/1000 */
    int64_t down_milli;
};

struct autoscale_count {
    int64_t replicas;        /* at most INT32_MAX */
    int64_t utilization_pct; /* of a goal that is_utilization */
    int64_t average;         /* mean over the pods with a measure, in thousandths */
};

/* False: no pod has a measure that counts, or those that have one request nothing. */
bool autoscale_count(const struct autoscale_pod *pods, size_t n, const struct autoscale_goal *goal,
                     int64_t present, struct autoscale_count *ret);
