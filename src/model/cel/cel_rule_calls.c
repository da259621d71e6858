/* cel_rule_calls.c - functions of rules: conversions, sizes, quantities, optional values, sets */

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "model/cel/cel_rule_private.h"
#include "model/quantity.h"

enum {
    STEP_BYTES = 10
};

#define CALL(fn)                                                                                 \
    static struct err *fn(struct cel_run *r, const struct cel_node *n, const struct cel_item *a, \
                          struct cel_item *ret)

static struct err *want(const struct cel_node *n, const struct cel_item *v, enum item_kind kind)
{
    return v->kind == kind ? NULL : rule_no_overload(n, v);
}

/* ---- sizes and types ---- */

static size_t count_chars(struct str text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.size; i++)
        n += ((unsigned char)text.at[i] & 0xc0) != 0x80;
    return n;
}

CALL(call_size)
{
    if (a->kind == ITEM_LIST || a->kind == ITEM_MAP) {
        *ret = item_int((int64_t)item_count(a));
        return NULL;
    }
    if (a->kind != ITEM_STRING && a->kind != ITEM_BYTES)
        return rule_no_overload(n, a);
    *ret = item_int((int64_t)(a->kind == ITEM_BYTES ? a->text.size / 4 * 3 : count_chars(a->text)));
    return rule_spend(r, n, a->text.size / STEP_BYTES);
}

CALL(call_type)
{
    (void)r;
    (void)n;
    *ret = (struct cel_item){.kind = ITEM_TYPE, .text = str_of(item_kind_name(a->kind))};
    return NULL;
}

CALL(call_dyn)
{
    (void)r;
    (void)n;
    *ret = *a;
    return NULL;
}

/* ---- conversions ---- */

/* Reads a number as JSON does. False: it is none. */
static bool read_real(struct str text, double *ret)
{
    AUTO_FREE char *copy = mem_strndup(text.at, text.size);
    AUTO(json_freep) json_t *value = json_loads(copy, JSON_DECODE_ANY, NULL);

    *ret = json_number_value(value);
    return json_is_number(value);
}

CALL(call_int)
{
    AUTO(err_freep) struct err *e = NULL;

    (void)r;
    *ret = item_int(a->number);
    if (a->kind == ITEM_STRING) {
        e = num_parse_int64(a->text, INT64_MIN, INT64_MAX, &ret->number);
        return e ? rule_fault(n, "type conversion error from 'string' to 'int'") : NULL;
    }
    if (a->kind == ITEM_TIMESTAMP)
        ret->number = a->number / NS_PER_SEC;
    else if (a->kind == ITEM_DOUBLE && a->real > -9.2e18 && a->real < 9.2e18)
        ret->number = (int64_t)a->real;
    else if (a->kind == ITEM_DOUBLE)
        return rule_fault(n, "integer overflow");
    else if (a->kind != ITEM_INT)
        return rule_no_overload(n, a);
    return NULL;
}

CALL(call_double)
{
    (void)r;
    *ret = (struct cel_item){.kind = ITEM_DOUBLE};
    if (a->kind == ITEM_DOUBLE)
        ret->real = a->real;
    else if (a->kind == ITEM_INT)
        ret->real = (double)a->number;
    else if (a->kind != ITEM_STRING)
        return rule_no_overload(n, a);
    else if (!read_real(a->text, &ret->real))
        return rule_fault(n, "type conversion error from 'string' to 'double'");
    return NULL;
}

CALL(call_bool)
{
    (void)r;
    if (a->kind == ITEM_BOOL)
        *ret = *a;
    else if (a->kind == ITEM_STRING &&
             (str_equal(a->text, STR("true")) || str_equal(a->text, STR("false"))))
        *ret = item_bool(a->text.size == 4);
    else
        return rule_no_overload(n, a);
    return NULL;
}

static struct str format_duration(struct cel_run *r, int64_t ns)
{
    int64_t whole = ns / NS_PER_SEC;
    int64_t rest = ns % NS_PER_SEC;
    char *text;
    size_t size;

