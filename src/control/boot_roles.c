/*
 * boot_roles.c - ClusterRoles from the tables of authz.c
 *
 * admin, edit and view aggregate ClusterRoles by Kubernetes' labels, so that a chart adds the
 * rights on its own resources to them. admin includes edit, which includes view.
 */

#include "control/boot_roles.h"

#include "access/authz.h"
#include "base/mem.h"

#define AGGREGATE "rbac.authorization.k8s.io/aggregate-to-"

static json_t *rules_of_admin(void)
{
    json_t *rules = authz_role_rules(ROLE_EDIT);

    (void)json_array_append_new(
        rules, json_pack("{s:[s,s,s,s,s,s,s,s], s:[s], s:[s,s]}", "verbs", "get", "list", "watch",
                         "create", "update", "patch", "delete", "deletecollection", "apiGroups",
                         "rbac.authorization.k8s.io", "resources", "roles", "rolebindings"));
    return rules;
}

static json_t *rules_by_name(const char *name)
{
    if (text_equal(name, "cluster-admin"))
        return authz_role_rules(ROLE_CLUSTER_ADMIN);
    if (text_equal(name, "mete:reader"))
        return authz_reader_rules();
    if (text_ends_with(name, "admin"))
        return rules_of_admin();
    return authz_role_rules(text_ends_with(name, "edit") ? ROLE_EDIT : ROLE_VIEW);
}

/* The role that a ClusterRole adds its rules to; NULL: none. */
static const char *added_to(const char *name)
{
    static const char prefix[] = "system:aggregate-to-";

    if (text_starts_with(name, prefix))
        return name + sizeof(prefix) - 1;
    return text_equal(name, "view") ? "edit" : text_equal(name, "edit") ? "admin" : NULL;
}

static bool is_aggregated(const char *name)
{
    return text_equal(name, "view") || text_equal(name, "edit") || text_equal(name, "admin");
}

static void put_label(json_t *object, const char *role)
{
    AUTO_FREE char *key = mem_format("%s%s", AGGREGATE, role);

    json_put_text(object, key, "true");
}

json_t *boot_cluster_role(const char *name)
{
    json_t *role = json_object();
    const char *into = added_to(name);

    if (into)
        put_label(json_object_at(json_object_at(role, "metadata"), "labels"), into);
    if (is_aggregated(name)) {
        json_t *selector = json_object();

        put_label(json_object_at(selector, "matchLabels"), name);
        (void)json_array_append_new(
            json_array_at(json_object_at(role, "aggregationRule"), "clusterRoleSelectors"),
            selector);
    }
    json_put(role, "rules", rules_by_name(name));
    return role;
}
