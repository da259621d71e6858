/* authz.c - the rules of roles */

#include "access/authz.h"

#include "access/authz_private.h"
#include "access/rbac.h"
#include "base/mem.h"

/* A right that a role adds to those of the role below it, in its namespaces. */
struct rule {
    enum role role;
    const char *resource; /* "pods/log" */
    const char *verbs;
};

#define READ  "get list watch"
#define WRITE "create update patch delete deletecollection"

static const struct rule namespaced_rules[] = {
    {ROLE_VIEW, "pods", READ},
    {ROLE_VIEW, "pods/status", "get"},
    {ROLE_VIEW, "pods/log", "get"},
    {ROLE_VIEW, "configmaps", READ},
    {ROLE_VIEW, "jobs", READ},
    {ROLE_VIEW, "jobs/status", "get"},
    {ROLE_VIEW, "cronjobs", READ},
    {ROLE_VIEW, "cronjobs/status", "get"},
    {ROLE_VIEW, "controllerrevisions", READ},
    {ROLE_VIEW, "daemonsets", READ},
    {ROLE_VIEW, "daemonsets/status", "get"},
    {ROLE_VIEW, "statefulsets", READ},
    {ROLE_VIEW, "statefulsets/status", "get"},
    {ROLE_VIEW, "statefulsets/scale", "get"},
    {ROLE_VIEW, "deployments", READ},
    {ROLE_VIEW, "deployments/status", "get"},
    {ROLE_VIEW, "deployments/scale", "get"},
    {ROLE_VIEW, "replicasets", READ},
    {ROLE_VIEW, "replicasets/status", "get"},
    {ROLE_VIEW, "replicasets/scale", "get"},
    {ROLE_VIEW, "replicationcontrollers", READ},
    {ROLE_VIEW, "replicationcontrollers/status", "get"},
    {ROLE_VIEW, "replicationcontrollers/scale", "get"},
    {ROLE_VIEW, "podtemplates", READ},
    {ROLE_VIEW, "horizontalpodautoscalers", READ},
    {ROLE_VIEW, "horizontalpodautoscalers/status", "get"},
    {ROLE_VIEW, "events", READ},
    {ROLE_VIEW, "slurmjobs", READ},
    {ROLE_VIEW, "slurmjobs/status", "get"},
    {ROLE_VIEW, "slurmsteps", READ},
    {ROLE_VIEW, "slurmsteps/status", "get"},
    {ROLE_VIEW, "workloads", READ},
    {ROLE_VIEW, "podgroups", READ},
    {ROLE_VIEW, "podgroups/status", "get"},
    {ROLE_VIEW, "resourcequotas", READ},
    {ROLE_VIEW, "resourcequotas/status", "get"},
    {ROLE_VIEW, "limitranges", READ},
    {ROLE_VIEW, "serviceaccounts", READ},
    {ROLE_VIEW, "leases", READ},
    {ROLE_VIEW, "services", READ},
    {ROLE_VIEW, "services/status", "get"},
    {ROLE_VIEW, "endpoints", READ},
    {ROLE_VIEW, "endpointslices", READ},
    {ROLE_VIEW, "networkpolicies", READ},
    {ROLE_VIEW, "ingresses", READ},
    {ROLE_VIEW, "ingresses/status", "get"},
    {ROLE_VIEW, "poddisruptionbudgets", READ},
    {ROLE_VIEW, "poddisruptionbudgets/status", "get"},
    {ROLE_VIEW, "resourceclaims", READ},
    {ROLE_VIEW, "resourceclaims/status", "get"},
    {ROLE_VIEW, "resourceclaimtemplates", READ},
    {ROLE_VIEW, "persistentvolumeclaims", READ},
    {ROLE_VIEW, "persistentvolumeclaims/status", "get"},
    {ROLE_EDIT, "persistentvolumeclaims", WRITE},
    {ROLE_EDIT, "pods", WRITE},
    {ROLE_EDIT, "pods/exec", "get create"},
    {ROLE_EDIT, "pods/attach", "get create"},
    {ROLE_EDIT, "pods/ephemeralcontainers", "get update patch"},
    {ROLE_EDIT, "pods/portforward", "get create"},
    {ROLE_EDIT, "pods/proxy", "get create update patch delete"},
    {ROLE_EDIT, "services/proxy", "get create update patch delete"},
    {ROLE_EDIT, "pods/eviction", "create"},
    {ROLE_EDIT, "pods/signal", "create"},
    {ROLE_EDIT, "configmaps", WRITE},
    {ROLE_EDIT, "jobs", WRITE},
    {ROLE_EDIT, "cronjobs", WRITE},
    {ROLE_EDIT, "daemonsets", WRITE},
    {ROLE_EDIT, "statefulsets", WRITE},
    {ROLE_EDIT, "statefulsets/scale", "update patch"},
    {ROLE_EDIT, "deployments", WRITE},
    {ROLE_EDIT, "deployments/scale", "update patch"},
    {ROLE_EDIT, "replicasets", WRITE},
    {ROLE_EDIT, "replicasets/scale", "update patch"},
    {ROLE_EDIT, "replicationcontrollers", WRITE},
    {ROLE_EDIT, "replicationcontrollers/scale", "update patch"},
    {ROLE_EDIT, "podtemplates", WRITE},
    {ROLE_EDIT, "horizontalpodautoscalers", WRITE},
    {ROLE_EDIT, "slurmjobs", WRITE},
    {ROLE_EDIT, "slurmsteps", WRITE},
    {ROLE_EDIT, "poddisruptionbudgets", WRITE},
    {ROLE_EDIT, "workloads", WRITE},
    {ROLE_EDIT, "podgroups", WRITE},
    {ROLE_EDIT, "leases", WRITE},
    {ROLE_EDIT, "services", WRITE},
    {ROLE_EDIT, "networkpolicies", WRITE},
    {ROLE_EDIT, "ingresses", WRITE},
    {ROLE_EDIT, "resourceclaims", WRITE},
    {ROLE_EDIT, "resourceclaimtemplates", WRITE},
    {ROLE_EDIT, "serviceaccounts", WRITE},
    {ROLE_EDIT, "secrets", READ},
    {ROLE_EDIT, "secrets", WRITE},
};