    if (rest == 0)
        return str_of(arena_format(r->arena, "%" PRId64 "s", whole));
    text = arena_format(r->arena, "%s%" PRId64 ".%09" PRId64, ns < 0 && whole == 0 ? "-" : "",
                        whole, rest < 0 ? -rest : rest);
    size = strlen(text);
    while (text[size - 1] == '0')
        size--;
    text[size] = '\0';
    return str_of(arena_format(r->arena, "%ss", text));
}

struct err *item_format(struct cel_run *r, const struct cel_node *n, const struct cel_item *v,
                        struct str *ret)
{
    AUTO(buf_done) struct buf b = {0};
    char stamp[STAMP_TEXT_SIZE];
    char quantity[QUANTITY_TEXT_SIZE];

    switch (v->kind) {
    case ITEM_STRING:
    case ITEM_BYTES:
    case ITEM_VERSION:
    case ITEM_URL:
    case ITEM_IP:
    case ITEM_CIDR:
    case ITEM_TYPE:
        *ret = v->text;
        return rule_spend(r, n, v->text.size / STEP_BYTES);
    case ITEM_INT:
        *ret = str_of(arena_format(r->arena, "%" PRId64, v->number));
        return NULL;
    case ITEM_BOOL:
        *ret = v->yes ? STR("true") : STR("false");
        return NULL;
    case ITEM_DOUBLE:
        json_add_real(&b, v->real);
        if (b.size > 2 && text_ends_with(b.at, ".0"))
            b.size -= 2;
        *ret = str_of(arena_strndup(r->arena, b.at, b.size));
        return NULL;
    case ITEM_DURATION:
        *ret = format_duration(r, v->number);
        return NULL;
    case ITEM_TIMESTAMP:
        stamp_format(v->number, stamp);
        *ret = str_of(arena_strdup(r->arena, stamp));
        return NULL;
    case ITEM_QUANTITY:
        quantity_format((struct quantity){.milli = v->number}, quantity);
        *ret = str_of(arena_strdup(r->arena, quantity));
        return NULL;
    case ITEM_NULL:
    case ITEM_LIST:
    case ITEM_MAP:
    case ITEM_OPTIONAL:
        break;
    }
    return rule_no_overload(n, v);
}

CALL(call_string)
{
    struct str text = {0};

    TRY(item_format(r, n, a, &text));
    *ret = item_text(text);
    return NULL;
}

bool duration_read(struct str text, int64_t *ret_ns)
{
    static const struct {
        const char *unit;
        int64_t ns;
    } units[] = {{"ns", 1},
                 {"us", 1000},
                 {"µs", 1000},
                 {"ms", NS_PER_MS},
                 {"s", NS_PER_SEC},
                 {"m", 60 * NS_PER_SEC},
                 {"h", 3600 * NS_PER_SEC}};
    bool is_negative = text.size > 0 && text.at[0] == '-';
    size_t i = is_negative || (text.size > 0 && text.at[0] == '+');
    double sum = 0;

    if (str_equal((struct str){text.at + i, text.size - i}, STR("0"))) {
        *ret_ns = 0;
        return true;
    }
    if (i == text.size)
        return false;
    while (i < text.size) {
        size_t begin = i;
        size_t unit;
        double number = 0;
        bool is_known = false;

        while (i < text.size && (isdigit((unsigned char)text.at[i]) || text.at[i] == '.'))
            i++;
        unit = i;
        while (i < text.size && !isdigit((unsigned char)text.at[i]) && text.at[i] != '.')
            i++;
        if (unit == begin || unit - begin > 18 ||
            !read_real((struct str){text.at + begin, unit - begin}, &number))
            return false;
        for (size_t j = 0; j < COUNT(units); j++) {
            if (!str_equal((struct str){text.at + unit, i - unit}, str_of(units[j].unit)))
                continue;
            sum += number * (double)units[j].ns;
            is_known = true;
        }
        if (!is_known || sum > 9.2e18)
            return false;
    }
    *ret_ns = is_negative ? -(int64_t)sum : (int64_t)sum;
    return true;
}

CALL(call_duration)
{
    (void)r;
    *ret = (struct cel_item){.kind = ITEM_DURATION, .number = a->number};
    if (a->kind == ITEM_DURATION)
        return NULL;
    TRY(want(n, a, ITEM_STRING));
    if (!duration_read(a->text, &ret->number))
        return rule_fault(n, "invalid duration");
    return NULL;
}

