/* custom_form.c - one version of a definition, read once */

#include "kinds/custom/custom_form.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "kinds/custom/custom_path.h"
#include "kinds/kind/fields.h"

enum {
    COLUMNS_MAX = 64,
    SELECTABLE_MAX = 8,
    NUMBER_SIZE = 32
};

struct form_column {
    struct custom_path *path;
    bool is_text;
    bool is_date;
};

struct custom_form {
    json_t *version; /* holds the texts */
    struct schema *schema;
    VEC(struct column) columns; /* ends with a NULL name */
    VEC(struct form_column) cells;
    VEC(const char *) selectable; /* ends with NULL */
    VEC(char *) texts;
    struct custom_path *scale_spec; /* NULL: no scale */
    struct custom_path *scale_status;
    struct custom_path *scale_selector;
    bool has_status;
    bool is_terminating;
    int64_t since;
    char *deprecation;
    char number[NUMBER_SIZE]; /* of custom_form_selectable */
};

struct form_maker {
    struct custom_form *form;
    const struct path *at;
    bool is_hoisted;
    struct causes *causes;
};

/* ---- columns ---- */

static const struct column name_column = {"Name", "string", "name", 0,
                                          "The name, unique among the objects of its kind in its "
                                          "namespace."};

static bool is_one_of(const char *text, const char *const *list)
{
    for (size_t i = 0; list[i]; i++)
        if (text_equal(text, list[i]))
            return true;
    return false;
}

/* Reads a path of a definition; NULL with a cause. */
static struct custom_path *read_path(struct form_maker *m, const char *text, const struct path *at)
{
    struct custom_path *path = NULL;
    AUTO(err_freep) struct err *e = NULL;

    if (*text != '.') {
        cause_invalid(m->causes, at, text, "must be a simple json path starting with .");
        return NULL;
    }
    e = custom_path_parse(text, &path);
    if (!e)
        return path;
    cause_invalid(m->causes, at, text, err_message(e));
    return NULL;
}

static void read_column(struct form_maker *m, const json_t *column, const struct path *at)
{
    static const char *const types[] = {"integer", "number", "string", "boolean", "date", NULL};
    static const char *const formats[] = {"int32", "int64",     "float",    "double", "byte",
                                          "date",  "date-time", "password", NULL};
    const char *name = json_text_filled(column, "name");
    const char *type = json_text_filled(column, "type");
    const char *format = json_text_filled(column, "format");
    const char *text = json_text_filled(column, "jsonPath");
    const char *doc = json_text_filled(column, "description");
    struct custom_path *path = NULL;

    if (!name)
        cause_required(m->causes, PATH(at, "name"), "");
    if (!type)
        cause_required(m->causes, PATH(at, "type"),
                       "must be one of boolean,date,integer,number,string");
    else if (!is_one_of(type, types))
        cause_invalid(m->causes, PATH(at, "type"), type,
                      "must be one of boolean,date,integer,number,string");
    if (format && !is_one_of(format, formats))
        cause_invalid(m->causes, PATH(at, "format"), format,
                      "must be one of byte,date,date-time,double,float,int32,int64,password");
    if (!text)
        cause_required(m->causes, PATH(at, "JSONPath"), "");
    else
        path = read_path(m, text, PATH(at, "JSONPath"));
    if (!path)
        return;
    if (!doc) {
        vec_add(&m->form->texts,
                mem_format("Custom resource definition column (in JSONPath format): %s", text));
        doc = m->form->texts.at[m->form->texts.n - 1];
    }
    vec_add(&m->form->columns,
            (struct column){name ? name : "", type ? type : "", format ? format : "",
                            (int)json_int(column, "priority", 0), doc});
    vec_add(&m->form->cells,
            (struct form_column){path, text_equal(type, "string"), text_equal(type, "date")});
}

static void add_age(struct custom_form *f)
{
    struct custom_path *path = NULL;
    struct err *e = custom_path_parse(".metadata.creationTimestamp", &path);

    err_free(e); /* a constant: cannot fail */
    vec_add(&f->columns, (struct column){"Age", "date", "", 0, "Time since the creation."});
    vec_add(&f->cells, (struct form_column){.path = path, .is_date = true});
}

static void read_columns(struct form_maker *m, const json_t *version)
{
    const json_t *list = json_object_get(version, "additionalPrinterColumns");
    const struct path *at = PATH(m->is_hoisted ? m->at->up->up : m->at, "additionalPrinterColumns");

    vec_add(&m->form->columns, name_column);
    if (json_array_size(list) > COLUMNS_MAX)
        cause_too_many(m->causes, at, json_array_size(list), COLUMNS_MAX);
    for (size_t i = 0; i < json_array_size(list) && i < COLUMNS_MAX; i++)
        read_column(m, json_array_get(list, i), PATH_INDEX(at, i));
    if (json_array_size(list) == 0)
        add_age(m->form);
    vec_add(&m->form->columns, (struct column){0});
}

/* ---- subresources ---- */

