/*
 * seccomp.h - the seccomp profile RuntimeDefault: the system calls that a container may make
 *
 * An allow list. Calls known to reach beyond a container (mounts, other namespaces, kernel modules,
 * keys, tracing by BPF and perf, ...) fail with EPERM. All other calls, also those of later
 * kernels, fail with ENOSYS, as on a kernel without them, so that the C library falls back.
 */
#pragma once

#include "base/json.h"
#include "base/str.h"

/* linux.seccomp of config.json for a container with these capabilities (array of "CAP_..."): a
 * capability allows the calls that need it. A new reference. */
json_t *seccomp_default(const json_t *capabilities);