/* Cluster-wide reads for callers with a role in any namespace: nodes, gpus, queues and other things
 * to ask for. */
static const struct rule cluster_rules[] = {
    {ROLE_VIEW, "nodes", READ},
    {ROLE_VIEW, "nodes/status", "get"},
    {ROLE_VIEW, "namespaces", READ},
    {ROLE_VIEW, "namespaces/status", "get"},
    {ROLE_VIEW, "gpus", READ},
    {ROLE_VIEW, "queues", READ},
    {ROLE_VIEW, "queues/status", "get"},
    {ROLE_VIEW, "slurmqoses", READ},
    {ROLE_VIEW, "slurmusers", READ},
    {ROLE_VIEW, "reservations", READ},
    {ROLE_VIEW, "reservations/status", "get"},
    {ROLE_VIEW, "slurmpartitions", READ},
    {ROLE_VIEW, "slurmconfigs", READ},
    {ROLE_VIEW, "clusterpolicies", READ},
    {ROLE_VIEW, "clusterpolicies/status", "get"},
    {ROLE_VIEW, "priorityclasses", READ},
    {ROLE_VIEW, "deviceclasses", READ},
    {ROLE_VIEW, "storageclasses", READ},
    {ROLE_VIEW, "ingressclasses", READ},
    {ROLE_VIEW, "runtimeclasses", READ},
    {ROLE_VIEW, "resourceslices", READ},
    {ROLE_VIEW, "customresourcedefinitions", READ},
};

bool authz_has_verb(const char *verbs, const char *verb)
{
    struct str rest = str_of(verbs);

    while (rest.at && rest.size > 0) {
        if (str_equal(str_cut(&rest, ' '), str_of(verb)))
            return true;
    }
    return false;
}

static bool names_resource(const char *resource, const struct access *a)
{
    size_t size = strlen(a->kind->plural);

    if (a->kind->is_custom) /* the rules are of Mete's kinds; a custom one may have the same name */
        return false;
    if (strncmp(resource, a->kind->plural, size) != 0)
        return false;
    if (!a->subresource)
        return resource[size] == '\0';
    return resource[size] == '/' && text_equal(resource + size + 1, a->subresource);
}

