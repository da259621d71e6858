/*
 * hooks.h - the webhooks of all configurations of a resource, compiled and in their order
 *
 * Configurations are in the order of their names, webhooks in the order of their configuration.
 */
#pragma once

#include "base/vec.h"
#include "kinds/admission/hook_match.h"
#include "model/cel/cel_rule.h"

struct hook_condition {
    const char *name;
    struct cel_rule *rule;
};
typedef VEC(struct hook_condition) hook_conditions;

/* Compiles conditions, which the validation has compiled before. Borrows the texts. */
void hook_conditions_read(const json_t *list, const struct cel_language *language,
                          hook_conditions *ret);
void hook_conditions_done(hook_conditions *c);
/* Do all hold? ERR_INVALID names the condition that cannot be evaluated. `*ret_name`: the first
 * that does not hold. */
struct err *hook_conditions_hold(const hook_conditions *c, struct cel_session *values,
                                 bool *ret) MUST_CHECK;

struct hook {
    json_t *source; /* of the configuration */
    const char *name;
    char *key;
    struct hook_match match;
    hook_conditions conditions;
    int64_t timeout_ns;
    bool is_ignored;  /* failurePolicy Ignore */
    bool is_repeated; /* reinvocationPolicy IfNeeded */
};
typedef VEC(struct hook) hook_list;

/* Reads all configurations of the resource from the durable state. */
void hooks_read(const struct store *s, const char *resource, hook_list *ret);
void hooks_done(hook_list *list);

/* The error of a webhook that did not answer, or not as it must. */
struct err *hook_failure(const struct hook *h, const struct err *why) MUST_CHECK;
