/*
 * port_holder.h - is a TCP port of this machine held by the processes of a pod?
 * (port_holder_linux.c)
 *
 * Pods share the host's network: what listens on its loopback may be the host's or another
 * tenant's. A connection is forwarded only to a socket that a process of the pod has open.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct port_question {
    const char *proc;           /* "/proc"; tests have another */
    const char *cgroup_root;    /* CGROUP_ROOT */
    const char *const *cgroups; /* "/mete/ID" each; NULL-terminated */
    uint16_t port;
};

/*
 * The loopback address to connect to: AF_INET (127.0.0.1) before AF_INET6 (::1). Each socket that
 * may take a connection to it is the pod's. ERR_NOT_FOUND where there is none; the error is the
 * same where another's listens. Walks /proc: for a worker (worker.h).
 */
struct err *port_find_holder(const struct port_question *q, int *ret_family) MUST_CHECK;
