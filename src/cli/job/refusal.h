/* refusal.h - refusals by a namespace's quotas and limits, with numbers and with what to try */
#pragma once

#include "cli/cli.h"

/*
 * Rewrites `exceeded quota: ...` to used, asked and short by, one line for each resource, with
 * exit code 5. For this error, for `failed quota: ...` and for bounds of limit ranges sets the
 * line to try. Returns other errors unchanged. Takes `e`.
 */
struct err *refusal_explain(struct cli *c, struct err *e, const char *ns) MUST_CHECK;

/*
 * Formats the message alone: "quota \"q\" has no room for 7 GPUs
 *   used 4 of 10, ..."; NULL: `text` reports no exceeded quota. `*ret_free` (may be NULL) is the
 * number of gpus left in the quota, -1: gpus are not the cause. The caller frees it.
 */
char *refusal_format(const char *text, int64_t *ret_free);
