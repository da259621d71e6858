/*
 * net_ns.h - network namespaces that outlive their processes: a mount of /proc/.../ns/net on a file
 * (net_ns_linux.c)
 *
 * The functions block for some system calls: for a worker (worker.h). The thread that calls is in
 * its own namespace again when a function returns.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Makes a namespace at `path`, whose directory exists: its loopback is up, any user may bind low
 * ports and ping. A rest of an earlier call is replaced.
 */
struct err *net_ns_make(const char *path) MUST_CHECK;
/* Succeeds if there is none. The kernel frees the namespace with its last process. */
struct err *net_ns_remove(const char *path) MUST_CHECK;
/* Is a namespace mounted there? */
bool net_ns_is_there(const char *path);

/* A TCP socket in the namespace, connected to this port of its loopback (127.0.0.1, else ::1). The
 * caller closes it. */
struct err *net_ns_connect(const char *path, uint16_t port, int *ret) MUST_CHECK;

/* ERR_CONFLICT: a process of this machine has the port. `protocol`: "TCP" or "UDP". */
struct err *net_port_check(const char *protocol, uint16_t port) MUST_CHECK;

/* Gives the machine's loopback a second address, which pods reach. Repeatable. */
struct err *net_gateway_make(uint32_t address) MUST_CHECK;
