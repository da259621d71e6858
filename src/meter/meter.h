/*
 * meter.h - usage reports and the metrics API: over the rows of accounting
 * (kinds/account/account.h), prices, and the latest samples of the nodes (metrics.k8s.io)
 *
 * The meter removes rows older than the retention, a few at a time.
 */
#pragma once

#include "kinds/object/objects.h"
#include "kinds/report.h"

struct meter;

struct meter_options {
    struct loop *loop;
    struct objects *objects;         /* borrowed, outlives this, with its store */
    const char *const *prices_files; /* the first existing file counts, read for each report; NULL
                                        at the end; borrowed */
    int64_t retention_ns;            /* 0: 400 days */
    int64_t rollup_ns;               /* time between additions to hourly sums; 0: 5 minutes */
};

struct meter *meter_new(const struct meter_options *o);
void meter_free(struct meter *m); /* accepts NULL; cancel reports in progress first */

/* Takes a node's sample, and ends it. Samples live in memory only: after a restart of the server
 * the use of a node is unknown until its next sample. */
struct node_stats;
void meter_take_stats(void *meter, const char *node, struct node_stats *taken);

/* The node's last sample of a gpu, of the last 30 s; NULL: none. `*ret_at_ns` is its time by the
 * node's clock. Borrowed until the loop runs again. */
struct gpu_sample;
const struct gpu_sample *meter_gpu_sample(const void *meter, const char *node, const char *uuid,
                                          int64_t *ret_at_ns);

/* Record `i` of the node's last sample about what containers use of a gpu or slice, of the last
 * 30 s; NULL: there are no more. Borrowed in the same way. */
struct container_gpu;
const struct container_gpu *meter_container_gpu(const void *meter, const char *node,
                                                const char *device, size_t i);

/* Sample `i` of the running containers of a pod, by its uid, in the node's loads of the last 30 s;
 * NULL: there are no more. `*ret_at_ns` is its time by the node's clock. Borrowed in the same way.
 */
struct container_sample;
const struct container_sample *meter_container_load(const void *meter, const char *node,
                                                    const char *pod_uid, size_t i,
                                                    int64_t *ret_at_ns);

/* The sum over the pod's containers of what they use of gpus, by the node's last sample; -1:
 * unknown. For struct jobs_use. */
void meter_pod_use(const void *meter, const char *node, const char *uid, int64_t *ret_gpu_milli,
                   int64_t *ret_gpu_memory_bytes);

/*
 * metrics.k8s.io, for struct api_view: the usage of running pods and nodes, from samples of the
 * last 30 s; pods and nodes without a sample are absent. New references.
 */
json_t *meter_pods(void *meter, const char *ns);
json_t *meter_pod(void *meter, const char *ns, const char *name);
json_t *meter_nodes(void *meter, const char *ns);
json_t *meter_node(void *meter, const char *ns, const char *name);

/*
 * For struct report_maker.
 *
 * usage: parameters from, to (model/moment.h, in UTC; default: month, now), by (user, namespace,
 * queue, model, joined by commas; default: user), user, namespace. docs/accounting.md describes the
 * answer.
 *
 * rows: parameters from, to, user, namespace, limit (1 to 1000, default 100), continue.
 */
struct err *meter_usage(void *meter, const struct report_question *q, report_done_fn done,
                        void *done_arg, struct report **ret) MUST_CHECK;
struct err *meter_rows(void *meter, const struct report_question *q, report_done_fn done,
                       void *done_arg, struct report **ret) MUST_CHECK;
/*
 * advice: what jobs could do without. Parameters from, to (default: month, now), user, namespace,
 * queue, least (a duration: what the advice rests on is at least so long; default 10m).
 */
struct err *meter_advice(void *meter, const struct report_question *q, report_done_fn done,
                         void *done_arg, struct report **ret) MUST_CHECK;
/*
 * history: what a gpu, a slice or a pod used over time. Parameters uuid, or pod (its uid, or
 * NAMESPACE/NAME); from, to (default: for a gpu an hour ago, for a pod its first row; now); step
 * (default: such that the answer has at most 500 rows). docs/metrics.md describes the answer.
 */
struct err *meter_history(void *meter, const struct report_question *q, report_done_fn done,
                          void *done_arg, struct report **ret) MUST_CHECK;
/* Borrowed until the meter ends. */
struct use_history;
const struct use_history *meter_history_of(const struct meter *m);
void meter_cancel(struct report *r);
