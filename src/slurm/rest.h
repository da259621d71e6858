/*
 * rest.h - the paths of slurmrestd: /slurm/v0.0.42 to v0.0.44, over Mete's own API
 *
 * Each request becomes one or two questions to the API in this process, with the caller's
 * credential, which is the token in X-SLURM-USER-TOKEN or in Authorization, or that of the
 * connection: the API decides what the caller may do. An error has an HTTP code and the document's
 * "errors". https://slurm.schedmd.com/rest_api.html
 *
 *   GET    ping, diag, jobs, job/ID, nodes, node/NAME, partitions, partition/NAME
 *   POST   job/submit
 *   DELETE job/ID
 *
 * The three versions have the same documents. Other paths are refused by their names.
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

/* The members of nodes and partitions in their documents. New references. */
json_t *slurm_rest_nodes(const json_t *rows);
json_t *slurm_rest_partitions(const json_t *rows);
