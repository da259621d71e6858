/* kind_deployment.c - apps/v1 Deployment */

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/apps/apps.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/tables.h"
#include "kinds/kind/template.h"

enum {
    HISTORY_LIMIT = 10,
    DEADLINE_SECONDS = 600
};

static const char *const strategies[] = {"Recreate", "RollingUpdate", NULL};

static const struct field rolling_fields[] = {
    F("maxUnavailable", FIELD_INT_OR_STRING,
      "Pods that may be unavailable during an update: a number, or a percentage."),
    F("maxSurge", FIELD_INT_OR_STRING,
      "Pods beyond spec.replicas during an update: a number, or a percentage."),
    F_END,
};

static const struct field strategy_fields[] = {
    F_STRING("type", "RollingUpdate, or Recreate, which ends all old pods first.",
             .values = strategies, .fallback = "\"RollingUpdate\""),
    F_OBJECT("rollingUpdate", rolling_fields, "The limits of a rolling update."),
    F_END,
};

static const struct field spec_fields[] = {
    F_INT("replicas", "The number of pods.", .min = 0, .max = INT32_MAX, .fallback = "1"),
    F_OBJECT("selector", label_selector_fields, "The deployment's pods."),
    F_OBJECT("template", pod_template_fields, "The template of the pods.", .is_required = true),
    F_OBJECT("strategy", strategy_fields, "How new pods replace old ones.", .fallback = "{}"),
    F_INT("minReadySeconds", "Seconds that a pod must be ready before it counts as available.",
          .min = 0, .max = INT32_MAX),
    F_INT("revisionHistoryLimit", "Old ReplicaSets that are kept.", .min = 0, .max = INT32_MAX),
    F_BOOL("paused", "A paused deployment does not roll out changes of its template."),
    F_INT("progressDeadlineSeconds", "Seconds without progress after which a rollout has failed.",
          .min = 0, .max = INT32_MAX),
    F_END,
};

static const struct field status_fields[] = {
    F_INT("observedGeneration", "The metadata.generation that was observed."),
    F_INT("replicas", "Pods that exist."),
    F_INT("updatedReplicas", "Pods of the present template."),
    F_INT("readyReplicas", "Pods that are ready."),
    F_INT("availableReplicas", "Pods that have been ready for minReadySeconds."),
    F_INT("unavailableReplicas", "Pods that are not available yet."),
    F_INT("terminatingReplicas", "Pods that are being deleted."),
    F_INT("collisionCount", "Templates that had the same hash as another one."),
    F_LIST("conditions", &apps_condition_item, "Conditions of the deployment.", .merge_key = "type",
           .items_max = 64),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The number of pods, their template, and how it is rolled out.",
             .fallback = "{}"),
    F_OBJECT("status", status_fields, "The pods that exist.", .fallback = "{}"),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the deployment."},
    {"Ready", "string", "", 0, "Pods that are ready, of those wanted."},
    {"Up-to-date", "integer", "", 0, "Pods of the present template."},
    {"Available", "integer", "", 0, "Pods that are available."},
    {"Age", "date", "", 0, "Time since the creation."},
    {"Containers", "string", "", 1, "The names of the containers."},
    {"Images", "string", "", 1, "The images of the containers."},
    {"Selector", "string", "", 1, "The selector of the pods."},
    {0},
};

static json_t *deployment_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();
    AUTO_FREE char *ready =
        mem_format("%" PRId64 "/%" PRId64, json_int_at(object, "status", "readyReplicas", NULL),
                   json_int_at(object, "spec", "replicas", NULL));

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, json_string(ready));
    (void)json_array_append_new(row, apps_cell_number(object, "status", "updatedReplicas"));
    (void)json_array_append_new(row, apps_cell_number(object, "status", "availableReplicas"));
    (void)json_array_append_new(row, cell_created(object));
    apps_add_wide_cells(row, json_object_get(object, "spec"), true);
    return row;
}

static void put_missing(json_t *object, const char *key, json_t *value)
{
    if (json_object_get(object, key))
        json_decref(value);
    else
        json_put(object, key, value);
}

static void deployment_set_defaults(json_t *object, const struct kind_context *c)
{
    json_t *spec = json_object_at(object, "spec");
    json_t *strategy = json_object_at(spec, "strategy");

    (void)c;
    put_missing(spec, "revisionHistoryLimit", json_integer(HISTORY_LIMIT));
    put_missing(spec, "progressDeadlineSeconds", json_integer(DEADLINE_SECONDS));
    if (text_equal(json_text(strategy, "type"), "RollingUpdate")) {
        json_t *rolling = json_object_at(strategy, "rollingUpdate");

        put_missing(rolling, "maxUnavailable", json_string("25%"));
        put_missing(rolling, "maxSurge", json_string("25%"));
    }
    template_set_defaults(json_object_at(spec, "template"));
}

static bool is_zero(const json_t *value)
{
    return apps_amount(value, 100, true) == 0;
}

static void validate_strategy(const json_t *strategy, const struct path *at, struct causes *causes)
{
    const json_t *rolling = json_object_get(strategy, "rollingUpdate");
    const json_t *unavailable = json_object_get(rolling, "maxUnavailable");
    const json_t *surge = json_object_get(rolling, "maxSurge");
    const struct path *here = PATH(at, "rollingUpdate");

    if (text_equal(json_text(strategy, "type"), "Recreate") && rolling)
        cause_forbidden(causes, here, "may not be specified when strategy `type` is 'Recreate'");
    if (!text_equal(json_text(strategy, "type"), "RollingUpdate"))
        return;
    apps_validate_amount(unavailable, PATH(here, "maxUnavailable"), causes);
    apps_validate_amount(surge, PATH(here, "maxSurge"), causes);
    if (is_zero(unavailable) && is_zero(surge))
        cause_invalid_int(causes, PATH(here, "maxUnavailable"), 0,
                          "may not be 0 when `maxSurge` is 0");
    apps_validate_percent(unavailable, PATH(here, "maxUnavailable"), causes);
}

static void deployment_validate(const json_t *object, struct causes *causes)
{
    const json_t *spec = json_object_get(object, "spec");
    const struct path *at = PATH(NULL, "spec");
    int64_t deadline = json_int(spec, "progressDeadlineSeconds", DEADLINE_SECONDS);

    apps_validate_template(spec, "ReplicaSet", at, causes);
    validate_strategy(json_object_get(spec, "strategy"), PATH(at, "strategy"), causes);
    if (deadline <= json_int(spec, "minReadySeconds", 0))
        cause_invalid_int(causes, PATH(at, "progressDeadlineSeconds"), deadline,
                          "must be greater than minReadySeconds");
}

static struct err *deployment_validate_update(const json_t *before, const json_t *after,
                                              const struct kind_context *c)
{
    AUTO(causes_done) struct causes causes = {0};
    const char *name = json_text_at(after, "metadata", "name", NULL);

    (void)c;
    apps_validate_selector_kept(before, after, &causes);
    return causes_err(&causes, "Deployment.apps", name ? name : "");
}

const struct kind kind_deployment = {
    .group = "apps",
    .version = "v1",
    .api_version = "apps/v1",
    .kind = "Deployment",
    .plural = "deployments",
    .singular = "deployment",
    .short_names = {"deploy"},
    .is_namespaced = true,
    .is_of_all = true,
    .has_status = true,
    .has_scale = true,
    .fields = fields,
    .columns = columns,
    .cells = deployment_cells,
    .validate = deployment_validate,
    .validate_update = deployment_validate_update,
    .set_defaults = deployment_set_defaults,
    .doc = "Pods of a service, and how a new version replaces the old one.",
};
