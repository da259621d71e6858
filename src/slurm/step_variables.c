/* step_variables.c - the variables of the tasks of a step */

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/slurm/slurm_env.h"
#include "model/hostlist.h"
#include "slurm/step_make_private.h"
#include "slurm/step_plan.h"

static void variable_put(json_t *to, const char *name, const char *value)
{
    (void)json_array_append_new(to, json_sprintf("%s=%s", name, text_or_empty(value)));
}

static void variable_put_count(json_t *to, const char *name, int64_t value)
{
    (void)json_array_append_new(to, json_sprintf("%s=%" PRId64, name, value));
}

static char *names_of(const struct step_make *m, bool is_job)
{
    const json_t *rows = json_object_get(m->allocation, "nodes");
    struct hostlist names = {0};
    char *text;

    for (size_t i = 0; is_job && i < json_array_size(rows); i++)
        hostlist_add(&names, text_or_empty(json_text(json_array_get(rows, i), "node")));
    for (size_t i = 0; !is_job && i < m->nodes.n; i++)
        hostlist_add(&names, step_make_node(m, i));
    text = hostlist_format(&names);
    hostlist_done(&names);
    return text;
}

/* Variables of an MPI program that runs srun: its descriptor and its server are not those of the
 * tasks. */
static bool is_of_pmi(const char *variable)
{
    static const char *const names[] = {
        "PMI_FD=",   "PMI_ID=",      "PMI_JOBID=",      "PMI_PORT=",  "PMI_RANK=",
        "PMI_SIZE=", "PMI_SPAWNED=", "PMIX_NAMESPACE=", "PMIX_RANK=", "PMIX_SERVER_"};

    for (size_t i = 0; i < COUNT(names); i++)
        if (text_starts_with(text_or_empty(variable), names[i]))
            return true;
    return false;
}

/* The submitted variables that --export lets pass; those that are set below come later, and win. */
static void put_exported(const struct step_make *m, size_t i_node, json_t *to)
{
    const json_t *list = json_object_get(step_make_submit(m, i_node)->spec, "environment");

    for (size_t i = 0; i < json_array_size(list); i++)
        if (!is_of_pmi(json_string_value(json_array_get(list, i))))
            (void)json_array_append(to, json_array_get(list, i)); /* fresh: cannot fail */
}

static void put_job(const struct step_make *m, json_t *to)
{
    AUTO_FREE char *nodes = names_of(m, true);

    variable_put_count(to, "SLURM_JOB_ID", step_make_job(m));
    variable_put_count(to, "SLURM_JOBID", step_make_job(m));
    variable_put(to, "SLURM_JOB_NODELIST", nodes);
    variable_put(to, "SLURM_NODELIST", nodes);
    variable_put_count(to, "SLURM_JOB_NUM_NODES",
                       (int64_t)json_array_size(json_object_get(m->allocation, "nodes")));
    variable_put_count(to, "SLURM_NNODES", (int64_t)m->nodes.n);
    if (json_text_filled(m->allocation, "name"))
        variable_put(to, "SLURM_JOB_NAME", json_text(m->allocation, "name"));
}

/* The cpus of each task on the node. */
static int64_t cpus_per_task(const struct step_make *m, size_t i)
{
    int64_t cpus = m->cpus_per_task;

    VEC_EACH (&m->parts, part)
        if (i >= part->first_node)
            cpus = part->cpus_per_task;
    return cpus;
}

/* In an allocation srun says what it chose. */
static void put_distribution(const struct step_make *m, const char *given, json_t *to)
{
    bool is_own = json_bool(m->submit->spec, "endsWithSteps", false);
    const char *chosen = m->tasks <= (int64_t)m->nodes.n ? "cyclic" : "block";

    if (given || !is_own)
        step_distribution_put(given ? given : chosen, to);
}

/* The cpus of the step on its `i`-th node. */
static int64_t cpus_on(const struct step_make *m, size_t i)
{
    const json_t *nodes = json_at(m->object, "spec", "nodes", NULL);
    int64_t own = json_int(json_array_get(nodes, i), "cpus", 0);

    return own > 0 ? own : json_int(step_make_row(m, i), "cpus", 1);
}

