/* cel_parse.c - the text of an expression to its tree */

#include <ctype.h>

#include "base/mem.h"
#include "base/num.h"
#include "model/cel/cel_private.h"
#include "model/cel/cel_rule_private.h"

enum {
    DEPTH_MAX = 64,
    OPERATORS_MAX = 512, /* a chain of them is as deep a tree */
    ARGS_MAX = 64
};

struct cel_parser {
    struct arena *arena;
    struct str text;
    size_t at;
    unsigned depth;
    unsigned n_operators;
    bool is_job;             /* has `job` in place of `device` */
    struct cel_scope *scope; /* of a rule; NULL: a selector */
};

static const struct {
    const char *name;
    bool is_method;
    size_t n_args; /* with the target */
    enum cel_call call;
} calls[] = {
    {"size", false, 1, CEL_CALL_SIZE},
    {"size", true, 1, CEL_CALL_SIZE},
    {"quantity", false, 1, CEL_CALL_QUANTITY},
    {"isQuantity", false, 1, CEL_CALL_IS_QUANTITY},
    {"semver", false, 1, CEL_CALL_SEMVER},
    {"isSemver", false, 1, CEL_CALL_IS_SEMVER},
    {"int", false, 1, CEL_CALL_INT},
    {"string", false, 1, CEL_CALL_STRING},
    {"startsWith", true, 2, CEL_CALL_STARTS_WITH},
    {"endsWith", true, 2, CEL_CALL_ENDS_WITH},
    {"contains", true, 2, CEL_CALL_CONTAINS},
    {"matches", true, 2, CEL_CALL_MATCHES},
    {"matches", false, 2, CEL_CALL_MATCHES},
    {"lowerAscii", true, 1, CEL_CALL_LOWER},
    {"upperAscii", true, 1, CEL_CALL_UPPER},
    {"compareTo", true, 2, CEL_CALL_COMPARE},
    {"isGreaterThan", true, 2, CEL_CALL_IS_GREATER},
    {"isLessThan", true, 2, CEL_CALL_IS_LESS},
    {"add", true, 2, CEL_CALL_ADD},
    {"sub", true, 2, CEL_CALL_SUB},
    {"sign", true, 1, CEL_CALL_SIGN},
    {"asInteger", true, 1, CEL_CALL_AS_INTEGER},
    {"isInteger", true, 1, CEL_CALL_IS_INTEGER},
    {"major", true, 1, CEL_CALL_MAJOR},
    {"minor", true, 1, CEL_CALL_MINOR},
    {"patch", true, 1, CEL_CALL_PATCH},
};

static struct err *parse_expression(struct cel_parser *p, struct cel_node **ret);

static struct err *parse_fault(size_t at, const char *what)
{
    return err_new(ERR_INVALID, "column %zu: %s", at + 1, what);
}

static struct err *name_fault(size_t at, const char *what, struct str name)
{
    return err_new(ERR_INVALID, "column %zu: %s \"" STR_FMT "\" is not known here", at + 1, what,
                   STR_ARG(name));
}

/* ---- tokens ---- */

static char peek(const struct cel_parser *p, size_t ahead)
{
    return p->at + ahead < p->text.size ? p->text.at[p->at + ahead] : '\0';
}

static void skip_space(struct cel_parser *p)
{
    for (;;) {
        while (peek(p, 0) != '\0' && isspace((unsigned char)peek(p, 0)))
            p->at++;
        if (peek(p, 0) != '/' || peek(p, 1) != '/')
            return;
        while (p->at < p->text.size && p->text.at[p->at] != '\n')
            p->at++;
    }
}

/* Takes the operator if it is next. */
static bool take(struct cel_parser *p, const char *op)
{
    size_t size = strlen(op);

    skip_space(p);
    if (p->text.size - p->at < size || memcmp(p->text.at + p->at, op, size) != 0)
        return false;
    p->at += size;
    return true;
}

