/* cel_rule_eval.c - the value of a rule: a walk over its tree */

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "model/cel/cel_rule_private.h"

enum {
    STEP_BYTES = 10 /* as Kubernetes counts: a byte costs a tenth */
};

/* ---- members ---- */

/* The name of a property as it is written in a rule: __dot__ for "." and so on. Of the arena. */
struct str rule_unescape(struct cel_run *r, struct str name)
{
    static const struct {
        const char *text;
        char c;
    } escapes[] = {{"__dot__", '.'}, {"__dash__", '-'}, {"__slash__", '/'}};
    char *out;
    size_t n = 0;

    if (name.size < 5 || !memmem(name.at, name.size, "__", 2))
        return name;
    if (name.size > 4 && memcmp(name.at, "__", 2) == 0 &&
        memcmp(name.at + name.size - 2, "__", 2) == 0)
        return (struct str){name.at + 2, name.size - 4}; /* a word of the language: __if__ */
    out = arena_alloc(r->arena, name.size + 1);
    for (size_t i = 0; i < name.size;) {
        struct str rest = {name.at + i, name.size - i};
        bool is_escape = false;

        if (rest.size >= 15 && memcmp(rest.at, "__underscores__", 15) == 0) {
            out[n++] = '_';
            out[n++] = '_';
            i += 15;
            continue;
        }
        for (size_t j = 0; j < COUNT(escapes) && !is_escape; j++) {
            size_t size = strlen(escapes[j].text);

            if (rest.size < size || memcmp(rest.at, escapes[j].text, size) != 0)
                continue;
            out[n++] = escapes[j].c;
            i += size;
            is_escape = true;
        }
        if (!is_escape)
            out[n++] = name.at[i++];
    }
    return (struct str){out, n};
}

/* A member by its name as written, or unescaped. */
static bool find_member(struct cel_run *r, const struct cel_item *map, struct str name,
                        struct cel_item *ret)
{
    return item_member(r, map, name, ret) || item_member(r, map, rule_unescape(r, name), ret);
}

/* Looks through an optional value: of none, members are none. */
static bool open_optional(struct cel_item *of, bool *ret_is_none)
{
    if (of->kind != ITEM_OPTIONAL)
        return false;
    *ret_is_none = of->list.n == 0;
    if (!*ret_is_none)
        *of = of->list.at[0];
    return true;
}

/* Is the node the variable whose members are named expressions? */
static bool is_of_named(const struct cel_run *r, const struct cel_node *n)
{
    const struct cel_language *l = r->rule->language;
    const struct cel_node *of = n->args[0];

    return r->session && l->named && of->op == CEL_OP_VARIABLE && of->slot < l->n_variables &&
           text_equal(l->variables[of->slot].name, l->named);
}

static struct err *eval_field(struct cel_run *r, const struct cel_node *n, struct cel_item *ret)
{
    struct cel_item of = {0};
    struct cel_item found = {0};
    bool is_none = false;
    bool is_optional;

    if (is_of_named(r, n)) {
        bool is_found = false;

        TRY(session_named(r, n->name, ret, &is_found));
        return is_found ? NULL : rule_fault(n, "no such key: " STR_FMT, STR_ARG(n->name));
    }
    TRY(rule_eval(r, n->args[0], &of));
    is_optional = open_optional(&of, &is_none) || n->is_optional;
    if (!is_none && of.kind != ITEM_MAP)
        return rule_no_overload(n, &of);
    if (!is_none && find_member(r, &of, n->name, &found))
        *ret = is_optional ? item_some(r, found) : found;
    else if (is_optional)
        *ret = item_none();
    else
        return rule_fault(n, "no such key: " STR_FMT, STR_ARG(n->name));
    return NULL;
}

static struct err *eval_has(struct cel_run *r, const struct cel_node *n, struct cel_item *ret)
{
    struct cel_item of = {0};
    struct cel_item found = {0};
    bool is_none = false;

    TRY(rule_eval(r, n->args[0], &of));
    (void)open_optional(&of, &is_none);
    if (!is_none && of.kind != ITEM_MAP)
        return rule_no_overload(n, &of);
    *ret = item_bool(!is_none && find_member(r, &of, n->name, &found));
    return NULL;
}

