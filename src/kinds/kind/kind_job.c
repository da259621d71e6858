/* kind_job.c - batch/v1 Job */

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/job/job.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/tables.h"
#include "kinds/kind/template.h"
#include "kinds/pod/pod_state.h"
#include "model/names.h"

enum {
    BACKOFF_LIMIT = 6
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", job_spec_fields, "The job's specification.", .is_required = true),
    F_OBJECT("status", job_status_fields, "The job's progress."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the job."},
    {"Status", "string", "", 0, "The state."},
    {"Completions", "string", "", 0, "Pods that succeeded, of the required ones."},
    {"Duration", "string", "", 0, "Time from start to end."},
    {"Age", "date", "", 0, "Time since the creation."},
    {"Containers", "string", "", 1, "The names of the containers."},
    {"Images", "string", "", 1, "The images of the containers."},
    {"Selector", "string", "", 1, "The selector of the pods."},
    {0},
};

bool job_is_indexed(const json_t *spec)
{
    return text_equal(json_text(spec, "completionMode"), "Indexed");
}

bool job_has_condition(const json_t *job, const char *type)
{
    return text_equal(json_text(object_condition(job, type), "status"), "True");
}

bool job_is_finished(const json_t *job)
{
    return job_has_condition(job, "Complete") || job_has_condition(job, "Failed");
}

static const char *status_text(const json_t *job)
{
    static const char *const later[] = {"Suspended", "FailureTarget", "SuccessCriteriaMet"};

    if (job_has_condition(job, "Complete"))
        return "Complete";
    if (job_has_condition(job, "Failed"))
        return "Failed";
    if (json_text_at(job, "metadata", "deletionTimestamp", NULL))
        return "Terminating";
    for (size_t i = 0; i < COUNT(later); i++)
        if (job_has_condition(job, later[i]))
            return later[i];
    return "Running";
}

static json_t *cell_completions(const json_t *job)
{
    const json_t *spec = json_object_get(job, "spec");
    int64_t succeeded = json_int_at(job, "status", "succeeded", NULL);
    int64_t parallelism = json_int(spec, "parallelism", 0);
    AUTO_FREE char *text = NULL;

    if (json_object_get(spec, "completions"))
        text = mem_format("%" PRId64 "/%" PRId64, succeeded, json_int(spec, "completions", 0));
    else if (parallelism > 1)
        text = mem_format("%" PRId64 "/1 of %" PRId64, succeeded, parallelism);
    else
        text = mem_format("%" PRId64 "/1", succeeded);
    return json_string(text);
}

/* The duration of the job. It stops at a failure, whereas kubectl counts on. */
static json_t *cell_duration(const json_t *job, int64_t now_ns)
{
    const json_t *failed = object_condition(job, "Failed");
    int64_t start_ns = stamp_or(json_text_at(job, "status", "startTime", NULL), -1);
    int64_t end_ns = stamp_or(json_text(failed, "lastTransitionTime"), now_ns);
    char text[STAMP_TEXT_SIZE];

    if (start_ns < 0)
        return json_string("");
    end_ns = stamp_or(json_text_at(job, "status", "completionTime", NULL), end_ns);
    stamp_format_age(end_ns - start_ns, text);
    return json_string(text);
}

static json_t *cell_selector(const json_t *spec)
{
    json_t *labels = json_at(spec, "selector", "matchLabels", NULL);
    AUTO(buf_done) struct buf text = {.cap = 4096};
    const char *key;
    json_t *value;

    json_object_foreach (labels, key, value)
        buf_printf(&text, "%s%s=%s", text.size > 0 ? "," : "", key, json_string_value(value));
    return cell_text(text.at, "<none>");
}

static json_t *job_cells(const json_t *job, int64_t now_ns)
{
    const json_t *spec = json_object_get(job, "spec");
    AUTO_FREE char *names = template_containers(json_object_get(spec, "template"), "name");
    AUTO_FREE char *images = template_containers(json_object_get(spec, "template"), "image");
    json_t *row = json_array();

    (void)json_array_append_new(row, cell_text(json_text_at(job, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, json_string(status_text(job)));
    (void)json_array_append_new(row, cell_completions(job));
    (void)json_array_append_new(row, cell_duration(job, now_ns));
    (void)json_array_append_new(row, cell_created(job));
    (void)json_array_append_new(row, cell_text(names, ""));
    (void)json_array_append_new(row, cell_text(images, ""));
    (void)json_array_append_new(row, cell_selector(spec));
    return row;
}

void job_spec_set_defaults(json_t *spec)
{
    bool has_policy = json_object_get(spec, "podFailurePolicy") != NULL;

    if (!json_object_get(spec, "completions") && !json_object_get(spec, "parallelism"))
        json_put_int(spec, "completions", 1);
    if (!json_object_get(spec, "parallelism"))
        json_put_int(spec, "parallelism", 1);
    if (!json_object_get(spec, "backoffLimit"))
        json_put_int(spec, "backoffLimit",
                     json_object_get(spec, "backoffLimitPerIndex") ? INT32_MAX : BACKOFF_LIMIT);
    if (!json_text(spec, "podReplacementPolicy"))
        json_put_text(spec, "podReplacementPolicy", has_policy ? "Failed" : "TerminatingOrFailed");
    template_set_defaults(json_object_at(spec, "template"));
}

static void job_set_defaults(json_t *job, const struct kind_context *c)
{
    (void)c;
    job_spec_set_defaults(json_object_at(job, "spec"));
}

static bool label_is(const json_t *labels, const char *key, const char *value)
{
    return text_equal(json_text(labels, key), value);
}

/* Generated labels and selector must be the job's own: those of another job's manifest select other
 * pods. */
static void validate_generated(const json_t *job, struct causes *causes)
{
    static const char *const uids[] = {JOB_UID_LABEL, JOB_UID_LABEL_OLD};
    static const char *const names[] = {JOB_NAME_LABEL, JOB_NAME_LABEL_OLD};
    const json_t *spec = json_object_get(job, "spec");
    const json_t *labels = json_at(spec, "template", "metadata", "labels", NULL);
    const char *uid = json_text_at(job, "metadata", "uid", NULL);
    const char *name = json_text_at(job, "metadata", "name", NULL);
    const struct path *at = PATH(NULL, "spec");
    const struct path *here = PATH(PATH(PATH(at, "template"), "metadata"), "labels");
    AUTO_FREE char *shown = labels ? json_format(labels) : mem_strdup("");

    for (size_t i = 0; i < 2; i++) {
        AUTO_FREE char *want_uid = mem_format("must be '%s'", uid);
        AUTO_FREE char *want_name = mem_format("must be '%s'", name);

        if (!label_is(labels, uids[i], uid))
            cause_invalid(causes, PATH_KEY(here, uids[i]), json_text(labels, uids[i]), want_uid);
        if (!label_is(labels, names[i], name))
            cause_invalid(causes, PATH_KEY(here, names[i]), json_text(labels, names[i]), want_name);
    }
    if (!label_is(json_at(spec, "selector", "matchLabels", NULL), JOB_UID_LABEL, uid))
        cause_invalid(causes, PATH(at, "selector"), shown ? shown : "",
                      "`selector` not auto-generated");
}

/*
 * The host name of an indexed job's pod is the job's name and the index: the longest must be valid.
 */
static void validate_host_name(const json_t *job, struct causes *causes)
{
    const char *name = json_text_at(job, "metadata", "name", NULL);
    int64_t completions = json_int_at(job, "spec", "completions", NULL);
    AUTO_FREE char *last = mem_format("%s-%" PRId64, name, completions - 1);
    AUTO_FREE char *detail =
        mem_format("will not able to create pod with invalid DNS label: %.300s", last);
    AUTO(err_freep) struct err *e = NULL;

    if (!name || completions <= 0 || !job_is_indexed(json_object_get(job, "spec")))
        return;
    e = name_check_label(last);
    if (e)
        cause_invalid(causes, PATH(PATH(NULL, "metadata"), "name"), name, detail);
}

static void job_validate(const json_t *job, struct causes *causes)
{
    const json_t *spec = json_object_get(job, "spec");

    if (!json_bool(spec, "manualSelector", false))
        validate_generated(job, causes);
    job_spec_validate(spec, false, PATH(NULL, "spec"), causes);
    validate_host_name(job, causes);
}

static void check_same(const json_t *was, const json_t *is, const char *key, const struct path *at,
                       struct causes *causes)
{
    const json_t *before = json_object_get(was, key);
    const json_t *after = json_object_get(is, key);
    AUTO_FREE char *shown = NULL;

    if (before == after || (before && after && json_equal(before, after)))
        return;
    shown = after ? json_format(after) : NULL;
    cause_invalid(causes, PATH(at, key), shown ? shown : "null", "field is immutable");
}

static void check_completions(const json_t *was, const json_t *is, const struct path *at,
                              struct causes *causes)
{
    int64_t before = json_int(was, "completions", -1);
    int64_t after = json_int(is, "completions", -1);

    if (!job_is_indexed(is)) {
        check_same(was, is, "completions", at, causes);
        return;
    }
    if (before != after && after != json_int(is, "parallelism", -1))
        cause_invalid_int(causes, PATH(at, "completions"), after,
                          "can only be modified in tandem with spec.parallelism");
}

/* A copy of the template without its scheduling directives, which may change until the first pod
 * exists. */
static json_t *without_directives(const json_t *template)
{
    static const char *const of_spec[] = {"nodeSelector", "tolerations", "schedulingGates",
                                          "affinity"};
    json_t *copy = json_deep_copy(template);

    for (size_t i = 0; i < COUNT(of_spec); i++)
        (void)json_object_del(json_object_get(copy, "spec"), of_spec[i]); /* may be absent */
    (void)json_object_del(json_object_get(copy, "metadata"), "labels");
    (void)json_object_del(json_object_get(copy, "metadata"), "annotations");
    return copy;
}

static void check_template(const json_t *before, const json_t *is, const struct path *at,
                           struct causes *causes)
{
    const json_t *was = json_object_get(before, "spec");
    bool is_held =
        json_bool(was, "suspend", false) && !json_text_at(before, "status", "startTime", NULL);
    AUTO(json_freep) json_t *old = NULL;
    AUTO(json_freep) json_t *new = NULL;

    if (!is_held) {
        check_same(was, is, "template", at, causes);
        return;
    }
    old = without_directives(json_object_get(was, "template"));
    new = without_directives(json_object_get(is, "template"));
    if (!json_equal(old, new))
        cause_invalid(causes, PATH(at, "template"), "", "field is immutable");
}

static struct err *job_validate_update(const json_t *before, const json_t *after,
                                       const struct kind_context *c)
{
    static const char *const fixed[] = {
        "selector",      "manualSelector",       "completionMode", "podFailurePolicy",
        "successPolicy", "backoffLimitPerIndex", "managedBy"};
    AUTO(causes_done) struct causes causes = {0};
    const json_t *was = json_object_get(before, "spec");
    const json_t *is = json_object_get(after, "spec");
    const char *name = json_text_at(after, "metadata", "name", NULL);
    const struct path *at = PATH(NULL, "spec");

    (void)c;
    check_completions(was, is, at, &causes);
    for (size_t i = 0; i < COUNT(fixed); i++)
        check_same(was, is, fixed[i], at, &causes);
    check_template(before, is, at, &causes);
    return causes_err(&causes, "Job.batch", name ? name : "");
}

const struct kind kind_job = {
    .zero =
        "{\"spec\":{\"template\":{\"metadata\":{},\"spec\":{\"containers\":null}}},\"status\":{}}",
    .group = "batch",
    .version = "v1",
    .api_version = "batch/v1",
    .kind = "Job",
    .plural = "jobs",
    .singular = "job",
    .is_namespaced = true,
    .is_of_all = true,
    .has_status = true,
    .fields = fields,
    .columns = columns,
    .cells = job_cells,
    .validate = job_validate,
    .validate_update = job_validate_update,
    .set_defaults = job_set_defaults,
    .doc = "Pods that run until enough of them have succeeded.",
};