static bool is_name_start(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

/* The next name; empty: something else is next. */
static struct str take_name(struct cel_parser *p)
{
    struct str name;

    skip_space(p);
    name = (struct str){p->text.at + p->at, 0};
    if (!is_name_start(peek(p, 0)))
        return name;
    while (is_name_start(peek(p, 0)) || isdigit((unsigned char)peek(p, 0))) {
        p->at++;
        name.size++;
    }
    return name;
}

static struct err *expect(struct cel_parser *p, const char *op)
{
    if (take(p, op))
        return NULL;
    return err_new(ERR_INVALID, "column %zu: want \"%s\"", p->at + 1, op);
}

static struct cel_node *node_new(struct cel_parser *p, enum cel_op op, size_t at)
{
    struct cel_node *n = arena_alloc(p->arena, sizeof(*n));

    n->op = op;
    n->at = at;
    return n;
}

static struct cel_node *node_with(struct cel_parser *p, enum cel_op op, size_t at,
                                  struct cel_node *first, struct cel_node *second)
{
    struct cel_node *n = node_new(p, op, at);

    n->args = arena_alloc(p->arena, 3 * sizeof(struct cel_node *));
    n->args[n->n_args++] = first;
    if (second)
        n->args[n->n_args++] = second;
    return n;
}

/* ---- literals ---- */

/* The character of an escape; '\0': not known. */
static char unescape(char c)
{
    static const char names[] = "nrtabfv\\'\"`?";
    static const char values[] = "\n\r\t\a\b\f\v\\'\"`?";
    const char *found = c != '\0' ? strchr(names, c) : NULL;

    return found ? values[found - names] : '\0';
}

/* Bytes up to the end of the string or text. */
static size_t string_size(const struct cel_parser *p, char quote)
{
    size_t n = 0;

    while (p->at + n < p->text.size && p->text.at[p->at + n] != quote)
        n += p->text.at[p->at + n] == '\\' ? 2 : 1;
    return n;
}

static struct err *parse_string(struct cel_parser *p, bool is_raw, struct cel_node **ret)
{
    size_t begin = p->at;
    char quote = p->text.at[p->at++];
    char *out = arena_alloc(p->arena, string_size(p, quote) + 2);
    size_t n = 0;

    while (p->at < p->text.size && p->text.at[p->at] != quote) {
        char c = p->text.at[p->at++];

        if (c == '\n')
            return parse_fault(begin, "the string does not end on its line");
        if (c == '\\' && !is_raw) {
            c = unescape(peek(p, 0));
            if (c == '\0')
                return parse_fault(p->at - 1, "want one of the escapes \\n \\t \\r \\\\ \\' \\\"");
            p->at++;
        }
        out[n++] = c;
    }
    if (p->at == p->text.size)
        return parse_fault(begin, "the string does not end");
    p->at++;
    *ret = node_new(p, CEL_OP_LITERAL, begin);
    (*ret)->value = (struct cel_value){.kind = CEL_STRING, .text = {out, n}};
    return NULL;
}

/* Numbers of rules: 0x1f, 1u, 1.5, 1e9. False: a plain number. */
static bool take_rule_number(struct cel_parser *p, struct cel_node **ret, struct err **ret_err)
{
    size_t n = 0;
    bool is_hex = peek(p, 0) == '0' && (peek(p, 1) == 'x' || peek(p, 1) == 'X');
    bool is_real = false;
    AUTO_FREE char *copy = NULL;
    json_t *value = NULL;

    while (isalnum((unsigned char)peek(p, n)) ||
           (peek(p, n) == '.' && isdigit((unsigned char)peek(p, n + 1))) ||
           (n > 0 && strchr("+-", peek(p, n)) && peek(p, n) && !is_hex &&
            strchr("eE", peek(p, n - 1)))) {
        is_real |= !is_hex && strchr(".eE", peek(p, n)) != NULL;
        n++;
    }
    *ret = node_new(p, is_real ? CEL_OP_REAL : CEL_OP_LITERAL, p->at);
    if (is_hex) {
        uint64_t number = 0;

        for (size_t i = 2; i < n && i < 18; i++) {
            char c = (char)tolower((unsigned char)peek(p, i));

            number = number * 16 + (uint64_t)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
        }
        (*ret)->value = (struct cel_value){.kind = CEL_INT, .number = (int64_t)number};
        p->at += n;
        return true;
    }
    if (!is_real && !(n > 1 && strchr("uU", peek(p, n - 1))))
        return false;
    copy = mem_strndup(p->text.at + p->at, is_real ? n : n - 1);
    value = json_loads(copy, JSON_DECODE_ANY, NULL);
    if (!json_is_number(value))
        *ret_err = parse_fault(p->at, "want a number");
    (*ret)->real = json_number_value(value);
    (*ret)->value = (struct cel_value){.kind = CEL_INT, .number = json_integer_value(value)};
    json_decref(value);
    p->at += n;
    return true;
}

static struct err *parse_number(struct cel_parser *p, struct cel_node **ret)
{
    size_t begin = p->at;
    struct str digits = {p->text.at + begin, 0};
    int64_t number = 0;
    AUTO(err_freep) struct err *e = NULL;

    if (p->scope && take_rule_number(p, ret, &e))
        return TAKE(e);
    while (isdigit((unsigned char)peek(p, 0))) {
        p->at++;
        digits.size++;
    }
    if (peek(p, 0) == '.' || isalpha((unsigned char)peek(p, 0)))
        return parse_fault(begin, "want a whole decimal number");
    e = num_parse_int64(digits, 0, INT64_MAX, &number);
    if (e)
        return parse_fault(begin, "the number is too large");
    *ret = node_new(p, CEL_OP_LITERAL, begin);
    (*ret)->value = (struct cel_value){.kind = CEL_INT, .number = number};
    return NULL;
}

/* ---- names, calls, lists ---- */

/* Arguments up to `end`, behind `first` (NULL: none). */
static struct err *parse_args(struct cel_parser *p, const char *end, struct cel_node *first,
                              struct cel_node *into)
{
    into->args = arena_alloc(p->arena, (ARGS_MAX + 1) * sizeof(struct cel_node *));
    if (first)
        into->args[into->n_args++] = first;
    if (take(p, end))
        return NULL;
    do {
        if (into->n_args == ARGS_MAX)
            return parse_fault(p->at, "more than 64 elements");
        TRY(parse_expression(p, &into->args[into->n_args++]));
    } while (take(p, ","));
    return expect(p, end);
}

static struct err *parse_has(struct cel_parser *p, size_t at, struct cel_node **ret)
{
    TRY(parse_expression(p, ret));
    TRY(expect(p, ")"));
    if ((*ret)->op != CEL_OP_FIELD)
        return parse_fault(at, "has() wants a member: has(x.y)");
    (*ret)->op = CEL_OP_HAS;
    return NULL;
}

/* ---- rules ---- */

static const struct {
    const char *name;
    enum cel_macro macro;
    size_t least; /* arguments behind the variable */
    size_t most;
} macros[] = {
    {"all", CEL_MACRO_ALL, 1, 1},
    {"exists", CEL_MACRO_EXISTS, 1, 1},
    {"exists_one", CEL_MACRO_EXISTS_ONE, 1, 1},
    {"existsOne", CEL_MACRO_EXISTS_ONE, 1, 1},
    {"map", CEL_MACRO_MAP, 1, 2},
    {"filter", CEL_MACRO_FILTER, 1, 1},
    {"optMap", CEL_MACRO_OPT_MAP, 1, 1},
    {"optFlatMap", CEL_MACRO_OPT_FLAT_MAP, 1, 1},
};

static struct err *declare(struct cel_parser *p, struct str name, size_t *ret_slot)
{
    struct cel_scope *s = p->scope;

    if (s->n == CEL_SCOPE_MAX)
        return parse_fault(p->at, "more than 64 variables");
    *ret_slot = s->n;
    s->names[s->n++] = name;
    s->most = s->n > s->most ? s->n : s->most;
    return NULL;
}

static struct err *expect_name(struct cel_parser *p, struct str *ret)
{
    *ret = take_name(p);
    if (ret->size == 0)
        return parse_fault(p->at, "want the name of a variable");
    return NULL;
}

/* Behind "target.all(". */
static struct err *parse_macro(struct cel_parser *p, size_t i, struct cel_node *target, size_t at,
                               struct cel_node **ret)
{
    struct cel_node *n = node_new(p, CEL_OP_MACRO, at);
    size_t before = p->scope->n;
    struct str first = {0};
    struct str second = {0};
    size_t begin;

    n->macro = macros[i].macro;
    n->args = arena_alloc(p->arena, 4 * sizeof(struct cel_node *));
    n->args[n->n_args++] = target;
    TRY(expect_name(p, &first));
    TRY(declare(p, first, &n->slot));
    TRY(expect(p, ","));
    begin = p->at;
    second = take_name(p);
    /* all(i, v, ...): two variables, behind which comes a comma */
    if (second.size > 0 && take(p, ",") && macros[i].macro <= CEL_MACRO_EXISTS_ONE) {
        TRY(declare(p, second, &n->slot_second));
    } else {
        p->at = begin;
    }
    do {
        if (n->n_args > macros[i].most)
            return err_new(ERR_INVALID, "column %zu: wrong number of arguments of %s", at + 1,
                           macros[i].name);
        TRY(parse_expression(p, &n->args[n->n_args++]));
    } while (take(p, ","));
    p->scope->n = before;
    *ret = n;
    return expect(p, ")");
}

/* Behind "cel.bind(". */
static struct err *parse_bind(struct cel_parser *p, size_t at, struct cel_node **ret)
{
    struct cel_node *value = NULL;
    struct cel_node *body = NULL;
    size_t before = p->scope->n;
    struct str name = {0};
    size_t slot = 0;

    TRY(expect_name(p, &name));
    TRY(expect(p, ","));
    TRY(parse_expression(p, &value));
    TRY(expect(p, ","));
    TRY(declare(p, name, &slot));
    TRY(parse_expression(p, &body));
    p->scope->n = before;
    *ret = node_with(p, CEL_OP_BIND, at, value, body);
    (*ret)->slot = slot;
    return expect(p, ")");
}

static struct err *parse_rule_call(struct cel_parser *p, struct str name, struct cel_node *target,
                                   size_t at, struct cel_node **ret)
{
    struct cel_node *n = node_new(p, CEL_OP_FUNCTION, at);
    bool is_known = false;

    for (size_t i = 0; target && i < COUNT(macros); i++)
        if (str_equal(name, str_of(macros[i].name)))
            return parse_macro(p, i, target, at, ret);
    if (!target && str_equal(name, STR("cel.bind")))
        return parse_bind(p, at, ret);
    TRY(parse_args(p, ")", target, n));
    n->name = name;
    n->function = cel_function_find(name, target != NULL, n->n_args, &is_known);
    *ret = n;
    if (n->function)
        return NULL;
    if (!is_known)
        return name_fault(at, target ? "the method" : "the function", name);
    return err_new(ERR_INVALID, "column %zu: wrong number of arguments of " STR_FMT, at + 1,
                   STR_ARG(name));
}

/* A namespace of functions: "math.greatest(" becomes the function "math.greatest". False: another
 * name. */
static bool take_namespace(struct cel_parser *p, struct str *name)
{
    static const char *const names[] = {"optional", "math",  "sets",   "strings", "cel",
                                        "ip",       "lists", "base64", "format"};
    const char *begin = name->at;

    for (size_t i = 0; i < COUNT(names); i++) {
        if (!str_equal(*name, str_of(names[i])) || peek(p, 0) != '.')
            continue;
        p->at++;
        (void)take_name(p);
        *name = (struct str){begin, (size_t)(p->text.at + p->at - begin)};
        return true;
    }
    return false;
}

static bool is_type_name(struct str name)
{
    static const char *const names[] = {"int",   "uint", "double", "bool",      "string",
                                        "bytes", "list", "map",    "null_type", "type"};

    for (size_t i = 0; i < COUNT(names); i++)
        if (str_equal(name, str_of(names[i])))
            return true;
    return false;
}

/* A name of a rule that is no literal. */
static struct err *parse_rule_name(struct cel_parser *p, struct str name, struct cel_node *n)
{
    struct cel_scope *s = p->scope;

    n->name = name;
    for (size_t i = s->n; i > 0; i--) {
        if (!str_equal(s->names[i - 1], name))
            continue;
        n->op = CEL_OP_VARIABLE;
        n->slot = i - 1;
        if (n->slot < s->n_uses)
            s->ret_uses[n->slot] = true;
        return NULL;
    }
    if (!is_type_name(name))
        return err_new(ERR_INVALID, "column %zu: undeclared reference to '" STR_FMT "'", n->at + 1,
                       STR_ARG(name));
    n->op = CEL_OP_TYPE;
    return NULL;
}

/* Behind "{": a map. */
static struct err *parse_map(struct cel_parser *p, size_t at, struct cel_node **ret)
{
    struct cel_node *n = node_new(p, CEL_OP_MAP, at);

    n->args = arena_alloc(p->arena, 2 * ARGS_MAX * sizeof(struct cel_node *));
    *ret = n;
    if (take(p, "}"))
        return NULL;
    do {
        if (n->n_args == 2 * ARGS_MAX)
            return parse_fault(p->at, "more than 64 elements");
        TRY(parse_expression(p, &n->args[n->n_args++]));
        TRY(expect(p, ":"));
        TRY(parse_expression(p, &n->args[n->n_args++]));
    } while (take(p, ","));
    return expect(p, "}");
}

/* Behind "name(". `target`: of a method. */
static struct err *parse_call(struct cel_parser *p, struct str name, struct cel_node *target,
                              size_t at, struct cel_node **ret)
{
    struct cel_node *n = node_new(p, CEL_OP_CALL, at);
    bool is_known = false;

    if (!target && str_equal(name, STR("has")))
        return parse_has(p, at, ret);
    if (p->scope)
        return parse_rule_call(p, name, target, at, ret);
    for (size_t i = 0; i < COUNT(calls); i++)
        is_known = is_known || (calls[i].is_method == (target != NULL) &&
                                str_equal(name, str_of(calls[i].name)));
    if (!is_known)
        return name_fault(at, target ? "the method" : "the function", name);
    TRY(parse_args(p, ")", target, n));
    for (size_t i = 0; i < COUNT(calls); i++) {
        if (calls[i].is_method != (target != NULL) || calls[i].n_args != n->n_args ||
            !str_equal(name, str_of(calls[i].name)))
            continue;
        n->call = calls[i].call;
        *ret = n;
        return NULL;
    }
    return err_new(ERR_INVALID, "column %zu: wrong number of arguments of " STR_FMT, at + 1,
                   STR_ARG(name));
}

static struct err *parse_name(struct cel_parser *p, struct cel_node **ret)
{
    size_t at = p->at;
    struct str name = take_name(p);
    struct cel_node *n = node_new(p, CEL_OP_LITERAL, at);

    *ret = n;
    if (str_equal(name, STR("r")) && (peek(p, 0) == '"' || peek(p, 0) == '\''))
        return parse_string(p, true, ret);
    if (p->scope && take_namespace(p, &name) && peek(p, 0) != '(')
        return name_fault(at, "the name", name);
    if (take(p, "("))
        return parse_call(p, name, NULL, at, ret);
    if (str_equal(name, STR("true")) || str_equal(name, STR("false")))
        n->value = (struct cel_value){.kind = CEL_BOOL, .yes = name.size == 4};
    else if (p->scope && !str_equal(name, STR("null")))
        return parse_rule_name(p, name, n);
    else if (!p->is_job && str_equal(name, STR("device")))
        n->op = CEL_OP_DEVICE;
    else if (p->is_job && str_equal(name, STR(CEL_JOB)))
        n->value = (struct cel_value){.kind = CEL_DOMAIN, .text = STR(CEL_JOB)};
    else if (!str_equal(name, STR("null")))
        return name_fault(at, "the name", name);
    return NULL;
}

static struct err *parse_primary(struct cel_parser *p, struct cel_node **ret)
{
    char c;

    skip_space(p);
    c = peek(p, 0);
    if (c == '"' || c == '\'')
        return parse_string(p, false, ret);
    if (isdigit((unsigned char)c))
        return parse_number(p, ret);
    if (is_name_start(c))
        return parse_name(p, ret);
    if (take(p, "(")) {
        TRY(parse_expression(p, ret));
        return expect(p, ")");
    }
    if (take(p, "[")) {
        *ret = node_new(p, CEL_OP_LIST, p->at - 1);
        return parse_args(p, "]", NULL, *ret);
    }
    if (p->scope && take(p, "{"))
        return parse_map(p, p->at - 1, ret);
    return parse_fault(p->at, p->at == p->text.size ? "the expression is incomplete"
                                                    : "want a value, a name or \"(\"");
}

static struct err *parse_member(struct cel_parser *p, struct cel_node **ret)
{
    TRY(parse_primary(p, ret));
    for (;;) {
        size_t at = p->at;

        if (take(p, "[")) {
            struct cel_node *index = NULL;
            bool is_optional = p->scope && take(p, "?");

            TRY(parse_expression(p, &index));
            TRY(expect(p, "]"));
            *ret = node_with(p, CEL_OP_INDEX, at, *ret, index);
            (*ret)->is_optional = is_optional;
        } else if (take(p, ".")) {
            bool is_optional = p->scope && take(p, "?");
            struct str name = take_name(p);

            if (name.size == 0)
                return parse_fault(p->at, "want a name");
            if (!is_optional && take(p, "(")) {
                TRY(parse_call(p, name, *ret, at + 1, ret));
            } else {
                *ret = node_with(p, CEL_OP_FIELD, at + 1, *ret, NULL);
                (*ret)->name = name;
                (*ret)->is_optional = is_optional;
            }
        } else {
            return NULL;
        }
        if (++p->n_operators > OPERATORS_MAX)
            return parse_fault(at, "too many operators");
    }
}

/* ---- operators ---- */

static struct err *parse_unary(struct cel_parser *p, struct cel_node **ret)
{
    size_t at;
    struct err *e;

    skip_space(p);
    at = p->at;
    if (peek(p, 0) != '-' && (peek(p, 0) != '!' || peek(p, 1) == '='))
        return parse_member(p, ret);
    if (++p->depth > DEPTH_MAX)
        return parse_fault(at, "the expression is too deep");
    p->at++;
    e = parse_unary(p, ret);
    p->depth--;
    if (!e)
        *ret = node_with(p, p->text.at[at] == '-' ? CEL_OP_MINUS : CEL_OP_NOT, at, *ret, NULL);
    return e;
}

/* Binary operators from the loosest level to the tightest; on a level, longer ones come first. */
static const struct {
    const char *text;
    unsigned level;
    enum cel_op op;
} operators[] = {
    {"||", 0, CEL_OP_OR}, {"&&", 1, CEL_OP_AND}, {"==", 2, CEL_OP_EQ}, {"!=", 2, CEL_OP_NE},
    {"<=", 2, CEL_OP_LE}, {">=", 2, CEL_OP_GE},  {"<", 2, CEL_OP_LT},  {">", 2, CEL_OP_GT},
    {"in", 2, CEL_OP_IN}, {"+", 3, CEL_OP_ADD},  {"-", 3, CEL_OP_SUB}, {"*", 4, CEL_OP_MUL},
    {"/", 4, CEL_OP_DIV}, {"%", 4, CEL_OP_MOD},
};

enum {
    LEVELS = 5
};

static bool take_operator(struct cel_parser *p, unsigned level, enum cel_op *ret)
{
    for (size_t i = 0; i < COUNT(operators); i++) {
        size_t before = p->at;

        if (operators[i].level != level || !take(p, operators[i].text))
            continue;
        *ret = operators[i].op;
        if (*ret != CEL_OP_IN || !(is_name_start(peek(p, 0)) || isdigit((unsigned char)peek(p, 0))))
            return true;
        p->at = before; /* a name that begins with "in" */
    }
    return false;
}

static struct err *parse_level(struct cel_parser *p, unsigned level, struct cel_node **ret)
{
    enum cel_op op = CEL_OP_OR;

    if (level == LEVELS)
        return parse_unary(p, ret);
    TRY(parse_level(p, level + 1, ret));
    for (;;) {
        struct cel_node *right = NULL;
        size_t at;

        skip_space(p);
        at = p->at;
        if (!take_operator(p, level, &op))
            return NULL;
        if (++p->n_operators > OPERATORS_MAX)
            return parse_fault(at, "too many operators");
        TRY(parse_level(p, level + 1, &right));
        *ret = node_with(p, op, at, *ret, right);
    }
}

static struct err *parse_choice(struct cel_parser *p, struct cel_node **ret)
{
    struct cel_node *yes = NULL;
    struct cel_node *no = NULL;
    size_t at;

    TRY(parse_level(p, 0, ret));
    at = p->at;
    if (!take(p, "?"))
        return NULL;
    TRY(parse_expression(p, &yes));
    TRY(expect(p, ":"));
    TRY(parse_expression(p, &no));
    *ret = node_with(p, CEL_OP_IF, at, *ret, yes);
    (*ret)->args[(*ret)->n_args++] = no;
    return NULL;
}

static struct err *parse_expression(struct cel_parser *p, struct cel_node **ret)
{
    unsigned before = p->depth;
    struct err *e;

    if (++p->depth > DEPTH_MAX)
        return parse_fault(p->at, "the expression is too deep");
    e = parse_choice(p, ret);
    p->depth = before;
    return e;
}

static struct err *parse_all(struct cel_parser *p, struct cel_node **ret)
{
    if (p->text.size > CEL_TEXT_MAX)
        return err_new(ERR_INVALID, "the expression has %zu bytes, at most %d", p->text.size,
                       CEL_TEXT_MAX);
    TRY(parse_expression(p, ret));
    skip_space(p);
    if (p->at < p->text.size)
        return parse_fault(p->at, "want an operator or the end");
    return NULL;
}

static struct err *parse_text(struct str text, bool is_job, struct cel **ret)
{
    struct cel *c = mem_alloc(sizeof(*c));
    struct cel_parser p = {.text = text, .is_job = is_job};
    char *copy;
    struct err *e;

    c->arena = arena_new();
    p.arena = c->arena;
    if (text.size > 0 && text.size <= CEL_TEXT_MAX) {
        copy = arena_alloc(c->arena, text.size);
        memcpy(copy, text.at, text.size); /* a NUL is a byte like others */
        p.text.at = copy;
    }
    e = parse_all(&p, &c->root);
    if (e) {
        cel_free(c);
        return e;
    }
    *ret = c;
    return NULL;
}

struct err *cel_parse(struct str text, struct cel **ret)
{
    return parse_text(text, false, ret);
}

struct err *cel_parse_job(struct str text, struct cel **ret)
{
    return parse_text(text, true, ret);
}

void cel_free(struct cel *c)
{
    if (!c)
        return;
    arena_free(c->arena);
    free(c);
}

struct err *cel_parse_scoped(struct str text, struct arena *arena, struct cel_scope *scope,
                             struct cel_node **ret)
{
    struct cel_parser p = {.arena = arena, .text = text, .scope = scope};

    return parse_all(&p, ret);
}
