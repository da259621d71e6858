/* why.h - a workload of the view mete.dev/v1, for people */
#pragma once

#include "base/json.h"

/* What `mete why JOB` prints; at most eight nodes unless `is_all`. The caller frees it. */
char *why_format(const json_t *workload, bool is_all, int64_t now_ns);
