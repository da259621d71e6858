/* slurm_report_partitions.c - rows of partitions */
#include <inttypes.h>
#include <stdlib.h>

#include "control/slurm/slurm_report_private.h"
#include "kinds/slurm/slurm_partition.h"
#include "model/hostlist.h"
#include "model/quantity.h"
#include "model/resource.h"

static char whole_name[] = SLURM_PARTITION;
/* The partition without a SlurmPartition, which has all nodes. */
static const struct slurm_part whole = {.name = whole_name};

static int compare_parts(const void *a, const void *b)
{
    const struct slurm_part *const *one = a;
    const struct slurm_part *const *other = b;
    int64_t place = json_int(json_object_get((*one)->object, "spec"), "order", INT64_MAX);
    int64_t next = json_int(json_object_get((*other)->object, "spec"), "order", INT64_MAX);

    if (place != next)
        return place < next ? -1 : 1;
    return strcmp((*one)->name, (*other)->name);
}

/* The partitions in their order, as a new array, which the caller frees. */
static const struct slurm_part **sort_parts(const struct slurm_jobs *s, size_t *ret_n)
{
    size_t n = 0;
    const struct slurm_part **all = slurm_map_sorted(s->parts, compare_parts, &n);

    if (n == 0)
        all[n++] = &whole;
    *ret_n = n;
    return all;
}

static const json_t *part_spec(const struct slurm_part *p)
{
    return json_object_get(p->object, "spec");
}

json_t *slurm_partitions_of(const struct slurm_jobs *s, const char *node)
{
    size_t n = 0;
    const struct slurm_part **all = sort_parts(s, &n);
    json_t *names = json_array();

    for (size_t i = 0; i < n; i++)
        if (slurm_part_has(all[i], node))
            (void)json_array_append_new(names, json_string(all[i]->name));
    free(all);
    return names;
}

/* ---- rows ---- */

/* Nodes that have not joined count with what slurm.conf says of them. */
static void partition_put_nodes(json_t *row, const struct slurm_jobs *s, const struct slurm_part *p)
{
    AUTO(hostlist_done) struct hostlist names = {0};
    AUTO(json_freep) json_t *absent = json_array();
    AUTO_FREE char *text = NULL;
    const json_t *node;
    int64_t cpus = 0;
    int64_t memory = 0;
    int64_t gpus = 0;
    int64_t node_cpus = 0;
    int64_t node_mib = 0;
    size_t n = 0;
    const struct slurm_node **all = slurm_sort_nodes(s, &n);

    if (p->nodes)
        err_free(hostlist_parse(str_of(text_or_empty(json_text(part_spec(p), "nodes"))),
                                HOSTLIST_MAX, &names)); /* was checked */
    for (size_t i = 0; i < n; i++) {
        if (!slurm_part_has(p, all[i]->name))
            continue;
        if (!p->nodes)
            hostlist_add(&names, all[i]->name);
        slurm_node_size(all[i], json_object_get(s->facts, all[i]->name), &node_cpus, &node_mib);
        cpus += node_cpus;
        memory += node_mib << 20;
        gpus += slurm_capacity(all[i]->object, GPU_RESOURCE);
    }
    free(all);
    slurm_add_absent_rows(s, absent);
    json_array_foreach (absent, n, node) {
        if (!json_has_text(json_object_get(node, "partitions"), p->name))
            continue;
        if (!p->nodes)
            hostlist_add(&names, json_text(node, "name"));
        cpus += json_int(node, "cpus", 0);
        memory += json_int(node, "memory", 0) << 20;
    }
    hostlist_sort(&names);
    text = hostlist_format(&names);
    json_put_text(row, "nodes", text);
    json_put_int(row, "nodeCount", (int64_t)names.names.n);
    json_put_int(row, "cpus", cpus);
    slurm_put_tres(row, "tres", cpus, memory, gpus);
}

static void put_list(json_t *row, const char *to, const json_t *names)
{
    struct buf list = {.cap = 1 << 16};

    for (size_t i = 0; i < json_array_size(names); i++)
        buf_printf(&list, "%s%s", i > 0 ? "," : "",
                   text_or_empty(json_string_value(json_array_get(names, i))));
    json_put_text(row, to, list.at);
    buf_done(&list);
}

