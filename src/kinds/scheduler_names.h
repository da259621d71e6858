/*
 * scheduler_names.h - the values of a pod's spec.schedulerName that Mete places
 *
 * "default-scheduler" and "mete" always; beside them those that the configuration names, by default
 * the schedulers whose manifests Mete takes. A pod that names another is left to that scheduler.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define SCHEDULER_NAMES "volcano,scheduler-plugins-scheduler,kai-scheduler,koord-scheduler"

enum {
    SCHEDULER_NAMES_MAX = 32
};

/* scheduler_names_done frees. */
struct scheduler_names {
    char *at[SCHEDULER_NAMES_MAX];
    size_t n;
};

/* "volcano,mine"; "": only the two. ERR_INVALID says which part is no name, or there twice. */
struct err *scheduler_names_parse(const char *text, struct scheduler_names *ret) MUST_CHECK;
void scheduler_names_done(struct scheduler_names *names);

/* `name` NULL or "": the default, which is Mete's. */
bool scheduler_names_has(const struct scheduler_names *names, const char *name);
/* "default-scheduler, mete, volcano". The caller frees it. */
char *scheduler_names_format(const struct scheduler_names *names);
