/* kind_lease.c - coordination.k8s.io/v1 Lease */

#include "base/mem.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"

static const struct field spec_fields[] = {
    F_STRING("holderIdentity", "The holder of the lease.", .size_max = 1024),
    F_INT("leaseDurationSeconds", "Seconds that others wait after the last renewal.", .min = 1,
          .max = INT32_MAX),
    F_TIME("acquireTime", "The time of acquisition."),
    F_TIME("renewTime", "The time of the last renewal."),
    F_INT("leaseTransitions", "The number of changes of the holder.", .min = 0, .max = INT32_MAX),
    F_STRING("strategy", "The strategy of the election.", .support = FIELD_IGNORED,
             .size_max = 253),
    F_STRING("preferredHolder", "The preferred next holder.", .support = FIELD_IGNORED,
             .size_max = 1024),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The holder, and the times of the lease."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the lease."},
    {"Holder", "string", "", 0, "The holder of the lease."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *lease_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(
        row, cell_text(json_text_at(object, "spec", "holderIdentity", NULL), ""));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

const struct kind kind_lease = {
    .zero = "{\"spec\":{}}",
    .group = "coordination.k8s.io",
    .version = "v1",
    .api_version = "coordination.k8s.io/v1",
    .kind = "Lease",
    .plural = "leases",
    .singular = "lease",
    .is_namespaced = true,
    .fields = fields,
    .columns = columns,
    .cells = lease_cells,
    .doc = "A leader's sign of life: for programs that elect one of several instances.",
};
