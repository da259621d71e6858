/*
 * control.h - the control loops of the server: scheduler, jobs, garbage collection, nodes, events
 *
 * The scheduler's loops (control_scheduler.h) need a struct cluster only; the others
 * (control_cluster.h) work over our own store.
 */
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "kinds/metrics.h"
#include "kinds/report.h"
#include "model/ip4.h"
#include "store/store.h"

struct cluster;
struct control;
struct objects;

/* The last sample of a node's gpu, and its time; NULL: unknown. Borrowed until the loop runs again.
 */
struct gpu_sample;
typedef const struct gpu_sample *(*gpu_sample_fn)(const void *arg, const char *node,
                                                  const char *uuid, int64_t *ret_at_ns);

/* Record `i` of what containers use of a gpu or slice (client/node_stats.h); NULL: there are no
 * more. Borrowed in the same way. */
struct container_gpu;
typedef const struct container_gpu *(*container_gpu_fn)(const void *arg, const char *node,
                                                        const char *device, size_t i);

/* Sample `i` of the running containers of a pod, by its uid, and the sample's time by the node's
 * clock; NULL: there are no more. Borrowed in the same way. */
struct container_sample;
typedef const struct container_sample *(*container_load_fn)(const void *arg, const char *node,
                                                            const char *pod_uid, size_t i,
                                                            int64_t *ret_at_ns);

struct control_options {
    struct loop *loop;
    struct store *store;
    const char *policy;      /* of the engine; NULL: the default policy */
    int64_t node_grace_ns;   /* a node that renews no lease for this long is not ready; 0: 40 s */
    int64_t event_ttl_ns;    /* 0: 1 h */
    struct objects *objects; /* kinds/object/objects.h, over `store` */
    struct ip4_net service_network;
    const char *gateway;         /* of the pod network; NULL: none */
    unsigned api_port;           /* of the gateway */
    const char *ca;              /* CA certificate of the API, PEM, for pods; NULL: none */
    const char *scheduler_names; /* kinds/scheduler_names.h; NULL: SCHEDULER_NAMES */
    struct cluster *cluster;     /* of the scheduler, outlives the loops; NULL: one over `store` */
    struct observer observer;    /* of waits, starts and cycles */
    gpu_sample_fn gpu_sample;    /* for the view of gpus; NULL: their use is unknown */
    container_gpu_fn container_gpu;
    container_load_fn container_load;
    void *gpu_sample_arg; /* of all three */
};

struct err *control_new(const struct control_options *o, struct control **ret) MUST_CHECK;
void control_free(struct control *c);

/* The report of what could start now (free.h), for struct report_maker; `control` is its arg. */
struct err *control_free_begin(void *control, const struct report_question *q, report_done_fn done,
                               void *done_arg, struct report **ret) MUST_CHECK;
void control_free_cancel(struct report *r);
/* The report of what waits in a queue (waiting.h), in the same way. */
struct err *control_waiting_begin(void *control, const struct report_question *q,
                                  report_done_fn done, void *done_arg,
                                  struct report **ret) MUST_CHECK;
void control_waiting_cancel(struct report *r);
/* The report of workloads that would start after a change (what_if.h), in the same way. */
struct err *control_what_if_begin(void *control, const struct report_question *q,
                                  report_done_fn done, void *done_arg,
                                  struct report **ret) MUST_CHECK;
void control_what_if_cancel(struct report *r);

/* The report of the Slurm commands (kinds/slurm/slurm_rows.h), in the same way. */
struct err *control_slurm_begin(void *control, const struct report_question *q, report_done_fn done,
                                void *done_arg, struct report **ret) MUST_CHECK;
uint64_t control_slurm_stamp(void *control, const struct report_question *q);
void control_slurm_cancel(struct report *r);

/* The views of mete.dev/v1, for struct api_view: new references. */
json_t *control_workloads(void *control, const char *ns);
json_t *control_workload(void *control, const char *ns, const char *name);
json_t *control_gpus(void *control, const char *ns);
json_t *control_gpu(void *control, const char *ns, const char *name);

/* For struct report_maker: see recorder.h. */
struct err *control_recording(void *control, const struct report_question *q, report_done_fn done,
                              void *done_arg, struct report **ret) MUST_CHECK;
void control_cancel_recording(struct report *r);

/* The gpus and their holders, and the nodes, for struct device_table. */
void control_each_device(void *control, device_row_fn fn, void *fn_arg);
void control_each_node(void *control, node_row_fn fn, void *fn_arg);
/* Queues, what waits in them, and the nodes, for struct metrics_source. */
void control_write_metrics(void *control, struct exposition *x, const struct metrics_question *q);

/* The arrivals that the scheduler saw, and its engine; both borrowed. */
struct arrivals;
struct mete_engine;
struct arrivals *control_arrivals(struct control *c);
struct mete_engine *control_engine(struct control *c);
/*
 * Sets the number of arrivals that the engine's table of values was learned from, and when; views
 * show both.
 */
void control_set_learned(struct control *c, uint64_t pods, int64_t at_ns);
