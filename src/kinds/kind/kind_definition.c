/*
 * kind_definition.c - CustomResourceDefinition: a list that stays empty
 *
 * kubectl, Helm and operators look there for kinds that discovery lacks. Without the list they
 * report the missing list instead of the missing kind.
 */

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_ANY("spec", "The group, names, scope and schema of a custom resource."),
    F_ANY("status", "The definition's state."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the definition: PLURAL.GROUP."},
    {"Created At", "date", "", 0, "When the definition was created."},
    {0},
};

static json_t *definition_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

static void definition_validate(const json_t *object, struct causes *causes)
{
    (void)object;
    cause_forbidden(causes, PATH(NULL, "spec"), "Mete serves no custom resources yet");
}

const struct kind kind_definition = {
    .group = "apiextensions.k8s.io",
    .version = "v1",
    .api_version = "apiextensions.k8s.io/v1",
    .kind = "CustomResourceDefinition",
    .plural = "customresourcedefinitions",
    .singular = "customresourcedefinition",
    .short_names = {"crd", "crds"},
    .fields = fields,
    .columns = columns,
    .cells = definition_cells,
    .validate = definition_validate,
    .doc = "The definition of a custom resource. Mete serves none yet: the list is empty.",
};
