/* kind_event.c - core/v1 Event */

#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/event_fields.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"

const struct field event_source_fields[] = {
    F_STRING("component", "The reporting program.", .size_max = 256),
    F_STRING("host", "The program's node.", .size_max = 253),
    F_END,
};

const struct field event_series_fields[] = {
    F_INT("count", "The number of occurrences so far.", .max = INT32_MAX),
    F_TIME("lastObservedTime", "The last occurrence."),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("involvedObject", object_reference_fields, "The object of the event.",
             .is_required = true, .is_atomic = true),
    F_STRING("reason", "The reason in CamelCase, for programs.", .size_max = 1024),
    F_STRING("message", "The message for users.", .size_max = 8 << 10),
    F_OBJECT("source", event_source_fields, "The reporting component."),
    F_TIME("firstTimestamp", "The first occurrence."),
    F_TIME("lastTimestamp", "The last occurrence."),
    F_INT("count", "The number of occurrences.", .max = INT32_MAX),
    F_STRING("type", "Normal or Warning.", .size_max = 64),
    F_TIME("eventTime", "The first occurrence, in microseconds."),
    F_OBJECT("series", event_series_fields, "The event's series."),
    F_STRING("action", "The action on the object.", .size_max = 128),
    F_OBJECT("related", object_reference_fields, "A second object of the event.",
             .is_atomic = true),
    F_STRING("reportingComponent", "The reporting controller.", .size_max = 253),
    F_STRING("reportingInstance", "The instance of the controller.", .size_max = 128),
    F_END,
};

const struct column event_columns[] = {
    {"Last Seen", "string", "", 0, "Time since the last occurrence."},
    {"Type", "string", "", 0, "Normal or Warning."},
    {"Reason", "string", "", 0, "The reason."},
    {"Object", "string", "", 0, "The object of the event."},
    {"Subobject", "string", "", 1, "The part of the object."},
    {"Source", "string", "", 1, "The reporting component."},
    {"Message", "string", "", 0, "The message."},
    {"First Seen", "string", "", 1, "Time since the first occurrence."},
    {"Count", "string", "", 1, "The number of occurrences."},
    {"Name", "string", "name", 1, "The name of the event."},
    {0},
};

/* The age of a timestamp; "<unknown>" without one. */
static json_t *cell_age(const char *stamp, int64_t now_ns)
{
    char age[STAMP_TEXT_SIZE];
    int64_t stamp_ns = stamp_or(stamp, -1);

    if (stamp_ns < 0)
        return json_string("<unknown>");
    stamp_format_age(now_ns - stamp_ns, age);
    return json_string(age);
}

static json_t *cell_object(const json_t *object)
{
    const char *kind = json_text_at(object, "involvedObject", "kind", NULL);
    const char *name = json_text_at(object, "involvedObject", "name", NULL);
    AUTO_FREE char *text = mem_format("%s/%s", kind ? kind : "", name ? name : "");

    for (char *c = text; *c && *c != '/'; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    return json_string(text);
}

static json_t *cell_source(const json_t *object)
{
    const char *component = json_text_at(object, "source", "component", NULL);
    const char *host = json_text_at(object, "source", "host", NULL);
    AUTO_FREE char *text = NULL;

    if (!component)
        component = json_text(object, "reportingComponent");
    text = mem_format("%s%s%s", component ? component : "", host ? ", " : "", host ? host : "");
    return json_string(text);
}

static const char *either(const char *a, const char *b)
{
    return a ? a : b;
}

static json_t *event_cells(const json_t *object, int64_t now_ns)
{
    const json_t *series = json_object_get(object, "series");
    const char *at = json_text(object, "eventTime");
    const char *first = either(json_text(object, "firstTimestamp"), at);
    const char *last = either(json_text(object, "lastTimestamp"), first);
    const char *part = json_text_at(object, "involvedObject", "fieldPath", NULL);
    json_t *row = json_array();

    last = either(json_text(series, "lastObservedTime"), last);
    (void)json_array_append_new(row, cell_age(last, now_ns));
    (void)json_array_append_new(row, cell_text(json_text(object, "type"), ""));
    (void)json_array_append_new(row, cell_text(json_text(object, "reason"), ""));
    (void)json_array_append_new(row, cell_object(object));
    (void)json_array_append_new(row, cell_text(part, ""));
    (void)json_array_append_new(row, cell_source(object));
    (void)json_array_append_new(row, cell_text(json_text(object, "message"), ""));
    (void)json_array_append_new(row, cell_age(first, now_ns));
    (void)json_array_append_new(
        row, json_integer(json_int(series, "count", json_int(object, "count", 1))));
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    return row;
}

const char *const event_selectable[] = {
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "type",
    NULL,
};

const struct kind kind_event = {
    .is_unmanaged = true,
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .kind = "Event",
    .plural = "events",
    .singular = "event",
    .short_names = {"ev"},
    .is_namespaced = true,
    .fields = fields,
    .columns = event_columns,
    .cells = event_cells,
    .selectable = event_selectable,
    .doc = "An occurrence at an object; deleted after a while.",
};
