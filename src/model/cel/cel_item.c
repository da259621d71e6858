/* cel_item.c - the values of a rule: made, read, compared */

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "model/cel/cel_rule_private.h"

enum {
    STEP_BYTES = 10 /* as Kubernetes counts: a byte costs a tenth */
};

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
