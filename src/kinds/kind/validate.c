/* validate.c - values checked by a schema, in Kubernetes' words, then by the kind's own rules */

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "kinds/custom/custom_form.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/kind.h"
#include "kinds/kind/value.h"
#include "model/names.h"
#include "model/quantity.h"

enum {
    ITEMS_MAX = 1024,
    STRING_MAX = 32 << 10,
    ANNOTATIONS_MAX = 256 << 10
};

static void validate_value(struct causes *c, const struct field *f, const struct path *at,
                           json_t *value);

static void validate_string(struct causes *c, const struct field *f, const struct path *at,
                            const json_t *value)
{
    const char *text = json_string_value(value);
    size_t max = f->size_max > 0 ? f->size_max : STRING_MAX;
    bool is_allowed = !f->values || !*text;

    if (json_string_length(value) > max) {
        cause_too_long(c, at, max);
        return;
    }
    for (size_t i = 0; !is_allowed && f->values[i]; i++)
        is_allowed = text_equal(f->values[i], text);
    if (!is_allowed)
        cause_unsupported(c, at, text, f->values);
    else if (f->check)
        cause_take(c, at, text, f->check(text));
}

static void validate_int(struct causes *c, const struct field *f, const struct path *at,
                         const json_t *value)
{
    int64_t number = json_integer_value(value);
    AUTO_FREE char *detail = NULL;

    if (f->max <= f->min || (number >= f->min && number <= f->max))
        return;
    if (f->max >= INT32_MAX && number < f->min)
        detail = mem_format("must be greater than or equal to %" PRId64, f->min);
    else if (f->max >= INT32_MAX)
        detail = mem_format("must be less than or equal to %" PRId64, f->max);
    else
        detail =
            mem_format("must be between %" PRId64 " and %" PRId64 ", inclusive", f->min, f->max);
    cause_invalid_int(c, at, number, detail);
}

static void validate_quantity(struct causes *c, const struct path *at, const json_t *value)
{
    const char *text = json_string_value(value);

    if (text && *text == '-')
        cause_invalid(c, at, text, "must be greater than or equal to 0");
}

static bool is_missing(const json_t *value)
{
    if (json_is_string(value))
        return json_string_length(value) == 0;
    if (json_is_array(value))
        return json_array_size(value) == 0;
    return !value || json_is_null(value);
}

static void validate_object(struct causes *c, const struct field *fields, const struct path *at,
                            const json_t *object)
{
    for (const struct field *f = fields; f->name; f++) {
        json_t *value = json_object_get(object, f->name);
        const struct path *here = PATH(at, f->name);

        if (f->is_required && is_missing(value))
            cause_required(c, here, "");
        else if (f->support == FIELD_REFUSED && !value_is_harmless(f, value))
            cause_forbidden(c, here, f->instead ? f->instead : cause_not_implemented);
        else if (value && f->support != FIELD_REFUSED)
            validate_value(c, f, here, value);
    }
}

static bool has_key_before(const json_t *list, const char *merge_key, size_t end)
{
    const json_t *key = json_object_get(json_array_get(list, end), merge_key);

    for (size_t i = 0; key && i < end; i++) {
        const json_t *other = json_object_get(json_array_get(list, i), merge_key);

        if (other && json_equal(other, key))
            return true;
    }
    return false;
}

static void validate_list(struct causes *c, const struct field *f, const struct path *at,
                          const json_t *list)
{
    size_t max = f->items_max > 0 ? f->items_max : ITEMS_MAX;
    size_t n = json_array_size(list);

    if (n > max) {
        cause_too_many(c, at, n, max);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        json_t *item = json_array_get(list, i);
        const struct path *here = PATH_INDEX(at, i);

        validate_value(c, f->item, here, item);
        if (f->is_unique && has_key_before(list, f->merge_key, i)) {
            const char *key = json_text(item, f->merge_key);

            cause_duplicate(c, PATH(here, f->merge_key), key ? key : "");
        }
    }
}

/*
 * As in Kubernetes, faults of labels and the like name the map, faults of other maps name the key.
 */
static void validate_map(struct causes *c, const struct field *f, const struct path *at,
                         json_t *map)
{
    size_t max = f->items_max > 0 ? f->items_max : ITEMS_MAX;
    bool is_labels = f->check_key == name_check_qualified && f->item->type == FIELD_STRING;
    const char *key;
    json_t *value;

    if (json_object_size(map) > max) {
        cause_too_many(c, at, json_object_size(map), max);
        return;
    }
    json_object_foreach (map, key, value) {
        const struct path *here = is_labels ? at : PATH_KEY(at, key);

        if (f->check_key)
            cause_take(c, here, key, f->check_key(key));
        validate_value(c, f->item, here, value);
    }
}

static void validate_value(struct causes *c, const struct field *f, const struct path *at,
                           json_t *value)
{
    switch (f->type) {
    case FIELD_STRING:
        validate_string(c, f, at, value);
        break;
    case FIELD_INT:
        validate_int(c, f, at, value);
        break;
    case FIELD_QUANTITY:
        validate_quantity(c, at, value);
        break;
    case FIELD_OBJECT:
        validate_object(c, f->fields, at, value);
        break;
    case FIELD_LIST:
        validate_list(c, f, at, value);
        break;
    case FIELD_MAP:
        validate_map(c, f, at, value);
        break;
    case FIELD_BOOL:
    case FIELD_INT_OR_STRING:
    case FIELD_TIME:
    case FIELD_BYTES:
    case FIELD_ANY:
        break;
    }
}

static void validate_name(struct causes *c, const struct kind *k, const json_t *metadata)
{
    const char *name = json_text(metadata, "name");
    const char *prefix = json_text(metadata, "generateName");
    const struct path *at = PATH(PATH(NULL, "metadata"), "name");

    if ((!name || !*name) && (!prefix || !*prefix))
        cause_required(c, at, "name or generateName is required");
    else if (name && *name) /* a name still to be generated is absent */
        cause_take(c, at, name, k->check_name ? k->check_name(name) : name_check_subdomain(name));
}

static void validate_annotations(struct causes *c, const json_t *metadata)
{
    json_t *annotations = json_object_get(metadata, "annotations");
    size_t size = 0;
    const char *key;
    json_t *value;

    json_object_foreach (annotations, key, value) {
        if (json_string_length(value) > ANNOTATIONS_MAX)
            return; /* the schema reports it */
        size += strlen(key) + json_string_length(value);
    }
    if (size > ANNOTATIONS_MAX)
        cause_too_long(c, PATH(PATH(NULL, "metadata"), "annotations"), ANNOTATIONS_MAX);
}

struct err *kind_validate(const struct kind *k, const json_t *object)
{
    return kind_validate_update(k, NULL, object, NULL);
}

struct err *kind_validate_update(const struct kind *k, const json_t *before, const json_t *object,
                                 const char *subresource)
{
    AUTO(causes_done) struct causes causes = {0};
    const json_t *metadata = json_object_get(object, "metadata");
    const char *name = json_text(metadata, "name");

    validate_name(&causes, k, metadata);
    validate_annotations(&causes, metadata);
    validate_object(&causes, k->fields, NULL, object);
    if (k->is_custom)
        custom_form_validate(k, object, before,
                             text_equal(subresource, "status") ? subresource : NULL, &causes);
    if (k->validate)
        k->validate(object, &causes);
    return causes_err_of(&causes, k, name ? name : "");
}
