/* stopwatch.h - elapsed and processor time, for reports */
#pragma once

#include <stdint.h>

/* Monotonic time in ns; only differences have a meaning. */
int64_t stopwatch_ns(void);

/* Processor time in ns of all threads of this process. */
int64_t stopwatch_processor_ns(void);
