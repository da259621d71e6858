/* slurm_env.c - the variables of a batch script */

#include "kinds/slurm/slurm_env.h"

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/slurm/slurm_het.h"
#include "model/quantity.h"

#define MIB (INT64_C(1) << 20)

static void put(json_t *all, const char *name, const char *value)
{
    json_put_text(all, name, value);
}

static void put_filled(json_t *all, const char *name, const char *value)
{
    if (value && *value)
        put(all, name, value);
}

static void put_count(json_t *all, const char *name, int64_t value)
{
    AUTO_FREE char *text = mem_format("%" PRId64, value);

    put(all, name, text);
}

static void put_job(json_t *all, const struct slurm_element *e)
{
    const json_t *spec = json_object_get(e->job, "spec");
    const char *partition = json_text_filled(spec, "partition");
    const char *qos = json_text_filled(spec, "qos");

    put_count(all, "SLURM_JOB_ID", e->raw_id);
    put_count(all, "SLURM_JOBID", e->raw_id);
    put_filled(all, "SLURM_JOB_NAME", json_text(spec, "name"));
    put_filled(all, "SLURM_JOB_USER", json_text_at(spec, "user", "name", NULL));
    put_count(all, "SLURM_JOB_UID", json_int_at(spec, "user", "uid", NULL));
    if (json_at(spec, "user", "gid", NULL))
        put_count(all, "SLURM_JOB_GID", json_int_at(spec, "user", "gid", NULL));
    put_filled(all, "SLURM_JOB_GROUP", json_text_at(spec, "user", "group", NULL));
    put_filled(all, "SLURM_JOB_ACCOUNT", json_text(spec, "account"));
    put(all, "SLURM_JOB_PARTITION", partition ? partition : SLURM_PARTITION);
    put(all, "SLURM_JOB_QOS", qos ? qos : "normal");
    put_filled(all, "SLURM_JOB_RESERVATION", json_text(spec, "reservation"));
    put_filled(all, "SLURM_JOB_DEPENDENCY", json_text(spec, "dependency"));
    put_filled(all, "SLURM_JOB_LICENSES", e->license ? e->license : json_text(spec, "licenses"));
    put_filled(all, "SLURM_SUBMIT_DIR", json_text(spec, "workDir"));
    put_filled(all, "SLURM_SUBMIT_HOST", json_text(spec, "submitHost"));
    put(all, "SLURM_CLUSTER_NAME", "mete");
    if (e->restarts > 0)
        put_count(all, "SLURM_RESTART_COUNT", e->restarts);
}

static void put_ranks(json_t *all, const struct slurm_element *e)
{
    put_count(all, "SLURM_NODEID", e->rank);
    put(all, "SLURM_PROCID", "0");
    put(all, "SLURM_LOCALID", "0");
    put(all, "SLURM_GTIDS", "0");
    put(all, "SLURM_PRIO_PROCESS", "0");
}

/* Variables that are set only if the option was given. */
static void put_options(json_t *all, const json_t *spec, const struct slurm_ask *ask)
{
    static const struct {
        const char *key;
        const char *name;
    } counts[] = {{"tasks", "SLURM_NTASKS"},
                  {"tasks", "SLURM_NPROCS"},
                  {"tasksPerNode", "SLURM_NTASKS_PER_NODE"},
                  {"tasksPerGpu", "SLURM_NTASKS_PER_GPU"},
                  {"cpusPerTask", "SLURM_CPUS_PER_TASK"},
                  {"cpusPerGpu", "SLURM_CPUS_PER_GPU"}},
      texts[] = {{"gpus", "SLURM_GPUS"},
                 {"gpusPerNode", "SLURM_GPUS_PER_NODE"},
                 {"gpusPerTask", "SLURM_GPUS_PER_TASK"}},
      sizes[] = {{"memoryPerNode", "SLURM_MEM_PER_NODE"},
                 {"memoryPerCpu", "SLURM_MEM_PER_CPU"},
                 {"memoryPerGpu", "SLURM_MEM_PER_GPU"}};

    for (size_t i = 0; i < COUNT(counts); i++)
        if (json_object_get(spec, counts[i].key))
            put_count(all, counts[i].name, json_int(spec, counts[i].key, 0));
    if (!json_object_get(spec, "tasks") &&
        (json_object_get(spec, "tasksPerNode") || json_object_get(spec, "tasksPerGpu"))) {
        put_count(all, "SLURM_NTASKS", ask->tasks);
        put_count(all, "SLURM_NPROCS", ask->tasks);
    }
    if (json_bool(spec, "overcommit", false)) /* srun reads it, too */
        put(all, "SLURM_OVERCOMMIT", "1");
    for (size_t i = 0; i < COUNT(texts); i++)
        put_filled(all, texts[i].name, json_text(spec, texts[i].key));
    for (size_t i = 0; i < COUNT(sizes); i++) {
        const char *text = json_text(spec, sizes[i].key);
        struct quantity q = {0};
        AUTO(err_freep) struct err *e = text ? quantity_parse(str_of(text), &q) : NULL;

        if (text && !e)
            put_count(all, sizes[i].name, quantity_units(q) / MIB);
    }
}

