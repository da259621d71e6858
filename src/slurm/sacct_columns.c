/* sacct_columns.c - the fields of sacct */

#include "slurm/sacct_columns.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "model/slurm_amount.h"
#include "model/slurm_time.h"
#include "model/slurm_tres.h"
#include "slurm/job_columns.h"
#include "slurm/sacct_use.h"
#include "slurm/states.h"

/* The part of a name behind the number of the job; NULL: the row is the job. */
static const char *step_of(const json_t *row)
{
    return json_text(row, "step");
}

static void add_step(const json_t *row, struct buf *out)
{
    if (step_of(row))
        buf_printf(out, ".%s", step_of(row));
}

static void field_id(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    slurm_job_name_format(row, v, out);
    add_step(row, out);
}

static void field_raw_id(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    buf_printf(out, "%" PRId64, json_int(row, "jobId", 0));
    add_step(row, out);
}

static void field_name(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (json_text(row, "stepName"))
        buf_add_text(out, json_text(row, "stepName"));
    else
        buf_add_text(out, step_of(row) ? step_of(row) : text_or_empty(json_text(row, "name")));
}

static int compare_items(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* An item of a list of trackable resources, with its memory in the unit of the view. */
static char *tres_item(struct str item, const struct slurm_view *v)
{
    struct str value = item;
    struct str name = str_cut(&value, '=');
    char text[SLURM_AMOUNT_TEXT_SIZE];
    AUTO(err_freep) struct err *e = NULL;
    int64_t mib = 0;

    if (!v->unit || !value.at || !str_equal(name, STR("mem")))
        return mem_strndup(item.at, item.size);
    e = slurm_memory_parse(value, &mib);
    if (e)
        return mem_strndup(item.at, item.size);
    slurm_unit_format(mib << 20, v->unit, text);
    return mem_format("mem=%s", text);
}

/* Adds "billing=2,cpu=2,mem=1G": the trackable resources in the order of their names. */
static void add_sorted_tres(const char *tres, const struct slurm_view *v, struct buf *out)
{
    VEC(char *) items = {0};
    struct str rest = str_of(text_or_empty(tres));

    while (rest.at && rest.size > 0)
        vec_add(&items, tres_item(str_cut(&rest, ','), v));
    if (items.n > 0)
        qsort(items.at, items.n, sizeof(*items.at), compare_items);
    for (size_t i = 0; i < items.n; i++) {
        buf_printf(out, "%s%s", i > 0 ? "," : "", items.at[i]);
        free(items.at[i]);
    }
    vec_done(&items);
}

/* The text of a member that only jobs have. */
static void add_of_job(const json_t *row, const char *key, struct buf *out)
{
    if (!step_of(row))
        buf_add_text(out, text_or_empty(json_text(row, key)));
}

#define OF_JOB(noun, key)                                                                    \
    static void field_##noun(const json_t *row, const struct slurm_view *v, struct buf *out) \
    {                                                                                        \
        (void)v;                                                                             \
        add_of_job(row, key, out);                                                           \
    }

OF_JOB(partition, "partition")
OF_JOB(user, "user")
OF_JOB(group, "group")
OF_JOB(constraint, "constraint")
OF_JOB(work_dir, "workDir")
OF_JOB(submit_line, "submitLine")
OF_JOB(comment, "comment")
OF_JOB(reservation, "reservation")
OF_JOB(licenses, "licenses")
OF_JOB(wckey, "wckey")
OF_JOB(stdout, "stdout")
OF_JOB(stderr, "stderr")
OF_JOB(stdin, "stdin")

static void field_requested(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    if (!step_of(row))
        add_sorted_tres(json_text(row, "tresRequested"), v, out);
}

static void field_qos(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    const char *qos = json_text_filled(row, "qos");

    (void)v;
    if (!step_of(row))
        buf_add_text(out, qos ? qos : "normal");
}

/* A fixed text of jobs. */
static void field_unknown(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    buf_add_text(out, step_of(row) ? "0" : "Unknown");
}

/* The reason of a wait: a job that has started has none. */
static void field_reason(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    const char *reason = json_text_filled(row, "reason");

    (void)v;
    if (!step_of(row))
        buf_add_text(out,
                     reason && text_equal(json_text(row, "state"), "PENDING") ? reason : "None");
}

static void field_priority(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (!step_of(row) && json_object_get(row, "priority"))
        buf_printf(out, "%" PRId64, json_int(row, "priority", 0));
}

static void field_uid(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (!step_of(row) && json_object_get(row, "uid"))
        buf_printf(out, "%" PRId64, json_int(row, "uid", 0));
}

/* Keys have no numbers. */
static void field_wckey_id(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (!step_of(row))
        buf_add_char(out, '0');
}

static void field_gid(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (!step_of(row) && json_object_get(row, "gid"))
        buf_printf(out, "%" PRId64, json_int(row, "gid", 0));
}

static void field_state(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    const char *state = json_text(row, "state");

    (void)v;
    buf_add_text(out, state ? state : "PENDING");
    if (text_equal(state, "CANCELLED") && json_object_get(row, "cancelledBy") && !step_of(row))
        buf_printf(out, " by %" PRId64, json_int(row, "cancelledBy", 0));
}

static void add_code(const json_t *row, const char *key, struct buf *out)
{
    buf_printf(out, "%" PRId64 ":%" PRId64, json_int(row, key, 0), json_int(row, "exitSignal", 0));
}

static void field_exit(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    add_code(row, "exitCode", out);
}

static void field_derived_exit(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (!step_of(row))
        buf_printf(out, "%" PRId64 ":%" PRId64, json_int(row, "derivedExitCode", 0),
                   json_int(row, "derivedExitSignal", 0));
}

static bool has_started(const json_t *row)
{
    return json_int(row, "startTime", 0) > 0 && !text_equal(json_text(row, "state"), "PENDING");
}

static void field_alloc_cpus(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    buf_printf(out, "%" PRId64, has_started(row) ? json_int(row, "cpus", 0) : 0);
}

static void field_cpus(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    buf_printf(out, "%" PRId64, json_int(row, "cpus", 0));
}

/* A job that has its nodes alone gets more than it asks for. */
static void field_req_cpus(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    const char *tres = json_text_filled(row, "tresAllocated");
    const char *asked = tres ? json_text_filled(row, "tresRequested") : NULL;
    AUTO(slurm_tres_done) struct slurm_tres all = {0};

    (void)v;
    if (asked)
        err_free(slurm_tres_parse(str_of(asked), &all)); /* our own text */
    buf_printf(out, "%" PRId64, slurm_tres_get(&all, "cpu", json_int(row, "cpus", 0)));
}

static void field_nodes(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    int64_t n = json_int(row, "nodeCount", json_int(row, "nodesMin", 1));

    (void)v;
    buf_printf(out, "%" PRId64, n > 0 ? n : 1);
}

static void field_alloc_nodes(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    buf_printf(out, "%" PRId64, has_started(row) ? json_int(row, "nodeCount", 1) : 0);
}

static void field_node_list(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    const char *nodes = json_text_filled(row, "nodes");

    (void)v;
    buf_add_text(out, nodes ? nodes : "None assigned");
}

static void field_alloc_tres(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    const char *tres = json_text(row, "tresAllocated");

    if (has_started(row))
        add_sorted_tres(tres ? tres : json_text(row, "tresRequested"), v, out);
}

/* "gres:gpu:2" of the former fields ReqGRES and AllocGRES: gpus of the text "...,gres/gpu=2". */
static void add_gres(const char *tres, struct buf *out)
{
    struct str rest = str_of(tres);

    while (rest.at) {
        struct str item = str_cut(&rest, ',');

        if (str_starts_with(item, STR("gres/")) && !memchr(item.at, ':', item.size)) {
            struct str count = {item.at + 5, item.size - 5};
            struct str name = str_cut(&count, '=');

            buf_printf(out, "%sgres:" STR_FMT ":" STR_FMT, out->size > 0 ? "," : "", STR_ARG(name),
                       STR_ARG(count));
        }
    }
}

static void field_req_gres(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (!step_of(row))
        add_gres(json_text(row, "tresRequested"), out);
}

static void field_alloc_gres(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    const char *tres = json_text(row, "tresAllocated");

    (void)v;
    if (has_started(row))
        add_gres(tres ? tres : json_text(row, "tresRequested"), out);
}

static void field_req_memory(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    char text[SLURM_AMOUNT_TEXT_SIZE];
    int64_t mib = json_int(row, "memoryPerNode", 0);

    if (step_of(row))
        return;
    if (v->unit)
        slurm_unit_format(mib << 20, v->unit, text);
    else
        slurm_memory_format(mib, text);
    buf_add_text(out, text);
}

/* ---- times ---- */

static void add_stamp(const json_t *row, const char *key, const char *absent,
                      const struct slurm_view *v, struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];

    slurm_stamp_format(json_int(row, key, 0), v->zone, absent, text);
    buf_add_text(out, text);
}

