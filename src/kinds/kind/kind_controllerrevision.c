/* kind_controllerrevision.c - apps/v1 ControllerRevision */

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_ANY("data", "The state of the owner's template."),
    F_INT("revision", "The number of the revision.", .min = 0, .max = INT64_MAX, .fallback = "0"),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the revision."},
    {"Controller", "string", "", 0, "The owner of the revision."},
    {"Revision", "string", "", 0, "The number of the revision."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

/* "statefulset.apps/web" */
static json_t *cell_controller(const json_t *object)
{
    const json_t *owner = json_array_get(json_at(object, "metadata", "ownerReferences", NULL), 0);
    const char *version = json_text(owner, "apiVersion");
    const char *kind = json_text(owner, "kind");
    const struct kind *k = version && kind ? kind_find_by_kind(version, kind) : NULL;
    AUTO_FREE char *text = NULL;

    if (!k)
        return json_string("<none>");
    text = mem_format("%s.%s/%s", k->singular, k->group, json_text(owner, "name"));
    return json_string(text);
}

static json_t *revision_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_controller(object));
    (void)json_array_append_new(row, json_integer(json_int(object, "revision", 0)));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

static struct err *revision_validate_update(const json_t *before, const json_t *after,
                                            const struct kind_context *c)
{
    AUTO(causes_done) struct causes causes = {0};
    const char *name = json_text_at(after, "metadata", "name", NULL);
    const json_t *was = json_object_get(before, "data");
    const json_t *is = json_object_get(after, "data");

    (void)c;
    if (was != is && !(was && is && json_equal(was, is)))
        cause_invalid(&causes, PATH(NULL, "data"), "", "field is immutable");
    return causes_err(&causes, "ControllerRevision.apps", name ? name : "");
}

const struct kind kind_controllerrevision = {
    .group = "apps",
    .version = "v1",
    .api_version = "apps/v1",
    .kind = "ControllerRevision",
    .plural = "controllerrevisions",
    .singular = "controllerrevision",
    .is_namespaced = true,
    .fields = fields,
    .columns = columns,
    .cells = revision_cells,
    .validate_update = revision_validate_update,
    .doc = "A version of the template of a StatefulSet or DaemonSet.",
};
