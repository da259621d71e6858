/*
 * exporter.h - the page /metrics: the gpus under the names of NVIDIA's dcgm-exporter and under
 * ours, and what other rooms count
 *
 * A page contains only what is known when it is made. A reading that is too old is absent.
 * docs/metrics.md lists the families.
 */
#pragma once

#include "kinds/metrics.h"
#include "meter/meter.h"

struct exporter;

/* The meter outlives the exporter. */
struct exporter *exporter_new(struct meter *meter);
/* The last sample of a device of this machine; NULL: there is no fresh one. Borrowed until the loop
 * runs again. */
typedef const struct gpu_sample *(*exporter_sample_fn)(void *arg, const char *uuid);
/* Of the gpus of one machine alone, without a meter: without history, and without what containers
 * use. */
struct exporter *exporter_new_local(exporter_sample_fn fn, void *arg);
void exporter_free(struct exporter *e); /* accepts NULL */

/* The gpus of the pages to come; without a table the pages have none. */
void exporter_set_devices(struct exporter *e, struct device_table table);

enum {
    EXPORTER_SOURCES_MAX = 8
};
/* The families of `source` follow those of earlier sources. */
void exporter_add_source(struct exporter *e, struct metrics_source source);

/* For struct observer. */
void exporter_observe(void *exporter, enum observed what, const char *label, int64_t ns,
                      const char *example);

/* For struct metrics_maker. */
void exporter_make(void *exporter, const struct metrics_question *q, struct buf *ret);
