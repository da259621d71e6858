/* cel_eval.c - the value of an expression for a device */

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/num.h"
#include "model/cel/cel_private.h"
#include "model/pattern.h"
#include "model/quantity.h"

enum {
    STEP_BYTES = 16 /* bytes that are looked at in a step */
};

struct cel_eval {
    const struct cel_device *device;
    struct arena *arena;
    int64_t steps; /* left */
};

static struct err *eval(struct cel_eval *c, const struct cel_node *n, struct cel_value *ret);

static const char *kind_text(enum cel_kind kind)
{
    static const char *const texts[] = {
        [CEL_NULL] = "null",       [CEL_BOOL] = "a boolean",    [CEL_INT] = "a number",
        [CEL_STRING] = "a string", [CEL_VERSION] = "a version", [CEL_QUANTITY] = "a quantity",
        [CEL_LIST] = "a list",     [CEL_DEVICE] = "a device",   [CEL_DOMAINS] = "a map",
        [CEL_DOMAIN] = "a map",
    };

    return texts[kind];
}

static struct err *eval_fault(const struct cel_node *n, const char *what)
{
    return err_new(ERR_INVALID, "column %zu: %s", n->at + 1, what);
}

static struct err *kind_fault(const struct cel_node *n, const struct cel_value *v,
                              enum cel_kind want)
{
    return err_new(ERR_INVALID, "column %zu: want %s, not %s", n->at + 1, kind_text(want),
                   kind_text(v->kind));
}

static struct cel_value of_bool(bool yes)
{
    return (struct cel_value){.kind = CEL_BOOL, .yes = yes};
}

static struct cel_value of_number(int64_t number)
{
    return (struct cel_value){.kind = CEL_INT, .number = number};
}

static struct cel_value of_text(struct str text)
{
    return (struct cel_value){.kind = CEL_STRING, .text = text};
}

static struct err *spend(struct cel_eval *c, const struct cel_node *n, size_t steps)
{
    if (c->steps < 0 || steps > (size_t)c->steps) {
        c->steps = -1;
        return err_new(ERR_INVALID, "column %zu: the evaluation takes more than %d steps",
                       n->at + 1, CEL_STEPS_MAX);
    }
    c->steps -= (int64_t)steps;
    return NULL;
}

/* ---- versions ---- */

/* Reads a number without leading zeros up to `end` or the end of the text. */
static bool read_part(struct str *rest, char end, int64_t *ret)
{
    struct str part = str_cut(rest, end);
    AUTO(err_freep) struct err *e = NULL;

    if (part.size == 0 || part.size > 18 || (part.size > 1 && part.at[0] == '0'))
        return false;
    for (size_t i = 0; i < part.size; i++)
        if (!isdigit((unsigned char)part.at[i]))
            return false;
    e = num_parse_int64(part, 0, INT64_MAX, ret);
    return !e;
}

/* Identifiers of letters, digits and "-", between dots. */
static bool is_tail(struct str tail)
{
    bool was_dot = true;

    for (size_t i = 0; i < tail.size; i++) {
        bool is_dot = tail.at[i] == '.';

        if (!is_dot && !isalnum((unsigned char)tail.at[i]) && tail.at[i] != '-')
            return false;
        if (is_dot && was_dot)
            return false;
        was_dot = is_dot;
    }
    return !was_dot;
}

bool cel_version_read(struct str text, struct cel_version *ret)
{
    struct cel_version v = {0};
    struct str build = text;
    struct str pre = str_cut(&build, '+');
    struct str rest = str_cut(&pre, '-');

    if ((build.at && !is_tail(build)) || (pre.at && !is_tail(pre)))
        return false;
    if (!read_part(&rest, '.', &v.major) || !rest.at || !read_part(&rest, '.', &v.minor) ||
        !rest.at || !read_part(&rest, '.', &v.patch) || rest.at)
        return false;
    v.pre = pre;
    *ret = v;
    return true;
}

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_texts(struct str a, struct str b)
{
    size_t least = a.size < b.size ? a.size : b.size;
    int order = least > 0 ? memcmp(a.at, b.at, least) : 0;

    return order != 0 ? order : compare_numbers((int64_t)a.size, (int64_t)b.size);
}