static struct custom_path *read_scale_path(struct form_maker *m, const json_t *scale,
                                           const char *key, const char *prefix,
                                           const struct path *at)
{
    const char *text = json_text_filled(scale, key);
    AUTO_FREE char *name = mem_format("scale.%s", key);
    AUTO_FREE char *detail = NULL;
    struct custom_path *path;

    if (!text) {
        cause_required(m->causes, PATH(at, name), "");
        return NULL;
    }
    path = read_path(m, text, PATH(at, name));
    if (path && text_starts_with(text, prefix) && custom_path_is_plain(path))
        return path;
    if (path) {
        detail = mem_format("should be a json path under %.*s", (int)strlen(prefix) - 1, prefix);
        cause_invalid(m->causes, PATH(at, name), text, detail);
    }
    custom_path_free(path);
    return NULL;
}

static void read_subresources(struct form_maker *m, const json_t *version)
{
    const json_t *subresources = json_object_get(version, "subresources");
    const json_t *scale = json_object_get(subresources, "scale");
    const struct path *at = PATH(m->is_hoisted ? m->at->up->up : m->at, "subresources");
    const char *selector = json_text_filled(scale, "labelSelectorPath");
    struct custom_form *f = m->form;

    f->has_status = json_is_object(json_object_get(subresources, "status"));
    if (!json_is_object(scale))
        return;
    f->scale_spec = read_scale_path(m, scale, "specReplicasPath", ".spec.", at);
    f->scale_status = read_scale_path(m, scale, "statusReplicasPath", ".status.", at);
    if (!selector)
        return;
    f->scale_selector = read_path(m, selector, PATH(at, "scale.labelSelectorPath"));
    if (!text_starts_with(selector, ".spec.") && !text_starts_with(selector, ".status."))
        cause_invalid(m->causes, PATH(at, "scale.labelSelectorPath"), selector,
                      "should be a json path under either .spec or .status");
}

/* ---- schema, selectable fields ---- */

static void read_schema(struct form_maker *m, const json_t *version)
{
    const struct path *parent =
        m->is_hoisted ? PATH(m->at->up->up, "validation") : PATH(m->at, "schema");
    const struct path *at = PATH(parent, "openAPIV3Schema");
    json_t *source = json_at(version, "schema", "openAPIV3Schema", NULL);

    if (!json_is_object(source))
        cause_required(m->causes, PATH(PATH(m->at, "schema"), "openAPIV3Schema"), "");
    else
        m->form->schema = schema_new(source, at, m->causes);
}

static void read_selectable(struct form_maker *m, const json_t *field, const struct path *at)
{
    const char *text = json_text_filled(field, "jsonPath");
    const struct path *here = PATH(at, "jsonPath");
    const char *type;

    if (!text) {
        cause_required(m->causes, here, "");
        return;
    }
    if (*text != '.' || !m->form->schema)
        return;
    type = schema_type_at(m->form->schema, text + 1);
    if (text_starts_with(text, ".metadata"))
        cause_invalid(m->causes, here, text, "must not point to fields in metadata");
    else if (!type)
        cause_invalid(m->causes, here, text, "is an invalid path: does not refer to a valid field");
    else if (!text_equal(type, "string") && !text_equal(type, "boolean") &&
             !text_equal(type, "integer"))
        cause_invalid(m->causes, here, text,
                      "must point to a field of type string, boolean or integer. Enum string "
                      "fields and strings with formats are allowed.");
    VEC_EACH (&m->form->selectable, other)
        if (text_equal(*other, text + 1))
            cause_duplicate(m->causes, here, text);
    vec_add(&m->form->selectable, text + 1);
}

static void read_selectables(struct form_maker *m, const json_t *version)
{
    const json_t *list = json_object_get(version, "selectableFields");
    const struct path *at = PATH(m->at, "selectableFields");

    if (json_array_size(list) > SELECTABLE_MAX)
        cause_too_many(m->causes, at, json_array_size(list), SELECTABLE_MAX);
    for (size_t i = 0; i < json_array_size(list) && i < SELECTABLE_MAX; i++)
        read_selectable(m, json_array_get(list, i), PATH_INDEX(at, i));
    vec_add(&m->form->selectable, NULL);
}

static void read_deprecation(struct form_maker *m, const json_t *version)
{
    const char *text = json_text(version, "deprecationWarning");

    if (json_bool(version, "deprecated", false))
        m->form->deprecation = mem_strdup(text ? text : "");
    else if (text)
        cause_invalid(m->causes, PATH(m->at, "deprecationWarning"), text,
                      "can only be set for deprecated versions");
}

struct custom_form *custom_form_new(json_t *version, const struct path *at, bool is_hoisted,
                                    struct causes *causes)
{
    struct custom_form *f = mem_alloc(sizeof(*f));
    struct form_maker m = {.form = f, .at = at, .is_hoisted = is_hoisted, .causes = causes};
    size_t before = causes->n;

