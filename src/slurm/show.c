/* show.c - the texts of scontrol show */

#include "slurm/show.h"

#include <inttypes.h>
#include <signal.h>

#include "base/mem.h"
#include "kinds/slurm/slurm_job.h"
#include "model/slurm_amount.h"
#include "model/slurm_time.h"
#include "slurm/job_columns.h"
#include "slurm/node_state.h"
#include "slurm/states.h"

/* A record in the making. */
struct record {
    const struct slurm_show *show;
    const json_t *row;
    struct buf *out;
};

static void next_line(const struct record *r)
{
    buf_add_text(r->out, r->show->is_one_line ? " " : "\n   ");
}

static void end_record(const struct record *r)
{
    buf_add_text(r->out, r->show->is_one_line ? "\n" : "\n\n");
}

/* The text or number of a member, else `absent`. */
static void add_member(const struct record *r, const char *name, const char *key,
                       const char *absent)
{
    const json_t *member = json_object_get(r->row, key);

    if (json_is_integer(member))
        buf_printf(r->out, "%s=%" PRId64, name, (int64_t)json_integer_value(member));
    else if (json_is_string(member) && json_string_length(member) > 0)
        buf_printf(r->out, "%s=%s", name, json_string_value(member));
    else
        buf_printf(r->out, "%s=%s", name, absent);
}

/* The member on a line of its own, if it is there. */
static void add_optional(const struct record *r, const char *name, const char *key)
{
    if (!json_text_filled(r->row, key))
        return;
    next_line(r);
    add_member(r, name, key, "");
}

static void add_stamp(const struct record *r, const char *name, const char *key, const char *absent)
{
    char text[SLURM_TIME_TEXT_SIZE];

    slurm_stamp_format(json_int(r->row, key, 0), r->show->view->zone, absent, text);
    buf_printf(r->out, "%s=%s", name, text);
}

static void add_minutes(const struct record *r, const char *name, const char *key,
                        const char *absent)
{
    char text[SLURM_TIME_TEXT_SIZE];

    slurm_minutes_format(json_int(r->row, key, SLURM_UNLIMITED), text);
    buf_printf(r->out, "%s=%s", name, json_object_get(r->row, key) ? text : absent);
}

/* A number whose -1 means that there is no limit. */
static void add_limit(const struct record *r, const char *name, const char *key)
{
    int64_t n = json_int(r->row, key, -1);

    if (n < 0)
        buf_printf(r->out, "%s=UNLIMITED", name);
    else
        buf_printf(r->out, "%s=%" PRId64, name, n);
}

static const char *yes_or_no(const json_t *row, const char *key)
{
    return json_bool(row, key, false) ? "YES" : "NO";
}

/* ---- jobs ---- */

static void show_job_name(const struct record *r)
{
    const json_t *index = json_object_get(r->row, "arrayTaskId");

    buf_printf(r->out, "JobId=%" PRId64 " ", json_int(r->row, "jobId", 0));
    if (json_int(r->row, "arrayJobId", 0) > 0) {
        buf_printf(r->out, "ArrayJobId=%" PRId64 " ", json_int(r->row, "arrayJobId", 0));
        buf_add_text(r->out, "ArrayTaskId=");
        if (json_is_integer(index))
            buf_printf(r->out, "%" PRId64, (int64_t)json_integer_value(index));
        else
            slurm_job_indexes_format(r->row, r->show->view, r->out);
        buf_add_char(r->out, ' ');
        if (json_int(r->row, "arrayTaskLimit", 0) > 0)
            buf_printf(r->out, "ArrayTaskThrottle=%" PRId64 " ",
                       json_int(r->row, "arrayTaskLimit", 0));
    }
    if (json_int(r->row, "hetJobId", 0) > 0) {
        add_member(r, "HetJobId", "hetJobId", "");
        add_member(r, " HetJobOffset", "hetJobOffset", "");
        buf_add_char(r->out, ' ');
    }
    add_member(r, "JobName", "name", "(null)");
    if (json_int(r->row, "hetJobId", 0) > 0) {
        next_line(r);
        buf_add_text(r->out, "HetJobIdSet=");
        slurm_het_set_format(r->row, r->out);
    }
}

