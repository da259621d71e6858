/* autoscale_private.h - one look at a HorizontalPodAutoscaler */
#pragma once

#include "base/map.h"
#include "control/autoscale/autoscale.h"
#include "control/autoscale/autoscale_count.h"
#include "control/autoscale/autoscale_rules.h"
#include "control/writes.h"
#include "kinds/object/scale.h"
#include "model/selector.h"

struct autoscale {
    struct autoscale_options options;
    struct store *store;
    const struct kind *kind;
    struct store_watch *watch;
    struct writes *writes;
    struct autoscaler *all;
};

struct autoscaler {
    struct map_handle handle; /* by key */
    struct autoscale *of;
    char *key; /* "ns/name" */
    char *ns;
    char *name;
    char *uid;
    json_t *spec; /* as last put */
    struct loop_timer *timer;
    int64_t looked_ns; /* monotonic; 0: never */
    struct autoscale_history history;
    struct selector *selector; /* of the target's pods, at the last look; NULL: none */
    bool slept;                /* the target asked for no pods at the last look */
};

/* autoscale.c */
void autoscaler_poke(struct autoscaler *a); /* looks at it soon */
void autoscale_on_written(void *owner, const char *key, uint64_t number, const struct err *e);
/* autoscale_look.c */
void autoscale_look_at(struct autoscaler *a);

/* The reason why a metric cannot be computed: of a condition and of an event. */
struct autoscale_fault {
    const char *reason;
    char *message; /* NULL: no fault */
};
void autoscale_fault_done(struct autoscale_fault *f);

struct autoscale_look {
    struct autoscaler *scaler;
    json_t *object;     /* the autoscaler, whose status this look writes */
    const json_t *spec; /* of it */
    const struct kind *target_kind;
    json_t *target;
    struct scale scale;
    struct autoscale_behavior behavior;
    VEC(json_t *) pods;
    json_t *current; /* status.currentMetrics; NULL: none */
    int64_t now_ns;  /* monotonic */
    int64_t wall_ns;
};

/* autoscale_measure.c: the number of pods that a metric asks for. `*ret_name` is the metric in
 * Kubernetes' words, and `ret_status` gets its present value. The caller frees the name. */
void autoscale_measure(const struct autoscale_look *l, const json_t *metric, json_t *ret_status,
                       int64_t *ret_replicas, char **ret_name, struct autoscale_fault *fault);

/* autoscale_values.c: the measure of a pod in thousandths of its unit; -1: unknown. */
int64_t autoscale_load_of(const struct autoscale_samples *s, const json_t *pod,
                          const char *container, bool is_cpu, int64_t *ret_at_ns,
                          int64_t *ret_window_ns);
/* Is a reading of GPUs known by this name? */
bool autoscale_gpu_is_known(const char *name);
int64_t autoscale_gpu_of(const struct autoscale_samples *s, const json_t *pod, const char *name);
