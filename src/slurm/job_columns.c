/* job_columns.c - the columns of squeue */

#include "slurm/job_columns.h"

#include <inttypes.h>

#include "base/mem.h"
#include "model/slurm_amount.h"
#include "model/slurm_array.h"
#include "model/slurm_time.h"
#include "slurm/states.h"

enum {
    INDEXES_TEXT_SIZE = 64,     /* SLURM_BITSTR_LEN's default */
    EXPANDED_ROWS_MAX = 1000000 /* rows of squeue -r */
};

/* ---- names ---- */

void slurm_job_indexes_format(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    const char *text = text_or_empty(json_text(row, "arrayTaskId"));
    int64_t limit = json_int(row, "arrayTaskLimit", 0);
    size_t size = v && v->indexes_size > 0 ? v->indexes_size : INDEXES_TEXT_SIZE;
    AUTO(index_set_done) struct index_set set = {0};
    AUTO(err_freep) struct err *e = index_set_parse(str_of(text), INDEX_SET_MAX, &set);
    AUTO_FREE char *brief =
        e ? mem_strdup(text) : slurm_array_format_indexes(&set, size == SIZE_MAX ? 0 : size);

    buf_add_text(out, brief);
    if (limit > 0)
        buf_printf(out, "%%%" PRId64, limit);
}

void slurm_job_name_format(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    const json_t *index = json_object_get(row, "arrayTaskId");
    int64_t array = json_int(row, "arrayJobId", 0);

    if (json_int(row, "hetJobId", 0) > 0) {
        buf_printf(out, "%" PRId64 "+%" PRId64, json_int(row, "hetJobId", 0),
                   json_int(row, "hetJobOffset", 0));
    } else if (array == 0 || !index) {
        buf_printf(out, "%" PRId64, json_int(row, "jobId", 0));
    } else if (json_is_integer(index)) {
        buf_printf(out, "%" PRId64 "_%" PRId64, array, (int64_t)json_integer_value(index));
    } else {
        buf_printf(out, "%" PRId64 "_[", array);
        slurm_job_indexes_format(row, v, out);
        buf_add_char(out, ']');
    }
}

json_t *slurm_job_rows_expand(const json_t *rows)
{
    json_t *all = json_array();

    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        const char *text = json_text(row, "arrayTaskId");
        AUTO(index_set_done) struct index_set set = {0};
        AUTO(err_freep) struct err *e = index_set_parse(str_of(text), INDEX_SET_MAX, &set);

        if (!text || e)
            json_array_append(all, row);
        for (size_t k = 0; text && k < set.n_words * 64; k++)
            if (index_set_has(&set, k) && json_array_size(all) < EXPANDED_ROWS_MAX) {
                json_t *copy = json_copy(row);

                json_put_int(copy, "arrayTaskId", (int64_t)k);
                json_array_append_new(all, copy);
            }
    }
    return all;
}

static void cell_name(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    slurm_job_name_format(row, v, out);
}

static void cell_array_id(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    int64_t array = json_int(row, "arrayJobId", 0);

    (void)v;
    buf_printf(out, "%" PRId64, array > 0 ? array : json_int(row, "jobId", 0));
}

static void cell_array_index(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    const json_t *index = json_object_get(row, "arrayTaskId");

    if (json_is_integer(index))
        buf_printf(out, "%" PRId64, (int64_t)json_integer_value(index));
    else if (json_is_string(index))
        slurm_job_indexes_format(row, v, out);
    else
        buf_add_text(out, "N/A");
}

void slurm_het_set_format(const json_t *row, struct buf *out)
{
    int64_t id = json_int(row, "hetJobId", 0);

    buf_printf(out, "%" PRId64 "-%" PRId64, id, id + json_int(row, "hetJobSize", 1) - 1);
}

static void cell_het_set(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (json_int(row, "hetJobId", 0) > 0)
        slurm_het_set_format(row, out);
    else
        buf_add_text(out, "N/A");
}

/* ---- states ---- */

static void cell_state(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    buf_add_text(out, slurm_state_shown(row));
}

static void cell_state_short(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    buf_add_text(out, slurm_state_short(slurm_state_shown(row)));
}

