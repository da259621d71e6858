/* kind_node.c - core/v1 Node */

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "model/names.h"

static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};

static const struct field taint_fields[] = {
    F_STRING("key", "The key that tolerations match.", .is_required = true,
             .check = name_check_qualified),
    F_STRING("value", "The value that goes with the key.", .check = name_check_label_value),
    F_STRING("effect",
             "NoSchedule keeps new pods off the node, PreferNoSchedule does so if other nodes fit, "
             "NoExecute also evicts running pods.",
             .is_required = true, .values = effects),
    F_TIME("timeAdded", "The time when the taint was added, for NoExecute."),
    F_END,
};
static const struct field taint_item =
    F_OBJECT(NULL, taint_fields, "A taint keeps pods without a matching toleration off the node.");

static const struct field spec_fields[] = {
    F_STRING("podCIDR", "The network of the node's pods.", .size_max = 64),
    F_LIST("podCIDRs", &string_item, "The networks of the node's pods.", .is_set_list = true,
           .items_max = 2),
    F_STRING("providerID", "The machine's id at its provider.", .size_max = 1024),
    F_BOOL("unschedulable", "Whether the node accepts no new pods (cordon)."),
    F_LIST("taints", &taint_item, "The node's taints.", .items_max = 128),
    F_REFUSED("configSource", "Deprecated, not used."),
    F_STRING("externalID", "Deprecated, not used.", .support = FIELD_IGNORED),
    F_END,
};

static const struct field condition_fields[] = {
    F_STRING("type", "Ready, MemoryPressure, ...", .is_required = true, .size_max = 316),
    F_STRING("status", "True, False or Unknown.", .is_required = true, .size_max = 16),
    F_TIME("lastHeartbeatTime", "The node's last report of the condition."),
    F_TIME("lastTransitionTime", "The last change of the status."),
    F_STRING("reason", "The reason in CamelCase, for programs.", .size_max = 1024),
    F_STRING("message", "The message for users."),
    F_END,
};
static const struct field condition_item =
    F_OBJECT(NULL, condition_fields, "An observation about the node.");

static const struct field address_fields[] = {
    F_STRING("type", "Hostname, InternalIP, ExternalIP, ...", .is_required = true, .size_max = 64),
    F_STRING("address", "The address.", .is_required = true, .size_max = 253),
    F_END,
};
static const struct field address_item = F_OBJECT(NULL, address_fields, "An address of the node.");

static const struct field endpoint_fields[] = {
    F_INT("Port", "The port.", .min = 0, .max = 65535),
    F_END,
};
static const struct field daemon_endpoints_fields[] = {
    F_OBJECT("kubeletEndpoint", endpoint_fields,
             "The port of the kubelet; nodes of Mete do not listen."),
    F_END,
};

static const struct field system_fields[] = {
    F_STRING("machineID", "/etc/machine-id.", .size_max = 128),
    F_STRING("systemUUID", "The firmware's uuid.", .size_max = 128),
    F_STRING("bootID", "Changes with every boot.", .size_max = 128),
    F_STRING("kernelVersion", "uname -r.", .size_max = 256),
    F_STRING("osImage", "PRETTY_NAME of /etc/os-release.", .size_max = 256),
    F_STRING("containerRuntimeVersion", "The container runtime: crun://1.8.", .size_max = 256),
    F_STRING("kubeletVersion", "The version of mete on the node.", .size_max = 256),
    F_STRING("kubeProxyVersion", "Deprecated, not used.", .size_max = 256),
    F_STRING("operatingSystem", "linux.", .size_max = 64),
    F_STRING("architecture", "amd64, arm64, ...", .size_max = 64),
    F_ANY("swap", "Kept, not used."),
    F_END,
};

static const struct field image_fields[] = {
    F_LIST("names", &string_item, "The image's names.", .items_max = 64),
    F_INT("sizeBytes", "The image's size.", .min = 0, .max = INT64_MAX),
    F_END,
};
static const struct field image_item = F_OBJECT(NULL, image_fields, "An image on the node.");

static const struct field status_fields[] = {
    F_MAP("capacity", &quantity_item, "The node's resources.", .check_key = name_check_qualified),
    F_MAP("allocatable", &quantity_item, "The resources for pods.",
          .check_key = name_check_qualified),
    F_STRING("phase", "Deprecated, not used.", .size_max = 64),
    F_LIST("conditions", &condition_item, "The node's conditions.", .merge_key = "type",
           .items_max = 64),
    F_LIST("addresses", &address_item, "The node's addresses.", .merge_key = "type",
           .items_max = 64),
    F_OBJECT("daemonEndpoints", daemon_endpoints_fields, "Ports of the node's daemons."),
    F_OBJECT("nodeInfo", system_fields, "The machine and its software."),
    F_LIST("images", &image_item, "Images on the node."),
    F_LIST("volumesInUse", &string_item, "Kept, not used."),
    F_LIST("volumesAttached", &any_item, "Kept, not used."),
    F_ANY("config", "Kept, not used."),
    F_LIST("runtimeHandlers", &any_item, "Kept, not used."),
    F_ANY("features", "Kept, not used."),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The wanted state, set by users.", .fallback = "{}"),
    F_OBJECT("status", status_fields, "The state that the node reports."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the node."},
    {"Status", "string", "", 0, "Ready or not, and whether the node is cordoned."},
    {"Roles", "string", "", 0, "Roles from the labels node-role.kubernetes.io/ROLE."},
    {"Age", "date", "", 0, "Time since the creation."},
    {"Version", "string", "", 0, "The version of mete on the node."},
    {"Internal-IP", "string", "", 1, "The internal address."},
    {"External-IP", "string", "", 1, "The external address."},
    {"OS-Image", "string", "", 1, "The operating system."},
    {"Kernel-Version", "string", "", 1, "The kernel's version."},
    {"Container-Runtime", "string", "", 1, "The container runtime."},
    {0},
};

static const char *condition_status(const json_t *object, const char *type)
{
    const json_t *conditions = json_at(object, "status", "conditions", NULL);

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *condition = json_array_get(conditions, i);

        if (text_equal(json_text(condition, "type"), type))
            return json_text(condition, "status");
    }
    return NULL;
}

