#include <time.h>

#include "base/stamp.h"
#include "cli/stopwatch.h"

int64_t stopwatch_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
    return now.tv_sec * NS_PER_SEC + now.tv_nsec;
}
