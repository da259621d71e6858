/* cel_rule_private.h - the values of a rule, and what its functions share */
#pragma once

#include "base/vec.h"
#include "model/cel/cel_private.h"
#include "model/cel/cel_rule.h"

enum item_kind {
    ITEM_NULL,
    ITEM_BOOL,
    ITEM_INT,
    ITEM_DOUBLE,
    ITEM_STRING,
    ITEM_BYTES,
    ITEM_LIST,
    ITEM_MAP,
    ITEM_DURATION,  /* number: ns */
    ITEM_TIMESTAMP, /* number: ns */
    ITEM_QUANTITY,  /* number: 1/1000 */
    ITEM_VERSION,   /* text */
    ITEM_URL,       /* text */
    ITEM_IP,        /* text */
    ITEM_CIDR,      /* text */
    ITEM_TYPE,      /* text: the name */
    ITEM_OPTIONAL   /* list: none or one item */
};

/* A value. Texts, lists and JSON live as long as the evaluation. */
struct cel_item {
    enum item_kind kind;
    bool is_json; /* of a list or map: `json`, else `list`; of a map the list is key, value, ... */
    union {
        bool yes;
        int64_t number;
        double real;
        struct str text;
        const json_t *json;
        struct {
            const struct cel_item *at;
            size_t n;
        } list;
    };
    const void *shape; /* of JSON; NULL: unknown */
};

struct cel_run {
    const struct cel_rule *rule;
    struct arena *arena;
    int64_t *steps;
    struct cel_item *frame;      /* variables: those of the language, then those of macros */
    struct cel_session *session; /* NULL: none */
};

/* The value of `variables.name`, computed at its first use. False: there is no such expression.
 * cel_session.c */
struct err *session_named(struct cel_run *r, struct str name, struct cel_item *ret,
                          bool *ret_found) MUST_CHECK;
/* Evaluates with a frame of its own: `values` as for cel_rule_holds. cel_rule.c */
struct err *rule_run(struct cel_run *r, const json_t *const *values,
                     struct cel_item *ret) MUST_CHECK;

/* A function or method with its arguments; a method's target is the first one. */
typedef struct err *(*cel_call_fn)(struct cel_run *r, const struct cel_node *n,
                                   const struct cel_item *args, struct cel_item *ret);

struct cel_function {
    const char *name; /* "size", "optional.of" */
    bool is_method;
    size_t least; /* arguments, with the target */
    size_t most;
    cel_call_fn call;
};

/* NULL: no function of this name takes so many arguments; `*ret_known`: one has the name. */
const struct cel_function *cel_function_find(struct str name, bool is_method, size_t n_args,
                                             bool *ret_known);
/* cel_rule_more.c: texts, lists, times */
const struct cel_function *cel_more_functions(size_t *ret_count);

struct cel_rule {
    struct arena *arena;
    struct cel_node *root;
    const struct cel_language *language;
    size_t n_frame;
    bool uses[CEL_RULE_NAMES_MAX];
};

/* cel_rule_eval.c, cel_rule_macro.c. Recursive: as deep as the expression, which the parser caps.
 */
struct err *rule_eval(struct cel_run *r, const struct cel_node *n, struct cel_item *ret) MUST_CHECK;
struct err *rule_yes(struct cel_run *r, const struct cel_node *n, bool *ret) MUST_CHECK;
struct err *rule_macro(struct cel_run *r, const struct cel_node *n,
                       struct cel_item *ret) MUST_CHECK;
/* The name of a property as it is written in a rule: __dot__ for "." and so on. Of the arena. */
struct str rule_unescape(struct cel_run *r, struct str name);

struct err *rule_fault(const struct cel_node *n, const char *fmt, ...) PRINTF(2, 3) MUST_CHECK;
struct err *rule_no_overload(const struct cel_node *n, const struct cel_item *v) MUST_CHECK;
struct err *rule_spend(struct cel_run *r, const struct cel_node *n, size_t steps) MUST_CHECK;

struct cel_item item_bool(bool yes);
struct cel_item item_int(int64_t number);
struct cel_item item_text(struct str text);
struct cel_item item_none(void);
struct cel_item item_some(struct cel_run *r, struct cel_item value);
struct cel_item item_list(const struct cel_item *at, size_t n);
struct cel_item item_of_json(const struct cel_run *r, const json_t *json, const void *shape);

size_t item_count(const struct cel_item *v); /* of a list or map */
/* Item `i` of a list. */
struct cel_item item_at(const struct cel_run *r, const struct cel_item *list, size_t i);
/* The member of a map. False: none. */
bool item_member(const struct cel_run *r, const struct cel_item *map, struct str name,
                 struct cel_item *ret);
const char *item_kind_name(enum item_kind kind);
struct err *items_equal(struct cel_run *r, const struct cel_node *n, const struct cel_item *a,
                        const struct cel_item *b, bool *ret) MUST_CHECK;
/* ERR_INVALID: they have no order. */
struct err *items_compare(struct cel_run *r, const struct cel_node *n, const struct cel_item *a,
                          const struct cel_item *b, int *ret) MUST_CHECK;
struct err *item_format(struct cel_run *r, const struct cel_node *n, const struct cel_item *v,
                        struct str *ret) MUST_CHECK;
/* Durations such as "1h30m" and "-1.5s". False: no duration. */
bool duration_read(struct str text, int64_t *ret_ns);
