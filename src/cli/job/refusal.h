/* refusal.h - what a namespace's quotas and limits said no to, in numbers and with what to try */
#pragma once

#include "cli/cli.h"

/*
 * `exceeded quota: ...` becomes used, asked and short by, one line a resource, with exit code 5;
 * for these and for `failed quota: ...` and bounds of limit ranges the line to try is set. Other
 * errors come back as they are. Takes and returns.
 */
struct err *refusal_explain(struct cli *c, struct err *e, const char *ns) MUST_CHECK;

/* The message alone: "quota \"q\" has no room for 7 GPUs\n  used 4 of 10, ..."; NULL where `text`
 * tells of no quota that is exceeded. `*ret_free` (may be NULL) is what is left of the gpus, -1
 * where these are not what lacks. The caller frees it. */
char *refusal_format(const char *text, int64_t *ret_free);
