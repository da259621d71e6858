/* quota.c - scopes, and the usage of objects */

#include "kinds/quota/quota.h"

#include "base/mem.h"
#include "base/vec.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_rules.h"
#include "kinds/pod/pod_view.h"
#include "model/resource.h"

static bool is_pod_kind(const struct kind *k)
{
    return *k->group == '\0' && text_equal(k->plural, "pods");
}

static bool is_service_kind(const struct kind *k)
{
    return *k->group == '\0' && text_equal(k->plural, "services");
}

/* The node ports of a Service, or one load balancer. */
static int64_t service_amount(const json_t *service, const char *resource)
{
    const json_t *port = NULL;
    int64_t n = 0;
    size_t i = 0;

    if (text_equal(resource, "services.loadbalancers"))
        return text_equal(json_text_at(service, "spec", "type", NULL), "LoadBalancer");
    if (!text_equal(resource, "services.nodeports"))
        return 0;
    json_array_foreach (json_at(service, "spec", "ports", NULL), i, port)
        n += json_int(port, "nodePort", 0) > 0;
    return n;
}

static bool is_claim_kind(const struct kind *k)
{
    return text_equal(k->plural, "resourceclaims") && text_equal(k->group, "resource.k8s.io");
}

static bool is_volume_claim_kind(const struct kind *k)
{
    return text_equal(k->plural, "persistentvolumeclaims") && *k->group == '\0';
}

/* Scopes */

static bool is_terminating(const json_t *pod)
{
    return json_at(pod, "spec", "activeDeadlineSeconds", NULL) != NULL;
}

static bool is_best_effort(const json_t *pod)
{
    return text_equal(pod_qos_class(pod), "BestEffort");
}

/* Matches the pod's class as a label selector matches {PriorityClass: name}: NotIn accepts pods
 * without a class. */
static bool class_matches(const json_t *expression, const json_t *pod)
{
    const char *how = json_text(expression, "operator");
    const char *name = json_text_at(pod, "spec", "priorityClassName", NULL);
    const json_t *values = json_object_get(expression, "values");
    bool has_class = name && *name;

    if (text_equal(how, "In"))
        return has_class && json_has_text(values, name);
    if (text_equal(how, "NotIn"))
        return !has_class || !json_has_text(values, name);
    return text_equal(how, "DoesNotExist") ? !has_class : has_class;
}

static bool scope_matches(const char *scope, const json_t *expression, const json_t *pod)
{
    if (text_equal(scope, "Terminating"))
        return is_terminating(pod);
    if (text_equal(scope, "NotTerminating"))
        return !is_terminating(pod);
    if (text_equal(scope, "BestEffort"))
        return is_best_effort(pod);
    if (text_equal(scope, "NotBestEffort"))
        return !is_best_effort(pod);
    if (text_equal(scope, "PriorityClass"))
        return class_matches(expression, pod);
    return text_equal(scope, "CrossNamespacePodAffinity") && pod_crosses_namespaces(pod);
}

bool quota_covers(const json_t *quota, const struct kind *k, const json_t *object)
{
    const json_t *scopes = json_at(quota, "spec", "scopes", NULL);
    const json_t *list = json_at(quota, "spec", "scopeSelector", "matchExpressions", NULL);

    if (!is_pod_kind(k))
        return json_array_size(scopes) == 0 && json_array_size(list) == 0;
    for (size_t i = 0; i < json_array_size(scopes); i++)
        if (!scope_matches(json_string_value(json_array_get(scopes, i)), NULL, object))
            return false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *expression = json_array_get(list, i);

        if (!scope_matches(json_text(expression, "scopeName"), expression, object))
            return false;
    }
    return true;
}

/* Amounts */

bool quota_add(struct quantity *sum, struct quantity more)
{
    if (sum->milli == 0)
        sum->form = more.form;
    if (!__builtin_add_overflow(sum->milli, more.milli, &sum->milli))
        return true;
    sum->milli = INT64_MAX;
    return false;
}

/* A quota's resource in a container: "requests.cpu" is cpu among the requests. */
struct meaning {
    const char *map;  /* "requests" or "limits"; NULL: no resource of containers */
    const char *name; /* key in the map */
};

static struct meaning meaning_of(const char *resource)
{
    static const char *const maps[] = {"requests", "limits"};
    const char *extended = quota_extended(resource);

