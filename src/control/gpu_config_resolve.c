/* gpu_config_resolve.c - the configuration of one node's gpus, from the operator's objects */

#include "base/mem.h"
#include "base/yaml.h"
#include "control/gpu_config.h"
#include "gpu/mig_config.h"

static const char plugin_label[] = "nvidia.com/device-plugin.config";
static const char mig_label[] = "nvidia.com/mig.config";

static const char *const namespaces[] = {"gpu-operator", "nvidia-gpu-operator",
                                         "nvidia-device-plugin", "kube-system"};

bool gpu_config_has_namespace(const char *ns)
{
    for (size_t i = 0; i < COUNT(namespaces); i++)
        if (text_equal(namespaces[i], ns))
            return true;
    return false;
}

/* Finds a ConfigMap; `*ret_key` becomes "NAMESPACE/NAME", which the caller frees. */
static struct err *map_find_named(const struct gpu_config_sources *s, const char *name,
                                  const json_t **ret, char **ret_key)
{
    for (size_t i = 0; i < COUNT(namespaces); i++) {
        AUTO_FREE char *key = mem_format("%s/%s", namespaces[i], name);
        const json_t *map = json_object_get(s->maps, key);

        if (!map)
            continue;
        *ret = map;
        *ret_key = TAKE(key);
        return NULL;
    }
    return err_new(ERR_NOT_FOUND, "there is no ConfigMap %s in gpu-operator or kube-system", name);
}

/* Reads one key of a ConfigMap as YAML; `key` NULL: its only key. A new tree. */
static struct err *map_read(const struct gpu_config_sources *s, const char *name, const char *key,
                            json_t **ret)
{
    AUTO(json_freep) json_t *documents = NULL;
    AUTO_FREE char *path = NULL;
    const json_t *map = NULL;
    const json_t *data;
    const char *text;

    TRY(map_find_named(s, name, &map, &path));
    data = json_object_get(map, "data");
    if (!key && json_object_size(data) == 1)
        key = json_object_iter_key(json_object_iter((json_t *)(uintptr_t)data));
    if (!key)
        return err_new(ERR_INVALID, "ConfigMap %s has %zu keys: a node label has to name one", path,
                       json_object_size(data));
    text = json_text(data, key);
    if (!text)
        return err_new(ERR_NOT_FOUND, "ConfigMap %s has no key \"%s\"", path, key);
    TRY(yaml_parse(path, str_of(text), &documents));
    if (json_array_size(documents) != 1)
        return err_new(ERR_INVALID, "ConfigMap %s, key \"%s\": want one document", path, key);
    *ret = json_incref(json_array_get(documents, 0));
    return NULL;
}

/* `*ret` stays NULL if nothing configures replicas. */
static struct err *resolve_plugin(const struct gpu_config_sources *s, const json_t *labels,
                                  json_t **ret)
{
    const json_t *config = json_at(s->policy, "spec", "devicePlugin", "config", NULL);
    const char *strategy = json_text_at(s->policy, "spec", "mig", "strategy", NULL);
    const char *name = json_text(config, "name");
    const char *label = json_text(labels, plugin_label);
    const char *key = label ? label : json_text(config, "default");
    AUTO(json_freep) json_t *document = NULL;
    AUTO_FREE struct sharing_config *parsed = mem_alloc(sizeof(*parsed));
    bool is_by_policy = name && *name;
    struct err *e = NULL;

    if (is_by_policy && key && *key)
        TRY(map_read(s, name, key, &document));
    else if (!is_by_policy && label && *label)
        TRY(map_read(s, label, NULL, &document));
    if (!document && !strategy)
        return NULL;
    if (!document)
        document = json_pack("{s:s}", "version", "v1");
    if (json_is_object(document) && strategy &&
        !json_text_at(document, "flags", "migStrategy", NULL))
        json_put_text(json_object_at(document, "flags"), "migStrategy", strategy);
    e = sharing_config_parse(document, NULL, parsed);
    if (e)
        return err_wrap(e, "ConfigMap %s, key \"%s\"", is_by_policy ? name : label,
                        is_by_policy ? key : "");
    *ret = TAKE(document);
    return NULL;
}

/* The name of the node's mig-config: its label, else the policy's default; NULL: none. */
static const char *mig_name_of(const json_t *manager, const json_t *labels)
{
    const char *label = json_text(labels, mig_label);
    const char *map = json_text_at(manager, "config", "name", NULL);

    if (!json_bool(manager, "enabled", true))
        return NULL;
    if (label && *label)
        return label;
    /* Without a ConfigMap the operator's default is all-disabled, whatever the node has. */
    return map && *map ? json_text_at(manager, "config", "default", NULL) : NULL;
}

/* `*ret` stays NULL without a name. Without a ConfigMap the node looks into its own file. */
static struct err *resolve_mig(const struct gpu_config_sources *s, const json_t *labels,
                               json_t **ret)
{
    const json_t *manager = json_at(s->policy, "spec", "migManager", NULL);
    const char *name = mig_name_of(manager, labels);
    const char *map = json_text_at(manager, "config", "name", NULL);
    AUTO(json_freep) json_t *document = NULL;
    AUTO(json_freep) json_t *own = NULL;
    AUTO_FREE struct mig_config *parsed = mem_alloc(sizeof(*parsed));
    struct err *e = NULL;

    if (!name || !*name)
        return NULL;
    *ret = json_pack("{s:s}", "name", name);
    if (!map || !*map)
        return NULL;
    TRY(map_read(s, map, "config.yaml", &document));
    e = mig_config_parse(document, name, parsed);
    if (e)
        return err_wrap(e, "ConfigMap %s", map);
    own = json_object();
    json_put_text(own, "version", "v1");
    json_put(json_object_at(own, "mig-configs"), name,
             json_incref(json_at(document, "mig-configs", name, NULL)));
    json_put(*ret, "document", TAKE(own));
    return NULL;
}

static void add_problem(json_t *to, struct err *problem)
{
    AUTO(err_freep) struct err *e = problem;

    if (e && !json_object_get(to, "problem"))
        json_put_text(to, "problem", err_message(e));
}

json_t *gpu_config_resolve(const struct gpu_config_sources *s, const json_t *labels,
                           const json_t *before)
{
    json_t *made = json_object();
    json_t *plugin = NULL;
    json_t *mig = NULL;
    struct err *e = resolve_plugin(s, labels, &plugin);

    if (e && json_object_get(before, "plugin"))
        plugin = json_deep_copy(json_object_get(before, "plugin"));
    add_problem(made, e);
    if (plugin)
        json_put(made, "plugin", plugin);
    e = resolve_mig(s, labels, &mig);
    add_problem(made, e);
    if (mig)
        json_put(made, "mig", mig);
    if (json_object_size(made) > 0)
        return made;
    json_decref(made);
    return NULL;
}