static void put_sizes(json_t *all, const struct slurm_ask *ask)
{
    AUTO_FREE char *cpus = slurm_ask_cpus_text(ask);
    AUTO_FREE char *tasks = slurm_ask_tasks_text(ask);

    put_count(all, "SLURM_JOB_NUM_NODES", ask->nodes);
    put_count(all, "SLURM_NNODES", ask->nodes);
    put_count(all, "SLURM_CPUS_ON_NODE", ask->cpus);
    put(all, "SLURM_JOB_CPUS_PER_NODE", cpus);
    put(all, "SLURM_TASKS_PER_NODE", tasks);
    if (ask->gpus.count == 0)
        return;
    if (ask->gpus.kind == DEVICE_REPLICA)
        put_count(all, "SLURM_SHARDS_ON_NODE", ask->gpus.count);
    else
        put_count(all, "SLURM_GPUS_ON_NODE", ask->gpus.count);
}

static void put_array(json_t *all, const struct slurm_element *e)
{
    if (!e->array)
        return;
    put_count(all, "SLURM_ARRAY_JOB_ID", json_int_at(e->job, "status", "jobId", NULL));
    put_count(all, "SLURM_ARRAY_TASK_ID", e->index);
    put_count(all, "SLURM_ARRAY_TASK_COUNT", e->array->count);
    put_count(all, "SLURM_ARRAY_TASK_MIN", e->array->first);
    put_count(all, "SLURM_ARRAY_TASK_MAX", e->array->last);
    put_count(all, "SLURM_ARRAY_TASK_STEP", e->array->step);
}

/* The variables of all components of a heterogeneous job: "NAME_HET_GROUP_N". */
static void put_group(json_t *all, const struct slurm_element *e, int64_t component)
{
    AUTO(json_freep)
    json_t *spec = slurm_het_spec(json_object_get(e->whole, "spec"), component);
    AUTO(json_freep) json_t *job = json_copy((json_t *)(uintptr_t)e->whole);
    AUTO(json_freep) json_t *own = json_object();
    struct slurm_element element = *e;
    struct slurm_ask ask = {.nodes = 1, .tasks = 1, .cpus = 1};
    const char *name;
    json_t *value;

    json_put(job, "spec", json_incref(spec));
    element.job = job;
    element.raw_id = e->raw_id + component;
    err_free(slurm_ask_read(spec, &ask)); /* was read at the creation */
    put_job(own, &element);
    put_options(own, spec, &ask);
    put_sizes(own, &ask);
    json_object_foreach (own, name, value) {
        AUTO_FREE char *grouped = mem_format("%s_HET_GROUP_%" PRId64, name, component);

        json_put(all, grouped, json_incref(value));
    }
}

static void put_het(json_t *all, const struct slurm_element *e)
{
    int64_t n = e->whole ? slurm_het_size(json_object_get(e->whole, "spec")) : 0;

    if (n > 0)
        put_count(all, "SLURM_HET_SIZE", n);
    for (int64_t i = 0; i < n; i++)
        put_group(all, e, i);
}

char *slurm_switches_text(const json_t *labels)
{
    struct buf text = {.cap = 4096};

    for (int level = SLURM_SWITCH_LEVELS; level > 0; level--) {
        AUTO_FREE char *key = mem_format(SLURM_SWITCH_LABEL "%d", level);
        const char *name = json_text(labels, key);

        if (name)
            buf_printf(&text, "%s.", name);
    }
    return buf_steal(&text);
}

void slurm_topology_put(const char *switches, const char *node, json_t *env)
{
    AUTO_FREE char *address = mem_format("%s%s", switches, node);
    struct buf pattern = {.cap = 4096};
    AUTO_FREE char *text = NULL;
    struct str rest = str_of(switches);

    while (rest.at && rest.size > 0) {
        (void)str_cut(&rest, '.');
        buf_add_text(&pattern, "switch.");
    }
    buf_add_text(&pattern, "node");
    text = buf_steal(&pattern);
    json_put_text(env, "SLURM_TOPOLOGY_ADDR", address);
    json_put_text(env, "SLURM_TOPOLOGY_ADDR_PATTERN", text);
}

char *slurm_env(const struct slurm_element *e, const struct slurm_ask *ask)
{
    const json_t *spec = json_object_get(e->job, "spec");
    AUTO(json_freep) json_t *all = json_object(); /* by name: the last one counts */
    struct buf out = {0};
    const char *name;
    json_t *value;

    put_job(all, e);
    put_options(all, spec, ask);
    put_sizes(all, ask);
    put_array(all, e);
    put_het(all, e);
    put_ranks(all, e);
    buf_add_char(&out, '[');
    json_object_foreach (all, name, value) {
        AUTO_FREE char *text = mem_format("%s=%s", name, text_or_empty(json_string_value(value)));

        if (out.size > 1)
            buf_add_char(&out, ',');
        json_add_quoted(&out, str_of(text));
    }
    buf_add_char(&out, ']');
    return buf_steal(&out);
}
