/*
 * autoscale_rules.h - bounds of a change: stabilization windows, policies of spec.behavior, and the
 * least and largest number of pods
 *
 * Times are monotonic. Earlier recommendations and changes are in memory only, as in Kubernetes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/vec.h"

enum autoscale_select {
    AUTOSCALE_MAX, /* the policy that allows the largest change */
    AUTOSCALE_MIN,
    AUTOSCALE_DISABLED
};

struct autoscale_policy {
    bool is_percent;
    int64_t value;
    int64_t period_ns;
};

/* The rules of one direction. */
struct autoscale_rules {
    int64_t window_ns;
    enum autoscale_select select;
    VEC(struct autoscale_policy) policies;
    int64_t tolerance_milli; /* part of the target in 1/1000 */
};

struct autoscale_behavior {
    bool is_given; /* false: at most twice the pods, or 4, at a time */
    struct autoscale_rules up;
    struct autoscale_rules down;
};

/* Reads spec.behavior (NULL: none), which validation has taken. */
void autoscale_behavior_read(const json_t *behavior, struct autoscale_behavior *ret);
void autoscale_behavior_done(struct autoscale_behavior *b);

/* A number of pods that was recommended, or by which a target grew (less than 0: shrank). */
struct autoscale_mark {
    int64_t replicas;
    int64_t at_ns;
};

struct autoscale_history {
    VEC(struct autoscale_mark) recommended;
    VEC(struct autoscale_mark) changed;
};
void autoscale_history_done(struct autoscale_history *h);
void autoscale_recommend(struct autoscale_history *h, int64_t replicas, int64_t now_ns);
void autoscale_changed(struct autoscale_history *h, int64_t by, int64_t now_ns);

struct autoscale_bounds {
    int64_t min;
    int64_t max;
    int64_t present; /* pods that the target asks for */
};

/* Reasons and messages as Kubernetes' conditions have them. */
struct autoscale_choice {
    int64_t replicas;
    const char *able_reason; /* of AbleToScale */
    const char *able_message;
    bool is_limited;
    const char *limit_reason; /* of ScalingLimited */
    const char *limit_message;
};

/* Chooses the number of pods, and keeps `wanted` as a recommendation of `now_ns`. */
struct autoscale_choice autoscale_choose(struct autoscale_history *h,
                                         const struct autoscale_behavior *b,
                                         struct autoscale_bounds bounds, int64_t wanted,
                                         int64_t now_ns);