/* Does `who` have at least `role` in `ns`? "*": granted for all namespaces; NULL: in any
 * namespace. */
static bool has_grant(const struct identity *who, enum role role, const char *ns)
{
    for (size_t i = 0; i < who->n_grants; i++) {
        const struct grant *g = &who->grants[i];

        if (g->role >= role && (!ns || text_equal(g->ns, "*") || text_equal(g->ns, ns)))
            return true;
    }
    return false;
}

static bool role_allows(const struct identity *who, const struct access *a)
{
    bool is_namespaced = a->kind->is_namespaced;
    const struct rule *rules = is_namespaced ? namespaced_rules : cluster_rules;
    size_t n = is_namespaced ? COUNT(namespaced_rules) : COUNT(cluster_rules);

    for (size_t i = 0; i < n; i++) {
        const char *ns = a->ns ? a->ns : "*";

        if (names_resource(rules[i].resource, a) && authz_has_verb(rules[i].verbs, a->verb) &&
            has_grant(who, rules[i].role, is_namespaced ? ns : NULL))
            return true;
    }
    return false;
}

/* Is it a question of a caller about itself (SelfSubjectAccessReview ...)? All callers may ask
 * these; only administrators may ask about others. */
static bool is_own_question(const struct access *a)
{
    return a->kind->is_question && text_starts_with(a->kind->plural, "self");
}

/* The kind of a rule's resource ("pods/log": Pod). */
static const struct kind *kind_of_rule(const struct rule *r)
{
    size_t size = strcspn(r->resource, "/");

    for (size_t i = 0; i < kinds_count; i++)
        if (strlen(kinds[i]->plural) == size && strncmp(kinds[i]->plural, r->resource, size) == 0)
            return kinds[i];
    return NULL;
}

void authz_each_rule(const struct identity *who, const char *ns,
                     void (*fn)(void *arg, const struct kind *k, const char *resource,
                                const char *verbs),
                     void *arg)
{
    const size_t n = COUNT(namespaced_rules);
    const size_t n_cluster = COUNT(cluster_rules);

    if (who->is_admin)
        fn(arg, NULL, "*", "*");
    for (size_t i = 0; !who->is_admin && i < n + n_cluster; i++) {
        bool is_cluster = i >= n;
        const struct rule *r = is_cluster ? &cluster_rules[i - n] : &namespaced_rules[i];
        const struct kind *k = kind_of_rule(r);

        if (k && has_grant(who, r->role, is_cluster ? NULL : ns))
            fn(arg, k, r->resource, r->verbs);
    }
    for (size_t i = 0; !who->is_admin && i < kinds_count; i++)
        if (kinds[i]->is_question && text_starts_with(kinds[i]->plural, "self"))
            fn(arg, kinds[i], kinds[i]->plural, "create");
}

struct err *authz_check_images(const struct identity *who, enum authz_images right)
{
    enum role role = right == AUTHZ_IMAGES_LIST ? ROLE_VIEW : ROLE_EDIT;

    if (who->is_admin || (right != AUTHZ_IMAGES_CHANGE && has_grant(who, role, NULL)))
        return NULL;
    return err_new(ERR_FORBIDDEN, "User \"%s\" cannot %s images of nodes%s", who->user,
                   right == AUTHZ_IMAGES_LIST   ? "list"
                   : right == AUTHZ_IMAGES_PULL ? "pull"
                                                : "import or remove",
                   right == AUTHZ_IMAGES_CHANGE ? ": administrators do" : "");
}

static struct err *authz_forbidden(const struct identity *who, const struct access *a)
{
    AUTO_FREE char *name = a->name ? mem_format(" \"%s\"", a->name) : mem_strdup("");
    AUTO_FREE char *where =
        a->ns ? mem_format("in the namespace \"%s\"", a->ns) : mem_strdup("at the cluster scope");
    const char *dot = *a->kind->group ? "." : "";

    return err_new(
        ERR_FORBIDDEN,
        "%s%s%s%s is forbidden: User \"%s\" cannot %s resource \"%s%s%s\" in API group \"%s\" %s",
        a->kind->plural, dot, a->kind->group, name, who->user, a->verb, a->kind->plural,
        a->subresource ? "/" : "", a->subresource ? a->subresource : "", a->kind->group, where);
}

