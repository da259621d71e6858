/* kind_serviceaccount.c - core/v1 ServiceAccount */

#include "base/mem.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "model/names.h"

static const struct field pull_secret_fields[] = {
    F_STRING("name", "The secret.", .check = name_check_subdomain),
    F_END,
};
static const struct field pull_secret_item =
    F_OBJECT(NULL, pull_secret_fields, "A secret of the same namespace.", .is_atomic = true);

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_ANY("secrets", "Old tokens: not supported.", .support = FIELD_IGNORED),
    F_LIST("imagePullSecrets", &pull_secret_item, "Registry passwords of pods that name none.",
           .items_max = 64),
    F_BOOL("automountServiceAccountToken",
           "Whether pods of the account get a token in /var/run/secrets; a pod may override it."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the service account."},
    {"Secrets", "string", "", 0, "Old tokens: none."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *serviceaccount_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(
        row, json_integer((int64_t)json_array_size(json_object_get(object, "secrets"))));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

const struct kind kind_serviceaccount = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .kind = "ServiceAccount",
    .plural = "serviceaccounts",
    .singular = "serviceaccount",
    .short_names = {"sa"},
    .is_namespaced = true,
    .fields = fields,
    .columns = columns,
    .cells = serviceaccount_cells,
    .doc = "The identity of pods to the API.",
};
