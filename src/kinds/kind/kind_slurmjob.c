/* kind_slurmjob.c - mete.dev/v1 SlurmJob: a job of the Slurm commands, an array in one object */

#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/slurm/slurm_het.h"
#include "kinds/slurm/slurm_job.h"

enum {
    TEXT_MAX = 4096,
    LINE_MAX_BYTES = 65536,
    VARIABLES_MAX = 8192,
    VARIABLE_MAX_BYTES = 131072,
    COUNT_LARGEST = 1 << 20,
    MINUTES_LARGEST = INT32_MAX
};

static const char *const open_modes[] = {"truncate", "append", NULL};
static const char *const holds[] = {"none", "user", "admin", NULL};

#define F_COUNT(n, text, ...) F_INT(n, text, .min = 0, .max = COUNT_LARGEST, ##__VA_ARGS__)
#define F_PATH(n, text)       F_STRING(n, text, .size_max = TEXT_MAX)

static const struct field variable_item =
    F(NULL, FIELD_STRING, "A variable, NAME=VALUE.", .size_max = VARIABLE_MAX_BYTES);
static const struct field argument_item =
    F(NULL, FIELD_STRING, "An argument of the script.", .size_max = VARIABLE_MAX_BYTES);

static const struct field array_fields[] = {
    F_STRING("indexes", "The indexes, as \"0-3,7\".", .is_required = true,
             .size_max = LINE_MAX_BYTES),
    F_COUNT("limit", "Elements that may run at once; 0: all."),
    F_COUNT("step", "The largest step of the words of the indexes, below MaxArraySize."),
    F_END,
};

static const struct field signal_fields[] = {
    F_INT("number", "The number of the signal.", .is_required = true, .min = 1, .max = 64),
    F_INT("secondsBefore", "Seconds before the time limit.", .min = 0, .max = 65535),
    F_BOOL("batch", "The batch shell gets the signal, and not its steps."),
    F_END,
};

static const struct field end_fields[] = {
    F_INT("exitCode", "The exit code of the job.", .min = 0, .max = 255),
    F_INT("exitSignal", "The signal that ended it.", .min = 0, .max = 64),
    F_END,
};

static const struct field user_fields[] = {
    F_STRING("name", "The name of the user.", .size_max = TEXT_MAX),
    F_INT("uid", "The uid of the job's processes."),
    F_INT("gid", "The gid of the job's processes."),
    F_STRING("group", "The name of the group.", .size_max = TEXT_MAX),
    F_END,
};

static const struct field container_fields[] = {
    F_STRING("image", "The image of the job's processes.", .size_max = TEXT_MAX),
    F_STRING("mounts", "SOURCE:TARGET[:ro], with commas.", .size_max = LINE_MAX_BYTES),
    F_PATH("workDir", "The working directory in the container."),
    F_PATH("home", "The home directory of the user, mounted at its path; absent: it is not."),
    F_STRING("variables",
             "Names of variables that the job has from its submission, though the image has them, "
             "with commas.",
             .size_max = LINE_MAX_BYTES),
    F_BOOL("isReadOnly", "The root file system of the container cannot be written."),
    F_END,
};

static const char *const trigger_events[] = {"fini", "time", "down", "up", NULL};

static const struct field trigger_fields[] = {
    F_STRING("event", "fini or time of a job, down or up of a node.", .is_required = true,
             .values = trigger_events),
    F_COUNT("jobId", "The number of the job."),
    F_STRING("nodes", "The nodes, as a hostlist; \"*\": any.", .size_max = LINE_MAX_BYTES),
    F_INT("offsetSeconds", "From the event to the start; below 0: before the time limit.",
          .min = -SLURM_TRIGGER_OFFSET_MAX, .max = SLURM_TRIGGER_OFFSET_MAX),
    F_STRING("program", "The program with its arguments, for listings.", .size_max = TEXT_MAX),
    F_END,
};

