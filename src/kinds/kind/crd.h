/*
 * crd.h - a CustomResourceDefinition made from a kind's tables, so that a kube-apiserver checks
 * objects as our own server does
 *
 * The schema has the types, limits, patterns and defaults of the fields, and the kind's rules in
 * CEL. Checks that are neither pattern nor rule (an amount over 2^60) are missing: readers of such
 * objects decode and validate them again.
 */
#pragma once

#include "kinds/kind/kind.h"

/* Kinds that a kube-apiserver stores for the scheduler; ends with NULL. */
extern const struct kind *const crd_kinds[];

/* A new reference; the same at each call. */
json_t *crd_make(const struct kind *k);
