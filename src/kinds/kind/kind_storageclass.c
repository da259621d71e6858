/* kind_storageclass.c - storage.k8s.io/v1 StorageClass */

#include "base/mem.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/kind/value.h"
#include "kinds/storage/storage.h"

static const char *const policies[] = {"Delete", "Retain", NULL};
static const char *const binding_modes[] = {"Immediate", "WaitForFirstConsumer", NULL};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_STRING("provisioner", "The provisioner: mete.dev/local, or kubernetes.io/no-provisioner.",
             .size_max = 253),
    F_MAP("parameters", &string_item, "Parameters of the provisioner."),
    F_STRING("reclaimPolicy", "What becomes of volumes after their claims.", .values = policies,
             .fallback = "\"Delete\""),
    F_LIST("mountOptions", &string_item, "Options of mounts.", .support = FIELD_IGNORED,
           .is_atomic = true),
    F_BOOL("allowVolumeExpansion", "Whether claims may grow."),
    F_STRING("volumeBindingMode",
             "Immediate, or WaitForFirstConsumer: a claim gets its volume with its first pod.",
             .values = binding_modes, .fallback = "\"Immediate\""),
    F_REFUSED("allowedTopologies", "The nodes of volumes."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the class."},
    {"Provisioner", "string", "", 0, "The provisioner."},
    {"ReclaimPolicy", "string", "", 0, "What becomes of volumes after their claims."},
    {"VolumeBindingMode", "string", "", 0, "When claims get their volumes."},
    {"AllowVolumeExpansion", "string", "", 0, "Whether claims may grow."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *storageclass_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();
    AUTO_FREE char *name = mem_format("%s%s", json_text_at(object, "metadata", "name", NULL),
                                      storage_class_is_default(object) ? " (default)" : "");

    (void)now_ns;
    (void)json_array_append_new(row, json_string(name));
    (void)json_array_append_new(row, cell_text(json_text(object, "provisioner"), ""));
    (void)json_array_append_new(row, cell_text(json_text(object, "reclaimPolicy"), "Delete"));
    (void)json_array_append_new(row,
                                cell_text(json_text(object, "volumeBindingMode"), "Immediate"));
    (void)json_array_append_new(row,
                                json_boolean(json_bool(object, "allowVolumeExpansion", false)));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

static void storageclass_validate(const json_t *object, struct causes *causes)
{
    const char *provisioner = value_text(object, "provisioner");
    const json_t *parameters = json_object_get(object, "parameters");

    if (!*provisioner)
        cause_required(causes, PATH(NULL, "provisioner"), "");
    if (!text_equal(provisioner, STORAGE_LOCAL))
        return;
    if (json_object_size(parameters) > 0)
        cause_forbidden(causes, PATH(NULL, "parameters"),
                        "the provisioner " STORAGE_LOCAL " has no parameters");
    if (json_bool(object, "allowVolumeExpansion", false))
        cause_forbidden(causes, PATH(NULL, "allowVolumeExpansion"),
                        "expansion is not implemented yet by " STORAGE_LOCAL);
}

static struct err *storageclass_validate_update(const json_t *before, const json_t *after,
                                                const struct kind_context *c)
{
    static const char *const fixed[] = {"parameters", "provisioner", "reclaimPolicy"};
    AUTO(causes_done) struct causes causes = {0};

    (void)c;
    for (size_t i = 0; i < COUNT(fixed); i++) {
        const json_t *was = json_object_get(before, fixed[i]);
        const json_t *is = json_object_get(after, fixed[i]);
        AUTO_FREE char *text = mem_format("updates to %s are forbidden.", fixed[i]);

        if (was != is && !(was && is && json_equal(was, is)))
            cause_forbidden(&causes, PATH(NULL, fixed[i]), text);
    }
    if (!text_equal(json_text(before, "volumeBindingMode"), json_text(after, "volumeBindingMode")))
        cause_invalid(&causes, PATH(NULL, "volumeBindingMode"),
                      value_text(after, "volumeBindingMode"), "field is immutable");
    return causes_err(&causes, "StorageClass",
                      text_or_empty(json_text_at(after, "metadata", "name", NULL)));
}

const struct kind kind_storageclass = {
    .group = "storage.k8s.io",
    .version = "v1",
    .api_version = "storage.k8s.io/v1",
    .kind = "StorageClass",
    .plural = "storageclasses",
    .singular = "storageclass",
    .short_names = {"sc"},
    .fields = fields,
    .columns = columns,
    .cells = storageclass_cells,
    .validate = storageclass_validate,
    .validate_update = storageclass_validate_update,
    .doc = "A way to make volumes for claims.",
};
