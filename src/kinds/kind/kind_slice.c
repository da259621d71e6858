/* kind_slice.c - resource.k8s.io/v1 ResourceSlice: the devices of a node, as the server publishes
 * them */

#include "base/mem.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"

enum {
    DEVICES_MAX = 128,
    FACTS_MAX = 32
};

static const struct field attribute_fields[] = {
    F_INT("int", "A number."),
    F_BOOL("bool", "A boolean."),
    F_STRING("string", "A text.", .size_max = 64),
    F_STRING("version", "A semantic version.", .size_max = 64),
    F_END,
};
static const struct field attribute_item = F_OBJECT(NULL, attribute_fields, "One value.");

static const struct field capacity_fields[] = {
    F_QUANTITY("value", "The amount.", .is_required = true),
    F_END,
};
static const struct field capacity_item = F_OBJECT(NULL, capacity_fields, "An amount.");

static const struct field device_fields[] = {
    F_STRING("name", "The device's name, unique in the pool.", .is_required = true, .size_max = 63),
    F_MAP("attributes", &attribute_item, "What the device is.", .items_max = FACTS_MAX),
    F_MAP("capacity", &capacity_item, "What the device has.", .items_max = FACTS_MAX),
    F_END,
};
static const struct field device_item = F_OBJECT(NULL, device_fields, "A device.");

static const struct field pool_fields[] = {
    F_STRING("name", "The pool's name.", .is_required = true, .size_max = 253),
    F_INT("generation", "Grows with each change of the pool.", .is_required = true),
    F_INT("resourceSliceCount", "The number of slices of the pool.", .is_required = true, .min = 1,
          .max = INT32_MAX),
    F_END,
};

static const struct field spec_fields[] = {
    F_STRING("driver", "The driver of the devices.", .is_required = true, .size_max = 63),
    F_OBJECT("pool", pool_fields, "The pool of the devices.", .is_required = true),
    F_STRING("nodeName", "The node of the devices.", .is_required = true, .size_max = 253),
    F_LIST("devices", &device_item, "The devices.", .items_max = DEVICES_MAX),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The devices.", .is_required = true),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the slice."},
    {"Node", "string", "", 0, "The node of the devices."},
    {"Driver", "string", "", 0, "The driver of the devices."},
    {"Pool", "string", "", 0, "The pool of the devices."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *slice_cells(const json_t *object, int64_t now_ns)
{
    const json_t *spec = json_object_get(object, "spec");
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_text(json_text(spec, "nodeName"), "<unset>"));
    (void)json_array_append_new(row, cell_text(json_text(spec, "driver"), ""));
    (void)json_array_append_new(row, cell_text(json_text_at(spec, "pool", "name", NULL), ""));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

static const char *const selectable[] = {"spec.nodeName", "spec.driver", NULL};

const struct kind kind_slice = {
    .zero = "{\"spec\":{}}",
    .group = "resource.k8s.io",
    .version = "v1",
    .api_version = "resource.k8s.io/v1",
    .kind = "ResourceSlice",
    .plural = "resourceslices",
    .singular = "resourceslice",
    .fields = fields,
    .columns = columns,
    .cells = slice_cells,
    .selectable = selectable,
    .doc = "The devices of a node, for claims.",
};
