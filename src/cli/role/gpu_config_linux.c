/* gpu_config_linux.c - reads the files of --gpu-config and --mig-config */

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "cli/role/gpu_config.h"

enum {
    GPU_CONFIG_MAX = 1 << 20
};

struct err *gpu_document_read(const char *path, json_t **ret)
{
    AUTO(json_freep) json_t *documents = NULL;
    AUTO(buf_done) struct buf b = {0};

    TRY(file_read(path, GPU_CONFIG_MAX, &b));
    TRY(yaml_parse(path, (struct str){.at = b.at, .size = b.size}, &documents));
    if (json_array_size(documents) != 1)
        return err_new(ERR_INVALID, "%s: want one document", path);
    *ret = json_incref(json_array_get(documents, 0));
    return NULL;
}

static struct err *config_load(const char *path, json_t *warnings, struct sharing_config *ret)
{
    AUTO(json_freep) json_t *document = NULL;
    struct err *e = NULL;

    if (!*path)
        return NULL;
    TRY(gpu_document_read(path, &document));
    e = sharing_config_parse(document, warnings, ret);
    return e ? err_wrap(e, "%s", path) : NULL;
}

static void log_warnings(const char *path, const json_t *warnings)
{
    for (size_t i = 0; i < json_array_size(warnings); i++)
        LOG(WARN, "gpu configuration", S("file", path),
            S("warning", json_string_value(json_array_get(warnings, i))));
}

struct err *gpu_config_read(const char *path, struct sharing_config *ret)
{
    AUTO(json_freep) json_t *warnings = json_array();

    TRY(config_load(path, warnings, ret));
    log_warnings(path, warnings);
    return NULL;
}

struct err *plugin_config_read(const char *path, struct sharing_config *ret_sharing,
                               struct plugin_settings *ret)
{
    AUTO(json_freep) json_t *warnings = json_array();
    AUTO(json_freep) json_t *document = NULL;
    struct err *e = NULL;

    if (*path)
        TRY(gpu_document_read(path, &document));
    e = plugin_settings_parse(document, warnings, ret);
    if (!e && document) {
        (void)json_object_del(json_object_get(document, "flags"), "plugin"); /* may be absent */
        e = sharing_config_parse(document, warnings, ret_sharing);
    }
    if (e)
        return err_wrap(e, "%s", path);
    log_warnings(path, warnings);
    return NULL;
}

struct err *gpu_config_check(const char *path)
{
    AUTO_FREE struct sharing_config *config = mem_alloc(sizeof(*config));

    return config_load(path, NULL, config);
}

struct err *mig_config_read(const char *path, json_t **ret)
{
    AUTO(json_freep) json_t *document = NULL;
    AUTO_FREE struct mig_config *config = mem_alloc(sizeof(*config));
    struct err *e = NULL;
    const char *name;
    json_t *value;

    if (!*path)
        return NULL;
    TRY(gpu_document_read(path, &document));
    if (!json_is_object(json_object_get(document, "mig-configs")))
        return err_new(ERR_INVALID, "%s: mig-configs: want an object of named configurations",
                       path);
    json_object_foreach (json_object_get(document, "mig-configs"), name, value) {
        e = mig_config_parse(document, name, config);
        if (e)
            return err_wrap(e, "%s", path);
    }
    *ret = TAKE(document);
    return NULL;
}

struct err *mig_config_check(const char *path)
{
    AUTO(json_freep) json_t *document = NULL;

    return mig_config_read(path, &document);
}
