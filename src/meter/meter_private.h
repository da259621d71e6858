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
    BY_COUNT
};

extern const char *const by_names[BY_COUNT]; /* names of parameters and members */

struct question {
    struct account_span period;
    bool by[BY_COUNT];
    char *user; /* NULL: all */
    char *ns;
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
    int64_t cpu_ns;
    int64_t memory_kib_seconds; /* both -1: unknown */
    int64_t cost_micro;         /* of cpu and memory */
};

/* False: the attempt is outside the period. */
bool share_of(const struct account_row *row, struct account_span period, int64_t now_ns,
              const struct prices *p, struct share *ret);

/* The arrival of the node's last message, real time; 0: none of late. */
int64_t meter_node_seen(const struct meter *m, const char *node);

/* The usage of a running attempt so far, by its node's last sample. */
struct account_usage meter_used_so_far(const struct meter *m, const struct account_row *row);

/* ---- reports ---- */

struct report {
    void (*free)(struct report *r);
};

void meter_forget_samples(struct meter *m);
/* For struct use_history; `meter` is its arg. */
bool meter_find_pod(void *meter, const char *uid, char **ret_ns, char **ret_name);
