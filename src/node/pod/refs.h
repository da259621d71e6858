/*
 * refs.h - the ConfigMaps, Secrets and service account tokens that a pod names
 *
 * What was fetched of them is one JSON object: "configmaps/NAME", "secrets/NAME" or
 * "tokens/SECONDS/AUDIENCE" to the object; those that the server does not have are absent.
 */
#pragma once

#include <stdbool.h>

#include "base/json.h"

enum {
    REFS_MAX = 256
};

/* Adds "configmaps/NAME" and "secrets/NAME" of all volumes and variables to the array `paths`, each
 * once. ERR_INVALID for more than REFS_MAX. */
struct err *refs_collect(const json_t *pod, json_t *paths) MUST_CHECK;

/* The same of volumes alone, with tokens. */
struct err *refs_collect_volumes(const json_t *pod, json_t *paths) MUST_CHECK;

/* The reference of a serviceAccountToken source. The caller frees it. */
char *refs_token(const json_t *source);
bool refs_is_token(const char *ref);

/* How the server is asked for it; the texts are freed by ref_request_done. */
struct ref_request {
    const char *method;
    char *path;
    char *body; /* NULL: none */
};
void refs_request(const json_t *pod, const char *ref, struct ref_request *ret);
void ref_request_done(struct ref_request *r);

/* `plural` is "configmaps" or "secrets". Borrowed; NULL: not there. */
const json_t *refs_find(const json_t *objects, const char *plural, const char *name);

/* The bytes under `key` of data, binaryData or (decoded) a secret's data. ERR_NOT_FOUND says what
 * is missing. `ret` is a buffer that the caller frees. */
struct err *refs_value(const json_t *objects, const char *plural, const char *name, const char *key,
                       struct buf *ret) MUST_CHECK;

/* Calls `fn` for each key of the object, in sorted order, until it fails. */
struct err *refs_each(const json_t *objects, const char *plural, const char *name,
                      struct err *(*fn)(void *arg, const char *key, struct str bytes),
                      void *arg) MUST_CHECK;