bool authz_allows_resource(const struct identity *who, const struct access *a, const char *group,
                           const char *resource)
{
    const struct rbac_ask ask = {.verb = a->verb,
                                 .group = group,
                                 .resource = resource,
                                 .subresource = a->subresource,
                                 .name = a->name,
                                 .ns = a->ns};

    return who->is_admin || rbac_allows(who->rbac, who, &ask);
}

bool authz_allows_path(const struct identity *who, const char *verb, const char *path)
{
    const struct rbac_ask ask = {.verb = verb, .path = path};

    return who->is_admin || text_equal(verb, "get") || text_equal(verb, "head") ||
           rbac_allows(who->rbac, who, &ask);
}

bool authz_allows(const struct store *s, const struct identity *who, const struct rbac_ask *ask)
{
    const struct kind *k = ask->resource ? kind_find(ask->group, ask->resource) : NULL;
    const struct access a = {.verb = ask->verb,
                             .kind = k,
                             .subresource = ask->subresource,
                             .ns = ask->ns,
                             .name = ask->name};

    (void)s;
    if (who->is_admin || rbac_allows(who->rbac, who, ask))
        return true;
    return k && !who->node && role_allows(who, &a);
}

struct err *authz_check(const struct store *s, const struct identity *who, const struct access *a)
{
    if (who->is_admin || is_own_question(a))
        return NULL;
    if (who->node ? authz_node_allows(s, who, a) : role_allows(who, a))
        return NULL;
    if (!who->node && authz_allows_resource(who, a, a->kind->group, a->kind->plural))
        return NULL;
    return authz_forbidden(who, a);
}

/* ---- the roles as objects ---- */

static json_t *words_of(const char *words)
{
    struct str rest = str_of(words);
    json_t *list = json_array();

    while (rest.at && rest.size > 0) {
        struct str word = str_cut(&rest, ' ');

        (void)json_array_append_new(list, json_stringn(word.at, word.size));
    }
    return list;
}

/* The groups of all kinds with the name of the rule's resource. */
static json_t *groups_of(const struct rule *r)
{
    size_t size = strcspn(r->resource, "/");
    json_t *groups = json_array();

    for (size_t i = 0; i < kinds_count; i++)
        if (strlen(kinds[i]->plural) == size && strncmp(kinds[i]->plural, r->resource, size) == 0 &&
            !json_has_text(groups, kinds[i]->group))
            (void)json_array_append_new(groups, json_string(kinds[i]->group));
    return groups;
}

static json_t *format_rules(const struct rule *rules, size_t n, enum role role)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        if (rules[i].role > role)
            continue;
        (void)json_array_append_new(
            list, json_pack("{s:o, s:o, s:[s]}", "verbs", words_of(rules[i].verbs), "apiGroups",
                            groups_of(&rules[i]), "resources", rules[i].resource));
    }
    return list;
}

json_t *authz_role_rules(enum role role)
{
    if (role == ROLE_CLUSTER_ADMIN)
        return json_pack("[{s:[s], s:[s], s:[s]}, {s:[s], s:[s]}]", "verbs", "*", "apiGroups", "*",
                         "resources", "*", "verbs", "*", "nonResourceURLs", "*");
    return format_rules(namespaced_rules, COUNT(namespaced_rules), role);
}

json_t *authz_reader_rules(void)
{
    return format_rules(cluster_rules, COUNT(cluster_rules), ROLE_VIEW);
}

struct err *authz_check_stream(const struct identity *who, const char *name)
{
    if (text_equal(who->node, name))
        return NULL;
    return err_new(ERR_FORBIDDEN,
                   "nodes \"%s\" is forbidden: User \"%s\" cannot open the stream of that node",
                   name, who->user);
}

struct err *authz_check_node_create(const struct identity *who, const struct access *a,
                                    const char *name)
{
    bool is_named = text_equal(a->kind->plural, "nodes") || text_equal(a->kind->plural, "leases");

    if (who->is_admin || !who->node || !is_named || text_equal(who->node, name))
        return NULL;
    return authz_forbidden(who, a);
}
