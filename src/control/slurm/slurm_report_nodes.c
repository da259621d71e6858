/* slurm_report_nodes.c - rows of nodes and partitions, and the configuration */
#include <inttypes.h>
#include <stdlib.h>

#include "control/slurm/slurm_report_private.h"
#include "kinds/pod/pod_state.h"
#include "kinds/slurm/slurm_rows.h"
#include "model/quantity.h"
#include "model/resource.h"

#define MIB (INT64_C(1) << 20)

/* What placed pods hold of a node. */
struct node_sum {
    struct map_handle handle;
    const char *name; /* borrowed from a pod */
    int64_t cpus;
    int64_t memory_bytes;
    struct slurm_node_gres gres;
    size_t n_pods;
};

static void add_held_gpus(struct slurm_node_gres *held, const struct gpu_ask *ask)
{
    switch (ask->kind) {
    case DEVICE_WHOLE:
        held->gpus += ask->count;
        return;
    case DEVICE_REPLICA:
        held->shards += ask->count;
        return;
    case DEVICE_SHARE:
        held->mps += (int64_t)ask->milli / 10 * ask->count;
        return;
    case DEVICE_SLICE:
        break;
    }
    VEC_EACH (&held->slices, one) {
        if (text_equal(one->profile, ask->profile)) {
            one->count += ask->count;
            return;
        }
    }
    vec_add(&held->slices, (struct slurm_slices_held){.count = ask->count});
    memcpy(held->slices.at[held->slices.n - 1].profile, ask->profile, sizeof(ask->profile));
}

static void add_held(struct node_sum **sums, const char *node, const struct slurm_ask *ask)
{
    struct node_sum *sum = NULL;

    map_find_text(handle, *sums, node, sum);
    if (!sum) {
        sum = mem_alloc(sizeof(*sum));
        sum->name = node;
        map_add(handle, *sums, sum->name, strlen(sum->name), sum);
    }
    sum->cpus += ask->cpus;
    sum->memory_bytes += ask->memory_bytes;
    add_held_gpus(&sum->gres, &ask->gpus);
    sum->n_pods++;
}

static struct node_sum *sum_nodes(const struct slurm_jobs *s)
{
    struct node_sum *sums = NULL;
    struct sjob_pod *p;
    struct sjob_pod *tmp;

    map_each (handle, s->pods, p, tmp)
        if (p->node)
            add_held(&sums, p->node, sjob_pod_ask(p));
    VEC_EACH (&s->others_by_number, o)
        if ((*o)->state == SJOB_RUNNING)
            add_held(&sums, (*o)->node, &(*o)->ask);
    return sums;
}

static void free_sums(struct node_sum *sums)
{
    struct node_sum *sum;
    struct node_sum *tmp;

    map_each (handle, sums, sum, tmp) {
        map_remove(handle, sums, sum); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
        vec_done(&sum->gres.slices);
        free(sum);
    }
}

int64_t slurm_capacity(const json_t *node, const char *resource)
{
    const json_t *value = json_at(node, "status", "capacity", resource, NULL);
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = NULL;

    if (json_is_integer(value))
        return json_integer_value(value);
    e = json_is_string(value) ? quantity_parse(str_of(json_string_value(value)), &q) : NULL;
    return e ? 0 : q.milli / 1000;
}

/* The user who gave the reason, and the time. */
static void put_drainer(json_t *row, const json_t *node)
{
    struct str rest = str_of(json_text_at(node, "metadata", "annotations", NODE_DRAINED_BY, NULL));
    struct str at = str_cut(&rest, ' ');
    AUTO_FREE char *stamp = mem_strndup(at.size > 0 ? at.at : "", at.size);

    if (!rest.at)
        return;
    json_put_text(row, "reasonUser", rest.at);
    slurm_put_seconds(row, "reasonTime", stamp_or(stamp, 0));
}

static void put_state(json_t *row, const json_t *node, const struct node_sum *sum, int64_t cpus)
{
    const char *ready = json_text(object_condition(node, "Ready"), "status");
    bool is_up = text_equal(ready, "True");
    const char *state = !ready             ? "UNKNOWN"
                        : !is_up           ? "DOWN"
                        : !sum             ? "IDLE"
                        : sum->cpus < cpus ? "MIXED"
                                           : "ALLOCATED";
    const char *reason = json_text_at(node, "metadata", "annotations", NODE_DRAIN_REASON, NULL);

    json_put_text(row, "state", state);
    if (json_bool_at(node, "spec", "unschedulable", NULL))
        (void)json_array_append_new(json_array_at(row, "flags"), json_string("DRAIN"));
    if (ready && text_equal(ready, "Unknown"))
        (void)json_array_append_new(json_array_at(row, "flags"), json_string("NOT_RESPONDING"));
    json_put_text(row, "reason", reason);
    put_drainer(row, node);
}

