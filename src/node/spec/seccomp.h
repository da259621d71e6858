/*
 * seccomp.h - the profile RuntimeDefault: which system calls a container may make
 *
 * A list of what is allowed. What is known to reach past a container (mounting, other namespaces,
 * kernel modules, keys, tracing by BPF and perf, ...) fails with EPERM; every other call, those
 * that later kernels bring among them, as in a kernel that does not have it: ENOSYS, for which the
 * C library has a way around.
 */
#pragma once

#include "base/json.h"
#include "base/str.h"

/* linux.seccomp of config.json for a container with these capabilities ("CAP_..." in an array): one
 * that administrators gave opens the calls that it is for. A new reference. */
json_t *seccomp_default(const json_t *capabilities);
