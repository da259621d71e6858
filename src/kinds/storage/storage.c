/* storage.c - what the kinds of persistent volumes share */

#include "kinds/storage/storage.h"

#include "base/mem.h"
#include "base/str.h"
#include "kinds/kind/value.h"
#include "model/quantity.h"

static const char *const modes_known[] = {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce",
                                          "ReadWriteOncePod", NULL};

bool storage_has_mode(const json_t *modes, const char *mode)
{
    return json_has_text(modes, mode);
}

/* In the order of Kubernetes' tables. */
char *storage_modes_text(const json_t *modes)
{
    static const struct {
        const char *mode;
        const char *text;
    } texts[] = {{"ReadWriteOnce", "RWO"},
                 {"ReadOnlyMany", "ROX"},
                 {"ReadWriteMany", "RWX"},
                 {"ReadWriteOncePod", "RWOP"}};
    struct buf text = {0};

    for (size_t i = 0; i < COUNT(texts); i++)
        if (storage_has_mode(modes, texts[i].mode))
            buf_printf(&text, "%s%s", text.size > 0 ? "," : "", texts[i].text);
    return text.size > 0 ? buf_steal(&text) : mem_strdup("");
}

int64_t storage_bytes(const json_t *amounts)
{
    const char *text = json_text(amounts, "storage");
    struct quantity q = {0};

    if (text)
        err_free(quantity_parse(str_of(text), &q)); /* the schema has checked it */
    return quantity_units(q);
}

bool storage_class_is_default(const json_t *class)
{
    return text_equal(json_text_at(class, "metadata", "annotations", STORAGE_DEFAULT_CLASS, NULL),
                      "true");
}

const char *storage_volume_node(const json_t *volume)
{
    const json_t *terms =
        json_at(volume, "spec", "nodeAffinity", "required", "nodeSelectorTerms", NULL);
    const json_t *rules = json_object_get(json_array_get(terms, 0), "matchExpressions");
    const json_t *rule = json_array_get(rules, 0);

    return text_or_empty(json_string_value(json_array_get(json_object_get(rule, "values"), 0)));
}

static bool is_known(const char *mode)
{
    for (size_t i = 0; modes_known[i]; i++)
        if (text_equal(modes_known[i], mode))
            return true;
    return false;
}

void storage_validate_modes(const json_t *modes, const struct path *at, struct causes *causes)
{
    const size_t n = json_array_size(modes);

    for (size_t i = 0; i < n; i++) {
        const char *mode = text_or_empty(json_string_value(json_array_get(modes, i)));

        if (!is_known(mode))
            cause_unsupported(causes, at, mode, modes_known);
    }
    if (n > 1 && storage_has_mode(modes, "ReadWriteOncePod"))
        cause_forbidden(causes, at, "may not use ReadWriteOncePod with other access modes");
}

void storage_validate_claim_spec(const json_t *spec, const struct path *at, struct causes *causes)
{
    const json_t *modes = json_object_get(spec, "accessModes");
    const json_t *requests = json_at(spec, "resources", "requests", NULL);
    const struct path *storage_at = PATH_KEY(PATH(at, "resources"), "storage");

    if (json_array_size(modes) == 0)
        cause_required(causes, PATH(at, "accessModes"), "at least 1 access mode is required");
    storage_validate_modes(modes, PATH(at, "accessModes"), causes);
    if (!json_object_get(requests, "storage"))
        cause_required(causes, storage_at, "");
    else if (storage_bytes(requests) <= 0)
        cause_invalid(causes, storage_at, value_text(requests, "storage"),
                      "must be greater than zero");
    if (text_equal(json_text(spec, "volumeMode"), "Block"))
        cause_forbidden(causes, PATH(at, "volumeMode"), "Block is not implemented yet");
}
