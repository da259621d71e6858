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

struct cel_node {
    enum cel_op op;
    size_t at; /* its place in the text, for errors */
    struct cel_value value;
    struct str name;
    enum cel_call call;
    struct cel_node **args;
    size_t n_args;
};

struct cel {
    struct arena *arena;
    struct cel_node *root;
};

/* A finds-somewhere match of a pattern as of RE2, without captures. Takes from `*steps`. */
struct err *cel_pattern_matches(struct str pattern, struct str text, int64_t *steps,
                                bool *ret) MUST_CHECK;
