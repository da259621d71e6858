/*
 * slurm_preempt.h - which jobs of the Slurm commands may preempt which
 *
 * PreemptType says whether the QOS or the partition of two jobs decide; PreemptMode of the job that
 * is preempted (of its QOS or partition, else of the cluster) says what becomes of it.
 */
#pragma once

#include <stdbool.h>

#include "base/json.h"

/*
 * The rules as data: {"by": "qos" or "partition", "classes": {NAME: {"class": number from 1,
 * "victims": [numbers], "exemptSeconds", "graceSeconds", "cancels": bool,
 * "suspends": bool}}}. QOS and partitions
 * that neither preempt nor are preempted are left out. `settings`: of the SlurmConfig; `qoses`,
 * `partitions`: the specs by name. `*ret_left`: classes beyond the engine's number, left out. NULL:
 * nothing is preempted; else a new reference.
 */
json_t *slurm_preempt_rules(const json_t *settings, const json_t *qoses, const json_t *partitions,
                            size_t *ret_left);

/* The class of a job with this QOS (NULL: normal) and partitions, of which the first counts; NULL:
 * none. Borrowed. `rules` may be NULL. */
const json_t *slurm_preempt_class(const json_t *rules, const char *qos, const char *partitions);
