/* waiting.h - changes to jobs that wait: a Job's go to its pods that wait, and to those made later
 */
#pragma once

#include "cli/session.h"

struct waiting_change {
    const char *verb;       /* "held", "released", "moved": for talk */
    const char *rest;       /* " to queue x"; NULL: none */
    const json_t *metadata; /* the merge patch */
};

/*
 * Carries it out for the job that `word` means. ERR_CONFLICT where that is a pod which has its
 * place already, ERR_FORBIDDEN where an administrator's hold is in the way.
 */
struct err *waiting_change(struct cli *c, struct session *s, const char *word,
                           const struct waiting_change *change) MUST_CHECK;

/* ERR_NOT_FOUND where there is no queue of that name; who may not look is not told. */
struct err *queue_must_exist(struct cli *c, struct session *s, const char *name) MUST_CHECK;
