/* cel_rule.c - the value of a rule: a walk over its tree */

#include "model/cel/cel_rule.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "model/cel/cel_rule_private.h"

enum {
    STEP_BYTES = 10 /* as Kubernetes counts: a byte costs a tenth */
};

/* Recursive: as deep as the expression, which the parser caps. */
static struct err *rule_eval(struct cel_run *r, const struct cel_node *n, struct cel_item *ret);

struct err *rule_fault(const struct cel_node *n, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vformat(fmt, ap);
    va_end(ap);
    return err_new(ERR_INVALID, "column %zu: %s", n->at + 1, text);
}

const char *item_kind_name(enum item_kind kind)
{
    static const char *const names[] = {
        [ITEM_NULL] = "null_type",
        [ITEM_BOOL] = "bool",
        [ITEM_INT] = "int",
        [ITEM_DOUBLE] = "double",
        [ITEM_STRING] = "string",
        [ITEM_BYTES] = "bytes",
        [ITEM_LIST] = "list",
        [ITEM_MAP] = "map",
        [ITEM_DURATION] = "google.protobuf.Duration",
        [ITEM_TIMESTAMP] = "google.protobuf.Timestamp",
        [ITEM_QUANTITY] = "kubernetes.Quantity",
        [ITEM_VERSION] = "kubernetes.Semver",
        [ITEM_URL] = "kubernetes.URL",
        [ITEM_IP] = "net.IP",
        [ITEM_CIDR] = "net.CIDR",
        [ITEM_TYPE] = "type",
        [ITEM_OPTIONAL] = "optional_type",
    };

    return names[kind];
}

struct err *rule_no_overload(const struct cel_node *n, const struct cel_item *v)
{
    return rule_fault(n, "no such overload for %s", item_kind_name(v->kind));
}

struct err *rule_spend(struct cel_run *r, const struct cel_node *n, size_t steps)
{
    if (*r->steps >= 0 && steps <= (size_t)*r->steps) {
        *r->steps -= (int64_t)steps;
        return NULL;
    }
    *r->steps = -1;
    return rule_fault(n, "operation cancelled: actual cost limit exceeded");
}

/* ---- items ---- */

struct cel_item item_bool(bool yes)
{
    return (struct cel_item){.kind = ITEM_BOOL, .yes = yes};
}

struct cel_item item_int(int64_t number)
{
    return (struct cel_item){.kind = ITEM_INT, .number = number};
}

struct cel_item item_text(struct str text)
{
    return (struct cel_item){.kind = ITEM_STRING, .text = {text.at ? text.at : "", text.size}};
}

struct cel_item item_none(void)
{
    return (struct cel_item){.kind = ITEM_OPTIONAL};
}

struct cel_item item_list(const struct cel_item *at, size_t n)
{
    return (struct cel_item){.kind = ITEM_LIST, .list = {at, n}};
}

struct cel_item item_some(struct cel_run *r, struct cel_item value)
{
    struct cel_item *own = arena_alloc(r->arena, sizeof(*own));

    *own = value;
    return (struct cel_item){.kind = ITEM_OPTIONAL, .list = {own, 1}};
}

static enum cel_form form_of(const struct cel_run *r, const void *shape)
{
    const struct cel_shapes *shapes = r->rule->language->shapes;

    return shapes && shape ? shapes->form(shape) : CEL_FORM_PLAIN;
}

/* A text with a format, where it has that form. */
static struct cel_item item_of_text(const struct cel_run *r, const json_t *json, const void *shape)
{
    struct str text = {json_string_value(json), json_string_length(json)};
    enum cel_form form = form_of(r, shape);
    int64_t ns = 0;

    if (form == CEL_FORM_BYTES)
        return (struct cel_item){.kind = ITEM_BYTES, .text = text};
    if (form == CEL_FORM_DURATION && duration_read(text, &ns))
        return (struct cel_item){.kind = ITEM_DURATION, .number = ns};
    if (form == CEL_FORM_TIMESTAMP) {
        AUTO_FREE char *whole = text.size == 10 ? mem_format("%sT00:00:00Z", text.at) : NULL;
        AUTO(err_freep) struct err *e = stamp_parse(whole ? str_of(whole) : text, &ns);

        if (!e)
            return (struct cel_item){.kind = ITEM_TIMESTAMP, .number = ns};
    }
    return item_text(text);
}

