/* why.h - the text of `mete why` from a workload of the view mete.dev/v1 */
#pragma once

#include "base/json.h"
#include "cli/cli.h"
#include "cli/session.h"

/* Formats the output of `mete why JOB`; at most eight nodes unless `is_all`. The caller frees it.
 */
char *why_format(const json_t *workload, bool is_all, int64_t now_ns);

/* The workload of a job of the Slurm commands, by its number or an element's (12_3): of its pod,
 * or, while it has none, made of its row. `*ret` NULL: there is no such job. */
struct err *why_slurm(struct session *s, const char *word, json_t **ret) MUST_CHECK;

/* mete why --if: prints the workloads that would start, move or wait again after all changes. */
struct err *why_if_changed(struct cli *c, struct session *s) MUST_CHECK;
