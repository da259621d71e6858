/* table.c - lists as meta.k8s.io/v1 Tables, which kubectl prints */

#include <inttypes.h>

#include "base/stamp.h"
#include "kinds/custom/custom_form.h"
#include "kinds/kind/kind.h"

static const struct column default_columns[] = {
    {"Name", "string", "name", 0, "The name of the object."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static const struct column *columns_of(const struct kind *k)
{
    return k->columns ? k->columns : default_columns;
}

static bool is_date(const struct column *column)
{
    return text_equal(column->type, "date");
}

static json_t *format_definitions(const struct kind *k)
{
    json_t *list = json_array();

    for (const struct column *column = columns_of(k); column->name; column++) {
        json_t *definition = json_object();

        json_put_text(definition, "name", column->name);
        json_put_text(definition, "type",
                      is_date(column) && !k->is_custom ? "string" : column->type);
        json_put_text(definition, "format", column->format);
        json_put_text(definition, "description", column->doc);
        json_put_int(definition, "priority", column->priority);
        (void)json_array_append_new(list, definition);
    }
    return list;
}

static json_t *format_age(const json_t *stamp, int64_t now_ns)
{
    char age[STAMP_TEXT_SIZE];
    int64_t stamp_ns = 0;
    struct err *e;

    if (!json_is_string(stamp))
        return json_string("<unknown>");
    e = stamp_parse(str_of(json_string_value(stamp)), &stamp_ns);
    if (e) {
        err_free(e);
        return json_string("<invalid>");
    }
    stamp_format_age(now_ns - stamp_ns, age);
    return json_string(age);
}

static json_t *default_cells(const json_t *object)
{
    const char *name = json_text_at(object, "metadata", "name", NULL);
    json_t *created = json_at(object, "metadata", "creationTimestamp", NULL);
    json_t *row = json_array();

    (void)json_array_append_new(row, json_string(name ? name : ""));
    (void)json_array_append_new(row, created ? json_incref(created) : json_null());
    return row;
}

static json_t *format_cells(const struct kind *k, const json_t *object, int64_t now_ns)
{
    const struct column *columns = columns_of(k);
    json_t *cells;

    if (k->is_custom && k->columns)
        return custom_form_cells(k, object, now_ns);
    cells = k->cells ? k->cells(object, now_ns) : default_cells(object);
    for (size_t i = 0; columns[i].name && i < json_array_size(cells); i++)
        if (is_date(&columns[i]))
            (void)json_array_set_new(cells, i, format_age(json_array_get(cells, i), now_ns));
    return cells;
}

static json_t *format_object(json_t *object, const char *include)
{
    json_t *partial;
    json_t *metadata = json_object_get(object, "metadata");

    if (text_equal(include, "None"))
        return json_null();
    if (text_equal(include, "Object"))
        return json_incref(object);
    partial = json_object();
    json_put_text(partial, "kind", "PartialObjectMetadata");
    json_put_text(partial, "apiVersion", "meta.k8s.io/v1");
    json_put(partial, "metadata", metadata ? json_incref(metadata) : json_object());
    return partial;
}

json_t *table_format(const struct kind *k, const json_t *objects, int64_t revision,
                     const char *include_object, int64_t now_ns)
{
    json_t *table = json_object();
    json_t *metadata = json_object();
    json_t *rows = json_array();
    struct buf version = {0};

    buf_printf(&version, "%" PRId64, revision);
    json_put_text(metadata, "resourceVersion", version.at);
    buf_done(&version);
    for (size_t i = 0; i < json_array_size(objects); i++) {
        json_t *object = json_array_get(objects, i);
        json_t *row = json_object();

        json_put(row, "cells", format_cells(k, object, now_ns));
        json_put(row, "object", format_object(object, include_object));
        (void)json_array_append_new(rows, row);
    }
    json_put_text(table, "kind", "Table");
    json_put_text(table, "apiVersion", "meta.k8s.io/v1");
    json_put(table, "metadata", metadata);
    json_put(table, "columnDefinitions", format_definitions(k));
    json_put(table, "rows", rows);
    return table;
}
