/* daemonsets_nodes.c - which nodes a DaemonSet's pods are for */

#include "base/mem.h"
#include "base/num.h"
#include "control/apps/podsets_private.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/toleration.h"

#define AFFINITY_REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"

static struct daemon_node *daemon_find_node(const struct podsets *s, const char *name)
{
    struct daemon_node *node = NULL;

    map_find_text(handle, s->nodes, name, node);
    return node;
}

static json_t *seen_of(const json_t *node)
{
    json_t *labels = json_at(node, "metadata", "labels", NULL);
    json_t *taints = json_at(node, "spec", "taints", NULL);

    return json_pack("{s:{s:O?},s:O?}", "metadata", "labels", labels, "taints", taints);
}

void daemon_put_node(struct podsets *s, const char *name, const json_t *object)
{
    struct daemon_node *node = daemon_find_node(s, name);
    json_t *seen = seen_of(object);

    if (node && json_equal(node->seen, seen)) {
        json_decref(seen);
        return;
    }
    if (!node) {
        node = mem_alloc(sizeof(*node));
        node->name = mem_strdup(name);
        map_add(handle, s->nodes, node->name, strlen(node->name), node);
    }
    json_decref(node->seen);
    node->seen = seen;
    apps_poke_all(s->loop, &app_daemonset);
}

static void node_free(struct podsets *s, struct daemon_node *node)
{
    map_remove(handle, s->nodes, node);
    json_decref(node->seen);
    free(node->name);
    free(node);
}

void daemon_remove_node(struct podsets *s, const char *name)
{
    struct daemon_node *node = daemon_find_node(s, name);

    if (!node)
        return;
    node_free(s, node);
    apps_poke_all(s->loop, &app_daemonset);
}

void daemon_forget_nodes(struct podsets *s)
{
    while (s->nodes)
        node_free(s, s->nodes); /* NOLINT(clang-analyzer-unix.Malloc): it leaves the map */
}

/* ---- selectors ---- */

static bool compares(const json_t *expression, const char *label, bool is_more)
{
    const char *bound = json_string_value(json_array_get(json_object_get(expression, "values"), 0));
    int64_t one = 0;
    int64_t other = 0;
    struct err *e = label ? num_parse_int64(str_of(label), INT64_MIN, INT64_MAX, &one) : NULL;
    bool is_right = label && bound && !e;

    err_free(e);
    e = is_right ? num_parse_int64(str_of(bound), INT64_MIN, INT64_MAX, &other) : NULL;
    is_right = is_right && !e;
    err_free(e);
    return is_right && (is_more ? one > other : one < other);
}

static bool expression_holds(json_t *expression, const struct daemon_node *node)
{
    const char *operation = json_text(expression, "operator");
    const char *key = json_text(expression, "key");
    const char *label = json_text_at(node->seen, "metadata", "labels", key ? key : "", NULL);
    AUTO(json_freep) json_t *one = NULL;
    struct selector *selector = NULL;
    bool holds;

    if (text_equal(operation, "Gt") || text_equal(operation, "Lt"))
        return compares(expression, label, text_equal(operation, "Gt"));
    one = json_pack("{s:[O]}", "matchExpressions", expression);
    err_free(label_selector_parse(one, &selector)); /* a wrong one matches no node */
    holds = selector && label_selector_matches(selector, node->seen);
    selector_free(selector);
    return holds;
}

static bool field_holds(const json_t *field, const struct daemon_node *node)
{
    bool is_in = json_has_text(json_object_get(field, "values"), node->name);

    return text_equal(json_text(field, "operator"), "NotIn") ? !is_in : is_in;
}

static bool term_holds(const json_t *term, const struct daemon_node *node)
{
    const json_t *expressions = json_object_get(term, "matchExpressions");
    const json_t *names = json_object_get(term, "matchFields");

    if (json_array_size(expressions) == 0 && json_array_size(names) == 0)
        return false; /* an empty term matches nothing */
    for (size_t i = 0; i < json_array_size(expressions); i++)
        if (!expression_holds(json_array_get(expressions, i), node))
            return false;
    for (size_t i = 0; i < json_array_size(names); i++)
        if (!field_holds(json_array_get(names, i), node))
            return false;
    return true;
}

