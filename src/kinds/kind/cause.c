/* cause.c - causes collected and formatted as Kubernetes does */

#include "kinds/kind/cause.h"

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/kind/kind.h"

enum {
    VALUE_SHOWN_MAX = 256,
    PATH_SHOWN_MAX = 1024
};

const char cause_not_implemented[] = "is not implemented by mete yet";

void path_add(struct buf *out, const struct path *p)
{
    if (p->up)
        path_add(out, p->up);
    switch (p->part) {
    case PATH_IS_NAME:
        if (p->up)
            buf_add_char(out, '.');
        buf_add_text(out, p->name);
        break;
    case PATH_IS_INDEX:
        buf_printf(out, "[%zu]", p->index);
        break;
    case PATH_IS_KEY:
        buf_printf(out, "[%.*s]", VALUE_SHOWN_MAX, p->name);
        break;
    }
}

void causes_done(struct causes *c)
{
    buf_done(&c->text);
    json_decref(c->details);
    *c = (struct causes){0};
}

void cause_add(struct causes *c, const struct path *at, const char *reason, const char *body)
{
    struct buf field = {.cap = PATH_SHOWN_MAX};
    json_t *detail;

    c->n++;
    if (c->n > CAUSES_MAX)
        return;
    if (at)
        path_add(&field, at);
    else
        buf_add_text(&field, "<nil>");
    if (c->n > 1)
        buf_add_text(&c->text, ", ");
    buf_printf(&c->text, "%s: %s", field.at ? field.at : "", body);
    detail = json_object();
    json_put_text(detail, "reason", reason);
    json_put_text(detail, "message", body);
    json_put_text(detail, "field", field.at);
    if (!c->details)
        c->details = json_array();
    (void)json_array_append_new(c->details, detail); /* cannot fail */
    buf_done(&field);
}

/* The value as a quoted JSON string, truncated for display. Heap. */
static char *cause_quote(const char *value)
{
    struct buf out = {0};
    struct str shown = str_of(value ? value : "");

    if (shown.size <= VALUE_SHOWN_MAX) {
        json_add_quoted(&out, shown);
    } else {
        AUTO_FREE char *cut = mem_format("%.*s...", VALUE_SHOWN_MAX, value);

        json_add_quoted(&out, str_of(cut));
    }
    return buf_steal(&out);
}

void cause_required(struct causes *c, const struct path *at, const char *detail)
{
    AUTO_FREE char *body = mem_format("Required value%s%s", *detail ? ": " : "", detail);

    cause_add(c, at, "FieldValueRequired", body);
}

void cause_invalid(struct causes *c, const struct path *at, const char *value, const char *detail)
{
    AUTO_FREE char *shown = cause_quote(value);
    AUTO_FREE char *body = mem_format("Invalid value: %s: %s", shown, detail);

    cause_add(c, at, "FieldValueInvalid", body);
}

/* The text of a value in an error, truncated. Heap. */
static char *cause_show(const json_t *value)
{
    AUTO_FREE char *text = NULL;

    if (!value || json_is_string(value))
        return cause_quote(json_string_value(value));
    text = json_format(value);
    if (strlen(text) <= VALUE_SHOWN_MAX)
        return TAKE(text);
    return mem_format("%.*s...", VALUE_SHOWN_MAX, text);
}

void cause_invalid_json(struct causes *c, const struct path *at, const json_t *value,
                        const char *detail)
{
    AUTO_FREE char *shown = cause_show(value);
    AUTO_FREE char *body = mem_format("Invalid value: %s: %s", shown, detail);

    cause_add(c, at, "FieldValueInvalid", body);
}

void cause_type_invalid(struct causes *c, const struct path *at, const char *value,
                        const char *detail)
{
    AUTO_FREE char *shown = cause_quote(value);
    AUTO_FREE char *body = mem_format("Invalid value: %s: %s", shown, detail);

    cause_add(c, at, "FieldValueTypeInvalid", body);
}

void cause_unsupported_json(struct causes *c, const struct path *at, const json_t *value,
                            const json_t *supported)
{
    AUTO_FREE char *shown = cause_show(value);
    struct buf out = {.cap = 4096};

    buf_printf(&out, "Unsupported value: %s: supported values: ", shown);
    for (size_t i = 0; i < json_array_size(supported); i++) {
        const json_t *one = json_array_get(supported, i);
        AUTO_FREE char *text = json_is_string(one) ? NULL : json_format(one);

        buf_printf(&out, "%s\"%s\"", i > 0 ? ", " : "", text ? text : json_string_value(one));
    }
    cause_add(c, at, "FieldValueNotSupported", out.at);
    buf_done(&out);
}

