/* kind_reservation.c - mete.dev/v1 Reservation: room set aside in advance, or maintenance */

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"

enum {
    GPUS_MAX = 16384,
    NAMES_MAX = 4096
};

static const struct field spec_fields[] = {
    F_TIME("startTime", "The start of the reservation.", .is_required = true),
    F_TIME("endTime", "The end of the reservation.", .is_required = true),
    F_LIST("nodes", &string_item, "Nodes that are reserved whole.", .is_set_list = true,
           .items_max = NAMES_MAX),
    F_INT("gpus", "The number of whole gpus, chosen at creation.", .min = 1, .max = GPUS_MAX),
    F_LIST("gpuModels", &string_item, "Models of these gpus.", .is_set_list = true,
           .items_max = 64),
    F_LIST("queues", &string_item,
           "Queues whose jobs may use the reservation, with the queues below them.",
           .is_set_list = true, .items_max = NAMES_MAX),
    F_LIST("users", &string_item, "Users whose jobs may use the reservation.", .is_set_list = true,
           .items_max = NAMES_MAX),
    F_BOOL("maintenance", "Maintenance: the nodes are kept free of jobs."),
    F_END,
};

static const struct field status_fields[] = {
    F_STRING("phase", "pending, active, ended or refused.", .size_max = 32),
    F_STRING("message", "The reason of a refusal."),
    F_INT("gpus", "Healthy gpus of the reservation."),
    F_INT("gpusLate", "Gpus of the reservation whose present holders may stay past its start."),
    F_LIST("nodes", &string_item, "The nodes of these gpus.", .items_max = NAMES_MAX),
    F_LIST("gpuUuids", &string_item, "The uuids of the chosen gpus.", .items_max = GPUS_MAX),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The reserved nodes or gpus, the times, and the users.",
             .is_required = true),
    F_OBJECT("status", status_fields, "The present state."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the reservation."},
    {"Phase", "string", "", 0, "pending, active, ended or refused."},
    {"Start", "string", "", 0, "The start of the reservation."},
    {"End", "string", "", 0, "The end of the reservation."},
    {"What", "string", "", 0, "The reserved nodes or gpus."},
    {"For", "string", "", 0, "The queues and users of the reservation."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static const struct column_path paths[] = {
    {"Phase", ".status.phase"},
    {"Start", ".spec.startTime"},
    {"End", ".spec.endTime"},
    {"Age", ".metadata.creationTimestamp"},
    {0},
};

static void add_names(struct buf *out, const json_t *list, const char *before)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        buf_printf(out, "%s%s%s", out->size > 0 ? "," : "", before,
                   json_string_value(json_array_get(list, i)));
}

/* "4 h100", "gpu-01,gpu-02" */
static json_t *cell_what(const json_t *spec)
{
    struct buf out = {0};
    struct buf models = {0};
    AUTO_FREE char *text = NULL;

    add_names(&models, json_object_get(spec, "gpuModels"), "");
    if (json_int(spec, "gpus", 0) > 0)
        buf_printf(&out, "%" PRId64 " %s", json_int(spec, "gpus", 0),
                   models.size > 0 ? models.at : "gpus");
    else
        add_names(&out, json_object_get(spec, "nodes"), "");
    buf_done(&models);
    text = buf_steal(&out);
    return cell_text(text, "<none>");
}

static json_t *cell_for(const json_t *spec)
{
    struct buf out = {0};
    AUTO_FREE char *text = NULL;

    if (json_bool(spec, "maintenance", false))
        return json_string("maintenance");
    add_names(&out, json_object_get(spec, "queues"), "queue/");
    add_names(&out, json_object_get(spec, "users"), "user/");
    text = buf_steal(&out);
    return cell_text(text, "<none>");
}

static json_t *reservation_cells(const json_t *object, int64_t now_ns)
{
    const json_t *spec = json_object_get(object, "spec");
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_text(json_text_at(object, "status", "phase", NULL), ""));
    (void)json_array_append_new(row, cell_text(json_text(spec, "startTime"), ""));
    (void)json_array_append_new(row, cell_text(json_text(spec, "endTime"), ""));
    (void)json_array_append_new(row, cell_what(spec));
    (void)json_array_append_new(row, cell_for(spec));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

static void validate_times(const json_t *spec, const struct path *at, struct causes *causes)
{
    const char *start = json_text(spec, "startTime");
    const char *end = json_text(spec, "endTime");
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    AUTO(err_freep) struct err *e = NULL;
    AUTO(err_freep) struct err *other = NULL;

    if (!start || !end)
        return; /* the schema reports it */
    e = stamp_parse(str_of(start), &start_ns);
    other = stamp_parse(str_of(end), &end_ns);
    if (!e && !other && end_ns <= start_ns)
        cause_invalid(causes, PATH(at, "endTime"), end, "must be after startTime");
}

static void reservation_validate(const json_t *object, struct causes *causes)
{
    const json_t *spec = json_object_get(object, "spec");
    const struct path *at = PATH(NULL, "spec");
    bool has_nodes = json_array_size(json_object_get(spec, "nodes")) > 0;
    bool has_gpus = json_object_get(spec, "gpus") != NULL;
    bool is_for_some = json_array_size(json_object_get(spec, "queues")) > 0 ||
                       json_array_size(json_object_get(spec, "users")) > 0;

    if (!spec)
        return;
    validate_times(spec, at, causes);
    if (has_nodes == has_gpus)
        cause_required(causes, PATH(at, "nodes"), "set either nodes or gpus");
    if (json_object_get(spec, "gpuModels") && !has_gpus)
        cause_forbidden(causes, PATH(at, "gpuModels"), "goes with gpus only");
    if (json_bool(spec, "maintenance", false) && is_for_some)
        cause_forbidden(causes, PATH(at, "maintenance"), "leave out queues and users");
    if (!json_bool(spec, "maintenance", false) && !is_for_some)
        cause_required(causes, PATH(at, "queues"), "name queues or users, or set maintenance");
}

#define HAS_SOME(list) "(has(self.spec." list ") && size(self.spec." list ") > 0)"

static const struct kind_rule rules[] = {
    {"self.spec.endTime > self.spec.startTime", "endTime must be after startTime"},
    {HAS_SOME("nodes") " != has(self.spec.gpus)", "set either nodes or gpus"},
    {"!has(self.spec.gpuModels) || has(self.spec.gpus)", "gpuModels goes with gpus only"},
    {"(has(self.spec.maintenance) && self.spec.maintenance) != "
     "(" HAS_SOME("queues") " || " HAS_SOME("users") ")",
     "name queues or users, or set maintenance without both"},
    {0},
};

const struct kind kind_reservation = {
    .group = "mete.dev",
    .version = "v1",
    .api_version = "mete.dev/v1",
    .kind = "Reservation",
    .plural = "reservations",
    .singular = "reservation",
    .short_names = {"resv"},
    .has_status = true,
    .fields = fields,
    .columns = columns,
    .paths = paths,
    .cells = reservation_cells,
    .validate = reservation_validate,
    .rules = rules,
    .doc = "Room set aside in advance for some queues or users, or for maintenance.",
};
