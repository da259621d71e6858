/* job_json.c - jobs as the documents of squeue --json and slurmrestd's jobs */

#include "slurm/job_json.h"

#include "base/mem.h"
#include "kinds/slurm/slurm_rows.h"
#include "model/hostlist.h"

static const struct member job_members[] = {
    {"account", "account", MEMBER_TEXT},
    {"accrue_time", "eligibleTime", MEMBER_VALUE},
    {"admin_comment", NULL, MEMBER_TEXT},
    {"allocating_node", "submitHost", MEMBER_TEXT},
    {"array_job_id", "arrayJobId", MEMBER_VALUE},
    {"array_max_tasks", "arrayTaskLimit", MEMBER_VALUE},
    {"association_id", NULL, MEMBER_NUMBER},
    {"batch_features", NULL, MEMBER_TEXT},
    {"batch_flag", "batch", MEMBER_BOOL},
    {"batch_host", "batchHost", MEMBER_TEXT},
    {"billable_tres", NULL, MEMBER_VALUE},
    {"burst_buffer", NULL, MEMBER_TEXT},
    {"burst_buffer_state", NULL, MEMBER_TEXT},
    {"cluster", "mete", MEMBER_CONSTANT},
    {"cluster_features", NULL, MEMBER_TEXT},
    {"command", "command", MEMBER_TEXT},
    {"comment", "comment", MEMBER_TEXT},
    {"container", NULL, MEMBER_TEXT},
    {"container_id", NULL, MEMBER_TEXT},
    {"contiguous", "contiguous", MEMBER_BOOL},
    {"core_spec", NULL, MEMBER_NUMBER},
    {"cores_per_socket", NULL, MEMBER_VALUE},
    {"cpu_frequency_governor", NULL, MEMBER_VALUE},
    {"cpu_frequency_maximum", NULL, MEMBER_VALUE},
    {"cpu_frequency_minimum", NULL, MEMBER_VALUE},
    {"cpus", "cpus", MEMBER_VALUE},
    {"cpus_per_task", "cpusPerTask", MEMBER_VALUE},
    {"cpus_per_tres", NULL, MEMBER_TEXT},
    {"cron", NULL, MEMBER_TEXT},
    {"current_working_directory", "workDir", MEMBER_TEXT},
    {"deadline", "deadline", MEMBER_VALUE},
    {"delay_boot", NULL, MEMBER_VALUE},
    {"dependency", "dependency", MEMBER_TEXT},
    {"eligible_time", "eligibleTime", MEMBER_VALUE},
    {"end_time", "endTime", MEMBER_VALUE},
    {"excluded_nodes", "excludeNodes", MEMBER_TEXT},
    {"extra", NULL, MEMBER_TEXT},
    {"failed_node", NULL, MEMBER_TEXT},
    {"features", "constraint", MEMBER_TEXT},
    {"federation_origin", NULL, MEMBER_TEXT},
    {"federation_siblings_active", NULL, MEMBER_TEXT},
    {"federation_siblings_viable", NULL, MEMBER_TEXT},
    {"flags", NULL, MEMBER_LIST},
    {"gres_detail", NULL, MEMBER_LIST},
    {"group_id", "gid", MEMBER_NUMBER},
    {"group_name", "group", MEMBER_TEXT},
    {"het_job_id", "hetJobId", MEMBER_VALUE},
    {"het_job_id_set", NULL, MEMBER_TEXT},
    {"het_job_offset", "hetJobOffset", MEMBER_VALUE},
    {"job_id", "jobId", MEMBER_NUMBER},
    {"job_size_str", NULL, MEMBER_LIST},
    {"last_sched_evaluation", "lastDecisionTime", MEMBER_VALUE},
    {"licenses", "licenses", MEMBER_TEXT},
    {"mail_type", NULL, MEMBER_LIST},
    {"mail_user", NULL, MEMBER_TEXT},
    {"max_cpus", NULL, MEMBER_VALUE},
    {"max_nodes", "nodesMax", MEMBER_VALUE},
    {"maximum_switch_wait_time", "switchesWait", MEMBER_NUMBER},
    {"mcs_label", NULL, MEMBER_TEXT},
    {"memory_per_cpu", "memoryPerCpu", MEMBER_VALUE},
    {"memory_per_node", "memoryPerNode", MEMBER_VALUE},
    {"memory_per_tres", NULL, MEMBER_TEXT},
    {"minimum_cpus_per_node", "cpusMin", MEMBER_VALUE},
    {"minimum_tmp_disk_per_node", NULL, MEMBER_VALUE},
    {"name", "name", MEMBER_TEXT},
    {"network", NULL, MEMBER_TEXT},
    {"nice", "nice", MEMBER_NUMBER},
    {"node_count", "nodeCount", MEMBER_VALUE},
    {"nodes", "nodes", MEMBER_TEXT},
    {"partition", "partition", MEMBER_TEXT},
    {"pre_sus_time", NULL, MEMBER_VALUE},
    {"preempt_time", NULL, MEMBER_VALUE},
    {"preemptable_time", NULL, MEMBER_VALUE},
    {"prefer", NULL, MEMBER_TEXT},
    {"priority", "priority", MEMBER_VALUE},
    {"priority_by_partition", NULL, MEMBER_LIST},
    {"profile", NULL, MEMBER_LIST},
    {"qos", "qos", MEMBER_TEXT},
    {"reboot", NULL, MEMBER_BOOL},
    {"requeue", "requeue", MEMBER_BOOL},
    {"required_nodes", "nodeList", MEMBER_TEXT},
    {"required_switches", "switches", MEMBER_NUMBER},
    {"resize_time", NULL, MEMBER_VALUE},
    {"restart_cnt", "restarts", MEMBER_NUMBER},
    {"resv_name", "reservation", MEMBER_TEXT},
    {"scheduled_nodes", NULL, MEMBER_TEXT},
    {"selinux_context", NULL, MEMBER_TEXT},
    {"shared", NULL, MEMBER_LIST},
    {"sockets_per_board", NULL, MEMBER_NUMBER},
    {"sockets_per_node", NULL, MEMBER_VALUE},
    {"standard_error", "stderr", MEMBER_TEXT},
    {"standard_input", "stdin", MEMBER_TEXT},
    {"standard_output", "stdout", MEMBER_TEXT},
    {"start_time", "startTime", MEMBER_VALUE},
    {"state_description", "message", MEMBER_TEXT},
    {"state_reason", "reason", MEMBER_TEXT},
    {"submit_line", "submitLine", MEMBER_TEXT},
    {"submit_time", "submitTime", MEMBER_VALUE},
    {"suspend_time", "suspendTime", MEMBER_VALUE},
    {"system_comment", NULL, MEMBER_TEXT},
    {"tasks", "tasks", MEMBER_VALUE},
    {"tasks_per_board", NULL, MEMBER_VALUE},
    {"tasks_per_core", NULL, MEMBER_VALUE},
    {"tasks_per_node", "tasksPerNode", MEMBER_VALUE},
    {"tasks_per_socket", NULL, MEMBER_VALUE},
    {"tasks_per_tres", NULL, MEMBER_VALUE},
    {"thread_spec", NULL, MEMBER_NUMBER},
    {"threads_per_core", NULL, MEMBER_VALUE},
    {"time_limit", "timeLimit", MEMBER_VALUE},
    {"time_minimum", "timeMin", MEMBER_VALUE},
    {"tres_alloc_str", "tresAllocated", MEMBER_TEXT},
    {"tres_bind", NULL, MEMBER_TEXT},
    {"tres_freq", NULL, MEMBER_TEXT},
    {"tres_per_job", "tresPerJob", MEMBER_TEXT},
    {"tres_per_node", "tresPerNode", MEMBER_TEXT},
    {"tres_per_socket", NULL, MEMBER_TEXT},
    {"tres_per_task", "tresPerTask", MEMBER_TEXT},
    {"tres_req_str", "tresRequested", MEMBER_TEXT},
    {"user_id", "uid", MEMBER_NUMBER},
    {"user_name", "user", MEMBER_TEXT},
    {"wckey", "wckey", MEMBER_TEXT},
    {0},
};

