/* stopwatch_linux.c - elapsed and processor time */

#include <time.h>

#include "base/stamp.h"
#include "cli/sim/stopwatch.h"

static int64_t read_clock(clockid_t clock)
{
    struct timespec now = {0};

    (void)clock_gettime(clock, &now); /* cannot fail for these clocks */
    return now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

int64_t stopwatch_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t stopwatch_processor_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}