static const struct field component_fields[] = {
    F_STRING("name", "The name of the component, free text.", .size_max = TEXT_MAX),
    F_STRING("partition", "The partitions, with commas.", .size_max = TEXT_MAX),
    F_STRING("constraint", "The features that nodes must have.", .size_max = TEXT_MAX),
    F_STRING("prefer", "The features that nodes should have.", .size_max = TEXT_MAX),
    F_COUNT("nodesMin", "The least number of nodes."),
    F_COUNT("nodesMax", "The greatest number of nodes."),
    F_COUNT("tasks", "The number of tasks."),
    F_COUNT("tasksPerNode", "The number of tasks on a node."),
    F_COUNT("tasksPerGpu", "The number of tasks for each gpu."),
    F_COUNT("cpusPerTask", "The number of cpus of a task."),
    F_COUNT("cpusMin", "The least number of cpus of a node."),
    F_STRING("nodeList", "Nodes that the component must have, as a hostlist.",
             .size_max = LINE_MAX_BYTES),
    F_STRING("excludeNodes", "Nodes that the component may not have, as a hostlist.",
             .size_max = LINE_MAX_BYTES),
    F_BOOL("exclusive", "No other job or component runs on the component's nodes."),
    F_BOOL("overcommit", "A cpu may have several tasks."),
    F_QUANTITY("memoryPerNode", "The memory on each node; 0: all of it."),
    F_QUANTITY("memoryPerCpu", "The memory of each cpu."),
    F_QUANTITY("memoryPerGpu", "The memory of each gpu."),
    F_QUANTITY("tmpPerNode", "The local disk on each node."),
    F_STRING("gres", "NAME[:TYPE][:COUNT] on each node, with commas.", .size_max = TEXT_MAX),
    F_COUNT("switches", "The number of switches that the component's nodes should be under."),
    F_INT("switchesWait", "Seconds for which the job waits for one switch.", .min = 0,
          .max = SLURM_SWITCH_WAIT_S),
    F_BOOL("spread", "The tasks go to as many nodes as possible."),
    F_STRING("gpus", "[TYPE:]COUNT of the whole component.", .size_max = TEXT_MAX),
    F_STRING("gpusPerNode", "[TYPE:]COUNT on each node.", .size_max = TEXT_MAX),
    F_STRING("gpusPerTask", "[TYPE:]COUNT for each task.", .size_max = TEXT_MAX),
    F_COUNT("cpusPerGpu", "The number of cpus for each gpu."),
    F_END,
};

static const struct field component_item =
    F_OBJECT(NULL, component_fields, "A component behind the first one.");

