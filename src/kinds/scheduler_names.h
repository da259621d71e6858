/*
 * scheduler_names.h - the values of spec.schedulerName that Mete places
 *
 * Mete always places pods of "default-scheduler" and "mete", and those of the schedulers that the
 * configuration names; by default these are the schedulers whose manifests Mete accepts. Other pods
 * are left to their schedulers.
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
    bool is_alone; /* without the built-in names: beside another cluster's own scheduler */
};

/* Parses "volcano,mine"; "": only the built-in names, if not `is_alone`. ERR_INVALID says which
 * part is not a name, or occurs twice. */
struct err *scheduler_names_parse(const char *text, bool is_alone,
                                  struct scheduler_names *ret) MUST_CHECK;
void scheduler_names_done(struct scheduler_names *names);

/* Does Mete place pods with this name? NULL or "": the default scheduler, which is Mete's. */
bool scheduler_names_has(const struct scheduler_names *names, const char *name);
/* "default-scheduler, mete, volcano". The caller frees the text. */
char *scheduler_names_format(const struct scheduler_names *names);
