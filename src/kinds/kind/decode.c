/*
 * decode.c - JSON trees decoded to objects: types, unknown fields, canonical forms, defaults
 *
 * ERR_BAD_REQUEST for input that Go's decoder refuses, as in Kubernetes. null counts as absent. The
 * recursion is as deep as the input, which json_parse caps.
 */

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/custom/custom_form.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/value.h"
#include "model/quantity.h"

enum {
    UNKNOWN_SHOWN_MAX = 32,
    WARNINGS_MAX = 64,
    VALUE_SHOWN_MAX = 64
};

struct decoding {
    const struct kind *kind;
    enum field_validation how;
    json_t *warnings;   /* NULL: not wanted */
    struct buf unknown; /* `unknown field "a", unknown field "b"` */
    size_t n_unknown;
};

/* Recursive: lists, objects and maps hold values. */
static struct err *decode_value(struct decoding *d, const struct field *f, const struct path *at,
                                json_t *value, json_t **ret);

static struct err *cannot_handle(const struct decoding *d, const struct path *at, const char *fmt,
                                 ...) PRINTF(3, 4) MUST_CHECK;

static struct err *cannot_handle(const struct decoding *d, const struct path *at, const char *fmt,
                                 ...)
{
    AUTO(buf_done) struct buf path = {0};
    AUTO_FREE char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vformat(fmt, ap);
    va_end(ap);
    path_add(&path, at);
    return err_new(ERR_BAD_REQUEST, "%s in version \"%s\" cannot be handled as a %s: %s: %s",
                   d->kind->kind, d->kind->version, d->kind->kind, path.at, text);
}

static const char *json_type_name(const json_t *j)
{
    switch (json_typeof(j)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "bool";
    case JSON_NULL:
        return "null";
    default:
        return "value";
    }
}

static struct err *wrong_type(const struct decoding *d, const struct path *at, const json_t *value,
                              const char *want)
{
    return cannot_handle(d, at, "json: cannot unmarshal %s into a field of type %s",
                         json_type_name(value), want);
}

static void decode_warn(struct decoding *d, const struct path *at, const char *fmt, ...)
    PRINTF(3, 4);

/* Adds a warning. `fmt` has one %s, for the path. */
static void decode_warn(struct decoding *d, const struct path *at, const char *fmt, ...)
{
    AUTO(buf_done) struct buf path = {0};
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *tail = NULL;
    va_list ap;

    if (!d->warnings || json_array_size(d->warnings) >= WARNINGS_MAX)
        return;
    va_start(ap, fmt);
    tail = mem_vformat(fmt, ap);
    va_end(ap);
    path_add(&path, at);
    text = mem_format("%s: %s", path.at, tail);
    (void)json_array_append_new(d->warnings, json_string(text)); /* valid UTF-8: cannot fail */
}

static void note_unknown_text(struct decoding *d, const char *path)
{
    AUTO_FREE char *text = NULL;

    d->n_unknown++;
    if (d->how == VALIDATION_IGNORE || d->n_unknown > UNKNOWN_SHOWN_MAX)
        return;
    text = mem_format("unknown field \"%s\"", path);
    if (d->how == VALIDATION_STRICT)
        buf_printf(&d->unknown, "%s%s", d->n_unknown > 1 ? ", " : "", text);
    else if (d->warnings)
        (void)json_array_append_new(d->warnings, json_string(text)); /* as above */
}

static void note_unknown(struct decoding *d, const struct path *at)
{
    AUTO(buf_done) struct buf path = {0};

    path_add(&path, at);
    note_unknown_text(d, path.at);
}

static struct err *decode_quantity(const struct decoding *d, const struct path *at,
                                   const json_t *value, json_t **ret)
{
    AUTO(buf_done) struct buf number = {0};
    struct str text = {json_string_value(value), json_string_length(value)};
    char canonical[QUANTITY_TEXT_SIZE];
    struct quantity q = {0};
    struct err *e;

    if (json_is_number(value)) {
        if (json_is_integer(value))
            buf_printf(&number, "%" PRId64, (int64_t)json_integer_value(value));
        else
            json_add_real(&number, json_real_value(value));
        text = (struct str){number.at, number.size};
    } else if (!json_is_string(value)) {
        return wrong_type(d, at, value, "quantity");
    }
    e = quantity_parse(text, &q);
    if (e) {
        AUTO(err_freep) struct err *mine = e;

        return cannot_handle(d, at, "%s", err_message(mine));
    }
    quantity_format(q, canonical);
    if (!json_is_string(value) || !text_equal(canonical, json_string_value(value)))
        *ret = json_string(canonical);
    return NULL;
}

static struct err *decode_time(const struct decoding *d, const struct path *at, const json_t *value)
{
    int64_t stamp_ns = 0;
    struct err *e;

