/*
 * forward_linux.h - connections to ports of pods (forward_linux.c), for runtime_crun_linux.c
 *
 * The port is the pod's before and after the connection is made (port_holder.h): only then bytes go
 * through it. The pods' network is the host's, and the node connects to its loopback.
 */
#pragma once

#include "node/runtime/runtime.h"

struct crun;

struct exec *crun_forward(void *self, const struct runtime_forward *f);

/* Ends all of them; no callback comes after it. Before it their worker is gone. */
void crun_end_forwards(struct crun *r);