static void show_job_state(const struct record *r)
{
    bool is_timeout = text_equal(json_text(r->row, "state"), "TIMEOUT");

    next_line(r);
    buf_printf(r->out, "UserId=%s(%" PRId64 ") GroupId=%s(%" PRId64 ") MCS_label=N/A",
               text_or_empty(json_text(r->row, "user")), json_int(r->row, "uid", 0),
               text_or_empty(json_text(r->row, "group")), json_int(r->row, "gid", 0));
    next_line(r);
    add_member(r, "Priority", "priority", "0");
    add_member(r, " Nice", "nice", "0");
    add_member(r, " Account", "account", "(null)");
    add_member(r, " QOS", "qos", "normal");
    if (json_text_filled(r->row, "wckey"))
        add_member(r, " WCKey", "wckey", "");
    next_line(r);
    buf_printf(r->out, "JobState=%s", slurm_state_shown(r->row));
    add_member(r, " Reason", "reason", "None");
    add_member(r, " Dependency", "dependency", "(null)");
    next_line(r);
    buf_printf(r->out, "Requeue=%d", json_bool(r->row, "requeue", false));
    add_member(r, " Restarts", "restarts", "0");
    buf_printf(r->out, " BatchFlag=%d Reboot=0 ExitCode=%" PRId64 ":%" PRId64,
               json_bool(r->row, "batch", false), json_int(r->row, "exitCode", 0),
               is_timeout ? SIGTERM : json_int(r->row, "exitSignal", 0));
    if (r->show->is_detailed) {
        next_line(r);
        buf_printf(r->out, "DerivedExitCode=%" PRId64 ":%" PRId64,
                   json_int(r->row, "derivedExitCode", 0),
                   json_int(r->row, "derivedExitSignal", 0));
    }
}

static void show_job_times(const struct record *r)
{
    char text[SLURM_TIME_TEXT_SIZE];

    next_line(r);
    slurm_elapsed_format(slurm_job_elapsed(r->row, r->show->view), text);
    buf_printf(r->out, "RunTime=%s", text);
    add_minutes(r, " TimeLimit", "timeLimit", "UNLIMITED");
    add_minutes(r, " TimeMin", "timeMin", "N/A");
    next_line(r);
    add_stamp(r, "SubmitTime", "submitTime", "Unknown");
    add_stamp(r, " EligibleTime", "eligibleTime", "Unknown");
    next_line(r);
    add_stamp(r, "AccrueTime", "eligibleTime", "Unknown");
    next_line(r);
    add_stamp(r, "StartTime", "startTime", "Unknown");
    add_stamp(r, " EndTime", "endTime", "Unknown");
    add_stamp(r, " Deadline", "deadline", "N/A");
    next_line(r);
    add_stamp(r, "SuspendTime", "suspendTime", "None");
    buf_printf(r->out, " SecsPreSuspend=%" PRId64,
               text_equal(json_text(r->row, "state"), "SUSPENDED")
                   ? slurm_job_elapsed(r->row, r->show->view)
                   : 0);
    add_stamp(r, " LastSchedEval", "lastDecisionTime", "Unknown");
    buf_add_text(r->out, " Scheduler=Main");
}

static void show_job_nodes(const struct record *r)
{
    int64_t least = json_int(r->row, "nodesMin", 1);
    int64_t most = json_int(r->row, "nodesMax", 0);

    next_line(r);
    add_member(r, "Partition", "partition", "(null)");
    add_member(r, " AllocNode:Sid", "submitHost", "");
    buf_add_text(r->out, ":0");
    next_line(r);
    add_member(r, "ReqNodeList", "nodeList", "(null)");
    add_member(r, " ExcNodeList", "excludeNodes", "(null)");
    next_line(r);
    add_member(r, "NodeList", "nodes", "");
    add_optional(r, "BatchHost", "batchHost");
    next_line(r);
    if (!json_text(r->row, "nodes") && most > 0)
        buf_printf(r->out, "NumNodes=%" PRId64 "-%" PRId64, least, most);
    else
        add_member(r, "NumNodes", "nodeCount", "1");
    add_member(r, " NumCPUs", "cpus", "1");
    add_member(r, " NumTasks", "tasks", "1");
    add_member(r, " CPUs/Task", "cpusPerTask", "1");
    buf_add_text(r->out, " ReqB:S:C:T=0:0:*:*");
    next_line(r);
    add_member(r, "ReqTRES", "tresRequested", "(null)");
    next_line(r);
    add_member(r, "AllocTRES", "tresAllocated", "(null)");
}

