/* policies.h - ValidatingAdmissionPolicies and their bindings: the judgement of writes by CEL */
#pragma once

#include "kinds/admission/admission_context.h"
#include "kinds/admission/hook_match.h"

struct policies;

struct policies *policies_new(struct store *s);
void policies_free(struct policies *p); /* accepts NULL */
/* Reads all policies and bindings from the durable state. */
void policies_read(struct policies *p);
bool policies_is_empty(const struct policies *p); /* no policy is bound */

/* Evaluates all bound policies that match. The error of the first denial, in Kubernetes' words;
 * warnings and annotations of the audit for the rest. */
struct err *policies_judge(const struct policies *p, struct admission_context *d,
                           const struct admission_ask *ask, json_t *warnings) MUST_CHECK;
