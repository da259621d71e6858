/* gpu_xid.h - what an XID, the driver's numbered error report, means for scheduling on the gpu */
#pragma once

#include <stdint.h>

enum xid_effect {
    XID_KEEP,      /* a fault of the program, or no action needed: the gpu stays in service */
    XID_SUSPECT,   /* no new pods until an administrator checked the gpu; running pods go on */
    XID_UNHEALTHY, /* no new pods; its pods should be drained */
};

/* Follows NVIDIA's XID catalogue; for unknown codes XID_KEEP. */
enum xid_effect xid_effect(int64_t xid);
