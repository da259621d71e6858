/*
 * schema_validate.c - values checked by their nodes, in the words of kube-openapi
 *
 * A fault that the stored object has at the same place, with the same value, is let through: an
 * update that leaves a part alone is not refused for it. Items of a list are the same place only in
 * a list map, by their keys.
 */

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/custom/schema_private.h"

enum {
    STEPS_MAX = 20 << 20, /* nodes and bytes that one validation looks at: about 0.1 s */
    STEP_BYTES = 64
};

static const char *type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
        return "integer";
    case JSON_REAL:
        return "number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "boolean";
    case JSON_NULL:
    default:
        return "null";
    }
}

static bool spend(struct schema_check *c, const struct path *at, int64_t steps)
{
    bool was_over = c->steps < 0;

    c->steps -= steps;
    if (c->steps >= 0)
        return true;
    if (!was_over) {
        c->n_faults++;
        c->is_blocked = true;
        if (c->causes)
            cause_forbidden(c->causes, at, "the object is too large to be checked by this schema");
    }
    return false;
}

/* ---- faults ---- */

/* "spec.replicas in body"; at the root only " in body". The caller frees it. */
static char *place_text(const struct path *at)
{
    AUTO(buf_done) struct buf path = {0};

    if (at)
        path_add(&path, at);
    return mem_format("%s in body", path.at ? path.at : "");
}

static bool good(struct schema_check *c)
{
    c->n_good++;
    return true;
}

/* Counts a fault. True: its cause is wanted. */
static bool fault(struct schema_check *c, bool is_blocking)
{
    c->n_faults++;
    c->is_blocked |= is_blocking;
    return c->causes != NULL;
}

static void fault_type(struct schema_check *c, const struct path *at, const json_t *value,
                       const char *want)
{
    AUTO_FREE char *place = NULL;
    AUTO_FREE char *detail = NULL;

    if (!fault(c, true))
        return;
    place = place_text(at);
    detail = mem_format("%s must be of type %s: \"%s\"", place, want, type_name(value));
    cause_type_invalid(c->causes, at, type_name(value), detail);
}

/* "PLACE WORDS NUMBER". */
static void fault_number(struct schema_check *c, const struct path *at, const json_t *value,
                         const char *words, const struct schema_limit *limit)
{
    AUTO_FREE char *place = NULL;
    AUTO_FREE char *number = NULL;
    AUTO_FREE char *detail = NULL;

    if (!fault(c, false))
        return;
    place = place_text(at);
    number = json_format(limit->text);
    detail = mem_format("%s %s %s", place, words, number);
    cause_invalid_json(c->causes, at, value, detail);
}

static void fault_size(struct schema_check *c, const struct path *at, const json_t *value, size_t n,
                       const struct schema_limit *limit)
{
    static const char *const units[] = {"chars long", "items", "properties"};
    size_t unit = json_is_string(value) ? 0 : json_is_array(value) ? 1 : 2;
    AUTO_FREE char *place = NULL;
    AUTO_FREE char *detail = NULL;
    AUTO(json_freep) json_t *shown = NULL;

    if (!fault(c, false))
        return;
    place = place_text(at);
    detail = mem_format("%s %s at least %.0f %s", place, unit == 0 ? "should be" : "should have",
                        limit->value, units[unit]);
    shown = unit == 0 ? json_incref((json_t *)(uintptr_t)value) : json_integer((json_int_t)n);
    cause_invalid_json(c->causes, at, shown, detail);
}

/* A fault of allOf and its like belongs to no field, as in Kubernetes. */
static void fault_of_none(struct schema_check *c, const struct path *at, const char *words)
{
    AUTO(buf_done) struct buf path = {0};
    AUTO_FREE char *detail = NULL;

    if (!fault(c, false))
        return;
    if (at)
        path_add(&path, at);
    detail = mem_format("\"%s\" %s", path.at ? path.at : "", words);
    cause_invalid_json(c->causes, NULL, NULL, detail);
}

/* ---- types ---- */

static bool is_same(double a, double b)
{
    return a <= b && a >= b;
}

static bool is_whole(const json_t *value)
{
    double number = json_number_value(value);

    return json_is_integer(value) || (json_is_real(value) && number > -9.0e15 && number < 9.0e15 &&
                                      is_same(number, (double)(int64_t)number));
}

static bool fits_type(const struct schema_node *n, const json_t *value)
{
    if (n->is_int_or_string)
        return json_is_string(value) || is_whole(value);
    switch (n->type) {
    case SCHEMA_ANY:
        return true;
    case SCHEMA_OBJECT:
        return json_is_object(value);
    case SCHEMA_ARRAY:
        return json_is_array(value);
    case SCHEMA_STRING:
        return json_is_string(value);
    case SCHEMA_INTEGER:
        return is_whole(value);
    case SCHEMA_NUMBER:
        return json_is_number(value);
    case SCHEMA_BOOLEAN:
        return json_is_boolean(value);
    }
    return false;
}