static int compare_identifiers(struct str a, struct str b)
{
    bool a_digits = true;
    bool b_digits = true;

    for (size_t i = 0; i < a.size; i++)
        a_digits = a_digits && isdigit((unsigned char)a.at[i]);
    for (size_t i = 0; i < b.size; i++)
        b_digits = b_digits && isdigit((unsigned char)b.at[i]);
    if (a_digits != b_digits)
        return a_digits ? -1 : 1;
    if (a_digits && a.size != b.size)
        return a.size < b.size ? -1 : 1;
    return compare_texts(a, b);
}

/* A version with such a tail comes before the release. */
static int compare_tails(struct str a, struct str b)
{
    if (a.size == 0 || b.size == 0)
        return (a.size == 0) - (b.size == 0);
    while (a.at && b.at) {
        struct str one = str_cut(&a, '.');
        struct str other = str_cut(&b, '.');
        int order = compare_identifiers(one, other);

        if (order != 0)
            return order;
    }
    return (a.at != NULL) - (b.at != NULL);
}

static int compare_versions(const struct cel_version *a, const struct cel_version *b)
{
    int order = compare_numbers(a->major, b->major);

    order = order != 0 ? order : compare_numbers(a->minor, b->minor);
    order = order != 0 ? order : compare_numbers(a->patch, b->patch);
    return order != 0 ? order : compare_tails(a->pre, b->pre);
}

/* ---- comparisons ---- */

/* The order of two values of one kind. False: the kind has no order. */
static bool value_compare(const struct cel_value *a, const struct cel_value *b, int *ret)
{
    if (a->kind == CEL_BOOL)
        *ret = (int)a->yes - (int)b->yes;
    else if (a->kind == CEL_INT || a->kind == CEL_QUANTITY)
        *ret = compare_numbers(a->number, b->number);
    else if (a->kind == CEL_STRING)
        *ret = compare_texts(a->text, b->text);
    else if (a->kind == CEL_VERSION)
        *ret = compare_versions(&a->version, &b->version);
    else
        return false;
    return true;
}

static struct err *values_equal(struct cel_eval *c, const struct cel_node *n,
                                const struct cel_value *a, const struct cel_value *b, bool *ret)
{
    int order = 1;

    TRY(spend(c, n, a->kind == CEL_STRING ? 1 + a->text.size / STEP_BYTES : 1));
    *ret = false;
    if (a->kind != b->kind)
        return a->kind == CEL_NULL || b->kind == CEL_NULL ? NULL : kind_fault(n, b, a->kind);
    if (a->kind == CEL_NULL || a->kind == CEL_LIST) {
        *ret = a->kind == CEL_NULL || a->list.n == b->list.n;
        for (size_t i = 0; a->kind == CEL_LIST && *ret && i < a->list.n; i++)
            TRY(values_equal(c, n, &a->list.at[i], &b->list.at[i], ret));
        return NULL;
    }
    if (!value_compare(a, b, &order))
        return eval_fault(n, "maps cannot be compared");
    *ret = order == 0;
    return NULL;
}

static struct err *eval_order(struct cel_eval *c, const struct cel_node *n, struct cel_value *ret)
{
    struct cel_value a = {0};
    struct cel_value b = {0};
    int order = 0;

