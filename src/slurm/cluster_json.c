/* cluster_json.c - nodes, partitions, reservations, licenses and steps as members of documents */

#include "slurm/cluster_json.h"

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/slurm/slurm_rows.h"
#include "slurm/job_columns.h"
#include "slurm/job_json.h"
#include "slurm/reservation.h"

/* An array of what `one` makes of each row. */
static json_t *json_each(const json_t *rows, const struct slurm_view *v,
                         json_t *(*one)(const json_t *row, const struct slurm_view *v))
{
    json_t *all = json_array();
    const json_t *row = NULL;
    size_t i = 0;

    json_array_foreach (rows, i, row)
        (void)json_array_append_new(all, one(row, v));
    return all;
}

json_t *slurm_cluster_document(const char *member, json_t *value, const struct slurm_view *v)
{
    json_t *document = slurm_document_new(member, value);

    json_put(document, "last_update", slurm_number(true, v->now_s));
    return document;
}

/* ---- nodes ---- */

static const struct member node_members[] = {
    {"active_features", "features", MEMBER_WORDS},
    {"address", "address", MEMBER_TEXT},
    {"alloc_cpus", "cpusAllocated", MEMBER_NUMBER},
    {"alloc_memory", "memoryAllocated", MEMBER_NUMBER},
    {"architecture", "arch", MEMBER_TEXT},
    {"boards", NULL, MEMBER_NUMBER},
    {"boot_time", "bootTime", MEMBER_VALUE},
    {"burstbuffer_network_address", NULL, MEMBER_TEXT},
    {"cluster_name", NULL, MEMBER_TEXT},
    {"comment", "comment", MEMBER_TEXT},
    {"cores", "cores", MEMBER_NUMBER},
    {"cpu_binding", NULL, MEMBER_NUMBER},
    {"cpu_load", "load", MEMBER_NUMBER},
    {"cpus", "cpus", MEMBER_NUMBER},
    {"effective_cpus", "cpus", MEMBER_NUMBER},
    {"extra", "extra", MEMBER_TEXT},
    {"features", "features", MEMBER_WORDS},
    {"free_mem", "memoryFree", MEMBER_VALUE},
    {"gpu_spec", NULL, MEMBER_TEXT},
    {"gres", "gres", MEMBER_TEXT},
    {"gres_drained", NULL, MEMBER_TEXT},
    {"gres_used", "gresUsed", MEMBER_TEXT},
    {"hostname", "name", MEMBER_TEXT},
    {"instance_id", NULL, MEMBER_TEXT},
    {"instance_type", NULL, MEMBER_TEXT},
    {"last_busy", NULL, MEMBER_VALUE},
    {"mcs_label", NULL, MEMBER_TEXT},
    {"name", "name", MEMBER_TEXT},
    {"next_state_after_reboot", NULL, MEMBER_LIST},
    {"operating_system", "os", MEMBER_TEXT},
    {"owner", NULL, MEMBER_TEXT},
    {"partitions", "partitions", MEMBER_WORDS},
    {"port", "port", MEMBER_NUMBER},
    {"real_memory", "memory", MEMBER_NUMBER},
    {"reason", "reason", MEMBER_TEXT},
    {"reason_changed_at", "reasonTime", MEMBER_VALUE},
    {"reason_set_by_user", "reasonUser", MEMBER_TEXT},
    {"res_cores_per_gpu", NULL, MEMBER_NUMBER},
    {"reservation", "reservation", MEMBER_TEXT},
    {"resume_after", NULL, MEMBER_VALUE},
    {"slurmd_start_time", "startTime", MEMBER_VALUE},
    {"sockets", "sockets", MEMBER_NUMBER},
    {"specialized_cores", NULL, MEMBER_NUMBER},
    {"specialized_cpus", NULL, MEMBER_TEXT},
    {"specialized_memory", NULL, MEMBER_NUMBER},
    {"temporary_disk", "disk", MEMBER_NUMBER},
    {"threads", "threads", MEMBER_NUMBER},
    {"tres", "tres", MEMBER_TEXT},
    {"tres_used", "tresAllocated", MEMBER_TEXT},
    {"tres_weighted", NULL, MEMBER_NUMBER},
    {"version", "version", MEMBER_TEXT},
    {"weight", "weight", MEMBER_NUMBER},
    {0},
};

static json_t *node_new(const json_t *row, const struct slurm_view *v)
{
    json_t *node = json_object();

    (void)v;
    members_put(node, row, node_members);
    json_put(node, "state", slurm_states_array(row));
    json_put_int(node, "alloc_idle_cpus",
                 json_int(row, "cpus", 0) - json_int(row, "cpusAllocated", 0));
    return node;
}

json_t *slurm_nodes_json(const json_t *rows, const struct slurm_view *v)
{
    return json_each(rows, v, node_new);
}

