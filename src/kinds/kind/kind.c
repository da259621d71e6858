/* kind.c - the list of kinds, field selectors and reserved names */

#include "kinds/kind/kind.h"

#include <stdio.h>

#include "base/json_pool.h"
#include "base/mem.h"
#include "base/str.h"
#include "kinds/custom/custom_form.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/object/requeue.h"
#include "kinds/pod/pod_state.h"
#include "kinds/queue.h"
#include "kinds/topology.h"

const struct kind *const kinds[] = {
    &kind_configmap,
    &kind_endpoints,
    &kind_event,
    &kind_namespace,
    &kind_node,
    &kind_pvc,
    &kind_pv,
    &kind_pod,
    &kind_podtemplate,
    &kind_replicationcontroller,
    &kind_secret,
    &kind_service,
    &kind_serviceaccount,
    &kind_budget,
    &kind_autoscaler,
    &kind_autoscaler_v1,
    &kind_event_new,
    &kind_lease,
    &kind_endpointslice,
    &kind_ingressclass,
    &kind_ingress,
    &kind_networkpolicy,
    &kind_definition,
    &kind_apiservice,
    &kind_mutating_webhooks,
    &kind_admission_policy,
    &kind_admission_policy_binding,
    &kind_validating_webhooks,
    &kind_self_access_review,
    &kind_access_review,
    &kind_rules_review,
    &kind_self_review,
    &kind_token_review,
    &kind_role,
    &kind_cluster_role,
    &kind_role_binding,
    &kind_cluster_role_binding,
    &kind_limits,
    &kind_quota,
    &kind_priority,
    &kind_gang,
    &kind_podgroup,
    &kind_gang_v1alpha3,
    &kind_podgroup_v1alpha3,
    &kind_gang_v1alpha2,
    &kind_podgroup_v1alpha2,
    &kind_gang_v1alpha1,
    &kind_podgroup_v1alpha1,
    &kind_podgroup_volcano,
    &kind_podgroup_coscheduling,
    &kind_runtimeclass,
    &kind_storageclass,
    &kind_claim,
    &kind_claim_template,
    &kind_device_class,
    &kind_slice,
    &kind_controllerrevision,
    &kind_daemonset,
    &kind_deployment,
    &kind_replicaset,
    &kind_statefulset,
    &kind_cronjob,
    &kind_job,
    &kind_gpu,
    &kind_queue,
    &kind_reservation,
    &kind_slurmconfig,
    &kind_slurmjob,
    &kind_slurmuser,
    &kind_slurmqos,
    &kind_slurmstep,
    &kind_slurmpartition,
    &kind_workload,
    &kind_node_metrics,
    &kind_pod_metrics,
    &kind_clusterpolicy,
};
const size_t kinds_count = COUNT(kinds);

enum {
    PATH_SIZE_MAX = 128
};

/* Kinds are looked up by name in every room: the custom ones, too, are one list of the process. */
static struct {
    const struct kind *const *served;
    size_t n_served;
    const struct kind *const *kept;
    size_t n_kept;
    uint64_t generation;
} custom;

void kinds_set_custom(const struct kind *const *served, size_t n_served,
                      const struct kind *const *kept, size_t n_kept)
{
    custom.served = served;
    custom.n_served = n_served;
    custom.kept = kept;
    custom.n_kept = n_kept;
    custom.generation++;
}

uint64_t kinds_generation(void)
{
    return custom.generation;
}

bool kind_is_served(const struct kind *k)
{
    for (size_t i = 0; k->is_custom && i < custom.n_served; i++)
        if (custom.served[i] == k)
            return true;
    return !k->is_custom;
}

size_t kinds_served_count(void)
{
    return kinds_count + custom.n_served;
}

const struct kind *kinds_served(size_t i)
{
    return i < kinds_count ? kinds[i] : custom.served[i - kinds_count];
}

const struct kind *kind_kept(const struct kind *k)
{
    return k->kept_as ? k->kept_as : k;
}

static bool is_resource(const struct kind *k, const char *group, const char *plural)
{
    return text_equal(k->plural, plural) && text_equal(k->group, group);
}

const struct kind *kind_find(const char *group, const char *plural)
{
    for (size_t i = 0; i < kinds_count; i++)
        if (is_resource(kinds[i], group, plural))
            return kind_kept(kinds[i]);
    for (size_t i = 0; i < custom.n_kept; i++)
        if (is_resource(custom.kept[i], group, plural))
            return custom.kept[i];
    return NULL;
}

