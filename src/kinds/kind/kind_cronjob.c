/* kind_cronjob.c - batch/v1 CronJob */

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/job/job.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/kind/template.h"
#include "model/cron.h"
#include "model/zone.h"

static const char *const policies[] = {"Allow", "Forbid", "Replace", NULL};

static const struct field job_template_fields[] = {
    F_OBJECT("metadata", object_meta_fields, "Labels and annotations of the jobs.",
             .fallback = "{}"),
    F_OBJECT("spec", job_spec_fields, "The specification of each job.", .is_required = true),
    F_END,
};

static const struct field spec_fields[] = {
    F_STRING("schedule", "The schedule as in cron: minute hour day month weekday, or @hourly ...",
             .is_required = true, .size_max = 1024),
    F_STRING("timeZone", "The time zone of the schedule: Europe/Berlin; default UTC.",
             .size_max = 255),
    F_INT("startingDeadlineSeconds", "Seconds that a job may start late.", .min = 0,
          .max = INT64_MAX),
    F_STRING("concurrencyPolicy",
             "Allow concurrent jobs, Forbid a job while another runs, or Replace the running job.",
             .fallback = "\"Allow\"", .values = policies),
    F_BOOL("suspend", "Whether the schedule is suspended.", .fallback = "false"),
    F_OBJECT("jobTemplate", job_template_fields, "The template of the jobs.", .is_required = true),
    F_INT("successfulJobsHistoryLimit", "Completed jobs to keep.", .fallback = "3", .min = 0,
          .max = INT32_MAX),
    F_INT("failedJobsHistoryLimit", "Failed jobs to keep.", .fallback = "1", .min = 0,
          .max = INT32_MAX),
    F_END,
};

static const struct field active_item =
    F_OBJECT(NULL, object_reference_fields, "A job that has not ended.", .is_atomic = true);

static const struct field status_fields[] = {
    F_LIST("active", &active_item, "Jobs that have not ended.", .items_max = 16 << 10),
    F_TIME("lastScheduleTime", "The last scheduled time of a job."),
    F_TIME("lastSuccessfulTime", "The last completion of a job."),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The jobs and their schedule.", .is_required = true),
    F_OBJECT("status", status_fields, "The observed state."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the cron job."},
    {"Schedule", "string", "", 0, "The schedule."},
    {"Timezone", "string", "", 0, "The time zone."},
    {"Suspend", "string", "", 0, "Whether the schedule is suspended."},
    {"Active", "integer", "", 0, "Jobs that have not ended."},
    {"Last Schedule", "string", "", 0, "Time since the last job was due."},
    {"Age", "date", "", 0, "Time since the creation."},
    {"Containers", "string", "", 1, "The names of the containers."},
    {"Images", "string", "", 1, "The images of the containers."},
    {"Selector", "string", "", 1, "The labels of the pods."},
    {0},
};

static json_t *cell_since(const char *stamp, int64_t now_ns)
{
    char text[STAMP_TEXT_SIZE];
    int64_t at_ns = stamp_or(stamp, -1);

    if (at_ns < 0)
        return json_string("<none>");
    stamp_format_age(now_ns - at_ns, text);
    return json_string(text);
}

static json_t *cronjob_cells(const json_t *object, int64_t now_ns)
{
    const json_t *spec = json_object_get(object, "spec");
    const json_t *status = json_object_get(object, "status");
    const json_t *template = json_at(spec, "jobTemplate", "spec", "template", NULL);
    AUTO_FREE char *names = template_containers(template, "name");
    AUTO_FREE char *images = template_containers(template, "image");
    size_t n_active = json_array_size(json_object_get(status, "active"));
    json_t *row = json_array();

    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_text(json_text(spec, "schedule"), ""));
    (void)json_array_append_new(row, cell_text(json_text(spec, "timeZone"), "<none>"));
    (void)json_array_append_new(row,
                                json_string(json_bool(spec, "suspend", false) ? "True" : "False"));
    (void)json_array_append_new(row, json_integer((json_int_t)n_active));
    (void)json_array_append_new(row, cell_since(json_text(status, "lastScheduleTime"), now_ns));
    (void)json_array_append_new(row, cell_created(object));
    (void)json_array_append_new(row, cell_text(names, ""));
    (void)json_array_append_new(row, cell_text(images, ""));
    (void)json_array_append_new(row, json_string("<none>"));
    return row;
}

static void cronjob_set_defaults(json_t *object, const struct kind_context *c)
{
    json_t *spec = json_object_at(object, "spec");

    (void)c;
    job_spec_set_defaults(json_object_at(json_object_at(spec, "jobTemplate"), "spec"));
}

static void validate_schedule(const char *text, bool has_zone, const struct path *at,
                              struct causes *causes)
{
    struct cron ignored;

    if (!text || !*text)
        return; /* the schema reports it as required */
    if (strstr(text, "TZ"))
        cause_invalid(causes, at, text,
                      has_zone ? "cannot use both timeZone field and TZ or CRON_TZ in schedule"
                               : "cannot use TZ or CRON_TZ in schedule, use timeZone field "
                                 "instead");
    else
        cause_take(causes, at, text, cron_parse(str_of(text), &ignored));
}

static void validate_zone(const json_t *value, const struct path *at, struct causes *causes)
{
    const char *name = json_string_value(value);
    struct zone *zone = NULL;
    struct err *e;

    if (!value)
        return;
    if (!*name) {
        cause_invalid(causes, at, name, "timeZone must be nil or non-empty string");
        return;
    }
    e = zone_load(name, &zone);
    zone_free(zone);
    cause_take(causes, at, name, e);
}

static void cronjob_validate(const json_t *object, struct causes *causes)
{
    const json_t *spec = json_object_get(object, "spec");
    const json_t *zone = json_object_get(spec, "timeZone");
    const char *name = json_text_at(object, "metadata", "name", NULL);
    const struct path *at = PATH(NULL, "spec");

    if (name && strlen(name) > CRONJOB_NAME_MAX)
        cause_invalid(causes, PATH(PATH(NULL, "metadata"), "name"), name,
                      "must be no more than 52 characters");
    validate_schedule(json_text(spec, "schedule"), zone != NULL, PATH(at, "schedule"), causes);
    validate_zone(zone, PATH(at, "timeZone"), causes);
    job_spec_validate(json_at(spec, "jobTemplate", "spec", NULL), true,
                      PATH(PATH(at, "jobTemplate"), "spec"), causes);
}

const struct kind kind_cronjob = {
    .zero = "{\"spec\":{\"schedule\":\"\",\"jobTemplate\":{\"metadata\":{},\"spec\":{\"template\":{"
            "\"metadata\":{},\"spec\":{\"containers\":null}}}}},\"status\":{}}",
    .group = "batch",
    .version = "v1",
    .api_version = "batch/v1",
    .kind = "CronJob",
    .plural = "cronjobs",
    .singular = "cronjob",
    .short_names = {"cj"},
    .is_namespaced = true,
    .is_of_all = true,
    .has_status = true,
    .fields = fields,
    .columns = columns,
    .cells = cronjob_cells,
    .validate = cronjob_validate,
    .set_defaults = cronjob_set_defaults,
    .doc = "Makes a Job at each time of a schedule.",
};