    TRY(eval(c, n->args[0], &a));
    TRY(eval(c, n->args[1], &b));
    TRY(spend(c, n, a.kind == CEL_STRING ? 1 + a.text.size / STEP_BYTES : 1));
    if (a.kind != b.kind)
        return kind_fault(n, &b, a.kind);
    if (a.kind == CEL_QUANTITY || a.kind == CEL_VERSION || !value_compare(&a, &b, &order))
        return err_new(ERR_INVALID,
                       "column %zu: operators do not order %s: use compareTo, isGreaterThan or "
                       "isLessThan",
                       n->at + 1, kind_text(a.kind));
    *ret = of_bool(n->op == CEL_OP_LT   ? order < 0
                   : n->op == CEL_OP_LE ? order <= 0
                   : n->op == CEL_OP_GT ? order > 0
                                        : order >= 0);
    return NULL;
}

/* ---- the device ---- */

static const struct cel_attribute *find_attribute(const struct cel_eval *c,
                                                  const struct cel_value *domain, struct str name)
{
    for (size_t i = 0; i < c->device->n_attributes; i++) {
        const struct cel_attribute *a = &c->device->attributes[i];

        if (a->is_capacity == domain->is_capacity && str_equal(a->domain, domain->text) &&
            str_equal(a->name, name))
            return a;
    }
    return NULL;
}

static bool has_domain(const struct cel_eval *c, const struct cel_value *domains, struct str domain)
{
    for (size_t i = 0; i < c->device->n_attributes; i++)
        if (c->device->attributes[i].is_capacity == domains->is_capacity &&
            str_equal(c->device->attributes[i].domain, domain))
            return true;
    return false;
}

static struct err *no_such(const struct cel_node *n, const struct cel_value *of, struct str name)
{
    const char *what = of->is_capacity ? "capacity" : "attribute";

    if (str_equal(of->text, STR(CEL_JOB)))
        return err_new(ERR_INVALID, "column %zu: a job has no \"" STR_FMT "\"", n->at + 1,
                       STR_ARG(name));
    return err_new(ERR_INVALID, "column %zu: the device has no %s \"" STR_FMT "\"", n->at + 1, what,
                   STR_ARG(name));
}

/* A member of a map; `ret` NULL asks only whether it is there. */
static struct err *member_of(struct cel_eval *c, const struct cel_node *n,
                             const struct cel_value *of, struct str name, struct cel_value *ret)
{
    const struct cel_attribute *a;

    TRY(spend(c, n, 1 + c->device->n_attributes / 4));
    if (of->kind == CEL_DOMAINS) { /* a domain that nothing has is an empty map, as in Kubernetes */
        *ret = (struct cel_value){.kind = CEL_DOMAIN, .is_capacity = of->is_capacity, .text = name};
        return NULL;
    }
    a = find_attribute(c, of, name);
    if (!a)
        return no_such(n, of, name);
    *ret = a->value;
    return NULL;
}

static struct err *field_of_device(struct cel_eval *c, const struct cel_node *n,
                                   struct cel_value *ret)
{
    bool is_capacity = str_equal(n->name, STR("capacity"));

    if (str_equal(n->name, STR("driver"))) {
        *ret = of_text(c->device->driver);
        return NULL;
    }
    if (!is_capacity && !str_equal(n->name, STR("attributes")))
        return err_new(ERR_INVALID,
                       "column %zu: the member \"" STR_FMT
                       "\" is not known: devices have driver, attributes and capacity",
                       n->at + 1, STR_ARG(n->name));
    *ret = (struct cel_value){.kind = CEL_DOMAINS, .is_capacity = is_capacity};
    return NULL;
}

static struct err *eval_field(struct cel_eval *c, const struct cel_node *n, struct cel_value *ret)
{
    struct cel_value of = {0};

    TRY(eval(c, n->args[0], &of));
    if (of.kind == CEL_DEVICE)
        return field_of_device(c, n, ret);
    if (of.kind != CEL_DOMAINS && of.kind != CEL_DOMAIN)
        return kind_fault(n, &of, CEL_DOMAIN);
    return member_of(c, n, &of, n->name, ret);
}

static struct err *eval_has(struct cel_eval *c, const struct cel_node *n, struct cel_value *ret)
{
    struct cel_value of = {0};

