/* deadline.h - the query parameter `timeout`, as kubectl's --request-timeout sends it */
#pragma once

#include "api/core.h"

/*
 * Reads the time that the server may take; 0: no limit. ERR_BAD_REQUEST: not a duration.
 * Long-running requests (watches, logs, sessions, requests to nodes) ignore the parameter, as in
 * Kubernetes.
 */
struct err *deadline_parse(const struct call *c, int64_t *ret_ns) MUST_CHECK;

/* Wraps `x`: if no answer has begun within `ns`, the client gets 504, and the handler gets
 * on_close. */
struct exchange *deadline_new(struct loop *loop, struct exchange *x, int64_t ns);
