/* hook_calls.h - calls of webhooks: a client for each target, kept while it is used */
#pragma once

#include "base/loop.h"
#include "kinds/admission/admission_context.h"

struct hook_calls;

struct hook_calls *hook_calls_new(struct loop *l);
void hook_calls_free(struct hook_calls *h); /* accepts NULL; all calls have ended */

/* The seam of admission contexts. Borrowed. */
const struct hook_caller *hook_calls_caller(const struct hook_calls *h);
