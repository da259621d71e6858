/* kind_configmap.c - core/v1 ConfigMap */

#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/kind/value.h"
#include "model/names.h"

enum {
    DATA_MAX = 1 << 20
};

static const struct field bytes_item = F(NULL, FIELD_BYTES, "Bytes in base64.");

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_MAP("data", &string_item, "Texts by key; a key is a file name in a volume.",
          .check_key = name_check_config_key),
    F_MAP("binaryData", &bytes_item, "Bytes by key, in base64.",
          .check_key = name_check_config_key),
    F_BOOL("immutable", "Whether the data is immutable."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the config map."},
    {"Data", "string", "", 0, "The number of keys."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *configmap_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();
    size_t n = json_object_size(json_object_get(object, "data")) +
               json_object_size(json_object_get(object, "binaryData"));

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, json_integer((json_int_t)n));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

static size_t configmap_size(json_t *map)
{
    size_t size = 0;
    const char *key;
    json_t *value;

    json_object_foreach (map, key, value)
        size += json_string_length(value);
    return size;
}

static void configmap_validate(const json_t *object, struct causes *causes)
{
    const json_t *data = json_object_get(object, "data");
    json_t *binary = json_object_get(object, "binaryData");
    const struct path *at = PATH(NULL, "data");
    const char *key;
    json_t *value;

    json_object_foreach (binary, key, value)
        if (json_object_get(data, key))
            cause_invalid(causes, PATH_KEY(at, key), key, "duplicate of key present in binaryData");
    if (configmap_size(json_object_get(object, "data")) + configmap_size(binary) / 4 * 3 > DATA_MAX)
        cause_too_long(causes, PATH(NULL, ""), DATA_MAX);
}

static struct err *configmap_validate_update(const json_t *before, const json_t *after,
                                             const struct kind_context *c)
{
    AUTO(causes_done) struct causes causes = {0};
    const char *name = json_text_at(after, "metadata", "name", NULL);

    (void)c;
    cause_if_immutable(&causes, before, after, "data");
    cause_if_immutable(&causes, before, after, "binaryData");
    return causes_err(&causes, "ConfigMap", name ? name : "");
}

const struct kind kind_configmap = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .kind = "ConfigMap",
    .plural = "configmaps",
    .singular = "configmap",
    .short_names = {"cm"},
    .is_namespaced = true,
    .fields = fields,
    .columns = columns,
    .cells = configmap_cells,
    .validate = configmap_validate,
    .validate_update = configmap_validate_update,
    .doc = "Texts and bytes that pods read from volumes or as environment.",
};
