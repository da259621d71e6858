/* gpu_xid.h - what an XID, the driver's numbered error report, means for placing work on the gpu */
#pragma once

#include <stdint.h>

enum xid_effect {
    XID_KEEP,      /* the program's fault, or nothing to do: the gpu stays in service */
    XID_SUSPECT,   /* no new pods until it was looked at; running ones go on */
    XID_UNHEALTHY, /* no new pods; its users should be drained */
};

/* After NVIDIA's XID catalogue; codes that are not in it are kept in service. */
enum xid_effect xid_effect(int64_t xid);
