/*
 * job_spec.h - what a person asks of one job, and the Pod that it becomes
 *
 * A door that takes jobs without a manifest (`mete run`) fills in a struct job_spec.
 */
#pragma once

#include "base/json.h"
#include "base/vec.h"
#include "model/gpu_ask.h"

enum {
    JOB_MODEL_SIZE = 64,
    JOB_NAME_RANDOM = 5
};

/* Texts are borrowed; NULL or 0: not asked for. */
struct job_spec {
    const char *ns;
    const char *name;  /* NULL: made from the command */
    const char *image; /* "host": the machine's own files */
    const char *const *command;
    size_t n_command;
    const char *cwd;
    const char *queue;
    const char *priority_class;
    const char *reservation;
    bool is_held;
    bool never_requeued;
    int64_t limit_ns;
    int64_t expected_ns;
    const char *cpu; /* quantities */
    const char *memory;
    struct gpu_ask gpus; /* count 0: none */
    char model[JOB_MODEL_SIZE];
    VEC(struct job_variable {
        char *name;
        char *value;
    })
    env;
};

void job_spec_done(struct job_spec *s);

/* Adds a variable; copies both texts. */
void job_spec_add_variable(struct job_spec *s, const char *name, const char *value);

/* Makes a pod name of at most 50 characters from the command's name: "train-py-x7f3q". The caller
 * frees it. `dice`: random bytes. */
char *job_name_make(const char *command, const uint8_t dice[JOB_NAME_RANDOM]);

/* Makes the Pod. ERR_BAD_REQUEST: an amount that is no quantity above 0, or a text that is not
 * UTF-8. */
struct err *job_spec_make(const struct job_spec *s, const uint8_t dice[JOB_NAME_RANDOM],
                          json_t **ret) MUST_CHECK;