static json_t *cell_status(const json_t *object)
{
    const char *ready = condition_status(object, "Ready");
    const char *word = !ready ? "Unknown" : text_equal(ready, "True") ? "Ready" : "NotReady";
    bool is_cordoned = json_bool_at(object, "spec", "unschedulable", NULL);
    AUTO_FREE char *text = mem_format("%s%s", word, is_cordoned ? ",SchedulingDisabled" : "");

    return json_string(text);
}

static json_t *cell_roles(const json_t *object)
{
    static const char prefix[] = "node-role.kubernetes.io/";
    json_t *labels = json_at(object, "metadata", "labels", NULL);
    struct buf out = {.cap = 1024};
    const char *key;
    json_t *value;
    json_t *cell;

    json_object_foreach (labels, key, value)
        if (text_starts_with(key, prefix))
            buf_printf(&out, "%s%s", out.size > 0 ? "," : "", key + sizeof(prefix) - 1);
    cell = cell_text(out.at, "<none>");
    buf_done(&out);
    return cell;
}

static json_t *cell_address(const json_t *object, const char *type)
{
    const json_t *addresses = json_at(object, "status", "addresses", NULL);

    for (size_t i = 0; i < json_array_size(addresses); i++) {
        const json_t *address = json_array_get(addresses, i);

        if (text_equal(json_text(address, "type"), type))
            return cell_text(json_text(address, "address"), "<none>");
    }
    return json_string("<none>");
}

static json_t *node_cells(const json_t *object, int64_t now_ns)
{
    static const char *const info[] = {"osImage", "kernelVersion", "containerRuntimeVersion"};
    const json_t *system = json_at(object, "status", "nodeInfo", NULL);
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_status(object));
    (void)json_array_append_new(row, cell_roles(object));
    (void)json_array_append_new(row, cell_created(object));
    (void)json_array_append_new(row, cell_text(json_text(system, "kubeletVersion"), ""));
    (void)json_array_append_new(row, cell_address(object, "InternalIP"));
    (void)json_array_append_new(row, cell_address(object, "ExternalIP"));
    for (size_t i = 0; i < COUNT(info); i++)
        (void)json_array_append_new(row, cell_text(json_text(system, info[i]), "<unknown>"));
    return row;
}

static bool is_same_taint(const json_t *a, const json_t *b)
{
    return text_equal(json_text(a, "key"), json_text(b, "key")) &&
           text_equal(json_text(a, "effect"), json_text(b, "effect"));
}

/* Stamps a new NoExecute taint with the time, from which tolerationSeconds count
 * (control/taints.h). */
static void node_set_defaults(json_t *object, const struct kind_context *c)
{
    const json_t *taints = json_at(object, "spec", "taints", NULL);
    char stamp[STAMP_TEXT_SIZE];

    stamp_format(c->now_ns, stamp);
    for (size_t i = 0; i < json_array_size(taints); i++) {
        json_t *taint = json_array_get(taints, i);

        if (text_equal(json_text(taint, "effect"), "NoExecute") &&
            !json_object_get(taint, "timeAdded"))
            json_put_text(taint, "timeAdded", stamp);
    }
}

static void node_validate(const json_t *object, struct causes *causes)
{
    const json_t *taints = json_at(object, "spec", "taints", NULL);
    const struct path *at = PATH(PATH(NULL, "spec"), "taints");

    for (size_t i = 0; i < json_array_size(taints); i++)
        for (size_t j = 0; j < i; j++)
            if (is_same_taint(json_array_get(taints, i), json_array_get(taints, j)))
                cause_duplicate(causes, PATH_INDEX(at, i),
                                json_text(json_array_get(taints, i), "key"));
}

/* Users may change taints, unschedulable and metadata; the rest belongs to the node. */
static struct err *node_validate_update(const json_t *before, const json_t *after,
                                        const struct kind_context *c)
{
    static const char *const fixed[] = {"podCIDR", "podCIDRs", "providerID"};
    AUTO(causes_done) struct causes causes = {0};
    const char *name = json_text_at(after, "metadata", "name", NULL);
    const struct path *at = PATH(NULL, "spec");

    (void)c;
    for (size_t i = 0; i < COUNT(fixed); i++) {
        const json_t *was = json_at(before, "spec", fixed[i], NULL);
        const json_t *is = json_at(after, "spec", fixed[i], NULL);

        if (was && !(is && json_equal(was, is)))
            cause_forbidden(&causes, PATH(at, fixed[i]),
                            "node updates may only change labels, taints, or capacity");
    }
    return causes_err(&causes, "Node", name ? name : "");
}

static const char *const selectable[] = {"spec.unschedulable", NULL};

const struct kind kind_node = {
    .zero = "{\"spec\":{},\"status\":{}}",
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .kind = "Node",
    .plural = "nodes",
    .singular = "node",
    .short_names = {"no"},
    .has_status = true,
    .fields = fields,
    .columns = columns,
    .cells = node_cells,
    .validate = node_validate,
    .set_defaults = node_set_defaults,
    .validate_update = node_validate_update,
    .selectable = selectable,
    .doc = "A machine that runs containers.",
};
