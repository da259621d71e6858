/* kind_rbac.c - rbac.authorization.k8s.io/v1: Role, ClusterRole, RoleBinding, ClusterRoleBinding */

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/rbac_fields.h"
#include "kinds/kind/tables.h"
#include "kinds/kind/value.h"
#include "model/names.h"

enum {
    NAME_SIZE_MAX = 253,
    SELECTORS_MAX = 64
};

/* ---- roles ---- */

static const struct field rule_fields[] = {
    F_LIST("verbs", &string_item, "What may be done: get, list, watch, create ...; \"*\": all.",
           .is_required = true),
    F_LIST("apiGroups", &string_item, "Groups of the resources; \"\": core; \"*\": all."),
    F_LIST("resources", &string_item,
           "Resources and subresources: pods, pods/log, */scale; \"*\": all."),
    F_LIST("resourceNames", &string_item, "Names of the objects; none: all."),
    F_LIST("nonResourceURLs", &string_item,
           "Paths that are no resources; one that ends in * stands for all below it."),
    F_END,
};
static const struct field rule_item = F_OBJECT(NULL, rule_fields, "A rule.");

static const struct field selector_item =
    F_OBJECT(NULL, label_selector_fields, "Labels of ClusterRoles.", .is_atomic = true);
static const struct field aggregation_fields[] = {
    F_LIST("clusterRoleSelectors", &selector_item, "ClusterRoles whose rules are this role's.",
           .items_max = SELECTORS_MAX),
    F_END,
};

static const struct field role_fields[] = {
    F_TYPE_AND_METADATA,
    F_LIST("rules", &rule_item, "The rights of the role, which add up."),
    F_END,
};
static const struct field cluster_role_fields[] = {
    F_TYPE_AND_METADATA,
    F_LIST("rules", &rule_item, "The rights of the role, which add up."),
    F_OBJECT("aggregationRule", aggregation_fields,
             "Takes the rules from other ClusterRoles, and overrides `rules`."),
    F_END,
};

static struct err *check_segment(const char *name)
{
    if (*name == '\0' || text_equal(name, ".") || text_equal(name, "..") || strpbrk(name, "/%"))
        return err_new(ERR_INVALID, "may not be '.' or '..', and may not contain '/' or '%%'");
    return NULL;
}

static void validate_rule(const json_t *rule, const struct path *at, bool is_namespaced,
                          struct causes *causes)
{
    bool has_urls = json_array_size(json_object_get(rule, "nonResourceURLs")) > 0;
    bool has_resources = json_array_size(json_object_get(rule, "apiGroups")) > 0 ||
                         json_array_size(json_object_get(rule, "resources")) > 0 ||
                         json_array_size(json_object_get(rule, "resourceNames")) > 0;

    if (json_array_size(json_object_get(rule, "verbs")) == 0)
        cause_required(causes, PATH(at, "verbs"), "verbs must contain at least one value");
    if (has_urls && is_namespaced)
        cause_invalid(causes, PATH(at, "nonResourceURLs"), "",
                      "namespaced rules cannot apply to non-resource URLs");
    if (has_urls && has_resources)
        cause_invalid(causes, PATH(at, "nonResourceURLs"), "",
                      "rules cannot apply to both regular resources and non-resource URLs");
    if (has_urls)
        return;
    if (json_array_size(json_object_get(rule, "apiGroups")) == 0)
        cause_required(causes, PATH(at, "apiGroups"),
                       "resource rules must supply at least one api group");
    if (json_array_size(json_object_get(rule, "resources")) == 0)
        cause_required(causes, PATH(at, "resources"),
                       "resource rules must supply at least one resource");
}

static void validate_rules(const json_t *object, bool is_namespaced, struct causes *causes)
{
    const json_t *rules = json_object_get(object, "rules");
    const struct path *at = PATH(NULL, "rules");

    for (size_t i = 0; i < json_array_size(rules); i++)
        validate_rule(json_array_get(rules, i), PATH_INDEX(at, i), is_namespaced, causes);
}

static void role_validate(const json_t *object, struct causes *causes)
{
    validate_rules(object, true, causes);
}

static void cluster_role_validate(const json_t *object, struct causes *causes)
{
    const json_t *rule = json_object_get(object, "aggregationRule");
    const json_t *selectors = json_object_get(rule, "clusterRoleSelectors");
    const struct path *at = PATH(PATH(NULL, "aggregationRule"), "clusterRoleSelectors");

    validate_rules(object, false, causes);
    if (rule && json_array_size(selectors) == 0)
        cause_required(causes, at,
                       "at least one clusterRoleSelector required if aggregationRule "
                       "is non-nil");
    for (size_t i = 0; i < json_array_size(selectors); i++)
        label_selector_validate(json_array_get(selectors, i), PATH_INDEX(at, i), causes);
}