static void field_submit(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    add_stamp(row, step_of(row) ? "startTime" : "submitTime", "Unknown", v, out);
}

static void field_eligible(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    if (!step_of(row))
        add_stamp(row, "eligibleTime", "Unknown", v, out);
}

static void field_start(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    if (has_started(row))
        add_stamp(row, "startTime", "Unknown", v, out);
    else
        buf_add_text(out, slurm_state_is_live(json_text(row, "state")) ? "Unknown" : "None");
}

static void field_end(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    if (slurm_state_is_live(json_text(row, "state")))
        buf_add_text(out, "Unknown");
    else
        add_stamp(row, "endTime", "Unknown", v, out);
}

static void field_elapsed(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];

    slurm_elapsed_format(slurm_job_elapsed(row, v), text);
    buf_add_text(out, text);
}

static void field_elapsed_raw(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    buf_printf(out, "%" PRId64, slurm_job_elapsed(row, v));
}

static int64_t cpu_seconds(const json_t *row, const struct slurm_view *v)
{
    return slurm_job_elapsed(row, v) * json_int(row, "cpus", 0);
}

static void field_cpu_time(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];

    slurm_elapsed_format(cpu_seconds(row, v), text);
    buf_add_text(out, text);
}

static void field_cpu_time_raw(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    buf_printf(out, "%" PRId64, cpu_seconds(row, v));
}

