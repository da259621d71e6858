/* account_json.c - jobs of the accounting, with their steps, as documents of sacct and slurmdb */

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/slurm/slurm_rows.h"
#include "model/hostlist.h"
#include "slurm/job_columns.h"
#include "slurm/job_json.h"
#include "slurm/states.h"

static const struct member job_members[] = {
    {"account", "account", MEMBER_TEXT},
    {"allocation_nodes", "nodeCount", MEMBER_NUMBER},
    {"array/job_id", "arrayJobId", MEMBER_NUMBER},
    {"array/limits/max/running/tasks", "arrayTaskLimit", MEMBER_NUMBER},
    {"association/account", "account", MEMBER_TEXT},
    {"association/cluster", "mete", MEMBER_CONSTANT},
    {"association/id", NULL, MEMBER_NUMBER},
    {"association/partition", NULL, MEMBER_TEXT},
    {"association/user", "user", MEMBER_TEXT},
    {"block", NULL, MEMBER_TEXT},
    {"cluster", "mete", MEMBER_CONSTANT},
    {"comment/administrator", NULL, MEMBER_TEXT},
    {"comment/job", "comment", MEMBER_TEXT},
    {"comment/system", NULL, MEMBER_TEXT},
    {"constraints", "constraint", MEMBER_TEXT},
    {"container", NULL, MEMBER_TEXT},
    {"extra", NULL, MEMBER_TEXT},
    {"failed_node", NULL, MEMBER_TEXT},
    {"flags", NULL, MEMBER_LIST},
    {"group", "group", MEMBER_TEXT},
    {"het/job_id", "hetJobId", MEMBER_NUMBER},
    {"het/job_offset", "hetJobOffset", MEMBER_VALUE},
    {"job_id", "jobId", MEMBER_NUMBER},
    {"kill_request_user", NULL, MEMBER_TEXT},
    {"licenses", "licenses", MEMBER_TEXT},
    {"mcs/label", NULL, MEMBER_TEXT},
    {"name", "name", MEMBER_TEXT},
    {"nodes", "nodes", MEMBER_TEXT},
    {"partition", "partition", MEMBER_TEXT},
    {"priority", "priority", MEMBER_VALUE},
    {"qos", "qos", MEMBER_TEXT},
    {"qosreq", NULL, MEMBER_TEXT},
    {"required/CPUs", "cpus", MEMBER_NUMBER},
    {"required/memory_per_cpu", "memoryPerCpu", MEMBER_VALUE},
    {"required/memory_per_node", "memoryPerNode", MEMBER_VALUE},
    {"reservation/id", NULL, MEMBER_NUMBER},
    {"reservation/name", "reservation", MEMBER_TEXT},
    {"restart_cnt", "restarts", MEMBER_NUMBER},
    {"script", NULL, MEMBER_TEXT},
    {"state/reason", "reason", MEMBER_TEXT},
    {"stderr", "stderr", MEMBER_TEXT},
    {"stderr_expanded", "stderr", MEMBER_TEXT},
    {"stdin", "stdin", MEMBER_TEXT},
    {"stdin_expanded", "stdin", MEMBER_TEXT},
    {"stdout", "stdout", MEMBER_TEXT},
    {"stdout_expanded", "stdout", MEMBER_TEXT},
    {"submit_line", "submitLine", MEMBER_TEXT},
    {"time/eligible", "eligibleTime", MEMBER_NUMBER},
    {"time/limit", "timeLimit", MEMBER_VALUE},
    {"time/start", "startTime", MEMBER_NUMBER},
    {"time/submission", "submitTime", MEMBER_NUMBER},
    {"time/suspended", NULL, MEMBER_NUMBER},
    {"tres/requested", "tresRequested", MEMBER_TRES},
    {"used_gres", NULL, MEMBER_TEXT},
    {"user", "user", MEMBER_TEXT},
    {"wckey/flags", NULL, MEMBER_LIST},
    {"wckey/wckey", "wckey", MEMBER_TEXT},
    {"working_directory", "workDir", MEMBER_TEXT},
    {0},
};

static const struct member step_members[] = {
    {"CPU/governor", NULL, MEMBER_TEXT},
    {"CPU/requested_frequency/max", NULL, MEMBER_VALUE},
    {"CPU/requested_frequency/min", NULL, MEMBER_VALUE},
    {"kill_request_user", NULL, MEMBER_TEXT},
    {"nodes/count", "nodeCount", MEMBER_NUMBER},
    {"nodes/range", "nodes", MEMBER_TEXT},
    {"statistics/CPU/actual_frequency", NULL, MEMBER_NUMBER},
    {"task/distribution", "distribution", MEMBER_TEXT},
    {"tasks/count", "stepTasks", MEMBER_NUMBER},
    {"time/start", "startTime", MEMBER_VALUE},
    {"time/suspended", NULL, MEMBER_NUMBER},
    {"tres/allocated", "tresAllocated", MEMBER_TRES},
    {"tres/consumed/average", NULL, MEMBER_LIST},
    {"tres/consumed/max", NULL, MEMBER_LIST},
    {"tres/consumed/min", NULL, MEMBER_LIST},
    {"tres/consumed/total", NULL, MEMBER_LIST},
    {0},
};

static bool is_over(const json_t *row)
{
    return !slurm_state_is_live(json_text(row, "state"));
}

static bool has_started(const json_t *row)
{
    return json_int(row, "startTime", 0) > 0 && !text_equal(json_text(row, "state"), "PENDING");
}