static void put_lists(json_t *row, const json_t *spec)
{
    static const char *const lists[] = {"allowAccounts", "allowGroups", "allowQos", "allowUsers",
                                        "denyAccounts",  "denyQos",     "denyUsers"};
    static const char *const copied[] = {
        "hidden",    "rootOnly", "disableRootJobs", "requiresReservation",
        "alternate", "qos",      "billingWeights",  "cpusPerGpu"};

    for (size_t i = 0; i < COUNT(lists); i++)
        put_list(row, lists[i], json_object_get(spec, lists[i]));
    for (size_t i = 0; i < COUNT(copied); i++)
        if (json_object_get(spec, copied[i]))
            json_put(row, copied[i], json_incref(json_object_get(spec, copied[i])));
}

/* MiB of the partition's quantity; absent: nothing is set. */
static void put_memory(json_t *row, const char *to, const json_t *spec, const char *from)
{
    const char *text = json_text(spec, from);
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = text ? quantity_parse(str_of(text), &q) : NULL;

    if (text && !e)
        json_put_int(row, to, quantity_units(q) >> 20);
}

static void put_limits(json_t *row, const json_t *spec)
{
    json_put_int(row, "timeLimit", json_int(spec, "maxTimeMinutes", -1));
    if (json_object_get(spec, "defaultTimeMinutes"))
        json_put_int(row, "defaultTime", json_int(spec, "defaultTimeMinutes", 0));
    json_put_int(row, "nodesMin", json_int(spec, "minNodes", 0));
    json_put_int(row, "nodesMax", json_int(spec, "maxNodes", -1));
    json_put_int(row, "priorityTier", json_int(spec, "priorityTier", 1));
    json_put_int(row, "priorityFactor", json_int(spec, "priorityJobFactor", 1));
    json_put_int(row, "graceTime", json_int(spec, "graceTimeSeconds", 0));
    json_put_int(row, "memoryMaxPerNode", -1);
    put_memory(row, "memoryMaxPerNode", spec, "maxMemoryPerNode");
    put_memory(row, "memoryMaxPerCpu", spec, "maxMemoryPerCpu");
    put_memory(row, "memoryDefaultPerNode", spec, "memoryPerNode");
    put_memory(row, "memoryDefaultPerCpu", spec, "memoryPerCpu");
    put_memory(row, "memoryDefaultPerGpu", spec, "memoryPerGpu");
}

static const char *text_or(const json_t *spec, const char *key, const char *fallback)
{
    const char *text = json_text_filled(spec, key);

    return text ? text : fallback;
}

static json_t *partition_row(const struct slurm_jobs *s, const struct slurm_part *p)
{
    const json_t *spec = part_spec(p);
    json_t *row = json_object();

    json_put_text(row, "name", p->name);
    json_put_bool(row, "isDefault", text_equal(p->name, slurm_default_partition(s)));
    json_put_text(row, "state", text_or(spec, "state", "UP"));
    partition_put_nodes(row, s, p);
    put_limits(row, spec);
    put_lists(row, spec);
    json_put_text(row, "preemptMode",
                  text_or(spec, "preemptMode", text_or(slurm_settings(s), "PreemptMode", "OFF")));
    if (json_object_get(spec, "overTimeMinutes"))
        json_put_int(row, "overTime", json_int(spec, "overTimeMinutes", 0));
    if (json_int(spec, "maxCpusPerNode", 0) > 0)
        json_put_int(row, "maxCpus", json_int(spec, "maxCpusPerNode", 0));
    json_put_text(row, "oversubscribe", text_or(spec, "overSubscribe", "NO"));
    return row;
}

json_t *slurm_partition_rows(struct slurm_jobs *s)
{
    size_t n = 0;
    const struct slurm_part **all = sort_parts(s, &n);
    json_t *rows = json_array();

    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(rows, partition_row(s, all[i])); /* fresh: cannot fail */
    free(all);
    return rows;
}
