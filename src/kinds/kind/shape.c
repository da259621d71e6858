/* shape.c - the shapes of schema tables */

#include "kinds/kind/shape.h"

#include "kinds/kind/kind.h"

enum shape_form shape_form(struct shape s)
{
    return s.ops ? s.ops->form(s.node) : SHAPE_DEDUCED;
}

struct shape shape_member(struct shape s, const char *name, bool *ret_is_named)
{
    *ret_is_named = false;
    return s.ops ? s.ops->member(s.node, name, ret_is_named) : (struct shape){0};
}

struct shape shape_item(struct shape s)
{
    return s.ops ? s.ops->item(s.node) : (struct shape){0};
}

/* ---- a member that is not there ---- */

static enum shape_form undeclared_form(const void *node)
{
    (void)node;
    return SHAPE_UNDECLARED;
}

static const struct shape_ops undeclared = {.form = undeclared_form};

struct shape shape_undeclared(void)
{
    return (struct shape){.ops = &undeclared};
}

/* ---- a field of a table ---- */

static const struct shape_ops field_ops;

static enum shape_form list_form(const struct field *f)
{
    if (f->is_atomic)
        return SHAPE_ATOMIC;
    if (f->list_keys[0] || f->merge_key)
        return SHAPE_LIST_MAP;
    return f->is_set_list ? SHAPE_SET : SHAPE_ATOMIC;
}

static enum shape_form field_form(const void *node)
{
    const struct field *f = node;

    switch (f->type) {
    case FIELD_OBJECT:
    case FIELD_MAP:
        return f->is_atomic ? SHAPE_ATOMIC : SHAPE_OBJECT;
    case FIELD_LIST:
        return list_form(f);
    case FIELD_ANY:
        return f->is_atomic ? SHAPE_ATOMIC : SHAPE_DEDUCED;
    case FIELD_STRING:
    case FIELD_INT:
    case FIELD_BOOL:
    case FIELD_QUANTITY:
    case FIELD_INT_OR_STRING:
    case FIELD_TIME:
    case FIELD_BYTES:
        break;
    }
    return SHAPE_SCALAR;
}

struct shape shape_of_field(const struct field *f)
{
    /* Values without a schema ask no further questions. */
    if (f->type == FIELD_ANY && !f->is_atomic)
        return (struct shape){0};
    return (struct shape){.ops = &field_ops, .node = f};
}

static struct shape member_of(const struct field *fields, const char *name, bool *ret_is_named)
{
    for (; fields && fields->name; fields++) {
        if (!text_equal(fields->name, name))
            continue;
        *ret_is_named = true;
        return shape_of_field(fields);
    }
    return (struct shape){.ops = &undeclared};
}

static struct shape field_member(const void *node, const char *name, bool *ret_is_named)
{
    const struct field *f = node;

    if (f->type == FIELD_MAP)
        return shape_of_field(f->item);
    return member_of(f->fields, name, ret_is_named);
}

static struct shape field_item(const void *node)
{
    const struct field *f = node;

    return shape_of_field(f->item);
}

static size_t field_keys(const void *node, const char *ret[SHAPE_KEYS_MAX])
{
    const struct field *f = node;
    size_t n = 0;

    for (; n < FIELD_LIST_KEYS_MAX && f->list_keys[n]; n++)
        ret[n] = f->list_keys[n];
    if (n == 0)
        ret[n++] = f->merge_key;
    return n;
}

/* A text that every item has is "" where a client leaves it out, as in Go. */
static json_t *field_key_default(const void *node, const char *key)
{
    const struct field *list = node;
    const struct field *f = list->item->fields;

    while (f && f->name && !text_equal(f->name, key))
        f++;
    if (!f || !f->name)
        return NULL;
    if (f->fallback)
        return json_loads(f->fallback, JSON_DECODE_ANY, NULL);
    return f->is_required && f->type == FIELD_STRING ? json_string("") : NULL;
}

static const struct shape_ops field_ops = {.form = field_form,
                                           .member = field_member,
                                           .item = field_item,
                                           .keys = field_keys,
                                           .key_default = field_key_default};

/* ---- the whole object ---- */

static enum shape_form root_form(const void *node)
{
    (void)node;
    return SHAPE_OBJECT;
}

static struct shape root_member(const void *node, const char *name, bool *ret_is_named)
{
    return member_of(node, name, ret_is_named);
}

static const struct shape_ops root_ops = {.form = root_form, .member = root_member};

struct shape kind_shape(const struct kind *k)
{
    return k->shape.ops ? k->shape : (struct shape){.ops = &root_ops, .node = k->fields};
}