static void cell_reason_or_nodes(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    static const char *const with_reason[] = {"PENDING", "FAILED", "TIMEOUT", "OUT_OF_MEMORY",
                                              "DEADLINE"};
    const char *reason = json_text(row, "reason");

    (void)v;
    for (size_t i = 0; i < COUNT(with_reason); i++)
        if (text_equal(json_text(row, "state"), with_reason[i])) {
            buf_printf(out, "(%s)", reason ? reason : "None");
            return;
        }
    buf_add_text(out, text_or_empty(json_text(row, "nodes")));
}

/* ---- times ---- */

int64_t slurm_job_elapsed(const json_t *row, const struct slurm_view *v)
{
    int64_t start = json_int(row, "startTime", 0);
    int64_t end = json_int(row, "endTime", 0);
    const char *state = json_text(row, "state");

    if (start <= 0 || text_equal(state, "PENDING"))
        return 0;
    if (text_equal(state, "SUSPENDED"))
        end = json_int(row, "suspendTime", v->now_s);
    else if (slurm_state_is_live(state) || end <= 0)
        end = v->now_s;
    end -= json_int(row, "suspendedSeconds", 0);
    return end > start ? end - start : 0;
}

static void add_stamp(const json_t *row, const char *key, const struct slurm_view *v,
                      const char *absent, struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];

    slurm_stamp_format(json_int(row, key, 0), v->zone, absent, text);
    buf_add_text(out, text);
}

static void cell_start(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    add_stamp(row, "startTime", v, "N/A", out);
}

static void cell_end(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    add_stamp(row, "endTime", v, "N/A", out);
}

static void cell_submit(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    add_stamp(row, "submitTime", v, "N/A", out);
}

static void cell_eligible(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    add_stamp(row, "eligibleTime", v, "N/A", out);
}

static void cell_deadline(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    add_stamp(row, "deadline", v, "N/A", out);
}

static void cell_last_decision(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    add_stamp(row, "lastDecisionTime", v, "N/A", out);
}

static void cell_used(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];

    slurm_elapsed_format_short(slurm_job_elapsed(row, v), text);
    buf_add_text(out, text);
}

static void cell_pending(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    int64_t submit = json_int(row, "submitTime", v->now_s);
    int64_t start = json_int(row, "startTime", 0);
    bool waits = text_equal(json_text(row, "state"), "PENDING") || start <= 0;

    buf_printf(out, "%" PRId64, (waits ? v->now_s : start) - submit);
}

static void add_limit(int64_t minutes, bool is_known, struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];

    if (!is_known) {
        buf_add_text(out, "NOT_SET");
    } else if (minutes < 0) {
        buf_add_text(out, "UNLIMITED");
    } else {
        slurm_elapsed_format_short(minutes * 60, text);
        buf_add_text(out, text);
    }
}

static void cell_limit(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    add_limit(json_int(row, "timeLimit", 0), json_object_get(row, "timeLimit"), out);
}

static void cell_left(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    int64_t minutes = json_int(row, "timeLimit", 0);
    int64_t left = minutes * 60 - slurm_job_elapsed(row, v);
    char text[SLURM_TIME_TEXT_SIZE];

    if (!json_object_get(row, "timeLimit") || minutes < 0) {
        add_limit(minutes, json_object_get(row, "timeLimit"), out);
        return;
    }
    slurm_elapsed_format_short(left > 0 ? left : 0, text);
    buf_add_text(out, left >= 0 ? text : "INVALID"); /* beyond its limit */
}

static void cell_min_time(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (json_object_get(row, "timeMin"))
        add_limit(json_int(row, "timeMin", 0), true, out);
    else
        buf_add_text(out, "0:00");
}

/* ---- amounts ---- */

static void cell_memory(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    int64_t mib = json_int(row, "memoryPerCpu", json_int(row, "memoryPerNode", 0));
    char text[SLURM_AMOUNT_TEXT_SIZE];

    slurm_memory_format(mib, text);
    if (v->keeps_unit && mib > 0)
        buf_printf(out, "%" PRId64 "M", mib);
    else
        buf_add_text(out, text);
}

static void cell_tmp(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    char text[SLURM_AMOUNT_TEXT_SIZE];

    (void)v;
    slurm_memory_format(json_int(row, "tmpDisk", 0), text);
    buf_add_text(out, text);
}