static const struct column role_columns[] = {
    {"Name", "string", "name", 0, "The name of the role."},
    {"Created At", "date", "", 0, "The time of the creation."},
    {0},
};

static json_t *role_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

/* ---- bindings ---- */

static const char *const subject_kinds[] = {"User", "Group", "ServiceAccount", NULL};
static const char *const role_kinds[] = {"Role", "ClusterRole", NULL};
static const char *const cluster_role_kinds[] = {"ClusterRole", NULL};

static const struct field subject_fields[] = {
    F_STRING("kind", "User, Group or ServiceAccount.", .is_required = true,
             .values = subject_kinds),
    F_STRING("apiGroup", "rbac.authorization.k8s.io; of a ServiceAccount: \"\".",
             .size_max = NAME_SIZE_MAX),
    F_STRING("name", "The subject's name.", .is_required = true),
    F_STRING("namespace", "The namespace of a ServiceAccount.", .size_max = 63),
    F_END,
};
static const struct field subject_item =
    F_OBJECT(NULL, subject_fields, "Who gets the role.", .is_atomic = true);

#define ROLE_REF_FIELDS(kinds)                                                            \
    F_STRING("apiGroup", "rbac.authorization.k8s.io.", .size_max = NAME_SIZE_MAX),        \
        F_STRING("kind", "Role or ClusterRole.", .is_required = true, .values = (kinds)), \
        F_STRING("name", "The name of the role.", .is_required = true, .check = check_segment)

static const struct field role_ref_fields[] = {ROLE_REF_FIELDS(role_kinds), F_END};
static const struct field cluster_role_ref_fields[] = {ROLE_REF_FIELDS(cluster_role_kinds), F_END};

static const struct field binding_fields[] = {
    F_TYPE_AND_METADATA,
    F_LIST("subjects", &subject_item, "Who gets the role."),
    F_OBJECT("roleRef", role_ref_fields, "The role; it cannot be changed.", .is_required = true,
             .is_atomic = true),
    F_END,
};
static const struct field cluster_binding_fields[] = {
    F_TYPE_AND_METADATA,
    F_LIST("subjects", &subject_item, "Who gets the role."),
    F_OBJECT("roleRef", cluster_role_ref_fields, "The role; it cannot be changed.",
             .is_required = true, .is_atomic = true),
    F_END,
};

static bool is_account(const json_t *subject)
{
    return text_equal(json_text(subject, "kind"), "ServiceAccount");
}

static void binding_set_defaults(json_t *object, const struct kind_context *c)
{
    const json_t *subjects = json_object_get(object, "subjects");
    json_t *role = json_object_get(object, "roleRef");

    (void)c;
    if (role && !*value_text(role, "apiGroup"))
        json_put_text(role, "apiGroup", RBAC_GROUP);
    for (size_t i = 0; i < json_array_size(subjects); i++) {
        json_t *subject = json_array_get(subjects, i);

        if (!is_account(subject) && !*value_text(subject, "apiGroup"))
            json_put_text(subject, "apiGroup", RBAC_GROUP);
    }
}

static void validate_subject(const json_t *subject, const struct path *at, bool is_namespaced,
                             struct causes *causes)
{
    static const char *const groups[] = {RBAC_GROUP, NULL};
    static const char *const no_groups[] = {"", NULL};
    const char *group = value_text(subject, "apiGroup");
    const char *ns = value_text(subject, "namespace");

    if (is_account(subject)) {
        if (*group)
            cause_unsupported(causes, PATH(at, "apiGroup"), group, no_groups);
        if (!is_namespaced && !*ns)
            cause_required(causes, PATH(at, "namespace"), "");
        return;
    }
    if (!text_equal(group, RBAC_GROUP))
        cause_unsupported(causes, PATH(at, "apiGroup"), group, groups);
    if (*ns)
        cause_forbidden(causes, PATH(at, "namespace"), "only a ServiceAccount has a namespace");
}

static void validate_binding(const json_t *object, bool is_namespaced, struct causes *causes)
{
    static const char *const groups[] = {RBAC_GROUP, NULL};
    const json_t *subjects = json_object_get(object, "subjects");
    const char *group = value_text(json_object_get(object, "roleRef"), "apiGroup");
    const struct path *at = PATH(NULL, "subjects");

    if (!text_equal(group, RBAC_GROUP))
        cause_unsupported(causes, PATH(PATH(NULL, "roleRef"), "apiGroup"), group, groups);
    for (size_t i = 0; i < json_array_size(subjects); i++)
        validate_subject(json_array_get(subjects, i), PATH_INDEX(at, i), is_namespaced, causes);
}

static void role_binding_validate(const json_t *object, struct causes *causes)
{
    validate_binding(object, true, causes);
}

static void cluster_binding_validate(const json_t *object, struct causes *causes)
{
    validate_binding(object, false, causes);
}

