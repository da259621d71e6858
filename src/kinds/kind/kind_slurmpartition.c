/* kind_slurmpartition.c - mete.dev/v1 SlurmPartition: nodes, and rules for the jobs on them */

#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/slurm/slurm_job.h"
#include "kinds/slurm/slurm_partition.h"

enum {
    TEXT_MAX = 4096,
    LINE_MAX_BYTES = 65536,
    NAMES_MAX = 4096,
    NODES_MAX = 1 << 20
};

static const char *const states[] = {"UP", "DOWN", "DRAIN", "INACTIVE", NULL};
static const char *const preempt_modes[] = {"OFF", "CANCEL", "REQUEUE", "SUSPEND", NULL};
static const char *const sharing[] = {"NO", "EXCLUSIVE", NULL};

#define F_NAMES(n, text)                   F_LIST(n, &string_item, text, .is_set_list = true, .items_max = NAMES_MAX)
#define F_NUMBER(n, text, least, greatest) F_INT(n, text, .min = (least), .max = (greatest))

static const struct field spec_fields[] = {
    F_STRING("nodes", "The nodes, as a hostlist; ALL: all nodes.", .size_max = LINE_MAX_BYTES),
    F_BOOL("isDefault", "Jobs that name no partition run here."),
    F_STRING("state",
             "UP; DOWN: jobs may be submitted and do not start; DRAIN: jobs that wait may start, "
             "and no job may be submitted; INACTIVE: neither.",
             .values = states, .fallback = "\"UP\""),
    F_NUMBER("maxTimeMinutes", "The greatest time limit; absent: any.", 1, INT32_MAX),
    F_NUMBER("defaultTimeMinutes", "The time limit of jobs that give none; absent: the greatest.",
             1, INT32_MAX),
    F_NUMBER("minNodes", "The least number of nodes of a job.", 0, NODES_MAX),
    F_NUMBER("maxNodes", "The greatest number of nodes of a job; absent: any.", 0, NODES_MAX),
    F_NAMES("allowAccounts", "Accounts whose jobs may run here; absent: all."),
    F_NAMES("denyAccounts", "Accounts whose jobs may not run here; allowAccounts goes first."),
    F_NAMES("allowGroups", "Groups whose users may submit here; absent: all."),
    F_NAMES("allowQos", "QOS of jobs that may run here; absent: all."),
    F_NAMES("denyQos", "QOS of jobs that may not run here; allowQos goes first."),
    F_NAMES("allowUsers", "Users who may submit here; absent: all."),
    F_NAMES("denyUsers", "Users who may not submit here; allowUsers goes first."),
    F_BOOL("rootOnly", "Only administrators may submit."),
    F_BOOL("disableRootJobs", "No job runs as root."),
    F_BOOL("requiresReservation", "A job must name a reservation."),
    F_BOOL("hidden", "Listings leave the partition out, unless they show all."),
    F_STRING("alternate", "The partition for jobs while this one is DRAIN or INACTIVE.",
             .size_max = TEXT_MAX),
    F_NUMBER("priorityTier", "Jobs of a higher tier go first.", 0, 65533),
    F_NUMBER("priorityJobFactor", "The partition's factor in the priority of jobs.", 0, 65533),
    F_STRING("preemptMode", "What becomes of a job that is preempted.", .values = preempt_modes),
    F_NUMBER("graceTimeSeconds", "The time between a preemption and the end of the job.", 0,
             INT32_MAX),
    F_NUMBER("overTimeMinutes",
             "Minutes by which jobs may exceed their time limit; 65535: any time; absent: as the "
             "cluster.",
             0, SLURM_OVER_ENDLESS),
    F_STRING("overSubscribe", "EXCLUSIVE: a job has its nodes alone.", .values = sharing),
    F_QUANTITY("memoryPerNode", "The memory on each node of jobs that ask for none."),
    F_QUANTITY("memoryPerCpu", "The memory for each cpu of jobs that ask for none."),
    F_QUANTITY("memoryPerGpu", "The memory for each gpu of jobs that ask for none."),
    F_QUANTITY("maxMemoryPerNode", "The most memory of a job on a node; absent: any."),
    F_QUANTITY("maxMemoryPerCpu", "The most memory for each cpu of a job; absent: any."),
    F_NUMBER("maxCpusPerNode", "The most cpus of all jobs of the partition on a node; absent: any.",
             0, NODES_MAX),
    F_NUMBER("cpusPerGpu", "The cpus for each gpu of jobs that do not say.", 0, NODES_MAX),
    F_STRING("billingWeights", "TRESBillingWeights, as in slurm.conf.", .size_max = TEXT_MAX),
    F_STRING("qos", "The QOS of the partition.", .size_max = TEXT_MAX),
    F_NUMBER("order", "The place in listings.", 0, INT32_MAX),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The nodes and the rules.", .fallback = "{}"),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the partition."},
    {"Default", "boolean", "", 0, "Jobs that name no partition run here."},
    {"State", "string", "", 0, "UP, DOWN, DRAIN or INACTIVE."},
    {"MaxMinutes", "string", "", 0, "The greatest time limit, in minutes."},
    {"Tier", "integer", "", 0, "The priority tier."},
    {"Nodes", "string", "", 0, "The nodes, as a hostlist."},
    {"Age", "date", "", 0, "Time since the creation."},
    {0},
};

static json_t *slurmpartition_cells(const json_t *object, int64_t now_ns)
{
    const json_t *spec = json_object_get(object, "spec");
    const json_t *minutes = json_object_get(spec, "maxTimeMinutes");
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, json_boolean(json_bool(spec, "isDefault", false)));
    (void)json_array_append_new(row, cell_text(json_text(spec, "state"), "UP"));
    (void)json_array_append_new(
        row, minutes ? json_sprintf("%" JSON_INTEGER_FORMAT, json_integer_value(minutes))
                     : json_string("infinite"));
    (void)json_array_append_new(row, json_integer(json_int(spec, "priorityTier", 1)));
    (void)json_array_append_new(row, cell_text(json_text(spec, "nodes"), ""));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

static void slurmpartition_validate(const json_t *object, struct causes *causes)
{
    slurm_partition_validate(json_object_get(object, "spec"), PATH(NULL, "spec"), causes);
}

const struct kind kind_slurmpartition = {
    .group = "mete.dev",
    .version = "v1",
    .api_version = "mete.dev/v1",
    .kind = "SlurmPartition",
    .plural = "slurmpartitions",
    .singular = "slurmpartition",
    .short_names = {"sp"},
    .fields = fields,
    .columns = columns,
    .cells = slurmpartition_cells,
    .validate = slurmpartition_validate,
    .check_name = slurm_partition_check_name,
    .doc = "A partition of the Slurm commands: nodes, and rules for the jobs on them.",
};