    f->version = json_incref(version);
    read_schema(&m, version);
    read_columns(&m, version);
    read_subresources(&m, version);
    read_selectables(&m, version);
    read_deprecation(&m, version);
    if (causes->n == before)
        return f;
    custom_form_free(f);
    return NULL;
}

void custom_form_free(struct custom_form *f)
{
    if (!f)
        return;
    schema_free(f->schema);
    VEC_EACH (&f->cells, cell)
        custom_path_free(cell->path);
    VEC_EACH (&f->texts, text)
        free(*text);
    vec_done(&f->columns);
    vec_done(&f->cells);
    vec_done(&f->selectable);
    vec_done(&f->texts);
    custom_path_free(f->scale_spec);
    custom_path_free(f->scale_status);
    custom_path_free(f->scale_selector);
    free(f->deprecation);
    json_decref(f->version);
    free(f);
}

const struct schema *custom_form_schema(const struct custom_form *f)
{
    return f->schema;
}

const struct column *custom_form_columns(const struct custom_form *f)
{
    return f->columns.at;
}

const char *const *custom_form_selectables(const struct custom_form *f)
{
    return f->selectable.at;
}

bool custom_form_has_status(const struct custom_form *f)
{
    return f->has_status;
}

void custom_form_set_since(struct custom_form *f, int64_t revision)
{
    f->since = revision;
}

void custom_form_set_terminating(struct custom_form *f, bool is_terminating)
{
    f->is_terminating = is_terminating;
}

/* ---- questions about a kind ---- */

int64_t custom_form_since(const struct kind *k)
{
    return k->form ? k->form->since : 0;
}

bool custom_form_is_terminating(const struct kind *k)
{
    return !k->form || k->form->is_terminating;
}

const char *custom_form_deprecation(const struct kind *k)
{
    return k->form ? k->form->deprecation : NULL;
}

void custom_form_read(const struct kind *k, json_t *object)
{
    json_put_text(object, "apiVersion", k->api_version);
    (void)custom_form_shape(k, object, NULL);
}

size_t custom_form_shape(const struct kind *k, json_t *object, json_t *unknown)
{
    size_t n;

    if (!k->form)
        return 0;
    n = schema_prune(k->form->schema, object, unknown);
    schema_default(k->form->schema, object);
    return n;
}

void custom_form_validate(const struct kind *k, const json_t *object, const json_t *before,
                          const char *part, struct causes *causes)
{
    if (k->form)
        schema_validate(k->form->schema, object, before, part, causes);
}

bool custom_form_scale(const struct kind *k, struct custom_scale *ret)
{
    if (!k->form || !k->form->scale_spec)
        return false;
    *ret = (struct custom_scale){.spec = k->form->scale_spec,
                                 .status = k->form->scale_status,
                                 .selector = k->form->scale_selector};
    return true;
}

const char *custom_form_selectable(const struct kind *k, const json_t *object, const char *path)
{
    /* The form's own buffer: a caller compares the text at once. */
    struct custom_form *f = (struct custom_form *)(uintptr_t)k->form;
    const json_t *at = object;
    struct str rest = str_of(path);

    while (rest.at && at) {
        struct str part = str_cut(&rest, '.');

        at = json_object_getn(at, part.at, part.size);
    }
    if (json_is_boolean(at))
        return json_is_true(at) ? "true" : "false";
    if (!json_is_integer(at) || !f)
        return json_is_string(at) ? json_string_value(at) : "";
    (void)snprintf(f->number, sizeof(f->number), "%" PRId64, (int64_t)json_integer_value(at));
    return f->number;
}

/* ---- cells ---- */

static json_t *date_cell(const json_t *value, int64_t now_ns)
{
    char age[STAMP_TEXT_SIZE];
    int64_t stamp_ns = 0;
    AUTO(err_freep) struct err *e = NULL;

    if (!json_is_string(value))
        return json_string("<invalid>");
    e = stamp_parse(str_of(json_string_value(value)), &stamp_ns);
    if (e)
        return json_string("<invalid>");
    stamp_format_age(now_ns - stamp_ns, age);
    return json_string(age);
}

static json_t *cell_of(const struct form_column *column, json_t *value, int64_t now_ns)
{
    AUTO_FREE char *text = NULL;

    if (!value || json_is_null(value))
        return json_null();
    if (column->is_date)
        return date_cell(value, now_ns);
    if (!column->is_text || json_is_string(value))
        return json_incref(value);
    text = json_format(value);
    return json_string(text);
}

json_t *custom_form_cells(const struct kind *k, const json_t *object, int64_t now_ns)
{
    const char *name = json_text_at(object, "metadata", "name", NULL);
    json_t *row = json_array();

    (void)json_array_append_new(row, json_string(name ? name : ""));
    if (!k->form) {
        (void)json_array_append_new(row, cell_created(object));
        return row;
    }
    VEC_EACH (&k->form->cells, cell)
        (void)json_array_append_new(row,
                                    cell_of(cell, custom_path_find(cell->path, object), now_ns));
    return row;
}
