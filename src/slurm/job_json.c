/* job_json.c - jobs as the documents of --json */

#include "slurm/job_json.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/yaml.h"
#include "kinds/slurm/slurm_rows.h"
#include "model/hostlist.h"

json_t *slurm_number(bool is_set, int64_t n)
{
    json_t *j = json_object();

    json_put_bool(j, "set", is_set && n >= 0);
    json_put_bool(j, "infinite", is_set && n < 0);
    json_put_int(j, "number", is_set && n >= 0 ? n : 0);
    return j;
}

static json_t *meta_new(void)
{
    json_t *meta = json_object();
    json_t *slurm = json_object_at(meta, "slurm");
    json_t *version = json_object_at(slurm, "version");
    struct str rest = STR(SLURM_VERSION);
    static const char *const parts[] = {"major", "minor", "micro"};

    for (size_t i = 0; i < COUNT(parts); i++) {
        struct str part = str_cut(&rest, '.');

        json_put(version, parts[i], json_stringn(part.at, part.size));
    }
    json_put_text(slurm, "release", SLURM_VERSION);
    json_put_text(slurm, "cluster", "mete");
    return meta;
}

json_t *slurm_document_new(const char *member, json_t *value)
{
    json_t *document = json_object();

    json_put(document, member, value);
    json_put(document, "meta", meta_new());
    json_put(document, "errors", json_array());
    json_put(document, "warnings", json_array());
    return document;
}

void slurm_document_add(const json_t *document, bool is_yaml, struct buf *out)
{
    AUTO_FREE char *text = is_yaml ? yaml_format(document) : json_format_pretty(document);

    buf_add_text(out, text);
    if (!text_ends_with(text, "\n"))
        buf_add_char(out, '\n');
}

/* Members whose texts and numbers are those of the row. */
static const struct {
    const char *name;
    const char *key;
} texts[] = {
    {"account", "account"},
    {"batch_host", "batchHost"},
    {"command", "command"},
    {"comment", "comment"},
    {"current_working_directory", "workDir"},
    {"dependency", "dependency"},
    {"excluded_nodes", "excludeNodes"},
    {"features", "constraint"},
    {"group_name", "group"},
    {"licenses", "licenses"},
    {"name", "name"},
    {"nodes", "nodes"},
    {"partition", "partition"},
    {"qos", "qos"},
    {"required_nodes", "nodeList"},
    {"resv_name", "reservation"},
    {"standard_error", "stderr"},
    {"standard_input", "stdin"},
    {"standard_output", "stdout"},
    {"state_description", "message"},
    {"state_reason", "reason"},
    {"submit_line", "submitLine"},
    {"tres_alloc_str", "tresAllocated"},
    {"tres_per_job", "tresPerJob"},
    {"tres_per_node", "tresPerNode"},
    {"tres_per_task", "tresPerTask"},
    {"tres_req_str", "tresRequested"},
    {"user_name", "user"},
    {"wckey", "wckey"},
};

static const struct {
    const char *name;
    const char *key;
} numbers[] = {
    {"accrue_time", "eligibleTime"},
    {"array_job_id", "arrayJobId"},
    {"array_max_tasks", "arrayTaskLimit"},
    {"cpus", "cpus"},
    {"cpus_per_task", "cpusPerTask"},
    {"deadline", "deadline"},
    {"eligible_time", "eligibleTime"},
    {"end_time", "endTime"},
    {"het_job_id", "hetJobId"},
    {"het_job_offset", "hetJobOffset"},
    {"last_sched_evaluation", "lastDecisionTime"},
    {"max_nodes", "nodesMax"},
    {"memory_per_cpu", "memoryPerCpu"},
    {"memory_per_node", "memoryPerNode"},
    {"minimum_cpus_per_node", "cpusMin"},
    {"node_count", "nodeCount"},
    {"priority", "priority"},
    {"start_time", "startTime"},
    {"submit_time", "submitTime"},
    {"suspend_time", "suspendTime"},
    {"tasks", "tasks"},
    {"tasks_per_node", "tasksPerNode"},
    {"time_limit", "timeLimit"},
    {"time_minimum", "timeMin"},
};