    if (!json_is_string(value))
        return wrong_type(d, at, value, "time");
    e = stamp_parse((struct str){json_string_value(value), json_string_length(value)}, &stamp_ns);
    if (e) {
        AUTO(err_freep) struct err *mine = e;

        return cannot_handle(d, at, "%s", err_message(mine));
    }
    return NULL;
}

static struct err *decode_bytes(const struct decoding *d, const struct path *at,
                                const json_t *value)
{
    size_t bad = 0;

    if (!json_is_string(value))
        return wrong_type(d, at, value, "[]byte");
    if (!base64_check((struct str){json_string_value(value), json_string_length(value)}, &bad))
        return cannot_handle(d, at, "illegal base64 data at input byte %zu", bad);
    return NULL;
}

/* The zero value, Go's value for null inside a list or map. NULL: the member is dropped. */
static json_t *zero_of(const struct field *f)
{
    switch (f->type) {
    case FIELD_STRING:
    case FIELD_BYTES:
        return json_string("");
    case FIELD_OBJECT:
        return json_object();
    case FIELD_INT:
        return json_integer(0);
    case FIELD_BOOL:
        return json_false();
    case FIELD_ANY:
        return json_null();
    case FIELD_QUANTITY:
        return json_string("0");
    case FIELD_INT_OR_STRING:
    case FIELD_TIME:
    case FIELD_LIST:
    case FIELD_MAP:
        break;
    }
    return NULL;
}

static const struct field *find_field(const struct field *fields, const char *name)
{
    for (; fields->name; fields++)
        if (text_equal(fields->name, name))
            return fields;
    return NULL;
}

static void warn_if_ignored(struct decoding *d, const struct field *f, const struct path *at,
                            const json_t *value)
{
    if (f->support == FIELD_IGNORED && !value_is_harmless(f, value))
        decode_warn(d, at, "%s; ignored", f->instead ? f->instead : cause_not_implemented);
}

static struct err *decode_object(struct decoding *d, const struct field *fields,
                                 const struct path *at, json_t *object)
{
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe (object, next, key, value) {
        const struct field *f = find_field(fields, key);
        const struct path *here = PATH(at, key);
        json_t *better = NULL;

        if (!f)
            note_unknown(d, here);
        if (!f || json_is_null(value)) {
            (void)json_object_del(object, key); /* present */
            continue;
        }
        warn_if_ignored(d, f, here, value);
        TRY(decode_value(d, f, here, value, &better));
        if (better)
            json_put(object, key, better);
    }
    return NULL;
}

static struct err *decode_map(struct decoding *d, const struct field *f, const struct path *at,
                              json_t *map)
{
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe (map, next, key, value) {
        json_t *better = NULL;

        if (json_is_null(value))
            better = zero_of(f->item);
        else
            TRY(decode_value(d, f->item, PATH_KEY(at, key), value, &better));
        if (better)
            json_put(map, key, better);
        else if (json_is_null(value))
            (void)json_object_del(map, key); /* present */
    }
    return NULL;
}

static struct err *decode_list(struct decoding *d, const struct field *f, const struct path *at,
                               json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *value = json_array_get(list, i);
        const struct path *here = PATH_INDEX(at, i);
        json_t *better = NULL;

        if (json_is_null(value))
            better = zero_of(f->item);
        else
            TRY(decode_value(d, f->item, here, value, &better));
        if (json_is_null(value) && !better)
            return wrong_type(d, here, value, "item of a list");
        if (better)
            (void)json_array_set_new(list, i, better); /* `i` is in range */
    }
    return NULL;
}

static struct err *decode_container(struct decoding *d, const struct field *f,
                                    const struct path *at, json_t *value)
{
    if (f->type == FIELD_LIST) {
        if (!json_is_array(value))
            return wrong_type(d, at, value, "list");
        return decode_list(d, f, at, value);
    }
    if (!json_is_object(value))
        return wrong_type(d, at, value, f->type == FIELD_MAP ? "map" : "object");
    if (f->type == FIELD_MAP)
        return decode_map(d, f, at, value);
    return decode_object(d, f->fields, at, value);
}

/* `*ret` is a new value that replaces `value`, or untouched. */
static struct err *decode_value(struct decoding *d, const struct field *f, const struct path *at,
                                json_t *value, json_t **ret)
{
    switch (f->type) {
    case FIELD_STRING:
        return json_is_string(value) ? NULL : wrong_type(d, at, value, "string");
    case FIELD_INT:
        return json_is_integer(value) ? NULL : wrong_type(d, at, value, "int64");
    case FIELD_BOOL:
        return json_is_boolean(value) ? NULL : wrong_type(d, at, value, "bool");
    case FIELD_INT_OR_STRING:
        return json_is_integer(value) || json_is_string(value)
                   ? NULL
                   : wrong_type(d, at, value, "int or string");
    case FIELD_QUANTITY:
        return decode_quantity(d, at, value, ret);
    case FIELD_TIME:
        return decode_time(d, at, value);
    case FIELD_BYTES:
        return decode_bytes(d, at, value);
    case FIELD_OBJECT:
    case FIELD_LIST:
    case FIELD_MAP:
        return decode_container(d, f, at, value);
    case FIELD_ANY:
        break;
    }
    return NULL;
}

