/* meter_private.h - the parts of the meter */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "client/node_stats.h"
#include "kinds/account/account.h"
#include "kinds/metrics.h"
#include "meter/history/history.h"
#include "meter/meter.h"
#include "meter/prices.h"

/* The latest samples of one node, each with the time of its arrival (monotonic). */
struct node_sample {
    struct map_handle handle;
    char *node;
    struct node_stats loads; /* STATS_LOADS */
    int64_t loads_ns;        /* 0: none yet, as the following */
    struct node_stats gpus;  /* STATS_GPUS */
    int64_t gpus_ns;
};

struct meter {
    struct meter_options o;
    struct store *store;
    struct node_sample *samples;
    struct use_history history;
    struct device_table devices; /* {0}: none */
    struct loop_timer *timer;    /* of the next removal of old rows */
    struct rollup *rollup;
};

/* ---- sums ---- */

/* A sum of ns that may pass int64: 0 <= nanos < 1e9. */
struct amount {
    int64_t seconds;
    int64_t nanos;
};

static inline void amount_add(struct amount *a, int64_t ns)
{
    a->seconds += ns / NS_PER_SEC;
    a->nanos += ns % NS_PER_SEC;
    if (a->nanos >= NS_PER_SEC) {
        a->seconds++;
        a->nanos -= NS_PER_SEC;
    }
}

/* {"seconds", "nanos"} */
json_t *amount_tree(struct amount a);

/* The gpu time of a row's device in the period: of a part of a gpu its part of the compute. */
int64_t gpu_time_of(const struct account_row *row, const json_t *gpu, struct account_span period,
                    int64_t now_ns);

/* ---- questions ---- */

enum by {
    BY_USER,
    BY_NAMESPACE,
    BY_QUEUE,
    BY_MODEL,
    BY_JOB,
    BY_COUNT
};

extern const char *const by_names[BY_COUNT]; /* names of parameters and members */

struct question {
    struct account_span period;
    bool by[BY_COUNT];
    char *user; /* NULL: all */
    char *ns;
    char *queue;
    json_t *namespaces; /* namespaces that the caller may see; NULL: all */
    size_t limit;
    char after[ACCOUNT_KEY_SIZE]; /* a list of rows continues after this key; "": from the beginning
                                   */
};

struct err *question_parse(const struct report_question *q, int64_t now_ns,
                           const char *const *known, struct question *ret) MUST_CHECK;
void question_done(struct question *q);
/* The value of a parameter; NULL: absent, or empty. */
const char *question_parameter(const struct report_question *q, const char *key);
/* ERR_BAD_REQUEST: the question has a parameter that is not in the list, which NULL ends. */
struct err *question_check_known(const struct report_question *q,
                                 const char *const *known) MUST_CHECK;
/* Reads a moment (model/moment.h), in UTC; `fallback` if the parameter is absent. */
struct err *question_moment(const struct report_question *q, const char *key, const char *fallback,
                            int64_t now_ns, int64_t *ret) MUST_CHECK;
/* Is the row part of the answer, and may the caller see it? */
bool question_wants(const struct question *q, const struct account_row *row);

/* ---- one attempt in a period ---- */

/* The part of an attempt that falls into the period; costs in millionths, 0 without prices. */
struct share {
    int64_t ns;
    int64_t wait_ns;           /* of it: no container with gpus ran; -1: unknown */
    struct account_usage used; /* peaks are those of the whole attempt */
    int64_t cost_micro;        /* of cpu and memory */
};

/* False: the attempt is outside the period. */
bool share_of(const struct account_row *row, struct account_span period, int64_t now_ns,
              const struct prices *p, struct share *ret);

/* The arrival of the node's last message, real time; 0: none of late. */
int64_t meter_node_seen(const struct meter *m, const char *node);
/* The time of a gpu, or of a part of one, by what became of it: held = busy + idle + unknown. */
struct gpu_time {
    int64_t held_ns; /* by the part held, as the following */
    int64_t busy_ns;
    int64_t idle_ns;
    int64_t unknown_ns;
    bool is_known; /* busy and idle are known at least in part */
};

/* Goes through the gpus of an attempt, to which its busy and idle time are given in proportion. */
struct gpu_times {
    const struct account_row *row;
    const struct share *share;
    struct account_span period;
    int64_t now_ns;
    size_t i;
    int64_t before_ns; /* held, of the gpus before i */
    int64_t total_ns;  /* held, of all */
};

/* `s` is the attempt's share of the period. */
struct gpu_times gpu_times_begin(const struct account_row *row, const struct share *s,
                                 struct account_span period, int64_t now_ns);
/* False: there are no more. `*ret_gpu` is borrowed from the row. */
bool gpu_times_next(struct gpu_times *t, const json_t **ret_gpu, struct gpu_time *ret);

/* What became of gpus, added up. A value; {0} is the empty sum. */
struct gpu_sums {
    struct amount held;
    struct amount busy;
    struct amount idle;
    struct amount unknown;
    int64_t cost_micro; /* of the time held; 0 without prices, as the following */
    int64_t idle_cost_micro;
    int64_t energy_mj;
    int64_t memory_peak_bytes; /* of an attempt, the most */
    bool has_times;            /* busy and idle are known of an attempt, as the following */
    bool has_energy;
    bool has_memory;
};

/* Adds the time of one gpu of this model. `p` may be NULL. */
void gpu_sums_add(struct gpu_sums *g, const struct gpu_time *t, const char *model,
                  const struct prices *p);
/* Adds what an attempt used, without times. */
void gpu_sums_add_used(struct gpu_sums *g, const struct account_usage *u);
/* Puts the members gpuTime, gpuBusyTime and so on; what is unknown is null. */
void gpu_sums_put(json_t *o, const struct gpu_sums *g);

/* a + b, at most INT64_MAX. */
static inline int64_t saturated(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/*
 * Completes an open attempt by what is known of it now: its usage by its node's last sample, and
 * its time without a container by its pod. True: no container of it with gpus runs.
 */
bool meter_complete_open(const struct meter *m, int64_t now_ns, struct account_row *row);
/* The stored pod of an attempt; NULL: it is gone. New reference. */
json_t *meter_pod_of(const struct meter *m, const struct account_row *row);
/* The known time since a gpu of a running attempt was last busy; -1: unknown. */
int64_t meter_idle_for_ns(const struct meter *m, const struct account_row *row);

/* ---- reports ---- */

struct report {
    void (*free)(struct report *r);
};

void meter_forget_samples(struct meter *m);
/* For struct use_history; `meter` is its arg. */
bool meter_find_pod(void *meter, const char *uid, char **ret_ns, char **ret_name);
