/*
 * mount_ns.h - the mount namespace in which the node prepares containers
 *
 * After a restart of the node process, the conmons of running containers stay in the old process's
 * namespace and keep its mounts alive: volumes in memory, root file systems. The new process enters
 * that namespace again, so that a restarted container finds its volumes unchanged. Once no
 * container runs, the namespace is gone, with all volumes in memory.
 */
#pragma once

#include "base/err.h"

/*
 * Enters the namespace of a conmon that has a mount at `point`; without one, a new namespace into
 * which mounts of the host propagate, but none back. Called once, before any thread.
 */
struct err *mount_ns_enter(const char *point) MUST_CHECK;

/* Detaches all mounts below `dir`, but not a mount at `dir`. */
struct err *mount_ns_clear(const char *dir) MUST_CHECK;
