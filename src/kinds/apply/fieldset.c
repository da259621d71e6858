/* fieldset.c - the algebra of sets of fields: one walk over two sorted tries for each operation */

#include "kinds/apply/fieldset.h"

#include <stdlib.h>
#include <string.h>

static int compare_int(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

static bool is_number(const struct scalar *s)
{
    return s->type == SCALAR_REAL || s->type == SCALAR_INT;
}

static double as_real(const struct scalar *s)
{
    return s->type == SCALAR_REAL ? s->real : (double)s->number;
}

static int scalar_compare(const struct scalar *x, const struct scalar *y)
{
    if (is_number(x) && is_number(y) && (x->type == SCALAR_REAL || y->type == SCALAR_REAL))
        return (as_real(x) > as_real(y)) - (as_real(x) < as_real(y));
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    if (x->type == SCALAR_TEXT)
        return strcmp(x->text, y->text);
    return compare_int(x->number, y->number);
}

static int pairs_compare(const struct element *x, const struct element *y)
{
    for (size_t i = 0; i < x->n_pairs && i < y->n_pairs; i++) {
        int order = strcmp(x->pairs[i].name, y->pairs[i].name);

        if (order == 0)
            order = scalar_compare(&x->pairs[i].value, &y->pairs[i].value);
        if (order != 0)
            return order;
    }
    return compare_int((int64_t)x->n_pairs, (int64_t)y->n_pairs);
}

int element_compare(const struct element *x, const struct element *y)
{
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    if (x->type == ELEMENT_FIELD)
        return strcmp(x->name, y->name);
    if (x->type == ELEMENT_KEY)
        return pairs_compare(x, y);
    return scalar_compare(&x->value, &y->value);
}

struct element element_field(const char *name)
{
    return (struct element){.type = ELEMENT_FIELD, .name = name};
}

static bool scalar_of(const json_t *value, struct scalar *ret)
{
    if (json_is_string(value))
        *ret = (struct scalar){.type = SCALAR_TEXT, .text = json_string_value(value)};
    else if (json_is_integer(value))
        *ret = (struct scalar){.type = SCALAR_INT, .number = json_integer_value(value)};
    else if (json_is_real(value))
        *ret = (struct scalar){.type = SCALAR_REAL, .real = json_real_value(value)};
    else if (json_is_boolean(value))
        *ret = (struct scalar){.type = SCALAR_BOOL, .number = json_is_true(value)};
    else
        return false;
    return true;
}

static int pair_compare(const void *x, const void *y)
{
    const struct scalar_pair *a = x;
    const struct scalar_pair *b = y;

    return strcmp(a->name, b->name);
}

/* Reads one key of an item, or its default. The texts of defaults are copied. */
static bool key_of_item(struct arena *a, struct shape list, const json_t *item, const char *key,
                        struct scalar *ret)
{
    json_t *value = json_object_get(item, key);
    AUTO(json_freep) json_t *given = NULL;

    if (value)
        return scalar_of(value, ret);
    given = list.ops->key_default(list.node, key);
    if (!given || !scalar_of(given, ret))
        return false;
    if (ret->type == SCALAR_TEXT)
        ret->text = arena_strdup(a, ret->text);
    return true;
}

bool element_of_item(struct arena *a, struct shape list, const json_t *item, struct element *ret)
{
    const char *keys[SHAPE_KEYS_MAX];
    struct scalar_pair *pairs;
    size_t n = 0;

    if (shape_form(list) == SHAPE_SET) {
        *ret = (struct element){.type = ELEMENT_VALUE};
        return scalar_of(item, &ret->value);
    }
    if (!json_is_object(item))
        return false;
    pairs = arena_alloc(a, SHAPE_KEYS_MAX * sizeof(*pairs));
    for (size_t i = list.ops->keys(list.node, keys); i > 0; i--) {
        pairs[n].name = keys[i - 1];
        n += key_of_item(a, list, item, keys[i - 1], &pairs[n].value);
    }
    qsort(pairs, n, sizeof(*pairs), pair_compare);
    *ret = (struct element){.type = ELEMENT_KEY, .pairs = pairs, .n_pairs = n};
    return n > 0;
}

/* ---- one set ---- */

/* The index of the first node that is not before `e`. */
static size_t fieldset_search(const struct fieldset *s, const struct element *e)
{
    size_t low = 0;
    size_t high = s->n;

    /* Most additions are in order. */
    if (s->n > 0) {
        int order = element_compare(&s->at[s->n - 1].element, e);

        if (order <= 0)
            return order < 0 ? s->n : s->n - 1;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (element_compare(&s->at[middle].element, e) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct fieldset_node *fieldset_find(const struct fieldset *s, const struct element *e)
{
    size_t i = s ? fieldset_search(s, e) : 0;

    return s && i < s->n && element_compare(&s->at[i].element, e) == 0 ? &s->at[i] : NULL;
}

static void fieldset_grow(struct arena *a, struct fieldset *s)
{
    size_t room = s->room > 0 ? 2 * s->room : 4;
    struct fieldset_node *at = arena_alloc(a, room * sizeof(*at));

    if (s->n > 0)
        memcpy(at, s->at, s->n * sizeof(*at));
    s->at = at;
    s->room = room;
}

struct fieldset_node *fieldset_at(struct arena *a, struct fieldset *s, const struct element *e)
{
    size_t i = fieldset_search(s, e);

    if (i < s->n && element_compare(&s->at[i].element, e) == 0)
        return &s->at[i];
    if (s->n == s->room)
        fieldset_grow(a, s);
    memmove(&s->at[i + 1], &s->at[i], (s->n - i) * sizeof(*s->at));
    s->at[i] = (struct fieldset_node){.element = *e};
    s->n++;
    return &s->at[i];
}

struct fieldset *fieldset_below(struct arena *a, struct fieldset *s, const struct element *e)
{
    struct fieldset_node *node = fieldset_at(a, s, e);

    if (!node->below)
        node->below = arena_alloc(a, sizeof(*node->below));
    return node->below;
}

void fieldset_add(struct arena *a, struct fieldset *s, const struct element *e)
{
    fieldset_at(a, s, e)->is_member = true;
}

static struct fieldset *set_of_path(struct arena *a, struct fieldset *s,
                                    const struct fieldset_path *path)
{
    return path ? fieldset_below(a, set_of_path(a, s, path->up), path->element) : s;
}

void fieldset_add_path(struct arena *a, struct fieldset *s, const struct fieldset_path *path)
{
    if (path)
        fieldset_add(a, set_of_path(a, s, path->up), path->element);
}

bool fieldset_is_empty(const struct fieldset *s)
{
    for (size_t i = 0; s && i < s->n; i++)
        if (s->at[i].is_member || !fieldset_is_empty(s->at[i].below))
            return false;
    return true;
}

/* Appends a node unless it has no paths. */
static void fieldset_put(struct arena *a, struct fieldset *s, const struct fieldset_node *node)
{
    if (!node->is_member && fieldset_is_empty(node->below))
        return;
    if (s->n == s->room)
        fieldset_grow(a, s);
    s->at[s->n++] = *node;
}

static bool has_element(const struct fieldset *s, const struct fieldset_path *path,
                        const struct fieldset **ret_below, bool *ret_is_member)
{
    const struct fieldset_node *node;

    if (path->up && !has_element(s, path->up, &s, ret_is_member))
        return false;
    node = fieldset_find(s, path->element);
    *ret_below = node ? node->below : NULL;
    *ret_is_member = node && node->is_member;
    return node != NULL;
}

bool fieldset_has(const struct fieldset *s, const struct fieldset_path *path)
{
    bool is_member = false;

    return has_element(s, path, &s, &is_member) && is_member;
}

/* ---- two sets ---- */

/* The result of an operation for a node that both sets have, or one. */
struct fieldset_rule {
    bool keeps_left;  /* paths of `x` alone */
    bool keeps_right; /* paths of `y` alone */
    bool keeps_both;  /* paths of both */
    bool cuts_below;  /* a member of `y` removes the paths below it */
};

static struct fieldset *combine(struct arena *a, const struct fieldset *x, const struct fieldset *y,
                                const struct fieldset_rule *rule);

static struct fieldset_node combine_nodes(struct arena *a, const struct fieldset_node *x,
                                          const struct fieldset_node *y,
                                          const struct fieldset_rule *rule)
{
    struct fieldset_node made = {.element = x->element};

    if (x->is_member && y->is_member)
        made.is_member = rule->keeps_both;
    else
        made.is_member = (x->is_member && rule->keeps_left) || (y->is_member && rule->keeps_right);
    if (!(rule->cuts_below && y->is_member))
        made.below = combine(a, x->below, y->below, rule);
    return made;
}

static struct fieldset *combine(struct arena *a, const struct fieldset *x, const struct fieldset *y,
                                const struct fieldset_rule *rule)
{
    static const struct fieldset none = {0};
    struct fieldset *made = arena_alloc(a, sizeof(*made));
    size_t i = 0;
    size_t j = 0;

    x = x ? x : &none;
    y = y ? y : &none;
    while (i < x->n || j < y->n) {
        int order = i == x->n   ? 1
                    : j == y->n ? -1
                                : element_compare(&x->at[i].element, &y->at[j].element);

        if (order == 0) {
            struct fieldset_node node = combine_nodes(a, &x->at[i], &y->at[j], rule);

            fieldset_put(a, made, &node);
        } else if (order < 0 && rule->keeps_left) {
            fieldset_put(a, made, &x->at[i]);
        } else if (order > 0 && rule->keeps_right) {
            fieldset_put(a, made, &y->at[j]);
        }
        i += order <= 0;
        j += order >= 0;
    }
    return made;
}

struct fieldset *fieldset_union(struct arena *a, const struct fieldset *x, const struct fieldset *y)
{
    return combine(
        a, x, y,
        &(const struct fieldset_rule){.keeps_left = true, .keeps_right = true, .keeps_both = true});
}

struct fieldset *fieldset_common(struct arena *a, const struct fieldset *x,
                                 const struct fieldset *y)
{
    return combine(a, x, y, &(const struct fieldset_rule){.keeps_both = true});
}

struct fieldset *fieldset_minus(struct arena *a, const struct fieldset *x, const struct fieldset *y)
{
    return combine(a, x, y, &(const struct fieldset_rule){.keeps_left = true});
}

struct fieldset *fieldset_without(struct arena *a, const struct fieldset *x,
                                  const struct fieldset *y)
{
    return combine(a, x, y, &(const struct fieldset_rule){.keeps_left = true, .cuts_below = true});
}

bool fieldset_equal(const struct fieldset *x, const struct fieldset *y)
{
    size_t n = x ? x->n : 0;

    if (n != (y ? y->n : 0))
        return false;
    for (size_t i = 0; i < n; i++)
        if (x->at[i].is_member != y->at[i].is_member ||
            element_compare(&x->at[i].element, &y->at[i].element) != 0 ||
            !fieldset_equal(x->at[i].below, y->at[i].below))
            return false;
    return true;
}

/* The shape below an element. */
static struct shape shape_below(struct shape s, const struct element *e, bool *ret_is_named)
{
    enum shape_form form = shape_form(s);

    *ret_is_named = false;
    if (e->type == ELEMENT_FIELD && form == SHAPE_OBJECT)
        return shape_member(s, e->name, ret_is_named);
    if (e->type == ELEMENT_KEY && form == SHAPE_LIST_MAP)
        return shape_item(s);
    return (struct shape){0};
}

struct fieldset *fieldset_with_parents(struct arena *a, const struct fieldset *x, struct shape s)
{
    struct fieldset *made = arena_alloc(a, sizeof(*made));

    for (size_t i = 0; x && i < x->n; i++) {
        struct fieldset_node node = x->at[i];
        bool is_named = false;
        struct shape below = shape_below(s, &node.element, &is_named);

        if (!fieldset_is_empty(node.below)) {
            node.is_member |= is_named;
            node.below = fieldset_with_parents(a, node.below, below);
        }
        fieldset_put(a, made, &node);
    }
    return made;
}

static void each_below(const struct fieldset *s, const struct fieldset_path *up,
                       void (*fn)(void *arg, const struct fieldset_path *path), void *arg)
{
    for (size_t i = 0; s && i < s->n; i++) {
        const struct fieldset_path path = {.up = up, .element = &s->at[i].element};

        if (s->at[i].is_member)
            fn(arg, &path);
    }
    for (size_t i = 0; s && i < s->n; i++) {
        const struct fieldset_path path = {.up = up, .element = &s->at[i].element};

        each_below(s->at[i].below, &path, fn, arg);
    }
}

void fieldset_each(const struct fieldset *s,
                   void (*fn)(void *arg, const struct fieldset_path *path), void *arg)
{
    each_below(s, NULL, fn, arg);
}
