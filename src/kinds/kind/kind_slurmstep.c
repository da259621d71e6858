/* kind_slurmstep.c - mete.dev/v1 SlurmStep: what srun runs within a SlurmJob */

#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/slurm/slurm_step.h"

enum {
    TEXT_MAX = 4096
};

#define F_AMOUNT(n, text, ...) F_INT(n, text, .min = 0, .max = INT64_MAX, ##__VA_ARGS__)
#define F_COUNT(n, text, ...)  F_INT(n, text, .min = 0, .max = 1 << 20, ##__VA_ARGS__)

static const struct field place_item = F_INT(NULL, "A place in the list of the job's gpus.");

static const struct field node_fields[] = {
    F_STRING("node", "The name of the node.", .is_required = true, .size_max = 253),
    F_STRING("pod", "The job's pod on this node.", .is_required = true, .size_max = 253),
    F_COUNT("tasks", "The tasks on this node.", .is_required = true),
    F_COUNT("cpus", "The cpus that the step holds; 0: all of the job's."),
    F_COUNT("gpus", "The gpus that the step holds."),
    F_END,
};
static const struct field node_item = F_OBJECT(NULL, node_fields, "What the step has on one node.");

static const struct field status_node_fields[] = {
    F_STRING("node", "The name of the node.", .size_max = 253),
    F_LIST("gpus", &place_item, "The gpus that the step holds, by their places in the job's list.",
           .items_max = 4096),
    F_END,
};
static const struct field status_node_item =
    F_OBJECT(NULL, status_node_fields, "What the step was given on one node.");

static const struct field end_fields[] = {
    F_STRING("state", "COMPLETED, FAILED or CANCELLED.", .is_required = true, .size_max = 64),
    F_COUNT("exitCode", "The highest exit code of a task."),
    F_COUNT("exitSignal", "The signal that ended a task."),
    F_END,
};

static const struct field usage_fields[] = {
    F_AMOUNT("cpuNs", "The cpu time of all tasks."),
    F_AMOUNT("cpuLeastNs", "The least cpu time of a task."),
    F_COUNT("cpuLeastTask", "The task that used the least cpu time."),
    F_AMOUNT("memoryPeakBytes", "The largest resident set of a task."),
    F_COUNT("memoryPeakTask", "The task that had it."),
    F_STRING("memoryPeakNode", "The node of this task.", .size_max = 253),
    F_AMOUNT("memorySumBytes", "The sum of the largest resident sets of the tasks."),
    F_END,
};

static const struct field spec_fields[] = {
    F_STRING("job", "The name of the SlurmJob.", .is_required = true, .size_max = 253),
    F_INT("index", "The element of the array; absent: the job is not an array.", .min = 0,
          .max = 1 << 20),
    F_STRING("name", "The name of the step.", .size_max = TEXT_MAX),
    F_STRING("host", "The host that srun runs on.", .size_max = TEXT_MAX),
    F_AMOUNT("pid", "The number of srun's process."),
    F_COUNT("tasks", "The number of tasks.", .is_required = true),
    F_STRING("distribution", "The distribution of tasks over the nodes.", .size_max = TEXT_MAX),
    F_BOOL("overlap", "The step shares its resources with the job's other steps."),
    F_LIST("nodes", &node_item, "What the step has on its nodes.", .is_required = true,
           .items_max = SLURM_STEP_NODES_MAX),
    F_TIME("renewTime", "The last sign of life of srun, by the server's clock."),
    F_OBJECT("usage", usage_fields, "What the tasks used, as srun was told."),
    F_OBJECT("end", end_fields, "The end of the step; absent: it runs."),
    F_END,
};

static const struct field status_fields[] = {
    F_INT("jobId", "The number of the job, or of the element."),
    F_INT("step", "The number of the step."),
    F_STRING("user", "The user of the step.", .size_max = TEXT_MAX),
    F_STRING("state", "RUNNING, COMPLETED, FAILED or CANCELLED.", .size_max = 64),
    F_TIME("startTime", "The start of the step."),
    F_TIME("endTime", "The end of the step."),
    F_LIST("nodes", &status_node_item, "What the step was given on its nodes.",
           .items_max = SLURM_STEP_NODES_MAX),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The request.", .is_required = true),
    F_OBJECT("status", status_fields, "The present state, written by the server."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the object."},
    {"JobId", "integer", "", 0, "The number of the job."},
    {"Step", "integer", "", 0, "The number of the step."},
    {"StepName", "string", "", 0, "The name of the step."},
    {"Tasks", "integer", "", 0, "The number of tasks."},
    {"State", "string", "", 0, "The state, in Slurm's words."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *slurmstep_cells(const json_t *object, int64_t now_ns)
{
    const json_t *spec = json_object_get(object, "spec");
    const json_t *status = json_object_get(object, "status");
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, json_integer(json_int(status, "jobId", 0)));
    (void)json_array_append_new(row, json_integer(json_int(status, "step", 0)));
    (void)json_array_append_new(row, cell_text(json_text(spec, "name"), "<none>"));
    (void)json_array_append_new(row, json_integer(json_int(spec, "tasks", 0)));
    (void)json_array_append_new(row, cell_text(json_text(status, "state"), "RUNNING"));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

const struct kind kind_slurmstep = {
    .is_unmanaged = true,
    .group = "mete.dev",
    .version = "v1",
    .api_version = "mete.dev/v1",
    .kind = "SlurmStep",
    .plural = "slurmsteps",
    .singular = "slurmstep",
    .short_names = {"ss"},
    .is_namespaced = true,
    .has_status = true,
    .fields = fields,
    .columns = columns,
    .cells = slurmstep_cells,
    .doc = "A step of a job of the Slurm commands: the tasks of one srun.",
};
