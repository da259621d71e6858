/*
 * live.h - one stream for each browser that tells what changed
 *
 * A line of JSON at most twice a second: {"revision":7,"changed":["pods","jobs"]}. The browser asks
 * again for what it shows. A line comes at least each 10 s; it names "samples", the readings of
 * gpus, which are no objects. The line {"end":true} says that the session is over.
 */
#pragma once

#include "page/logins.h"
#include "store/store.h"

struct live;
struct live *live_new(struct loop *loop, struct store *store, struct logins *logins);
void live_free(struct live *l); /* accepts NULL; all exchanges have ended */

/* Begins a stream. ERR_BUSY: there are too many. */
struct err *live_begin(struct live *l, uint64_t session, struct exchange *x,
                       const char *security) MUST_CHECK;
