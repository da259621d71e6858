/* process_metrics.h - the server's own process and the disk of its data, for a page of metrics */
#pragma once

#include "kinds/metrics.h"

/* For struct metrics_source; `dir` is the data directory, a text. */
void process_metrics_write(void *dir, struct exposition *x, const struct metrics_question *q);
