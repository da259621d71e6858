/*
 * refs.h - the ConfigMaps and Secrets that a pod names
 *
 * What was fetched of them is one JSON object: "configmaps/NAME" or "secrets/NAME" to the object;
 * those that the server does not have are absent.
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
