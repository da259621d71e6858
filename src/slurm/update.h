/* update.h - changes by scontrol: hold, release, requeue, update */
#pragma once

#include "base/json.h"
#include "model/moment.h"

/*
 * The merge patch of a SlurmJob, at its version, that holds it or its `elements`, which are those
 * of slurm_cancel_elements. `hold` is "user" or "admin"; NULL releases. New reference, as below.
 */
struct err *slurm_hold_patch(const json_t *job, const char *elements, const char *hold,
                             json_t **ret) MUST_CHECK;
/* Suspends or resumes the elements; "*" of an array: all that run. */
struct err *slurm_suspend_patch(const json_t *job, const char *elements, bool is_suspended,
                                json_t **ret) MUST_CHECK;
/* Starts the job or the elements anew; with a `hold` they wait held. */
struct err *slurm_requeue_patch(const json_t *job, const char *elements, const char *hold,
                                json_t **ret) MUST_CHECK;

struct slurm_update {
    const char *key; /* "TimeLimit", in any case */
    const char *value;
};

/* The patch of `update JobId=...`. ERR_INVALID: an unknown or malformed key, in the words of
 * scontrol. */
struct err *slurm_update_patch(const json_t *job, const struct slurm_update *updates, size_t n,
                               int64_t now_s, zone_fn zone, json_t **ret) MUST_CHECK;

/* The patch of `update NodeName=... State=... Reason=...` for a Node. */
struct err *slurm_node_patch(const struct slurm_update *updates, size_t n, json_t **ret) MUST_CHECK;