void cause_duplicate_json(struct causes *c, const struct path *at, const json_t *value)
{
    AUTO_FREE char *shown = cause_show(value);
    AUTO_FREE char *body = mem_format("Duplicate value: %s", shown);

    cause_add(c, at, "FieldValueDuplicate", body);
}

void cause_invalid_int(struct causes *c, const struct path *at, int64_t value, const char *detail)
{
    AUTO_FREE char *body = mem_format("Invalid value: %" PRId64 ": %s", value, detail);

    cause_add(c, at, "FieldValueInvalid", body);
}

void cause_unsupported(struct causes *c, const struct path *at, const char *value,
                       const char *const *supported)
{
    cause_unsupported_why(c, at, value, supported, "");
}

void cause_unsupported_why(struct causes *c, const struct path *at, const char *value,
                           const char *const *supported, const char *why)
{
    AUTO_FREE char *shown = cause_quote(value);
    AUTO_FREE char *body = NULL;
    struct buf out = {0};

    buf_printf(&out, "Unsupported value: %s: supported values: ", shown);
    for (size_t i = 0; supported[i]; i++)
        buf_printf(&out, "%s\"%s\"", i > 0 ? ", " : "", supported[i]);
    buf_printf(&out, "%s%s", *why ? ": " : "", why);
    body = buf_steal(&out);
    cause_add(c, at, "FieldValueNotSupported", body);
}

void cause_duplicate(struct causes *c, const struct path *at, const char *value)
{
    AUTO_FREE char *shown = cause_quote(value);
    AUTO_FREE char *body = mem_format("Duplicate value: %s", shown);

    cause_add(c, at, "FieldValueDuplicate", body);
}

void cause_forbidden(struct causes *c, const struct path *at, const char *detail)
{
    AUTO_FREE char *body = mem_format("Forbidden: %s", detail);

    cause_add(c, at, "FieldValueForbidden", body);
}

void cause_too_long(struct causes *c, const struct path *at, size_t max_bytes)
{
    AUTO_FREE char *body = mem_format("Too long: may not be more than %zu bytes", max_bytes);

    cause_add(c, at, "FieldValueTooLong", body);
}

void cause_too_many(struct causes *c, const struct path *at, size_t found, size_t max)
{
    AUTO_FREE char *body = mem_format("Too many: %zu: must have at most %zu items", found, max);

    cause_add(c, at, "FieldValueTooMany", body);
}

void cause_not_found(struct causes *c, const struct path *at, const char *value)
{
    AUTO_FREE char *shown = cause_quote(value);
    AUTO_FREE char *body = mem_format("Not found: %s", shown);

    cause_add(c, at, "FieldValueNotFound", body);
}

void cause_take(struct causes *c, const struct path *at, const char *value, struct err *e)
{
    AUTO(err_freep) struct err *mine = e;

    if (mine)
        cause_invalid(c, at, value, err_message(mine));
}

void cause_if_immutable(struct causes *c, const json_t *before, const json_t *after,
                        const char *key)
{
    const json_t *was = json_object_get(before, key);
    const json_t *is = json_object_get(after, key);
    bool is_same = json_equal(was, is) || (json_object_size(was) == 0 && json_object_size(is) == 0);

    if (!json_bool(before, "immutable", false))
        return;
    if (!json_bool(after, "immutable", false) && c->n == 0)
        cause_forbidden(c, PATH(NULL, "immutable"), "field is immutable when `immutable` is set");
    if (!is_same)
        cause_forbidden(c, PATH(NULL, key), "field is immutable when `immutable` is set");
}

struct err *causes_err(const struct causes *c, const char *kind, const char *name)
{
    AUTO_FREE char *more = NULL;
    struct err *e;

    if (c->n == 0)
        return NULL;
    if (c->n > CAUSES_MAX)
        more = mem_format(", and %zu more", c->n - CAUSES_MAX);
    e = err_new(ERR_INVALID,
                c->n > 1 ? "%s \"%s\" is invalid: [%s%s]" : "%s \"%s\" is invalid: %s%s", kind,
                name, c->text.at, more ? more : "");
    return err_with_details(e, json_format(c->details));
}

struct err *causes_err_of(const struct causes *c, const struct kind *k, const char *name)
{
    AUTO_FREE char *full = NULL;

    if (c->n == 0)
        return NULL;
    full = mem_format("%s%s%s", k->kind, *k->group ? "." : "", k->group);
    return causes_err(c, full, name);
}

json_t *cause_list(const struct err *e)
{
    const char *text = err_details(e);
    json_t *list = text ? json_loads(text, 0, NULL) : NULL;

    return json_is_array(list) ? list : json_array();
}
