/* job_spec.h - what `mete run` asks for, as a Pod */
#pragma once

#include "base/json.h"
#include "cli/cli.h"

/*
 * "2", "a100:2". ERR_BAD_REQUEST otherwise; parts of a gpu (0.5, 20Gi, mig-2g.20gb) are refused by
 * name. `*ret_model` is "" or lower case, cut at `size`.
 */
struct err *job_gpus_parse(const char *text, int64_t *ret_count, char *ret_model,
                           size_t size) MUST_CHECK;

/* A name of at most 50 characters made of the command's own: "train-py-x7f3q". The caller frees it.
 */
char *job_name_make(const char *command);

/* The Pod that the flags and arguments of `mete run` describe, to start in `cwd`. */
struct err *job_spec_make(const struct invocation *in, const char *ns, const char *cwd,
                          json_t **ret) MUST_CHECK;