static bool is_selected(const json_t *pod, const struct daemon_node *node)
{
    json_t *labels = json_at(pod, "spec", "nodeSelector", NULL);
    const json_t *required =
        json_at(pod, "spec", "affinity", "nodeAffinity", AFFINITY_REQUIRED, NULL);
    const json_t *terms = json_object_get(required, "nodeSelectorTerms");
    const char *key;
    json_t *value;

    json_object_foreach (labels, key, value)
        if (!text_equal(json_text_at(node->seen, "metadata", "labels", key, NULL),
                        json_string_value(value)))
            return false;
    for (size_t i = 0; i < json_array_size(terms); i++)
        if (term_holds(json_array_get(terms, i), node))
            return true;
    return json_array_size(terms) == 0;
}

bool daemon_wants_node(const json_t *pod, const struct daemon_node *node, bool *ret_stays)
{
    const json_t *taints = json_object_get(node->seen, "taints");
    const char *named = pod_node(pod);
    bool is_wanted = is_selected(pod, node) && (!*named || text_equal(named, node->name));

    *ret_stays = is_wanted;
    for (size_t i = 0; i < json_array_size(taints); i++) {
        const json_t *taint = json_array_get(taints, i);
        const char *effect = json_text(taint, "effect");

        if (text_equal(effect, "PreferNoSchedule") || toleration_find(pod, taint))
            continue;
        is_wanted = false;
        *ret_stays = *ret_stays && !text_equal(effect, "NoExecute");
    }
    return is_wanted;
}

/* ---- pods ---- */

void daemon_pin(json_t *pod, const char *node)
{
    json_t *affinity = json_object_at(json_object_at(pod, "spec"), "affinity");
    json_t *of_nodes = json_object_at(affinity, "nodeAffinity");

    json_put(of_nodes, AFFINITY_REQUIRED,
             json_pack("{s:[{s:[{s:s,s:s,s:[s]}]}]}", "nodeSelectorTerms", "matchFields", "key",
                       "metadata.name", "operator", "In", "values", node));
}

const char *daemon_node_of(const json_t *pod)
{
    const json_t *terms = json_at(pod, "spec", "affinity", "nodeAffinity", AFFINITY_REQUIRED,
                                  "nodeSelectorTerms", NULL);
    const json_t *field =
        json_array_get(json_object_get(json_array_get(terms, 0), "matchFields"), 0);
    const char *named = pod_node(pod);

    if (*named)
        return named;
    return json_string_value(json_array_get(json_object_get(field, "values"), 0));
}

void daemon_tolerate(json_t *pod)
{
    static const struct {
        const char *key;
        const char *effect;
    } tolerated[] = {
        {"node.kubernetes.io/not-ready", "NoExecute"},
        {"node.kubernetes.io/unreachable", "NoExecute"},
        {"node.kubernetes.io/disk-pressure", "NoSchedule"},
        {"node.kubernetes.io/memory-pressure", "NoSchedule"},
        {"node.kubernetes.io/pid-pressure", "NoSchedule"},
        {"node.kubernetes.io/unschedulable", "NoSchedule"},
        {"node.kubernetes.io/network-unavailable", "NoSchedule"},
    };
    json_t *spec = json_object_at(pod, "spec");
    bool is_on_host = json_bool(spec, "hostNetwork", false);

    for (size_t i = 0; i < COUNT(tolerated) - !is_on_host; i++)
        (void)json_array_append_new(json_array_at(spec, "tolerations"),
                                    json_pack("{s:s,s:s,s:s}", "key", tolerated[i].key, "operator",
                                              "Exists", "effect",
                                              tolerated[i].effect)); /* fresh: cannot fail */
}