/* ---- partitions ---- */

static const struct member partition_members[] = {
    {"accounts/allowed", "allowAccounts", MEMBER_TEXT},
    {"accounts/deny", NULL, MEMBER_TEXT},
    {"alternate", NULL, MEMBER_TEXT},
    {"cluster", "mete", MEMBER_CONSTANT},
    {"cpus/task_binding", NULL, MEMBER_NUMBER},
    {"cpus/total", "cpus", MEMBER_NUMBER},
    {"defaults/job", NULL, MEMBER_TEXT},
    {"defaults/memory_per_cpu", "memoryDefaultPerCpu", MEMBER_NUMBER},
    {"defaults/partition_memory_per_cpu", "memoryDefaultPerCpu", MEMBER_VALUE},
    {"defaults/partition_memory_per_node", "memoryDefaultPerNode", MEMBER_VALUE},
    {"defaults/time", "defaultTime", MEMBER_VALUE},
    {"grace_time", "graceTime", MEMBER_NUMBER},
    {"groups/allowed", "allowGroups", MEMBER_TEXT},
    {"maximums/cpus_per_node", "maxCpus", MEMBER_VALUE},
    {"maximums/cpus_per_socket", NULL, MEMBER_VALUE},
    {"maximums/memory_per_cpu", NULL, MEMBER_NUMBER},
    {"maximums/over_time_limit", "overTime", MEMBER_VALUE},
    {"maximums/oversubscribe/flags", NULL, MEMBER_LIST},
    {"maximums/oversubscribe/jobs", NULL, MEMBER_NUMBER},
    {"maximums/partition_memory_per_cpu", NULL, MEMBER_VALUE},
    {"maximums/partition_memory_per_node", "memoryMaxPerNode", MEMBER_VALUE},
    {"maximums/shares", NULL, MEMBER_NUMBER},
    {"minimums/nodes", "nodesMin", MEMBER_NUMBER},
    {"name", "name", MEMBER_TEXT},
    {"node_sets", NULL, MEMBER_TEXT},
    {"nodes/allowed_allocation", NULL, MEMBER_TEXT},
    {"nodes/configured", "nodes", MEMBER_TEXT},
    {"nodes/total", "nodeCount", MEMBER_NUMBER},
    {"partition/state", "state", MEMBER_WORDS},
    {"priority/job_factor", "priorityFactor", MEMBER_NUMBER},
    {"priority/tier", "priorityTier", MEMBER_NUMBER},
    {"qos/allowed", "allowQos", MEMBER_TEXT},
    {"qos/assigned", "qos", MEMBER_TEXT},
    {"qos/deny", NULL, MEMBER_TEXT},
    {"select_type", NULL, MEMBER_LIST},
    {"suspend_time", NULL, MEMBER_VALUE},
    {"timeouts/resume", NULL, MEMBER_VALUE},
    {"timeouts/suspend", NULL, MEMBER_VALUE},
    {"tres/billing_weights", "billingWeights", MEMBER_TEXT},
    {"tres/configured", "tres", MEMBER_TEXT},
    {0},
};

static json_t *partition_new(const json_t *row, const struct slurm_view *v)
{
    json_t *partition = json_object();

    (void)v;
    members_put(partition, row, partition_members);
    member_put(partition, "maximums/time", slurm_number(true, json_int(row, "timeLimit", -1)));
    member_put(partition, "maximums/nodes", slurm_number(true, json_int(row, "nodesMax", -1)));
    return partition;
}

json_t *slurm_partitions_json(const json_t *rows, const struct slurm_view *v)
{
    return json_each(rows, v, partition_new);
}

/* ---- licenses ---- */

static const struct member license_members[] = {
    {"LastConsumed", NULL, MEMBER_NUMBER},
    {"LastDeficit", NULL, MEMBER_NUMBER},
    {"LastUpdate", NULL, MEMBER_NUMBER},
    {"LicenseName", "name", MEMBER_TEXT},
    {"Remote", NULL, MEMBER_BOOL},
    {"Reserved", NULL, MEMBER_NUMBER},
    {"Total", "total", MEMBER_NUMBER},
    {"Used", "used", MEMBER_NUMBER},
    {0},
};

static json_t *license_new(const json_t *row, const struct slurm_view *v)
{
    json_t *license = json_object();

    (void)v;
    members_put(license, row, license_members);
    json_put_int(license, "Free", json_int(row, "total", 0) - json_int(row, "used", 0));
    return license;
}

json_t *slurm_licenses_json(const json_t *rows, const struct slurm_view *v)
{
    return json_each(rows, v, license_new);
}

/* ---- steps ---- */