const struct kind *kind_find_version(const char *group, const char *version, const char *plural)
{
    for (size_t i = 0; i < kinds_served_count(); i++) {
        const struct kind *k = kinds_served(i);

        if (is_resource(k, group, plural) && text_equal(k->version, version))
            return k;
    }
    return NULL;
}

const struct kind *kind_find_by_kind(const char *api_version, const char *kind)
{
    for (size_t i = 0; i < kinds_served_count(); i++) {
        const struct kind *k = kinds_served(i);

        if (text_equal(k->kind, kind) && text_equal(k->api_version, api_version))
            return k;
    }
    return NULL;
}

void kind_to_kept(const struct kind *k, json_t *object)
{
    if (k->to_kept)
        k->to_kept(object);
    else if (k->is_custom)
        json_put_text(object, "apiVersion", kind_kept(k)->api_version);
}

void kind_from_kept(const struct kind *k, json_t *object)
{
    if (k->from_kept)
        k->from_kept(object);
    else if (k->is_custom)
        custom_form_read(k, object);
}

bool kind_reads_as_stored(const struct kind *k, struct str text, int64_t version)
{
    static const char opening[] = "{\"apiVersion\":\"";
    size_t head = sizeof(opening) - 1;
    size_t size = strlen(k->api_version);

    if (!k->is_custom)
        return !k->from_kept;
    return version >= custom_form_since(k) && text.size > head + size &&
           memcmp(text.at + head, k->api_version, size) == 0 && text.at[head + size] == '"';
}

bool kind_reads_tree(const struct kind *k, const json_t *object)
{
    const char *version = json_text_at(object, "metadata", "resourceVersion", NULL);
    int64_t number = 0;

    if (!k->is_custom)
        return !k->from_kept;
    for (; version && *version >= '0' && *version <= '9' && number < INT64_MAX / 10; version++)
        number = number * 10 + (*version - '0');
    return number >= custom_form_since(k) &&
           text_equal(json_text(object, "apiVersion"), k->api_version);
}

static bool is_selectable(const struct kind *k, const char *path)
{
    if (text_equal(path, "metadata.name") || text_equal(path, "metadata.namespace"))
        return true;
    for (size_t i = 0; k->selectable && k->selectable[i]; i++)
        if (text_equal(k->selectable[i], path))
            return true;
    return false;
}

static const char *kept_path(const struct kind *k, const char *path)
{
    for (size_t i = 0; k->selectable[i]; i++)
        if (text_equal(k->selectable[i], path))
            return k->kept_selectable[i];
    return path; /* a path of the metadata */
}

static const struct field *find_field(const struct field *fields, const char *name)
{
    for (; fields && fields->name; fields++)
        if (text_equal(fields->name, name))
            return fields;
    return NULL;
}

/* The value for a member that is absent or of another type. */
static const char *selectable_none(const struct field *f)
{
    return f && f->type == FIELD_BOOL ? "false" : "";
}

/* Copies the JSON text of a string or a boolean (if `is_plain` also a number) to `scratch`. NULL:
 * the value does not fit. */
static const char *selectable_copy(const struct field *f, struct str text, bool is_plain,
                                   char *scratch)
{
    struct str value = {0};

    if (f && f->type == FIELD_BOOL)
        return str_equal(text, STR("true")) ? "true" : "false";
    if (text.size > 0 && *text.at != '"' && !is_plain)
        return "";
    if (text.size > 0 && *text.at != '"') {
        if (text.size >= SELECTABLE_SIZE || strchr("{[n", *text.at))
            return "";
        memcpy(scratch, text.at, text.size);
        scratch[text.size] = '\0';
        return scratch;
    }
    if (!json_peek_string(text, &value) || value.size >= SELECTABLE_SIZE)
        return NULL;
    memcpy(scratch, value.at, value.size);
    scratch[value.size] = '\0';
    return scratch;
}

/* Does any member in the text have the name of the path's last part? A quick test: most pods lack
 * nodeName. */
static bool has_last_part(struct str text, const char *path)
{
    const char *dot = strrchr(path, '.');
    char quoted[PATH_SIZE_MAX + 3];
    int size = snprintf(quoted, sizeof(quoted), "\"%s\"", dot ? dot + 1 : path);

    return memmem(text.at, text.size, quoted, (size_t)size) != NULL;
}

