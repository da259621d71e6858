/* fields.c - parts of schemas that several kinds share */

#include "kinds/kind/fields.h"

#include "model/names.h"

const struct field string_item = F_STRING(NULL, "Text.", .size_max = (size_t)1 << 20);
const struct field label_value_item =
    F_STRING(NULL, "The value of a label.", .check = name_check_label_value,
             .pattern = "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$");
const struct field quantity_item =
    F_QUANTITY(NULL, "An amount: a number with an optional suffix, as 500m or 2Gi.");
const struct field any_item = F_ANY(NULL, "Any value.");

static const struct field annotation_item =
    F_STRING(NULL, "Text for tools.", .size_max = 256 << 10);
static const struct field finalizer_item =
    F_STRING(NULL, "The name of a finalizer.", .check = name_check_qualified);

static const struct field owner_reference_fields[] = {
    F_STRING("apiVersion", "The owner's API version.", .is_required = true, .size_max = 256),
    F_STRING("kind", "The owner's kind.", .is_required = true, .size_max = 128),
    F_STRING("name", "The owner's name.", .is_required = true, .size_max = 253),
    F_STRING("uid", "The owner's uid.", .is_required = true, .size_max = 128),
    F_BOOL("controller", "Whether the owner is the managing controller."),
    F_BOOL("blockOwnerDeletion",
           "Whether a foreground deletion of the owner waits for this object."),
    F_END,
};
static const struct field owner_reference_item =
    F_OBJECT(NULL, owner_reference_fields, "An owner of the object.", .is_atomic = true);

const struct field object_meta_fields[] = {
    F_STRING("name", "The name, unique among the objects of its kind in its namespace.",
             .size_max = 253),
    F_STRING("generateName",
             "A prefix that the server completes to a unique name if `name` is absent.",
             .size_max = 253),
    F_STRING("namespace", "The namespace; empty for kinds of the whole cluster.", .size_max = 63),
    F_STRING("selfLink", "Deprecated, not set.", .size_max = 1024),
    F_STRING("uid", "Set by the server: never the same for two objects.", .size_max = 128),
    F_STRING("resourceVersion",
             "Set by the server: changes with every write; an update that sends it back fails on a "
             "conflict.",
             .size_max = 64),
    F_INT("generation", "Set by the server: grows when the spec changes."),
    F_TIME("creationTimestamp", "Set by the server: when the object was created."),
    F_TIME("deletionTimestamp",
           "Set by the server on deletion: the time at which the object's grace ends."),
    F_INT("deletionGracePeriodSeconds", "Seconds of grace for the object to end."),
    F_MAP("labels", &label_value_item, "Keys and values to select objects by.",
          .check_key = name_check_qualified),
    F_MAP("annotations", &annotation_item, "Keys and values for tools; not selectable.",
          .check_key = name_check_qualified),
    F_LIST("ownerReferences", &owner_reference_item,
           "The owners of the object, which is deleted when its last owner is gone.",
           .merge_key = "uid", .items_max = 64),
    F_LIST("finalizers", &finalizer_item,
           "Names that must be removed before a deletion becomes final.", .is_set_list = true,
           .items_max = 64),
    F_LIST("managedFields", &any_item, "The managers of fields; kept, not computed."),
    F_END,
};

const struct field object_reference_fields[] = {
    F_STRING("kind", "The object's kind.", .size_max = 128),
    F_STRING("namespace", "The object's namespace.", .size_max = 63),
    F_STRING("name", "The object's name.", .size_max = 253),
    F_STRING("uid", "The object's uid.", .size_max = 128),
    F_STRING("apiVersion", "The object's API version.", .size_max = 256),
    F_STRING("resourceVersion", "The referenced version.", .size_max = 64),
    F_STRING("fieldPath", "A part of the object, as spec.containers{name}.", .size_max = 1024),
    F_END,
};

json_t *cell_created(const json_t *object)
{
    json_t *stamp = json_at(object, "metadata", "creationTimestamp", NULL);

    return stamp ? json_incref(stamp) : json_null();
}

json_t *cell_text(const char *text, const char *fallback)
{
    return json_string(text && *text ? text : fallback);
}
