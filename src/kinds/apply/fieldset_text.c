/*
 * fieldset_text.c - FieldsV1, and paths in messages
 *
 * Names of FieldsV1 are elements: f:NAME, k:{"name":"a"}, v:"text", i:0, and "." for the path that
 * ends there. An object without members stands for its path alone.
 */

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/num.h"
#include "kinds/apply/fieldset.h"

/* ---- text of elements ---- */

static void scalar_add(struct buf *out, const struct scalar *s)
{
    switch (s->type) {
    case SCALAR_REAL:
        json_add_real(out, s->real);
        break;
    case SCALAR_INT:
        buf_printf(out, "%" PRId64, s->number);
        break;
    case SCALAR_TEXT:
        json_add_quoted(out, str_of(s->text));
        break;
    case SCALAR_BOOL:
        buf_add_text(out, s->number ? "true" : "false");
        break;
    case SCALAR_NULL:
        buf_add_text(out, "null");
        break;
    }
}

void element_add(struct buf *out, const struct element *e)
{
    if (e->type == ELEMENT_FIELD) {
        buf_printf(out, ".%s", e->name);
        return;
    }
    buf_add_text(out, e->type == ELEMENT_VALUE ? "[=" : "[");
    for (size_t i = 0; i < e->n_pairs; i++) {
        buf_printf(out, "%s%s=", i > 0 ? "," : "", e->pairs[i].name);
        scalar_add(out, &e->pairs[i].value);
    }
    if (e->type != ELEMENT_KEY)
        scalar_add(out, &e->value);
    buf_add_char(out, ']');
}

void fieldset_path_add(struct buf *out, const struct fieldset_path *path)
{
    if (!path)
        return;
    fieldset_path_add(out, path->up);
    element_add(out, path->element);
}

/* ---- format ---- */

static void format_key(struct buf *out, const struct element *e)
{
    buf_add_text(out, "k:{");
    for (size_t i = 0; i < e->n_pairs; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        json_add_quoted(out, str_of(e->pairs[i].name));
        buf_add_char(out, ':');
        scalar_add(out, &e->pairs[i].value);
    }
    buf_add_char(out, '}');
}

static void format_element(struct buf *out, const struct element *e)
{
    buf_clear(out);
    if (e->type == ELEMENT_FIELD) {
        buf_add_text(out, "f:");
        buf_add_text(out, e->name);
    } else if (e->type == ELEMENT_KEY) {
        format_key(out, e);
    } else {
        buf_add_text(out, e->type == ELEMENT_VALUE ? "v:" : "i:");
        scalar_add(out, &e->value);
    }
}

static json_t *format_below(const struct fieldset *s, bool has_self, struct buf *name)
{
    json_t *made = json_object();

    if (has_self && !fieldset_is_empty(s))
        json_put(made, ".", json_object());
    for (size_t i = 0; s && i < s->n; i++) {
        const struct fieldset_node *node = &s->at[i];
        json_t *below;

        if (!node->is_member && fieldset_is_empty(node->below))
            continue;
        below = format_below(node->below, node->is_member, name);
        format_element(name, &node->element);
        json_put(made, name->at, below);
    }
    return made;
}

json_t *fieldset_format(const struct fieldset *s)
{
    AUTO(buf_done) struct buf name = {0};

    return format_below(s, false, &name);
}

/* ---- parse ---- */

static struct err *bad_element(const char *text, const char *why)
{
    return err_new(ERR_INVALID, "managed field '%.128s': %s", text, why);
}

/* False: a list or an object, which no element of ours has. */
static bool scalar_take(struct arena *a, const json_t *value, struct scalar *ret)
{
    *ret = (struct scalar){.type = SCALAR_NULL};
    if (json_is_string(value))
        *ret =
            (struct scalar){.type = SCALAR_TEXT, .text = arena_strdup(a, json_string_value(value))};
    else if (json_is_integer(value))
        *ret = (struct scalar){.type = SCALAR_INT, .number = json_integer_value(value)};
    else if (json_is_real(value))
        *ret = (struct scalar){.type = SCALAR_REAL, .real = json_real_value(value)};
    else if (json_is_boolean(value))
        *ret = (struct scalar){.type = SCALAR_BOOL, .number = json_is_true(value)};
    return !json_is_object(value) && !json_is_array(value);
}

static int pair_compare(const void *x, const void *y)
{
    const struct scalar_pair *a = x;
    const struct scalar_pair *b = y;

    return strcmp(a->name, b->name);
}

