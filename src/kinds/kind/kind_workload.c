/* kind_workload.c - mete.dev/v1 Workload: a job as the queue sees it, computed for readers */

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"

static const char *const phases[] = {"waiting", "starting",  "running", "finished",
                                     "failed",  "cancelled", NULL};

static const struct field pod_set_fields[] = {
    F_STRING("name", "The name of the set.", .size_max = 63),
    F_INT("count", "The number of pods.", .max = INT32_MAX),
    F_INT("minCount", "The number of pods with which the workload can start.", .max = INT32_MAX),
    F_INT("gpus", "Gpus and parts of gpus of each pod.", .max = INT32_MAX),
    F_MAP("requests", &quantity_item, "Requests of each pod."),
    F_MAP("nodeSelector", &string_item, "Labels that the nodes must have."),
    F_END,
};
static const struct field pod_set_item =
    F_OBJECT(NULL, pod_set_fields, "Pods with the same requests.");

static const struct field spec_fields[] = {
    F_INT("jobId", "The job's number, which only grows."),
    F_STRING("queue", "The workload's queue.", .size_max = 253),
    F_STRING("user", "The workload's user.", .size_max = 253),
    F_INT("priority", "The priority; higher starts first."),
    F_INT("gpus", "Gpus and parts of gpus of all pods.", .max = INT32_MAX),
    F_STRING("devices", "The same by kind, as in mete run --gpus: 2, 0.5, mig-1g.10gb.",
             .size_max = 1024),
    F_LIST("podSets", &pod_set_item, "The pods that run together.", .items_max = 64),
    F_END,
};

static const struct field blocking_fields[] = {
    F_STRING("resource", "The resource that is short.", .size_max = 320),
    F_INT("asked", "The requested amount."),
    F_INT("best", "The largest amount free at one place."),
    F_STRING("node", "The node with that amount.", .size_max = 253),
    F_TIME("until", "The latest time at which it is free."),
    F_STRING("why", "The reason why no more is free.", .size_max = 1024),
    F_END,
};
static const struct field blocking_item = F_OBJECT(NULL, blocking_fields, "An obstacle.");

static const struct field node_fields[] = {
    F_STRING("name", "The node.", .size_max = 253),
    F_STRING("resource", "The resource that is short on the node; null: gpus, or none.",
             .size_max = 320),
    F_INT("free", "Free amount of that resource."),
    F_INT("capacity", "The node's total of that resource."),
    F_TIME("until", "The latest time at which there is room, by time limits."),
    F_STRING("text", "The reason why the node does not fit, and its holders.", .size_max = 1024),
    F_END,
};
static const struct field node_item = F_OBJECT(NULL, node_fields, "The answer of a node.");

static const struct field quota_fields[] = {
    F_STRING("queue", "The queue.", .size_max = 253),
    F_STRING("resource", "The resource.", .size_max = 320),
    F_QUANTITY("held", "Amount held."),
    F_QUANTITY("nominal", "The nominal quota."),
    F_QUANTITY("borrowLimit", "The amount that may be borrowed; null: no limit."),
    F_END,
};
static const struct field quota_item = F_OBJECT(NULL, quota_fields, "A quota of a queue.");

static const struct field estimate_fields[] = {
    F_TIME("from", "The earliest start."),
    F_TIME("to", "The latest start."),
    F_STRING("basis", "The basis of the estimate.", .size_max = 1024),
    F_END,
};

static const struct field gpu_mode_fields[] = {
    F_STRING("node", "The gpu's node.", .size_max = 253),
    F_INT("index", "The gpu's index on the node."),
    F_STRING("problem", "Why the gpu is not given as wanted.", .size_max = 256),
    F_END,
};
static const struct field gpu_mode_item =
    F_OBJECT(NULL, gpu_mode_fields, "A gpu that is not given as wanted.");

