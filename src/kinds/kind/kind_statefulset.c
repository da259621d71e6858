/* kind_statefulset.c - apps/v1 StatefulSet */

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/apps/apps.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/tables.h"
#include "kinds/kind/template.h"
#include "kinds/kind/value.h"
#include "kinds/storage/storage.h"

static const char *const strategies[] = {"OnDelete", "RollingUpdate", NULL};

static const struct field rolling_fields[] = {
    F_INT("partition", "Pods with a smaller ordinal keep their version.", .min = 0,
          .max = INT32_MAX),
    F_REFUSED("maxUnavailable", "Pods that may be unavailable during an update.", .harmless = "1"),
    F_END,
};

static const struct field strategy_fields[] = {
    F_STRING("type", "RollingUpdate, or OnDelete, which waits until pods are deleted.",
             .values = strategies, .fallback = "\"RollingUpdate\""),
    F_OBJECT("rollingUpdate", rolling_fields, "The limits of a rolling update."),
    F_END,
};

static const char *const retentions[] = {"Delete", "Retain", NULL};

static const struct field retention_fields[] = {
    F_STRING("whenDeleted", "What becomes of claims when the set is deleted.", .values = retentions,
             .fallback = "\"Retain\""),
    F_STRING("whenScaled", "What becomes of claims when the set shrinks.", .values = retentions,
             .fallback = "\"Retain\""),
    F_END,
};

static const struct field ordinals_fields[] = {
    F_INT("start", "The ordinal of the first pod.", .min = 0, .max = INT32_MAX),
    F_END,
};

static const struct field spec_fields[] = {
    F_INT("replicas", "The number of pods.", .min = 0, .max = INT32_MAX, .fallback = "1"),
    F_OBJECT("selector", label_selector_fields, "The set's pods."),
    F_OBJECT("template", pod_template_fields, "The template of the pods.", .is_required = true),
    F_LIST("volumeClaimTemplates", &storage_claim_template_item, "Claims of each pod.",
           .is_atomic = true, .items_max = 64),
    F_STRING("serviceName", "The Service that names the pods.", .fallback = "\"\"",
             .size_max = 253),
    F_STRING("podManagementPolicy", "OrderedReady: one pod after another; Parallel: all at once.",
             .size_max = 64, .fallback = "\"OrderedReady\""),
    F_OBJECT("updateStrategy", strategy_fields, "How new pods replace old ones.", .fallback = "{}"),
    F_INT("revisionHistoryLimit", "Old revisions that are kept.", .min = 0, .max = INT32_MAX,
          .fallback = "10"),
    F_INT("minReadySeconds", "Seconds that a pod must be ready before it counts as available.",
          .min = 0, .max = INT32_MAX),
    F_OBJECT("persistentVolumeClaimRetentionPolicy", retention_fields, "What becomes of claims."),
    F_OBJECT("ordinals", ordinals_fields, "The numbers of the pods."),
    F_END,
};

static const struct field status_fields[] = {
    F_INT("observedGeneration", "The metadata.generation that was observed."),
    F_INT("replicas", "Pods that exist.", .fallback = "0"),
    F_INT("readyReplicas", "Pods that are ready."),
    F_INT("currentReplicas", "Pods of the current revision."),
    F_INT("updatedReplicas", "Pods of the update revision."),
    F_STRING("currentRevision", "The revision before an update.", .size_max = 253),
    F_STRING("updateRevision", "The revision of the present template.", .size_max = 253),
    F_INT("collisionCount", "Templates that had the same hash as another one."),
    F_INT("availableReplicas", "Pods that have been ready for minReadySeconds.", .fallback = "0"),
    F_LIST("conditions", &apps_set_condition_item, "Conditions of the set.", .merge_key = "type",
           .items_max = 64),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The pods, their names, and how they are updated.",
             .fallback = "{}"),
    F_OBJECT("status", status_fields, "The pods that exist.", .fallback = "{}"),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the set."},
    {"Ready", "string", "", 0, "Pods that are ready, of those wanted."},
    {"Age", "date", "", 0, "Time since the creation."},
    {"Containers", "string", "", 1, "The names of the containers."},
    {"Images", "string", "", 1, "The images of the containers."},
    {0},
};

static json_t *statefulset_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();
    AUTO_FREE char *ready =
        mem_format("%" PRId64 "/%" PRId64, json_int_at(object, "status", "readyReplicas", NULL),
                   json_int_at(object, "spec", "replicas", NULL));

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, json_string(ready));
    (void)json_array_append_new(row, cell_created(object));
    apps_add_wide_cells(row, json_object_get(object, "spec"), false);
    return row;
}

static void set_claim_defaults(const json_t *templates)
{
    for (size_t i = 0; i < json_array_size(templates); i++) {
        json_t *template = json_array_get(templates, i);
        json_t *status = json_object_at(template, "status");

        json_put_text(template, "apiVersion", "v1");
        json_put_text(template, "kind", "PersistentVolumeClaim");
        if (!json_text(status, "phase"))
            json_put_text(status, "phase", "Pending");
    }
}

