/*
 * rest.h - the paths of slurmrestd: /slurm and /slurmdb, v0.0.42 to v0.0.44, over Mete's own API
 *
 * A request becomes questions to the API in this process, with the caller's credential, which is
 * the token in X-SLURM-USER-TOKEN or in Authorization, or that of the connection: the API decides
 * what the caller may do. An error has an HTTP code and the document's "errors".
 * https://slurm.schedmd.com/rest_api.html
 *
 * The table in rest.c has the paths. The three versions have the same documents. Other paths and
 * parameters of the query are refused by their names.
 */
#pragma once

#include "base/loop.h"
#include "http/ask.h"
#include "model/moment.h"

struct slurm_rest {
    struct ask_target api;
    struct loop *loop;
    zone_fn zone;
};

/* A request_fn: `arg` is a struct slurm_rest, which outlives the requests. */
void slurm_rest_handle(void *arg, struct exchange *x);

/*
 * The SlurmJob that the body of job/submit asks for. New reference. ERR_BAD_REQUEST, ERR_INVALID:
 * in the words of sbatch, or by the name of the member.
 */
struct err *slurm_rest_job(const json_t *body, int64_t now_s, zone_fn zone,
                           json_t **ret) MUST_CHECK;

/*
 * The merge patch that the body of a POST to job/ID asks for, of the SlurmJob `job`; a hold is that
 * of the `elements` (slurm_cancel_elements). New reference. ERR_BAD_REQUEST, ERR_INVALID: by the
 * name of the member.
 */
struct err *slurm_rest_update(const json_t *body, const json_t *job, const char *elements,
                              int64_t now_s, zone_fn zone, json_t **ret) MUST_CHECK;
