/*
 * gpu_resets.h - resets gpus of this node that administrators want to be reset
 *
 * One gpu at a time. When the server's Node says that the gpu is being reset, the node asks which
 * pods are bound here: a gpu that a pod holds is not reset. gpu_incidents.h knows the requests and
 * takes the answers.
 */
#pragma once

#include "base/loop.h"
#include "client/client.h"
#include "node/gpu_incidents.h"

struct gpu_resets;

struct gpu_resets_options {
    struct loop *loop;
    struct client *client;
    struct gpu_incidents *incidents; /* borrowed */
    const char *node;                /* its name */
    /* As partition_run_reset. */
    struct err *(*start)(void *arg, const char *uuid, void (*done)(void *arg, const struct err *e),
                         void *done_arg);
    void *arg;
};

/* The texts are borrowed. */
struct gpu_resets *gpu_resets_new(const struct gpu_resets_options *o);
void gpu_resets_free(struct gpu_resets *r); /* accepts NULL */

/* Goes on with a reset. `node`: the Node as the server has it; NULL: not known. */
void gpu_resets_advance(struct gpu_resets *r, const json_t *node);
