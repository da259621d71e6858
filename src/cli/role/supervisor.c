/* supervisor.c - delays between restarts of a child */

#include "cli/role/supervisor.h"

#include "base/retry.h"

int64_t supervisor_delay_ns(unsigned quick)
{
    return retry_pause_after((int64_t)quick - 1, 100 * NS_PER_MS, 5 * NS_PER_SEC);
}
