/*
 * kind_event_new.c - events.k8s.io/v1 Event: the events of core/v1 under newer names
 *
 * An event is stored in the form of core/v1. Members with the same name in both forms stay as they
 * are.
 */

#include "kinds/event_fields.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "model/names.h"

static const char *const types[] = {"Normal", "Warning", NULL};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_TIME("eventTime", "The first occurrence, in microseconds.", .is_required = true),
    F_OBJECT("series", event_series_fields, "The event's series."),
    F_STRING("reportingController", "The reporting controller: example.com/controller.",
             .is_required = true, .size_max = 253, .check = name_check_qualified),
    F_STRING("reportingInstance", "The instance of the controller.", .is_required = true,
             .size_max = 128),
    F_STRING("action", "The action on the object.", .is_required = true, .size_max = 128),
    F_STRING("reason", "The reason in CamelCase, for programs.", .is_required = true,
             .size_max = 128),
    F_OBJECT("regarding", object_reference_fields, "The object of the event.", .is_atomic = true),
    F_OBJECT("related", object_reference_fields, "A second object of the event.",
             .is_atomic = true),
    F_STRING("note", "The message for users.", .size_max = 8 << 10),
    F_STRING("type", "Normal or Warning.", .is_required = true, .values = types),
    F_OBJECT("deprecatedSource", event_source_fields, "The source in core/v1."),
    F_TIME("deprecatedFirstTimestamp", "The firstTimestamp in core/v1."),
    F_TIME("deprecatedLastTimestamp", "The lastTimestamp in core/v1."),
    F_INT("deprecatedCount", "The count in core/v1.", .max = INT32_MAX),
    F_END,
};

/* The names of a member in this version and in core/v1. */
static const char *const renamed[][2] = {
    {"reportingController", "reportingComponent"},
    {"regarding", "involvedObject"},
    {"note", "message"},
    {"deprecatedSource", "source"},
    {"deprecatedFirstTimestamp", "firstTimestamp"},
    {"deprecatedLastTimestamp", "lastTimestamp"},
    {"deprecatedCount", "count"},
};

static void rename_members(json_t *object, size_t from, const char *api_version)
{
    json_put_text(object, "apiVersion", api_version);
    for (size_t i = 0; i < COUNT(renamed); i++) {
        json_t *value = json_object_get(object, renamed[i][from]);

        if (!value)
            continue;
        json_put(object, renamed[i][1 - from], json_incref(value));
        (void)json_object_del(object, renamed[i][from]); /* present */
    }
}

static void to_kept(json_t *object)
{
    rename_members(object, 0, "v1");
}

static void from_kept(json_t *object)
{
    rename_members(object, 1, "events.k8s.io/v1");
}

static json_t *event_new_cells(const json_t *object, int64_t now_ns)
{
    json_t *kept =
        json_copy((json_t *)(uintptr_t)object); /* shallow: only top-level members are renamed */
    json_t *row;

    to_kept(kept);
    row = kind_event.cells(kept, now_ns);
    json_decref(kept);
    return row;
}

/* In the order of event_selectable. */
static const char *const selectable[] = {
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
    NULL,
};

const struct kind kind_event_new = {
    .group = "events.k8s.io",
    .version = "v1",
    .api_version = "events.k8s.io/v1",
    .kind = "Event",
    .plural = "events",
    .singular = "event",
    .short_names = {"ev"},
    .is_namespaced = true,
    .fields = fields,
    .columns = event_columns,
    .cells = event_new_cells,
    .selectable = selectable,
    .kept_selectable = event_selectable,
    .doc = "An occurrence at an object; deleted after a while.",
    .kept_as = &kind_event,
    .checks_creation = true,
    .to_kept = to_kept,
    .from_kept = from_kept,
};