/* "JOB_GRES=gpu:h100:2": the counts with a type, or without where there is none. */
static void show_job_gres(const struct record *r)
{
    const char *tres = text_or_empty(json_text(r->row, "tresAllocated"));
    bool has_type = strstr(tres, "gres/gpu:") != NULL;
    struct str rest = str_of(tres);
    bool is_first = true;

    buf_add_text(r->out, "JOB_GRES=");
    while (rest.at) {
        struct str count = str_cut(&rest, ',');
        struct str name = str_cut(&count, '=');

        if (!str_starts_with(name, STR("gres/")) || (has_type && str_equal(name, STR("gres/gpu"))))
            continue;
        buf_printf(r->out, "%s%.*s:" STR_FMT, is_first ? "" : ",", (int)name.size - 5, name.at + 5,
                   STR_ARG(count));
        is_first = false;
    }
    if (is_first)
        buf_add_text(r->out, "(null)");
}

static void show_job_resources(const struct record *r)
{
    char memory[SLURM_AMOUNT_TEXT_SIZE];
    bool is_per_cpu = json_object_get(r->row, "memoryPerCpu");

    next_line(r);
    add_member(r, "Socks/Node=* NtasksPerN:B:S:C", "tasksPerNode", "0");
    buf_add_text(r->out, ":0:*:* CoreSpec=*");
    if (r->show->is_detailed) {
        next_line(r);
        show_job_gres(r);
    }
    if (r->show->is_detailed && json_text(r->row, "nodes")) {
        next_line(r);
        add_member(r, "Nodes", "nodes", "");
        add_member(r, " CPU_IDs", "cpuIndexes", "");
        add_member(r, " Mem", "memoryPerNode", "0");
        buf_add_text(r->out, " GRES=");
        if (json_text(r->row, "gpuIndexes"))
            buf_printf(r->out, "gpu(IDX:%s)", json_text(r->row, "gpuIndexes"));
    }
    slurm_memory_format(json_int(r->row, is_per_cpu ? "memoryPerCpu" : "memoryPerNode", 0), memory);
    next_line(r);
    add_member(r, "MinCPUsNode", "cpusMin", "1");
    buf_printf(r->out, " %s=%s MinTmpDiskNode=", is_per_cpu ? "MinMemoryCPU" : "MinMemoryNode",
               memory);
    slurm_memory_format(json_int(r->row, "tmpDisk", 0), memory);
    buf_add_text(r->out, memory);
    next_line(r);
    add_member(r, "Features", "constraint", "(null)");
    buf_add_text(r->out, " DelayBoot=00:00:00");
    add_optional(r, "Reservation", "reservation");
    next_line(r);
    buf_printf(r->out, "OverSubscribe=%s Contiguous=%d",
               json_bool(r->row, "exclusive", false) ? "NO" : "OK",
               json_bool(r->row, "contiguous", false));
    add_member(r, " Licenses", "licenses", "(null)");
    buf_add_text(r->out, " Network=(null)");
}

static void show_job_switches(const struct record *r)
{
    char wait[SLURM_TIME_TEXT_SIZE];

    if (json_int(r->row, "switches", 0) == 0)
        return;
    slurm_elapsed_format(json_int(r->row, "switchesWait", 0), wait);
    next_line(r);
    buf_printf(r->out, "Switches=%" PRId64 "@%s", json_int(r->row, "switches", 0), wait);
}

static void show_job_files(const struct record *r)
{
    next_line(r);
    add_member(r, "Command", "command", "(null)");
    add_optional(r, "SubmitLine", "submitLine");
    next_line(r);
    add_member(r, "WorkDir", "workDir", "(null)");
    add_optional(r, "Comment", "comment");
    add_optional(r, "Extra", "message");
    if (json_bool(r->row, "batch", false)) {
        next_line(r);
        add_member(r, "StdErr", "stderr", "(null)");
        next_line(r);
        add_member(r, "StdIn", "stdin", "/dev/null");
        next_line(r);
        add_member(r, "StdOut", "stdout", "(null)");
    }
    show_job_switches(r);
    add_optional(r, "MemPerTres", "memoryPerTres");
    add_optional(r, "TresPerJob", "tresPerJob");
    add_optional(r, "TresPerNode", "tresPerNode");
    add_optional(r, "TresPerTask", "tresPerTask");
}

