/* kube_config.c - the configuration that a Node's labels choose */

#include "cli/kube/kube_config.h"

#include "base/file.h"
#include "base/mem.h"
#include "cli/role/gpu_config.h"
#include "kinds/pod/pod_state.h"

/* The only file of the directory, but for those of the mount itself ("..data"). `*ret` is the
 * caller's; NULL: there is none, or there are several. */
static struct err *only_file(const char *dir, char **ret)
{
    char **names = NULL;
    size_t n = 0;
    const char *found = NULL;
    bool is_alone = true;

    TRY(dir_list(dir, &names, &n));
    for (size_t i = 0; i < n; i++) {
        if (names[i][0] == '.')
            continue;
        is_alone = !found;
        found = names[i];
    }
    *ret = found && is_alone ? mem_strdup(found) : NULL;
    names_free(names, n);
    return NULL;
}

struct err *kube_config_check_mps(const char *path, bool is_claims,
                                  const struct plugin_settings *settings)
{
    if (is_claims)
        return err_new(ERR_INVALID, "%s: sharing.mps: claims get no MPS daemons yet", path);
    if (settings->strategies & (PLUGIN_ENVVAR | PLUGIN_VOLUME_MOUNTS))
        return err_new(ERR_INVALID,
                       "%s: sharing.mps: flags.plugin.deviceListStrategy: envvar and volume-mounts "
                       "do not give containers the MPS daemon's files: want cdi-cri or "
                       "cdi-annotations",
                       path);
    return NULL;
}

/* Puts the device plugin's configuration; without one the node's own counts. */
static struct err *put_plugin(const struct kube_config *c, const json_t *labels, json_t *config,
                              struct plugin_settings *ret_settings)
{
    const char *label = json_text_filled(labels, "nvidia.com/device-plugin.config");
    AUTO_FREE char *name = NULL;
    AUTO_FREE char *path = NULL;
    AUTO(json_freep) json_t *document = NULL;
    struct plugin_settings settings = {0};
    struct err *e = NULL;

    if (!c->dir[0])
        return NULL;
    if (label || c->fallback[0])
        name = mem_strdup(label ? label : c->fallback);
    else
        TRY(only_file(c->dir, &name));
    if (!name)
        return NULL;
    path = mem_format("%s/%s", c->dir, name);
    TRY(gpu_document_read(path, &document));
    e = plugin_settings_parse(document, NULL, &settings);
    if (e)
        return err_wrap(e, "%s", path);
    if (json_object_size(json_at(document, "sharing", "mps", NULL)) > 0)
        TRY(kube_config_check_mps(path, c->is_claims, &settings));
    *ret_settings = settings;
    json_put(config, "plugin", TAKE(document));
    return NULL;
}

static struct err *put_mig(const struct kube_config *c, const json_t *labels, json_t *config)
{
    const char *name = json_text_filled(labels, "nvidia.com/mig.config");
    json_t *mig = NULL;
    json_t *document = NULL;

    if (!c->mig_file[0] || !name)
        return NULL;
    mig = json_object_at(config, "mig");
    json_put_text(mig, "name", name);
    TRY(gpu_document_read(c->mig_file, &document));
    json_put(mig, "document", document);
    return NULL;
}

json_t *kube_config_node(const struct kube_config *c, const json_t *node,
                         struct plugin_settings *ret_settings)
{
    const json_t *labels = json_at(node, "metadata", "labels", NULL);
    const char *modes = json_text_at(node, "metadata", "annotations", NODE_GPU_MODES, NULL);
    json_t *made = json_object();
    json_t *annotations = json_object_at(json_object_at(made, "metadata"), "annotations");
    AUTO(json_freep) json_t *config = json_object();
    AUTO(err_freep) struct err *e = node ? put_plugin(c, labels, config, ret_settings) : NULL;
    AUTO(err_freep) struct err *mig = node ? put_mig(c, labels, config) : NULL;
    AUTO_FREE char *text = NULL;

    if (e || mig)
        json_put_text(config, "problem", err_message(e ? e : mig));
    json_put_text(annotations, NODE_GPU_MODES, modes);
    if (json_object_size(config) > 0) {
        text = json_format(config);
        json_put_text(annotations, NODE_GPU_CONFIG, text);
    }
    return made;
}