struct cel_item item_of_json(const struct cel_run *r, const json_t *json, const void *shape)
{
    struct cel_item v = {.shape = shape};

    switch (json_typeof(json)) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        v.kind = json_is_object(json) ? ITEM_MAP : ITEM_LIST;
        v.is_json = true;
        v.json = json;
        return v;
    case JSON_STRING:
        return item_of_text(r, json, shape);
    case JSON_INTEGER:
        if (form_of(r, shape) == CEL_FORM_NUMBER)
            return (struct cel_item){.kind = ITEM_DOUBLE, .real = json_number_value(json)};
        return item_int(json_integer_value(json));
    case JSON_REAL:
        return (struct cel_item){.kind = ITEM_DOUBLE, .real = json_real_value(json)};
    case JSON_TRUE:
    case JSON_FALSE:
        return item_bool(json_is_true(json));
    case JSON_NULL:
    default:
        return v;
    }
}

size_t item_count(const struct cel_item *v)
{
    if (v->is_json)
        return v->kind == ITEM_MAP ? json_object_size(v->json) : json_array_size(v->json);
    return v->kind == ITEM_MAP ? v->list.n / 2 : v->list.n;
}

struct cel_item item_at(const struct cel_run *r, const struct cel_item *list, size_t i)
{
    const struct cel_shapes *shapes = r->rule->language->shapes;

    if (!list->is_json)
        return list->list.at[i];
    return item_of_json(r, json_array_get(list->json, i),
                        shapes && list->shape ? shapes->item(list->shape) : NULL);
}

bool item_member(const struct cel_run *r, const struct cel_item *map, struct str name,
                 struct cel_item *ret)
{
    const struct cel_shapes *shapes = r->rule->language->shapes;
    const json_t *value;

    for (size_t i = 0; !map->is_json && i + 1 < map->list.n; i += 2) {
        if (map->list.at[i].kind != ITEM_STRING || !str_equal(map->list.at[i].text, name))
            continue;
        *ret = map->list.at[i + 1];
        return true;
    }
    value = map->is_json ? json_object_getn(map->json, name.at, name.size) : NULL;
    if (!value)
        return false;
    *ret = (struct cel_item){0};
    if (shapes && map->shape) {
        AUTO_FREE char *copy = mem_strndup(name.at, name.size);

        *ret = item_of_json(r, value, shapes->member(map->shape, copy));
        return true;
    }
    *ret = item_of_json(r, value, NULL);
    return true;
}

/* ---- comparisons ---- */

static bool is_number(const struct cel_item *v)
{
    return v->kind == ITEM_INT || v->kind == ITEM_DOUBLE;
}