void slurm_show_job(const struct slurm_show *s, const json_t *row, struct buf *out)
{
    const struct record r = {s, row, out};

    show_job_name(&r);
    show_job_state(&r);
    show_job_times(&r);
    show_job_nodes(&r);
    show_job_resources(&r);
    show_job_files(&r);
    end_record(&r);
}

/* ---- nodes ---- */

static void show_node_names(const struct record *r)
{
    add_member(r, "NodeName", "name", "");
    add_member(r, " Arch", "arch", "");
    add_member(r, " CoresPerSocket", "cores", "1");
    next_line(r);
    add_member(r, "CPUAlloc", "cpusAllocated", "0");
    add_member(r, " CPUEfctv", "cpus", "0");
    add_member(r, " CPUTot", "cpus", "0");
    if (json_object_get(r->row, "load"))
        buf_printf(r->out, " CPULoad=%" PRId64 ".%02" PRId64, json_int(r->row, "load", 0) / 100,
                   json_int(r->row, "load", 0) % 100);
    else
        buf_add_text(r->out, " CPULoad=N/A");
    next_line(r);
    add_member(r, "AvailableFeatures", "features", "(null)");
    next_line(r);
    add_member(r, "ActiveFeatures", "features", "(null)");
    next_line(r);
    add_member(r, "Gres", "gres", "(null)");
    if (r->show->is_detailed) {
        next_line(r);
        buf_add_text(r->out, "GresDrain=N/A");
        next_line(r);
        add_member(r, "GresUsed", "gresUsed", "(null)");
    }
    next_line(r);
    add_member(r, "NodeAddr", "address", "");
    add_member(r, " NodeHostName", "name", "");
    add_member(r, " Version", "version", "");
    next_line(r);
    add_member(r, "OS", "os", "");
}

static void show_node_state(const struct record *r)
{
    const json_t *partitions = json_object_get(r->row, "partitions");
    const json_t *name;
    size_t i;

    next_line(r);
    add_member(r, "RealMemory", "memory", "0");
    add_member(r, " AllocMem", "memoryAllocated", "0");
    add_member(r, " FreeMem", "memoryFree", "N/A");
    add_member(r, " Sockets", "sockets", "1");
    buf_add_text(r->out, " Boards=1");
    next_line(r);
    add_member(r, "State", "state", "UNKNOWN");
    json_array_foreach (json_object_get(r->row, "flags"), i, name)
        buf_printf(r->out, "+%s", text_or_empty(json_string_value(name)));
    add_member(r, " ThreadsPerCore", "threads", "1");
    add_member(r, " TmpDisk", "disk", "0");
    add_member(r, " Weight", "weight", "1");
    buf_add_text(r->out, " Owner=N/A MCS_label=N/A");
    next_line(r);
    buf_add_text(r->out, "Partitions=");
    json_array_foreach (partitions, i, name)
        buf_printf(r->out, "%s%s", i > 0 ? "," : "", text_or_empty(json_string_value(name)));
}

/* The text of trackable resources without those that a node alone has no number of. */
static void add_node_tres(const struct record *r, const char *name, const char *key,
                          bool has_billing)
{
    struct str rest = str_of(text_or_empty(json_text(r->row, key)));
    bool is_first = true;

    buf_printf(r->out, "%s=", name);
    while (rest.at && rest.size > 0) {
        struct str item = str_cut(&rest, ',');

        if (str_starts_with(item, STR("node=")) ||
            (!has_billing && str_starts_with(item, STR("billing="))))
            continue;
        buf_printf(r->out, "%s" STR_FMT, is_first ? "" : ",", STR_ARG(item));
        is_first = false;
    }
}

