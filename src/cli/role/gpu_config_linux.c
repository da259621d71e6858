/* gpu_config_linux.c - reads the file of --gpu-config */

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "cli/role/gpu_config.h"

enum {
    GPU_CONFIG_MAX = 1 << 20
};

static struct err *config_load(const char *path, json_t *warnings, struct sharing_config *ret)
{
    AUTO(json_freep) json_t *documents = NULL;
    AUTO(buf_done) struct buf b = {0};
    struct err *e = NULL;

    if (!*path)
        return NULL;
    TRY(file_read(path, GPU_CONFIG_MAX, &b));
    TRY(yaml_parse(path, (struct str){.at = b.at, .size = b.size}, &documents));
    if (json_array_size(documents) != 1)
        return err_new(ERR_INVALID, "%s: want one document", path);
    e = sharing_config_parse(json_array_get(documents, 0), warnings, ret);
    return e ? err_wrap(e, "%s", path) : NULL;
}

struct err *gpu_config_read(const char *path, struct sharing_config *ret)
{
    AUTO(json_freep) json_t *warnings = json_array();

    TRY(config_load(path, warnings, ret));
    for (size_t i = 0; i < json_array_size(warnings); i++)
        LOG(WARN, "gpu configuration", S("file", path),
            S("warning", json_string_value(json_array_get(warnings, i))));
    return NULL;
}

struct err *gpu_config_check(const char *path)
{
    AUTO_FREE struct sharing_config *config = mem_alloc(sizeof(*config));

    return config_load(path, NULL, config);
}
