/* autoscaler.h - autoscaling/v2 HorizontalPodAutoscaler: its parts, rules and table */
#pragma once

#include "kinds/kind/cause.h"
#include "kinds/kind/kind.h"

enum {
    AUTOSCALER_UTILIZATION = 80, /* percent of the requested cpu, where no metric is given */
    AUTOSCALER_WINDOW_MAX_S = 3600,
    AUTOSCALER_PERIOD_MAX_S = 1800
};

/* A type of metric: its name, and the member of a metric, in spec and status, that has the rest. */
struct autoscaler_type {
    const char *type;   /* "ContainerResource" */
    const char *member; /* "containerResource" */
};
extern const struct autoscaler_type autoscaler_types[]; /* ends with a NULL type */

/* The member of the metric's type; NULL: a type that is not known, or no such member. Borrowed. */
const json_t *autoscaler_source(const json_t *metric);

/* For struct kind. */
void autoscaler_validate(const json_t *object, struct causes *causes);
void autoscaler_set_defaults(json_t *object, const struct kind_context *c);
extern const struct column autoscaler_columns[];
json_t *autoscaler_cells(const json_t *object, int64_t now_ns);