static void show_node_uses(const struct record *r)
{
    char at[SLURM_TIME_TEXT_SIZE];
    const char *reason = json_text_filled(r->row, "reason");
    const char *user = json_text_filled(r->row, "reasonUser");

    next_line(r);
    add_stamp(r, "BootTime", "bootTime", "None");
    add_stamp(r, " SlurmdStartTime", "startTime", "None");
    next_line(r);
    buf_add_text(r->out, "LastBusyTime=Unknown ResumeAfterTime=None");
    next_line(r);
    add_node_tres(r, "CfgTRES", "tres", true);
    next_line(r);
    add_node_tres(r, "AllocTRES", "tresAllocated", false);
    next_line(r);
    buf_add_text(r->out, "CurrentWatts=0 AveWatts=0");
    if (!reason)
        return;
    next_line(r);
    slurm_stamp_format(json_int(r->row, "reasonTime", 0), r->show->view->zone, "Unknown", at);
    buf_printf(r->out, "Reason=%s [%s@%s]", reason, user ? user : "root", at);
}

void slurm_show_node(const struct slurm_show *s, const json_t *row, struct buf *out)
{
    const struct record r = {s, row, out};

    show_node_names(&r);
    show_node_state(&r);
    show_node_uses(&r);
    end_record(&r);
}

/* ---- partitions ---- */

/* A list of those who may stands in place of a list of those who may not. */
static void add_lists(const struct record *r, const char *allow, const char *allowed,
                      const char *deny, const char *denied)
{
    if (json_text_filled(r->row, denied) && !json_text_filled(r->row, allowed))
        add_member(r, deny, denied, "");
    else
        add_member(r, allow, allowed, "ALL");
}

static void show_partition_access(const struct record *r)
{
    add_member(r, "PartitionName", "name", "");
    next_line(r);
    add_member(r, "AllowGroups", "allowGroups", "ALL");
    add_lists(r, " AllowAccounts", "allowAccounts", " DenyAccounts", "denyAccounts");
    add_lists(r, " AllowQos", "allowQos", " DenyQos", "denyQos");
    if (json_text_filled(r->row, "allowUsers") || json_text_filled(r->row, "denyUsers"))
        add_lists(r, " AllowUsers", "allowUsers", " DenyUsers", "denyUsers");
    next_line(r);
    buf_add_text(r->out, "AllocNodes=ALL");
    if (json_text_filled(r->row, "alternate"))
        add_member(r, " Alternate", "alternate", "");
    buf_printf(r->out, " Default=%s", yes_or_no(r->row, "isDefault"));
    add_member(r, " QoS", "qos", "N/A");
}

static void add_over_time(const struct record *r)
{
    int64_t minutes = json_int(r->row, "overTime", -1);

    if (minutes < 0)
        buf_add_text(r->out, "OverTimeLimit=NONE");
    else if (minutes == SLURM_OVER_ENDLESS)
        buf_add_text(r->out, "OverTimeLimit=UNLIMITED");
    else
        buf_printf(r->out, "OverTimeLimit=%" PRId64, minutes);
}

static void show_partition_rules(const struct record *r)
{
    next_line(r);
    add_minutes(r, "DefaultTime", "defaultTime", "NONE");
    buf_printf(r->out, " DisableRootJobs=%s ExclusiveUser=NO",
               yes_or_no(r->row, "disableRootJobs"));
    add_member(r, " GraceTime", "graceTime", "0");
    buf_printf(r->out, " Hidden=%s", yes_or_no(r->row, "hidden"));
    next_line(r);
    add_limit(r, "MaxNodes", "nodesMax");
    add_minutes(r, " MaxTime", "timeLimit", "UNLIMITED");
    add_member(r, " MinNodes", "nodesMin", "0");
    buf_add_text(r->out, " LLN=NO");
    add_member(r, " MaxCPUsPerNode", "maxCpus", "UNLIMITED");
    buf_add_text(r->out, " MaxCPUsPerSocket=UNLIMITED");
    next_line(r);
    add_member(r, "Nodes", "nodes", "(null)");
    next_line(r);
    add_member(r, "PriorityJobFactor", "priorityFactor", "1");
    add_member(r, " PriorityTier", "priorityTier", "1");
    buf_printf(r->out, " RootOnly=%s ReqResv=%s", yes_or_no(r->row, "rootOnly"),
               yes_or_no(r->row, "requiresReservation"));
    add_member(r, " OverSubscribe", "oversubscribe", "NO");
    next_line(r);
    add_over_time(r);
    add_member(r, " PreemptMode", "preemptMode", "OFF");
}