static const char *want_type(const struct schema_node *n)
{
    static const char *const names[] = {
        [SCHEMA_ANY] = "",           [SCHEMA_OBJECT] = "object",   [SCHEMA_ARRAY] = "array",
        [SCHEMA_STRING] = "string",  [SCHEMA_INTEGER] = "integer", [SCHEMA_NUMBER] = "number",
        [SCHEMA_BOOLEAN] = "boolean"};

    return n->is_int_or_string ? "integer,string" : names[n->type];
}

/* False: the value is of a wrong type, or null: nothing else of it is checked. */
static bool check_type(struct schema_check *c, const struct schema_node *n, const struct path *at,
                       const json_t *value)
{
    bool has_type = n->type != SCHEMA_ANY || n->is_int_or_string;

    if (json_is_null(value)) {
        if (has_type && !n->is_nullable)
            fault_type(c, at, value, want_type(n));
        return false;
    }
    if (fits_type(n, value))
        return good(c);
    fault_type(c, at, value, want_type(n));
    return false;
}

/* ---- values ---- */

/* Are a and b the same JSON value, where 1 is 1.0? */
static bool same(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b) && json_typeof(a) != json_typeof(b))
        return is_same(json_number_value(a), json_number_value(b));
    return json_equal(a, b);
}

static void check_enum(struct schema_check *c, const struct schema_node *n, const struct path *at,
                       const json_t *value)
{
    size_t count = json_array_size(n->values);

    if (!n->values || !spend(c, at, (int64_t)count))
        return;
    for (size_t i = 0; i < count; i++) {
        if (!same(json_array_get(n->values, i), value))
            continue;
        (void)good(c);
        return;
    }
    if (fault(c, true))
        cause_unsupported_json(c->causes, at, value, n->values);
}

static size_t count_chars(struct str text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.size; i++)
        n += ((unsigned char)text.at[i] & 0xc0) != 0x80;
    return n;
}

static void check_pattern(struct schema_check *c, const struct schema_node *n,
                          const struct path *at, const json_t *value)
{
    const struct str text = {json_string_value(value), json_string_length(value)};
    AUTO_FREE char *place = NULL;
    AUTO_FREE char *detail = NULL;
    AUTO(err_freep) struct err *e = NULL;
    bool is_match = false;

    if (!n->pattern)
        return;
    e = pattern_matches(n->pattern, text, &c->steps, &is_match);
    if (e) {
        c->steps = 0;
        (void)spend(c, at, 1);
        return;
    }
    if (is_match) {
        (void)good(c);
        return;
    }
    if (!fault(c, false))
        return;
    place = place_text(at);
    detail = mem_format("%s should match '%s'", place, n->pattern_text);
    cause_invalid_json(c->causes, at, value, detail);
}

static void check_format(struct schema_check *c, const struct schema_node *n, const struct path *at,
                         const json_t *value)
{
    const struct str text = {json_string_value(value), json_string_length(value)};
    AUTO_FREE char *place = NULL;
    AUTO_FREE char *detail = NULL;

    if (!n->format_check)
        return;
    if (n->format_check(text)) {
        (void)good(c);
        return;
    }
    if (!fault(c, true))
        return;
    place = place_text(at);
    detail = mem_format("%s must be of type %s: \"%.256s\"", place, n->format, text.at);
    cause_type_invalid(c->causes, at, text.at, detail);
}

static void check_string(struct schema_check *c, const struct schema_node *n, const struct path *at,
                         const json_t *value)
{
    const struct str text = {json_string_value(value), json_string_length(value)};
    size_t size = n->min_size.is_set || n->max_size.is_set ? count_chars(text) : 0;

    if (!spend(c, at, (int64_t)(text.size / STEP_BYTES)))
        return;
    if (n->max_size.is_set && (double)size > n->max_size.value && fault(c, true))
        cause_too_long(c->causes, at, (size_t)n->max_size.value);
    if (n->min_size.is_set && (double)size < n->min_size.value)
        fault_size(c, at, value, size, &n->min_size);
    check_pattern(c, n, at, value);
    check_format(c, n, at, value);
}

static bool is_multiple(const json_t *value, const struct schema_limit *of)
{
    double quotient;

    if (json_is_integer(value) && json_is_integer(of->text))
        return json_integer_value(of->text) != 0 &&
               json_integer_value(value) % json_integer_value(of->text) == 0;
    quotient = json_number_value(value) / of->value;
    return quotient > -9.0e15 && quotient < 9.0e15 && is_same(quotient, (double)(int64_t)quotient);
}