/* The priority as a part of the largest one, with 14 digits. */
static void cell_priority_part(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    __extension__ typedef unsigned __int128 wide;
    const uint64_t scale = UINT64_C(100000000000000);
    int64_t priority = json_int(row, "priority", 0);
    uint64_t part = (uint64_t)((wide)(priority > 0 ? priority : 0) * scale / UINT32_MAX);

    (void)v;
    buf_printf(out, "%" PRIu64 ".%014" PRIu64, part / scale, part % scale);
}

static void cell_nodes(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    int64_t n = json_int(row, "nodeCount", json_int(row, "nodesMin", 1));

    (void)v;
    buf_printf(out, "%" PRId64, n > 0 ? n : 1);
}

static void cell_exclusive(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    buf_add_text(out, json_bool(row, "exclusive", false) ? "NO" : "OK");
}

static void cell_flag(const json_t *row, const char *key, struct buf *out)
{
    buf_add_text(out, json_bool(row, key, false) ? "1" : "0");
}

static void cell_batch(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    cell_flag(row, "batch", out);
}

static void cell_requeue(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    cell_flag(row, "requeue", out);
}

static void cell_contiguous(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    buf_add_char(out, json_bool(row, "contiguous", false) ? '1' : '0');
}

static void cell_switches(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (json_int(row, "switches", 0) > 0)
        buf_printf(out, "%" PRId64 "@%" PRId64, json_int(row, "switches", 0),
                   json_int(row, "switchesWait", 0));
    else
        buf_add_text(out, "0");
}

static void cell_exit(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    buf_printf(out, "%" PRId64 ":%" PRId64, json_int(row, "exitCode", 0),
               json_int(row, "exitSignal", 0));
}

/* ---- the table ---- */

#define KEY(letter, name, header, key, absent)     \
    {                                              \
        letter, name, header, NULL, key, absent, 0 \
    }
#define FN(letter, name, header, fn)            \
    {                                           \
        letter, name, header, fn, NULL, NULL, 0 \
    }
#define FIXED(letter, name, header, text)         \
    {                                             \
        letter, name, header, NULL, NULL, text, 0 \
    }