    TRY(eval(c, n->args[0], &of));
    if (of.kind == CEL_DEVICE) {
        TRY(field_of_device(c, n, ret));
        *ret = of_bool(true);
        return NULL;
    }
    if (of.kind != CEL_DOMAINS && of.kind != CEL_DOMAIN)
        return kind_fault(n, &of, CEL_DOMAIN);
    *ret = of_bool(of.kind == CEL_DOMAINS ? has_domain(c, &of, n->name)
                                          : find_attribute(c, &of, n->name) != NULL);
    return NULL;
}

static struct err *eval_index(struct cel_eval *c, const struct cel_node *n, struct cel_value *ret)
{
    struct cel_value of = {0};
    struct cel_value at = {0};

    TRY(eval(c, n->args[0], &of));
    TRY(eval(c, n->args[1], &at));
    if (of.kind == CEL_LIST && at.kind == CEL_INT) {
        if (at.number < 0 || (uint64_t)at.number >= of.list.n)
            return eval_fault(n, "the index is past the list");
        *ret = of.list.at[at.number];
        return NULL;
    }
    if (of.kind != CEL_DOMAINS && of.kind != CEL_DOMAIN)
        return kind_fault(n, &of, CEL_DOMAIN);
    if (at.kind != CEL_STRING)
        return kind_fault(n->args[1], &at, CEL_STRING);
    return member_of(c, n, &of, at.text, ret);
}

static struct err *eval_in(struct cel_eval *c, const struct cel_node *n, struct cel_value *ret)
{
    struct cel_value what = {0};
    struct cel_value of = {0};
    bool is_in = false;

    TRY(eval(c, n->args[0], &what));
    TRY(eval(c, n->args[1], &of));
    if (of.kind == CEL_LIST) {
        for (size_t i = 0; !is_in && i < of.list.n; i++)
            if (of.list.at[i].kind == what.kind)
                TRY(values_equal(c, n, &what, &of.list.at[i], &is_in));
    } else if (of.kind != CEL_DOMAINS && of.kind != CEL_DOMAIN) {
        return kind_fault(n->args[1], &of, CEL_LIST);
    } else if (what.kind != CEL_STRING) {
        return kind_fault(n->args[0], &what, CEL_STRING);
    } else {
        is_in = of.kind == CEL_DOMAINS ? has_domain(c, &of, what.text)
                                       : find_attribute(c, &of, what.text) != NULL;
    }
    *ret = of_bool(is_in);
    return NULL;
}

/* ---- arithmetic and logic ---- */

static struct err *add_texts(struct cel_eval *c, const struct cel_node *n, struct str a,
                             struct str b, struct cel_value *ret)
{
    char *text;

    TRY(spend(c, n, 1 + a.size + b.size));
    text = arena_alloc(c->arena, a.size + b.size + 1);
    if (a.size > 0)
        memcpy(text, a.at, a.size);
    if (b.size > 0)
        memcpy(text + a.size, b.at, b.size);
    *ret = of_text((struct str){text, a.size + b.size});
    return NULL;
}

static struct err *eval_number(struct cel_eval *c, const struct cel_node *n, struct cel_value *ret)
{
    struct cel_value a = {0};
    struct cel_value b = {0};
    int64_t r = 0;
    bool is_past = false;

