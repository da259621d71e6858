/* why.h - a workload of the view mete.dev/v1, for people */
#pragma once

#include "base/json.h"
#include "cli/cli.h"
#include "cli/session.h"

/* What `mete why JOB` prints; at most eight nodes unless `is_all`. The caller frees it. */
char *why_format(const json_t *workload, bool is_all, int64_t now_ns);

/* With --if: who would start, be moved or have to wait again if all those changes were made. */
struct err *why_if_changed(struct cli *c, struct session *s) MUST_CHECK;