    if (extended)
        return (struct meaning){"requests", extended};
    for (size_t i = 0; i < 2; i++) {
        size_t size = strlen(maps[i]);

        if (text_starts_with(resource, maps[i]) && resource[size] == '.')
            return (struct meaning){maps[i], resource + size + 1};
    }
    if (text_equal(resource, "cpu") || text_equal(resource, "memory") ||
        text_equal(resource, "ephemeral-storage") || text_starts_with(resource, "hugepages-"))
        return (struct meaning){"requests", resource};
    return (struct meaning){0};
}

static struct quantity amount_in(const json_t *container, struct meaning m)
{
    return quota_amount(json_at(container, "resources", m.map, m.name, NULL));
}

static struct quantity pod_amount(const json_t *pod, struct meaning m)
{
    const json_t *mains = json_at(pod, "spec", "containers", NULL);
    const json_t *inits = json_at(pod, "spec", "initContainers", NULL);
    struct quantity total = {0};
    struct quantity sidecars = {0}; /* that run already */
    struct quantity most = {0};     /* while an init container runs */

    for (size_t i = 0; i < json_array_size(mains); i++)
        (void)quota_add(&total, amount_in(json_array_get(mains, i), m)); /* saturates */
    for (size_t i = 0; i < json_array_size(inits); i++) {
        struct quantity own = amount_in(json_array_get(inits, i), m);
        struct quantity amount = sidecars;

        (void)quota_add(&amount, own);
        if (container_is_sidecar(json_array_get(inits, i))) {
            (void)quota_add(&total, own);
            sidecars = amount;
        }
        if (amount.milli > most.milli)
            most = amount;
    }
    if (most.milli > total.milli)
        total = most;
    if (text_equal(m.map, "requests") || total.milli > 0) /* without a limit there is none */
        (void)quota_add(&total, quota_amount(json_at(pod, "spec", "overhead", m.name, NULL)));
    if (text_equal(m.map, "requests") && text_equal(m.name, GPU_RESOURCE))
        (void)quota_add(&total, (struct quantity){.milli = pod_gpu_annotated_milli(pod)});
    return total;
}

struct quantity quota_usage(const struct kind *k, const json_t *object, const char *resource)
{
    struct quantity one = {.milli = 1000};
    struct meaning m;

    if (quota_counts(resource, k))
        return one;
    if (is_service_kind(k))
        return (struct quantity){.milli = 1000 * service_amount(object, resource)};
    if (is_volume_claim_kind(k))
        return quota_storage(object, resource);
    if (is_claim_kind(k))
        return (struct quantity){.milli =
                                     1000 * quota_devices(object, quota_device_class(resource))};
    if (!is_pod_kind(k) || pod_is_terminal(object))
        return (struct quantity){0};
    if (text_equal(resource, "pods"))
        return one;
    m = meaning_of(resource);
    return m.map ? pod_amount(object, m) : (struct quantity){0};
}

/* Required requests and limits */

struct missing {
    struct buf text;
    size_t n;
};

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Collects the containers without an amount of the resource. */
static void find_missing(const json_t *pod, const char *resource, struct missing *missing)
{
    static const char *const lists[] = {"containers", "initContainers"};
    struct meaning m = meaning_of(resource);
    VEC(const char *) names = {0};

    for (size_t l = 0; l < 2; l++) {
        const json_t *list = json_at(pod, "spec", lists[l], NULL);

        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *container = json_array_get(list, i);

            if (!json_at(container, "resources", m.map, m.name, NULL))
                vec_add(&names, json_text(container, "name"));
        }
    }
    if (names.n > 1)
        qsort(names.at, names.n, sizeof(names.at[0]), compare_texts);
    for (size_t i = 0; i < names.n; i++) {
        if (i == 0)
            buf_printf(&missing->text, "%s%s for: ", missing->n++ > 0 ? "; " : "", resource);
        buf_printf(&missing->text, "%s%s", i > 0 ? "," : "", names.at[i]);
    }
    vec_done(&names);
}

char *quota_missing(const json_t *quota, const json_t *pod)
{
    static const char *const resources[] = {"cpu",    "limits.cpu",   "limits.memory",
                                            "memory", "requests.cpu", "requests.memory"};
    const json_t *hard = json_at(quota, "spec", "hard", NULL);
    struct missing missing = {0};
    AUTO_FREE char *text = NULL;

    for (size_t i = 0; i < COUNT(resources); i++)
        if (json_object_get(hard, resources[i]))
            find_missing(pod, resources[i], &missing);
    if (missing.n == 0)
        return NULL;
    text = buf_steal(&missing.text);
    return mem_format("must specify %s", text);
}
