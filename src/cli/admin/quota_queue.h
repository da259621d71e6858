/* quota_queue.h - the quotas of the queue that a namespace's jobs are in, among its own */
#pragma once

#include "cli/session.h"
#include "cli/term/output.h"

/* A row for each quota of the queue and of those above it, of names alone one each. Nothing where
 * one may not look. */
struct err *quota_add_queues(struct session *s, const char *ns, bool is_name_only,
                             struct listing *l) MUST_CHECK;
