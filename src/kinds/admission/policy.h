/* policy.h - a ValidatingAdmissionPolicy, compiled: its expressions and their language */
#pragma once

#include "kinds/admission/hooks.h"
#include "kinds/kind/cause.h"

struct policy_validation {
    struct cel_rule *rule;
    struct cel_rule *message_rule; /* NULL: none */
    const char *text;
    const char *message; /* NULL: none */
    const char *reason;  /* NULL: Invalid */
};

struct policy_annotation {
    const char *key;
    struct cel_rule *rule; /* a text, or null */
};

struct policy {
    json_t *source; /* the whole object */
    const char *name;
    struct hook_match match;
    hook_conditions conditions;
    VEC(struct policy_validation) validations;
    VEC(struct policy_annotation) annotations;
    VEC(struct cel_named) variables;
    struct policy_language *languages; /* one a variable, and one for all else */
    bool is_ignored;                   /* failurePolicy Ignore */
};

/* Compiles the policy: causes for expressions that cannot be. Takes a reference of `object`. */
struct policy *policy_new(json_t *object, struct causes *causes);
void policy_free(struct policy *p); /* accepts NULL */
