/* cel_private.h - the tree of an expression, between its parser and its evaluation */
#pragma once

#include "base/arena.h"
#include "model/cel/cel.h"

enum cel_op {
    CEL_OP_LITERAL,
    CEL_OP_DEVICE,
    CEL_OP_FIELD, /* args[0].name */
    CEL_OP_INDEX, /* args[0][args[1]] */
    CEL_OP_CALL,  /* name(args ...); of a method args[0] is the target */
    CEL_OP_HAS,   /* has(args[0].name) */
    CEL_OP_LIST,
    CEL_OP_NOT,
    CEL_OP_MINUS,
    CEL_OP_IF,
    CEL_OP_OR,
    CEL_OP_AND,
    CEL_OP_EQ,
    CEL_OP_NE,
    CEL_OP_LT,
    CEL_OP_LE,
    CEL_OP_GT,
    CEL_OP_GE,
    CEL_OP_IN,
    CEL_OP_ADD,
    CEL_OP_SUB,
    CEL_OP_MUL,
    CEL_OP_DIV,
    CEL_OP_MOD,
    /* Of rules (cel_rule.h) only. */
    CEL_OP_VARIABLE, /* the frame's `slot` */
    CEL_OP_TYPE,     /* the type `name` */
    CEL_OP_REAL,
    CEL_OP_FUNCTION, /* function(args ...) */
    CEL_OP_MACRO,    /* args[0].all(the variable at `slot`, args[1] ...) */
    CEL_OP_BIND,     /* args[1] with args[0] at `slot` */
    CEL_OP_MAP,      /* args: key, value, key, value ... */
};

enum cel_macro {
    CEL_MACRO_ALL,
    CEL_MACRO_EXISTS,
    CEL_MACRO_EXISTS_ONE,
    CEL_MACRO_MAP, /* args[1]: the value; or the filter, and args[2] the value */
    CEL_MACRO_FILTER,
    CEL_MACRO_OPT_MAP,
    CEL_MACRO_OPT_FLAT_MAP,
};

/* Functions and methods; each has a row in a table of the parser and a case in the evaluation. */
enum cel_call {
    CEL_CALL_SIZE,
    CEL_CALL_QUANTITY,
    CEL_CALL_IS_QUANTITY,
    CEL_CALL_SEMVER,
    CEL_CALL_IS_SEMVER,
    CEL_CALL_INT,
    CEL_CALL_STRING,
    CEL_CALL_STARTS_WITH,
    CEL_CALL_ENDS_WITH,
    CEL_CALL_CONTAINS,
    CEL_CALL_MATCHES,
    CEL_CALL_LOWER,
    CEL_CALL_UPPER,
    CEL_CALL_COMPARE,
    CEL_CALL_IS_GREATER,
    CEL_CALL_IS_LESS,
    CEL_CALL_ADD,
    CEL_CALL_SUB,
    CEL_CALL_SIGN,
    CEL_CALL_AS_INTEGER,
    CEL_CALL_IS_INTEGER,
    CEL_CALL_MAJOR,
    CEL_CALL_MINOR,
    CEL_CALL_PATCH,
};

struct cel_function; /* cel_rule_private.h */

struct cel_node {
    enum cel_op op;
    size_t at; /* its place in the text, for errors */
    struct cel_value value;
    struct str name;
    enum cel_call call;
    struct cel_node **args;
    size_t n_args;
    /* Of rules only. */
    size_t slot;
    size_t slot_second; /* of a macro with two variables: index and value, key and value; 0: one */
    bool is_optional;   /* a.?b, a[?b] */
    enum cel_macro macro;
    const struct cel_function *function;
    double real;
};

struct cel {
    struct arena *arena;
    struct cel_node *root;
};

/* Variables that a parser knows, the last ones of macros. */
enum {
    CEL_SCOPE_MAX = 64
};
struct cel_scope {
    struct str names[CEL_SCOPE_MAX];
    size_t n;
    size_t most;    /* at once */
    bool *ret_uses; /* by slot, of the language's variables */
    size_t n_uses;
};

/* Parses an expression with variables into `arena`, where the text must live, too. */
struct err *cel_parse_scoped(struct str text, struct arena *arena, struct cel_scope *scope,
                             struct cel_node **ret) MUST_CHECK;
