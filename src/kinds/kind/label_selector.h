/* label_selector.h - meta/v1 LabelSelector: matchLabels and matchExpressions */
#pragma once

#include "kinds/kind/kind.h"
#include "model/selector.h"

struct causes;
struct path;

extern const struct field label_selector_fields[];

/* The rule beyond the schema: only In and NotIn have values. */
void label_selector_validate(const json_t *selector, const struct path *at, struct causes *causes);

/* {} and NULL match everything. ERR_INVALID: label_selector_validate refuses the selector. */
struct err *label_selector_parse(const json_t *selector, struct selector **ret) MUST_CHECK;

/* The selector as text, "a=b,c in (d)"; "": everything. The caller frees it. */
char *label_selector_format(const json_t *selector);

/* Do the labels of `object` match? */
bool label_selector_matches(const struct selector *s, const json_t *object);