void slurm_put_tres(json_t *row, const char *key, int64_t cpus, int64_t memory_bytes, int64_t gpus)
{
    const struct slurm_ask all = {.nodes = 1,
                                  .cpus = cpus,
                                  .memory_bytes = memory_bytes,
                                  .gpus = {.kind = DEVICE_WHOLE, .count = gpus}};
    AUTO_FREE char *text = slurm_ask_tres(&all);

    json_put_text(row, key, text);
}

/* The name of an architecture that `uname -m` prints. */
static const char *machine_name(const char *architecture)
{
    return text_equal(architecture, "amd64")   ? "x86_64"
           : text_equal(architecture, "arm64") ? "aarch64"
                                               : architecture;
}

static json_t *node_row(const struct slurm_jobs *s, const struct slurm_node *n,
                        const struct node_sum *sum)
{
    static const struct node_sum nothing = {0};
    const json_t *info = json_at(n->object, "status", "nodeInfo", NULL);
    const struct node_sum *held = sum ? sum : &nothing;
    const json_t *facts = json_object_get(s->facts, n->name);
    int64_t cpus = 0;
    int64_t mib = 0;
    int64_t created_ns =
        stamp_or(json_text_at(n->object, "metadata", "creationTimestamp", NULL), 0);
    json_t *row = json_object();

    slurm_node_size(n, facts, &cpus, &mib);
    json_put_text(row, "name", n->name);
    put_state(row, n->object, sum, cpus);
    json_put_int(row, "cpus", cpus);
    json_put_int(row, "cpusAllocated", held->cpus);
    json_put_int(row, "sockets", json_int(facts, "sockets", 1));
    json_put_int(row, "cores", json_int(facts, "coresPerSocket", cpus));
    json_put_int(row, "threads", json_int(facts, "threadsPerCore", 1));
    json_put_int(row, "memory", mib);
    json_put_int(row, "memoryAllocated", held->memory_bytes / MIB);
    json_put(row, "partitions", slurm_partitions_of(s, n->name));
    json_put_text(row, "arch", machine_name(json_text(info, "architecture")));
    json_put_text(row, "os", json_text(info, "osImage"));
    json_put_text(row, "address", n->name);
    json_put_text(row, "version", SLURM_VERSION);
    slurm_put_seconds(row, "startTime", created_ns);
    slurm_put_tres(row, "tres", cpus, mib * MIB, 0);
    if (sum)
        slurm_put_tres(row, "tresAllocated", held->cpus, held->memory_bytes, 0);
    slurm_put_gres(s, n, &held->gres, row);
    slurm_put_facts(row, facts);
    return row;
}

static int compare_nodes(const void *a, const void *b)
{
    const struct slurm_node *const *one = a;
    const struct slurm_node *const *other = b;

    return strcmp((*one)->name, (*other)->name);
}

const struct slurm_node **slurm_sort_nodes(const struct slurm_jobs *s, size_t *ret_n)
{
    return slurm_map_sorted(s->nodes, compare_nodes, ret_n);
}

json_t *slurm_node_rows(struct slurm_jobs *s)
{
    struct node_sum *sums = sum_nodes(s);
    json_t *rows = json_array();
    size_t n = 0;
    const struct slurm_node **all = slurm_sort_nodes(s, &n);

    for (size_t i = 0; i < n; i++) {
        struct node_sum *sum = NULL;

        map_find_text(handle, sums, all[i]->name, sum);
        (void)json_array_append_new(rows, node_row(s, all[i], sum)); /* fresh: cannot fail */
    }
    free(all);
    free_sums(sums);
    slurm_add_absent_rows(s, rows);
    return rows;
}

/* The words of `scontrol show config`: those of the configuration go before Mete's own. */
json_t *slurm_config_row(const struct slurm_jobs *s)
{
    AUTO_FREE char *age =
        mem_format("%" PRId64 " sec", slurm_setting(s, "MinJobAge", SLURM_JOB_AGE_S));
    AUTO_FREE char *wait =
        mem_format("%" PRId64 " sec", slurm_setting(s, "KillWait", SLURM_KILL_WAIT_S));
    AUTO_FREE char *array = mem_format("%d", SLURM_ARRAY_MAX);
    json_t *row =
        json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s}", "ClusterName", "mete",
                  "EnforcePartLimits", "NO", "JobRequeue", "1", "MaxArraySize", array,
                  "PriorityType", "priority/multifactor", "SchedulerType", "sched/backfill",
                  "SelectType", "select/cons_tres", "SLURM_VERSION", SLURM_VERSION, "DefMemPerNode",
                  "UNLIMITED", "MaxMemPerNode", "UNLIMITED", "DisableRootJobs", "NO");

    (void)json_object_update(row, (json_t *)(uintptr_t)slurm_settings(s)); /* texts */
    json_put_text(row, "KillWait", wait);
    json_put_text(row, "MinJobAge", age);
    return row;
}