static const struct field reason_fields[] = {
    F_STRING("code", "The leading cause: NoNodeFits, HigherPriority, ...", .size_max = 64),
    F_STRING("class", "The class of the cause: yours, held, quota, place or turn.", .size_max = 16),
    F_STRING("message", "The cause in one line, with its numbers."),
    F_TIME("since", "The time since which the cause holds."),
    F_TIME("evaluatedAt", "The time of the last evaluation."),
    F_LIST("blocking", &blocking_item, "The resource that is short, and its best place."),
    F_LIST("nodes", &node_item, "The nodes that fit best, best first.", .items_max = 64),
    F_INT("nodesLeftOut", "The number of nodes left out of the list."),
    F_LIST("wouldStartIf", &string_item, "Changes with which the workload would start now.",
           .items_max = 16),
    F_INT("position", "The position in the queue, from 1."),
    F_INT("queueLength", "The number of workloads that wait in the queue."),
    F_LIST("quotas", &quota_item, "Quotas of the queue and of the queues above it."),
    F_LIST("gpuModes", &gpu_mode_item,
           "For a pod that asks for slices or replicas: gpus that are not given as wanted.",
           .items_max = 8),
    F_STRING("values", "The table of values by which the policy mete places.", .size_max = 128),
    F_OBJECT("estimate", estimate_fields, "The estimated start."),
    F_STRING("container", "The container that keeps a bound pod from running.", .size_max = 63),
    F_STRING("image", "The image of the container."),
    F_STRING("node", "The node of the container.", .size_max = 253),
    F_STRING("advice", "Advice for the workload's user."),
    F_END,
};

static const struct field placed_fields[] = {
    F_STRING("name", "The pod.", .size_max = 253),
    F_STRING("uid", "The pod's uid.", .size_max = 128),
    F_STRING("node", "The pod's node.", .size_max = 253),
    F_LIST("gpus", &string_item, "The uuids of the pod's gpus.", .items_max = 256),
    F_END,
};
static const struct field placed_item = F_OBJECT(NULL, placed_fields, "A placed pod.");

static const struct field placement_fields[] = {
    F_LIST("pods", &placed_item, "The pods and their nodes."),
    F_END,
};

static const struct field status_fields[] = {
    F_STRING("phase", "waiting, starting, running, finished, failed or cancelled.",
             .values = phases),
    F_OBJECT("reason", reason_fields, "The reason why the workload waits."),
    F_OBJECT("placement", placement_fields, "The placement."),
    F_TIME("submittedAt", "The time of submission."),
    F_TIME("startedAt", "The start of the first container."),
    F_TIME("finishedAt", "The end of the workload."),
    F_INT("exitCode", "The exit code."),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The workload's requests."),
    F_OBJECT("status", status_fields, "The observed state."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the workload."},
    {"Job", "integer", "", 0, "The job's number."},
    {"User", "string", "", 0, "The workload's user."},
    {"Queue", "string", "", 0, "The workload's queue."},
    {"Phase", "string", "", 0, "The state."},
    {"GPUs", "integer", "", 0, "Whole gpus that the workload requests."},
    {"Age", "date", "", 0, "Time since the submission."},
    {"Reason", "string", "", 0, "The reason why the workload waits."},
    {"Priority", "integer", "", 1, "The priority; higher starts first."},
    {"Node", "string", "", 1, "The workload's first node."},
    {0},
};

static json_t *workload_cells(const json_t *object, int64_t now_ns)
{
    const json_t *spec = json_object_get(object, "spec");
    const json_t *status = json_object_get(object, "status");
    const json_t *pods = json_at(status, "placement", "pods", NULL);
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, json_integer(json_int(spec, "jobId", 0)));
    (void)json_array_append_new(row, cell_text(json_text(spec, "user"), "<none>"));
    (void)json_array_append_new(row, cell_text(json_text(spec, "queue"), "<none>"));
    (void)json_array_append_new(row, cell_text(json_text(status, "phase"), ""));
    (void)json_array_append_new(row, json_integer(json_int(spec, "gpus", 0)));
    (void)json_array_append_new(row, cell_created(object));
    (void)json_array_append_new(row,
                                cell_text(json_text_at(status, "reason", "message", NULL), ""));
    (void)json_array_append_new(row, json_integer(json_int(spec, "priority", 0)));
    (void)json_array_append_new(row,
                                cell_text(json_text(json_array_get(pods, 0), "node"), "<none>"));
    return row;
}

static const char *const selectable[] = {"spec.user", "spec.queue", "status.phase", NULL};

const struct kind kind_workload = {
    .group = "mete.dev",
    .version = "v1",
    .api_version = "mete.dev/v1",
    .kind = "Workload",
    .plural = "workloads",
    .singular = "workload",
    .short_names = {"mwl"},
    .is_namespaced = true,
    .is_view = true,
    .fields = fields,
    .columns = columns,
    .cells = workload_cells,
    .selectable = selectable,
    .doc = "Pods that queue, start, end and are charged as one; computed from pods, never stored.",
};
