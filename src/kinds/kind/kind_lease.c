/* kind_lease.c - coordination.k8s.io/v1 Lease */

#include "base/mem.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"

static const struct field spec_fields[] = {
    F_STRING("holderIdentity", "Who holds it.", .size_max = 1024),
    F_INT("leaseDurationSeconds", "How long others wait after the last renewal.", .min = 1,
          .max = INT32_MAX),
    F_TIME("acquireTime", "When it was taken."),
    F_TIME("renewTime", "When it was renewed last."),
    F_INT("leaseTransitions", "How often it changed hands.", .min = 0, .max = INT32_MAX),
    F_STRING("strategy", "How a holder is elected.", .support = FIELD_IGNORED, .size_max = 253),
    F_STRING("preferredHolder", "Who is to take it over.", .support = FIELD_IGNORED,
             .size_max = 1024),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "Who holds it, and until when."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the lease."},
    {"Holder", "string", "", 0, "Who holds it."},
    {"Age", "date", "", 0, "Time since it was created."},
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
    .doc = "Who leads, by a sign of life: for programs that elect one of several.",
};
