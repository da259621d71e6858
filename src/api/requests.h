/*
 * requests.h - counts of requests by kind ("list pods") and by caller, since the server's start
 *
 * GET /apis/mete.dev/v1/requests: {"since" (seconds since 1970), "kinds" and "users": arrays of
 * {"name", "count", "totalMicros"}}. The time is that of the handler: an answer that comes later,
 * for example a watch, counts until the handler has taken the request. Callers see themselves among
 * the users, administrators all. Requests without a caller are not counted.
 */
#pragma once

#include "api/core.h"

struct requests;

struct requests *requests_new(const struct loop *l);
void requests_free(struct requests *r); /* accepts NULL */

/* Counts a request that took `ns`. */
void requests_add(struct requests *r, const struct call *c, const char *verb, int64_t ns);

/* The answer for `user`; NULL: all users. New reference. */
json_t *requests_tree(const struct requests *r, const char *user);
