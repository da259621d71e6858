/* stopwatch.h - the time that passes here, for figures that say how long something took */
#pragma once

#include <stdint.h>

/* Monotonic ns; only differences mean something. */
int64_t stopwatch_ns(void);

/* Processor time of this process, of all its threads. */
int64_t stopwatch_processor_ns(void);