static void put_step(const struct step_make *m, size_t i, json_t *to)
{
    const json_t *step = step_make_submit(m, i)->step;
    AUTO_FREE char *nodes = names_of(m, false);
    AUTO_FREE char *counts = step_layout_counts(&m->layout);

    variable_put_count(to, "SLURM_STEP_ID", step_make_number(m));
    variable_put_count(to, "SLURM_STEPID", step_make_number(m));
    variable_put(to, "SLURM_STEP_NODELIST", nodes);
    variable_put_count(to, "SLURM_STEP_NUM_NODES", (int64_t)m->nodes.n);
    variable_put_count(to, "SLURM_STEP_NUM_TASKS", m->tasks);
    variable_put(to, "SLURM_STEP_TASKS_PER_NODE", counts);
    variable_put(to, "SLURM_TASKS_PER_NODE", counts);
    variable_put_count(to, "SLURM_NTASKS", m->tasks);
    variable_put_count(to, "SLURM_NPROCS", m->tasks);
    variable_put(to, "SLURM_SRUN_COMM_HOST", m->caller.host);
    variable_put(to, "SLURM_STEP_LAUNCHER_PORT", "0");
    variable_put(to, "SLURM_SRUN_COMM_PORT", "0");
    variable_put(to, "SLURM_LAUNCH_NODE_IPADDR",
                 json_text(json_array_get(json_object_get(m->allocation, "nodes"), 0), "address"));
    put_distribution(m, json_text_filled(step, "distribution"), to);
    (void)json_array_append_new(to, json_sprintf("SLURM_UMASK=%04" PRIo64, m->caller.umask));
    if (json_bool(step, "cpusGiven", false))
        variable_put_count(to, "SLURM_CPUS_PER_TASK", cpus_per_task(m, i));
}

/* The step's gpus on the node, by their places. */
static void put_gpus(const struct step_make *m, size_t i, json_t *to)
{
    const json_t *given = json_array_get(json_at(m->object, "status", "nodes", NULL), i);
    const json_t *gpus = json_object_get(given, "gpus");
    AUTO(buf_done) struct buf text = {0};

    for (size_t k = 0; k < json_array_size(gpus); k++)
        buf_printf(&text, "%s%" PRId64, k > 0 ? "," : "",
                   (int64_t)json_integer_value(json_array_get(gpus, k)));
    if (text.size > 0)
        variable_put(to, "SLURM_STEP_GPUS", text.at);
}

static void put_topology(const struct step_make *m, size_t i, json_t *to)
{
    AUTO(json_freep) json_t *values = json_object();
    const char *name;
    json_t *value;

    slurm_topology_put(text_or_empty(json_text(step_make_row(m, i), "switches")),
                       step_make_node(m, i), values);
    json_object_foreach (values, name, value)
        variable_put(to, name, json_string_value(value));
}

json_t *step_node_variables(const struct step_make *m, size_t i)
{
    json_t *to = json_array();
    AUTO(buf_done) struct buf ranks = {0};

    put_exported(m, i, to);
    put_job(m, to);
    put_step(m, i, to);
    variable_put_count(to, "SLURM_NODEID", (int64_t)i);
    variable_put(to, "SLURMD_NODENAME", step_make_node(m, i));
    put_topology(m, i, to);
    variable_put_count(to, "SLURM_CPUS_ON_NODE", cpus_on(m, i));
    VEC_EACH (&m->layout.nodes.at[i].ranks, rank)
        buf_printf(&ranks, "%s%u", ranks.size > 0 ? "," : "", *rank);
    variable_put(to, "SLURM_GTIDS", ranks.at);
    put_gpus(m, i, to);
    return to;
}

json_t *step_task_variables(const struct step_make *m, size_t i, size_t local)
{
    json_t *to = json_array();

    variable_put_count(to, "SLURM_PROCID", m->layout.nodes.at[i].ranks.at[local]);
    variable_put_count(to, "SLURM_LOCALID", (int64_t)local);
    if (step_make_has_pmi(m)) {
        variable_put_count(to, "PMI_FD", STEP_PMI_FD);
        variable_put_count(to, "PMI_RANK", m->layout.nodes.at[i].ranks.at[local]);
        variable_put_count(to, "PMI_SIZE", m->tasks);
        (void)json_array_append_new(to, json_sprintf("PMI_JOBID=%" PRId64 ".%" PRId64,
                                                     step_make_job(m), step_make_number(m)));
    }
    return to;
}
