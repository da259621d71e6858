/*
 * meter.h - what was used, and what is: reports over the rows of accounting
 * (kinds/account/account.h), prices, the nodes' latest samples as metrics.k8s.io
 *
 * Rows older than the retention are removed, a few at a time.
 */
#pragma once

#include "kinds/object/objects.h"
#include "kinds/report.h"

struct meter;

struct meter_options {
    struct loop *loop;
    struct objects *objects;         /* borrowed, outlives this, with its store */
    const char *const *prices_files; /* the first that is there counts, read anew for each report;
                                        ends with NULL; borrowed */
    int64_t retention_ns;            /* 0: 400 days */
};

struct meter *meter_new(const struct meter_options *o);
void meter_free(struct meter *m); /* accepts NULL; the reports under way are cancelled before */

/* What a node tells (node/stats.h). Of what is not as it should be nothing is taken. */
void meter_take_stats(void *meter, const char *node, const json_t *stats);

/*
 * metrics.k8s.io, for struct api_view: what running pods and nodes use, by samples of the last 30
 * s; what has none is absent. New references.
 */
json_t *meter_pods(void *meter, const char *ns);
json_t *meter_pod(void *meter, const char *ns, const char *name);
json_t *meter_nodes(void *meter, const char *ns);
json_t *meter_node(void *meter, const char *ns, const char *name);

/*
 * For struct report_maker.
 *
 * usage: parameters from, to (model/moment.h, in UTC; default: month, now), by (a comma between
 * user, namespace, queue, model; default: user), user, namespace. See docs/accounting.md for what
 * comes back.
 *
 * rows: parameters from, to, user, namespace, limit (1 to 1000, default 100), continue.
 */
struct err *meter_usage(void *meter, const struct report_question *q, report_done_fn done,
                        void *done_arg, struct report **ret) MUST_CHECK;
struct err *meter_rows(void *meter, const struct report_question *q, report_done_fn done,
                       void *done_arg, struct report **ret) MUST_CHECK;
void meter_cancel(struct report *r);
