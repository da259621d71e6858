/* kind_quota.c - core/v1 ResourceQuota; admit_quota.c keeps the usage */

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/quota/quota_names.h"
#include "model/names.h"

enum {
    HARD_MAX = 128,
    EXPRESSIONS_MAX = 16
};

static const struct field scope_item =
    F_STRING(NULL, "Terminating, NotTerminating, BestEffort, NotBestEffort or PriorityClass.",
             .size_max = 64);

static const struct field expression_fields[] = {
    F_STRING("scopeName", "The scope.", .is_required = true, .size_max = 64),
    F_STRING("operator", "In, NotIn, Exists or DoesNotExist.", .is_required = true, .size_max = 16),
    F_LIST("values", &string_item, "Names of priority classes, for In and NotIn.", .items_max = 64),
    F_END,
};
static const struct field expression_item =
    F_OBJECT(NULL, expression_fields, "A condition on a pod.");

static const struct field selector_fields[] = {
    F_LIST("matchExpressions", &expression_item, "Conditions, all of which must hold.",
           .items_max = EXPRESSIONS_MAX),
    F_END,
};

static const struct field spec_fields[] = {
    F_MAP("hard", &quantity_item,
          "Limits of the namespace's usage, by resource: cpu, limits.memory, "
          "requests.nvidia.com/gpu, pods, count/jobs.batch, ...",
          .items_max = HARD_MAX),
    F_LIST("scopes", &scope_item, "Scopes of the counted pods; empty: all pods.",
           .is_set_list = true, .items_max = EXPRESSIONS_MAX, .is_atomic = true),
    F_OBJECT("scopeSelector", selector_fields, "Scopes with conditions on the priority class.",
             .is_atomic = true),
    F_END,
};

static const struct field status_fields[] = {
    F_MAP("hard", &quantity_item, "The enforced limits.", .items_max = HARD_MAX),
    F_MAP("used", &quantity_item, "The exact usage at this revision.", .items_max = HARD_MAX),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The wanted limits.", .fallback = "{}"),
    F_OBJECT("status", status_fields, "The usage."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the quota."},
    {"Request", "string", "", 0, "Usage and quota of all resources but limits."},
    {"Limit", "string", "", 0, "Usage and quota of limits."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "requests.cpu: 1/4, requests.memory: 0/8Gi", sorted by name. */
static json_t *cell_used(const json_t *quota, bool is_limits)
{
    json_t *hard = json_at(quota, "status", "hard", NULL);
    const json_t *used = json_at(quota, "status", "used", NULL);
    const char *names[HARD_MAX] = {0};
    size_t n = 0;
    struct buf out = {0};
    AUTO_FREE char *text = NULL;
    const char *name;
    json_t *value;

    json_object_foreach (hard, name, value) {
        if (n < HARD_MAX && text_starts_with(name, "limits.") == is_limits)
            names[n++] = name;
    }
    qsort(names, n, sizeof(names[0]), compare_texts);
    for (size_t i = 0; i < n; i++) {
        const char *amount = json_text(used, names[i]);

        buf_printf(&out, "%s%s: %s/%s", i > 0 ? ", " : "", names[i], amount ? amount : "0",
                   json_text(hard, names[i]));
    }
    text = buf_steal(&out);
    return json_string(text);
}

static json_t *quota_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_used(object, false));
    (void)json_array_append_new(row, cell_used(object, true));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

static void validate_hard(const char *resource, const json_t *value, const struct path *at,
                          struct causes *causes)
{
    struct err *e = name_check_qualified(resource);
    const struct kind *counted = quota_counted(resource);

    if (e)
        cause_take(causes, at, resource, e);
    else if (!strchr(resource, '/') && !quota_is_standard(resource))
        cause_invalid(causes, at, resource, "must be a standard resource for quota");
    else if (counted && quota_ignores(counted))
        cause_forbidden(causes, at, "events are not counted: a full quota would hide them");
    if (quota_is_integer(resource) && quota_amount(value).milli % 1000 != 0)
        cause_invalid(causes, at, json_string_value(value), "must be an integer");
}

/* Adds a cause that shows a list or an object as Kubernetes does. */
static void invalid_scopes(struct causes *causes, const struct path *at, const json_t *value,
                           const char *detail)
{
    AUTO_FREE char *text = json_format(value);

    cause_invalid(causes, at, text, detail);
}

struct scopes {
    const json_t *shown; /* shown in messages */
    json_t *hard;
    const struct path *at;
    struct causes *causes;
    const char *names[EXPRESSIONS_MAX];
    size_t n;
};

static void add_scope(struct scopes *s, const char *scope)
{
    if (s->n < EXPRESSIONS_MAX)
        s->names[s->n++] = scope;
}

static bool has_scope(const struct scopes *s, const char *scope)
{
    for (size_t i = 0; i < s->n; i++)
        if (text_equal(s->names[i], scope))
            return true;
    return false;
}

static void check_fits(const struct scopes *s, const char *scope)
{
    const char *resource;
    json_t *value;

    json_object_foreach (s->hard, resource, value) {
        if (quota_is_standard(resource) && !quota_scope_fits(scope, resource))
            invalid_scopes(s->causes, s->at, s->shown, "unsupported scope applied to resource");
    }
}

static void check_pairs(const struct scopes *s)
{
    if ((has_scope(s, "BestEffort") && has_scope(s, "NotBestEffort")) ||
        (has_scope(s, "Terminating") && has_scope(s, "NotTerminating")))
        invalid_scopes(s->causes, s->at, s->shown, "conflicting scopes");
}

static void validate_scopes(const json_t *spec, const struct path *at, struct causes *causes)
{
    const json_t *list = json_object_get(spec, "scopes");
    struct scopes s = {.shown = list,
                       .hard = json_object_get(spec, "hard"),
                       .at = PATH(at, "scopes"),
                       .causes = causes};

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *scope = json_string_value(json_array_get(list, i));

        if (!quota_scope_is_known(scope))
            invalid_scopes(causes, s.at, list, "unsupported scope");
        check_fits(&s, scope);
        add_scope(&s, scope);
    }
    check_pairs(&s);
}

static void validate_operator(const json_t *expression, const struct path *at,
                              struct causes *causes)
{
    static const char exists_only[] =
        "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, "
        "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
        "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
    const char *scope = json_text(expression, "scopeName");
    const char *how = json_text(expression, "operator");
    const json_t *values = json_object_get(expression, "values");
    bool is_list = text_equal(how, "In") || text_equal(how, "NotIn");

    if (!how || !*how)
        return; /* the schema reports it */
    if (quota_scope_is_known(scope) && !text_equal(scope, "PriorityClass") &&
        !text_equal(how, "Exists"))
        cause_invalid(causes, PATH(at, "operator"), how, exists_only);
    if (is_list && json_array_size(values) == 0)
        cause_required(causes, PATH(at, "values"),
                       "must be at least one value when `operator` is 'In' or 'NotIn' for scope "
                       "selector");
    if (is_list)
        return;
    if (!text_equal(how, "Exists") && !text_equal(how, "DoesNotExist"))
        cause_invalid(causes, PATH(at, "operator"), how, "not a valid selector operator");
    else if (json_array_size(values) > 0)
        invalid_scopes(causes, PATH(at, "values"), values,
                       "must be no value when `operator` is 'Exist' or 'DoesNotExist' for "
                       "scope selector");
}

static void quota_validate_selector(const json_t *spec, const struct path *at,
                                    struct causes *causes)
{
    const json_t *list = json_at(spec, "scopeSelector", "matchExpressions", NULL);
    const struct path *here = PATH(PATH(at, "scopeSelector"), "matchExpressions");
    struct scopes s = {.shown = json_object_get(spec, "scopeSelector"),
                       .hard = json_object_get(spec, "hard"),
                       .at = here,
                       .causes = causes};

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *expression = json_array_get(list, i);
        const char *scope = json_text(expression, "scopeName");

        if (scope && *scope && !quota_scope_is_known(scope))
            cause_invalid(causes, PATH(here, "scopeName"), scope, "unsupported scope");
        check_fits(&s, scope);
        validate_operator(expression, here, causes);
        add_scope(&s, scope);
    }
    check_pairs(&s);
}

