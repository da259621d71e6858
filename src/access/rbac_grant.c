/* rbac_grant.c - the rights in a role, one by one, against those of its writer */

#include "access/rbac_grant.h"

#include "access/authz_private.h"
#include "access/rbac.h"
#include "base/mem.h"
#include "kinds/kind/rbac_fields.h"
#include "kinds/object/objects.h"

enum {
    RIGHTS_MAX = 64 << 10, /* verbs, groups, resources and names of a role, multiplied */
    MISSING_SHOWN_MAX = 16
};

struct judging {
    const struct store *store;
    const struct identity *who;
    const char *ns; /* NULL: the whole cluster */
    struct buf missing;
    size_t n_missing;
    size_t n_rights;
};

/* A part of a rule's product, whose verbs are judged together. */
struct right {
    const char *group;
    const char *resource; /* NULL: a path */
    const char *name;     /* NULL: all */
    const char *path;
};

static bool is_held(const struct judging *j, const struct right *r, const char *verb)
{
    const char *slash = r->resource ? strchr(r->resource, '/') : NULL;
    AUTO_FREE char *resource = NULL;
    struct rbac_ask ask = {.verb = verb,
                           .group = r->group,
                           .subresource = slash ? slash + 1 : NULL,
                           .name = r->name,
                           .ns = j->ns,
                           .path = r->path};

    if (r->resource)
        resource = slash ? mem_strndup(r->resource, (size_t)(slash - r->resource))
                         : mem_strdup(r->resource);
    ask.resource = resource;
    return authz_allows(j->store, j->who, &ask);
}

static void add_missing(struct judging *j, const struct right *r, const struct buf *verbs)
{
    if (j->n_missing++ >= MISSING_SHOWN_MAX)
        return;
    buf_add_text(&j->missing, "\n{");
    if (r->resource)
        buf_printf(&j->missing, "APIGroups:[\"%s\"], Resources:[\"%s\"], ", r->group, r->resource);
    if (r->name)
        buf_printf(&j->missing, "ResourceNames:[\"%s\"], ", r->name);
    if (r->path)
        buf_printf(&j->missing, "NonResourceURLs:[\"%s\"], ", r->path);
    buf_printf(&j->missing, "Verbs:[%s]}", verbs->at);
}

static void judge_verbs(struct judging *j, const json_t *verbs, const struct right *r)
{
    AUTO(buf_done) struct buf missing = {0};

    j->n_rights += json_array_size(verbs);
    for (size_t i = 0; i < json_array_size(verbs) && j->n_rights <= RIGHTS_MAX; i++) {
        const char *verb = json_string_value(json_array_get(verbs, i));

        if (!is_held(j, r, verb))
            buf_printf(&missing, "%s\"%s\"", missing.size > 0 ? " " : "", verb);
    }
    if (missing.size > 0)
        add_missing(j, r, &missing);
}

static const char *text_in(const json_t *list, size_t i)
{
    return text_or_empty(json_string_value(json_array_get(list, i)));
}

static void judge_resource(struct judging *j, const json_t *rule, const char *group,
                           const char *resource)
{
    const json_t *names = json_object_get(rule, "resourceNames");
    struct right r = {.group = group, .resource = resource};

    if (json_array_size(names) == 0)
        judge_verbs(j, json_object_get(rule, "verbs"), &r);
    for (size_t i = 0; i < json_array_size(names); i++) {
        r.name = text_in(names, i);
        judge_verbs(j, json_object_get(rule, "verbs"), &r);
    }
}

static void judge_rule(struct judging *j, const json_t *rule)
{
    const json_t *groups = json_object_get(rule, "apiGroups");
    const json_t *resources = json_object_get(rule, "resources");
    const json_t *paths = json_object_get(rule, "nonResourceURLs");

    for (size_t g = 0; g < json_array_size(groups); g++)
        for (size_t i = 0; i < json_array_size(resources) && j->n_rights <= RIGHTS_MAX; i++)
            judge_resource(j, rule, text_in(groups, g), text_in(resources, i));
    for (size_t i = 0; i < json_array_size(paths) && j->n_rights <= RIGHTS_MAX; i++)
        judge_verbs(j, json_object_get(rule, "verbs"),
                    &(const struct right){.path = text_in(paths, i)});
}

