/*
 * custom_path.h - JSONPaths of definitions: printer columns, scale, selectable fields
 *
 * The part of kubectl's JSONPath that begins with a dot: names (also ['quoted'], with \. escaped),
 * indexes and slices such as [0:2], [-1:] and [::2] (negative numbers count from the end), [*], and
 * filters [?(@.type=="Ready")] with == and !=.
 */
#pragma once

#include "base/json.h"

struct custom_path;

/* ERR_INVALID says what is not known. */
struct err *custom_path_parse(const char *text, struct custom_path **ret) MUST_CHECK;
void custom_path_free(struct custom_path *p); /* accepts NULL */

/* Are all parts names? */
bool custom_path_is_plain(const struct custom_path *p);

/* The first value at the path; NULL: none. Borrowed. */
json_t *custom_path_find(const struct custom_path *p, const json_t *object);

/* Sets the value at a path of names; makes the objects above. Takes `value`. */
void custom_path_put(const struct custom_path *p, json_t *object, json_t *value);