static const struct field spec_fields[] = {
    F_STRING("name", "The name of the job, free text.", .size_max = TEXT_MAX),
    F_STRING("script",
             "The batch script. Absent: an allocation, whose steps are started by clients.",
             .size_max = SLURM_SCRIPT_MAX),
    F_LIST("arguments", &argument_item, "The arguments of the script.", .items_max = VARIABLES_MAX),
    F_LIST("environment", &variable_item, "The variables of the submitting shell.",
           .items_max = VARIABLES_MAX),
    F_PATH("workDir", "The working directory."),
    F_PATH("stdin", "The pattern of the input file."),
    F_PATH("stdout", "The pattern of the output file."),
    F_PATH("stderr", "The pattern of the file of errors; absent: the output file."),
    F_STRING("openMode", "truncate or append.", .values = open_modes),
    F_INT("umask", "The umask of the submitting shell.", .min = 0, .max = 0777),
    F_PATH("command", "The path of the script, for listings."),
    F_STRING("submitLine", "The command line of the submission.", .size_max = LINE_MAX_BYTES),
    F_STRING("submitHost", "The host of the submission.", .size_max = TEXT_MAX),
    F_STRING("partition", "The partitions, with commas; absent: the default partition.",
             .size_max = TEXT_MAX),
    F_STRING("account", "The account, which is a queue.", .size_max = TEXT_MAX),
    F_STRING("qos", "The quality of service.", .size_max = TEXT_MAX),
    F_STRING("reservation", "The reservation.", .size_max = TEXT_MAX),
    F_STRING("comment", "A free text.", .size_max = TEXT_MAX),
    F_STRING("wckey", "The workload characterization key.", .size_max = TEXT_MAX),
    F_STRING("licenses", "NAME[:COUNT], with commas; with '|' one of them.", .size_max = TEXT_MAX),
    F_STRING("constraint", "The features that nodes must have.", .size_max = TEXT_MAX),
    F_STRING("prefer", "The features that nodes should have.", .size_max = TEXT_MAX),
    F_COUNT("switches", "The number of switches that the job's nodes should be under."),
    F_INT("switchesWait", "Seconds for which the job waits for one switch.", .min = 0,
          .max = SLURM_SWITCH_WAIT_S),
    F_BOOL("spread", "The tasks go to as many nodes as possible."),
    F_STRING("mailType", "The events that send mail, with commas.", .size_max = TEXT_MAX),
    F_STRING("mailUser", "The receiver of mail.", .size_max = TEXT_MAX),
    F_OBJECT("array", array_fields, "The elements of an array."),
    F_STRING("dependency", "TYPE:ID[:ID...], joined by ',' (all) or '?' (any).",
             .size_max = LINE_MAX_BYTES),
    F_BOOL("killOnInvalidDependency", "A dependency that can never hold cancels the job."),
    F_TIME("beginTime", "The earliest start."),
    F_TIME("deadline", "The latest end: a job that cannot meet it is removed."),
    F_INT("timeLimitMinutes", "The time limit; absent: the partition's; 0: none.", .min = 0,
          .max = MINUTES_LARGEST),
    F_INT("timeMinMinutes", "The least time limit that the job accepts.", .min = 0,
          .max = MINUTES_LARGEST),
    F_INT("nice", "Lowers the priority.", .min = -2147483645, .max = 2147483645),
    F_INT("priority", "The priority, in the place of that of its factors; set by administrators.",
          .min = 1, .max = 4294967294),
    F_STRING("hold", "none, user or admin: the job may not start.", .values = holds),
    F_STRING("heldIndexes", "Elements of the array that may not start, as \"1-3,8\".",
             .size_max = LINE_MAX_BYTES),
    F_STRING("cancelled", "Elements that were cancelled, as \"1-3,8\"; \"*\": the whole job.",
             .size_max = LINE_MAX_BYTES),
    F_STRING("suspended", "Elements whose processes are stopped while they run, as \"cancelled\".",
             .size_max = LINE_MAX_BYTES),
    F_INT("cancelledBy", "The uid that cancelled last, written by the server."),
    F_BOOL("endsWithSteps",
           "The job is one srun's: it ends when its steps have no sign of life of srun."),
    F_OBJECT("end", end_fields,
             "How an allocation ended whose client has cancelled it; absent: as a cancelled job."),
    F_INT("revision",
          "How often the request was changed while the job waited, written by the server."),
    F_BOOL("requeue", "The job starts anew after the loss of its node."),
    F_MAP("requeues", &any_item,
          "How often a client has asked to start the job (\"*\") or an element anew.",
          .items_max = VARIABLES_MAX),
    F_OBJECT("signal", signal_fields, "The signal before the time limit."),
    F_COUNT("nodesMin", "The least number of nodes."),
    F_COUNT("nodesMax", "The greatest number of nodes."),
    F_COUNT("tasks", "The number of tasks."),
    F_COUNT("tasksPerNode", "The number of tasks on a node."),
    F_COUNT("tasksPerGpu", "The number of tasks for each gpu."),
    F_COUNT("cpusPerTask", "The number of cpus of a task."),
    F_COUNT("cpusMin", "The least number of cpus of a node."),
    F_BOOL("noKill", "The job goes on when it loses a node other than its first one."),
    F_STRING("nodeList", "Nodes that the job must have, as a hostlist.",
             .size_max = LINE_MAX_BYTES),
    F_STRING("excludeNodes", "Nodes that the job may not have, as a hostlist.",
             .size_max = LINE_MAX_BYTES),
    F_BOOL("exclusive", "No other job runs on the job's nodes."),
    F_BOOL("overcommit", "A cpu may have several tasks."),
    F_QUANTITY("memoryPerNode", "The memory on each node; 0: all of it."),
    F_QUANTITY("memoryPerCpu", "The memory of each cpu."),
    F_QUANTITY("memoryPerGpu", "The memory of each gpu."),
    F_QUANTITY("tmpPerNode", "The local disk on each node."),
    F_STRING("gres", "NAME[:TYPE][:COUNT] on each node, with commas.", .size_max = TEXT_MAX),
    F_STRING("gpus", "[TYPE:]COUNT of the whole job.", .size_max = TEXT_MAX),
    F_STRING("gpusPerNode", "[TYPE:]COUNT on each node.", .size_max = TEXT_MAX),
    F_STRING("gpusPerTask", "[TYPE:]COUNT for each task.", .size_max = TEXT_MAX),
    F_COUNT("cpusPerGpu", "The number of cpus for each gpu."),
    F_OBJECT("container", container_fields, "The image of the job; absent: the machine itself."),
    F_LIST("components", &component_item,
           "The requests of the components of a heterogeneous job, behind the first one.",
           .items_max = SLURM_HET_MAX - 1),
    F_BOOL("contiguous", "The job's nodes are neighbours in the order of their names."),
    F_OBJECT("trigger", trigger_fields,
             "The event for which the job waits: strigger's. The number of the job, or the name of "
             "the node, is the last argument of the script."),
    F_OBJECT("user", user_fields, "The submitting user, written by the server."),
    F_END,
};