/* Is `value` less than the limit (sign 1), or more (sign -1)? Whole numbers compare exactly. */
static bool is_past(const json_t *value, const struct schema_limit *limit, int sign)
{
    if (json_is_integer(value) && json_is_integer(limit->text)) {
        int64_t a = json_integer_value(value);
        int64_t b = json_integer_value(limit->text);

        return (sign > 0 ? a < b : a > b) || (limit->is_exclusive && a == b);
    }
    return (sign > 0 ? json_number_value(value) < limit->value
                     : json_number_value(value) > limit->value) ||
           (limit->is_exclusive && is_same(json_number_value(value), limit->value));
}

/* Faults of an integer's form belong to no field, as in Kubernetes. */
static void fault_integer(struct schema_check *c, const struct path *at, const char *words)
{
    AUTO(buf_done) struct buf path = {0};
    AUTO_FREE char *detail = NULL;

    if (!fault(c, false))
        return;
    if (at)
        path_add(&path, at);
    detail =
        mem_format("Checked value must be of type integer %s in %s", words, path.at ? path.at : "");
    cause_invalid_json(c->causes, NULL, NULL, detail);
}

static void check_integer_format(struct schema_check *c, const struct schema_node *n,
                                 const struct path *at, const json_t *value)
{
    if (text_equal(n->format, "int32") && json_is_integer(value) &&
        (json_integer_value(value) < INT32_MIN || json_integer_value(value) > INT32_MAX))
        fault_integer(c, at, "with format int32");
}

static void check_number(struct schema_check *c, const struct schema_node *n, const struct path *at,
                         const json_t *value)
{
    check_integer_format(c, n, at, value);
    if (n->multiple_of.is_set && !is_multiple(value, &n->multiple_of))
        fault_number(c, at, value, "should be a multiple of", &n->multiple_of);
    if (n->maximum.is_set && is_past(value, &n->maximum, -1))
        fault_number(c, at, value,
                     n->maximum.is_exclusive ? "should be less than"
                                             : "should be less than or equal to",
                     &n->maximum);
    if (n->minimum.is_set && is_past(value, &n->minimum, 1))
        fault_number(c, at, value,
                     n->minimum.is_exclusive ? "should be greater than"
                                             : "should be greater than or equal to",
                     &n->minimum);
}

/* ---- objects and lists ---- */

static void check_count(struct schema_check *c, const struct schema_node *n, const struct path *at,
                        const json_t *value, size_t count)
{
    if (n->max_size.is_set && (double)count > n->max_size.value && fault(c, true))
        cause_too_many(c->causes, at, count, (size_t)n->max_size.value);
    if (n->min_size.is_set && (double)count < n->min_size.value)
        fault_size(c, at, value, count, &n->min_size);
}

static void check_required(struct schema_check *c, const struct schema_node *n,
                           const struct path *at, const json_t *object)
{
    for (size_t i = 0; i < json_array_size(n->required); i++) {
        const char *name = json_string_value(json_array_get(n->required, i));

        if (name && json_object_get(object, name))
            (void)good(c);
        else if (name && fault(c, true))
            cause_required(c->causes, PATH(at, name), "");
    }
}

static void check_object(struct schema_check *c, const struct schema_node *n, const struct path *at,
                         const json_t *object, const json_t *before)
{
    const char *key;
    json_t *value;

    check_count(c, n, at, object, json_object_size(object));
    check_required(c, n, at, object);
    json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
        const struct schema_node *member = schema_member(n, key);

        if (member)
            schema_check_value(c, member, PATH(at, key), value,
                               n->is_atomic_map ? NULL : json_object_get(before, key));
    }
}

/* Have both items the same keys? */
static bool has_same_keys(const json_t *keys, const json_t *a, const json_t *b)
{
    for (size_t i = 0; i < json_array_size(keys); i++) {
        const char *key = json_string_value(json_array_get(keys, i));
        const json_t *one = json_object_get(a, key);
        const json_t *other = json_object_get(b, key);

        if ((one || other) && !(one && other && json_equal(one, other)))
            return false;
    }
    return true;
}

const json_t *schema_item_before(struct schema_check *c, const struct schema_node *n,
                                 const json_t *item, const json_t *before, size_t i)
{
    if (n->list != SCHEMA_LIST_MAP || !before)
        return NULL;
    if (has_same_keys(n->map_keys, item, json_array_get(before, i)))
        return json_array_get(before, i); /* mostly the order stays */
    c->steps -= (int64_t)json_array_size(before);
    for (size_t j = 0; c->steps > 0 && j < json_array_size(before); j++)
        if (has_same_keys(n->map_keys, item, json_array_get(before, j)))
            return json_array_get(before, j);
    return NULL;
}

