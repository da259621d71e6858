/* quota_names.c - resource names and scopes of quotas */

#include "kinds/quota/quota_names.h"

#include "base/str.h"

static bool is_in(const char *const *list, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (text_equal(list[i], text))
            return true;
    return false;
}

#define IS_IN(list, text) is_in((list), COUNT(list), (text))

struct quantity quota_amount(const json_t *value)
{
    struct quantity q = {0};
    struct err *e = NULL;

    if (json_is_string(value))
        e = quantity_parse(str_of(json_string_value(value)), &q);
    if (e) {
        err_free(e);
        return (struct quantity){0};
    }
    return q;
}

json_t *quota_amount_json(struct quantity q)
{
    char text[QUANTITY_TEXT_SIZE];

    quantity_format(q, text);
    return json_string(text);
}

/* Core objects that a quota counts by their plain name, without "count/". */
static const char *const objects[] = {
    "configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets",
    "services",
};

bool quota_is_standard(const char *resource)
{
    static const char *const names[] = {
        "cpu",
        "memory",
        "ephemeral-storage",
        "requests.cpu",
        "requests.memory",
        "requests.storage",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
        "pods",
        "services.nodeports",
        "services.loadbalancers",
    };

    return IS_IN(names, resource) || IS_IN(objects, resource) ||
           text_starts_with(resource, "hugepages-") ||
           text_starts_with(resource, "requests.hugepages-");
}

/* As Kubernetes' IsIntegerResourceName: counts, and extended resources by their own name. */
bool quota_is_integer(const char *resource)
{
    static const char *const names[] = {"pods", "services.nodeports", "services.loadbalancers"};

    return IS_IN(names, resource) || IS_IN(objects, resource) ||
           (strchr(resource, '/') && !strstr(resource, "kubernetes.io/"));
}

const char *quota_extended(const char *resource)
{
    static const char *const prefixes[] = {"requests.", "limits."};
    const char *name = resource;

    if (text_starts_with(resource, "count/") || quota_device_class(resource).size > 0 ||
        quota_is_storage(resource))
        return NULL;
    for (size_t i = 0; i < 2 && name == resource; i++)
        if (text_starts_with(resource, prefixes[i]))
            name += strlen(prefixes[i]);
    return strchr(name, '/') && !strstr(name, "kubernetes.io/") ? name : NULL;
}

bool quota_ignores(const struct kind *k)
{
    return text_equal(k->plural, "events");
}

bool quota_counts(const char *resource, const struct kind *k)
{
    size_t size = strlen(k->plural);
    const char *name = resource;

    if (!text_starts_with(resource, "count/"))
        return *k->group == '\0' && text_equal(resource, k->plural) && IS_IN(objects, resource);
    name += sizeof("count/") - 1;
    if (strncmp(name, k->plural, size) != 0)
        return false;
    return *k->group == '\0' ? name[size] == '\0'
                             : name[size] == '.' && text_equal(name + size + 1, k->group);
}

const struct kind *quota_counted(const char *resource)
{
    for (size_t i = 0; i < kinds_served_count(); i++)
        if (kinds_served(i)->is_namespaced && !kinds_served(i)->is_view &&
            !kinds_served(i)->kept_as && quota_counts(resource, kinds_served(i)))
            return kinds_served(i);
    return NULL;
}

bool quota_scope_is_known(const char *scope)
{
    static const char *const names[] = {"Terminating",   "NotTerminating",
                                        "BestEffort",    "NotBestEffort",
                                        "PriorityClass", "CrossNamespacePodAffinity"};

    return IS_IN(names, scope);
}

bool quota_scope_fits(const char *scope, const char *resource)
{
    static const char *const compute[] = {"cpu",           "memory",       "limits.cpu",
                                          "limits.memory", "requests.cpu", "requests.memory"};

    if (!quota_scope_is_known(scope) || text_equal(resource, "pods"))
        return true;
    return !text_equal(scope, "BestEffort") && IS_IN(compute, resource);
}