/* "DefCpuPerGPU=4,DefMemPerGPU=1024" */
static void add_job_defaults(const struct record *r)
{
    int64_t cpus = json_int(r->row, "cpusPerGpu", 0);
    int64_t memory = json_int(r->row, "memoryDefaultPerGpu", 0);

    next_line(r);
    buf_add_text(r->out, "JobDefaults=");
    if (cpus > 0)
        buf_printf(r->out, "DefCpuPerGPU=%" PRId64 "%s", cpus, memory > 0 ? "," : "");
    if (memory > 0)
        buf_printf(r->out, "DefMemPerGPU=%" PRId64, memory);
    if (cpus <= 0 && memory <= 0)
        buf_add_text(r->out, "(null)");
}

static void show_partition_amounts(const struct record *r)
{
    bool is_empty = json_int(r->row, "nodeCount", 0) == 0;

    next_line(r);
    add_member(r, "State", "state", "UP");
    add_member(r, " TotalCPUs", "cpus", "0");
    add_member(r, " TotalNodes", "nodeCount", "0");
    buf_add_text(r->out, " SelectTypeParameters=NONE");
    add_job_defaults(r);
    next_line(r);
    if (json_object_get(r->row, "memoryDefaultPerCpu"))
        add_limit(r, "DefMemPerCPU", "memoryDefaultPerCpu");
    else
        add_limit(r, "DefMemPerNode", "memoryDefaultPerNode");
    if (json_object_get(r->row, "memoryMaxPerCpu"))
        add_limit(r, " MaxMemPerCPU", "memoryMaxPerCpu");
    else
        add_limit(r, " MaxMemPerNode", "memoryMaxPerNode");
    next_line(r);
    add_member(r, "TRES", is_empty ? "" : "tres", "(null)");
    add_optional(r, "TRESBillingWeights", "billingWeights");
}

void slurm_show_partition(const struct slurm_show *s, const json_t *row, struct buf *out)
{
    const struct record r = {s, row, out};

    show_partition_access(&r);
    show_partition_rules(&r);
    show_partition_amounts(&r);
    end_record(&r);
}

/* ---- licenses ---- */

void slurm_show_license(const struct slurm_show *s, const json_t *row, struct buf *out)
{
    int64_t total = json_int(row, "total", 0);
    int64_t used = json_int(row, "used", 0);

    buf_printf(out,
               "LicenseName=%s%sTotal=%" PRId64 " Used=%" PRId64 " Free=%" PRId64
               " Reserved=0 Remote=no\n",
               text_or_empty(json_text(row, "name")), s->is_one_line ? " " : "\n    ", total, used,
               total > used ? total - used : 0);
}

/* ---- the configuration ---- */

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void slurm_show_config(const struct slurm_show *s, const json_t *config, struct buf *out)
{
    size_t n = json_object_size(config);
    const char **keys = mem_alloc((n + 1) * sizeof(*keys));
    char now[SLURM_TIME_TEXT_SIZE];
    const char *key;
    const json_t *value;
    size_t i = 0;

    slurm_stamp_format(s->view->now_s, s->view->zone, "Unknown", now);
    buf_printf(out, "Configuration data as of %s\n", now);
    json_object_foreach ((json_t *)(uintptr_t)config, key, value)
        keys[i++] = key;
    qsort(keys, n, sizeof(*keys), compare_keys);
    for (i = 0; i < n; i++)
        buf_printf(out, "%-23s = %s\n", keys[i],
                   text_or_empty(json_string_value(json_object_get(config, keys[i]))));
    free(keys);
}

/* ---- switches ---- */

void slurm_show_switch(const struct slurm_show *s, const json_t *row, struct buf *out)
{
    const char *switches = json_text(row, "switches");

    (void)s;
    buf_printf(out, "SwitchName=%s Level=%" PRId64 " LinkSpeed=1 Nodes=%s",
               text_or_empty(json_text(row, "name")), json_int(row, "level", 0),
               text_or_empty(json_text(row, "nodes")));
    if (switches)
        buf_printf(out, " Switches=%s", switches);
    buf_add_char(out, '\n');
}
