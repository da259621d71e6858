/* metrics.h - the door of metrics, which answers everyone who reaches its socket */
#pragma once

#include "http/request.h"
#include "kinds/metrics.h"

/* A request_fn; `arg` is the struct metrics_maker. */
void metrics_handle(void *arg, struct exchange *x);
