/*
 * port_holder.h - is a TCP port of this machine held by the processes of a pod?
 * (port_holder_linux.c)
 *
 * Pods share the host's network, so a listener on the loopback may belong to the host or to another
 * tenant. The node forwards a connection only to a socket that a process of the pod has open.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct port_question {
    const char *proc;           /* "/proc"; tests use another */
    const char *cgroup_root;    /* CGROUP_ROOT */
    const char *const *cgroups; /* "/mete/ID" each; NULL-terminated */
    uint16_t port;
};

/*
 * Finds the loopback address to connect to: AF_INET (127.0.0.1) before AF_INET6 (::1). Every socket
 * that may take a connection to that address is the pod's. ERR_NOT_FOUND: no such address; the
 * error does not tell whether another pod or the host listens. Walks /proc: for a worker
 * (worker.h).
 */
struct err *port_find_holder(const struct port_question *q, int *ret_family) MUST_CHECK;
