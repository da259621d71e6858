/* deadline.h - the query parameter `timeout`, as kubectl's --request-timeout sends it */
#pragma once

#include "api/core.h"

/*
 * How long the server may take for a request; 0: no bound was asked for. ERR_BAD_REQUEST for no
 * duration. Requests that go on by their nature (watches, logs, sessions, what a node is asked)
 * have no bound, and their parameter is not looked at, as in Kubernetes.
 */
struct err *deadline_parse(const struct call *c, int64_t *ret_ns) MUST_CHECK;

/* An exchange in place of `x`, which is answered with 504 where no answer has begun within `ns`.
 * Its handler is told then that the client went away. */
struct exchange *deadline_new(struct loop *loop, struct exchange *x, int64_t ns);