static const struct member step_members[] = {
    {"array/job_id", "arrayJobId", MEMBER_NUMBER},
    {"array/task_id", "arrayTaskId", MEMBER_NUMBER},
    {"cluster", "mete", MEMBER_CONSTANT},
    {"container", NULL, MEMBER_TEXT},
    {"container_id", NULL, MEMBER_TEXT},
    {"cpu/frequency/governor", NULL, MEMBER_VALUE},
    {"cpu/frequency/max", NULL, MEMBER_VALUE},
    {"cpu/frequency/min", NULL, MEMBER_VALUE},
    {"name", "name", MEMBER_TEXT},
    {"network", NULL, MEMBER_TEXT},
    {"nodes", "nodes", MEMBER_TEXT},
    {"number_cpus", "cpus", MEMBER_NUMBER},
    {"number_tasks", "tasks", MEMBER_NUMBER},
    {"partition", "partition", MEMBER_TEXT},
    {"reserved_ports", NULL, MEMBER_TEXT},
    {"srun/host", "host", MEMBER_TEXT},
    {"srun/pid", "pid", MEMBER_NUMBER},
    {"submit_line", NULL, MEMBER_TEXT},
    {"task/distribution", "distribution", MEMBER_TEXT},
    {"time/limit", "timeLimit", MEMBER_VALUE},
    {"time/start", "startTime", MEMBER_VALUE},
    {"tres/allocation", NULL, MEMBER_TEXT},
    {"tres/binding", NULL, MEMBER_TEXT},
    {"tres/frequency", NULL, MEMBER_TEXT},
    {"tres/per/cpu", NULL, MEMBER_TEXT},
    {"tres/per/memory", NULL, MEMBER_TEXT},
    {"tres/per/node", NULL, MEMBER_TEXT},
    {"tres/per/socket", NULL, MEMBER_TEXT},
    {"tres/per/step", NULL, MEMBER_TEXT},
    {"tres/per/task", NULL, MEMBER_TEXT},
    {"user", "user", MEMBER_TEXT},
    {0},
};

static json_t *step_new(const json_t *row, const struct slurm_view *v)
{
    AUTO(buf_done) struct buf id = {0};
    json_t *step = json_object();

    members_put(step, row, step_members);
    slurm_job_name_format(row, v, &id);
    buf_printf(&id, ".%lld", (long long)json_int(row, "step", 0));
    json_put_text(step, "id", id.at);
    json_put(step, "state", slurm_states_array(row));
    member_put(step, "time/running", slurm_number(true, slurm_job_elapsed(row, v)));
    return step;
}

json_t *slurm_steps_json(const json_t *rows, const struct slurm_view *v)
{
    return json_each(rows, v, step_new);
}

/* ---- reservations ---- */

static const struct member reservation_members[] = {
    {"burst_buffer", NULL, MEMBER_TEXT},
    {"core_count", NULL, MEMBER_NUMBER},
    {"core_specializations", NULL, MEMBER_LIST},
    {"features", NULL, MEMBER_TEXT},
    {"groups", NULL, MEMBER_TEXT},
    {"licenses", NULL, MEMBER_TEXT},
    {"max_start_delay", NULL, MEMBER_NUMBER},
    {"partition", NULL, MEMBER_TEXT},
    {"purge_completed/time", NULL, MEMBER_VALUE},
    {0},
};

static json_t *moment_of(const json_t *spec, const char *key)
{
    int64_t at_ns = stamp_or(json_text(spec, key), 0);

    return slurm_number(at_ns > 0, at_ns / NS_PER_SEC);
}

/* The texts of an array with commas. The caller frees it. */
static char *joined(const json_t *texts)
{
    struct buf out = {0};

    for (size_t i = 0; i < json_array_size(texts); i++)
        buf_printf(&out, "%s%s", i > 0 ? "," : "",
                   text_or_empty(json_string_value(json_array_get(texts, i))));
    return buf_steal(&out);
}

static json_t *reservation_new(const json_t *object, const struct slurm_view *v)
{
    const json_t *spec = json_object_get(object, "spec");
    int64_t gpus = json_int(spec, "gpus", json_int_at(object, "status", "gpus", NULL));
    AUTO_FREE char *users = joined(json_object_get(spec, "users"));
    AUTO_FREE char *accounts = joined(json_object_get(spec, "queues"));
    AUTO_FREE char *tres = gpus > 0 ? mem_format("gres/gpu=%lld", (long long)gpus) : mem_strdup("");
    size_t n_hosts = 0;
    AUTO_FREE char *hosts = slurm_reservation_hosts(object, &n_hosts);
    json_t *reservation = json_object();
    json_t *flags = json_array();

    (void)v;
    members_put(reservation, object, reservation_members);
    json_put_text(reservation, "name",
                  text_or_empty(json_text_at(object, "metadata", "name", NULL)));
    json_put_text(reservation, "users", users);
    json_put_text(reservation, "accounts", accounts);
    json_put_text(reservation, "tres", tres);
    json_put(reservation, "start_time", moment_of(spec, "startTime"));
    json_put(reservation, "end_time", moment_of(spec, "endTime"));
    json_put_text(reservation, "node_list", hosts);
    json_put_int(reservation, "node_count", (int64_t)n_hosts);
    if (json_bool(spec, "maintenance", false))
        (void)json_array_append_new(flags, json_string("MAINT"));
    if (json_object_get(spec, "nodes"))
        (void)json_array_append_new(flags, json_string("SPEC_NODES"));
    json_put(reservation, "flags", flags);
    return reservation;
}

