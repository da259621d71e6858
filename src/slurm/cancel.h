/* cancel.h - changes that cancel jobs */
#pragma once

#include <stdbool.h>

#include "base/json.h"
#include "model/index_set.h"

/*
 * The elements that a job's name means: `indexes`, else the element whose number is `id` in the
 * row of one element, else "*", the whole job. The caller frees the text.
 */
char *slurm_cancel_elements(const json_t *row, int64_t id, const struct index_set *indexes);

/* The merge patch that adds elements to those that were cancelled before, at the job's version. New
 * reference. */
struct err *slurm_cancel_patch(const json_t *job, const char *elements, json_t **ret) MUST_CHECK;

/* Do two host lists have a name in common? A malformed list has none. */
bool slurm_hosts_meet(const char *a, const char *b);