static struct err *not_held(const struct judging *j, const struct kind *k, const char *name)
{
    AUTO(buf_done) struct buf groups = {0};

    for (size_t i = 0; i < j->who->n_groups; i++)
        buf_printf(&groups, "%s\"%s\"", i > 0 ? " " : "", j->who->groups[i]);
    if (j->n_rights > RIGHTS_MAX)
        return err_new(ERR_FORBIDDEN,
                       "%s.%s \"%s\" is forbidden: the role has more than %d rights to compare "
                       "with those of user \"%s\": want fewer, or the verb escalate or bind",
                       k->plural, k->group, name, (int)RIGHTS_MAX, j->who->user);
    return err_new(ERR_FORBIDDEN,
                   "%s.%s \"%s\" is forbidden: user \"%s\" (groups=[%s]) is attempting to grant "
                   "RBAC permissions not currently held:%s",
                   k->plural, k->group, name, j->who->user, groups.at, j->missing.at);
}

/* Judges `rules`, an array. */
static struct err *judge_rules(struct judging *j, const json_t *rules, const struct kind *k,
                               const char *name)
{
    struct err *e = NULL;

    for (size_t i = 0; i < json_array_size(rules); i++)
        judge_rule(j, json_array_get(rules, i));
    if (j->n_missing > 0 || j->n_rights > RIGHTS_MAX)
        e = not_held(j, k, name);
    buf_done(&j->missing);
    return e;
}

/* A user who aggregates roles takes all rules that anybody writes into them. */
static json_t *all_rights(void)
{
    return json_pack("[{s:[s], s:[s], s:[s]}, {s:[s], s:[s]}]", "apiGroups", "*", "resources", "*",
                     "verbs", "*", "nonResourceURLs", "*", "verbs", "*");
}

static bool may(const struct judging *j, const char *verb, const char *plural, const char *name)
{
    const struct rbac_ask ask = {
        .verb = verb, .group = RBAC_GROUP, .resource = plural, .name = name, .ns = j->ns};

    return authz_allows(j->store, j->who, &ask);
}

static bool is_member_equal(const json_t *before, const json_t *after, const char *key)
{
    const json_t *was = json_object_get(before, key);
    const json_t *is = json_object_get(after, key);

    return before && (was == is || (was && is && json_equal(was, is)));
}

static struct err *check_role(struct judging *j, const struct kind *k, const json_t *before,
                              const json_t *after, const char *name)
{
    AUTO(json_freep) json_t *rules = NULL;

    if (is_member_equal(before, after, "rules") &&
        is_member_equal(before, after, "aggregationRule"))
        return NULL;
    if (may(j, "escalate", k->plural, name))
        return NULL;
    rules = json_object_get(after, "aggregationRule")
                ? all_rights()
                : json_incref(json_object_get(after, "rules"));
    return judge_rules(j, rules, k, name);
}

static struct err *check_binding(struct judging *j, const struct kind *k, const json_t *before,
                                 const json_t *after, const char *name)
{
    const json_t *ref = json_object_get(after, "roleRef");
    bool is_cluster = text_equal(json_text(ref, "kind"), "ClusterRole");
    const char *plural = is_cluster ? "clusterroles" : "roles";
    const char *role = text_or_empty(json_text(ref, "name"));
    AUTO(json_freep) json_t *rules = NULL;

    if (is_member_equal(before, after, "roleRef") && is_member_equal(before, after, "subjects"))
        return NULL;
    if (may(j, "bind", plural, role))
        return NULL;
    rules = rbac_rules_of(j->who->rbac, is_cluster ? NULL : j->ns, role);
    if (!rules)
        return objects_not_found(kind_find(RBAC_GROUP, plural), role);
    return judge_rules(j, rules, k, name);
}

struct err *rbac_check_grant(const struct store *s, const struct identity *who,
                             const struct kind *k, const json_t *before, const json_t *after)
{
    const char *name = text_or_empty(json_text_at(after, "metadata", "name", NULL));
    struct judging j = {.store = s,
                        .who = who,
                        .ns = k->is_namespaced ? json_text_at(after, "metadata", "namespace", NULL)
                                               : NULL};

    if (who->is_admin || !text_equal(k->group, RBAC_GROUP))
        return NULL;
    if (text_ends_with(k->plural, "bindings"))
        return check_binding(&j, k, before, after, name);
    return check_role(&j, k, before, after, name);
}
