/*
 * forward.h - requests of a session as requests to the API, in this process
 *
 * The API sees the session's credential instead of the connection's. The browser's cookie and
 * Authorization, and headers that name another user, do not pass.
 */
#pragma once

#include "page/logins.h"

struct forward_target {
    request_fn handle; /* the API's */
    void *arg;
};

/* Passes the browser's request on. `security` are header lines that each answer gets besides. */
void forward_request(const struct forward_target *t, const struct credential *who,
                     struct exchange *x, const char *security);

/* `body` is borrowed; "" when the answer was too large or broken off (status 502). */
typedef void (*forward_done_fn)(void *arg, int status, struct str body);

struct forward_get;

struct forward_question {
    const char *method;             /* NULL: GET */
    const struct api_request *from; /* the browser's: the API sees its address and User-Agent */
    const char *path;
    const char *query;
    forward_done_fn done;
    void *arg;
};

/*
 * Asks the API. `done` is called once, maybe from inside this call, and
 * ends it; `*ret` is NULL then. forward_cancel: `done` is not called after it.
 */
void forward_get(const struct forward_target *t, const struct credential *who,
                 const struct forward_question *q, struct forward_get **ret);
void forward_cancel(struct forward_get *g); /* accepts NULL */
