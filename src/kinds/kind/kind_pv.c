/* kind_pv.c - core/v1 PersistentVolume */

#include "base/mem.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/kind/value.h"
#include "kinds/storage/storage.h"
#include "model/host_roots.h"

static const char *const volume_modes[] = {"Block", "Filesystem", NULL};
static const char *const policies[] = {"Delete", "Recycle", "Retain", NULL};
static const char *const path_types[] = {"DirectoryOrCreate", "Directory", NULL};

static const struct field local_fields[] = {
    F_STRING("path", "The directory on the node.", .is_required = true, .size_max = 4095),
    F_REFUSED("fsType", "The file system of a block device."),
    F_END,
};
static const struct field host_path_fields[] = {
    F_STRING("path", "The directory on the node.", .is_required = true, .size_max = 4095),
    F_STRING("type", "Directory, DirectoryOrCreate or \"\".", .values = path_types,
             .fallback = "\"\""),
    F_END,
};

static const struct field rule_fields[] = {
    F_STRING("key", "kubernetes.io/hostname.", .is_required = true, .size_max = 316),
    F_STRING("operator", "In.", .is_required = true, .size_max = 16),
    F_LIST("values", &string_item, "The node.", .items_max = 64, .is_atomic = true),
    F_END,
};
static const struct field rule_item = F_OBJECT(NULL, rule_fields, "A condition on labels.");
static const struct field term_fields[] = {
    F_LIST("matchExpressions", &rule_item, "Conditions on the node's labels.", .is_atomic = true,
           .items_max = 8),
    F_REFUSED("matchFields", "Conditions on the node's fields."),
    F_END,
};
static const struct field term_item = F_OBJECT(NULL, term_fields, "Nodes.");
static const struct field selector_fields[] = {
    F_LIST("nodeSelectorTerms", &term_item, "Alternatives.", .is_required = true, .is_atomic = true,
           .items_max = 8),
    F_END,
};
static const struct field affinity_fields[] = {
    F_OBJECT("required", selector_fields, "The nodes that reach the volume."),
    F_END,
};

static const struct field spec_fields[] = {
    F_MAP("capacity", &quantity_item, "The key storage is the volume's size."),
    F_LIST("accessModes", &string_item, "The modes that the volume offers.", .is_atomic = true,
           .items_max = 8),
    F_OBJECT("claimRef", object_reference_fields, "The claim that has the volume.",
             .is_atomic = true),
    F_STRING("persistentVolumeReclaimPolicy", "What becomes of the volume after its claim.",
             .values = policies, .fallback = "\"Retain\""),
    F_STRING("storageClassName", "The volume's class.", .size_max = 253),
    F_LIST("mountOptions", &string_item, "Options of the mount.", .support = FIELD_IGNORED,
           .is_atomic = true),
    F_STRING("volumeMode", "Filesystem.", .values = volume_modes, .fallback = "\"Filesystem\""),
    F_OBJECT("nodeAffinity", affinity_fields, "The node of the volume."),
    F_OBJECT("local", local_fields, "A directory of one node."),
    F_OBJECT("hostPath", host_path_fields, "A directory of whichever node the pod is on."),
    F_REFUSED("csi", "A volume of a CSI driver."),
    F_REFUSED("nfs", "An NFS export."),
    F_REFUSED("iscsi", "An iSCSI disk."),
    F_REFUSED("fc", "A fibre channel disk."),
    F_REFUSED("cephfs", "A Ceph file system."),
    F_REFUSED("rbd", "A Ceph block device."),
    F_REFUSED("glusterfs", "A Gluster volume."),
    F_REFUSED("flexVolume", "A volume of a plugin program."),
    F_REFUSED("awsElasticBlockStore", "An AWS disk."),
    F_REFUSED("gcePersistentDisk", "A GCE disk."),
    F_REFUSED("azureDisk", "An Azure disk."),
    F_REFUSED("azureFile", "An Azure file share."),
    F_REFUSED("vsphereVolume", "A vSphere disk."),
    F_REFUSED("volumeAttributesClassName", "Attributes of a CSI volume."),
    F_END,
};

