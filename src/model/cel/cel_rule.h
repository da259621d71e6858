/*
 * cel_rule.h - CEL over JSON values: the rules of schemas and policies
 *
 * The language of cel.h with variables, members and indexes of JSON values, numbers with fractions,
 * lists and maps, the macros all, exists, exists_one, map and filter, optional values (a.?b, [?i]),
 * durations, timestamps, and Kubernetes' libraries of strings, lists, regular expressions, sets,
 * quantities and URLs. An unknown part is refused by its name when a rule is parsed.
 *
 * An evaluation has a bound on its steps: of nodes, of bytes that are looked at or made.
 */
#pragma once

#include "base/json.h"
#include "model/cel/cel.h"

enum {
    CEL_RULE_NAMES_MAX = 16
};

/* The type that a schema gives to a JSON value. */
enum cel_form {
    CEL_FORM_PLAIN,
    CEL_FORM_TIMESTAMP, /* a string with format date-time or date */
    CEL_FORM_DURATION,
    CEL_FORM_BYTES,
    CEL_FORM_NUMBER /* 1 is 1.0 */
};

/* Questions about the schema of a value, which a caller answers; NULL: unknown. */
struct cel_shapes {
    const void *(*member)(const void *shape, const char *name);
    const void *(*item)(const void *shape);
    enum cel_form (*form)(const void *shape);
    /* Is the name certainly none of a member? Then a rule that reads it is refused. */
    bool (*lacks)(const void *shape, const char *name);
};

/* A variable of a rule. */
struct cel_variable {
    const char *name;
    const void *shape;
    bool is_optional; /* its value is an optional one */
};

struct cel_language {
    const struct cel_shapes *shapes; /* NULL: none */
    const struct cel_variable *variables;
    size_t n_variables;
    const char *named; /* the variable whose members are named expressions; NULL: none */
};

struct cel_rule;

/* ERR_INVALID: malformed, too long, or with a part that is not known: "column 8: ...". Borrows the
 * language. */
struct err *cel_rule_parse(struct str text, const struct cel_language *language,
                           struct cel_rule **ret) MUST_CHECK;
void cel_rule_free(struct cel_rule *r); /* accepts NULL */

/* Does the rule name the variable? */
bool cel_rule_uses(const struct cel_rule *r, const char *variable);

/*
 * Evaluates a rule; `values` has a value for each variable of its language (NULL: optional.none).
 * Takes from `*steps`. ERR_INVALID: no boolean, an operand of a wrong kind, no such member, steps
 * used up (`*steps` is below 0).
 */
struct err *cel_rule_holds(const struct cel_rule *r, const json_t *const *values, int64_t *steps,
                           bool *ret) MUST_CHECK;
/* The same for a text, which the caller frees. */
struct err *cel_rule_text(const struct cel_rule *r, const json_t *const *values, int64_t *steps,
                          char **ret) MUST_CHECK;

/* An expression that others use as a member of the variable `named`. */
struct cel_named {
    const char *name;
    const struct cel_rule *rule;
};

/*
 * Values for several rules of one language. A named expression is evaluated when it is first used,
 * once. A rule may take a million steps, all rules of a session ten million. Borrows all.
 */
struct cel_session;
struct cel_session *cel_session_new(const json_t *const *values, const struct cel_named *named,
                                    size_t n_named);
void cel_session_free(struct cel_session *s); /* accepts NULL */
/* As cel_rule_holds and cel_rule_text. */
struct err *cel_session_holds(struct cel_session *s, const struct cel_rule *rule,
                              bool *ret) MUST_CHECK;
struct err *cel_session_text(struct cel_session *s, const struct cel_rule *rule,
                             char **ret) MUST_CHECK;