json_t *slurm_exit_code(const json_t *row, const char *key, const char *signal_key)
{
    json_t *code = json_object();
    int64_t sign = json_int(row, signal_key, 0);
    int64_t value = json_int(row, key, 0);
    json_t *of_signal = json_object_at(code, "signal");
    const char *status = sign > 0 ? "SIGNALED" : value > 0 ? "ERROR" : "SUCCESS";

    json_put(code, "status", slurm_words_array(status));
    json_put(code, "return_code", slurm_number(true, value));
    json_put(of_signal, "id", slurm_number(sign > 0, sign));
    json_put_text(of_signal, "name", "");
    return code;
}

json_t *slurm_states_array(const json_t *row)
{
    const char *state = json_text(row, "state");
    json_t *states = slurm_words_array(state ? state : "PENDING");

    (void)json_array_extend(states, json_object_get(row, "flags")); /* absent: none */
    return states;
}

/* The resources of the job on each of its nodes; cpus and memory are all in use. */
static json_t *allocation_new(const json_t *row)
{
    json_t *list = json_array();
    json_int_t cpus = json_int(row, "cpusMin", 1);
    json_int_t memory = json_int(row, "memoryPerNode", 0);
    AUTO(hostlist_done) struct hostlist names = {0};
    AUTO(err_freep)
    struct err *e =
        hostlist_parse(str_of(text_or_empty(json_text(row, "nodes"))), HOSTLIST_MAX, &names);

    for (size_t i = 0; !e && i < names.names.n; i++)
        (void)json_array_append_new(
            list,
            json_pack("{s:I,s:s,s:{s:I,s:I},s:{s:I,s:I},s:[]}", "index", (json_int_t)i, "name",
                      names.names.at[i], "cpus", "count", cpus, "used", cpus, "memory", "used",
                      memory, "allocated", memory, "sockets")); /* fresh: cannot fail */
    return list;
}

