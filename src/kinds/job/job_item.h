/* job_item.h - a pod or a batch/v1 Job as `mete ps` shows it */
#pragma once

#include "base/json.h"

/*
 * A new object: `kind` Job of mete.dev/v1, `metadata` (name, namespace, uid), `spec` (queue, jobId,
 * user, gpus, devices), `status` (state, reason, node, exitCode, submittedAt, startedAt, endedAt;
 * of a Job also `pods`, counts). Numbers are in plain units; null is unknown. `cells` is for tables
 * alone: `gpus` is a number or a text as of gpu_asks_format, `reason` is the reason or the
 * progress.
 */
json_t *job_item(const json_t *object);