CALL(call_timestamp)
{
    AUTO(err_freep) struct err *e = NULL;

    (void)r;
    *ret = (struct cel_item){.kind = ITEM_TIMESTAMP, .number = a->number};
    if (a->kind == ITEM_TIMESTAMP)
        return NULL;
    if (a->kind == ITEM_INT) {
        if (__builtin_mul_overflow(a->number, NS_PER_SEC, &ret->number))
            return rule_fault(n, "integer overflow");
        return NULL;
    }
    TRY(want(n, a, ITEM_STRING));
    e = stamp_parse(a->text, &ret->number);
    return e ? rule_fault(n, "invalid timestamp") : NULL;
}

/* ---- quantities ---- */

static bool read_quantity(const struct cel_item *v, int64_t *ret)
{
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = quantity_parse(v->text, &q);

    *ret = q.milli;
    return !e;
}

CALL(call_quantity)
{
    (void)r;
    TRY(want(n, a, ITEM_STRING));
    *ret = (struct cel_item){.kind = ITEM_QUANTITY};
    if (!read_quantity(a, &ret->number))
        return rule_fault(n, "quantities must match the regular expression "
                             "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
    return NULL;
}

CALL(call_is_quantity)
{
    int64_t milli = 0;

    (void)r;
    TRY(want(n, a, ITEM_STRING));
    *ret = item_bool(read_quantity(a, &milli));
    return NULL;
}

CALL(call_is_integer)
{
    (void)r;
    TRY(want(n, a, ITEM_QUANTITY));
    *ret = item_bool(a->number % 1000 == 0);
    return NULL;
}

CALL(call_as_integer)
{
    (void)r;
    TRY(want(n, a, ITEM_QUANTITY));
    *ret = item_int(a->number / 1000);
    return a->number % 1000 == 0 ? NULL : rule_fault(n, "cannot convert value to integer");
}

CALL(call_as_float)
{
    (void)r;
    TRY(want(n, a, ITEM_QUANTITY));
    *ret = (struct cel_item){.kind = ITEM_DOUBLE, .real = (double)a->number / 1000};
    return NULL;
}

CALL(call_sign)
{
    (void)r;
    TRY(want(n, a, ITEM_QUANTITY));
    *ret = item_int((a->number > 0) - (a->number < 0));
    return NULL;
}

/* The order of two quantities or versions. */
static struct err *compare_two(const struct cel_node *n, const struct cel_item *a, int *ret)
{
    struct cel_version x = {0};
    struct cel_version y = {0};
    int64_t parts[3];

    if (a[0].kind != a[1].kind || (a[0].kind != ITEM_QUANTITY && a[0].kind != ITEM_VERSION))
        return rule_no_overload(n, &a[1]);
    if (a[0].kind == ITEM_QUANTITY) {
        *ret = (a[0].number > a[1].number) - (a[0].number < a[1].number);
        return NULL;
    }
    (void)cel_version_read(a[0].text, &x); /* were read before */
    (void)cel_version_read(a[1].text, &y);
    parts[0] = x.major - y.major;
    parts[1] = x.minor - y.minor;
    parts[2] = x.patch - y.patch;
    *ret = 0;
    for (size_t i = 0; i < 3 && *ret == 0; i++)
        *ret = (parts[i] > 0) - (parts[i] < 0);
    if (*ret == 0 && (x.pre.size > 0) != (y.pre.size > 0))
        *ret = x.pre.size > 0 ? -1 : 1;
    return NULL;
}

CALL(call_compare_to)
{
    int order = 0;

    (void)r;
    TRY(compare_two(n, a, &order));
    *ret = item_int(order);
    return NULL;
}

CALL(call_is_greater)
{
    int order = 0;

    (void)r;
    TRY(compare_two(n, a, &order));
    *ret = item_bool(order > 0);
    return NULL;
}

CALL(call_is_less)
{
    int order = 0;

    (void)r;
    TRY(compare_two(n, a, &order));
    *ret = item_bool(order < 0);
    return NULL;
}

static struct err *add_quantity(const struct cel_node *n, const struct cel_item *a, bool is_sub,
                                struct cel_item *ret)
{
    int64_t other = a[1].number;
    bool is_past = false;

    TRY(want(n, &a[0], ITEM_QUANTITY));
    if (a[1].kind == ITEM_INT)
        is_past = __builtin_mul_overflow(a[1].number, INT64_C(1000), &other);
    else
        TRY(want(n, &a[1], ITEM_QUANTITY));
    *ret = (struct cel_item){.kind = ITEM_QUANTITY};
    is_past |= is_sub ? __builtin_sub_overflow(a[0].number, other, &ret->number)
                      : __builtin_add_overflow(a[0].number, other, &ret->number);
    return is_past ? rule_fault(n, "integer overflow") : NULL;
}

CALL(call_add)
{
    (void)r;
    return add_quantity(n, a, false, ret);
}

CALL(call_sub)
{
    (void)r;
    return add_quantity(n, a, true, ret);
}

/* ---- versions ---- */

CALL(call_semver)
{
    struct cel_version v = {0};

    (void)r;
    TRY(want(n, a, ITEM_STRING));
    *ret = (struct cel_item){.kind = ITEM_VERSION, .text = a->text};
    return cel_version_read(a->text, &v) ? NULL : rule_fault(n, "invalid semantic version");
}

CALL(call_is_semver)
{
    struct cel_version v = {0};

    (void)r;
    TRY(want(n, a, ITEM_STRING));
    *ret = item_bool(cel_version_read(a->text, &v));
    return NULL;
}

/* ---- optional values ---- */

CALL(call_optional_of)
{
    (void)n;
    *ret = item_some(r, *a);
    return NULL;
}

CALL(call_optional_none)
{
    (void)r;
    (void)n;
    (void)a;
    *ret = item_none();
    return NULL;
}

static bool is_zero(const struct cel_item *v)
{
    switch (v->kind) {
    case ITEM_NULL:
        return true;
    case ITEM_BOOL:
        return !v->yes;
    case ITEM_STRING:
    case ITEM_BYTES:
        return v->text.size == 0;
    case ITEM_LIST:
    case ITEM_MAP:
        return item_count(v) == 0;
    case ITEM_INT:
    case ITEM_DURATION:
        return v->number == 0;
    case ITEM_DOUBLE:
        return v->real <= 0 && v->real >= 0;
    case ITEM_TIMESTAMP:
    case ITEM_QUANTITY:
    case ITEM_VERSION:
    case ITEM_URL:
    case ITEM_IP:
    case ITEM_CIDR:
    case ITEM_TYPE:
    case ITEM_OPTIONAL:
        break;
    }
    return false;
}

CALL(call_optional_non_zero)
{
    (void)n;
    *ret = is_zero(a) ? item_none() : item_some(r, *a);
    return NULL;
}

CALL(call_has_value)
{
    (void)r;
    TRY(want(n, a, ITEM_OPTIONAL));
    *ret = item_bool(a->list.n > 0);
    return NULL;
}

CALL(call_value)
{
    (void)r;
    TRY(want(n, a, ITEM_OPTIONAL));
    if (a->list.n == 0)
        return rule_fault(n, "optional.none() dereference");
    *ret = a->list.at[0];
    return NULL;
}

CALL(call_or_value)
{
    (void)r;
    TRY(want(n, a, ITEM_OPTIONAL));
    *ret = a->list.n > 0 ? a->list.at[0] : a[1];
    return NULL;
}

CALL(call_or)
{
    (void)r;
    TRY(want(n, a, ITEM_OPTIONAL));
    *ret = a->list.n > 0 ? a[0] : a[1];
    return NULL;
}

/* ---- sets ---- */

static struct err *has_item(struct cel_run *r, const struct cel_node *n,
                            const struct cel_item *list, const struct cel_item *item, bool *ret)
{
    *ret = false;
    for (size_t i = 0; !*ret && i < item_count(list); i++) {
        struct cel_item one = item_at(r, list, i);

        TRY(items_equal(r, n, &one, item, ret));
    }
    return NULL;
}

/* Counts the items of `b` that are in `a`. */
static struct err *count_common(struct cel_run *r, const struct cel_node *n,
                                const struct cel_item *a, const struct cel_item *b, size_t *ret)
{
    TRY(want(n, a, ITEM_LIST));
    TRY(want(n, b, ITEM_LIST));
    *ret = 0;
    for (size_t i = 0; i < item_count(b); i++) {
        struct cel_item one = item_at(r, b, i);
        bool is_in = false;

        TRY(has_item(r, n, a, &one, &is_in));
        *ret += is_in;
    }
    return NULL;
}

CALL(call_sets_contains)
{
    size_t n_common = 0;

    TRY(count_common(r, n, &a[0], &a[1], &n_common));
    *ret = item_bool(n_common == item_count(&a[1]));
    return NULL;
}

CALL(call_sets_equivalent)
{
    size_t there = 0;
    size_t back = 0;

    TRY(count_common(r, n, &a[0], &a[1], &there));
    TRY(count_common(r, n, &a[1], &a[0], &back));
    *ret = item_bool(there == item_count(&a[1]) && back == item_count(&a[0]));
    return NULL;
}

CALL(call_sets_intersects)
{
    size_t n_common = 0;

    TRY(count_common(r, n, &a[0], &a[1], &n_common));
    *ret = item_bool(n_common > 0);
    return NULL;
}

/* ---- the table ---- */

static const struct cel_function functions[] = {
    {"size", false, 1, 1, call_size},
    {"size", true, 1, 1, call_size},
    {"type", false, 1, 1, call_type},
    {"dyn", false, 1, 1, call_dyn},
    {"int", false, 1, 1, call_int},
    {"uint", false, 1, 1, call_int},
    {"double", false, 1, 1, call_double},
    {"bool", false, 1, 1, call_bool},
    {"string", false, 1, 1, call_string},
    {"duration", false, 1, 1, call_duration},
    {"timestamp", false, 1, 1, call_timestamp},
    {"quantity", false, 1, 1, call_quantity},
    {"isQuantity", false, 1, 1, call_is_quantity},
    {"isInteger", true, 1, 1, call_is_integer},
    {"asInteger", true, 1, 1, call_as_integer},
    {"asApproximateFloat", true, 1, 1, call_as_float},
    {"sign", true, 1, 1, call_sign},
    {"compareTo", true, 2, 2, call_compare_to},
    {"isGreaterThan", true, 2, 2, call_is_greater},
    {"isLessThan", true, 2, 2, call_is_less},
    {"add", true, 2, 2, call_add},
    {"sub", true, 2, 2, call_sub},
    {"semver", false, 1, 1, call_semver},
    {"isSemver", false, 1, 1, call_is_semver},
    {"optional.of", false, 1, 1, call_optional_of},
    {"optional.none", false, 0, 0, call_optional_none},
    {"optional.ofNonZeroValue", false, 1, 1, call_optional_non_zero},
    {"hasValue", true, 1, 1, call_has_value},
    {"value", true, 1, 1, call_value},
    {"orValue", true, 2, 2, call_or_value},
    {"or", true, 2, 2, call_or},
    {"sets.contains", false, 2, 2, call_sets_contains},
    {"sets.equivalent", false, 2, 2, call_sets_equivalent},
    {"sets.intersects", false, 2, 2, call_sets_intersects},
};

static const struct cel_function *find_in(const struct cel_function *table, size_t n_table,
                                          struct str name, bool is_method, size_t n_args,
                                          bool *ret_known)
{
    for (size_t i = 0; i < n_table; i++) {
        const struct cel_function *f = &table[i];

        if (f->is_method != is_method || !str_equal(name, str_of(f->name)))
            continue;
        *ret_known = true;
        if (n_args >= f->least && n_args <= f->most)
            return f;
    }
    return NULL;
}

const struct cel_function *cel_function_find(struct str name, bool is_method, size_t n_args,
                                             bool *ret_known)
{
    size_t n = 0;
    const struct cel_function *more = cel_more_functions(&n);
    const struct cel_function *f =
        find_in(functions, COUNT(functions), name, is_method, n_args, ret_known);

    return f ? f : find_in(more, n, name, is_method, n_args, ret_known);
}
