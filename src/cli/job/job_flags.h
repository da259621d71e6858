/* job_flags.h - the job that the flags of `mete run` ask for */
#pragma once

#include "cli/cli.h"
#include "kinds/job/job_spec.h"

/* Reads a text of model/gpu_ask.h, with or without a model before it: "2", "a100:2", "a100:0.5".
 * Else ERR_BAD_REQUEST, also for a model of JOB_MODEL_SIZE characters. `ret_model` is "" or lower
 * case. */
struct err *job_ask_parse(const char *text, struct gpu_ask *ret,
                          char ret_model[JOB_MODEL_SIZE]) MUST_CHECK;
/* The same for whole gpus only: parts of gpus are refused. */
struct err *job_gpus_parse(const char *text, int64_t *ret_count,
                           char ret_model[JOB_MODEL_SIZE]) MUST_CHECK;

/*
 * Reads the flags and arguments into `*ret`, which borrows texts of `in`; namespace and working
 * directory are the caller's to set. job_spec_done frees the rest, also after an error.
 */
struct err *job_flags_read(const struct invocation *in, struct job_spec *ret) MUST_CHECK;
