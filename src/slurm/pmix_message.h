/*
 * pmix_message.h - what the PMIx server of a step on a node, its manager and srun tell each other
 *
 * A step with --mpi=pmix has one PMIx server on each node, a process of its own
 * (cli/slurm/pmix_server_linux.c). The manager of the step on the node starts it and passes
 * messages on: to srun and back they are the bytes of STEP_PMIX frames (step_frame.h). srun is the
 * middle: it gathers fences, and sends requests for keys to the node of their rank.
 *
 * A message has a head of 17 bytes: its kind, a rank, a number, a status and the size of its
 * payload (four bytes each, the most significant first).
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum pmix_message_kind {
    /* Of the manager to the server. */
    PMIX_MESSAGE_SETUP = 's', /* JSON: the plan's "pmix" (step_plan.h) and the ranks of the node */
    /* Of the server to the manager. */
    PMIX_MESSAGE_VARIABLE = 'v',  /* NAME=VALUE, of the task `rank` */
    PMIX_MESSAGE_READY = 'r',     /* tasks may start: all variables were sent */
    PMIX_MESSAGE_CONNECTED = 'c', /* the task `rank` has called PMIx_Init; `number` times now */
    PMIX_MESSAGE_FINALIZED = 'z', /* the task `rank` has called PMIx_Finalize */
    PMIX_MESSAGE_ABORT = 'a',     /* the task `rank` asks for the end of the step; text */
    PMIX_MESSAGE_FAILED = 'm',    /* the server cannot run; text */
    /* Of the server to srun, and back. */
    PMIX_MESSAGE_FENCE =
        'f', /* `number` ranks of four bytes each (0: all of the step), and behind them what
        the node has put; srun's answer: what all nodes of these ranks have put */
    PMIX_MESSAGE_ASK =
        'k', /* what has the task `rank` put? The payload is a key that must be there. The
        `number` is the asker's; srun gives the node of `rank` another one */
    PMIX_MESSAGE_TELL = 't', /* the answer to PMIX_MESSAGE_ASK `number` */
    /* Of srun to the managers. */
    PMIX_MESSAGE_OVER = 'o' /* all tasks of the step are over */
};

enum {
    PMIX_MESSAGE_HEAD_SIZE = 17,
    PMIX_MESSAGE_DATA_MAX = 64 << 20, /* bytes of what all nodes put in a fence */
    PMIX_MESSAGE_MAX = PMIX_MESSAGE_DATA_MAX + (1 << 20), /* bytes of a payload */
    PMIX_MESSAGE_KEY_MAX = 512
};

/* The payload is borrowed from the buffer that it was read from. */
struct pmix_message {
    char kind;
    uint32_t rank;
    uint32_t number;
    int32_t status; /* of PMIx; 0: success */
    struct str payload;
};

void pmix_message_add(struct buf *out, const struct pmix_message *m);

/*
 * Reads the first message of `bytes`. `*ret_size` is its size with its head; 0: the message is not
 * whole yet. ERR_INVALID: an unknown kind, or a payload over PMIX_MESSAGE_MAX; what follows cannot
 * be read.
 */
struct err *pmix_message_read(struct str bytes, struct pmix_message *ret,
                              size_t *ret_size) MUST_CHECK;

typedef struct err *(*pmix_message_fn)(void *arg, const struct pmix_message *m);

/* Takes the whole messages out of `received` and gives each to `fn`, which must leave the buffer
 * alone. Stops behind the first message for which `fn` fails, with its error, and at bytes that are
 * no message, as pmix_message_read. */
struct err *pmix_messages_take(struct buf *received, pmix_message_fn fn, void *arg) MUST_CHECK;

/* Splits the payload of a PMIX_MESSAGE_FENCE into its ranks and its data. ERR_INVALID: it is too
 * short. */
struct err *pmix_fence_read(const struct pmix_message *m, struct str *ret_ranks,
                            struct str *ret_data) MUST_CHECK;
uint32_t pmix_fence_rank(struct str ranks, size_t i);
void pmix_fence_rank_add(struct buf *ranks, uint32_t rank);