json_t *slurm_reservations_json(const json_t *objects, const struct slurm_view *v)
{
    return json_each(objects, v, reservation_new);
}

/* ---- sinfo ---- */

static const struct member line_members[] = {
    {"cluster", "mete", MEMBER_CONSTANT},
    {"comment", "comment", MEMBER_TEXT},
    {"cpus/per_node/max", "maxCpus", MEMBER_VALUE},
    {"extra", "extra", MEMBER_TEXT},
    {"features/active", "features", MEMBER_TEXT},
    {"features/total", "features", MEMBER_TEXT},
    {"gres/total", "gres", MEMBER_TEXT},
    {"gres/used", "gresUsed", MEMBER_TEXT},
    {"memory/allocated", "memoryAllocated", MEMBER_NUMBER},
    {"memory/free/maximum", "memoryFree", MEMBER_VALUE},
    {"memory/free/minimum", "memoryFree", MEMBER_VALUE},
    {"nodes/hostnames", "names", MEMBER_LIST},
    {"nodes/nodes", "names", MEMBER_LIST},
    {"port", "port", MEMBER_NUMBER},
    {"reason/description", "reason", MEMBER_TEXT},
    {"reason/time", "reasonTime", MEMBER_NUMBER},
    {"reason/user", "reasonUser", MEMBER_TEXT},
    {"reservation", "reservation", MEMBER_TEXT},
    {"resource_spec/cpus", NULL, MEMBER_TEXT},
    {"resource_spec/memory", NULL, MEMBER_NUMBER},
    {0},
};

/* The nodes of a line have the same shape: its least and its greatest value are one. */
static void put_shape(json_t *to, const json_t *row)
{
    static const struct {
        const char *path;
        const char *key;
    } shapes[] = {{"cpus", "cpus"},       {"sockets", "sockets"}, {"cores", "cores"},
                  {"threads", "threads"}, {"disk", "disk"},       {"memory", "memory"},
                  {"weight", "weight"},   {"cpus/load", "load"}};

    for (size_t i = 0; i < COUNT(shapes); i++) {
        AUTO_FREE char *least = mem_format("%s/minimum", shapes[i].path);
        AUTO_FREE char *most = mem_format("%s/maximum", shapes[i].path);

        member_put(to, least, json_integer(json_int(row, shapes[i].key, 0)));
        member_put(to, most, json_integer(json_int(row, shapes[i].key, 0)));
    }
}

static void put_sums(json_t *to, const json_t *row)
{
    const json_t *sums = json_object_get(row, "sums");
    int64_t nodes = json_int(sums, "nodes", 0);
    int64_t allocated = json_int(sums, "allocated", 0);
    int64_t idle = json_int(sums, "idle", 0);
    int64_t cpus = json_int(sums, "cpus", 0);
    int64_t held = json_int(sums, "cpusAllocated", 0);
    int64_t other = json_int(sums, "cpusOther", 0);

    member_put(to, "nodes/allocated", json_integer(allocated));
    member_put(to, "nodes/idle", json_integer(idle));
    member_put(to, "nodes/other", json_integer(nodes - allocated - idle));
    member_put(to, "nodes/total", json_integer(nodes));
    member_put(to, "cpus/allocated", json_integer(held));
    member_put(to, "cpus/idle", json_integer(cpus - held - other));
    member_put(to, "cpus/other", json_integer(other));
    member_put(to, "cpus/total", json_integer(cpus));
}

static json_t *line_new(const json_t *row, const struct slurm_view *v)
{
    const char *address = json_text(row, "address");
    json_t *line = json_object();

    members_put(line, row, line_members);
    put_shape(line, row);
    put_sums(line, row);
    member_put(line, "node/state",
               json_text(row, "state") ? slurm_states_array(row) : json_array());
    member_put(line, "nodes/addresses", slurm_words_array(address));
    json_put(line, "partition", partition_new(json_object_get(row, "of"), v));
    return line;
}

json_t *slurm_sinfo_json(const json_t *lines, const struct slurm_view *v)
{
    return json_each(lines, v, line_new);
}
