/* label_selector.h - meta/v1 LabelSelector: matchLabels and matchExpressions */
#pragma once

#include "kinds/kind/kind.h"
#include "model/selector.h"

struct causes;
struct path;

extern const struct field label_selector_fields[];

/* What its schema cannot say: values belong to In and NotIn only. */
void label_selector_validate(const json_t *selector, const struct path *at, struct causes *causes);

/* {} and NULL match everything. ERR_INVALID for one that label_selector_validate refuses. */
struct err *label_selector_parse(const json_t *selector, struct selector **ret) MUST_CHECK;

/* Whether the labels of `object` match. */
bool label_selector_matches(const struct selector *s, const json_t *object);
