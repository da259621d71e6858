/*
 * forward_linux.h - connections to ports of pods (forward_linux.c), for runtime_crun_linux.c
 *
 * Pods use the host's network, so the node connects to the loopback. Bytes pass only if the pod
 * holds the port both before and after the connection is made (port_holder.h).
 */
#pragma once

#include "node/runtime/runtime.h"

struct crun;

struct exec *crun_forward(void *self, const struct runtime_forward *f);

/* Ends all connections; no callback comes afterwards. Their worker must be freed before. */
void crun_end_forwards(struct crun *r);