    TRY(eval(c, n->args[0], &a));
    TRY(eval(c, n->args[1], &b));
    if (n->op == CEL_OP_ADD && a.kind == CEL_STRING && b.kind == CEL_STRING)
        return add_texts(c, n, a.text, b.text, ret);
    if (a.kind != CEL_INT || b.kind != CEL_INT)
        return kind_fault(n, a.kind != CEL_INT ? &a : &b, CEL_INT);
    if (n->op == CEL_OP_ADD)
        is_past = __builtin_add_overflow(a.number, b.number, &r);
    else if (n->op == CEL_OP_SUB)
        is_past = __builtin_sub_overflow(a.number, b.number, &r);
    else if (n->op == CEL_OP_MUL)
        is_past = __builtin_mul_overflow(a.number, b.number, &r);
    else if (b.number == 0)
        return eval_fault(n, "division by zero");
    else if (b.number == -1)
        is_past = n->op == CEL_OP_DIV && __builtin_sub_overflow(INT64_C(0), a.number, &r);
    else
        r = n->op == CEL_OP_DIV ? a.number / b.number : a.number % b.number;
    if (is_past)
        return eval_fault(n, "the number is out of range");
    *ret = of_number(r);
    return NULL;
}

static struct err *eval_bool(struct cel_eval *c, const struct cel_node *n, bool *ret)
{
    struct cel_value v = {0};

    TRY(eval(c, n, &v));
    if (v.kind != CEL_BOOL)
        return kind_fault(n, &v, CEL_BOOL);
    *ret = v.yes;
    return NULL;
}

/* && and ||: a side that decides hides an error of the other side. */
static struct err *eval_logic(struct cel_eval *c, const struct cel_node *n, struct cel_value *ret)
{
    bool deciding = n->op == CEL_OP_OR;
    bool yes = false;
    struct err *left = eval_bool(c, n->args[0], &yes);
    struct err *right;

    if (!left && yes == deciding) {
        *ret = of_bool(yes);
        return NULL;
    }
    if (left && c->steps < 0)
        return left;
    right = eval_bool(c, n->args[1], &yes);
    if (!right && (!left || yes == deciding)) {
        err_free(left);
        *ret = of_bool(yes);
        return NULL;
    }
    if (!left)
        return right;
    err_free(right);
    return left;
}

static struct err *eval_minus(struct cel_eval *c, const struct cel_node *n, struct cel_value *ret)
{
    TRY(eval(c, n->args[0], ret));
    if (ret->kind != CEL_INT)
        return kind_fault(n, ret, CEL_INT);
    if (__builtin_sub_overflow(INT64_C(0), ret->number, &ret->number))
        return eval_fault(n, "the number is out of range");
    return NULL;
}

/* ---- functions ---- */

static struct err *call_quantity(const struct cel_node *n, const struct cel_value *v,
                                 struct cel_value *ret)
{
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = quantity_parse(v->text, &q);
    bool is_good = !e;

    if (n->call == CEL_CALL_IS_QUANTITY) {
        *ret = of_bool(is_good);
        return NULL;
    }
    if (e)
        return err_new(ERR_INVALID, "column %zu: %s", n->at + 1, err_message(e));
    *ret = (struct cel_value){.kind = CEL_QUANTITY, .number = q.milli};
    return NULL;
}

static struct err *call_version(const struct cel_node *n, const struct cel_value *v,
                                struct cel_value *ret)
{
    struct cel_value version = {.kind = CEL_VERSION};
    bool is_good = cel_version_read(v->text, &version.version);

    *ret = n->call == CEL_CALL_IS_SEMVER ? of_bool(is_good) : version;
    if (!is_good && n->call != CEL_CALL_IS_SEMVER)
        return err_new(ERR_INVALID, "column %zu: \"" STR_FMT "\" is no version such as 1.2.3",
                       n->at + 1, STR_ARG(v->text));
    return NULL;
}

static struct err *call_int(const struct cel_node *n, const struct cel_value *v,
                            struct cel_value *ret)
{
    int64_t number = v->number;
    AUTO(err_freep) struct err *e = NULL;

    if (v->kind == CEL_STRING)
        e = num_parse_int64(v->text, INT64_MIN, INT64_MAX, &number);
    else if (v->kind != CEL_INT)
        return kind_fault(n, v, CEL_STRING);
    if (e)
        return err_new(ERR_INVALID, "column %zu: %s", n->at + 1, err_message(e));
    *ret = of_number(number);
    return NULL;
}

