/* job_spec.h - the Pod of a `mete run` */
#pragma once

#include "base/json.h"
#include "cli/cli.h"
#include "model/gpu_ask.h"

/* Reads a text of model/gpu_ask.h, with or without a model before it: "2", "a100:2", "a100:0.5".
 * Else ERR_BAD_REQUEST, also where the model has `size` characters. `*ret_model` is "" or lower
 * case. */
struct err *job_ask_parse(const char *text, struct gpu_ask *ret, char *ret_model,
                          size_t size) MUST_CHECK;
/* The same for whole gpus only: parts of gpus are refused. */
struct err *job_gpus_parse(const char *text, int64_t *ret_count, char *ret_model,
                           size_t size) MUST_CHECK;

/* Makes a pod name of at most 50 characters from the command's name: "train-py-x7f3q". The caller
 * frees it. */
char *job_name_make(const char *command);

/* Makes the Pod of the flags and arguments of `mete run`; `cwd` is its working directory. */
struct err *job_spec_make(const struct invocation *in, const char *ns, const char *cwd,
                          json_t **ret) MUST_CHECK;
