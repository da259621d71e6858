/* quota_queue.h - the quotas of the queue of a namespace, for `mete quota` */
#pragma once

#include "cli/session.h"
#include "cli/term/output.h"

/* Adds a row for each quota of the queue and of the queues above; with `is_name_only` one row for
 * each queue. Adds nothing if the user may not read queues. */
struct err *quota_add_queues(struct session *s, const char *ns, bool is_name_only,
                             struct listing *l) MUST_CHECK;