static json_t *exit_new(const json_t *row, const char *code_key)
{
    json_t *code = json_object();
    int64_t sign = json_int(row, "exitSignal", 0);
    int64_t value = json_int(row, code_key, 0);
    json_t *of_signal = json_object_at(code, "signal");

    json_put(code, "status", json_array());
    json_array_append_new(json_array_at(code, "status"), json_string(sign > 0    ? "SIGNALED"
                                                                     : value > 0 ? "ERROR"
                                                                                 : "SUCCESS"));
    json_put(code, "return_code", slurm_number(true, value));
    json_put(of_signal, "id", slurm_number(sign > 0, sign));
    json_put_text(of_signal, "name", "");
    return code;
}

static json_t *states_new(const json_t *row)
{
    json_t *states = json_array();
    const char *state = json_text(row, "state");

    json_array_append_new(states, json_string(state ? state : "PENDING"));
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
            list, json_pack("{s:I,s:s,s:{s:I,s:I},s:{s:I,s:I}}", "index", (json_int_t)i, "name",
                            names.names.at[i], "cpus", "count", cpus, "used", cpus, "memory",
                            "used", memory, "allocated", memory)); /* fresh: cannot fail */
    return list;
}

/* The nodes of a job that has them. */
static json_t *resources_new(const json_t *row)
{
    json_t *resources = json_object();
    const char *nodes = json_text(row, "nodes");
    json_t *of_nodes;

    if (!nodes)
        return resources;
    json_put_int(resources, "cpus", json_int(row, "cpus", 0));
    of_nodes = json_object_at(resources, "nodes");
    json_put_int(of_nodes, "count", json_int(row, "nodeCount", 1));
    json_put_text(of_nodes, "list", nodes);
    json_put(of_nodes, "allocation", allocation_new(row));
    return resources;
}

static json_t *job_document(const json_t *row)
{
    json_t *job = json_object();
    const json_t *index = json_object_get(row, "arrayTaskId");

    json_put_int(job, "job_id", json_int(row, "jobId", 0));
    json_put(job, "job_state", states_new(row));
    for (size_t i = 0; i < COUNT(texts); i++)
        json_put_text(job, texts[i].name, text_or_empty(json_text(row, texts[i].key)));
    for (size_t i = 0; i < COUNT(numbers); i++)
        json_put(
            job, numbers[i].name,
            slurm_number(json_object_get(row, numbers[i].key), json_int(row, numbers[i].key, 0)));
    json_put(job, "array_task_id", slurm_number(json_is_integer(index), json_integer_value(index)));
    json_put_text(job, "array_task_string", text_or_empty(json_string_value(index)));
    json_put(job, "exit_code", exit_new(row, "exitCode"));
    json_put(job, "derived_exit_code", exit_new(row, "derivedExitCode"));
    json_put(job, "job_resources", resources_new(row));
    json_put_int(job, "user_id", json_int(row, "uid", 0));
    json_put_int(job, "group_id", json_int(row, "gid", 0));
    json_put_int(job, "nice", json_int(row, "nice", 0));
    json_put_int(job, "restart_cnt", json_int(row, "restarts", 0));
    json_put_bool(job, "requeue", json_bool(row, "requeue", false));
    json_put_bool(job, "batch_flag", json_bool(row, "batch", false));
    json_put_bool(job, "hold", json_int(row, "priority", 1) == 0);
    json_put_text(job, "cluster", "mete");
    return job;
}

json_t *slurm_jobs_document(const json_t *rows, const struct slurm_view *v)
{
    json_t *jobs = json_array();
    json_t *document;

    for (size_t i = 0; i < json_array_size(rows); i++)
        json_array_append_new(jobs, job_document(json_array_get(rows, i)));
    document = slurm_document_new("jobs", jobs);
    json_put(document, "last_update", slurm_number(true, v->now_s));
    return document;
}

json_t *slurm_accounts_document(const json_t *rows, const struct slurm_view *v)
{
    json_t *document = slurm_jobs_document(rows, v);
    json_t *jobs = json_object_get(document, "jobs");

    for (size_t i = 0; i < json_array_size(jobs); i++) {
        const json_t *row = json_array_get(rows, i);
        json_t *state = json_object_at(json_array_get(jobs, i), "state");

        json_put(state, "current", states_new(row));
        json_put_text(state, "reason", text_or_empty(json_text(row, "reason")));
    }
    return document;
}