static struct err *call_string(struct cel_eval *c, const struct cel_node *n,
                               const struct cel_value *v, struct cel_value *ret)
{
    if (v->kind == CEL_STRING)
        *ret = *v;
    else if (v->kind == CEL_INT)
        *ret = of_text(str_of(arena_format(c->arena, "%" PRId64, v->number)));
    else if (v->kind == CEL_BOOL)
        *ret = of_text(v->yes ? STR("true") : STR("false"));
    else
        return kind_fault(n, v, CEL_STRING);
    return NULL;
}

static struct err *call_size(const struct cel_node *n, const struct cel_value *v,
                             struct cel_value *ret)
{
    int64_t size = 0;

    if (v->kind == CEL_LIST)
        size = (int64_t)v->list.n;
    else if (v->kind != CEL_STRING)
        return kind_fault(n, v, CEL_STRING);
    for (size_t i = 0; v->kind == CEL_STRING && i < v->text.size; i++)
        size += (v->text.at[i] & 0xc0) != 0x80; /* characters, not bytes */
    *ret = of_number(size);
    return NULL;
}

static bool contains(struct str text, struct str part)
{
    return part.size == 0 ||
           (text.size > 0 && memmem(text.at, text.size, part.at, part.size) != NULL);
}

static struct err *call_case(struct cel_eval *c, const struct cel_node *n, struct str text,
                             struct cel_value *ret)
{
    char *out;

    TRY(spend(c, n, 1 + text.size));
    out = arena_alloc(c->arena, text.size + 1);
    for (size_t i = 0; i < text.size; i++)
        out[i] = (char)(n->call == CEL_CALL_LOWER ? tolower((unsigned char)text.at[i])
                                                  : toupper((unsigned char)text.at[i]));
    *ret = of_text((struct str){out, text.size});
    return NULL;
}

static struct err *call_matches(struct cel_eval *c, const struct cel_node *n, struct str text,
                                struct str pattern, bool *ret)
{
    AUTO(pattern_freep) struct pattern *p = NULL;
    int64_t steps = 0;
    struct err *e;

    TRY(spend(c, n, 1 + pattern.size / STEP_BYTES));
    e = pattern_parse(pattern, &p);
    if (!e) {
        steps = c->steps * STEP_BYTES;
        e = pattern_matches(p, text, &steps, ret);
        c->steps = steps / STEP_BYTES;
    }
    return e ? err_wrap(e, "column %zu", n->at + 1) : NULL;
}

/* Methods of strings; `other` is {0} where there is none. */
static struct err *call_of_string(struct cel_eval *c, const struct cel_node *n, struct str text,
                                  struct str other, struct cel_value *ret)
{
    bool yes = false;

    TRY(spend(c, n, 1 + text.size / STEP_BYTES));
    if (n->call == CEL_CALL_LOWER || n->call == CEL_CALL_UPPER)
        return call_case(c, n, text, ret);
    if (n->call == CEL_CALL_STARTS_WITH)
        yes = str_starts_with(text, other);
    else if (n->call == CEL_CALL_ENDS_WITH)
        yes = str_ends_with(text, other);
    else if (n->call == CEL_CALL_CONTAINS)
        yes = contains(text, other);
    else
        TRY(call_matches(c, n, text, other, &yes));
    *ret = of_bool(yes);
    return NULL;
}

/* compareTo, isGreaterThan and isLessThan. */
static struct err *call_compare(const struct cel_node *n, const struct cel_value *a,
                                const struct cel_value *b, struct cel_value *ret)
{
    int order = 0;

    if (a->kind != CEL_QUANTITY && a->kind != CEL_VERSION)
        return kind_fault(n, a, CEL_QUANTITY);
    if (a->kind != b->kind)
        return kind_fault(n, b, a->kind);
    (void)value_compare(a, b, &order); /* both kinds have an order */
    order = (order > 0) - (order < 0);
    if (n->call == CEL_CALL_COMPARE)
        *ret = of_number(order);
    else
        *ret = of_bool(n->call == CEL_CALL_IS_GREATER ? order > 0 : order < 0);
    return NULL;
}