static void check_array(struct schema_check *c, const struct schema_node *n, const struct path *at,
                        const json_t *array, const json_t *before)
{
    size_t count = json_array_size(array);

    for (size_t i = 0; n->items && i < count; i++) {
        const json_t *item = json_array_get(array, i);

        schema_check_value(c, n->items, PATH_INDEX(at, i), item,
                           schema_item_before(c, n, item, before, i));
    }
    check_count(c, n, at, array, count);
}

/* ---- alternatives ---- */

/* Counts the faults of a value, without their causes. */
static struct schema_check attempt(struct schema_check *c, const struct schema_node *n,
                                   const struct path *at, const json_t *value, const json_t *before)
{
    struct schema_check mine = {.steps = c->steps};

    schema_check_value(&mine, n, at, value, before);
    c->steps = mine.steps;
    return mine;
}

/* The alternatives that hold; the best one of those that do not is told. */
static size_t try_all(struct schema_check *c, const struct schema_nodes *nodes,
                      const struct path *at, const json_t *value, const json_t *before)
{
    const struct schema_node *best = NULL;
    size_t best_good = 0;
    size_t n_held = 0;

    for (size_t i = 0; i < nodes->n && c->steps >= 0; i++) {
        struct schema_check tried = attempt(c, nodes->at[i], at, value, before);

        n_held += tried.n_faults == 0;
        if (tried.n_faults == 0 || (best && tried.n_good <= best_good))
            continue;
        best = nodes->at[i];
        best_good = tried.n_good;
    }
    if (n_held == 0 && best)
        schema_check_value(c, best, at, value, before);
    return n_held;
}

static void check_alternatives(struct schema_check *c, const struct schema_node *n,
                               const struct path *at, const json_t *value, const json_t *before)
{
    size_t n_held;

    if (n->any_of.n > 0 && try_all(c, &n->any_of, at, value, before) == 0)
        fault_of_none(c, at, "must validate at least one schema (anyOf)");
    if (n->one_of.n > 0) {
        n_held = try_all(c, &n->one_of, at, value, before);
        if (n_held != 1) {
            AUTO_FREE char *found = mem_format("Found %zu valid alternatives", n_held);
            AUTO_FREE char *words = mem_format("must validate one and only one schema (oneOf). %s",
                                               n_held == 0 ? "Found none valid" : found);

            fault_of_none(c, at, words);
        }
    }
    for (size_t i = 0; i < n->all_of.n; i++) {
        size_t before_n = c->n_faults;

        schema_check_value(c, n->all_of.at[i], at, value, before);
        if (c->n_faults > before_n) {
            fault_of_none(c, at, "must validate all the schemas (allOf)");
            break;
        }
    }
    if (n->not_of && attempt(c, n->not_of, at, value, before).n_faults == 0)
        fault_of_none(c, at, "must not validate the schema (not)");
}

/* Recursive, as the schema and the value, whose depths are capped. */
void schema_check_value(struct schema_check *c, const struct schema_node *n, const struct path *at,
                        const json_t *value, const json_t *before)
{
    if (!spend(c, at, 1) || (before && json_equal(value, before)))
        return;
    check_enum(c, n, at, value);
    check_alternatives(c, n, at, value, before);
    if (!check_type(c, n, at, value)) {
        if (n->type == SCHEMA_INTEGER && json_is_real(value))
            fault_integer(c, at, "(default format)");
        return;
    }
    if (json_is_string(value))
        check_string(c, n, at, value);
    else if (json_is_number(value))
        check_number(c, n, at, value);
    else if (json_is_object(value))
        check_object(c, n, at, value, before);
    else if (json_is_array(value))
        check_array(c, n, at, value, before);
}

void schema_validate(const struct schema *s, const json_t *object, const json_t *before,
                     const char *part, struct causes *causes)
{
    struct schema_check c = {.causes = causes, .steps = STEPS_MAX};
    const struct schema_node *n = part ? schema_property(s->root, part) : s->root;
    const json_t *value = part ? json_object_get(object, part) : object;

    if (!n || !value)
        return;
    if (part)
        schema_check_value(&c, n, PATH(NULL, part), value, json_object_get(before, part));
    else
        schema_check_value(&c, n, NULL, value, before);
    schema_check_embedded(&c, s, object);
    schema_check_lists(&c, s, object, before);
    schema_check_rules(&c, s, object, before);
}