/* The value at a key or an index. False: there is none. */
static struct err *look_up(struct cel_run *r, const struct cel_node *n, const struct cel_item *of,
                           const struct cel_item *at, struct cel_item *ret, bool *ret_found)
{
    *ret_found = false;
    if (of->kind == ITEM_MAP) {
        for (size_t i = 0; !of->is_json && i + 1 < of->list.n && !*ret_found; i += 2) {
            TRY(items_equal(r, n, &of->list.at[i], at, ret_found));
            if (*ret_found)
                *ret = of->list.at[i + 1];
        }
        if (of->is_json && at->kind == ITEM_STRING)
            *ret_found = item_member(r, of, at->text, ret);
        return NULL;
    }
    if (of->kind != ITEM_LIST || at->kind != ITEM_INT)
        return rule_no_overload(n, of->kind != ITEM_LIST ? of : at);
    *ret_found = at->number >= 0 && (uint64_t)at->number < item_count(of);
    if (*ret_found)
        *ret = item_at(r, of, (size_t)at->number);
    return NULL;
}

static struct err *eval_index(struct cel_run *r, const struct cel_node *n, struct cel_item *ret)
{
    struct cel_item of = {0};
    struct cel_item at = {0};
    struct cel_item found = {0};
    bool is_found = false;
    bool is_none = false;
    bool is_optional;

    TRY(rule_eval(r, n->args[0], &of));
    TRY(rule_eval(r, n->args[1], &at));
    is_optional = open_optional(&of, &is_none) || n->is_optional;
    if (!is_none)
        TRY(look_up(r, n, &of, &at, &found, &is_found));
    if (is_optional)
        *ret = is_found ? item_some(r, found) : item_none();
    else if (is_found)
        *ret = found;
    else if (of.kind == ITEM_LIST)
        return rule_fault(n, "index out of bounds: %" PRId64, at.number);
    else
        return rule_fault(n, "no such key");
    return NULL;
}

static struct err *eval_in(struct cel_run *r, const struct cel_node *n, struct cel_item *ret)
{
    struct cel_item what = {0};
    struct cel_item of = {0};
    struct cel_item found = {0};
    bool is_in = false;

    TRY(rule_eval(r, n->args[0], &what));
    TRY(rule_eval(r, n->args[1], &of));
    if (of.kind == ITEM_MAP) {
        TRY(look_up(r, n, &of, &what, &found, &is_in));
    } else if (of.kind == ITEM_LIST) {
        for (size_t i = 0; !is_in && i < item_count(&of); i++) {
            struct cel_item one = item_at(r, &of, i);

            TRY(items_equal(r, n, &what, &one, &is_in));
        }
    } else {
        return rule_no_overload(n, &of);
    }
    *ret = item_bool(is_in);
    return NULL;
}

/* ---- operators ---- */

struct err *rule_yes(struct cel_run *r, const struct cel_node *n, bool *ret)
{
    struct cel_item v = {0};

    TRY(rule_eval(r, n, &v));
    if (v.kind != ITEM_BOOL)
        return rule_no_overload(n, &v);
    *ret = v.yes;
    return NULL;
}

/* && and ||: a side that decides hides an error of the other side. */
static struct err *eval_logic(struct cel_run *r, const struct cel_node *n, struct cel_item *ret)
{
    bool deciding = n->op == CEL_OP_OR;
    bool yes = false;
    struct err *left = rule_yes(r, n->args[0], &yes);
    struct err *right;

    if (!left && yes == deciding) {
        *ret = item_bool(yes);
        return NULL;
    }
    if (left && *r->steps < 0)
        return left;
    right = rule_yes(r, n->args[1], &yes);
    if (!right && (!left || yes == deciding)) {
        err_free(left);
        *ret = item_bool(yes);
        return NULL;
    }
    if (!left)
        return right;
    err_free(right);
    return left;
}

static struct err *concat(struct cel_run *r, const struct cel_node *n, const struct cel_item *a,
                          const struct cel_item *b, struct cel_item *ret)
{
    size_t n_a = item_count(a);
    size_t n_b = item_count(b);
    struct cel_item *list;

    TRY(rule_spend(r, n, n_a + n_b));
    list = arena_alloc(r->arena, (n_a + n_b + 1) * sizeof(*list));
    for (size_t i = 0; i < n_a; i++)
        list[i] = item_at(r, a, i);
    for (size_t i = 0; i < n_b; i++)
        list[n_a + i] = item_at(r, b, i);
    *ret = item_list(list, n_a + n_b);
    return NULL;
}