static struct err *call_of_quantity(const struct cel_node *n, const struct cel_value *a,
                                    const struct cel_value *b, struct cel_value *ret)
{
    bool is_past = false;

    if (a->kind != CEL_QUANTITY)
        return kind_fault(n, a, CEL_QUANTITY);
    *ret = *a;
    if (n->call == CEL_CALL_SIGN) {
        *ret = of_number(compare_numbers(a->number, 0));
    } else if (n->call == CEL_CALL_IS_INTEGER) {
        *ret = of_bool(a->number % 1000 == 0);
    } else if (n->call == CEL_CALL_AS_INTEGER) {
        if (a->number % 1000 != 0)
            return eval_fault(n, "the quantity is no whole number");
        *ret = of_number(a->number / 1000);
    } else {
        int64_t other = b->kind == CEL_INT ? 0 : b->number;

        if (b->kind != CEL_QUANTITY && b->kind != CEL_INT)
            return kind_fault(n, b, CEL_QUANTITY);
        if (b->kind == CEL_INT)
            is_past = __builtin_mul_overflow(b->number, INT64_C(1000), &other);
        is_past = is_past || (n->call == CEL_CALL_ADD
                                  ? __builtin_add_overflow(a->number, other, &ret->number)
                                  : __builtin_sub_overflow(a->number, other, &ret->number));
    }
    return is_past ? eval_fault(n, "the quantity is out of range") : NULL;
}

static struct err *call_of_version(const struct cel_node *n, const struct cel_value *v,
                                   struct cel_value *ret)
{
    if (v->kind != CEL_VERSION)
        return kind_fault(n, v, CEL_VERSION);
    *ret = of_number(n->call == CEL_CALL_MAJOR   ? v->version.major
                     : n->call == CEL_CALL_MINOR ? v->version.minor
                                                 : v->version.patch);
    return NULL;
}

static struct err *want_strings(const struct cel_node *n, const struct cel_value *args)
{
    for (size_t i = 0; i < n->n_args; i++)
        if (args[i].kind != CEL_STRING)
            return kind_fault(n->args[i], &args[i], CEL_STRING);
    return NULL;
}

static struct err *eval_call(struct cel_eval *c, const struct cel_node *n, struct cel_value *ret)
{
    struct cel_value args[2] = {0};

    for (size_t i = 0; i < n->n_args; i++)
        TRY(eval(c, n->args[i], &args[i]));
    switch (n->call) {
    case CEL_CALL_SIZE:
        return call_size(n, &args[0], ret);
    case CEL_CALL_QUANTITY:
    case CEL_CALL_IS_QUANTITY:
        TRY(want_strings(n, args));
        return call_quantity(n, &args[0], ret);
    case CEL_CALL_SEMVER:
    case CEL_CALL_IS_SEMVER:
        TRY(want_strings(n, args));
        return call_version(n, &args[0], ret);
    case CEL_CALL_INT:
        return call_int(n, &args[0], ret);
    case CEL_CALL_STRING:
        return call_string(c, n, &args[0], ret);
    case CEL_CALL_STARTS_WITH:
    case CEL_CALL_ENDS_WITH:
    case CEL_CALL_CONTAINS:
    case CEL_CALL_MATCHES:
    case CEL_CALL_LOWER:
    case CEL_CALL_UPPER:
        TRY(want_strings(n, args));
        return call_of_string(c, n, args[0].text, args[1].text, ret);
    case CEL_CALL_COMPARE:
    case CEL_CALL_IS_GREATER:
    case CEL_CALL_IS_LESS:
        return call_compare(n, &args[0], &args[1], ret);
    case CEL_CALL_ADD:
    case CEL_CALL_SUB:
    case CEL_CALL_SIGN:
    case CEL_CALL_AS_INTEGER:
    case CEL_CALL_IS_INTEGER:
        return call_of_quantity(n, &args[0], &args[1], ret);
    case CEL_CALL_MAJOR:
    case CEL_CALL_MINOR:
    case CEL_CALL_PATCH:
        return call_of_version(n, &args[0], ret);
    }
    return eval_fault(n, "the function is not known");
}

