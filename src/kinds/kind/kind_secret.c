/* kind_secret.c - core/v1 Secret */

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
    F_MAP("data", &bytes_item, "Bytes by key, in base64.", .check_key = name_check_config_key),
    F_MAP("stringData", &string_item, "Texts by key; written into data, never read back.",
          .check_key = name_check_config_key),
    F_STRING("type", "The purpose of the data, which implies its keys.", .fallback = "\"Opaque\"",
             .size_max = 253),
    F_BOOL("immutable", "Whether the data is immutable."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the secret."},
    {"Type", "string", "", 0, "The purpose of the data."},
    {"Data", "string", "", 0, "The number of keys."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *secret_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();
    size_t n = json_object_size(json_object_get(object, "data"));

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_text(json_text(object, "type"), ""));
    (void)json_array_append_new(row, json_integer((json_int_t)n));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

/* Moves stringData, a write-only form, to data. */
static void secret_set_defaults(json_t *object, const struct kind_context *c)
{
    json_t *texts = json_object_get(object, "stringData");
    const char *key;
    json_t *value;

    (void)c;
    json_object_foreach (texts, key, value) {
        struct buf out = {0};

        base64_encode((struct str){json_string_value(value), json_string_length(value)}, &out);
        json_put(json_object_at(object, "data"), key, json_stringn(out.at ? out.at : "", out.size));
        buf_done(&out);
    }
    (void)json_object_del(object, "stringData"); /* may be absent */
}

static size_t secret_size(json_t *map)
{
    size_t size = 0;
    const char *key;
    json_t *value;

    json_object_foreach (map, key, value)
        size += json_string_length(value) / 4 * 3;
    return size;
}

/* Checks the keys that the secret's type requires. */
static void secret_validate(const json_t *object, struct causes *causes)
{
    static const struct {
        const char *type;
        const char *key;
    } promises[] = {
        {"kubernetes.io/dockercfg", ".dockercfg"},
        {"kubernetes.io/dockerconfigjson", ".dockerconfigjson"},
        {"kubernetes.io/ssh-auth", "ssh-privatekey"},
        {"kubernetes.io/tls", "tls.crt"},
        {"kubernetes.io/tls", "tls.key"},
    };
    json_t *data = json_object_get(object, "data");
    const struct path *at = PATH(NULL, "data");

    for (size_t i = 0; i < COUNT(promises); i++)
        if (text_equal(json_text(object, "type"), promises[i].type) &&
            !json_object_get(data, promises[i].key))
            cause_required(causes, PATH_KEY(at, promises[i].key), "");
    if (secret_size(data) > DATA_MAX)
        cause_too_long(causes, at, DATA_MAX);
}

static struct err *secret_validate_update(const json_t *before, const json_t *after,
                                          const struct kind_context *c)
{
    AUTO(causes_done) struct causes causes = {0};
    const char *name = json_text_at(after, "metadata", "name", NULL);
    const char *type = json_text(after, "type");

    (void)c;
    if (!text_equal(json_text(before, "type"), type))
        cause_invalid(&causes, PATH(NULL, "type"), type ? type : "", "field is immutable");
    cause_if_immutable(&causes, before, after, "data");
    return causes_err(&causes, "Secret", name ? name : "");
}

static const char *const selectable[] = {"type", NULL};

const struct kind kind_secret = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .kind = "Secret",
    .plural = "secrets",
    .singular = "secret",
    .is_namespaced = true,
    .fields = fields,
    .columns = columns,
    .cells = secret_cells,
    .validate = secret_validate,
    .validate_update = secret_validate_update,
    .set_defaults = secret_set_defaults,
    .selectable = selectable,
    .doc = "Confidential bytes that pods read from volumes or as environment.",
};