static void statefulset_set_defaults(json_t *object, const struct kind_context *c)
{
    json_t *spec = json_object_at(object, "spec");
    json_t *strategy = json_object_at(spec, "updateStrategy");

    (void)c;
    if (text_equal(json_text(strategy, "type"), "RollingUpdate")) {
        json_t *rolling = json_object_at(strategy, "rollingUpdate");

        if (!json_object_get(rolling, "partition"))
            json_put_int(rolling, "partition", 0);
    }
    if (!json_object_get(spec, "persistentVolumeClaimRetentionPolicy"))
        json_put(spec, "persistentVolumeClaimRetentionPolicy",
                 json_pack("{s:s,s:s}", "whenDeleted", "Retain", "whenScaled", "Retain"));
    template_set_defaults(json_object_at(spec, "template"));
    set_claim_defaults(json_object_get(spec, "volumeClaimTemplates"));
}

/* The spec with the volumes that claims give to its pods. */
static json_t *with_claims(const json_t *spec)
{
    const json_t *templates = json_object_get(spec, "volumeClaimTemplates");
    json_t *copy = json_deep_copy(spec);
    json_t *volumes;

    if (json_array_size(templates) == 0)
        return copy;
    volumes = json_array_at(json_object_at(json_object_at(copy, "template"), "spec"), "volumes");
    for (size_t i = 0; i < json_array_size(templates); i++) {
        const char *name =
            text_or_empty(json_text_at(json_array_get(templates, i), "metadata", "name", NULL));

        if (!value_find_named(volumes, name))
            (void)json_array_append_new(volumes, json_pack("{s:s,s:{s:s}}", "name", name,
                                                           "persistentVolumeClaim", "claimName",
                                                           name)); /* fresh: cannot fail */
    }
    return copy;
}

static void statefulset_validate(const json_t *object, struct causes *causes)
{
    const json_t *spec = json_object_get(object, "spec");
    const char *policy = json_text(spec, "podManagementPolicy");
    const json_t *templates = json_object_get(spec, "volumeClaimTemplates");
    AUTO(json_freep) json_t *mounted = with_claims(spec);
    const struct path *at = PATH(NULL, "spec");

    apps_validate_template(mounted, "StatefulSet", at, causes);
    for (size_t i = 0; i < json_array_size(templates); i++)
        storage_validate_claim_spec(json_object_get(json_array_get(templates, i), "spec"),
                                    PATH(PATH_INDEX(PATH(at, "volumeClaimTemplates"), i), "spec"),
                                    causes);
    if (policy && !text_equal(policy, "OrderedReady") && !text_equal(policy, "Parallel"))
        cause_invalid(causes, PATH(at, "podManagementPolicy"), policy,
                      "must be 'OrderedReady' or 'Parallel'");
    if (text_equal(json_text_at(spec, "updateStrategy", "type", NULL), "OnDelete") &&
        json_at(spec, "updateStrategy", "rollingUpdate", NULL))
        cause_invalid(causes, PATH(PATH(at, "updateStrategy"), "rollingUpdate"), "",
                      "only allowed for updateStrategy 'RollingUpdate'");
}

static struct err *statefulset_validate_update(const json_t *before, const json_t *after,
                                               const struct kind_context *c)
{
    static const char *const fixed[] = {"selector", "serviceName", "podManagementPolicy",
                                        "volumeClaimTemplates"};
    AUTO(causes_done) struct causes causes = {0};
    const char *name = json_text_at(after, "metadata", "name", NULL);
    bool is_changed = false;

    (void)c;
    for (size_t i = 0; i < COUNT(fixed); i++) {
        const json_t *was = json_at(before, "spec", fixed[i], NULL);
        const json_t *is = json_at(after, "spec", fixed[i], NULL);

        is_changed = is_changed || (was != is && !(was && is && json_equal(was, is)));
    }
    if (is_changed)
        cause_forbidden(&causes, PATH(NULL, "spec"),
                        "updates to statefulset spec for fields other than 'replicas', 'ordinals', "
                        "'template', 'updateStrategy', 'revisionHistoryLimit', "
                        "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are "
                        "forbidden");
    return causes_err(&causes, "StatefulSet.apps", name ? name : "");
}

const struct kind kind_statefulset = {
    .group = "apps",
    .version = "v1",
    .api_version = "apps/v1",
    .kind = "StatefulSet",
    .plural = "statefulsets",
    .singular = "statefulset",
    .short_names = {"sts"},
    .is_namespaced = true,
    .is_of_all = true,
    .has_status = true,
    .has_scale = true,
    .fields = fields,
    .columns = columns,
    .cells = statefulset_cells,
    .validate = statefulset_validate,
    .validate_update = statefulset_validate_update,
    .set_defaults = statefulset_set_defaults,
    .doc = "Pods with names that stay.",
};