/* The fields of both jobs and steps: the elapsed time, the cpu time and the code of the end. */
static void put_common(json_t *to, const json_t *row, const struct slurm_view *v)
{
    static const char *const times[] = {"time/system", "time/user", "time/total"};
    int64_t cpu_us = json_int(row, "cpuNs", 0) / 1000;

    member_put(to, "time/elapsed", json_integer(has_started(row) ? slurm_job_elapsed(row, v) : 0));
    for (size_t i = 0; i < COUNT(times); i++) {
        bool is_total = i + 1 == COUNT(times); /* Mete measures the sum alone */

        member_put(to, times[i],
                   json_pack("{s:I,s:I}", "seconds", (json_int_t)(is_total ? cpu_us / 1000000 : 0),
                             "microseconds", (json_int_t)(is_total ? cpu_us % 1000000 : 0)));
    }
    json_put(to, "exit_code", slurm_exit_code(row, "exitCode", "exitSignal"));
}

static json_t *job_new(const json_t *row, const struct slurm_view *v)
{
    const json_t *index = json_object_get(row, "arrayTaskId");
    const char *tres = json_text(row, "tresAllocated");
    int64_t from = json_int(row, "eligibleTime", 0);
    int64_t to = has_started(row) ? json_int(row, "startTime", 0) : v->now_s;
    json_t *job = json_object();

    members_put(job, row, job_members);
    put_common(job, row, v);
    member_put(job, "array/task_id",
               slurm_number(json_is_integer(index), json_integer_value(index)));
    member_put(job, "array/task", json_string(text_or_empty(json_string_value(index))));
    json_put(job, "derived_exit_code",
             slurm_exit_code(row, "derivedExitCode", "derivedExitSignal"));
    json_put_bool(job, "hold", json_int(row, "priority", 1) == 0);
    member_put(job, "state/current", slurm_states_array(row));
    if (!json_text_filled(row, "reason") || has_started(row))
        member_put(job, "state/reason", json_string("None"));
    if (!json_text_filled(row, "qos"))
        json_put_text(job, "qos", "normal");
    member_put(job, "time/end", json_integer(is_over(row) ? json_int(row, "endTime", 0) : 0));
    member_put(job, "time/planned", slurm_number(from > 0, to > from ? to - from : 0));
    member_put(job, "tres/allocated",
               slurm_tres_array(!has_started(row) ? ""
                                : tres            ? tres
                                                  : json_text(row, "tresRequested")));
    json_put(job, "steps", json_array());
    return job;
}

static json_t *names_new(const char *nodes)
{
    json_t *names = json_array();
    AUTO(hostlist_done) struct hostlist list = {0};
    AUTO(err_freep)
    struct err *e = hostlist_parse(str_of(text_or_empty(nodes)), HOSTLIST_MAX, &list);

    for (size_t i = 0; !e && i < list.names.n; i++)
        (void)json_array_append_new(names, json_string(list.names.at[i]));
    return names;
}

/* "cpu=SECONDS,mem=BYTES" of what Mete measured, as counts: cpu in ms, memory in bytes. */
static json_t *usage_new(const json_t *row)
{
    static const struct {
        const char *key;
        const char *type;
        const char *name;
        int64_t unit;
    } figures[] = {{"cpuNs", "cpu", "", NS_PER_MS},
                   {"memoryPeakBytes", "mem", "", 1},
                   {"energyMj", "energy", "", 1000}};
    json_t *list = json_array();

    for (size_t i = 0; i < COUNT(figures); i++)
        if (json_object_get(row, figures[i].key))
            (void)json_array_append_new(
                list,
                json_pack("{s:s,s:s,s:I,s:I}", "type", figures[i].type, "name", figures[i].name,
                          "id", (json_int_t)slurm_tres_id(figures[i].type), "count",
                          (json_int_t)(json_int(row, figures[i].key, 0) / figures[i].unit)));
    return list;
}

static json_t *step_new(const json_t *row, const struct slurm_view *v)
{
    static const char *const usages[] = {"tres/requested/average", "tres/requested/max",
                                         "tres/requested/min", "tres/requested/total"};
    const char *number = json_text(row, "step");
    const char *name = json_text(row, "stepName");
    AUTO(buf_done) struct buf id = {0};
    json_t *step = json_object();

    members_put(step, row, step_members);
    put_common(step, row, v);
    slurm_job_name_format(row, v, &id);
    buf_printf(&id, ".%s", number);
    member_put(step, "step/id", json_string(id.at));
    member_put(step, "step/name", json_string(name ? name : number));
    member_put(step, "nodes/list", names_new(json_text(row, "nodes")));
    json_put(step, "state", slurm_states_array(row));
    member_put(step, "statistics/energy/consumed",
               slurm_number(json_object_get(row, "energyMj"), json_int(row, "energyMj", 0) / 1000));
    if (!json_object_get(row, "stepTasks"))
        member_put(step, "tasks/count", json_integer(1));
    member_put(step, "time/end", slurm_number(is_over(row), json_int(row, "endTime", 0)));
    for (size_t i = 0; i < COUNT(usages); i++)
        member_put(step, usages[i], usage_new(row));
    return step;
}

json_t *slurm_accounts_document(const json_t *rows, const struct slurm_view *v)
{
    json_t *jobs = json_array();
    json_t *job = NULL;
    const json_t *row = NULL;
    size_t i = 0;

    json_array_foreach (rows, i, row) {
        if (json_text(row, "step") && job) {
            (void)json_array_append_new(json_array_at(job, "steps"), step_new(row, v));
            continue;
        }
        job = job_new(row, v);
        (void)json_array_append_new(jobs, job);
    }
    return slurm_document_new("jobs", jobs);
}
