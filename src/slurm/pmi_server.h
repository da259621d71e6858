/*
 * pmi_server.h - PMI for the tasks of a step on one node: their key-value space and their fences
 *
 * No I/O: the caller passes bytes of tasks in, and sends the answers. Tasks are named by their
 * place among those of the node. A task that speaks PMI-1 and one that speaks PMI-2 have the same
 * space.
 */
#pragma once

#include <stdint.h>

#include "slurm/pmi_wire.h"

enum {
    PMI_NAME_MAX = 256, /* of the step, with its NUL, as are the next two */
    PMI_KEY_MAX = 64,
    PMI_VALUE_MAX = 1024,
    PMI_STORE_MAX = 64 << 20 /* bytes of a step's keys and values */
};

struct pmi_options {
    int64_t size;          /* ranks of the step */
    const uint32_t *ranks; /* of this node; copied, as are the texts */
    size_t n_ranks;
    const char *job;     /* the name of the step */
    const char *mapping; /* the nodes of ranks as MPICH has them; NULL: unknown */
    /* Sends `bytes` to a task. */
    void (*answer)(void *arg, size_t task, struct str bytes);
    /* The tasks of the node all wait: their values since the last fence go to the other nodes.
     * pmi_server_release follows, unless all ranks are here. */
    void (*fence)(void *arg, struct str data);
    /* A task asks for the end of the step. */
    void (*abort)(void *arg, size_t task, struct str message);
    void *arg;
};

struct pmi_server;

struct pmi_server *pmi_server_new(const struct pmi_options *o);
/* Takes bytes of a task. ERR_INVALID: they are not PMI; the task must not be read any more. */
struct err *pmi_server_take(struct pmi_server *s, size_t task, struct str bytes) MUST_CHECK;
/* The tasks of all nodes wait; `data` is that of all fences, one behind the other. ERR_INVALID: it
 * is malformed, or no fence is open. */
struct err *pmi_server_release(struct pmi_server *s, struct str data) MUST_CHECK;
void pmi_server_free(struct pmi_server *s); /* accepts NULL */
