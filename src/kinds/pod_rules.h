/* pod_rules.h - the rules of pods that their schema cannot say */
#pragma once

#include "kinds/kind.h"

struct path;

void pod_set_defaults(json_t *pod, const struct kind_context *c); /* pod_defaults.c */
void pod_validate(const json_t *pod, struct causes *causes);      /* pod_validate.c */
struct err *pod_validate_update(const json_t *before, const json_t *after,
                                const struct kind_context *c) MUST_CHECK; /* pod_update.c */

/* requests and limits of one container (pod_resources.c) */
void container_validate_resources(const json_t *container, const struct path *at,
                                  struct causes *causes);
