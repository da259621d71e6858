/*
 * refs.h - the ConfigMaps, Secrets and service account tokens that a pod names, and its SlurmJob
 *
 * The fetched objects are members of one JSON object, by "configmaps/NAME", "secrets/NAME",
 * "slurmjobs/NAME" or "tokens/SECONDS/AUDIENCE"; objects that the server does not have are absent.
 */
#pragma once

#include <stdbool.h>

#include "base/json.h"

enum {
    REFS_MAX = 256
};

/* Adds "configmaps/NAME" and "secrets/NAME" of all volumes and variables, and "slurmjobs/NAME" of a
 * Slurm job's pod, to the array `paths`, each
 * once. ERR_INVALID: more than REFS_MAX. */
struct err *refs_collect(const json_t *pod, json_t *paths) MUST_CHECK;

/* The same for volumes alone, with tokens. */
struct err *refs_collect_volumes(const json_t *pod, json_t *paths) MUST_CHECK;

/* The reference of a serviceAccountToken source. The caller frees it. */
char *refs_token(const json_t *source);
bool refs_is_token(const char *ref);

/* The uid of the SlurmJob that the pod belongs to; NULL: none. Borrowed. */
const char *refs_slurm_uid(const json_t *pod);
bool refs_is_slurm_job(const char *ref);
/* The spec of the pod's SlurmJob; NULL: the pod has none, or the job is gone. Borrowed. */
const json_t *refs_slurm_spec(const json_t *objects, const json_t *pod);

/* The request that fetches a reference; ref_request_done frees the texts. */
struct ref_request {
    const char *method;
    char *path;
    char *body; /* NULL: none */
};
void refs_request(const json_t *pod, const char *ref, struct ref_request *ret);
void ref_request_done(struct ref_request *r);

/* `plural` is "configmaps" or "secrets". Borrowed; NULL: absent. */
const json_t *refs_find(const json_t *objects, const char *plural, const char *name);

/* The bytes under `key` of data, binaryData or (decoded) a Secret's data. ERR_NOT_FOUND names the
 * missing object or key. The caller frees the buffer `ret`. */
struct err *refs_value(const json_t *objects, const char *plural, const char *name, const char *key,
                       struct buf *ret) MUST_CHECK;

/* Calls `fn` for each key of the object, in sorted order, until `fn` fails. */
struct err *refs_each(const json_t *objects, const char *plural, const char *name,
                      struct err *(*fn)(void *arg, const char *key, struct str bytes),
                      void *arg) MUST_CHECK;
