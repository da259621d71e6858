/* kind_apiservice.c - apiregistration.k8s.io/v1 APIService: a served group version, computed */

#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"

static const struct field service_fields[] = {
    F_STRING("namespace", "The Service's namespace.", .size_max = 63),
    F_STRING("name", "The Service.", .size_max = 63),
    F_INT("port", "The Service's port; default 443."),
    F_END,
};

static const struct field spec_fields[] = {
    F_OBJECT("service", service_fields, "The server of the group version; absent: this server."),
    F_STRING("group", "The API group.", .size_max = 253),
    F_STRING("version", "The version.", .size_max = 63),
    F_BOOL("insecureSkipTLSVerify", "Whether the server's certificate is not checked."),
    F_STRING("caBundle", "The authorities of the server's certificate.", .size_max = 1 << 20),
    F_INT("groupPriorityMinimum", "The rank of the group; higher is preferred."),
    F_INT("versionPriority", "The rank of the version in its group; higher is preferred."),
    F_END,
};

static const struct field condition_fields[] = {
    F_CONDITION("Available."),
    F_END,
};
static const struct field condition_item =
    F_OBJECT(NULL, condition_fields, "An observation about the group version.");

static const struct field status_fields[] = {
    F_LIST("conditions", &condition_item, "Whether the group version is available.",
           .merge_key = "type"),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The group version and its server."),
    F_OBJECT("status", status_fields, "Whether it is available."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "VERSION.GROUP."},
    {"Service", "string", "", 0, "The server of the group version: Local, this one."},
    {"Available", "string", "", 0, "Whether it is available."},
    {"Age", "date", "", 0, "The time since the creation."},
    {0},
};

static json_t *apiservice_cells(const json_t *object, int64_t now_ns)
{
    const json_t *condition = json_array_get(json_at(object, "status", "conditions", NULL), 0);

    (void)now_ns;
    return json_pack("[s, s, o, o]", json_text_at(object, "metadata", "name", NULL), "Local",
                     cell_text(json_text(condition, "status"), "Unknown"), json_null());
}

const struct kind kind_apiservice = {
    .group = "apiregistration.k8s.io",
    .version = "v1",
    .api_version = "apiregistration.k8s.io/v1",
    .kind = "APIService",
    .plural = "apiservices",
    .singular = "apiservice",
    .is_view = true,
    .fields = fields,
    .columns = columns,
    .cells = apiservice_cells,
    .doc = "A group version that the API serves; computed, never stored.",
};