static const struct field status_fields[] = {
    F_INT("jobId", "The number of the job, or of the array."),
    F_STRING("state", "The state, in Slurm's words: PENDING, RUNNING, COMPLETED...",
             .size_max = 64),
    F_STRING("reason", "The reason of a wait or an end, in Slurm's words.", .size_max = 128),
    F_STRING("message", "The same as a sentence."),
    F_STRING("pending", "Elements that have not started, as \"5-1024\".",
             .size_max = LINE_MAX_BYTES),
    F_STRING("running", "Elements that run.", .size_max = LINE_MAX_BYTES),
    F_STRING("completed", "Elements that ended with code 0.", .size_max = LINE_MAX_BYTES),
    F_STRING("failed", "Elements that ended otherwise.", .size_max = LINE_MAX_BYTES),
    F_STRING("cancelled", "Elements that were cancelled.", .size_max = LINE_MAX_BYTES),
    F_TIME("eligibleTime", "The time from which the job could start."),
    F_TIME("startTime", "The start of the first attempt that runs or ran last."),
    F_TIME("endTime", "The end of the job."),
    F_STRING("nodes", "The nodes of the job, as a hostlist.", .size_max = LINE_MAX_BYTES),
    F_INT("exitCode", "The exit code of the script."),
    F_INT("exitSignal", "The signal that ended the script."),
    F_INT("restarts", "How often the job was started anew."),
    F_ANY("records", "What the controller keeps of elements; its own form."),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The request.", .is_required = true),
    F_OBJECT("status", status_fields, "The present state."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the object."},
    {"JobId", "integer", "", 0, "The number of the job."},
    {"JobName", "string", "", 0, "The name of the job."},
    {"User", "string", "", 0, "The submitting user."},
    {"State", "string", "", 0, "The state, in Slurm's words."},
    {"Nodes", "string", "", 0, "The nodes of the job."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *slurmjob_cells(const json_t *object, int64_t now_ns)
{
    const json_t *spec = json_object_get(object, "spec");
    const json_t *status = json_object_get(object, "status");
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, json_integer(json_int(status, "jobId", 0)));
    (void)json_array_append_new(row, cell_text(json_text(spec, "name"), "<none>"));
    (void)json_array_append_new(row, cell_text(json_text_at(spec, "user", "name", NULL), "<none>"));
    (void)json_array_append_new(row, cell_text(json_text(status, "state"), "PENDING"));
    (void)json_array_append_new(row, cell_text(json_text(status, "nodes"), "<none>"));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

static void slurmjob_validate(const json_t *object, struct causes *causes)
{
    slurm_job_validate(json_object_get(object, "spec"), PATH(NULL, "spec"), causes);
}

const struct kind kind_slurmjob = {
    .is_unmanaged = true,
    .group = "mete.dev",
    .version = "v1",
    .api_version = "mete.dev/v1",
    .kind = "SlurmJob",
    .plural = "slurmjobs",
    .singular = "slurmjob",
    .short_names = {"sj"},
    .is_namespaced = true,
    .has_status = true,
    .fields = fields,
    .columns = columns,
    .cells = slurmjob_cells,
    .validate = slurmjob_validate,
    .doc = "A job of the Slurm commands; an array of jobs is one object.",
};
