/*
 * slurm_rules.h - rules of an administrator for new jobs of the Slurm commands
 *
 * A rule is {"when": condition in CEL, "set": {members of the job}, "refuse": text}. `when` reads
 * the job as it was submitted, with what earlier rules have set: job.name, user, group, account,
 * partition, qos, reservation, licenses, constraint, comment, wckey, gpuModel (texts, "" where
 * nothing was said); nodes, tasks, cpus and gpus (of all nodes), memoryMiB (of a node, 0: not
 * said), timeLimitMinutes (0: not said), elements (of an array; 1: none); hasScript.
 */
#pragma once

#include "base/json.h"

/* Can the condition be evaluated? ERR_INVALID names the column. */
struct err *slurm_rule_check(const char *when) MUST_CHECK;

/*
 * Applies the rules in their order to the spec of a new job. ERR_FORBIDDEN: the text of the first
 * rule that refuses it, then a line with Slurm's words.
 */
struct err *slurm_rules_apply(const json_t *rules, json_t *spec) MUST_CHECK;
