/*
 * exposition.h - a page of metrics in the text format of Prometheus, or in that of OpenMetrics 1.0
 *
 * A writer calls exposition_family, then exposition_add for each series of the family, and so on,
 * and exposition_end at the end. A family without series leaves nothing on the page. The same
 * series is written once: the callers see to it.
 *
 * In OpenMetrics, a counter whose name lacks "_total" has the type "unknown" and keeps its name.
 */
#pragma once

#include <stdbool.h>

#include "base/histogram.h"
#include "base/str.h"

enum metric_type {
    METRIC_GAUGE,
    METRIC_COUNTER,
    METRIC_HISTOGRAM
};

struct metric_family {
    const char *name;
    enum metric_type type;
    const char *help; /* a sentence without quotes, backslashes and line ends */
};

struct exposition {
    struct buf *page;
    bool is_open;                       /* OpenMetrics */
    const struct metric_family *family; /* the present one */
    bool has_head;                      /* its head is on the page */
};

#define EXPOSITION_PLAIN_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define EXPOSITION_OPEN_TYPE  "application/openmetrics-text; version=1.0.0; charset=utf-8"

/*
 * Does a client with this Accept header prefer OpenMetrics? NULL: no header. Of equal weights
 * (RFC 9110) OpenMetrics wins.
 */
bool exposition_wants_open(const char *accept);

/*
 * Adds `name="value"` to the labels of a series, after a comma if there are labels already. An
 * empty value, or NULL, adds nothing: Prometheus takes an empty label as absent. Bytes that are not
 * UTF-8 become U+FFFD.
 */
void labels_add(struct buf *labels, const char *name, const char *value);

/* Begins a family, which outlives the page. */
void exposition_family(struct exposition *x, const struct metric_family *f);

/* Adds a series of the family with `value` / 10^`decimals` (0 to 9). `labels` as labels_add writes
 * them; "": none. */
void exposition_add(struct exposition *x, const char *labels, int64_t value, unsigned decimals);

/* Adds a histogram of the family, in seconds. OpenMetrics gets the examples as exemplars with the
 * label "job". */
void exposition_add_histogram(struct exposition *x, const char *labels, const struct histogram *h);

void exposition_end(struct exposition *x);
