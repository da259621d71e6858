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

/* The segments of a path: "/api/v1/nodes/n%31" is {"api", "v1", "nodes", "n1"}. */
struct request_target {
    const char *segments[TARGET_SEGMENTS_MAX];
    size_t n;
};

/* ERR_BAD_REQUEST: bad escapes, control bytes, or segments that are empty, "." or "..", or contain
 * a '/'. One slash at the end is allowed. Memory is the arena's. */
struct err *target_parse(struct arena *a, const char *path, struct request_target *ret) MUST_CHECK;

struct query_pair {
    const char *key;
    const char *value;
};

struct query {
    struct query_pair pairs[QUERY_PAIRS_MAX];
    size_t n;
};

/* ERR_BAD_REQUEST: bad escapes, a NUL, or too many pairs. */
struct err *query_parse(struct arena *a, const char *text, struct query *ret) MUST_CHECK;

/*
 * Rewrites the old paths of watches, "/api/v1/watch/pods" and "/apis/batch/v1/watch/jobs": removes
 * "watch" from the path and puts watch=true in front of the query. ERR_BAD_REQUEST: the query is
 * full.
 */
struct err *target_unfold_watch(struct request_target *t, struct query *q) MUST_CHECK;

/*
 * The part of a path that belongs to the server behind a proxy, ".../pods/NAME/proxy" or that of a
 * Service or node: what follows "proxy", as it came, "" or with a '/' in front. NULL: no such path.
 */
const char *target_proxy_rest(const char *path);

/* The first value of `key`, or NULL. */
const char *query_get(const struct query *q, const char *key);

/* As in Kubernetes: absent, "0" and "false" are false; other values, also the empty one, are
 * true. */
bool query_bool(const struct query *q, const char *key);

/* Reads a number of at least 0; `fallback` if it is absent or empty. */
struct err *query_int(const struct query *q, const char *key, int64_t fallback,
                      int64_t *ret) MUST_CHECK;
