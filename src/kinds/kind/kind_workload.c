/* kind_workload.c - mete.dev/v1 Workload: a job as the queue sees it, computed for readers */

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"

static const char *const phases[] = {"waiting", "starting",  "running", "finished",
                                     "failed",  "cancelled", NULL};

static const struct field pod_set_fields[] = {
    F_STRING("name", "The name of the set.", .size_max = 63),
    F_INT("count", "How many pods it wants.", .max = INT32_MAX),
    F_INT("minCount", "With how many it can start.", .max = INT32_MAX),
    F_INT("gpus", "Whole gpus of each pod.", .max = INT32_MAX),
    F_MAP("requests", &quantity_item, "What each pod asks for."),
    F_MAP("nodeSelector", &string_item, "Labels that its nodes must have."),
    F_END,
};
static const struct field pod_set_item =
    F_OBJECT(NULL, pod_set_fields, "Pods that ask for the same.");

static const struct field spec_fields[] = {
    F_INT("jobId", "The job's number, which only grows."),
    F_STRING("queue", "Where it waits.", .size_max = 253),
    F_STRING("user", "Whose it is.", .size_max = 253),
    F_INT("priority", "Higher goes first."),
    F_INT("gpus", "Whole gpus of all its pods.", .max = INT32_MAX),
    F_LIST("podSets", &pod_set_item, "The pods that run together.", .items_max = 64),
    F_END,
};

static const struct field blocking_fields[] = {
    F_STRING("resource", "What is short.", .size_max = 320),
    F_INT("asked", "How much is asked for."),
    F_INT("best", "The most that one place has."),
    F_STRING("node", "That place.", .size_max = 253),
    F_TIME("until", "When it is free at the latest."),
    F_STRING("why", "Why it has no more.", .size_max = 1024),
    F_END,
};
static const struct field blocking_item =
    F_OBJECT(NULL, blocking_fields, "One thing that is in the way.");

static const struct field node_fields[] = {
    F_STRING("name", "The node.", .size_max = 253),
    F_STRING("resource", "What is short there; null: gpus, or nothing.", .size_max = 320),
    F_INT("free", "What it has left of what is short, or of gpus."),
    F_INT("capacity", "What it has of that in all."),
    F_TIME("until", "When there is room at the latest, by time limits."),
    F_STRING("text", "Why not there, and who holds what.", .size_max = 1024),
    F_END,
};
static const struct field node_item = F_OBJECT(NULL, node_fields, "One node's answer.");

static const struct field quota_fields[] = {
    F_STRING("queue", "The queue.", .size_max = 253),
    F_STRING("resource", "What it has a quota of.", .size_max = 320),
    F_QUANTITY("held", "How much of it is held."),
    F_QUANTITY("nominal", "Its own."),
    F_QUANTITY("borrowLimit", "What it may hold on top of that; null: no limit."),
    F_END,
};
static const struct field quota_item = F_OBJECT(NULL, quota_fields, "One quota of one queue.");

static const struct field estimate_fields[] = {
    F_TIME("from", "Not before."),
    F_TIME("to", "Not after."),
    F_STRING("basis", "Where the estimate comes from.", .size_max = 1024),
    F_END,
};

static const struct field reason_fields[] = {
    F_STRING("code", "The leading cause: NoNodeFits, HigherPriority, ...", .size_max = 64),
    F_STRING("class", "Who can change it: yours, held, quota, place or turn.", .size_max = 16),
    F_STRING("message", "The cause in one line, with its numbers."),
    F_TIME("since", "Since when it is so."),
    F_TIME("evaluatedAt", "When it was looked at last."),
    F_LIST("blocking", &blocking_item, "What is in the way, and where."),
    F_LIST("nodes", &node_item, "The nodes that come nearest, best first.", .items_max = 64),
    F_INT("nodesLeftOut", "How many more there are."),
    F_LIST("wouldStartIf", &string_item, "Changes with which it would start now.", .items_max = 16),
    F_INT("position", "Its place in the queue, from 1."),
    F_INT("queueLength", "How many wait there."),
    F_LIST("quotas", &quota_item, "What its queue and those above it hold of their own."),
    F_STRING("values", "The table that policy mete places by.", .size_max = 128),
    F_OBJECT("estimate", estimate_fields, "When it starts, by what is known."),
    F_STRING("container", "The container that keeps a bound pod from running.", .size_max = 63),
    F_STRING("image", "The image of that container."),
    F_STRING("node", "The node of that container.", .size_max = 253),
    F_STRING("advice", "What its user can do."),
    F_END,
};

static const struct field placed_fields[] = {
    F_STRING("name", "The pod.", .size_max = 253),
    F_STRING("uid", "Its uid.", .size_max = 128),
    F_STRING("node", "Where it is.", .size_max = 253),
    F_LIST("gpus", &string_item, "The uuids of its gpus.", .items_max = 256),
    F_END,
};
static const struct field placed_item = F_OBJECT(NULL, placed_fields, "A pod and its place.");

static const struct field placement_fields[] = {
    F_LIST("pods", &placed_item, "Which pod is where."),
    F_END,
};

static const struct field status_fields[] = {
    F_STRING("phase", "waiting, starting, running, finished, failed or cancelled.",
             .values = phases),
    F_OBJECT("reason", reason_fields, "Why it waits."),
    F_OBJECT("placement", placement_fields, "Where it runs."),
    F_TIME("submittedAt", "When it was accepted."),
    F_TIME("startedAt", "When its first container started."),
    F_TIME("finishedAt", "When it ended."),
    F_INT("exitCode", "Its exit code."),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "What is asked for."),
    F_OBJECT("status", status_fields, "What became of it."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the workload."},
    {"Job", "integer", "", 0, "The job's number."},
    {"User", "string", "", 0, "Whose it is."},
    {"Queue", "string", "", 0, "Where it waits."},
    {"Phase", "string", "", 0, "How it is."},
    {"GPUs", "integer", "", 0, "Whole gpus that it asks for."},
    {"Age", "date", "", 0, "Time since it was submitted."},
    {"Reason", "string", "", 0, "Why it waits."},
    {"Priority", "integer", "", 1, "Higher goes first."},
    {"Node", "string", "", 1, "Where it runs; of several the first."},
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
    .doc = "What is queued, placed and charged as one; computed from pods, never stored.",
};
