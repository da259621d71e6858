/* kind_pvc.c - core/v1 PersistentVolumeClaim */

#include "base/mem.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/tables.h"
#include "kinds/kind/value.h"
#include "kinds/storage/storage.h"
#include "model/names.h"

static const char *const volume_modes[] = {"Block", "Filesystem", NULL};

static const struct field resources_fields[] = {
    F_MAP("limits", &quantity_item, "The most that the claim may get."),
    F_MAP("requests", &quantity_item, "The least: the key storage is its size."),
    F_END,
};

const struct field storage_claim_spec_fields[] = {
    F_LIST("accessModes", &string_item,
           "ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod.", .is_atomic = true,
           .items_max = 8),
    F_OBJECT("selector", label_selector_fields, "Labels of volumes that may be bound.",
             .is_atomic = true),
    F_OBJECT("resources", resources_fields, "The size.", .fallback = "{}"),
    F_STRING("volumeName", "The bound volume.", .size_max = 253),
    F_STRING("storageClassName", "The StorageClass; \"\": none; absent: the default one.",
             .size_max = 253),
    F_STRING("volumeMode", "Filesystem.", .values = volume_modes, .fallback = "\"Filesystem\""),
    F_REFUSED("dataSource", "A snapshot or claim that fills the volume."),
    F_REFUSED("dataSourceRef", "An object that fills the volume."),
    F_REFUSED("volumeAttributesClassName", "Attributes of a CSI volume."),
    F_END,
};

static const struct field condition_fields[] = {
    F_CONDITION("Resizing, FileSystemResizePending."),
    F_TIME("lastProbeTime", "The last look."),
    F_END,
};
static const struct field condition_item =
    F_OBJECT(NULL, condition_fields, "An observation about the claim.");

static const struct field status_fields[] = {
    F_STRING("phase", "Pending, Bound or Lost.", .size_max = 32),
    F_LIST("accessModes", &string_item, "The modes of the volume.", .is_atomic = true,
           .items_max = 8),
    F_MAP("capacity", &quantity_item, "The size of the volume."),
    F_LIST("conditions", &condition_item, "Conditions of the claim.", .merge_key = "type",
           .items_max = 64),
    F_MAP("allocatedResources", &quantity_item, "The size that an expansion has allocated."),
    F_MAP("allocatedResourceStatuses", &string_item, "The states of an expansion."),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", storage_claim_spec_fields, "The volume that is asked for.", .fallback = "{}"),
    F_OBJECT("status", status_fields, "The volume that was found.", .fallback = "{}"),
    F_END,
};
const struct field storage_claim_template_item =
    F_OBJECT(NULL, fields, "A claim that each pod gets.");

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the claim."},
    {"Status", "string", "", 0, "Pending, Bound or Lost."},
    {"Volume", "string", "", 0, "The bound volume."},
    {"Capacity", "string", "", 0, "The size of the volume."},
    {"Access Modes", "string", "", 0, "The modes of the volume."},
    {"StorageClass", "string", "", 0, "The class of the claim."},
    {"VolumeAttributesClass", "string", "", 0, "Attributes of a CSI volume."},
    {"Age", "date", "", 0, "Time since the creation."},
    {"VolumeMode", "string", "", 1, "Filesystem or Block."},
    {0},
};

static json_t *pvc_cells(const json_t *object, int64_t now_ns)
{
    const json_t *metadata = json_object_get(object, "metadata");
    const json_t *spec = json_object_get(object, "spec");
    const json_t *status = json_object_get(object, "status");
    const char *volume = json_text(spec, "volumeName");
    bool is_bound = volume && *volume;
    AUTO_FREE char *modes =
        storage_modes_text(is_bound ? json_object_get(status, "accessModes") : NULL);
    const json_t *capacity = is_bound ? json_object_get(status, "capacity") : NULL;
    const char *phase =
        json_text(metadata, "deletionTimestamp") ? "Terminating" : json_text(status, "phase");
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text(metadata, "name"), ""));
    (void)json_array_append_new(row, cell_text(phase, ""));
    (void)json_array_append_new(row, cell_text(volume, ""));
    (void)json_array_append_new(row,
                                cell_text(json_text(capacity, "storage"), is_bound ? "0" : ""));
    (void)json_array_append_new(row, cell_text(modes, ""));
    (void)json_array_append_new(row, cell_text(json_text(spec, "storageClassName"), ""));
    (void)json_array_append_new(row, json_string("<unset>"));
    (void)json_array_append_new(row, cell_created(object));
    (void)json_array_append_new(row, cell_text(json_text(spec, "volumeMode"), "<unset>"));
    return row;
}

static void pvc_set_defaults(json_t *object, const struct kind_context *c)
{
    json_t *status = json_object_at(object, "status");

    (void)c;
    if (!json_text(status, "phase"))
        json_put_text(status, "phase", "Pending");
}

static void pvc_validate(const json_t *object, struct causes *causes)
{
    storage_validate_claim_spec(json_object_get(object, "spec"), PATH(NULL, "spec"), causes);
}

/* Is the member the same, apart from a class or volume that is set for the first time? */
static bool is_kept(const json_t *was, const json_t *is, const char *key, bool may_be_set)
{
    const json_t *one = json_object_get(was, key);
    const json_t *other = json_object_get(is, key);

    if (one == other || (may_be_set && (!one || !*text_or_empty(json_string_value(one)))))
        return true;
    return one && other && json_equal(one, other);
}

/* The size may change, as far as the class allows (objects_storage.c). */
static struct err *pvc_validate_update(const json_t *before, const json_t *after,
                                       const struct kind_context *c)
{
    static const char *const fixed[] = {"accessModes", "selector", "volumeMode"};
    AUTO(causes_done) struct causes causes = {0};
    const json_t *was = json_object_get(before, "spec");
    const json_t *is = json_object_get(after, "spec");
    int64_t had = storage_bytes(json_at(was, "resources", "requests", NULL));
    int64_t has = storage_bytes(json_at(is, "resources", "requests", NULL));
    bool is_bound = text_equal(json_text_at(before, "status", "phase", NULL), "Bound");
    bool is_same = is_kept(was, is, "volumeName", c->is_system || !is_bound) &&
                   is_kept(was, is, "storageClassName",
                           c->is_system || !json_object_get(was, "storageClassName")) &&
                   (had == has || is_bound);

    for (size_t i = 0; i < COUNT(fixed); i++)
        is_same = is_same && is_kept(was, is, fixed[i], false);
    if (!is_same)
        cause_forbidden(&causes, PATH(NULL, "spec"),
                        "spec is immutable after creation except resources.requests and "
                        "volumeAttributesClassName for bound claims");
    else if (has < had)
        cause_forbidden(&causes,
                        PATH(PATH(PATH(PATH(NULL, "spec"), "resources"), "requests"), "storage"),
                        "field can not be less than status.capacity");
    return causes_err(&causes, "PersistentVolumeClaim",
                      text_or_empty(json_text_at(after, "metadata", "name", NULL)));
}

const struct kind kind_pvc = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .kind = "PersistentVolumeClaim",
    .plural = "persistentvolumeclaims",
    .singular = "persistentvolumeclaim",
    .short_names = {"pvc"},
    .is_namespaced = true,
    .has_status = true,
    .fields = fields,
    .columns = columns,
    .cells = pvc_cells,
    .validate = pvc_validate,
    .validate_update = pvc_validate_update,
    .set_defaults = pvc_set_defaults,
    .doc = "A request for a volume that outlives pods.",
};