static int64_t waited_seconds(const json_t *row, const struct slurm_view *v)
{
    int64_t from = json_int(row, "eligibleTime", json_int(row, "submitTime", v->now_s));
    int64_t to = has_started(row) ? json_int(row, "startTime", 0) : v->now_s;

    return to > from ? to - from : 0;
}

static void field_planned(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];

    if (step_of(row))
        return;
    slurm_elapsed_format(waited_seconds(row, v), text);
    buf_add_text(out, text);
}

static void field_planned_cpu(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];

    if (step_of(row))
        return;
    slurm_elapsed_format(waited_seconds(row, v) * json_int(row, "cpus", 0), text);
    buf_add_text(out, text);
}

static void field_planned_cpu_raw(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    if (!step_of(row))
        buf_printf(out, "%" PRId64, waited_seconds(row, v) * json_int(row, "cpus", 0));
}

static void field_limit(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];
    int64_t minutes = json_int(row, "timeLimit", -1);

    (void)v;
    if (step_of(row))
        return;
    slurm_minutes_format(minutes, text);
    buf_add_text(out, text);
}

static void field_limit_raw(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    int64_t minutes = json_int(row, "timeLimit", -1);

    (void)v;
    if (step_of(row))
        return;
    if (minutes < 0)
        buf_add_text(out, "UNLIMITED");
    else
        buf_printf(out, "%" PRId64, minutes);
}

/* ---- the table ---- */

#define FN(name, width, fn)                  \
    {                                        \
        0, name, name, fn, NULL, NULL, width \
    }
#define KEY(name, width, key, other)           \
    {                                          \
        0, name, name, NULL, key, other, width \
    }
#define NONE(name, width)                    \
    {                                        \
        0, name, name, NULL, NULL, "", width \
    }