static void quota_validate(const json_t *object, struct causes *causes)
{
    const json_t *spec = json_object_get(object, "spec");
    const struct path *at = PATH(NULL, "spec");
    const char *resource;
    json_t *value;

    json_object_foreach (json_object_get(spec, "hard"), resource, value)
        validate_hard(resource, value, PATH_KEY(PATH(at, "hard"), resource), causes);
    validate_scopes(spec, at, causes);
    quota_validate_selector(spec, at, causes);
}

static bool has_text(const json_t *list, const json_t *text)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_equal(json_array_get(list, i), text))
            return true;
    return false;
}

static bool has_all(const json_t *list, const json_t *texts)
{
    for (size_t i = 0; i < json_array_size(texts); i++)
        if (!has_text(list, json_array_get(texts, i)))
            return false;
    return true;
}

static struct err *quota_validate_update(const json_t *before, const json_t *after,
                                         const struct kind_context *c)
{
    const json_t *was = json_at(before, "spec", "scopes", NULL);
    const json_t *is = json_at(after, "spec", "scopes", NULL);
    const char *name = json_text_at(after, "metadata", "name", NULL);
    AUTO(causes_done) struct causes causes = {0};
    AUTO(json_freep) json_t *none = json_array();

    (void)c;
    if (!has_all(was, is) || !has_all(is, was))
        invalid_scopes(&causes, PATH(PATH(NULL, "spec"), "scopes"), is ? is : none,
                       "field is immutable");
    return causes_err(&causes, "ResourceQuota", name ? name : "");
}

const struct kind kind_quota = {
    .zero = "{\"spec\":{},\"status\":{}}",
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .kind = "ResourceQuota",
    .plural = "resourcequotas",
    .singular = "resourcequota",
    .short_names = {"quota"},
    .is_namespaced = true,
    .has_status = true,
    .fields = fields,
    .columns = columns,
    .cells = quota_cells,
    .validate = quota_validate,
    .validate_update = quota_validate_update,
    .doc = "A bound on the usage of a namespace.",
};
