/* gpu_xid.c - the XIDs that take a gpu out of service */

#include "gpu/gpu_xid.h"

#include <stddef.h>

#include "base/attr.h"

static const int16_t unhealthy[] = {46,  48,  54,  62,  64,  79,  95,  109, 110, 119, 120,
                                    136, 140, 143, 151, 155, 156, 158, 167, 171, 172, 173};
static const int16_t suspect[] = {74, 144, 145, 146, 147, 148, 149, 150, 166, 168, 169, 170, 175};

static int xid_is_in(const int16_t *codes, size_t n, int64_t xid)
{
    for (size_t i = 0; i < n; i++) {
        if (codes[i] == xid)
            return 1;
    }
    return 0;
}

enum xid_effect xid_effect(int64_t xid)
{
    if (xid_is_in(unhealthy, COUNT(unhealthy), xid))
        return XID_UNHEALTHY;
    if (xid_is_in(suspect, COUNT(suspect), xid))
        return XID_SUSPECT;
    return XID_KEEP;
}