static struct err *add_texts(struct cel_run *r, const struct cel_node *n, struct cel_item *a,
                             const struct cel_item *b, struct cel_item *ret)
{
    size_t size = a->text.size + b->text.size;
    char *text;

    TRY(rule_spend(r, n, size / STEP_BYTES));
    text = arena_alloc(r->arena, size + 1);
    memcpy(text, a->text.at, a->text.size);
    memcpy(text + a->text.size, b->text.at, b->text.size);
    *ret = *a;
    ret->text = (struct str){text, size};
    return NULL;
}

static struct err *whole_numbers(const struct cel_node *n, int64_t a, int64_t b, int64_t *ret)
{
    bool is_past = false;

    *ret = 0;
    if (n->op == CEL_OP_ADD)
        is_past = __builtin_add_overflow(a, b, ret);
    else if (n->op == CEL_OP_SUB)
        is_past = __builtin_sub_overflow(a, b, ret);
    else if (n->op == CEL_OP_MUL)
        is_past = __builtin_mul_overflow(a, b, ret);
    else if (b == 0)
        return rule_fault(n, n->op == CEL_OP_DIV ? "division by zero" : "modulus by zero");
    else if (b == -1)
        is_past = n->op == CEL_OP_DIV && __builtin_sub_overflow(INT64_C(0), a, ret);
    else
        *ret = n->op == CEL_OP_DIV ? a / b : a % b;
    return is_past ? rule_fault(n, "integer overflow") : NULL;
}

static struct err *real_numbers(const struct cel_node *n, double a, double b, double *ret)
{
    if (n->op == CEL_OP_MOD)
        return rule_fault(n, "no such overload for double");
    *ret = n->op == CEL_OP_ADD   ? a + b
           : n->op == CEL_OP_SUB ? a - b
           : n->op == CEL_OP_MUL ? a * b
                                 : a / b;
    return NULL;
}

static struct err *eval_number(struct cel_run *r, const struct cel_node *n, struct cel_item *ret)
{
    struct cel_item a = {0};
    struct cel_item b = {0};
    bool is_time;

    TRY(rule_eval(r, n->args[0], &a));
    TRY(rule_eval(r, n->args[1], &b));
    if (n->op == CEL_OP_ADD && a.kind == b.kind && (a.kind == ITEM_STRING || a.kind == ITEM_BYTES))
        return add_texts(r, n, &a, &b, ret);
    if (n->op == CEL_OP_ADD && a.kind == ITEM_LIST && b.kind == ITEM_LIST)
        return concat(r, n, &a, &b, ret);
    if (a.kind == ITEM_DOUBLE && b.kind == ITEM_DOUBLE) {
        *ret = (struct cel_item){.kind = ITEM_DOUBLE};
        return real_numbers(n, a.real, b.real, &ret->real);
    }
    is_time = (n->op == CEL_OP_ADD || n->op == CEL_OP_SUB) &&
              (a.kind == ITEM_DURATION || a.kind == ITEM_TIMESTAMP) &&
              (b.kind == ITEM_DURATION || b.kind == ITEM_TIMESTAMP);
    if (!is_time && (a.kind != ITEM_INT || b.kind != ITEM_INT))
        return rule_no_overload(n, a.kind == ITEM_INT ? &b : &a);
    ret->kind = ITEM_INT;
    if (is_time)
        ret->kind = a.kind == b.kind ? ITEM_DURATION : ITEM_TIMESTAMP;
    return whole_numbers(n, a.number, b.number, &ret->number);
}

static struct err *eval_compare(struct cel_run *r, const struct cel_node *n, struct cel_item *ret)
{
    struct cel_item a = {0};
    struct cel_item b = {0};
    int order = 0;
    bool is_equal = false;

    TRY(rule_eval(r, n->args[0], &a));
    TRY(rule_eval(r, n->args[1], &b));
    if (n->op == CEL_OP_EQ || n->op == CEL_OP_NE) {
        TRY(items_equal(r, n, &a, &b, &is_equal));
        *ret = item_bool(is_equal == (n->op == CEL_OP_EQ));
        return NULL;
    }
    TRY(items_compare(r, n, &a, &b, &order));
    *ret = item_bool(n->op == CEL_OP_LT   ? order < 0
                     : n->op == CEL_OP_LE ? order <= 0
                     : n->op == CEL_OP_GT ? order > 0
                                          : order >= 0);
    return NULL;
}

