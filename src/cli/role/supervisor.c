/* supervisor.c - delays between restarts of a child */

#include "cli/role/supervisor.h"

#include "base/stamp.h"

int64_t supervisor_delay_ns(unsigned quick)
{
    const int64_t most_ns = 5 * NS_PER_SEC;

    if (quick <= 1)
        return 0;
    if (quick > 8)
        return most_ns;
    return (100 * NS_PER_MS << (quick - 2)) < most_ns ? 100 * NS_PER_MS << (quick - 2) : most_ns;
}