static struct err *eval_list(struct cel_eval *c, const struct cel_node *n, struct cel_value *ret)
{
    struct cel_value *list = arena_alloc(c->arena, (n->n_args + 1) * sizeof(*list));

    for (size_t i = 0; i < n->n_args; i++)
        TRY(eval(c, n->args[i], &list[i]));
    *ret = (struct cel_value){.kind = CEL_LIST, .list = {list, n->n_args}};
    return NULL;
}

static struct err *eval_equal(struct cel_eval *c, const struct cel_node *n, struct cel_value *ret)
{
    struct cel_value a = {0};
    struct cel_value b = {0};
    bool is_equal = false;

    TRY(eval(c, n->args[0], &a));
    TRY(eval(c, n->args[1], &b));
    TRY(values_equal(c, n, &a, &b, &is_equal));
    *ret = of_bool(is_equal == (n->op == CEL_OP_EQ));
    return NULL;
}

static struct err *eval(struct cel_eval *c, const struct cel_node *n, struct cel_value *ret)
{
    bool yes = false;

    TRY(spend(c, n, 1));
    switch (n->op) {
    case CEL_OP_LITERAL:
        *ret = n->value;
        return NULL;
    case CEL_OP_DEVICE:
        *ret = (struct cel_value){.kind = CEL_DEVICE};
        return NULL;
    case CEL_OP_FIELD:
        return eval_field(c, n, ret);
    case CEL_OP_INDEX:
        return eval_index(c, n, ret);
    case CEL_OP_CALL:
        return eval_call(c, n, ret);
    case CEL_OP_HAS:
        return eval_has(c, n, ret);
    case CEL_OP_LIST:
        return eval_list(c, n, ret);
    case CEL_OP_NOT:
        TRY(eval_bool(c, n->args[0], &yes));
        *ret = of_bool(!yes);
        return NULL;
    case CEL_OP_MINUS:
        return eval_minus(c, n, ret);
    case CEL_OP_IF:
        TRY(eval_bool(c, n->args[0], &yes));
        return eval(c, n->args[yes ? 1 : 2], ret);
    case CEL_OP_OR:
    case CEL_OP_AND:
        return eval_logic(c, n, ret);
    case CEL_OP_EQ:
    case CEL_OP_NE:
        return eval_equal(c, n, ret);
    case CEL_OP_LT:
    case CEL_OP_LE:
    case CEL_OP_GT:
    case CEL_OP_GE:
        return eval_order(c, n, ret);
    case CEL_OP_IN:
        return eval_in(c, n, ret);
    case CEL_OP_ADD:
    case CEL_OP_SUB:
    case CEL_OP_MUL:
    case CEL_OP_DIV:
    case CEL_OP_MOD:
        return eval_number(c, n, ret);
    case CEL_OP_VARIABLE:
    case CEL_OP_TYPE:
    case CEL_OP_REAL:
    case CEL_OP_FUNCTION:
    case CEL_OP_MACRO:
    case CEL_OP_BIND:
    case CEL_OP_MAP:
        break; /* of rules */
    }
    return eval_fault(n, "the operator is not known");
}

struct err *cel_matches(const struct cel *c, const struct cel_device *d, bool *ret)
{
    AUTO(arena_freep) struct arena *arena = arena_new();
    struct cel_eval e = {.device = d, .arena = arena, .steps = CEL_STEPS_MAX};
    bool yes = false;

    TRY(eval_bool(&e, c->root, &yes));
    *ret = yes;
    return NULL;
}
