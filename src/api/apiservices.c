/*
 * apiservices.c - the APIServices: one for each group version that this server serves
 *
 * kube-aggregator registers the same objects by itself. Clients cannot register other servers yet:
 * the kind is a view, which clients only read.
 */

#include "api/handlers.h"
#include "base/mem.h"
#include "base/vec.h"

enum {
    GROUP_PRIORITY = 18000, /* of the core group; 100 less for each of Mete's own groups behind */
    GROUP_STEP = 100,
    CUSTOM_PRIORITY = 1000, /* of the groups of definitions, as in Kubernetes */
    CUSTOM_VERSION_PRIORITY = 100,
    VERSION_PRIORITY = 15
};

/* "v1.apps"; of the core group "v1.". The caller frees it. */
static char *service_name(const struct kind *k)
{
    return mem_format("%s.%s", k->version, k->group);
}

/* Is a kind before `i` of the same group and, unless `of_group`, of the same version? */
static bool is_seen(size_t i, bool of_group)
{
    const struct kind *k = kinds_served(i);

    for (size_t j = 0; j < i; j++)
        if (text_equal(kinds_served(j)->group, k->group) &&
            (of_group || text_equal(kinds_served(j)->version, k->version)))
            return true;
    return false;
}

/* The number of groups before that of the kind, in the order of discovery. */
static int64_t group_rank(const struct kind *k)
{
    int64_t rank = 0;

    for (size_t i = 0; i < kinds_count && !text_equal(kinds[i]->group, k->group); i++)
        rank += !is_seen(i, true);
    return rank;
}

static json_t *apiservice_of(const struct kind *k)
{
    AUTO_FREE char *name = service_name(k);
    json_t *object = json_object();
    json_t *spec;

    json_put_text(object, "kind", "APIService");
    json_put_text(object, "apiVersion", "apiregistration.k8s.io/v1");
    json_put(object, "metadata",
             json_pack("{s:s, s:n, s:{s:s}}", "name", name, "creationTimestamp", "labels",
                       "kube-aggregator.kubernetes.io/automanaged",
                       k->is_custom ? "true" : "onstart"));
    spec = json_object_at(object, "spec");
    json_put_text(spec, "group", *k->group ? k->group : NULL);
    json_put_text(spec, "version", k->version);
    json_put_int(spec, "groupPriorityMinimum",
                 k->is_custom ? CUSTOM_PRIORITY : GROUP_PRIORITY - GROUP_STEP * group_rank(k));
    json_put_int(spec, "versionPriority",
                 k->is_custom ? CUSTOM_VERSION_PRIORITY : VERSION_PRIORITY);
    json_put(object, "status",
             json_pack("{s:[{s:s, s:s, s:n, s:s, s:s}]}", "conditions", "type", "Available",
                       "status", "True", "lastTransitionTime", "reason", "Local", "message",
                       "Local APIServices are always available"));
    return object;
}

static int by_name(const void *a, const void *b)
{
    AUTO_FREE char *x = service_name(*(const struct kind *const *)a);
    AUTO_FREE char *y = service_name(*(const struct kind *const *)b);

    return strcmp(x, y);
}

static json_t *apiservices_list(void *arg, const char *ns)
{
    VEC(const struct kind *) firsts = {0};
    json_t *list = json_array();

    (void)arg;
    (void)ns;
    for (size_t i = 0; i < kinds_served_count(); i++)
        if (!is_seen(i, false))
            vec_add(&firsts, kinds_served(i));
    if (firsts.n > 1)
        qsort(firsts.at, firsts.n, sizeof(*firsts.at), by_name);
    VEC_EACH (&firsts, k)
        (void)json_array_append_new(list, apiservice_of(*k)); /* not NULL */
    vec_done(&firsts);
    return list;
}

static json_t *apiservices_get(void *arg, const char *ns, const char *name)
{
    (void)arg;
    (void)ns;
    for (size_t i = 0; i < kinds_served_count(); i++) {
        AUTO_FREE char *own = service_name(kinds_served(i));

        if (text_equal(own, name))
            return apiservice_of(kinds_served(i));
    }
    return NULL;
}

bool apiservices_is(const struct kind *k)
{
    return text_equal(k->group, "apiregistration.k8s.io");
}

const struct api_view apiservices_view = {.list = apiservices_list, .get = apiservices_get};
