/* drain_gpu.h - mete drain NODE/GPU, mete resume NODE/GPU and mete gpus reset NODE/GPU */
#pragma once

#include "base/json.h"
#include "cli/session.h"

/* A gpu of a node, and the uuids of its parts. {0} is a whole node. */
struct drain_gpu {
    const char *node;
    const char *which; /* index or UUID */
    struct session *session;
    char name[96];   /* "GPU 3 of node n1" */
    json_t *uuids;   /* array: the gpu's, then its slices'; NULL: not known yet */
    bool is_ill;     /* it is out of service by itself */
    bool is_drained; /* by an administrator */
};

void drain_gpu_done(struct drain_gpu *g);

/* Writes the reason into the Node's annotation mete.dev/gpu-care; NULL: the gpu is in use again,
 * and the remedy of its incident is done. Fills `g`. */
struct err *drain_gpu_set(struct session *s, struct drain_gpu *g, const char *reason) MUST_CHECK;

/* Asks the node to reset the gpu. ERR_CONFLICT: the gpu is in service, or not of NVIDIA. Fills `g`.
 */
struct err *drain_gpu_reset(struct session *s, struct drain_gpu *g) MUST_CHECK;

/* Does the pod hold a part of the gpu? */
bool drain_gpu_holds(const struct drain_gpu *g, const json_t *pod);