const char *kind_peek_selectable(const struct kind *k, struct str text, const char *path,
                                 char scratch[SELECTABLE_SIZE])
{
    const struct field *fields = k->fields;
    const struct field *field = NULL;
    struct str rest = str_of(path);
    bool is_absent = false;

    if (!is_selectable(k, path) || rest.size >= PATH_SIZE_MAX)
        return NULL;
    is_absent = !has_last_part(text, path);
    while (rest.at) {
        struct str part = str_cut(&rest, '.');
        enum json_peeked found = PEEK_ABSENT;
        char name[PATH_SIZE_MAX] = "";

        memcpy(name, part.at, part.size);
        field = find_field(fields, name);
        fields = field ? field->fields : NULL;
        if (!is_absent)
            found = json_peek(text, &text, name, NULL);
        if (found == PEEK_UNKNOWN)
            return NULL;
        is_absent = found == PEEK_ABSENT;
    }
    return is_absent ? selectable_none(field) : selectable_copy(field, text, k->is_custom, scratch);
}

const char *kind_selectable(const struct kind *k, const json_t *object, const char *path)
{
    struct str rest = str_of(path);
    const struct field *fields = k->fields;
    const struct field *field = NULL;
    const json_t *at = object;

    if (!is_selectable(k, path) || rest.size >= PATH_SIZE_MAX)
        return NULL;
    if (k->is_custom && !text_starts_with(path, "metadata."))
        return custom_form_selectable(k, object, path);
    if (k->kept_selectable)
        return kind_selectable(k->kept_as, object, kept_path(k, path));
    while (rest.at) {
        struct str part = str_cut(&rest, '.');
        char name[PATH_SIZE_MAX] = "";

        memcpy(name, part.at, part.size);
        field = find_field(fields, name);
        fields = field ? field->fields : NULL;
        at = json_object_get(at, name);
    }
    if (field && field->type == FIELD_BOOL)
        return json_is_true(at) ? "true" : "false";
    return json_is_string(at) ? json_string_value(at) : "";
}

bool kind_is_reserved(const char *key)
{
    static const char *const theirs[] = {
        NODE_DRAIN_REASON, QUEUE_LABEL,    QUEUE_HOLD,        QUEUE_NOT_BEFORE, QUEUE_PRIORITY,
        QUEUE_RESERVATION, QUEUE_EXPECTED, QUEUE_TIME_LIMIT,  POD_REQUEUE,      TOPOLOGY_GPU_LINK,
        NODE_GPU_MODES,    NODE_GPU_CARE,  NODE_SHARES_ACROSS};

    for (size_t i = 0; i < COUNT(theirs); i++)
        if (text_equal(key, theirs[i]))
            return false;
    return text_starts_with(key, "mete.dev/");
}

static bool is_kept_from(const char *key, bool is_admin)
{
    return kind_is_reserved(key) && !(is_admin && text_equal(key, POD_PREEMPTIBLE));
}

/* Adds a cause for each reserved member of `one` that `other` lacks or has with another value. */
static void find_reserved(json_t *one, const json_t *other, const struct path *at, bool is_admin,
                          struct causes *causes)
{
    const char *key;
    json_t *value;

    json_object_foreach (one, key, value) {
        const json_t *same = json_object_get(other, key);

        if (is_kept_from(key, is_admin) && !(same && json_equal(value, same)))
            cause_forbidden(causes, PATH_KEY(at, key),
                            "names under mete.dev/ are set by the system only");
    }
}

/* Adds a cause for each reserved member that was removed. */
static void find_removed(json_t *before, const json_t *after, const struct path *at, bool is_admin,
                         struct causes *causes)
{
    const char *key;
    json_t *value;

    json_object_foreach (before, key, value)
        if (is_kept_from(key, is_admin) && !json_object_get(after, key))
            cause_forbidden(causes, PATH_KEY(at, key),
                            "names under mete.dev/ are set by the system only");
}

struct err *kind_check_reserved(const struct kind *k, const json_t *before, const json_t *after,
                                const struct kind_context *c)
{
    static const char *const maps[] = {"labels", "annotations"};
    AUTO(causes_done) struct causes causes = {0};
    const char *name = json_text_at(after, "metadata", "name", NULL);

    if (c->is_system)
        return NULL;
    for (size_t i = 0; i < COUNT(maps); i++) {
        json_t *was = json_at(before, "metadata", maps[i], NULL);
        json_t *is = json_at(after, "metadata", maps[i], NULL);
        const struct path *at = PATH(PATH(NULL, "metadata"), maps[i]);

        find_reserved(is, was, at, c->is_admin, &causes);
        find_removed(was, is, at, c->is_admin, &causes);
    }
    queue_check_annotations(before, after, c->is_admin, &causes);
    return causes_err_of(&causes, k, name ? name : "");
}
