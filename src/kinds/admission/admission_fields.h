/* admission_fields.h - the parts that webhook configurations and admission policies share */
#pragma once

#include "kinds/kind/cause.h"
#include "kinds/kind/kind.h"
#include "model/cel/cel_rule.h"

#define ADMISSION_GROUP       "admissionregistration.k8s.io"
#define MUTATING_PLURAL       "mutatingwebhookconfigurations"
#define VALIDATING_PLURAL     "validatingwebhookconfigurations"
#define POLICY_PLURAL         "validatingadmissionpolicies"
#define POLICY_BINDING_PLURAL "validatingadmissionpolicybindings"

extern const char *const admission_failure_policies[];
extern const char *const admission_match_policies[];

extern const struct field admission_rule_item;       /* RuleWithOperations */
extern const struct field admission_named_rule_item; /* the same with resourceNames */
extern const struct field admission_condition_item;  /* MatchCondition */

/* The rules beyond the schema. */
void admission_check_rules(const json_t *rules, const struct path *at, struct causes *causes);
void admission_check_conditions(const json_t *conditions, const struct path *at,
                                const struct cel_language *language, struct causes *causes);
/* Compiles an expression, and frees it: a cause at `at` if that fails. */
void admission_check_expression(const char *text, const struct path *at,
                                const struct cel_language *language, struct causes *causes);

/* The places of the values of expressions. */
enum admission_variable {
    ADMISSION_OBJECT,
    ADMISSION_OLD_OBJECT,
    ADMISSION_REQUEST,
    ADMISSION_PARAMS,
    ADMISSION_NAMESPACE,
    ADMISSION_VARIABLES,
    ADMISSION_VARIABLES_END
};
extern const struct cel_language admission_condition_language; /* of webhooks: the first three */
extern const struct cel_language admission_policy_language;
