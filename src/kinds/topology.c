/* topology.c - levels read from annotations, and their validation */

#include "kinds/topology.h"

#include "kinds/pod/pod_asks.h"
#include "model/names.h"

const char *const topology_tier_names[NETWORK_TIERS_MAX] = {
    "mete.dev/network-tier-1", "mete.dev/network-tier-2", "mete.dev/network-tier-3",
    "mete.dev/network-tier-4"};

static const char *annotation(const json_t *object, const char *key)
{
    const char *text = json_text_at(object, "metadata", "annotations", key, NULL);

    return text && *text ? text : NULL;
}

static void topology_add(struct topology_level *list, size_t *n, const char *key, bool is_required)
{
    for (size_t i = 0; i < *n; i++)
        if (text_equal(list[i].key, key)) {
            list[i].is_required = list[i].is_required || is_required;
            return;
        }
    if (key)
        list[(*n)++] = (struct topology_level){key, is_required};
}

size_t topology_read(const json_t *object, const json_t *spec,
                     struct topology_level ret[TOPOLOGY_MAX])
{
    const json_t *native = json_at(spec, "schedulingConstraints", "topology", NULL);
    size_t n = 0;

    topology_add(ret, &n, annotation(object, TOPOLOGY_PREFERRED), false);
    topology_add(ret, &n, annotation(object, TOPOLOGY_REQUIRED), true);
    topology_add(ret, &n, json_text(json_array_get(native, 0), "key"), true);
    for (size_t i = 0; i < NETWORK_TIERS_MAX; i++)
        topology_add(ret, &n, annotation(object, topology_tier_names[i]), false);
    topology_add(ret, &n, annotation(object, TOPOLOGY_TIER_REQUIRED), true);
    return n;
}

bool topology_is_linked(const json_t *pod)
{
    return text_equal(annotation(pod, TOPOLOGY_GPU_LINK), "required");
}

static void validate_link(const json_t *object, const struct path *at, struct causes *causes)
{
    static const char *const words[] = {"required", "preferred", NULL};
    const char *value = json_text_at(object, "metadata", "annotations", TOPOLOGY_GPU_LINK, NULL);
    struct gpu_asks asked;

    if (!value)
        return;
    if (!text_equal(value, words[0]) && !text_equal(value, words[1])) {
        cause_unsupported(causes, PATH_KEY(at, TOPOLOGY_GPU_LINK), value, words);
        return;
    }
    asked = pod_gpu_asks(object);
    for (size_t i = 0; i < asked.n && text_equal(value, "required"); i++)
        if (asked.at[i].kind != DEVICE_WHOLE) {
            cause_forbidden(causes, PATH_KEY(at, TOPOLOGY_GPU_LINK),
                            "only whole gpus of one kind can be linked");
            return;
        }
}

static void validate_key(const json_t *object, const struct path *at, const char *key,
                         struct causes *causes)
{
    const char *value = json_text_at(object, "metadata", "annotations", key, NULL);

    if (value)
        cause_take(causes, PATH_KEY(at, key), value, name_check_qualified(value));
}

void topology_validate(const json_t *object, const struct path *at, struct causes *causes)
{
    static const char *const others[] = {
        "kueue.x-k8s.io/podset-slice-required-topology",
        "kueue.x-k8s.io/podset-slice-size",
        "kueue.x-k8s.io/podset-group-name",
    };
    const struct path *here = PATH(PATH(at, "metadata"), "annotations");

    validate_key(object, here, TOPOLOGY_REQUIRED, causes);
    validate_key(object, here, TOPOLOGY_PREFERRED, causes);
    validate_link(object, here, causes);
    for (size_t i = 0; i < COUNT(others); i++)
        if (json_at(object, "metadata", "annotations", others[i], NULL))
            cause_forbidden(causes, PATH_KEY(here, others[i]), cause_not_implemented);
}