static int compare_ints(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_numbers(const struct cel_item *a, const struct cel_item *b)
{
    double one = a->kind == ITEM_INT ? (double)a->number : a->real;
    double other = b->kind == ITEM_INT ? (double)b->number : b->real;

    if (a->kind == ITEM_INT && b->kind == ITEM_INT)
        return compare_ints(a->number, b->number);
    return (one > other) - (one < other);
}

static int compare_texts(struct str a, struct str b)
{
    size_t least = a.size < b.size ? a.size : b.size;
    int order = least > 0 ? memcmp(a.at, b.at, least) : 0;

    return order != 0 ? order : compare_ints((int64_t)a.size, (int64_t)b.size);
}

struct err *items_compare(struct cel_run *r, const struct cel_node *n, const struct cel_item *a,
                          const struct cel_item *b, int *ret)
{
    if (is_number(a) && is_number(b)) {
        *ret = compare_numbers(a, b);
        return NULL;
    }
    if (a->kind != b->kind)
        return rule_no_overload(n, b);
    switch (a->kind) {
    case ITEM_BOOL:
        *ret = (int)a->yes - (int)b->yes;
        return NULL;
    case ITEM_STRING:
    case ITEM_BYTES:
        *ret = compare_texts(a->text, b->text);
        return rule_spend(r, n, a->text.size / STEP_BYTES);
    case ITEM_DURATION:
    case ITEM_TIMESTAMP:
        *ret = compare_ints(a->number, b->number);
        return NULL;
    case ITEM_NULL:
    case ITEM_INT:
    case ITEM_DOUBLE:
    case ITEM_LIST:
    case ITEM_MAP:
    case ITEM_QUANTITY:
    case ITEM_VERSION:
    case ITEM_URL:
    case ITEM_IP:
    case ITEM_CIDR:
    case ITEM_TYPE:
    case ITEM_OPTIONAL:
        break;
    }
    return rule_no_overload(n, a);
}

/* Recursive, as the values. */
static struct err *lists_equal(struct cel_run *r, const struct cel_node *n,
                               const struct cel_item *a, const struct cel_item *b, bool *ret)
{
    *ret = item_count(a) == item_count(b);
    for (size_t i = 0; *ret && i < item_count(a); i++) {
        struct cel_item x = item_at(r, a, i);
        struct cel_item y = item_at(r, b, i);

        TRY(items_equal(r, n, &x, &y, ret));
    }
    return NULL;
}

/* The key of a map's member `i`, and the member. */
static void member_at(const struct cel_run *r, const struct cel_item *map, size_t i,
                      struct cel_item *ret_key, struct cel_item *ret_value)
{
    size_t at = 0;
    const char *key;
    json_t *value;

    if (!map->is_json) {
        *ret_key = map->list.at[2 * i];
        *ret_value = map->list.at[2 * i + 1];
        return;
    }
    json_object_foreach ((json_t *)(uintptr_t)map->json, key, value)
        if (at++ == i)
            break;
    *ret_key = item_text(str_of(key));
    (void)item_member(r, map, str_of(key), ret_value); /* just found */
}

static struct err *maps_equal(struct cel_run *r, const struct cel_node *n, const struct cel_item *a,
                              const struct cel_item *b, bool *ret)
{
    *ret = item_count(a) == item_count(b);
    if (a->is_json && b->is_json) {
        *ret = *ret && json_equal(a->json, b->json);
        return rule_spend(r, n, item_count(a));
    }
    for (size_t i = 0; *ret && i < item_count(a); i++) {
        struct cel_item key = {0};
        struct cel_item x = {0};
        struct cel_item y = {0};

        member_at(r, a, i, &key, &x);
        *ret = key.kind == ITEM_STRING && item_member(r, b, key.text, &y);
        if (*ret)
            TRY(items_equal(r, n, &x, &y, ret));
    }
    return NULL;
}

struct err *items_equal(struct cel_run *r, const struct cel_node *n, const struct cel_item *a,
                        const struct cel_item *b, bool *ret)
{
    TRY(rule_spend(r, n, 1));
    *ret = false;
    if (is_number(a) && is_number(b)) {
        *ret = compare_numbers(a, b) == 0;
        return NULL;
    }
    if (a->kind != b->kind)
        return NULL;
    switch (a->kind) {
    case ITEM_NULL:
        *ret = true;
        return NULL;
    case ITEM_BOOL:
        *ret = a->yes == b->yes;
        return NULL;
    case ITEM_LIST:
    case ITEM_OPTIONAL:
        return lists_equal(r, n, a, b, ret);
    case ITEM_MAP:
        return maps_equal(r, n, a, b, ret);
    case ITEM_STRING:
    case ITEM_BYTES:
    case ITEM_VERSION:
    case ITEM_URL:
    case ITEM_IP:
    case ITEM_CIDR:
    case ITEM_TYPE:
        *ret = str_equal(a->text, b->text);
        return rule_spend(r, n, a->text.size / STEP_BYTES);
    case ITEM_INT:
    case ITEM_DOUBLE:
    case ITEM_DURATION:
    case ITEM_TIMESTAMP:
    case ITEM_QUANTITY:
        *ret = a->number == b->number;
        return NULL;
    }
    return NULL;
}

/* ---- members ---- */

/* The name of a property as it is written in a rule: __dot__ for "." and so on. Of the arena. */
static struct str unescape(struct cel_run *r, struct str name)
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
    return item_member(r, map, name, ret) || item_member(r, map, unescape(r, name), ret);
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

static struct err *eval_field(struct cel_run *r, const struct cel_node *n, struct cel_item *ret)
{
    struct cel_item of = {0};
    struct cel_item found = {0};
    bool is_none = false;
    bool is_optional;

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

static struct err *eval_yes(struct cel_run *r, const struct cel_node *n, bool *ret)
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
    struct err *left = eval_yes(r, n->args[0], &yes);
    struct err *right;

    if (!left && yes == deciding) {
        *ret = item_bool(yes);
        return NULL;
    }
    if (left && *r->steps < 0)
        return left;
    right = eval_yes(r, n->args[1], &yes);
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

/* ---- lists, maps, macros ---- */

static struct err *eval_args(struct cel_run *r, const struct cel_node *n, struct cel_item **ret)
{
    struct cel_item *args = arena_alloc(r->arena, (n->n_args + 1) * sizeof(*args));

    for (size_t i = 0; i < n->n_args; i++)
        TRY(rule_eval(r, n->args[i], &args[i]));
    *ret = args;
    return NULL;
}

/* A round of a macro. `*ret_is_over`: later rounds change nothing. */
static struct err *macro_round(struct cel_run *r, const struct cel_node *n, struct cel_item *list,
                               size_t *n_held, struct err **error, bool *ret_is_over)
{
    bool yes = true;
    bool is_map = n->macro == CEL_MACRO_MAP;
    struct err *e = NULL;

    if (!is_map || n->n_args == 3)
        e = eval_yes(r, n->args[1], &yes);
    if (e && (*r->steps < 0 || (n->macro != CEL_MACRO_ALL && n->macro != CEL_MACRO_EXISTS)))
        return e;
    if (e) { /* another item may decide */
        err_free(*error);
        *error = e;
        return NULL;
    }
    if (yes && is_map)
        TRY(rule_eval(r, n->args[n->n_args - 1], &list[*n_held]));
    if (yes && n->macro == CEL_MACRO_FILTER)
        list[*n_held] = r->frame[n->slot];
    *n_held += yes;
    *ret_is_over = (n->macro == CEL_MACRO_ALL && !yes) || (n->macro == CEL_MACRO_EXISTS && yes);
    return NULL;
}

static struct err *macro_result(const struct cel_node *n, const struct cel_item *list,
                                size_t n_held, bool is_over, struct err *error,
                                struct cel_item *ret)
{
    if (!is_over && error)
        return error;
    err_free(error);
    switch (n->macro) {
    case CEL_MACRO_ALL:
        *ret = item_bool(!is_over);
        break;
    case CEL_MACRO_EXISTS:
        *ret = item_bool(is_over);
        break;
    case CEL_MACRO_EXISTS_ONE:
        *ret = item_bool(n_held == 1);
        break;
    case CEL_MACRO_MAP:
    case CEL_MACRO_FILTER:
    case CEL_MACRO_OPT_MAP:
    case CEL_MACRO_OPT_FLAT_MAP:
        *ret = item_list(list, n_held);
        break;
    }
    return NULL;
}

/* Sets the variables of a round: an item; its index and the item; or a key and its value. */
static void macro_bind(struct cel_run *r, const struct cel_node *n, const struct cel_item *of,
                       size_t i, const char *const *keys)
{
    struct cel_item first = item_int((int64_t)i);
    struct cel_item second = {0};

    if (of->kind == ITEM_LIST)
        second = item_at(r, of, i);
    else if (keys)
        first = item_text(str_of(keys[i]));
    else
        first = of->list.at[2 * i];
    if (of->kind == ITEM_MAP && keys)
        (void)item_member(r, of, first.text, &second);
    else if (of->kind == ITEM_MAP)
        second = of->list.at[2 * i + 1];
    if (n->slot_second > 0) {
        r->frame[n->slot] = first;
        r->frame[n->slot_second] = second;
    } else {
        r->frame[n->slot] = of->kind == ITEM_LIST ? second : first;
    }
}

static const char *const *keys_of(struct cel_run *r, const struct cel_item *of)
{
    const char **keys;
    size_t n = 0;
    const char *key;
    json_t *value;

    if (of->kind != ITEM_MAP || !of->is_json)
        return NULL;
    keys = arena_alloc(r->arena, (json_object_size(of->json) + 1) * sizeof(*keys));
    json_object_foreach ((json_t *)(uintptr_t)of->json, key, value)
        keys[n++] = key;
    return keys;
}

static struct err *eval_optional_macro(struct cel_run *r, const struct cel_node *n,
                                       const struct cel_item *of, struct cel_item *ret)
{
    struct cel_item made = {0};

    if (of->kind != ITEM_OPTIONAL)
        return rule_no_overload(n, of);
    *ret = item_none();
    if (of->list.n == 0)
        return NULL;
    r->frame[n->slot] = of->list.at[0];
    TRY(rule_eval(r, n->args[1], &made));
    *ret = n->macro == CEL_MACRO_OPT_MAP ? item_some(r, made) : made;
    return NULL;
}

static struct err *eval_macro(struct cel_run *r, const struct cel_node *n, struct cel_item *ret)
{
    struct cel_item of = {0};
    struct cel_item *list;
    const char *const *keys;
    struct err *error = NULL;
    size_t n_held = 0;
    bool is_over = false;

    TRY(rule_eval(r, n->args[0], &of));
    if (n->macro == CEL_MACRO_OPT_MAP || n->macro == CEL_MACRO_OPT_FLAT_MAP)
        return eval_optional_macro(r, n, &of, ret);
    if (of.kind != ITEM_LIST && of.kind != ITEM_MAP)
        return rule_no_overload(n, &of);
    TRY(rule_spend(r, n, item_count(&of)));
    list = arena_alloc(r->arena, (item_count(&of) + 1) * sizeof(*list));
    keys = keys_of(r, &of);
    for (size_t i = 0; i < item_count(&of) && !is_over; i++) {
        struct err *e;

        macro_bind(r, n, &of, i, keys);
        e = macro_round(r, n, list, &n_held, &error, &is_over);
        if (!e)
            continue;
        err_free(error);
        return e;
    }
    return macro_result(n, list, n_held, is_over, error, ret);
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
        TRY(eval_yes(r, n->args[0], &yes));
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

static struct err *rule_eval(struct cel_run *r, const struct cel_node *n, struct cel_item *ret)
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
        return eval_macro(r, n, ret);
    case CEL_OP_IF:
    case CEL_OP_BIND:
    case CEL_OP_MAP:
    case CEL_OP_LIST:
        return eval_compound(r, n, ret);
    case CEL_OP_NOT:
        TRY(eval_yes(r, n->args[0], &yes));
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

/* ---- the check of members, before any evaluation ---- */

struct checker {
    const struct cel_shapes *shapes;
    const void **frame;  /* shapes of the variables */
    struct cel_run *run; /* for names */
};

/* Finds the shape of the node's value (NULL: unknown). Recursive, as the expression. */
static struct err *check_node(struct checker *c, const struct cel_node *n, const void **ret);

static struct err *check_field(struct checker *c, const struct cel_node *n, const void *of,
                               const void **ret)
{
    AUTO_FREE char *plain = mem_strndup(n->name.at, n->name.size);
    struct str real = unescape(c->run, n->name);
    AUTO_FREE char *name = mem_strndup(real.at, real.size);

    *ret = NULL;
    if (!of)
        return NULL;
    if (c->shapes->lacks(of, plain) && c->shapes->lacks(of, name))
        return rule_fault(n, "undefined field '%s'", plain);
    *ret = c->shapes->member(of, c->shapes->lacks(of, plain) ? name : plain);
    return NULL;
}

static struct err *check_macro(struct checker *c, const struct cel_node *n, const void *of)
{
    const void *item = of ? c->shapes->item(of) : NULL;
    const void *shape = NULL;

    c->frame[n->slot] = n->slot_second > 0 ? NULL : item;
    if (n->slot_second > 0)
        c->frame[n->slot_second] = item;
    for (size_t i = 1; i < n->n_args; i++)
        TRY(check_node(c, n->args[i], &shape));
    return NULL;
}

static struct err *check_node(struct checker *c, const struct cel_node *n, const void **ret)
{
    const void *first = NULL;
    const void *other = NULL;

    *ret = NULL;
    if (n->op == CEL_OP_VARIABLE)
        *ret = c->frame[n->slot];
    if (n->n_args == 0)
        return NULL;
    TRY(check_node(c, n->args[0], &first));
    if (n->op == CEL_OP_FIELD || n->op == CEL_OP_HAS)
        return check_field(c, n, first, ret);
    if (n->op == CEL_OP_MACRO)
        return check_macro(c, n, first);
    if (n->op == CEL_OP_BIND) {
        c->frame[n->slot] = first;
        return check_node(c, n->args[1], ret);
    }
    for (size_t i = 1; i < n->n_args; i++)
        TRY(check_node(c, n->args[i], &other));
    if (n->op == CEL_OP_INDEX && first)
        *ret = c->shapes->item(first);
    return NULL;
}

static struct err *check_members(const struct cel_rule *rule)
{
    const struct cel_language *l = rule->language;
    struct cel_run run = {.rule = rule, .arena = rule->arena};
    struct checker c = {.shapes = l->shapes, .run = &run};
    const void *shape = NULL;

    if (!l->shapes)
        return NULL;
    c.frame = arena_alloc(rule->arena, (rule->n_frame + 1) * sizeof(*c.frame));
    for (size_t i = 0; i < l->n_variables; i++)
        c.frame[i] = l->variables[i].shape;
    return check_node(&c, rule->root, &shape);
}

/* ---- rules ---- */

struct err *cel_rule_parse(struct str text, const struct cel_language *language,
                           struct cel_rule **ret)
{
    struct cel_rule *r = mem_alloc(sizeof(*r));
    struct cel_scope scope = {.ret_uses = r->uses, .n_uses = language->n_variables};
    char *copy;
    struct err *e;

    r->arena = arena_new();
    r->language = language;
    for (size_t i = 0; i < language->n_variables; i++)
        scope.names[scope.n++] = str_of(language->variables[i].name);
    scope.most = scope.n;
    copy = arena_alloc(r->arena, (text.size < CEL_TEXT_MAX ? text.size : CEL_TEXT_MAX) + 1);
    if (text.size <= CEL_TEXT_MAX) {
        memcpy(copy, text.at, text.size);
        text.at = copy;
    }
    e = cel_parse_scoped(text, r->arena, &scope, &r->root);
    r->n_frame = scope.most;
    if (!e)
        e = check_members(r);
    if (e) {
        cel_rule_free(r);
        return e;
    }
    *ret = r;
    return NULL;
}

void cel_rule_free(struct cel_rule *r)
{
    if (!r)
        return;
    arena_free(r->arena);
    free(r);
}

bool cel_rule_uses(const struct cel_rule *r, const char *variable)
{
    for (size_t i = 0; i < r->language->n_variables; i++)
        if (text_equal(r->language->variables[i].name, variable))
            return r->uses[i];
    return false;
}

static struct err *run(struct cel_run *r, const json_t *const *values, struct cel_item *ret)
{
    const struct cel_language *l = r->rule->language;

    r->frame = arena_alloc(r->arena, (r->rule->n_frame + 1) * sizeof(*r->frame));
    for (size_t i = 0; i < l->n_variables; i++) {
        const struct cel_variable *v = &l->variables[i];

        if (values[i])
            r->frame[i] = item_of_json(r, values[i], v->shape);
        if (v->is_optional)
            r->frame[i] = values[i] ? item_some(r, r->frame[i]) : item_none();
    }
    return rule_eval(r, r->rule->root, ret);
}

struct err *cel_rule_holds(const struct cel_rule *rule, const json_t *const *values, int64_t *steps,
                           bool *ret)
{
    AUTO(arena_freep) struct arena *arena = arena_new();
    struct cel_run r = {.rule = rule, .arena = arena, .steps = steps};
    struct cel_item v = {0};

    TRY(run(&r, values, &v));
    if (v.kind != ITEM_BOOL)
        return rule_fault(rule->root, "the value is of type %s: want bool", item_kind_name(v.kind));
    *ret = v.yes;
    return NULL;
}

struct err *cel_rule_text(const struct cel_rule *rule, const json_t *const *values, int64_t *steps,
                          char **ret)
{
    AUTO(arena_freep) struct arena *arena = arena_new();
    struct cel_run r = {.rule = rule, .arena = arena, .steps = steps};
    struct cel_item v = {0};

    TRY(run(&r, values, &v));
    if (v.kind != ITEM_STRING)
        return rule_fault(rule->root, "the value is of type %s: want string",
                          item_kind_name(v.kind));
    *ret = mem_strndup(v.text.at, v.text.size);
    return NULL;
}