const struct slurm_column slurm_job_columns[] = {
    KEY('a', "Account", "ACCOUNT", "account", ""),
    KEY('A', "JobId", "JOBID", "jobId", "0"),
    KEY('b', "tres-per-node", "TRES_PER_NODE", "tresPerNode", "N/A"),
    KEY('B', "BatchHost", "EXEC_HOST", "batchHost", "n/a"),
    KEY('c', "MinCpus", "MIN_CPUS", "cpusMin", "1"),
    KEY('C', "NumCPUs", "CPUS", "cpus", "0"),
    FN('d', "MinTmpDisk", "MIN_TMP_DISK", cell_tmp),
    FN('D', "NumNodes", "NODES", cell_nodes),
    FN('e', "EndTime", "END_TIME", cell_end),
    KEY('E', "Dependency", "DEPENDENCY", "dependency", "(null)"),
    KEY('f', "Feature", "FEATURES", "constraint", "(null)"),
    FN('F', "ArrayJobId", "ARRAY_JOB_ID", cell_array_id),
    KEY('g', "GroupName", "GROUP", "group", ""),
    KEY('G', "GroupId", "GROUP", "gid", "0"),
    FN('h', "OverSubscribe", "OVER_SUBSCRIBE", cell_exclusive),
    FIXED('H', "Sockets", "SOCKETS_PER_NODE", "*"),
    FN('i', "JobArrayId", "JOBID", cell_name),
    FIXED('I', "Cores", "CORES_PER_SOCKET", "*"),
    KEY('j', "Name", "NAME", "name", ""),
    FIXED('J', "Threads", "THREADS_PER_CORE", "*"),
    KEY('k', "Comment", "COMMENT", "comment", "(null)"),
    FN('K', "ArrayTaskId", "ARRAY_TASK_ID", cell_array_index),
    FN('l', "TimeLimit", "TIME_LIMIT", cell_limit),
    FN('L', "TimeLeft", "TIME_LEFT", cell_left),
    FN('m', "MinMemory", "MIN_MEMORY", cell_memory),
    FN('M', "TimeUsed", "TIME", cell_used),
    KEY('n', "ReqNodes", "REQ_NODES", "nodeList", ""),
    KEY('N', "NodeList", "NODELIST", "nodes", ""),
    KEY('o', "Command", "COMMAND", "command", "(null)"),
    FN('O', "Contiguous", "CONTIGUOUS", cell_contiguous),
    FN('p', "Priority", "PRIORITY", cell_priority_part),
    KEY('P', "Partition", "PARTITION", "partition", ""),
    KEY('q', "QOS", "QOS", "qos", "normal"),
    KEY('Q', "PriorityLong", "PRIORITY", "priority", "0"),
    KEY('r', "Reason", "REASON", "reason", "None"),
    FN('R', "ReasonList", "NODELIST(REASON)", cell_reason_or_nodes),
    FN('S', "StartTime", "START_TIME", cell_start),
    FN('t', "StateCompact", "ST", cell_state_short),
    FN('T', "State", "STATE", cell_state),
    KEY('u', "UserName", "USER", "user", ""),
    KEY('U', "UserId", "UID", "uid", "0"),
    KEY('v', "Reservation", "RESERVATION", "reservation", "(null)"),
    FN('V', "SubmitTime", "SUBMIT_TIME", cell_submit),
    KEY('w', "WCKey", "WCKEY", "wckey", "(null)"),
    KEY('W', "Licenses", "LICENSES", "licenses", "(null)"),
    KEY('x', "ExcNodes", "EXC_NODES", "excludeNodes", ""),
    FIXED('X', "CoreSpec", "CORE_SPEC", "N/A"),
    KEY('y', "Nice", "NICE", "nice", "0"),
    FIXED('Y', "SchedNodes", "SCHEDNODES", "(null)"),
    FIXED('z', "SCT", "S:C:T", "*:*:*"),
    KEY('Z', "WorkDir", "WORK_DIR", "workDir", "(null)"),
    FN(0, "AccrueTime", "ACCRUE_TIME", cell_eligible),
    KEY(0, "admin_comment", "ADMIN_COMMENT", "adminComment", "(null)"),
    KEY(0, "AllocNodes", "ALLOC_NODES", "submitHost", ""),
    KEY(0, "AllocSID", "ALLOC_SID", "sessionId", "0"),
    FIXED(0, "AssocId", "ASSOC_ID", "0"),
    FN(0, "BatchFlag", "BATCH_FLAG", cell_batch),
    FIXED(0, "BoardsPerNode", "BOARDS_PER_NODE", "0"),
    FIXED(0, "BurstBuffer", "BURST_BUFFER", "(null)"),
    FIXED(0, "BurstBufferState", "BURST_BUFFER_STATE", "(null)"),
    FIXED(0, "Cluster", "CLUSTER", "mete"),
    FIXED(0, "ClusterFeature", "CLUSTER_FEATURES", "(null)"),
    FIXED(0, "Container", "CONTAINER", "(null)"),
    KEY(0, "cpus-per-task", "CPUS_PER_TASK", "cpusPerTask", "1"),
    FIXED(0, "cpus-per-tres", "CPUS_PER_TRES", "N/A"),
    FN(0, "Deadline", "DEADLINE", cell_deadline),
    FIXED(0, "DelayBoot", "DELAY_BOOT", "0:00"),
    KEY(0, "DerivedEC", "DERIVED_EC", "derivedExitCode", "0"),
    FN(0, "EligibleTime", "ELIGIBLE_TIME", cell_eligible),
    FN(0, "exit_code", "EXIT_CODE", cell_exit),
    KEY(0, "HetJobId", "HET_JOB_ID", "hetJobId", "N/A"),
    FN(0, "HetJobIdSet", "HET_JOB_ID_SET", cell_het_set),
    KEY(0, "HetJobOffset", "HET_JOB_OFFSET", "hetJobOffset", "N/A"),
    FN(0, "LastSchedEval", "LAST_SCHED_EVAL", cell_last_decision),
    FIXED(0, "MaxCPUs", "MAX_CPUS", "0"),
    KEY(0, "MaxNodes", "MAX_NODES", "nodesMax", "0"),
    FIXED(0, "MCSLabel", "MCSLABEL", "(null)"),
    KEY(0, "mem-per-tres", "MEM_PER_TRES", "memoryPerTres", "N/A"),
    FN(0, "MinTime", "TIME_MIN", cell_min_time),
    FIXED(0, "Network", "NETWORK", "(null)"),
    FIXED(0, "NTPerBoard", "NTASKS_PER_BOARD", "0"),
    FIXED(0, "NTPerCore", "NTASKS_PER_CORE", "N/A"),
    KEY(0, "NTPerNode", "NTASKS_PER_NODE", "tasksPerNode", "0"),
    FIXED(0, "NTPerSocket", "NTASKS_PER_SOCKET", "N/A"),
    KEY(0, "NumTasks", "TASKS", "tasks", "1"),
    FIXED(0, "Origin", "ORIGIN", "NA"),
    FIXED(0, "OriginRaw", "ORIGIN_RAW", "NA"),
    FN(0, "PendingTime", "PENDING_TIME", cell_pending),
    FIXED(0, "PreemptTime", "PREEMPT_TIME", "N/A"),
    FIXED(0, "Prefer", "PREFER", "(null)"),
    FIXED(0, "Profile", "PROFILE", "NotSet"),
    FIXED(0, "Reboot", "REBOOT", "0"),
    FN(0, "ReqSwitch", "REQ_SWITCH", cell_switches),
    FN(0, "Requeue", "REQUEUE", cell_requeue),
    FIXED(0, "ResizeTime", "RESIZE_TIME", "N/A"),
    KEY(0, "RestartCnt", "RESTART_COUNT", "restarts", "0"),
    FIXED(0, "SegmentSize", "SEGMENT_SIZE", "N/A"),
    KEY(0, "StdErr", "STDERR", "stderr", "(null)"),
    KEY(0, "StdIn", "STDIN", "stdin", "/dev/null"),
    KEY(0, "StdOut", "STDOUT", "stdout", "(null)"),
    FIXED('s', "SelectJobInfo", "", ""),
    FIXED(0, "SiblingsActive", "ACTIVE_SIBLINGS", "NA"),
    FIXED(0, "SiblingsActiveRaw", "ACTIVE_SIBLINGS_RAW", "NA"),
    FIXED(0, "SiblingsViable", "VIABLE_SIBLINGS", "NA"),
    FIXED(0, "SiblingsViableRaw", "VIABLE_SIBLINGS_RAW", "NA"),
    FIXED(0, "SPerBoard", "SOCKETS_PER_BOARD", "0"),
    FIXED(0, "system_comment", "SYSTEM_COMMENT", "(null)"),
    KEY(0, "tres-alloc", "TRES_ALLOC", "tresAllocated", "N/A"),
    FIXED(0, "tres-bind", "TRES_BIND", "N/A"),
    FIXED(0, "tres-freq", "TRES_FREQ", "N/A"),
    KEY(0, "tres-per-job", "TRES_PER_JOB", "tresPerJob", "N/A"),
    FIXED(0, "tres-per-socket", "TRES_PER_SOCKET", "N/A"),
    KEY(0, "tres-per-task", "TRES_PER_TASK", "tresPerTask", "N/A"),
    FIXED(0, "Wait4Switch", "WAIT4SWITCH", "0:00"),
    {0},
};

bool slurm_job_rank(const struct slurm_column *column, const json_t *row, int64_t *ret)
{
    static const struct {
        char letter;
        const char *key;
    } numbers[] = {
        {'A', "jobId"},     {'i', "jobId"},     {'F', "arrayJobId"},    {'C', "cpus"},
        {'D', "nodeCount"}, {'e', "endTime"},   {'l', "timeLimit"},     {'p', "priority"},
        {'Q', "priority"},  {'S', "startTime"}, {'V', "submitTime"},    {'U', "uid"},
        {'G', "gid"},       {'y', "nice"},      {'m', "memoryPerNode"},
    };

    if (column->letter == 't' || column->letter == 'T') {
        *ret = slurm_state_rank(slurm_state_shown(row));
        return true;
    }
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (column->letter == numbers[i].letter) {
            *ret = json_int(row, numbers[i].key, 0);
            return true;
        }
    return false;
}