static const struct field status_fields[] = {
    F_STRING("phase", "Pending, Available, Bound, Released or Failed.", .size_max = 32),
    F_STRING("message", "Why the volume is in this phase.", .size_max = 4096),
    F_STRING("reason", "The same for programs.", .size_max = 253),
    F_TIME("lastPhaseTransitionTime", "The last change of the phase."),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The volume.", .fallback = "{}"),
    F_OBJECT("status", status_fields, "The state of the volume.", .fallback = "{}"),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the volume."},
    {"Capacity", "string", "", 0, "The size."},
    {"Access Modes", "string", "", 0, "The modes that the volume offers."},
    {"Reclaim Policy", "string", "", 0, "What becomes of the volume after its claim."},
    {"Status", "string", "", 0, "The phase."},
    {"Claim", "string", "", 0, "The claim that has the volume."},
    {"StorageClass", "string", "", 0, "The class."},
    {"VolumeAttributesClass", "string", "", 0, "Attributes of a CSI volume."},
    {"Reason", "string", "", 0, "Why the volume is in this phase."},
    {"Age", "date", "", 0, "Time since the creation."},
    {"VolumeMode", "string", "", 1, "Filesystem or Block."},
    {0},
};

static json_t *pv_cells(const json_t *object, int64_t now_ns)
{
    const json_t *metadata = json_object_get(object, "metadata");
    const json_t *spec = json_object_get(object, "spec");
    const json_t *status = json_object_get(object, "status");
    const json_t *claim = json_object_get(spec, "claimRef");
    AUTO_FREE char *modes = storage_modes_text(json_object_get(spec, "accessModes"));
    AUTO_FREE char *claim_text =
        claim ? mem_format("%s/%s", text_or_empty(json_text(claim, "namespace")),
                           text_or_empty(json_text(claim, "name")))
              : NULL;
    const char *phase =
        json_text(metadata, "deletionTimestamp") ? "Terminating" : json_text(status, "phase");
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text(metadata, "name"), ""));
    (void)json_array_append_new(row,
                                cell_text(json_text_at(spec, "capacity", "storage", NULL), "0"));
    (void)json_array_append_new(row, cell_text(modes, ""));
    (void)json_array_append_new(row,
                                cell_text(json_text(spec, "persistentVolumeReclaimPolicy"), ""));
    (void)json_array_append_new(row, cell_text(phase, ""));
    (void)json_array_append_new(row, cell_text(claim_text, ""));
    (void)json_array_append_new(row, cell_text(json_text(spec, "storageClassName"), ""));
    (void)json_array_append_new(row, json_string("<unset>"));
    (void)json_array_append_new(row, cell_text(json_text(status, "reason"), ""));
    (void)json_array_append_new(row, cell_created(object));
    (void)json_array_append_new(row, cell_text(json_text(spec, "volumeMode"), "<unset>"));
    return row;
}

static void pv_set_defaults(json_t *object, const struct kind_context *c)
{
    json_t *status = json_object_at(object, "status");

    (void)c;
    if (!json_text(status, "phase"))
        json_put_text(status, "phase", "Pending");
}

/* The scheduler knows one affinity of volumes: a node by its host name. */
static void validate_affinity(const json_t *affinity, const struct path *at, struct causes *causes)
{
    const json_t *terms = json_at(affinity, "required", "nodeSelectorTerms", NULL);
    const json_t *rules = json_object_get(json_array_get(terms, 0), "matchExpressions");
    const json_t *rule = json_array_get(rules, 0);

    if (json_array_size(terms) != 1 || json_array_size(rules) != 1 ||
        !text_equal(json_text(rule, "key"), STORAGE_HOSTNAME) ||
        !text_equal(json_text(rule, "operator"), "In") ||
        json_array_size(json_object_get(rule, "values")) != 1)
        cause_forbidden(causes, at,
                        "another affinity than one term with " STORAGE_HOSTNAME
                        " In one node is not implemented yet");
}

