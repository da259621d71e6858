/* waiting.h - changes to waiting jobs; a change of a Job applies to its waiting pods and to later
 * pods */
#pragma once

#include "cli/session.h"

struct waiting_change {
    const char *verb;       /* for the message: "is on hold", "is moved" */
    const char *rest;       /* " to queue x"; NULL: none */
    const json_t *metadata; /* the merge patch */
};

/* Changes the job that `word` names. ERR_CONFLICT: a pod that is bound already; ERR_FORBIDDEN: an
 * administrator's hold. */
struct err *waiting_change(struct cli *c, struct session *s, const char *word,
                           const struct waiting_change *change) MUST_CHECK;

/* ERR_NOT_FOUND: no such queue. No error for a user who may not read queues. */
struct err *queue_must_exist(struct cli *c, struct session *s, const char *name) MUST_CHECK;