/* apiVersion and kind must be the requested ones; absent ones are filled in. */
static struct err *decode_check_type(const struct kind *k, json_t *object)
{
    const char *version = json_text(object, "apiVersion");
    const char *kind = json_text(object, "kind");

    if (version && *version && !text_equal(version, k->api_version))
        return err_new(ERR_BAD_REQUEST,
                       "the API version in the data (%.*s) does not match the expected API "
                       "version (%s)",
                       VALUE_SHOWN_MAX, version, k->api_version);
    if (kind && *kind && !text_equal(kind, k->kind))
        return err_new(ERR_BAD_REQUEST,
                       "the kind in the data (%.*s) does not match the expected kind (%s)",
                       VALUE_SHOWN_MAX, kind, k->kind);
    json_put_text(object, "apiVersion", k->api_version);
    json_put_text(object, "kind", k->kind);
    return NULL;
}

static struct err *unknown_fields(const struct decoding *d)
{
    AUTO_FREE char *more = NULL;

    if (d->how != VALIDATION_STRICT || d->n_unknown == 0)
        return NULL;
    if (d->n_unknown > UNKNOWN_SHOWN_MAX)
        more = mem_format(", and %zu more", d->n_unknown - UNKNOWN_SHOWN_MAX);
    return err_new(ERR_BAD_REQUEST,
                   "%s in version \"%s\" cannot be handled as a %s: strict decoding error: %s%s",
                   d->kind->kind, d->kind->version, d->kind->kind, d->unknown.at, more ? more : "");
}

static void warn_of_version(const struct decoding *d)
{
    const char *text = custom_form_deprecation(d->kind);
    AUTO_FREE char *made = NULL;

    if (!text || !d->warnings)
        return;
    if (!*text)
        made = mem_format("%s %s is deprecated", d->kind->api_version, d->kind->kind);
    (void)json_array_append_new(d->warnings, json_string(made ? made : text)); /* as above */
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Notes unknown fields in the order of their paths, as Kubernetes does. */
static void note_all_unknown(struct decoding *d, const json_t *unknown)
{
    const char *paths[SCHEMA_UNKNOWN_MAX] = {NULL};
    size_t n = json_array_size(unknown);

    for (size_t i = 0; i < n; i++)
        paths[i] = json_string_value(json_array_get(unknown, i));
    if (n > 1)
        qsort(paths, n, sizeof(*paths), compare_texts);
    for (size_t i = 0; i < n; i++)
        note_unknown_text(d, paths[i]);
}

/* The table has the metadata of a custom object, its form has the rest. */
static struct err *decode_custom(struct decoding *d, json_t *object)
{
    AUTO(json_freep) json_t *unknown = json_array();
    json_t *metadata = json_object_get(object, "metadata");
    const char *key;
    json_t *value;
    void *next;
    size_t n;

    json_object_foreach_safe (object, next, key, value) /* parts may be shared with others */
        json_put(object, key, json_twin(value));
    metadata = json_object_get(object, "metadata");
    if (metadata && !json_is_object(metadata))
        return wrong_type(d, PATH(NULL, "metadata"), metadata, "object");
    if (metadata)
        TRY(decode_object(d, object_meta_fields, PATH(NULL, "metadata"), metadata));
    n = custom_form_shape(d->kind, object, unknown);
    note_all_unknown(d, unknown);
    d->n_unknown += n - json_array_size(unknown);
    warn_of_version(d);
    TRY(unknown_fields(d));
    value_set_defaults(d->kind->fields, object);
    return NULL;
}

static struct err *decode_all(struct decoding *d, json_t *object)
{
    TRY(decode_check_type(d->kind, object));
    if (d->kind->is_custom)
        return decode_custom(d, object);
    TRY(decode_object(d, d->kind->fields, NULL, object));
    TRY(unknown_fields(d));
    value_set_defaults(d->kind->fields, object);
    return NULL;
}

struct err *kind_decode(const struct kind *k, json_t *object, enum field_validation how,
                        json_t *warnings)
{
    struct decoding d = {.kind = k, .how = how, .warnings = warnings};
    struct err *e;

    if (!json_is_object(object))
        return err_new(ERR_BAD_REQUEST,
                       "%s in version \"%s\" cannot be handled as a %s: want a "
                       "JSON object",
                       k->kind, k->version, k->kind);
    e = decode_all(&d, object);
    buf_done(&d.unknown);
    return e;
}

struct err *kind_default(const struct kind *k, json_t *object, const struct kind_context *c)
{
    value_set_defaults(k->fields, object);
    if (k->set_defaults)
        k->set_defaults(object, c);
    return NULL;
}
