/* pod_affinity.c - rules of affinity and spread beyond the schema, in Kubernetes' words */

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/value.h"
#include "kinds/pod/pod_rules.h"
#include "model/names.h"

static const char required_key[] = "requiredDuringSchedulingIgnoredDuringExecution";
static const char preferred_key[] = "preferredDuringSchedulingIgnoredDuringExecution";

static bool is_one_of(const char *text, const char *const *list)
{
    for (size_t i = 0; list[i]; i++)
        if (text_equal(list[i], text))
            return true;
    return false;
}

static void validate_requirement(const json_t *r, const struct path *at, struct causes *causes)
{
    static const char *const sets[] = {"In", "NotIn", NULL};
    static const char *const keys[] = {"Exists", "DoesNotExist", NULL};
    static const char *const numbers[] = {"Gt", "Lt", NULL};
    const char *operation = value_text(r, "operator");
    size_t n = json_array_size(json_object_get(r, "values"));

    if (is_one_of(operation, sets)) {
        if (n == 0)
            cause_required(causes, PATH(at, "values"),
                           "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (is_one_of(operation, keys)) {
        if (n > 0)
            cause_forbidden(causes, PATH(at, "values"),
                            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    } else if (is_one_of(operation, numbers)) {
        if (n != 1)
            cause_required(causes, PATH(at, "values"),
                           "must be specified single value when `operator` is 'Lt' or 'Gt'");
    } else {
        cause_invalid(causes, PATH(at, "operator"), operation, "not a valid selector operator");
    }
}

static void validate_field_requirement(const json_t *r, const struct path *at,
                                       struct causes *causes)
{
    static const char *const known[] = {"In", "NotIn", NULL};
    const char *operation = value_text(r, "operator");
    const char *key = value_text(r, "key");
    const json_t *values = json_object_get(r, "values");

    if (!is_one_of(operation, known))
        cause_invalid(causes, PATH(at, "operator"), operation, "not a valid selector operator");
    else if (json_array_size(values) != 1)
        cause_required(causes, PATH(at, "values"),
                       "must be only one value when `operator` is 'In' or 'NotIn' for node field "
                       "selector");
    if (!text_equal(key, "metadata.name")) {
        cause_invalid(causes, PATH(at, "key"), key, "not a valid field selector key");
        return;
    }
    for (size_t i = 0; i < json_array_size(values); i++) {
        const char *name = json_string_value(json_array_get(values, i));

        cause_take(causes, PATH_INDEX(PATH(at, "values"), i), name, name_check_subdomain(name));
    }
}

static void validate_node_term(const json_t *term, const struct path *at, struct causes *causes)
{
    const json_t *expressions = json_object_get(term, "matchExpressions");
    const json_t *fields = json_object_get(term, "matchFields");

    for (size_t i = 0; i < json_array_size(expressions); i++)
        validate_requirement(json_array_get(expressions, i),
                             PATH_INDEX(PATH(at, "matchExpressions"), i), causes);
    for (size_t i = 0; i < json_array_size(fields); i++)
        validate_field_requirement(json_array_get(fields, i),
                                   PATH_INDEX(PATH(at, "matchFields"), i), causes);
}

static void validate_weight(const json_t *term, const struct path *at, struct causes *causes)
{
    int64_t weight = json_int(term, "weight", 0);

    if (weight < 1 || weight > 100)
        cause_invalid_int(causes, PATH(at, "weight"), weight, "must be in the range 1-100");
}

static void validate_nodes(const json_t *affinity, const struct path *at, struct causes *causes)
{
    const json_t *required = json_object_get(affinity, required_key);
    const json_t *terms = json_object_get(required, "nodeSelectorTerms");
    const json_t *preferred = json_object_get(affinity, preferred_key);
    const struct path *here = PATH(PATH(at, required_key), "nodeSelectorTerms");

    if (required && json_array_size(terms) == 0)
        cause_required(causes, here, "must have at least one node selector term");
    for (size_t i = 0; i < json_array_size(terms); i++)
        validate_node_term(json_array_get(terms, i), PATH_INDEX(here, i), causes);
    here = PATH(at, preferred_key);
    for (size_t i = 0; i < json_array_size(preferred); i++) {
        const json_t *term = json_array_get(preferred, i);

        validate_weight(term, PATH_INDEX(here, i), causes);
        validate_node_term(json_object_get(term, "preference"),
                           PATH(PATH_INDEX(here, i), "preference"), causes);
    }
}

static bool selects_key(const json_t *selector, const char *key)
{
    const json_t *expressions = json_object_get(selector, "matchExpressions");

    if (json_object_get(json_object_get(selector, "matchLabels"), key))
        return true;
    for (size_t i = 0; i < json_array_size(expressions); i++)
        if (text_equal(json_text(json_array_get(expressions, i), "key"), key))
            return true;
    return false;
}

/* Validates matchLabelKeys or mismatchLabelKeys (`which`) of a term or a constraint. */
static void validate_keys(const json_t *term, const char *which, const struct path *at,
                          struct causes *causes)
{
    const json_t *keys = json_object_get(term, which);
    const json_t *selector = json_object_get(term, "labelSelector");
    bool is_same = text_equal(which, "matchLabelKeys");

    if (json_array_size(keys) > 0 && !selector) {
        cause_forbidden(causes, PATH(at, which),
                        "must not be specified when labelSelector is not set");
        return;
    }
    for (size_t i = 0; i < json_array_size(keys); i++) {
        const char *key = json_string_value(json_array_get(keys, i));
        const struct path *here = PATH_INDEX(PATH(at, which), i);

        cause_take(causes, here, key, name_check_qualified(key));
        if (is_same && selects_key(selector, key))
            cause_invalid(causes, here, key, "exists in both matchLabelKeys and labelSelector");
    }
}

static void validate_both_keys(const json_t *term, const struct path *at, struct causes *causes)
{
    const json_t *same = json_object_get(term, "matchLabelKeys");
    const json_t *other = json_object_get(term, "mismatchLabelKeys");

    validate_keys(term, "matchLabelKeys", at, causes);
    validate_keys(term, "mismatchLabelKeys", at, causes);
    for (size_t i = 0; i < json_array_size(same); i++)
        for (size_t k = 0; k < json_array_size(other); k++)
            if (json_equal(json_array_get(same, i), json_array_get(other, k)))
                cause_invalid(causes, PATH_INDEX(PATH(at, "matchLabelKeys"), i),
                              json_string_value(json_array_get(same, i)),
                              "exists in both matchLabelKeys and mismatchLabelKeys");
}

static void validate_topology_key(const json_t *term, const struct path *at, struct causes *causes)
{
    if (!*value_text(term, "topologyKey"))
        cause_required(causes, PATH(at, "topologyKey"), "can not be empty");
}

static void validate_pod_term(const json_t *term, const struct path *at, struct causes *causes)
{
    const json_t *namespaces = json_object_get(term, "namespaces");
    const json_t *selector = json_object_get(term, "namespaceSelector");

    label_selector_validate(json_object_get(term, "labelSelector"), PATH(at, "labelSelector"),
                            causes);
    for (size_t i = 0; i < json_array_size(namespaces); i++) {
        const char *ns = json_string_value(json_array_get(namespaces, i));

        cause_take(causes, PATH_INDEX(PATH(at, "namespaces"), i), ns, name_check_label(ns));
    }
    if (json_object_size(json_object_get(selector, "matchLabels")) > 0 ||
        json_array_size(json_object_get(selector, "matchExpressions")) > 0)
        cause_forbidden(causes, PATH(at, "namespaceSelector"), cause_not_implemented);
    validate_both_keys(term, at, causes);
    validate_topology_key(term, at, causes);
}

static void validate_pods(const json_t *affinity, const struct path *at, struct causes *causes)
{
    const json_t *required = json_object_get(affinity, required_key);
    const json_t *preferred = json_object_get(affinity, preferred_key);

    for (size_t i = 0; i < json_array_size(required); i++)
        validate_pod_term(json_array_get(required, i), PATH_INDEX(PATH(at, required_key), i),
                          causes);
    for (size_t i = 0; i < json_array_size(preferred); i++) {
        const json_t *term = json_array_get(preferred, i);
        const struct path *here = PATH_INDEX(PATH(at, preferred_key), i);

        validate_weight(term, here, causes);
        validate_pod_term(json_object_get(term, "podAffinityTerm"), PATH(here, "podAffinityTerm"),
                          causes);
    }
}

static void validate_spread(const json_t *list, size_t i, const struct path *at,
                            struct causes *causes)
{
    const json_t *c = json_array_get(list, i);
    const char *key = value_text(c, "topologyKey");
    const char *action = value_text(c, "whenUnsatisfiable");
    int64_t skew = json_int(c, "maxSkew", 0);
    int64_t domains = json_int(c, "minDomains", 1);

    if (skew < 1 || skew > INT32_MAX)
        cause_invalid_int(causes, PATH(at, "maxSkew"), skew, "must be greater than zero");
    validate_topology_key(c, at, causes);
    for (size_t k = i + 1; k < json_array_size(list); k++) {
        const json_t *other = json_array_get(list, k);
        AUTO_FREE char *both = NULL;

        if (!text_equal(value_text(other, "topologyKey"), key) ||
            !text_equal(value_text(other, "whenUnsatisfiable"), action))
            continue;
        both = mem_format("{%s, %s}", key, action);
        cause_duplicate(causes, PATH(at, "{topologyKey, whenUnsatisfiable}"), both);
        break;
    }
    if (domains < 1 || domains > INT32_MAX)
        cause_invalid_int(causes, PATH(at, "minDomains"), domains, "must be greater than zero");
    if (json_object_get(c, "minDomains") && text_equal(action, "ScheduleAnyway"))
        cause_invalid_int(causes, PATH(at, "minDomains"), domains,
                          "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not "
                          "ScheduleAnyway");
    validate_keys(c, "matchLabelKeys", at, causes);
    label_selector_validate(json_object_get(c, "labelSelector"), PATH(at, "labelSelector"), causes);
}

void pod_validate_affinity(const json_t *spec, const struct path *at, struct causes *causes)
{
    const json_t *affinity = json_object_get(spec, "affinity");
    const json_t *spread = json_object_get(spec, "topologySpreadConstraints");
    const struct path *here = PATH(at, "affinity");

    validate_nodes(json_object_get(affinity, "nodeAffinity"), PATH(here, "nodeAffinity"), causes);
    validate_pods(json_object_get(affinity, "podAffinity"), PATH(here, "podAffinity"), causes);
    validate_pods(json_object_get(affinity, "podAntiAffinity"), PATH(here, "podAntiAffinity"),
                  causes);
    for (size_t i = 0; i < json_array_size(spread); i++)
        validate_spread(spread, i, PATH_INDEX(PATH(at, "topologySpreadConstraints"), i), causes);
}

static bool crosses(const json_t *term)
{
    return json_array_size(json_object_get(term, "namespaces")) > 0 ||
           json_object_get(term, "namespaceSelector");
}

bool pod_crosses_namespaces(const json_t *pod)
{
    static const char *const sorts[] = {"podAffinity", "podAntiAffinity"};

    for (size_t k = 0; k < COUNT(sorts); k++) {
        const json_t *all = json_at(pod, "spec", "affinity", sorts[k], NULL);
        const json_t *required = json_object_get(all, required_key);
        const json_t *preferred = json_object_get(all, preferred_key);

        for (size_t i = 0; i < json_array_size(required); i++)
            if (crosses(json_array_get(required, i)))
                return true;
        for (size_t i = 0; i < json_array_size(preferred); i++)
            if (crosses(json_object_get(json_array_get(preferred, i), "podAffinityTerm")))
                return true;
    }
    return false;
}