static struct err *binding_validate_update(const json_t *before, const json_t *after,
                                           const struct kind_context *c)
{
    AUTO(causes_done) struct causes causes = {0};
    const json_t *role = json_object_get(after, "roleRef");
    AUTO_FREE char *shown = mem_format("%s/%s", value_text(role, "kind"), value_text(role, "name"));
    AUTO_FREE char *full = mem_format("%s." RBAC_GROUP, value_text(after, "kind"));

    (void)c;
    if (!json_equal(json_object_get(before, "roleRef"), role))
        cause_invalid(&causes, PATH(NULL, "roleRef"), shown, "cannot change roleRef");
    return causes_err(&causes, full, text_or_empty(json_text_at(after, "metadata", "name", NULL)));
}

static const struct column binding_columns[] = {
    {"Name", "string", "name", 0, "The name of the binding."},
    {"Role", "string", "", 0, "The role."},
    {"Age", "date", "", 0, "Time since the creation."},
    {"Users", "string", "", 1, "Users that get the role."},
    {"Groups", "string", "", 1, "Groups that get the role."},
    {"ServiceAccounts", "string", "", 1, "Service accounts that get the role."},
    {0},
};

/* The subjects of one kind, with commas. */
static json_t *subjects_of(const json_t *object, const char *kind)
{
    const json_t *subjects = json_object_get(object, "subjects");
    AUTO(buf_done) struct buf names = {0};

    for (size_t i = 0; i < json_array_size(subjects); i++) {
        const json_t *subject = json_array_get(subjects, i);
        const char *ns = value_text(subject, "namespace");

        if (text_equal(value_text(subject, "kind"), kind))
            buf_printf(&names, "%s%s%s%s", names.size > 0 ? ", " : "", ns, *ns ? "/" : "",
                       value_text(subject, "name"));
    }
    return cell_text(names.at, "");
}

static json_t *binding_cells(const json_t *object, int64_t now_ns)
{
    const json_t *role = json_object_get(object, "roleRef");
    AUTO_FREE char *shown = mem_format("%s/%s", value_text(role, "kind"), value_text(role, "name"));
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_text(shown, ""));
    (void)json_array_append_new(row, cell_created(object));
    for (size_t i = 0; subject_kinds[i]; i++)
        (void)json_array_append_new(row, subjects_of(object, subject_kinds[i]));
    return row;
}

const struct kind kind_role = {
    .zero = "{\"rules\":null}",
    .group = RBAC_GROUP,
    .version = "v1",
    .api_version = RBAC_VERSION,
    .kind = "Role",
    .plural = "roles",
    .singular = "role",
    .is_namespaced = true,
    .fields = role_fields,
    .columns = role_columns,
    .cells = role_cells,
    .validate = role_validate,
    .check_name = check_segment,
    .doc = "Rights in a namespace.",
};

const struct kind kind_cluster_role = {
    .zero = "{\"rules\":null}",
    .group = RBAC_GROUP,
    .version = "v1",
    .api_version = RBAC_VERSION,
    .kind = "ClusterRole",
    .plural = "clusterroles",
    .singular = "clusterrole",
    .fields = cluster_role_fields,
    .columns = role_columns,
    .cells = role_cells,
    .validate = cluster_role_validate,
    .check_name = check_segment,
    .doc = "Rights in the whole cluster, or in the namespaces of RoleBindings that name it.",
};

const struct kind kind_role_binding = {
    .zero = "{\"roleRef\":{\"apiGroup\":\"\",\"kind\":\"\",\"name\":\"\"}}",
    .group = RBAC_GROUP,
    .version = "v1",
    .api_version = RBAC_VERSION,
    .kind = "RoleBinding",
    .plural = "rolebindings",
    .singular = "rolebinding",
    .is_namespaced = true,
    .fields = binding_fields,
    .columns = binding_columns,
    .cells = binding_cells,
    .validate = role_binding_validate,
    .validate_update = binding_validate_update,
    .set_defaults = binding_set_defaults,
    .check_name = check_segment,
    .doc = "Gives a role to users, groups and service accounts, in a namespace.",
};

const struct kind kind_cluster_role_binding = {
    .zero = "{\"roleRef\":{\"apiGroup\":\"\",\"kind\":\"\",\"name\":\"\"}}",
    .group = RBAC_GROUP,
    .version = "v1",
    .api_version = RBAC_VERSION,
    .kind = "ClusterRoleBinding",
    .plural = "clusterrolebindings",
    .singular = "clusterrolebinding",
    .fields = cluster_binding_fields,
    .columns = binding_columns,
    .cells = binding_cells,
    .validate = cluster_binding_validate,
    .validate_update = binding_validate_update,
    .set_defaults = binding_set_defaults,
    .check_name = check_segment,
    .doc = "Gives a role to users, groups and service accounts, in the whole cluster.",
};
