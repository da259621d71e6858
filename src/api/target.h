/* target.h - the path and the query of a request, decoded */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum {
    TARGET_SEGMENTS_MAX = 10,
    QUERY_PAIRS_MAX = 512
};

/* "/api/v1/nodes/n%31" is {"api", "v1", "nodes", "n1"}. */
struct request_target {
    const char *segments[TARGET_SEGMENTS_MAX];
    size_t n;
};

/*
 * ERR_BAD_REQUEST for bad escapes, control bytes, and for segments that are empty, "." or ".." or
 * hold a '/'. One slash at the end is fine. Memory is the arena's.
 */
struct err *target_parse(struct arena *a, const char *path, struct request_target *ret) MUST_CHECK;

struct query_pair {
    const char *key;
    const char *value;
};

struct query {
    struct query_pair pairs[QUERY_PAIRS_MAX];
    size_t n;
};

/* ERR_BAD_REQUEST for bad escapes, a NUL and too many pairs. */
struct err *query_parse(struct arena *a, const char *text, struct query *ret) MUST_CHECK;

/*
 * The old paths of watches, "/api/v1/watch/pods" and "/apis/batch/v1/watch/jobs", are those without
 * the word and with watch=true in front of the query. ERR_BAD_REQUEST where the query is full.
 */
struct err *target_unfold_watch(struct request_target *t, struct query *q) MUST_CHECK;

/* The first value of `key`, or NULL. */
const char *query_get(const struct query *q, const char *key);

/* As Kubernetes: absent, "0" and "false" are false; anything else, also nothing, is true. */
bool query_bool(const struct query *q, const char *key);

/* A number of at least 0; `fallback` where absent or empty. */
struct err *query_int(const struct query *q, const char *key, int64_t fallback,
                      int64_t *ret) MUST_CHECK;