static void validate_source(const json_t *spec, const struct path *at, struct causes *causes)
{
    static const char *const sources[] = {"local", "hostPath"};
    size_t n = 0;

    for (size_t i = 0; i < COUNT(sources); i++) {
        const json_t *source = json_object_get(spec, sources[i]);
        const char *path = value_text(source, "path");
        AUTO_FREE char *clean = host_path_clean(path);

        if (!source)
            continue;
        n++;
        if (n > 1)
            cause_forbidden(causes, PATH(at, sources[i]),
                            "may not specify more than 1 volume type");
        if (*path && (!clean || host_path_is_of_kernel(clean)))
            cause_invalid(causes, PATH(PATH(at, sources[i]), "path"), path,
                          "must be an absolute path without '..', not of /proc, /sys or /dev");
    }
    if (n == 0)
        cause_required(causes, at, "must specify a volume type");
    if (json_object_get(spec, "local") && !json_object_get(spec, "nodeAffinity"))
        cause_required(causes, PATH(at, "nodeAffinity"), "Local volume requires node affinity");
}

static void pv_validate(const json_t *object, struct causes *causes)
{
    const json_t *spec = json_object_get(object, "spec");
    const json_t *modes = json_object_get(spec, "accessModes");
    const json_t *capacity = json_object_get(spec, "capacity");
    const struct path *at = PATH(NULL, "spec");

    if (json_array_size(modes) == 0)
        cause_required(causes, PATH(at, "accessModes"), "");
    storage_validate_modes(modes, PATH(at, "accessModes"), causes);
    if (json_object_size(capacity) == 0)
        cause_required(causes, PATH(at, "capacity"), "");
    else if (storage_bytes(capacity) <= 0)
        cause_invalid(causes, PATH_KEY(PATH(at, "capacity"), "storage"),
                      value_text(capacity, "storage"), "must be greater than zero");
    validate_source(spec, at, causes);
    if (json_object_get(spec, "nodeAffinity"))
        validate_affinity(json_object_get(spec, "nodeAffinity"), PATH(at, "nodeAffinity"), causes);
    if (text_equal(json_text(spec, "volumeMode"), "Block"))
        cause_forbidden(causes, PATH(at, "volumeMode"), "Block is not implemented yet");
    if (text_equal(json_text(spec, "persistentVolumeReclaimPolicy"), "Recycle"))
        cause_forbidden(causes, PATH(at, "persistentVolumeReclaimPolicy"),
                        "Recycle is not implemented: use Delete or Retain");
}

static struct err *pv_validate_update(const json_t *before, const json_t *after,
                                      const struct kind_context *c)
{
    static const char *const sources[] = {"local", "hostPath"};
    AUTO(causes_done) struct causes causes = {0};
    bool is_same = true;

    (void)c;
    for (size_t i = 0; i < COUNT(sources); i++) {
        const json_t *was = json_at(before, "spec", sources[i], NULL);
        const json_t *is = json_at(after, "spec", sources[i], NULL);

        is_same = is_same && (was == is || (was && is && json_equal(was, is)));
    }
    if (!is_same)
        cause_forbidden(&causes, PATH(PATH(NULL, "spec"), "persistentvolumesource"),
                        "spec.persistentvolumesource is immutable after creation");
    if (*storage_volume_node(before) &&
        !text_equal(storage_volume_node(before), storage_volume_node(after)))
        cause_invalid(&causes, PATH(PATH(NULL, "spec"), "nodeAffinity"), storage_volume_node(after),
                      "field is immutable");
    return causes_err(&causes, "PersistentVolume",
                      text_or_empty(json_text_at(after, "metadata", "name", NULL)));
}

const struct kind kind_pv = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .kind = "PersistentVolume",
    .plural = "persistentvolumes",
    .singular = "persistentvolume",
    .short_names = {"pv"},
    .has_status = true,
    .fields = fields,
    .columns = columns,
    .cells = pv_cells,
    .validate = pv_validate,
    .validate_update = pv_validate_update,
    .set_defaults = pv_set_defaults,
    .doc = "A volume that outlives pods.",
};
