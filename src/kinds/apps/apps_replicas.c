/* apps_replicas.c - the status and the table of ReplicaSets and ReplicationControllers */

#include "kinds/apps/apps.h"
#include "kinds/kind/fields.h"

const struct field apps_replicas_status[] = {
    F_INT("replicas", "Pods that exist.", .fallback = "0"),
    F_INT("fullyLabeledReplicas", "Pods with all labels of the template."),
    F_INT("readyReplicas", "Pods that are ready."),
    F_INT("availableReplicas", "Pods that have been ready for minReadySeconds."),
    F_INT("terminatingReplicas", "Pods that are being deleted."),
    F_INT("observedGeneration", "The metadata.generation that was observed."),
    F_LIST("conditions", &apps_set_condition_item, "Conditions of the set.", .merge_key = "type",
           .items_max = 64),
    F_END,
};

const struct column apps_replicas_columns[] = {
    {"Name", "string", "name", 0, "The name of the set."},
    {"Desired", "integer", "", 0, "Pods that are wanted."},
    {"Current", "integer", "", 0, "Pods that exist."},
    {"Ready", "integer", "", 0, "Pods that are ready."},
    {"Age", "date", "", 0, "Time since the creation."},
    {"Containers", "string", "", 1, "The names of the containers."},
    {"Images", "string", "", 1, "The images of the containers."},
    {"Selector", "string", "", 1, "The selector of the pods."},
    {0},
};

json_t *apps_replicas_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, apps_cell_number(object, "spec", "replicas"));
    (void)json_array_append_new(row, apps_cell_number(object, "status", "replicas"));
    (void)json_array_append_new(row, apps_cell_number(object, "status", "readyReplicas"));
    (void)json_array_append_new(row, cell_created(object));
    apps_add_wide_cells(row, json_object_get(object, "spec"), true);
    return row;
}