static bool take_pairs(struct arena *a, json_t *value, struct element *ret)
{
    struct scalar_pair *pairs = arena_alloc(a, (json_object_size(value) + 1) * sizeof(*pairs));
    const char *key;
    json_t *member;
    size_t n = 0;

    json_object_foreach (value, key, member) {
        pairs[n].name = arena_strdup(a, key);
        if (!scalar_take(a, member, &pairs[n].value))
            return false;
        n++;
    }
    qsort(pairs, n, sizeof(*pairs), pair_compare);
    *ret = (struct element){.type = ELEMENT_KEY, .pairs = pairs, .n_pairs = n};
    return true;
}

/* `*ret_is_known` is false for an element that is dropped. */
static struct err *parse_json_element(struct arena *a, const char *text, struct element *ret,
                                      bool *ret_is_known)
{
    AUTO(json_freep) json_t *value = NULL;
    AUTO(err_freep) struct err *e = json_parse(str_of(text + 2), &value);

    if (e)
        return bad_element(text, err_message(e));
    if (text[0] == 'k') {
        if (!json_is_object(value))
            return bad_element(text, "want an object behind k:");
        *ret_is_known = take_pairs(a, value, ret);
        return NULL;
    }
    *ret = (struct element){.type = ELEMENT_VALUE};
    *ret_is_known = scalar_take(a, value, &ret->value);
    return NULL;
}

static struct err *parse_element(struct arena *a, const char *text, struct element *ret,
                                 bool *ret_is_known)
{
    int64_t index = 0;

    *ret_is_known = true;
    if (text[0] == '\0' || text[1] != ':')
        return bad_element(text, "want f:NAME, k:{...}, v:VALUE or i:INDEX");
    switch (text[0]) {
    case 'f':
        *ret = element_field(arena_strdup(a, text + 2));
        return NULL;
    case 'k':
    case 'v':
        return parse_json_element(a, text, ret, ret_is_known);
    case 'i':
        TRY(num_parse_int64(str_of(text + 2), 0, INT32_MAX, &index));
        *ret =
            (struct element){.type = ELEMENT_INDEX, .value = {.type = SCALAR_INT, .number = index}};
        return NULL;
    default:
        *ret_is_known = false;
        return NULL;
    }
}

static int node_compare(const void *x, const void *y)
{
    const struct fieldset_node *a = x;
    const struct fieldset_node *b = y;

    return element_compare(&a->element, &b->element);
}

/* Sorts the nodes, and joins those with equal elements ("k:{...}" has more than one text). */
static void fieldset_sort(struct arena *a, struct fieldset *s)
{
    size_t n = 0;
    bool is_sorted = true;

    for (size_t i = 1; i < s->n && is_sorted; i++)
        is_sorted = node_compare(&s->at[i - 1], &s->at[i]) < 0;
    if (is_sorted)
        return;
    qsort(s->at, s->n, sizeof(*s->at), node_compare);
    for (size_t i = 1; i < s->n; i++) {
        struct fieldset_node *last = &s->at[n];

        if (node_compare(last, &s->at[i]) != 0) {
            s->at[++n] = s->at[i];
            continue;
        }
        last->is_member |= s->at[i].is_member;
        last->below = fieldset_union(a, last->below, s->at[i].below);
    }
    s->n = n + 1;
}

/* Recursive, as deep as the JSON, which json_parse caps. */
static struct err *parse_below(struct arena *a, const json_t *fields, struct fieldset *s,
                               bool *ret_has_self)
{
    const char *key;
    json_t *member;

    if (!json_is_object(fields) && !json_is_null(fields))
        return err_new(ERR_INVALID, "managed fields: want an object below each field");
    s->at = arena_alloc(a, (json_object_size(fields) + 1) * sizeof(*s->at));
    s->room = json_object_size(fields) + 1;
    json_object_foreach ((json_t *)(uintptr_t)fields, key, member) {
        struct fieldset_node node = {.below = NULL};
        bool is_known = true;

        if (text_equal(key, ".")) {
            *ret_has_self = true;
            continue;
        }
        TRY(parse_element(a, key, &node.element, &is_known));
        if (!is_known)
            continue;
        node.below = arena_alloc(a, sizeof(*node.below));
        TRY(parse_below(a, member, node.below, &node.is_member));
        node.is_member |= node.below->n == 0;
        s->at[s->n++] = node;
    }
    fieldset_sort(a, s);
    return NULL;
}

struct err *fieldset_parse(struct arena *a, const json_t *fields, struct fieldset **ret)
{
    struct fieldset *s = arena_alloc(a, sizeof(*s));
    bool has_self = false;

    TRY(parse_below(a, fields, s, &has_self));
    *ret = s;
    return NULL;
}
