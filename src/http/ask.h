/* ask.h - a question of our own to a request_fn in this process, answered as a whole */
#pragma once

#include "http/request.h"

/* `body` is borrowed; "" when the answer was too large or broken off (status 502). */
typedef void (*ask_done_fn)(void *arg, int status, struct str body);

struct ask_target {
    request_fn handle;
    void *arg;
};

struct ask;

/*
 * Asks. All that `r` refers to outlives the question. `done` is called once, maybe from inside this
 * call, and ends the question; `*ret` is NULL then. ask_cancel: `done` is not called after it.
 */
void ask_begin(const struct ask_target *t, const struct api_request *r, ask_done_fn done, void *arg,
               struct ask **ret);
void ask_cancel(struct ask *a); /* accepts NULL */