const struct slurm_column slurm_account_columns[] = {
    KEY("Account", 10, "account", ""),
    NONE("AdminComment", 15),
    FN("AllocCPUS", 10, field_alloc_cpus),
    FN("AllocGRES", 12, field_alloc_gres),
    FN("AllocNodes", 10, field_alloc_nodes),
    FN("AllocTRES", 10, field_alloc_tres),
    NONE("AssocID", 7),
    FN("AveCPU", 10, sacct_ave_cpu),
    NONE("AveCPUFreq", 10),
    NONE("AveDiskRead", 14),
    NONE("AveDiskWrite", 14),
    NONE("AvePages", 10),
    FN("AveRSS", 10, sacct_max_rss),
    NONE("AveVMSize", 10),
    NONE("BlockID", 16),
    KEY("Cluster", 10, "cluster", "mete"),
    FN("Comment", 14, field_comment),
    FN("Constraints", 19, field_constraint),
    FN("ConsumedEnergy", 14, sacct_energy),
    FN("ConsumedEnergyRaw", 17, sacct_energy_raw),
    NONE("Container", 19),
    FN("CPUTime", 10, field_cpu_time),
    FN("CPUTimeRAW", 10, field_cpu_time_raw),
    KEY("DBIndex", -21, "jobId", "0"),
    FN("DerivedExitCode", 15, field_derived_exit),
    FN("Elapsed", 10, field_elapsed),
    FN("ElapsedRaw", 10, field_elapsed_raw),
    FN("Eligible", 19, field_eligible),
    FN("End", 19, field_end),
    FN("ExitCode", 8, field_exit),
    NONE("Extra", 14),
    NONE("FailedNode", 15),
    NONE("Flags", 19),
    FN("GID", 6, field_gid),
    FN("Group", 9, field_group),
    FN("JobID", -12, field_id),
    FN("JobIDRaw", -12, field_raw_id),
    FN("JobName", 10, field_name),
    NONE("Layout", 9),
    FN("Licenses", 10, field_licenses),
    NONE("MaxDiskRead", 12),
    NONE("MaxDiskReadNode", 15),
    NONE("MaxDiskReadTask", 15),
    NONE("MaxDiskWrite", 12),
    NONE("MaxDiskWriteNode", 16),
    NONE("MaxDiskWriteTask", 16),
    NONE("MaxPages", 8),
    NONE("MaxPagesNode", 12),
    NONE("MaxPagesTask", 14),
    FN("MaxRSS", 10, sacct_max_rss),
    FN("MaxRSSNode", 10, sacct_max_rss_node),
    FN("MaxRSSTask", 10, sacct_max_rss_task),
    NONE("MaxVMSize", 10),
    NONE("MaxVMSizeNode", 14),
    NONE("MaxVMSizeTask", 14),
    NONE("McsLabel", 12),
    FN("MinCPU", 10, sacct_min_cpu),
    FN("MinCPUNode", 10, sacct_min_cpu_node),
    FN("MinCPUTask", 10, sacct_min_cpu_task),
    FN("NCPUS", 10, field_cpus),
    FN("NNodes", 8, field_nodes),
    FN("NodeList", 15, field_node_list),
    FN("NTasks", 8, sacct_tasks),
    FN("Partition", 10, field_partition),
    FN("Planned", 10, field_planned),
    FN("PlannedCPU", 10, field_planned_cpu),
    FN("PlannedCPURAW", 13, field_planned_cpu_raw),
    FN("Priority", 10, field_priority),
    FN("QOS", 10, field_qos),
    FN("QOSREQ", 10, field_qos),
    FN("Reason", 22, field_reason),
    FN("ReqCPUFreq", 10, field_unknown),
    FN("ReqCPUFreqGov", 13, field_unknown),
    FN("ReqCPUFreqMax", 13, field_unknown),
    FN("ReqCPUFreqMin", 13, field_unknown),
    FN("ReqCPUS", 8, field_req_cpus),
    FN("ReqGRES", 12, field_req_gres),
    FN("ReqMem", 10, field_req_memory),
    FN("ReqNodes", 8, field_nodes),
    FN("ReqTRES", 10, field_requested),
    FN("Reservation", 20, field_reservation),
    NONE("ReservationId", 8),
    FN("Reserved", 10, field_planned),
    FN("ResvCPU", 10, field_planned_cpu),
    FN("ResvCPURAW", 10, field_planned_cpu_raw),
    KEY("Restarts", 8, "restarts", "0"),
    FN("Start", 19, field_start),
    FN("State", 10, field_state),
    FN("StdErr", 20, field_stderr),
    FN("StdIn", 20, field_stdin),
    FN("StdOut", 20, field_stdout),
    FN("Submit", 19, field_submit),
    FN("SubmitLine", 20, field_submit_line),
    KEY("Suspended", 10, "suspended", "00:00:00"),
    NONE("SystemComment", 15),
    NONE("SystemCPU", 10),
    FN("Timelimit", 10, field_limit),
    FN("TimelimitRaw", 10, field_limit_raw),
    FN("TotalCPU", 10, sacct_total_cpu),
    FN("TRESUsageInAve", 14, sacct_tres_amount),
    FN("TRESUsageInMax", 14, sacct_tres_amount),
    FN("TRESUsageInMaxNode", 18, sacct_tres_node),
    FN("TRESUsageInMaxTask", 18, sacct_tres_task),
    FN("TRESUsageInMin", 14, sacct_tres_amount),
    FN("TRESUsageInMinNode", 18, sacct_tres_node),
    FN("TRESUsageInMinTask", 18, sacct_tres_task),
    FN("TRESUsageInTot", 14, sacct_tres_amount),
    NONE("TRESUsageOutAve", 15),
    NONE("TRESUsageOutMax", 15),
    NONE("TRESUsageOutMaxNode", 19),
    NONE("TRESUsageOutMaxTask", 19),
    NONE("TRESUsageOutMin", 15),
    NONE("TRESUsageOutMinNode", 19),
    NONE("TRESUsageOutMinTask", 19),
    NONE("TRESUsageOutTot", 15),
    FN("UID", 6, field_uid),
    FN("User", 9, field_user),
    NONE("UserCPU", 10),
    FN("WCKey", 10, field_wckey),
    FN("WCKeyID", 10, field_wckey_id),
    FN("WorkDir", 20, field_work_dir),
    {0},
};
