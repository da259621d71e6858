/*
 * own_volumes.h - the node's persistent volumes whose claims are gone: erases their data
 *
 * The server marks a volume for deletion when its claim is gone and its policy is Delete. The node
 * erases the data and then says so in the volume's status, with the reason STORAGE_ERASED, upon
 * which the server removes the volume. Erasing is repeatable: a kill at any instruction leaves a
 * volume that is erased later.
 */
#pragma once

#include "client/client.h"
#include "node/worker.h"

struct own_volumes;

struct own_volumes_options {
    struct loop *loop;
    struct client *client;
    struct worker *worker;
    const char *node;
    const char *dir; /* DATA/node */
};

struct own_volumes *own_volumes_new(const struct own_volumes_options *o);
/* Accepts NULL; the worker must be gone. */
void own_volumes_free(struct own_volumes *v);
