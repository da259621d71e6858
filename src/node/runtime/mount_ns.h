/*
 * mount_ns.h - the mount namespace that containers are prepared in
 *
 * The monitors of containers that an older node started stay in that node's namespace, and keep its
 * mounts: volumes in memory, root file systems. The next node goes back into it, so that a
 * container that is started again finds its volumes as they were. Where nothing runs any more the
 * namespace is gone, with all that was in memory.
 */
#pragma once

#include "base/err.h"

/*
 * Enters the namespace of a monitor that has a mount at `rootfs`, or else a new one that gets
 * mounts from the host and gives none back. Called once, before any thread.
 */
struct err *mount_ns_enter(const char *rootfs) MUST_CHECK;

/* Detaches all that is mounted below `dir`, not what is mounted at it. */
struct err *mount_ns_clear(const char *dir) MUST_CHECK;