static struct err *eval_minus(struct cel_run *r, const struct cel_node *n, struct cel_item *ret)
{
    TRY(rule_eval(r, n->args[0], ret));
    if (ret->kind == ITEM_DOUBLE) {
        ret->real = -ret->real;
        return NULL;
    }
    if (ret->kind != ITEM_INT && ret->kind != ITEM_DURATION)
        return rule_no_overload(n, ret);
    if (__builtin_sub_overflow(INT64_C(0), ret->number, &ret->number))
        return rule_fault(n, "integer overflow");
    return NULL;
}

/* ---- calls, lists, maps ---- */

static struct err *eval_args(struct cel_run *r, const struct cel_node *n, struct cel_item **ret)
{
    struct cel_item *args = arena_alloc(r->arena, (n->n_args + 1) * sizeof(*args));

    for (size_t i = 0; i < n->n_args; i++)
        TRY(rule_eval(r, n->args[i], &args[i]));
    *ret = args;
    return NULL;
}

static struct err *eval_function(struct cel_run *r, const struct cel_node *n, struct cel_item *ret)
{
    struct cel_item *args = NULL;

    TRY(eval_args(r, n, &args));
    return n->function->call(r, n, args, ret);
}

static struct cel_item literal(const struct cel_node *n)
{
    if (n->value.kind == CEL_BOOL)
        return item_bool(n->value.yes);
    if (n->value.kind == CEL_INT)
        return item_int(n->value.number);
    if (n->value.kind == CEL_STRING)
        return item_text(n->value.text);
    return (struct cel_item){0};
}

static struct err *eval_compound(struct cel_run *r, const struct cel_node *n, struct cel_item *ret)
{
    struct cel_item *args = NULL;
    bool yes = false;

    if (n->op == CEL_OP_IF) {
        TRY(rule_yes(r, n->args[0], &yes));
        return rule_eval(r, n->args[yes ? 1 : 2], ret);
    }
    if (n->op == CEL_OP_BIND) {
        TRY(rule_eval(r, n->args[0], &r->frame[n->slot]));
        return rule_eval(r, n->args[1], ret);
    }
    TRY(eval_args(r, n, &args));
    *ret = (struct cel_item){.kind = n->op == CEL_OP_MAP ? ITEM_MAP : ITEM_LIST,
                             .list = {args, n->n_args}};
    return NULL;
}

struct err *rule_eval(struct cel_run *r, const struct cel_node *n, struct cel_item *ret)
{
    bool yes = false;

    TRY(rule_spend(r, n, 1));
    *ret = (struct cel_item){0};
    switch (n->op) {
    case CEL_OP_LITERAL:
        *ret = literal(n);
        return NULL;
    case CEL_OP_REAL:
        *ret = (struct cel_item){.kind = ITEM_DOUBLE, .real = n->real};
        return NULL;
    case CEL_OP_TYPE:
        *ret = (struct cel_item){.kind = ITEM_TYPE, .text = n->name};
        return NULL;
    case CEL_OP_VARIABLE:
        *ret = r->frame[n->slot];
        return NULL;
    case CEL_OP_FIELD:
        return eval_field(r, n, ret);
    case CEL_OP_INDEX:
        return eval_index(r, n, ret);
    case CEL_OP_HAS:
        return eval_has(r, n, ret);
    case CEL_OP_FUNCTION:
        return eval_function(r, n, ret);
    case CEL_OP_MACRO:
        return rule_macro(r, n, ret);
    case CEL_OP_IF:
    case CEL_OP_BIND:
    case CEL_OP_MAP:
    case CEL_OP_LIST:
        return eval_compound(r, n, ret);
    case CEL_OP_NOT:
        TRY(rule_yes(r, n->args[0], &yes));
        *ret = item_bool(!yes);
        return NULL;
    case CEL_OP_MINUS:
        return eval_minus(r, n, ret);
    case CEL_OP_OR:
    case CEL_OP_AND:
        return eval_logic(r, n, ret);
    case CEL_OP_EQ:
    case CEL_OP_NE:
    case CEL_OP_LT:
    case CEL_OP_LE:
    case CEL_OP_GT:
    case CEL_OP_GE:
        return eval_compare(r, n, ret);
    case CEL_OP_IN:
        return eval_in(r, n, ret);
    case CEL_OP_ADD:
    case CEL_OP_SUB:
    case CEL_OP_MUL:
    case CEL_OP_DIV:
    case CEL_OP_MOD:
        return eval_number(r, n, ret);
    case CEL_OP_DEVICE:
    case CEL_OP_CALL:
        break; /* of selectors */
    }
    return rule_fault(n, "the operator is not known");
}