/* The nodes of a job that has them. */
static json_t *resources_new(const json_t *row)
{
    json_t *resources = json_object();
    const char *nodes = json_text(row, "nodes");

    if (!nodes)
        return resources;
    json_put_int(resources, "cpus", json_int(row, "cpus", 0));
    json_put(resources, "select_type", json_array());
    json_put(resources, "threads_per_core", slurm_number(false, 0));
    member_put(resources, "nodes/count", json_integer(json_int(row, "nodeCount", 1)));
    member_put(resources, "nodes/select_type", json_array());
    member_put(resources, "nodes/list", json_string(nodes));
    member_put(resources, "nodes/whole", json_boolean(json_bool(row, "exclusive", false)));
    member_put(resources, "nodes/allocation", allocation_new(row));
    return resources;
}

static json_t *job_document(const json_t *row)
{
    json_t *job = json_object();
    const json_t *index = json_object_get(row, "arrayTaskId");

    members_put(job, row, job_members);
    if (!json_text_filled(row, "reason"))
        json_put_text(job, "state_reason", "None");
    json_put(job, "job_state", slurm_states_array(row));
    json_put(job, "array_task_id", slurm_number(json_is_integer(index), json_integer_value(index)));
    json_put_text(job, "array_task_string", text_or_empty(json_string_value(index)));
    json_put(job, "exit_code", slurm_exit_code(row, "exitCode", "exitSignal"));
    json_put(job, "derived_exit_code",
             slurm_exit_code(row, "derivedExitCode", "derivedExitSignal"));
    json_put(job, "job_resources", resources_new(row));
    json_put_bool(job, "hold", json_int(row, "priority", 1) == 0);
    return job;
}

json_t *slurm_jobs_document(const json_t *rows, const struct slurm_view *v)
{
    json_t *jobs = json_array();
    json_t *document;

    for (size_t i = 0; i < json_array_size(rows); i++)
        json_array_append_new(jobs, job_document(json_array_get(rows, i)));
    document = slurm_document_new("jobs", jobs);
    json_put(document, "last_backfill", slurm_number(false, 0));
    json_put(document, "last_update", slurm_number(true, v->now_s));
    return document;
}
